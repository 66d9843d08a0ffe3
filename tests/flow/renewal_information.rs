//! When the CA suggests to renew (ARI, RFC 9773): asked by `issue`, shown by every reading verb.

use certctl::rehearsal::{Fault, RequestKind, Rule, SuggestedRenewal};
use certctl::resource::{LeafFacts, OrderState};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::support::{CertificateYaml, World};

/// A world with a certificate of a CA that has renewal information, and was not asked yet.
fn issued() -> (World, LeafFacts) {
    let world = World::with(|options| options.renewal_info = true);
    world.prepare(&[CertificateYaml::new("web")]);
    let issuer = world.issuer().field("renewalInformationSource: None");
    world.write("config/issuer.yaml", &issuer);
    world.issue().ends_in(0);
    assert_eq!(world.sent(RequestKind::RenewalInfo), 0);
    world.write("config/issuer.yaml", &world.issuer());
    let leaf = world.state().published("web");
    (world, leaf)
}

fn id(leaf: &LeafFacts) -> String {
    leaf.certificate_id.clone().unwrap()
}

/// Days before the end of the certificate.
fn suggest(world: &World, leaf: &LeafFacts, [start, end]: [i32; 2]) -> SuggestedRenewal {
    let day = SignedDuration::from_hours(24);
    let suggested = SuggestedRenewal {
        start: leaf.not_after - day * start,
        end: leaf.not_after - day * end,
        explanation_url: Some("https://ca.example/why".to_owned()),
        retry_after: Some("3600".to_owned()),
    };
    assert!(world.ca.suggest_renewal(&id(leaf), Some(suggested.clone())));
    suggested
}

/// The date of its renewal does not move after the run that says it.
#[test]
fn the_run_that_issues_asks_in_the_end_and_the_next_one_asks_nothing() {
    let world = World::with(|options| options.renewal_info = true);
    world.prepare(&[CertificateYaml::new("web"), CertificateYaml::new("mail")]);
    let issued = world.run(&["issue", "-o", "json"]).ends_in(0).stdout;
    let kinds: Vec<RequestKind> = world.ca.log().iter().map(|entry| entry.kind).collect();
    let last = kinds.len() - 2;
    assert!(kinds[last..].iter().all(|kind| *kind == RequestKind::RenewalInfo), "{kinds:?}");
    assert!(!kinds[..last].contains(&RequestKind::RenewalInfo), "{kinds:?}");
    let issued: Value = serde_json::from_str(&issued).unwrap();
    let (requests, before) = (world.ca.requests(), world.state().everything());
    world.issue().says_nothing();
    assert_eq!((world.ca.requests(), world.state().everything()), (requests, before));
    for name in ["web", "mail"] {
        let status = world.state().record(name).status;
        let window = status.acme.ari.unwrap().suggested_window.unwrap();
        assert_eq!(status.renewal_time, Some(window.renew_at));
        let mut of = issued["items"].as_array().unwrap().iter();
        let said = of.find(|one| one["name"] == name).unwrap();
        assert_eq!(said["renewalTime"], window.renew_at.to_string(), "{said}");
    }
    world.run(&["renew", "web"]).ends_in(0);
    assert_eq!(world.sent(RequestKind::RenewalInfo), 3);
    // Who does not answer is asked again later, and the certificate is there.
    world.fault(Rule::always(Fault::CloseUnhandled).on(RequestKind::RenewalInfo));
    world.run(&["renew", "web"]).ends_in(0);
    assert_eq!((world.ca.issued(), world.sent(RequestKind::RenewalInfo)), (4, 4));
    world.issue().says_nothing();
    assert_eq!(world.sent(RequestKind::RenewalInfo), 4);
}

#[test]
fn a_window_in_the_past_is_renewed_at_once_and_names_what_it_replaces() {
    let (world, first) = issued();
    suggest(&world, &first, [200, 199]);
    world.run(&["plan", "--exit-code"]).ends_in(0);
    world.issue().ends_in(0);
    let second = world.state().published("web");
    assert_ne!(second.serial, first.serial);
    let replaced: Vec<_> =
        world.ca.replacements().into_iter().map(|(id, _, state)| (id, state)).collect();
    assert_eq!(replaced, [(id(&first), OrderState::Valid)]);
    let log = std::fs::read_to_string(world.path("state/issuance.log")).unwrap();
    let exempt: Vec<bool> = log.lines().map(|line| line.contains("\"exempt\":true")).collect();
    assert_eq!(exempt, [false, true]);
    // The window of the first one is not inherited: the CA is asked about the second one.
    world.issue().ends_in(0);
    assert_eq!((world.ca.issued(), world.sent(RequestKind::RenewalInfo)), (2, 2));
}

#[test]
fn what_the_ca_suggests_is_shown_and_asked_for_once_in_a_retry_after() {
    let (world, leaf) = issued();
    let window = suggest(&world, &leaf, [20, 10]);
    world.issue().ends_in(0);
    assert_eq!(world.sent(RequestKind::RenewalInfo), 1);
    let (requests, before) = (world.ca.requests(), world.state().everything());
    world.issue().ends_in(0);
    assert_eq!((world.ca.requests(), world.state().everything()), (requests, before));
    let known = world.state().record("web").status.acme.ari.unwrap();
    let chosen = known.suggested_window.unwrap().renew_at;
    assert!(window.start <= chosen && chosen < window.end);

    let page = world.run(&["describe", "web"]).ends_in(0).stdout;
    let shown = ["Renewal Information (ARI):", "Suggested Window: ", "https://ca.example/why"];
    for words in shown {
        assert!(page.contains(words), "{words} is not in:\n{page}");
    }
    let page = world.run(&["status"]).ends_in(0).stdout;
    assert!(page.contains("d ARI\n"), "{page}");
    let object: Value =
        serde_json::from_str(&world.run(&["status", "web", "-o", "json"]).ends_in(0).stdout)
            .unwrap();
    let times = |start, end| json!({ "start": start, "end": end });
    let ari = &object["status"]["acme"]["ari"];
    assert_eq!(ari["suggestedWindow"], times(window.start.to_string(), window.end.to_string()));
    assert_eq!(ari["explanationURL"], "https://ca.example/why");
    assert_eq!(object["status"]["renewalTime"], chosen.to_string());
    let page = world.run(&["plan"]).ends_in(0).stdout;
    assert!(page.contains(", as the CA suggests"), "{page}");
    let page = world.run(&["inspect", "web"]).ends_in(0).stdout;
    assert!(page.contains("Renewal time (ARI): "), "{page}");
    let metrics = world.run(&["status", "-o", "prometheus"]).ends_in(0).stdout;
    let name = "certctl_certificate_renewal_info_window_end_timestamp_seconds{";
    let sample = metrics.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(sample.ends_with(&format!(" {}", window.end.as_second())), "{sample}");
}

#[test]
fn a_question_that_fails_is_shown_and_stops_nothing() {
    let (world, leaf) = issued();
    suggest(&world, &leaf, [20, 10]);
    world.fault(Rule::always(Fault::unavailable(Some("60"))).on(RequestKind::RenewalInfo));
    assert_eq!(world.issue().ends_in(0).stderr, "");
    let page = world.run(&["describe", "web"]).ends_in(0).stdout;
    assert!(page.contains("Last Error: "), "{page}");
    let page = world.run(&["status"]).ends_in(0).stdout;
    assert!(page.contains("READY") && !page.contains("ARI"), "{page}");
    let sent = world.sent(RequestKind::RenewalInfo);
    world.issue().ends_in(0);
    assert_eq!(world.sent(RequestKind::RenewalInfo), sent);
}

#[test]
fn a_certificate_of_another_account_is_replaced_without_saying_so() {
    let (world, first) = issued();
    suggest(&world, &first, [200, 199]);
    let refused = Fault::Problem {
        status: 409,
        kind: certctl::rehearsal::ProblemType::Malformed,
        detail: "it is replaced already".to_owned(),
        retry_after: None,
    };
    world.next_fault(RequestKind::NewOrder, refused);
    world.issue().ends_in(0);
    assert_eq!((world.ca.issued(), world.ca.replacements()), (2, Vec::new()));
    assert_eq!(world.sent(RequestKind::NewOrder), 3);
    assert_eq!(world.state().record("web").status.failed_issuance_attempts, None);
    let events =
        std::fs::read_to_string(world.path("state/certificates/default/web/events.jsonl")).unwrap();
    assert!(events.contains("it is replaced already"), "{events}");
}

#[test]
fn an_issuer_that_wants_none_is_not_asked() {
    let world = World::with(|options| options.renewal_info = true);
    world.prepare(&[CertificateYaml::new("web")]);
    let issuer = world.issuer().field("renewalInformationSource: None");
    world.write("config/issuer.yaml", &issuer);
    world.issue().ends_in(0);
    let leaf = world.state().published("web");
    suggest(&world, &leaf, [200, 199]);
    world.issue().ends_in(0);
    world.run(&["renew", "web"]).ends_in(0);
    assert_eq!((world.sent(RequestKind::RenewalInfo), world.ca.replacements()), (0, Vec::new()));
}

#[test]
fn an_order_shows_which_certificate_it_replaces() {
    let (world, first) = issued();
    world.run(&["renew", "web"]).ends_in(0);
    let id = id(&first);
    let orders = world.run(&["status", "order", "-o", "json"]).ends_in(0).stdout;
    let orders: Value = serde_json::from_str(&orders).unwrap();
    let replaced =
        |order: &Value| order["metadata"]["annotations"]["status.certctl/replaces"].clone();
    let shown: Vec<Value> = orders["items"].as_array().unwrap().iter().map(replaced).collect();
    assert!(shown.contains(&json!(id)), "{shown:?}");
    let yaml = world.run(&["status", "order", "-o", "yaml"]).ends_in(0).stdout;
    assert!(yaml.contains(&format!("status.certctl/replaces: {id}")), "{yaml}");
    let page = world.run(&["describe", "web"]).ends_in(0).stdout;
    assert!(page.contains("Replaces:") && page.contains(&id), "{page}");
}
