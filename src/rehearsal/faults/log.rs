//! The request log: the resource, the answer, and the faults.

use std::collections::{BTreeMap, VecDeque};

use crate::resource::PublicKeyDigest;

/// The resource of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
// The resources of RFC 8555 section 7.1, by name.
pub enum RequestKind {
    Directory,
    NewNonce,
    NewAccount,
    Account,
    NewOrder,
    Order,
    Authorization,
    Challenge,
    Finalize,
    Certificate,
    Revoke,
    /// Of RFC 9773.
    RenewalInfo,
    Crl,
    /// The terms of service, and every path that is unknown.
    Other,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Path, with query if there was one.
    pub path: String,
    /// The resource.
    pub kind: RequestKind,
    /// The status that the CA decided on; `None` when the connection was closed unhandled.
    pub status: Option<u16>,
    /// Whether the answer was sent; false when a fault suppressed it.
    pub delivered: bool,
    /// The faults injected into this request.
    pub faults: Vec<&'static str>,
    /// The key of the CSR in it, whether or not the CA accepted that.
    pub csr_key: Option<PublicKeyDigest>,
}

/// The newest requests, and counts over all.
#[derive(Debug, Default)]
pub(super) struct Log {
    entries: VecDeque<LogEntry>,
    requests: usize,
    created: BTreeMap<RequestKind, usize>,
}

impl Log {
    pub(super) fn push(&mut self, entry: LogEntry) {
        self.requests = self.requests.saturating_add(1);
        if entry.status == Some(201) {
            let count = self.created.entry(entry.kind).or_default();
            *count = count.saturating_add(1);
        }
        if self.entries.len() >= MAX_ENTRIES {
            drop(self.entries.pop_front());
        }
        self.entries.push_back(entry);
    }

    pub(super) fn entries(&self) -> Vec<LogEntry> {
        self.entries.iter().cloned().collect()
    }

    pub(super) fn requests(&self) -> usize {
        self.requests
    }

    pub(super) fn created(&self, kind: RequestKind) -> usize {
        self.created.get(&kind).copied().unwrap_or_default()
    }
}

const MAX_ENTRIES: usize = 50_000;
