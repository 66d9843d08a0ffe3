//! The forecast: nothing is due until then.

use jiff::{SignedDuration, Timestamp};

use super::fixture::{Phase, from_now, hours, live, now, solving};
use crate::controller::renewal_information::question;
use crate::controller::{Snapshot, Step, idle, next_step, readiness};
use crate::resource::{GoDuration, LeafFacts, RenewalInformation, RenewalPolicy, SuggestedWindow};

type Edit = fn(&mut Snapshot);

fn leaf(snapshot: &mut Snapshot) -> &mut LeafFacts {
    snapshot.secret.as_mut().unwrap().certificate.as_mut().unwrap().as_mut().unwrap()
}

/// The CA was asked an hour ago, and may be again at this time.
fn informed(snapshot: &mut Snapshot, next_check: Timestamp, renew_at: Timestamp) {
    leaf(snapshot).certificate_id = Some("id".to_owned());
    let (start, end) = (from_now(-hours(1)), from_now(hours(80 * 24)));
    let reported_at = from_now(-hours(1));
    snapshot.record.status.acme.ari = Some(RenewalInformation {
        certificate_id: "id".to_owned(),
        suggested_window: Some(SuggestedWindow {
            start,
            end,
            renew_at,
            reported_at,
            explanation_url: None,
        }),
        last_checked: Some(reported_at),
        next_check,
        last_error: None,
        made_due: false,
        follows_early_renewal: false,
    });
}

fn settled(edit: Edit) -> Snapshot {
    let mut snapshot = live();
    edit(&mut snapshot);
    snapshot.record = readiness::refreshed(&snapshot, now());
    snapshot
}

fn is_idle(snapshot: &Snapshot, at: Timestamp) -> bool {
    let step = next_step(snapshot, at);
    step == (Vec::new(), Step::Settled) && question(snapshot, at).is_none()
}

/// What bounds each forecast, in hours from now; `None` is the next look at all files.
const IDLE: &[(&str, Option<i64>, Edit)] = &[
    ("just issued", None, |_| {}),
    ("its renewal is due soon", Some(5), |s| {
        s.certificate.spec.renew_before = Some(GoDuration(hours(89 * 24 - 5)));
    }),
    ("it ends soon, and is not renewed", Some(4), |s| {
        s.certificate.spec.renewal = Some(crate::resource::Renewal {
            policy: Some(RenewalPolicy::Disabled),
            ..crate::resource::Renewal::default()
        });
        leaf(s).not_after = from_now(hours(4));
    }),
    ("its CA may be asked soon", Some(3), |s| {
        informed(s, from_now(hours(3)), from_now(hours(2000)));
    }),
    ("its CA wants it to be renewed soon", Some(6), |s| {
        informed(s, from_now(hours(20)), from_now(hours(6)));
    }),
    ("its CA was never asked, and is not to be", None, |s| {
        leaf(s).certificate_id = Some("id".to_owned());
        s.record.directory_urls.clear();
    }),
    ("an attempt failed that was only requested", Some(1), |s| {
        s.record.status.last_failure_time = Some(now());
        s.record.status.failed_issuance_attempts = Some(1);
    }),
    ("the CA asked to wait", Some(2), |s| s.record.retry_after = Some(from_now(hours(2)))),
];

#[test]
fn nothing_is_due_before_the_forecast_is_over() {
    for (what, bound, edit) in IDLE {
        let snapshot = settled(*edit);
        assert!(is_idle(&snapshot, now()), "{what}: {:?}", next_step(&snapshot, now()));
        let until = idle::until(&snapshot, now()).unwrap();
        match bound {
            Some(bound) => assert_eq!(until, from_now(hours(*bound)), "{what}"),
            None => {
                assert!(
                    until >= from_now(hours(12)) && until < from_now(hours(24)),
                    "{what}: {until}"
                );
            }
        }
        let whole = now().duration_until(until);
        for part in 0..200 {
            let at = now() + whole * part / 200;
            assert!(is_idle(&snapshot, at), "{what}, at {at}");
        }
        assert!(is_idle(&snapshot, until - SignedDuration::from_nanos(1)), "{what}, right before");
    }
}

#[test]
fn what_is_not_deployed_has_no_forecast() {
    let mut snapshot = settled(|s| {
        s.files_digest = Some("live".to_owned());
        s.settings.reload = Some("nginx".to_owned());
    });
    assert_eq!(idle::until(&snapshot, now()), None);
    snapshot.settings.reload = None;
    assert!(idle::until(&snapshot, now()).is_some());
}

#[test]
fn what_owes_a_clean_up_has_no_forecast() {
    let mut snapshot = settled(|_| {});
    let order = solving(&[Phase::SelfChecking]).order.unwrap();
    assert!(order.owes_clean_up());
    snapshot.retired.push(order);
    assert_eq!(idle::until(&snapshot, now()), None);
    snapshot.retired.clear();
    assert!(idle::until(&snapshot, now()).is_some());
}

#[test]
fn each_certificate_is_looked_at_again_at_its_own_time() {
    let look = |number: usize| {
        let mut snapshot = settled(|_| {});
        snapshot.certificate.metadata.name = format!("web-{number}");
        let until = idle::until(&snapshot, now()).unwrap();
        now().duration_until(until).as_hours()
    };
    let mut looks = [0; 24];
    (0..1200).for_each(|number| looks[usize::try_from(look(number)).unwrap()] += 1);
    assert_eq!(looks[..12], [0; 12]);
    assert!(looks[12..].iter().all(|count| (60..140).contains(count)), "{looks:?}");
}

#[test]
fn a_time_that_has_not_come_yet_allows_no_forecast() {
    let cases: &[(&str, Edit)] = &[
        ("nothing is published", |s| s.secret = None),
        ("it begins later", |s| leaf(s).not_before = from_now(hours(1))),
        ("it has ended", |s| leaf(s).not_after = now()),
        ("its renewal is due", |s| {
            s.certificate.spec.renew_before = Some(GoDuration(hours(89 * 24)));
        }),
        ("the CA was asked later", |s| {
            informed(s, from_now(hours(9)), from_now(hours(2000)));
            s.record.status.acme.ari.as_mut().unwrap().last_checked = Some(from_now(hours(1)));
        }),
        ("the CA answered later", |s| {
            informed(s, from_now(hours(9)), from_now(hours(2000)));
            let known = s.record.status.acme.ari.as_mut().unwrap();
            known.suggested_window.as_mut().unwrap().reported_at = from_now(hours(1));
        }),
        ("an attempt failed later", |s| {
            s.record.status.last_failure_time = Some(from_now(hours(1)));
        }),
    ];
    for (what, edit) in cases {
        assert_eq!(idle::until(&settled(*edit), now()), None, "{what}");
    }
}
