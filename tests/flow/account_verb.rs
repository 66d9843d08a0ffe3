//! `certctl account`: show, register, update, deactivate.

use std::collections::BTreeMap;

use certctl::rehearsal::{Fault, RequestKind};
use serde_json::Value;

use crate::support::{CertificateYaml, World};

fn url(world: &World) -> String {
    let shown = world.run(&["account", "show", "-o", "json"]).ends_in(0).stdout;
    let list: Value = serde_json::from_str(&shown).unwrap();
    list["items"][0]["uri"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_account_is_registered_without_a_certificate_and_used_by_the_first() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world
        .run(&["account", "show"])
        .ends_in(0)
        .says("no account yet; to register one: certctl account register");
    let run = World::start().run(&["account", "show"]).ends_in(0);
    run.says("no Issuer to register one for; to create one: certctl create issuer\n");
    world.run(&["account", "update", "ca"]).ends_in(3).says("no account is known");
    world.run(&["account", "register"]).ends_in(0).says("registered as https://");
    world.run(&["account", "register", "ca"]).ends_in(0);
    assert_eq!(world.sent(RequestKind::NewAccount), 1);
    assert!(!world.path("state/certificates/default").exists());
    let page = world.run(&["account", "show", "ca"]).ends_in(0).stdout;
    for line in ["State: registered\n", "Contacts: <none>\n", "Key: ECDSA P-256", "/terms\n"] {
        assert!(page.contains(line), "{line}: {page}");
    }
    world.issue().ends_in(0);
    assert_eq!(world.sent(RequestKind::NewAccount), 1);
}

#[test]
fn a_refused_registration_leads_on() {
    let world = World::with(|options| {
        options.external_account_keys =
            BTreeMap::from([("kid".to_owned(), b"0123456789".to_vec())]);
    });
    world.write("config/issuer.yaml", &world.issuer());
    world
        .run(&["account", "register", "ca"])
        .ends_in(5)
        .says("  cause     the CA requires an external account binding\n")
        .says("  try       certctl check acme ca\n");
    // Of a CA that gives no answer, too.
    let issuer = world.issuer().to_string().replace(&world.ca.directory_url(), UNANSWERED);
    world.write("config/issuer.yaml", &issuer);
    world.run(&["account", "register"]).ends_in(5).says("  try       certctl check acme ca\n");
}

/// No server listens there.
const UNANSWERED: &str = "https://127.0.0.1:1/directory";

#[test]
fn an_account_without_an_issuer_that_was_never_registered_is_removed_by_the_command_that_is_printed()
 {
    let world = World::start();
    let issuer = world.issuer().to_string();
    let unanswered = issuer.replace(&world.ca.directory_url(), UNANSWERED);
    world.write("config/issuer.yaml", &unanswered);
    world.run(&["account", "register"]).ends_in(5);
    let shown = world.run(&["account", "show"]).ends_in(0);
    assert!(shown.stdout.contains("\nIssuer: ca\nIssuer Kind: Issuer\n"), "{shown:?}");
    assert!(!shown.stderr.contains("rm -r"), "{shown:?}");
    world.write("config/issuer.yaml", &issuer);
    let shown = world.run(&["account", "show"]).ends_in(0);
    assert!(shown.stdout.contains("\nIssuer: <none>\n"), "{shown:?}");
    let line = shown.stderr.lines().find_map(|line| line.strip_prefix("  try: ")).unwrap();
    assert!(line.starts_with("rm -r "), "{line}");
    std::process::Command::new("sh").args(["-c", line]).status().unwrap();
    assert_eq!(world.run(&["account", "show"]).ends_in(0).stdout, "");
}

#[test]
fn contacts_are_told_when_asked_for() {
    let world = World::start();
    world.write("config/issuer.yaml", &world.issuer());
    world.run(&["account", "register", "ca"]).ends_in(0);
    world.write("config/issuer.yaml", &world.issuer().field("email: ops@example.test"));
    for sent in 1..=2 {
        world.run(&["account", "update", "ca"]).ends_in(0).says("mailto:ops@example.test");
        assert_eq!(world.sent(RequestKind::Account), sent);
    }
    world.run(&["account", "update", "other"]).ends_in(3);
}

#[test]
fn an_account_is_given_up_only_on_a_yes_and_the_next_issuance_makes_another() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let old = url(&world);
    let before = world.ca.requests();
    let run = world.run(&["account", "deactivate", "ca"]).ends_in(2);
    run.says("cannot be reactivated").says("try: certctl account deactivate ca --yes\n");
    assert_eq!(world.ca.requests(), before);

    // The answer is lost: the next request reports that the account is deactivated.
    world.next_fault(RequestKind::Account, Fault::LoseReply);
    world.run(&["account", "deactivate", "ca", "--yes"]).ends_in(5);
    world.run(&["renew", "web"]).ends_in(3).says("certctl account deactivate ca --yes");
    world.run(&["account", "deactivate", "ca", "--yes"]).ends_in(0).says("deactivated");
    let page = world.run(&["account", "show"]).ends_in(0).stdout;
    assert!(page.contains("State: deactivated"), "{page}");
    world.run(&["account", "deactivate", "ca", "--yes"]).ends_in(3);

    world.run(&["renew", "web"]).ends_in(0);
    assert_ne!(url(&world), old);
    assert_eq!(world.ca.created(RequestKind::NewAccount), 2);
    world.issue().says_nothing();
}
