//! Certificates and Issuers as manifests.

use certctl::manifest::{Diagnostic, Options, Source, load};
use serde_json::{Map, Value, json};

use super::input::{Case, keys};

pub(crate) fn certificate(case: &Case) -> Value {
    keys(&case.input, &["spec", "annotations", "labels"]);
    let mut metadata = json!({ "name": "web", "namespace": "default" });
    for key in ["annotations", "labels"] {
        if let Some(value) = case.input.get(key) {
            metadata[key] = value.clone();
        }
    }
    errors_of("Certificate", &metadata, &case.input["spec"])
}

/// The spec's durations in seconds, the rest of it valid.
pub(crate) fn duration(case: &Case) -> Value {
    keys(&case.input, &["spec"]);
    let mut spec = Map::new();
    spec.insert("commonName".to_owned(), "testcn".into());
    spec.insert("secretName".to_owned(), "abc".into());
    spec.insert("issuerRef".to_owned(), json!({ "name": "valid" }));
    for (key, value) in case.input["spec"].as_object().unwrap() {
        match key.strip_suffix("Seconds") {
            Some(name) => spec.insert(name.to_owned(), format!("{value}s").into()),
            None => spec.insert(key.clone(), value.clone()),
        };
    }
    errors_of("Certificate", &json!({ "name": "web" }), &spec.into())
}

fn errors_of(kind: &str, metadata: &Value, spec: &Value) -> Value {
    let error = |found: &Diagnostic| json!({ "field": found.field, "message": found.message });
    json!({ "errors": errors(kind, metadata, spec).iter().map(error).collect::<Vec<_>>() })
}

/// What is wrong with the manifest of one object.
pub(crate) fn errors(kind: &str, metadata: &Value, spec: &Value) -> Vec<Diagnostic> {
    let document = json!({
        "apiVersion": "cert-manager.io/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    });
    let source = Source::Stdin(serde_json::to_vec_pretty(&document).unwrap());
    let loaded = load(&[source], &Options::default());
    loaded.diagnostics.into_iter().filter(Diagnostic::is_error).collect()
}
