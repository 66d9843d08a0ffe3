//! Which queued challenges may start: at most `cap` at once, never two of one name and type,
//! oldest first.
//!
//! The name is without `*.`, and the solver's settings are deliberately no part of the key: apex
//! and wildcard of one domain go one after the other.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::resource::{ChallengeType, Identifier};

/// One challenge that waits for a slot or holds one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The challenge's URL: unique.
    pub url: String,
    /// What it proves, without `*.`.
    pub identifier: Identifier,
    /// Its type.
    pub kind: ChallengeType,
    /// When it was queued; the oldest goes first.
    pub queued_at: Timestamp,
    /// Whether it holds a slot.
    pub granted: bool,
}

/// The URLs of those that may start now, oldest first.
pub fn grant(entries: &[Entry], cap: usize) -> Vec<String> {
    let busy = entries.iter().filter(|entry| entry.granted);
    let mut taken: BTreeSet<_> = busy.map(|entry| (&entry.identifier, &entry.kind)).collect();
    let held = entries.iter().filter(|entry| entry.granted).count();
    let mut free = cap.saturating_sub(held);
    let mut waiting: Vec<&Entry> = entries.iter().filter(|entry| !entry.granted).collect();
    waiting.sort_by(|a, b| (a.queued_at, &a.url).cmp(&(b.queued_at, &b.url)));
    let mut granted = Vec::new();
    for entry in waiting {
        if free == 0 {
            break;
        }
        if taken.insert((&entry.identifier, &entry.kind)) {
            granted.push(entry.url.clone());
            free -= 1;
        }
    }
    granted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, url: &str, second: i64, granted: bool) -> Entry {
        Entry {
            url: url.to_owned(),
            identifier: Identifier::Dns(name.parse().unwrap()),
            kind: ChallengeType::Http01,
            queued_at: Timestamp::from_second(second).unwrap(),
            granted,
        }
    }

    #[test]
    fn the_oldest_start_first_and_never_two_of_one_name_and_type() {
        let mut other_type = entry("a.example", "6", 6, false);
        other_type.kind = ChallengeType::Dns01;
        let entries = [
            entry("a.example", "3", 3, false),
            entry("a.example", "1", 1, false),
            entry("b.example", "2", 2, false),
            entry("c.example", "4", 4, true),
            entry("c.example", "5", 5, false),
            other_type,
        ];
        assert_eq!(grant(&entries, 60), ["1", "2", "6"]);
        assert_eq!(grant(&entries, 3), ["1", "2"]);
        assert_eq!(grant(&entries, 2), ["1"]);
        assert_eq!(grant(&entries, 1), Vec::<String>::new());
    }
}
