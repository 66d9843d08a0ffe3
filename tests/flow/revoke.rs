//! A certificate that is taken back is replaced first, revoked whatever happens in between, and
//! its compromised key never comes back.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use certctl::pki::Chain;
use certctl::rehearsal::{Fault, ProblemType, RequestKind, Rule};
use certctl::resource::Reason;

use crate::support::{CertificateYaml, World, finish, until};

/// `web` with these fields of `privateKey`.
fn with_key(fields: &str) -> String {
    let yaml = CertificateYaml::new("web").to_string();
    yaml.replace("    algorithm: ECDSA\n", fields)
}

fn issued() -> World {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    world
}

/// The order of the requests that matter here.
fn effects(world: &World, from: usize) -> Vec<RequestKind> {
    let kinds = world.ca.log().into_iter().skip(from).map(|entry| entry.kind);
    kinds.filter(|kind| matches!(kind, RequestKind::NewOrder | RequestKind::Revoke)).collect()
}

fn problem(status: u16, kind: ProblemType, detail: &str) -> Fault {
    Fault::Problem { status, kind, detail: detail.to_owned(), retry_after: None }
}

#[test]
fn a_compromised_key_is_replaced_then_revoked_and_never_used_again() {
    let world = World::prepared(&[]);
    let keeps_its_key = "    algorithm: ECDSA\n    rotationPolicy: Never\n";
    world.write("config/web.yaml", &with_key(keeps_its_key));
    world.issue().ends_in(0);
    let old = world.state().published("web");
    let before = world.ca.requests();
    let run = world.run(&["revoke", "web", "--reason", "keyCompromise", "--yes"]).ends_in(0);
    assert!(
        run.stderr.contains(&format!("serial {} revoked (keyCompromise)", old.serial)),
        "{}",
        run.stderr
    );
    let new = world.state().published("web");
    assert_ne!(new.public_key, old.public_key);
    assert_eq!(world.ca.revoked_serials(), [(old.serial.clone(), 1)]);
    assert_eq!(effects(&world, before), [RequestKind::NewOrder, RequestKind::Revoke]);
    assert_eq!(world.state().readiness("web"), Reason::Ready);
    let status = world.run(&["describe", "web"]).ends_in(0).stdout;
    assert!(
        status.contains(&format!("- serial {}, keyCompromise: revoked at ", old.serial)),
        "{status}"
    );
    world.issue().says_nothing();

    // The banned key is due wherever it turns up, and a renewal that keeps keys makes another.
    let folder = world.path("state/secrets/default/web-tls");
    let previous = folder.join("..revision-1-0");
    let live = std::fs::canonicalize(folder.join("..data")).unwrap();
    for file in ["tls.crt", "tls.key"] {
        std::fs::copy(previous.join(file), live.join(file)).unwrap();
    }
    assert_eq!(world.state().published("web"), old);
    world.issue().ends_in(0);
    assert_ne!(world.state().published("web").public_key, old.public_key);
}

#[test]
fn asked_for_at_once_it_is_revoked_before_anything_is_ordered() {
    let world = issued();
    let old = world.state().published("web");
    let before = world.ca.requests();
    world.run(&["revoke", "web", "--now", "--reason", "superseded", "--yes"]).ends_in(0);
    assert_eq!(effects(&world, before), [RequestKind::Revoke, RequestKind::NewOrder]);
    assert_eq!(world.ca.revoked_serials(), [(old.serial.clone(), 4)]);
    assert_ne!(world.state().published("web").serial, old.serial);
}

#[test]
fn without_a_terminal_a_revocation_needs_yes() {
    let world = issued();
    std::fs::copy(world.path("state/secrets/default/web-tls/tls.crt"), world.path("old.crt"))
        .unwrap();
    world.run(&["renew", "web"]).ends_in(0);
    let (old, before) = (world.state().published("web"), world.ca.requests());
    let asked = format!("web: serial {} will be revoked (unspecified)", old.serial);
    world
        .run(&["revoke", "web"])
        .ends_in(2)
        .says(&asked)
        .says("try: certctl revoke web --yes\n")
        .says("certctl revoke web --reason keyCompromise --yes # if its key has leaked");
    world
        .run(&["revoke", "web", "--reason", "superseded", "--now"])
        .ends_in(2)
        .says("try: certctl revoke web --reason superseded --now --yes\n");
    world.run(&["revoke", "./old.crt"]).ends_in(2).says("certctl revoke ./old.crt --yes\n");
    assert_eq!((world.ca.requests(), world.state().published("web")), (before, old.clone()));
    world.run(&["revoke", "web", "--yes"]).ends_in(0);
    assert_eq!(world.ca.revoked_serials(), [(old.serial, 0)]);
}

#[test]
fn a_run_that_is_killed_before_it_revokes_is_finished_by_the_next() {
    let world = issued();
    let old = world.state().published("web");
    world.fault(Rule::next(1, Fault::Delay(Duration::from_mins(5))).on(RequestKind::Revoke));
    let mut child = world.start_certctl(&["revoke", "web", "--yes"]);
    // The CA writes a request into its log when it has answered it, and this one it does not.
    until("it is replaced", || world.state().record("web").status.revision == Some(2));
    child.kill().unwrap();
    finish(child);
    // It may have been killed before it came to that request.
    world.ca.faults().clear();
    assert_eq!(world.ca.revoked(), 0);
    let new = world.state().published("web");
    assert_ne!(new.serial, old.serial);
    let status = world.run(&["describe", "web"]).ends_in(0).stdout;
    assert!(
        status.contains(&format!("- serial {}, unspecified: pending since ", old.serial)),
        "{status}"
    );
    world.issue().ends_in(0).says(&format!("serial {} revoked", old.serial));
    assert_eq!(world.ca.revoked_serials(), [(old.serial, 0)]);
    assert_eq!(world.state().published("web"), new);
    world.issue().says_nothing();
}

#[test]
fn a_revocation_whose_answer_was_lost_is_not_a_failure_the_second_time() {
    let world = issued();
    world.next_fault(RequestKind::Revoke, Fault::LoseReply);
    world.run(&["revoke", "web", "--yes"]).ends_in(5).says("the next run retries");
    assert_eq!(world.ca.revoked(), 1);
    // Asking once more finishes that, and leaves the new certificate alone.
    let live = world.state().published("web");
    world
        .run(&["revoke", "web", "--yes"])
        .ends_in(0)
        .says("the pending revocation is for the earlier serial")
        .says("was already revoked");
    assert_eq!((world.ca.revoked(), world.state().published("web")), (1, live));
}

/// What was said of a key that has leaked is not taken back by a shorter command.
#[test]
fn a_revocation_that_is_asked_for_again_keeps_its_reason() {
    let world = issued();
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail: "no".to_owned() };
    world.fault(Rule::always(refusal).for_name("web.example.test"));
    world
        .run(&["revoke", "web", "--reason", "keyCompromise", "--yes"])
        .ends_in(4)
        .says("is not revoked yet");
    world.run(&["revoke", "web", "--now", "--yes"]).says("revoked (keyCompromise)");
    let key_compromise = 1;
    assert_eq!(world.ca.revoked_serials()[0].1, key_compromise);
}

#[test]
fn a_pending_revocation_is_shown_and_can_be_cancelled() {
    let world = issued();
    let old = world.state().published("web");
    world.run(&["revoke", "web", "--cancel"]).ends_in(0).says("no revocation is pending");
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail: "no".to_owned() };
    world.fault(Rule::always(refusal).for_name("web.example.test"));
    world.run(&["revoke", "web", "--yes"]).ends_in(4).says("certctl revoke web --cancel");
    let serial = &old.serial;
    let line = format!("Revocation:   of serial {serial} (unspecified), pending since ");
    let status = world.run(&["status", "web"]).ends_in(0).stdout;
    assert!(status.contains(&line), "{status}");
    let page = world.run(&["describe", "web"]).ends_in(0).stdout;
    let line = format!("Revocation: of serial {serial} (unspecified), pending since ");
    let cancel = "\n  Try: certctl revoke web --cancel";
    assert!(page.contains(&line) && page.contains(cancel), "{page}");

    // Its manifest is not needed.
    let manifest = std::fs::read_to_string(world.path("config/web.yaml")).unwrap();
    std::fs::remove_file(world.path("config/web.yaml")).unwrap();
    let cancelled = format!("web: the revocation of serial {serial} (unspecified) is cancelled");
    world.run(&["revoke", "web", "--cancel"]).ends_in(0).says(&cancelled);
    world.write("config/web.yaml", &manifest);
    let journal = world.run(&["describe", "web"]).ends_in(0).stdout;
    assert!(journal.contains(&format!("Revocation of serial {serial} cancelled")), "{journal}");
    assert!(!journal.contains("Revocations:"), "{journal}");

    // Nothing else asked for the replacement.
    let table = world.run(&["status", "--exit-code"]).ends_in(0).stdout;
    assert!(table.contains("READY"), "{table}");
    world.issue().says_nothing();
    let plan = world.run(&["plan", "web"]).ends_in(0).stdout;
    assert!(plan.contains("nothing"), "{plan}");
    world.ca.faults().clear();
    world.run(&["renew", "web"]).ends_in(0);
    assert_ne!(world.state().published("web").serial, old.serial);
    assert_eq!(world.ca.revoked(), 0);
}

#[test]
fn a_cancelled_revocation_takes_back_the_issuance_that_waits() {
    let world = issued();
    world.fault(Rule::always(Fault::Html { status: 503 }).on(RequestKind::NewOrder));
    world.run(&["revoke", "web", "--yes"]);
    let plan = world.run(&["plan", "web"]).ends_in(0).stdout;
    assert!(plan.contains("revo") && !plan.contains("renew"), "{plan}");
    world.run(&["revoke", "web", "--cancel"]).ends_in(0);
    world.run(&["status", "web", "--exit-code"]).ends_in(0);
    world.issue().says_nothing();
    // What `renew` requested too goes on.
    world.run(&["revoke", "web", "--yes"]);
    world.run(&["renew", "web"]);
    world.run(&["revoke", "web", "--cancel"]).ends_in(0);
    let plan = world.run(&["plan", "web"]).ends_in(0).stdout;
    assert!(plan.contains("requested by renew"), "{plan}");
}

#[test]
fn without_a_replacement_it_stays_valid_unless_asked_for_at_once() {
    let world = issued();
    let old = world.state().published("web");
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail: "no".to_owned() };
    world.fault(Rule::always(refusal).for_name("web.example.test"));
    world.run(&["revoke", "web", "--yes"]).ends_in(4).says("certctl revoke web --now");
    assert_eq!(world.ca.revoked(), 0);
    assert_eq!(world.state().readiness("web"), Reason::Revoked);
    world.run(&["revoke", "web", "--now", "--yes"]).ends_in(4);
    assert_eq!(world.ca.revoked_serials(), [(old.serial, 0)]);
}

#[test]
fn revoked_for_good_nothing_is_issued_until_renew() {
    let world = issued();
    let before = world.ca.requests();
    world
        .run(&["revoke", "web", "--no-issue", "--reason", "cessationOfOperation", "--yes"])
        .ends_in(0);
    assert_eq!(effects(&world, before), [RequestKind::Revoke]);
    let requests = world.ca.requests();
    let told = world.issue().ends_in(0).stderr;
    let line = "web: it is revoked (cessationOfOperation), and not replaced; nothing is issued";
    assert!(told.contains(line), "{told}");
    assert_eq!(world.ca.requests(), requests);
    world.run(&["status", "--exit-code"]).ends_in(8);
    let status = world.run(&["describe", "web"]).ends_in(0).stdout;
    for line in [
        "nothing replaces it until you renew it\n",
        "Next attempt: never\n",
        "Renewal Time: <none>\n",
    ] {
        assert!(status.contains(line), "{line}: {status}");
    }

    // Every verb says so, with the command that replaces it.
    let why = "it is revoked (cessationOfOperation), and not replaced";
    world.issue().ends_in(0).says(why);
    let named = world.run(&["issue", "web"]).ends_in(0);
    assert!(named.stderr.contains(&format!("web: {why}; nothing is issued\n")), "{}", named.stderr);
    named.says("certctl renew web");
    let plan = world.run(&["plan"]).ends_in(0).stdout;
    for part in [
        "nothing   web    ca       -      revoked, not replaced",
        &format!("  why       {why}\n  replace   certctl renew web\n"),
        "\n1 revoked and not replaced\n",
    ] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    let inspect = ["inspect", "web", "--exit-code", "--offline"];
    let page = world.run(&inspect).ends_in(8).stdout;
    let line = page.lines().find(|line| line.starts_with("\tRevoked: ")).unwrap();
    assert!(line.ends_with(", cessationOfOperation; not replaced"), "{line}");
    assert!(page.contains("\tTo replace it: certctl renew web\n"), "{page}");
    world.run(&["renew", "web"]).ends_in(0);
    assert_eq!((world.ca.issued(), world.state().readiness("web")), (2, Reason::Ready));
    world.issue().says_nothing();
    world.run(&inspect).ends_in(0);
    let plan = world.run(&["plan"]).ends_in(0).stdout;
    assert!(plan.contains("not due, renews") && plan.ends_with("\n1 unchanged\n"), "{plan}");
}

#[test]
fn what_is_not_deployed_yet_is_not_revoked() {
    let world = World::prepared(&[]);
    world.write(
        "config/web.yaml",
        &CertificateYaml::new("web").annotation("certctl/deploy-hook", "install"),
    );
    world.write_program("config/hooks.d/install", "exit 0");
    world.issue().ends_in(0);
    world.write_program("config/hooks.d/install", "exit 1");
    let run = world.run(&["revoke", "web", "--yes"]).ends_in(6);
    // What matters of a key that has leaked comes first, and each command is a line to copy.
    let not_revoked = run.stderr.find("warning: web: serial ");
    assert!(
        not_revoked.is_some() && not_revoked < run.stderr.find("error: web: "),
        "{}",
        run.stderr
    );
    for verb in ["--now", "--cancel"] {
        assert!(run.stderr.contains(&format!(" certctl revoke web {verb}\n")), "{}", run.stderr);
    }
    assert_eq!((world.ca.issued(), world.ca.revoked()), (2, 0));
    world.write_program("config/hooks.d/install", "exit 0");
    world.run(&["deploy", "web"]).ends_in(0).says("revoked (unspecified)");
    assert_eq!(world.ca.revoked(), 1);
}

#[test]
fn a_revocation_that_is_pending_is_not_forgotten() {
    let world =
        World::prepared(
            &[CertificateYaml::new("web").annotation("certctl/deploy-hook", "install")],
        );
    world.write_program("config/hooks.d/install", "exit 0");
    world.issue().ends_in(0);
    let revoked = world.state().published("web").serial;
    world.write_program("config/hooks.d/install", "exit 1");
    world.run(&["revoke", "web", "--reason", "superseded", "--yes"]).ends_in(6);
    let refused = format!("web: the revocation of serial {revoked} (superseded) is pending");
    let command = |words: &[&str]| {
        let run = world.run(words).ends_in(3).says(&refused);
        let mut lines =
            run.stderr.lines().map(|line| line.trim_start().trim_start_matches("try: "));
        lines.find(|line| line.starts_with("certctl revoke")).unwrap().to_owned()
    };
    for words in [&["forget", "web"][..], &["forget", "web", "--anyway", "--secret", "--yes"]] {
        assert!(command(words).starts_with("certctl revoke web --now "), "{words:?}");
    }
    assert!(world.path("state/certificates/default/web").exists());
    std::fs::remove_file(world.path("config/web.yaml")).unwrap();
    // The file is that of the replacement.
    assert!(command(&["forget", "web"]).ends_with("put its manifest back first"));
    world.run(&["revoke", "web", "--cancel"]).ends_in(0);
    world.run(&["forget", "web"]).ends_in(0);
    assert_eq!(world.ca.revoked(), 0);
}

#[test]
fn the_file_of_the_replacement_is_not_named_to_revoke_what_it_replaced() {
    let world = issued();
    let silent = problem(500, ProblemType::ServerInternal, "later");
    world.fault(Rule::always(silent).on(RequestKind::Revoke));
    world.run(&["revoke", "web", "--reason", "superseded", "--yes"]);
    assert_eq!((world.ca.issued(), world.ca.revoked()), (2, 0));
    std::fs::remove_file(world.path("config/web.yaml")).unwrap();
    let run = world.run(&["forget", "web"]).ends_in(3).says("(superseded) is pending");
    assert!(!run.stderr.contains("tls.crt"), "{}", run.stderr);
    run.says("certctl revoke web --now ").says("put its manifest back first");
    // One that is still live is revoked by its file.
    let world = issued();
    let refused = problem(400, ProblemType::BadCsr, "the key is not liked");
    world.fault(Rule::always(refused).on(RequestKind::Finalize));
    world.run(&["revoke", "web", "--reason", "superseded", "--yes"]);
    assert_eq!((world.ca.issued(), world.ca.revoked()), (1, 0));
    std::fs::remove_file(world.path("config/web.yaml")).unwrap();
    world.run(&["forget", "web"]).ends_in(3).says("/web-tls/tls.crt --reason superseded ");
}

#[test]
fn a_refusal_is_reported_once_and_recorded() {
    let world = issued();
    let refusal = problem(403, ProblemType::Unauthorized, "not yours");
    world.fault(Rule::always(refusal).on(RequestKind::Revoke));
    world.run(&["revoke", "web", "--yes"]).ends_in(5).says("not yours").says("not retried");
    world.issue().says_nothing();
    let status = world.run(&["describe", "web"]).ends_in(0).stdout;
    assert!(status.contains("unspecified: refused by the CA: "), "{status}");
}

#[test]
fn without_its_account_a_certificate_is_revoked_by_its_own_key() {
    let no_account = |world: &World| {
        std::fs::remove_dir_all(world.path("state/accounts")).unwrap();
    };
    let no_key = |world: &World| {
        let accounts = std::fs::read_dir(world.path("state/accounts")).unwrap();
        for account in accounts.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
            std::fs::remove_file(account.join("key.pem")).unwrap();
        }
    };
    let forgotten = |world: &World| {
        let unknown = problem(400, ProblemType::AccountDoesNotExist, "no account has this URL");
        world.next_fault(RequestKind::Revoke, unknown);
    };
    let lost: [fn(&World); 3] = [no_account, no_key, forgotten];
    for (what, lose) in ["account", "key", "at the CA"].into_iter().zip(lost) {
        let world = issued();
        let old = world.state().published("web");
        lose(&world);
        let before = world.ca.requests();
        world
            .run(&["revoke", "web", "--no-issue", "--reason", "keyCompromise", "--yes"])
            .ends_in(0);
        assert_eq!(world.ca.revoked_serials(), [(old.serial, 1)], "{what}");
        assert_eq!(world.ca.created(RequestKind::NewAccount), 1, "{what}");
        let sent = effects(&world, before);
        assert!(sent.iter().all(|kind| *kind == RequestKind::Revoke), "{what}: {sent:?}");
    }
    // Another account orders the replacement; it may not revoke what the lost one ordered.
    let world = issued();
    let old = world.state().published("web");
    no_account(&world);
    world
        .run(&["revoke", "web", "--yes"])
        .ends_in(0)
        .says(&format!("serial {} revoked", old.serial));
    assert_eq!(world.ca.revoked_serials(), [(old.serial, 0)]);
    assert_eq!(world.ca.issued(), 2);
}

#[test]
fn a_certificate_in_a_file_is_revoked_by_its_account_or_its_own_key() {
    let kinds = [
        "    algorithm: ECDSA\n    size: 256\n",
        "    algorithm: ECDSA\n    size: 384\n",
        "    algorithm: ECDSA\n    size: 521\n",
        "    algorithm: Ed25519\n",
        "    algorithm: RSA\n    size: 2048\n",
    ];
    for key in [None].into_iter().chain(kinds.map(Some)) {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        if let Some(key) = key {
            world.write("config/web.yaml", &with_key(key));
        }
        world.issue().ends_in(0);
        let old = world.state().published("web");
        let live = world.path("state/secrets/default/web-tls");
        for file in ["tls.crt", "tls.key"] {
            std::fs::copy(live.join(file), world.path(file)).unwrap();
        }
        world.run(&["revoke", "./tls.crt", "--yes"]).ends_in(2).says("certctl revoke web");
        world.run(&["renew", "web", "--new-key"]).ends_in(0);
        let mut words = vec!["revoke", "./tls.crt", "--reason", "keyCompromise", "--yes"];
        if key.is_some() {
            std::fs::remove_dir_all(world.path("state/accounts")).unwrap();
            world.run(&words).ends_in(3);
            words.extend(["--key", "tls.key"]);
        }
        world.run(&words).ends_in(0).says(&old.serial);
        let again = format!("serial {} was already revoked at ", old.serial);
        assert_eq!(world.ca.revoked_serials(), [(old.serial, 1)], "{key:?}");
        world.run(&words).ends_in(0).says(&again);
        std::fs::copy(live.join("tls.key"), world.path("tls.key")).unwrap();
        world.run(&["revoke", "./tls.crt", "--key", "tls.key", "--yes"]).ends_in(2);
    }
}

/// Revision 2 is live, and revision 1 is in a file beside the state.
fn renewed() -> World {
    let world = issued();
    world.run(&["renew", "web"]).ends_in(0);
    let first = world.path("state/secrets/default/web-tls/..revision-1-0");
    for file in ["tls.crt", "tls.key"] {
        std::fs::copy(first.join(file), world.path(file)).unwrap();
    }
    world
}

#[test]
fn what_was_revoked_by_its_file_never_goes_live_again() {
    for (reason, why) in [
        ("keyCompromise", "its key is banned: it is, or may be, known to others"),
        ("superseded", "it is revoked (superseded)"),
    ] {
        let world = renewed();
        let live = world.state().published("web");
        let revoke = ["revoke", "./tls.crt", "--reason", reason, "--yes"];
        world
            .run(&revoke)
            .ends_in(0)
            .says("web: ")
            .says("it was revision 1; certctl will not use it again");
        world.run(&["rollback", "web"]).ends_in(3).says("revision 1: ").says(why);
        assert_eq!(world.state().published("web"), live);
        world.issue().says_nothing();
        let page = world.run(&["describe", "web"]).ends_in(0).stdout;
        assert!(page.contains(&format!(", {reason}: revoked at ")), "{page}");

        // Nor when it was revoked before this was remembered: the CA says that it is.
        let path = "state/certificates/default/web/status.json";
        let mut record: serde_json::Value =
            serde_json::from_slice(&std::fs::read(world.path(path)).unwrap()).unwrap();
        record["document"].as_object_mut().unwrap().remove("revocations").unwrap();
        world.write(path, &record);
        world.run(&revoke).ends_in(0);
        assert_eq!(world.ca.revoked(), 1);
        world.run(&["rollback", "web"]).ends_in(3).says(why);
        assert_eq!(world.state().record("web").revocations.len(), 1);

        // Put back by hand, it does not stay.
        let live = std::fs::canonicalize(world.path("state/secrets/default/web-tls/..data"));
        for file in ["tls.crt", "tls.key"] {
            std::fs::copy(world.path(file), live.as_ref().unwrap().join(file)).unwrap();
        }
        world.issue().ends_in(0);
        assert_eq!((world.ca.issued(), world.state().readiness("web")), (3, Reason::Ready));
    }
}

#[test]
fn a_revocation_that_a_locked_certificate_cannot_remember_is_said_with_the_command() {
    let world = renewed();
    world.fault(Rule::next(1, Fault::Delay(Duration::from_mins(5))).on(RequestKind::Finalize));
    let mut child = world.start_certctl(&["renew", "web"]);
    until("the order is made", || world.state().orders("web").iter().any(|o| o.spec.revision == 3));
    let revoke = ["revoke", "./tls.crt", "--lock-timeout", "0s", "--yes"];
    let again = "try: certctl revoke ./tls.crt\n";
    world
        .run(&revoke)
        .ends_in(75)
        .says("is revoked, but certctl could not record it:\n  web could still roll back to it")
        .says(again);
    assert_eq!(world.ca.revoked(), 1);
    child.kill().unwrap();
    finish(child);
    world.ca.faults().clear();
    world.run(&revoke).ends_in(0);
    world.run(&["rollback", "web"]).ends_in(3).says("it is revoked (unspecified)");
}

#[test]
fn the_certificate_from_before_certctl_is_revoked_by_its_file_for_good() {
    let world = renewed();
    let pair = ["tls.crt", "tls.key"];
    let folder = world.path("state/secrets/default/web-tls");
    std::fs::remove_dir_all(world.path("state/certificates")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    for file in pair {
        std::fs::copy(world.path(file), folder.join(file)).unwrap();
    }
    world.issue().ends_in(0);
    let adopted = std::fs::read_to_string(world.path("tls.crt")).unwrap();
    let adopted = Chain::from_pem(&adopted).unwrap().leaf().clone();
    assert_eq!((world.ca.issued(), world.state().record("web").status.revision), (2, None));
    // A manifest that is gone cannot be named; what is live is replaced when it is back.
    std::fs::rename(world.path("config/web.yaml"), world.path("web.yaml")).unwrap();
    let there = format!("certctl revoke {}", folder.join("tls.crt").display());
    world.run(&["revoke", "web", "--yes"]).ends_in(3).says(&there);
    let gone = "it is live; its manifest no longer exists, so nothing replaces it";
    world.run(&["revoke", "./tls.crt", "--yes"]).ends_in(0).says(gone);
    assert_eq!(world.ca.revoked_serials(), [(adopted.serial.clone(), 0)]);
    std::fs::rename(world.path("web.yaml"), world.path("config/web.yaml")).unwrap();
    world.issue().ends_in(0);
    assert_ne!(world.state().published("web").serial, adopted.serial);
    world.run(&["rollback", "web"]).ends_in(3).says("revision 0").says("it is revoked");
}

/// Revokes and forgets `web`.
type Way = fn(&World);

/// Takes the manifest of `web` away, has certctl forget the certificate, and does something before
/// the manifest is back.
fn forget_and_come_back(world: &World, meanwhile: impl FnOnce()) {
    std::fs::rename(world.path("config/web.yaml"), world.path("web.yaml")).unwrap();
    world.run(&["forget", "web"]).ends_in(0);
    meanwhile();
    std::fs::rename(world.path("web.yaml"), world.path("config/web.yaml")).unwrap();
}

#[test]
fn what_was_revoked_is_not_adopted() {
    fn by_name(world: &World) {
        world.run(&["revoke", "web", "--no-issue", "--reason", "superseded", "--yes"]).ends_in(0);
        forget_and_come_back(world, || {});
    }
    let by_its_file = |world: &World| {
        let folder = world.path("state/secrets/default/web-tls");
        for file in ["tls.crt", "tls.key"] {
            std::fs::copy(folder.join(file), world.path(file)).unwrap();
        }
        forget_and_come_back(world, || {
            world.run(&["revoke", "./tls.crt", "--reason", "superseded", "--yes"]).ends_in(0);
        });
    };
    let by_a_version_that_kept_no_list = |world: &World| {
        world.run(&["revoke", "web", "--no-issue", "--reason", "superseded", "--yes"]).ends_in(0);
        std::fs::remove_dir_all(world.path("state/revoked")).unwrap();
        forget_and_come_back(world, || {});
    };
    let with_a_damaged_list = |world: &World| {
        by_name(world);
        let kept = std::fs::read_dir(world.path("state/revoked")).unwrap().next().unwrap().unwrap();
        let path = kept.path();
        world.write(path.strip_prefix(world.path("")).unwrap().to_str().unwrap(), "{");
    };
    let ways: [(&str, Way); 4] = [
        ("superseded", by_name),
        ("superseded", by_its_file),
        ("superseded", by_a_version_that_kept_no_list),
        ("unspecified", with_a_damaged_list),
    ];
    for (reason, way) in ways {
        let world = issued();
        let old = world.state().published("web");
        way(&world);
        let plan = world.run(&["plan"]).ends_in(0).stdout;
        assert!(
            plan.contains(&format!("Issuing certificate as it is revoked ({reason})")),
            "{plan}"
        );
        let run = world.issue().ends_in(0);
        assert!(!run.stderr.contains("adopted"), "{}", run.stderr);
        assert_ne!(world.state().published("web").serial, old.serial);
        assert_eq!((world.ca.issued(), world.ca.revoked()), (2, 1));
        let serial =
            format!("The certificate with serial {} is not adopted: it is revoked", old.serial);
        let events = world.run(&["describe", "web"]).ends_in(0).stdout;
        assert!(events.contains(&serial), "{events}");
        world.issue().says_nothing();
        world.run(&["rollback", "web"]).ends_in(3);
    }
}

#[test]
fn a_revoked_pair_of_the_manifests_is_not_published() {
    let world = issued();
    let old = world.state().published("web");
    let folder = world.path("state/secrets/default/web-tls");
    let read = |file| std::fs::read_to_string(folder.join(file)).unwrap().replace('\n', "\n    ");
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: web-tls\ntype: kubernetes.io/tls\n\
         stringData:\n  tls.crt: |\n    {}\n  tls.key: |\n    {}\n",
        read("tls.crt"),
        read("tls.key"),
    );
    world.run(&["revoke", "web", "--no-issue", "--yes"]).ends_in(0);
    std::fs::rename(world.path("config/web.yaml"), world.path("web.yaml")).unwrap();
    world.run(&["forget", "web", "--secret", "--yes"]).ends_in(0);
    std::fs::rename(world.path("web.yaml"), world.path("config/web.yaml")).unwrap();
    world.write("config/secret.yaml", &secret);
    assert!(world.run(&["plan"]).ends_in(0).stdout.contains("1 to issue"));
    world.issue().ends_in(0);
    assert_ne!(world.state().published("web").serial, old.serial);
}

#[test]
fn what_cannot_be_revoked_is_said_before_anything_is_done() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    for (words, code, said) in [
        (vec!["revoke", "web", "--yes"], 3, "there is no certificate to revoke"),
        (vec!["revoke", "other", "--yes"], 3, "other"),
        (vec!["revoke", "web", "--reason", "bored", "--yes"], 2, "keyCompromise"),
        (vec!["revoke", "./none.pem", "--yes"], 2, "none.pem"),
        (vec!["revoke", "./none.pem", "--now", "--yes"], 2, "--now"),
        (vec!["revoke", "web", "--key", "k", "--yes"], 2, "--key"),
    ] {
        world.run(&words).ends_in(code).says(said);
    }
    assert_eq!(world.ca.requests(), 0);
}
