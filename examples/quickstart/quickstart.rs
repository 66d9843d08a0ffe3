//! The quick start, on a machine with nothing but Rust: a CA and a name server inside this
//! process, the manifests of `examples/quickstart/`, and the same code as the binary.
//!
//! `cargo run --example quickstart`

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use certctl::cli::environment::Environment;
use certctl::engine::ports::{Clock as _, SystemClock};
use certctl::rehearsal::{CaOptions, CaThread, NameServer, RequestKind};

fn main() -> ExitCode {
    match quickstart() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If stderr cannot be written either, the exit code still reports the failure.
            drop(writeln!(io::stderr(), "quickstart: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn quickstart() -> Result<(), Box<dyn Error>> {
    let scene = Scene::build()?;
    say("A throw-away ACME CA and a name server run in this process; every name below")?;
    say("example.com leads here. The manifests are those of examples/quickstart/.")?;

    scene.certctl("issue")?;
    let requests = scene.ca.requests();
    let made = [RequestKind::NewAccount, RequestKind::NewOrder].map(|kind| scene.ca.created(kind));
    let issued = scene.ca.issued();
    check((made, issued) == ([1, 2], 2), "one account, two orders and two certificates were made")?;
    say(&format!("The CA saw one account, two orders and {requests} requests."))?;

    scene.certctl("status")?;

    say("\nThe files that servers use, and the links that move in one rename:")?;
    let secrets = scene.state.join("secrets");
    let files = list(&secrets, &secrets)?;
    for line in &files {
        say(&format!("  {line}"))?;
    }
    for file in ["www-tls/tls.crt", "www-tls/tls.key", "api-tls/tls-combined.pem"] {
        let pem = fs::read_to_string(secrets.join("default").join(file))?;
        check(pem.starts_with("-----BEGIN "), &format!("{file} is PEM"))?;
    }

    scene.certctl("issue")?;
    check(scene.ca.requests() == requests, "a second run sends nothing")?;
    check(list(&secrets, &secrets)? == files, "a second run changes nothing")?;
    say("Nothing was due: no request, no change. `certctl issue` is the line for cron.")?;
    say("\nAll of it was in a folder that is deleted now. Next, without a domain:")?;
    say("docs/src/guide/try.md; with a CA of your own: docs/src/how-to/pebble.md.")?;
    Ok(())
}

/// The servers and folders for a first certificate.
struct Scene {
    ca: CaThread,
    dns: NameServer,
    http01: String,
    config: PathBuf,
    state: PathBuf,
    /// Deleted on drop.
    _folder: tempfile::TempDir,
}

impl Scene {
    fn build() -> Result<Self, Box<dyn Error>> {
        let here = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
        let dns = NameServer::start(BTreeMap::from([("*.example.com".to_owned(), here)]))?;
        let mut options = CaOptions::new(Arc::new(|| SystemClock.now()), dns.resolver());
        // A free port is used instead of port 80.
        options.http01_port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let http01 = options.http01_port.to_string();
        let ca = CaThread::start(options)?;
        let folder = tempfile::tempdir()?;
        let (config, state) = (folder.path().join("config"), folder.path().join("state"));
        fs::create_dir(&config)?;
        let scene = Self { ca, dns, http01, config, state, _folder: folder };
        scene.write_manifests()?;
        Ok(scene)
    }

    /// The manifests, with the CA's address and root replaced.
    fn write_manifests(&self) -> Result<(), Box<dyn Error>> {
        let bundle = BASE64_STANDARD.encode(self.ca.root_pem());
        let server = format!("server: {}\n    caBundle: {bundle}", self.ca.directory_url());
        let source = Path::new(env!("CARGO_MANIFEST_DIR"));
        for entry in fs::read_dir(source)? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            let text = fs::read_to_string(&path)?;
            let text = text.replace("server: https://acme.example.com/directory", &server);
            let name = path.file_name().unwrap_or_default();
            File::create(self.config.join(name))?.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// Runs a verb as the binary does, and fails unless it ends in 0.
    fn certctl(&self, verb: &str) -> Result<(), Box<dyn Error>> {
        say(&format!("\n$ certctl {verb}"))?;
        let mut words: Vec<OsString> = vec!["certctl".into(), verb.into()];
        let listen = format!("127.0.0.1:{}", self.http01);
        let flags: [(&str, OsString); 5] = [
            ("--config-dir", self.config.clone().into()),
            ("--state-dir", self.state.clone().into()),
            ("--resolver", self.dns.address().to_string().into()),
            ("--http01-listen", listen.into()),
            ("--http01-check-port", self.http01.clone().into()),
        ];
        for (flag, value) in flags {
            words.extend([flag.into(), value]);
        }
        let code = certctl::cli::run(words, Environment::from_pairs(&[])).number();
        check(code == 0, &format!("certctl {verb} ends in 0, not in {code}"))
    }
}

fn check(is_so: bool, what: &str) -> Result<(), Box<dyn Error>> {
    if is_so { Ok(()) } else { Err(format!("this should hold and does not: {what}").into()) }
}

fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}

/// The content of a folder: each file, and each link with its target.
fn list(root: &Path, folder: &Path) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let metadata = fs::symlink_metadata(&path)?;
        if metadata.is_symlink() {
            lines.push(format!("{name} -> {}", fs::read_link(&path)?.display()));
        } else if metadata.is_dir() {
            lines.extend(list(root, &path)?);
        } else {
            lines.push(name);
        }
    }
    lines.sort();
    Ok(lines)
}
