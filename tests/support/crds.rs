//! cert-manager's own schemas, and objects held against them by a JSON Schema validator.
//!
//! What a cluster would prune without a word, a field that it does not know, is a fault here.

use std::collections::BTreeMap;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

/// The schemas, compiled.
pub(crate) struct Crds {
    schemas: Schemas,
    kinds: BTreeMap<&'static str, SchemaIndex>,
}

impl Crds {
    pub(crate) fn load() -> Self {
        let mut compiler = Compiler::new();
        compiler.enable_format_assertions();
        let (mut schemas, mut kinds) = (Schemas::new(), BTreeMap::new());
        for (kind, text) in SCHEMAS {
            let place = format!("https://cert-manager.example/{kind}.json");
            compiler.add_resource(&place, serde_json::from_str(text).unwrap()).unwrap();
            kinds.insert(*kind, compiler.compile(&place, &mut schemas).unwrap());
        }
        Self { schemas, kinds }
    }

    /// How an object breaks the schema of its kind; `None` when it does not.
    pub(crate) fn fault(&self, object: &Value) -> Option<String> {
        let kind = object["kind"].as_str().unwrap();
        let found = self.schemas.validate(object, self.kinds[kind]);
        found.err().map(|error| format!("{kind}: {error}"))
    }
}

/// The objects of a file of YAML documents; the items of a List by themselves.
pub(crate) fn objects(text: &str) -> Vec<Value> {
    let documents = text.split("\n---\n").filter(|text| !text.trim().is_empty());
    let objects = documents.map(|text| serde_yaml::from_str::<Value>(text).unwrap());
    objects
        .flat_map(|object| match object.get("items").and_then(Value::as_array) {
            Some(items) => items.clone(),
            None => vec![object],
        })
        .collect()
}

const SCHEMAS: &[(&str, &str)] = &[
    ("Certificate", include_str!("../fixtures/crds/certificate.json")),
    ("CertificateRequest", include_str!("../fixtures/crds/certificaterequest.json")),
    ("Issuer", ISSUER),
    ("ClusterIssuer", ISSUER),
    ("Order", include_str!("../fixtures/crds/order.json")),
    ("Challenge", include_str!("../fixtures/crds/challenge.json")),
];

const ISSUER: &str = include_str!("../fixtures/crds/issuer.json");
