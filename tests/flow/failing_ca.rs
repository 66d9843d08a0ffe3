//! A CA that is busy, slow or wrong: certctl waits, honours Retry-After and limits its requests.

use certctl::rehearsal::{Fault, RequestKind, Rule};
use certctl::resource::FailureClass;
use jiff::SignedDuration;

use crate::support::{CertificateYaml, IssuerYaml, World};

#[test]
fn half_of_all_nonces_refused_is_no_failure() {
    let names: Vec<String> = (0..10).map(|number| format!("site-{number}")).collect();
    let certificates: Vec<CertificateYaml> =
        names.iter().map(|name| CertificateYaml::new(name)).collect();
    let world = World::prepared(&certificates);
    world.fault(Rule::rate(1, 2, Fault::BadNonce));
    world.issue().ends_in(0);
    assert_eq!((world.ca.issued(), world.ca.created(RequestKind::NewOrder)), (10, 10));
}

#[test]
fn a_storm_of_refused_nonces_leaves_an_order_to_go_on_with() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.fault(Rule::always(Fault::BadNonce).on(RequestKind::Finalize));
    world.issue().ends_in(5);
    let urls = world.state().order_urls("web");
    assert_eq!(world.state().pair("web-tls"), None);
    assert!(world.sent(RequestKind::Finalize) <= 70, "{}", world.sent(RequestKind::Finalize));
    world.ca.faults().clear();
    world.issue().ends_in(0);
    assert_eq!((world.state().order_urls("web"), urls.len()), (urls, 1));
}

#[test]
fn a_ca_that_is_down_is_not_counted_and_left_alone_as_long_as_it_asks() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.fault(Rule::always(Fault::unavailable(Some("7200"))).on(RequestKind::NewOrder));
    world.issue().ends_in(5).says("down for maintenance");
    let record = world.state().record("web");
    assert_eq!(record.status.failed_issuance_attempts, None);
    assert_eq!(record.last_failure.unwrap().class, FailureClass::Unreachable);
    assert!(record.retry_after.is_some());
    let requests = world.ca.requests();
    world.issue().ends_in(75);
    assert_eq!(world.ca.requests(), requests);
    // A renewal by hand bypasses the wait.
    world.ca.faults().clear();
    world.run(&["renew", "web"]).ends_in(0);
    world.state().published("web");
}

/// Without the limit, each request would wait for a minute and then succeed.
#[test]
fn a_ca_that_does_not_answer_ends_a_short_run_in_its_time_by_name() {
    use std::time::Duration;
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let late = Fault::Delay(Duration::from_secs(30));
    world.fault(Rule::always(late).on(RequestKind::NewOrder));
    let run = world.run(&["issue", "--timeout", "2s"]).ends_in(5).says("no answer within 2s");
    assert!(run.stderr.contains("https://127.0.0.1:"), "the CA's URL: {}", run.stderr);
    assert_eq!(world.state().record("web").status.failed_issuance_attempts, None);
}

#[test]
fn a_ca_that_is_down_when_the_csr_comes_gets_it_from_the_next_run() {
    for fault in [Fault::unavailable(None), Fault::CloseUnhandled, Fault::LoseReply] {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.fault(Rule::always(fault.clone()).on(RequestKind::Finalize));
        let run = world.issue();
        let attempts = world.state().record("web").status.failed_issuance_attempts;
        assert_eq!(attempts, None, "{fault:?}: {run:?}");
        // The reply alone was lost: reading the order shows that it succeeded.
        assert_eq!(run.code, Some(if fault == Fault::LoseReply { 0 } else { 5 }), "{fault:?}");
        world.ca.faults().clear();
        world.issue().ends_in(0);
        assert_eq!((world.ca.created(RequestKind::NewOrder), world.ca.issued()), (1, 1));
    }
}

#[test]
fn a_ca_that_is_down_for_a_moment_is_waited_for() {
    for fault in [Fault::unavailable(Some("1")), Fault::Html { status: 502 }] {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.fault(Rule::next(1, fault.clone()).on(RequestKind::Order));
        world.fault(Rule::next(1, fault.clone()).on(RequestKind::Directory));
        world.issue().ends_in(0);
        assert_eq!(world.ca.created(RequestKind::NewOrder), 1, "{fault:?}");
    }
}

#[test]
fn a_page_of_html_is_reported_as_such() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.fault(Rule::always(Fault::Html { status: 500 }).on(RequestKind::NewOrder));
    world.issue().ends_in(5).says("HTTP status 500").says("<title>500</title>");
    assert_eq!(world.state().record("web").status.failed_issuance_attempts, None);
    world.ca.faults().clear();
    world.issue().ends_in(0);
}

#[test]
fn after_a_rate_limit_the_next_attempt_is_when_both_the_ca_and_the_backoff_allow_it() {
    for (retry_after, wait) in [("600", 3600), ("86400", 86400)] {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.fault(Rule::always(Fault::rate_limited(Some(retry_after))).on(RequestKind::Finalize));
        let run = world.issue().ends_in(5).says("too many requests").says("attempt 1");
        let record = world.state().record("web");
        assert_eq!(record.status.failed_issuance_attempts, Some(1), "{}", run.stderr);
        let failed = record.status.last_failure_time.unwrap();
        let next = failed.checked_add(SignedDuration::from_secs(wait)).unwrap();
        let next = next.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        assert!(run.stderr.contains(&next), "{next}: {}", run.stderr);
        world.ca.faults().clear();
        let requests = world.ca.requests();
        world.issue().ends_in(75);
        assert_eq!(world.ca.requests(), requests, "{retry_after}");
    }
}

#[test]
fn a_ca_that_takes_its_time_to_sign_is_waited_for() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let slow = Fault::SlowFinalize { polls: 6, retry_after: Some("0".to_owned()) };
    world.fault(Rule::always(slow));
    world.issue().ends_in(0);
    assert_eq!((world.sent(RequestKind::Finalize), world.ca.issued()), (1, 1));
}

#[test]
fn words_that_nobody_knows_are_read_again() {
    for (kind, word) in [
        (RequestKind::NewOrder, "deferred"),
        (RequestKind::Order, "on hold"),
        (RequestKind::Authorization, "queued"),
        (RequestKind::Challenge, "thinking"),
        (RequestKind::Finalize, "signing"),
    ] {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.next_fault(kind, Fault::StatusWord(word.to_owned()));
        world.issue().ends_in(0);
        let made = (world.ca.created(RequestKind::NewOrder), world.ca.issued());
        assert_eq!(made, (1, 1), "{kind:?} {word}");
    }
}

#[test]
fn answers_that_cannot_be_used_are_counted_failures_that_name_the_place() {
    for (kind, fault) in [
        (RequestKind::NewOrder, Fault::ReplaceBody("{".to_owned())),
        (RequestKind::NewOrder, Fault::DropHeader("location")),
        (RequestKind::NewOrder, Fault::HugeBody(64 << 20)),
        (RequestKind::NewOrder, Fault::PlainHttpUrls),
        (RequestKind::NewOrder, Fault::ForeignIdentifier("evil.example.net".to_owned())),
        (RequestKind::Authorization, Fault::ReplaceBody("[]".to_owned())),
        (RequestKind::Authorization, Fault::ForeignIdentifier("evil.example.net".to_owned())),
    ] {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.fault(Rule::always(fault.clone()).on(kind));
        let run = world.issue();
        let record = world.state().record("web");
        let attempts = record.status.failed_issuance_attempts;
        assert_eq!((run.code, attempts), (Some(5), Some(1)), "{fault:?}: {}", run.stderr);
        assert_eq!(world.sent(RequestKind::NewOrder), 1, "{fault:?}");
        assert_eq!((world.ca.issued(), world.state().tokens().len()), (0, 0), "{fault:?}");
    }
}

#[test]
fn a_server_that_is_no_ca_is_a_mistake_in_the_manifest() {
    let world = World::start();
    let web = CertificateYaml::new("web");
    for path in ["/wrong", "/terms"] {
        let server = world.ca.directory_url().replace("/directory", path);
        let issuer = IssuerYaml::new(&server, &world.ca.root_pem());
        world.write("config/web.yaml", &format!("{issuer}---\n{web}"));
        let line =
            issuer.to_string().lines().position(|line| line.contains("server:")).unwrap() + 1;
        let said = format!(
            "see spec.acme.server of Issuer \"ca\" ({}:{line})",
            world.path("config/web.yaml").display()
        );
        world.issue().ends_in(3).says(&said);
        assert_eq!(world.state().record("web").status.failed_issuance_attempts, None);
    }
    world.write("config/web.yaml", &format!("{}---\n{web}", world.issuer()));
    world.issue().ends_in(0);
}
