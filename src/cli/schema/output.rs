//! `certctl schema output`: JSON Schema of what is printed with -o json, made from the types that
//! are printed.
//!
//! Contract: every object has all of its fields and no others. Within `certctl.io/v1` fields may be
//! added; none is taken away or changes its meaning.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema as _, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::manifest::DRAFT;
use crate::cli::account::AccountDocument;
use crate::cli::check::{AcmeItem, DnsDocument, HttpDocument};
use crate::cli::document::{Document, Items, Object};
use crate::cli::inspect::Report;
use crate::cli::result::Results;
use crate::cli::status::objects::{
    CertificateObject, ChallengeObject, ClusterIssuerObject, IssuerKinds, IssuerObject,
    OrderObject, RequestObject,
};
use crate::cli::version::VersionDocument;
use crate::manifest::Diagnostic;
use crate::workspace::plan;

/// Makes documents of types and lists them: a type that is not here cannot be printed.
macro_rules! documents {
    ($($version:ident $kind:literal, $about:literal: $document:ty;)*) => {
        $(impl Document for $document {
            const KIND: &'static str = $kind;
            const API_VERSION: &'static str = $version;
            const ABOUT: &'static str = $about;
        })*

        const DOCUMENTS: &[(&str, fn(&mut SchemaGenerator) -> Schema)] =
            &[$(($kind, Object::<$document>::json_schema)),*];
    };
}

documents! {
    OURS "Version", "`version`.": VersionDocument;
    OURS "Validation", "`validate`: what is wrong in the manifests.": Items<'_, Diagnostic>;
    OURS "Plan", "`plan`: what `issue` would do to each certificate.": Items<'_, plan::Item>;
    OURS "Result", "`issue`, `renew`, `deploy`, `revoke`, `rollback`: what was done.": Results;
    OURS "Account", "`account show ISSUER`.": AccountDocument<'_>;
    OURS "AccountList", "`account show`.": Items<'_, Object<AccountDocument<'_>>>;
    OURS "Inspection", "`inspect`: one certificate.": Report;
    OURS "AcmeCheck", "`check acme`: what the CA of each issuer says of itself.": Items<'_, AcmeItem>;
    OURS "DnsCheck", "`check dns`.": DnsDocument<'_>;
    OURS "HttpCheck", "`check http`.": HttpDocument<'_>;
    OURS "CertificateList", "`status`.": Items<'_, Object<CertificateObject>>;
    OURS "IssuerList", "`status issuer`.": Items<'_, IssuerKinds>;
    OURS "CertificateRequestList", "`status request`.": Items<'_, Object<RequestObject>>;
    OURS "OrderList", "`status order`.": Items<'_, Object<OrderObject>>;
    OURS "ChallengeList", "`status challenge`.": Items<'_, Object<ChallengeObject>>;
    CERT_MANAGER "Certificate", "`status NAME`.": CertificateObject;
    CERT_MANAGER "Issuer", "`status issuer NAME`.": IssuerObject;
    CERT_MANAGER "ClusterIssuer", "`status issuer NAME`.": ClusterIssuerObject;
    CERT_MANAGER "CertificateRequest", "`status request NAME`.": RequestObject;
    ACME "Order", "`status order NAME`.": OrderObject;
    ACME "Challenge", "`status challenge NAME`.": ChallengeObject;
}

/// The schema of any output.
pub fn any() -> Value {
    let (schemas, definitions) = schemas(|_| true);
    let kinds: Vec<Value> = schemas.into_iter().map(Value::from).collect();
    json!({
        "$schema": DRAFT,
        "title": "Outputs of certctl",
        "oneOf": kinds,
        "definitions": definitions,
    })
}

/// The schema of the output of one kind, such as `Plan`.
pub fn of(kind: &str) -> Option<Value> {
    let (schemas, definitions) = schemas(|known| known == kind);
    let mut schema = schemas.into_iter().next()?;
    schema.insert("$schema".to_owned(), DRAFT.into());
    schema.insert("definitions".to_owned(), definitions.into());
    Some(schema.into())
}

/// Every kind of output.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    DOCUMENTS.iter().map(|(kind, _)| *kind)
}

/// The schemas of some kinds, and of the types in them that hold themselves.
fn schemas(is_wanted: impl Fn(&str) -> bool) -> (Vec<Schema>, Map<String, Value>) {
    let settings = SchemaSettings::draft07().for_serialize();
    let mut generator =
        settings.with(|settings| settings.inline_subschemas = true).into_generator();
    let wanted = DOCUMENTS.iter().filter(|(kind, _)| is_wanted(kind));
    let mut schemas: Vec<Schema> = wanted.map(|(_, schema)| schema(&mut generator)).collect();
    let mut definitions = generator.take_definitions(false);
    let kept = definitions.values_mut().filter_map(|schema| schema.try_into().ok());
    for schema in schemas.iter_mut().chain(kept) {
        Strict.transform(schema);
        for transform in generator.transforms_mut() {
            transform.transform(schema);
        }
    }
    (schemas, definitions)
}

/// An object has no other fields than those of its schema, and a field that may be missing is left
/// out where it has no value: it is never null.
#[derive(Clone, Copy)]
struct Strict;

impl Transform for Strict {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let required = schema.get("required").cloned().unwrap_or_default();
        let is_required = |name: &str| {
            required.as_array().is_some_and(|names| names.iter().any(|one| one == name))
        };
        let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
            return;
        };
        for (_, field) in fields.iter_mut().filter(|(name, _)| !is_required(name)) {
            never_null(field);
        }
        if schema.get("additionalProperties").is_none() {
            schema.insert("additionalProperties".to_owned(), false.into());
        }
    }
}

fn never_null(schema: &mut Value) {
    if let Some(types) = schema.get_mut("type").and_then(Value::as_array_mut) {
        types.retain(|one| one != "null");
    }
    if let Some(either) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        either.retain(|one| one.get("type").is_none_or(|one| one != "null"));
    }
}

/// Where each kind is versioned.
const OURS: &str = "certctl.io/v1";
const CERT_MANAGER: &str = "cert-manager.io/v1";
const ACME: &str = "acme.cert-manager.io/v1";
