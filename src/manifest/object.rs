//! Decodes a document into objects, by kind.
//!
//! Contract: an object with an error yields no resource, but its kind, namespace and name are
//! recorded as far as they can be read; each item of a List is an object of its own.

use std::path::Path;

use crate::resource::{Certificate, Issuer, IssuerKind, NamespacedName, Origin, escape};

use super::certificate::{self, Places};
use super::diagnostic::{Blocks, Draft, ObjectId, short};
use super::field::{Field, Fields};
use super::issuer::{self, Spec};
use super::metadata::{Scope, identity, metadata};
use super::secret::{self, SecretManifest};
use super::settings::settings;
use super::sink::Sink;
use super::suggestion::nearest;
use super::tree::{Node, Span, Value};

/// A skipped object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    pub origin: Origin,
    pub api_version: String,
    pub kind: String,
    /// Namespace and name, as far as they could be read.
    pub key: NamespacedName,
    pub reason: SkipReason,
}

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { origin, kind, key, reason, .. } = self;
        let (kind, key) = (escape(kind), key.short());
        let place = origin.path.to_string_lossy();
        let line = origin.line;
        write!(f, "{}:{line}: skipped: {kind} {}: {reason}", escape(&place), escape(&key))
    }
}

/// Why an object was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// certctl does not use this kind.
    OtherKind,
    /// An Issuer of a type other than acme, by the name of its field.
    UnsupportedIssuerType(&'static str),
}

impl std::fmt::Display for SkipReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OtherKind => f.write_str("not a kind that certctl reads"),
            Self::UnsupportedIssuerType(name) => {
                write!(f, "unsupported issuer type {name}: only acme is served")
            }
        }
    }
}

/// The result of decoding one object.
pub(crate) enum Object {
    Certificate(Box<(Certificate, Places)>),
    Issuer(Box<Issuer>),
    Secret(SecretManifest),
    Skipped(Skipped),
    /// An object with errors.
    Broken(ObjectId),
    /// What could be read of a Certificate with errors: it is checked, and not used.
    Flawed(Box<(Certificate, Places)>),
    /// An object whose kind or apiVersion is wrong.
    Misread(NamespacedName),
}

/// The context for decoding an object.
pub(crate) struct Context<'c> {
    pub(crate) path: &'c Path,
    pub(crate) default_namespace: &'c str,
    /// Number of the document in the file.
    pub(crate) document: usize,
    /// Positions of errors in the tree itself: an object that contains one is invalid.
    pub(crate) flaws: &'c [Span],
}

/// Reads a document's root.
pub(crate) fn objects(root: &Node, context: &Context<'_>, sink: &mut Sink<'_>) -> Vec<Object> {
    let mut found = Vec::new();
    read(&Field::root(root), None, context, sink, &mut found);
    found
}

fn read(
    field: &Field<'_>,
    item_of: Option<(&str, &str)>,
    context: &Context<'_>,
    sink: &mut Sink<'_>,
    found: &mut Vec<Object>,
) {
    let (from, errors) = (sink.len(), sink.errors());
    let Some(mut fields) = field.mapping(sink, "object") else { return };
    let mut word = |name: &'static str, default: Option<&str>| match fields.take(name) {
        Some(field) => field.filled_text(sink),
        None => default.map(str::to_owned).or_else(|| {
            let span = super::field::first_line(field.span());
            let draft = Draft::error("E0101", span, fields.at(name), "must be specified");
            let usual = match name {
                "kind" => "add `kind: Certificate` or `kind: Issuer`",
                _ => "add `apiVersion: cert-manager.io/v1`",
            };
            sink.add(draft.help(usual));
            None
        }),
    };
    let api_version = word("apiVersion", item_of.map(|(version, _)| version));
    let kind = word("kind", item_of.map(|(_, kind)| kind));
    let (Some(api_version), Some(kind)) = (api_version, kind) else { return };
    let item_kind = kind.strip_suffix("List");
    if let Some(item_kind) = item_kind
        && item_of.is_none()
        && (api_version == "v1" || api_version.starts_with("cert-manager.io/"))
    {
        list(&mut fields, &api_version, item_kind, context, sink, found);
        return;
    }
    match role(&api_version, &kind) {
        Role::Wrong(draft) => {
            sink.add(*draft.place(field));
            let (namespace, name, _) = identity(field.node, context.default_namespace);
            found.push(Object::Misread(NamespacedName { namespace, name }));
        }
        Role::Other => {
            let (namespace, name, span) = identity(field.node, context.default_namespace);
            let origin = context.origin(span);
            let key = NamespacedName { namespace, name };
            let reason = SkipReason::OtherKind;
            found.push(Object::Skipped(Skipped { origin, api_version, kind, key, reason }));
        }
        Role::Read(read) => {
            let object = context.object(read, &api_version, fields, field.node, sink);
            let flawed = context.flaws.iter().any(|flaw| flaw.is_inside(field.span()));
            if sink.errors() == errors && !flawed {
                found.extend(object);
                return;
            }
            if let Some(Object::Certificate(read)) = object {
                found.push(Object::Flawed(read));
            }
            let (namespace, name, _) = identity(field.node, context.default_namespace);
            let namespace = if read == Kind::ClusterIssuer { String::new() } else { namespace };
            if name.is_empty() {
                return;
            }
            let key = NamespacedName { namespace, name };
            let id = ObjectId { kind, key };
            sink.block(from, &Blocks::Object(id.clone()));
            found.push(Object::Broken(id));
        }
    }
}

/// The items of a List, decoded independently.
fn list(
    fields: &mut Fields<'_>,
    api_version: &str,
    item_kind: &str,
    context: &Context<'_>,
    sink: &mut Sink<'_>,
    found: &mut Vec<Object>,
) {
    let Some(items) = fields.take("items") else { return };
    let default = (!item_kind.is_empty()).then_some((api_version, item_kind));
    for item in items.list(sink) {
        read(&item, default, context, sink, found);
    }
}

/// The kinds that are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Certificate,
    Issuer,
    ClusterIssuer,
    Secret,
}

/// The type of an object by its apiVersion and kind.
enum Role {
    Read(Kind),
    Other,
    Wrong(Wrong),
}

/// An error in `apiVersion` or `kind`, without its position.
struct Wrong {
    code: &'static str,
    field: &'static str,
    message: String,
    suggestion: Option<String>,
}

impl Wrong {
    fn place(self, object: &Field<'_>) -> Box<Draft> {
        let span = object.node.get(self.field).map_or(object.node.span, |node| node.span);
        let path = if object.path.is_empty() {
            self.field.to_owned()
        } else {
            format!("{}.{}", object.path, self.field)
        };
        Box::new(Draft::error(self.code, span, path, self.message).suggest(self.suggestion))
    }
}

fn role(api_version: &str, kind: &str) -> Role {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    if group.is_empty() {
        if version == "v1" && kind == "Secret" {
            return Role::Read(Kind::Secret);
        }
        // No cluster knows a cert-manager kind without its group.
        return if KINDS.iter().any(|(known, _)| *known == kind) {
            Role::Wrong(wrong_version(api_version))
        } else {
            Role::Other
        };
    }
    if group == "certmanager.k8s.io" || (group == certificate::GROUP && version != "v1") {
        return Role::Wrong(wrong_version(api_version));
    }
    if group != certificate::GROUP {
        let ours = KINDS.iter().any(|(known, _)| *known == kind);
        let alike = nearest(group, std::iter::once(certificate::GROUP)).is_some();
        return if ours && alike && !group.ends_with(".cert-manager.io") {
            Role::Wrong(wrong_version(api_version))
        } else {
            Role::Other
        };
    }
    if let Some((_, read)) = KINDS.iter().find(|(known, _)| *known == kind) {
        return Role::Read(*read);
    }
    if kind == "CertificateRequest" {
        return Role::Other;
    }
    let names = KINDS.iter().map(|(name, _)| *name);
    Role::Wrong(Wrong {
        code: "E0107",
        field: "kind",
        message: format!("unknown kind `{}` in cert-manager.io/v1", short(kind)),
        suggestion: nearest(kind, names),
    })
}

fn wrong_version(api_version: &str) -> Wrong {
    Wrong {
        code: "E0106",
        field: "apiVersion",
        message: format!("unsupported apiVersion `{}`: use cert-manager.io/v1", short(api_version)),
        suggestion: Some("cert-manager.io/v1".to_owned()),
    }
}

impl Context<'_> {
    fn origin(&self, span: Span) -> Origin {
        Origin { path: self.path.to_path_buf(), line: span.line, column: span.column }
    }

    /// Reads an object of a known kind; the result is used only when there was no error.
    fn object(
        &self,
        kind: Kind,
        api_version: &str,
        mut fields: Fields<'_>,
        node: &Node,
        sink: &mut Sink<'_>,
    ) -> Option<Object> {
        sink.is_of_cluster = kind == Kind::ClusterIssuer;
        let object = match kind {
            Kind::Certificate => {
                fields.rename("Certificate");
                self.certificate(&mut fields, node, sink)
            }
            Kind::Issuer => {
                fields.rename("Issuer");
                self.issuer(IssuerKind::Issuer, api_version, &mut fields, node, sink)
            }
            Kind::ClusterIssuer => {
                fields.rename("ClusterIssuer");
                self.issuer(IssuerKind::ClusterIssuer, api_version, &mut fields, node, sink)
            }
            Kind::Secret => {
                fields.rename("Secret");
                sink.keep_secret();
                self.secret(&mut fields, sink)
            }
        };
        fields.ignore(&["status"]);
        fields.finish(sink);
        object
    }

    fn certificate(
        &self,
        fields: &mut Fields<'_>,
        node: &Node,
        sink: &mut Sink<'_>,
    ) -> Option<Object> {
        let named = metadata(fields, Scope::Namespaced, self.default_namespace, sink);
        let settings = settings(node, sink);
        let read = certificate::spec(fields, sink);
        let (named, (spec, mut places)) = (named?, read?);
        (places.document, places.name) = (self.document, named.span);
        let origin = self.origin(named.span);
        let certificate = Certificate { metadata: named.metadata, spec, settings, origin };
        Some(Object::Certificate(Box::new((certificate, places))))
    }

    fn issuer(
        &self,
        kind: IssuerKind,
        api_version: &str,
        fields: &mut Fields<'_>,
        node: &Node,
        sink: &mut Sink<'_>,
    ) -> Option<Object> {
        let scope = match kind {
            IssuerKind::Issuer => Scope::Namespaced,
            IssuerKind::ClusterIssuer => Scope::Cluster,
        };
        let named = metadata(fields, scope, self.default_namespace, sink);
        let settings = settings(node, sink);
        let spec = issuer::spec(fields, sink);
        let (named, spec) = (named?, spec?);
        let origin = self.origin(named.span);
        Some(match spec {
            Spec::Acme(acme, server_line) => {
                let (metadata, acme) = (named.metadata, *acme);
                Object::Issuer(Box::new(Issuer {
                    kind,
                    metadata,
                    acme,
                    settings,
                    origin,
                    server_line,
                }))
            }
            Spec::Other(name) => Object::Skipped(Skipped {
                origin,
                api_version: api_version.to_owned(),
                kind: kind.to_string(),
                key: named.metadata.key(),
                reason: SkipReason::UnsupportedIssuerType(name),
            }),
        })
    }

    fn secret(&self, fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<Object> {
        let named = metadata(fields, Scope::Namespaced, self.default_namespace, sink);
        let (data, secret_type) = secret::content(fields, sink);
        let named = named?;
        let origin = self.origin(named.span);
        let (namespace, name) = (named.metadata.namespace, named.metadata.name);
        Some(Object::Secret(SecretManifest { namespace, name, data, secret_type, origin }))
    }
}

/// Whether a document may contain a Secret: then diagnostics show none of its lines.
pub(crate) fn may_be_secret(text: &str) -> bool {
    text.match_indices("kind").any(|(at, word)| {
        let behind = text.get(at + word.len()..).unwrap_or_default();
        behind
            .trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ':'))
            .starts_with("Secret")
    })
}

/// Whether a tree contains a Secret, as its root or as an item of a List.
pub(crate) fn holds_secret(root: &Node) -> bool {
    let is_secret = |node: &Node| {
        node.get("kind").and_then(Node::as_text).is_some_and(|kind| kind.starts_with("Secret"))
    };
    let items = match root.get("items").map(|node| &node.value) {
        Some(Value::Sequence(items)) => items.as_slice(),
        Some(Value::Null | Value::Scalar { .. } | Value::Mapping(_)) | None => &[],
    };
    is_secret(root) || items.iter().any(is_secret)
}

const KINDS: &[(&str, Kind)] = &[
    ("Certificate", Kind::Certificate),
    ("Issuer", Kind::Issuer),
    ("ClusterIssuer", Kind::ClusterIssuer),
];
