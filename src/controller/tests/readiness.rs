//! Renewal times, and the Ready condition.

use jiff::{SignedDuration, Timestamp};

use super::fixture::{fresh, from_now, hours, leaf, live, now};
use crate::controller::{Step, readiness, renewal};
use crate::resource::{
    CertificateSpec, ConditionStatus, ConditionType, GoDuration, Reason, Renewal, RenewalPolicy,
};

fn spec(before: Option<SignedDuration>, percentage: Option<i32>) -> CertificateSpec {
    CertificateSpec {
        renew_before: before.map(GoDuration),
        renew_before_percentage: percentage,
        ..CertificateSpec::default()
    }
}

#[test]
fn a_renewal_is_due_when_the_spec_says_so_and_else_after_two_thirds() {
    let days = |count: i64| hours(count * 24);
    // The leaf lives 90 days and began one day ago.
    let cases = [
        (None, None, days(59)),
        (Some(days(10)), None, days(79)),
        (Some(hours(1)), Some(50), days(89) - hours(1)),
        (None, Some(10), days(80)),
        (None, Some(50), days(44)),
        (None, Some(99), days(89) - days(891) / 10),
        // What cannot be meant falls back to the next rule.
        (Some(days(90)), None, days(59)),
        (Some(days(91)), Some(10), days(80)),
        (Some(-days(1)), None, days(59)),
        (Some(SignedDuration::ZERO), None, days(59)),
        (None, Some(0), days(59)),
        (None, Some(100), days(59)),
        (None, Some(-1), days(59)),
    ];
    for (before, percentage, expected) in cases {
        let found = renewal::renewal_time(&spec(before, percentage), &leaf("live"));
        assert_eq!(
            found.map(|due| due.time),
            Some(from_now(expected)),
            "{before:?} {percentage:?}"
        );
    }
}

#[test]
fn a_short_lived_certificate_is_renewed_at_half_its_life_unless_the_spec_says_when() {
    let days = |count: i64| hours(count * 24);
    let mut snapshot = live();
    for (profile, before, percentage, expected) in [
        (Some("shortlived"), None, None, days(44)),
        (Some("shortlived"), Some(days(10)), None, days(79)),
        (Some("shortlived"), None, Some(10), days(80)),
        (Some("shortlived"), Some(days(91)), None, days(44)),
        (Some("classic"), None, None, days(59)),
        (Some(""), None, None, days(59)),
        (None, None, None, days(59)),
    ] {
        snapshot.issued_profile = profile.map(str::to_owned);
        snapshot.certificate.spec.renew_before = before.map(GoDuration);
        snapshot.certificate.spec.renew_before_percentage = percentage;
        let found = renewal::due(&snapshot, &leaf("live"), now());
        let what = format!("{profile:?} {before:?} {percentage:?}");
        assert_eq!(found.map(|due| due.time), Some(from_now(expected)), "{what}");
    }
}

#[test]
fn a_renewal_time_has_no_fraction_and_never_rounds_up() {
    let mut leaf = leaf("live");
    leaf.not_before = Timestamp::from_second(0).unwrap();
    leaf.not_after = Timestamp::from_second(100).unwrap();
    let found = renewal::renewal_time(&spec(None, None), &leaf);
    assert_eq!(found.map(|due| due.time), Timestamp::from_second(66).ok());
}

#[test]
fn a_disabled_renewal_has_no_time() {
    let renewal = Renewal { policy: Some(RenewalPolicy::Disabled), windows: Vec::new() };
    let spec = CertificateSpec { renewal: Some(renewal), ..spec(Some(hours(1)), None) };
    assert_eq!(renewal::renewal_time(&spec, &leaf("live")), None);
}

#[test]
fn what_is_published_is_copied_into_the_record_once() {
    let mut snapshot = live();
    let record = readiness::refreshed(&snapshot, now());
    let status = &record.status;
    let ready = status.condition(ConditionType::Ready).unwrap();
    assert_eq!((ready.status, ready.reason), (ConditionStatus::True, Reason::Ready));
    assert_eq!(status.not_before, Some(leaf("live").not_before));
    assert_eq!(status.not_after, Some(leaf("live").not_after));
    assert_eq!(status.renewal_time, Some(from_now(hours(59 * 24))));
    assert!(matches!(readiness::decide(&snapshot, now()), Step::Record(_)));
    snapshot.record = record;
    assert_eq!(readiness::decide(&snapshot, from_now(hours(1))), Step::Settled);
}

#[test]
fn a_condition_keeps_its_time_while_its_status_stays() {
    let mut snapshot = fresh();
    snapshot.record = readiness::refreshed(&snapshot, now());
    let not_ready = |s: &crate::controller::Snapshot, at| {
        let record = readiness::refreshed(s, at);
        let ready = record.status.condition(ConditionType::Ready).unwrap().clone();
        (ready.status, ready.reason, ready.last_transition_time)
    };
    let missing = (ConditionStatus::False, Reason::DoesNotExist, now());
    assert_eq!(not_ready(&snapshot, from_now(hours(1))), missing);
    snapshot.secret = live().secret;
    snapshot.secret.as_mut().unwrap().key = None;
    let incomplete = (ConditionStatus::False, Reason::MissingData, now());
    assert_eq!(not_ready(&snapshot, from_now(hours(1))), incomplete);
}

#[test]
fn a_certificate_that_is_not_valid_yet_by_this_clock_is_not_ready_and_not_issued_again() {
    for (ahead, expected) in [(hours(1), ConditionStatus::True), (hours(2), ConditionStatus::False)]
    {
        let mut snapshot = live();
        let pair = snapshot.secret.as_mut().unwrap();
        pair.certificate.as_mut().unwrap().as_mut().unwrap().not_before = now() + ahead;
        assert_eq!(readiness::ready(&snapshot, now()).status, expected, "{ahead:?}");
        let step = crate::controller::trigger::decide(&snapshot, now());
        assert_eq!(step, Step::Settled, "{ahead:?}");
    }
}
