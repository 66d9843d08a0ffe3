//! What is ordered: names, profile, chain; and orders that need no proof.

use certctl::pki::Chain;
use certctl::rehearsal::{Fault, RequestKind, Rule};
use certctl::resource::{AuthorizationState, Identifier, KeyAlgorithm};

use crate::support::{CertificateYaml, World};

#[test]
fn renew_issues_again_although_nothing_is_due() {
    let world = World::prepared(&[CertificateYaml::new("web"), CertificateYaml::new("other")]);
    world.issue().ends_in(0);
    let first = world.state().published("web");
    world.run(&["renew", "web"]).ends_in(0);
    let second = world.state().published("web");
    assert_ne!((&second.serial, &second.public_key), (&first.serial, &first.public_key));
    assert_eq!(world.state().record("web").status.revision, Some(2));
    assert_eq!(world.state().record("other").status.revision, Some(1));
    world.run(&["renew"]).ends_in(2).says("certctl issue");
    world.run(&["renew", "nobody"]).ends_in(3);
    let all = world.run(&["renew", "--all", "--yes", "-f", "mistyped.yaml"]).ends_in(3);
    all.says("cannot read mistyped.yaml: ").says("; nothing is renewed");
    assert_eq!(world.ca.issued(), 3);
}

#[test]
fn without_a_terminal_a_renewal_of_several_needs_yes() {
    let labelled = |name: &str| {
        CertificateYaml::new(name)
            .to_string()
            .replace("metadata:\n", "metadata:\n  labels: {app: a}\n")
    };
    let world = World::prepared(&[CertificateYaml::new("other")]);
    world.write("config/one.yaml", &labelled("one"));
    world.issue().ends_in(0);
    // One that a selector has is as good as named.
    world.run(&["renew", "-l", "app=a"]).ends_in(0);
    world.write("config/two.yaml", &labelled("two"));
    world.issue().ends_in(0);
    let before = world.ca.requests();
    let all = world.run(&["renew", "--all"]).ends_in(2);
    all.says("try: certctl renew --all --yes\n").says("certctl issue # renews those that are due");
    let some = world.run(&["renew", "-l", "app=a"]).ends_in(2);
    some.says("due or not: one, two").says("try: certctl renew -l 'app=a' --yes\n");
    assert_eq!((world.ca.requests(), world.ca.issued()), (before, 4));
    world.run(&["renew", "-l", "app=a", "--yes"]).ends_in(0);
    world.run(&["renew", "--all", "--yes"]).ends_in(0);
    assert_eq!(world.ca.issued(), 9);
}

#[test]
fn a_dry_run_is_a_plan() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let plan = world.run(&["plan"]).ends_in(0).stdout;
    for words in [
        &["issue", "--dry-run"][..],
        &["issue", "web", "--dry-run"],
        &["renew", "--dry-run"],
        &["renew", "web", "--dry-run"],
        &["renew", "--all", "--dry-run"],
    ] {
        assert_eq!(world.run(words).ends_in(0).stdout, plan, "{words:?}");
    }
    assert_eq!(world.ca.requests(), 0);
    world.run(&["issue", "--dry-run", "--exit-code"]).ends_in(10);
}

#[test]
fn a_key_that_is_to_stay_stays_over_a_renewal() {
    let never = "privateKey: {algorithm: ECDSA, rotationPolicy: Never}";
    let text = CertificateYaml::new("web").to_string();
    let world = World::prepared(&[]);
    let text = text.replace("privateKey:\n    algorithm: ECDSA", never);
    world.write("config/web.yaml", &text);
    world.issue().ends_in(0);
    let first = world.state().published("web");
    world.run(&["renew", "web"]).ends_in(0);
    let second = world.state().published("web");
    assert_eq!(second.public_key, first.public_key);
    assert_ne!(second.serial, first.serial);
}

#[test]
fn names_that_are_proven_already_are_not_proven_again() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.fault(Rule::always(Fault::BornAs(AuthorizationState::Valid)));
    world.issue().ends_in(0);
    let sent = [RequestKind::Authorization, RequestKind::Challenge].map(|kind| world.sent(kind));
    assert_eq!((sent, world.ca.issued()), ([0, 0], 1));
}

#[test]
fn only_those_names_are_proven_that_are_not_yet() {
    let names = ["a.example.test", "b.example.test"];
    let world = World::prepared(&[CertificateYaml::new("web").for_names(&names)]);
    world.fault(Rule::always(Fault::BornAs(AuthorizationState::Valid)).for_name("a.example.test"));
    world.issue().ends_in(0);
    assert_eq!(world.sent(RequestKind::Challenge), 1);
    assert_eq!(world.state().published("web").dns_names, names);
}

#[test]
fn an_authorization_that_is_final_already_is_a_counted_failure() {
    use AuthorizationState::{Deactivated, Expired, Invalid, Revoked};
    for status in [Deactivated, Expired, Invalid, Revoked] {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.fault(Rule::always(Fault::BornAs(status.clone())));
        let run = world.issue();
        assert!(matches!(run.code, Some(4 | 5)), "{status:?}: {run:?}");
        let attempts = world.state().record("web").status.failed_issuance_attempts;
        assert_eq!((attempts, world.ca.issued()), (Some(1), 0), "{status:?}");
        assert!(world.state().tokens().is_empty());
    }
}

#[test]
fn a_profile_is_asked_for_by_name_and_must_exist() {
    let world = World::with(|options| {
        options.profiles.insert("short".to_owned(), "six days".to_owned());
    });
    world.write("config/web.yaml", &CertificateYaml::new("web"));
    world.write("config/issuer.yaml", &world.issuer().field("profile: shrot"));
    for run in [world.issue(), world.run(&["issue", "web"])] {
        let run = run.ends_in(3).says("the CA has no profile \"shrot\"; it has: short");
        let place = format!("{}:", world.path("config/issuer.yaml").display());
        assert!(run.stderr.contains(&place), "{}", run.stderr);
        assert!(run.stderr.contains("spec.acme.profile"), "{}", run.stderr);
    }
    assert_eq!(world.sent(RequestKind::NewOrder), 0);
    assert_eq!(world.state().record("web").status.failed_issuance_attempts, None);
    world.write("config/issuer.yaml", &world.issuer().field("profile: short"));
    world.issue().ends_in(0);
    assert_eq!(world.state().orders("web").pop().unwrap().spec.profile, "short");
    assert_eq!(world.sent(RequestKind::NewOrder), 1);
}

#[test]
fn an_ipv4_address_in_ipv6_clothes_is_ordered_as_itself() {
    let world = World::start();
    let address = world.port.address().ip();
    let field = format!("ipAddresses: [\"::ffff:{address}\"]");
    world.prepare(&[CertificateYaml::new("web").field(&field)]);
    world.issue().ends_in(0);
    assert_eq!(world.state().published("web").ip_addresses, [address]);
    let ordered = world.state().orders("web").pop().unwrap();
    assert!(ordered.spec.identifiers.contains(&Identifier::Ip(address)), "{ordered:?}");
    world.issue().says_nothing();
}

#[test]
fn the_preferred_chain_is_taken_when_there_is_one() {
    let world = World::with(|options| options.alternate_root = true);
    let roots: Vec<String> = world
        .ca
        .root_pems()
        .iter()
        .map(|pem| Chain::from_pem(pem).unwrap().topmost_issuer_common_name().to_owned())
        .collect();
    let [default, alternate] = roots.as_slice() else { panic!("{roots:?}") };
    world.prepare(&[]);
    for (name, preferred) in [("one", default.as_str()), ("two", alternate), ("three", "No Root")] {
        let issuer = world.issuer().named(name).field(&format!("preferredChain: \"{preferred}\""));
        world.write(&format!("config/issuer-{name}.yaml"), &issuer);
        let certificate = CertificateYaml::new(name).issued_by(name);
        world.write(&format!("config/{name}.yaml"), &certificate);
    }
    let run = world.issue().ends_in(0).says("no chain with the preferred");
    let topmost = |name| world.state().chain(name).topmost_issuer_common_name().to_owned();
    let found = ["one", "two", "three"].map(topmost);
    assert_eq!(found, [default, alternate, default].map(ToOwned::to_owned), "{}", run.stderr);
}

#[test]
fn every_kind_of_key_is_certified() {
    let kinds = [
        ("RSA", 2048, KeyAlgorithm::Rsa),
        ("ECDSA", 256, KeyAlgorithm::Ecdsa),
        ("ECDSA", 384, KeyAlgorithm::Ecdsa),
        ("ECDSA", 521, KeyAlgorithm::Ecdsa),
        ("Ed25519", 0, KeyAlgorithm::Ed25519),
    ];
    let world = World::prepared(&[]);
    for (algorithm, size, _) in kinds {
        let name = format!("{}-{size}", algorithm.to_lowercase());
        let size = if size == 0 { String::new() } else { format!(", size: {size}") };
        let key = format!("privateKey: {{algorithm: {algorithm}{size}}}");
        let text = CertificateYaml::new(&name).to_string();
        let text = text.replace("privateKey:\n    algorithm: ECDSA", &key);
        world.write(&format!("config/{name}.yaml"), &text);
    }
    world.issue().ends_in(0);
    for (algorithm, size, _) in kinds {
        world.state().published(&format!("{}-{size}", algorithm.to_lowercase()));
    }
}

#[test]
fn a_refused_name_is_told_with_the_cas_own_words() {
    let names = ["good.example.test", "bad.example.test"];
    let world = World::prepared(&[CertificateYaml::new("web").for_names(&names)]);
    let fault = Fault::RejectIdentifier { detail: "policy forbids it".to_owned() };
    world.fault(Rule::always(fault).for_name("bad.example.test"));
    world.issue().ends_in(5).says("bad.example.test").says("policy forbids it");
    assert_eq!(world.state().record("web").status.failed_issuance_attempts, Some(1));
}

#[test]
fn an_order_that_has_expired_between_two_runs_is_replaced_uncounted() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.dns.remove("*.example.test");
    world.run(&["issue", "--timeout", "500ms"]).ends_in(75);
    let first = world.state().order_urls("web");
    // The CA has forgotten it.
    let gone = Fault::Problem {
        status: 404,
        kind: certctl::rehearsal::ProblemType::Malformed,
        detail: "no such order".to_owned(),
        retry_after: None,
    };
    world.next_fault(RequestKind::Order, gone);
    world.dns.set("web.example.test", vec!["127.0.0.1".parse().unwrap()]);
    world.issue().ends_in(0);
    assert_eq!(first.len(), 1);
    assert_eq!(world.ca.created(RequestKind::NewOrder), 2);
    assert_eq!(world.state().record("web").status.failed_issuance_attempts, None);
}

#[test]
fn addresses_are_proven_and_certified_like_names() {
    let certificate = CertificateYaml::new("web").field("ipAddresses: [127.0.0.1]");
    let world = World::prepared(&[certificate]);
    world.issue().ends_in(0);
    let leaf = world.state().published("web");
    assert_eq!(leaf.ip_addresses, [std::net::IpAddr::from([127, 0, 0, 1])]);
    assert_eq!(leaf.dns_names, ["web.example.test"]);
}

#[test]
fn many_names_cost_two_requests_each_and_a_few_more() {
    for (count, most) in [(25, 59), (100, 209)] {
        let names: Vec<String> = (0..count).map(|n| format!("n{n}.example.test")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let world = World::prepared(&[CertificateYaml::new("first")]);
        world.issue().ends_in(0);
        world.write("config/many.yaml", &CertificateYaml::new("many").for_names(&names));
        let before = world.ca.requests();
        // As it is by default: on a busy machine, turns of the tests' 100 ms would end and cost reads.
        let usual = ["--self-check-interval", "10s"];
        world.run(&[&["issue", "--timeout", "1m"][..], &usual].concat()).ends_in(0);
        assert_eq!(world.state().published("many").dns_names.len(), count);
        let sent = world.ca.requests() - before;
        assert!(sent <= most, "{count} names: {sent} requests");
    }
}

/// The CA answers everything but this.
#[test]
fn an_order_that_cannot_be_reached_is_continued_and_the_way_to_another_one_named() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.fault(Rule::always(Fault::CloseUnhandled).on(RequestKind::Order));
    world.issue().ends_in(5).says("to replace it now, run certctl renew web --new-order");
    world.ca.faults().clear();
    world.run(&["renew", "web", "--new-order"]).ends_in(0);
    assert_eq!(world.sent(RequestKind::NewOrder), 2);
    assert_eq!(world.state().record("web").status.failed_issuance_attempts, None);
}

#[test]
fn a_pending_order_says_how_to_make_another() {
    let world = World::prepared(&[CertificateYaml::new("web").for_names(&["unknown.test"])]);
    let command = "certctl renew web --new-order";
    let run = world.run(&["issue", "--timeout", "2s"]).ends_in(75);
    assert!(run.stderr.contains(command), "{}", run.stderr);
    for words in [["status", "web"], ["describe", "web"]] {
        let page = world.run(&words).stdout;
        assert!(page.contains(command), "{words:?}: {page}");
    }
}

#[test]
fn a_change_of_the_account_key_replaces_the_order_and_says_so() {
    let world = World::prepared(&[CertificateYaml::new("web").for_names(&["unknown.test"])]);
    world.run(&["issue", "--timeout", "2s"]).ends_in(75);
    let issuer = world.issuer().to_string().replace("ca-account", "other-account");
    world.write("config/issuer.yaml", &issuer);
    world.run(&["issue", "--timeout", "2s"]).ends_in(75);
    let orders = world.state().orders("web");
    assert_eq!(orders.len(), 2);
    assert_eq!(orders[0].reason, "replaced, because the issuer now has another ACME account");
}
