//! `told`: the messages that runs have printed and that no certificate's record can note, and when.
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
use crate::store::port::StoreError;

impl StateDirectory {
    /// Whether the state at this path notes anything told, at the price of one look.
    pub fn has_told(state_dir: &Path) -> bool {
        state_dir.join(layout::told().relative_path()).exists()
    }

    /// When each message was last told, by its digest; a damaged line is none.
    pub fn told(&self) -> Result<BTreeMap<String, Timestamp>, StoreError> {
        let Some(stored) = self.read(&layout::told())? else { return Ok(BTreeMap::new()) };
        let lines = std::str::from_utf8(&stored.bytes).unwrap_or_default().lines();
        let told = lines.filter_map(|line| {
            let (digest, at) = line.split_once(' ')?;
            Some((digest.to_owned(), at.parse().ok()?))
        });
        Ok(told.collect())
    }

    /// Replaces all of it.
    pub fn note_told(&self, told: &BTreeMap<String, Timestamp>) -> Result<(), StoreError> {
        let place = layout::told();
        let mut text = String::new();
        for (digest, at) in told {
            // Writing into a string cannot fail.
            _ = writeln!(text, "{digest} {at}");
        }
        atomic::replace_fleeting(&self.make(&place.folders)?, &place.file, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::OpenMode;

    #[test]
    fn what_was_told_is_kept_and_a_damaged_line_is_none() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state");
        let state = StateDirectory::open(&path, OpenMode::ReadWrite).unwrap();
        assert_eq!(state.told().unwrap(), BTreeMap::new());
        let told = BTreeMap::from([("ab".to_owned(), Timestamp::UNIX_EPOCH)]);
        assert!(!StateDirectory::has_told(&path));
        state.note_told(&told).unwrap();
        assert!(StateDirectory::has_told(&path));
        assert_eq!(state.told().unwrap(), told);
        let folder = state.find(&layout::told().folders).unwrap().unwrap();
        let damaged = b"\ncd\nef never\nab 1970-01-01T00:00:00Z\n";
        atomic::replace_fleeting(&folder, "told", damaged).unwrap();
        assert_eq!(state.told().unwrap(), told);
    }
}
