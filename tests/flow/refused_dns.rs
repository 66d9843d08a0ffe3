//! A DNS provider denies permission: reported at once, nothing to remove, and the order waits for
//! the day when it says yes.

use certctl::rehearsal::RequestKind;

use crate::support::{CertificateYaml, Webhook, World};

/// A world whose names are proven through a webhook.
fn through_a_webhook() -> (World, Webhook) {
    let world = World::start();
    let webhook = Webhook::start(world.dns.provider());
    world.write("config/issuer.yaml", &world.issuer().solvers(&webhook.solver("")));
    world.write("config/web.yaml", &CertificateYaml::new("web").for_names(&["*.example.test"]));
    (world, webhook)
}

/// Of the only challenge.
fn owes_clean_up(world: &World) -> bool {
    let orders = world.state().orders("web");
    assert_eq!(orders.len(), 1);
    orders[0].owes_clean_up()
}

#[test]
fn a_refusal_is_reported_after_three_tries_and_the_order_is_kept() {
    for (status, tries) in [(400, 3), (401, 1), (403, 1), (404, 3)] {
        let (world, webhook) = through_a_webhook();
        webhook.answers(status);
        let run = world.run(&["issue", "-q"]).ends_in(4);
        let run = run.says("error: web: *.example.test: Error presenting");
        assert_eq!(webhook.actions(), vec!["Present"; tries], "{status}: {}", run.stderr);
        assert!(webhook.requests()[0].starts_with("POST / HTTP/1.1\r\n"), "{status}");
        assert!(!owes_clean_up(&world), "{status}");
        let status_of = || world.state().record("web").status;
        assert_eq!(status_of().failed_issuance_attempts, None, "{status}");
        // An hour later: the same, which was already reported.
        let run = world.run(&["issue", "-q"]).ends_in(4);
        assert_eq!((run.stderr.as_str(), webhook.actions().len()), ("", 2 * tries), "{status}");
        // The credentials are put right.
        webhook.answers(200);
        world.issue().ends_in(0);
        world.state().published("web");
        let mut asked = webhook.actions().split_off(2 * tries);
        asked.dedup();
        assert_eq!(asked, ["Present", "CleanUp"], "{status}");
        assert_eq!(world.sent(RequestKind::NewOrder), 1, "{status}");
    }
}

#[test]
fn what_may_be_out_stays_owed_whatever_is_said_later() {
    let (world, webhook) = through_a_webhook();
    webhook.answers(500);
    world.run(&["issue", "--timeout", "2s"]).ends_in(75).says("answered 500");
    assert!(webhook.actions().len() > 3, "error that passes is waited for");
    assert!(owes_clean_up(&world));
    webhook.answers(401);
    world.issue().ends_in(4).says("refuses the credentials");
    assert!(owes_clean_up(&world));
    webhook.answers(200);
    world.issue().ends_in(0);
    assert_eq!(webhook.actions().last().unwrap(), "CleanUp");
    world.issue().says_nothing();
}

#[test]
fn what_was_refused_is_not_removed_when_it_is_not_needed_any_more() {
    let (world, webhook) = through_a_webhook();
    webhook.answers(403);
    world.issue().ends_in(4);
    let http = CertificateYaml::new("web");
    world.write("config/issuer.yaml", &world.issuer());
    world.write("config/web.yaml", &http);
    let run = world.issue().ends_in(0);
    assert!(!run.stderr.contains("left there"), "{}", run.stderr);
    assert_eq!(webhook.actions(), ["Present"]);
}

#[test]
fn refused_credentials_end_the_run_whatever_the_interval_and_the_timeout() {
    for status in [401, 403] {
        let (world, webhook) = through_a_webhook();
        webhook.answers(status);
        // Two intervals are longer than any timeout.
        let run = world.run(&["issue", "--self-check-interval", "1h", "--timeout", "30s"]);
        run.ends_in(4).says("refuses the credentials");
        assert_eq!(webhook.actions(), ["Present"], "{status}");
    }
}
