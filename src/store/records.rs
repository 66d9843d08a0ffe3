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

use super::resolved;
use crate::resource::envelope::{self, Document};
use crate::resource::{
    Account, AccountIdentity, AccountLimits, CertificateRecord, CertificateRequest, Event,
    Issuance, Ledger, NamespacedName, PublishedLimits,
};
use crate::store::documents::{Documents, Page, Stored, Version};
use crate::store::error::StoreError;
use crate::store::key::{Collection, Key, Log, Part};

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
    ) -> Result<Option<CertificateRecord>, StoreError> {
        Ok(self.read(&Part::Record.of(name)).await?.map(|stored| stored.value))
    }

    /// The same, for a reader without the lock: a damaged one stays where it is.
    pub async fn certificate_as_it_is(
        &self,
        name: &NamespacedName,
    ) -> Result<Option<CertificateRecord>, StoreError> {
        Ok(self.look(&Part::Record.of(name)).await?.map(|stored| stored.value))
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
        let keys: Vec<NamespacedName> = match names {
            Some(names) => names.iter().cloned().collect(),
            None => self.certificate_names().await?,
        };
        for name in keys {
            if let Some(record) = self.certificate_as_it_is(&name).await.transpose() {
                keep(name, record);
            }
        }
        Ok(())
    }

    /// The request of a revision.
    pub async fn request(
        &self,
        name: &NamespacedName,
        revision: u32,
    ) -> Result<Option<CertificateRequest>, StoreError> {
        let found = self.read(&Part::Request(revision).of(name)).await?;
        Ok(found.map(|stored| stored.value))
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
        resolved::append(self.documents, &log, &lines).await
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
        resolved::append(self.documents, &Log::Issuances, &[line]).await
    }

    /// The log of issuances, oldest first. Lines that cannot be read are left out.
    pub async fn issuances(&self) -> Result<Vec<Issuance>, StoreError> {
        let lines = self.documents.read_log(&Log::Issuances).await?;
        Ok(lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect())
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
        let stored = self.documents.get(&Part::NextKey.of(name)).await?;
        Ok(stored.map(|stored| stored.bytes))
    }

    /// The pair of a revision, by the fingerprint of its leaf.
    pub async fn pair(
        &self,
        name: &NamespacedName,
        revision: u32,
        fingerprint: &str,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        let key = Key::Pair(name.clone(), revision, fingerprint.to_owned());
        Ok(self.documents.get(&key).await?.map(|stored| stored.bytes))
    }

    /// Writes the pair of a revision, unless these bytes are there.
    pub async fn create_pair(
        &self,
        name: &NamespacedName,
        revision: u32,
        fingerprint: &str,
        pem: &[u8],
    ) -> Result<(), StoreError> {
        let key = Key::Pair(name.clone(), revision, fingerprint.to_owned());
        self.put(&key, pem, None).await.map(drop)
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

    /// Writes a document: see [`resolved::write`].
    pub(super) async fn put(
        &self,
        key: &Key,
        bytes: &[u8],
        expected: Option<&Version>,
    ) -> Result<Version, StoreError> {
        resolved::write(self.documents, key, bytes, expected).await
    }

    pub(super) fn seal<T: Document>(&self, key: &Key, value: &T) -> Result<Vec<u8>, StoreError> {
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
            Err(error @ StoreError::Corrupt { .. }) => {
                Err(self.set_aside(key, &stored.revision, error).await)
            }
            parsed => {
                drop_plain(stored);
                parsed.map(Some)
            }
        }
    }

    /// Sets a document aside that is damaged as this error says; the error to report.
    pub(super) async fn set_aside(
        &self,
        key: &Key,
        seen: &Version,
        error: StoreError,
    ) -> StoreError {
        let StoreError::Corrupt { path, why, .. } = error else { return error };
        let moved_to = match self.documents.quarantine(key, seen).await {
            Ok(moved_to) => moved_to,
            Err(error @ StoreError::Conflict { .. }) => return error,
            Err(error) => {
                // The damage is the error to report; the document stays where it is.
                tracing::warn!(%error, "damaged document not set aside");
                path.clone()
            }
        };
        StoreError::Corrupt { path, why, moved_to }
    }

    /// Reads a document; a damaged one stays where it is.
    async fn look<T: Document>(&self, key: &Key) -> Result<Option<Versioned<T>>, StoreError> {
        let Some(stored) = self.documents.get(key).await? else { return Ok(None) };
        let parsed = self.parse(key, &stored);
        drop_plain(stored);
        parsed.map(Some)
    }

    fn parse<T: Document>(&self, key: &Key, stored: &Stored) -> Result<Versioned<T>, StoreError> {
        let value = self.open(key, &stored.bytes)?;
        Ok(Versioned { value, revision: stored.revision.clone() })
    }

    /// Reads the bytes of a document.
    pub(super) fn open<T: Document>(&self, key: &Key, bytes: &[u8]) -> Result<T, StoreError> {
        envelope::open(bytes)
            .map_err(|error| StoreError::unreadable::<T>(error, self.documents.place(key)))
    }
}

/// Frees a document without overwriting it: only keys are secret, and they are read as bytes.
fn drop_plain(mut stored: Stored) {
    drop(std::mem::take(&mut *stored.bytes));
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::resource::{Order, PUBLISHED};
    use crate::store::certificate::CertificateDocument;
    use crate::store::{OpenMode, StateDirectory, samples};

    fn web() -> NamespacedName {
        NamespacedName::new("default", "web")
    }

    /// Each kind of document: its key, its file, and a reader that discards the value.
    async fn read(records: &Records<'_, StateDirectory>, key: &Key) -> Result<bool, StoreError> {
        Ok(match key {
            Key::Part(name, Part::Record) => records.certificate(name).await?.is_some(),
            Key::Part(_, Part::Request(_)) => {
                records.read::<CertificateRequest>(key).await?.is_some()
            }
            Key::Part(_, Part::Order(..)) => records.read::<Order>(key).await?.is_some(),
            Key::Account(digest) => records.account(digest).await?.is_some(),
            Key::BannedKeys => records.banned_keys().await?.is_some(),
            Key::Revoked(fingerprint) => records.revoked(fingerprint).await?.is_some(),
            Key::Scheduler => records.queue().await?.is_some(),
            Key::AccountLimits(digest) => records.account_limits(digest).await?.is_some(),
            Key::Certificate(_)
            | Key::Part(_, Part::NextKey)
            | Key::Pair(..)
            | Key::AccountKey(_) => unreachable!(),
        })
    }

    async fn all(records: &Records<'_, StateDirectory>) -> Vec<Key> {
        let mut stored = CertificateDocument::read(records.documents, &web()).await.unwrap();
        stored.put_record(&samples::record()).await.unwrap();
        stored.put_request(&samples::request()).await.unwrap();
        stored.put_order((7, 1), &samples::order(), None).await.unwrap();
        stored.settle(&[]).await.unwrap();
        records.put_account("ab", &samples::account(), None).await.unwrap();
        records.put_queue(&samples::queue(), None).await.unwrap();
        vec![
            Part::Record.of(&web()),
            Part::Request(7).of(&web()),
            Part::Order(7, 1).of(&web()),
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
        let refused = |error| matches!(error, StoreError::Version { found: 99, known: 1, .. });
        let key = Part::Record.of(&web());
        state.create_file(&key, newer).unwrap();
        assert!(refused(records.certificate(&web()).await.unwrap_err()));
        let mut stored = CertificateDocument::read(&state, &web()).await.unwrap();
        assert!(refused(stored.record().await.unwrap_err()));
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
        let key = Part::Record.of(&web());
        state.create_file(&key, b"{").unwrap();
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
        all(&Records::new(&state)).await;
        let key = Key::Certificate(web());
        let reader = StateDirectory::open(&path, OpenMode::ReadOnly).unwrap();
        let shown = reader.get(&key).await.unwrap().unwrap();
        let seen = state.get(&key).await.unwrap().unwrap();
        assert_eq!(shown.bytes, seen.bytes);
        for (version, is_base) in [(shown.revision, false), (seen.revision, true)] {
            let put = state.put_if(&key, &seen.bytes, &version).await;
            assert_eq!(put.is_ok(), is_base, "{put:?}");
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn one_damaged_certificate_hides_no_other() {
        let scratch = tempfile::tempdir().unwrap();
        let state = StateDirectory::open(&scratch.path().join("s"), OpenMode::ReadWrite).unwrap();
        let records = Records::new(&state);
        let bad = NamespacedName::new("default", "bad");
        state.create_file(&Part::Record.of(&bad), b"{").unwrap();
        let mut stored = CertificateDocument::read(&state, &web()).await.unwrap();
        stored.put_record(&samples::record()).await.unwrap();
        std::fs::File::create(state.path().join("certificates/default/notes")).unwrap();
        std::fs::create_dir(state.path().join("certificates/default/.trash")).unwrap();
        let mut found = records.certificates().await.unwrap();
        assert_eq!(found.pop().map(|(n, r)| (n, r.unwrap())), Some((web(), samples::record())));
        assert!(
            matches!(found.pop(), Some((name, Err(StoreError::Corrupt { .. }))) if name == bad)
        );
        assert!(found.is_empty());
        assert!(state.get(&Part::Record.of(&bad)).await.unwrap().is_some(), "nothing is set aside");
    }
}
