//! What certctl has written, as its users and its next run see it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use certctl::engine::ports::{Documents as _, Key, Part};
use certctl::pki::{self, Chain};
use certctl::resource::{
    CertificateRecord, Condition, ConditionType, LeafFacts, NamespacedName, Order, Reason,
};
use certctl::store::{Frame, OpenMode, StateDirectory};
use futures_util::FutureExt as _;
use serde::de::DeserializeOwned;

/// A state directory.
#[derive(Clone, Debug)]
pub(crate) struct State {
    root: PathBuf,
}

/// One entry of a folder: what it is, and its permission bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Folder(u32),
    File(u32, Vec<u8>),
    Link(PathBuf),
}

impl State {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// A place below the directory.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// Everything there is, byte by byte, but for the index, and what was told: what a run may say in
    /// them depends on when it is, and they are never the truth.
    pub(crate) fn everything(&self) -> BTreeMap<PathBuf, Entry> {
        let mut all = self.with_index();
        all.remove(&self.root.join("index.jsonl"));
        all.remove(&self.root.join("told"));
        all
    }

    /// Everything there is.
    pub(crate) fn with_index(&self) -> BTreeMap<PathBuf, Entry> {
        let mut all = BTreeMap::new();
        if self.root.exists() {
            collect(&self.root, &mut all);
        }
        all
    }

    /// The record of a certificate of namespace `default`.
    pub(crate) fn record(&self, name: &str) -> CertificateRecord {
        match self.in_flight(&Part::Record.of(&NamespacedName::new("default", name))) {
            Some(record) => record,
            None => self.read(&format!("certificates/default/{name}/status.json")),
        }
    }

    /// A condition of that record.
    pub(crate) fn condition(&self, name: &str, kind: ConditionType) -> Condition {
        self.record(name).status.condition(kind).unwrap().clone()
    }

    /// The reason of the Ready condition.
    pub(crate) fn readiness(&self, name: &str) -> Reason {
        self.condition(name, ConditionType::Ready).reason
    }

    /// The orders of a certificate, oldest first.
    pub(crate) fn orders(&self, name: &str) -> Vec<Order> {
        let in_flight = self.keys_in_flight(name);
        if in_flight.is_empty() {
            return self.order_files(name).iter().map(|file| read(file)).collect();
        }
        in_flight.iter().filter_map(|key| self.in_flight(key)).collect()
    }

    /// The orders of a certificate that is being worked on, or was when a run was killed.
    fn keys_in_flight(&self, name: &str) -> Vec<Key> {
        if !self.path(&format!("certificates/default/{name}/in-flight")).exists() {
            return Vec::new();
        }
        let of = NamespacedName::new("default", name);
        let state = StateDirectory::open(&self.root, OpenMode::ReadOnly).unwrap();
        let stored = state.get(&Key::Certificate(of.clone())).now_or_never().unwrap().unwrap();
        let parts = stored.map(|stored| Frame::read(&stored.bytes, "here").unwrap().parts);
        let parts = parts.unwrap_or_default().into_keys();
        parts.filter(|part| matches!(part, Part::Order(..))).map(|part| part.of(&of)).collect()
    }

    /// A document of such a certificate.
    fn in_flight<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        let Key::Part(of, _) = key else { return None };
        if !self.path(&format!("certificates/default/{}/in-flight", of.name)).exists() {
            return None;
        }
        let state = StateDirectory::open(&self.root, OpenMode::ReadOnly).unwrap();
        let stored = state.get(key).now_or_never().unwrap().unwrap()?;
        Some(document(&stored.bytes))
    }

    fn order_files(&self, name: &str) -> Vec<PathBuf> {
        let folder = self.path(&format!("certificates/default/{name}/orders"));
        let mut files: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        // A run that is at work, or was killed, may have a temporary file beside them.
        files.retain(|file| !file.file_name().unwrap().as_encoded_bytes().starts_with(b"."));
        files.sort();
        files
    }

    /// The URLs of those orders at the CA, of format 1 too.
    pub(crate) fn order_urls(&self, name: &str) -> Vec<String> {
        // As text: of every format.
        let url = |file: &PathBuf| {
            let document: serde_json::Value = read(file);
            let of_a_phase =
                document["phase"].as_object().into_iter().flat_map(|phase| phase.values());
            let mut places = std::iter::once(&document).chain(of_a_phase);
            let url = |at: &serde_json::Value| {
                at["url"].as_str().or(at["urls"]["url"].as_str()).map(str::to_owned)
            };
            places.find_map(url)
        };
        if !self.keys_in_flight(name).is_empty() {
            let orders = self.orders(name);
            return orders.iter().filter_map(Order::url).map(str::to_owned).collect();
        }
        self.order_files(name).iter().filter_map(url).collect()
    }

    /// The live leaf of a certificate of the default namespace, after a check that the key
    /// beside it is its key.
    #[track_caller]
    pub(crate) fn published(&self, name: &str) -> LeafFacts {
        self.pair(&format!("{name}-tls")).unwrap_or_else(|| panic!("{name} is not published"))
    }

    /// The live leaf in a secret; `None` when nothing was published.
    #[track_caller]
    pub(crate) fn pair(&self, secret: &str) -> Option<LeafFacts> {
        let live = fs::canonicalize(self.path(&format!("secrets/default/{secret}/..data"))).ok()?;
        let chain = fs::read_to_string(live.join("tls.crt")).unwrap();
        let key = fs::read_to_string(live.join("tls.key")).unwrap();
        let leaf = Chain::from_pem(&chain).unwrap().leaf().clone();
        assert_eq!(pki::key_facts(&key).unwrap().public_key, leaf.public_key, "{secret}");
        Some(leaf)
    }

    /// The common names of the issuers of the live chain, leaf first.
    pub(crate) fn chain(&self, name: &str) -> Chain {
        let path = self.path(&format!("secrets/default/{name}-tls/tls.crt"));
        Chain::from_pem(&fs::read_to_string(path).unwrap()).unwrap()
    }

    /// The tokens that are presented.
    pub(crate) fn tokens(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("http01")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// The lines of `issuance.log`.
    pub(crate) fn issuances(&self) -> usize {
        fs::read_to_string(self.path("issuance.log")).unwrap_or_default().lines().count()
    }

    /// A document below the directory.
    pub(crate) fn read<T: DeserializeOwned>(&self, below: &str) -> T {
        read(&self.path(below))
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> T {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    document(&text)
}

fn document<T: DeserializeOwned>(text: &[u8]) -> T {
    let mut envelope: serde_json::Value = serde_json::from_slice(text).unwrap();
    serde_json::from_value(envelope["document"].take()).unwrap()
}

fn collect(path: &Path, all: &mut BTreeMap<PathBuf, Entry>) {
    let metadata = fs::symlink_metadata(path).unwrap();
    let mode = metadata.permissions().mode() & 0o7777;
    let entry = if metadata.is_symlink() {
        Entry::Link(fs::read_link(path).unwrap())
    } else if metadata.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), all);
        }
        Entry::Folder(mode)
    } else {
        Entry::File(mode, fs::read(path).unwrap())
    };
    all.insert(path.to_owned(), entry);
}
