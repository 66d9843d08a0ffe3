//! `rollback` makes the previous revision live again, until the renewal is due.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use certctl::engine::ports::{Clock as _, SystemClock};
use certctl::rehearsal::{Fault, RequestKind, Rule};
use certctl::resource::{ConditionStatus, ConditionType, LeafFacts, Reason};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::support::{CertificateYaml, World, finish, until};

/// Revision 2 is live, and these are the leaves of both.
fn renewed(certificate: &CertificateYaml) -> (World, [LeafFacts; 2]) {
    let world = World::prepared(std::slice::from_ref(certificate));
    world.issue().ends_in(0);
    let first = world.state().published("web");
    world.run(&["renew", "web"]).ends_in(0);
    let second = world.state().published("web");
    (world, [first, second])
}

fn revision(world: &World) -> Option<u32> {
    world.state().record("web").status.revision
}

#[test]
fn a_revoked_revision_is_not_retained_in_the_place_of_a_good_one() {
    let (world, [_, second]) = renewed(&CertificateYaml::new("web"));
    world.run(&["rollback", "web"]).ends_in(0);
    let words = ["revoke", "web", "--no-issue", "--reason", "keyCompromise", "--yes"];
    world.run(&words).ends_in(0);
    world.run(&["renew", "web"]).ends_in(0);
    assert_eq!(revision(&world), Some(3));
    world.run(&["rollback", "web", "--to", "2"]).ends_in(0);
    assert_eq!(world.state().published("web"), second);
}

#[test]
fn the_revision_before_is_live_again_until_it_is_renewed() {
    let (world, [first, second]) = renewed(&CertificateYaml::new("web"));
    let requests = world.ca.requests();
    let run = world.run(&["rollback", "web"]).ends_in(0);
    let said = format!("rolled back from revision 2 to revision 1: serial {}", first.serial);
    assert_eq!((run.stdout.as_str(), run.stderr.contains(&said)), ("", true), "{}", run.stderr);
    assert_eq!(world.state().published("web"), first);
    let record = world.state().record("web");
    assert_eq!(record.status.revision, Some(1));
    assert_eq!(record.status.not_after, Some(first.not_after));
    assert_eq!(world.state().readiness("web"), Reason::Ready);

    // A run of cron undoes nothing, and has nothing to say.
    world.issue().says_nothing();
    assert_eq!((world.ca.requests(), world.state().published("web")), (requests, first.clone()));
    let page = world.run(&["describe", "web"]).ends_in(0).stdout;
    for line in [
        "Status: READY - ",
        "; rolled back from revision 2\n",
        "Rolled back: from revision 2 to 1 at ",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    assert!(page.contains("RolledBack"), "{page}");
    world.run(&["status", "--exit-code"]).ends_in(0);
    let json = world.run(&["status", "web", "-o", "json"]).ends_in(0).stdout;
    assert!(json.contains("\"status.certctl/rolled-back-from\": \"2\""), "{json}");

    // There is no earlier revision, and the message names the way forward.
    world.run(&["rollback", "web"]).ends_in(3).says("certctl rollback web --to 2");
    world.run(&["rollback", "web", "--to", "1", "--exit-code"]).ends_in(0).says("already in use");
    world.run(&["rollback", "web", "--to", "2", "--exit-code"]).ends_in(10);
    assert_eq!(world.state().published("web"), second);
    assert_eq!(world.state().record("web").rollback, None);
    world.issue().says_nothing();

    // Forward to a new one: no number is used twice.
    world.run(&["rollback", "web"]).ends_in(0);
    world.run(&["renew", "web"]).ends_in(0);
    assert_eq!(revision(&world), Some(3));
    let third = world.state().published("web");
    assert!(third != first && third != second);
    assert_eq!(world.state().record("web").rollback, None);
    world.issue().says_nothing();
    // What was live right before it is what is gone back to.
    world.run(&["rollback", "web"]).ends_in(0);
    assert_eq!((revision(&world), world.state().published("web")), (Some(1), first));
}

#[test]
fn a_lost_record_goes_on_from_the_revisions_that_exist() {
    let (world, [first, second]) = renewed(&CertificateYaml::new("web"));
    let path = world.state().path("certificates/default/web/status.json");
    let live = world.state().path("secrets/default/web-tls/..data");
    let requests = world.ca.requests();
    let losses: [&dyn Fn(); 3] = [
        &|| fs::remove_file(&path).unwrap(),
        &|| {
            world.write("state/certificates/default/web/status.json", "{");
            world.issue().ends_in(7);
        },
        &|| {
            fs::remove_file(&path).unwrap();
            fs::remove_file(&live).unwrap();
        },
    ];
    for lose in losses {
        lose();
        let page = world.run(&["status", "web"]).stdout;
        assert!(page.contains("revision 2, valid from"), "{page}");
        world.issue().ends_in(0);
        assert_eq!((revision(&world), world.state().published("web")), (Some(2), second.clone()));
        world.issue().says_nothing();
        let page = world.run(&["describe", "web"]).ends_in(0).stdout;
        for line in ["CertificateRequest:\n  Name: web-2\n", "Order:\n  Name: web-2-1\n"] {
            assert!(page.contains(line), "{line}: {page}");
        }
    }
    assert_eq!(world.ca.requests(), requests);
    world.run(&["rollback", "web"]).ends_in(0).says("from revision 2 to revision 1");
    assert_eq!(world.state().published("web"), first);

    // The rollback is known without its record, and so is the newest number.
    fs::remove_file(&path).unwrap();
    world.issue().ends_in(0).says("adopted again as revision 1: there was no record of them");
    assert_eq!((revision(&world), world.state().published("web")), (Some(1), first));
    world.issue().says_nothing();
    assert_eq!(world.ca.requests(), requests);
    world.run(&["renew", "web"]).ends_in(0);
    assert_eq!(revision(&world), Some(3));
}

#[test]
fn the_revision_before_is_kept_when_the_live_one_is_written_in_other_formats() {
    let (world, [first, second]) = renewed(&CertificateYaml::new("web"));
    let stores = |password: &str| {
        let stores = format!("keystores:\n    pkcs12: {{create: true, password: {password}}}");
        CertificateYaml::new("web").field(&stores)
    };
    let formats = CertificateYaml::new("web").field("additionalOutputFormats: [{type: DER}]");
    for edited in [stores("one"), stores("two"), formats] {
        world.write("config/web.yaml", &edited);
        world.issue().ends_in(0);
        assert_eq!(world.state().published("web"), second);
    }
    world.run(&["rollback", "web"]).ends_in(0);
    assert_eq!((revision(&world), world.state().published("web")), (Some(1), first));
    // What was rolled back from is kept in the same way.
    world.issue().ends_in(0);
    world.write("config/web.yaml", &stores("three"));
    world.issue().ends_in(0);
    world.run(&["rollback", "web", "--to", "2"]).ends_in(0);
    assert_eq!(world.state().published("web"), second);
}

#[test]
fn a_renewal_that_went_wrong_is_not_repeated_at_once() {
    let days = |count: i64| SignedDuration::from_hours(24 * count);
    let early = Arc::new(AtomicBool::new(true));
    let is_early = Arc::clone(&early);
    let world = World::with(|options| {
        options.clock = Arc::new(move || {
            let ago = if is_early.load(Ordering::Relaxed) { days(61) } else { days(0) };
            SystemClock.now() - ago
        });
    });
    world.prepare(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let first = world.state().published("web");
    early.store(false, Ordering::Relaxed);
    // Its renewal is due, and what comes of it is not liked.
    world.issue().ends_in(0);
    assert_eq!(revision(&world), Some(2));
    world.run(&["rollback", "web"]).ends_in(0);
    let requests = world.ca.requests();
    world.issue().says_nothing();
    assert_eq!((world.ca.requests(), world.state().published("web")), (requests, first.clone()));
    // Of the 29 days it had left, a third will be left.
    let due = world.state().record("web").status.renewal_time.unwrap();
    let ahead = due.duration_until(first.not_after);
    assert!(ahead < days(10) && ahead > days(9), "{ahead}");
    let page = world.run(&["describe", "web"]).ends_in(0).stdout;
    let line = page.lines().find(|line| line.starts_with("Renewal Time: ")).unwrap();
    assert!(line.ends_with(", in 19d"), "{page}");
}

#[test]
fn it_goes_to_where_it_is_used_though_something_newer_is_there() {
    let world = World::start();
    let out = world.path("out");
    let annotation = out.display().to_string();
    let script = world.write(
        "config/hooks.d/reload",
        &format!("#!/bin/sh\necho $CERTCTL_CERTIFICATES >> {}\n", world.path("reloads").display()),
    );
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    let certificate = CertificateYaml::new("web")
        .annotation("certctl/output-dir", &annotation)
        .annotation("certctl/reload", "reload");
    world.prepare(&[certificate]);
    world.issue().ends_in(0);
    let first = fs::read(out.join("tls.crt")).unwrap();
    // Another second, so that the next one is newer.
    let issued = world.state().published("web").not_before;
    until("a newer certificate", || {
        world.run(&["renew", "web"]).ends_in(0);
        world.state().published("web").not_before > issued
    });
    let newer = fs::read(out.join("tls.crt")).unwrap();
    let newest = revision(&world).unwrap();
    let previous = newest - 1;

    // The output fails at first, and is done by the next run.
    let reloads = || fs::read_to_string(world.path("reloads")).unwrap().lines().count();
    let before = reloads();
    fs::rename(&out, world.path("aside")).unwrap();
    world.write("out", "in the way");
    world.run(&["rollback", "web"]).ends_in(3).says("issued but not deployed");
    assert_eq!(revision(&world), Some(previous));
    fs::remove_file(&out).unwrap();
    fs::rename(world.path("aside"), &out).unwrap();
    assert_eq!(fs::read(out.join("tls.crt")).unwrap(), newer);
    world.issue().ends_in(0);
    let live = fs::read(world.state().path("secrets/default/web-tls/tls.crt")).unwrap();
    assert_eq!(fs::read(out.join("tls.crt")).unwrap(), live);
    assert!(live != newer && (previous > 1 || live == first));
    assert_eq!(reloads(), before + 1);
    world.issue().says_nothing();

    // Something newer that was never left by a step back is replaced by nothing older.
    let path = world.state().path("certificates/default/web/status.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut record: Value = serde_json::from_str(&text).unwrap();
    record["document"]["deployments"] = json!([]);
    let knows_it = record.to_string();
    record["document"]["rollback"]["left"] = json!(["00"]);
    fs::remove_file(out.join("..data")).unwrap();
    let set = format!("..revision-{newest}-0");
    std::os::unix::fs::symlink(set, out.join("..data")).unwrap();
    world.write("state/certificates/default/web/status.json", &record);
    world
        .run(&["deploy", "web"])
        .ends_in(6)
        .says("the certificate there is newer")
        .says("certctl renew web");
    assert_eq!(fs::read(out.join("tls.crt")).unwrap(), newer);
    world.write("state/certificates/default/web/status.json", &knows_it);
    world.run(&["deploy", "web"]).ends_in(0);
    assert_eq!(fs::read(out.join("tls.crt")).unwrap(), live);
}

#[test]
fn what_must_not_be_used_is_refused_with_what_there_is() {
    for (reason, why) in [
        ("keyCompromise", "its key is banned: it is, or may be, known to others"),
        ("superseded", "it is revoked (superseded)"),
    ] {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.run(&["rollback", "web"]).ends_in(3).says("nothing is issued yet");
        world.issue().ends_in(0);
        world.run(&["rollback", "web"]).ends_in(3).says("there is no revision before 1");
        world.run(&["revoke", "web", "--reason", reason, "--yes"]).ends_in(0);
        let live = world.state().published("web");
        let kept = || {
            let mut all = world.state().everything();
            // Who holds a lock is written into it.
            all.retain(|path, _| !path.starts_with(world.path("state/locks")));
            all
        };
        let before = kept();
        for (words, said) in [
            (vec!["rollback", "web"], "cannot roll back to revision 1: "),
            (vec!["rollback", "web", "--to", "1"], "cannot roll back to revision 1: "),
            (vec!["rollback", "web", "--to", "7"], "there is no revision 7"),
        ] {
            let run = world.run(&words).ends_in(3).says(said).says("certctl renew web");
            let until = |leaf: &LeafFacts| leaf.not_after.strftime("%Y-%m-%dT%H:%M:%SZ");
            let kept = format!("\n  revision 2, until {}: live", until(&live));
            assert!(run.stderr.contains(&kept), "{}", run.stderr);
            assert!(run.stderr.contains(&format!(": not possible: {why}\n")), "{}", run.stderr);
        }
        assert_eq!(world.state().published("web"), live);
        assert!(kept() == before, "a refusal changes nothing");
    }
}

#[test]
fn one_that_is_not_as_the_spec_asks_stays_until_the_manifest_is_edited() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let first = world.state().published("web");
    let names = ["web.example.test", "www.example.test"];
    let edited = CertificateYaml::new("web").for_names(&names);
    world.write("config/web.yaml", &edited);
    world.issue().ends_in(0);
    world.run(&["rollback", "web"]).ends_in(0).says("stays until you edit the manifest");
    assert_eq!(world.state().published("web"), first);
    let ready = world.state().condition("web", ConditionType::Ready);
    assert_eq!((ready.status, ready.reason), (ConditionStatus::False, Reason::SecretMismatch));
    let requests = world.ca.requests();
    world.issue().says_nothing();
    world.issue().says_nothing();
    assert_eq!((world.ca.requests(), world.state().published("web")), (requests, first));
    let page = world.run(&["describe", "web"]).ends_in(0).stdout;
    assert!(page.contains("# issue it from its manifest\n"), "{page}");
    world.run(&["status", "--exit-code"]).ends_in(8);
    let found = world.run(&["doctor", "--offline"]).stdout;
    assert!(found.contains("rolled back, different from their manifests: web"), "{found}");
    let page = world.run(&["status", "web"]).ends_in(0).stdout;
    let line = page.lines().find(|line| line.starts_with("Try:"));
    assert!(line.is_some_and(|line| line.contains("certctl renew web")), "{page}");
    let plan = world.run(&["plan", "-o", "json"]).ends_in(0).stdout;
    assert!(plan.contains("\"action\": \"nothing\""), "{plan}");

    world.write("config/web.yaml", &edited.field("revisionHistoryLimit: 2"));
    world.issue().ends_in(0);
    assert_eq!(revision(&world), Some(3));
    assert_eq!(world.state().published("web").dns_names.len(), 2);
    world.issue().says_nothing();
}

#[test]
fn what_was_there_before_certctl_is_revision_0() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let folder = world.state().path("secrets/default/web-tls");
    let files = ["tls.crt", "tls.key"].map(|name| (name, fs::read(folder.join(name)).unwrap()));
    fs::remove_dir_all(world.path("state")).unwrap();
    for (name, bytes) in files {
        let text = String::from_utf8(bytes).unwrap();
        let path = world.write(&format!("state/secrets/default/web-tls/{name}"), &text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    for folder in
        ["state", "state/secrets", "state/secrets/default", "state/secrets/default/web-tls"]
    {
        fs::set_permissions(world.path(folder), fs::Permissions::from_mode(0o700)).unwrap();
    }
    world.issue().ends_in(0);
    assert_eq!(revision(&world), None);
    world.run(&["renew", "web"]).ends_in(0);
    let issued = world.state().published("web");
    world.run(&["rollback", "web"]).ends_in(0).says("the adopted certificate (revision 0)");
    assert_eq!(revision(&world), None);
    assert_ne!(world.state().published("web"), issued);
    world.issue().says_nothing();
    world.run(&["renew", "web"]).ends_in(0);
    assert_eq!(revision(&world), Some(2));
}

#[test]
fn an_issuance_under_way_is_given_up() {
    let (world, [first, _]) = renewed(&CertificateYaml::new("web"));
    world.fault(Rule::next(1, Fault::Delay(Duration::from_mins(5))).on(RequestKind::Finalize));
    let mut child = world.start_certctl(&["renew", "web"]);
    until("the order is made", || {
        world.state().orders("web").iter().any(|order| order.spec.revision == 3)
    });
    world.run(&["rollback", "web", "--lock-timeout", "0s"]).ends_in(75).says("locked by");
    child.kill().unwrap();
    finish(child);
    world.ca.faults().clear();
    world.run(&["rollback", "web"]).ends_in(0);
    assert_eq!(world.state().published("web"), first);
    let requests = world.sent(RequestKind::NewOrder);
    world.issue().ends_in(0);
    world.issue().says_nothing();
    assert_eq!(world.sent(RequestKind::NewOrder), requests);
    assert_eq!(world.state().published("web"), first);
    assert!(world.state().orders("web").iter().all(|order| !order.owes_clean_up()));
    assert_eq!(world.state().tokens(), Vec::<std::path::PathBuf>::new());
    world.run(&["renew", "web"]).ends_in(0);
    assert_eq!(revision(&world), Some(3));
}

#[test]
fn words_that_make_no_sense_are_refused() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    for (words, code) in [
        (vec!["rollback"], 2),
        (vec!["rollback", "web", "web"], 2),
        (vec!["rollback", "web", "--to", "x"], 2),
        (vec!["rollback", "config/web.yaml"], 2),
        (vec!["rollback", "other"], 3),
    ] {
        assert_eq!(world.run(&words).code, Some(code), "{words:?}");
    }
    assert_eq!(world.ca.requests(), 0);
}
