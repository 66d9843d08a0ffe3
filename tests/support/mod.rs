//! The world that the binary is driven in: the built-in CA, a name server, a port for HTTP-01,
//! and folders for manifests and state that are gone afterwards.

pub(crate) mod fixture;
mod manifests;
mod outlooks;
mod process;
mod state;
mod web_server;
mod webhook;

use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use certctl::engine::ports::{Clock as _, SystemClock};
use certctl::rehearsal::{CaOptions, CaThread, Fault, NameServer, RequestKind, Rule};
use socket2::{Domain, Socket, Type};
use tempfile::TempDir;

use outlooks::Outlooks;

pub(crate) use manifests::{CertificateYaml, IssuerYaml};
pub(crate) use process::{Run, finish, until};
pub(crate) use state::{Entry, State};
pub(crate) use web_server::{WebServer, silent_server};
pub(crate) use webhook::Webhook;

/// See the module. Every name below `example.test` is this machine.
pub(crate) struct World {
    pub(crate) ca: CaThread,
    pub(crate) dns: NameServer,
    pub(crate) port: Port,
    /// The port of TLS-ALPN-01.
    pub(crate) tls_port: Port,
    folder: TempDir,
}

/// Where the folders of worlds are, whatever TMPDIR is: text for a terminal is wrapped with their
/// paths in it, and the path of a socket has a hundred bytes at most.
const FOLDERS: &str = "/tmp";

impl World {
    /// A world with a well-behaved CA.
    pub(crate) fn start() -> Self {
        Self::with(|_| {})
    }

    /// A world with a CA that is changed before it starts.
    pub(crate) fn with(change: impl FnOnce(&mut CaOptions)) -> Self {
        let here = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
        let names = BTreeMap::from([("*.example.test".to_owned(), here)]);
        let dns = NameServer::start(names).unwrap();
        let port = Port::take();
        let mut options = CaOptions::new(Arc::new(|| SystemClock.now()), dns.resolver());
        options.http01_port = port.number();
        let tls_port = Port::take();
        options.tlsalpn01_port = tls_port.number();
        change(&mut options);
        let ca = CaThread::start(options).unwrap();
        let folder = tempfile::tempdir_in(FOLDERS).unwrap();
        for name in ["config", "home"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { ca, dns, port, tls_port, folder }
    }

    /// A world with an Issuer `ca` and these Certificates in the config directory.
    pub(crate) fn prepared(certificates: &[CertificateYaml]) -> Self {
        let world = Self::start();
        world.prepare(certificates);
        world
    }

    /// Writes an Issuer `ca` and these Certificates into the config directory.
    pub(crate) fn prepare(&self, certificates: &[CertificateYaml]) {
        self.write("config/issuer.yaml", &self.issuer());
        for certificate in certificates {
            self.write(&format!("config/{}.yaml", certificate.name()), certificate);
        }
    }

    /// An Issuer `ca` of this world's CA.
    pub(crate) fn issuer(&self) -> IssuerYaml {
        IssuerYaml::new(&self.ca.directory_url(), &self.ca.root_pem())
    }

    /// A place below the world's folder.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// Writes a file below the world's folder.
    pub(crate) fn write(&self, below: &str, text: &(impl ToString + ?Sized)) -> PathBuf {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = text.to_string();
        File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        // Secrets that others may read are refused.
        if text.contains("kind: Secret") {
            std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        }
        path
    }

    /// Writes an entry of a Secret of the namespace `default`, for its owner alone.
    pub(crate) fn write_secret(&self, name: &str, key: &str, text: &str) {
        let path = self.write(&format!("config/secrets/default/{name}/{key}"), text);
        std::fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    }

    /// Writes a program below the world's folder: a shell script.
    pub(crate) fn write_program(&self, below: &str, script: &str) -> PathBuf {
        let path = self.write(below, &format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// What certctl has written.
    pub(crate) fn state(&self) -> State {
        State::new(self.path("state"))
    }

    /// The binary in a clean environment that knows this world and nothing else.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_certctl"));
        command.args(words).arg("--http01-check-port").arg(self.port.number().to_string());
        if !words.contains(&"--self-check-interval") {
            command.args(["--self-check-interval", "100ms"]);
        }
        self.surround(&mut command);
        command
    }

    /// Gives a command this world's environment.
    pub(crate) fn surround(&self, command: &mut Command) {
        command
            .env_clear()
            .env("HOME", self.path("home"))
            .env("CERTCTL_CONFIG_DIR", self.path("config"))
            .env("CERTCTL_STATE_DIR", self.path("state"))
            .env("CERTCTL_RESOLVERS", self.dns.address().to_string())
            .env("CERTCTL_DNS01_AUTHORITATIVE_PORT", self.dns.address().port().to_string())
            .env("CERTCTL_HTTP01_LISTEN", self.port.address().to_string())
            .env("CERTCTL_TLSALPN01_LISTEN", self.tls_port.address().to_string())
            .env("CERTCTL_TLSALPN01_CHECK_PORT", self.tls_port.number().to_string())
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, words: &[&str]) -> Run {
        finish(self.start_certctl(words))
    }

    /// Starts the binary.
    pub(crate) fn start_certctl(&self, words: &[&str]) -> Child {
        self.command(words).spawn().unwrap()
    }

    /// `certctl issue` over the config directory.
    pub(crate) fn issue(&self) -> Run {
        let said = Outlooks::of(self);
        let run = self.run(&["issue"]);
        if let Some(said) = said {
            said.are_of(self, &run);
        }
        run
    }

    /// Makes the CA misbehave.
    pub(crate) fn fault(&self, rule: Rule) {
        self.ca.faults().add(rule);
    }

    /// The fault on the next request of the kind.
    pub(crate) fn next_fault(&self, kind: RequestKind, fault: Fault) {
        self.fault(Rule::next(1, fault).on(kind));
    }

    /// How many requests of a kind were sent, answered or not.
    pub(crate) fn sent(&self, kind: RequestKind) -> usize {
        self.ca.log().iter().filter(|entry| entry.kind == kind).count()
    }
}

/// A port of 127.0.0.1 that is kept for this world alone: bound in the way certctl shares its own
/// port, and never listened on, so that the listening process gets all connections.
pub(crate) struct Port {
    pub(crate) socket: Socket,
}

impl Port {
    /// Takes a free one.
    pub(crate) fn take() -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_reuse_address(true).unwrap();
        socket.set_reuse_port(true).unwrap();
        socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
        Self { socket }
    }

    /// The address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.socket.local_addr().unwrap().as_socket().unwrap()
    }

    /// The port alone.
    pub(crate) fn number(&self) -> u16 {
        self.address().port()
    }
}

/// Longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
