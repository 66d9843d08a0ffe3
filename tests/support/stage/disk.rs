//! A state in memory that outlives the runs which use it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use certctl::engine::ports::{
    self, Cache, Collection, Documents, HookTurn, HostRecord, Key, LiveFiles, Lock, Log, Page,
    SecretSet, Store, StoreError, Stored, Version,
};
use certctl::pki;
use certctl::resource::{DataLink, Event, FirstProcess, NamespacedName, SecretFiles, SecretLinks};
use certctl::store::{Claim, Frame, LeftAlert, Share};
use jiff::{SignedDuration, Timestamp};
use zeroize::Zeroizing;

use crate::fuse::Fuse;

/// What is written.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) documents: BTreeMap<Key, (u64, Vec<u8>)>,
    pub(crate) secrets: BTreeMap<NamespacedName, (u32, SecretFiles)>,
    /// Every set of files that was ever live, by revision.
    sets: Vec<(u32, SecretFiles)>,
    pub(crate) issuances: Vec<String>,
    pub(crate) events: Vec<(NamespacedName, Event)>,
    /// The runs of the operator's hook that no record notes.
    alerted: BTreeSet<(NamespacedName, String)>,
    /// What is of this host in the records.
    pub(crate) sections: BTreeMap<NamespacedName, Vec<u8>>,
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

    fn put(&self, key: &Key, bytes: &[u8]) -> Version {
        let mut memory = self.memory.borrow_mut();
        memory.writes += 1;
        let number = memory.writes;
        memory.documents.insert(key.clone(), (number, bytes.to_vec()));
        Version(number.to_string())
    }

    /// What a power loss would bring back, until the certificate's documents are synced. Another host
    /// that has the lock has written since.
    fn note_step(&self, key: &Key) -> Result<(), StoreError> {
        if self.fuse.has_lost() {
            return Err(self.conflict(key));
        }
        if key.certificate().is_some() {
            let before = self.memory.borrow().documents.get(key).cloned();
            self.memory.borrow_mut().unsynced.push((key.clone(), before));
        }
        Ok(())
    }

    fn number(&self, key: &Key) -> Option<u64> {
        self.memory.borrow().documents.get(key).map(|(number, _)| *number)
    }
}

/// A lock that is held, given back when a killed run is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    memory: Rc<RefCell<Memory>>,
    name: String,
    fuse: Rc<Fuse>,
}

impl ports::Lease for Lease {
    fn epoch(&self) -> u64 {
        1
    }

    fn left(&self) -> SignedDuration {
        self.fuse.holds_for()
    }

    async fn renew(&mut self) -> Result<(), StoreError> {
        if !self.fuse.has_lost() {
            self.fuse.renew();
            return Ok(());
        }
        Err(StoreError::Conflict { path: self.name.clone() })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.memory.borrow_mut().locks.remove(&self.name);
    }
}

impl Documents for Disk {
    const SHARED: bool = false;

    type Lease = Lease;

    async fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError> {
        let memory = self.memory.borrow();
        let found = |key: &Key| {
            let found = memory.documents.get(key);
            found.map(|(number, bytes)| Stored {
                bytes: Zeroizing::new(bytes.clone()),
                revision: Version(number.to_string()),
            })
        };
        let Key::Part(name, part) = key else { return Ok(found(key)) };
        let Some(whole) = found(&Key::Certificate(name.clone())) else { return Ok(None) };
        Frame::part(&whole, *part, &self.place(key))
    }

    async fn create(&self, key: &Key, bytes: &[u8]) -> Result<Version, StoreError> {
        self.note_step(key)?;
        self.fuse.pass(format!("before create {}", self.place(key))).await;
        if self.number(key).is_some() {
            return Err(self.conflict(key));
        }
        let revision = self.put(key, bytes);
        self.fuse.pass(format!("after create {}", self.place(key))).await;
        Ok(revision)
    }

    async fn put_if(&self, key: &Key, bytes: &[u8], seen: &Version) -> Result<Version, StoreError> {
        self.note_step(key)?;
        self.fuse.pass(format!("before put {}", self.place(key))).await;
        if self.memory.borrow().is_full {
            let source = std::io::ErrorKind::StorageFull.into();
            return Err(StoreError::Io { path: self.place(key), action: "write", source });
        }
        if self.number(key).map(|number| number.to_string()).as_ref() != Some(&seen.0) {
            return Err(self.conflict(key));
        }
        let revision = self.put(key, bytes);
        self.fuse.pass(format!("after put {}", self.place(key))).await;
        Ok(revision)
    }

    async fn sync(&self, of: &Key) -> Result<(), StoreError> {
        let is_of = |key: &Key| key.certificate() == of.certificate();
        self.memory.borrow_mut().unsynced.retain(|(key, _)| !is_of(key));
        Ok(())
    }

    async fn settle(&self, of: &Key, _: &[Key]) -> Result<(), StoreError> {
        self.sync(of).await
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        self.note_step(key)?;
        self.fuse.pass(format!("before delete {}", self.place(key))).await;
        self.memory.borrow_mut().documents.remove(key);
        self.fuse.pass(format!("after delete {}", self.place(key))).await;
        Ok(())
    }

    async fn quarantine(&self, key: &Key, _: &Version) -> Result<String, StoreError> {
        // The key of an account that is given up; nothing else is ever set aside here.
        assert!(matches!(key, Key::AccountKey(_)), "{} is damaged", self.place(key));
        self.delete(key).await.map(|()| String::new())
    }

    async fn list(&self, of: &Collection, _: Option<&Key>) -> Result<Page, StoreError> {
        let memory = self.memory.borrow();
        let keys = || memory.documents.keys();
        let keys = match of {
            Collection::Certificates => {
                keys().filter(|key| matches!(key, Key::Certificate(_))).cloned().collect()
            }
            Collection::Pairs(_) => Vec::new(),
            Collection::Accounts => {
                keys().filter(|key| matches!(key, Key::Account(_))).cloned().collect()
            }
        };
        Ok(Page { keys, has_more: false })
    }

    async fn append(&self, log: &Log, lines: &[String]) -> Result<(), StoreError> {
        match log {
            Log::Events(name) => {
                self.fuse.pass("before journal".to_owned()).await;
                let events = lines.iter().map(|line| serde_json::from_str(line).unwrap());
                let events = events.map(|event| (name.clone(), event));
                self.memory.borrow_mut().events.extend(events);
            }
            Log::Issuances => {
                self.fuse.pass("before log".to_owned()).await;
                self.memory.borrow_mut().issuances.extend_from_slice(lines);
                self.fuse.pass("after log".to_owned()).await;
            }
        }
        Ok(())
    }

    async fn read_log(&self, log: &Log) -> Result<Vec<String>, StoreError> {
        assert_eq!(*log, Log::Issuances, "a run never reads the events");
        Ok(self.memory.borrow().issuances.clone())
    }

    async fn lease(&self, lock: &Lock, _: SignedDuration) -> Result<Lease, StoreError> {
        let name = format!("{lock:?}");
        if !self.memory.borrow_mut().locks.insert(name.clone()) {
            return Err(StoreError::Locked { what: name, holder: "another task".to_owned() });
        }
        Ok(Lease { memory: Rc::clone(&self.memory), name, fuse: Rc::clone(&self.fuse) })
    }

    fn place(&self, key: &Key) -> String {
        format!("{key:?}")
    }
}

impl LiveFiles for Disk {
    fn secret_path(&self, secret: &NamespacedName) -> Result<PathBuf, StoreError> {
        Ok(PathBuf::from(format!("secrets/{secret}")))
    }

    fn secret_names(&self) -> Result<Vec<NamespacedName>, StoreError> {
        Ok(self.memory.borrow().secrets.keys().cloned().collect())
    }

    fn secrets_named(
        &self,
        name: &str,
        namespace: Option<&str>,
    ) -> Result<Vec<NamespacedName>, StoreError> {
        let is_meant = |secret: &NamespacedName| {
            secret.name == name && namespace.is_none_or(|namespace| secret.namespace == namespace)
        };
        let names = self.secret_names()?;
        Ok(names.into_iter().filter(is_meant).collect())
    }

    // Whose they are is asked by verbs alone.
    fn published_for(&self, _: &NamespacedName) -> Option<String> {
        None
    }

    fn owners(&self, _: &NamespacedName) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    fn share(&self, _: &str, _: &Claim) -> Result<Share, StoreError> {
        Ok(Share::Nothing)
    }

    fn forget(&self, _: &str, _: &Claim, _: bool) -> Result<(), StoreError> {
        Ok(())
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

    fn has_temporaries(&self, _: &NamespacedName, _: &NamespacedName) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn remove_temporaries(&self, _: &NamespacedName, _: &NamespacedName) -> Result<(), StoreError> {
        Ok(())
    }

    fn check_issuance(&self, _: usize) -> Result<(), StoreError> {
        Ok(())
    }
}

impl HostRecord for Disk {
    fn section(&self, certificate: &NamespacedName) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.memory.borrow().sections.get(certificate).cloned())
    }

    fn put_section(&self, certificate: &NamespacedName, bytes: &[u8]) -> Result<(), StoreError> {
        self.memory.borrow_mut().sections.insert(certificate.clone(), bytes.to_vec());
        Ok(())
    }

    fn left_alerts(&self) -> Result<Vec<LeftAlert>, StoreError> {
        Ok(Vec::new())
    }

    fn end_alert(&self, _: &LeftAlert) -> Result<(), StoreError> {
        Ok(())
    }

    fn note_run(&self, _: Timestamp) -> Result<(), StoreError> {
        Ok(())
    }

    fn last_run(&self) -> Option<Timestamp> {
        None
    }

    fn made(&self) -> Option<Timestamp> {
        None
    }

    fn holder(&self, _: &Lock) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    fn check_entries(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn strays(&self, _: &NamespacedName) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    fn http01_path(&self) -> PathBuf {
        PathBuf::new()
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

    fn hook_turn(&self, _: &str, _: impl Fn(FirstProcess) -> bool) -> Result<HookTurn, StoreError> {
        // No program outlives a run in memory.
        Ok(HookTurn::Free(None))
    }

    fn hook_ended(&self, _: &str) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Cache for Disk {
    fn cached_directory(&self, ca: &str) -> Option<Vec<u8>> {
        self.memory.borrow().directories.get(ca).cloned()
    }

    fn cache_directory(&self, ca: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.memory.borrow_mut().directories.insert(ca.to_owned(), bytes.to_vec());
        Ok(())
    }
}

impl Store for Disk {
    type Documents = Self;
    type LiveFiles = Self;
    type HostRecord = Self;
    type Cache = Self;

    fn documents(&self) -> &Self {
        self
    }

    fn live_files(&self) -> &Self {
        self
    }

    fn host_record(&self) -> &Self {
        self
    }

    fn cache(&self) -> &Self {
        self
    }
}

/// Whether the certificate is for the key.
pub(crate) fn is_pair(files: &SecretFiles) -> bool {
    let text = |name: &str| String::from_utf8(files.0[name].to_vec()).unwrap();
    let key = pki::key_facts(&text("tls.key")).unwrap();
    let leaf = pki::leaf_facts(&text("tls.crt")).unwrap();
    key.public_key == leaf.public_key
}
