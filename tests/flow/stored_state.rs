//! The stored state of `tests/fixtures/state` is read by each later certctl: nothing is ordered, no key
//! is lost, and `status` says what it said.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use certctl::store::atomic;
use serde_json::Value;

use crate::support::fixture::{NOW, WORLD, copied, fixture};
use crate::support::{Entry, Run, World, finish};

/// What was recorded, and what was asked.
const RECORDED: [(&str, &[&str]); 3] = [
    ("status.txt", &["status"]),
    ("status-wide.txt", &["status", "-o", "wide"]),
    ("status.json", &["status", "-o", "json"]),
];

/// A document or an answer with a placeholder for each time of a failure and of the next attempt.
fn failure_times(text: &str) -> String {
    let keys = ["\"lastFailureTime\": \"", "\"nextAttempt\": \""];
    placed(text, &keys, |_| NOW)
}

/// What `status` said, without what is another in each copy and at each time.
fn status(world: &World, said: &str) -> String {
    let folder = world.path("").display().to_string();
    let said = failure_times(&said.replace(folder.trim_end_matches('/'), WORLD));
    if said.starts_with(['{', '[']) {
        return without_times_of_the_run(world, &said);
    }
    let mut lines: Vec<String> = said.lines().map(without_distances).collect();
    lines.push(String::new());
    lines.join("\n")
}

/// A condition that no document has yet began when `status` ran.
fn without_times_of_the_run(world: &World, said: &str) -> String {
    let stored: Vec<Entry> = world.state().everything().into_values().collect();
    let is_stored = |time: &str| {
        stored.iter().any(|entry| match entry {
            Entry::File(_, bytes) => String::from_utf8_lossy(bytes).contains(time),
            Entry::Folder(_) | Entry::Link(_) => false,
        })
    };
    placed(said, &["\"lastTransitionTime\": \""], |time| {
        let second = time.trim_end_matches('Z');
        if is_stored(second) { time } else { NOW }
    })
}

/// A document with other values for these keys.
fn placed<'a>(text: &'a str, keys: &[&str], value: impl Fn(&'a str) -> &'a str) -> String {
    let mut done = String::new();
    for line in text.split_inclusive('\n') {
        let found = keys.iter().find_map(|key| {
            let start = line.find(key)? + key.len();
            Some((start, start + line[start..].find('"')?))
        });
        match found {
            Some((start, end)) => {
                done += &[&line[..start], value(&line[start..end]), &line[end..]].concat();
            }
            None => done += line,
        }
    }
    done
}

/// A line with one blank between words, and without lengths of time.
fn without_distances(line: &str) -> String {
    let words = line.split_whitespace().filter(|word| !is_distance(word));
    words.collect::<Vec<_>>().join(" ")
}

/// `59d`, `3h52m`, `now`, and the words beside them.
fn is_distance(word: &str) -> bool {
    let is_length = word.starts_with(|c: char| c.is_ascii_digit())
        && word.ends_with(['s', 'm', 'h', 'd'])
        && word.chars().all(|c| c.is_ascii_digit() || "smhd".contains(c));
    is_length || ["in", "ago", "now"].contains(&word)
}

/// Runs the present binary in the time zone of the recording.
fn run(world: &World, words: &[&str]) -> Run {
    finish(world.command(words).env("TZ", "UTC").spawn().unwrap())
}

/// Fails unless `new` has all that `old` has, at the same places.
#[track_caller]
fn holds_all(new: &Value, old: &Value, place: &str) {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            for (key, value) in old {
                let place = format!("{place}/{key}");
                let found = new.get(key).unwrap_or_else(|| panic!("{place} is gone: {value}"));
                holds_all(found, value, &place);
            }
        }
        (Value::Array(new), Value::Array(old)) => {
            assert_eq!(new.len(), old.len(), "{place}");
            for (number, (new, old)) in new.iter().zip(old).enumerate() {
                holds_all(new, old, &format!("{place}/{number}"));
            }
        }
        _ => assert_eq!(new, old, "{place}"),
    }
}

#[test]
fn the_status_of_a_stored_state_is_what_it_was_and_writes_nothing() {
    let world = copied();
    let before = world.state().everything();
    for (file, words) in RECORDED {
        let recorded = fs::read_to_string(fixture().join(file)).unwrap();
        let run = run(&world, words);
        assert_eq!(run.stderr, "", "{words:?}");
        let said = status(&world, &run.stdout);
        if words.contains(&"json") {
            let parsed = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
            holds_all(&parsed(&said), &parsed(&recorded), "");
        } else if std::env::var_os("CERTCTL_REGENERATE").is_some() {
            atomic::write(&fixture().join(file), said.as_bytes(), 0o644).unwrap();
        } else {
            assert_eq!(said, recorded, "{words:?}");
        }
        assert_eq!(world.state().everything(), before, "{words:?} writes nothing");
    }
}

/// All but the locks, which name the process that holds or held them.
fn documents(world: &World) -> Everything {
    let mut all = world.state().everything();
    let locks = world.state().path("locks");
    all.retain(|path, _| !path.starts_with(&locks));
    all
}

type Everything = BTreeMap<PathBuf, Entry>;

/// The secrets, the accounts' keys, the keys for the next certificate, and the log of issuances.
fn irreplaceable(all: &Everything) -> Everything {
    let is_one = |path: &Path, entry: &Entry| {
        path.components().any(|part| part.as_os_str() == "secrets")
            || path.ends_with("issuance.log")
            || matches!(entry, Entry::File(_, bytes)
                if String::from_utf8_lossy(bytes).contains("PRIVATE KEY"))
    };
    all.iter()
        .filter(|(path, entry)| is_one(path, entry))
        .map(|(path, entry)| (path.clone(), entry.clone()))
        .collect()
}

/// The paths of the orders and requests.
fn orders(all: &Everything) -> Vec<&PathBuf> {
    let is_one = |path: &&PathBuf| {
        let folder = path.parent().unwrap();
        folder.ends_with("orders") || folder.ends_with("requests")
    };
    all.keys().filter(is_one).collect()
}

#[test]
fn a_stored_state_is_taken_over_without_an_order_and_without_the_loss_of_a_key() {
    let world = copied();
    let before = documents(&world);
    let pending = || PENDING.map(|name| world.state().order_urls(name));
    let urls = pending();
    run(&world, &["issue"]);
    let after = documents(&world);
    assert_eq!(pending(), urls, "the orders under way are those that were");
    assert_eq!(orders(&after), orders(&before), "no order is made, and none is lost");
    assert_eq!(irreplaceable(&after), irreplaceable(&before));
    let revisions = TAKEN_OVER.map(|(name, _)| (name, world.state().record(name).status.revision));
    assert_eq!(revisions, TAKEN_OVER);
    // The orders that are pending ask for their CA, which is not there, and take long about it.
    // A failed reload is tried at once for a named certificate.
    let others = TAKEN_OVER.iter().map(|(name, _)| *name).filter(|name| *name != "deployed");
    run(&world, &["issue"].into_iter().chain(others).collect::<Vec<_>>());
    let others = |mut all: Everything| {
        let folder = world.state().path("certificates/default");
        all.retain(|path, _| !PENDING.iter().any(|name| path.starts_with(folder.join(name))));
        all
    };
    let (first, second) = (others(after), others(documents(&world)));
    let changed: Vec<_> =
        second.iter().filter(|(path, now)| first.get(*path) != Some(now)).collect();
    assert_eq!((changed, second.len()), (Vec::new(), first.len()), "a second run writes nothing");
}

/// The certificates with an order under way.
const PENDING: [&str; 2] = ["pending-dns", "pending-http"];

/// The other certificates, and their revisions.
const TAKEN_OVER: [(&str, Option<u32>); 11] = [
    ("adopted", None),
    ("back", Some(1)),
    ("deployed", Some(1)),
    ("refused", None),
    ("rejected", None),
    ("renewed", Some(2)),
    ("revoked", Some(2)),
    ("twice", Some(3)),
    ("unfinished", None),
    ("web", Some(1)),
    ("wild", Some(1)),
];
