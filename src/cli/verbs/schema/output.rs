//! `certctl schema output`: JSON Schema of what is printed with -o json, made from the types that
//! are printed.
//!
//! Contract: every object has all of its fields that have a value, and no others. Within `certctl/v1` fields may be
//! added; none is taken away or changes its meaning.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Map, Value, json};

use super::manifest::DRAFT;
use crate::cli::render::document::Documents;
use crate::resource::API_VERSION;

/// Makes documents of types and lists them: a type that is not listed cannot be printed.
macro_rules! documents {
    ($($version:ident $kind:literal, $about:literal: $document:ty;)*) => {
        $(impl $crate::cli::render::document::Document for $document {
            const KIND: &'static str = $kind;
            const API_VERSION: &'static str = $crate::cli::verbs::schema::output::$version;
            const ABOUT: &'static str = $about;
        })*

        /// Every kind of output with its schema, made from the type.
        pub const DOCUMENTS: &$crate::cli::render::document::Documents =
            &[$($crate::cli::render::document::DocumentKind {
                kind: $kind,
                about: $about,
                schema: <$crate::cli::render::document::Object::<$document> as schemars::JsonSchema>
                    ::json_schema,
            }),*];
    };
}
pub(crate) use documents;

/// The schema of any output.
pub fn any(documents: &Documents) -> Value {
    let (schemas, definitions) = schemas(documents, |_| true);
    let kinds: Vec<Value> = schemas.into_iter().map(Value::from).collect();
    json!({
        "$schema": DRAFT,
        "title": "Outputs of certctl",
        "oneOf": kinds,
        "definitions": definitions,
    })
}

/// The schema of the output of one kind, such as `Plan`.
pub fn of(documents: &Documents, kind: &str) -> Option<Value> {
    let (schemas, definitions) = schemas(documents, |known| known == kind);
    let mut schema = schemas.into_iter().next()?;
    schema.insert("$schema".to_owned(), DRAFT.into());
    schema.insert("definitions".to_owned(), definitions.into());
    Some(schema.into())
}

/// The schemas of some kinds, and of the types in them that hold themselves.
fn schemas(
    documents: &Documents,
    is_wanted: impl Fn(&str) -> bool,
) -> (Vec<Schema>, Map<String, Value>) {
    let settings = SchemaSettings::draft07().for_serialize();
    let mut generator =
        settings.with(|settings| settings.inline_subschemas = true).into_generator();
    let wanted = documents.iter().filter(|document| is_wanted(document.kind));
    let mut schemas: Vec<Schema> =
        wanted.map(|document| (document.schema)(&mut generator)).collect();
    let mut definitions = generator.take_definitions(false);
    let remaining = definitions.values_mut().filter_map(|schema| schema.try_into().ok());
    for schema in schemas.iter_mut().chain(remaining) {
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
        let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
            return;
        };
        let optional: Vec<String> = fields
            .iter_mut()
            .filter_map(|(name, field)| never_null(field).then(|| name.clone()))
            .collect();
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| !optional.iter().any(|one| name == one));
        }
        if schema.get("additionalProperties").is_none() {
            schema.insert("additionalProperties".to_owned(), false.into());
        }
    }
}

/// Takes null from the values of a field; whether it was among them.
fn never_null(field: &mut Value) -> bool {
    let mut was_among = false;
    for word in ["type", "anyOf", "enum"] {
        if let Some(choices) = field.get_mut(word).and_then(Value::as_array_mut) {
            let before = choices.len();
            choices.retain(|one| !one.is_null() && one != "null" && one["type"] != "null");
            was_among |= choices.len() < before;
        }
    }
    was_among
}

/// Where each kind is versioned.
pub(crate) const OURS: &str = API_VERSION;
pub(crate) const CERT_MANAGER: &str = "cert-manager.io/v1";
pub(crate) const ACME: &str = "acme.cert-manager.io/v1";
