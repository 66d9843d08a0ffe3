//! nginx of the system's packages, with the hook of `examples/`, in a folder of its own: `bin`
//! has the command `nginx` that is about this one, `out` the pair that it serves.

use std::fs::{self, File, Permissions};
use std::io::{Error, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, Stream};

/// The program; its place is on no user's search path.
fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders =
        std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let mut places = folders.map(|folder| folder.join("nginx"));
    places.find(|place| place.is_file()).unwrap_or_else(|| panic!("no nginx: see tests/run"))
}

/// A folder with everything that nginx needs but the pair, and its configuration, which is
/// written by [`Site::configure`].
pub(crate) struct Site {
    folder: PathBuf,
    port: u16,
}

impl Site {
    /// Puts the hook into `config/hooks.d` and the command into `bin`.
    pub(crate) fn prepare(folder: &Path, port: u16) -> Self {
        let preset = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/hooks.d/nginx");
        let site = Self { folder: folder.to_owned(), port };
        let (real, here) = (program(), folder.display());
        // Root's programs get a fixed search path.
        let (shell, hook) = ("#!/bin/sh\n", fs::read_to_string(preset).unwrap());
        let hook = hook.replacen(shell, &format!("{shell}PATH={here}/bin:$PATH\n"), 1);
        site.write("config/hooks.d/nginx", &hook, 0o755);
        let wrapper =
            format!("#!/bin/sh\nexec {} -p {here} -c {here}/nginx.conf \"$@\"\n", real.display());
        site.write("bin/nginx", &wrapper, 0o755);
        site
    }

    /// A search path with its command.
    pub(crate) fn search_path(&self) -> String {
        format!("{}/bin:/usr/bin:/bin", self.folder.display())
    }

    /// Writes its configuration.
    pub(crate) fn configure(&self) {
        let port = self.port;
        let place = |below: &str| self.folder.join(below).display().to_string();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("  {kind}_temp_path {};\n", place(kind)))
            .concat();
        let configuration = format!(
            "daemon off;\nworker_processes 2;\npid {pid};\nerror_log {log};\n\
             events {{ worker_connections 64; }}\nhttp {{\n  access_log off;\n{temporary}  \
             server {{\n    listen 127.0.0.1:{port} ssl;\n    \
             ssl_certificate {certificate};\n    ssl_certificate_key {key};\n    \
             location / {{ return 200 served; }}\n  }}\n}}\n",
            pid = place("nginx.pid"),
            log = place("nginx.log"),
            certificate = place("out/tls.crt"),
            key = place("out/tls.key"),
        );
        self.write("nginx.conf", &configuration, 0o644);
    }

    /// Starts it.
    pub(crate) fn start(&self) -> Nginx {
        let log = File::create(self.folder.join("nginx.stderr")).unwrap();
        let mut command = Command::new(self.folder.join("bin/nginx"));
        let master = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        Nginx { master: master.unwrap(), pid_file: self.folder.join("nginx.pid") }
    }

    fn write(&self, below: &str, text: &str, mode: u32) {
        let path = self.folder.join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }
}

/// A running master process; ended when dropped.
pub(crate) struct Nginx {
    master: Child,
    pid_file: PathBuf,
}

impl Nginx {
    /// Whether the process that was started is the one that serves, and was never another.
    pub(crate) fn serves(&mut self) -> bool {
        let pid = fs::read_to_string(&self.pid_file).unwrap_or_default();
        self.master.try_wait().unwrap().is_none() && pid.trim() == self.master.id().to_string()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.master);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        drop(self.master.wait());
    }
}

/// Visitors that trust one root.
#[derive(Clone)]
pub(crate) struct Visitor {
    config: Arc<ClientConfig>,
    name: &'static str,
    port: u16,
}

impl Visitor {
    /// Those who look for this name at the site; each shakes hands anew.
    pub(crate) fn of(site: &Site, name: &'static str, root_pem: &str) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(root_pem.as_bytes()).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.resumption = Resumption::disabled();
        Self { config: Arc::new(config), name, port: site.port }
    }

    /// A handshake, a request, an answer: the leaf that was shown.
    pub(crate) fn visit(&self) -> Result<CertificateDer<'static>, Error> {
        let name = ServerName::try_from(self.name).unwrap();
        let config = Arc::clone(&self.config);
        let mut session = ClientConnection::new(config, name).map_err(Error::other)?;
        let mut socket = TcpStream::connect(("127.0.0.1", self.port))?;
        socket.set_read_timeout(Some(Duration::from_secs(30)))?;
        let mut stream = Stream::new(&mut session, &mut socket);
        write!(stream, "GET / HTTP/1.0\r\nHost: {}\r\n\r\n", self.name)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        if !answer.ends_with(b"served") {
            return Err(Error::other(String::from_utf8_lossy(&answer).into_owned()));
        }
        let chain = session.peer_certificates().unwrap_or_default();
        chain.first().map(|leaf| leaf.clone().into_owned()).ok_or_else(|| Error::other("no leaf"))
    }
}
