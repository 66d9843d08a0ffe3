//! Every session (`console NAME`) is run, and answers as it is shown.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::thread;

use certctl::rehearsal::{Fault, ProblemType, Rule};
use certctl::resource::Reason;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::pages::{ROOT, page};
use super::shell::{Shell, names};
use crate::support::{CertificateYaml, Webhook, World, finish, until};

const EXAMPLE: &str = include_str!("../../../examples/web.yaml");

/// A world whose config directory has the example's manifest.
pub(crate) fn with_web() -> World {
    let world = World::start();
    world.write("config/web.yaml", EXAMPLE);
    world
}

/// The same, with the certificate issued.
pub(crate) fn issued(world: &World) -> Shell<'_> {
    let shell = Shell::new(world);
    shell.redirect();
    world.run(&["issue"]).ends_in(0);
    assert_eq!(world.ca.issued(), 1);
    shell
}

#[test]
fn no_session_is_without_a_test() {
    let run = include_str!("sessions.rs");
    let played = run.split(".play").skip(1);
    let run: BTreeSet<String> = played
        .chain(run.split(".start(").skip(1))
        .filter_map(|rest| rest.split('"').nth(1).map(str::to_owned))
        .collect();
    let shown = names();
    assert!(shown.len() > 20, "{shown:?}");
    let missing: Vec<&String> = shown.difference(&run).collect();
    assert!(missing.is_empty(), "these sessions are not run: {missing:?}");
}

#[test]
fn the_picture_of_a_run() {
    let world = World::start();
    world.write("config/web.yaml", &EXAMPLE.replace("letsencrypt-staging", "letsencrypt"));
    let shell = Shell::new(&world);
    shell.redirect();
    world.run(&["account", "register"]).ends_in(0);
    shell.play_on_terminal("picture");
    assert_eq!(world.ca.issued(), 1);
}

#[test]
fn the_first_certificate_of_the_readme() {
    let world = World::start();
    let shell = Shell::new(&world);
    shell.play("first-certificate");
    assert_eq!(world.ca.issued(), 1);
    shell.play("before-a-ca");
    world.write("root.pem", &world.ca.root_pem());
    shell.play("own-ca");
    assert_eq!(world.ca.issued(), 1);
}

#[test]
fn the_first_certificate_of_the_guide() {
    let world = World::start();
    let shell = Shell::new(&world);
    shell.play("two-manifests");
    shell.play("issue-it");
    assert_eq!(world.ca.issued(), 1);
}

#[test]
fn the_manifest_of_the_guide_is_the_example_and_that_of_the_readme_a_part_of_it() {
    let guide = page("docs/src/guide/first-certificate.md");
    let readme = page("README.md");
    for page in [&guide, &readme] {
        let (_, manifest) = page.blocks().into_iter().find(|(kind, _)| *kind == "yaml").unwrap();
        assert!(EXAMPLE.ends_with(&manifest), "{}", page.path);
    }
}

#[test]
fn a_rehearsal_without_a_domain() {
    let world = World::start();
    let example = format!("{ROOT}/examples/web.yaml");
    let shell = Shell::new(&world).with("examples/web.yaml", &example);
    shell.with("5002", &world.port.number()).play("try");
    assert_eq!(fs::read_dir(world.path("home")).unwrap().count(), 0, "nothing was written");
    assert!(!world.path("state").exists(), "nothing was written");
}

#[test]
fn a_mistake() {
    let world = World::start();
    world.write("web.yaml", &EXAMPLE.replace("dnsNames:", "dnsName:"));
    Shell::new(&world).play("mistake");
}

#[test]
fn a_field_and_the_schema() {
    let world = World::start();
    let shell = Shell::new(&world);
    shell.play("explain");
    shell.play("editor");
    let schema = fs::read(world.path("certctl.schema.json")).unwrap();
    assert!(serde_json::from_slice::<Value>(&schema).unwrap().is_object());
}

#[test]
fn a_wildcard() {
    let world = World::start();
    world.write("token.txt", "a token\n");
    Shell::new(&world).play("wildcard");
    assert_eq!(world.ca.requests(), 0);
}

/// A folder of the system, as one of the world that is there.
pub(crate) fn system_folder(world: &World, name: &str) -> String {
    let path = world.path(name);
    fs::create_dir(&path).unwrap();
    path.display().to_string()
}

#[test]
fn the_manual_and_completion() {
    let world = World::start();
    let (scripts, manual) = (system_folder(&world, "scripts"), world.path("man1"));
    let shell = Shell::new(&world).with("/etc/bash_completion.d", &scripts);
    shell.with("/usr/local/share/man/man1", &manual.display()).play("completion");
    assert!(fs::read_to_string(world.path("scripts/certctl")).unwrap().contains("certctl"));
    assert!(manual.join("certctl.1").is_file());
}

#[test]
fn the_schedulers() {
    let world = with_web();
    let cron = system_folder(&world, "cron.d");
    let shell = Shell::new(&world).with("/etc/cron.d", &cron);
    let units = system_folder(&world, "units");
    let shell = shell.with("/etc/systemd/system", &units);
    let shell = shell.with("/etc/sysusers.d", &system_folder(&world, "users"));
    shell.play("schedule");
    shell.play("cron");
    assert!(world.path("cron.d/certctl").is_file());
    shell.play("systemd");
    assert!(world.path("units/certctl.timer").is_file());
    assert!(world.path("users/certctl.conf").is_file());
}

#[test]
fn a_server_with_a_hook() {
    let world = World::start();
    let examples = format!("{ROOT}/examples");
    let shell = Shell::new(&world).with("/usr/share/doc/certctl/examples", &examples);
    shell.with("/var/www/html", &system_folder(&world, "html")).play("server");
}

#[test]
fn an_external_account_binding() {
    let world = World::start();
    Shell::new(&world).play("eab");
}

#[test]
fn a_request_that_is_not_managed() {
    let world = World::start();
    let shell = Shell::new(&world);
    world.write("web.yaml", &shell.redirected(EXAMPLE));
    shell.play("request");
    assert_eq!(world.ca.issued(), 1);
}

#[test]
fn a_certificate_in_a_file() {
    let world = with_web();
    let shell = issued(&world);
    for (name, kept) in [("tls.crt", "old.crt"), ("tls.key", "old.key")] {
        let live = world.state().path("secrets/default/web-tls").join(name);
        fs::copy(live, world.path(kept)).unwrap();
    }
    world.run(&["renew", "web"]).ends_in(0);
    shell.play("revoke-file");
}

#[test]
fn port_80_is_looked_at() {
    let world = World::start();
    Shell::new(&world).play("check-http");
}

#[test]
fn the_key_of_an_account() {
    let elsewhere = World::prepared(&[CertificateYaml::new("web")]);
    elsewhere.issue().ends_in(0);
    let world = World::start();
    world.write("config/web.yaml", &EXAMPLE.replace("letsencrypt-staging", "letsencrypt"));
    let key = elsewhere.path("state/secrets/default/web-tls/tls.key");
    fs::copy(key, world.path("account.pem")).unwrap();
    Shell::new(&world).play("account-key");
}

#[test]
fn the_key_of_an_account_of_certbot() {
    let world = World::start();
    let keys = format!("{ROOT}/tests/fixtures/account-keys");
    let theirs = "accounts/acme-v02.api.letsencrypt.org/directory/0a1b/private_key.json";
    let jwk = fs::read_to_string(format!("{keys}/rsa-2048.jwk.json")).unwrap();
    world.write(theirs, &jwk);
    let accounts = world.path("accounts");
    Shell::new(&world)
        .with("/etc/letsencrypt/accounts", &accounts.display())
        .play("certbot-account");
    let key = |path: &Path| {
        let pem = fs::read_to_string(path).unwrap();
        certctl::acme::AccountKey::from_pem(&pem).unwrap().thumbprint().to_owned()
    };
    let original = format!("{keys}/rsa-2048.pem");
    assert_eq!(key(&world.path("account.pem")), key(original.as_ref()));
}

#[test]
fn a_hook_that_fails_once() {
    let world = World::start();
    let hook = "metadata:\n  annotations:\n    certctl/deploy-hook: install-web\n  name: web\n";
    world.write("config/web.yaml", &EXAMPLE.replace("metadata:\n  name: web\n", hook));
    let script = "[ -e ../again ] || { : >../again; echo 'no space left' >&2; exit 1; }";
    world.write_program("config/hooks.d/install-web", script);
    Shell::new(&world).play("failed-hook");
    assert_eq!(world.ca.issued(), 1);
}

#[test]
fn a_pair_of_another_client() {
    let elsewhere = World::prepared(&[CertificateYaml::new("web")]);
    elsewhere.issue().ends_in(0);
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let theirs = world.path("live");
    fs::create_dir(&theirs).unwrap();
    let secret = elsewhere.path("state/secrets/default/web-tls");
    fs::copy(secret.join("tls.crt"), theirs.join("fullchain.pem")).unwrap();
    fs::copy(secret.join("tls.key"), theirs.join("privkey.pem")).unwrap();
    let live = "/etc/letsencrypt/live/www.example.com";
    Shell::new(&world).with(live, &theirs.display()).play("adoption");
    assert_eq!(world.ca.requests(), 0);
    assert_eq!(world.state().readiness("web"), Reason::Ready);
    let now = world.state().path("secrets/default/web-tls/tls.crt");
    assert_eq!(fs::read(now).unwrap(), fs::read(secret.join("tls.crt")).unwrap());
}

#[test]
fn another_host() {
    let world = with_web();
    let shell = issued(&world);
    shell.play("move");
    for folder in ["config", "state"] {
        fs::remove_dir_all(world.path(folder)).unwrap();
    }
    shell.play("move-there");
    assert_eq!(world.ca.issued(), 1);
}

#[test]
fn a_leaked_key() {
    let world = with_web();
    issued(&world).play("revoke");
    assert_eq!(world.ca.issued(), 2);
}

#[test]
fn a_rollback() {
    let world = with_web();
    issued(&world).play("roll-back");
    assert_eq!(world.ca.issued(), 3);
}

#[test]
fn the_end_of_a_certificate() {
    let world = World::start();
    world.write("config/certificate-web.yaml", EXAMPLE);
    issued(&world).play("forget");
    assert!(!world.path("state/secrets/default/web-tls").exists());
}

#[test]
fn a_private_ca() {
    let world = World::start();
    world.write("root.pem", &world.ca.root_pem());
    let url = world.ca.directory_url();
    Shell::new(&world).with("https://ca.example.com/directory", &url).play("private-ca");
    assert_eq!(world.ca.issued(), 0);
}

#[test]
fn the_root_that_clients_need() {
    let world = with_web();
    world.write("root.pem", &world.ca.root_pem());
    issued(&world).play_on_terminal("which-root");
}

/// Another CA stands for Pebble.
#[test]
fn a_ca_for_tests() {
    let world = World::start();
    world.write("test/certs/pebble.minica.pem", &world.ca.root_pem());
    let shell = Shell::new(&world)
        .with("https://localhost:14000/dir", &world.ca.directory_url())
        .with("127.0.0.1:8053", &world.dns.address())
        .with("5002", &world.port.number());
    shell.play("pebble");
    assert_eq!(world.ca.issued(), 1);
    assert!(world.path("trial-state/secrets/default/www.example.com-tls").exists());
}

#[test]
fn the_eyes_on_it() {
    let world = with_web();
    let shell = issued(&world).with("/var/lib/node_exporter", &system_folder(&world, "metrics"));
    shell.play("monitor");
    shell.play("metrics");
}

#[test]
fn a_failed_validation() {
    let world = with_web();
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail: "no".to_owned() };
    world.fault(Rule::always(refusal).for_name("www.example.com"));
    Shell::new(&world).play_with("failure", |line| {
        if line.contains(" renew ") {
            world.ca.faults().clear();
        }
    });
    assert_eq!(world.ca.issued(), 1);
}

#[test]
fn a_user_who_is_not_root() {
    let world = World::start();
    let config = world.path("config");
    Shell::new(&world).with("~/.config/certctl", &config.display()).play("without-root");
}

#[test]
fn two_of_many() {
    let world = World::start();
    world.write("config/issuer.yaml", &world.issuer().named("letsencrypt-staging"));
    for name in ["mail", "shop"] {
        let dns_name = format!("{name}.example.com");
        let certificate = CertificateYaml::new(name).for_names(&[&dns_name]);
        let text = certificate.issued_by("letsencrypt-staging").to_string();
        let team = if name == "shop" { "web" } else { "post" };
        let labels = format!("  name: {name}\n  labels: {{team: {team}}}\n");
        let text = text.replacen(&format!("  name: {name}\n"), &labels, 1);
        world.write(&format!("config/{name}.yaml"), &text);
    }
    Shell::new(&world).play("many");
    assert_eq!(world.ca.issued(), 2);
}

#[test]
fn a_script() {
    let world = with_web();
    let shell = Shell::new(&world);
    shell.play("script");
    assert_eq!(world.ca.issued(), 1);
    world.write("manifests/web.yaml", &EXAMPLE.replace("dnsNames:", "dnsName:"));
    shell.play("formats");
}

#[test]
fn the_three_commands_after_a_package() {
    let world = World::start();
    Shell::new(&world).play("three-commands");
    assert_eq!(world.ca.issued(), 1);
}

#[test]
fn the_static_binary() {
    let world = World::start();
    let folder = "certctl-0.1.0-x86_64-unknown-linux-musl";
    let binary = world.write_program(&format!("{folder}/certctl"), "echo 'the binary'");
    let mut archive = Command::new("tar");
    archive.args(["-czf", &format!("{folder}.tar.gz"), folder]).current_dir(world.path(""));
    assert!(archive.status().unwrap().success());
    fs::remove_file(binary).unwrap();
    let programs = system_folder(&world, "programs");
    Shell::new(&world).with("/usr/local/bin", &programs).play("static-binary");
    let installed = fs::read_to_string(world.path("programs/certctl")).unwrap();
    assert_eq!(installed, "#!/bin/sh\necho 'the binary'\n");
}

#[test]
fn the_loop_of_a_container() {
    let world = with_web();
    let socket = system_folder(&world, "runtime") + "/http";
    let shell = Shell::new(&world).with("/run/certctl/http", &socket);
    let service = shell.start("loop");
    until("it has issued, and answers", || {
        UnixStream::connect(&socket).is_ok() && world.ca.issued() == 1
    });
    kill_process(Pid::from_child(&service), Signal::TERM).unwrap();
    let run = finish(service).ends_in(0);
    assert!(run.stdout.contains("certctl issue runs every 6h0m0s; /healthz and /metrics at "));
}

#[test]
fn dns_01_through_resolvers_alone() {
    let world = World::start();
    let webhook = Webhook::start(world.dns.provider());
    world.write("config/issuer.yaml", &world.issuer().solvers(&webhook.solver("")));
    world.write("config/web.yaml", &CertificateYaml::new("web").for_names(&["*.example.test"]));
    let resolver = world.dns.address().to_string();
    Shell::new(&world).with("192.0.2.53:53", &resolver).play("split-dns");
    assert_eq!(
        (world.ca.issued(), webhook.actions()),
        (1, ["Present", "CleanUp"].map(str::to_owned).to_vec())
    );
}

/// In place of a user that packages make.
const OURSELVES: &str = "-o \"$(id -u)\" -g \"$(id -g)\"";

#[test]
fn a_pair_for_the_user_of_a_package() {
    let world = World::start();
    let live = system_folder(&world, "live");
    world.write("live/fullchain.pem", "the certificate");
    world.write("live/privkey.pem", "the key");
    fs::create_dir(world.path("state")).unwrap();
    let shell = Shell::new(&world).with("-o certctl -g certctl", &OURSELVES);
    shell.with("/etc/letsencrypt/live/www.example.com", &live).play("adopt-package");
    let secret = world.path("state/secrets/default/web-tls");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let files = ["tls.crt", "tls.key"].map(|file| secret.join(file));
    assert_eq!(files.each_ref().map(|file| mode(file)), [0o600, 0o600]);
    assert_eq!(mode(&secret), 0o700);
    assert_eq!(fs::read_to_string(&files[1]).unwrap(), "the key");
}

#[test]
fn the_folder_of_a_web_server() {
    let world = World::start();
    let shell = Shell::new(&world).with("-o certctl -g certctl", &OURSELVES);
    let html = system_folder(&world, "html");
    let acme = world.path("acme").display().to_string();
    let shell = shell.with("/var/www/html", &html).with("/var/www/acme", &acme);
    shell.play("webroot");
    assert!(world.path("html/.well-known/acme-challenge").is_dir());
    shell.play("webroot-own");
    assert!(world.path("acme/.well-known/acme-challenge").is_dir());
}

#[test]
fn hooks_that_are_left_to_their_unit() {
    let world = with_web();
    let shell = issued(&world);
    let ran = world.path("ran");
    let hook = world.write("config/hooks.d/late", &format!("#!/bin/sh\n: >{}\n", ran.display()));
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    let name = "  name: web\n";
    assert!(EXAMPLE.contains(name));
    let hooked = format!("{name}  annotations:\n    certctl/reload: late\n");
    world.write("config/web.yaml", &EXAMPLE.replacen(name, &hooked, 1));
    shell.play("hooks-later");
    assert!(!ran.exists());
    world.run(&["deploy"]).ends_in(0);
    assert!(ran.exists());
}

#[test]
fn a_look_at_the_host() {
    let world = with_web();
    issued(&world).play("doctor");
}

#[test]
fn a_service_that_waits_for_pings() {
    let world = with_web();
    let shell = issued(&world);
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = format!("http://{}", server.local_addr().unwrap());
    let requests = thread::spawn(move || {
        let answered = server.incoming().take(2).map(|stream| {
            let mut stream = stream.unwrap();
            let line = BufReader::new(&stream).lines().next().unwrap().unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
            line
        });
        answered.collect::<Vec<_>>()
    });
    shell.with("https://hc-ping.com", &here).play("ping");
    let check = "00000000-0000-0000-0000-000000000000";
    let expected = ["/start", ""].map(|end| format!("GET /{check}{end} HTTP/1.1"));
    assert_eq!(requests.join().unwrap(), expected);
}

/// `tests/run` installs jq.
#[cfg(feature = "real-servers")]
#[test]
fn a_program_that_reads_json() {
    let world = with_web();
    issued(&world).play("jq");
}
