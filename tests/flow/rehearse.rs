//! `certctl rehearse`: the user's manifests against a CA and a name server of its own.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::support::{CertificateYaml, Run, World, finish};

/// An Issuer with DNS-01 for all names but `www`, and a Certificate for three names.
fn write_manifests(world: &World) {
    let solvers = "    - dns01:\n        cloudflare:\n          apiTokenSecretRef:\n            \
                   name: zone-editor\n            key: token\n        nameservers: \
                   [\"127.0.0.1:1\"]\n      waitInsteadOfSelfCheck: 1h\n    - http01:\n        \
                   ingress: {}\n      selector:\n        dnsNames: [www.example.test]\n";
    world.write("config/issuer.yaml", &world.issuer().solvers(solvers));
    let names = ["example.test", "*.example.test", "www.example.test"];
    world.write("config/web.yaml", &CertificateYaml::new("web").for_names(&names));
}

#[test]
fn a_wildcard_is_rehearsed_without_a_word_to_its_provider() {
    let world = World::start();
    write_manifests(&world);
    world.write_secret("zone-editor", "token", "not-a-token-of-anybody");
    let run = world.run(&["rehearse"]).ends_in(0);
    let end = "rehearsed against the built-in CA: 1 of 1 certificate issued; no real CA or DNS \
               provider was contacted, and no output or hook was run";
    assert!(run.stderr.contains(end), "{}", run.stderr);
    assert!(
        run.stderr.contains("(zone example.test, the built-in name server, not cloudflare)"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("were read but not used\n"), "{}", run.stderr);
    assert_eq!(world.ca.requests(), 0);
    assert!(!world.path("state").exists());
    // HTTP-01 looks where it always does; nothing else is asked of the world's name server.
    let asked = world.dns.questions();
    assert!(!asked.is_empty());
    for question in asked {
        assert_eq!(question.name, "www.example.test", "{question:?}");
    }
}

#[test]
fn a_name_of_one_label_is_rehearsed_over_dns01() {
    let world = World::start();
    write_manifests(&world);
    world.write_secret("zone-editor", "token", "not-a-token-of-anybody");
    let names = ["intranet", "*.lan"];
    world.write("config/web.yaml", &CertificateYaml::new("web").for_names(&names));
    world.run(&["rehearse"]).ends_in(0).says("1 of 1 certificate issued");
}

#[test]
fn a_rehearsal_finds_that_a_credential_is_missing() {
    let world = World::start();
    write_manifests(&world);
    let run = world.run(&["rehearse"]).ends_in(3);
    assert!(run.stderr.contains("zone-editor"), "{}", run.stderr);
    assert!(!run.stderr.contains("1 of them to the end"), "{}", run.stderr);
    assert_eq!((world.ca.requests(), world.dns.questions()), (0, Vec::new()));
}

/// A user of no other test.
const USER: u32 = 54_322;

/// What a user without rights sees, who chooses no port.
fn as_user(world: &World, words: &[&str]) -> Run {
    let mut command = Command::new(world.path("certctl"));
    command.args(words).args(["--self-check-interval", "100ms"]);
    world.surround(&mut command);
    command.env_remove("CERTCTL_HTTP01_LISTEN").env_remove("CERTCTL_STATE_DIR");
    finish(command.uid(USER).gid(USER).spawn().unwrap())
}

#[test]
fn a_user_who_may_not_listen_on_port_80_gets_a_free_port() {
    let first = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    let may_listen = first.is_ok_and(|first| first.trim().parse::<u16>().unwrap() <= 80);
    if may_listen || !rustix::process::geteuid().is_root() {
        return;
    }
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let all = Permissions::from_mode(0o755);
    std::fs::set_permissions(world.path(""), all).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_certctl"), world.path("certctl")).unwrap();
    let plan = as_user(&world, &["plan"]).ends_in(0);
    let denied = "warning: HTTP-01: no permission to listen on [::]:80; needed by web\n  try: ";
    plan.says(denied);
    let run = as_user(&world, &["rehearse", "web"]).ends_in(0).says("1 of 1 certificate issued");
    let said = "this user may not listen on port 80; the rehearsal uses port ";
    assert_eq!(run.stderr.matches(said).count(), 1, "{}", run.stderr);
    // A port that is chosen is had, or nothing: 80 is refused.
    let run = as_user(&world, &["rehearse", "--http01-listen", "0.0.0.0:80"]);
    assert!(run.code == Some(3) && !run.stderr.contains(said), "{}", run.stderr);
    world.write(
        "config/web.yaml",
        &CertificateYaml::new("web").annotation("certctl/http01-listen", "0.0.0.0:80"),
    );
    let run = as_user(&world, &["rehearse"]);
    assert!(run.code == Some(3) && !run.stderr.contains(said), "{}", run.stderr);
}

#[test]
fn a_webroot_that_no_server_serves_is_what_the_hints_are_about() {
    let world = World::start();
    std::fs::create_dir(world.path("www")).unwrap();
    let folder = world.path("www").display().to_string();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/http01-webroot", &folder)]);
    let run = world.run(&["rehearse", "--timeout", "1s"]).ends_in(4);
    run.clone()
        .says(&format!("the web server must serve {folder}/.well-known/acme-challenge/TOKEN at "));
    assert!(!run.stderr.contains("--http01-listen"), "{}", run.stderr);
}

#[test]
fn a_rehearsal_of_nothing_leads_on() {
    let run = World::start().run(&["rehearse"]).ends_in(3).says("no Certificate found in ");
    run.says("  try: certctl create writes the first manifests; certctl rehearse FILE reads one\n");
}
