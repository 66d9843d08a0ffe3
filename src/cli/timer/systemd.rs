//! Whether systemd runs a host.

use std::path::Path;

/// Whether systemd runs this host, as sd_booted(3) has it.
pub(crate) fn systemd_runs() -> bool {
    systemd_runs_in(Path::new("/"))
}

pub(super) fn systemd_runs_in(root: &Path) -> bool {
    root.join("run/systemd/system").is_dir()
}
