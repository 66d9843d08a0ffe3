//! Promise: TAB knows the names: the scripts in `completions/` start the binary, which reads and
//! never writes, says nothing of what is wrong, and is not missed when it is not there. Files are the
//! shell's own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const MANIFESTS: &str = "\
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: web
spec:
  secretName: web-tls
  dnsNames: [web.example.com]
  issuerRef: {name: letsencrypt, kind: ClusterIssuer}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: mail
  namespace: prod
spec:
  secretName: mail-tls
  dnsNames: [mail.example.com]
  issuerRef: {name: letsencrypt, kind: ClusterIssuer}
---
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata:
  name: letsencrypt
spec:
  acme:
    server: https://ca.example/dir
    privateKeySecretRef: {name: key}
    solvers: [{http01: {ingress: {}}}]
";

const SHOP: &str = "\
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: shop
spec:
  secretName: shop-tls
  dnsNames: [shop.example.com]
  issuerRef: {name: letsencrypt, kind: ClusterIssuer}
";

/// Manifests, and a state that knows `web`, in folders that the environment names.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for below in ["config", "other", "state/certificates/default/web", "work"] {
            fs::create_dir_all(folder.path().join(below)).unwrap();
        }
        for (below, text) in [
            ("config/all.yaml", MANIFESTS),
            ("other/more.yaml", SHOP),
            ("state/certificates/default/web/status.json", "torn"),
        ] {
            let mut file = fs::File::create(folder.path().join(below)).unwrap();
            std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        }
        Self { folder }
    }

    fn surround(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let program = Path::new(env!("CARGO_BIN_EXE_certctl")).parent().unwrap();
        let path = format!("{}:/usr/bin:/bin", program.display());
        command.env_clear().env("PATH", path).env("HOME", self.folder.path());
        command.env("CERTCTL_CONFIG_DIR", self.folder.path().join("config"));
        command.env("CERTCTL_STATE_DIR", self.folder.path().join("state"));
        command.current_dir(self.folder.path().join("work"));
        command
    }

    /// What the binary answers to fish.
    fn ask(&self, words: &[&str]) -> Output {
        let mut command = self.surround(env!("CARGO_BIN_EXE_certctl"));
        command.env("CERTCTL_COMPLETE", "fish").args(["--", "certctl"]).args(words);
        command.output().unwrap()
    }

    /// What bash would put on the line, as its own completion function says.
    fn bash(&self, line: &str) -> Command {
        let mut command = self.surround("bash");
        let script = "\
            source \"$0\"\n\
            compopt() { echo \"compopt $*\"; }\n\
            COMP_LINE=$1 COMP_POINT=${#1}\n\
            _certctl certctl \"${1##*[ =]}\"\n\
            ((${#COMPREPLY[@]} == 0)) || printf '[%s]\\n' \"${COMPREPLY[@]}\"\n";
        command.args(["--norc", "-euc", script]).arg(completions().join("certctl.bash")).arg(line);
        command
    }

    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path.clone());
                    found.insert(path, Vec::new());
                } else {
                    found.insert(path.clone(), fs::read(path).unwrap());
                }
            }
        }
        found
    }
}

fn completions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("completions")
}

/// What a program said, which has to be all on stdout.
fn said(run: &Output) -> &str {
    assert_eq!((run.status.code(), &*run.stderr), (Some(0), &[][..]), "{run:?}");
    std::str::from_utf8(&run.stdout).unwrap()
}

#[test]
fn the_binary_answers_and_changes_nothing() {
    let place = Place::new();
    let before = place.files();
    let other = place.folder.path().join("other").display().to_string();
    for (words, wanted) in [
        (vec!["renew", ""], "mail\nweb\n"),
        (vec!["-n", "prod", "renew", ""], "mail\n"),
        (vec!["--config-dir", &other, "renew", "s"], "shop\n"),
        (vec!["-f", &other, "renew", "s"], "shop\n"),
        (vec!["check", "acme", ""], "letsencrypt\n"),
        (vec!["rehearse", ""], "mail\nweb\n:files\n"),
        (vec!["renew", "zzz"], ""),
    ] {
        assert_eq!(said(&place.ask(&words)), wanted, "{words:?}");
    }
    let mut command = place.surround(env!("CARGO_BIN_EXE_certctl"));
    command.env("CERTCTL_COMPLETE", "fish").env("CERTCTL_NAMESPACE", "prod");
    let run = command.args(["--", "certctl", "renew", ""]).output().unwrap();
    assert_eq!(said(&run), "mail\n");
    assert_eq!(place.files(), before);
}

#[test]
fn nothing_is_said_of_what_is_missing() {
    let place = Place::new();
    for variables in [
        &[("CERTCTL_CONFIG_DIR", "/dev/null"), ("CERTCTL_STATE_DIR", "/dev/null")][..],
        &[("CERTCTL_CONFIG_DIR", "/nowhere"), ("CERTCTL_STATE_DIR", "/nowhere")],
        &[("CERTCTL_LOG", "certctl=loud"), ("CERTCTL_OUTPUT", "table"), ("LISTEN_FDS", "x")],
    ] {
        let mut command = place.surround(env!("CARGO_BIN_EXE_certctl"));
        command.env("CERTCTL_COMPLETE", "fish").args(["--", "certctl", "timer", "print", "--sy"]);
        let run = command.envs(variables.iter().copied()).output().unwrap();
        assert!(said(&run).starts_with("--systemd\t"), "{variables:?}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_certctl"));
    command.env_clear().env("CERTCTL_COMPLETE", "fish").current_dir("/");
    let run = command.args(["--", "certctl", "renew", "w"]).output().unwrap();
    assert_eq!(said(&run), "");
}

#[test]
fn bash_puts_the_words_on_the_line() {
    let place = Place::new();
    for (line, wanted) in [
        ("certctl renew ", "[mail ]\n[web ]\n"),
        ("certctl renew  m", "[mail ]\n"),
        ("certctl --namespace=pr", "[prod ]\n"),
        ("certctl --namespace=prod renew ", "[mail ]\n"),
        ("certctl explain certificate.sp", "[certificate.spec.]\n"),
        ("certctl validate m", "[mail ]\n"),
        ("certctl validate a", "compopt -o default +o nospace\n"),
        ("certctl -f ", "compopt -o default +o nospace\n"),
        ("certctl renew zzz", ""),
        ("certctl renew $(touch ran) `touch ran` * ", "[mail ]\n[web ]\n"),
    ] {
        assert_eq!(said(&place.bash(line).output().unwrap()), wanted, "{line}");
    }
    assert!(!place.folder.path().join("work/ran").exists());
    let without = place.bash("certctl renew ").env("PATH", "").output();
    // Where there is no PATH, there is no bash to be found by it either.
    let without = without.or_else(|_| {
        let mut command = place.bash("certctl renew ");
        command.env("PATH", "/usr/bin:/bin").output()
    });
    assert_eq!(said(&without.unwrap()), "", "certctl is not there");
}

#[cfg(feature = "real-servers")]
mod other_shells {
    use super::{Place, completions, said};

    #[test]
    fn fish_offers_words_and_what_they_are() {
        let place = Place::new();
        for (line, path, wanted) in [
            ("certctl renew ", None, "mail\nweb\n"),
            ("certctl renew mail w", None, "web\n"),
            ("certctl validate ../oth", None, "../other/\n"),
            ("certctl renew ", Some("/usr/bin:/bin"), ""),
        ] {
            let mut command = place.surround("fish");
            let script = "source $argv[1]; complete --do-complete $argv[2]";
            command.args(["--no-config", "-c", script]).arg(completions().join("certctl.fish"));
            if let Some(path) = path {
                command.env("PATH", path);
            }
            assert_eq!(said(&command.arg(line).output().unwrap()), wanted, "{line}");
        }
    }

    #[test]
    fn zsh_offers_words_and_what_they_are() {
        let place = Place::new();
        let script = "\
            compdef() { registered=$* }\n\
            _describe() { print -rl -- \"${(@P)3}\" }\n\
            _files() { print files }\n\
            source $0\n\
            [[ $registered == '_certctl certctl' ]] || exit 1\n\
            words=(${(z)1} '') CURRENT=$#words PREFIX=\n\
            _certctl || true\n";
        for (line, path, wanted) in [
            ("certctl renew", None, "mail\nweb\n"),
            ("certctl -n 'prod' validate", None, "mail\nfiles\n"),
            ("certctl explain", None, "certificate.\nissuer.\nclusterissuer.\nsecret.\n"),
            ("certctl renew", Some("/usr/bin:/bin"), ""),
        ] {
            let mut command = place.surround("zsh");
            command.args(["-fc", script]).arg(completions().join("_certctl")).arg(line);
            if let Some(path) = path {
                command.env("PATH", path);
            }
            assert_eq!(said(&command.output().unwrap()), wanted, "{line}");
        }
    }
}
