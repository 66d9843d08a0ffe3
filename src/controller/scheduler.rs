//! Which groups of challenges may start, and whose turn is over: at most `cap` at once, never two
//! with one name and type, oldest first.
//!
//! A group is the challenges of one order with one name and type: apex and wildcard of one domain,
//! since the name is without `*.`. It has one slot; the solver's settings are no part of its key. A
//! requeued group keeps its key, since it stays presented, and queues behind those that were
//! waiting then. One that needs no slot any more keeps its key until it is cleaned up: a CA may give
//! several orders one token, and the clean-up of one must not take away what another presents.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::resource::{Entry, Place};

/// The self-check intervals of a turn.
const TURN: i32 = 6;

/// The minimum length of a turn.
pub fn turn(self_check_interval: SignedDuration) -> SignedDuration {
    self_check_interval.saturating_mul(TURN)
}

/// Those that may start now, oldest first.
pub fn grant<'a>(entries: impl IntoIterator<Item = &'a Entry>, cap: usize) -> Vec<&'a Entry> {
    let (mut granted, mut cleaning, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries {
        match entry.place {
            Place::Granted => granted.push(entry),
            Place::CleaningUp => cleaning.push(entry),
            Place::Queued | Place::Requeued => waiting.push(entry),
        }
    }
    waiting.sort_by(|a, b| (a.queued_at, a.group()).cmp(&(b.queued_at, b.group())));
    let mut taken: BTreeSet<_> =
        granted.iter().chain(&cleaning).map(|entry| entry.contested()).collect();
    // Of two that are presented already, the older one goes first.
    let mut holders: BTreeMap<_, &Entry> = BTreeMap::new();
    for entry in waiting.iter().filter(|entry| entry.place == Place::Requeued) {
        holders.entry(entry.contested()).or_insert(entry);
    }
    let mut free = cap.saturating_sub(granted.len());
    let mut started = Vec::new();
    for entry in waiting {
        if free == 0 {
            break;
        }
        let is_held =
            holders.get(&entry.contested()).is_some_and(|holder| holder.group() != entry.group());
        if !is_held && taken.insert(entry.contested()) {
            started.push(entry);
            free -= 1;
        }
    }
    started
}

/// How many wait only for a slot. A requeued group counts after waiting for the length of a
/// turn: else many whose turns end together would take each other's slots forever.
pub fn crowd<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
    cap: usize,
    turn: SignedDuration,
    now: Timestamp,
) -> usize {
    let entries: Vec<&Entry> = entries.into_iter().collect();
    let granted = |cap| -> BTreeSet<_> {
        grant(entries.iter().copied(), cap).into_iter().map(Entry::group).collect()
    };
    let (starts, could) = (granted(cap), granted(usize::MAX));
    let wants = |entry: &&&Entry| match entry.place {
        Place::Granted | Place::CleaningUp => false,
        Place::Queued => true,
        Place::Requeued => entry.queued_at.checked_add(turn).is_ok_and(|time| time <= now),
    };
    let is_made_to_wait =
        |entry: &&&Entry| could.contains(&entry.group()) && !starts.contains(&entry.group());
    entries.iter().filter(wants).filter(is_made_to_wait).count()
}

/// The groups, of those whose turns began at these times, that must requeue so that `needed`
/// others get a slot: the longest-running first, and none before its time.
pub fn turns_over<K: Ord>(
    turns: impl IntoIterator<Item = (K, Timestamp)>,
    length: SignedDuration,
    needed: usize,
    now: Timestamp,
) -> BTreeSet<K> {
    let is_over = |began: &Timestamp| began.checked_add(length).is_ok_and(|ends| ends <= now);
    let mut over: Vec<_> =
        turns.into_iter().map(|(key, began)| (began, key)).filter(|(b, _)| is_over(b)).collect();
    over.sort_unstable();
    over.into_iter().take(needed).map(|(_, key)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{ChallengeType, Identifier, NamespacedName};
    use Place::{CleaningUp, Granted, Queued, Requeued};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn entry(name: &str, certificate: &str, second: i64, place: Place) -> Entry {
        Entry {
            certificate: NamespacedName::new("default", certificate),
            identifier: Identifier::Dns(name.parse().unwrap()),
            kind: ChallengeType::Http01,
            queued_at: at(second),
            place,
        }
    }

    fn granted<'a>(entries: impl IntoIterator<Item = &'a Entry>, cap: usize) -> Vec<&'a str> {
        grant(entries, cap).iter().map(|entry| entry.certificate.name.as_str()).collect()
    }

    #[test]
    fn the_oldest_start_first_and_never_two_of_one_name_and_type() {
        let mut other_type = entry("a.example", "6", 6, Queued);
        other_type.kind = ChallengeType::Dns01;
        let entries = [
            entry("a.example", "3", 3, Queued),
            entry("a.example", "1", 1, Queued),
            entry("b.example", "2", 2, Queued),
            entry("c.example", "4", 4, Granted),
            entry("c.example", "5", 5, Queued),
            other_type,
        ];
        assert_eq!(granted(&entries, 60), ["1", "2", "6"]);
        assert_eq!(granted(&entries, 3), ["1", "2"]);
        assert_eq!(granted(&entries, 2), ["1"]);
        assert_eq!(granted(&entries, 1), Vec::<&str>::new());
        let crowd = |cap| crowd(&entries, cap, SignedDuration::from_secs(60), at(6));
        assert_eq!([60, 4, 3, 2, 1].map(crowd), [0, 0, 1, 2, 3]);
    }

    #[test]
    fn one_that_was_queued_again_keeps_its_name_and_waits_behind_the_others() {
        let entries = [
            entry("a.example", "again", 9, Requeued),
            entry("a.example", "same name", 1, Queued),
            entry("b.example", "new", 2, Queued),
            entry("c.example", "later", 10, Queued),
            // Both are presented, as after a killed run: the older one goes first.
            entry("d.example", "older", 3, Requeued),
            entry("d.example", "younger", 4, Requeued),
        ];
        assert_eq!(granted(&entries, 60), ["new", "older", "again", "later"]);
        assert_eq!(granted(&entries, 2), ["new", "older"]);
        let waiting = |cap, now| crowd(&entries, cap, SignedDuration::from_secs(60), at(now));
        // "again" has not waited for a turn before 69.
        assert_eq!([4, 3, 2, 1].map(|cap| waiting(cap, 68)), [0, 1, 1, 2]);
        assert_eq!([4, 3, 2, 1].map(|cap| waiting(cap, 69)), [0, 1, 2, 3]);
        // A challenge of another run blocks it in turn.
        let started = entry("a.example", "started", 0, Granted);
        let all = [&entries[0], &started];
        assert_eq!(granted(all, 60), Vec::<&str>::new());
        assert_eq!(crowd(all, 1, SignedDuration::ZERO, at(99)), 0);
    }

    #[test]
    fn one_that_is_cleaned_up_keeps_its_name_and_no_slot() {
        let entries = [
            entry("a.example", "done", 1, CleaningUp),
            entry("a.example", "same name", 2, Queued),
            entry("b.example", "other name", 3, Queued),
        ];
        assert_eq!(granted(&entries, 1), ["other name"]);
        assert_eq!(granted(&entries[..2], 60), Vec::<&str>::new());
        assert_eq!(crowd(&entries, 1, SignedDuration::ZERO, at(9)), 0);
        assert_eq!(crowd(&entries, 0, SignedDuration::ZERO, at(9)), 1);
    }

    #[test]
    fn as_many_turns_end_as_others_need_the_longest_first() {
        let turns = [("c", at(3)), ("a", at(1)), ("b", at(2)), ("d", at(10))];
        let over = |needed, now| {
            let over = turns_over(turns, SignedDuration::from_secs(60), needed, at(now));
            over.into_iter().collect::<String>()
        };
        assert_eq!([0, 1, 2, 9].map(|needed| over(needed, 65)), ["", "a", "ab", "abc"]);
        assert_eq!([60, 61, 62, 70].map(|now| over(9, now)), ["", "a", "ab", "abcd"]);
        assert_eq!(turn(SignedDuration::from_secs(10)), SignedDuration::from_mins(1));
        assert_eq!(turn(SignedDuration::MAX), SignedDuration::MAX);
    }
}
