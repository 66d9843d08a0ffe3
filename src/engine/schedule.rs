//! The slots for challenges, shared by all certificates of a run.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tokio::sync::Notify;

use crate::controller::Snapshot;
use crate::controller::scheduler::{Entry, grant};
use crate::resource::{Challenge, ChallengeType, NamespacedName, Phase};

/// Who waits for a slot and who holds one.
#[derive(Debug)]
pub(crate) struct Schedule {
    cap: usize,
    entries: RefCell<BTreeMap<NamespacedName, Vec<Entry>>>,
    changed: Notify,
}

impl Schedule {
    /// At most `cap` challenges at once.
    pub(crate) fn new(cap: usize) -> Self {
        Self { cap, entries: RefCell::default(), changed: Notify::new() }
    }

    /// Brings the entries of one certificate up to date, and its grants into the snapshot.
    pub(crate) fn sync(&self, certificate: &NamespacedName, snapshot: &mut Snapshot) {
        let wanted = entries_of(snapshot);
        let mut entries = self.entries.borrow_mut();
        let mine = entries.entry(certificate.clone()).or_default();
        let released = mine.iter().filter(|entry| entry.granted).count()
            > wanted.iter().filter(|entry| entry.granted).count();
        *mine = wanted;
        let all: Vec<Entry> = entries.values().flatten().cloned().collect();
        let granted = grant(&all, self.cap);
        for entry in entries.values_mut().flatten() {
            entry.granted |= granted.contains(&entry.url);
        }
        let mine = entries.get(certificate).into_iter().flatten();
        snapshot.run.granted = mine.filter(|e| e.granted).map(|e| e.url.clone()).collect();
        if released || !granted.is_empty() {
            self.changed.notify_waiters();
        }
    }

    /// The certificate needs no slot any more.
    pub(crate) fn leave(&self, certificate: &NamespacedName) {
        self.entries.borrow_mut().remove(certificate);
        self.changed.notify_waiters();
    }

    /// Waits until a slot may have become free.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

/// The challenges that wait for a slot or hold one. A slot is held while there is work to do for
/// a challenge; for HTTP-01 that ends when the CA has fetched the answer, since the verdict then
/// comes with the order and needs nothing of ours.
fn entries_of(snapshot: &Snapshot) -> Vec<Entry> {
    let Some(order) = snapshot.current_order() else { return Vec::new() };
    let fetched = |c: &Challenge| {
        c.phase == Phase::Accepted
            && c.spec.kind == ChallengeType::Http01
            && snapshot.run.hits.contains_key(&c.spec.url)
    };
    let wanted = order.challenges.iter().filter(|c| c.phase != Phase::Final && !fetched(c));
    wanted
        .map(|c| Entry {
            url: c.spec.url.clone(),
            identifier: c.spec.identifier.clone(),
            kind: c.spec.kind.clone(),
            queued_at: order.creation_timestamp,
            granted: c.is_processing() || snapshot.run.granted.contains(&c.spec.url),
        })
        .collect()
}
