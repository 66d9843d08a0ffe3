//! A state in memory that outlives the runs which use it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use certctl::engine::ports::{
    Etag, HookTurn, Key, Lock, Prefix, SecretSet, Store, StoreError, Stored,
};
use certctl::pki;
use certctl::resource::{
    DataLink, Event, FirstProcess, Issuance, NamespacedName, SecretFiles, SecretLinks,
};
use jiff::SignedDuration;
use zeroize::Zeroizing;

use crate::fuse::Fuse;

/// What is written.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) documents: BTreeMap<Key, (u64, Vec<u8>)>,
    pub(crate) secrets: BTreeMap<NamespacedName, (u32, SecretFiles)>,
    /// Every set of files that was ever live, by revision.
    sets: Vec<(u32, SecretFiles)>,
    pub(crate) issuances: Vec<String>,
    pub(crate) events: Vec<(NamespacedName, Event)>,
    /// The runs of the operator's hook that no record notes.
    alerted: BTreeSet<(NamespacedName, String)>,
    /// The directories of CAs.
    directories: BTreeMap<String, Vec<u8>>,
    writes: u64,
    /// The steps that no sync has made durable, with what was there before each.
    unsynced: Vec<(Key, Before)>,
    pub(crate) locks: BTreeSet<String>,
    /// Whether no document can be written.
    pub(crate) is_full: bool,
}

/// A document with its version, if there was one.
type Before = Option<(u64, Vec<u8>)>;

impl Memory {
    /// Takes back all steps that no sync has made durable.
    pub(crate) fn lose_power(&mut self) {
        while let Some((key, before)) = self.unsynced.pop() {
            match before {
                Some(before) => drop(self.documents.insert(key, before)),
                None => drop(self.documents.remove(&key)),
            }
        }
    }
}

/// The state, as one run uses it: each write is a moment before and a moment after it.
pub(crate) struct Disk {
    pub(crate) memory: Rc<RefCell<Memory>>,
    pub(crate) fuse: Rc<Fuse>,
}

impl Disk {
    fn conflict(&self, key: &Key) -> StoreError {
        StoreError::Conflict { path: self.place(key) }
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Etag {
        let mut memory = self.memory.borrow_mut();
        memory.writes += 1;
        let number = memory.writes;
        memory.documents.insert(key.clone(), (number, bytes.to_vec()));
        Etag(number.to_string())
    }

    fn number(&self, key: &Key) -> Option<u64> {
        self.memory.borrow().documents.get(key).map(|(number, _)| *number)
    }
}

/// A lock that is held, given back when a killed run is dropped.
pub(crate) struct Lease {
    memory: Rc<RefCell<Memory>>,
    name: String,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.memory.borrow_mut().locks.remove(&self.name);
    }
}

impl Store for Disk {
    type Lease = Lease;

    async fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError> {
        let memory = self.memory.borrow();
        Ok(memory.documents.get(key).map(|(number, bytes)| Stored {
            bytes: Zeroizing::new(bytes.clone()),
            revision: Etag(number.to_string()),
        }))
    }

    async fn create(&self, key: &Key, bytes: &[u8]) -> Result<Etag, StoreError> {
        self.fuse.pass(format!("before create {}", self.place(key))).await;
        if self.number(key).is_some() {
            return Err(self.conflict(key));
        }
        let revision = self.put(key, bytes);
        self.fuse.pass(format!("after create {}", self.place(key))).await;
        Ok(revision)
    }

    async fn put_if(&self, key: &Key, bytes: &[u8], expected: &Etag) -> Result<Etag, StoreError> {
        self.fuse.pass(format!("before put {}", self.place(key))).await;
        if self.memory.borrow().is_full {
            let source = std::io::ErrorKind::StorageFull.into();
            return Err(StoreError::Io { path: self.place(key), action: "write", source });
        }
        if self.number(key).map(|number| number.to_string()).as_ref() != Some(&expected.0) {
            return Err(self.conflict(key));
        }
        let revision = self.put(key, bytes);
        self.fuse.pass(format!("after put {}", self.place(key))).await;
        Ok(revision)
    }

    async fn quarantine(&self, key: &Key, _: &Etag) -> Result<String, StoreError> {
        // The key of an account that is given up; nothing else is ever set aside here.
        assert!(matches!(key, Key::AccountKey(_)), "{} is damaged", self.place(key));
        self.delete(key).await.map(|()| String::new())
    }

    fn place(&self, key: &Key) -> String {
        format!("{key:?}")
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        self.fuse.pass(format!("before delete {}", self.place(key))).await;
        self.memory.borrow_mut().documents.remove(key);
        self.fuse.pass(format!("after delete {}", self.place(key))).await;
        Ok(())
    }

    async fn append(
        &self,
        key: &Key,
        bytes: Option<&[u8]>,
        expected: Option<&Etag>,
    ) -> Result<Etag, StoreError> {
        if certificate_of(key).is_some() {
            let before = self.memory.borrow().documents.get(key).cloned();
            self.memory.borrow_mut().unsynced.push((key.clone(), before));
        }
        match (bytes, expected) {
            (Some(bytes), None) => self.create(key, bytes).await,
            (Some(bytes), Some(expected)) => self.put_if(key, bytes, expected).await,
            (None, _) => self.delete(key).await.map(|()| Etag::of(&[])),
        }
    }

    async fn sync(&self, of: &NamespacedName) -> Result<(), StoreError> {
        self.memory.borrow_mut().unsynced.retain(|(key, _)| certificate_of(key) != Some(of));
        Ok(())
    }

    async fn settle(&self, of: &NamespacedName, _: &[Key]) -> Result<(), StoreError> {
        self.sync(of).await
    }

    async fn list(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        let memory = self.memory.borrow();
        let keys = || memory.documents.keys();
        let between = |first: Key, last: Key| {
            memory.documents.range(first..=last).map(|(key, _)| key.clone()).collect()
        };
        Ok(match prefix {
            Prefix::Certificates => {
                keys().filter(|key| matches!(key, Key::Certificate(_))).cloned().collect()
            }
            Prefix::Accounts => {
                keys().filter(|key| matches!(key, Key::Account(_))).cloned().collect()
            }
            Prefix::Requests(of) => {
                between(Key::Request(of.clone(), 0), Key::Request(of.clone(), u32::MAX))
            }
            Prefix::Orders(of) => {
                let last = Key::Order(of.clone(), u32::MAX, u32::MAX);
                between(Key::Order(of.clone(), 0, 0), last)
            }
        })
    }

    async fn lock(&self, lock: &Lock, _: SignedDuration) -> Result<Lease, StoreError> {
        let name = format!("{lock:?}");
        if !self.memory.borrow_mut().locks.insert(name.clone()) {
            return Err(StoreError::Locked { what: name, holder: "another task".to_owned() });
        }
        Ok(Lease { memory: Rc::clone(&self.memory), name })
    }

    fn is_alerted(&self, certificate: &NamespacedName, mark: &str) -> bool {
        self.memory.borrow().alerted.contains(&(certificate.clone(), mark.to_owned()))
    }

    fn note_alert(&self, certificate: &NamespacedName, mark: &str) -> Result<(), StoreError> {
        self.memory.borrow_mut().alerted.insert((certificate.clone(), mark.to_owned()));
        Ok(())
    }

    fn leave_alert(&self, _: &str, _: &[u8]) -> Result<(), StoreError> {
        Ok(())
    }

    fn forget_alert(&self, _: &str) -> Result<(), StoreError> {
        Ok(())
    }

    fn cached_directory(&self, ca: &str) -> Option<Vec<u8>> {
        self.memory.borrow().directories.get(ca).cloned()
    }

    fn cache_directory(&self, ca: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.memory.borrow_mut().directories.insert(ca.to_owned(), bytes.to_vec());
        Ok(())
    }

    async fn journal(&self, name: &NamespacedName, events: &[Event]) -> Result<(), StoreError> {
        self.fuse.pass("before journal".to_owned()).await;
        let events = events.iter().map(|event| (name.clone(), event.clone()));
        self.memory.borrow_mut().events.extend(events);
        Ok(())
    }

    async fn log_issuance(&self, line: &str) -> Result<(), StoreError> {
        self.fuse.pass("before log".to_owned()).await;
        self.memory.borrow_mut().issuances.push(line.to_owned());
        self.fuse.pass("after log".to_owned()).await;
        Ok(())
    }

    fn check_issuance(&self, _: usize) -> Result<(), StoreError> {
        Ok(())
    }

    fn hook_turn(&self, _: &str, _: impl Fn(FirstProcess) -> bool) -> Result<HookTurn, StoreError> {
        // No program outlives a run in memory.
        Ok(HookTurn::Free(None))
    }

    fn hook_ended(&self, _: &str) -> Result<(), StoreError> {
        Ok(())
    }

    fn has_temporaries(&self, _: &NamespacedName, _: &NamespacedName) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn remove_temporaries(&self, _: &NamespacedName, _: &NamespacedName) -> Result<(), StoreError> {
        Ok(())
    }

    async fn issuances(&self) -> Result<Vec<Issuance>, StoreError> {
        let memory = self.memory.borrow();
        Ok(memory.issuances.iter().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    async fn publish(
        &self,
        secret: &NamespacedName,
        revision: u32,
        files: &SecretFiles,
        _last_good: Option<&str>,
    ) -> Result<(), StoreError> {
        assert!(is_pair(files), "a pair that does not match goes live");
        self.fuse.pass("before publish".to_owned()).await;
        self.memory.borrow_mut().secrets.insert(secret.clone(), (revision, files.clone()));
        self.memory.borrow_mut().sets.push((revision, files.clone()));
        self.fuse.pass("after publish".to_owned()).await;
        Ok(())
    }

    async fn links(&self, _: &NamespacedName) -> Result<SecretLinks, StoreError> {
        Ok(SecretLinks { data: DataLink::Set(String::new()), misplaced: Vec::new() })
    }

    async fn restore_links(
        &self,
        secret: &NamespacedName,
        _: Option<&str>,
        _: u32,
    ) -> Result<(), StoreError> {
        panic!("{secret} has no links to restore");
    }

    async fn sets(&self, secret: &NamespacedName) -> Result<Vec<SecretSet>, StoreError> {
        let memory = self.memory.borrow();
        let live = memory.secrets.get(secret);
        let sets = memory.sets.iter().map(|set| SecretSet {
            name: format!("..revision-{}-0", set.0),
            revision: set.0,
            is_live: live == Some(set),
            files: Ok(set.1.clone()),
        });
        Ok(sets.collect())
    }

    async fn switch_back(&self, secret: &NamespacedName, set: &str) -> Result<(), StoreError> {
        self.fuse.pass("before switch".to_owned()).await;
        let found = self
            .memory
            .borrow()
            .sets
            .iter()
            .rfind(|(n, _)| set.contains(&format!("-{n}-")))
            .cloned();
        self.memory.borrow_mut().secrets.insert(secret.clone(), found.unwrap());
        self.fuse.pass("after switch".to_owned()).await;
        Ok(())
    }

    async fn published(&self, secret: &NamespacedName) -> Result<Option<SecretFiles>, StoreError> {
        Ok(self.memory.borrow().secrets.get(secret).map(|(_, files)| files.clone()))
    }
}

/// The certificate whose steps may change this document.
fn certificate_of(key: &Key) -> Option<&NamespacedName> {
    match key {
        Key::Certificate(name)
        | Key::Request(name, _)
        | Key::Order(name, _, _)
        | Key::NextKey(name) => Some(name),
        Key::Account(_)
        | Key::AccountKey(_)
        | Key::AccountLimits(_)
        | Key::BannedKeys
        | Key::Revoked(_)
        | Key::Scheduler => None,
    }
}

/// Whether the certificate is for the key.
pub(crate) fn is_pair(files: &SecretFiles) -> bool {
    let text = |name: &str| String::from_utf8(files.0[name].to_vec()).unwrap();
    let key = pki::key_facts(&text("tls.key")).unwrap();
    let leaf = pki::leaf_facts(&text("tls.crt")).unwrap();
    key.public_key == leaf.public_key
}
