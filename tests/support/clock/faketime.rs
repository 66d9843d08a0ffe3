//! A program whose wall clock libfaketime moves; its waits are as long as ever.
//!
//! The library keeps a semaphore and shared memory under the ID of its process, and removes them
//! when the process exits. A process that is killed leaves them, and the program `faketime` then
//! fails whenever it gets the same ID (`sem_open: File exists`). Hence the library is loaded
//! without that program, which it survives, and [`kill`] removes what is left.

use std::fs;
use std::process::{Child, Command};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// Has the program load the library. The offset is in `FAKETIME`, or in the file that
/// `FAKETIME_TIMESTAMP_FILE` names.
pub(crate) fn load(command: &mut Command) -> &mut Command {
    command
        .env("LD_PRELOAD", "/usr/$LIB/faketime/libfaketime.so.1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
}

/// Kills the program if it is still there.
pub(crate) fn kill(child: &mut Child) {
    // It has been waited for before, so that its ID may be another's by now.
    if child.try_wait().unwrap().is_some() {
        return;
    }
    child.kill().unwrap();
    // It keeps its ID until it is waited for, so that these are no other program's.
    let pid = Pid::from_child(child);
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    for name in ["faketime_shm", "sem.faketime_sem"] {
        // A program that was killed early has none yet.
        fs::remove_file(format!("/dev/shm/{name}_{pid}")).ok();
    }
    child.wait().unwrap();
}
