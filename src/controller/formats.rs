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
use super::{Change, Effect, IllegalOutcome, Outcome, Record, Snapshot, Step};
use crate::resource::{
    KeyAlgorithm, LeafFacts, OutputFormat, PublishedFormats, PublishedKeystore, PublishedPair,
    Reason, annotation,
};

/// The annotations derived from the leaf.
pub mod detail {
    /// Subject CN.
    pub const COMMON_NAME: &str = "cert-manager.io/common-name";
    /// SANs of type dNSName.
    pub const ALT_NAMES: &str = "cert-manager.io/alt-names";
    /// SANs of type iPAddress.
    pub const IP_SANS: &str = "cert-manager.io/ip-sans";
    /// SANs of type URI.
    pub const URI_SANS: &str = "cert-manager.io/uri-sans";
    /// SANs of type rfc822Name.
    pub const EMAIL_SANS: &str = "cert-manager.io/email-sans";
    /// The prefix of the annotations derived from the other attributes of the subject.
    pub const SUBJECT_PREFIX: &str = "cert-manager.io/subject-";
}

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
    Step::Act(vec![Effect::Rewrite])
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
    snapshot.run.note_other_files();
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
    let kept: BTreeMap<_, _> = pair
        .annotations
        .iter()
        .filter(|(key, _)| !key.starts_with(detail::SUBJECT_PREFIX))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if kept != annotations(snapshot, leaf) {
        return found(Reason::SecretTemplateMismatch, "its annotations are not up to date");
    }
    if pair.labels != labels(snapshot) {
        return found(Reason::SecretTemplateMismatch, "its labels are not up to date");
    }
    let PublishedFormats { der, combined_pem, authorities, .. } = &pair.formats;
    let asked = |format| snapshot.certificate.spec.additional_output_formats.contains(&format);
    for (name, format, there) in [
        ("key.der", OutputFormat::Der, der),
        ("tls-combined.pem", OutputFormat::CombinedPem, combined_pem),
    ] {
        if *there != asked(format).then_some(true) {
            let what = format!("{name} does not match spec.additionalOutputFormats");
            return found(Reason::AdditionalOutputFormatsMismatch, &what);
        }
    }
    if has_another_encoding(snapshot, pair) {
        return found(Reason::SecretMismatch, "spec.privateKey.encoding has changed");
    }
    if authorities.as_deref() != wanted_authorities(snapshot) {
        return found(Reason::SecretMismatch, "ca.crt is not up to date");
    }
    let what = keystore_mismatch(snapshot, &pair.formats)?;
    found(Reason::SecretMismatch, &what)
}

fn has_another_encoding(snapshot: &Snapshot, pair: &PublishedPair) -> bool {
    let key = pair.key.as_ref().and_then(|key| key.as_ref().ok());
    // An Ed25519 key has only one encoding.
    let has_a_choice = key.is_some_and(|key| key.algorithm != KeyAlgorithm::Ed25519);
    let wanted = snapshot.certificate.spec.private_key.as_ref().and_then(|key| key.encoding);
    has_a_choice && pair.formats.encoding != Some(wanted.unwrap_or_default())
}

fn keystore_mismatch(snapshot: &Snapshot, formats: &PublishedFormats) -> Option<String> {
    let wanted = wanted_keystores(snapshot);
    for (name, setting) in &wanted {
        match formats.keystores.get(*name) {
            None => return Some(format!("{name} is missing")),
            Some(store) if store.setting != *setting => {
                return Some(format!("{name} is to be made with {setting}"));
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
    let asked = |format| spec.additional_output_formats.contains(&format).then_some(true);
    let stores = wanted_keystores(snapshot).into_iter().map(|(name, setting)| {
        let (salt, password_digest) = (String::new(), String::new());
        (name.to_owned(), PublishedKeystore { setting, salt, password_digest })
    });
    PublishedFormats {
        encoding: Some(spec.private_key.as_ref().and_then(|key| key.encoding).unwrap_or_default()),
        der: asked(OutputFormat::Der),
        combined_pem: asked(OutputFormat::CombinedPem),
        authorities: wanted_authorities(snapshot).map(str::to_owned),
        keystores: stores.collect(),
    }
}

/// The file of a Java keystore.
pub const KEYSTORE_JKS: &str = "keystore.jks";
/// The file of a Java truststore.
pub const TRUSTSTORE_JKS: &str = "truststore.jks";
/// The file of a PKCS#12 keystore.
pub const KEYSTORE_P12: &str = "keystore.p12";
/// The file of a PKCS#12 truststore.
pub const TRUSTSTORE_P12: &str = "truststore.p12";

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

/// The content of ca.crt, when `certctl.io/ca-crt` requests it and the issuer has one.
pub fn wanted_authorities(snapshot: &Snapshot) -> Option<&str> {
    snapshot.issuer.acme.ca_bundle.as_deref().filter(|_| snapshot.settings.ca_crt_from_bundle)
}

/// The annotations of a published pair, without those of the leaf's subject. A temporary one has
/// no issuer.
pub fn annotations(snapshot: &Snapshot, leaf: &LeafFacts) -> BTreeMap<String, String> {
    let issuer_ref = &snapshot.certificate.spec.issuer_ref;
    let group = if issuer_ref.group.is_empty() { "cert-manager.io" } else { &issuer_ref.group };
    let template = snapshot.certificate.spec.secret_template.clone().unwrap_or_default();
    let mut annotations = template.annotations;
    let addresses: Vec<String> = leaf.ip_addresses.iter().map(ToString::to_string).collect();
    for (key, value) in [
        (annotation::CERTIFICATE_NAME, snapshot.certificate.metadata.name.clone()),
        (annotation::ISSUER_NAME, issuer_ref.name.clone()),
        (annotation::ISSUER_KIND, issuer_ref.kind.to_string()),
        (annotation::ISSUER_GROUP, group.to_owned()),
        (detail::COMMON_NAME, leaf.common_name.clone()),
        (detail::ALT_NAMES, csv(&leaf.dns_names)),
        (detail::IP_SANS, csv(&addresses)),
        (detail::URI_SANS, csv(&leaf.uris)),
    ] {
        annotations.insert(key.to_owned(), value);
    }
    if leaf.is_temporary() {
        for of_issuer in
            [annotation::ISSUER_NAME, annotation::ISSUER_KIND, annotation::ISSUER_GROUP]
        {
            annotations.remove(of_issuer);
        }
    }
    if !leaf.email_addresses.is_empty() {
        annotations.insert(detail::EMAIL_SANS.to_owned(), csv(&leaf.email_addresses));
    }
    annotations
}

/// The labels of a published pair.
pub fn labels(snapshot: &Snapshot) -> BTreeMap<String, String> {
    let template = snapshot.certificate.spec.secret_template.clone().unwrap_or_default();
    let mut labels = template.labels;
    labels.insert(MANAGED_LABEL.to_owned(), "true".to_owned());
    labels
}

/// Values as one line of CSV, quoted where Go's writer quotes (RFC 4180).
pub fn csv(values: &[String]) -> String {
    let quoted = values.iter().map(|value| {
        let needs_quotes = value == "\\."
            || value.starts_with(char::is_whitespace)
            || value.contains([',', '"', '\r', '\n']);
        if needs_quotes { format!("\"{}\"", value.replace('"', "\"\"")) } else { value.clone() }
    });
    quoted.collect::<Vec<_>>().join(",")
}
