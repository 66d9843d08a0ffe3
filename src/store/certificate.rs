//! All that is stored of one certificate, with its types, over any [`Documents`].
//!
//! Contract: as of [`Records`](super::Records). It is read under the certificate's lock before it is
//! written, part by part, each time whole. Under a lock that can run out it is claimed first: the
//! writes of an earlier holder fail from then on, and what was read is all that there is.

use std::mem;

use jiff::SignedDuration;
use zeroize::Zeroizing;

use super::immutable::{changed_in_order, changed_in_request};
use super::prune;
use super::records::{Listed, Records};
use super::resolved;
use crate::resource::envelope::Document;
use crate::resource::{CertificateRecord, CertificateRequest, NamespacedName, Order, hex};
use crate::store::documents::{Documents, Lease as _, Version};
use crate::store::error::StoreError;
use crate::store::frame::{Frame, WriteId, discard};
use crate::store::key::{Collection, Key, Part};

/// See the module.
#[derive(Debug)]
pub struct CertificateDocument<'a, D> {
    documents: &'a D,
    name: NamespacedName,
    frame: Frame,
    /// None while nothing is stored.
    version: Option<Version>,
}

impl<'a, D: Documents> CertificateDocument<'a, D> {
    /// Reads all that is stored of a certificate.
    pub async fn read(documents: &'a D, name: &NamespacedName) -> Result<Self, StoreError> {
        let mut document = Self::new(documents, name);
        document.look().await?;
        Ok(document)
    }

    fn new(documents: &'a D, name: &NamespacedName) -> Self {
        let id = WriteId { owner: random(), ..WriteId::default() };
        let frame = Frame { id, ..Frame::default() };
        Self { documents, name: name.clone(), frame, version: None }
    }

    /// The same, under its lock: where that can run out, no earlier holder writes any more.
    /// [`StoreError::Lost`]: a later one does.
    pub async fn under(
        lease: &D::Lease,
        documents: &'a D,
        name: &NamespacedName,
    ) -> Result<Self, StoreError> {
        let mut document = Self::new(documents, name);
        let found = document.look().await?;
        if lease.left() < SignedDuration::MAX {
            document.claim(lease.epoch(), found).await?;
        }
        Ok(document)
    }

    /// The same document, read again after the last write.
    pub async fn again(&self) -> Result<Self, StoreError> {
        let frame = Frame { id: self.frame.id.clone(), ..Frame::default() };
        let name = self.name.clone();
        let mut document = Self { documents: self.documents, name, frame, version: None };
        document.look().await?;
        Ok(document)
    }

    async fn claim(&mut self, epoch: u64, mut found: WriteId) -> Result<(), StoreError> {
        self.frame.id.epoch = epoch;
        for _ in 0..CLAIMS {
            if found.epoch > epoch {
                break;
            }
            match self.write().await {
                // An earlier holder's write came first.
                Err(StoreError::Conflict { .. }) => found = self.look().await?,
                done => return done,
            }
        }
        Err(StoreError::Lost { what: format!("certificate {}", self.name.short()) })
    }

    /// Reads the document, and returns which write it is of.
    async fn look(&mut self) -> Result<WriteId, StoreError> {
        let key = self.key();
        let found = self.documents.get(&key).await?;
        self.version = found.as_ref().map(|found| found.revision.clone());
        let place = || self.documents.place(&key);
        let read = found.map(|found| Frame::read(&found.bytes, &place())).transpose()?;
        let mut frame = read.unwrap_or_default();
        let found = mem::replace(&mut frame.id, self.frame.id.clone());
        self.frame = frame;
        Ok(found)
    }

    fn key(&self) -> Key {
        Key::Certificate(self.name.clone())
    }

    /// The record.
    pub async fn record(&mut self) -> Result<Option<CertificateRecord>, StoreError> {
        self.open(Part::Record).await
    }

    /// The requests, by revision.
    pub async fn requests(&mut self) -> Result<Listed<u32, CertificateRequest>, StoreError> {
        let mut found = Vec::new();
        for part in self.parts() {
            if let Part::Request(revision) = part
                && let Some(request) = self.open(part).await.transpose()
            {
                found.push((revision, request));
            }
        }
        Ok(found)
    }

    /// The orders, by revision and number.
    pub async fn orders(&mut self) -> Result<Listed<(u32, u32), Order>, StoreError> {
        let mut found = Vec::new();
        for part in self.parts() {
            if let Part::Order(revision, number) = part
                && let Some(order) = self.open(part).await.transpose()
            {
                found.push(((revision, number), order));
            }
        }
        Ok(found)
    }

    /// The next private key, PKCS#8 PEM.
    pub fn next_key(&self) -> Option<&[u8]> {
        self.frame.parts.get(&Part::NextKey).map(|bytes| bytes.as_slice())
    }

    fn parts(&self) -> Vec<Part> {
        self.frame.parts.keys().copied().collect()
    }

    /// Writes the record, where hosts share it without what is of one of them.
    pub async fn put_record(&mut self, record: &CertificateRecord) -> Result<(), StoreError> {
        let key = Part::Record.of(&self.name);
        let bytes = if D::SHARED {
            let mut record = record.clone();
            record.take_host_section();
            self.records().seal(&key, &record)?
        } else {
            self.records().seal(&key, record)?
        };
        if D::SHARED && self.frame.parts.get(&Part::Record).is_some_and(|old| **old == bytes) {
            return Ok(());
        }
        self.put(Part::Record, bytes).await
    }

    /// Writes a request under its own revision. Refuses a change of its spec, of its revision, and of
    /// its certificate once set.
    pub async fn put_request(&mut self, request: &CertificateRequest) -> Result<(), StoreError> {
        let part = Part::Request(request.revision);
        let old = self.open::<CertificateRequest>(part).await?;
        self.refuse(part, old.and_then(|old| changed_in_request(&old, request)))?;
        let bytes = self.records().seal(&part.of(&self.name), request)?;
        self.put(part, bytes).await
    }

    /// Writes an order: a new one, or the successor of `previous`, as it was read or written last.
    /// Refuses a change of its spec, of its challenges' specs, of what was read of its
    /// authorizations, and of a URL or the certificate once set.
    pub async fn put_order(
        &mut self,
        (revision, number): (u32, u32),
        order: &Order,
        previous: Option<&Order>,
    ) -> Result<(), StoreError> {
        // An order of a hundred names is written twenty times: it is not parsed again each time.
        let part = Part::Order(revision, number);
        self.refuse(part, previous.and_then(|previous| changed_in_order(previous, order)))?;
        if previous.is_none() {
            self.must_be_new(part)?;
        }
        let bytes = self.records().seal(&part.of(&self.name), order)?;
        self.put(part, bytes).await
    }

    /// Writes the next private key; there must be none.
    pub async fn put_next_key(&mut self, pem: &[u8]) -> Result<(), StoreError> {
        self.must_be_new(Part::NextKey)?;
        self.put(Part::NextKey, pem.to_vec()).await
    }

    /// Removes these; what is not there is no error.
    pub async fn remove(&mut self, parts: &[Part]) -> Result<(), StoreError> {
        let removed: Vec<_> =
            parts.iter().filter_map(|part| self.frame.parts.remove_entry(part)).collect();
        if removed.is_empty() {
            return Ok(());
        }
        let written = self.write().await;
        if written.is_err() {
            self.frame.parts.extend(removed);
        }
        written
    }

    /// Removes obsolete requests and orders, and returns how many: requests beyond `history_limit` (at
    /// least 1), orders of removed requests, and failed orders beyond the last three. What is current,
    /// not final, owed a clean-up or unreadable stays.
    pub async fn prune(
        &mut self,
        record: &CertificateRecord,
        history_limit: usize,
    ) -> Result<usize, StoreError> {
        let parts = self.parts().into_iter();
        let requests = parts.filter_map(|part| match part {
            Part::Request(revision) => Some(revision),
            Part::Record | Part::Order(..) | Part::NextKey => None,
        });
        let requests: Vec<u32> = requests.collect();
        let orders = self.orders().await?.into_iter();
        let orders: Vec<_> = orders.filter_map(|(id, order)| Some((id, order.ok()?))).collect();
        let parts = prune::superfluous(record, history_limit, &requests, &orders);
        self.remove(&parts).await?;
        if D::SHARED {
            let pairs = self.records().keys(&Collection::Pairs(self.name.clone())).await?;
            for past in prune::past_pairs(record, &pairs) {
                self.documents.delete(&past).await?;
            }
        }
        Ok(parts.len())
    }

    /// Ends the work on the certificate: see [`Documents::settle`].
    pub async fn settle(&self, past: &[Part]) -> Result<(), StoreError> {
        let past: Vec<Key> = past.iter().map(|part| part.of(&self.name)).collect();
        self.documents.settle(&self.key(), &past).await
    }

    fn records(&self) -> Records<'a, D> {
        Records::new(self.documents)
    }

    fn refuse(&self, part: Part, changed: Option<String>) -> Result<(), StoreError> {
        let path = || self.documents.place(&part.of(&self.name));
        changed.map_or(Ok(()), |field| Err(StoreError::Immutable { path: path(), field }))
    }

    fn must_be_new(&self, part: Part) -> Result<(), StoreError> {
        let path = || self.documents.place(&part.of(&self.name));
        if self.frame.parts.contains_key(&part) {
            Err(StoreError::Conflict { path: path() })
        } else {
            Ok(())
        }
    }

    async fn put(&mut self, part: Part, bytes: Vec<u8>) -> Result<(), StoreError> {
        let old = self.frame.parts.insert(part, Zeroizing::new(bytes));
        let written = self.write().await;
        let unused = match (&written, old) {
            (Ok(()), old) => old,
            (Err(_), Some(old)) => self.frame.parts.insert(part, old),
            (Err(_), None) => self.frame.parts.remove(&part),
        };
        if let Some(unused) = unused {
            discard(part, unused);
        }
        written
    }

    async fn write(&mut self) -> Result<(), StoreError> {
        self.frame.id.step = self.frame.id.step.saturating_add(1);
        let bytes = self.frame.bytes();
        let key = self.key();
        let version = resolved::write(self.documents, &key, &bytes, self.version.as_ref()).await?;
        self.version = Some(version);
        Ok(())
    }

    /// Reads one part; a damaged one is set aside.
    async fn open<T: Document>(&mut self, part: Part) -> Result<Option<T>, StoreError> {
        let Some(bytes) = self.frame.parts.get(&part) else { return Ok(None) };
        let key = part.of(&self.name);
        match self.records().open::<T>(&key, bytes) {
            Err(error @ StoreError::Corrupt { .. }) => {
                let seen = Version::of(bytes);
                let error = self.records().set_aside(&key, &seen, error).await;
                self.look().await?;
                Err(error)
            }
            opened => opened.map(Some),
        }
    }
}

/// How often a document is claimed that an earlier holder of the lock writes.
const CLAIMS: u32 = 3;

/// 128 random bits, hexadecimal.
fn random() -> String {
    let mut bytes = [0; 16];
    if aws_lc_rs::rand::fill(&mut bytes).is_err() {
        tracing::warn!("no random bytes: writes of two owners differ by their epochs alone");
    }
    hex(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::OrderPhase;
    use crate::store::key::Lock;
    use crate::store::{OpenMode, StateDirectory, samples};

    fn web() -> NamespacedName {
        NamespacedName::new("default", "web")
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_order_is_replaced_only_by_its_own_successor() {
        let scratch = tempfile::tempdir().unwrap();
        let state = StateDirectory::open(&scratch.path().join("s"), OpenMode::ReadWrite).unwrap();
        let web = web();
        let read = || CertificateDocument::read(&state, &web);
        let mut stored = read().await.unwrap();
        stored.put_order((7, 1), &samples::order(), None).await.unwrap();
        let mut outdated = read().await.unwrap();
        let later = Order { reason: "later".into(), ..samples::order() };
        stored.put_order((7, 1), &later, Some(&samples::order())).await.unwrap();
        let refused = outdated.put_order((7, 1), &later, Some(&samples::order())).await;
        assert!(matches!(refused, Err(StoreError::Conflict { .. })));
        let refused = stored.put_order((7, 1), &later, None).await;
        assert!(matches!(refused, Err(StoreError::Conflict { .. })));
        let other = Order { phase: OrderPhase::Creating, ..later.clone() };
        let error = stored.put_order((7, 1), &other, Some(&later)).await.unwrap_err();
        assert!(matches!(&error, StoreError::Immutable { field, .. } if field == "url"));
        for mut found in [stored, read().await.unwrap()] {
            let (id, order) = found.orders().await.unwrap().pop().unwrap();
            assert_eq!((id, order.unwrap()), ((7, 1), later.clone()));
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn pruning_removes_what_has_outlived_its_use_from_disk() {
        let scratch = tempfile::tempdir().unwrap();
        let state = StateDirectory::open(&scratch.path().join("s"), OpenMode::ReadWrite).unwrap();
        let lease = state.lease(&Lock::Certificate(web()), SignedDuration::ZERO).await.unwrap();
        let mut stored = CertificateDocument::under(&lease, &state, &web()).await.unwrap();
        for revision in 5..=7 {
            let request = CertificateRequest { revision, ..samples::request() };
            stored.put_request(&request).await.unwrap();
        }
        assert_eq!(stored.prune(&samples::record(), 1).await.unwrap(), 2);
        assert_eq!(stored.prune(&samples::record(), 1).await.unwrap(), 0);
        stored.settle(&[]).await.unwrap();
        let left = std::fs::read_dir(scratch.path().join("s/certificates/default/web/requests"));
        let left: Vec<_> = left.unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["7.json"]);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_damaged_part_is_set_aside_and_the_others_stay() {
        let scratch = tempfile::tempdir().unwrap();
        let state = StateDirectory::open(&scratch.path().join("s"), OpenMode::ReadWrite).unwrap();
        state.create_file(&Part::Order(7, 1).of(&web()), b"{").unwrap();
        let mut stored = CertificateDocument::read(&state, &web()).await.unwrap();
        stored.put_record(&samples::record()).await.unwrap();
        let (_, damaged) = stored.orders().await.unwrap().pop().unwrap();
        let moved_to = match damaged {
            Err(StoreError::Corrupt { moved_to, .. }) => moved_to,
            other => panic!("{other:?}"),
        };
        assert_eq!(std::fs::read(moved_to).unwrap(), b"{");
        assert!(stored.orders().await.unwrap().is_empty());
        stored.put_order((7, 1), &samples::order(), None).await.unwrap();
        assert_eq!(stored.record().await.unwrap(), Some(samples::record()));
    }
}
