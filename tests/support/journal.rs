//! Who held a slot when, as the journals of all certificates tell it, and what is wrong with that.

#![expect(clippy::wildcard_enum_match_arm, reason = "no other matters here")]

use std::collections::{BTreeMap, BTreeSet};

use certctl::resource::{Event, Reason};
use jiff::{SignedDuration, Timestamp};

/// What must never be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Violation {
    /// More in progress than the cap allows.
    TooMany(usize),
    /// Two of one name in progress at once.
    Twice(String),
    /// It started although another, queued earlier, could have.
    Overtook { who: String, whom: String },
    /// A slot was taken and never given back.
    Kept(String),
    /// A slot was given back that was not held, or taken twice.
    OutOfTurn(String),
}

/// How long after a name is free at the latest the next one that wants it may start: far longer
/// than a busy machine needs.
const LATE: SignedDuration = SignedDuration::from_secs(30);

/// What the journals tell.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Found {
    pub(crate) violations: BTreeSet<Violation>,
    /// The most in progress at once.
    pub(crate) peak: usize,
    /// How often a slot was taken.
    pub(crate) starts: usize,
}

struct Waiting {
    name: String,
    /// When its order was made.
    age: Timestamp,
}

/// Reads journals by certificate; all challenges are of one type. A slot counts as given back
/// before one that is taken in the same instant.
pub(crate) fn check(journals: &BTreeMap<String, Vec<Event>>, cap: usize) -> Found {
    let all = journals.iter().flat_map(|(of, events)| events.iter().map(move |e| (of, e)));
    let mut all: Vec<_> = all.collect();
    let gives_back = |event: &Event| matches!(event.reason, Reason::Released | Reason::Requeued);
    all.sort_by_key(|(_, event)| (event.time, !gives_back(event)));
    let mut found = Found::default();
    let mut held: BTreeSet<(String, String)> = BTreeSet::new();
    let mut ages: BTreeMap<&String, Timestamp> = BTreeMap::new();
    let mut waiting: BTreeMap<(String, String), Waiting> = BTreeMap::new();
    let mut freed: BTreeMap<String, Timestamp> = BTreeMap::new();
    // Without a slot, and still at their names.
    let mut requeued: BTreeSet<(String, String)> = BTreeSet::new();
    // Since when each was in the queue is told when it starts.
    let starts = all.iter().filter(|(_, event)| event.reason == Reason::Started);
    let mut entered: BTreeMap<(&str, &str), Timestamp> = BTreeMap::new();
    for (of, event) in starts {
        if let Some(since) = queued_since(&event.message) {
            entered.entry((of.as_str(), bracketed_in(&event.message))).or_insert(since);
        }
    }
    // Those that started in one instant: what is told of one holds for all.
    let mut started: Vec<(Timestamp, String, Timestamp)> = Vec::new();
    for (of, event) in all {
        if started.last().is_some_and(|(time, ..)| *time != event.time) {
            let names = busy(&held, &requeued);
            let overtaken =
                overtaken(&started, &waiting, &entered, held.len(), &names, &freed, cap);
            found.violations.extend(overtaken);
            started.clear();
        }
        match event.reason {
            Reason::OrderCreated => {
                ages.insert(of, event.time);
            }
            Reason::Created => {
                let name = quoted_last(&event.message);
                let who = (of.clone(), name.clone());
                waiting.insert(who, Waiting { name, age: ages[of] });
            }
            Reason::Started => {
                let name = bracketed(&event.message);
                let who = (of.clone(), name.clone());
                found.starts += 1;
                requeued.remove(&who);
                if held.iter().any(|(other, busy)| *busy == name && other != of) {
                    found.violations.insert(Violation::Twice(name.clone()));
                }
                if let Some(me) = waiting.remove(&who) {
                    started.push((event.time, of.clone(), me.age));
                }
                if !held.insert(who) {
                    found.violations.insert(Violation::OutOfTurn(name));
                }
                found.peak = found.peak.max(held.len());
                if held.len() > cap {
                    found.violations.insert(Violation::TooMany(held.len()));
                }
            }
            Reason::Released | Reason::Requeued => {
                let name = bracketed(&event.message);
                let who = (of.clone(), name.clone());
                if !held.remove(&who) {
                    found.violations.insert(Violation::OutOfTurn(name.clone()));
                }
                if event.reason == Reason::Requeued {
                    requeued.insert(who);
                } else {
                    requeued.remove(&who);
                }
                freed.insert(name, event.time);
            }
            _ => {}
        }
    }
    let names = busy(&held, &requeued);
    let overtaken = overtaken(&started, &waiting, &entered, held.len(), &names, &freed, cap);
    found.violations.extend(overtaken);
    found.violations.extend(held.into_iter().map(|(_, name)| Violation::Kept(name)));
    found
}

/// The names at which no other may be presented.
fn busy(
    held: &BTreeSet<(String, String)>,
    requeued: &BTreeSet<(String, String)>,
) -> BTreeSet<String> {
    held.iter().chain(requeued).map(|(_, name)| name.clone()).collect()
}

/// The challenges that overtook another when they started: the other is older, was in the queue
/// before, its name is free, and no slot is left for it. Another run's challenge may start while
/// slots are kept for those that are older: each run starts its own.
fn overtaken(
    started: &[(Timestamp, String, Timestamp)],
    waiting: &BTreeMap<(String, String), Waiting>,
    entered: &BTreeMap<(&str, &str), Timestamp>,
    held: usize,
    busy: &BTreeSet<String>,
    freed: &BTreeMap<String, Timestamp>,
    cap: usize,
) -> Vec<Violation> {
    let mut found = Vec::new();
    for (time, who, age) in started {
        let mut older = BTreeMap::new();
        for ((of, name), other) in waiting {
            let was_busy = freed.get(&other.name).is_some_and(|at| *at > *time - LATE);
            let queued = entered.get(&(of.as_str(), name.as_str()));
            let was_there = queued.is_some_and(|since| since < time);
            if other.age < *age && was_there && !busy.contains(&other.name) && !was_busy {
                older.insert(name, of);
            }
        }
        if held + older.len() > cap {
            let overtook =
                |whom: &&String| Violation::Overtook { who: who.clone(), whom: (*whom).clone() };
            found.extend(older.values().map(overtook));
        }
    }
    found
}

/// The name at the end of `… (name)`.
fn bracketed(message: &str) -> String {
    bracketed_in(message).to_owned()
}

fn bracketed_in(message: &str) -> &str {
    message.rsplit_once('(').unwrap().1.trim_end_matches(')')
}

/// Of `…, queued since TIME (name)`.
fn queued_since(message: &str) -> Option<Timestamp> {
    let (_, rest) = message.split_once("queued since ")?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The name at the end of `… "name"`.
fn quoted_last(message: &str) -> String {
    message.trim_end_matches('"').rsplit_once('"').unwrap().1.to_owned()
}
