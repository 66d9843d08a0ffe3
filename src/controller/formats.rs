//! Do the published files match the spec's formats? If not, rewrite them: the same key and chain,
//! the same revision, no order.
//!
//! | what differs | event |
//! | --- | --- |
//! | annotations or labels | SecretTemplateMismatch |
//! | key.der, tls-combined.pem | AdditionalOutputFormatsMismatch |
//! | encoding, ca.crt, keystores and their passwords | SecretMismatch |
//!
//! Settled while an issuance is in progress, which rewrites everything; when the pair is not
//! ready, which a rewrite would not fix; and for an adopted pair, which stays unchanged until its
//! first renewal. One run rewrites at most once.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::policy::{READINESS, Violation, first_violation};
use super::{Change, Effect, IllegalOutcome, Outcome, Record, SecretContents, Snapshot, Step};
use crate::resource::keystore::{KEYSTORE_JKS, KEYSTORE_P12, TRUSTSTORE_JKS, TRUSTSTORE_P12};
use crate::resource::{
    KeyAlgorithm, LeafFacts, OutputFormat, PublishedFormats, PublishedKeystore, PublishedPair,
    Reason, SecretTemplate, annotation, annotations_of,
};

/// The label of every managed Secret.
pub const MANAGED_LABEL: &str = "controller.cert-manager.io/fao";

/// See the table above.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Step {
    let written = snapshot.run.published || snapshot.run.rewritten.is_some();
    if written || snapshot.is_issuing() || snapshot.record.status.revision.is_none() {
        return Step::Settled;
    }
    if first_violation(READINESS, snapshot, now).is_some() || mismatch(snapshot).is_none() {
        return Step::Settled;
    }
    let revision = snapshot.record.status.revision.unwrap_or(0);
    Step::Act(vec![Effect::Rewrite { revision, contents: contents(snapshot) }])
}

/// Records the rewrite, and clears an earlier failure of it.
pub fn absorb(
    snapshot: &mut Snapshot,
    outcome: &Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    let (Outcome::Rewritten, Some(why)) = (outcome, mismatch(snapshot)) else {
        return Err(IllegalOutcome::new("rewriting", outcome));
    };
    let mut changes = Vec::new();
    let record = &snapshot.record;
    if record.last_failure.is_some() && record.status.last_failure_time.is_none() {
        let mut record = record.clone();
        record.last_failure = None;
        changes.push(Change::Certificate(Box::new(record)));
    }
    snapshot.files_digest = None;
    snapshot.run.rewritten = Some(why.message.clone());
    snapshot.run.deployment.note_other_files();
    Ok(Record { changes, events: Vec::new() }.normal(now, why.reason, why.message))
}

/// The first difference between the published files and the spec.
pub fn mismatch(snapshot: &Snapshot) -> Option<Violation> {
    let pair = snapshot.secret.as_ref()?;
    let leaf = pair.leaf()?;
    let found = |reason, what: &str| {
        Some(Violation {
            reason,
            message: format!("Secret written again without an order: {what}"),
        })
    };
    let retained: BTreeMap<_, _> = pair
        .annotations
        .iter()
        .filter(|(key, _)| !key.starts_with(annotation::SUBJECT_PREFIX))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let wanted = contents_with(snapshot, leaf);
    if retained != wanted.annotations {
        return found(Reason::SecretTemplateMismatch, "its annotations are not up to date");
    }
    if pair.labels != wanted.labels {
        return found(Reason::SecretTemplateMismatch, "its labels are not up to date");
    }
    let PublishedFormats { der, combined_pem, authorities, .. } = &pair.formats;
    let if_requested =
        |format| snapshot.certificate.spec.additional_output_formats.contains(&format);
    for (name, format, there) in [
        ("key.der", OutputFormat::Der, der),
        ("tls-combined.pem", OutputFormat::CombinedPem, combined_pem),
    ] {
        if *there != if_requested(format).then_some(true) {
            let what = format!("{name} does not match spec.additionalOutputFormats");
            return found(Reason::AdditionalOutputFormatsMismatch, &what);
        }
    }
    if has_another_encoding(snapshot, pair) {
        return found(Reason::SecretMismatch, "spec.privateKey.encoding has changed");
    }
    if *authorities != wanted.authorities {
        return found(Reason::SecretMismatch, "ca.crt is not up to date");
    }
    let what = keystore_mismatch(snapshot, &wanted.keystores, &pair.formats)?;
    found(Reason::SecretMismatch, &what)
}

fn has_another_encoding(snapshot: &Snapshot, pair: &PublishedPair) -> bool {
    let key = pair.key.as_ref().and_then(|key| key.as_ref().ok());
    // An Ed25519 key has only one encoding.
    let has_a_choice = key.is_some_and(|key| key.algorithm != KeyAlgorithm::Ed25519);
    let wanted = snapshot.certificate.spec.private_key.as_ref().and_then(|key| key.encoding);
    has_a_choice && pair.formats.encoding != Some(wanted.unwrap_or_default())
}

fn keystore_mismatch(
    snapshot: &Snapshot,
    wanted: &BTreeMap<&'static str, String>,
    formats: &PublishedFormats,
) -> Option<String> {
    for (name, setting) in wanted {
        match formats.keystores.get(*name) {
            None => return Some(format!("{name} is missing")),
            Some(store) if store.setting != *setting => {
                return Some(format!("{name} must be created with {setting}"));
            }
            Some(_) if snapshot.run.changed_passwords.contains(*name) => {
                return Some(format!("the password of {name} has changed"));
            }
            Some(_) => {}
        }
    }
    let extra = formats.keystores.keys().find(|name| !wanted.contains_key(name.as_str()))?;
    Some(format!("{extra} is no longer requested"))
}

/// The forms of a newly written pair. The next run reads the salts and digests of its keystores;
/// this one does not rewrite again.
pub fn written(snapshot: &Snapshot) -> PublishedFormats {
    let spec = &snapshot.certificate.spec;
    let if_requested = |format| spec.additional_output_formats.contains(&format).then_some(true);
    let stores = wanted_keystores(snapshot).into_iter().map(|(name, setting)| {
        let (salt, password_digest) = (String::new(), String::new());
        (name.to_owned(), PublishedKeystore { setting, salt, password_digest })
    });
    PublishedFormats {
        encoding: Some(spec.private_key.as_ref().and_then(|key| key.encoding).unwrap_or_default()),
        der: if_requested(OutputFormat::Der),
        combined_pem: if_requested(OutputFormat::CombinedPem),
        authorities: wanted_authorities(snapshot).map(str::to_owned),
        keystores: stores.collect(),
    }
}

/// The keystores to write, with alias or profile. Truststores only when there is a CA certificate.
pub fn wanted_keystores(snapshot: &Snapshot) -> BTreeMap<&'static str, String> {
    let keystores = snapshot.certificate.spec.keystores.clone().unwrap_or_default();
    let mut wanted = BTreeMap::new();
    let mut want = |key_store, trust_store, setting: String| {
        if wanted_authorities(snapshot).is_some() {
            wanted.insert(trust_store, setting.clone());
        }
        wanted.insert(key_store, setting);
    };
    if let Some(jks) = keystores.jks.filter(|jks| jks.create) {
        let alias = jks.alias.filter(|alias| !alias.is_empty());
        want(KEYSTORE_JKS, TRUSTSTORE_JKS, alias.unwrap_or_else(|| "certificate".to_owned()));
    }
    if let Some(pkcs12) = keystores.pkcs12.filter(|pkcs12| pkcs12.create) {
        let profile = pkcs12.profile.unwrap_or_default();
        want(KEYSTORE_P12, TRUSTSTORE_P12, format!("{profile:?}"));
    }
    wanted
}

/// The content of ca.crt, when `certctl/ca-crt` requests it and the issuer has one.
fn wanted_authorities(snapshot: &Snapshot) -> Option<&str> {
    snapshot.issuer().acme.ca_bundle.as_deref().filter(|_| snapshot.settings.ca_crt_from_bundle)
}

/// What a Secret of this Certificate holds beside key and chain.
pub fn contents(snapshot: &Snapshot) -> SecretContents {
    let spec = &snapshot.certificate.spec;
    let issuer_ref = &spec.issuer_ref;
    let group = if issuer_ref.group.is_empty() { "cert-manager.io" } else { &issuer_ref.group };
    let SecretTemplate { mut annotations, mut labels } =
        spec.secret_template.clone().unwrap_or_default();
    for (key, value) in [
        (annotation::CERTIFICATE_NAME, snapshot.certificate.metadata.name.clone()),
        (annotation::ISSUER_NAME, issuer_ref.name.clone()),
        (annotation::ISSUER_KIND, issuer_ref.kind.to_string()),
        (annotation::ISSUER_GROUP, group.to_owned()),
    ] {
        annotations.insert(key.to_owned(), value);
    }
    labels.insert(MANAGED_LABEL.to_owned(), "true".to_owned());
    SecretContents {
        annotations,
        labels,
        authorities: wanted_authorities(snapshot).map(str::to_owned),
        keystores: wanted_keystores(snapshot),
    }
}

/// The same for a temporary certificate, which has no issuer.
pub fn temporary_contents(snapshot: &Snapshot) -> SecretContents {
    let mut contents = contents(snapshot);
    for of_issuer in [annotation::ISSUER_NAME, annotation::ISSUER_KIND, annotation::ISSUER_GROUP] {
        contents.annotations.remove(of_issuer);
    }
    contents
}

/// The contents beside this leaf, with its annotations.
pub fn contents_with(snapshot: &Snapshot, leaf: &LeafFacts) -> SecretContents {
    let is_temporary = leaf.is_temporary();
    let mut contents = if is_temporary { temporary_contents(snapshot) } else { contents(snapshot) };
    contents.annotations.extend(annotations_of(leaf));
    contents
}
