//! `reported`: the messages that runs have printed and that no certificate's record can note, and
//! when.
//!
//! Contract: a message whose line is lost is printed again, so nothing is synced; of two runs that
//! write the file one wins.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use jiff::Timestamp;

use super::atomic;
use super::directory::StateDirectory;
use super::layout;
use crate::store::error::StoreError;

impl StateDirectory {
    /// Whether the state at this path notes anything reported, at the price of a look.
    pub fn has_reported(state_dir: &Path) -> bool {
        state_dir.join(layout::reported().relative_path()).exists()
    }

    /// When each message was last reported, by its digest; a damaged line is none.
    pub fn reported(&self) -> Result<BTreeMap<String, Timestamp>, StoreError> {
        let Some(stored) = self.read(&layout::reported())? else { return Ok(BTreeMap::new()) };
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
        atomic::replace_fleeting(&folder, &place.file, text.as_bytes())
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
    }
}
