//! The objects in the manifests, and the names in the state.
//!
//! Contract: read-only and lazy. Unreadable files count as absent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use futures_util::FutureExt as _;
use jiff::Timestamp;

use super::line::Line;
use crate::cli::args::VERBS;
use crate::cli::config::Config;
use crate::cli::environment::Environment;
use crate::cli::words::time;
use crate::engine::ports::{Key, Prefix, Store as _};
use crate::manifest::{self, MAX_BYTES, Options, Source, listing, read_regular};
use crate::resource::{
    CertificateRecord, ConditionStatus, ConditionType, NamespacedName, Order, is_dns_subdomain,
};
use crate::store::{OpenMode, Records, StateDirectory};
use crate::trust::Walk;
use crate::workspace::outlook::State;
use crate::workspace::target::Target;

/// How many bytes of manifests are read at one TAB: some two thousand Certificates, and a tenth of a
/// second. Beyond it there are the names that the state has.
const MOST_READ: usize = 512 << 10;

/// See the module.
pub(super) struct Known {
    state: Option<StateDirectory>,
    folder: PathBuf,
    home: Option<PathBuf>,
    sources: Vec<PathBuf>,
    namespace: Option<String>,
}

/// An object of a manifest, as far as its words are offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// `Certificate`, `Issuer` or `ClusterIssuer`.
    pub(super) kind: String,
    /// Empty for a ClusterIssuer.
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    /// `spec.dnsNames`.
    pub(super) dns_names: Vec<String>,
    /// `spec.secretName`.
    pub(super) secret: String,
}

impl Seen {
    /// Namespace and name.
    pub(super) fn key(&self) -> NamespacedName {
        NamespacedName::new(&self.namespace, &self.name)
    }
}

/// A Certificate that a manifest or the state knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// A manifest has it.
    pub(super) in_manifest: bool,
    /// The state has it.
    pub(super) in_state: bool,
}

impl Known {
    /// Manifests and state for this line, environment and working directory.
    pub(super) fn new(line: &Line, environment: &Environment, folder: &Path) -> Self {
        let home = environment.value("HOME").map(PathBuf::from);
        let mut known = Self {
            state: None,
            folder: folder.to_owned(),
            home,
            sources: Vec::new(),
            namespace: None,
        };
        let flag = |name: &str| line.value(name).map(|text| known.path(text));
        let config = environment.config_dir(flag("config_dir").as_deref()).ok();
        let config = config.map(|config| known.folder.join(config.path));
        let file = config.as_deref().map(|folder| Config::read(folder, VERBS.tree));
        let entry = |key: &str| file.as_ref().and_then(|file| file.entry(key));
        let configured =
            entry("state-dir").and_then(|entry| Some((entry.words.first()?, entry.line)));
        let environment = match configured {
            Some((path, line)) => environment.clone().with_configured_state(path.into(), line),
            None => environment.clone(),
        };
        let state = environment.state_dir(flag("state_dir").as_deref()).ok();
        let mut files: Vec<PathBuf> =
            line.values("filename").iter().map(|text| known.path(text)).collect();
        if files.is_empty() {
            files = environment.files().iter().map(|path| known.folder.join(path)).collect();
        }
        if files.is_empty() {
            let configured = entry("filename").map(|entry| entry.words.clone()).unwrap_or_default();
            files = configured.iter().map(|path| known.folder.join(path)).collect();
        }
        let words =
            line.words.iter().filter_map(|word| match Target::read(word, &|_| false, &[]) {
                Ok(Target::Path(path)) => Some(known.path(&path.to_string_lossy())),
                Ok(Target::Stdin | Target::Name(_)) | Err(_) => None,
            });
        files.extend(words);
        let variable = environment.value("CERTCTL_NAMESPACE").and_then(|value| value.to_str());
        let configured = entry("namespace").and_then(|entry| entry.words.first()?.to_str());
        let namespace = line.value("namespace").or(variable).or(configured).map(str::to_owned);
        known.namespace = namespace.filter(|_| !line.has("all_namespaces"));
        files.extend(config);
        known.sources = files;
        let state = state.map(|state| known.folder.join(state.path));
        known.state = state.and_then(|path| StateDirectory::open(&path, OpenMode::ReadOnly).ok());
        known
    }

    /// A path as it was typed, from the working directory.
    pub(super) fn path(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), &self.home) {
            (Some(below), Some(home)) => home.join(below),
            (_, _) => self.folder.join(text),
        }
    }

    /// Whether the namespace filter selects an object; cluster-scoped objects always match.
    pub(super) fn is_here(&self, namespace: &str) -> bool {
        namespace.is_empty() || self.namespace.as_deref().is_none_or(|wanted| wanted == namespace)
    }

    /// The objects of all manifests, those that the state recorded too.
    pub(super) fn objects(&self) -> Vec<Seen> {
        self.read().1
    }

    /// The same, and whether there were more than are read at one TAB.
    fn read(&self) -> (bool, Vec<Seen>) {
        let mut reader = Reader::default();
        for path in &self.sources {
            if path.is_dir() {
                for file in listing(path).unwrap_or_default() {
                    reader.file(&file);
                }
            } else {
                reader.file(path);
            }
        }
        // Where a certificate of the state was not met, its manifest is elsewhere.
        let met: BTreeSet<NamespacedName> = reader.found.iter().map(Seen::key).collect();
        let mut recorded = BTreeSet::new();
        // Beyond the limit no manifest is read, and no record for the sake of its manifest.
        let names = if reader.is_full() { Vec::new() } else { self.certificate_names() };
        for name in names {
            if !met.contains(&name)
                && let Some(record) = self.record(&name)
            {
                recorded.extend(record.manifest);
                recorded.extend(record.references);
            }
        }
        for path in &recorded {
            reader.file(path);
        }
        (reader.is_full(), reader.found)
    }

    /// The Certificates.
    pub(super) fn certificates(&self) -> BTreeMap<NamespacedName, Place> {
        let mut found: BTreeMap<NamespacedName, Place> = BTreeMap::new();
        let (is_cut, objects) = self.read();
        for seen in objects.iter().filter(|seen| seen.kind == "Certificate") {
            found.entry(seen.key()).or_default().in_manifest = true;
        }
        for name in self.certificate_names() {
            let place = found.entry(name).or_default();
            place.in_state = true;
            // Not seen is not gone where not all was read.
            place.in_manifest |= is_cut;
        }
        found
    }

    /// The names of the state's certificates.
    pub(super) fn certificate_names(&self) -> Vec<NamespacedName> {
        self.names(StateDirectory::certificate_names)
    }

    /// The names of the state's secrets.
    pub(super) fn secret_names(&self) -> Vec<NamespacedName> {
        self.names(StateDirectory::secret_names)
    }

    fn names<E>(
        &self,
        list: impl Fn(&StateDirectory) -> Result<Vec<NamespacedName>, E>,
    ) -> Vec<NamespacedName> {
        let mut names = self.state.as_ref().and_then(|state| list(state).ok()).unwrap_or_default();
        names.retain(|name| is_dns_subdomain(&name.namespace) && is_dns_subdomain(&name.name));
        names
    }

    /// The record of a certificate.
    pub(super) fn record(&self, name: &NamespacedName) -> Option<CertificateRecord> {
        let state = self.state.as_ref()?;
        at_once(Records::new(state).certificate(name))?.map(|stored| stored.value)
    }

    /// The orders of a certificate, oldest first.
    pub(super) fn orders(&self, name: &NamespacedName) -> Vec<Order> {
        let Some(state) = &self.state else { return Vec::new() };
        let all = at_once(Records::new(state).all_orders(name)).unwrap_or_default().into_iter();
        all.filter_map(|(_, order)| Some(order.ok()?.value)).collect()
    }

    /// Revision and number of each order of a certificate, and the revision of each request.
    pub(super) fn numbers(&self, name: &NamespacedName, of_orders: bool) -> Vec<String> {
        let Some(state) = &self.state else { return Vec::new() };
        let prefix = if of_orders { Prefix::Orders } else { Prefix::Requests };
        let keys = at_once(state.list(&prefix(name.clone()))).unwrap_or_default();
        let number = |key: &Key| {
            if let Key::Order(_, revision, number) = key {
                return Some(format!("{revision}-{number}"));
            }
            let Key::Request(_, revision) = key else { return None };
            Some(revision.to_string())
        };
        keys.iter().filter_map(number).collect()
    }

    /// The revisions of a certificate whose files are there, newest first.
    pub(super) fn revisions(&self, name: &NamespacedName) -> Vec<u32> {
        let Some((record, state)) = self.record(name).zip(self.state.as_ref()) else {
            return Vec::new();
        };
        let secret = NamespacedName::new(&name.namespace, record.secret_name);
        state.revisions(&secret).unwrap_or_default()
    }

    /// How a certificate is, in the words of `status`: `READY 90d`.
    pub(super) fn state_of(&self, name: &NamespacedName, place: &Place, now: Timestamp) -> String {
        let record = self.record(name).filter(|_| place.in_state);
        let Some(record) = record else { return "not issued yet".to_owned() };
        let verdict = verdict(&record, place, now);
        match record.status.not_after {
            Some(end) if end > now => {
                format!("{} {}", verdict.word(), time::length(end.duration_since(now)))
            }
            Some(_) | None => verdict.word().to_owned(),
        }
    }
}

/// The word of `status`, out of what was noted at the last run: neither the manifest nor the
/// certificate itself is read for it.
fn verdict(record: &CertificateRecord, place: &Place, now: Timestamp) -> State {
    let status = &record.status;
    let holds =
        |kind| status.condition(kind).is_some_and(|found| found.status == ConditionStatus::True);
    let is_there = status.not_after.is_some();
    if !place.in_manifest {
        State::NoManifest
    } else if status.not_after.is_some_and(|end| end <= now) {
        State::Expired
    } else if holds(ConditionType::Issuing) {
        if is_there { State::Renewing } else { State::Issuing }
    } else if status.failed_issuance_attempts.unwrap_or_default() > 0
        || record.last_failure.is_some()
    {
        State::Failed
    } else if record.deployments.iter().any(|deployment| deployment.failed_attempts > 0) {
        State::PendingDeploy
    } else if holds(ConditionType::Ready) && is_there {
        State::Ready
    } else {
        State::Pending
    }
}

/// What the state answers: it never waits for anything, and a runtime for each question would be
/// most of the work.
fn at_once<T, E>(answer: impl Future<Output = Result<T, E>>) -> Option<T> {
    answer.now_or_never()?.ok()
}

#[derive(Default)]
struct Reader {
    found: Vec<Seen>,
    paths: BTreeSet<PathBuf>,
    read: usize,
}

impl Reader {
    fn is_full(&self) -> bool {
        self.read > MOST_READ
    }

    fn file(&mut self, path: &Path) {
        if self.is_full() || !self.paths.insert(path.to_owned()) {
            return;
        }
        let Ok((bytes, _)) = read_regular(&Walk::new(None), path, MAX_BYTES) else { return };
        self.read = self.read.saturating_add(bytes.len());
        if self.is_full() {
            return;
        }
        let loaded = manifest::load(&[Source::Stdin(bytes.to_vec())], &Options::default());
        for certificate in loaded.certificates {
            let (metadata, spec) = (&certificate.metadata, &certificate.spec);
            let mut labels = metadata.labels.clone();
            labels.retain(|key, value| is_label(key) && is_label(value));
            self.found.push(Seen {
                kind: "Certificate".to_owned(),
                namespace: metadata.namespace.clone(),
                name: metadata.name.clone(),
                labels,
                dns_names: spec.dns_names.iter().map(ToString::to_string).collect(),
                secret: spec.secret_name.clone(),
            });
        }
        for issuer in loaded.issuers {
            self.found.push(Seen {
                kind: issuer.kind.to_string(),
                namespace: issuer.metadata.namespace,
                name: issuer.metadata.name,
                ..Seen::default()
            });
        }
    }
}

/// Characters of a label's key or value (as `-l` accepts them).
fn is_label(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}
