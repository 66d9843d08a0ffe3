//! A CA that is busy, slow or wrong: certctl waits, honours Retry-After and limits its requests.

use std::time::Duration;

use certctl::rehearsal::{Fault, RequestKind, Rule};
use certctl::resource::FailureClass;

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
fn a_limit_of_requests_is_no_failure_and_keeps_the_order_and_the_certificate() {
    for kind in STEPS {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.fault(Rule::always(Fault::rate_limited(Some("7200"))).on(kind));
        world.issue().ends_in(5).says("too many requests");
        let record = world.state().record("web");
        assert_eq!(record.status.failed_issuance_attempts, None, "{kind:?}");
        assert!(record.retry_after.is_some(), "{kind:?}");
        let requests = world.ca.requests();
        world.issue().ends_in(75);
        assert_eq!(world.ca.requests(), requests, "{kind:?}");
        world.ca.faults().clear();
        world.run(&["renew", "web"]).ends_in(0);
        assert_eq!((world.sent(RequestKind::NewOrder), world.ca.issued()), (1, 1), "{kind:?}");
    }
}

#[test]
fn a_limit_of_requests_at_each_step_is_waited_for() {
    for fault in [Fault::rate_limited(Some("1")), Fault::unavailable(Some("1"))] {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        for kind in STEPS {
            world.next_fault(kind, fault.clone());
        }
        world.issue().ends_in(0);
        assert_eq!((world.sent(RequestKind::NewOrder), world.ca.issued()), (1, 1), "{fault:?}");
    }
}

#[test]
fn a_ca_of_few_requests_a_second_issues_everything_at_its_own_pace() {
    let names: Vec<String> = (0..12).map(|number| format!("site-{number}")).collect();
    let certificates: Vec<CertificateYaml> =
        names.iter().map(|name| CertificateYaml::new(name)).collect();
    let world = World::prepared(&certificates);
    world.fault(Rule::always(Fault::Pace { most: 20, within: Duration::from_secs(1) }));
    world.issue().ends_in(0);
    for name in &names {
        assert_eq!(world.state().record(name).status.failed_issuance_attempts, None, "{name}");
    }
    assert_eq!(
        (
            world.sent(RequestKind::NewOrder) - refused(&world, RequestKind::NewOrder),
            world.ca.issued()
        ),
        (12, 12)
    );
    // Few requests are sent in vain.
    let log = world.ca.log();
    let in_vain = log.iter().filter(|entry| entry.status == Some(429)).count();
    assert!(in_vain * 5 <= log.len(), "{in_vain} of {}", log.len());
}

/// How fast that is, and how fast beside a CA without limits one is that refuses once at each step: a
/// measurement.
#[test]
#[ignore = "for `tests/run --all`: half a minute, and it measures"]
#[expect(
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    clippy::as_conversions,
    clippy::print_stderr,
    reason = "a measurement"
)]
fn series_of_fifty_certificates_of_a_ca_that_limits_requests() {
    let names: Vec<String> = (0..50).map(|number| format!("site-{number}")).collect();
    let certificates: Vec<CertificateYaml> =
        names.iter().map(|name| CertificateYaml::new(name)).collect();
    let measured = |prepare: &dyn Fn(&World)| {
        let world = World::prepared(&certificates);
        prepare(&world);
        let begun = std::time::Instant::now();
        world.issue().ends_in(0);
        let took = begun.elapsed().as_secs_f64();
        for name in &names {
            assert_eq!(world.state().record(name).status.failed_issuance_attempts, None, "{name}");
        }
        assert_eq!(world.ca.issued(), 50);
        let log = world.ca.log();
        let in_vain = log.iter().filter(|entry| entry.status == Some(429)).count();
        (log.len() - in_vain, in_vain, took)
    };
    let limit = Fault::Pace { most: 20, within: Duration::from_secs(1) };
    let (taken, in_vain, took) = measured(&|world| world.fault(Rule::always(limit.clone())));
    let pace = taken as f64 / took / 20.0;
    eprintln!(
        "20 a second: {taken} requests, {in_vain} in vain, {took:.1} s: {pace:.2} of the pace"
    );
    let (_, _, free) = measured(&|_| ());
    let (_, in_vain, took) = measured(&|world| {
        for kind in STEPS {
            world.next_fault(kind, Fault::rate_limited(Some("1")));
        }
    });
    let pace = free / took;
    eprintln!("once at each step: {in_vain} in vain, {took:.1} s, {free:.1} without: {pace:.2}");
}

fn refused(world: &World, kind: RequestKind) -> usize {
    let log = world.ca.log();
    log.iter().filter(|entry| entry.kind == kind && entry.status == Some(429)).count()
}

/// The requests of an order, after newOrder.
const STEPS: [RequestKind; 5] = [
    RequestKind::Authorization,
    RequestKind::Challenge,
    RequestKind::Order,
    RequestKind::Finalize,
    RequestKind::Certificate,
];

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
