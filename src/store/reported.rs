//! `reported`: the messages that runs have printed and that no certificate's record can note, and
//! when.
//!
//! Contract: a message whose line is lost is printed again, so nothing is synced; of two runs that
//! write the file one wins. A file of the older name is read until the first write, which removes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use jiff::Timestamp;

use super::atomic;
use super::directory::StateDirectory;
use super::layout;
use crate::store::port::StoreError;

impl StateDirectory {
    /// Whether the state at this path notes anything reported, at the price of a look or two.
    pub fn has_reported(state_dir: &Path) -> bool {
        let mut places = [layout::reported(), layout::reported_before()].into_iter();
        places.any(|place| state_dir.join(place.relative_path()).exists())
    }

    /// When each message was last reported, by its digest; a damaged line is none.
    pub fn reported(&self) -> Result<BTreeMap<String, Timestamp>, StoreError> {
        let stored = match self.read(&layout::reported())? {
            Some(stored) => Some(stored),
            None => self.read(&layout::reported_before())?,
        };
        let Some(stored) = stored else { return Ok(BTreeMap::new()) };
        let lines = std::str::from_utf8(&stored.bytes).unwrap_or_default().lines();
        let reported = lines.filter_map(|line| {
            let (digest, at) = line.split_once(' ')?;
            Some((digest.to_owned(), at.parse().ok()?))
        });
        Ok(reported.collect())
    }

    /// Replaces all of it.
    pub fn note_reported(&self, reported: &BTreeMap<String, Timestamp>) -> Result<(), StoreError> {
        let place = layout::reported();
        let mut text = String::new();
        for (digest, at) in reported {
            // Writing into a string cannot fail.
            _ = writeln!(text, "{digest} {at}");
        }
        let folder = self.make(&place.folders)?;
        atomic::replace_fleeting(&folder, &place.file, text.as_bytes())?;
        folder.remove(&layout::reported_before().file).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::OpenMode;

    #[test]
    fn what_was_reported_is_read_back_and_a_damaged_line_is_none() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state");
        let state = StateDirectory::open(&path, OpenMode::ReadWrite).unwrap();
        assert_eq!(state.reported().unwrap(), BTreeMap::new());
        let reported = BTreeMap::from([("ab".to_owned(), Timestamp::UNIX_EPOCH)]);
        assert!(!StateDirectory::has_reported(&path));
        state.note_reported(&reported).unwrap();
        assert!(StateDirectory::has_reported(&path));
        assert_eq!(state.reported().unwrap(), reported);
        let folder = state.find(&layout::reported().folders).unwrap().unwrap();
        let damaged = b"\ncd\nef never\nab 1970-01-01T00:00:00Z\n";
        atomic::replace_fleeting(&folder, "reported", damaged).unwrap();
        assert_eq!(state.reported().unwrap(), reported);
        // The file of an older binary.
        std::fs::rename(path.join("reported"), path.join("told")).unwrap();
        assert!(StateDirectory::has_reported(&path));
        assert_eq!(state.reported().unwrap(), reported);
        state.note_reported(&reported).unwrap();
        assert_eq!((path.join("told").exists(), path.join("reported").exists()), (false, true));
    }
}
