//! Promise: with the hook of `examples/`, a running nginx takes up a renewed certificate without a
//! restart and without one visitor who is turned away.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong in a test ends the test")]

#[path = "pebble_support/port.rs"]
mod port;
#[expect(dead_code, unused_imports, reason = "other tests use the rest")]
#[cfg(test)]
#[path = "support/mod.rs"]
mod support;

use std::fs::{self, File, Permissions};
use std::io::{Error, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, Stream};
use support::{CertificateYaml, World, finish, until};

/// The program; its place is on no user's search path.
fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders =
        std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let mut places = folders.map(|folder| folder.join("nginx"));
    places.find(|place| place.is_file()).unwrap_or_else(|| panic!("no nginx: see tests/run"))
}

/// A running master process; ended when dropped.
struct Nginx {
    master: Child,
    port: u16,
}

impl Nginx {
    /// Serves the pair in `out`. The command `nginx` in `bin` is about this one.
    fn start(world: &World) -> Self {
        let port = port::free_port();
        let place = |below: &str| world.path(below).display().to_string();
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
        world.write("nginx.conf", &configuration);
        let log = File::create(world.path("nginx.stderr")).unwrap();
        let command = &mut Command::new(world.path("bin/nginx"));
        let master = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        Self { master: master.unwrap(), port }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.master);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        drop(self.master.wait());
    }
}

/// What visitors saw, in their order: the leaf, or why there was none.
#[derive(Default)]
struct Seen(Mutex<Vec<Result<CertificateDer<'static>, String>>>);

impl Seen {
    /// Whether the last visitors saw this.
    fn ends_in(&self, leaf: &CertificateDer<'_>, visitors: usize) -> bool {
        let seen = self.0.lock().unwrap();
        let last = seen.iter().rev().take(visitors);
        seen.len() > visitors && last.clone().all(|seen| seen.as_ref() == Ok(leaf))
    }
}

/// One visitor after the other, until it is dropped.
struct Visitors {
    seen: Arc<Seen>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Visitors {
    fn start(world: &World, port: u16) -> Self {
        let config = trusting(&world.ca.root_pem());
        let (seen, over) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
        let (all, end) = (Arc::clone(&seen), Arc::clone(&over));
        let thread = thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                let visit = visit(&config, port).map_err(|error| error.to_string());
                all.0.lock().unwrap().push(visit);
            }
        });
        Self { seen, over, thread: Some(thread) }
    }
}

impl Drop for Visitors {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

/// A client that shakes hands anew each time.
fn trusting(root_pem: &str) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(root_pem.as_bytes()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.resumption = Resumption::disabled();
    Arc::new(config)
}

/// A handshake, a request, an answer.
fn visit(config: &Arc<ClientConfig>, port: u16) -> Result<CertificateDer<'static>, Error> {
    let name = ServerName::try_from("web.example.test").unwrap();
    let mut session = ClientConnection::new(Arc::clone(config), name).map_err(Error::other)?;
    let mut socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut stream = Stream::new(&mut session, &mut socket);
    stream.write_all(b"GET / HTTP/1.0\r\nHost: web.example.test\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    if !answer.ends_with(b"served") {
        return Err(Error::other(String::from_utf8_lossy(&answer).into_owned()));
    }
    let chain = session.peer_certificates().unwrap_or_default();
    chain.first().map(|leaf| leaf.clone().into_owned()).ok_or_else(|| Error::other("no leaf"))
}

fn live_leaf(world: &World) -> CertificateDer<'static> {
    let path = world.path("state/secrets/default/web-tls/tls.crt");
    CertificateDer::from_pem_file(path).unwrap()
}

fn executable(path: &Path) {
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_running_nginx_takes_up_the_renewed_certificate_and_turns_nobody_away() {
    let world = World::start();
    world.prepare(&[CertificateYaml::new("web")
        .annotation("certctl.io/output-dir", &world.path("out").display().to_string())
        .annotation("certctl.io/reload", "nginx")]);
    let preset = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/hooks.d/nginx");
    let hook = world.write("config/hooks.d/nginx", &fs::read_to_string(preset).unwrap());
    executable(&hook);
    let (real, folder) = (program(), world.path(""));
    let (real, folder) = (real.display(), folder.display());
    let wrapper = format!("#!/bin/sh\nexec {real} -p {folder} -c {folder}/nginx.conf \"$@\"\n");
    executable(&world.write("bin/nginx", &wrapper));
    let path = format!("{folder}/bin:/usr/bin:/bin");
    let run = |words: &[&str]| finish(world.command(words).env("PATH", &path).spawn().unwrap());

    // A hook that checks a configuration that is not there yet fails, and that costs no order.
    run(&["issue"]).ends_in(6).says("reload nginx");
    let nginx = &mut Nginx::start(&world);
    let pid_file = || fs::read_to_string(world.path("nginx.pid")).unwrap_or_default();
    until("nginx runs", || pid_file().trim() == nginx.master.id().to_string());
    run(&["deploy"]).ends_in(0);

    let visitors = Visitors::start(&world, nginx.port);
    let old = live_leaf(&world);
    until("visitors see the certificate", || visitors.seen.ends_in(&old, 20));
    run(&["renew", "web"]).ends_in(0);
    let new = live_leaf(&world);
    assert_ne!(old, new);
    until("visitors see the new certificate", || visitors.seen.ends_in(&new, 50));

    assert_eq!(nginx.master.try_wait().unwrap(), None, "it was not restarted");
    assert_eq!(pid_file().trim(), nginx.master.id().to_string());
    let seen = visitors.seen.0.lock().unwrap();
    let turned_away: Vec<&String> = seen.iter().filter_map(|seen| seen.as_ref().err()).collect();
    assert!(turned_away.is_empty(), "{} of {}: {turned_away:?}", turned_away.len(), seen.len());
    assert!(seen.iter().flatten().all(|leaf| *leaf == old || *leaf == new));
}
