//! Values that `certctl create` prints for an Issuer and that only its user can know.
//!
//! Contract: warnings, each at its place. They are for those who write a manifest: a run meets the
//! error of the DNS provider.

use super::diagnostic::{Diagnostic, Draft};
use super::load::Loaded;
use super::reference::in_document;
use super::tree::{Node, Value};
use crate::resource::dns01::PLACEHOLDERS;

/// The placeholders in the specs of all Issuers.
pub fn placeholders(loaded: &Loaded) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for issuer in &loaded.issuers {
        let drafts = in_document(loaded, &issuer.origin, |object, sink| {
            let mut drafts = Vec::new();
            if let Some(spec) = object.and_then(|object| object.get("spec")) {
                below(spec, "spec", &mut drafts);
            }
            drafts.into_iter().map(|draft| sink.complete(draft)).collect::<Vec<_>>()
        });
        found.extend(drafts);
    }
    found
}

/// Those in a node, whose field is given.
fn below(node: &Node, field: &str, drafts: &mut Vec<Draft>) {
    match &node.value {
        Value::Null => {}
        Value::Scalar { raw, .. } => {
            if PLACEHOLDERS.contains(&raw.as_str()) {
                let message = format!("`{raw}` is a placeholder");
                let draft = Draft::warning("W0403", node.span, field, message);
                drafts.push(draft.help("put your value here"));
            }
        }
        Value::Sequence(items) => {
            for (at, item) in items.iter().enumerate() {
                below(item, &format!("{field}[{at}]"), drafts);
            }
        }
        Value::Mapping(entries) => {
            for entry in entries {
                below(&entry.value, &format!("{field}.{}", entry.key), drafts);
            }
        }
    }
}
