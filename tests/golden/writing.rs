//! The verbs that change what is, besides issuing.

use certctl::rehearsal::{Fault, RequestKind, Rule};

use crate::session::Session;
use crate::support::CertificateYaml;

#[test]
fn a_certificate_is_taken_back() {
    let mut scene = Session::issued("revoke");
    scene.quietly(
        "cp state/secrets/default/web-tls/tls.crt state/secrets/default/web-tls/tls.key .",
    );
    scene.run("certctl revoke web");
    scene.run("certctl revoke web --reason keyCompromise --yes");
    scene.run("certctl describe web | grep -A 2 Revocation");
    scene
        .note("The certificate that it replaced, once more.")
        .run("certctl revoke ./tls.crt --yes");
    scene.run("certctl revoke web --now --reason superseded --yes");
    scene.run("certctl revoke web --no-issue --yes");
    scene.run("certctl issue");
    scene.run("certctl revoke web --no-issue --yes");
    scene.run("certctl status");
    scene.run("certctl revoke other");
    scene.run("certctl revoke ./tls.crt --now");
    scene.run("certctl revoke ./tls.key");
    scene.run("certctl revoke ./missing.crt");
    scene.end();
}

#[test]
fn a_revocation_is_refused() {
    let mut scene = Session::issued("revoke-refused");
    scene.world.fault(Rule::always(Fault::unavailable(None)).on(RequestKind::Revoke));
    scene.run("certctl revoke web --yes");
    scene.world.ca.faults().clear();
    scene.note("The next run does it.").run("certctl issue");
    scene.run("certctl issue");
    scene.end();
}

#[test]
fn a_revision_is_gone_back_to() {
    let mut scene = Session::issued("rollback");
    scene.run("certctl rollback web");
    scene.quietly("certctl renew web");
    scene.note("It was renewed.").run("certctl rollback web --exit-code");
    for line in [
        "certctl rollback web --to 1",
        "certctl rollback web --to 2",
        "certctl issue",
        "certctl rollback web --to 7",
        "certctl rollback web --to x",
        "certctl rollback web.yaml",
        "certctl rollback wbe",
    ] {
        scene.run(line);
    }
    scene.end();
}

#[test]
fn a_request_is_made_once() {
    let mut scene = Session::issued("create");
    scene.note("For somebody else to sign.");
    scene.run("certctl create certificaterequest once --from-certificate-file config/web.yaml | grep -v request:");
    scene.run("certctl create certificaterequest once --from-certificate-file config/web.yaml");
    scene.note("And signed here, beside what is managed.");
    for line in [
        "certctl create certificaterequest other --from-certificate-file config/web.yaml --fetch-certificate",
        "certctl create certificaterequest another --from-certificate-file missing.yaml",
        "certctl create certificaterequest other",
    ] {
        scene.run(line);
    }
    scene.end();
}

#[test]
fn manifests_are_made_to_begin_with() {
    let mut scene = Session::new("create-manifests");
    scene.note("For Let's Encrypt.");
    scene.run("certctl create issuer letsencrypt --email you@example.com --print");
    scene.run(
        "certctl create issuer letsencrypt-staging --dns01 rfc2136 -n web --profile shortlived --print",
    );
    scene.note("For a CA of one's own, up to the first certificate.");
    let (server, root) = (scene.world.ca.directory_url(), scene.world.ca.root_pem());
    scene.world.write("root.pem", &root);
    scene.world.write("url", &server);
    scene.run("certctl create issuer ca --server $(cat url) --ca-bundle root.pem");
    scene.run("certctl create certificate web.example.test");
    scene.note("The same again, and another one of that name.");
    scene.run("certctl create certificate web.example.test");
    scene.run("certctl issue --http01-check-port $PORT");
    scene.note("What it is not for.");
    for line in [
        "certctl create issuer home",
        "certctl create issuer home --server http://ca.example.com",
        "certctl create issuer ca --server https://ca.example.com --ca-bundle missing.pem",
        "certctl create issuer ca --server https://ca.example.com",
        "certctl create certificate '*.example.com' example.com --webroot /var/www/html --reload nginx --print",
        "certctl create certificate '*.example.com'",
        "certctl create certificate web.example.test www.example.test --name web.example.test",
        "certctl create certificate web.example.test --into nowhere",
        "certctl create certificate web.example.test --into ./confg",
        "certctl create issuer own --server=ca.example.com/dir",
        "certctl create certificate 'a b'",
        "certctl create certificate _foo.example.com",
        "certctl create certificate web.example.test --name web -o json",
    ] {
        scene.run(line);
    }
    scene.note("What comes next reads the same folders.");
    for line in [
        "certctl create issuer next --staging --into config --state-dir state",
        "certctl create certificate c.example.test --issuer ca --into config --state-dir 'my state'",
        "mkdir other; certctl create certificate d.example.test --issuer ca --into other",
        "env -u CERTCTL_STATE_DIR HOME=/home/me certctl create certificate g.example.test \
         --issuer ca --into other",
        "grep secrets/ other/certificate-?.example.test.yaml",
        "certctl create --into other certificate g.example.test",
        "certctl create certificate https://www.example.com/about",
        "SUDO_USER=me certctl create certificate e.example.test --issuer ca --into config",
        "SUDO_USER=me certctl plan nothing",
        "mkdir empty; SUDO_USER=me certctl --config-dir empty --state-dir empty",
        "certctl create certificate f.example.test --issuer ca --webroot /no/such --into config",
    ] {
        scene.run(line);
    }
    scene.note("What they need beside them, and is not there yet, comes first.");
    for line in [
        "certctl create issuer by-dns --staging --dns01 cloudflare --into config",
        "certctl create issuer by-program --staging --dns01 exec --into config",
        "certctl create certificate b.example.test --issuer ca --reload nginx --into config",
    ] {
        scene.run(line);
    }
    scene.hook("postfix", "exit 0");
    scene.run(
        "certctl create certificate d.example.test --issuer ca --reload 'postfix reload' --into config",
    );
    scene.end();
}

#[test]
fn accounts_are_looked_at_and_given_up() {
    let mut scene = Session::new("account");
    scene.note("Nothing is there.").run("certctl account show");
    scene.configured(&[("web", &CertificateYaml::new("web"))]);
    for line in [
        "certctl account show",
        "certctl account thumbprint",
        "certctl account register",
        "certctl account thumbprint --for nginx | sed -E 's/[.][A-Za-z0-9_-]{43}/.<thumbprint>/'",
        "certctl account register",
        "certctl account show",
        "certctl account show -o json",
        "certctl account update",
        "certctl account update",
        "certctl account show other",
        "certctl account deactivate ca",
        "certctl account deactivate ca --yes",
        "certctl account deactivate ca --yes",
        "certctl account show",
        "certctl issue",
    ] {
        scene.run(line);
    }
    scene.end();
}

#[test]
fn a_certificate_is_forgotten() {
    let mut scene = Session::issued("forget");
    std::fs::remove_file(scene.world.path("config/web.yaml")).unwrap();
    scene.run("certctl forget web");
    scene.run("certctl forget web");
    scene.run("ls state/secrets/default");
    let output = scene.world.path("out").display().to_string();
    let web = CertificateYaml::new("web").annotation("certctl/output-dir", &output);
    scene.world.write("config/web.yaml", &web);
    scene.note("Its manifest is back, with an output.").run("certctl issue");
    scene.run("certctl forget web --secret");
    scene.run("certctl forget web --secret --anyway");
    scene.run("certctl forget web --secret --anyway --yes -o json");
    scene.run("ls state/secrets/default");
    scene.run("ls out");
    scene.end();
}
