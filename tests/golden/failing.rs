//! Each way in which a run can end badly, with its exit code.

use certctl::rehearsal::{Fault, ProblemType, RequestKind, Rule};
use rustix::process::Signal;

use crate::session::Session;
use crate::support::{CertificateYaml, until};

fn web() -> CertificateYaml {
    CertificateYaml::new("web")
}

/// The CA refuses to believe this name.
fn refuse(scene: &Session, name: &str) {
    let detail = "the answer was wrong".to_owned();
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail };
    scene.world.fault(Rule::always(refusal).for_name(name));
}

#[test]
fn several_classes_at_once() {
    let mut scene = Session::new("exit-1");
    scene.configured(&[
        ("bad", &CertificateYaml::new("bad")),
        ("good", &CertificateYaml::new("good")),
        ("limited", &CertificateYaml::new("limited")),
    ]);
    refuse(&scene, "bad.example.test");
    let detail = "no certificates for this name".to_owned();
    let rejected = Fault::RejectIdentifier { detail };
    scene.world.fault(Rule::always(rejected).for_name("limited.example.test"));
    scene.note("The CA refuses the order of one, and the proof of another.");
    scene.run("certctl issue --parallel 1");
    scene.run("certctl status");
    scene.run("certctl plan");
    scene.end();
}

#[test]
fn wrong_usage() {
    let mut scene = Session::new("exit-2").bare();
    for line in [
        "certctl isue",
        "certctl issue --tiemout 5m",
        "certctl issue --timeout 90d",
        "certctl issue --http01-listen 80",
        "certctl issue -q -v",
        "certctl issue A_B",
        "certctl issue -n Not_A_Label",
        "certctl -l 'a b' issue",
        "certctl status -o table",
        "certctl status order -o prometheus",
        "certctl inspect",
        "certctl create certificate",
        "certctl check http '*.example.test'",
        "certctl completion tcsh",
        "certctl forget",
        "certctl timer print",
        "certctl explain certificate.spec.dnsName",
        "certctl schema Ingress",
        "certctl revoke -",
        "certctl isue --log-format json",
        "certctl issue wbe --log-format json",
        "CERTCTL_LOG=certctl=loud certctl issue",
        "CERTCTL_EVENT=deploy certctl issue",
        "CERTCTL_OUTPUT=table certctl status",
    ] {
        scene.run(line);
    }
    scene.end();
}

#[test]
fn a_wrong_manifest() {
    let mut scene = Session::new("exit-3");
    scene.note("Nothing is there yet.").run("certctl issue");
    scene.run("certctl issue web");
    scene.run("certctl issue web.yaml");
    let wrong = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata:\n  name: web\nspec:\n  \
                 secretNam: web-tls\n  duration: 90d\n  dnsNames: [\"not a name\"]\n  \
                 issuerRef:\n    name: cq\n---\nkind: Issuer\n  spec: [\n";
    scene.world.write("web.yaml", wrong);
    scene.run("cat -n web.yaml");
    scene.run("certctl issue web.yaml");
    scene.configured(&[("good", &CertificateYaml::new("good"))]);
    let orphan = CertificateYaml::new("web").issued_by("cb");
    scene.world.write("config/web.yaml", &orphan);
    scene.note("In the config directory one mistake stops nobody else.");
    for line in ["certctl issue", "certctl issue -q", "certctl issue -q"] {
        scene.run(line);
    }
    std::fs::remove_file(scene.world.path("config/web.yaml")).unwrap();
    std::fs::remove_file(scene.world.path("config/good.yaml")).unwrap();
    scene.note("The manifest of what was issued is gone.").run("certctl issue");
    scene.run("certctl status");
    scene.end();
}

#[test]
fn a_name_that_cannot_be_proven() {
    let mut scene = Session::new("exit-4");
    scene.configured(&[("web", &web())]);
    refuse(&scene, "web.example.test");
    scene.run("certctl issue");
    scene.note("An hour has to pass. A scheduled run says so once a day, any other one each time.");
    for line in ["certctl issue -q", "certctl issue -q", "certctl issue"] {
        scene.run(line);
    }
    scene.run("certctl status");
    scene.run("certctl status --exit-code -o name");
    scene.run("certctl status web");
    scene.run("certctl describe web --exit-code");
    scene.run("certctl plan --exit-code");
    scene.note("Somebody who asks is told each time.").run("certctl renew web");
    scene.world.ca.faults().clear();
    scene.note("The CA is content now.").run("certctl renew web");
    scene.end();
}

#[test]
fn a_name_that_does_not_lead_here() {
    let mut scene = Session::new("exit-75-pending");
    scene.configured(&[("web", &web())]);
    scene.world.dns.remove("*.example.test");
    let line = "certctl issue --timeout 2s --self-check-interval 100ms";
    scene.note("The name is not in the DNS yet.").run(line);
    scene.run("certctl status");
    scene.run("certctl status challenge");
    scene.end();
}

#[test]
fn a_ca_that_refuses_or_is_away() {
    let mut scene = Session::new("exit-5");
    scene.configured(&[("web", &web())]);
    let detail = "no certificates for this name".to_owned();
    scene.world.fault(Rule::always(Fault::RejectIdentifier { detail }));
    scene.run("certctl issue");
    scene.world.ca.faults().clear();
    scene.world.fault(Rule::always(Fault::unavailable(None)).on(RequestKind::NewOrder));
    scene.note("The CA is down.").run("certctl renew web");
    scene.world.ca.faults().clear();
    let nobody = scene.issuer().replace("/directory", "/nothing");
    scene.world.write("config/issuer.yaml", &nobody);
    scene.note("No directory is where the Issuer says.").run("certctl renew web");
    scene.run("certctl status");
    scene.end();
}

#[test]
fn a_ca_that_limits_orders() {
    let mut scene = Session::new("exit-75-limit");
    scene.configured(&[("web", &web())]);
    let limited = Fault::rate_limited(Some("7200"));
    scene.world.fault(Rule::always(limited).on(RequestKind::NewOrder));
    scene.note("Too many orders, the CA says, and: not within two hours.");
    scene.run("certctl issue");
    scene.run("certctl issue");
    scene.run("certctl status");
    scene.run("certctl renew web");
    scene.end();
}

#[test]
fn a_hook_that_fails() {
    let mut scene = Session::new("exit-6");
    let certificate = web().annotation("certctl/deploy-hook", "install");
    scene.configured(&[("web", &certificate)]);
    scene.hook("install", "echo 'no room' >&2; exit 3");
    scene.run("certctl issue --exit-code");
    scene.run("certctl issue");
    scene.run("certctl status web");
    scene.run("certctl status --exit-code");
    scene.end();
}

#[test]
fn a_state_that_is_of_no_use() {
    let mut scene = Session::new("exit-7");
    scene.configured(&[("web", &web())]);
    scene.run("certctl issue --state-dir /dev/null/state");
    scene.run("certctl status --state-dir /dev/null/state");
    scene.quietly("certctl issue");
    scene.world.write("state/certificates/default/web/status.json", "{\"version\": 1, \"ki");
    scene.note("The record of a certificate is cut off.").run("certctl issue");
    scene.run("certctl status");
    scene.run("certctl issue");
    let newer = "{\"version\": 99, \"kind\": \"Certificate\", \"document\": {}}\n";
    scene.world.write("state/certificates/default/web/status.json", newer);
    scene.note("A newer certctl was here.").run("certctl issue");
    scene.run("certctl status");
    scene.end();
}

#[test]
fn attention_is_wanted() {
    let mut scene = Session::new("exit-8");
    scene.configured(&[("web", &web())]);
    scene.run("certctl status --exit-code");
    scene.quietly("certctl issue");
    scene.note("Issued.").run("certctl status --exit-code");
    scene.run("certctl inspect web --exit-code >inspected.txt");
    scene.world.write("config/web.yaml", &web().for_names(&["www.example.test"]));
    scene.note("Another name in the manifest.").run("certctl inspect web --exit-code | tail -n 14");
    scene.run("certctl inspect web --exit-code >inspected.txt");
    scene.run("certctl status --exit-code");
    scene.end();
}

#[test]
fn a_lock_that_somebody_holds() {
    let mut scene = Session::new("exit-75-locked");
    scene.configured(&[("web", &web())]);
    let pending = Rule::always(Fault::StatusWord("pending".into()));
    scene.world.fault(pending.on(RequestKind::Order));
    let other = scene.start("certctl issue");
    until("the other is at work", || scene.world.sent(RequestKind::Order) > 0);
    scene.note("Another certctl is at work on it.");
    scene.run("certctl issue --lock-timeout 0s");
    scene.run("certctl renew web --lock-timeout 10ms");
    scene.run("certctl forget web --anyway --lock-timeout 0s");
    scene.world.ca.faults().clear();
    scene.note("What the other one said:").end_of(other);
    scene.end();
}

#[test]
fn a_signal_in_a_run() {
    let mut scene = Session::new("exit-130");
    scene.configured(&[("web", &web())]);
    scene.world.dns.remove("*.example.test");
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let mut running = scene.start("certctl issue");
        until("a token is presented", || !scene.world.state().tokens().is_empty());
        running.signal(signal, "the challenge is presented");
        let ended = scene.end_of(running);
        assert_eq!(ended.code, Some(code));
        assert!(scene.world.state().tokens().is_empty());
    }
    scene.run("certctl status");
    scene.world.dns.set("web.example.test", vec!["127.0.0.1".parse().unwrap()]);
    scene.note("The name leads here now.").run("certctl issue");
    scene.end();
}

#[test]
fn a_signal_ends_the_loop_and_its_run() {
    let mut scene = Session::new("run");
    scene.configured(&[("web", &web())]);
    scene.world.dns.remove("*.example.test");
    let mut running = scene.start("certctl run --every 12h");
    until("a token is presented", || !scene.world.state().tokens().is_empty());
    running.signal(Signal::TERM, "the challenge is presented");
    scene.end_of(running);
    assert!(scene.world.state().tokens().is_empty());
    scene.run("certctl run --serve 0.0.0.0:9402");
    scene.run("certctl run -f -");
    scene.run("certctl run --serve ./config");
    scene.end();
}

#[test]
fn a_signal_while_the_ca_looks() {
    let mut scene = Session::new("exit-130-accepted");
    scene.configured(&[("web", &web())]);
    let pending = Rule::always(Fault::StatusWord("pending".into()));
    scene.world.fault(pending.on(RequestKind::Order));
    let mut running = scene.start("certctl issue");
    until("the challenge is accepted", || scene.world.sent(RequestKind::Challenge) > 0);
    until("the order is asked for", || scene.world.sent(RequestKind::Order) > 0);
    running.signal(Signal::INT, "the CA has the challenge");
    scene.end_of(running);
    scene.world.ca.faults().clear();
    scene.run("certctl issue");
    scene.end();
}

#[test]
fn a_proof_that_takes_too_long() {
    let mut scene = Session::new("exit-75-timeout");
    scene.configured(&[("web", &web())]);
    scene.world.dns.set("web.example.test", vec!["127.0.0.9".parse().unwrap()]);
    scene.note("The name leads to a machine where nobody answers.");
    scene.run("certctl issue --timeout 1s --self-check-interval 100ms");
    scene.run("certctl issue --timeout 1s --self-check-interval 100ms");
    scene.end();
}
