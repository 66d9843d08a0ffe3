//! What this host did and owes, in the state directory.
//!
//! Contract: `alerts/` has one file for each certificate, the newest. It stays until
//! [`HostRecord::end_alert`]: a run that is killed has the hook run twice rather than not at all.
//! `last-run` is empty, and its times are the fact; it is not synced: the next run sets them again.

use std::path::PathBuf;

use jiff::Timestamp;
use rustix::fs::{AtFlags, OFlags, Timespec, Timestamps};
use rustix::io::{Errno, retry_on_intr};

use super::{StateDirectory, TOPS};
use crate::resource::{FirstProcess, NamespacedName};
use crate::store::error::StoreError;
use crate::store::folder::io_error;
use crate::store::host_record::{HookTurn, HostRecord, LeftAlert};
use crate::store::key::Lock;
use crate::store::layout::LAST_RUN;
use crate::store::{atomic, hook_lock, layout, lock, opening};

impl HostRecord for StateDirectory {
    fn section(&self, certificate: &NamespacedName) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.bytes(&layout::host_section(certificate)?)?.map(|bytes| bytes.to_vec()))
    }

    fn put_section(&self, certificate: &NamespacedName, bytes: &[u8]) -> Result<(), StoreError> {
        let place = layout::host_section(certificate)?;
        atomic::replace(&self.make(&place.folders)?, &place.file, bytes)
    }

    fn is_alerted(&self, certificate: &NamespacedName, mark: &str) -> bool {
        let folder = layout::certificate(certificate).and_then(|names| self.find(&names));
        let found = folder.map(|folder| folder?.stat(&layout::alerted(mark)).ok().flatten());
        found.is_ok_and(|found| found.is_some())
    }

    /// An empty file needs no block. Those of earlier stages and certificates go.
    fn note_alert(&self, certificate: &NamespacedName, mark: &str) -> Result<(), StoreError> {
        let Some(folder) = self.find(&layout::certificate(certificate)?)? else { return Ok(()) };
        let name = layout::alerted(mark);
        let file = folder.open_file(&name, OFlags::RDWR | OFlags::CREATE)?;
        if let Some(file) = file {
            atomic::give_mode(&file, 0o600)
                .map_err(|error| io_error(&folder.join(&name), "change the mode of", error))?;
        }
        for other in folder.entries()? {
            if other != name && other.starts_with(layout::ALERTED) {
                folder.remove(&other)?;
            }
        }
        Ok(())
    }

    fn leave_alert(&self, digest: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let place = layout::alert(digest)?;
        let folder = self.make(&place.folders)?;
        atomic::replace(&folder, &place.file, bytes)
    }

    fn forget_alert(&self, digest: &str) -> Result<(), StoreError> {
        let place = layout::alert(digest)?;
        let Some(folder) = self.find(&place.folders)? else { return Ok(()) };
        folder.remove(&place.file).map(drop)
    }

    fn hook_turn(
        &self,
        digest: &str,
        runs: impl Fn(FirstProcess) -> bool,
    ) -> Result<HookTurn, StoreError> {
        hook_lock::take(&self.make_fleeting(&[layout::LOCKS.to_owned()])?, digest, runs)
    }

    fn hook_ended(&self, digest: &str) -> Result<(), StoreError> {
        let Some(folder) = self.find(&[layout::LOCKS.to_owned()])? else { return Ok(()) };
        folder.remove(&layout::hook_lock(digest)).map(drop)
    }

    fn left_alerts(&self) -> Result<Vec<LeftAlert>, StoreError> {
        let folders = [layout::ALERTS.to_owned()];
        let Some(folder) = self.find(&folders)? else { return Ok(Vec::new()) };
        let mut left = Vec::new();
        for file in folder.entries()? {
            // One that is being written has a name of another kind.
            let Ok(place) = layout::alert(&file) else { continue };
            if let Some(found) = self.read(&place)? {
                left.push(LeftAlert { file, bytes: found.bytes.to_vec() });
            }
        }
        Ok(left)
    }

    fn end_alert(&self, left: &LeftAlert) -> Result<(), StoreError> {
        let place = layout::alert(&left.file)?;
        let found = self.read(&place)?;
        let is_same = found.is_some_and(|found| found.bytes[..] == left.bytes[..]);
        if is_same { self.forget_alert(&left.file) } else { Ok(()) }
    }

    fn note_run(&self, now: Timestamp) -> Result<(), StoreError> {
        let us = rustix::process::geteuid().as_raw();
        let Some(root) = self.root().filter(|root| root.owner() == us) else { return Ok(()) };
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

    fn last_run(&self) -> Option<Timestamp> {
        let found = self.root()?.stat(LAST_RUN).ok()??;
        Timestamp::from_second(found.st_mtime).ok()
    }

    fn made(&self) -> Option<Timestamp> {
        let made = std::fs::metadata(&self.path).and_then(|found| found.created()).ok()?;
        Timestamp::try_from(made).ok()
    }

    fn holder(&self, of: &Lock) -> Result<Option<String>, StoreError> {
        let place = layout::lock(of)?;
        let folder = self.find(&place.folders)?;
        folder.map_or(Ok(None), |folder| lock::current_holder(&folder, &place.file))
    }

    fn check_entries(&self) -> Result<(), StoreError> {
        self.check_ready()?;
        let Some(root) = &self.root else { return Ok(()) };
        for name in TOPS {
            root.child(name)?.as_ref().map_or(Ok(()), opening::check_entries)?;
        }
        Ok(())
    }

    fn http01_path(&self) -> PathBuf {
        self.path.join(layout::HTTP01)
    }

    fn strays(&self, name: &NamespacedName) -> Result<Vec<String>, StoreError> {
        let mut found = Vec::new();
        let mut look = |folder: &[String], is_ours: fn(&str) -> bool| {
            for file in self.entries(folder)? {
                if !file.starts_with('.') && !is_ours(&file) {
                    found.push(format!("{}/{file}", folder.join("/")));
                }
            }
            Ok::<_, StoreError>(())
        };
        look(&layout::requests(name)?, |file| layout::parse_request(file).is_some())?;
        look(&layout::orders(name)?, |file| layout::parse_order(file).is_some())?;
        found.sort_unstable();
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::OpenMode;

    #[test]
    fn the_newest_alert_of_a_certificate_stays_until_it_is_heard() {
        let scratch = tempfile::tempdir().unwrap();
        let state =
            StateDirectory::open(&scratch.path().join("state"), OpenMode::ReadWrite).unwrap();
        assert_eq!(state.left_alerts().unwrap(), []);
        for (digest, text) in [("1f", "old"), ("1f", "new"), ("2e", "other")] {
            state.leave_alert(digest, text.as_bytes()).unwrap();
        }
        assert!(state.leave_alert("../1f", b"").is_err());
        let left = |state: &StateDirectory| {
            let mut left = state.left_alerts().unwrap();
            left.sort_by(|one, other| one.file.cmp(&other.file));
            left
        };
        let texts = |left: &[LeftAlert]| -> Vec<Vec<u8>> {
            left.iter().map(|one| one.bytes.clone()).collect()
        };
        let both = left(&state);
        assert_eq!(texts(&both), [b"new".to_vec(), b"other".to_vec()]);
        state.end_alert(&both[0]).unwrap();
        assert_eq!(texts(&left(&state)), [b"other".to_vec()]);
        // One that came while the one before was heard.
        state.leave_alert("2e", b"newer").unwrap();
        state.end_alert(&both[1]).unwrap();
        assert_eq!(texts(&left(&state)), [b"newer".to_vec()]);
        for _ in 0..2 {
            state.forget_alert("2e").unwrap();
        }
        assert_eq!(left(&state), []);
    }

    #[test]
    fn the_last_run_is_in_the_times_of_an_empty_file() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state");
        let open = |mode| StateDirectory::open(&path, mode).unwrap();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let note = |text| open(OpenMode::ReadOnly).note_run(at(text)).unwrap();
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
