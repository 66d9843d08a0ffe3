//! Which revision may be gone back to, and what holds from then on.
//!
//! | a kept revision | gone back to |
//! | --- | --- |
//! | is incomplete, temporary, or another Certificate's | never |
//! | has a banned key, is revoked, or is to be | never |
//! | is expired, or not valid yet | never |
//! | any other, whatever the spec asks today | when somebody says so |
//!
//! What was gone back to stays until its renewal is due, until somebody renews it, or until the
//! spec or the Issuer's server is edited: a run of cron does not undo by itself what was asked for
//! by hand. Where the renewal was due before that already, as it is when a renewal is what went
//! wrong, it is due again when a third of the time that was left then is left. Neither number nor
//! order of a revision is ever used twice: the next one counts from the newest that was ever live.

use jiff::Timestamp;

use super::{Change, Record, Snapshot, order, revocation};
use crate::resource::{
    CertificateRecord, ConditionType, Issuer, LeafFacts, PublishedPair, Reason, Rollback,
    annotation, rfc3339,
};

/// Why a kept pair may not go live again; `None` when it may.
pub fn refusal(snapshot: &Snapshot, pair: &PublishedPair, now: Timestamp) -> Option<String> {
    let (key, leaf) = match (&pair.key, &pair.certificate) {
        (Some(Ok(key)), Some(Ok(leaf))) => (key, leaf),
        (Some(Err(why)), _) => return Some(format!("its key cannot be read: {why}")),
        (_, Some(Err(why))) => return Some(format!("its certificate cannot be read: {why}")),
        (None, _) | (_, None) => return Some("it is not complete".to_owned()),
    };
    let owner = pair.annotations.get(annotation::CERTIFICATE_NAME);
    let asked = revocation::of(&snapshot.record, &leaf.fingerprint);
    if key.public_key != leaf.public_key {
        Some("its key is not the key of its certificate".to_owned())
    } else if leaf.is_temporary() {
        Some("it is temporary, and nobody trusts it".to_owned())
    } else if let Some(owner) = owner.filter(|name| **name != snapshot.certificate.metadata.name) {
        Some(format!("it was issued for the Certificate {owner}"))
    } else if snapshot.banned_keys.contains(&key.public_key) {
        Some("its key is banned: it is, or may be, known to others".to_owned())
    } else if let Some(asked) = asked {
        let reason = asked.reason;
        Some(match asked.revoked_at {
            Some(_) => format!("it is revoked ({reason})"),
            None => format!("its revocation was asked for ({reason})"),
        })
    } else if leaf.not_after <= now {
        Some(format!("it expired at {}", rfc3339(leaf.not_after)))
    } else if leaf.not_before > now {
        Some(format!("it is not valid before {}", rfc3339(leaf.not_before)))
    } else {
        None
    }
}

/// Writes down that a revision is to go live again. An issuance that is under way ends: it would
/// undo that.
pub fn asked(snapshot: &Snapshot, rollback: Rollback, now: Timestamp) -> Record {
    let mut changes = Vec::new();
    let open = snapshot.order.as_ref().filter(|order| order.phase.is_open());
    if snapshot.is_issuing()
        && let Some(open) = open
    {
        let given_up = order::given_up(open, "given up by certctl rollback", now);
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

/// Notes that what was asked for is live. What the leaf says of dates is for the readiness room.
pub fn done(record: &CertificateRecord, now: Timestamp) -> Record {
    let Some(asked) = record.rollback.clone().filter(Rollback::is_owed) else {
        return Record::default();
    };
    let Rollback { from, to, .. } = asked;
    let mut record = record.clone();
    record.status.revision = (to > 0).then_some(to);
    record.issued_fingerprint = (to > 0).then(|| asked.fingerprint.clone());
    // Back at the newest one there is nothing to remember.
    let is_behind = to < asked.newest;
    record.rollback = is_behind.then_some(Rollback { done_at: Some(now), ..asked });
    let message = format!("Rolled back from revision {from} to revision {to}");
    Record::of(Change::Certificate(Box::new(record))).normal(now, Reason::RolledBack, message)
}

/// Notes that what was asked for cannot be done any more.
pub fn abandoned(record: &CertificateRecord, why: &str, now: Timestamp) -> Record {
    let mut record = record.clone();
    let to = record.rollback.take().map_or(0, |rollback| rollback.to);
    let message = format!("Revision {to}, which was to go live again, does not: {why}");
    Record::of(Change::Certificate(Box::new(record))).warning(now, Reason::RollbackFailed, message)
}

/// The step back that the live pair is there by, as long as nothing was edited since.
pub fn in_force(snapshot: &Snapshot) -> Option<&Rollback> {
    of_live(&snapshot.record, &snapshot.issuer, live(snapshot)?)
}

/// The same, for those who look without a snapshot.
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

/// Whether the live pair may replace an output that holds this leaf, though that is newer.
pub fn replaces(snapshot: &Snapshot, there: &LeafFacts) -> bool {
    let rollback = snapshot.record.rollback.as_ref().filter(|rollback| !rollback.is_owed());
    let live = live(snapshot).map(|leaf| leaf.fingerprint.as_str());
    rollback.is_some_and(|rollback| {
        Some(rollback.fingerprint.as_str()) == live && rollback.left.contains(&there.fingerprint)
    })
}

/// The leaves that a step back from the live pair leaves.
pub fn left(snapshot: &Snapshot) -> Vec<String> {
    let earlier = snapshot.record.rollback.iter().flat_map(|rollback| &rollback.left).cloned();
    let mut left: Vec<String> =
        earlier.chain(live(snapshot).map(|leaf| leaf.fingerprint.clone())).collect();
    left.sort();
    left.dedup();
    left
}

fn live(snapshot: &Snapshot) -> Option<&LeafFacts> {
    snapshot.secret.as_ref()?.certificate.as_ref()?.as_ref().ok()
}
