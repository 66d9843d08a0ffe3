//! From nothing to a live pair, and nothing more after that.

use std::time::Duration;

use certctl::rehearsal::{Fault, ProblemType, RequestKind, Rule};
use certctl::resource::{ConditionStatus, ConditionType, FailureClass, Reason};

use crate::support::{CertificateYaml, World, finish};

#[test]
fn a_first_run_issues_and_a_second_one_does_nothing() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let first = world.issue().ends_in(0);
    assert_eq!(first.stdout, "");
    assert_eq!(world.state().published("web").dns_names, ["web.example.test"]);
    assert_eq!(world.state().readiness("web"), Reason::Ready);
    assert_eq!((world.state().tokens().len(), world.state().issuances()), (0, 1));
    let before = world.state().everything();
    let requests = world.ca.requests();
    world.issue().says_nothing();
    assert_eq!(world.ca.requests(), requests);
    assert_eq!(world.state().everything(), before);
}

#[test]
fn one_name_costs_no_more_than_nine_requests_once_the_account_is_known() {
    let world = World::prepared(&[CertificateYaml::new("first")]);
    world.issue().ends_in(0);
    world.write("config/second.yaml", &CertificateYaml::new("second"));
    let before = world.ca.requests();
    world.issue().ends_in(0);
    let sent: Vec<RequestKind> = world.ca.log()[before..].iter().map(|entry| entry.kind).collect();
    assert!(sent.len() <= 9, "{sent:?}");
}

#[test]
fn a_renewal_that_was_only_asked_for_and_failed_is_tried_again_when_it_is_due() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let problem = Fault::Problem {
        status: 400,
        kind: ProblemType::BadCsr,
        detail: "the key is not liked".to_owned(),
        retry_after: None,
    };
    world.fault(Rule::always(problem).on(RequestKind::Finalize));
    let renewal = world.state().record("web").status.renewal_time.unwrap();
    let renewal = renewal.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    world.run(&["renew", "web"]).ends_in(5).says(&format!("next attempt {renewal}"));
    let status = world.run(&["status", "web", "-o", "json"]).ends_in(0).stdout;
    assert!(status.contains(&format!("\"nextAttempt\": \"{renewal}\"")), "{status}");
    world.issue().says_nothing();
}

/// The name of the next private key of `bad`, and whether it is there.
fn record_of_next_key(world: &World) -> (Option<String>, bool) {
    let name = world.state().record("bad").status.next_private_key_secret_name;
    (name, world.path("state/certificates/default/bad/next-private-key.pem").exists())
}

#[test]
fn of_two_certificates_one_fails_and_the_other_is_issued() {
    let world = World::prepared(&[CertificateYaml::new("bad"), CertificateYaml::new("good")]);
    let refusal = Fault::Refuse {
        kind: ProblemType::Unauthorized,
        detail: "the answer was wrong".to_owned(),
    };
    world.fault(Rule::always(refusal).for_name("bad.example.test"));
    let run = world.run(&["issue", "-q"]).ends_in(4);
    let run = run.says("the answer was wrong").says("next attempt");
    assert!(run.stderr.contains("certctl renew bad"), "{}", run.stderr);
    world.state().published("good");
    assert_eq!(world.state().pair("bad-tls"), None);
    let record = world.state().record("bad");
    assert_eq!(record.status.failed_issuance_attempts, Some(1));
    assert!(record.status.last_failure_time.is_some());
    assert_eq!(record.last_failure.unwrap().class, FailureClass::Validation);
    let issuing = world.state().condition("bad", ConditionType::Issuing);
    assert_eq!((issuing.status, issuing.reason), (ConditionStatus::False, Reason::Failed));
    assert!(issuing.message.contains("(attempt 1; next attempt at "), "{}", issuing.message);
    assert!(world.state().tokens().is_empty());

    // Nothing is left of the attempt but its record, and Ready says how things stand.
    assert_eq!(world.state().readiness("bad"), Reason::DoesNotExist);
    assert_eq!(record_of_next_key(&world), (None, false));

    // The failure was reported: scheduled runs that wait print nothing for a day.
    let (requests, before) = (world.ca.requests(), world.state().everything());
    for _ in 0..2 {
        let again = world.run(&["issue", "-q"]).ends_in(75);
        assert_eq!((again.stdout, again.stderr), (String::new(), String::new()));
    }
    assert_eq!((world.ca.requests(), world.state().everything()), (requests, before));
    // A script or ssh, without -q, gets the reason each time.
    for _ in 0..2 {
        world.issue().ends_in(75).says("deferred: bad: ").says("the answer was wrong");
    }
    assert_eq!(world.ca.requests(), requests);
    // So does a run by hand.
    for _ in 0..2 {
        world.run(&["renew", "bad"]).ends_in(4).says("the answer was wrong");
    }
}

#[test]
fn a_port_that_another_server_has_is_a_fact_and_where_the_ways_around_it_are() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    let run = world.run(&["issue", "--http01-listen", &address]).ends_in(3);
    let run = run.says(&format!("the HTTP-01 listener cannot start: {address} is in use by "));
    run.says("  try       certctl help port-80\n");
}

#[test]
fn a_broken_manifest_beside_fifty_good_ones_stops_none_of_them() {
    let names: Vec<String> = (0..50).map(|number| format!("site-{number}")).collect();
    let certificates: Vec<CertificateYaml> =
        names.iter().map(|name| CertificateYaml::new(name)).collect();
    let world = World::prepared(&certificates);
    world.write("config/broken.yaml", "apiVersion: cert-manager.io/v1\nkind: Certificate\n  x: [");
    world.issue().ends_in(3).says("broken.yaml:3:");
    for name in &names {
        world.state().published(name);
    }
    assert_eq!(world.ca.issued(), 50);
    assert!(world.ca.requests() <= 360, "{} requests", world.ca.requests());
}

#[test]
fn all_mistakes_of_a_file_are_reported_at_once_and_nothing_is_begun() {
    let world = World::start();
    world.write("config/issuer.yaml", &world.issuer());
    let file = world.write(
        "web.yaml",
        "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata:\n  name: web\nspec:\n  \
         secretNam: web-tls\n  duration: 90d\n  dnsNames: [\"not a name\"]\n  \
         secretName: web-tls\n  issuerRef:\n    name: ca\n---\nkind: Issuer\n  spec: [\n",
    );
    let run = world.run(&["issue", file.to_str().unwrap()]).ends_in(3);
    let located: Vec<&str> = run.stderr.lines().filter(|line| line.contains("web.yaml:")).collect();
    assert_eq!(located.len(), 4, "{}", run.stderr);
    for place in ["web.yaml:6:3", "web.yaml:7:13", "web.yaml:8:14", "web.yaml:14:"] {
        assert!(located.iter().any(|line| line.contains(place)), "{place}: {}", run.stderr);
    }
    assert!(run.stderr.contains("secretName"), "{}", run.stderr);
    assert_eq!(world.ca.requests(), 0);
    assert!(world.state().everything().is_empty());
}

#[test]
fn a_file_issued_from_one_folder_is_known_and_renewed_from_any_other() {
    // Of its four hours, one has passed when it is handed out.
    let world = World::with(|options| options.leaf_lifetime = Duration::from_hours(3));
    let certificate = CertificateYaml::new("web");
    let write = |renew_before: &str| {
        let certificate = certificate.clone().field(&format!("renewBefore: {renew_before}"));
        world.write("site/web.yaml", &format!("{}---\n{certificate}", world.issuer()));
    };
    write("1h");
    let mut here = world.command(&["issue", "./web.yaml"]);
    finish(here.current_dir(world.path("site")).spawn().unwrap()).ends_in(0);
    let first = (world.ca.requests(), world.state().published("web"));
    let from_root = || {
        let mut command = world.command(&["issue"]);
        command.env_clear().env("CERTCTL_STATE_DIR", world.path("state"));
        command.args(["--resolver", &world.dns.address().to_string()]);
        command.args(["--http01-listen", &world.port.address().to_string()]);
        finish(command.current_dir("/").spawn().unwrap())
    };
    from_root().says_nothing();
    assert_eq!((world.ca.requests(), world.state().published("web")), first);
    write("3h30m");
    from_root().ends_in(0);
    assert_ne!(world.state().published("web"), first.1);
    assert_eq!(world.state().record("web").status.revision, Some(2));
}

#[test]
fn a_certificate_that_is_due_as_soon_as_it_is_issued_is_issued_once_a_run() {
    let world = World::with(|options| options.leaf_lifetime = Duration::from_hours(3));
    world.prepare(&[CertificateYaml::new("web").field("renewBefore: 3h30m")]);
    for revision in 1..=2 {
        world.issue().ends_in(0);
        let status = world.state().record("web").status;
        assert_eq!((status.revision, status.failed_issuance_attempts), (Some(revision), None));
    }
    assert_eq!((world.ca.issued(), world.sent(RequestKind::NewOrder)), (2, 2));
}

#[test]
fn an_edited_profile_leads_to_a_new_certificate_once() {
    let world = World::with(|options| {
        for name in ["classic", "short"] {
            options.profiles.insert(name.to_owned(), "https://ca.example/profiles".to_owned());
        }
    });
    world.prepare(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    world.write("config/issuer.yaml", &world.issuer().field("profile: short"));
    let plan = world.run(&["plan", "--exit-code"]).ends_in(10).stdout;
    let said = "previously issued with the ACME profile \"\", and the issuer now names \"short\"";
    assert!(plan.contains(said), "{plan}");
    world.issue().ends_in(0);
    assert_eq!(world.ca.issued(), 2);
    world.issue().says_nothing();
    assert_eq!(world.state().readiness("web"), Reason::Ready);
}

#[test]
fn a_switch_to_a_staging_ca_asks_before_it_replaces_a_trusted_certificate() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let (live, requests) = (world.state().published("web"), world.ca.requests());
    let staging = "https://acme-staging-v02.api.letsencrypt.org/directory";
    let issuer = world.issuer().to_string().replace(&world.ca.directory_url(), staging);
    world.write("config/issuer.yaml", &issuer);
    let plan = world.run(&["plan"]).ends_in(3).stdout;
    assert!(plan.contains("which no client trusts\n  try       --allow-untrusted"), "{plan}");
    for verb in [&["issue"][..], &["renew", "web"]] {
        world.run(verb).ends_in(3).says("which no client trusts").says("--allow-untrusted, or the");
    }
    assert_eq!(world.state().published("web"), live);
    assert_eq!(world.ca.requests(), requests);
    assert_eq!(world.state().record("web").status.failed_issuance_attempts, None);
}
