//! Streams that are closed, full, or that nobody reads.

use crate::session::Session;
use crate::support::CertificateYaml;

/// Every verb that prints data, in a world where one certificate is issued.
const DATA: &[&str] = &[
    "--help",
    "version",
    "completion bash",
    "man",
    "timer print --systemd",
    "explain certificate.spec",
    "schema",
    "plan",
    "status",
    "status web",
    "status -o json",
    "status issuer",
    "inspect web --offline",
    "check acme",
    "check dns web.example.test",
    "check http web.example.test",
    "account show",
];

#[test]
fn stdout_is_closed() {
    let mut scene = Session::issued("stdout-closed");
    for words in DATA {
        scene.run(&format!("certctl {words} >&-"));
    }
    scene.end();
}

#[test]
fn stdout_has_no_reader() {
    let mut scene = Session::issued("stdout-unread");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    scene.note("stdout is a pipe, and its reader is gone.");
    for words in DATA {
        scene.run_into(&format!("certctl {words}"), writer.try_clone().unwrap().into());
    }
    scene.end();
}

#[cfg(target_os = "linux")]
#[test]
fn stdout_is_full() {
    let mut scene = Session::issued("stdout-full");
    for words in DATA {
        scene.run(&format!("certctl {words} >/dev/full"));
    }
    scene.end();
}

#[test]
fn stderr_is_closed() {
    let mut scene = Session::new("stderr-closed");
    scene.configured(&[("web", &CertificateYaml::new("web"))]);
    scene.run("certctl isue 2>&-");
    scene.run("certctl issue missing.yaml 2>&-");
    scene.run("certctl issue 2>&- >&-");
    scene.run("certctl status -o name");
    scene.run("certctl renew web -vvv 2>&-");
    scene.run("certctl inspect web --offline | grep matches");
    scene.end();
}

#[cfg(target_os = "linux")]
#[test]
fn stderr_is_full() {
    let mut scene = Session::new("stderr-full");
    scene.configured(&[("web", &CertificateYaml::new("web"))]);
    scene.run("certctl isue 2>/dev/full");
    scene.run("certctl issue missing.yaml 2>/dev/full");
    scene.run("certctl version 2>/dev/full");
    scene.run("certctl validate 2>/dev/full");
    scene.run("certctl rehearse 2>/dev/full");
    scene.run("certctl issue -vvv 2>/dev/full");
    scene.run("certctl status -o name");
    scene.run("certctl renew web --log-format json --progress always 2>/dev/full");
    scene.run("certctl revoke web --yes 2>/dev/full >/dev/full");
    scene.run("certctl forget web --anyway 2>/dev/full");
    scene.run("certctl status -o name");
    scene.end();
}
