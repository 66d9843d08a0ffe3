//! A CA that limits orders: the run asks no more than the CA takes, says so once, and counts no
//! failure.

use std::rc::Rc;
use std::time::Duration;

use certctl::controller::Intervals;
use certctl::engine::ports::{Clock as _, SystemClock};
use certctl::engine::{Hooks, Options};
use certctl::rehearsal::{Fault, ProblemType, RequestKind, Rule};
use certctl::resource::{FailureClass, Limit, PublishedLimits};
use certctl::workspace::outlook::Action;
use certctl::workspace::plan::Item;
use certctl::workspace::{Request, Settings, Workspace};
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
    let run = world.run(&["issue", "-q"]).ends_in(75);
    let run = run.says("too many new orders").says("  also      ");
    assert_eq!((messages(&run), alerts(&world)), (1, 1), "{}", run.stderr);
    assert_eq!((world.ca.issued(), world.ca.created(RequestKind::NewOrder)), (2, 2));
    none_is_counted(&world);
    let requests = world.ca.requests();
    assert_eq!(world.run(&["issue", "-q"]).ends_in(75).stderr, "");
    let left = NAMES.iter().find(|name| world.state().pair(&format!("{name}-tls")).is_none());
    let run = world.run(&["renew", left.unwrap()]).ends_in(75);
    assert_eq!((messages(&run), world.ca.requests(), alerts(&world)), (1, requests, 1));
    let refused = world.sent(RequestKind::NewOrder);
    world.run(&["renew", left.unwrap(), "--ignore-limits"]).ends_in(75);
    assert_eq!(world.sent(RequestKind::NewOrder), refused + 1);
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
        let run = world.run(&["issue", "-q"]).ends_in(75);
        assert_eq!((messages(&run), alerts(&world)), (1, 1), "{fault:?}: {}", run.stderr);
        assert!(world.sent(kind) <= 8, "{fault:?}: {}", world.sent(kind));
        none_is_counted(&world);
        let requests = world.ca.requests();
        world.ca.faults().clear();
        assert_eq!(world.run(&["issue", "-q"]).ends_in(75).stderr, "");
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
    world.issue().ends_in(5).says(&url).says("open the page");
    let record = world.state().record("a");
    assert_eq!(record.status.failed_issuance_attempts, Some(1));
    assert_eq!(record.last_failure.unwrap().class, FailureClass::Ca);
}

/// What the CA of these tests would publish.
const PUBLISHED: &[PublishedLimits] = &[PublishedLimits {
    host: "127.0.0.1",
    limits: &[
        (Limit::CertificatesPerDomain, 3, SignedDuration::from_hours(7 * 24)),
        (Limit::CertificatesPerSet, 5, SignedDuration::from_hours(7 * 24)),
    ],
}];

/// `plan` in this process, where the table of limits can be another one.
fn planned(world: &World) -> Vec<Item> {
    let options = Options {
        parallel: 1,
        max_concurrent_challenges: 1,
        timeout: SignedDuration::from_mins(10),
        lock_timeout: SignedDuration::ZERO,
        intervals: Intervals { self_check: SignedDuration::ZERO },
        unattended: true,
        is_scheduled: false,
        reports_daily: true,
        certificates: 0,
        limits: PUBLISHED,
        ignore_limits: false,
        hooks: Hooks::default(),
        words: |_| String::new(),
    };
    let settings = Settings {
        files: Vec::new(),
        config_dir: Some(world.path("config")),
        credentials_dir: None,
        state_dir: world.path("state"),
        namespace: None,
        selector: None,
        cluster_resource_namespace: "cert-manager".to_owned(),
        is_root: false,
        options,
        hook_timeout: Duration::from_secs(1),
        http01_listen: Vec::new(),
        inherited: Rc::default(),
        tlsalpn01_listen: Vec::new(),
        tlsalpn01_check_port: 443,
        http01_check_port: 80,
        resolvers: Vec::new(),
        dns01_authoritative_port: 53,
        output_roots: Vec::new(),
        dns01_recursive_nameservers_only: false,
        environment: Rc::new(|_| None),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut workspace = Workspace::open(settings).await.unwrap();
        let request = Request::default();
        let selection = workspace.select(&request);
        let targets = workspace.targets(&request, selection).unwrap();
        Box::pin(workspace.plan(&targets, SystemClock.now())).await.unwrap().items
    })
}

#[test]
fn a_plan_says_what_is_left_and_when_the_rest_fits() {
    let world = World::prepared(&["a", "b"].map(CertificateYaml::new));
    world.issue().ends_in(0);
    world.prepare(&NAMES.map(CertificateYaml::new));
    let items = planned(&world);
    let of = |name: &str| items.iter().find(|item| item.name == name).unwrap();
    let words = |name: &str| of(name).limits.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        words("c"),
        ["3 of 3 this week for example.test", "1 of 5 this week for exactly these names"]
    );
    assert_eq!((of("a").course.action, of("c").course.action), (Action::Nothing, Action::Issue));
    let wait = |name: &str| {
        let item = of(name);
        assert_eq!((item.course.action, item.orders), (Action::Wait, 0));
        let wait = item.course.wait.as_ref().unwrap();
        assert_eq!(wait.why, "3 of 3 this week for example.test");
        wait.until.unwrap()
    };
    // Each waits for its own third of the week.
    let third = SignedDuration::from_hours(7 * 24) / 3;
    assert_eq!(wait("d").duration_until(wait("e")), third);
}
