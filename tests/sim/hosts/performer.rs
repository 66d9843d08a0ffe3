//! What the program itself does where the stage has an imitation: a pair is stored, and followed in all
//! its formats.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use certctl::acme::Limits;
use certctl::controller::{Effect, Outcome, SecretContents};
use certctl::engine::ports::{Clock as _, Unguarded};
use certctl::engine::{Dns01Options, HooksDir, Performer as _, Task, World, WorldOptions};
use certctl::manifest::SecretSource;
use certctl::pki;
use certctl::probe::{Resolver, ResolverOptions};
use certctl::resource::{Keystores, OutputFormat, Pkcs12, annotation, keystore};
use certctl::solver::listener::{Hits, TokenFolder};
use certctl::solver::{PortOptions, Served};
use certctl::store::{CertificateDocument, Records};
use certctl::trust::Bounds;

use super::one_name;
use crate::fuse::Fuse;
use crate::stage::disk::is_pair;
use crate::stage::host::{HostStore, LATER, Run};
use crate::stage::world::EFFECT;
use crate::timeline::Timeline;

/// The performer of the program, which contacts nobody here.
fn world<'a>(
    clock: &'a Timeline,
    store: &'a HostStore,
    folder: &Path,
) -> World<'a, Timeline, HostStore> {
    let now = clock.now();
    let served = Served::new(TokenFolder::open(folder).unwrap(), Hits::new(move || now));
    let options = WorldOptions {
        http01: PortOptions::default(),
        tls_alpn01: PortOptions::default(),
        cluster_resource_namespace: "cert-manager".to_owned(),
        user_agent: "tests".to_owned(),
        limits: Limits::default(),
        verb: "issue",
        hooks: HooksDir::default(),
        bounds: Bounds::default(),
        environment: Box::new(|_| None),
        hook_timeout: Duration::from_secs(1),
        dns01: Dns01Options::default(),
    };
    let resolver = Resolver::new(ResolverOptions {
        servers: vec!["127.0.0.1:53".parse().unwrap()],
        ..ResolverOptions::default()
    });
    World::new(clock, store, served, resolver, SecretSource::new(Vec::new(), None, None), options)
}

/// The certificate, in all formats; the stage knows none but the pair.
fn in_all_formats(task: &Task) -> (Task, SecretContents) {
    let mut task = task.clone();
    let spec = &mut Arc::make_mut(&mut task.certificate).spec;
    spec.additional_output_formats = vec![OutputFormat::CombinedPem, OutputFormat::Der];
    let password = Some("changeit".to_owned());
    let pkcs12 = Pkcs12 { create: true, profile: None, password, password_secret_ref: None };
    spec.keystores = Some(Keystores { jks: None, pkcs12: Some(pkcs12) });
    let name = (annotation::CERTIFICATE_NAME.to_owned(), task.certificate.metadata.name.clone());
    let contents = SecretContents {
        annotations: BTreeMap::from([name]),
        labels: BTreeMap::new(),
        authorities: None,
        keystores: BTreeMap::from([(keystore::KEYSTORE_P12, "LegacyRC2".to_owned())]),
    };
    (task, contents)
}

#[test]
fn the_program_stores_a_pair_and_publishes_it_in_all_formats_once_the_record_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let hosts = one_name(2);
    let publish = format!("{EFFECT}Publish");
    let labels = one_name(2).run(Run::of(0)).labels;
    let moment = labels.iter().position(|label| label.starts_with(&publish)).unwrap();
    hosts.run(Run { fuse: Fuse::at(moment), ..Run::of(0) });

    let (task, contents) = in_all_formats(&hosts.task);
    let (name, issuer) = (task.certificate.metadata.key(), Arc::clone(&task.issuers.first));
    let [first, second] = [0, 1].map(|host| hosts.open(host, &Rc::default()));
    let perform = |store: &HostStore, effect: &Effect| {
        let world = world(&hosts.clock, store, folder.path());
        let done = world.perform(&task, Arc::clone(&issuer), effect.clone(), &Unguarded);
        hosts.clock.run(|| false, done).unwrap()
    };
    let records = Records::new(&first.documents);
    let orders = async { CertificateDocument::read(&first.documents, &name).await?.orders().await };
    let orders = hosts.clock.run(|| false, orders).unwrap().unwrap();
    let order = orders.into_iter().next().unwrap().1.unwrap();
    let certificate = order.certificate().unwrap().to_owned();
    let fingerprint = pki::leaf_facts(&certificate).unwrap().fingerprint;
    let publish = Effect::Publish {
        certificate,
        revision: 1,
        contents: contents.clone(),
        account: String::new(),
        renewal: false,
        exempt: false,
    };
    let follow = Effect::Follow { revision: 1, fingerprint: fingerprint.clone(), contents };
    // Each effect may run twice.
    for _ in 0..2 {
        assert!(matches!(perform(&first, &publish), Outcome::Published(_)));
        let pair = records.pair(&name, 1, &fingerprint);
        assert!(hosts.clock.run(|| false, pair).unwrap().unwrap().is_some());
        assert_eq!(perform(&first, &follow), Outcome::Done);
        assert!(hosts.files[0].borrow().secrets.is_empty(), "no record names it");
    }

    hosts.run(Run { after: LATER, ..Run::of(0) });
    assert_eq!(hosts.record().unwrap().issued_fingerprint.as_ref(), Some(&fingerprint));
    for _ in 0..2 {
        assert_eq!(perform(&second, &follow), Outcome::Done);
        let memory = hosts.files[1].borrow();
        let (revision, files) = &memory.secrets[&task.certificate.secret_key()];
        let names: Vec<&str> = files.0.keys().map(String::as_str).collect();
        let all =
            ["key.der", "keystore.p12", "metadata.json", "tls-combined.pem", "tls.crt", "tls.key"];
        assert_eq!((*revision, names), (1, all.to_vec()));
        assert!(is_pair(files));
        let leaf = pki::leaf_facts(std::str::from_utf8(&files.0["tls.crt"]).unwrap()).unwrap();
        assert_eq!(leaf.fingerprint, fingerprint);
    }
}
