use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::cli::run::on_one_thread;
use crate::engine::ports::{Key, Store as _};
use crate::resource::{CertificateRecord, NamespacedName};
use crate::store::{OpenMode, Records, StateDirectory};

const NOW: &str = "2026-11-21T00:00:00Z";

/// A Certificate, with lines behind its name and its Secret.
fn certificate(name: &str, metadata: &str, secret: &str, names: &str) -> String {
    format!(
        "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata:\n  name: {name}\n{metadata}\
         spec:\n  secretName: {secret}\n  dnsNames: {names}\n  issuerRef: {{name: le}}\n---\n"
    )
}

fn issuer(kind: &str, metadata: &str) -> String {
    format!(
        "apiVersion: cert-manager.io/v1\nkind: {kind}\nmetadata: {metadata}\nspec:\n  acme:\n    \
         server: https://ca.example/dir\n    privateKeySecretRef: {{name: key}}\n    \
         solvers: [{{http01: {{ingress: {{}}}}}}]\n---\n"
    )
}

fn manifests() -> String {
    let labels = "  labels:\n    team: mail\n    env: prod\n";
    [
        certificate(
            "web",
            "  labels: {team: web}\n",
            "web-tls",
            "[www.example.com, '*.example.com']",
        ),
        certificate("mail", labels, "mail-tls", "[mail.example.com]"),
        certificate("web", "  namespace: shop\n", "shop-tls", "[www.example.com]"),
        certificate("fresh", "  namespace: shop\n", "fresh-tls", "[www.example.com]"),
        issuer("ClusterIssuer", "{name: le}"),
        issuer("Issuer", "{name: lab, namespace: shop}"),
    ]
    .concat()
}

/// Folders with manifests and a state, and an environment that names them.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        place.write("config/all.yaml", &manifests());
        place.write("work/more.yaml", &certificate("more", "", "more-tls", "[more.example.com]"));
        place.write("work/notes.txt", "");
        place.write("work/my folder/x.json", "{}");
        place.write("work/.hidden.yaml", "");
        place.write("elsewhere/old.yaml", &issuer("Issuer", "{name: old-ca}"));
        let end = "2027-02-19T00:00:00Z";
        place.record(
            "default",
            "web",
            &json!({ "conditions": [condition("Ready")], "notAfter": end, "revision": 3 }),
        );
        place.record("default", "mail", &json!({ "failedIssuanceAttempts": 2 }));
        place.record("default", "old", &json!({ "notAfter": "2026-11-20T00:00:00Z" }));
        for revision in ["..adopted-0", "..revision-2-0", "..revision-3-0", "..revision-3-1"] {
            let path = place.path("state/secrets/default/web-tls").join(revision);
            fs::create_dir_all(path).unwrap();
        }
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

    fn record(&self, namespace: &str, name: &str, status: &serde_json::Value) {
        let record: CertificateRecord = serde_json::from_value(json!({
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "generation": 1,
            "specDigest": "",
            "secretName": format!("{name}-tls"),
            "manifest": self.path("elsewhere/old.yaml"),
            "status": status,
        }))
        .unwrap();
        let state = StateDirectory::open(&self.path("state"), OpenMode::ReadWrite).unwrap();
        let name = NamespacedName::new(namespace, name);
        let records = Records::new(&state);
        let action = async { Ok(records.put_certificate(&name, &record, None).await?) };
        on_one_thread(action).unwrap();
    }

    fn environment(&self, shell: &str, variables: &[(&str, &str)]) -> Environment {
        let (config, state) = (self.path("config"), self.path("state"));
        let mut pairs = vec![
            ("CERTCTL_COMPLETE", shell),
            ("CERTCTL_CONFIG_DIR", config.to_str().unwrap()),
            ("CERTCTL_STATE_DIR", state.to_str().unwrap()),
        ];
        pairs.extend(variables);
        Environment::from_pairs(&pairs)
    }

    /// The output for fish, by lines; `@` marks the word at the cursor, which ends there.
    fn ask_with(&self, line: &str, variables: &[(&str, &str)]) -> Vec<String> {
        let words: Vec<&str> = line.split(' ').collect();
        let cursor = words.iter().position(|word| word.contains('@')).unwrap().to_string();
        let words = words.iter().map(|word| OsString::from(word.replace('@', "")));
        let arguments: Vec<OsString> =
            ["certctl", "--", "certctl"].into_iter().map(OsString::from).chain(words).collect();
        let cursor = (cursor.parse::<usize>().unwrap() + 1).to_string();
        let variables = [variables, &[("CERTCTL_COMPLETE_INDEX", &*cursor)]].concat();
        let environment = self.environment("fish", &variables);
        let text = answer(&arguments, &environment, &self.path("work"), NOW.parse().unwrap());
        text.unwrap().lines().map(str::to_owned).collect()
    }

    /// The words alone.
    fn complete(&self, line: &str) -> Vec<String> {
        let lines = self.ask_with(line, &[]).into_iter();
        lines.map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    }

    /// Every file below the state, with its bytes.
    fn state(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.path("state")];
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

fn condition(kind: &str) -> serde_json::Value {
    json!({
        "type": kind,
        "status": "True",
        "reason": "Ready",
        "message": "",
        "lastTransitionTime": "2026-11-01T00:00:00Z",
        "observedGeneration": 1,
    })
}

/// Completes each line, and compares.
fn check(table: &[(&str, &[&str])]) {
    let place = Place::new();
    let state = place.state();
    for (line, wanted) in table {
        let mut found = place.complete(line);
        // Without names there are the flags; one stands for them.
        if let Some(flag) = found.iter().find(|word| word.starts_with("--filename")).cloned() {
            found = vec![flag];
        }
        assert_eq!(found, *wanted, "{line}");
    }
    assert_eq!(place.state(), state);
}

#[test]
fn certificates_and_manifests_stand_where_verbs_take_them() {
    check(&[
        // Certificates: with the namespace where the name alone is not enough.
        ("renew @", &["default/web", "fresh", "mail", "old", "shop/web"]),
        ("renew f@", &["fresh"]),
        ("renew default/@", &["default/mail", "default/old", "default/web"]),
        ("-n shop renew @", &["fresh", "web"]),
        ("renew @ -n shop", &["fresh", "web"]),
        ("renew @ -nshop -A", &["default/web", "fresh", "mail", "old", "shop/web"]),
        ("deploy @", &["mail", "old", "web"]),
        ("forget --secret @", &["mail", "old", "web"]),
        // What is on the line already, on either side of the cursor.
        ("renew fresh default/mail @ old", &["default/web", "shop/web"]),
        ("renew -n default web @", &["mail", "old"]),
        ("deploy web mail @", &["old"]),
        // Manifests beside names, and files that are none left out.
        (
            "issue @",
            &["default/web", "fresh", "mail", "old", "shop/web", "more.yaml", "my folder/"],
        ),
        ("issue more.yaml m@", &["mail", "more", "my folder/"]),
        ("validate m@", &["mail", "more.yaml", "my folder/"]),
        ("validate .h@", &[".hidden.yaml"]),
        ("validate ../config/@", &["../config/all.yaml"]),
        ("-f more.yaml renew m@", &["mail", "more"]),
        ("renew m@ --filename=more.yaml", &["mail", "more"]),
        ("-f @ renew", &["more.yaml", "my folder/"]),
        ("--state-dir @ renew", &["my folder/"]),
        ("--config-dir . renew m@", &["mail", "more"]),
        ("--state-dir=. deploy @", &["--filename"]),
        ("inspect n@", &["notes.txt"]),
        ("revoke we@", &["web"]),
        ("revoke --key n@", &["notes.txt"]),
        ("revoke --reason s@", &["superseded"]),
    ]);
}

#[test]
fn each_other_position_has_its_words() {
    check(&[
        // The kinds of status, and what is of a kind.
        ("status m@", &["mail"]),
        ("status i@", &["issuer"]),
        ("status issuer @", &["lab", "le", "old-ca"]),
        ("status issuer le @", &["lab", "old-ca"]),
        ("status certificate mail @", &["default/web", "fresh", "old", "shop/web"]),
        ("status mail o@", &["old"]),
        ("status order @", &["--filename"]),
        ("inspect secret @", &["fresh-tls", "mail-tls", "shop-tls", "web-tls"]),
        // Issuers, names, namespaces, labels.
        ("check acme @", &["lab", "le", "old-ca"]),
        ("account show l@", &["lab", "le"]),
        ("-n shop account register @", &["lab", "le"]),
        ("check dns @", &["example.com", "mail.example.com", "www.example.com"]),
        ("check http w@", &["www.example.com"]),
        ("rehearse --resolve m@", &["mail.example.com="]),
        ("-n @ issue", &["default", "shop"]),
        ("issue --namespace=s@", &["--namespace=shop"]),
        ("issue -ns@", &["-nshop"]),
        ("-l @ status", &["env=", "team="]),
        ("-l team=@ status", &["team=mail", "team=web"]),
        ("-l team!=m@ status", &["team!=mail"]),
        ("-l env=prod,@ status", &["env=prod,team="]),
        ("-l !e@ status", &["!env"]),
        // Fields and kinds.
        ("explain @", &["certificate.", "issuer.", "clusterissuer.", "secret."]),
        (
            "explain certificate.spec.renewB@",
            &["certificate.spec.renewBefore", "certificate.spec.renewBeforePercentage"],
        ),
        ("explain cert.spec.pri@", &["cert.spec.privateKey."]),
        (
            "explain issuer.spec.acme.privateKeySecretRef.k@",
            &["issuer.spec.acme.privateKeySecretRef.key"],
        ),
        (
            "explain issuer.metadata.annotations.certctl/re@",
            &["issuer.metadata.annotations.certctl/reload"],
        ),
        ("schema s@", &["secret"]),
        // Verbs, flags, and words of flags.
        ("re@", &["renew", "rehearse", "revoke"]),
        ("check @", &["acme", "alerts", "dns", "http"]),
        ("help h@", &["help", "hooks"]),
        ("help ex@", &["explain", "exit-codes"]),
        ("help check @", &["acme", "alerts", "dns", "http"]),
        ("renew --new@", &["--new-key", "--new-order"]),
        ("renew --new-key --new@", &["--new-order"]),
        ("status -o @", &["wide", "json", "yaml", "name", "prometheus"]),
        ("completion @", &["bash", "elvish", "fish", "powershell", "zsh"]),
        ("--bogus renew fr@", &["fresh"]),
    ]);
}

#[test]
fn a_description_tells_how_a_certificate_is() {
    let place = Place::new();
    assert_eq!(
        place.ask_with("renew @", &[]),
        [
            "default/web\tREADY 90d",
            "fresh\tnot issued yet",
            "mail\tFAILED",
            "old\tNO MANIFEST",
            "shop/web\tnot issued yet",
        ]
    );
    assert_eq!(
        place.ask_with("explain secret.im@", &[]),
        ["secret.immutable\tWhether a cluster refuses changes."]
    );
    let verb = place.ask_with("plan@", &[]);
    assert_eq!(verb, ["plan\tShow what `issue` would do, and why; changes nothing"]);
}

#[test]
fn the_revisions_whose_files_are_there_are_known() {
    let place = Place::new();
    let known = Known::new(&Line::default(), &place.environment("", &[]), Path::new("/"));
    assert_eq!(known.revisions(&NamespacedName::new("default", "web")), [3, 2, 0]);
    assert!(known.revisions(&NamespacedName::new("default", "mail")).is_empty());
}

#[test]
fn variables_count_as_they_do_for_the_verbs() {
    let place = Place::new();
    let files = place.path("work/more.yaml");
    for (line, variables, wanted) in [
        ("renew fr@", vec![("CERTCTL_NAMESPACE", "default")], vec![]),
        ("renew w@", vec![("CERTCTL_NAMESPACE", "shop")], vec!["web\tnot issued yet"]),
        (
            "renew more@",
            vec![("CERTCTL_FILES", files.to_str().unwrap())],
            vec!["more\tnot issued yet"],
        ),
        ("-f ~/w@", vec![("HOME", place.folder.path().to_str().unwrap())], vec!["~/work/"]),
    ] {
        assert_eq!(place.ask_with(line, &variables), wanted, "{line}");
    }
}

#[test]
fn the_file_of_settings_counts_as_it_does_for_the_verbs() {
    let place = Place::new();
    place.write("config/config.toml", "namespace = \"shop\"\n");
    assert_eq!(place.complete("renew @"), ["fresh", "web"]);
    assert_eq!(place.complete("renew @ -n default"), ["mail", "old", "web"]);
    let path = place.path("work/more.yaml").display().to_string();
    place.write("config/config.toml", &format!("filename = [{path:?}]\n"));
    assert_eq!(place.complete("renew m@"), ["mail", "more"]);
    let state = place.path("state").display().to_string();
    place.write("config/config.toml", &format!("state-dir = {state:?}\n"));
    let found = place.ask_with("deploy w@", &[("CERTCTL_STATE_DIR", "")]);
    assert_eq!(found, ["web\tREADY 90d"]);
}

#[test]
fn what_cannot_be_read_is_passed_over() {
    let place = Place::new();
    place.write("config/broken.yaml", "kind: [\n");
    place.write("config/binary.yaml", "\0\u{1b}[2J");
    fs::create_dir(place.path("config/folder.yaml")).unwrap();
    let fifo = place.path("config/fifo.yaml");
    assert!(std::process::Command::new("mkfifo").arg(fifo).status().unwrap().success());
    let state = StateDirectory::open(&place.path("state"), OpenMode::ReadWrite).unwrap();
    let key = Key::Certificate(NamespacedName::new("default", "torn"));
    on_one_thread(async { Ok(state.create(&key, b"{").await?) }).unwrap();
    let before = place.state();
    assert_eq!(place.complete("deploy @"), ["mail", "old", "torn", "web"]);
    let about = place.ask_with("deploy t@", &[]);
    assert_eq!(about, ["torn\tnot issued yet"]);
    assert_eq!(place.state(), before, "nothing is set aside");
    let nowhere = [("CERTCTL_CONFIG_DIR", "/dev/null/x"), ("CERTCTL_STATE_DIR", "/dev/null")];
    assert_eq!(place.ask_with("renew w@", &nowhere), Vec::<String>::new());
    let homeless = Environment::from_pairs(&[("CERTCTL_COMPLETE", "fish")]);
    let line = ["certctl", "--", "certctl", "renew", "w"].map(OsString::from);
    let found = answer(&line, &homeless, Path::new("/"), NOW.parse().unwrap());
    assert_eq!(found.as_deref(), Some(""));
}

#[test]
fn what_is_over_the_budget_is_not_parsed_and_the_state_is_known_all_the_same() {
    let place = Place::new();
    let long = format!("{}# {}\n", manifests(), "x".repeat(512 << 10));
    place.write("config/all.yaml", &long);
    assert_eq!(place.complete("renew @"), ["mail", "old", "web"]);
    // A manifest that is not read is not gone.
    assert_eq!(place.ask_with("renew w@", &[]), ["web\tREADY 90d"]);
}

#[test]
fn only_a_script_is_answered() {
    let place = Place::new();
    let now = NOW.parse().unwrap();
    for (shell, words, is_answer) in [
        ("bash", vec!["certctl", "--", "certctl re"], true),
        ("zsh", vec!["certctl", "--", "certctl", "re"], true),
        ("bash", vec!["certctl", "issue"], false),
        ("tcsh", vec!["certctl", "--", "certctl", "re"], false),
        ("", vec!["certctl", "--", "certctl", "re"], false),
    ] {
        let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        let found = answer(&words, &place.environment(shell, &[]), Path::new("/"), now);
        assert_eq!(found.is_some(), is_answer, "{shell} {words:?}");
    }
}

#[test]
fn each_shell_is_answered_in_its_form() {
    let place = Place::new();
    for (shell, line, wanted) in [
        ("zsh", vec!["certctl", "renew", "f"], "-fresh:not issued yet\n"),
        ("zsh", vec!["certctl", "explain", "s"], "+secret.\n"),
        ("elvish", vec!["certctl", "renew", "f"], "fresh\tnot issued yet\n"),
        ("powershell", vec!["certctl", "renew", "f"], "fresh\tnot issued yet\n"),
        ("bash", vec!["certctl renew f"], "fresh \n"),
        ("bash", vec!["certctl explain s"], "secret.\n"),
        ("bash", vec!["certctl issue my"], "my\\ folder/\n"),
        ("bash", vec!["certctl issue 'my"], "my folder/\n"),
        ("bash", vec!["certctl issue my\\ fol"], "my\\ folder/\n"),
    ] {
        let mut words: Vec<OsString> = vec!["certctl".into(), "--".into()];
        words.extend(line.iter().map(OsString::from));
        let environment = place.environment(shell, &[]);
        let found = answer(&words, &environment, &place.path("work"), NOW.parse().unwrap());
        assert_eq!(found.as_deref(), Some(wanted), "{shell} {line:?}");
    }
    assert_eq!(zsh_line("a:b\\c", Some("d:e")), "-a\\:b\\\\c:d:e");
}
