//! Every verb with every folder argument in places where no folder can be made or read: an error
//! with a message, never a panic, a stack overflow or an endless loop.
//!
//! Nothing here may be written to when certctl has a mistake: `/proc` and `/sys` refuse it, and what
//! is below a device is no folder.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const WEB: &str = "\
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: { name: ca }
spec:
  acme:
    server: https://127.0.0.1:9/directory
    privateKeySecretRef: { name: account }
    solvers: [ { http01: { ingress: {} } } ]
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: { name: web }
spec: { secretName: web-tls, dnsNames: [ web.example.test ], issuerRef: { name: ca } }
";
/// These write to the state.
const WRITING: [&str; 8] = [
    "issue ./web.yaml",
    "issue",
    "renew --all --yes",
    "deploy",
    "revoke web --yes",
    "rollback web",
    "forget web",
    "account register ca",
];
const READING: [&str; 9] = [
    "status",
    "status web",
    "status order",
    "plan",
    "plan ./web.yaml",
    "inspect web",
    "account show",
    "validate ./web.yaml",
    "version -v",
];
/// These take a file or a folder.
const ARGUMENTS: [&str; 8] = [
    "issue PLACE",
    "plan PLACE",
    "validate PLACE",
    "rehearse PLACE",
    "inspect PLACE",
    "man PLACE",
    "timer print --cron --dir PLACE",
    "create certificaterequest web --from-certificate-file PLACE",
];

struct Lab {
    folder: tempfile::TempDir,
}

impl Lab {
    fn new() -> Self {
        let lab = Self { folder: tempfile::tempdir().unwrap() };
        lab.write("web.yaml", WEB);
        lab.write("file", "[");
        symlink("nowhere", lab.path("dangling")).unwrap();
        symlink("loop", lab.path("loop")).unwrap();
        lab
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn write(&self, name: &str, text: &str) {
        use std::io::Write as _;
        let mut file = std::fs::File::create(self.path(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn places(&self) -> Vec<PathBuf> {
        let own = ["file", "file/x", "dangling", "dangling/x", "loop", "loop/x"];
        let system =
            ["/proc/x", "/proc/x/y", "/proc/self/fd/x", "/sys/x", "/dev/null/x", "/dev/full/x"];
        let own = own.iter().map(|name| self.path(name));
        own.chain(system.iter().map(PathBuf::from)).collect()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.path("home")).env("PATH", "/usr/sbin:/usr/bin:/bin");
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Runs `words`, in which `PLACE` is a place.
    fn run(&self, flags: &[&str], words: &str, place: &Path) -> Output {
        let words = words.split(' ').map(|word| match word {
            "PLACE" => place.as_os_str().to_owned(),
            word => word.into(),
        });
        let mut command = self.command(env!("CARGO_BIN_EXE_certctl"));
        command.args(flags).args(words).output().unwrap()
    }
}

/// What is wrong with how a run ended; `None` when nothing is.
fn wrong(output: &Output, codes: &[i32], what: &str) -> Option<String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let is_code = output.status.code().is_some_and(|code| codes.contains(&code));
    let is_said = output.status.success() || stderr.contains("error");
    let is_fine = is_code && is_said && !stderr.contains("panicked");
    (!is_fine).then(|| format!("{what}: {:?}: {stderr}", output.status))
}

#[test]
fn a_state_that_cannot_be_there_is_an_error_of_every_verb_that_needs_it() {
    let lab = Lab::new();
    let mut all = Vec::new();
    for place in lab.places() {
        let state = place.to_str().unwrap();
        let flags = ["-f", "web.yaml", "--state-dir", state];
        for (verbs, codes) in [(&WRITING[..], &[3, 7][..]), (&READING[..], &[0, 3, 7])] {
            for words in verbs {
                let output = lab.run(&flags, words, &place);
                all.extend(wrong(&output, codes, &format!("--state-dir {state} {words}")));
            }
        }
        // Nothing but the state is wrong here.
        let output = lab.run(&flags, "issue", &place);
        all.extend(wrong(&output, &[7], &format!("--state-dir {state} issue")));
    }
    assert_eq!(all, Vec::<String>::new());
}

#[test]
fn a_configuration_or_an_argument_that_cannot_be_read_is_an_error() {
    let lab = Lab::new();
    let mut all = Vec::new();
    for place in lab.places() {
        let shown = place.to_str().unwrap();
        let flags = ["--config-dir", shown, "--state-dir", "state"];
        for words in WRITING.iter().chain(&READING).filter(|words| !words.contains("./web.yaml")) {
            let output = lab.run(&flags, words, &place);
            all.extend(wrong(&output, &[0, 3, 7], &format!("--config-dir {shown} {words}")));
        }
        for words in ARGUMENTS {
            let output = lab.run(&["--state-dir", "state"], words, &place);
            all.extend(wrong(&output, &[3, 7], &format!("{words} at {shown}")));
        }
    }
    assert_eq!(all, Vec::<String>::new());
}

/// The file system is full in a mount namespace of this run's own, where the system allows one.
#[test]
fn a_full_disk_is_an_error_before_anything_is_asked() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("full")).unwrap();
    let fill = "mount -t tmpfs -o size=256k tmpfs full || exit 99; \
                head -c 1000000 /dev/zero > full/filler 2> /dev/null; exec \"$@\"";
    for words in ["issue ./web.yaml", "renew --all --yes -f web.yaml", "status", "plan ./web.yaml"]
    {
        let mut command = lab.command("unshare");
        command.args(["-r", "-m", "sh", "-c", fill, "sh", env!("CARGO_BIN_EXE_certctl")]);
        command.args(["--state-dir", "full/state"]).args(words.split(' '));
        let Ok(output) = command.output() else { return };
        let stderr = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(99) || stderr.contains("unshare: ") {
            return;
        }
        let writes = WRITING.iter().any(|verb| words.starts_with(verb.split(' ').next().unwrap()));
        let codes: &[i32] = if writes { &[7] } else { &[0] };
        assert_eq!(wrong(&output, codes, words), None);
    }
}
