//! The binary against step-ca, which validates when a challenge is accepted and only then, and
//! leaves the challenge pending when that fails.
//!
//! Where there is no Go to build step-ca with, the test says so on stderr.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use serde_json::{Value, json};

use certctl::engine::ports::{Documents as _, Part};
use certctl::rehearsal::NameServer;
use certctl::resource::NamespacedName;
use certctl::store::{OpenMode, StateDirectory};
use futures_util::FutureExt as _;

use crate::bind_support::{Bind, Role};
use crate::pebble_support::{Server, block_on, client, find, free_port, not_tested};

const NAME: &str = "web.example.test";

/// A running step-ca with an ACME provisioner.
struct StepCa {
    port: u16,
    /// The port it validates HTTP-01 on.
    http_port: u16,
    /// Its root, in PEM: made for this process alone, so that a server that shows a certificate of it
    /// on the port is the process that was started.
    root: String,
    _folder: tempfile::TempDir,
    server: Server,
}

impl StepCa {
    /// Starts it and waits until it answers; other ports are tried when it does not get its own.
    fn start(program: &Path, dns: SocketAddr) -> Self {
        (0..3).find_map(|_| Self::try_start(program, dns)).unwrap_or_else(|| panic!("no step-ca"))
    }

    fn try_start(program: &Path, dns: SocketAddr) -> Option<Self> {
        let (port, http_port) = (free_port(), free_port());
        let folder = tempfile::tempdir().unwrap();
        let root = write_hierarchy(folder.path());
        let place = |name: &str| folder.path().join(name);
        let config = json!({
            "root": place("root.pem"),
            "crt": place("intermediate.pem"),
            "key": place("intermediate.key"),
            "address": format!("127.0.0.1:{port}"),
            "dnsNames": ["127.0.0.1"],
            "logger": { "format": "text" },
            "db": { "type": "bbolt", "dataSource": place("db") },
            "authority": { "provisioners": [{ "type": "ACME", "name": "acme" }] },
        });
        write(&place("ca.json"), &config.to_string());
        let mut command = Command::new(program);
        command.arg(place("ca.json")).args(["--resolver", &dns.to_string(), "--insecure"]);
        command.args(["--acme-http-port", &http_port.to_string()]);
        command.env_clear().env("HOME", folder.path()).env("STEPPATH", folder.path());
        let server = Server::start(&mut command, &place("log"));
        let mut ca = Self { port, http_port, root, _folder: folder, server };
        block_on(ca.prove()).then_some(ca)
    }

    async fn prove(&mut self) -> bool {
        for _ in 0..2000 {
            if !self.server.runs() {
                return false;
            }
            let answer = client(Some(&self.root)).get(self.directory_url()).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("step-ca does not answer: {}", self.server.log());
    }

    fn directory_url(&self) -> String {
        format!("https://127.0.0.1:{}/acme/acme/directory", self.port)
    }
}

/// A root and an intermediate certificate with its key; the root is returned.
fn write_hierarchy(folder: &Path) -> String {
    let authority = |name: &str, constraints| {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(constraints);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        (params, KeyPair::generate().unwrap())
    };
    let (root, root_key) = authority("root of one test", BasicConstraints::Unconstrained);
    let root_pem = root.self_signed(&root_key).unwrap().pem();
    let (below, key) = authority("intermediate of one test", BasicConstraints::Constrained(0));
    let below = below.signed_by(&key, &Issuer::new(root, root_key)).unwrap();
    write(&folder.join("root.pem"), &root_pem);
    write(&folder.join("intermediate.pem"), &below.pem());
    write(&folder.join("intermediate.key"), &key.serialize_pem());
    root_pem
}

fn write(path: &Path, text: &str) {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options.open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// Writes the manifests of an Issuer for this CA and of a certificate for these names, and others.
fn manifests(folder: &Path, ca: &StepCa, (solver, names): (&str, &str), others: &str) {
    let manifest = format!(
        "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {{ name: step }}\nspec:\n  acme:\n    \
         server: {}\n    caBundle: {}\n    privateKeySecretRef: {{ name: account }}\n    \
         solvers: [ {solver} ]\n---\napiVersion: cert-manager.io/v1\n\
         kind: Certificate\nmetadata: {{ name: web }}\nspec:\n  secretName: web-tls\n  \
         issuerRef: {{ name: step }}\n  privateKey: {{ algorithm: ECDSA, size: 256 }}\n  \
         dnsNames: [ {names} ]\n{others}",
        ca.directory_url(),
        STANDARD.encode(&ca.root),
    );
    write(&folder.join("web.yaml"), &manifest);
}

/// `certctl` with these words.
fn certctl(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_certctl"));
    command.current_dir(folder).env_clear().env("HOME", folder);
    command.args(words).args(["--state-dir", "state", "--config-dir", "config"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The same, which issues: it asks this DNS server, and answers on the port of the CA.
fn issuing(folder: &Path, ca: &StepCa, dns: SocketAddr, words: &[&str]) -> Command {
    let port = ca.http_port;
    let mut command = certctl(folder, words);
    command.args(["-v", "--resolver", &dns.to_string(), "--timeout", "3m"]);
    command.args(["--http01-listen", &format!("127.0.0.1:{port}")]);
    command.args(["--http01-check-port", &port.to_string()]);
    command
}

/// `certctl issue` for these names, which asks this DNS server.
fn issue(folder: &Path, ca: &StepCa, dns: SocketAddr, solver: &str, names: &str) -> Command {
    manifests(folder, ca, (solver, names), "");
    issuing(folder, ca, dns, &["issue", "./web.yaml"])
}

/// The challenge of the only order in the state, as a reader finds it.
fn challenge(folder: &Path) -> Option<Value> {
    let state = StateDirectory::open(&folder.join("state"), OpenMode::ReadOnly).ok()?;
    let order = Part::Order(1, 1).of(&NamespacedName::new("default", "web"));
    let stored = state.get(&order).now_or_never()?.ok()??;
    let order: Value = serde_json::from_slice(&stored.bytes).ok()?;
    order.pointer("/document/challenges/0").cloned()
}

/// The CA gets an address where nothing listens, until it has tried to connect.
#[test]
fn a_listener_that_step_ca_finds_late_is_issued_for_in_the_same_run() {
    let Some(program) = find("step-ca") else {
        not_tested("there is no step-ca, which is built with Go");
        return;
    };
    let leads_to = |last| {
        let address = IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
        NameServer::start(BTreeMap::from([(NAME.to_owned(), vec![address])])).unwrap()
    };
    let (its_dns, our_dns) = (leads_to(2), leads_to(1));
    let ca = StepCa::start(&program, its_dns.address());
    let folder = tempfile::tempdir().unwrap();
    let solver = "http01: { ingress: {} }";
    let mut child = issue(folder.path(), &ca, our_dns.address(), solver, NAME).spawn().unwrap();
    let left = || challenge(folder.path())?.pointer("/state/pending/problem/detail").cloned();
    let mut tries = 12_000;
    while left().is_none() && child.try_wait().unwrap().is_none() && tries > 0 {
        std::thread::park_timeout(Duration::from_millis(5));
        tries -= 1;
    }
    its_dns.set(NAME, vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}\n{}", ca.server.log());
    assert_eq!(said.matches("/acme/acme/challenge/").count(), 2, "accepts: {said}");
    let journal = folder.path().join("state/certificates/default/web/events.jsonl");
    let journal = std::fs::read_to_string(journal).unwrap();
    assert_eq!(journal.matches("left it pending: urn:").count(), 1, "{journal}");
    let chain = folder.path().join("state/secrets/default/web-tls/tls.crt");
    let chain = std::fs::read_to_string(chain).unwrap();
    let leaf = certctl::pki::Chain::from_pem(&chain).unwrap().leaf().clone();
    assert_eq!(leaf.dns_names, [NAME]);
}

/// The CA and certctl ask one resolver, which remembers what it has seen: also that a name is absent.
fn apex_and_wildcard(rounds: usize) {
    let Some(program) = find("step-ca") else {
        not_tested("there is no step-ca, which is built with Go");
        return;
    };
    let primary = Bind::start();
    let forwarder = Bind::start_as(Role::Forwarder(primary.address.port()));
    let ca = StepCa::start(&program, forwarder.address);
    let solver = format!("dns01: {{ rfc2136: {{ nameserver: '{}' }} }}", primary.address);
    for round in 0..rounds {
        let folder = tempfile::tempdir().unwrap();
        let names = format!("apex-{round}.cached.test, '*.apex-{round}.cached.test'");
        let mut command = issue(folder.path(), &ca, forwarder.address, &solver, &names);
        let port = primary.address.port().to_string();
        command.env("CERTCTL_DNS01_AUTHORITATIVE_PORT", port);
        let output = command.args(["--self-check-interval", "1s"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{round}: {said}\n{}", ca.server.log());
        let orders = folder.path().join("state/certificates/default/web/orders");
        assert_eq!(std::fs::read_dir(orders).unwrap().count(), 1, "{round}: {said}");
    }
}

#[test]
fn apex_and_wildcard_are_issued_where_the_resolver_caches() {
    apex_and_wildcard(3);
}

/// Pebble refuses such keys, so step-ca stands for the CAs that take them.
#[test]
fn an_account_with_an_ed25519_key_registers_issues_revokes_and_ends() {
    let Some(program) = find("step-ca") else {
        not_tested("there is no step-ca, which is built with Go");
        return;
    };
    let here = BTreeMap::from([(NAME.to_owned(), vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])]);
    let dns = NameServer::start(here).unwrap();
    let ca = StepCa::start(&program, dns.address());
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let key = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/account-keys/ed25519.pem");
    let secret = format!(
        "---\napiVersion: v1\nkind: Secret\nmetadata: {{ name: account }}\ndata: {{ tls.key: {} }}\n",
        STANDARD.encode(std::fs::read(key).unwrap())
    );
    manifests(folder, &ca, ("http01: { ingress: {} }", NAME), &secret);
    let run = |mut command: Command, code: i32| {
        let output = command.output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8(printed).unwrap();
        assert_eq!(output.status.code(), Some(code), "{printed}\n{}", ca.server.log());
        printed
    };
    let account = |verb| certctl(folder, &["account", verb, "step", "-f", "web.yaml"]);
    run(account("register"), 0);
    let page = run(account("show"), 0);
    assert!(page.contains("Key: Ed25519, privateKeySecretRef"), "{page}");
    let issuing = |words: &[&str]| issuing(folder, &ca, dns.address(), words);
    run(issuing(&["issue", "./web.yaml"]), 0);
    let chain = folder.join("state/secrets/default/web-tls/tls.crt");
    let chain = std::fs::read_to_string(chain).unwrap();
    let leaf = certctl::pki::Chain::from_pem(&chain).unwrap().leaf().clone();
    assert_eq!(leaf.dns_names, [NAME]);
    let revoked =
        || ca.server.log().lines().filter(|line| is_done(line, "/acme/acme/revoke-cert")).count();
    assert_eq!(revoked(), 0);
    run(issuing(&["revoke", "web", "--yes"]), 0);
    assert_eq!(revoked(), 1, "{}", ca.server.log());
    let words = ["account", "deactivate", "step", "-f", "web.yaml", "--yes"];
    run(certctl(folder, &words), 0);
    // The CA knows the key, and that its account has ended.
    run(issuing(&["renew", "web", "-f", "web.yaml"]), 5);
}

/// Whether a line of step-ca's log is of a request to this path that it granted.
fn is_done(line: &str, path: &str) -> bool {
    line.contains(&format!(" path={path} ")) && line.contains(" status=200 ")
}

#[test]
#[ignore = "a series of minutes; tests/run --all starts it"]
fn series_of_apex_and_wildcard() {
    apex_and_wildcard(10);
}
