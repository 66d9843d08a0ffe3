//! Which revision a rollback may choose, and its consequences.
//!
//! | a kept revision | rollback allowed |
//! | --- | --- |
//! | is incomplete, temporary, or another Certificate's | never |
//! | has a banned key, is revoked, or its revocation is owed | never |
//! | is expired, or not valid yet | never |
//! | any other, whatever the current spec | when the user requests it |
//!
//! The revision stays live until its renewal is due, until the user renews it, or until the
//! spec or the Issuer's server is edited: a cron run does not undo a rollback by itself. If its
//! renewal was due already at the time of the rollback, as it is when the renewal broke something,
//! it is due again when a third of the lifetime left then is left. Revision numbers and order
//! numbers are never reused: the next revision counts from the newest that was ever live.

use jiff::Timestamp;

use thiserror::Error;

use super::run::UserRequest;
use super::{Change, Effect, IllegalOutcome, Outcome, Record, Snapshot, Step, deploy, order};
use crate::resource::{
    Cause, CertificateRecord, ConditionType, Doing, Failure, Issuer, LeafFacts, NamespacedName,
    PublishedPair, Reason, Rollback, rfc3339,
};

/// Why no rollback happens.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RollbackError {
    #[error("{}: nothing is issued yet", .certificate.short())]
    Nothing { certificate: NamespacedName },
    /// No older revision is kept.
    #[error("{}: there is no revision before {live}", .certificate.short())]
    NoneBefore { certificate: NamespacedName, live: u32, stored: Vec<StoredRevision> },
    #[error("{}: there is no revision {wanted}", .certificate.short())]
    Unknown { certificate: NamespacedName, wanted: u32, stored: Vec<StoredRevision> },
    /// It must not be live again.
    #[error("{}: cannot roll back to revision {wanted}: {why}", .certificate.short())]
    Refused { certificate: NamespacedName, wanted: u32, why: String, stored: Vec<StoredRevision> },
}

/// A revision whose files exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRevision {
    /// Its number; 0 is the certificate that was adopted.
    pub revision: u32,
    /// When its certificate expires, if it can be read.
    pub not_after: Option<Timestamp>,
    pub is_live: bool,
    /// Why it must not be live again.
    pub refusal: Option<String>,
}

/// A kept revision and its set.
struct Candidate<'a> {
    stored: StoredRevision,
    set: &'a str,
    leaf: Option<&'a LeafFacts>,
}

/// Performs a recorded rollback; then records a requested one, once.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Step {
    if let Some(owed) = snapshot.record.rollback.as_ref().filter(|requested| requested.is_owed()) {
        let mut found = candidates(snapshot, now).into_iter();
        let refusal = match found.find(|candidate| candidate.set == owed.set) {
            Some(found) if found.stored.is_live => None,
            Some(found) => found.stored.refusal,
            None => Some("its files no longer exist".to_owned()),
        };
        return match refusal {
            Some(why) => Step::Record(abandoned(&snapshot.record, &why, now)),
            None => Step::Act(vec![Effect::SwitchBack {
                set: owed.set.clone(),
                to: owed.to,
                from: owed.from,
            }]),
        };
    }
    let Some(UserRequest::RollBack(to)) =
        snapshot.run.request.as_ref().filter(|_| !has_gone_back(snapshot))
    else {
        return Step::Settled;
    };
    match chosen(snapshot, *to, now) {
        Ok(None) => Step::Settled,
        Ok(Some(rollback)) => Step::Record(requested(snapshot, rollback)),
        Err(error) => {
            let cause = Cause::precondition(error.to_string());
            Step::Fail(Failure::of(Doing::Nothing, cause))
        }
    }
}

fn has_gone_back(snapshot: &Snapshot) -> bool {
    snapshot.run.went_back.is_some()
}

/// The rollback to the revision `to`, or to the previous one; `None` when it is live.
pub fn chosen(
    snapshot: &Snapshot,
    to: Option<u32>,
    now: Timestamp,
) -> Result<Option<Rollback>, RollbackError> {
    let certificate = snapshot.certificate.metadata.key();
    if snapshot.secret.is_none() {
        return Err(RollbackError::Nothing { certificate });
    }
    let mut candidates = candidates(snapshot, now);
    let record = &snapshot.record;
    let from = record.status.revision.unwrap_or(0);
    let stored: Vec<StoredRevision> = candidates.iter().map(|found| found.stored.clone()).collect();
    let before = stored.iter().rfind(|stored| stored.revision < from).map(|stored| stored.revision);
    let Some(wanted) = to.or(before) else {
        return Err(RollbackError::NoneBefore { certificate, live: from, stored });
    };
    let Some(at) = stored.iter().position(|stored| stored.revision == wanted) else {
        return Err(RollbackError::Unknown { certificate, wanted, stored });
    };
    let Candidate { stored: chosen, set, leaf } = candidates.swap_remove(at);
    if chosen.is_live && wanted == from {
        return Ok(None);
    }
    let (None, Some(leaf)) = (&chosen.refusal, leaf) else {
        let why = chosen.refusal.unwrap_or_default();
        return Err(RollbackError::Refused { certificate, wanted, why, stored });
    };
    Ok(Some(Rollback {
        to: wanted,
        from,
        newest: record.next_revision().saturating_sub(1),
        set: set.to_owned(),
        fingerprint: leaf.fingerprint.clone(),
        left: left(snapshot),
        requested_at: now,
        generation: record.generation,
        directory_url: snapshot.issuer().acme.server.clone(),
        done_at: None,
    }))
}

/// The revisions whose files exist, oldest first; of several sets of one, the live one, else the
/// last that may be made live.
fn candidates(snapshot: &Snapshot, now: Timestamp) -> Vec<Candidate<'_>> {
    let newest = snapshot.record.next_revision().saturating_sub(1);
    let mut found: Vec<Candidate<'_>> = Vec::new();
    for set in &snapshot.sets {
        let (revision, is_live) = (set.revision, set.is_live);
        // An interrupted publish left it: it was never live.
        if revision > newest && !is_live {
            continue;
        }
        let pair = set.pair.as_ref();
        let leaf = pair.ok().and_then(|pair| pair.certificate.as_ref()?.as_ref().ok());
        let refusal = match pair {
            Ok(pair) => refusal(snapshot, pair, now),
            Err(error) => Some(error.clone()),
        };
        let not_after = leaf.map(|leaf| leaf.not_after);
        let stored = StoredRevision { revision, not_after, is_live, refusal };
        let candidate = Candidate { stored, set: &set.name, leaf };
        match found.last_mut() {
            Some(last) if last.stored.revision == revision => {
                let is_better = candidate.stored.is_live || candidate.stored.refusal.is_none();
                if is_better && !last.stored.is_live {
                    *last = candidate;
                }
            }
            Some(_) | None => found.push(candidate),
        }
    }
    found
}

/// Records that another revision is live: the previous one, and the new one.
pub fn absorb(
    snapshot: &mut Snapshot,
    revisions: (u32, u32),
    outcome: &Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    if *outcome != Outcome::Done {
        return Err(IllegalOutcome::new("going back", outcome));
    }
    snapshot.run.went_back = Some(revisions);
    Ok(done(&snapshot.record, now))
}

/// Why a kept pair must not be live again; `None` when it may.
pub(super) fn refusal(snapshot: &Snapshot, pair: &PublishedPair, now: Timestamp) -> Option<String> {
    let (key, leaf) = match (&pair.key, &pair.certificate) {
        (Some(Ok(key)), Some(Ok(leaf))) => (key, leaf),
        (Some(Err(why)), _) => return Some(format!("its key cannot be read: {why}")),
        (_, Some(Err(why))) => return Some(format!("its certificate cannot be read: {why}")),
        (None, _) | (_, None) => return Some("it is not complete".to_owned()),
    };
    let owner = pair.other_owner(&snapshot.certificate.metadata.name);
    let revocation_of = snapshot.record.revocation_of(&leaf.fingerprint);
    if key.public_key != leaf.public_key {
        Some("its key is not the key of its certificate".to_owned())
    } else if leaf.is_temporary() {
        Some("it is a temporary certificate, which no client trusts".to_owned())
    } else if let Some(owner) = owner {
        Some(format!("it was issued for the Certificate {owner}"))
    } else if snapshot.banned_keys.contains(&key.public_key) {
        Some("its key is banned: it is, or may be, known to others".to_owned())
    } else if let Some(revocation_of) = revocation_of {
        let reason = revocation_of.reason;
        Some(match revocation_of.revoked_at {
            Some(_) => format!("it is revoked ({reason})"),
            None => format!("its revocation was requested ({reason})"),
        })
    } else if leaf.not_after <= now {
        Some(format!("it expired at {}", rfc3339(leaf.not_after)))
    } else if leaf.not_before > now {
        Some(format!("it is not valid before {}", rfc3339(leaf.not_before)))
    } else {
        None
    }
}

/// Records a requested rollback. An issuance in progress ends: it would undo the rollback.
pub(super) fn requested(snapshot: &Snapshot, rollback: Rollback) -> Record {
    let now = rollback.requested_at;
    let mut changes = Vec::new();
    let open = snapshot.order.as_ref().filter(|order| order.phase.is_open());
    if snapshot.is_issuing()
        && let Some(open) = open
    {
        let given_up = order::given_up(open, "given up by a rollback", now);
        changes.push(Change::Order(Box::new(given_up)));
    }
    let mut record = snapshot.record.clone();
    if snapshot.is_issuing() {
        record.status.remove_condition(ConditionType::Issuing);
    }
    record.rollback = Some(rollback);
    changes.push(Change::Certificate(Box::new(record)));
    Record { changes, events: Vec::new() }
}

/// Records a finished rollback. The readiness controller updates the leaf's dates.
pub(super) fn done(record: &CertificateRecord, now: Timestamp) -> Record {
    let Some(requested) = record.rollback.clone().filter(Rollback::is_owed) else {
        return Record::default();
    };
    let Rollback { from, to, .. } = requested;
    let mut record = record.clone();
    record.status.revision = (to > 0).then_some(to);
    record.issued_fingerprint = (to > 0).then(|| requested.fingerprint.clone());
    deploy::begin_anew(&mut record);
    // After a rollback to the newest revision there is nothing to remember.
    let is_behind = to < requested.newest;
    record.rollback = is_behind.then_some(Rollback { done_at: Some(now), ..requested });
    let message = format!("Rolled back from revision {from} to revision {to}");
    Record::of(Change::Certificate(Box::new(record))).normal(now, Reason::RolledBack, message)
}

/// Records that the requested rollback is no longer possible.
pub(super) fn abandoned(record: &CertificateRecord, why: &str, now: Timestamp) -> Record {
    let mut record = record.clone();
    let to = record.rollback.take().map_or(0, |rollback| rollback.to);
    let message = format!("Cannot roll back to revision {to}: {why}");
    Record::of(Change::Certificate(Box::new(record))).warning(now, Reason::RollbackFailed, message)
}

/// The rollback of the live pair, as long as nothing was edited since.
pub fn in_force(snapshot: &Snapshot) -> Option<&Rollback> {
    of_live(&snapshot.record, snapshot.issuer(), snapshot.live_leaf()?)
}

/// The same, without a snapshot.
pub fn of_live<'a>(
    record: &'a CertificateRecord,
    issuer: &Issuer,
    live: &LeafFacts,
) -> Option<&'a Rollback> {
    let rollback = record.rollback.as_ref().filter(|rollback| !rollback.is_owed())?;
    let unedited =
        rollback.generation == record.generation && rollback.directory_url == issuer.acme.server;
    (unedited && rollback.fingerprint == live.fingerprint).then_some(rollback)
}

/// The leaves that the rollback of the live pair replaced.
pub(super) fn left(snapshot: &Snapshot) -> Vec<String> {
    let earlier = snapshot.record.rollback.iter().flat_map(|rollback| &rollback.left).cloned();
    let mut left: Vec<String> =
        earlier.chain(snapshot.live_leaf().map(|leaf| leaf.fingerprint.clone())).collect();
    left.sort();
    left.dedup();
    left
}
