//! `metadata` of an object, as written by hand or exported from a cluster.

use std::collections::BTreeMap;

use crate::resource::Metadata;

use super::diagnostic::{Draft, short};
use super::field::{Field, Fields, first_line};
use super::name::{label_fault, namespace, object_name, qualified_name_fault};
use super::sink::Sink;
use super::tree::{Node, Span};

/// `metadata`, and where its name is.
pub(crate) struct Named {
    pub(crate) metadata: Metadata,
    pub(crate) span: Span,
}

/// Whether objects of a kind live in a namespace.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Namespaced,
    Cluster,
}

/// Reads `metadata`; `None` when there is no usable name.
pub(crate) fn metadata(
    object: &mut Fields<'_>,
    scope: Scope,
    default_namespace: &str,
    sink: &mut Sink<'_>,
) -> Option<Named> {
    let field = object.require(sink, "metadata", "must be specified")?;
    let mut fields = field.mapping(sink, "metadata")?;
    let name = fields.require(sink, "name", "must be specified");
    let span = name.as_ref().map_or(field.key_span, Field::span);
    let name = name.and_then(|name| object_name(&name, sink));
    let written = fields.take("namespace");
    let namespace = match (scope, written) {
        (Scope::Namespaced, Some(field)) => namespace(&field, sink),
        (Scope::Namespaced, None) => Some(default_namespace.to_owned()),
        (Scope::Cluster, written) => {
            if let Some(field) = written {
                let message = "a ClusterIssuer has no namespace: ignored";
                sink.add(Draft::warning("W0304", field.span(), &field.path, message));
            }
            Some(String::new())
        }
    };
    let labels = fields.take("labels").map(|field| labels(&field, sink)).unwrap_or_default();
    let annotations = fields.take("annotations").map(|f| annotations(&f, sink)).unwrap_or_default();
    fields.ignore(SERVER_SET);
    fields.finish(sink);
    let metadata = Metadata { name: name?, namespace: namespace?, labels, annotations };
    Some(Named { metadata, span })
}

/// Name and namespace of an object that is not read any further, as far as they can be read.
pub(crate) fn identity(object: &Node, default_namespace: &str) -> (String, String, Span) {
    let metadata = object.get("metadata");
    let text = |key| metadata.and_then(|node| node.get(key)).and_then(Node::as_text);
    let span = metadata.and_then(|node| node.get("name")).map_or(object.span, |node| node.span);
    (
        text("namespace").unwrap_or(default_namespace).to_owned(),
        text("name").unwrap_or_default().to_owned(),
        first_line(span),
    )
}

/// A mapping of labels.
pub(crate) fn labels(field: &Field<'_>, sink: &mut Sink<'_>) -> BTreeMap<String, String> {
    for entry in field.node.entries() {
        if let Some(fault) = entry.value.as_text().and_then(label_fault) {
            let path = format!("{}.{}", field.path, short(&entry.key));
            sink.error("E0109", entry.value.span, &path, format!("invalid value: {fault}"));
        }
    }
    annotations(field, sink)
}

/// A mapping of annotations.
pub(crate) fn annotations(field: &Field<'_>, sink: &mut Sink<'_>) -> BTreeMap<String, String> {
    for entry in field.node.entries() {
        if let Some(fault) = qualified_name_fault(&entry.key) {
            let path = format!("{}.{}", field.path, short(&entry.key));
            sink.error("E0109", entry.key_span, &path, format!("invalid key: {fault}"));
        }
    }
    field.text_map(sink)
}

/// Set by an API server; accepted and ignored.
const SERVER_SET: &[&str] = &[
    "generateName",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
    "clusterName",
];
