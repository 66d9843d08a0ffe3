//! What a run notes for the next index.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::resource::NamespacedName;
use crate::store::index::{Entry, Witness};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The evidence of each certificate, before it was worked on.
    pub(super) seen: BTreeMap<NamespacedName, Vec<Witness>>,
    /// Until when nothing is due.
    pub(super) until: BTreeMap<NamespacedName, Timestamp>,
    /// Whether a certificate that the run was not about owes a clean-up: each run does it, or says it.
    pub(super) others_owe: bool,
}

impl Notes {
    /// Whether nothing is due for a certificate, with evidence.
    pub(super) fn has(&self, key: &NamespacedName) -> bool {
        self.until.contains_key(key) && self.seen.contains_key(key)
    }

    /// The line of a certificate.
    pub(super) fn entry(&self, key: &NamespacedName) -> Entry {
        let NamespacedName { namespace, name } = key.clone();
        let known = self.until.get(key).zip(self.seen.get(key));
        let (until, seen) = known.map(|(until, seen)| (*until, seen.clone())).unzip();
        Entry { namespace, name, until, seen: seen.unwrap_or_default() }
    }
}
