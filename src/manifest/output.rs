//! Fields about a Certificate's Secret, other than the pair: keystores, formats, metadata.

use crate::resource::{
    Jks, KeystoreProfile, Keystores, OutputFormat, Pkcs12, SecretKeySelector, SecretTemplate,
};

use super::field::{Fields, REQUIRED};
use super::metadata::{annotations, labels};
use super::name::secret_ref;
use super::sink::Sink;

/// Reads `keystores`.
pub(crate) fn keystores(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<Keystores> {
    let mut inner = fields.take("keystores")?.mapping(sink, "Certificate.spec.keystores")?;
    let jks = inner.take("jks").and_then(|field| {
        let mut store = field.mapping(sink, "Certificate.spec.keystores.jks")?;
        let (create, password, password_secret_ref) = protection(&mut store, "JKS", sink);
        let alias = store.take("alias").and_then(|field| field.text(sink));
        store.finish(sink);
        Some(Jks { create, alias, password, password_secret_ref })
    });
    let pkcs12 = inner.take("pkcs12").and_then(|field| {
        let mut store = field.mapping(sink, "Certificate.spec.keystores.pkcs12")?;
        let (create, password, password_secret_ref) = protection(&mut store, "PKCS#12", sink);
        let profile = store.take("profile").and_then(|field| field.word(sink, PROFILES));
        store.finish(sink);
        Some(Pkcs12 { create, profile, password, password_secret_ref })
    });
    inner.finish(sink);
    Some(Keystores { jks, pkcs12 })
}

/// `create` and the one password of a store; they are validated even when nothing is created.
fn protection(
    store: &mut Fields<'_>,
    name: &str,
    sink: &mut Sink<'_>,
) -> (bool, Option<String>, Option<SecretKeySelector>) {
    let create = store.require(sink, "create", REQUIRED).and_then(|field| field.boolean(sink));
    let literal = store.take("password");
    let reference = store.take("passwordSecretRef");
    let rule = format!(
        "exactly one of passwordSecretRef and password must be provided for {name} keystores"
    );
    match (&literal, &reference) {
        (Some(field), Some(_)) => {
            let message = format!("{rule}; cannot set both");
            sink.error("E0108", field.key_span, store.path(), message);
        }
        (None, None) => {
            let message = format!(
                "must set exactly one of passwordSecretRef and password for {name} keystores"
            );
            sink.error("E0108", store.span(), store.path(), message);
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
    let password = literal.and_then(|field| {
        let text = field.free_text(sink)?;
        if text.is_empty() {
            field.refuse(
                sink,
                format!("literal password cannot be empty if set on {name} keystores"),
            );
        }
        Some(text)
    });
    let reference = reference.and_then(|field| secret_ref(&field, sink, false));
    (create.unwrap_or_default(), password, reference)
}

/// Reads `additionalOutputFormats`.
pub(crate) fn output_formats(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Vec<OutputFormat> {
    let Some(field) = fields.take("additionalOutputFormats") else { return Vec::new() };
    let mut found = Vec::new();
    for item in field.list(sink) {
        let owner = "Certificate.spec.additionalOutputFormats";
        let Some(mut inner) = item.mapping(sink, owner) else { continue };
        if let Some(field) = inner.require(sink, "type", REQUIRED)
            && let Some(format) = field.word(sink, FORMATS)
        {
            if found.contains(&format) {
                let word = field.node.as_text().unwrap_or_default();
                field.refuse(sink, format!("duplicate value: {word}"));
            } else {
                found.push(format);
            }
        }
        inner.finish(sink);
    }
    found
}

/// Reads `secretTemplate`.
pub(crate) fn secret_template(
    fields: &mut Fields<'_>,
    sink: &mut Sink<'_>,
) -> Option<SecretTemplate> {
    let field = fields.take("secretTemplate")?;
    let mut inner = field.mapping(sink, "Certificate.spec.secretTemplate")?;
    let mut template = SecretTemplate::default();
    if let Some(field) = inner.take("annotations") {
        template.annotations = annotations(&field, sink);
        let reserved = |key: &str| key.starts_with("cert-manager.io/") && key != INJECTION;
        for entry in field.node.entries().iter().filter(|entry| reserved(&entry.key)) {
            let message = "cert-manager.io/* annotations are not allowed";
            sink.error("E0105", entry.key_span, &field.path, message);
        }
    }
    if let Some(field) = inner.take("labels") {
        template.labels = labels(&field, sink);
    }
    inner.finish(sink);
    Some(template)
}

/// The one reserved annotation that a template may set.
const INJECTION: &str = "cert-manager.io/allow-direct-injection";

const FORMATS: &[(&str, OutputFormat)] =
    &[("DER", OutputFormat::Der), ("CombinedPEM", OutputFormat::CombinedPem)];

const PROFILES: &[(&str, KeystoreProfile)] = &[
    ("LegacyRC2", KeystoreProfile::LegacyRC2),
    ("LegacyDES", KeystoreProfile::LegacyDES),
    ("Modern2023", KeystoreProfile::Modern2023),
    ("Modern2026", KeystoreProfile::Modern2026),
];
