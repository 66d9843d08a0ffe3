use std::fs;

use tempfile::TempDir;

use super::*;

/// A manifest of each kind in two namespaces, and a state with one certificate more.
const MANIFESTS: &str = "\
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web}
spec: {secretName: web-tls, dnsNames: [www.example.com], issuerRef: {name: le, kind: ClusterIssuer}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web, namespace: shop}
spec: {secretName: web-tls, dnsNames: [www.example.com], issuerRef: {name: le, kind: ClusterIssuer}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: fresh, namespace: shop}
spec: {secretName: fresh, dnsNames: [www.example.com], issuerRef: {name: lab}}
---
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: le}
spec: {acme: {server: 'https://ca.example/dir', privateKeySecretRef: {name: key}, solvers: [{http01: {ingress: {}}}]}}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: lab, namespace: shop}
spec: {acme: {server: 'https://ca.example/dir', privateKeySecretRef: {name: key}, solvers: [{http01: {ingress: {}}}]}}
";

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        place.write("config/all.yaml", MANIFESTS);
        place.write("more.yaml", &MANIFESTS.replace("name: fresh", "name: more"));
        let state = open_state(&place.path("state"), OpenMode::ReadWrite).unwrap();
        drop(state);
        fs::create_dir_all(place.path("state/certificates/default/old")).unwrap();
        place
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::io::Write::write_all(&mut fs::File::create(path).unwrap(), text.as_bytes()).unwrap();
    }

    fn lines(&self, line: &str, variables: &[(&str, &str)]) -> Vec<String> {
        let (config, state) = (self.path("config"), self.path("state"));
        let mut pairs = vec![
            ("CERTCTL_COMPLETE", "fish"),
            ("CERTCTL_CONFIG_DIR", config.to_str().unwrap()),
            ("CERTCTL_STATE_DIR", state.to_str().unwrap()),
        ];
        pairs.extend(variables);
        let words = ["certctl", "--", "certctl"].into_iter().chain(line.split(' '));
        let words: Vec<OsString> = words.map(OsString::from).collect();
        let text = answer(&words, &Environment::from_pairs(&pairs)).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// The candidates without their descriptions.
    fn complete(&self, line: &str) -> Vec<String> {
        let lines = self.lines(line, &[]).into_iter();
        lines.map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    }
}

#[test]
fn each_position_has_its_candidates() {
    let place = Place::new();
    let with_file = format!("-f {} renew m", place.path("more.yaml").display());
    for (line, wanted) in [
        // Certificates, with the namespace where the name alone is not enough.
        ("renew ", &["default/web", "fresh", "old", "shop/web"][..]),
        ("renew f", &["fresh"]),
        ("renew default/", &["default/old", "default/web"]),
        ("-n shop renew ", &["fresh", "web"]),
        ("-nshop -A renew ", &["default/web", "fresh", "old", "shop/web"]),
        ("status o", &["old"]),
        ("issue f", &["fresh", FILES]),
        ("inspect f", &["fresh", FILES]),
        (&with_file, &["more"]),
        ("--bogus renew f", &["fresh"]),
        ("renew zzz", &[]),
        // Issuers and namespaces.
        ("check acme ", &["lab", "le"]),
        ("-n default account show ", &["le"]),
        ("create certificate a.example --issuer l", &["lab", "le"]),
        ("-n ", &["default", "shop"]),
        ("issue --namespace=s", &["--namespace=shop"]),
        // Fields, providers, reasons, files.
        ("explain ", &["certificate.", "issuer.", "clusterissuer.", "secret."]),
        ("explain cert.spec.pri", &["cert.spec.privateKey."]),
        (
            "explain issuer.metadata.annotations.certctl/re",
            &["issuer.metadata.annotations.certctl/reload"],
        ),
        (
            "explain issuer.spec.acme.privateKeySecretRef.k",
            &["issuer.spec.acme.privateKeySecretRef.key"],
        ),
        ("create issuer le --dns01 route", &["route53"]),
        ("revoke web --reason s", &["superseded"]),
        ("-f ", &[FILES]),
        ("--state-dir ", &[FILES]),
        ("revoke web --key ", &[FILES]),
        // Names that are still to be made up, and free text.
        ("create certificate a.example --name f", &[]),
        ("--timeout ", &[]),
        // Verbs and flags.
        ("re", &["renew", "rehearse", "revoke"]),
        ("check ", &["acme", "alerts", "dns", "http", "tls-alpn"]),
        ("renew --new", &["--new-key", "--new-order"]),
        ("completion ", &["bash", "elvish", "fish", "powershell", "zsh"]),
    ] {
        assert_eq!(place.complete(line), wanted, "{line}");
    }
    let about = "secret.immutable\tWhether a cluster refuses changes.";
    assert_eq!(place.lines("explain secret.im", &[]), [about]);
}

#[test]
fn settings_count_as_they_do_for_the_verbs() {
    let place = Place::new();
    let file = place.path("more.yaml").display().to_string();
    assert_eq!(place.lines("renew m", &[("CERTCTL_FILES", &file)]), ["more"]);
    place.write("config/config.toml", "namespace = \"shop\"\n");
    assert_eq!(place.complete("renew "), ["fresh", "web"]);
    assert_eq!(place.complete("-n default renew "), ["old", "web"]);
    let state = place.path("state").display().to_string();
    place.write("config/config.toml", &format!("state-dir = {state:?}\n"));
    assert_eq!(place.lines("renew o", &[("CERTCTL_STATE_DIR", "")]), ["old"]);
}

#[test]
fn what_cannot_be_read_is_passed_over() {
    let place = Place::new();
    place.write("config/broken.yaml", "kind: [\n");
    place.write("config/binary.yaml", "\0\u{1b}[2J");
    fs::create_dir(place.path("config/folder.yaml")).unwrap();
    let fifo = place.path("config/fifo.yaml");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    assert_eq!(place.complete("renew f"), ["fresh"]);
    assert_eq!(place.complete(&format!("-f {} -f - renew f", fifo.display())), ["fresh"]);
    let nowhere = [("CERTCTL_CONFIG_DIR", "/dev/null/x"), ("CERTCTL_STATE_DIR", "/dev/null")];
    assert_eq!(place.lines("renew w", &nowhere), Vec::<String>::new());
    let homeless = Environment::from_pairs(&[("CERTCTL_COMPLETE", "fish")]);
    let line = ["certctl", "--", "certctl", "renew", "w"].map(OsString::from);
    assert_eq!(answer(&line, &homeless).as_deref(), Some(""));
}

#[test]
fn only_a_script_is_answered_and_an_empty_word_may_be_lost() {
    let place = Place::new();
    let ask = |words: &[&str], variables: &[(&str, &str)]| {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        answer(&words, &Environment::from_pairs(variables))
    };
    let script = [("CERTCTL_COMPLETE", "powershell"), ("CERTCTL_COMPLETE_INDEX", "2")];
    let found = ask(&["certctl", "--", "certctl", "timer"], &script).unwrap();
    assert!(found.starts_with("print\t"), "{found}");
    assert_eq!(ask(&["certctl", "issue"], &script), None);
    assert_eq!(ask(&["certctl", "--", "certctl", "re"], &[("CERTCTL_COMPLETE", "")]), None);
    drop(place);
}
