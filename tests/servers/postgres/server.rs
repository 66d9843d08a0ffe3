//! PostgreSQL of Debian for tests: started with TLS and a password, stopped, killed, started again.
//!
//! It has a free loopback port and a folder of its own, and is only taken for started when it shows a
//! certificate that was made for it. It is ended by its process id. It refuses to be root's.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use jiff::SignedDuration;
use rustix::process::{Pid, Signal, kill_process};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;

use crate::pebble_support::ca::write_certificate;
use crate::pebble_support::{block_on, free_port, needed};
use crate::postgres_support::{Postgres, Settings};
use crate::support::until;

/// A running server with a database.
pub(super) struct Server {
    folder: tempfile::TempDir,
    port: u16,
    /// The root of its certificate.
    root: String,
    process: Mutex<Child>,
}

impl Server {
    /// The one that those tests share that leave it alone.
    pub(super) fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap();
        if let Some(server) = shared.upgrade() {
            return server;
        }
        let server = Arc::new(Self::start());
        *shared = Arc::downgrade(&server);
        server
    }

    /// Makes a database and starts a server for it.
    pub(super) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = write_certificate(folder.path(), ADDRESS);
        for file in ["cert.pem", "key.pem"] {
            fs::set_permissions(folder.path().join(file), Permissions::from_mode(0o600)).unwrap();
        }
        write(&folder.path().join("password"), PASSWORD);
        if is_root() {
            for place in ["cert.pem", "key.pem", "password", ""] {
                chown(folder.path().join(place), Some(USER), Some(USER)).unwrap();
            }
        }
        let mut initdb = program("initdb");
        initdb.args(["--no-sync", "--no-locale", "--encoding=UTF8", "--auth=scram-sha-256"]);
        initdb.args(["--username=certctl", "--no-instructions", "--pwfile"]);
        initdb.arg(folder.path().join("password")).arg(folder.path().join("data"));
        let made = initdb.output().unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let access = format!("hostssl all all {ADDRESS}/32 scram-sha-256\n");
        write(&folder.path().join("data/pg_hba.conf"), &access);
        let port = free_port();
        let process = Mutex::new(spawn(folder.path(), port));
        let mut server = Self { folder, port, root, process };
        for _ in 0..2 {
            if server.answers() {
                return server;
            }
            server.port = free_port();
            *server.process.get_mut().unwrap() = spawn(server.folder.path(), server.port);
        }
        assert!(server.answers(), "PostgreSQL ended: {}", server.log());
        server
    }

    /// Waits until it answers, as no other server can; or ends, as without its port.
    fn answers(&self) -> bool {
        let store = Postgres::open(self.settings("public"));
        let mut answers = false;
        until("PostgreSQL answers", || {
            answers = block_on(async {
                let is_prepared = store.prepare().await.is_ok();
                if !is_prepared {
                    tokio::time::sleep(Duration::from_millis(30)).await;
                }
                is_prepared
            });
            answers || self.process.lock().unwrap().try_wait().unwrap().is_some()
        });
        answers
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// The root of its certificate, and its port.
    pub(super) fn identity(&self) -> (&str, u16) {
        (&self.root, self.port)
    }

    /// How to reach it. Each state has a schema of its own; the times are short.
    pub(super) fn settings(&self, schema: &str) -> Settings {
        reached(&self.root, self.port, schema)
    }

    /// A new, empty state.
    pub(super) fn state(&self, schema: &str) -> Settings {
        let settings = self.settings(schema);
        let store = Postgres::open(settings.clone());
        block_on(store.run(&format!("CREATE SCHEMA {schema}"))).unwrap();
        block_on(store.prepare()).unwrap();
        settings
    }

    /// The processes, the first one before those that it has started.
    fn processes(&self) -> Vec<Pid> {
        let first = self.process.lock().unwrap().id();
        let path = format!("/proc/{first}/task/{first}/children");
        let children = fs::read_to_string(path).unwrap_or_default();
        let children = children.split_whitespace().map(|pid| pid.parse().unwrap());
        let all = std::iter::once(i32::try_from(first).unwrap()).chain(children);
        all.map(|pid| Pid::from_raw(pid).unwrap()).collect()
    }

    /// Stops all of it: what is sent to it waits.
    pub(super) fn stop(&self) {
        // Those that the first one has started until it was stopped are found by the second look.
        let mut stopped = BTreeSet::new();
        for _ in 0..2 {
            for process in self.processes() {
                if stopped.insert(process.as_raw_nonzero()) {
                    kill_process(process, Signal::STOP).ok();
                }
            }
        }
    }

    /// Lets it go on.
    pub(super) fn go_on(&self) {
        for process in self.processes() {
            kill_process(process, Signal::CONT).ok();
        }
    }

    /// Kills all of it at once.
    pub(super) fn kill(&self) {
        self.stop();
        let all = self.processes();
        for process in &all {
            kill_process(*process, Signal::KILL).ok();
        }
        drop(self.process.lock().unwrap().wait());
        until("its processes have ended", || all.iter().all(|process| has_ended(*process)));
    }

    /// Starts it again after it was killed.
    pub(super) fn start_again(&self) {
        *self.process.lock().unwrap() = spawn(self.folder.path(), self.port);
        assert!(self.answers(), "PostgreSQL ended: {}", self.log());
    }
}

impl Drop for Server {
    /// At once, but so that it ends the processes that it has started.
    fn drop(&mut self) {
        self.go_on();
        let process = self.process.get_mut().unwrap();
        kill_process(Pid::from_child(process), Signal::QUIT).ok();
        drop(process.wait());
    }
}

/// How to reach a server.
pub(super) fn reached(root: &str, port: u16, schema: &str) -> Settings {
    let mut config = Config::new();
    config.user("certctl").password(PASSWORD).dbname("postgres");
    config.options(format!("-c search_path={schema}"));
    let mut settings = Settings::new(ADDRESS, port, config, trusting(root));
    settings.lasting = SignedDuration::from_secs(20);
    settings.margin = SignedDuration::from_millis(50);
    settings.page = 3;
    settings.events = 4;
    settings
}

fn spawn(folder: &Path, port: u16) -> Child {
    let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
    let mut command = program("postgres");
    command.arg("-D").arg(folder.join("data")).arg("-p").arg(port.to_string());
    let places = ["cert.pem", "key.pem"].map(|file| folder.join(file).display().to_string());
    let [certificate, key] = places;
    for setting in [
        format!("listen_addresses={ADDRESS}"),
        "unix_socket_directories=".to_owned(),
        "ssl=on".to_owned(),
        format!("ssl_cert_file={certificate}"),
        format!("ssl_key_file={key}"),
        // The processes are killed, and never the machine.
        "fsync=off".to_owned(),
        "shared_buffers=16MB".to_owned(),
        "max_connections=40".to_owned(),
    ] {
        command.arg("-c").arg(setting);
    }
    let errors = log.try_clone().unwrap();
    command.stdin(Stdio::null()).stdout(log).stderr(errors);
    command.spawn().unwrap()
}

/// A program of the server, as a user that is not root.
fn program(name: &str) -> Command {
    let mut command = Command::new(path_of(name).unwrap_or_else(|| needed(name)));
    command.env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
    if is_root() {
        command.uid(USER).gid(USER);
    }
    command
}

/// Of the newest version there: where Debian has them, no user looks.
fn path_of(name: &str) -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let versions = versions.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let newest: u32 = versions.max()?;
    let path = PathBuf::from(format!("/usr/lib/postgresql/{newest}/bin/{name}"));
    path.is_file().then_some(path)
}

/// Whether a process is gone, or waits for its parent alone.
pub(super) fn has_ended(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    let Ok(stat) = stat else { return true };
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'))
}

/// Trusts this root alone.
pub(super) fn trusting(root: &str) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(root.as_bytes()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[expect(clippy::disallowed_methods, reason = "a file of a test")]
fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}

const ADDRESS: &str = "127.0.0.1";
const PASSWORD: &str = "known to the tests";
/// `nobody`.
const USER: u32 = 65_534;
