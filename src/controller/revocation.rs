//! What is to be revoked, and when: after its replacement is where it is used, unless somebody
//! said at once.
//!
//! | revocation | the live pair | step |
//! | --- | --- | --- |
//! | the CA has answered | – | none |
//! | at once | – | revoke |
//! | owed | that certificate | none: it is replaced first |
//! | owed | another, not deployed yet | none: servers may have the old one still |
//! | owed | another, deployed | revoke |

use jiff::Timestamp;

use super::{Change, DeedError, DeedErrorKind, Record, Snapshot, deploy};
use crate::resource::{CertificateRecord, Problem, Reason, Revocation};

/// How many revocations are remembered after the CA has answered.
const KEPT: usize = 16;

/// What was asked for about a certificate, unless the CA refuses it.
pub fn of<'a>(record: &'a CertificateRecord, fingerprint: &str) -> Option<&'a Revocation> {
    let mut all = record.revocations.iter();
    all.find(|asked| asked.fingerprint == fingerprint && asked.refusal.is_none())
}

/// Whether the live certificate is revoked, and nothing is to be issued in its place until
/// somebody asks for it.
pub fn ends_here(snapshot: &Snapshot) -> bool {
    let asked = snapshot.live_leaf().and_then(|leaf| of(&snapshot.record, &leaf.fingerprint));
    asked.is_some_and(|asked| asked.without_replacement)
}

/// The first that the CA is to be told of now. See the table above.
pub fn due(snapshot: &Snapshot) -> Option<&Revocation> {
    let live = snapshot.live_leaf().map(|leaf| leaf.fingerprint.as_str());
    let is_deployed = deploy::owed(snapshot).is_none();
    let mut owed = snapshot.record.revocations.iter().filter(|asked| asked.is_owed());
    owed.find(|asked| {
        let is_replaced = live.is_some_and(|live| live != asked.fingerprint);
        asked.at_once || (is_replaced && is_deployed)
    })
}

/// The record with a revocation that is owed from now on; what was asked for of the same
/// certificate before is replaced.
pub fn asked(record: &CertificateRecord, revocation: Revocation) -> Record {
    let (time, reason) = (revocation.asked_at, revocation.reason);
    let message = format!("Revocation of serial {} asked for: {reason}", revocation.serial);
    let mut record = record.clone();
    record.revocations.retain(|known| known.fingerprint != revocation.fingerprint);
    while record.revocations.len() >= KEPT
        && let Some(oldest) = record.revocations.iter().position(|known| !known.is_owed())
    {
        record.revocations.remove(oldest);
    }
    record.revocations.push(revocation);
    Record::of(Change::Certificate(Box::new(record))).normal(time, Reason::Revoked, message)
}

/// Notes what the CA answered. One that cannot be reached leaves the revocation owed.
pub fn answered(
    record: &CertificateRecord,
    fingerprint: &str,
    answer: &Result<(), DeedError>,
    now: Timestamp,
) -> Record {
    let mut record = record.clone();
    let mut all = record.revocations.iter_mut();
    let Some(asked) = all.find(|asked| asked.fingerprint == fingerprint) else {
        return Record::default();
    };
    let (serial, reason) = (asked.serial.clone(), asked.reason);
    let is_final = match answer {
        Ok(()) => {
            asked.revoked_at = Some(now);
            true
        }
        Err(error) if is_final(error) => {
            asked.refusal = Some(error.message.clone());
            true
        }
        Err(_) => false,
    };
    if is_final {
        asked.certificate.clear();
    }
    let change = Record::of(Change::Certificate(Box::new(record)));
    match answer {
        Ok(()) => {
            let message = format!("The certificate with serial {serial} was revoked: {reason}");
            change.normal(now, Reason::Revoked, message)
        }
        Err(error) => {
            let message = format!("The certificate with serial {serial} is not revoked: {error}");
            change.warning(now, Reason::RevocationFailed, message)
        }
    }
}

/// Whether asking again is of no use.
fn is_final(error: &DeedError) -> bool {
    let limited = |problem: &Problem| problem.short_kind() == "rateLimited";
    // A CA that does not know who asks says nothing about the certificate.
    let waits = error.is_unknown_account() || error.problem.as_deref().is_some_and(limited);
    match error.kind {
        DeedErrorKind::Refused | DeedErrorKind::Gone => error.problem.is_some() && !waits,
        DeedErrorKind::Transient
        | DeedErrorKind::Unusable
        | DeedErrorKind::Precondition
        | DeedErrorKind::State
        | DeedErrorKind::Denied
        | DeedErrorKind::Broken
        | DeedErrorKind::Local => false,
    }
}
