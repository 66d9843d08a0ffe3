//! What a CA revokes by itself is found in its CRL and replaced; a CRL that is not to be had, or not
//! to be believed, stops nothing.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use certctl::engine::ports::{Clock as _, SystemClock};
use certctl::rehearsal::{Fault, ProblemType, RequestKind, Rule};
use certctl::resource::Reason;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::idle::everything;
use crate::support::{CertificateYaml, World};

const DAY: Duration = Duration::from_hours(24);

/// A CA two days behind, so that its certificates are old enough to be looked at, whose CRLs hold
/// for two more days.
fn world() -> World {
    World::with(|options| {
        options.clock = Arc::new(|| SystemClock.now() - SignedDuration::from_hours(48));
        options.crl_lifetime = Some(4 * DAY);
    })
}

/// The next run looks again.
fn a_day_passes(world: &World) {
    fs::remove_file(world.path("state/crls/looks")).unwrap();
}

fn kept_lists(world: &World) -> usize {
    let entries = fs::read_dir(world.path("state/crls")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "looks").count()
}

#[test]
fn what_the_ca_has_revoked_is_replaced_and_deployed_in_the_same_run() {
    for (code, reason, keeps_its_key) in
        [(4, "superseded", true), (1, "keyCompromise", false), (0, "unspecified", true)]
    {
        let world = world();
        let web = CertificateYaml::new("web").annotation("certctl/deploy-hook", "install");
        world.prepare(&[]);
        let yaml = web
            .to_string()
            .replace("    algorithm: ECDSA\n", "    algorithm: ECDSA\n    rotationPolicy: Never\n");
        world.write("config/web.yaml", &yaml);
        let called = world.path("called");
        let script = format!("echo called >> {}", called.display());
        world.write_program("config/hooks.d/install", &script);
        world.issue().ends_in(0);
        let old = world.state().published("web");
        world.ca.revoke(&old.serial, code);
        let said = format!("its CA has revoked serial {} ({reason})", old.serial);
        world.issue().ends_in(0).says(&said);
        let new = world.state().published("web");
        assert_ne!(new.serial, old.serial, "{reason}");
        assert_eq!(new.public_key == old.public_key, keeps_its_key, "{reason}");
        assert_eq!(fs::read_to_string(&called).unwrap(), "called\ncalled\n", "{reason}");
        assert_eq!(world.state().readiness("web"), Reason::Ready);
        let status = world.run(&["describe", "web"]).ends_in(0).stdout;
        let line = format!("- serial {}, {reason}: revoked by the CA at ", old.serial);
        assert!(status.contains(&line), "{status}");
        let sent = [RequestKind::Crl, RequestKind::Revoke].map(|kind| world.sent(kind));
        assert_eq!(sent, [1, 0], "{reason}");
        world.issue().says_nothing();
    }
}

#[test]
fn one_crl_serves_all_certificates_and_between_two_looks_nothing_is_asked_or_written() {
    let world = world();
    world.prepare(&["a", "b", "c"].map(CertificateYaml::new));
    world.issue().ends_in(0);
    assert_eq!(world.sent(RequestKind::Crl), 0, "what was just issued is not looked at");
    world.issue().says_nothing();
    assert_eq!((world.sent(RequestKind::Crl), kept_lists(&world)), (1, 1));
    let all = || {
        let mut all = everything(&world);
        assert!(all.remove(&world.path("state/last-run")).is_some());
        all
    };
    let (before, requests) = (all(), world.ca.requests());
    world.issue().says_nothing();
    assert_eq!((all(), world.ca.requests()), (before, requests));
    // The kept one holds.
    a_day_passes(&world);
    world.ca.revoke(&world.state().published("b").serial, 4);
    world.issue().says_nothing();
    assert_eq!(world.sent(RequestKind::Crl), 1);
    // A run for named certificates takes no look.
    fs::remove_dir_all(world.path("state/crls")).unwrap();
    world.run(&["issue", "b"]).ends_in(0);
    assert_eq!((world.sent(RequestKind::Crl), world.ca.issued()), (1, 3));
    world.issue().ends_in(0).says("b: its CA has revoked serial");
    assert_eq!((world.sent(RequestKind::Crl), world.ca.issued()), (2, 4));
}

#[test]
fn certificates_that_name_no_crl_cost_no_request() {
    let world = World::with(|options| {
        options.clock = Arc::new(|| SystemClock.now() - SignedDuration::from_hours(48));
    });
    world.prepare(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    world.ca.revoke(&world.state().published("web").serial, 1);
    let requests = world.ca.requests();
    world.issue().says_nothing();
    assert_eq!(world.ca.requests(), requests);
}

#[test]
fn a_crl_that_cannot_be_had_or_believed_is_no_failure_and_is_tried_again() {
    let world = world();
    world.prepare(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let old = world.state().published("web");
    world.ca.revoke(&old.serial, 1);
    let another = self::world();
    let spoiled = [
        Fault::Html { status: 404 },
        Fault::unavailable(Some("60")),
        Fault::CloseUnhandled,
        Fault::LoseReply,
        Fault::TruncateBody,
        Fault::HugeBody(5 << 20),
        Fault::ReplaceBody(String::new()),
        Fault::ReplaceBody("<html>".to_owned()),
        // It has ended, by the clock of this machine.
        Fault::ReplaceBody(world.ca.crl_pem(DAY)),
        // Of the same name, and signed by another key.
        Fault::ReplaceBody(another.ca.crl_pem(4 * DAY)),
    ];
    for (number, fault) in spoiled.into_iter().enumerate() {
        world.next_fault(RequestKind::Crl, fault.clone());
        let run = world.run(&["issue", "-vv"]).ends_in(0);
        run.says("there is no verified CRL; another try later");
        assert_eq!(world.sent(RequestKind::Crl), number + 1, "{fault:?}");
        assert_eq!((world.state().published("web"), kept_lists(&world)), (old.clone(), 0));
        world.issue().says_nothing();
        assert_eq!(world.sent(RequestKind::Crl), number + 1, "{fault:?}: not at once");
        a_day_passes(&world);
    }
    world.issue().ends_in(0).says("its CA has revoked serial");
    assert_ne!(world.state().published("web").public_key, old.public_key);
}

#[test]
fn what_is_revoked_stays_due_until_it_is_replaced() {
    let world = world();
    world.prepare(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let old = world.state().published("web");
    world.ca.revoke(&old.serial, 1);
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail: "no".to_owned() };
    world.fault(Rule::always(refusal).for_name("web.example.test"));
    world.issue().ends_in(4).says("its CA has revoked serial");
    assert_eq!(world.state().readiness("web"), Reason::BannedKey);
    let status = world.run(&["status", "--exit-code"]).ends_in(8).stdout;
    assert!(status.contains("REVOKED"), "{status}");
    world.ca.faults().clear();
    world.run(&["renew", "web"]).ends_in(0);
    assert_ne!(world.state().published("web").public_key, old.public_key);
    assert_eq!(world.sent(RequestKind::Crl), 1);
}

/// Issues, and leaves it to the next run to ask the CA when to renew.
fn issue_unasked(world: &World) {
    let issuer = world.issuer().field("renewalInformationSource: None");
    world.write("config/issuer.yaml", &issuer);
    world.issue().ends_in(0);
    world.write("config/issuer.yaml", &world.issuer());
}

/// The built-in CA, as Let's Encrypt's, suggests to renew what it has revoked in the past.
#[test]
fn a_certificate_that_its_ca_calls_back_is_looked_up_in_the_crl_before_it_is_renewed() {
    for (code, reason, keeps_its_key) in [(4, "superseded", true), (1, "keyCompromise", false)] {
        let world = World::with(|options| {
            options.renewal_info = true;
            options.crl_lifetime = Some(4 * DAY);
        });
        world.prepare(&[]);
        for name in ["a", "b"] {
            let yaml = CertificateYaml::new(name).to_string().replace(
                "    algorithm: ECDSA\n",
                "    algorithm: ECDSA\n    rotationPolicy: Never\n",
            );
            world.write(&format!("config/{name}.yaml"), &yaml);
        }
        issue_unasked(&world);
        let old = ["a", "b"].map(|name| world.state().published(name));
        for leaf in &old {
            world.ca.revoke(&leaf.serial, code);
        }
        let run = world.run(&["issue", "-o", "json"]).ends_in(0);
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        let mut revocations = answer["revocations"].as_array().unwrap().clone();
        revocations.sort_by_key(|one| one["certificate"].to_string());
        let expected = ["a", "b"].iter().zip(&old).map(|(name, leaf)| {
            let said = format!("{name}: its CA has revoked serial {}", leaf.serial);
            assert!(run.stderr.contains(&said), "{}", run.stderr);
            json!({
                "certificate": format!("default/{name}"),
                "serial": leaf.serial,
                "reason": reason,
                "state": "revoked",
            })
        });
        assert_eq!(revocations, expected.collect::<Vec<_>>());
        let new = ["a", "b"].map(|name| world.state().published(name));
        for (old, new) in old.iter().zip(&new) {
            assert_ne!(new.serial, old.serial, "{reason}");
            assert_eq!(new.public_key == old.public_key, keeps_its_key, "{reason}");
        }
        assert_eq!((world.sent(RequestKind::Crl), world.ca.issued()), (1, 4), "{reason}");
        let status = world.run(&["describe", "a"]).ends_in(0).stdout;
        let line = format!("- serial {}, {reason}: revoked by the CA at ", old[0].serial);
        assert!(status.contains(&line), "{status}");
    }
    // Without a CRL it is renewed all the same.
    let world = World::with(|options| {
        options.renewal_info = true;
        options.crl_lifetime = Some(DAY);
    });
    world.prepare(&[CertificateYaml::new("web")]);
    issue_unasked(&world);
    world.ca.revoke(&world.state().published("web").serial, 1);
    world.next_fault(RequestKind::Crl, Fault::CloseUnhandled);
    world.issue().ends_in(0);
    assert_eq!((world.sent(RequestKind::Crl), world.ca.issued()), (1, 2));
}
