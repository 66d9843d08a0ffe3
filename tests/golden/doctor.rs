//! What `certctl doctor` says of a host, well and not.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};

use certctl::engine::ports::{Clock as _, SystemClock};
use certctl::rehearsal::{Fault, Rule};
use jiff::SignedDuration;
use jiff::fmt::rfc2822::DateTimePrinter;

use crate::session::Session;
use crate::support::{CertificateYaml, World};

/// With folders as long on each host as on any other: lines break at the same words.
const DOCTOR: &str = "CERTCTL_CONFIG_DIR=config CERTCTL_STATE_DIR=state certctl doctor";

/// One certificate for each thing that can be wrong.
fn make_wrong(scene: &mut Session, down: &World, busy: &TcpListener) {
    let with = |name: &str, annotation: &str, value: &str| {
        CertificateYaml::new(name).annotation(&format!("certctl/{annotation}"), value)
    };
    let port = busy.local_addr().unwrap().to_string();
    scene.configured(&[
        ("absent", &with("absent", "deploy-hook", "absent")),
        ("plain", &with("plain", "reload", "plain")),
        ("folder", &with("folder", "output-dir", "/no-such-folder/web")),
        (
            "group",
            &with("group", "output-dir", "/no-such").annotation("certctl/output-group", "nosuch"),
        ),
        ("root", &with("root", "http01-webroot", "/no-such-webroot")),
        ("port", &with("port", "http01-listen", &port)),
        ("bound", &CertificateYaml::new("bound").issued_by("bound")),
        ("other", &CertificateYaml::new("other").issued_by("down")),
        ("gone", &CertificateYaml::new("gone").for_names(&["gone.invalid"])),
    ]);
    scene.world.write("config/hooks.d/plain", "#!/bin/sh\n");
    let binding = "externalAccountBinding: {keyID: kid, keySecretRef: {name: eab, key: secret}}";
    scene.world.write("config/bound.yaml", &{
        let issuer = scene.world.issuer().named("bound").field(binding).to_string();
        issuer + "---\n" + &CertificateYaml::new("bound").issued_by("bound").to_string()
    });
    scene.world.write("config/down.yaml", &down.issuer().named("down"));
    down.fault(Rule::always(Fault::CloseUnhandled));
    // Until the last line of the scene it is rounded to the same minute.
    let ahead = SignedDuration::from_secs(31 * 60 + 20);
    let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&(SystemClock.now() + ahead));
    scene.world.fault(Rule::always(Fault::SetHeader("date", date.unwrap())));
}

#[test]
fn what_is_wrong_on_a_host_is_told_with_what_puts_it_right() {
    let mut scene = Session::new("doctor-wrong");
    let (down, busy) = (World::start(), TcpListener::bind("127.0.0.1:0").unwrap());
    make_wrong(&mut scene, &down, &busy);
    for columns in [40, 80, 120] {
        scene.note(&format!("In {columns} columns.")).with_columns(columns).on_terminal(DOCTOR);
    }
    scene.note("What would stop the run is told by plan, and nothing twice.");
    scene.run("certctl plan port root -o name");
    scene.run("certctl validate --host 2>/dev/null");
    scene.run("certctl validate --host -o json 2>&1 >/dev/null");
    scene.run(&format!("{DOCTOR} --offline --exit-code >/dev/null"));
    scene.world.write("config/hooks.d/on-failure", "#!/bin/sh\n");
    let secret = scene.world.write("config/secrets/default/eab/secret", "c2VjcmV0");
    fs::set_permissions(secret, Permissions::from_mode(0o644)).unwrap();
    scene.note("A secret that others can read, and no program of on-failure.");
    scene.run(&format!("{DOCTOR} --offline | grep -A 1 -e on-failure -e secret"));
    scene.end();
}

#[test]
fn a_host_on_which_all_is_well() {
    let mut scene = Session::new("doctor");
    scene.configured(&[(
        "web",
        &CertificateYaml::new("web")
            .annotation("certctl/deploy-hook", "note")
            .annotation("certctl/output-dir", &scene.world.path("out").display().to_string()),
    )]);
    scene.hook("note", "exit 0");
    scene.run("certctl doctor --offline");
    scene.quietly("certctl issue");
    scene.with_columns(80).on_terminal(DOCTOR);
    scene.run("certctl doctor --exit-code");
    scene.run("certctl doctor -o json");
    scene.run("certctl doctor -o name");
    scene.run("certctl validate --host");
    fs::set_permissions(scene.world.path("state"), Permissions::from_mode(0o755)).unwrap();
    scene.note("Others can read the state.");
    scene.run("certctl doctor --offline | grep -A 1 FAIL");
    fs::set_permissions(scene.world.path("state"), Permissions::from_mode(0o700)).unwrap();
    scene.world.write("state/certificates/default/web/status.json", "{");
    scene.note("A record of the state is damaged.").run("certctl doctor --offline");
    scene.world.write("config/config.toml", "paralel = 1\n");
    scene.note("And there is a mistake in config.toml.").run("certctl doctor --offline");
    scene.end();
}

#[test]
fn a_host_without_a_manifest_is_told_what_to_type_next() {
    let mut scene = Session::new("doctor-bare");
    scene.run("certctl doctor");
    fs::remove_dir(scene.world.path("config")).unwrap();
    scene.run("certctl validate --host");
    // A user's own folders, where the scheduler is looked for too.
    let home = scene.world.path("home");
    if rustix::process::geteuid().is_root() {
        chown(&home, Some(USER), Some(USER)).unwrap();
    }
    fs::set_permissions(scene.world.path(""), Permissions::from_mode(0o711)).unwrap();
    scene.note("As a user without root.").as_user(USER);
    let own = "env -u CERTCTL_CONFIG_DIR -u CERTCTL_STATE_DIR certctl doctor --exit-code";
    scene.run(own);
    let issuer = scene.issuer();
    scene.world.write("home/.config/certctl/issuer.yaml", &issuer);
    let web = CertificateYaml::new("web")
        .annotation("certctl/output-dir", &home.join("out").display().to_string())
        .annotation("certctl/output-owner", "root");
    scene.world.write("home/.config/certctl/web.yaml", &web);
    scene.run(&format!("{own} --offline"));
    scene.end();
}

#[test]
fn folders_that_cannot_be_read_are_findings() {
    let mut scene = Session::issued("doctor-denied");
    let set = |scene: &Session, mode| {
        for folder in ["state", "config"] {
            fs::set_permissions(scene.world.path(folder), Permissions::from_mode(mode)).unwrap();
        }
    };
    fs::set_permissions(scene.world.path(""), Permissions::from_mode(0o711)).unwrap();
    set(&scene, 0o000);
    scene.as_user(USER).run("certctl doctor");
    set(&scene, 0o700);
    scene.end();
}

/// Nobody.
pub(crate) const USER: u32 = 65_534;
