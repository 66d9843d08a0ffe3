use super::render::{names, page};
use super::*;
use crate::cli::words::Scene;
use crate::controller::Deferral;
use crate::resource::{IssuerKind, Reason};
use crate::workspace::outlook::{Outlook, Why};
use crate::workspace::plan::{Course, Issuer, Name};
use crate::workspace::view::CertificateView;

const NOW: &str = "2026-11-21T03:12:09Z";

fn scene(format: Format) -> Scene {
    Scene {
        now: NOW.parse().unwrap(),
        zone: jiff::tz::TimeZone::UTC,
        color: false,
        format,
        width: None,
    }
}

/// The outlook of a certificate with this next action, which happens then.
fn outlook(next: Action, when: When) -> Outlook {
    let unknown = CertificateView::unknown(NamespacedName::new("default", "web"));
    Outlook { next: Some(next), when, ..unknown.outlook }
}

fn later() -> Outlook {
    outlook(Action::Renew, When::At("2026-12-21T03:12:09Z".parse().unwrap()))
}

fn item(name: &str, outlook: Outlook) -> Item {
    let proven = |name: &str, solver, provider: Option<&str>| Name {
        name: name.to_owned(),
        solver,
        provider: provider.map(str::to_owned),
    };
    Item {
        namespace: "default".to_owned(),
        name: name.to_owned(),
        course: Course::of(&outlook, "le"),
        outlook,
        differs: Vec::new(),
        names: vec![
            proven("a.example", "http-01", None),
            proven("*.a.example", "dns-01", Some("cloudflare")),
            proven("b.example", "http-01", None),
        ],
        added: Vec::new(),
        removed: Vec::new(),
        issuer: Issuer {
            kind: IssuerKind::Issuer,
            name: "le".to_owned(),
            server: "https://ca.test/directory".to_owned(),
            profile: "shortlived".to_owned(),
        },
        orders: 0,
        limits: Vec::new(),
        order: None,
        clean_ups: 0,
        not_after: Some("2027-01-20T03:12:09Z".parse().unwrap()),
        renewal_time: Some("2026-12-21T03:12:09Z".parse().unwrap()),
        suggested_window: None,
        is_suggested: false,
    }
}

fn items() -> Vec<Item> {
    let change = Outlook {
        reason: Some(Reason::RequestChanged),
        message: "Fields differ: [spec.dnsNames]".to_owned(),
        also: vec![Action::Deploy],
        ..outlook(Action::Issue, When::NextRun)
    };
    let changed = Item {
        differs: vec!["spec.dnsNames"],
        added: vec!["b.example".to_owned()],
        removed: vec!["c.example".to_owned()],
        orders: 1,
        ..item("changed", change)
    };
    let renewal =
        Outlook { reason: Some(Reason::Renewing), ..outlook(Action::Renew, When::NextRun) };
    let going_on = Item {
        namespace: "prod".to_owned(),
        order: Some("late-2-1".to_owned()),
        clean_ups: 2,
        ..item("late", renewal)
    };
    let until = When::Waits(Some("2026-11-21T05:12:09Z".parse().unwrap()));
    let wait = Outlook {
        reason: Some(Reason::DoesNotExist),
        message: "there is no \u{1b} Secret".to_owned(),
        why: Some(Why::Deferral(Deferral::Backoff { attempts: 3 })),
        ..outlook(Action::Issue, until)
    };
    let waiting = item("waiting", wait);
    let reload =
        Outlook { message: "reload nginx".to_owned(), ..outlook(Action::Deploy, When::NextRun) };
    let deploy = item("web", reload);
    vec![changed, waiting, item("fine", later()), deploy, going_on]
}

#[test]
fn a_line_for_each_and_a_block_for_what_is_due() {
    let expected = "\
ACTION    NAME        ISSUER   COST       REASON
issue     changed     le       1 order    manifest changed
wait      waiting     le       -          backing off after 3 failures, again in 2h
nothing   fine        le       -          not due, renews 2026-12-21 03:12 UTC, in 30d
deploy    web         le       -          reload nginx
renew     prod/late   le       0 orders   renewal due

changed: issue, deploy
  why       manifest changed: [spec.dnsNames]
  differs   spec.dnsNames
  names     + b.example, - c.example
  issuer    Issuer le, https://ca.test/directory
  profile   shortlived
  challenge http-01: a.example, b.example
  challenge dns-01 cloudflare: *.a.example
  cost      1 new order

waiting: wait
  why       there is no \\u{1b} Secret
  waits     backing off after 3 failures, until 2026-11-21 05:12 UTC, in 2h
  issuer    Issuer le, https://ca.test/directory
  profile   shortlived
  challenge http-01: a.example, b.example
  challenge dns-01 cloudflare: *.a.example

web: deploy
  what      reload nginx

prod/late: renew
  why       renewal due
  issuer    Issuer le, https://ca.test/directory
  profile   shortlived
  challenge http-01: a.example, b.example
  challenge dns-01 cloudflare: *.a.example
  cost      continues the pending order late-2-1
  clean-up  2 challenge responses of earlier runs

1 to renew, 1 to issue, 1 to deploy, 1 waiting, 1 unchanged
";
    let text = page(&items(), 0, &scene(Format::Text)).to_string();
    assert_eq!(text, expected, "\n{text}");
    assert_eq!(page(&[], 0, &scene(Format::Text)).to_string(), "");
}

/// An edit that was taken back: nothing differs from what is issued, and the issuance goes on.
#[test]
fn an_issuance_that_has_begun_is_said_to_be_finished() {
    let [mut changed, ..] = <[Item; 5]>::try_from(items()).unwrap();
    let why = "  why       manifest changed: [spec.dnsNames]";
    let line = |item: &Item| {
        let text = page(std::slice::from_ref(item), 0, &scene(Format::Text)).to_string();
        text.lines().find(|line| line.starts_with(why)).unwrap_or_default().to_owned()
    };
    assert_eq!(line(&changed), why);
    changed.differs.clear();
    let begun = "; undone since, but a started issuance is always finished";
    assert_eq!(line(&changed), format!("{why}{begun}"));
}

#[test]
fn of_many_certificates_what_will_happen_is_listed() {
    let idle = |number: usize| item(&format!("idle-{number}"), later());
    let due = |number: usize| Item {
        orders: 1,
        ..item(&format!("due-{number}"), outlook(Action::Renew, When::NextRun))
    };
    let text = |due_ones: usize, everything| {
        let items: Vec<Item> =
            (0..2000 - due_ones).map(idle).chain((0..due_ones).map(due)).collect();
        page(&items, 0, &scene(if everything { Format::Wide } else { Format::Text })).to_string()
    };
    let hint = "for details: certctl plan NAME; all: -o wide\n";
    assert_eq!(text(0, false), format!("2000 unchanged\n{hint}"));
    let few = text(2, false);
    assert_eq!(few.matches("idle-").count(), 0, "{few}");
    assert_eq!(few.matches("due-1").count(), 2, "a line and a block: {few}");
    assert!(few.ends_with(&format!("\n2 to renew, 1998 unchanged\n{hint}")), "{few}");
    let many = text(11, false);
    assert_eq!(many.matches("due-10").count(), 1, "a line: {many}");
    assert!(many.ends_with(&format!("\n11 to renew, 1989 unchanged\n{hint}")), "{many}");
    let all = text(11, true);
    assert_eq!((all.matches("idle-").count(), all.matches("due-10").count()), (1989, 2));
    assert!(!all.contains(hint));
}

#[test]
fn names_are_those_to_which_something_would_be_done() {
    assert_eq!(names(&items()), "certificate/changed\ncertificate/web\ncertificate/prod/late\n");
}

#[test]
fn programs_get_one_versioned_object() {
    let plan = document::text(&Items { items: &items()[..1] }, Format::Json).unwrap();
    let plan: serde_json::Value = plan.parse().unwrap();
    let expected = serde_json::json!({
        "apiVersion": "certctl/v1",
        "kind": "Plan",
        "items": [{
            "namespace": "default",
            "name": "changed",
            "action": "issue",
            "also": ["deploy"],
            "reason": "RequestChanged",
            "message": "Fields differ: [spec.dnsNames]",
            "differs": ["spec.dnsNames"],
            "names": [
                { "name": "a.example", "solver": "http-01" },
                { "name": "*.a.example", "solver": "dns-01", "provider": "cloudflare" },
                { "name": "b.example", "solver": "http-01" },
            ],
            "added": ["b.example"],
            "removed": ["c.example"],
            "issuer": {
                "kind": "Issuer",
                "name": "le",
                "server": "https://ca.test/directory",
                "profile": "shortlived",
            },
            "orders": 1,
            "notAfter": "2027-01-20T03:12:09Z",
            "renewalTime": "2026-12-21T03:12:09Z",
        }],
    });
    assert_eq!(plan, expected);
}
