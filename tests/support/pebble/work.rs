//! A place with manifests and a state, and the binary run in it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use certctl::engine::ports::{Clock as _, SystemClock};
use jiff::Timestamp;

use super::{Ca, Dns, faketime, tool};

/// What an Issuer says beside its server.
#[derive(Clone, Default)]
pub(crate) struct Issuer {
    /// `preferredChain`.
    pub(crate) preferred_chain: Option<String>,
    /// `profile`.
    pub(crate) profile: Option<String>,
    /// Key id and HMAC key of `externalAccountBinding`.
    pub(crate) external_account: Option<(String, String)>,
    /// `solvers`, as a list in flow style; HTTP-01 for every name when `None`.
    pub(crate) solvers: Option<String>,
    /// `renewalInformationSource: None`.
    pub(crate) never_asks: bool,
}

/// How a run of the binary ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The exit code, `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it printed.
    pub(crate) stdout: String,
    /// What it said.
    pub(crate) stderr: String,
}

impl Run {
    fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        Self { code: output.status.code(), stdout, stderr }
    }
}

/// A scratch folder with manifests and a state.
pub(crate) struct Work<'a> {
    ca: &'a Ca,
    program: PathBuf,
    resolver: String,
    listen: &'static str,
    folder: tempfile::TempDir,
}

impl<'a> Work<'a> {
    /// An empty one, for runs of `program` against `ca`.
    pub(crate) fn new(ca: &'a Ca, program: impl Into<PathBuf>) -> Self {
        let resolver = match ca.name_server {
            Some(server) => server.to_string(),
            None => ca.dns.address(),
        };
        Self {
            ca,
            program: program.into(),
            resolver,
            listen: "127.0.0.1",
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// The binary answers TLS-ALPN-01 at this address.
    pub(crate) fn listening_at(self, address: &'static str) -> Self {
        Self { listen: address, ..self }
    }

    /// The binary asks this DNS server, not the CA's.
    pub(crate) fn asking(self, dns: &Dns) -> Self {
        Self { resolver: dns.address(), ..self }
    }

    /// Writes a manifest of one Issuer and these certificates, each with its DNS names.
    pub(crate) fn manifest(
        &self,
        file: &str,
        issuer: &Issuer,
        certificates: &[(String, Vec<String>)],
    ) {
        let mut text = self.issuer(issuer);
        for (name, dns_names) in certificates {
            write!(
                text,
                "---\napiVersion: cert-manager.io/v1\nkind: Certificate\n\
                 metadata: {{ name: {name} }}\nspec:\n  secretName: {name}-tls\n  \
                 issuerRef: {{ name: pebble }}\n  \
                 privateKey: {{ algorithm: ECDSA, size: 256 }}\n  dnsNames:\n"
            )
            .unwrap();
            for dns_name in dns_names {
                writeln!(text, "  - {dns_name}").unwrap();
            }
        }
        self.write(file, &text);
    }

    /// Writes a manifest.
    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// The manifest of an Issuer `pebble`.
    pub(crate) fn issuer(&self, issuer: &Issuer) -> String {
        let solvers = issuer.solvers.as_deref().unwrap_or("[ http01: { ingress: {} } ]");
        let mut text = format!(
            "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {{ name: pebble }}\nspec:\n  \
             acme:\n    server: {}\n    caBundle: {}\n    \
             privateKeySecretRef: {{ name: account }}\n    solvers: {solvers}\n",
            self.ca.directory_url(),
            STANDARD.encode(self.ca.bundle()),
        );
        if let Some(chain) = &issuer.preferred_chain {
            writeln!(text, "    preferredChain: {chain}").unwrap();
        }
        if let Some(profile) = &issuer.profile {
            writeln!(text, "    profile: {profile}").unwrap();
        }
        if issuer.never_asks {
            writeln!(text, "    renewalInformationSource: None").unwrap();
        }
        if let Some((id, key)) = &issuer.external_account {
            write!(
                text,
                "    externalAccountBinding:\n      keyID: {id}\n      \
                 keySecretRef: {{ name: eab, key: hmac }}\n---\napiVersion: v1\nkind: Secret\n\
                 metadata: {{ name: eab }}\nstringData: {{ hmac: {key} }}\n"
            )
            .unwrap();
        }
        text
    }

    /// `certctl issue FILE`, in a process of its own.
    pub(crate) fn issue(&self, file: &str) -> Run {
        Run::of(&mut self.command(file))
    }

    /// Runs the binary with these words, in a process of its own.
    pub(crate) fn run(&self, words: &[&str]) -> Run {
        self.run_on_path("", words)
    }

    /// The command that [`Work::run`] runs.
    pub(crate) fn command_of(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        self.arrange(&mut command, words);
        command
    }

    /// The same with this search path for hooks.
    pub(crate) fn run_on_path(&self, path: &str, words: &[&str]) -> Run {
        let mut command = self.command_of(words);
        if !path.is_empty() {
            command.env("PATH", path);
        }
        Run::of(&mut command)
    }

    /// The command that [`Work::issue`] runs.
    pub(crate) fn command(&self, file: &str) -> Command {
        self.command_of(&["issue", "-v", &format!("./{file}")])
    }

    /// Runs the binary with these words at what libfaketime makes it take for the time, which goes
    /// on from there.
    pub(crate) fn run_at(&self, time: Timestamp, words: &[&str]) -> Run {
        Run::of(&mut self.command_at(time, words))
    }

    /// The command that [`Work::run_at`] runs.
    pub(crate) fn command_at(&self, time: Timestamp, words: &[&str]) -> Command {
        // Its package has the library.
        tool::needed("faketime");
        let offset = SystemClock.now().duration_until(time).as_secs();
        let mut command = Command::new(&self.program);
        self.arrange(&mut command, words);
        faketime::load(&mut command).env("FAKETIME", format!("{offset:+}s"));
        command
    }

    fn arrange(&self, command: &mut Command, words: &[&str]) {
        let port = self.ca.http_port;
        command.current_dir(self.folder.path()).env_clear().env("HOME", self.folder.path());
        command.args(words);
        if !words.contains(&"--timeout") {
            command.args(["--timeout", "60s"]);
        }
        command.args(["--state-dir", "state", "--config-dir", "config"]);
        command.args(["--resolver", &self.resolver]);
        if let Some(server) = self.ca.name_server {
            command.env("CERTCTL_DNS01_AUTHORITATIVE_PORT", server.port().to_string());
        }
        command.args(["--http01-listen", &format!("127.0.0.1:{port}")]);
        command.args(["--http01-check-port", &port.to_string()]);
        let tls_port = self.ca.tls_port.to_string();
        command.args(["--tlsalpn01-listen", &format!("{}:{tls_port}", self.listen)]);
        command.env("CERTCTL_TLSALPN01_CHECK_PORT", tls_port);
        command.stdin(Stdio::null());
    }

    /// Where the zones are that the CA asks for, if it has no DNS server of its own.
    pub(crate) fn name_server(&self) -> Option<SocketAddr> {
        self.ca.name_server
    }

    /// A place below the folder.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// A file of the secret of a certificate.
    pub(crate) fn secret(&self, certificate: &str, file: &str) -> Option<String> {
        let folder = self.folder.path().join("state/secrets/default");
        std::fs::read_to_string(folder.join(format!("{certificate}-tls")).join(file)).ok()
    }
}
