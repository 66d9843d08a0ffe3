//! Secrets stay where they belong: a run that tells everything it can, with programs that write
//! down whatever they are given, and servers that repeat what they hear.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use certctl::rehearsal::RequestKind;

use crate::support::{CertificateYaml, Entry, Webhook, World, finish};

/// A secret: what it is, all the forms in which it could get out, and the end of the names of the
/// files below the state where it belongs; empty when it belongs into none.
struct Canary {
    what: &'static str,
    forms: Vec<Vec<u8>>,
    home: &'static [&'static str],
}

impl Canary {
    fn of(what: &'static str, text: &str) -> Self {
        let encoded = [BASE64_STANDARD.encode(text), BASE64_URL_SAFE_NO_PAD.encode(text)];
        let forms = [text.to_owned()].into_iter().chain(encoded).map(String::into_bytes);
        Self { what, forms: forms.collect(), home: &[] }
    }

    /// The lines of a key's PEM that differ from key to key.
    fn of_key(what: &'static str, pem: &str, home: &'static [&'static str]) -> Self {
        let body: Vec<&str> = pem.lines().filter(|line| !line.starts_with("-----")).collect();
        let der = BASE64_STANDARD.decode(body.concat()).unwrap();
        let lines = body.iter().skip(1).map(|line| line.as_bytes().to_vec());
        // The private half of an EC key follows its algorithm in both forms.
        let raw = der[der.len() / 4..der.len() / 2].to_vec();
        Self { what, forms: lines.chain([raw]).collect(), home }
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        self.forms.iter().any(|form| bytes.windows(form.len()).any(|part| part == form))
    }
}

const EAB: &str = "canary-eab-hmac-0123456789abcdef";
const TSIG: &str = "canary-tsig-secret-0123456789abcdef";
const TOKEN: &str = "canary-cloudflare-token-0123456789abcdef";
const HEADER: &str = "canary-webhook-header-0123456789";
const ACME_DNS: &str = "canary-acme-dns-password-0123456789";
const JKS: &str = "canary-jks-password-0123";
const PKCS12: &str = "canary-pkcs12-password-0123";

/// Repeats in its refusal whatever it is sent: acme-dns to one who is not let in.
struct Parrot {
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Parrot {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut buffer = [0; 4096];
                let length = stream.read(&mut buffer).unwrap_or(0);
                if length == 0 {
                    return;
                }
                let heard = String::from_utf8_lossy(&buffer[..length]).into_owned();
                let said = serde_json::json!({ "error": heard }).to_string();
                let answer = format!("HTTP/1.1 401 No\r\nContent-Length: {}\r\n\r\n", said.len());
                drop(stream.write_all((answer + &said).as_bytes()));
                drop(stream.shutdown(Shutdown::Both));
            }
        });
        Self { address, thread: Some(thread) }
    }
}

impl Drop for Parrot {
    fn drop(&mut self) {
        // A visitor without a word ends it.
        drop(TcpStream::connect(self.address));
        self.thread.take().map(JoinHandle::join);
    }
}

/// A solver for one name alone.
fn for_name(name: &str, solver: &str) -> String {
    format!("{solver}      selector: {{dnsNames: [{name}.example.test]}}\n")
}

/// Everything that takes a secret, each in a certificate of its own; `web` takes several.
fn prepare(world: &World, webhook: &Webhook, parrot: &Parrot) {
    let dns = world.dns.address();
    let parrot = parrot.address;
    let solvers = [
        "    - http01: {ingress: {}}\n".to_owned(),
        for_name(
            "hook",
            &webhook.solver("            headers: {X-Canary: {name: webhook, key: header}}\n"),
        ),
        for_name(
            "exec",
            "    - dns01:\n        webhook:\n          groupName: certctl\n          solverName: \
             exec\n          config: {command: dump}\n",
        ),
        for_name(
            "cloud",
            "    - dns01:\n        cloudflare: {apiTokenSecretRef: {name: cloud, key: token}}\n",
        ),
        for_name(
            "tsig",
            &format!(
                "    - dns01:\n        rfc2136:\n          nameserver: '{dns}'\n          \
                 tsigKeyName: canary\n          tsigAlgorithm: HMACSHA256\n          \
                 tsigSecretSecretRef: {{name: tsig, key: secret}}\n"
            ),
        ),
        for_name(
            "joohoi",
            &format!(
                "    - dns01:\n        acmeDNS:\n          host: http://{parrot}\n          \
                 accountSecretRef: {{name: joohoi, key: accounts}}\n"
            ),
        ),
    ];
    let binding = "externalAccountBinding:\n      keyID: kid-1\n      keySecretRef: {name: eab, \
                   key: hmac}";
    let issuer = world.issuer().field(binding).solvers(&solvers.concat());
    world.write("config/issuer.yaml", &issuer);
    world.write_secret("eab", "hmac", &BASE64_URL_SAFE_NO_PAD.encode(EAB));
    world.write_secret("webhook", "header", HEADER);
    world.write_secret("cloud", "token", TOKEN);
    world.write_secret("tsig", "secret", &BASE64_STANDARD.encode(TSIG));
    let account = serde_json::json!({"joohoi.example.test": {
        "username": "u", "password": ACME_DNS, "fulldomain": "f.example.test", "subdomain": "f",
    }});
    world.write_secret("joohoi", "accounts", &account.to_string());
    world.write_secret("stores", "jks", JKS);
    world.write_secret("stores", "pkcs12", PKCS12);
    let stores = "keystores:\n    jks: {create: true, passwordSecretRef: {name: stores, key: \
                  jks}}\n    pkcs12: {create: true, passwordSecretRef: {name: stores, key: \
                  pkcs12}}";
    let out = world.path("out").display().to_string();
    let web = CertificateYaml::new("web")
        .field(stores)
        .field("additionalOutputFormats: [{type: DER}, {type: CombinedPEM}]")
        .annotation("certctl/output-dir", &out)
        .annotation("certctl/deploy-hook", "install")
        .annotation("certctl/reload", "reload");
    world.write("config/web.yaml", &web);
    for name in ["hook", "exec", "cloud", "tsig", "joohoi"] {
        world.write(&format!("config/{name}.yaml"), &CertificateYaml::new(name));
    }
    // Each program writes down its arguments, its environment, its input, and who called it how.
    let dumps = world.path("dumps");
    fs::create_dir(&dumps).unwrap();
    let dump = format!(
        "{{ echo \"$0 $*\"; cat /proc/$$/environ /proc/$$/cmdline /proc/$PPID/cmdline \
         /proc/$PPID/environ; cat; }} > {}/${{0##*/}}.$$",
        dumps.display()
    );
    for hook in ["install", "reload", "on-failure"] {
        world.write_program(&format!("config/hooks.d/{hook}"), &dump);
    }
    world.write_program("config/solvers.d/dump", &format!("{dump}\nexit 1"));
}

/// What certctl and its programs have said, by where they said it.
fn said(world: &World) -> BTreeMap<String, Vec<u8>> {
    let mut said = BTreeMap::new();
    let runs: &[&[&str]] = &[
        &["issue", "-vvv", "--timeout", "6s"],
        &["renew", "--all", "--yes", "-vvv", "--log-format", "json", "--timeout", "6s"],
        &["issue", "-vvv", "--log-format", "json", "--metrics-file", "metrics", "--timeout", "6s"],
        &["deploy", "-vvv"],
        &["plan", "-o", "json"],
        &["status", "-o", "yaml"],
        &["status", "web"],
        &["status", "-o", "prometheus"],
        &["inspect", "web"],
        &["check", "dns", "tsig.example.test", "-vvv"],
        &["account", "show", "-vvv"],
    ];
    for words in runs {
        let mut command = world.command(words);
        // The way to the clouds ends here.
        command.env("HTTPS_PROXY", format!("http://{}", world.port.address()));
        let run = finish(command.spawn().unwrap());
        let text = [run.stdout, run.stderr].concat();
        assert!(!text.contains("panicked"), "{words:?}: {text}");
        said.insert(format!("certctl {}", words.join(" ")), text.into_bytes());
    }
    for file in fs::read_dir(world.path("dumps")).unwrap() {
        let path = file.unwrap().path();
        said.insert(path.file_name().unwrap().to_string_lossy().into_owned(), read(&path));
    }
    said.insert("metrics".to_owned(), read(&world.path("metrics")));
    said
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The secrets that were handed over, and the keys that were made.
fn canaries(world: &World, files: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<Canary> {
    let mut all = vec![
        Canary::of("EAB", EAB),
        Canary::of("TSIG", TSIG),
        Canary::of("Cloudflare token", TOKEN),
        Canary::of("webhook header", HEADER),
        Canary::of("acme-dns password", ACME_DNS),
        Canary::of("JKS password", JKS),
        Canary::of("PKCS#12 password", PKCS12),
    ];
    let pem = |path: &Path| String::from_utf8(read(path)).unwrap();
    for path in files.keys() {
        if path.ends_with("tls.key") {
            let home = &["tls.key", "key.der", "tls-combined.pem"];
            all.push(Canary::of_key("private key", &pem(path), home));
        } else if path.ends_with("key.pem") && path.starts_with(world.state().path("accounts")) {
            all.push(Canary::of_key("account key", &pem(path), &["key.pem"]));
        }
    }
    all
}

#[test]
fn no_secret_is_in_any_log_argument_environment_or_record() {
    let world = World::with(|options| {
        options.external_account_keys.insert("kid-1".to_owned(), EAB.as_bytes().to_vec());
    });
    let (webhook, parrot) = (Webhook::start(world.dns.provider()), Parrot::start());
    prepare(&world, &webhook, &parrot);
    let said = said(&world);
    let everything = world.state().with_index();
    let files: BTreeMap<PathBuf, Vec<u8>> = everything
        .into_iter()
        .filter_map(|(path, entry)| match entry {
            Entry::File(_, bytes) => Some((path, bytes)),
            Entry::Folder(_) | Entry::Link(_) => None,
        })
        .collect();

    // Every secret was used, and every server was contacted.
    for name in ["web", "hook"] {
        world.state().published(name);
    }
    assert_eq!(world.ca.created(RequestKind::NewAccount), 1);
    assert!(webhook.requests().iter().all(|request| request.contains(HEADER)));
    for program in ["install.", "reload.", "on-failure.", "dump."] {
        assert!(said.keys().any(|key| key.starts_with(program)), "{program}: {:?}", said.keys());
    }
    let told = String::from_utf8_lossy(&said["certctl issue -vvv --timeout 6s"]);
    for words in ["new-order", "refuses the credentials", "api.cloudflare.com", "tsig.example.test"]
    {
        assert!(told.contains(words), "{words}: {told}");
    }

    let canaries = canaries(&world, &files);
    let of = |what: &str| canaries.iter().filter(|canary| canary.what == what).count();
    // Two revisions each of `web` and `hook`.
    assert_eq!((of("private key"), of("account key")), (4, 1));
    for canary in &canaries {
        let what = canary.what;
        for (place, bytes) in &said {
            let text = || String::from_utf8_lossy(bytes).into_owned();
            assert!(!canary.is_in(bytes), "the {what} is in {place}: {}", text());
        }
        for (path, bytes) in &files {
            let is_home = canary.home.iter().any(|name| path.ends_with(name));
            assert!(is_home || !canary.is_in(bytes), "the {what} is in {}", path.display());
        }
        let is_kept = canary.home.is_empty() || files.values().any(|bytes| canary.is_in(bytes));
        assert!(is_kept, "the {what} is not even where it belongs");
    }
}
