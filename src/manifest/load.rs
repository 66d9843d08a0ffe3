//! Loads manifests: from files to documents to objects.
//!
//! Contract: loading does not stop at the first error; a file, a document or an object that cannot
//! be used does not affect any other.

use std::collections::{BTreeSet, HashMap};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::host::rights::{self, closed_above, own_user};
use crate::resource::{Certificate, Fix, Issuer, NamespacedName, Origin};
use crate::trust::{TrustError, Trusted, Walk, check_secret};

use super::builder::parse;
use super::certificate::Places;
use super::diagnostic::{Blocks, Diagnostic, Draft, ObjectId, Severity, UNREAD};
use super::field::{PLACEHOLDER, TEMPLATE, placeholder};
use super::file::{ReadError, read_named, read_regular};
use super::object::{Context, Object, Skipped, holds_secret, may_be_secret, objects};
use super::secret::SecretManifest;
use super::sink::Sink;
use super::suggestion::nearest_by;
use super::syntax::{Fault, explain};
use super::text::{Document, MAX_DOCUMENTS, MAX_LIST_BYTES, Text, decode, documents, lines};
use super::tree::{Located, Span, TreeError, Value};

/// Where manifests come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file named by the user; it may be a FIFO.
    File(PathBuf),
    /// Every `*.yaml`, `*.yml` and `*.json` directly in a folder, except hidden ones, by name.
    Directory(PathBuf),
    /// What standard input held; its path is `-`.
    Stdin(Vec<u8>),
}

/// How manifests are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The namespace of objects that name none.
    pub default_namespace: String,
    /// The names of the Certificates and Secrets to read: a document of other Certificates alone is
    /// left out unparsed, and an error in it is not found. `None` for everything.
    pub names: Option<BTreeSet<String>>,
    /// Whether a file that other users could have written is read beside its error: where nothing is
    /// done with what it says.
    pub reads_untrusted: bool,
    /// Whether files that another user than root can change are to be listed.
    pub lists_others: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            default_namespace: "default".to_owned(),
            names: None,
            reads_untrusted: false,
            lists_others: false,
        }
    }
}

/// The result of loading.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Valid Certificates, in the order written.
    pub certificates: Vec<Arc<Certificate>>,
    /// Valid Issuers and `ClusterIssuer`s of type acme.
    pub issuers: Vec<Issuer>,
    pub secrets: Vec<SecretManifest>,
    /// Objects of kinds that certctl does not use.
    pub skipped: Vec<Skipped>,
    /// All errors and warnings, by file and document.
    pub diagnostics: Vec<Diagnostic>,
    /// The files read, as named.
    pub files: Vec<PathBuf>,
    /// The files that another user than root can change, where that is looked at.
    pub of_others: BTreeSet<PathBuf>,
    /// How many documents they held.
    pub documents: usize,
    /// Objects that must not be used: their own document has errors, or what they refer to.
    pub blocked: BTreeSet<ObjectId>,
    /// Secrets that several Certificates write; the caller decides which of them may.
    pub conflicts: Vec<Conflict>,
    /// What could be read of Certificates with errors: they are checked, and not used.
    pub(crate) flawed: Vec<Certificate>,
    /// Objects whose kind or apiVersion is wrong: what refers to them needs no error of its own.
    pub(crate) misread: BTreeSet<NamespacedName>,
    pub(crate) texts: Vec<Arc<Zeroizing<String>>>,
    /// The files that could not be used, and what could be read of each.
    unread: Vec<(PathBuf, Option<UnreadText>)>,
    /// With the number of the file among those loaded.
    pub(crate) places: HashMap<PlaceKey, (usize, Arc<Places>)>,
}

/// The readable part of a file that could not be used.
type UnreadText = Arc<Zeroizing<Vec<u8>>>;

/// Path, line and column of an object's name.
pub(crate) type PlaceKey = (PathBuf, usize, usize);

/// Several Certificates of one namespace with one secretName.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Namespace and name of the Secret.
    pub secret: NamespacedName,
    /// The Certificates, in the order written.
    pub certificates: Vec<NamespacedName>,
}

impl Loaded {
    /// Whether there is any error: the all-or-nothing policy stops here.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// All Certificates, those with errors too, as far as they could be read.
    pub fn certificates(&self) -> impl Iterator<Item = &Certificate> {
        self.certificates.iter().map(AsRef::as_ref).chain(&self.flawed)
    }

    /// The usable Certificates under the isolating policy: each error blocks only the objects that
    /// it concerns. Of several Certificates with the same Secret, `owner` returns the one that may
    /// write it.
    pub fn usable(
        &self,
        owner: impl Fn(&Conflict) -> Option<NamespacedName>,
    ) -> Vec<&Arc<Certificate>> {
        let losers: BTreeSet<NamespacedName> = self
            .conflicts
            .iter()
            .flat_map(|conflict| {
                let owner = owner(conflict);
                let loses = move |name: &&NamespacedName| Some(*name) != owner.as_ref();
                conflict.certificates.iter().filter(loses).cloned().collect::<Vec<_>>()
            })
            .collect();
        let is_usable = |certificate: &&Arc<Certificate>| {
            let key = certificate.metadata.key();
            !losers.contains(&key) && !self.is_blocked("Certificate", key)
        };
        self.certificates.iter().filter(is_usable).collect()
    }

    /// A warning for each of these files, and each file when there is no other, that holds nothing
    /// that certctl reads.
    pub fn holding_nothing(&self, sources: &[Source]) -> Vec<Diagnostic> {
        let certificates = self.certificates().map(|one| &one.origin);
        let issuers = self.issuers.iter().map(|one| &one.origin);
        let secrets = self.secrets.iter().map(|one| &one.origin);
        let origins: Vec<&Origin> = certificates.chain(issuers).chain(secrets).collect();
        let has_error = |path: &Path| {
            self.diagnostics.iter().any(|found| found.is_error() && found.path == path)
        };
        let is_named = |path: &Path| {
            sources.iter().any(|source| match source {
                Source::File(named) => named == path,
                Source::Stdin(_) => path == Path::new("-"),
                Source::Directory(_) => false,
            })
        };
        let empty = self.files.iter().filter(|path| {
            let holds = origins.iter().any(|origin| origin.path == **path);
            !holds && !has_error(path) && (origins.is_empty() || is_named(path))
        });
        let warn = |path: &PathBuf| {
            let others = self.skipped.iter().filter(|other| other.origin.path == *path);
            let kinds: BTreeSet<&str> = others.map(|other| other.kind.as_str()).collect();
            let kinds: Vec<&str> = kinds.into_iter().collect();
            let only = if kinds.is_empty() {
                "it is empty".to_owned()
            } else {
                format!("it holds only {}, which certctl does not read", kinds.join(", "))
            };
            let message = format!("no Certificate, Issuer, ClusterIssuer or Secret: {only}");
            let found = Diagnostic::about_file(path.clone(), "W0401", message);
            Diagnostic { severity: Severity::Warning, blocks: Blocks::Nothing, ..found }
        };
        empty.map(warn).collect()
    }

    /// The error that keeps a Secret from being read, or a file or document that may hold it.
    pub fn unread_secret(&self, secret: &NamespacedName) -> Option<&Diagnostic> {
        if self.secrets.iter().any(|known| known.key() == *secret) {
            return None;
        }
        let id = ObjectId { kind: "Secret".to_owned(), key: secret.clone() };
        let may_hold = |text: &str| may_be_secret(text) && text.contains(secret.name.as_str());
        let mut errors = self.diagnostics.iter().filter(|found| found.is_error());
        errors.find(|found| match &found.blocks {
            Blocks::Nothing => false,
            Blocks::Object(one) => *one == id,
            Blocks::Document => self.text_of(found).is_some_and(may_hold),
            Blocks::File => {
                let mut unread = self.unread.iter().filter(|(path, _)| *path == found.path);
                let may_hold = |bytes: &Arc<Zeroizing<Vec<u8>>>| {
                    may_hold(&String::from_utf8_lossy(bytes.as_slice()))
                };
                unread.any(|(_, bytes)| bytes.as_ref().is_none_or(may_hold))
            }
        })
    }

    /// The document that an error is about.
    fn text_of(&self, found: &Diagnostic) -> Option<&str> {
        let file = self.files.iter().position(|path| *path == found.path)?;
        let text = self.texts.get(file)?;
        Some(documents(text).ok()?.get(found.document)?.text)
    }

    /// Whether an object must not be used.
    pub fn is_blocked(&self, kind: &str, key: NamespacedName) -> bool {
        self.blocked.contains(&ObjectId { kind: kind.to_owned(), key })
    }
}

/// The key of the map of positions of objects.
pub(crate) fn place_key(origin: &Origin) -> PlaceKey {
    (origin.path.clone(), origin.line, origin.column)
}

/// Reads all sources, each file once.
pub fn load(sources: &[Source], options: &Options) -> Loaded {
    Manifests::new(options.clone()).load(sources)
}

/// Manifest files: each is opened, read and parsed once, in however many selections of sources it
/// is found.
#[derive(Debug, Default)]
pub struct Manifests {
    options: Options,
    /// The content and the diagnostics of each file, or of standard input.
    read: Vec<Loaded>,
    by_path: HashMap<PathBuf, usize>,
    /// The same by device and inode: a file may have many names.
    by_inode: HashMap<(u64, u64), usize>,
    /// Each path, and what was there right before it was read.
    seen: Vec<(PathBuf, Option<Metadata>)>,
}

impl Manifests {
    /// Nothing is read yet.
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    /// Everything in these sources, each file once, under the name by which it was read first.
    pub fn load(&mut self, sources: &[Source]) -> Loaded {
        let (mut loaded, mut taken) = (Loaded::default(), BTreeSet::new());
        for source in sources {
            let numbers = match source {
                Source::File(path) => vec![self.file(path, read_named)],
                Source::Directory(path) => match checked_listing(path) {
                    Ok(files) => files.iter().map(|file| self.file(file, read_regular)).collect(),
                    Err(error) => {
                        let mut folder = Loaded::default();
                        folder.distrust(path, &error);
                        loaded.add(&folder);
                        Vec::new()
                    }
                },
                Source::Stdin(bytes) => vec![self.standard_input(bytes)],
            };
            for number in numbers.into_iter().filter(|number| taken.insert(*number)) {
                self.read.get(number).into_iter().for_each(|file| loaded.add(file));
            }
        }
        loaded
    }

    fn file(&mut self, path: &Path, read: Read) -> usize {
        if let Some(number) = self.by_path.get(path) {
            return *number;
        }
        let inode_of = |metadata: &Metadata| (metadata.dev(), metadata.ino());
        let found = std::fs::metadata(path).ok();
        let inode = found.as_ref().map(inode_of);
        let known = inode.and_then(|inode| self.by_inode.get(&inode).copied());
        let number = known.unwrap_or_else(|| {
            let (file, metadata) = read_file(path, read, &self.options);
            let number = self.read.len();
            self.by_inode.extend(metadata.as_ref().map(|metadata| (inode_of(metadata), number)));
            self.read.push(file);
            number
        });
        self.by_path.insert(path.to_owned(), number);
        self.seen.push((path.to_owned(), found));
        number
    }

    /// Each path that was looked up, and what was there right before it was read.
    pub fn seen(&self) -> &[(PathBuf, Option<Metadata>)] {
        &self.seen
    }

    /// Standard input is read once: a second read would return end of file.
    fn standard_input(&mut self, bytes: &[u8]) -> usize {
        let path = Path::new("-");
        if let Some(number) = self.by_path.get(path) {
            return *number;
        }
        let mut file = Loaded::default();
        file.read(path, bytes, &self.options);
        self.read.push(file);
        let number = self.read.len() - 1;
        self.by_path.insert(path.to_owned(), number);
        number
    }
}

/// How the bytes of a file are read.
type Read = fn(&Walk, &Path, usize) -> Result<(Zeroizing<Vec<u8>>, Metadata), ReadError>;

/// The content of a file, and its metadata.
fn read_file(path: &Path, read: Read, options: &Options) -> (Loaded, Option<Metadata>) {
    let mut loaded = Loaded::default();
    let (bytes, metadata) = match read(&Walk::trusting_us(), path, MAX_LIST_BYTES) {
        Ok(found) => found,
        Err(ReadError::TooLarge { .. }) => {
            let limit = MAX_LIST_BYTES / 1024;
            loaded.refuse(path, "E0002", format!("the file is larger than {limit} KiB"));
            loaded.unread.push((path.to_owned(), None));
            return (loaded, None);
        }
        Err(ReadError::Io(error)) if error.kind() == ErrorKind::PermissionDenied => {
            loaded.deny(path, &error);
            return (loaded, None);
        }
        Err(error @ (ReadError::Io(_) | ReadError::NotRegular)) => {
            loaded.refuse(path, UNREAD, format!("cannot read: {error}"));
            if matches!(&error, ReadError::Io(error) if error.kind() != ErrorKind::NotFound) {
                loaded.unread.push((path.to_owned(), None));
            }
            if let Some(refusal) = loaded.diagnostics.last_mut() {
                refusal.help = sibling(path).map(|other| format!("did you mean {other}?"));
            }
            return (loaded, None);
        }
        Err(ReadError::Untrusted(error)) => {
            loaded.distrust(path, &error);
            let bytes = read(&Walk::new(None), path, MAX_LIST_BYTES).ok().map(|(bytes, _)| bytes);
            if let Some(bytes) = bytes.as_ref().filter(|_| options.reads_untrusted) {
                loaded.read(path, bytes, options);
            }
            // Not believed, but for what it may be about.
            loaded.unread.push((path.to_owned(), bytes.map(Arc::new)));
            return (loaded, None);
        }
    };
    loaded.read(path, &bytes, options);
    if options.lists_others && !is_roots(path, &metadata) {
        loaded.of_others.insert(path.to_owned());
    }
    if metadata.is_file()
        && let Err(error) = check_secret(path, metadata.mode())
    {
        loaded.refuse_secrets(&error);
    }
    (loaded, Some(metadata))
}

/// Whether only root can change the file that was read, or exchange it. It is looked up again, and must
/// be the same one. A pipe is of the process that started this one.
fn is_roots(path: &Path, read: &Metadata) -> bool {
    let same = |found: File| {
        let found = found.metadata().ok()?;
        Some((found.dev(), found.ino()) == (read.dev(), read.ino()))
    };
    let found = || Walk::new(Some(Trusted::root())).file(path, false).ok();
    !read.is_file() || found().and_then(same).unwrap_or_default()
}

/// The manifest beside a missing one with the most similar name.
fn sibling(path: &Path) -> Option<String> {
    let name = path.file_name().filter(|_| path.symlink_metadata().is_err())?.to_str()?;
    let folder = path.parent()?;
    let place = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let others = listing(place).ok()?;
    let names = others.iter().filter_map(|other| other.file_name()?.to_str());
    let other = nearest_by(name, names, |name| name)?;
    Some(folder.join(other).display().to_string())
}

/// The manifests of a folder that no other user can change: in another, files could be added,
/// removed and exchanged.
fn checked_listing(folder: &Path) -> Result<Vec<PathBuf>, TrustError> {
    Walk::trusting_us().folder(folder)?;
    listing(folder).map_err(|source| TrustError::Io { path: folder.to_path_buf(), source })
}

/// Whether a file directly in a folder of manifests is one of them, by its name.
pub fn is_listed(path: &Path) -> bool {
    let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
    let extension = path.extension().and_then(|extension| extension.to_str());
    !hidden && matches!(extension, Some("yaml" | "yml" | "json"))
}

/// The manifests of a folder, by name.
fn listing(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if is_listed(&path) && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

impl Loaded {
    fn refuse(&mut self, path: &Path, code: &'static str, message: String) {
        self.diagnostics.push(Diagnostic::about_file(path.to_path_buf(), code, message));
    }

    /// Secrets in a file that others may read are refused, as files of `secrets` are.
    fn refuse_secrets(&mut self, error: &TrustError) {
        let (open, harmless): (Vec<_>, Vec<_>) = std::mem::take(&mut self.secrets)
            .into_iter()
            .partition(|secret| !secret.data.is_empty());
        self.secrets = harmless;
        for secret in open {
            let Origin { path, line, column } = &secret.origin;
            let id = ObjectId { kind: "Secret".to_owned(), key: secret.key() };
            self.diagnostics.push(Diagnostic {
                line: *line,
                column: *column,
                end_column: *column,
                fix: rights::trusted(error),
                blocks: Blocks::Object(id.clone()),
                ..Diagnostic::about_file(path.clone(), "E0011", format!("a Secret, and {error}"))
            });
            self.blocked.insert(id);
        }
    }

    /// What this user may not read: the file, or the first folder on the way that is closed.
    fn deny(&mut self, path: &Path, error: &io::Error) {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let closed = closed_above(&whole);
        let user = own_user();
        let place = closed.unwrap_or(path);
        self.refuse(place, UNREAD, format!("user {user} cannot read it: {error}"));
        self.unread.push((place.to_owned(), None));
        if let Some(refusal) = self.diagnostics.last_mut() {
            refusal.fix = rights::reading(path).map(Fix::Permit);
            if let (None, Some(home)) = (&refusal.fix, closed) {
                let home = home.display();
                let help = format!("{home} is closed to {user}: keep manifests in another folder");
                refusal.help = Some(help);
            }
        }
    }

    fn distrust(&mut self, path: &Path, error: &TrustError) {
        if let TrustError::Io { source, .. } = error {
            if source.kind() == ErrorKind::PermissionDenied {
                return self.deny(path, source);
            }
            return self.refuse(path, UNREAD, format!("cannot read: {source}"));
        }
        let refusal = Diagnostic::about_file(path.to_path_buf(), "E0011", error.to_string());
        self.diagnostics.push(Diagnostic { fix: rights::trusted(error), ..refusal });
    }

    /// Adds the content of another file.
    fn add(&mut self, file: &Self) {
        let offset = self.files.len();
        self.certificates.extend_from_slice(&file.certificates);
        self.issuers.extend_from_slice(&file.issuers);
        self.secrets.extend_from_slice(&file.secrets);
        self.skipped.extend_from_slice(&file.skipped);
        self.flawed.extend_from_slice(&file.flawed);
        self.misread.extend(file.misread.iter().cloned());
        // Of many files in one closed folder, the folder is reported once.
        let is_new = |found: &&Diagnostic| !found.is_unread() || !self.diagnostics.contains(found);
        let found: Vec<Diagnostic> = file.diagnostics.iter().filter(is_new).cloned().collect();
        self.diagnostics.extend(found);
        self.files.extend_from_slice(&file.files);
        self.of_others.extend(file.of_others.iter().cloned());
        self.documents += file.documents;
        self.blocked.extend(file.blocked.iter().cloned());
        self.unread.extend_from_slice(&file.unread);
        self.texts.extend_from_slice(&file.texts);
        self.places.extend(
            file.places.iter().map(|(key, (number, places))| {
                (key.clone(), (number + offset, Arc::clone(places)))
            }),
        );
    }

    /// Adds the objects of this file.
    fn read(&mut self, path: &Path, bytes: &[u8], options: &Options) {
        let content = match decode(path, bytes) {
            Ok(content) => content,
            Err(diagnostic) => {
                self.diagnostics.push(*diagnostic);
                return self.unread.push((path.to_path_buf(), unreadable_text(bytes)));
            }
        };
        let documents = match documents(content) {
            Ok(documents) => documents,
            Err(line) => {
                let message = format!("more than {MAX_DOCUMENTS} documents in one file");
                let diagnostic = Diagnostic::about_file(path.to_path_buf(), "E0005", message);
                let place = Diagnostic { line, column: 1, end_column: 4, ..diagnostic };
                self.diagnostics.push(place);
                return self.unread.push((path.to_path_buf(), unreadable_text(bytes)));
            }
        };
        self.files.push(path.to_path_buf());
        self.documents += documents.len();
        let text = Text::new(path, content);
        let is_of_others = |document: &Document<'_>| {
            options.names.as_ref().is_some_and(|names| is_of_others(document.text, names))
        };
        let meant = documents.iter().enumerate().filter(|(_, document)| !is_of_others(document));
        for (number, document) in meant {
            let mut sink = Sink::new(&text, number, may_be_secret(document.text));
            let place = Context {
                path,
                default_namespace: &options.default_namespace,
                document: number,
                flaws: &[],
            };
            for object in read_document(*document, &place, &mut sink) {
                self.keep(object);
            }
            self.diagnostics.extend(sink.into_found());
        }
        self.texts.push(Arc::new(Zeroizing::new(content.to_owned())));
    }

    fn keep(&mut self, object: Object) {
        match object {
            Object::Certificate(read) => {
                let (certificate, places) = *read;
                self.places.insert(place_key(&certificate.origin), (0, Arc::new(places)));
                self.certificates.push(Arc::new(certificate));
            }
            Object::Issuer(issuer) => self.issuers.push(*issuer),
            Object::Secret(secret) => self.secrets.push(secret),
            Object::Skipped(skipped) => self.skipped.push(skipped),
            Object::Flawed(read) => {
                let (certificate, places) = *read;
                self.places.insert(place_key(&certificate.origin), (0, Arc::new(places)));
                self.flawed.push(certificate);
            }
            Object::Misread(name) => {
                self.misread.insert(name);
            }
            Object::Broken(id) => {
                self.blocked.insert(id);
            }
        }
    }
}

/// The bytes of a file that is no manifest, to find names in them; those of UTF-16 are in no form to.
fn unreadable_text(bytes: &[u8]) -> Option<UnreadText> {
    let is_searchable = !bytes.contains(&0);
    is_searchable.then(|| Arc::new(Zeroizing::new(bytes.to_vec())))
}

/// Whether a document is one plain Certificate without any of these names: neither its own name
/// nor that of its Secret is among them. A backslash may write a name in another way.
fn is_of_others(text: &str, names: &BTreeSet<String>) -> bool {
    let is_field =
        |line: &str| ["apiVersion:", "metadata:", "spec:"].iter().any(|key| line.starts_with(key));
    let is_inside = |line: &str| line.is_empty() || line.starts_with([' ', '#']);
    let mut kinds = 0;
    let is_plain = lines(text).map(|(_, line)| line.trim_end()).all(|line| {
        let is_kind = line == "kind: Certificate";
        kinds += usize::from(is_kind);
        is_kind || is_field(line) || is_inside(line) || line == "---"
    });
    let is_named = names.iter().any(|name| text.contains(name.as_str()));
    is_plain && kinds == 1 && !is_named && !text.contains('\\')
}

/// Reads one document.
fn read_document(
    document: Document<'_>,
    context: &Context<'_>,
    sink: &mut Sink<'_>,
) -> Vec<Object> {
    if let Some(span) = control_character(document) {
        sink.error("E0009", span, "", "control characters are not allowed in YAML");
        return Vec::new();
    }
    let mut errors = Vec::new();
    let root = match parse(document.text, document.first_line, &mut errors) {
        Ok(root) => root,
        Err(error) => {
            errors.push(error);
            None
        }
    };
    let unreadable = |error: &Located| matches!(error.1, TreeError::Syntax(_) | TreeError::Key);
    if let Some((at, _)) = errors.iter().find(|error| unreadable(error))
        && let Some((span, message)) = unrendered(document, at.line)
    {
        sink.error("E0008", span, "", message);
        return Vec::new();
    }
    if let Some(place) = second_object(&errors) {
        errors.retain(|(span, _)| span.line < place.line);
        errors.push((place, TreeError::Second));
    }
    let is_unreadable = root.is_none() && !errors.is_empty();
    let flaws: Vec<Span> = errors.iter().map(|(span, _)| *span).collect();
    if root.as_ref().is_some_and(holds_secret) {
        sink.keep_secret();
    }
    for (span, error) in errors {
        sink.add(draft(document, span, &error));
    }
    match root {
        Some(root) if root.value != Value::Null => {
            objects(&root, &Context { flaws: &flaws, ..*context }, sink)
        }
        Some(_) | None if is_unreadable => names_in(document).map(Object::Misread).collect(),
        Some(_) | None => Vec::new(),
    }
}

/// The names that an unreadable document may define, in any namespace.
fn names_in(document: Document<'_>) -> impl Iterator<Item = NamespacedName> {
    let lines = document.text.lines().filter_map(|line| line.trim().strip_prefix("name:"));
    lines.map(|name| NamespacedName::new("", name.trim().trim_matches(['"', '\''])))
}

/// The diagnostic for an error of a document.
fn draft(document: Document<'_>, span: Span, error: &TreeError) -> Draft {
    if let TreeError::Syntax(kind) = error {
        let Fault { span, message, help } = explain(document, span, kind);
        return Draft { help: help.map(str::to_owned), ..Draft::error("E0004", span, "", message) };
    }
    Draft::error(code_of(error), span, "", error.to_string())
}

/// Where a second object begins without a line `---` before it: the keys that begin an object
/// appear in column 1 again.
fn second_object(errors: &[Located]) -> Option<Span> {
    let opens = |error: &&Located| {
        let opening = |key: &String| matches!(key.as_str(), "apiVersion" | "kind");
        error.0.column == 1 && matches!(&error.1, TreeError::Duplicate(key) if opening(key))
    };
    let mut places = errors.iter().filter(opens).map(|(span, _)| *span);
    places.next().filter(|_| places.next().is_some())
}

fn code_of(error: &TreeError) -> &'static str {
    match error {
        TreeError::Syntax(_) | TreeError::Key | TreeError::Merge | TreeError::Second => "E0004",
        TreeError::Depth => "E0006",
        TreeError::Nodes | TreeError::Aliases | TreeError::Recursive => "E0007",
        TreeError::Duplicate(_) => "E0104",
        TreeError::Tag(_) => "E0010",
    }
}

/// The first control character that YAML does not have (YAML 1.2.2 section 5.1).
fn control_character(document: Document<'_>) -> Option<Span> {
    let refused = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}');
    let at = document.text.find(refused)?;
    Some(place_of(document, at, 1))
}

/// The first `{{`, or a placeholder in the line of the error, outside of comments: a script in a
/// `ConfigMap` has its own variables.
fn unrendered(document: Document<'_>, line_of_error: usize) -> Option<(Span, &'static str)> {
    let (mut offset, mut found) = (0, None);
    for (number, line) in (document.first_line..).zip(document.text.split_inclusive('\n')) {
        if !line.trim_start().starts_with('#') {
            if let Some(at) = line.find("{{") {
                return Some((place_of(document, offset + at, 2), TEMPLATE));
            }
            if number == line_of_error
                && let Some(at) = placeholder(line)
            {
                found = Some((place_of(document, offset + at, 2), PLACEHOLDER));
            }
        }
        offset += line.len();
    }
    found
}

fn place_of(document: Document<'_>, at: usize, length: usize) -> Span {
    let before = document.text.get(..at).unwrap_or_default().replace("\r\n", "\n");
    let line = document.first_line + before.matches(['\n', '\r']).count();
    let column = before.rsplit(['\n', '\r']).next().unwrap_or_default().chars().count() + 1;
    Span { line, column, end_line: line, end_column: column + length }
}
