//! A CA that has lost the account: it is registered again with the same key, once in a run, and
//! the order goes on as if nothing had been.

use std::fs;

use certctl::rehearsal::{CaOptions, Fault, ProblemType, RequestKind, Rule};
use certctl::store::atomic;

use crate::support::{CertificateYaml, Run, World, finish};

const REGISTERED_AGAIN: &str = "was registered again with the same key";

/// A world in which `first` was issued, so that there is an account; `web` is still to come.
fn with_an_account() -> World {
    let world = World::prepared(&[CertificateYaml::new("first")]);
    world.issue().ends_in(0);
    world.write("config/web.yaml", &CertificateYaml::new("web"));
    world
}

fn attempts(world: &World, name: &str) -> Option<u32> {
    world.state().record(name).status.failed_issuance_attempts
}

/// The account's document, and its key.
fn account(world: &World) -> (String, Vec<u8>) {
    let mut folders = fs::read_dir(world.state().path("accounts")).unwrap();
    let folder = folders.find_map(|entry| Some(entry.unwrap().path()).filter(|path| path.is_dir()));
    let folder = folder.unwrap();
    let document = fs::read_to_string(folder.join("account.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let url = document["document"]["url"].as_str().unwrap().to_owned();
    (url, fs::read(folder.join("key.pem")).unwrap())
}

fn unknown_account() -> Fault {
    Fault::Problem {
        status: 400,
        kind: ProblemType::AccountDoesNotExist,
        detail: "no account has this URL".to_owned(),
        retry_after: None,
    }
}

#[test]
fn a_forgotten_account_is_registered_again_whatever_was_asked_in_its_name() {
    for kind in [
        RequestKind::NewOrder,
        RequestKind::Authorization,
        RequestKind::Challenge,
        RequestKind::Order,
        RequestKind::Finalize,
        RequestKind::Certificate,
    ] {
        let world = with_an_account();
        let (old, key) = account(&world);
        world.next_fault(kind, Fault::ForgetAccounts);
        let run = world.issue().ends_in(0).says(REGISTERED_AGAIN).says(&old);
        assert_eq!(run.stderr.matches(REGISTERED_AGAIN).count(), 1, "{kind:?}: {}", run.stderr);
        world.state().published("web");
        let (url, same) = account(&world);
        assert!(url != old && same == key, "{kind:?}");
        assert_eq!(attempts(&world, "web"), None, "{kind:?}");
        assert_eq!(world.ca.created(RequestKind::NewAccount), 2, "{kind:?}");
        assert!(world.state().tokens().is_empty(), "{kind:?}");
        let journal = world.state().path("certificates/default/web/events.jsonl");
        let journal = fs::read_to_string(journal).unwrap();
        let said = journal.matches("no longer knows the account").count();
        assert_eq!(said, 1, "{kind:?}: {journal}");
        world.issue().says_nothing();
    }
}

#[test]
fn an_order_of_an_earlier_run_goes_with_its_account() {
    let world = with_an_account();
    world.fault(Rule::always(Fault::CloseUnhandled).on(RequestKind::Finalize));
    world.issue().ends_in(5);
    world.ca.faults().clear();
    world.next_fault(RequestKind::Order, Fault::ForgetAccounts);
    world.issue().ends_in(0).says(REGISTERED_AGAIN);
    assert_eq!(attempts(&world, "web"), None);
    let reasons: Vec<_> = world.state().orders("web").into_iter().map(|o| o.reason).collect();
    assert_eq!(reasons, ["the CA has forgotten the account that ordered", ""]);
}

#[test]
fn a_ca_that_forgets_again_and_again_is_a_failure_and_no_loop() {
    let world = with_an_account();
    let before = world.sent(RequestKind::NewAccount);
    world.fault(Rule::always(Fault::ForgetAccounts).on(RequestKind::NewOrder));
    let words = "this run registered it again";
    world.issue().ends_in(5).says(words).says("attempt 1");
    assert_eq!(attempts(&world, "web"), Some(1));
    // The first order of `first`, and two tries of `web`; looked for, and registered.
    assert_eq!(world.sent(RequestKind::NewOrder), 3);
    assert_eq!(world.sent(RequestKind::NewAccount) - before, 2);
    // One failure waits as every other does, and what comes after it is a first time again.
    world.issue().ends_in(75);
    world.ca.faults().clear();
    world.next_fault(RequestKind::NewOrder, Fault::ForgetAccounts);
    world.run(&["renew", "web"]).ends_in(0);
}

#[test]
fn a_ca_that_was_only_confused_has_the_account_still() {
    let world = with_an_account();
    let before = account(&world);
    world.next_fault(RequestKind::NewOrder, unknown_account());
    world.issue().ends_in(0);
    assert_eq!((account(&world), world.ca.created(RequestKind::NewAccount)), (before, 1));
}

#[test]
fn an_account_that_is_not_allowed_is_the_operators_business() {
    let world = with_an_account();
    let deactivated = Fault::Problem {
        status: 403,
        kind: ProblemType::Unauthorized,
        detail: "the account is deactivated".to_owned(),
        retry_after: None,
    };
    let before = (account(&world), world.sent(RequestKind::NewAccount));
    world.fault(Rule::always(deactivated).on(RequestKind::NewOrder));
    world.issue().ends_in(5).says("the account is deactivated");
    assert_eq!((account(&world), world.sent(RequestKind::NewAccount)), before);
    assert_eq!(attempts(&world, "web"), Some(1));
}

#[test]
fn those_who_share_an_account_make_it_again_once() {
    let world = with_an_account();
    for number in 0..10 {
        let name = format!("c{number}");
        world.write(&format!("config/{name}.yaml"), &CertificateYaml::new(&name));
    }
    world.fault(Rule::next(1, Fault::ForgetAccounts).on(RequestKind::NewOrder).skipping(5));
    let run = world.issue().ends_in(0);
    assert_eq!(run.stderr.matches(REGISTERED_AGAIN).count(), 1, "{}", run.stderr);
    assert_eq!(world.ca.created(RequestKind::NewAccount), 2);
    for number in 0..10 {
        let name = format!("c{number}");
        world.state().published(&name);
        assert_eq!(attempts(&world, &name), None, "{name}");
    }
}

#[test]
fn two_processes_that_share_an_account_make_it_again_once() {
    let world = with_an_account();
    let files = ["one", "two"].map(|part| {
        let all: Vec<String> = (0..4)
            .map(|number| CertificateYaml::new(&format!("{part}-{number}")).to_string())
            .collect();
        let issuer = world.issuer();
        world.write(&format!("{part}.yaml"), &format!("{issuer}---\n{}", all.join("---\n")))
    });
    world.fault(Rule::next(1, Fault::ForgetAccounts).on(RequestKind::NewOrder).skipping(2));
    let children = files.map(|file| world.start_certctl(&["issue", file.to_str().unwrap()]));
    let runs: Vec<Run> = children.into_iter().map(finish).collect();
    for run in runs {
        run.ends_in(0);
    }
    assert_eq!(world.ca.created(RequestKind::NewAccount), 2);
    for number in 0..4 {
        for part in ["one", "two"] {
            world.state().published(&format!("{part}-{number}"));
        }
    }
}

fn asking_for_a_binding(options: &mut CaOptions) {
    options.external_account_keys.insert("kid-1".to_owned(), b"0123456789abcdef".to_vec());
}

#[test]
fn it_is_bound_and_told_its_contacts_again() {
    let world = World::with(asking_for_a_binding);
    let binding = "externalAccountBinding:\n      keyID: kid-1\n      keySecretRef:\n        \
                   name: eab\n        key: hmac";
    let issuer = world.issuer().field(binding).field("disableAccountKeyGeneration: false");
    world.write("config/issuer.yaml", &issuer.clone().field("email: one@example.test"));
    world.write_secret("eab", "hmac", "MDEyMzQ1Njc4OWFiY2RlZg");
    world.write("config/first.yaml", &CertificateYaml::new("first"));
    world.issue().ends_in(0);
    // The loss is found when other contacts are sent to the CA.
    world.write("config/issuer.yaml", &issuer.field("email: two@example.test"));
    world.write("config/web.yaml", &CertificateYaml::new("web"));
    world.next_fault(RequestKind::Account, Fault::ForgetAccounts);
    world.issue().ends_in(0).says(REGISTERED_AGAIN);
    assert_eq!(world.ca.created(RequestKind::NewAccount), 2);
    assert_eq!(world.sent(RequestKind::Account), 1, "the new one was born with them");
    // The verb makes it good as well.
    world.next_fault(RequestKind::Account, Fault::ForgetAccounts);
    world.run(&["account", "update", "ca"]).ends_in(0);
    assert_eq!(world.ca.created(RequestKind::NewAccount), 3);
    // Without the key of the binding there is no account, and that is said.
    world.write_secret("eab", "hmac", "d3Jvbmcga2V5IGluZGVlZA");
    world.write("config/last.yaml", &CertificateYaml::new("last"));
    world.next_fault(RequestKind::NewOrder, Fault::ForgetAccounts);
    world.issue().ends_in(5).says("externalAccountBinding");
}

#[test]
fn an_account_key_that_is_gone_or_damaged_is_found_and_another_secret_gives_another_account() {
    for damage in [None, Some("no key")] {
        let world = with_an_account();
        let mut folders = fs::read_dir(world.state().path("accounts")).unwrap();
        let found = folders.find_map(|one| Some(one.unwrap().path()).filter(|path| path.is_dir()));
        let key = found.unwrap().join("key.pem");
        fs::remove_file(&key).unwrap();
        if let Some(text) = damage {
            atomic::write(&key, text.as_bytes(), 0o600).unwrap();
        }
        let check = world.run(&["check", "acme"]).ends_in(3).stdout;
        assert!(check.contains("name another secret, for another account"), "{check}");
        let fix = "name another secret in privateKeySecretRef of issuer ca";
        let place = key.strip_prefix(world.path("state")).unwrap().display().to_string();
        world.issue().ends_in(3).says("the account key of ").says(&place).says(fix);
        assert_eq!(world.ca.created(RequestKind::NewAccount), 1);
        let issuer = world.issuer().to_string().replace("ca-account", "another-account");
        world.write("config/issuer.yaml", &issuer);
        world.issue().ends_in(0);
        assert_eq!(world.ca.created(RequestKind::NewAccount), 2);
        world.state().published("web");
    }
}

#[test]
fn a_lost_key_is_said_before_a_renewal_needs_it() {
    let world = with_an_account();
    world.issue().ends_in(0);
    let mut folders = fs::read_dir(world.state().path("accounts")).unwrap();
    let found = folders.find_map(|one| Some(one.unwrap().path()).filter(|path| path.is_dir()));
    let key = found.unwrap().join("key.pem");
    let kept = fs::read(&key).unwrap();
    fs::remove_file(&key).unwrap();
    let requests = world.ca.requests();
    let backup = "key.pem in the state from a backup; without a backup, name another secret";
    let old = "existing certificates stay valid";
    let run = world.run(&["account", "register", "ca"]).ends_in(3).says(backup).says(old);
    run.says("  try       certctl check acme ca\n");
    let shown = world.run(&["account", "show", "ca"]).ends_in(0).says(backup).says(old);
    assert!(shown.stdout.contains("State: registered; its key is lost\n"), "{}", shown.stdout);
    shown.says("  try: certctl check acme ca\n");
    // Nothing is due: a warning, once a day in a run without a terminal.
    world.issue().ends_in(0).says("warning: account: the account key of ca is lost").says(backup);
    assert_eq!(world.ca.requests(), requests);
    world.run(&["issue", "-q"]).ends_in(0);
    atomic::write(&key, &kept, 0o600).unwrap();
    world.run(&["account", "register", "ca"]).ends_in(0);
    world.issue().says_nothing();
    world.run(&["renew", "web"]).ends_in(0);
}
