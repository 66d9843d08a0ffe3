//! The first process of a program that an earlier run of certctl started: whether it still runs, and
//! its end.
//!
//! Contract: no signal goes to a number that a file holds, before the process that has it now is held
//! by a handle and is the one that was noted, by when it was started. A process of root's, and one
//! that may act as root, ends none: the note is the state's, which another user may own.

use std::time::Duration;

use rustix::process::{Pid, Signal, getpgid, kill_process_group};

use crate::host::rights::is_of_root;
use crate::resource::FirstProcess;

/// The note of a process that this one has just started.
pub(super) fn note_of(number: u32) -> Option<FirstProcess> {
    let number = number.cast_signed();
    FirstProcess::new(number, system::started(number)?)
}

/// Whether this one still runs, as the first process of its group.
pub(crate) fn is_running(first: FirstProcess) -> bool {
    let pid = Pid::from_raw(first.number());
    pid.is_some_and(|pid| getpgid(Some(pid)) == Ok(pid))
        && system::started(first.number()) == Some(first.started())
}

/// Ends the processes of its group; returns whether that was tried.
pub(crate) async fn end_earlier(first: FirstProcess) -> bool {
    if is_of_root() || !signal(first, Signal::TERM) {
        return false;
    }
    wait_for_end(first, GRACE).await;
    signal(first, Signal::KILL);
    // Its lock is free once the kernel has removed it.
    wait_for_end(first, Duration::from_secs(1)).await;
    true
}

async fn wait_for_end(first: FirstProcess, at_most: Duration) {
    let mut left = at_most;
    while is_running(first) && !left.is_zero() {
        tokio::time::sleep(BUSY_WAIT).await;
        left = left.saturating_sub(BUSY_WAIT);
    }
}

/// While the first process is there, its number is its group's too, and cannot be given to another.
fn signal(first: FirstProcess, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(first.number()) else { return false };
    let Some(handle) = system::Handle::open(pid) else { return false };
    if !is_running(first) || !handle.signal(signal) {
        return false;
    }
    kill_process_group(pid, signal).ok();
    true
}

/// From SIGTERM to SIGKILL.
pub(super) const GRACE: Duration = Duration::from_secs(5);
pub(super) const BUSY_WAIT: Duration = Duration::from_millis(50);

#[cfg(target_os = "linux")]
mod system {
    use std::os::fd::OwnedFd;

    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    use crate::program::ProcessState;

    pub(super) fn started(number: i32) -> Option<u64> {
        ProcessState::of(number).map(|state| state.started)
    }

    /// A process, whatever comes to have its number.
    pub(super) struct Handle(OwnedFd);

    impl Handle {
        pub(super) fn open(pid: Pid) -> Option<Self> {
            pidfd_open(pid, PidfdFlags::empty()).ok().map(Self)
        }

        /// Whether it is there, and got the signal.
        pub(super) fn signal(&self, signal: Signal) -> bool {
            pidfd_send_signal(&self.0, signal).is_ok()
        }
    }
}

/// Other systems have no handle of a process: a run waits for what an earlier one left, and ends
/// nothing.
#[cfg(not(target_os = "linux"))]
mod system {
    use rustix::process::{Pid, Signal};

    pub(super) fn started(_number: i32) -> Option<u64> {
        Some(0)
    }

    pub(super) struct Handle;

    impl Handle {
        pub(super) fn open(_pid: Pid) -> Option<Self> {
            None
        }

        pub(super) fn signal(&self, _signal: Signal) -> bool {
            false
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_with_the_number_of_one_that_was_noted_is_not_that_one() {
        let mut child = Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        let first = note_of(child.id()).unwrap();
        let other = FirstProcess::new(first.number(), first.started() + 1).unwrap();
        assert!(is_running(first));
        assert!(!is_running(other));
        assert!(!signal(other, Signal::KILL));
        assert!(child.try_wait().unwrap().is_none(), "it got the signal");
        assert!(signal(first, Signal::KILL));
        child.wait().unwrap();
        assert!(!is_running(first));
    }
}
