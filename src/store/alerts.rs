//! `alerts/`: what the operator's hook for failures is to hear, left to a run that can run it.
//!
//! Contract: one file for each certificate, the newest. It stays until [`StateDirectory::end_alert`]: a run that
//! is killed has the hook run twice rather than not at all.

use super::atomic;
use super::directory::StateDirectory;
use super::layout;
use crate::store::error::StoreError;

/// What a run left.
#[derive(Debug, PartialEq, Eq)]
pub struct LeftAlert {
    file: String,
    /// What [`Store::leave_alert`](super::port::Store::leave_alert) got.
    pub bytes: Vec<u8>,
}

impl StateDirectory {
    /// Leaves the alert of the certificate whose key has this digest.
    pub(super) fn leave_alert_of(&self, digest: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let place = layout::alert(digest)?;
        let folder = self.make(&place.folders)?;
        atomic::replace(&folder, &place.file, bytes)
    }

    /// What earlier runs left, in no order.
    pub fn left_alerts(&self) -> Result<Vec<LeftAlert>, StoreError> {
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

    /// Removes one that was heard, unless there is a newer one of its certificate.
    pub fn end_alert(&self, left: &LeftAlert) -> Result<(), StoreError> {
        let place = layout::alert(&left.file)?;
        let found = self.read(&place)?;
        let is_same = found.is_some_and(|found| found.bytes[..] == left.bytes[..]);
        if is_same { self.remove_alert(&left.file) } else { Ok(()) }
    }

    /// Removes the alert of the certificate whose key has this digest, if there is one.
    pub(super) fn remove_alert(&self, digest: &str) -> Result<(), StoreError> {
        let place = layout::alert(digest)?;
        let Some(folder) = self.find(&place.folders)? else { return Ok(()) };
        folder.remove(&place.file).map(drop)
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
            state.leave_alert_of(digest, text.as_bytes()).unwrap();
        }
        assert!(state.leave_alert_of("../1f", b"").is_err());
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
        state.leave_alert_of("2e", b"newer").unwrap();
        state.end_alert(&both[1]).unwrap();
        assert_eq!(texts(&left(&state)), [b"newer".to_vec()]);
        for _ in 0..2 {
            state.remove_alert("2e").unwrap();
        }
        assert_eq!(left(&state), []);
    }
}
