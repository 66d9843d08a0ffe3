//! `issue`, `renew`, `plan`, `deploy` and `rehearse`, when all goes well or nothing is due.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown, fchown};

use certctl::rehearsal::Reuse;

use crate::doctor::USER;
use crate::session::Session;
use crate::support::{CertificateYaml, World};

#[test]
fn a_first_certificate() {
    let mut scene = Session::new("issue-first");
    let certificate = CertificateYaml::new("web");
    let file = format!("{}---\n{certificate}", scene.issuer());
    scene.world.write("web.yaml", &file);
    scene.run("cat web.yaml");
    scene.run("certctl validate web.yaml");
    scene.run("certctl plan web.yaml");
    scene.run("certctl rehearse web.yaml");
    scene.run("certctl issue web.yaml");
    scene.note("The file is known from now on.").run("certctl issue");
    scene.run("certctl status");
    scene.run("certctl describe web");
    scene.run("certctl inspect web");
    scene.end();
}

#[test]
fn a_first_certificate_says_what_renews_it_and_the_table_what_would_stop_that() {
    let mut scene = Session::new("issue-own");
    let home = scene.world.path("home");
    if rustix::process::geteuid().is_root() {
        chown(&home, Some(USER), Some(USER)).unwrap();
        // The kernel lets processes of one user alone share a port.
        fchown(&scene.world.port.socket, Some(USER), Some(USER)).unwrap();
    }
    fs::set_permissions(scene.world.path(""), Permissions::from_mode(0o711)).unwrap();
    let issuer = scene.issuer();
    scene.world.write("home/.config/certctl/issuer.yaml", &issuer);
    scene.world.write("home/.config/certctl/web.yaml", &CertificateYaml::new("web"));
    let own = "env -u CERTCTL_CONFIG_DIR -u CERTCTL_STATE_DIR certctl";
    scene.note("As a user without root, with folders of their own.").as_user(USER);
    scene.on_terminal(&format!("{own} issue --progress never"));
    let none = "Nothing more is said off a terminal, with -q, of a manifest that is not kept.";
    scene.world.write("home/.config/certctl/api.yaml", &CertificateYaml::new("api"));
    scene.note(none).run(&format!("{own} issue"));
    scene.world.write("home/.config/certctl/mail.yaml", &CertificateYaml::new("mail"));
    scene.on_terminal(&format!("{own} issue -q"));
    scene.world.write("shop.yaml", &CertificateYaml::new("shop"));
    scene.on_terminal(&format!("cat shop.yaml | {own} issue --progress never -"));
    scene.run(&format!("{own} status web"));
    let last_run = "home/.local/state/certctl/last-run";
    scene.note("No run without a terminal came for two days.");
    scene.quietly(&format!("touch -d '2 days ago' {last_run}"));
    scene.run(&format!("{own} status web | grep -A 1 Scheduler"));
    scene.run(&format!("{own} status 2>&1 >/dev/null"));
    scene.note("A file that is named is not what the scheduler's runs read.");
    let file = "home/.config/certctl/web.yaml";
    scene.run(&format!("{own} status -f {file} web | grep -c Scheduler"));
    let port = scene.world.port.number();
    let taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
    if rustix::process::geteuid().is_root() {
        // Else any certctl of root might be the one that has it.
        fchown(&taken, Some(USER), Some(USER)).unwrap();
    }
    scene.note("Another program has the port now, which is doctor's.");
    let doctor = format!("{own} doctor --offline");
    scene.run(&format!("{doctor} | grep -A 1 in.use | sed 's/in use by [^;]*/in use/'"));
    drop(taken);
    scene.end();
}

#[test]
fn an_idle_run_over_fifty_certificates_says_nothing() {
    let mut scene = Session::new("issue-idle");
    let certificates: Vec<CertificateYaml> =
        (0..50).map(|number| CertificateYaml::new(&format!("site-{number}"))).collect();
    for certificate in &certificates {
        scene.world.write(&format!("config/{}.yaml", certificate.name()), certificate);
    }
    scene.configured(&[]);
    scene.quietly("certctl issue --quiet");
    scene.note("Fifty certificates are issued, and the hour is over.");
    let before = (scene.world.ca.requests(), scene.world.state().everything());
    scene.run("certctl issue");
    scene.run("certctl issue --exit-code");
    let after = (scene.world.ca.requests(), scene.world.state().everything());
    let changed = after.1.iter().filter(|(path, entry)| before.1.get(*path) != Some(entry));
    let changed: Vec<_> = changed.map(|(path, _)| path).collect();
    assert!(after == before, "{} requests before, {} now; changed: {changed:?}", before.0, after.0);
    scene.run("certctl plan --exit-code | tail -n 1");
    scene.run("certctl deploy");
    scene.end();
}

#[test]
fn what_is_due_is_issued_and_told() {
    let mut scene = Session::new("issue-due");
    scene.configured(&[("web", &CertificateYaml::new("web"))]);
    scene.run("certctl issue --exit-code");
    scene.run("certctl issue --exit-code");
    let more = CertificateYaml::new("web").for_names(&["web.example.test", "www.example.test"]);
    scene.world.write("config/web.yaml", &more);
    scene.note("One name more in the manifest.").run("certctl plan --exit-code");
    scene.run("certctl issue --log-format json --exit-code");
    scene.run("certctl issue -v");
    scene.world.write("config/web.yaml", &CertificateYaml::new("web"));
    scene.note("And away again; the requests themselves are left out here.");
    scene.run("certctl issue -v 2>&1 | grep -v ' method='");
    scene.end();
}

#[test]
fn a_renewal_is_asked_for() {
    let mut scene = Session::new("renew");
    scene.configured(&[
        ("api", &CertificateYaml::new("api")),
        ("web", &CertificateYaml::new("web")),
    ]);
    scene.quietly("certctl issue");
    scene.note("Two certificates are issued.").run("certctl renew web");
    scene.run("certctl renew --all --yes --parallel 1 --exit-code");
    scene.run("certctl renew -l app=none");
    scene.run("certctl renew");
    scene.run("certctl renew web --all");
    scene.run("certctl renew wbe");
    scene.end();
}

#[test]
fn a_plan_changes_nothing() {
    let mut scene = Session::new("plan");
    scene.configured(&[
        ("api", &CertificateYaml::new("api")),
        ("web", &CertificateYaml::new("web").for_names(&["web.example.test", "www.example.test"])),
    ]);
    scene.run("certctl plan");
    scene.run("certctl plan --exit-code -o name");
    scene.run("certctl plan web -o yaml");
    scene.run("certctl plan web -o json");
    scene.quietly("certctl issue");
    scene.note("Both are issued.").run("certctl plan --exit-code");
    scene.end();
}

#[test]
fn outputs_and_hooks_are_run_again() {
    let mut scene = Session::new("deploy");
    let certificate = CertificateYaml::new("web")
        .annotation("certctl/output-dir", &scene.world.path("out").display().to_string())
        .annotation("certctl/deploy-hook", "install")
        .annotation("certctl/reload", "reload");
    scene.configured(&[("web", &certificate)]);
    scene.hook("install", "echo 'disk quota exceeded' >&2; exit 7");
    scene.hook("reload", "true");
    scene.run("certctl issue");
    scene.run("certctl status");
    scene.run("certctl deploy");
    scene.hook("install", "true");
    scene.note("The hook is mended.").run("certctl deploy");
    scene.run("certctl deploy");
    scene.run("certctl deploy other");
    scene.note("A run that leaves the hooks.").on_terminal("certctl renew web --hooks later");
    scene.run("certctl deploy web --hooks now");
    scene.end();
}

#[test]
fn files_that_are_gone_come_back_without_an_order() {
    let mut scene = Session::new("damaged");
    let out = scene.world.path("out");
    let certificate =
        CertificateYaml::new("web").annotation("certctl/output-dir", &out.display().to_string());
    scene.configured(&[("web", &certificate)]);
    scene.quietly("certctl issue");
    let key = scene.world.path("state/secrets/default/web-tls/..data/tls.key");
    fs::remove_file(key).unwrap();
    scene.note("A private key is gone.").run("certctl status");
    scene.run("certctl status --exit-code");
    scene.run("certctl plan");
    scene.run("certctl issue");
    fs::remove_file(out.join("tls.key")).unwrap();
    scene.note("So is a link in an output folder.").run("certctl status");
    scene.run("certctl plan");
    scene.run("certctl issue");
    scene.run("certctl status");
    scene.end();
}

#[test]
fn what_this_machine_lacks_is_found_before_an_order() {
    let mut scene = Session::new("lacks");
    let certificate = CertificateYaml::new("web")
        .annotation("certctl/output-dir", "/nowhere/tls/web")
        .annotation("certctl/deploy-hook", "install");
    scene.configured(&[("web", &certificate)]);
    scene.run("certctl validate");
    scene.run("certctl plan");
    scene.run("certctl issue");
    scene.note("A webroot, which the host of the manifest may have.");
    let webroot = CertificateYaml::new("web").annotation("certctl/http01-webroot", "/nowhere");
    scene.world.write("config/web.yaml", &webroot);
    scene.run("certctl validate");
    scene.run("certctl plan -o name");
    scene.run("certctl issue --log-format json 2>&1 | grep -o '\"try\":[^]]*]'");
    scene.run("certctl doctor --offline | grep -A 1 webroot");
    scene.end();
}

#[test]
fn a_rehearsal_needs_nothing_and_leaves_nothing() {
    let mut scene = Session::within("rehearse", World::start());
    scene.configured(&[("web", &CertificateYaml::new("web"))]);
    scene.run("certctl rehearse");
    scene.run("certctl rehearse -o json");
    scene.run("certctl rehearse missing.yaml");
    scene.run("certctl rehearse --resolve web.example.test=127.0.0.2");
    let wild = CertificateYaml::new("wild").for_names(&["*.example.test"]);
    scene.world.write("config/web.yaml", &wild);
    scene.note("A wildcard cannot be proven by HTTP-01.").run("certctl rehearse");
    fs::remove_file(scene.world.path("config/web.yaml")).unwrap();
    scene.note("No Certificate at all.").run("certctl rehearse");
    scene.end();
}

#[test]
fn a_renewal_that_the_ca_did_not_validate_says_so() {
    let world = World::with(|options| options.reuse = Reuse::ValidAuthorizations);
    let mut scene = Session::within("renew-unvalidated", world);
    scene.configured(&[("web", &CertificateYaml::new("web"))]);
    scene.quietly("certctl issue");
    scene.with_columns(80).on_terminal("certctl renew web");
    scene.end();
}
