//! A CA that limits orders: the run asks no more than the CA takes, says so once, and counts no
//! failure.

use certctl::rehearsal::{Fault, ProblemType, RequestKind, Rule};
use certctl::resource::FailureClass;
use jiff::SignedDuration;

use crate::support::{CertificateYaml, Run, World};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A CA that takes so many orders in two hours, five certificates, and a hook for failures.
fn limited(most: usize) -> World {
    let limit = (most, SignedDuration::from_hours(2));
    let world = World::with(|options| options.order_limit = Some(limit));
    world.prepare(&NAMES.map(CertificateYaml::new));
    let told = world.path("told");
    let script = format!("echo \"$CERTCTL_NAME\" >> {}", told.display());
    world.write_program("config/hooks.d/on-failure", &script);
    world
}

fn alerts(world: &World) -> usize {
    std::fs::read_to_string(world.path("told")).unwrap_or_default().lines().count()
}

fn messages(run: &Run) -> usize {
    run.stderr.lines().filter(|line| line.starts_with("deferred: ")).count()
}

fn none_is_counted(world: &World) {
    for name in NAMES {
        let status = world.state().record(name).status;
        assert_eq!((status.failed_issuance_attempts, status.last_failure_time), (None, None));
    }
}

#[test]
fn orders_beyond_a_limit_are_deferred_with_one_message_and_one_hook() {
    let world = limited(2);
    let run = world.issue().ends_in(75).says("too many new orders").says("  also      ");
    assert_eq!((messages(&run), alerts(&world)), (1, 1), "{}", run.stderr);
    assert_eq!((world.ca.issued(), world.ca.created(RequestKind::NewOrder)), (2, 2));
    none_is_counted(&world);
    let requests = world.ca.requests();
    assert_eq!(world.issue().ends_in(75).stderr, "");
    let left = NAMES.iter().find(|name| world.state().pair(&format!("{name}-tls")).is_none());
    let run = world.run(&["renew", left.unwrap()]).ends_in(75);
    assert_eq!((messages(&run), world.ca.requests(), alerts(&world)), (1, requests, 1));
    none_is_counted(&world);
    assert!(world.run(&["status"]).ends_in(0).stdout.contains("DEFERRED"));
}

#[test]
fn a_limit_of_accounts_or_without_a_problem_document_is_a_limit_too() {
    let html = Fault::Html { status: 429 };
    for (fault, kind) in [
        (html, RequestKind::NewOrder),
        (Fault::rate_limited(Some("7200")), RequestKind::NewAccount),
        (Fault::rate_limited(None), RequestKind::NewAccount),
    ] {
        let world = limited(5);
        world.fault(Rule::always(fault.clone()).on(kind));
        let run = world.issue().ends_in(75);
        assert_eq!((messages(&run), alerts(&world)), (1, 1), "{fault:?}: {}", run.stderr);
        assert!(world.sent(kind) <= 8, "{fault:?}: {}", world.sent(kind));
        none_is_counted(&world);
        let requests = world.ca.requests();
        world.ca.faults().clear();
        assert_eq!(world.issue().ends_in(75).stderr, "");
        assert_eq!(world.ca.requests(), requests, "{fault:?}");
    }
}

/// The account is paused until its owner visits a page: the certificate's failure, in full.
#[test]
fn a_paused_account_is_a_failure_with_the_whole_url() {
    let token = "eyJhbGciOiJIUzI1NiJ9.".repeat(80);
    let url = format!("https://portal.ca.test/sfe/v1/unpause?jwt={token}");
    let detail = format!(
        "Your account is temporarily prevented from requesting certificates for a.example.test \
         and possibly others. Please visit: {url}"
    );
    let world = World::prepared(&[CertificateYaml::new("a")]);
    let kind = ProblemType::RateLimited;
    let paused = Fault::Problem { status: 429, kind, detail, retry_after: None };
    world.fault(Rule::always(paused).on(RequestKind::NewOrder));
    world.issue().ends_in(5).says(&url).says("visit the page");
    let record = world.state().record("a");
    assert_eq!(record.status.failed_issuance_attempts, Some(1));
    assert_eq!(record.last_failure.unwrap().class, FailureClass::Ca);
}
