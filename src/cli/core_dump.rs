//! No core dump: it would hold keys, and be kept where other users and programs can read it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Makes this process one that leaves no core dump, and that other processes of its user cannot
/// read. What it starts is dumpable again, for the kernel resets that at each exec; the soft limit
/// is inherited, and a hook that wants a dump may raise it again to the hard one, which stays.
pub(crate) fn prevent() {
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).ok();
    let limit = getrlimit(Resource::Core);
    setrlimit(Resource::Core, Rlimit { current: Some(0), ..limit }).ok();
}
