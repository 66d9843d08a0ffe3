//! Missing links: which set is linked again, and which one stays beside a damaged one.

use super::fixture::{key, leaf, live, now};
use crate::controller::links::{damage, decide, decide_following, repair, restored};
use crate::controller::policy::{READINESS, TRIGGER, first_violation};
use crate::controller::{Effect, Outcome, Record, Snapshot, Step, absorb, formats, next_step};
use crate::resource::{
    DataLink, EventType, LeafFacts, PublishedPair, Reason, Remedy, Repair, SecretLinks, StoredPair,
};

/// A pair; its key is another's when the digests differ.
fn pair(of: &str, its_key: &str) -> PublishedPair {
    PublishedPair {
        key: Some(Ok(key(its_key))),
        certificate: Some(Ok(leaf(of))),
        ..live().secret.unwrap()
    }
}

fn set(name: &str, revision: u32, pair: Option<PublishedPair>) -> StoredPair {
    let pair = pair.ok_or_else(|| "cannot be read".to_owned());
    StoredPair { name: name.to_owned(), revision, is_live: false, pair }
}

fn links(data: DataLink, misplaced: &[&str]) -> SecretLinks {
    SecretLinks { data, misplaced: misplaced.iter().map(|name| (*name).to_owned()).collect() }
}

fn found(set: Option<&str>, revision: u32, what: &str) -> Repair {
    let remedy = Remedy::Link { set: set.map(str::to_owned), revision };
    Repair { what: what.to_owned(), remedy }
}

#[test]
fn the_last_complete_set_of_the_recorded_certificate_is_linked_again() {
    let record = live().record;
    let missing = links(DataLink::Missing, &[]);
    let good = || Some(pair("live", "live"));
    let sets = [
        set("..revision-1-0", 1, good()),
        set("..revision-1-1", 1, good()),
        set("..revision-1-2", 1, Some(pair("live", "other"))),
        set("..revision-1-3", 1, Some(PublishedPair { key: None, ..pair("live", "live") })),
        set("..revision-1-4", 1, None),
        set("..revision-2-0", 2, Some(pair("newer", "newer"))),
    ];
    let what = "the link ..data is missing";
    let wanted = Some(found(Some("..revision-1-1"), 1, what));
    assert_eq!(repair(Some(&record), &missing, &sets, None), wanted);
    assert_eq!(repair(Some(&record), &missing, &sets[2..], None), None);
    assert_eq!(repair(None, &missing, &sets, None), None);

    // For a pair that existed before certctl the record has the dates.
    let mut adopted = record.clone();
    (adopted.issued_fingerprint, adopted.status.revision) = (None, None);
    assert_eq!(repair(Some(&adopted), &missing, &sets, None), None);
    let LeafFacts { not_before, not_after, .. } = leaf("live");
    adopted.status.not_before = Some(not_before);
    adopted.status.not_after = Some(not_after);
    let own = [set("..adopted-0", 0, good())];
    assert_eq!(
        repair(Some(&adopted), &missing, &own, None),
        Some(found(Some("..adopted-0"), 0, what))
    );
}

#[test]
fn a_folder_in_the_place_of_the_link_gives_way_or_becomes_the_set() {
    let record = live().record;
    let folder = links(DataLink::Folder, &[]);
    let (good, other) = (pair("live", "live"), pair("other", "other"));
    let sets = [set("..revision-1-0", 1, Some(good.clone()))];
    let what = "..data is a folder, not a link";
    let cases = [
        (&sets[..], &other, Some(found(Some("..revision-1-0"), 1, what))),
        (&[], &good, Some(found(None, 1, what))),
        (&[], &other, None),
    ];
    for (sets, there, wanted) in cases {
        assert_eq!(repair(Some(&record), &folder, sets, Some(there)), wanted);
    }
}

#[test]
fn stable_names_are_linked_again_and_say_which() {
    let at = |names: &[&str]| {
        repair(None, &links(DataLink::Set("..revision-1-0".to_owned()), names), &[], None)
    };
    assert_eq!(at(&[]), None);
    let one = "the link tls.key is missing or points elsewhere";
    assert_eq!(at(&["tls.key"]), Some(found(Some("..revision-1-0"), 0, one)));
    let two = "the links tls.crt, tls.key are missing or point elsewhere";
    let wanted = found(Some("..revision-1-0"), 0, two);
    assert_eq!(at(&["tls.crt", "tls.key"]).as_ref(), Some(&wanted));

    let event = restored(&wanted, now()).events.remove(0);
    let expected_message = format!("{two}; restored without an order, live set ..revision-1-0");
    assert_eq!(
        (event.kind, event.reason, event.message),
        (EventType::Warning, Reason::LinksRestored, expected_message)
    );
}

#[test]
fn what_servers_do_not_find_is_not_ready_and_nothing_is_issued_for_it() {
    let mut snapshot = live();
    snapshot.repair = Some(found(None, 1, "the link ..data is missing"));
    let violation = first_violation(READINESS, &snapshot, now()).unwrap();
    assert_eq!(violation.reason, Reason::MissingLinks);
    assert_eq!(
        violation.message,
        "the link ..data is missing; the next run restores this without an order"
    );
    assert_eq!(first_violation(TRIGGER, &snapshot, now()), None);
}

#[test]
fn the_newest_good_set_stays_beside_a_damaged_live_one() {
    let mut temporary = leaf("temporary");
    temporary.issuer_common_name = "cert-manager.local".to_owned();
    let temporary =
        PublishedPair { certificate: Some(Ok(temporary)), ..pair("temporary", "temporary") };
    assert!(temporary.is_temporary());
    let damages = [
        None,
        Some(PublishedPair { key: None, ..pair("3", "3") }),
        Some(PublishedPair { certificate: Some(Err("garbage".into())), ..pair("3", "3") }),
        Some(pair("3", "other")),
        Some(temporary),
    ];
    for damaged in damages {
        let sets = [
            set("..revision-1-0", 1, Some(pair("1", "1"))),
            set("..revision-2-0", 2, Some(pair("2", "2"))),
            StoredPair { is_live: true, ..set("..revision-3-0", 3, damaged) },
            // An interrupted publish of the same certificate left it.
            set("..revision-4-0", 4, Some(pair("4", "4"))),
        ];
        assert_eq!(
            StoredPair::last_good(&sets, &leaf("4").fingerprint, |_| false),
            Some("..revision-2-0")
        );
    }
    let sets = [
        set("..revision-1-0", 1, Some(pair("1", "1"))),
        StoredPair { is_live: true, ..set("..revision-2-0", 2, Some(pair("2", "2"))) },
    ];
    assert_eq!(StoredPair::last_good(&sets, &leaf("3").fingerprint, |_| false), None);
    // A revoked one cannot be gone back to.
    let is_revoked = |found: &LeafFacts| *found == leaf("2");
    let retained = StoredPair::last_good(&sets, &leaf("3").fingerprint, is_revoked);
    assert_eq!(retained, Some("..revision-1-0"));
    assert_eq!(StoredPair::last_good(&sets, &leaf("3").fingerprint, |_| true), None);
    let retained = |fingerprint: &str| {
        StoredPair::newest_of_another(&sets, &leaf(fingerprint).fingerprint, is_revoked)
    };
    assert_eq!((retained("3"), retained("1")), (Some("..revision-1-0"), None));
}

#[test]
fn damaged_files_of_the_live_set_are_published_again_and_say_which() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let cases = [
        (&["tls.key"][..], &[][..], "tls.key is missing"),
        (&[], &["tls.crt", "tls.key"], "tls.crt, tls.key are damaged"),
        (&["key.der"], &["tls.crt"], "key.der is missing; tls.crt is damaged"),
        (&[], &[], ""),
    ];
    for (missing, damaged, expected_message) in cases {
        assert_eq!(damage(&names(missing), &names(damaged), &[]), expected_message);
    }
    let what = "tls.key is missing".to_owned();
    let repair = Repair { what, remedy: Remedy::Publish { revision: 1 } };
    let mut snapshot = live();
    snapshot.repair = Some(repair.clone());
    let step = Step::Act(vec![Effect::RestoreFiles { revision: 1 }]);
    assert_eq!(decide(&snapshot, now()), step);
    let violation = first_violation(READINESS, &snapshot, now()).unwrap();
    assert_eq!(violation.reason, Reason::DamagedFiles);
    assert_eq!(first_violation(TRIGGER, &snapshot, now()), None);
    let event = restored(&repair, now()).events.remove(0);
    let expected_message = "tls.key is missing; restored without an order".to_owned();
    assert_eq!((event.reason, event.message), (Reason::FilesRestored, expected_message));
}

fn behind(snapshot: &mut Snapshot) -> Effect {
    let what = "revision 1 is not live on this host".to_owned();
    let (revision, fingerprint) = (1, "sha256 of live".to_owned());
    let remedy = Remedy::Follow { revision, fingerprint: fingerprint.clone() };
    snapshot.repair = Some(Repair { what, remedy });
    Effect::Follow { revision, fingerprint, contents: formats::contents(snapshot) }
}

#[test]
fn the_pair_that_the_record_names_is_published_before_anything_is_decided_on_the_live_one() {
    let mut snapshot = live();
    // Another certificate is live, and there is a reason to issue.
    let names = snapshot.secret.replace(pair("older", "older"));
    assert!(first_violation(TRIGGER, &snapshot, now()).is_some());
    snapshot.secret = names;
    let follow = behind(&mut snapshot);
    let step = Step::Act(vec![follow.clone()]);
    assert_eq!(decide(&snapshot, now()), step);
    assert_eq!(next_step(&snapshot, now()).1, step);
    let violation = first_violation(READINESS, &snapshot, now()).unwrap();
    assert_eq!(violation.reason, Reason::DamagedFiles);
    let event = absorb(&mut snapshot, &follow, Outcome::Done, now()).unwrap().events.remove(0);
    let expected_message = "revision 1 is not live on this host; restored without an order";
    assert_eq!((event.reason, &*event.message), (Reason::FilesRestored, expected_message));
    // The issuance of this run has said so.
    snapshot.run.published = true;
    let record = absorb(&mut snapshot, &follow, Outcome::Done, now()).unwrap();
    assert_eq!(record, Record::default());
    // What was repaired before the goal is not looked at again.
    let remedy = Remedy::Publish { revision: 1 };
    snapshot.repair = Some(Repair { what: String::new(), remedy });
    assert_eq!(decide_following(&snapshot, now()), Step::Settled);
}
