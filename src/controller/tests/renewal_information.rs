//! When the CA is asked when to renew, what its answer means, and what an order replaces.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::fixture::{account, from_now, hours, issuer_mut, leaf, live, now, ready_to_order};
use crate::controller::policy::first_trigger;
use crate::controller::renewal_information::{Question, absorb, of_new_leaf, question};
use crate::controller::{
    Change, Effect, EffectError, Outcome, Record, RenewalInformationSeen, Snapshot, Step, limit,
    order, renewal, trigger,
};
use crate::resource::{
    CaFailure, CaFault, Cause, CertificateRecord, EventType, GoDuration, LeafFacts, NoWindow,
    Order, OrderPhase, Problem, Reason, Renewal, RenewalInformation, RenewalInformationSource,
    RenewalPolicy, Rollback, SuggestedWindow,
};

const ID: &str = "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE";

fn identified(digest: &str) -> LeafFacts {
    LeafFacts { certificate_id: Some(ID.to_owned()), ..leaf(digest) }
}

/// Live for a day, of 90; its renewal is due in 59 days by default.
fn uninformed() -> Snapshot {
    let mut snapshot = live();
    snapshot.secret.as_mut().unwrap().certificate = Some(Ok(identified("live")));
    snapshot
}

fn days(days: i64) -> Timestamp {
    from_now(hours(24 * days))
}

fn window(start: Timestamp, end: Timestamp) -> RenewalInformationSeen {
    RenewalInformationSeen { start, end, explanation_url: None, retry_after: Some(hours(6)) }
}

fn response(seen: RenewalInformationSeen) -> Outcome {
    Outcome::RenewalInformation(Box::new(seen))
}

fn answered(snapshot: &Snapshot, outcome: Outcome, at: Timestamp) -> (Snapshot, Record) {
    let record = absorb(snapshot, ID, outcome, at).unwrap();
    let mut next = snapshot.clone();
    if let Some(Change::Certificate(record)) = record.changes.first() {
        next.record = (**record).clone();
    }
    (next, record)
}

fn knowing(snapshot: &Snapshot, start: i64, end: i64) -> Snapshot {
    answered(snapshot, response(window(days(start), days(end))), now()).0
}

fn failed(fault: CaFault) -> Outcome {
    Outcome::Failed(EffectError::new(Cause::ca(fault, "no")))
}

fn due(snapshot: &Snapshot, now: Timestamp) -> Option<Timestamp> {
    renewal::due(snapshot, snapshot.live_leaf().unwrap(), now).map(|due| due.time)
}

/// Whole days from now until the renewal.
fn due_in_days(snapshot: &Snapshot) -> Option<i64> {
    due(snapshot, now()).map(|at| now().duration_until(at).as_hours() / 24)
}

#[test]
fn the_ca_is_asked_about_a_live_certificate_that_waits_for_nothing() {
    type Edit = fn(&mut Snapshot);
    let begun = days(-1);
    let cases: &[(&str, Option<Timestamp>, Edit)] = &[
        ("", Some(begun), |_| {}),
        ("ARI in so many words", Some(begun), |s| {
            issuer_mut(s).acme.renewal_information_source = Some(RenewalInformationSource::Ari);
        }),
        ("the manifest wants none", None, |s| {
            issuer_mut(s).acme.renewal_information_source = Some(RenewalInformationSource::None);
        }),
        ("renewal is disabled", None, |s| {
            let renewal = Renewal { policy: Some(RenewalPolicy::Disabled), ..Renewal::default() };
            s.certificate.spec.renewal = Some(renewal);
        }),
        ("nothing is live", None, |s| s.secret = None),
        ("no identifier", None, |s| {
            s.secret.as_mut().unwrap().certificate = Some(Ok(leaf("live")));
        }),
        ("another CA", None, |s| s.record.directory_urls.clear()),
        ("in progress", None, |s| {
            s.record = trigger::issuing(&s.record, Reason::ManuallyTriggered, "", now());
        }),
        ("issued in this run", Some(begun), |s| s.run.published = true),
        ("of a CA whose clock is ahead", Some(days(0)), |s| {
            let live = LeafFacts { not_before: days(1), ..identified("live") };
            s.secret.as_mut().unwrap().certificate = Some(Ok(live));
        }),
        ("due", None, |s| {
            s.certificate.spec.dns_names.push("new.example".parse().unwrap());
        }),
        ("asked before", None, |s| s.record = ari(s, |known| known.next_check = days(1))),
        ("asked long before", Some(days(0)), |s| {
            s.record = ari(s, |known| known.next_check = days(0));
        }),
        ("asked by a clock that was ahead", Some(begun), |s| {
            s.record = ari(s, |known| {
                (known.last_checked, known.next_check) = (Some(days(300)), days(301));
            });
        }),
        ("asked about another certificate", Some(begun), |s| {
            s.record = ari(s, |known| {
                (known.certificate_id, known.next_check) = ("other".to_owned(), days(1));
            });
        }),
    ];
    let not_offered: &[(&str, Option<Timestamp>, Edit)] =
        &[("not offered for another certificate", None, |s| {
            s.record = ari(s, |known| {
                known.last_error = Some(NoWindow::NotOffered);
                (known.certificate_id, known.next_check) = ("other".to_owned(), days(1));
            });
        })];
    for (what, since, edit) in cases.iter().chain(not_offered) {
        let mut snapshot = uninformed();
        edit(&mut snapshot);
        let certificate_id = ID.to_owned();
        let issuer = Arc::clone(snapshot.issuer());
        let expected = since.map(|since| Question { certificate_id, since, issuer });
        let found = question(&snapshot, now());
        assert_eq!(found, expected, "{what}");
        let effect = expected.map(|Question { certificate_id, .. }| {
            Effect::AskForRenewalInformation { certificate_id }
        });
        assert_eq!(found.map(|question| question.effect()), effect, "{what}");
    }
}

/// The record with an answer of a moment ago.
fn ari(snapshot: &Snapshot, edit: impl FnOnce(&mut RenewalInformation)) -> CertificateRecord {
    let mut record = knowing(snapshot, 10, 20).record;
    edit(record.status.acme.ari.as_mut().unwrap());
    record
}

/// A wrong one would hide that the CA has revoked the certificate.
#[test]
fn a_retry_after_is_believed_for_at_most_half_of_the_life_that_is_left() {
    let part = |of: SignedDuration| SignedDuration::from_secs((of.as_secs() * 0xf908_c22c) >> 32);
    for (left, wait) in [(hours(480), hours(24)), (hours(12), hours(6)), (hours(4), hours(2))] {
        let mut snapshot = uninformed();
        let live = LeafFacts { not_after: from_now(left), ..identified("live") };
        snapshot.secret.as_mut().unwrap().certificate = Some(Ok(live));
        let window = window(days(-1), days(1));
        let seen = RenewalInformationSeen { retry_after: Some(hours(9000)), ..window };
        let known = answered(&snapshot, response(seen), now()).0.record.status.acme.ari.unwrap();
        assert_eq!(known.next_check, from_now(wait + part(wait / 4)), "{left:?}");
    }
}

#[test]
fn an_answer_is_kept_with_the_instant_and_the_time_of_the_next_question() {
    let seen = RenewalInformationSeen {
        explanation_url: Some("https://ca.test/why".to_owned()),
        ..window(days(10), days(20))
    };
    let (snapshot, record) = answered(&uninformed(), response(seen.clone()), now());
    let known = snapshot.record.status.acme.ari.clone().unwrap();
    // SHA-256 of the identifier begins with these eight bytes.
    let part =
        |of: SignedDuration, part: i64| SignedDuration::from_secs((of.as_secs() * part) >> 32);
    let renew_at = days(10) + part(hours(240), 0xb9d5_75f2);
    let expected = RenewalInformation {
        certificate_id: ID.to_owned(),
        suggested_window: Some(SuggestedWindow {
            start: days(10),
            end: days(20),
            renew_at,
            reported_at: now(),
            explanation_url: Some("https://ca.test/why".to_owned()),
        }),
        last_checked: Some(now()),
        next_check: from_now(hours(6) + part(hours(6) / 4, 0xf908_c22c)),
        last_error: None,
        made_due: false,
        follows_early_renewal: false,
    };
    assert_eq!(known, expected);
    assert_eq!(snapshot.record.status.renewal_time, Some(renew_at));
    let message = format!(
        "The CA suggests renewing between {} and {} (https://ca.test/why); the chosen time is {}",
        days(10),
        days(20),
        renew_at
    );
    let found: Vec<_> = record.events.iter().map(|e| (e.kind, e.reason, &e.message)).collect();
    assert_eq!(found, [(EventType::Normal, Reason::Renewing, &message)]);
    // The same window again is no event, and the instant stays.
    let later = from_now(hours(8));
    let (snapshot, record) = answered(&snapshot, response(seen), later);
    assert_eq!(record.events, []);
    let again = snapshot.record.status.acme.ari.unwrap().suggested_window.unwrap();
    assert_eq!((again.renew_at, again.reported_at), (renew_at, later));
}

#[test]
fn the_next_question_waits_as_long_as_the_ca_says_within_a_minute_and_a_day() {
    let with_retry_after =
        |retry_after| RenewalInformationSeen { retry_after, ..window(days(10), days(20)) };
    let minutes = SignedDuration::from_mins;
    let late =
        EffectError { cause: Cause::ca(CaFault::ServerError, "no"), retry_after: Some(hours(9)) };
    let cases = [
        (response(with_retry_after(None)), hours(6)),
        (response(with_retry_after(Some(SignedDuration::ZERO))), minutes(1)),
        (response(with_retry_after(Some(minutes(30)))), minutes(30)),
        (response(with_retry_after(Some(hours(24 * 365)))), hours(24)),
        (response(window(days(20), days(10))), hours(6)),
        (failed(CaFault::Unreachable), hours(6)),
        (Outcome::Failed(late), hours(9)),
        (Outcome::NoRenewalInformation, hours(24)),
    ];
    for (outcome, least) in cases {
        let what = format!("{outcome:?}");
        let record = answered(&uninformed(), outcome, now()).0.record;
        let wait = now().duration_until(record.status.acme.ari.unwrap().next_check);
        assert!(least <= wait && wait <= least + least / 4, "{what}: {wait}");
    }
}

#[test]
fn what_cannot_be_a_window_is_an_error_and_leaves_the_last_one() {
    let cases = [
        (response(window(days(20), days(10))), Some(CaFault::Unusable)),
        (response(window(days(20), days(20))), Some(CaFault::Unusable)),
        (response(window(days(80), days(90))), Some(CaFault::Unusable)),
        (failed(CaFault::Unreachable), Some(CaFault::Unreachable)),
        (failed(CaFault::Gone), Some(CaFault::Gone)),
        (Outcome::NoRenewalInformation, None),
    ];
    for before in [uninformed(), knowing(&uninformed(), 10, 20)] {
        let window = |s: &Snapshot| s.record.status.acme.ari.clone()?.suggested_window;
        for (outcome, fault) in cases.clone() {
            let expected = match &outcome {
                Outcome::RenewalInformation(seen) => {
                    NoWindow::Unusable { start: seen.start, end: seen.end }
                }
                Outcome::NoRenewalInformation => NoWindow::NotOffered,
                Outcome::Failed(error) => NoWindow::Failed(error.cause.clone()),
                other => panic!("{other:?}"),
            };
            let (snapshot, record) = answered(&before, outcome.clone(), now());
            let known = snapshot.record.status.acme.ari.clone().unwrap();
            assert_eq!(known.last_error, Some(expected), "{outcome:?}");
            assert_eq!(known.suggested_window, window(&before));
            // Each kind of error is reported once.
            assert_eq!(record.events.len(), usize::from(fault.is_some()), "{outcome:?}");
            let again = answered(&snapshot, outcome, now()).1;
            assert_eq!(again.events, []);
        }
    }
}

#[test]
fn an_answer_about_another_certificate_changes_nothing() {
    let outcome = response(window(days(-9), days(-8)));
    assert_eq!(absorb(&uninformed(), "other", outcome.clone(), now()), Ok(Record::default()));
    let mut replaced = uninformed();
    replaced.secret.as_mut().unwrap().certificate = Some(Ok(leaf("live")));
    assert_eq!(absorb(&replaced, ID, outcome, now()), Ok(Record::default()));
    // What was known of the certificate before is not taken for this one.
    let mut other = knowing(&uninformed(), -9, -8);
    assert_eq!(due_in_days(&other), Some(0));
    other.record.status.acme.ari.as_mut().unwrap().certificate_id = "other".to_owned();
    assert_eq!(due_in_days(&other), Some(59));
}

#[test]
fn the_renewal_is_due_at_the_instant_or_earlier_by_the_manifest() {
    type Edit = fn(&mut Snapshot);
    let cases: &[(&str, i64, i64, Option<i64>, Edit)] = &[
        ("in the window, earlier than by default", 10, 20, Some(17), |_| {}),
        ("later than by default", 70, 80, Some(77), |_| {}),
        ("renewBefore caps it", 70, 80, Some(69), |s| {
            s.certificate.spec.renew_before = Some(GoDuration(hours(20 * 24)));
        }),
        ("renewBefore does not delay it", 10, 20, Some(17), |s| {
            s.certificate.spec.renew_before = Some(GoDuration(hours(20 * 24)));
        }),
        ("renewBeforePercentage caps it", 70, 80, Some(44), |s| {
            s.certificate.spec.renew_before_percentage = Some(50);
        }),
        ("a renewBefore that cannot be is none", 70, 80, Some(77), |s| {
            s.certificate.spec.renew_before = Some(GoDuration(hours(91 * 24)));
        }),
        ("the last question failed", 70, 80, Some(59), |s| {
            *s = answered(&s.clone(), failed(CaFault::Unreachable), now()).0;
        }),
        ("the last question failed, and the instant is earlier", 10, 20, Some(17), |s| {
            *s = answered(&s.clone(), Outcome::NoRenewalInformation, now()).0;
        }),
        ("renewal is disabled", -9, -8, None, |s| {
            let renewal = Renewal { policy: Some(RenewalPolicy::Disabled), ..Renewal::default() };
            s.certificate.spec.renewal = Some(renewal);
        }),
        ("the CA is not to be asked any more", -9, -8, Some(59), |s| {
            issuer_mut(s).acme.renewal_information_source = Some(RenewalInformationSource::None);
        }),
        // The day of the question, not one before.
        ("in the past", -900, -800, Some(0), |_| {}),
        ("the certificate is the second one in a row with a past", -9, -8, Some(29), |s| {
            s.record.status.acme.ari.as_mut().unwrap().follows_early_renewal = true;
        }),
        ("the same with a window in the future", 70, 80, Some(77), |s| {
            s.record.status.acme.ari.as_mut().unwrap().follows_early_renewal = true;
        }),
    ];
    for (what, start, end, expected, edit) in cases {
        let mut snapshot = knowing(&uninformed(), *start, *end);
        edit(&mut snapshot);
        assert_eq!(due_in_days(&snapshot), *expected, "{what}");
        let is_due = *expected == Some(0);
        let violation = first_trigger(&snapshot, now());
        assert_eq!(violation.is_some(), is_due, "{what}");
        if let Some(violation) = violation {
            assert_eq!(violation.reason, Reason::Renewing);
            let asks = ", as the CA's renewal information (ARI) suggests";
            assert!(violation.message.ends_with(asks), "{}", violation.message);
        }
    }
}

#[test]
fn a_clock_that_was_ahead_delays_no_renewal() {
    let mut snapshot = answered(&uninformed(), response(window(days(-9), days(-8))), days(300)).0;
    assert!(due(&snapshot, now()).unwrap() < days(-7));
    snapshot.record.status.acme.ari.as_mut().unwrap().follows_early_renewal = true;
    assert_eq!(due_in_days(&snapshot), Some(29));
}

#[test]
fn after_a_rollback_only_a_window_told_since_makes_the_renewal_earlier() {
    let back = |reported_at| {
        let mut snapshot =
            answered(&uninformed(), response(window(days(-9), days(-8))), reported_at).0;
        snapshot.record.rollback = Some(Rollback {
            to: 1,
            from: 2,
            newest: 2,
            set: String::new(),
            fingerprint: leaf("live").fingerprint,
            left: Vec::new(),
            requested_at: days(-2),
            generation: snapshot.record.generation,
            directory_url: snapshot.issuer().acme.server.clone(),
            done_at: Some(days(-2)),
        });
        due_in_days(&snapshot)
    };
    assert_eq!((back(days(-3)), back(days(-1))), (Some(59), Some(-1)));
}

/// With an account, a live certificate of it, and all that an order needs.
fn to_renew() -> Snapshot {
    let wanted = ready_to_order();
    let mut snapshot = knowing(&uninformed(), -9, -8);
    snapshot.record = trigger::issuing(&snapshot.record, Reason::Renewing, "", now());
    snapshot.next_key = wanted.next_key;
    snapshot.next_request = wanted.next_request;
    snapshot.account = Some(account());
    snapshot.issued_account = account().url;
    snapshot.run.prepared = true;
    snapshot.run.prepared_to_solve = true;
    snapshot
}

fn new_order(snapshot: &Snapshot) -> Order {
    let Step::Record(record) = order::decide(snapshot, now()) else { panic!() };
    let Some(Change::Order(order)) = record.changes.first() else { panic!() };
    (**order).clone()
}

#[test]
fn an_order_names_the_certificate_that_it_replaces_if_that_is_its_own() {
    type Edit = fn(&mut Snapshot);
    let cases: &[(&str, bool, Edit)] = &[
        ("", true, |_| {}),
        ("asked for nothing", true, |s| s.record.status.acme.ari = None),
        ("another name besides", true, |s| {
            s.certificate.spec.dns_names.push("new.example".parse().unwrap());
        }),
        ("no name is shared", false, |s| {
            s.certificate.spec.common_name = String::new();
            s.certificate.spec.dns_names = vec!["new.example".parse().unwrap()];
        }),
        ("another account", false, |s| s.issued_account = Some("https://ca.test/2".to_owned())),
        ("an unknown account", false, |s| s.issued_account = None),
        ("another CA", false, |s| s.record.directory_urls.clear()),
        ("no identifier", false, |s| {
            s.secret.as_mut().unwrap().certificate = Some(Ok(leaf("live")));
        }),
        ("nothing live", false, |s| s.secret = None),
        ("not wanted", false, |s| {
            issuer_mut(s).acme.renewal_information_source = Some(RenewalInformationSource::None);
        }),
    ];
    for (what, is_named, edit) in cases {
        let mut snapshot = to_renew();
        edit(&mut snapshot);
        let expected = is_named.then(|| ID.to_owned());
        assert_eq!(new_order(&snapshot).replaces, expected, "{what}");
    }
}

fn refused(fault: CaFault, kind: &str, status: u16) -> EffectError {
    let problem = Problem {
        kind: format!("urn:ietf:params:acme:error:{kind}"),
        status: Some(status),
        ..Problem::default()
    };
    EffectError::new(Cause::Ca(CaFailure {
        fault,
        url: "https://ca.test/new-order".to_owned(),
        problem: Some(Box::new(problem)),
        message: String::new(),
        clock_ahead: None,
    }))
}

#[test]
fn a_refused_order_is_asked_for_once_more_without_the_replaced_certificate() {
    let cases = [
        (refused(CaFault::Refused, "alreadyReplaced", 409), true),
        (refused(CaFault::Refused, "malformed", 400), true),
        (refused(CaFault::Refused, "unauthorized", 403), true),
        (refused(CaFault::Gone, "malformed", 404), true),
        (refused(CaFault::ServerError, "serverInternal", 500), true),
        (refused(CaFault::Refused, "rateLimited", 429), false),
        (refused(CaFault::Refused, "userActionRequired", 403), false),
        (refused(CaFault::Unreachable, "badNonce", 400), false),
        (EffectError::new(Cause::ca(CaFault::Unreachable, "")), false),
        (EffectError::new(Cause::ca(CaFault::Refused, "the CA has no profiles")), false),
    ];
    for (error, again) in cases {
        let mut snapshot = to_renew();
        let order = Order { phase: OrderPhase::Creating, ..new_order(&snapshot) };
        snapshot.order = Some(order.clone());
        snapshot.order_count = 1;
        let Step::Act(effects) = order::decide(&snapshot, now()) else { panic!() };
        let [effect @ Effect::CreateOrder { replaces: Some(_), .. }] = effects.as_slice() else {
            panic!("{effects:?}")
        };
        let outcome = Outcome::Failed(error.clone());
        let record = crate::controller::absorb(&mut snapshot, effect, outcome, now()).unwrap();
        let expected = Order { replaces: None, ..order };
        let found = match record.changes.first() {
            Some(Change::Order(order)) => Some((**order).clone()),
            _ => None,
        };
        assert_eq!(found == Some(expected.clone()), again, "{error:?} {found:?}");
        if !again {
            continue;
        }
        assert_eq!(record.events[0].reason, Reason::Failed);
        snapshot.order = Some(expected);
        let Step::Act(effects) = order::decide(&snapshot, now()) else { panic!("{error:?}") };
        let [effect @ Effect::CreateOrder { replaces: None, .. }] = effects.as_slice() else {
            panic!("{effects:?}")
        };
        // The second refusal is the order's.
        let outcome = Outcome::Failed(error.clone());
        let record = crate::controller::absorb(&mut snapshot, effect, outcome, now()).unwrap();
        assert!(record.events.iter().all(|event| event.reason != Reason::Failed));
        let asks = |order: &Order| order.phase == OrderPhase::Creating;
        let is_over = snapshot.run.error.is_some()
            || matches!(record.changes.first(), Some(Change::Order(order)) if !asks(order));
        assert!(is_over, "{error:?}");
    }
}

#[test]
fn only_a_renewal_that_the_ca_asks_for_and_that_names_it_is_exempt_from_limits() {
    let names = ["a.example".to_owned()];
    let exempt = |s: &Snapshot| limit::spending(s, &names, now()).exempt;
    let requested = to_renew();
    assert!(exempt(&requested));
    let mut sent = requested.clone();
    sent.order = Some(new_order(&requested));
    assert!(exempt(&sent));
    let mut refused = sent.clone();
    refused.order.as_mut().unwrap().replaces = None;
    assert!(!exempt(&refused));
    let mut unasked = requested;
    unasked.record.status.acme.ari = None;
    assert!(!exempt(&unasked));
}

#[test]
fn a_new_certificate_inherits_no_window() {
    assert_eq!(of_new_leaf(&identified("new"), false, true, now()), None);
    assert_eq!(of_new_leaf(&leaf("new"), true, false, now()), None);
    let expected = RenewalInformation {
        certificate_id: ID.to_owned(),
        suggested_window: None,
        last_checked: None,
        next_check: now(),
        last_error: None,
        made_due: false,
        follows_early_renewal: true,
    };
    assert_eq!(of_new_leaf(&identified("new"), true, true, now()), Some(expected.clone()));
    // A CA that offers none is asked again in a day.
    let part = SignedDuration::from_secs((hours(6).as_secs() * 0xf908_c22c) >> 32);
    let expected = RenewalInformation {
        last_checked: Some(now()),
        next_check: from_now(hours(24) + part),
        last_error: Some(NoWindow::NotOffered),
        follows_early_renewal: false,
        ..expected
    };
    assert_eq!(of_new_leaf(&identified("new"), false, false, now()), Some(expected));
    // Early is what only ARI made due.
    let early = knowing(&uninformed(), -9, -8);
    for (snapshot, at, made_due) in [
        (&early, now(), Some(true)),
        (&early, days(60), Some(false)),
        (&uninformed(), days(60), None),
    ] {
        let Step::Record(record) = trigger::decide(snapshot, at) else { panic!() };
        let Some(Change::Certificate(record)) = record.changes.first() else { panic!() };
        let found = record.status.acme.ari.as_ref().map(|known| known.made_due);
        assert_eq!(found, made_due, "{at}");
    }
}
