//! Pebble.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};

use super::server::Server;
use super::{Dns, block_on, client, free_port, tool};

/// How a Pebble is to behave. The default never rejects a nonce and never reuses an authorization.
#[derive(Clone, Default)]
pub(crate) struct Options {
    /// Percent of good nonces that are rejected.
    pub(crate) reject_nonces: u8,
    /// Percent of authorizations that are reused.
    pub(crate) reuse_authorizations: u8,
    /// Whether it reuses pending authorizations too: another program.
    pub(crate) reuse_pending: bool,
    /// How many roots there are beside the first.
    pub(crate) alternate_roots: u8,
    /// HMAC keys by key id; when there are any, new accounts need one.
    pub(crate) external_account_keys: BTreeMap<String, String>,
    /// The OCSP responder that its certificates name; none when empty.
    pub(crate) responder: String,
    /// Names that it refuses to order.
    pub(crate) blocked: Vec<String>,
    /// Who it and the binary ask for names, with all zones of its own; a DNS server of its own
    /// when `None`.
    pub(crate) name_server: Option<SocketAddr>,
    /// The port that it validates HTTP-01 on; a free one when `None`.
    pub(crate) http_port: Option<u16>,
    /// The port that it validates TLS-ALPN-01 on; a free one when `None`.
    pub(crate) tls_port: Option<u16>,
    /// Whether all its certificates are valid for 90 days. Else it draws a profile for each order
    /// that names none.
    pub(crate) has_one_profile: bool,
}

/// A running Pebble with a DNS server of its own.
pub(crate) struct Ca {
    /// The DNS server it asks, unless it was told another.
    pub(crate) dns: Dns,
    /// See [`Options`].
    pub(crate) name_server: Option<SocketAddr>,
    /// The port it validates HTTP-01 on.
    pub(crate) http_port: u16,
    /// The port it validates TLS-ALPN-01 on.
    pub(crate) tls_port: u16,
    bundle: String,
    port: u16,
    management: u16,
    _folder: tempfile::TempDir,
    server: Server,
}

impl Ca {
    /// Starts both and waits until they answer; other ports are tried when they do not get their
    /// own.
    pub(crate) fn start(options: &Options) -> Self {
        (0..3).find_map(|_| Self::try_start(options)).unwrap_or_else(|| panic!("no Pebble"))
    }

    fn try_start(options: &Options) -> Option<Self> {
        let dns = Dns::start();
        let (port, management) = (free_port(), free_port());
        let http_port = options.http_port.unwrap_or_else(free_port);
        let tls_port = options.tls_port.unwrap_or_else(free_port);
        let mut profiles = json!({
            "default": { "description": "90 days", "validityPeriod": 7_776_000 },
        });
        if !options.has_one_profile {
            let short = json!({ "description": "6 days", "validityPeriod": 518_400 });
            profiles["shortlived"] = short;
        }
        let folder = tempfile::tempdir().unwrap();
        let bundle = write_certificate(folder.path(), "127.0.0.1");
        let config = json!({ "pebble": {
            "listenAddress": format!("127.0.0.1:{port}"),
            "managementListenAddress": format!("127.0.0.1:{management}"),
            "certificate": folder.path().join("cert.pem"),
            "privateKey": folder.path().join("key.pem"),
            "httpPort": http_port,
            "tlsPort": tls_port,
            "ocspResponderURL": options.responder,
            "externalAccountBindingRequired": !options.external_account_keys.is_empty(),
            "externalAccountMACKeys": options.external_account_keys,
            "domainBlocklist": options.blocked,
            "retryAfter": { "authz": 0, "order": 0 },
            "keyAlgorithm": "ecdsa",
            "profiles": profiles,
        }});
        let config_path = folder.path().join("config.json");
        write(&config_path, &config.to_string());
        let program = if options.reuse_pending { "pebble-reusing" } else { "pebble" };
        let mut command = Command::new(tool::needed(program));
        let name_server = options.name_server;
        let asked = name_server.map_or_else(|| dns.address(), |server| server.to_string());
        command.arg("-config").arg(&config_path).args(["-dnsserver", &asked]);
        command
            .env_clear()
            .env("PEBBLE_VA_NOSLEEP", "1")
            .env("PEBBLE_WFE_NONCEREJECT", options.reject_nonces.to_string())
            .env("PEBBLE_AUTHZREUSE", options.reuse_authorizations.to_string())
            .env("PEBBLE_ALTERNATE_ROOTS", options.alternate_roots.to_string());
        let server = Server::start(&mut command, &folder.path().join("log"));
        let mut ca = Self {
            dns,
            name_server,
            http_port,
            tls_port,
            bundle,
            port,
            management,
            _folder: folder,
            server,
        };
        block_on(ca.prove()).then_some(ca)
    }

    /// Both ports answer with the certificate that was made for this process.
    async fn prove(&mut self) -> bool {
        let urls = [self.directory_url(), self.root_url(0)];
        for _ in 0..1000 {
            if !self.server.runs() {
                return false;
            }
            if self.get(&urls[0]).await.is_ok() && self.get(&urls[1]).await.is_ok() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("Pebble does not answer: {}", self.server.log());
    }

    async fn get(&self, url: &str) -> reqwest::Result<String> {
        let answer = client(Some(&self.bundle)).get(url).send().await?;
        answer.error_for_status()?.text().await
    }

    /// The directory.
    pub(crate) fn directory_url(&self) -> String {
        format!("https://127.0.0.1:{}/dir", self.port)
    }

    fn root_url(&self, index: u8) -> String {
        format!("https://127.0.0.1:{}/roots/{index}", self.management)
    }

    /// The roots that vouch for its TLS certificate, in PEM.
    pub(crate) fn bundle(&self) -> &str {
        &self.bundle
    }

    /// What it says of a certificate by its serial number in hexadecimal: `Valid` or `Revoked`.
    pub(crate) fn status_of(&self, serial: &str) -> String {
        let url = format!("https://127.0.0.1:{}/cert-status-by-serial/{serial}", self.management);
        let answer: Value = serde_json::from_str(&block_on(self.get(&url)).unwrap()).unwrap();
        answer["Status"].as_str().unwrap().to_owned()
    }

    /// Makes it answer so when it is asked about the renewal of this certificate (PEM).
    pub(crate) fn set_renewal_info(&self, certificate: &str, answer: &Value) {
        let url = format!("https://127.0.0.1:{}/set-renewal-info/", self.management);
        let body = json!({ "Certificate": certificate, "ARIResponse": answer.to_string() });
        let request = client(Some(&self.bundle)).post(&url).body(body.to_string()).send();
        block_on(request).unwrap().error_for_status().unwrap();
    }

    /// The certificate of one of its issuing roots, in PEM.
    pub(crate) fn root(&self, index: u8) -> String {
        block_on(self.get(&self.root_url(index))).unwrap()
    }

    /// Whether it knows profiles, which 2.4.0 does not.
    pub(crate) fn has_profiles(&self) -> bool {
        let directory: Value =
            serde_json::from_str(&block_on(self.get(&self.directory_url())).unwrap()).unwrap();
        directory["meta"]["profiles"].is_object()
    }

    /// The ACME requests so far, `POST /order-plz` each, in order, from its own log.
    pub(crate) fn requests(&self) -> Vec<String> {
        let log = self.server.log();
        let handled = log.lines().filter_map(|line| line.strip_suffix(" -> calling handler()"));
        let words =
            |line: &str| line.rsplitn(3, ' ').take(2).map(str::to_owned).collect::<Vec<_>>();
        handled.map(words).map(|words| format!("{} {}", words[1], words[0])).collect()
    }

    /// How often its log says this.
    pub(crate) fn said(&self, words: &str) -> usize {
        self.server.log().lines().filter(|line| line.contains(words)).count()
    }
}

/// A throw-away root and a certificate of it for a host: `cert.pem` and `key.pem`. The root is
/// returned.
pub(crate) fn write_certificate(folder: &Path, host: &str) -> String {
    let mut root = CertificateParams::default();
    root.distinguished_name.push(DnType::CommonName, "root of one test");
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root_key = KeyPair::generate().unwrap();
    let root_certificate = root.self_signed(&root_key).unwrap();
    let issuer = Issuer::new(root, root_key);
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec![host.to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    write(&folder.join("cert.pem"), &leaf.pem());
    write(&folder.join("key.pem"), &key.serialize_pem());
    root_certificate.pem()
}

#[expect(clippy::disallowed_methods, reason = "a file of a test")]
fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}
