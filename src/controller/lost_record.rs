//! A record that is missing although requests, orders or files of its certificate exist: it goes on
//! from their revisions, so that no number is used twice and a rollback finds the earlier ones.
//!
//! | what exists of a revision | it was live |
//! | --- | --- |
//! | a request with its certificate | yes |
//! | a request without one | no: the issuance goes on, and an interrupted run left its files |
//! | no request, a set of files or an order with a certificate | yes |
//!
//! | live files | live revision |
//! | --- | --- |
//! | a set of a revision | that one |
//! | others, with the certificate of a revision | that one |
//! | any others | none: they are adopted |
//! | none | the newest that was live |
//!
//! A live revision before the newest one is the result of a rollback.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::resource::{
    Certificate, CertificateRecord, Issuer, LeafFacts, PublishedPair, Rollback, StoredPair,
    annotation,
};

/// What exists of a certificate beside its record.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// The requests by revision, with the fingerprint of the issued certificate.
    pub requests: BTreeMap<u32, Option<String>>,
    /// The revisions with an order that has its certificate.
    pub orders: BTreeSet<u32>,
    /// The sets of files, by revision and age.
    pub sets: Vec<StoredPair>,
    /// The live files, when they are no set.
    pub others: Option<PublishedPair>,
}

/// A new record with what the traces say of the missing one.
pub fn rebuilt(
    mut record: CertificateRecord,
    traces: &Traces,
    certificate: &Certificate,
    issuer: &Issuer,
    now: Timestamp,
) -> CertificateRecord {
    let traces = Traces { sets: own_sets(traces, certificate), ..traces.clone() };
    let newest = traces.newest();
    if newest == 0 {
        return record;
    }
    let revision = traces.live_revision().unwrap_or(newest);
    record.status.revision = (revision > 0).then_some(revision);
    record.issued_fingerprint = traces.fingerprint(revision).filter(|_| revision > 0);
    if revision < newest {
        let live = traces.live_leaf().map(|leaf| leaf.fingerprint.clone());
        let later = revision.saturating_add(1)..=newest;
        let left: BTreeSet<String> = later.filter_map(|one| traces.fingerprint(one)).collect();
        record.rollback = Some(Rollback {
            to: revision,
            from: newest,
            newest,
            set: traces.live_set().map_or_else(String::new, |set| set.name.clone()),
            fingerprint: live.unwrap_or_default(),
            left: left.into_iter().collect(),
            requested_at: now,
            generation: record.generation,
            directory_url: issuer.acme.server.clone(),
            done_at: Some(now),
        });
    }
    record
}

/// The sets that certctl wrote for this certificate; the live one whatever it is.
fn own_sets(traces: &Traces, certificate: &Certificate) -> Vec<StoredPair> {
    let is_own = |pair: &PublishedPair| {
        pair.annotations.get(annotation::CERTIFICATE_NAME) == Some(&certificate.metadata.name)
    };
    let mut sets = traces.sets.clone();
    sets.retain(|set| set.is_live || set.pair.as_ref().is_ok_and(is_own));
    for set in &mut sets {
        if !set.pair.as_ref().is_ok_and(is_own) {
            set.revision = 0;
        }
    }
    sets
}

impl Traces {
    /// The newest revision that was ever live; 0 when none was.
    fn newest(&self) -> u32 {
        let requested = self.requests.iter().filter(|(_, issued)| issued.is_some());
        let requested = requested.map(|(revision, _)| *revision);
        let others = self.sets.iter().map(|set| set.revision).chain(self.orders.iter().copied());
        let others = others.filter(|revision| !self.requests.contains_key(revision));
        let live = self.live_set().map(|set| set.revision);
        requested.chain(others).chain(live).max().unwrap_or(0)
    }

    fn live_set(&self) -> Option<&StoredPair> {
        self.sets.iter().find(|set| set.is_live)
    }

    fn live_leaf(&self) -> Option<&LeafFacts> {
        let of_set = self.live_set().and_then(|set| set.pair.as_ref().ok());
        of_set.or(self.others.as_ref())?.leaf()
    }

    /// `None` when there are no live files; 0 for those of no revision.
    fn live_revision(&self) -> Option<u32> {
        if let Some(set) = self.live_set().filter(|set| set.revision > 0) {
            return Some(set.revision);
        }
        let leaf = self.live_leaf()?;
        let mut issued = self.requests.iter().rev();
        let found = issued.find(|(_, issued)| issued.as_ref() == Some(&leaf.fingerprint));
        Some(found.map_or(0, |(revision, _)| *revision))
    }

    /// The fingerprint of a revision's certificate, as far as it is known.
    fn fingerprint(&self, revision: u32) -> Option<String> {
        if let Some(Some(issued)) = self.requests.get(&revision) {
            return Some(issued.clone());
        }
        let mut sets = self.sets.iter().rev().filter(|set| set.revision == revision);
        sets.find_map(|set| {
            let pair = set.pair.as_ref().ok().filter(|pair| pair.is_good())?;
            Some(pair.leaf()?.fingerprint.clone())
        })
    }
}
