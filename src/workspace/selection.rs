//! Which certificates a request selects: from manifests and records to tasks.
//!
//! Contract: files that a request names are all-or-nothing: one error in them refuses the request.
//! Everything else isolates: a broken document blocks itself and what refers to it, and the others
//! continue. Files recorded in the state are read too, so that a certificate issued from one
//! directory is found from every other.

use crate::store::{LiveFiles, Store};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zeroize::Zeroizing;

use super::open::{Scope, Workspace};
use super::request::Request;
use super::target::{NameTarget, TargetError};
use crate::controller::trigger;
use crate::engine::inputs::{input_digest, names_of, solver_for};
use crate::engine::{Goal, Task};
use crate::manifest::{
    self, Blocks, Conflict, Diagnostic, Loaded, Manifests, ObjectId, SecretSource, Source, is_gone,
};
use crate::resource::{
    Certificate, CertificateSpec, Issuer, IssuerKind, IssuerRef, Metadata, NamespacedName,
    Obstacle, SecretFiles, SecretKeySelector, Settings,
};

/// What was read for a request.
#[derive(Debug)]
pub struct Selection {
    /// The objects, and their errors.
    pub loaded: Loaded,
    /// The files that the request named.
    named: BTreeSet<PathBuf>,
    /// Certificates in the state without a manifest.
    orphans: Vec<(NamespacedName, PathBuf)>,
    is_refused: bool,
}

impl Selection {
    /// Whether an error in a named file stops the whole request.
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }
}

/// What a request selects.
#[derive(Debug)]
pub struct Targets {
    /// Everything that was read.
    pub loaded: Loaded,
    /// The selected tasks.
    pub tasks: Vec<Task>,
    /// Where secrets come from.
    pub secrets: SecretSource,
    /// Certificates in the state without a manifest.
    pub orphans: Vec<(NamespacedName, PathBuf)>,
    /// Whether there was an error outside what stops the run.
    pub has_errors: bool,
}

impl Targets {
    /// The task of a certificate.
    pub fn task(&self, certificate: &NamespacedName) -> Option<&Task> {
        self.tasks.iter().find(|task| task.certificate.metadata.key() == *certificate)
    }
}

impl Workspace {
    /// Reads the files of the request, of the settings and of the config directory; when the
    /// request names no file, the manifests recorded in the state too.
    pub fn select(&mut self, request: &Request) -> Selection {
        let is_named = !request.sources.is_empty();
        let is_scoped = self.scope != Scope::All;
        let given = self.manifests.load(&request.sources);
        let named: BTreeSet<PathBuf> = given.files.into_iter().collect();
        let mut sources = request.sources.clone();
        sources.extend(self.configured());
        let mut orphans = Vec::new();
        let mut remembered = BTreeMap::new();
        if !is_named {
            let mut paths: BTreeMap<&PathBuf, &NamespacedName> = BTreeMap::new();
            // Many certificates are in one file.
            let mut there: HashMap<&Path, bool> = HashMap::new();
            for (name, record) in self.outlines() {
                match record.manifest {
                    Some(path) if !*there.entry(path).or_insert_with(|| !is_gone(path)) => {
                        orphans.push((name.clone(), path.clone()));
                    }
                    manifest => {
                        let of_it = manifest.into_iter().chain(record.references);
                        paths.extend(of_it.map(|path| (path, name)));
                    }
                }
            }
            let there = paths.into_iter().filter(|(path, _)| !is_gone(path));
            let listed = |path: &PathBuf| {
                if is_scoped { self.as_listed(path) } else { path.clone() }
            };
            remembered = there.map(|(path, name)| (listed(path), name.clone())).collect();
            sources.extend(remembered.keys().cloned().map(Source::File));
        }
        let mut loaded = self.manifests.load(&sources);
        if request.has_edited_copies {
            manifest::prefer(&mut loaded, &named);
        }
        let recorded = |name: &NamespacedName| self.outline(name)?.manifest.cloned();
        // What is in the config directory is read in any case.
        let config = self.settings.config_dir.as_deref();
        remembered.retain(|path, _| config.is_none() || path.parent() != config);
        manifest::keep_recorded(&mut loaded, recorded, &remembered);
        manifest::check_owned_references(&mut loaded, |conflict| self.owner(conflict));
        manifest::explain_remembered(&mut loaded, &remembered);
        // All checks are done.
        loaded.places.clear();
        let is_of_named = |found: &Diagnostic| {
            named.contains(&found.path)
                || given.diagnostics.iter().any(|one| one.path == found.path)
                || is_gone(&found.path)
        };
        let stops = |found: &Diagnostic| found.is_error() && is_named && is_of_named(found);
        let is_refused = loaded.diagnostics.iter().any(stops);
        Selection { loaded, named, orphans, is_refused }
    }

    /// Drops what is kept for another selection: this was the last.
    pub fn forget_manifests(&mut self) {
        self.manifests = Manifests::default();
    }

    /// The sources of every request: those of the settings, and the config directory.
    fn configured(&self) -> Vec<Source> {
        if matches!(self.scope, Scope::Only(_)) {
            return Vec::new();
        }
        let config = self.settings.config_dir.iter().filter(|path| !is_gone(path));
        let files = self.settings.files.iter().cloned();
        files.chain(config.cloned().map(Source::Directory)).collect()
    }

    /// A recorded path, under the name that it has in the config directory: messages are the same
    /// however many files are read.
    fn as_listed(&self, recorded: &Path) -> PathBuf {
        let listed = self.settings.config_dir.as_ref().and_then(|folder| {
            let real = std::fs::canonicalize(folder).ok()?;
            if recorded.parent() == Some(&real) {
                return Some(folder.join(recorded.file_name()?));
            }
            let entries = std::fs::read_dir(folder).ok()?.flatten();
            let links =
                entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
            let is_it =
                |path: &PathBuf| std::fs::canonicalize(path).is_ok_and(|target| target == recorded);
            links.map(|entry| entry.path()).filter(is_it).min()
        });
        listed.filter(|path| manifest::is_listed(path)).unwrap_or_else(|| recorded.to_owned())
    }

    /// The manifest of a certificate, file and line, if runs without arguments read it even when
    /// the state does not know the certificate.
    pub fn manifest_of(&mut self, name: &NamespacedName) -> Option<(PathBuf, usize)> {
        let mut sources = self.configured();
        let others = self.outlines().filter(|(known, _)| *known != name);
        let recorded: BTreeSet<&PathBuf> = others
            .flat_map(|(_, record)| record.manifest.into_iter().chain(record.references))
            .collect();
        let there = recorded.into_iter().filter(|path| path.exists());
        sources.extend(there.cloned().map(Source::File));
        let loaded = self.manifests.load(&sources);
        let mut certificates = loaded.certificates();
        if let Some(found) = certificates.find(|one| one.metadata.key() == *name) {
            return Some((found.origin.path.clone(), found.origin.line));
        }
        let id = ObjectId { kind: "Certificate".to_owned(), key: name.clone() };
        let mut mistakes = loaded.diagnostics.iter();
        let mistake = mistakes.find(|found| found.blocks == Blocks::Object(id.clone()))?;
        Some((mistake.path.clone(), mistake.line))
    }

    /// The selected Certificates: those of the named files, or those of the names, or all.
    pub fn targets(&self, request: &Request, of: Selection) -> Result<Targets, TargetError> {
        let namespace = self.settings.namespace.as_deref();
        let names = self.requested(request, &of.loaded)?;
        let everything = request.is_empty();
        let mut targets = self.targets_where(of, request.is_only_shown, |certificate, files| {
            let is_named = names.contains(&certificate.metadata.key());
            everything || is_named || files.contains(&certificate.origin.path)
        });
        targets.tasks.iter_mut().for_each(|task| task.is_named = !everything);
        let mut errors = targets.loaded.diagnostics.iter().filter(|found| found.is_error());
        targets.has_errors = errors.any(|found| concerns(request, &targets.loaded, found));
        targets.orphans.retain(|(name, _)| {
            everything && namespace.is_none_or(|wanted| wanted == name.namespace)
        });
        Ok(targets)
    }

    /// The Certificates that a request names, each of which has a manifest. A bare name is unique
    /// among all that the manifests or the state know.
    fn requested(
        &self,
        request: &Request,
        loaded: &Loaded,
    ) -> Result<BTreeSet<NamespacedName>, TargetError> {
        let written = loaded.certificates().map(|certificate| certificate.metadata.key());
        let recorded = self.outlines().map(|(name, _)| name.clone());
        let all: Vec<NamespacedName> = written.chain(recorded).collect();
        let names = request.names.iter().map(|name| {
            let name = name.find(&all, self.settings.namespace.as_deref());
            let name = name.map_err(|error| error.among(&loaded.certificates))?;
            let usable = || loaded.certificates.iter().map(|one| one.metadata.key());
            if usable().any(|usable| usable == name) {
                return Ok(name);
            }
            let manifest = self.outline(&name).and_then(|record| record.manifest.cloned());
            Err(match mistake_of(&name, manifest.as_deref(), loaded) {
                Some(found) if found.is_unread() => {
                    TargetError::Unread { name, place: found.path.clone() }
                }
                Some(found) => TargetError::Invalid { name, manifest: found.path.clone() },
                None => TargetError::WithoutManifest { name, manifest },
            })
        });
        names.collect()
    }

    /// The files that the state records for the certificates of these names, as far as they exist.
    pub fn recorded(&self, names: &[NameTarget]) -> Vec<PathBuf> {
        let known = self.outlines().filter(|(known, _)| {
            names.iter().any(|name| name.is_among(std::slice::from_ref(*known)))
        });
        let files: BTreeSet<&PathBuf> = known
            .flat_map(|(_, record)| record.manifest.into_iter().chain(record.references))
            .filter(|path| !is_gone(path))
            .collect();
        files.into_iter().cloned().collect()
    }

    /// The names of all Certificates in the manifests and in the state, and of their Secrets. The
    /// sources of the request are read first: their files are called as they were named.
    pub fn known_names(&mut self, sources: &[Source]) -> Vec<NamespacedName> {
        self.manifests.load(sources);
        let loaded = self.select(&Request::default()).loaded;
        let certificates = loaded.certificates.iter();
        let mut names: Vec<NamespacedName> =
            certificates.flat_map(|c| [c.metadata.key(), c.secret_key()]).collect();
        for (name, record) in self.outlines() {
            names.push(NamespacedName::new(&name.namespace, record.secret_name));
            names.push(name.clone());
        }
        names
    }

    /// All Certificates of a run without arguments.
    pub fn everything(&mut self) -> Targets {
        let all = self.select(&Request::default());
        self.targets_where(all, false, |_, _| true)
    }

    /// The same, only to be shown.
    pub fn everything_shown(&mut self) -> Targets {
        let all = self.select(&Request::default());
        self.targets_where(all, true, |_, _| true)
    }

    fn targets_where(
        &self,
        of: Selection,
        is_only_shown: bool,
        is_selected: impl Fn(&Certificate, &BTreeSet<PathBuf>) -> bool,
    ) -> Targets {
        let Selection { loaded, named, mut orphans, .. } = of;
        // The manifest of one that moved to another file is not gone.
        let found: BTreeSet<NamespacedName> =
            loaded.certificates().map(|certificate| certificate.metadata.key()).collect();
        orphans.retain(|(name, _)| !found.contains(name));
        let secrets = self.settings.secrets(&loaded);
        let is_meant = |certificate: &&Arc<Certificate>| {
            let Metadata { namespace, labels, .. } = &certificate.metadata;
            let settings = &self.settings;
            self.scope.contains(&certificate.metadata.key())
                && is_selected(certificate, &named)
                && settings.namespace.as_ref().is_none_or(|wanted| wanted == namespace)
                && settings.selector.as_ref().is_none_or(|selector| selector.matches(labels))
        };
        let usable = loaded.usable(|conflict| self.owner(conflict));
        let meant = usable.into_iter().filter(is_meant);
        let task = |c| self.task_of(c, &loaded, &secrets, is_only_shown);
        let tasks = meant.filter_map(task).collect();
        let has_errors = loaded.has_errors();
        Targets { loaded, tasks, secrets, orphans, has_errors }
    }

    /// Of several Certificates with the same Secret, the one that owns it: of several that the
    /// state records, the one whose pair is in it.
    pub fn owner(&self, conflict: &Conflict) -> Option<NamespacedName> {
        let mut certificates = conflict.certificates.iter();
        if let Some(owner) = certificates.find(|name| self.holds(name, &conflict.secret)) {
            return Some(owner.clone());
        }
        let claim = |name| {
            let record = self.outline(name);
            let owns = record.is_some_and(|record| record.secret_name == conflict.secret.name);
            trigger::Claim { name, since: record.map(|record| record.since), owns }
        };
        let claims: Vec<_> = conflict.certificates.iter().map(claim).collect();
        trigger::owner(&claims).cloned()
    }

    /// Whether the state records a Secret as a Certificate's, and its pair is in it. That is so for
    /// one Certificate at most, and that one owns the Secret, whatever other manifests want it.
    fn holds(&self, name: &NamespacedName, secret: &NamespacedName) -> bool {
        self.outline(name).is_some_and(|record| record.secret_name == secret.name)
            && self.state.live_files().published_for(secret).as_ref() == Some(&name.name)
    }

    /// Whether what was read shows all there is to know of the certificates in the scope: each has
    /// a usable manifest where its record says, and no other certificate can have its Secret. Else
    /// all must be read.
    pub(super) fn is_conclusive(&mut self) -> bool {
        let Some(names) = self.scope.names().cloned() else { return true };
        let targets = self.everything();
        let is_settled = |name: &NamespacedName| {
            let Some(task) = targets.task(name) else { return false };
            let secret = task.certificate.secret_key();
            let recorded = self.outline(name).map(|record| record.secret_name);
            // Nothing is written for what is only shown.
            let is_shown = || {
                matches!(self.scope, Scope::Only(_))
                    && self.state.live_files().published_for(&secret).is_none()
            };
            recorded == Some(secret.name.as_str()) && (self.holds(name, &secret) || is_shown())
        };
        // A bare name may be meant for one in another namespace.
        let is_namesake = |key: &NamespacedName| {
            !names.contains(key) && names.iter().any(|name| name.name == key.name)
        };
        let is_unique = self.settings.namespace.is_some()
            || !targets.loaded.certificates().any(|one| is_namesake(&one.metadata.key()));
        !targets.has_errors
            && targets.orphans.is_empty()
            && is_unique
            && names.iter().all(is_settled)
    }

    /// The task of one Certificate; `None` when its issuer is missing.
    pub fn task(
        &self,
        certificate: &Arc<Certificate>,
        loaded: &Loaded,
        secrets: &SecretSource,
    ) -> Option<Task> {
        self.task_of(certificate, loaded, secrets, false)
    }

    pub(super) fn task_of(
        &self,
        certificate: &Arc<Certificate>,
        loaded: &Loaded,
        secrets: &SecretSource,
        is_only_shown: bool,
    ) -> Option<Task> {
        let issuer = self.shared(issuer_of(certificate, loaded)?);
        let absolute = |path: &PathBuf| {
            let mut known = self.absolute_paths.borrow_mut();
            known.entry(path.clone()).or_insert_with(|| absolute(path)).clone()
        };
        let mut references: Vec<PathBuf> = absolute(&issuer.origin.path).into_iter().collect();
        references.extend(loaded.secrets.iter().filter_map(|s| absolute(&s.origin.path)));
        let manifest = absolute(&certificate.origin.path);
        references.retain(|path| Some(path) != manifest.as_ref());
        references.sort();
        references.dedup();
        let paths = [&certificate.origin.path, &issuer.origin.path];
        let of_others = paths.into_iter().find(|path| loaded.of_others.contains(*path)).cloned();
        // It is compared with those of earlier attempts, and added to them by another one.
        let is_compared = || {
            let record = self.outline(&certificate.metadata.key());
            record.is_some_and(|record| record.has_attempts)
        };
        let input_digest = if !is_only_shown || is_compared() {
            let bytes = self.used_secrets(certificate, &issuer, secrets);
            input_digest(certificate, &issuer, &bytes)
        } else {
            String::new()
        };
        Some(Task {
            input_digest,
            certificate: Arc::clone(certificate),
            issuers: issuer.into(),
            manifest,
            references,
            is_named: false,
            allow_untrusted: false,
            force: None,
            goal: Goal::Issue,
            revoked: None,
            secret: pair_to_adopt(certificate, loaded),
            of_others,
            unread_secret: unread_secret(certificate, loaded),
        })
    }

    /// The issuer, in memory once however many tasks have it.
    fn shared(&self, issuer: &Issuer) -> Arc<Issuer> {
        let mut known = self.issuers.borrow_mut();
        if let Some(known) = known.iter().find(|known| known.as_ref() == issuer) {
            return Arc::clone(known);
        }
        let issuer = Arc::new(issuer.clone());
        known.push(Arc::clone(&issuer));
        issuer
    }

    /// A task that stands for an Issuer alone: for account operations, never run.
    pub fn issuer_task(&self, issuer: &Issuer) -> Task {
        let name = issuer.metadata.name.clone();
        let namespace = self.secrets_namespace(issuer).to_owned();
        let metadata = Metadata { namespace, name: name.clone(), ..Metadata::default() };
        let certificate = Certificate {
            spec: CertificateSpec { secret_name: name, ..CertificateSpec::default() },
            metadata,
            settings: Settings::default(),
            origin: issuer.origin.clone(),
        };
        Task {
            certificate: Arc::new(certificate),
            issuers: Arc::new(issuer.clone()).into(),
            manifest: None,
            references: Vec::new(),
            is_named: false,
            allow_untrusted: false,
            force: None,
            goal: Goal::Issue,
            revoked: None,
            secret: None,
            unread_secret: None,
            input_digest: String::new(),
            of_others: None,
        }
    }

    /// The secrets: a change of one may let an attempt bypass the backoff.
    fn used_secrets(
        &self,
        certificate: &Certificate,
        issuer: &Issuer,
        secrets: &SecretSource,
    ) -> Vec<Zeroizing<Vec<u8>>> {
        let namespace = self.secrets_namespace(issuer);
        let eab = issuer.acme.external_account_binding.as_ref();
        let names = names_of(certificate);
        let chosen = names.iter().filter_map(|name| solver_for(issuer, certificate, name));
        let of_solvers = chosen
            .filter_map(|chosen| chosen.solver.dns01())
            .flat_map(|dns01| dns01.provider.credentials());
        let eab = eab.map(|eab| eab.key_secret_ref.clone());
        let all: BTreeSet<SecretKeySelector> = eab.into_iter().chain(of_solvers).collect();
        let bytes = |SecretKeySelector { name, key }: SecretKeySelector| {
            secrets.resolve(&NamespacedName::new(namespace, &name), &key).ok()
        };
        all.into_iter().filter_map(bytes).collect()
    }

    /// The source of an issuer's secrets.
    fn secrets_namespace<'a>(&'a self, issuer: &'a Issuer) -> &'a str {
        match issuer.kind {
            IssuerKind::Issuer => &issuer.metadata.namespace,
            IssuerKind::ClusterIssuer => &self.settings.cluster_resource_namespace,
        }
    }
}

/// Leaves of what was read the Certificates of these names and of the files that are named, their
/// Issuers, and what is wrong with those. A bare name is looked up in `namespace`.
pub fn narrow(
    loaded: &mut Loaded,
    names: &[NameTarget],
    whole_files: &BTreeSet<PathBuf>,
    namespace: Option<&str>,
) -> Result<(), TargetError> {
    let mut all: Vec<NamespacedName> =
        loaded.certificates().map(|certificate| certificate.metadata.key()).collect();
    all.extend(loaded.diagnostics.iter().filter_map(|found| match &found.blocks {
        Blocks::Object(id) if id.kind == "Certificate" => Some(id.key.clone()),
        Blocks::Object(_) | Blocks::File | Blocks::Document | Blocks::Nothing => None,
    }));
    let find = |name: &NameTarget| name.find(&all, namespace);
    let wanted: Result<BTreeSet<NamespacedName>, TargetError> = names.iter().map(find).collect();
    let wanted = wanted.map_err(|error| error.among(&loaded.certificates))?;
    let is_wanted = |certificate: &Certificate| {
        wanted.contains(&certificate.metadata.key())
            || whole_files.contains(&certificate.origin.path)
    };
    let mut objects: BTreeSet<ObjectId> = wanted
        .iter()
        .map(|key| ObjectId { kind: "Certificate".to_owned(), key: key.clone() })
        .collect();
    let mut files = whole_files.clone();
    for certificate in loaded.certificates().filter(|one| is_wanted(one)) {
        let IssuerRef { kind, name, .. } = &certificate.spec.issuer_ref;
        let namespace = match kind {
            IssuerKind::Issuer => certificate.metadata.namespace.as_str(),
            IssuerKind::ClusterIssuer => "",
        };
        let key = NamespacedName::new(namespace, name);
        objects.insert(ObjectId { kind: kind.to_string(), key });
        files.insert(certificate.origin.path.clone());
    }
    let is_used = |issuer: &Issuer| {
        let id = ObjectId { kind: issuer.kind.to_string(), key: issuer.metadata.key() };
        objects.contains(&id) || whole_files.contains(&issuer.origin.path)
    };
    files.extend(
        loaded.issuers.iter().filter(|one| is_used(one)).map(|one| one.origin.path.clone()),
    );
    loaded.diagnostics.retain(|found| match &found.blocks {
        Blocks::Object(id) => objects.contains(id) || whole_files.contains(&found.path),
        Blocks::File | Blocks::Document | Blocks::Nothing => files.contains(&found.path),
    });
    loaded.certificates.retain(|one| is_wanted(one));
    loaded.issuers.retain(is_used);
    // The text of a file has the number of the file.
    let mut stays = loaded.files.iter().map(|path| files.contains(path));
    loaded.texts.retain(|_| stays.next().unwrap_or(true));
    loaded.files.retain(|path| files.contains(path));
    Ok(())
}

/// The manifest of a Certificate that has a mistake in it, or in the file that it was in.
fn mistake_of<'a>(
    name: &NamespacedName,
    recorded: Option<&Path>,
    loaded: &'a Loaded,
) -> Option<&'a Diagnostic> {
    let id = ObjectId { kind: "Certificate".to_owned(), key: name.clone() };
    let is_there = |found: &Diagnostic| recorded.is_some_and(|path| is_about(found, path));
    let mut errors = loaded.diagnostics.iter().filter(|found| found.is_error());
    errors.find(|found| match &found.blocks {
        Blocks::Object(of) => *of == id,
        Blocks::File | Blocks::Document => is_there(found),
        Blocks::Nothing => false,
    })
}

/// Whether an error is about this file, or about a folder above it that cannot be read.
pub(super) fn is_about(found: &Diagnostic, manifest: &Path) -> bool {
    let is_it = |path: &Path| path == manifest || (found.is_unread() && manifest.starts_with(path));
    absolute(&found.path).is_some_and(|path| is_it(&path))
}

/// The pair in the Secret manifest that a Certificate names, as exported from a cluster.
fn pair_to_adopt(certificate: &Certificate, loaded: &Loaded) -> Option<SecretFiles> {
    let name = certificate.secret_key();
    let secret = loaded.secrets.iter().find(|secret| secret.key() == name)?;
    let of_the_pair = |(key, bytes): (&String, &Zeroizing<Vec<u8>>)| {
        let wanted = ["tls.crt", "tls.key", "ca.crt"].contains(&key.as_str());
        wanted.then(|| (key.clone(), bytes.clone()))
    };
    Some(SecretFiles(secret.data.iter().filter_map(of_the_pair).collect()))
}

/// Where the Secret of a Certificate may be that cannot be read: an order would replace the pair in it.
fn unread_secret(certificate: &Certificate, loaded: &Loaded) -> Option<Obstacle> {
    let found = loaded.unread_secret(&certificate.secret_key())?;
    let fact = format!(
        "its key and certificate may be in {}, which cannot be read: {}",
        found.path.display(),
        found.message
    );
    Some(Obstacle::new(fact).with(found.fix.clone()))
}

/// Whether an error concerns what a request names: an error in the manifests of other Certificates
/// is none of a verb with names, whatever was read to find those.
pub fn concerns(request: &Request, loaded: &Loaded, found: &Diagnostic) -> bool {
    if request.names.is_empty() || !request.sources.is_empty() || !found.is_error() {
        return true;
    }
    let is_named = |key: &NamespacedName| {
        request.names.iter().any(|name| name.is_among(std::slice::from_ref(key)))
    };
    let named: Vec<&Certificate> =
        loaded.certificates().filter(|one| is_named(&one.metadata.key())).collect();
    let is_of_file = || {
        let issuers = named.iter().filter_map(|one| issuer_of(one, loaded));
        let mut origins = named.iter().map(|one| &one.origin).chain(issuers.map(|one| &one.origin));
        origins.any(|origin| origin.path == found.path)
    };
    match &found.blocks {
        _ if named.is_empty() => true,
        Blocks::Object(id) if id.kind == "Certificate" => {
            // Of Certificates with one Secret, it concerns each.
            let mut conflicts = loaded.conflicts.iter().map(|conflict| &conflict.certificates);
            is_named(&id.key)
                || conflicts.any(|all| all.contains(&id.key) && all.iter().any(is_named))
        }
        Blocks::Object(_) | Blocks::Document | Blocks::File => is_of_file(),
        Blocks::Nothing => true,
    }
}

/// The issuer that a Certificate refers to.
pub fn issuer_of<'a>(certificate: &Certificate, loaded: &'a Loaded) -> Option<&'a Issuer> {
    let wanted = &certificate.spec.issuer_ref;
    loaded.issuers.iter().find(|issuer| {
        let here = match wanted.kind {
            IssuerKind::Issuer => issuer.metadata.namespace == certificate.metadata.namespace,
            IssuerKind::ClusterIssuer => true,
        };
        issuer.kind == wanted.kind && issuer.metadata.name == wanted.name && here
    })
}

fn absolute(path: &Path) -> Option<PathBuf> {
    let is_pipe = || std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
    if path.as_os_str() == "-" || is_pipe() {
        return None;
    }
    std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)).ok()
}
