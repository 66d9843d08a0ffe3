//! `last-run`: when a run that no person watched ended last.
//!
//! Contract: the file is empty, and its times are the fact. Nothing is synced: the next run sets them
//! again.

use std::path::Path;

use jiff::Timestamp;
use rustix::fs::{AtFlags, OFlags, Timespec, Timestamps};
use rustix::io::{Errno, retry_on_intr};

use super::directory::StateDirectory;
use super::folder::io_error;
use super::layout::LAST_RUN;
use super::opening::OpenMode;
use crate::store::error::StoreError;

impl StateDirectory {
    /// Notes that such a run ends now. A state that is not there is not made, and another user's is
    /// left alone.
    pub fn note_run(path: &Path, now: Timestamp) -> Result<(), StoreError> {
        let state = Self::open(path, OpenMode::ReadOnly)?;
        let us = rustix::process::geteuid().as_raw();
        let Some(root) = state.root().filter(|root| root.owner() == us) else { return Ok(()) };
        let time =
            Timespec { tv_sec: now.as_second(), tv_nsec: now.subsec_nanosecond().max(0).into() };
        let times = Timestamps { last_access: time, last_modification: time };
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let set = || retry_on_intr(|| rustix::fs::utimensat(root, LAST_RUN, &times, flags));
        let done = match set() {
            Err(Errno::NOENT) => {
                root.open_file(LAST_RUN, OFlags::WRONLY | OFlags::CREATE)?;
                set()
            }
            done => done,
        };
        done.map_err(|error| io_error(&root.join(LAST_RUN), "set the times of", error))
    }

    /// When such a run ended last; `None` when none is known.
    pub fn last_run(&self) -> Option<Timestamp> {
        let found = self.root()?.stat(LAST_RUN).ok()??;
        Timestamp::from_second(found.st_mtime).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_run_is_in_the_times_of_an_empty_file() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state");
        let open = |mode| StateDirectory::open(&path, mode).unwrap();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let note = |text| StateDirectory::note_run(&path, at(text)).unwrap();
        note("2026-11-20T01:00:00Z");
        assert!(!path.exists());
        open(OpenMode::ReadWrite);
        assert_eq!(open(OpenMode::ReadOnly).last_run(), None);
        for time in ["2026-11-20T02:00:00Z", "2026-11-21T03:12:09Z"] {
            note(time);
            assert_eq!(open(OpenMode::ReadOnly).last_run(), Some(at(time)));
        }
        assert_eq!(std::fs::metadata(path.join("last-run")).unwrap().len(), 0);
        open(OpenMode::ReadWrite).check_entries().unwrap();
    }
}
