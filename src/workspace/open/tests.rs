use std::fs;
use std::os::unix::fs::symlink;
use std::rc::Rc;
use std::time::Duration;

use futures_util::FutureExt as _;
use jiff::SignedDuration;
use serde_json::json;
use tempfile::TempDir;
use zeroize::Zeroizing;

use super::*;
use crate::controller::Intervals;
use crate::engine::ports::LiveFiles;
use crate::engine::{self, Hooks};
use crate::resource::{SecretFiles, SecretMetadata, envelope};
use crate::store::{CertificateDocument, atomic};

/// A config directory, and a state.
struct Place(TempDir);

impl Place {
    /// With an Issuer, and the Certificates web and mail, both published.
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for folder in ["config", "site"] {
            fs::create_dir(place.path(folder)).unwrap();
        }
        place.write("config/issuer.yaml", ISSUER);
        for name in ["web", "mail"] {
            place.write(&format!("config/{name}.yaml"), &certificate(name, name));
            place.record(name, 1, &format!("config/{name}.yaml"));
            place.publish(name, name);
        }
        place
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(below)
    }

    fn write(&self, below: &str, text: &str) {
        atomic::write(&self.path(below), text.as_bytes(), 0o600).unwrap();
    }

    fn state(&self) -> State {
        open_state(&self.path("state"), OpenMode::ReadWrite).unwrap()
    }

    /// The record of a certificate that has the Secret of its name since that day.
    fn record(&self, name: &str, day: u8, manifest: &str) {
        let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
        let record = serde_json::from_value(json!({
            "creationTimestamp": format!("2026-01-{day:02}T00:00:00Z"),
            "generation": 1,
            "specDigest": "",
            "secretName": name,
            "manifest": self.path(manifest),
            "references": [self.path("config/issuer.yaml")],
            "directoryURLs": {},
            "status": {"conditions": []}
        }));
        let (state, key) = (self.state(), NamespacedName::new(namespace, name));
        let record = record.unwrap();
        let put = async {
            let mut stored = CertificateDocument::read(state.documents(), &key).await?;
            stored.put_record(&record).await?;
            stored.settle(&[]).await
        };
        put.now_or_never().unwrap().unwrap();
    }

    /// Publishes a pair of a certificate.
    fn publish(&self, secret: &str, certificate: &str) {
        let metadata = SecretMetadata {
            annotations: [("cert-manager.io/certificate-name".into(), certificate.into())].into(),
            ..SecretMetadata::default()
        };
        let files = [(SecretMetadata::FILE.to_owned(), envelope::seal(&metadata).unwrap())];
        let files = files.map(|(name, bytes)| (name, Zeroizing::new(bytes)));
        let (state, secret) = (self.state(), NamespacedName::new("default", secret));
        let files = SecretFiles(files.into());
        let published = state.live_files().publish(&secret, 1, &files, None);
        published.now_or_never().unwrap().unwrap();
    }

    fn settings(&self) -> Settings {
        Settings {
            files: Vec::new(),
            config_dir: Some(self.path("config")),
            credentials_dir: None,
            state_dir: self.path("state"),
            namespace: None,
            selector: None,
            cluster_resource_namespace: "cert-manager".to_owned(),
            is_root: false,
            options: engine::Options {
                parallel: 1,
                max_concurrent_challenges: 1,
                timeout: SignedDuration::ZERO,
                lock_timeout: SignedDuration::ZERO,
                intervals: Intervals { self_check: SignedDuration::ZERO },
                unattended: true,
                is_scheduled: true,
                reports_daily: true,
                certificates: 0,
                limits: &[],
                ignore_limits: false,
                hooks: Hooks::default(),
                words: |_| String::new(),
            },
            hook_timeout: Duration::ZERO,
            http01_listen: Vec::new(),
            inherited: Rc::default(),
            http01_check_port: 80,
            tlsalpn01_listen: Vec::new(),
            tlsalpn01_check_port: 443,
            resolvers: Vec::new(),
            dns01_authoritative_port: 53,
            output_roots: Vec::new(),
            dns01_recursive_nameservers_only: false,
            environment: Rc::new(|_| None),
        }
    }

    /// The workspace of what these names ask for.
    fn named(&self, names: &[&str], scope: fn(BTreeSet<NamespacedName>) -> Scope) -> Workspace {
        let names: Vec<NameTarget> =
            names.iter().map(|name| NameTarget::parse(name).unwrap()).collect();
        let opened = Workspace::open_named(self.settings(), &names, scope);
        opened.now_or_never().unwrap().unwrap()
    }
}

/// The records, the files, and the tasks of a run over all of it.
fn read(workspace: &mut Workspace) -> (Vec<String>, Vec<PathBuf>, Vec<String>) {
    let records = workspace.records.iter().map(|(name, _)| name.to_string()).collect();
    let targets = workspace.everything();
    let tasks = targets.tasks.iter().map(|task| task.certificate.metadata.key().to_string());
    (records, targets.loaded.files.clone(), tasks.collect())
}

fn certificate(name: &str, secret: &str) -> String {
    format!(
        "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata:\n  name: {name}\nspec:\n  \
         secretName: {secret}\n  dnsNames: [{name}.example.com]\n  issuerRef:\n    name: ca\n"
    )
}

const ISSUER: &str = "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata:\n  name: ca\nspec:\n  \
                      acme:\n    server: https://ca.example/dir\n    privateKeySecretRef:\n      \
                      name: account\n    solvers:\n      - http01: {ingress: {}}\n";

/// What changes, and whether the certificate is still read alone to be shown and to be worked on.
type Change = (&'static str, fn(&Place), [bool; 2]);

type Kind = fn(BTreeSet<NamespacedName>) -> Scope;

#[test]
fn what_names_ask_for_is_all_that_is_read() {
    let place = Place::new();
    let files = |names: &[&str]| -> Vec<PathBuf> {
        names.iter().map(|name| place.path(&format!("config/{name}.yaml"))).collect()
    };
    let web = || vec!["default/web".to_owned()];
    let found = read(&mut place.named(&["web"], Scope::Only));
    assert_eq!(found, (web(), files(&["issuer", "web"]), web()));
    // Before something is written, the others are looked through; they are not parsed.
    place.write("config/mail.yaml", &certificate("mail", "mail").replace("dnsNames", "dnsName"));
    let found = read(&mut place.named(&["default/web"], Scope::Named));
    assert_eq!(found, (web(), files(&["issuer", "mail", "web"]), web()));
    let mut all = place.named(&[], Scope::Only);
    assert_eq!(all.scope, Scope::All);
    let both = ["default/mail", "default/web"].map(str::to_owned).to_vec();
    assert_eq!(read(&mut all), (both, files(&["issuer", "mail", "web"]), web()));
    assert!(all.everything().has_errors);
}

#[test]
fn what_is_only_shown_is_selected_alike_without_its_records() {
    let place = Place::new();
    place.record("old", 1, "config/old.yaml");
    place.record("gone", 2, "site/gone.yaml");
    place.write("config/old.yaml", &certificate("old", "web"));
    place.write("config/mail.yaml", &certificate("mail", "mail").replace("dnsNames", "dnsName"));
    place.record("torn", 3, "config/torn.yaml");
    place.write("state/certificates/default/torn/status.json", "{");
    let mut whole = place.named(&[], Scope::Only);
    let shown = Workspace::open_shown(place.settings(), &[], Scope::Only);
    let mut shown = shown.now_or_never().unwrap().unwrap();
    assert_eq!((whole.records.len(), whole.outlines.len()), (4, 0));
    assert_eq!((shown.records.len(), shown.outlines.len()), (0, 4));
    assert_eq!(shown.damaged, whole.damaged);
    let now = "2026-06-01T00:00:00Z".parse().unwrap();
    assert_eq!((shown.record_count(), whole.record_count()), (4, 4));
    let [shown, whole] = [&mut shown, &mut whole].map(|workspace| {
        let targets = workspace.everything_shown();
        let views = Box::pin(workspace.certificate_views(&targets, now)).now_or_never();
        let plan = Box::pin(workspace.plan(&targets, now)).now_or_never().unwrap().unwrap();
        let planned = (plan.items, plan.damaged.len());
        (targets.orphans.clone(), workspace.keys(&targets), views.unwrap().unwrap(), planned)
    });
    assert_eq!(shown, whole);
    assert_eq!(shown.3.0.iter().map(|item| &item.name).collect::<Vec<_>>(), ["web"]);
    let names: Vec<&str> = shown.2.iter().map(|view| view.key.name.as_str()).collect();
    assert_eq!(names, ["gone", "mail", "old", "torn", "web"]);
    let recorded: Vec<bool> = shown.2.iter().map(|view| view.record.is_some()).collect();
    assert_eq!(recorded, [true, true, true, false, true]);
}

#[test]
fn several_names_are_read_together_and_a_namespace_is_looked_into_alone() {
    let place = Place::new();
    place.write("site/b.yaml", &certificate("b/web", "web"));
    place.record("b/web", 1, "site/b.yaml");
    let scope = |names: &[&str], namespace: Option<&str>| {
        let names: Vec<NameTarget> =
            names.iter().map(|name| NameTarget::parse(name).unwrap()).collect();
        let settings = Settings { namespace: namespace.map(str::to_owned), ..place.settings() };
        let opened = Workspace::open_named(settings, &names, Scope::Only);
        opened.now_or_never().unwrap().unwrap().scope
    };
    let default = |names: &[&str]| {
        Scope::Only(names.iter().map(|name| NamespacedName::new("default", *name)).collect())
    };
    assert_eq!(scope(&["default/web", "mail"], None), default(&["mail", "web"]));
    assert_eq!(scope(&["web"], Some("default")), default(&["web"]));
    assert_eq!(scope(&["web"], None), Scope::All);
    // A namespace of the name and another one of -n select nothing.
    assert_eq!(scope(&["default/web"], Some("b")), Scope::All);
}

#[test]
fn what_cannot_be_judged_alone_is_read_with_all_others() {
    let changes: [Change; 12] = [
        ("nothing", |_| {}, [true, true]),
        (
            "its record is gone",
            |place| remove(&place.path("state/certificates/default/web")),
            [false; 2],
        ),
        (
            "its record is damaged",
            |place| place.write("state/certificates/default/web/status.json", "{"),
            [false; 2],
        ),
        ("its manifest is gone", |place| remove(&place.path("config/web.yaml")), [false; 2]),
        ("it is no longer in it", |place| place.write("config/web.yaml", ISSUER), [false; 2]),
        (
            "it moved",
            |place| fs::rename(place.path("config/web.yaml"), place.path("config/x.yaml")).unwrap(),
            [false, true],
        ),
        (
            "it has a mistake",
            |place| {
                place.write(
                    "config/web.yaml",
                    &certificate("web", "web").replace("dnsNames", "dnsName"),
                );
            },
            [false; 2],
        ),
        ("its issuer is gone", |place| remove(&place.path("config/issuer.yaml")), [false; 2]),
        (
            "it has another Secret",
            |place| place.write("config/web.yaml", &certificate("web", "web-2")),
            [false; 2],
        ),
        ("its Secret has another's pair", |place| place.publish("web", "mail"), [false; 2]),
        (
            "nothing is published",
            |place| remove(&place.path("state/secrets/default/web")),
            [true, false],
        ),
        (
            "another manifest has its name",
            |place| place.write("config/x.yaml", &certificate("web", "x")),
            [true, false],
        ),
    ];
    let kinds: [Kind; 2] = [Scope::Only, Scope::Named];
    for (what, change, expected) in changes {
        let place = Place::new();
        change(&place);
        let is_alone = kinds.map(|kind| place.named(&["web"], kind).scope != Scope::All);
        assert_eq!(is_alone, expected, "{what}");
    }
}

fn remove(path: &Path) {
    if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
}

#[test]
fn a_manifest_has_the_name_that_it_has_when_all_are_read() {
    let place = Place::new();
    // Read through a link in the config directory, through a link to that, and outside of it.
    fs::rename(place.path("config/mail.yaml"), place.path("site/mail.yaml")).unwrap();
    symlink("../site/mail.yaml", place.path("config/m.yaml")).unwrap();
    symlink("config", place.path("etc")).unwrap();
    place.record("b/api", 1, "site/api.yaml");
    place.write(
        "site/api.yaml",
        &certificate("api", "api")
            .replace("name: api", "name: api\n  namespace: b")
            .replace("name: ca", "name: ca\n    kind: ClusterIssuer"),
    );
    place.write(
        "config/issuer.yaml",
        &format!("{ISSUER}---\n{}", ISSUER.replace("Issuer", "ClusterIssuer")),
    );
    remove(&place.path("state/certificates/default/mail"));
    place.record("mail", 1, "site/mail.yaml");
    for name in ["web", "mail", "b/api"] {
        let settings = Settings { config_dir: Some(place.path("etc")), ..place.settings() };
        let target = [NameTarget::parse(name).unwrap()];
        let opened = Workspace::open_named(settings.clone(), &target, Scope::Only);
        let mut alone = opened.now_or_never().unwrap().unwrap();
        let mut all = Workspace::open(settings).now_or_never().unwrap().unwrap();
        let (_, _, tasks) = read(&mut alone);
        assert_eq!((alone.scope != Scope::All, tasks.len()), (true, 1), "{name}");
        let key = alone.records[0].0.clone();
        let [alone, all] = [&mut alone, &mut all].map(|workspace| {
            let selection = workspace.select(&Request::default());
            let mut certificates = selection.loaded.certificates.into_iter();
            certificates.find(|one| one.metadata.key() == key).unwrap().origin.clone()
        });
        assert_eq!(alone, all, "{name}");
    }
}

#[test]
fn of_two_recorded_owners_of_a_secret_the_one_whose_pair_is_in_it_keeps_it() {
    for (holder, expected) in [("web", "default/web"), ("old", "default/old"), ("x", "default/old")]
    {
        let place = Place::new();
        place.record("old", 1, "config/old.yaml");
        place.write("config/old.yaml", &certificate("old", "web"));
        let path = place.path("state/certificates/default/old/status.json");
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replace("\"secretName\": \"old\"", "\"secretName\": \"web\"");
        place.write("state/certificates/default/old/status.json", &text.replace("2026", "2025"));
        place.publish("web", holder);
        let mut all = Workspace::open(place.settings()).now_or_never().unwrap().unwrap();
        let (_, _, tasks) = read(&mut all);
        assert_eq!(tasks, ["default/mail", expected], "{holder}");
        // That one needs no look at the others.
        let alone =
            ["web", "old"].map(|name| place.named(&[name], Scope::Only).scope != Scope::All);
        assert_eq!(alone, [holder == "web", holder == "old"], "{holder}");
        // Before something is written, the other manifest is found.
        assert_eq!(place.named(&[holder], Scope::Named).scope, Scope::All);
    }
}
