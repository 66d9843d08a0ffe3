//! Checks between objects: references, names without a solver, Secrets of several Certificates.
//!
//! Contract: these checks run before any ACME request; each diagnostic has a position, and
//! [`Loaded::blocked`] and [`Loaded::conflicts`] record which objects cannot be used.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::resource::{
    Certificate, ChallengeType, Creation, DnsName, Fix, Identifier, Issuer, IssuerKind, Metadata,
    NamespacedName, Obstacle, Origin, Page, Usage, host_of, is_public, lets_encrypt,
};

use super::builder::parse;
use super::certificate::{GROUP, Places};
use super::diagnostic::{Blocks, Diagnostic, Draft, ObjectId};
use super::load::{Conflict, Loaded, place_key};
use super::object::{SkipReason, may_be_secret};
use super::sink::Sink;
use super::subject::Name;
use super::suggestion::nearest_by;
use super::text::{Text, documents};
use super::tree::{Node, Span, Value};
use super::validity::DEFAULT_DURATION;

/// Checks all references, and adds the diagnostics. Of several Certificates with the same Secret,
/// the state decides which owns it; without a record in it, that is the first by name.
pub fn check_references(loaded: &mut Loaded) {
    check_references_of(loaded, |_| None);
}

/// The same, when the state may be asked for the owner: `None` where it knows none of them.
pub fn check_references_of(
    loaded: &mut Loaded,
    owner: impl Fn(&Conflict) -> Option<NamespacedName>,
) {
    let first = |conflict: &Conflict| conflict.certificates.iter().min().cloned();
    check(loaded, |conflict| match owner(conflict) {
        Some(owner) => Some((owner, true)),
        None => Some((first(conflict)?, false)),
    });
}

/// The same, when the state was read.
pub fn check_owned_references(
    loaded: &mut Loaded,
    owner: impl Fn(&Conflict) -> Option<NamespacedName>,
) {
    check(loaded, |conflict| Some((owner(conflict)?, true)));
}

/// `owner` returns which Certificate owns a Secret, and whether the state says so.
fn check(loaded: &mut Loaded, owner: impl Fn(&Conflict) -> Option<(NamespacedName, bool)>) {
    forget_repeated_issuers(loaded);
    let mut found = Vec::new();
    duplicates(loaded, &mut found);
    for finding in &found {
        if let Blocks::Object(id) = &finding.blocks {
            loaded.blocked.insert(id.clone());
        }
    }
    let mut blocked = Vec::new();
    let (folders, webroots) = (first_of_folders(loaded), webroots(loaded));
    // A file of many Certificates is split into lines once, not for each of them.
    let mut texts: BTreeMap<usize, (Text<'_>, bool)> = BTreeMap::new();
    let flawed = loaded.flawed.iter().map(|certificate| (certificate, true));
    let all = loaded.certificates.iter().map(|certificate| (certificate.as_ref(), false));
    for (certificate, is_flawed) in all.chain(flawed) {
        let found_at = loaded.places.get(&place_key(&certificate.origin));
        let Some((file, places)) = found_at else { continue };
        let key = certificate.metadata.key();
        let id = ObjectId { kind: "Certificate".to_owned(), key };
        // Without a name there is nothing to look for, and an error says so.
        let is_nameless = certificate.spec.issuer_ref.name.is_empty();
        if is_flawed && (is_nameless || has_wrong_reference(loaded, &id)) {
            continue;
        }
        let (text, secret) = texts.entry(*file).or_insert_with(|| {
            let path = loaded.files.get(*file).map_or(Path::new(""), PathBuf::as_path);
            let content = content(loaded, *file);
            (Text::new(path, content), may_be_secret(content))
        });
        let mut sink = Sink::new(text, places.document, *secret);
        let (folders, webroots) = (&folders, &webroots);
        let check = Check { loaded, certificate, places, folders, webroots, is_flawed };
        let is_served = check.all(&mut sink);
        sink.block(0, &Blocks::Object(id.clone()));
        if sink.errors() > 0 || !is_served {
            blocked.push(id);
        }
        found.extend(sink.into_found());
    }
    loaded.blocked.extend(blocked);
    conflicts(loaded, &mut found, owner);
    loaded.diagnostics.extend(found);
}

/// Whether the reference to the issuer has an error already.
fn has_wrong_reference(loaded: &Loaded, id: &ObjectId) -> bool {
    let mut own = loaded.diagnostics.iter().filter(|found| found.is_error());
    own.any(|found| {
        found.blocks == Blocks::Object(id.clone()) && found.field.contains("spec.issuerRef")
    })
}

/// `web.yaml:4`.
fn place(origin: &Origin) -> String {
    format!("{}:{}", origin.path.display(), origin.line)
}

/// A diagnostic at the name of an object.
fn at_name(
    loaded: &Loaded,
    id: &ObjectId,
    origin: &Origin,
    code: &'static str,
    message: String,
) -> Diagnostic {
    let span = Span {
        line: origin.line,
        column: origin.column,
        end_line: origin.line,
        end_column: origin.column + id.key.name.len(),
    };
    let draft = Draft::error(code, span, "metadata.name", message);
    let file = file_of(loaded, origin);
    let content = content(loaded, file.unwrap_or(usize::MAX));
    let documents = documents(content).unwrap_or_default();
    let document = documents.iter().filter(|document| document.first_line <= origin.line).count();
    let text = Text::new(&origin.path, content);
    let sink = Sink::new(&text, document.saturating_sub(1), may_be_secret(content));
    Diagnostic { blocks: Blocks::Object(id.clone()), ..sink.complete(draft) }
}

/// The diagnostic for a field that names what this machine lacks. The field is the one at `path`,
/// and below it the name of that secret; what to do about it is the help.
pub fn unmet(
    loaded: &Loaded,
    id: ObjectId,
    origin: &Origin,
    (path, secret): (&[String], Option<&str>),
    obstacle: Obstacle,
) -> Diagnostic {
    let Obstacle { fact, fix } = obstacle;
    in_document(loaded, origin, |object, sink| {
        let (mut span, mut field) = (None, String::new());
        let mut node = object;
        for part in path {
            node = node.and_then(|node| child(node, part));
            span = node.map(|node| node.span).or(span);
            let dot = if field.is_empty() || part.starts_with('[') { "" } else { "." };
            field = [&field, dot, part].concat();
        }
        let named = node.zip(secret).and_then(|(node, secret)| secret_name(node, secret, &field));
        let (span, field) = match (named, span) {
            (Some(named), _) => named,
            (None, Some(span)) => (span, field),
            (None, None) => (Span::point(origin.line, origin.column), field),
        };
        let draft =
            Draft { fix, ..Draft::error("E0401", super::field::first_line(span), field, fact) };
        Diagnostic { blocks: Blocks::Object(id), ..sink.complete(draft) }
    })
}

/// The place of an object's file among those read. Paths are compared by their bytes, as a comparison
/// by their parts is long for thousands.
fn file_of(loaded: &Loaded, origin: &Origin) -> Option<usize> {
    loaded.files.iter().position(|path| path.as_os_str() == origin.path.as_os_str())
}

/// What is made of the object at a place, if it is still there, with the sink of its document.
pub(super) fn in_document<T>(
    loaded: &Loaded,
    origin: &Origin,
    make: impl FnOnce(Option<&Node>, &Sink<'_>) -> T,
) -> T {
    let file = file_of(loaded, origin);
    let content = content(loaded, file.unwrap_or(usize::MAX));
    let documents = documents(content).unwrap_or_default();
    let number = documents.iter().filter(|one| one.first_line <= origin.line).count();
    let number = number.saturating_sub(1);
    let root = documents.get(number).and_then(|document| {
        parse(document.text, document.first_line, &mut Vec::new()).ok().flatten()
    });
    let object = root.as_ref().and_then(|root| object_at(root, origin));
    let text = Text::new(&origin.path, content);
    make(object, &Sink::new(&text, number, may_be_secret(content)))
}

/// The object whose name is there.
fn object_at<'n>(node: &'n Node, origin: &Origin) -> Option<&'n Node> {
    let name = node.get("metadata").and_then(|metadata| metadata.get("name"));
    if name.is_some_and(|name| (name.span.line, name.span.column) == (origin.line, origin.column)) {
        return Some(node);
    }
    match &node.get("items")?.value {
        Value::Sequence(items) => items.iter().find_map(|item| object_at(item, origin)),
        Value::Null | Value::Scalar { .. } | Value::Mapping(_) => None,
    }
}

/// The value under a key, or at an index such as `[0]`.
fn child<'n>(node: &'n Node, part: &str) -> Option<&'n Node> {
    let index = part.strip_prefix('[').and_then(|part| part.strip_suffix(']'));
    match (&node.value, index) {
        (Value::Sequence(items), Some(index)) => items.get(index.parse::<usize>().ok()?),
        (_, None) => node.get(part),
        (Value::Null | Value::Scalar { .. } | Value::Mapping(_), Some(_)) => None,
    }
}

/// The place of `name: <secret>` below a node, and its field.
fn secret_name(node: &Node, secret: &str, field: &str) -> Option<(Span, String)> {
    node.entries().iter().find_map(|entry| {
        let field = format!("{field}.{}", entry.key);
        if entry.key == "name" && entry.value.as_text() == Some(secret) {
            return Some((entry.value.span, field));
        }
        secret_name(&entry.value, secret, &field)
    })
}

/// The text of a loaded file.
fn content(loaded: &Loaded, file: usize) -> &str {
    loaded.texts.get(file).map_or("", |text| text.as_str())
}

/// Identical copies of an Issuer in several files are one Issuer: users keep an Issuer and its
/// Certificate in one file, and copy that file for the next Certificate.
fn forget_repeated_issuers(loaded: &mut Loaded) {
    let mut distinct: Vec<Issuer> = Vec::new();
    for issuer in std::mem::take(&mut loaded.issuers) {
        let repeated = distinct.iter().any(|first| {
            let (origin, server_line) = (first.origin.clone(), first.server_line);
            *first == Issuer { origin, server_line, ..issuer.clone() }
        });
        if !repeated {
            distinct.push(issuer);
        }
    }
    loaded.issuers = distinct;
}

/// Leaves out the objects of which `files` have an edited copy.
pub fn prefer(loaded: &mut Loaded, files: &BTreeSet<PathBuf>) {
    let is_named = |origin: &Origin| files.contains(&origin.path);
    let all = objects(loaded);
    let copies: BTreeSet<ObjectId> =
        all.filter(|(_, origin)| is_named(origin)).map(|(id, _)| id).collect();
    let stays = |kind: String, key: NamespacedName, origin: &Origin| {
        is_named(origin) || !copies.contains(&ObjectId { kind, key })
    };
    loaded.certificates.retain(|it| stays("Certificate".to_owned(), it.metadata.key(), &it.origin));
    loaded.issuers.retain(|it| stays(it.kind.to_string(), it.metadata.key(), &it.origin));
    loaded.secrets.retain(|it| stays("Secret".to_owned(), it.key(), &it.origin));
    loaded.blocked.retain(|id| !copies.contains(id));
}

/// Of a Certificate that several files define, leaves that of the file that the state records, if it is
/// one of them, and refuses the others: what was issued goes on being renewed. `remembered` are the
/// files that are read only because the state records them.
pub fn keep_recorded(
    loaded: &mut Loaded,
    recorded: impl Fn(&NamespacedName) -> Option<PathBuf>,
    remembered: &BTreeMap<PathBuf, NamespacedName>,
) {
    let mut seen = BTreeSet::new();
    let all = loaded.certificates.iter().map(|one| &one.metadata);
    let repeated = all.filter(|one| !seen.insert((&one.namespace, &one.name)));
    let repeated: BTreeSet<NamespacedName> = repeated.map(Metadata::key).collect();
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (mut found, mut left_out) = (Vec::new(), BTreeSet::new());
    for key in repeated {
        let Some(path) = recorded(&key).map(|path| real(&path)) else { continue };
        let of_key = loaded.certificates.iter().filter(|one| one.metadata.key() == key);
        let (own, others): (Vec<&Origin>, Vec<&Origin>) =
            of_key.map(|one| &one.origin).partition(|origin| real(&origin.path) == path);
        let [own] = own.as_slice() else { continue };
        let id = ObjectId { kind: "Certificate".to_owned(), key };
        for other in others {
            let message = format!("{id} is defined already ({})", place(own));
            let used = format!("certctl uses {}, from which it was issued", own.path.display());
            let unused = other.path.clone();
            let (help, fix) = if remembered.contains_key(&own.path) {
                (used, Some(Fix::RemoveOne { unused }))
            } else {
                (format!("{used}; give this one another name, or remove it"), None)
            };
            let one = at_name(loaded, &id, other, "E0204", message);
            let help = Some(help);
            found.push(Diagnostic { blocks: Blocks::Nothing, help, fix, ..one });
            left_out.insert(place_key(other));
        }
    }
    loaded.diagnostics.extend(found);
    loaded.certificates.retain(|one| !left_out.contains(&place_key(&one.origin)));
}

/// What is in the manifests, as far as names must be unique.
fn objects(loaded: &Loaded) -> impl Iterator<Item = (ObjectId, &Origin)> {
    let certificates = loaded.certificates.iter().map(|certificate| {
        ("Certificate".to_owned(), certificate.metadata.key(), &certificate.origin)
    });
    let issuers = loaded
        .issuers
        .iter()
        .map(|issuer| (issuer.kind.to_string(), issuer.metadata.key(), &issuer.origin));
    let others = loaded.skipped.iter().filter(|skipped| skipped.reason != SkipReason::OtherKind);
    let others = others.map(|other| (other.kind.clone(), other.key.clone(), &other.origin));
    let secrets =
        loaded.secrets.iter().map(|secret| ("Secret".to_owned(), secret.key(), &secret.origin));
    let all = certificates.chain(issuers).chain(others).chain(secrets);
    all.map(|(kind, key, origin)| (ObjectId { kind, key }, origin))
}

fn duplicates(loaded: &Loaded, found: &mut Vec<Diagnostic>) {
    let mut first: BTreeMap<ObjectId, &Origin> = BTreeMap::new();
    for (id, origin) in objects(loaded) {
        if let Some(earlier) = first.get(&id) {
            let message = format!("{id} is defined already ({})", place(earlier));
            found.push(at_name(loaded, &id, origin, "E0204", message));
        } else {
            first.insert(id, origin);
        }
    }
}

/// Says of each object that is defined twice why the second file was read, where that is because the
/// state remembers it: `remembered` are these files, each with a certificate that it is of.
pub fn explain_remembered(loaded: &mut Loaded, remembered: &BTreeMap<PathBuf, NamespacedName>) {
    for found in loaded.diagnostics.iter_mut().filter(|found| found.code == "E0204") {
        let (Blocks::Object(_), Some(name)) = (&found.blocks, remembered.get(&found.path)) else {
            continue;
        };
        let path = found.path.display();
        let why = format!(
            "certctl reads this file because an earlier run issued {} from it",
            name.short()
        );
        found.help = Some(format!("{why}; remove it from one of the two files, or delete {path}"));
    }
}

/// Namespace and name of the issuer that a Certificate refers to.
fn issuer_key(certificate: &Certificate) -> NamespacedName {
    let reference = &certificate.spec.issuer_ref;
    let namespace = match reference.kind {
        IssuerKind::Issuer => certificate.metadata.namespace.clone(),
        IssuerKind::ClusterIssuer => String::new(),
    };
    NamespacedName { namespace, name: reference.name.clone() }
}

/// The first Certificate that writes to each folder of an output.
fn first_of_folders(loaded: &Loaded) -> BTreeMap<PathBuf, NamespacedName> {
    let defaults: Vec<&Issuer> =
        loaded.issuers.iter().filter(|issuer| issuer.settings.output_dir.is_some()).collect();
    let mut first = BTreeMap::new();
    for certificate in &loaded.certificates {
        let reference = &certificate.spec.issuer_ref;
        let is_its = |issuer: &&&Issuer| {
            let key = issuer.metadata.key();
            let is_near =
                key.namespace.is_empty() || key.namespace == certificate.metadata.namespace;
            issuer.kind == reference.kind && key.name == reference.name && is_near
        };
        let issuer = defaults.iter().find(is_its).copied();
        if let Some(folder) = output_of(certificate, issuer) {
            first.entry(folder).or_insert_with(|| certificate.metadata.key());
        }
    }
    first
}

/// The webroots of all Certificates and Issuers, in one form for all spellings.
pub fn webroots(loaded: &Loaded) -> BTreeSet<PathBuf> {
    let own = loaded.certificates.iter().map(|one| &one.settings);
    let all = own.chain(loaded.issuers.iter().map(|issuer| &issuer.settings));
    let named = all.filter_map(|settings| settings.http01_webroot.as_ref());
    named.map(|folder| Path::new(folder).components().collect()).collect()
}

/// The folder that a Certificate writes to, in one form for all spellings.
fn output_of(certificate: &Certificate, issuer: Option<&Issuer>) -> Option<PathBuf> {
    let default = || issuer?.settings.output_dir.as_ref();
    let folder = certificate.settings.output_dir.as_ref().or_else(default)?;
    Some(Path::new(folder).components().collect())
}

fn conflicts(
    loaded: &mut Loaded,
    found: &mut Vec<Diagnostic>,
    owner: impl Fn(&Conflict) -> Option<(NamespacedName, bool)>,
) {
    let mut wanted: BTreeMap<NamespacedName, Vec<&Certificate>> = BTreeMap::new();
    for certificate in &loaded.certificates {
        let namespace = certificate.metadata.namespace.clone();
        let secret = NamespacedName { namespace, name: certificate.spec.secret_name.clone() };
        let certificates = wanted.entry(secret).or_default();
        if certificates.iter().all(|other| other.metadata.key() != certificate.metadata.key()) {
            certificates.push(certificate);
        }
    }
    let mut conflicts = Vec::new();
    for (secret, certificates) in wanted {
        if certificates.len() < 2 {
            continue;
        }
        let names = certificates.iter().map(|each| each.metadata.key()).collect();
        let conflict = Conflict { secret, certificates: names };
        let (owner, knows_state) = owner(&conflict).unzip();
        let knows_state = knows_state.unwrap_or_default();
        let owns = |each: &&Certificate| Some(each.metadata.key()) == owner;
        if let Some(owner) = certificates.iter().copied().find(owns) {
            for other in certificates.into_iter().filter(|each| !owns(each)) {
                found.extend(wanted_twice(loaded, knows_state, owner, other));
            }
        }
        conflicts.push(conflict);
    }
    loaded.conflicts.extend(conflicts);
}

/// The diagnostic at the secretName of a Certificate that does not own the Secret.
fn wanted_twice(
    loaded: &Loaded,
    knows_state: bool,
    owner: &Certificate,
    other: &Certificate,
) -> Option<Diagnostic> {
    let (file, places) = loaded.places.get(&place_key(&other.origin))?;
    let (owner_name, key) = (owner.metadata.key().short(), other.metadata.key());
    let name = key.short();
    let message = format!(
        "Certificates {owner_name} ({}) and {name} have the same secretName `{}`",
        place(&owner.origin),
        other.spec.secret_name,
    );
    let help = if knows_state {
        format!("it belongs to {owner_name}; give {name} another secretName")
    } else {
        format!(
            "it belongs to the one that was issued first, or else to \
             {owner_name}; give the other one another secretName"
        )
    };
    let id = ObjectId { kind: "Certificate".to_owned(), key };
    let draft = Draft::error("E0205", places.secret_name, "spec.secretName", message).help(help);
    let content = content(loaded, *file);
    let text = Text::new(&other.origin.path, content);
    let sink = Sink::new(&text, places.document, may_be_secret(content));
    Some(Diagnostic { blocks: Blocks::Object(id), ..sink.complete(draft) })
}

/// The checks of one Certificate.
struct Check<'l> {
    loaded: &'l Loaded,
    certificate: &'l Certificate,
    places: &'l Places,
    /// The first Certificate that writes to each folder.
    folders: &'l BTreeMap<PathBuf, NamespacedName>,
    webroots: &'l BTreeSet<PathBuf>,
    /// Whether it is invalid by itself: what its errors leave out is no further error.
    is_flawed: bool,
}

impl Check<'_> {
    /// Returns whether its issuer can be used.
    fn all(&self, sink: &mut Sink<'_>) -> bool {
        let Some(issuer) = self.issuer(sink) else { return false };
        self.client_auth(issuer, sink);
        self.output(issuer, sink);
        for (field, span) in &self.places.unusual {
            let message = "public ACME CAs do not certify these names";
            sink.add(Draft::warning("W0303", *span, field, message));
        }
        if !self.is_flawed {
            self.ungranted(issuer, sink);
            self.common_name(sink);
        }
        if !self.is_flawed && self.places.names.is_empty() && self.places.common_name.is_none() {
            let message = "an ACME issuer needs dnsNames or ipAddresses";
            sink.error("E0206", super::field::first_line(self.places.spec), "spec", message);
        }
        for name in &self.places.names {
            self.solver(issuer, name, sink);
        }
        if is_public(&issuer.acme.server) {
            self.public_names(sink);
        }
        true
    }

    /// Warns of names that public CAs do not certify.
    fn public_names(&self, sink: &mut Sink<'_>) {
        let names = &self.places.names;
        for name in names.iter().filter(|name| !name.identifier.is_public()) {
            let message = "public ACME CAs do not certify this name";
            sink.add(Draft::warning("W0303", name.span, &name.field, message));
        }
        if let Some(first_too_many) = names.get(MAX_NAMES) {
            let message = format!("{} names, the CA takes at most {MAX_NAMES}", names.len());
            sink.error("E0105", first_too_many.span, &first_too_many.field, message);
        }
    }

    /// Warns of a folder that another Certificate writes to, or from which a web server serves files.
    fn output(&self, issuer: &Issuer, sink: &mut Sink<'_>) {
        let Some(folder) = output_of(self.certificate, Some(issuer)) else { return };
        let key = self.certificate.metadata.key();
        if let Some(webroot) = self.webroots.iter().find(|webroot| folder.starts_with(webroot)) {
            let message = format!(
                "certctl/output-dir {} is below the webroot {}, from which a web server serves \
                 files: it could serve the private key",
                folder.display(),
                webroot.display()
            );
            let draft = Draft::warning("W0309", self.places.name, "metadata.annotations", message);
            sink.add(
                draft.help(
                    "choose a folder outside of it; if tls.key is in this one, delete it there",
                ),
            );
        }
        let Some(first) = self.folders.get(&folder).filter(|first| **first != key) else { return };
        let (folder, name) = (folder.display(), key.short());
        let message = format!(
            "Certificates {} and {name} have the same certctl/output-dir {folder}; only one of them \
             can write to it",
            first.short()
        );
        let draft = Draft::warning("W0308", self.places.name, "metadata.annotations", message);
        sink.add(draft.help(format!("give {name} another folder")));
    }

    /// The issuer, when it is there and can be used.
    fn issuer(&self, sink: &mut Sink<'_>) -> Option<&Issuer> {
        let reference = &self.certificate.spec.issuer_ref;
        if !matches!(reference.group.as_str(), "" | GROUP) {
            let group = &reference.group;
            let kind = &self.places.written_kind;
            let message = format!(
                "issuers of group `{group}` (kind `{kind}`) are not supported, only those of \
                 {GROUP}"
            );
            let field = "spec.issuerRef.group";
            sink.error("E0203", self.places.issuer_group, field, message);
            return None;
        }
        let id = ObjectId { kind: reference.kind.to_string(), key: issuer_key(self.certificate) };
        let field = "spec.issuerRef.name";
        if self.loaded.blocked.contains(&id) {
            let message = format!("{id} is invalid, see above");
            sink.error("E0202", self.places.issuer_name, field, message);
            return None;
        }
        let found = self
            .loaded
            .issuers
            .iter()
            .find(|issuer| issuer.kind == reference.kind && issuer.metadata.key() == id.key);
        if found.is_none() {
            let other = self
                .loaded
                .skipped
                .iter()
                .find(|other| other.kind == id.kind && other.key == id.key);
            match other.map(|other| (&other.reason, place(&other.origin))) {
                Some((reason @ SkipReason::UnsupportedIssuerType(_), place)) => {
                    let message = format!("{id} ({place}): {reason}");
                    sink.error("E0203", self.places.issuer_name, field, message);
                }
                // Its own error says why.
                Some((SkipReason::OtherKind, _)) | None if self.is_misread(&id) => {}
                Some((SkipReason::OtherKind, _)) | None => self.not_found(&id, sink),
            }
        }
        found
    }

    /// Whether an object of that name has a wrong kind or apiVersion.
    fn is_misread(&self, id: &ObjectId) -> bool {
        let NamespacedName { namespace, name } = &id.key;
        let mut misread = self.loaded.misread.iter();
        misread.any(|one| {
            let is_near = one.namespace.is_empty() || one.namespace == *namespace;
            one.name == *name && (namespace.is_empty() || is_near)
        })
    }

    fn not_found(&self, id: &ObjectId, sink: &mut Sink<'_>) {
        let name = &id.key.name;
        let word = if id.kind == "Issuer" { "issuer" } else { "cluster issuer" };
        let message = format!("{word} `{name}` not found");
        let draft = Draft::error("E0201", self.places.issuer_name, "spec.issuerRef.name", message);
        let issuers = || self.loaded.issuers.iter();
        let is_near = |issuer: &&Issuer| {
            issuer.kind.to_string() == id.kind && issuer.metadata.namespace == id.key.namespace
        };
        let in_reach = || issuers().filter(is_near);
        if let Some(near) = nearest_by(name, in_reach(), |issuer| &issuer.metadata.name) {
            let draft = draft.suggest(Some(near.metadata.name.clone()));
            return sink.add(draft.help(format!("it is in {}", place(&near.origin))));
        }
        let same_name = || issuers().filter(|issuer| issuer.metadata.name == *name);
        let reachable = |issuer: &&Issuer| {
            issuer.kind == IssuerKind::ClusterIssuer
                || issuer.metadata.namespace == self.certificate.metadata.namespace
        };
        if let Some(other) = same_name().find(reachable) {
            let (kind, at) = (other.kind, place(&other.origin));
            return sink
                .add(draft.help(format!("there is a {kind} of that name ({at}): kind: {kind}")));
        }
        if let Some(other) = same_name().next() {
            let namespace = &other.metadata.namespace;
            let (at, own) = (place(&other.origin), &self.certificate.metadata.namespace);
            return sink.add(draft.help(format!(
                "there is one in namespace {namespace} ({at}), this Certificate is in {own}"
            )));
        }
        let there: Vec<String> = in_reach()
            .take(MAX_LISTED)
            .map(|issuer| format!("`{}` ({})", issuer.metadata.name, place(&issuer.origin)))
            .collect();
        let mut unread = self.loaded.diagnostics.iter().filter(|found| found.is_unread());
        if let Some(unread) = unread.next() {
            let path = unread.path.display();
            return sink.add(draft.help(format!("it may be in {path}, which cannot be read")));
        }
        sink.add(if there.is_empty() {
            draft.help(NONE_READ).with(Fix::Create(Creation::Issuer))
        } else {
            draft.help(format!("there is {}", there.join(", ")))
        });
    }

    /// Let's Encrypt ended client authentication in 2026.
    fn client_auth(&self, issuer: &Issuer, sink: &mut Sink<'_>) {
        let host = host_of(&issuer.acme.server);
        let span = self.places.usages.iter().find(|(usage, _)| *usage == Usage::ClientAuth);
        if let Some((_, span)) = span
            && (host == LETS_ENCRYPT || host.ends_with(&format!(".{LETS_ENCRYPT}")))
        {
            let message = "Let's Encrypt issues no certificates for client authentication: the \
                           certificate will lack it";
            let draft = Draft::warning("W0304", *span, "spec.usages", message);
            sink.add(draft.help("remove `client auth`, or use a CA that issues it"));
        }
    }

    /// Fields that are valid, and that the certificate will not have.
    fn ungranted(&self, issuer: &Issuer, sink: &mut Sink<'_>) {
        if let Some(span) = self.places.ca {
            let message =
                "public ACME CAs issue no CA certificates: the certificate will not be one";
            let draft = Draft::warning("W0304", span, "spec.isCA", message);
            sink.add(draft.help("remove `isCA`, or use a CA of your own that issues them"));
        }
        // The default, as exports have it, asks for nothing.
        if let Some(span) = self.places.duration
            && self.certificate.spec.duration != Some(DEFAULT_DURATION)
            && !issuer.acme.enable_duration_feature
        {
            let message = format!(
                "the duration has no effect, because issuer \"{}\" does not set \
                 enableDurationFeature",
                issuer.metadata.name
            );
            let draft = Draft::warning("W0304", span, "spec.duration", message);
            sink.add(draft.help(
                "set spec.acme.enableDurationFeature in the issuer if the CA supports it, or remove \
                 `duration`",
            ));
        }
    }

    fn common_name(&self, sink: &mut Sink<'_>) {
        let Some(common) = &self.places.common_name else { return };
        let spec = &self.certificate.spec;
        let is_name = common.dns_name.as_ref().is_some_and(|name| spec.dns_names.contains(name));
        let is_address =
            common.text.parse().is_ok_and(|address| spec.ip_addresses.contains(&address));
        if is_name || is_address {
            return;
        }
        let names: Vec<&str> = spec.dns_names.iter().map(DnsName::as_str).collect();
        let addresses: Vec<String> = spec.ip_addresses.iter().map(ToString::to_string).collect();
        let message = format!(
            "The CSR PEM requests a commonName that is not present in the list of dnsNames or \
             ipAddresses. If a commonName is set, ACME requires that the value is also present in \
             the list of dnsNames or ipAddresses: \"{}\" does not exist in [{}] or [{}]",
            common.text,
            names.join(" "),
            addresses.join(" ")
        );
        let draft = Draft::error("E0206", common.span, &common.field, message);
        sink.add(draft.help(format!("add `{}` to dnsNames, or remove it here", common.text)));
    }

    fn solver(&self, issuer: &Issuer, name: &Name, sink: &mut Sink<'_>) {
        let pick = |offered: &[ChallengeType]| {
            let certificate = self.certificate;
            issuer.solver_for(certificate, &name.identifier, name.wildcard, offered).is_some()
        };
        let (proving, others) = ChallengeType::proving(&name.identifier, name.wildcard);
        if pick(&proving) {
            return;
        }
        let is_address = matches!(name.identifier, Identifier::Ip(_));
        let star = if name.wildcard { "*." } else { "" };
        let full = format!("{star}{}", name.identifier);
        let whose = format!("{} {}", issuer.kind, issuer.metadata.key().short());
        let (code, message) = if name.wildcard && pick(&others) {
            ("E0208", format!("{full} needs a dns01 solver, and {whose} has only http01 for it"))
        } else if is_address && pick(&others) {
            ("E0209", format!("{full} needs an http01 solver, and {whose} has only dns01 for it"))
        } else if issuer.acme.solvers.is_empty() {
            ("E0207", format!("no solver for {full}: {whose} has no solvers"))
        } else {
            ("E0207", format!("no solver for {full}: none of {whose} matches"))
        };
        let fix = if code == "E0208" {
            Fix::Create(Creation::Dns01Issuer {
                name: issuer.metadata.name.clone(),
                server: unnamed_server(issuer),
                // The roots of the Issuer are in no file that is known.
                has_bundle: issuer.acme.ca_bundle.is_some(),
            })
        } else {
            Fix::Explain(Page::Solvers)
        };
        let at = format!("solvers are defined at {}", place(&issuer.origin));
        sink.add(Draft::error(code, name.span, &name.field, message).help(at).with(fix));
    }
}

/// The server of an Issuer whose name does not say which.
fn unnamed_server(issuer: &Issuer) -> Option<String> {
    let named = [
        ("letsencrypt", lets_encrypt::PRODUCTION_HOST),
        ("letsencrypt-staging", lets_encrypt::STAGING_HOST),
    ];
    let Issuer { metadata, acme, .. } = issuer;
    let is_named = named.contains(&(metadata.name.as_str(), host_of(&acme.server)));
    (!is_named).then(|| acme.server.clone())
}

const NONE_READ: &str =
    "no Issuer was read: add its file to the command, or put it into the config directory";
/// How many issuers are listed when no name is similar to the missing one.
const MAX_LISTED: usize = 5;
/// The most names that public CAs take in one order.
const MAX_NAMES: usize = 100;
const LETS_ENCRYPT: &str = "letsencrypt.org";
