//! The documents with their types, over any [`Documents`].
//!
//! Contract: a document of a newer version is refused and left unchanged. A damaged one
//! is set aside by [`Documents::quarantine`] and reported as [`StoreError::Corrupt`]; the
//! caller decides how to replace it. Keys are bytes here, and never set aside. Reads
//! before a write are made under the lock of the certificate or account.

mod shared;

use std::collections::BTreeSet;

use jiff::Timestamp;
use zeroize::Zeroizing;

use super::immutable::{changed_in_order, changed_in_request};
use super::prune;
use crate::resource::envelope::{self, Document};
use crate::resource::{
    Account, AccountIdentity, AccountLimits, CertificateRecord, CertificateRequest, Event,
    Issuance, Ledger, NamespacedName, Order, PublishedLimits,
};
use crate::store::documents::{Documents, Page, Stored, Version};
use crate::store::error::StoreError;
use crate::store::key::{Collection, Key, Log};

/// A stored document, with its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned<T> {
    pub value: T,
    /// For the next write.
    pub revision: Version,
}

/// The documents of a list, by their identity there: a damaged one hides no other.
pub type Listed<I, T> = Vec<(I, Result<T, StoreError>)>;

/// The documents with their types.
#[derive(Debug)]
pub struct Records<'a, D> {
    documents: &'a D,
}

impl<'a, D: Documents> Records<'a, D> {
    /// The typed view of these documents.
    pub fn new(documents: &'a D) -> Self {
        Self { documents }
    }

    /// The record of a certificate.
    pub async fn certificate(
        &self,
        name: &NamespacedName,
    ) -> Result<Option<Versioned<CertificateRecord>>, StoreError> {
        self.read(&Key::Certificate(name.clone())).await
    }

    /// The same, for a reader without the lock: a damaged one stays where it is.
    pub async fn certificate_as_it_is(
        &self,
        name: &NamespacedName,
    ) -> Result<Option<CertificateRecord>, StoreError> {
        Ok(self.look(&Key::Certificate(name.clone())).await?.map(|stored| stored.value))
    }

    /// Writes the record of a certificate: a new one, or the successor of `expected`.
    pub async fn put_certificate(
        &self,
        name: &NamespacedName,
        record: &CertificateRecord,
        expected: Option<&Version>,
    ) -> Result<Version, StoreError> {
        // Nothing of it is immutable, and who has read a version knows its format.
        let key = Key::Certificate(name.clone());
        self.put(&key, &self.seal(&key, record)?, expected).await
    }

    /// The records of all certificates, by name. Nothing is set aside: no lock is held.
    pub async fn certificates(
        &self,
    ) -> Result<Listed<NamespacedName, CertificateRecord>, StoreError> {
        let mut found = Vec::new();
        self.each_certificate(None, |name, record| found.push((name, record))).await?;
        Ok(found)
    }

    /// Passes the same to `keep`, one after the other, or the records of these certificates alone.
    pub async fn each_certificate(
        &self,
        names: Option<&BTreeSet<NamespacedName>>,
        mut keep: impl FnMut(NamespacedName, Result<CertificateRecord, StoreError>),
    ) -> Result<(), StoreError> {
        let keys = match names {
            Some(names) => names.iter().cloned().map(Key::Certificate).collect(),
            None => self.keys(&Collection::Certificates).await?,
        };
        for key in keys {
            let record = self.look(&key).await.transpose();
            if let (Key::Certificate(name), Some(record)) = (key, record) {
                keep(name, record.map(|stored: Versioned<CertificateRecord>| stored.value));
            }
        }
        Ok(())
    }

    /// Writes a request under its own revision. Refuses a change of its spec, of its revision, and
    /// of its certificate once set.
    pub async fn put_request(
        &self,
        name: &NamespacedName,
        request: &CertificateRequest,
        expected: Option<&Version>,
    ) -> Result<Version, StoreError> {
        let key = Key::Request(name.clone(), request.revision);
        self.write(&key, request, expected, changed_in_request).await
    }

    /// The requests of a certificate, by revision.
    pub async fn requests(
        &self,
        name: &NamespacedName,
    ) -> Result<Listed<u32, Versioned<CertificateRequest>>, StoreError> {
        let keys = self.keys(&Collection::Requests(name.clone())).await?;
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let request = self.read(&key).await.transpose();
            if let (Key::Request(_, revision), Some(request)) = (key, request) {
                found.push((revision, request));
            }
        }
        Ok(found)
    }

    /// Writes an order: a new one, or the successor of `previous`, as it was read or written last.
    /// Refuses a change of its spec, of its challenges' specs, of what was read of its
    /// authorizations, and of a URL or the certificate once set.
    pub async fn put_order(
        &self,
        name: &NamespacedName,
        revision: u32,
        number: u32,
        order: &Order,
        previous: Option<&Versioned<Order>>,
    ) -> Result<Version, StoreError> {
        let key = Key::Order(name.clone(), revision, number);
        let bytes = self.seal(&key, order)?;
        let Some(previous) = previous else { return self.put(&key, &bytes, None).await };
        // An order of a hundred names is written twenty times: it is not parsed again each time.
        // Its version is a digest of it, so that what is on disk is still `previous`.
        if let Some(field) = changed_in_order(&previous.value, order) {
            return Err(StoreError::Immutable { path: self.documents.place(&key), field });
        }
        self.put(&key, &bytes, Some(&previous.revision)).await
    }

    /// All orders of a certificate, by revision and number.
    pub async fn all_orders(
        &self,
        name: &NamespacedName,
    ) -> Result<Listed<(u32, u32), Versioned<Order>>, StoreError> {
        let keys = self.keys(&Collection::Orders(name.clone())).await?;
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let order = self.read(&key).await.transpose();
            if let (Key::Order(_, revision, number), Some(order)) = (key, order) {
                found.push(((revision, number), order));
            }
        }
        Ok(found)
    }

    /// Removes obsolete requests and orders, and returns how many: requests
    /// beyond `history_limit` (at least 1), orders of removed requests, and failed orders beyond
    /// the last three. What is current, not final, owed a clean-up or unreadable stays.
    pub async fn prune(
        &self,
        name: &NamespacedName,
        record: &CertificateRecord,
        history_limit: usize,
    ) -> Result<usize, StoreError> {
        let requests = self.requests(name).await?;
        let requests: Vec<u32> = requests.into_iter().map(|(revision, _)| revision).collect();
        let orders = self.all_orders(name).await?.into_iter();
        let orders: Vec<_> =
            orders.filter_map(|(id, order)| Some((id, order.ok()?.value))).collect();
        let keys = prune::superfluous(name, record, history_limit, &requests, &orders);
        for key in &keys {
            self.documents.delete(key).await?;
        }
        Ok(keys.len())
    }

    /// All documents of a collection, in the order of keys.
    pub async fn keys(&self, of: &Collection) -> Result<Vec<Key>, StoreError> {
        let mut found = Vec::new();
        loop {
            let Page { mut keys, has_more } = self.documents.list(of, found.last()).await?;
            let is_last = !has_more || keys.is_empty();
            found.append(&mut keys);
            if is_last {
                return Ok(found);
            }
        }
    }

    /// The certificates that may have a record, by namespace and name.
    pub async fn certificate_names(&self) -> Result<Vec<NamespacedName>, StoreError> {
        let keys = self.keys(&Collection::Certificates).await?.into_iter();
        Ok(keys.filter_map(|key| key.certificate().cloned()).collect())
    }

    /// The certificates of this name that may have a record, in one namespace or in all.
    pub async fn certificates_named(
        &self,
        name: &str,
        namespace: Option<&str>,
    ) -> Result<Vec<NamespacedName>, StoreError> {
        let mut found = self.certificate_names().await?;
        let is_there = |one: &str| namespace.is_none_or(|namespace| one == namespace);
        found.retain(|found| found.name == name && is_there(&found.namespace));
        Ok(found)
    }

    /// Appends to a certificate's journal.
    pub async fn note_events(
        &self,
        name: &NamespacedName,
        events: &[Event],
    ) -> Result<(), StoreError> {
        let log = Log::Events(name.clone());
        let lines: Result<Vec<String>, _> = events.iter().map(serde_json::to_string).collect();
        let lines = lines.map_err(|error| StoreError::Io {
            path: format!("the events of {name}"),
            action: "write",
            source: error.into(),
        })?;
        self.documents.append(&log, &lines).await
    }

    /// The last `count` events of a certificate, oldest first. Lines that cannot be read are left out.
    pub async fn events(
        &self,
        name: &NamespacedName,
        count: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let lines = self.documents.read_log(&Log::Events(name.clone())).await?;
        let last = lines.iter().rev().filter_map(|line| serde_json::from_str(line).ok());
        let mut last: Vec<Event> = last.take(count).collect();
        last.reverse();
        Ok(last)
    }

    /// Appends one line to the log of issuances.
    pub async fn log_issuance(&self, line: String) -> Result<(), StoreError> {
        self.documents.append(&Log::Issuances, &[line]).await
    }

    /// The log of issuances, oldest first. Lines that cannot be read are left out.
    pub async fn issuances(&self) -> Result<Vec<Issuance>, StoreError> {
        let lines = self.documents.read_log(&Log::Issuances).await?;
        Ok(lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Ends the work on a certificate: see [`Documents::settle`].
    pub async fn settle(&self, name: &NamespacedName) -> Result<(), StoreError> {
        self.documents.settle(&Key::Certificate(name.clone()), &[]).await
    }

    /// The record of an account, by the digest of its identity.
    pub async fn account(&self, digest: &str) -> Result<Option<Versioned<Account>>, StoreError> {
        self.read(&Key::Account(digest.to_owned())).await
    }

    /// Writes the record of an account.
    pub async fn put_account(
        &self,
        digest: &str,
        account: &Account,
        expected: Option<&Version>,
    ) -> Result<Version, StoreError> {
        self.write(&Key::Account(digest.to_owned()), account, expected, |_, _| None).await
    }

    /// What is known of an account's limits. A damaged document is as good as none: the CA says
    /// again what it refuses.
    pub async fn account_limits(
        &self,
        digest: &str,
    ) -> Result<Option<Versioned<AccountLimits>>, StoreError> {
        match self.read(&Key::AccountLimits(digest.to_owned())).await {
            Err(error @ StoreError::Corrupt { .. }) => {
                tracing::warn!(%error, "cannot read the refusals of the CA");
                Ok(None)
            }
            read => read,
        }
    }

    /// What is known of an account's limits, and what was spent of those that its CA publishes.
    pub async fn ledger(
        &self,
        digest: &str,
        account: &AccountIdentity,
        published: &[PublishedLimits],
        now: Timestamp,
    ) -> Result<(AccountLimits, Option<Ledger>), StoreError> {
        let known = self.account_limits(digest).await?;
        let known = known.map(|stored| stored.value).unwrap_or_default();
        let Some(published) = PublishedLimits::of(published, &account.directory_url) else {
            return Ok((known, None));
        };
        let mut accounts: Vec<Account> = Vec::new();
        for key in self.keys(&Collection::Accounts).await? {
            // The work on an account that cannot be read reports that.
            if let Ok(Some(account)) = self.look(&key).await {
                accounts.push(account.value);
            }
        }
        let own = accounts.iter().find(|other| other.identity == *account);
        let url = own.and_then(|own| own.url.as_deref());
        let log = self.issuances().await?;
        let ledger = Ledger::new(published, url, &accounts, &log, &known, now);
        Ok((known, Some(ledger)))
    }

    /// Writes what is known of an account's limits, under the account's lock.
    pub async fn put_account_limits(
        &self,
        digest: &str,
        limits: &AccountLimits,
        expected: Option<&Version>,
    ) -> Result<(), StoreError> {
        let key = Key::AccountLimits(digest.to_owned());
        self.write(&key, limits, expected, |_, _| None).await.map(drop)
    }

    /// The next private key of a certificate, PKCS#8 PEM.
    pub async fn next_key(
        &self,
        name: &NamespacedName,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        let stored = self.documents.get(&Key::NextKey(name.clone())).await?;
        Ok(stored.map(|stored| stored.bytes))
    }

    /// Writes the next private key; there must be none.
    pub async fn create_next_key(
        &self,
        name: &NamespacedName,
        pem: &[u8],
    ) -> Result<(), StoreError> {
        self.put(&Key::NextKey(name.clone()), pem, None).await.map(drop)
    }

    /// Removes the next private key, once it is published or obsolete.
    pub async fn delete_next_key(&self, name: &NamespacedName) -> Result<(), StoreError> {
        self.documents.delete(&Key::NextKey(name.clone())).await
    }

    /// Removes a request that was never answered.
    pub async fn delete_request(
        &self,
        name: &NamespacedName,
        revision: u32,
    ) -> Result<(), StoreError> {
        self.documents.delete(&Key::Request(name.clone(), revision)).await
    }

    /// The key of an account, PKCS#8 PEM.
    pub async fn account_key(
        &self,
        digest: &str,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        let stored = self.documents.get(&Key::AccountKey(digest.to_owned())).await?;
        Ok(stored.map(|stored| stored.bytes))
    }

    async fn write<T: Document>(
        &self,
        key: &Key,
        value: &T,
        expected: Option<&Version>,
        changed: impl Fn(&T, &T) -> Option<String>,
    ) -> Result<Version, StoreError> {
        let path = || self.documents.place(key);
        let bytes = self.seal(key, value)?;
        let Some(expected) = expected else { return self.put(key, &bytes, None).await };
        match self.read::<T>(key).await? {
            Some(old) if old.revision == *expected => {
                if let Some(field) = changed(&old.value, value) {
                    return Err(StoreError::Immutable { path: path(), field });
                }
            }
            Some(_) | None => return Err(StoreError::Conflict { path: path() }),
        }
        self.put(key, &bytes, Some(expected)).await
    }

    async fn put(
        &self,
        key: &Key,
        bytes: &[u8],
        expected: Option<&Version>,
    ) -> Result<Version, StoreError> {
        match expected {
            Some(expected) => self.documents.put_if(key, bytes, expected).await,
            None => self.documents.create(key, bytes).await,
        }
    }

    fn seal<T: Document>(&self, key: &Key, value: &T) -> Result<Vec<u8>, StoreError> {
        envelope::seal(value).map_err(|error| StoreError::Io {
            path: self.documents.place(key),
            action: "write",
            source: error.into(),
        })
    }

    /// Reads a document; a damaged one is set aside.
    async fn read<T: Document>(&self, key: &Key) -> Result<Option<Versioned<T>>, StoreError> {
        let Some(stored) = self.documents.get(key).await? else { return Ok(None) };
        match self.parse(key, &stored) {
            Err(StoreError::Corrupt { path, why, .. }) => {
                let moved_to = match self.documents.quarantine(key, &stored.revision).await {
                    Ok(moved_to) => moved_to,
                    Err(error @ StoreError::Conflict { .. }) => return Err(error),
                    Err(error) => {
                        // The damage is the error to report; the document stays where it is.
                        tracing::warn!(%error, "damaged document not set aside");
                        path.clone()
                    }
                };
                Err(StoreError::Corrupt { path, why, moved_to })
            }
            parsed => {
                drop_plain(stored);
                parsed.map(Some)
            }
        }
    }

    /// Reads a document; a damaged one stays where it is.
    async fn look<T: Document>(&self, key: &Key) -> Result<Option<Versioned<T>>, StoreError> {
        let Some(stored) = self.documents.get(key).await? else { return Ok(None) };
        let parsed = self.parse(key, &stored);
        drop_plain(stored);
        parsed.map(Some)
    }

    fn parse<T: Document>(&self, key: &Key, stored: &Stored) -> Result<Versioned<T>, StoreError> {
        let value = envelope::open(&stored.bytes)
            .map_err(|error| StoreError::unreadable::<T>(error, self.documents.place(key)))?;
        Ok(Versioned { value, revision: stored.revision.clone() })
    }
}

/// Frees a document without overwriting it: only keys are secret, and they are read as bytes.
fn drop_plain(mut stored: Stored) {
    drop(std::mem::take(&mut *stored.bytes));
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use jiff::SignedDuration;

    use super::*;
    use crate::resource::{OrderPhase, PUBLISHED};
    use crate::store::key::Lock;
    use crate::store::{OpenMode, StateDirectory, samples};

    fn web() -> NamespacedName {
        NamespacedName::new("default", "web")
    }

    /// Each kind of document: its key, its file, and a reader that discards the value.
    async fn read(records: &Records<'_, StateDirectory>, key: &Key) -> Result<bool, StoreError> {
        Ok(match key {
            Key::Certificate(name) => records.certificate(name).await?.is_some(),
            Key::Request(..) => records.read::<CertificateRequest>(key).await?.is_some(),
            Key::Order(..) => records.read::<Order>(key).await?.is_some(),
            Key::Account(digest) => records.account(digest).await?.is_some(),
            Key::BannedKeys => records.banned_keys().await?.is_some(),
            Key::Revoked(fingerprint) => records.revoked(fingerprint).await?.is_some(),
            Key::Scheduler => records.queue().await?.is_some(),
            Key::AccountLimits(digest) => records.account_limits(digest).await?.is_some(),
            Key::NextKey(_) | Key::AccountKey(_) => unreachable!(),
        })
    }

    async fn all(records: &Records<'_, StateDirectory>) -> Vec<Key> {
        records.put_certificate(&web(), &samples::record(), None).await.unwrap();
        records.put_request(&web(), &samples::request(), None).await.unwrap();
        records.put_order(&web(), 7, 1, &samples::order(), None).await.unwrap();
        records.settle(&web()).await.unwrap();
        records.put_account("ab", &samples::account(), None).await.unwrap();
        records.put_queue(&samples::queue(), None).await.unwrap();
        vec![
            Key::Certificate(web()),
            Key::Request(web(), 7),
            Key::Order(web(), 7, 1),
            Key::Account("ab".into()),
        ]
    }

    fn damages(good: &[u8]) -> Vec<Vec<u8>> {
        vec![Vec::new(), good[..good.len() / 2].to_vec(), vec![0; 512], [good, b"}"].concat()]
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_damaged_document_is_set_aside_and_never_overwritten() {
        let scratch = tempfile::tempdir().unwrap();
        let state = StateDirectory::open(&scratch.path().join("s"), OpenMode::ReadWrite).unwrap();
        let records = Records::new(&state);
        for key in all(&records).await {
            let path = PathBuf::from(state.place(&key));
            let good = std::fs::read(&path).unwrap();
            for (number, damage) in (1..).zip(damages(&good)) {
                state.remove_file(&key).unwrap();
                state.create_file(&key, &damage).unwrap();
                let error = read(&records, &key).await.unwrap_err();
                let aside = format!("{}.corrupt-{number}", path.display());
                let StoreError::Corrupt { moved_to, .. } = error else { panic!("{error}") };
                assert_eq!(moved_to, aside);
                assert_eq!(std::fs::read(aside).unwrap(), damage);
                assert!(!read(&records, &key).await.unwrap(), "it is gone");
            }
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn damaged_limits_of_an_account_are_set_aside_and_stop_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let state = StateDirectory::open(&scratch.path().join("s"), OpenMode::ReadWrite).unwrap();
        let records = Records::new(&state);
        state.create(&Key::AccountLimits("ab".into()), b"{").await.unwrap();
        assert_eq!(records.account_limits("ab").await.unwrap(), None);
        assert!(state.path().join("accounts/ab/limits.json.corrupt-1").exists());
        let limits = AccountLimits::default();
        records.put_account_limits("ab", &limits, None).await.unwrap();
        assert_eq!(records.account_limits("ab").await.unwrap().unwrap().value, limits);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_unreadable_account_stops_no_certificate_of_another() {
        let scratch = tempfile::tempdir().unwrap();
        let state = StateDirectory::open(&scratch.path().join("s"), OpenMode::ReadWrite).unwrap();
        let records = Records::new(&state);
        let key = Key::Account("ab".into());
        state.create(&key, b"{").await.unwrap();
        let directory_url = "https://acme-v02.api.letsencrypt.org/directory".to_owned();
        let account = AccountIdentity { directory_url, ..samples::account().identity };
        let now = Timestamp::UNIX_EPOCH;
        let found = records.ledger("cd", &account, PUBLISHED, now).await;
        assert!(found.is_ok_and(|(_, ledger)| ledger.is_some()));
        assert!(state.get(&key).await.unwrap().is_some(), "it is not set aside");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_document_of_a_newer_version_is_refused_and_left_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let state = StateDirectory::open(&scratch.path().join("s"), OpenMode::ReadWrite).unwrap();
        let records = Records::new(&state);
        let newer = br#"{"version":99,"kind":"Cert","digest":"ab","document":[1]}"#;
        let key = Key::Certificate(web());
        state.create(&key, newer).await.unwrap();
        let refused = |error| matches!(error, StoreError::Version { found: 99, known: 1, .. });
        assert!(refused(records.certificate(&web()).await.unwrap_err()));
        let put = records.put_certificate(&web(), &samples::record(), None).await;
        assert!(matches!(put, Err(StoreError::Conflict { .. })));
        assert_eq!(*state.get(&key).await.unwrap().unwrap().bytes, newer);
        let key = Key::Account("ab".into());
        let revision = state.create(&key, newer).await.unwrap();
        let put = records.put_account("ab", &samples::account(), Some(&revision)).await;
        assert!(refused(put.unwrap_err()));
        assert_eq!(*state.get(&key).await.unwrap().unwrap().bytes, newer);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn reading_without_the_right_to_write_reports_damage_where_it_is() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("s");
        let state = StateDirectory::open(&path, OpenMode::ReadWrite).unwrap();
        let key = Key::Certificate(web());
        state.create(&key, b"{").await.unwrap();
        let reader = StateDirectory::open(&path, OpenMode::ReadOnly).unwrap();
        let error = Records::new(&reader).certificate(&web()).await.unwrap_err();
        let StoreError::Corrupt { path, moved_to, .. } = error else { panic!("{error}") };
        assert_eq!((&path, &moved_to), (&state.place(&key), &state.place(&key)));
        assert_eq!(*state.get(&key).await.unwrap().unwrap().bytes, b"{");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_was_only_read_is_the_base_of_no_write() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("s");
        let state = StateDirectory::open(&path, OpenMode::ReadWrite).unwrap();
        let written = Records::new(&state).put_certificate(&web(), &samples::record(), None).await;
        Records::new(&state).settle(&web()).await.unwrap();
        let reader = StateDirectory::open(&path, OpenMode::ReadOnly).unwrap();
        let found = Records::new(&reader).certificate(&web()).await.unwrap().unwrap();
        assert_eq!(found.value, samples::record());
        for (version, is_base) in [(found.revision, false), (written.unwrap(), true)] {
            let records = Records::new(&state);
            let put = records.put_certificate(&web(), &samples::record(), Some(&version)).await;
            assert_eq!(put.is_ok(), is_base, "{put:?}");
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn one_damaged_certificate_hides_no_other() {
        let scratch = tempfile::tempdir().unwrap();
        let state = StateDirectory::open(&scratch.path().join("s"), OpenMode::ReadWrite).unwrap();
        let records = Records::new(&state);
        let bad = NamespacedName::new("default", "bad");
        state.create(&Key::Certificate(bad.clone()), b"{").await.unwrap();
        records.put_certificate(&web(), &samples::record(), None).await.unwrap();
        std::fs::File::create(state.path().join("certificates/default/notes")).unwrap();
        std::fs::create_dir(state.path().join("certificates/default/.trash")).unwrap();
        let mut found = records.certificates().await.unwrap();
        assert_eq!(found.pop().map(|(n, r)| (n, r.unwrap())), Some((web(), samples::record())));
        assert!(
            matches!(found.pop(), Some((name, Err(StoreError::Corrupt { .. }))) if name == bad)
        );
        assert!(found.is_empty());
        assert!(state.get(&Key::Certificate(bad)).await.unwrap().is_some(), "nothing is set aside");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_order_is_replaced_only_by_its_own_successor() {
        let scratch = tempfile::tempdir().unwrap();
        let state = StateDirectory::open(&scratch.path().join("s"), OpenMode::ReadWrite).unwrap();
        let records = Records::new(&state);
        let revision = records.put_order(&web(), 7, 1, &samples::order(), None).await.unwrap();
        let first = Versioned { value: samples::order(), revision };
        let later = Order { reason: "later".into(), ..samples::order() };
        let revision = records.put_order(&web(), 7, 1, &later, Some(&first)).await.unwrap();
        let second = Versioned { value: later.clone(), revision };
        let outdated = records.put_order(&web(), 7, 1, &samples::order(), Some(&first)).await;
        assert!(matches!(outdated, Err(StoreError::Conflict { .. })));
        let other = Order { phase: OrderPhase::Creating, ..later.clone() };
        let error = records.put_order(&web(), 7, 1, &other, Some(&second)).await.unwrap_err();
        assert!(matches!(&error, StoreError::Immutable { field, .. } if field == "url"));
        let found = records.all_orders(&web()).await.unwrap().pop().unwrap();
        assert_eq!((found.0, found.1.unwrap()), ((7, 1), second));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn pruning_removes_what_has_outlived_its_use_from_disk() {
        let scratch = tempfile::tempdir().unwrap();
        let state = StateDirectory::open(&scratch.path().join("s"), OpenMode::ReadWrite).unwrap();
        let _lease = state.lease(&Lock::Certificate(web()), SignedDuration::ZERO).await.unwrap();
        let records = Records::new(&state);
        for revision in 5..=7 {
            let request = CertificateRequest { revision, ..samples::request() };
            records.put_request(&web(), &request, None).await.unwrap();
        }
        assert_eq!(records.prune(&web(), &samples::record(), 1).await.unwrap(), 2);
        assert_eq!(records.prune(&web(), &samples::record(), 1).await.unwrap(), 0);
        records.settle(&web()).await.unwrap();
        let left = std::fs::read_dir(scratch.path().join("s/certificates/default/web/requests"));
        let left: Vec<_> = left.unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["7.json"]);
    }
}
