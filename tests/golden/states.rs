//! Every state that `status` shows, made by what makes it.

use std::fs;
use std::time::Duration;

use certctl::engine::ports::{Clock as _, SystemClock};
use certctl::rehearsal::{Fault, ProblemType, RequestKind, Rule};

use crate::session::Session;
use crate::support::{CertificateYaml, World, until};

const BRIEFLY: &str = "certctl issue --timeout 2s --self-check-interval 100ms --parallel 1";

fn web(name: &str) -> CertificateYaml {
    CertificateYaml::new(name)
}

#[test]
fn each_state_is_reached() {
    let mut scene = Session::new("status-states");
    let hooked = web("deploy").annotation("certctl/deploy-hook", "install");
    scene.hook("install", "echo 'disk quota exceeded' >&2; exit 7");
    let names = ["damaged", "failed", "gone", "invalid", "linkless", "ready", "revoked", "waiting"];
    let made = names.map(|name| (name, web(name)));
    let mut all: Vec<(&str, &dyn ToString)> = Vec::new();
    for (name, manifest) in &made {
        all.push((name, manifest));
    }
    all.push(("deploy", &hooked));
    scene.configured(&all);
    let refusal =
        Fault::Refuse { kind: ProblemType::Unauthorized, detail: "the answer was wrong".into() };
    scene.world.fault(Rule::always(refusal).for_name("failed.example.test"));
    scene.world.dns.set("waiting.example.test", vec!["127.0.0.9".parse().unwrap()]);
    scene.note("The CA refuses one, one name leads elsewhere, one hook fails.");
    scene.run(&format!("{BRIEFLY} -q >issued.txt 2>&1"));
    let unavailable = Fault::unavailable(None);
    let unavailable = Rule::always(unavailable).on(RequestKind::NewOrder);
    scene.world.fault(unavailable.for_name("revoked.example.test"));
    scene.run("certctl revoke revoked --now --yes -q >revoked.txt 2>&1");
    let limited = Fault::rate_limited(Some("7200"));
    let limited = Rule::always(limited).on(RequestKind::NewOrder).for_name("deferred.example.test");
    scene.world.fault(limited);
    scene.world.write("config/deferred.yaml", &web("deferred"));
    scene.note("The CA demands a wait.").run("certctl issue deferred -q 2>deferred.txt");
    let world = &scene.world;
    fs::remove_file(world.path("config/gone.yaml")).unwrap();
    fs::remove_file(world.path("state/secrets/default/linkless-tls/tls.crt")).unwrap();
    world.write("state/certificates/default/damaged/status.json", "{\"version\": 2, \"ki");
    let invalid = web("invalid").to_string().replace("dnsNames", "dnsName");
    world.write("config/invalid.yaml", &invalid);
    world
        .write("config/new-invalid.yaml", &web("never").to_string().replace("dnsNames", "dnsName"));
    world.write("config/no-yaml.yaml", "apiVersion: cert-manager.io/v1\nkind: [");
    world.write("config/pending.yaml", &web("pending"));
    scene.note("One is revoked, and what the others rest on is taken away.");
    scene.run("certctl status 2>errors.txt");
    scene.run("certctl status --exit-code 2>&1 >/dev/null | tail -n 2");
    scene.run("certctl status --exit-code ready >ready.txt 2>&1");
    for name in ["damaged", "deferred", "deploy", "failed", "invalid", "revoked", "waiting"] {
        scene.run(&format!("certctl status {name} 2>/dev/null | head -n 5"));
    }
    scene.run("certctl status -o name 2>/dev/null");
    scene.end();
}

#[test]
fn a_process_is_named_while_it_works() {
    let mut scene = Session::prepared("status-working");
    let pending = || Rule::always(Fault::StatusWord("pending".into())).on(RequestKind::Order);
    for (note, line) in
        [("The first issuance.", "certctl issue"), ("A renewal.", "certctl renew web")]
    {
        scene.world.fault(pending());
        let before = scene.world.sent(RequestKind::Order);
        let other = scene.start(line);
        until("the other is at work", || scene.world.sent(RequestKind::Order) > before);
        scene.note(note).run("certctl status");
        scene.run("certctl status web | head -n 2");
        scene.world.ca.faults().clear();
        scene.end_of(other);
    }
    scene.end();
}

/// The CA's certificates begin an hour before they are issued, and live for 5 hours: one that is to
/// be renewed 10 minutes after its begin is due since 50 minutes, and overdue after 39.
#[test]
fn an_overdue_renewal_is_shown() {
    let world = World::with(|ca| ca.leaf_lifetime = Duration::from_hours(4));
    let mut scene = Session::within("status-overdue", world);
    scene.configured(&[("web", &web("web").field("renewBefore: 4h50m"))]);
    let told = scene.world.path("told.txt").display().to_string();
    let line = "\"$CERTCTL_STAGE $CERTCTL_STAGE_NAME: $CERTCTL_MESSAGE\"";
    scene.hook("on-failure", &format!("echo {line} >>{told}"));
    scene.quietly("certctl issue");
    let minutes = "sed -E 's/[0-9]+m ago/<minutes> ago/g'";
    scene.note("Its renewal is overdue, and no run was there.");
    scene.run(&format!("certctl status | {minutes}"));
    scene.run(&format!("certctl status web | head -n 4 | {minutes}"));
    scene.run("certctl doctor --offline | grep certificates");
    let missing = scene.issuer().replace("spec:\n  acme:\n", MISSING_SECRET);
    scene.world.write("config/issuer.yaml", &missing);
    scene.note("The Issuer names a secret that is missing.");
    scene.run("certctl issue");
    scene.run("certctl issue -q 2>/dev/null");
    scene.run(&format!("certctl status | {minutes}"));
    scene.run(&format!("certctl status web | head -n 5 | {minutes}"));
    scene.run("certctl status --exit-code >/dev/null");
    scene.run("certctl status -o prometheus | grep '^certctl_certificate' | sed 's/{.*}//; /days\\|failure/d'");
    scene.note("The hook ran once for each stage.").run("cat told.txt");
    scene.end();
}

#[test]
fn an_expired_certificate_is_shown() {
    let world = World::with(|ca| ca.leaf_lifetime = Duration::from_secs(10));
    let mut scene = Session::within("status-expired", world);
    scene.configured(&[("web", &web("web"))]);
    scene.quietly("certctl issue");
    let end = scene.world.state().published("web").not_after;
    until("it is expired", || SystemClock.now() > end);
    let ages = "sed -E 's/[0-9]+s ago/<seconds> ago/g; s/[0-9]+m ago/<minutes> ago/g'";
    scene.run(&format!("certctl status | {ages}"));
    scene.run("certctl status web | head -n 2");
    scene.run("certctl status --exit-code >/dev/null");
    scene.end();
}

const MISSING_SECRET: &str = "spec:\n  acme:\n    externalAccountBinding:\n      keyID: kid\n      \
                              keySecretRef: { name: eab, key: secret }\n";
