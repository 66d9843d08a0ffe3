//! Formats, passwords and templates are made true without an order: same revision, next set.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use certctl::engine::inputs::digest_of;
use certctl::pki::PrivateKey;
use certctl::rehearsal::{Fault, ProblemType, Rule};
use certctl::resource::{KeyEncoding, Reason};
use serde_json::{Value, json};

use crate::support::{CertificateYaml, World};

/// A world in which `web` was issued, and how it was left.
struct Issued {
    world: World,
    requests: usize,
    fingerprint: String,
}

impl Issued {
    fn new(certificate: &CertificateYaml) -> Self {
        let world = World::prepared(std::slice::from_ref(certificate));
        world.issue().ends_in(0);
        let requests = world.ca.log().len();
        let fingerprint = world.state().published("web").fingerprint;
        assert_eq!(live(&world), Path::new("..revision-1-0"));
        Self { world, requests, fingerprint }
    }

    /// Runs once more, and again: only the first run does something, and neither contacts the CA.
    #[track_caller]
    fn is_written_again(&self, reason: Reason, what: &str) {
        let before = live(&self.world);
        self.world.issue().ends_in(0);
        let now = live(&self.world);
        assert!(now != before && now.to_str().unwrap().starts_with("..revision-1-"), "{now:?}");
        let event = last_event(&self.world);
        assert_eq!(event["reason"], json!(reason));
        assert!(event["message"].as_str().unwrap().contains(what), "{event}");
        self.is_left_alone();
    }

    #[track_caller]
    fn is_left_alone(&self) {
        let before = self.world.state().everything();
        self.world.issue().says_nothing();
        assert_eq!(self.world.state().everything(), before);
        assert_eq!(self.world.ca.log().len(), self.requests, "requests were sent");
        assert_eq!(self.world.state().published("web").fingerprint, self.fingerprint);
        let status = self.world.state().record("web").status;
        assert_eq!((status.revision, status.failed_issuance_attempts), (Some(1), None));
        assert_eq!(self.world.state().issuances(), 1);
    }
}

fn live(world: &World) -> PathBuf {
    fs::read_link(world.state().path("secrets/default/web-tls/..data")).unwrap()
}

fn last_event(world: &World) -> Value {
    let path = world.state().path("certificates/default/web/events.jsonl");
    let journal = fs::read_to_string(path).unwrap();
    serde_json::from_str(journal.lines().last().unwrap()).unwrap()
}

fn published(world: &World, name: &str) -> Option<Vec<u8>> {
    fs::read(world.state().path("secrets/default/web-tls/..data").join(name)).ok()
}

fn metadata(world: &World) -> Value {
    let mut stored: Value =
        serde_json::from_slice(&published(world, "metadata.json").unwrap()).unwrap();
    let files = stored["document"].as_object_mut().unwrap().remove("files").unwrap();
    for (name, digest) in files.as_object().unwrap() {
        assert_eq!(digest, &digest_of(&published(world, name).unwrap()), "{name}");
    }
    stored["document"].take()
}

fn secret(world: &World, below: &str, text: &str) {
    let path = world.write(below, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

const STORES: &str = "keystores:\n    jks:\n      create: true\n      passwordSecretRef:\n        \
                      name: stores\n        key: password\n    pkcs12:\n      create: true\n      \
                      password: literal";

#[test]
fn another_keystore_password_writes_the_stores_again() {
    let plain = CertificateYaml::new("web");
    let issued = Issued::new(&plain);
    let world = &issued.world;
    assert_eq!(published(world, "keystore.p12"), None);
    secret(world, "config/secrets/default/stores/password", "first\n");
    world.write("config/web.yaml", &plain.clone().field(STORES));
    issued.is_written_again(Reason::SecretMismatch, "keystore.jks is missing");
    let first = (published(world, "keystore.jks"), published(world, "keystore.p12"));
    assert!(first.0.is_some() && first.1.is_some());

    secret(world, "config/secrets/default/stores/password", "second\n");
    let what = "the password of keystore.jks has changed";
    issued.is_written_again(Reason::SecretMismatch, what);
    assert_ne!(published(world, "keystore.jks"), first.0);
    for set in ["..revision-1-1", "..revision-1-2"] {
        let path = world.state().path("secrets/default/web-tls").join(set);
        let kept = fs::read_to_string(path.join("metadata.json")).unwrap();
        assert!(!["first", "second", "literal"].iter().any(|word| kept.contains(word)), "{kept}");
    }

    let other = STORES
        .replace("literal", "other")
        .replace("password: other", "profile: Modern2023\n      password: other");
    world.write("config/web.yaml", &plain.clone().field(&other));
    let what = "keystore.p12 must be created with Modern2023";
    issued.is_written_again(Reason::SecretMismatch, what);
    world.write("config/web.yaml", &plain);
    let what = "keystore.jks is no longer requested";
    issued.is_written_again(Reason::SecretMismatch, what);
    assert_eq!(published(world, "keystore.jks"), None);
}

#[test]
fn a_missing_password_is_found_before_anything_is_asked_of_the_ca() {
    let world = World::prepared(&[CertificateYaml::new("web").field(STORES)]);
    let run = world.issue().ends_in(3).says("spec.keystores.jks.passwordSecretRef");
    for path in ["config/secrets/default/stores/password", "config/secrets/stores/password"] {
        assert!(run.stderr.contains(world.path(path).to_str().unwrap()), "{}", run.stderr);
    }
    assert_eq!(world.ca.requests(), 0);
    secret(&world, "config/secrets/default/stores/password", "first\n");
    world.issue().ends_in(0);
    assert!(published(&world, "keystore.jks").is_some());
    // A password that is gone afterwards changes nothing that is live.
    fs::remove_file(world.path("config/secrets/default/stores/password")).unwrap();
    world.issue().says_nothing();
}

#[test]
fn another_encoding_and_further_formats_are_written_without_an_order() {
    let plain = CertificateYaml::new("web");
    let issued = Issued::new(&plain);
    let world = &issued.world;
    let key =
        || PrivateKey::from_pem(&String::from_utf8(published(world, "tls.key").unwrap()).unwrap());
    let before = key().unwrap();
    let pkcs8 =
        plain.to_string().replace("algorithm: ECDSA", "algorithm: ECDSA\n    encoding: PKCS8");
    world.write("config/web.yaml", &pkcs8);
    let what = "spec.privateKey.encoding has changed";
    issued.is_written_again(Reason::SecretMismatch, what);
    let pem = before.to_pem(KeyEncoding::Pkcs8);
    assert_eq!(published(world, "tls.key").unwrap(), pem.as_bytes());

    let formats = "  additionalOutputFormats: [{type: DER}, {type: CombinedPEM}]\n";
    world.write("config/web.yaml", &(pkcs8.clone() + formats));
    let what = "key.der does not match";
    let reason = Reason::AdditionalOutputFormatsMismatch;
    issued.is_written_again(reason, what);
    assert_eq!(published(world, "key.der").unwrap(), **before.der(KeyEncoding::Pkcs8));
    // A modified file is restored.
    let live = world.state().path("secrets/default/web-tls/..data");
    let spoiled = live.join("tls-combined.pem");
    fs::remove_file(&spoiled).unwrap();
    issued.is_written_again(reason, "tls-combined.pem does not match");
    world.write("config/web.yaml", &pkcs8);
    issued.is_written_again(reason, what);
    assert_eq!((published(world, "key.der"), published(world, "tls-combined.pem")), (None, None));
}

#[test]
fn the_secret_template_and_the_facts_of_the_leaf_are_kept_beside_the_files() {
    let plain = CertificateYaml::new("web").for_names(&["web.example.test", "www.example.test"]);
    let issued = Issued::new(&plain);
    let world = &issued.world;
    let mut annotations: BTreeMap<&str, &str> = BTreeMap::from([
        ("cert-manager.io/alt-names", "web.example.test,www.example.test"),
        ("cert-manager.io/certificate-name", "web"),
        ("cert-manager.io/common-name", ""),
        ("cert-manager.io/ip-sans", ""),
        ("cert-manager.io/issuer-group", "cert-manager.io"),
        ("cert-manager.io/issuer-kind", "Issuer"),
        ("cert-manager.io/issuer-name", "ca"),
        ("cert-manager.io/uri-sans", ""),
    ]);
    let mut labels = BTreeMap::from([("controller.cert-manager.io/fao", "true")]);
    assert_eq!(metadata(world), json!({ "annotations": annotations, "labels": labels }));

    let template = "secretTemplate:\n    annotations: {team: blue}\n    labels: {tier: web}";
    world.write("config/web.yaml", &plain.clone().field(template));
    let reason = Reason::SecretTemplateMismatch;
    issued.is_written_again(reason, "its annotations are not up to date");
    annotations.insert("team", "blue");
    labels.insert("tier", "web");
    assert_eq!(metadata(world), json!({ "annotations": annotations, "labels": labels }));
    let template = template.replace("tier: web", "tier: db");
    world.write("config/web.yaml", &plain.field(&template));
    issued.is_written_again(reason, "its labels are not up to date");
}

#[test]
fn the_ca_bundle_becomes_ca_crt_and_truststores_when_asked_for() {
    let plain = CertificateYaml::new("web");
    let issued = Issued::new(&plain);
    let world = &issued.world;
    let names = ["ca.crt", "truststore.jks", "truststore.p12"];
    assert!(names.iter().all(|name| published(world, name).is_none()));
    let literal = "keystores:\n    jks: {create: true, password: changeit}\n    \
                   pkcs12: {create: true, password: changeit}";
    let asking = plain.annotation("certctl/ca-crt", "from-ca-bundle").field(literal);
    world.write("config/web.yaml", &asking);
    issued.is_written_again(Reason::SecretMismatch, "ca.crt is not up to date");
    assert_eq!(published(world, "ca.crt").unwrap(), world.ca.root_pem().as_bytes());
    assert!(names.iter().all(|name| published(world, name).is_some()));
}

#[test]
fn a_run_that_only_wrote_other_forms_has_changed_something() {
    let plain = CertificateYaml::new("web");
    let issued = Issued::new(&plain);
    let world = &issued.world;
    world.run(&["issue", "--exit-code"]).says_nothing();
    world.write("config/web.yaml", &plain.clone().field("additionalOutputFormats: [{type: DER}]"));
    let message = "Secret written again without an order: key.der does not match";
    world.run(&["issue", "--exit-code"]).ends_in(10).says(message);
    assert!(published(world, "key.der").is_some());
    issued.is_left_alone();
    world.run(&["issue", "--exit-code"]).says_nothing();
    // Without the flag the exit code is 0, and the message is the same.
    world.write("config/web.yaml", &plain);
    world.issue().ends_in(0).says(message);
}

/// The backoff of a renewal keeps no other form waiting, and hides no error with one.
#[test]
fn a_form_that_cannot_be_written_while_a_renewal_waits_is_reported_too() {
    let password = "config/secrets/default/stores/password";
    // It is due as soon as it is issued.
    let plain = CertificateYaml::new("web").field(STORES).field("renewBefore: 3h30m");
    let world = World::with(|options| options.leaf_lifetime = Duration::from_hours(3));
    secret(&world, password, "first\n");
    world.prepare(std::slice::from_ref(&plain));
    world.issue().ends_in(0);
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail: "no way".to_owned() };
    world.ca.faults().add(Rule::always(refusal));
    world.issue().ends_in(4);
    let failed = world.state().record("web");
    let requests = world.ca.log().len();

    fs::remove_file(world.path(password)).unwrap();
    world.write("config/web.yaml", &plain.clone().field("additionalOutputFormats: [{type: DER}]"));
    let run = world.run(&["issue", "-q"]).ends_in(3);
    let run = run.says("spec.keystores.jks.passwordSecretRef");
    let run = run.says("the issuance also waits until").says("no way");
    let run = run.says("not counted as an attempt; the next run retries");
    assert!(!run.stderr.contains("certctl renew"), "{}", run.stderr);
    let record = world.state().record("web");
    assert_eq!(record.last_failure, failed.last_failure);
    assert_eq!(record.status.failed_issuance_attempts, Some(1));
    let again = world.run(&["issue", "-q"]).ends_in(3);
    assert_eq!(again.stderr, "");
    assert_eq!(published(&world, "key.der"), None);

    secret(&world, password, "first\n");
    let run = world.run(&["issue", "--exit-code"]).ends_in(10);
    run.says("Secret written again without an order");
    assert!(published(&world, "key.der").is_some());
    assert_eq!(world.state().record("web").last_failure, failed.last_failure);
    world.run(&["issue", "--exit-code"]).ends_in(75);
    assert_eq!(world.ca.log().len(), requests);
}
