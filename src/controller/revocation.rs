//! What is revoked, and when: after its replacement is deployed, unless the user requested it
//! at once.
//!
//! | revocation | the live pair | step |
//! | --- | --- | --- |
//! | the CA has responded | – | none |
//! | at once | – | revoke |
//! | owed | that certificate | none: it is replaced first |
//! | owed | another, not deployed yet | none: servers may still use the old one |
//! | owed | another, deployed | revoke |
//!
//! A CA revokes by itself, too: that is found in its CRL ([`found`]), and the certificate is
//! replaced. CRLs are looked at once a day for a sample of the certificates ([`is_sampled`]), and
//! for one that its CA suddenly wants to be renewed now (`renewal::is_early`).

use jiff::{SignedDuration, Timestamp};

use thiserror::Error;

use super::policy::BANNED_KEY;
use super::run::UserRequest;
use super::{
    Change, Effect, EffectError, IllegalOutcome, Outcome, Record, RevocationSigner, Snapshot, Step,
    deploy,
};
use crate::resource::{
    BannedKey, Cause, CauseKind, CertificateRecord, Condition, ConditionStatus, ConditionType,
    Doing, Event, EventType, Failure, LeafFacts, NamespacedName, Problem, Reason, Revocation,
    RevocationAnswer, RevocationReason, RevokedCertificate,
};

/// How many completed revocations are remembered.
const MOST: usize = 16;

/// The result of a request to revoke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requested {
    /// The live certificate's revocation is owed from now on.
    Owed(Revocation),
    /// The live certificate is revoked already.
    Already(Revocation),
    /// The revocation of another, replaced certificate is still owed: it comes first.
    Earlier(Revocation),
}

/// Why nothing can be revoked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RevocationError {
    #[error("{}: there is no certificate to revoke", .certificate.short())]
    Nothing { certificate: NamespacedName },
    /// The certificate was renamed, or its secretName changed, and nothing was issued since.
    #[error(
        "{}: there is no certificate to revoke; the one in its Secret belongs to {}",
        .certificate.short(), .owner.short()
    )]
    OfAnother { certificate: NamespacedName, owner: NamespacedName },
    /// The current issuer has no account at the CA that issued it.
    #[error(
        "{}: its issuer names {now}, but the current certificate is from {then}",
        .certificate.short()
    )]
    OtherCa { certificate: NamespacedName, now: String, then: String },
}

/// Records the request, and revokes nothing yet.
pub fn decide_request(snapshot: &Snapshot, now: Timestamp) -> Step {
    let revocation = match requested(snapshot, now) {
        Ok(Requested::Owed(revocation) | Requested::Earlier(revocation)) => Some(revocation),
        Ok(Requested::Already(_)) => None,
        Err(error) => {
            return {
                let cause = Cause::precondition(error.to_string());
                Step::Fail(Failure::of(Doing::Nothing, cause))
            };
        }
    };
    let known = &snapshot.record.revocations;
    let new = revocation.filter(|revocation| !known.contains(revocation));
    let mut record = new.map_or_else(Record::default, |new| with_request(&snapshot.record, new));
    // A compromised key is banned first.
    if let Some(UserRequest::Revoke(request)) = &snapshot.run.request
        && request.reason == RevocationReason::KeyCompromise
        && let Some(leaf) = issued(snapshot).filter(|_| earlier(snapshot).is_none())
        && !snapshot.banned_keys.contains(&leaf.public_key)
    {
        let key = BannedKey { public_key: leaf.public_key.clone(), since: now };
        record.changes.insert(0, Change::Ban(key));
    }
    if record.changes.is_empty() { Step::Settled } else { Step::Record(record) }
}

/// The result of a request; the same again when it is recorded already.
pub fn requested(snapshot: &Snapshot, now: Timestamp) -> Result<Requested, RevocationError> {
    let certificate = snapshot.certificate.metadata.key();
    let Some(UserRequest::Revoke(request)) = &snapshot.run.request else {
        return Err(RevocationError::Nothing { certificate });
    };
    if let Some(earlier) = earlier(snapshot) {
        let at_once = earlier.at_once || request.at_once;
        return Ok(Requested::Earlier(Revocation { at_once, ..earlier.clone() }));
    }
    if let Some(owner) = owner(snapshot) {
        let owner = NamespacedName::new(&certificate.namespace, owner);
        return Err(RevocationError::OfAnother { certificate, owner });
    }
    let (Some(leaf), Some(pem)) = (issued(snapshot), &request.certificate) else {
        return Err(RevocationError::Nothing { certificate });
    };
    let record = &snapshot.record;
    let server = &snapshot.issuer().acme.server;
    if let Some(then) = record.issued_by().filter(|then| *then != server) {
        let (now, then) = (server.clone(), then.clone());
        return Err(RevocationError::OtherCa { certificate, now, then });
    }
    let known = record.revocation_of(&leaf.fingerprint);
    if let Some(done) = known.filter(|known| !known.is_owed()) {
        return Ok(Requested::Already(done.clone()));
    }
    let owed = Revocation {
        serial: leaf.serial.clone(),
        fingerprint: leaf.fingerprint.clone(),
        reason: request.reason,
        requested_at: now,
        at_once: request.at_once,
        without_replacement: request.without_replacement,
        certificate: pem.clone(),
        revoked_at: None,
        refusal: None,
    };
    let is_known = |known: &&Revocation| {
        **known == Revocation { requested_at: known.requested_at, ..owed.clone() }
    };
    Ok(Requested::Owed(known.filter(is_known).cloned().unwrap_or(owed)))
}

/// A replaced certificate whose revocation is owed.
fn earlier(snapshot: &Snapshot) -> Option<&Revocation> {
    let live = issued(snapshot).map_or("", |leaf| leaf.fingerprint.as_str());
    let mut owed = snapshot.record.revocations.iter().filter(|revocation| revocation.is_owed());
    owed.find(|revocation| revocation.fingerprint != live)
}

/// The live leaf, unless it is temporary or another Certificate's: one that was renamed, or has
/// another secretName now, finds the pair of another one in its Secret until its own is issued.
fn issued(snapshot: &Snapshot) -> Option<&LeafFacts> {
    own(snapshot).filter(|leaf| !leaf.is_temporary())
}

fn own(snapshot: &Snapshot) -> Option<&LeafFacts> {
    snapshot.live_leaf().filter(|_| owner(snapshot).is_none())
}

/// The other Certificate that the live pair was published for.
fn owner(snapshot: &Snapshot) -> Option<&str> {
    snapshot.secret.as_ref()?.other_owner(&snapshot.certificate.metadata.name)
}

/// See the table above. After a failed one, the others are left to the next run.
pub fn decide(snapshot: &Snapshot, _: Timestamp) -> Step {
    let was_tried = |revocation: &Revocation| {
        snapshot.run.revocations.iter().any(|(tried, _)| *tried == revocation.fingerprint)
    };
    let mut all = snapshot.record.revocations.iter();
    if all.any(|revocation| revocation.is_owed() && was_tried(revocation)) {
        return Step::Settled;
    }
    let Some(due) = due(snapshot) else { return Step::Settled };
    let account = snapshot.account.as_ref().and_then(|account| account.url.clone());
    Step::Act(vec![Effect::Revoke {
        certificate: due.certificate.clone(),
        fingerprint: due.fingerprint.clone(),
        reason: due.reason,
        signer: account.map_or(RevocationSigner::OwnKey, RevocationSigner::Account),
    }])
}

/// Whether the live certificate is revoked, without a replacement until the user requests one.
pub fn ends_here(snapshot: &Snapshot) -> bool {
    let revocation =
        snapshot.live_leaf().and_then(|leaf| snapshot.record.revocation_of(&leaf.fingerprint));
    revocation.is_some_and(|revocation| revocation.without_replacement)
}

/// The revocation of the live certificate, in words, when it is not replaced until the user
/// requests it.
pub fn unreplaced(record: &CertificateRecord, live: &LeafFacts) -> Option<String> {
    let revocation = record
        .revocation_of(&live.fingerprint)
        .filter(|revocation| revocation.without_replacement)?;
    let reason = revocation.reason;
    Some(match revocation.revoked_at {
        Some(_) => format!("it is revoked ({reason}), and not replaced"),
        None => format!("its revocation was requested ({reason}), without a replacement"),
    })
}

/// The first revocation that is due at the CA.
fn due(snapshot: &Snapshot) -> Option<&Revocation> {
    let live = own(snapshot).map(|leaf| leaf.fingerprint.as_str());
    let is_deployed = deploy::owed(snapshot).is_none();
    let mut owed = snapshot.record.revocations.iter().filter(|revocation| revocation.is_owed());
    owed.find(|revocation| {
        let is_replaced = live.is_some_and(|live| live != revocation.fingerprint);
        revocation.at_once || (is_replaced && is_deployed)
    })
}

/// Records what the CA did by itself, unless it is known, or the certificate is not live any more. A
/// compromised key is banned first.
pub fn found(snapshot: &Snapshot, found: &RevokedCertificate, now: Timestamp) -> Record {
    let leaf = issued(snapshot).filter(|leaf| leaf.fingerprint == found.fingerprint);
    let known = snapshot.record.revocation_of(&found.fingerprint);
    let (Some(leaf), None | Some(Revocation { revoked_at: None, .. })) = (leaf, known) else {
        return Record::default();
    };
    let RevokedCertificate { serial, reason, revoked_at, .. } = found;
    let message = format!("The CA has revoked the certificate with serial {serial}: {reason}");
    // Before it was found, whatever the clocks say: see `Revocation::was_found`.
    let before = now.checked_sub(SignedDuration::from_secs(1)).unwrap_or(now);
    let revocation = Revocation {
        requested_at: now,
        at_once: false,
        without_replacement: known.is_some_and(|known| known.without_replacement),
        revoked_at: Some((*revoked_at).min(before)),
        ..found.clone().into()
    };
    let mut record = revoked(&snapshot.record, revocation);
    if *reason == RevocationReason::KeyCompromise
        && !snapshot.banned_keys.contains(&leaf.public_key)
    {
        let key = BannedKey { public_key: leaf.public_key.clone(), since: now };
        record.changes.insert(0, Change::Ban(key));
    }
    record.warning(now, Reason::Revoked, message)
}

/// Remembers the revocation of a pair from before certctl, or of one whose certificate was forgotten:
/// it is not adopted, but replaced.
pub fn not_adopted(
    record: &CertificateRecord,
    revoked: RevokedCertificate,
    now: Timestamp,
) -> Record {
    let RevokedCertificate { serial, reason, .. } = &revoked;
    let message =
        format!("The certificate with serial {serial} is not adopted: it is revoked ({reason})");
    let record = Record::of(Change::Certificate(Box::new(with(record, revoked.into()))));
    record.warning(now, Reason::Revoked, message)
}

/// The record with a revocation that the CA has confirmed or made by itself, which is remembered for
/// good before.
fn revoked(record: &CertificateRecord, revocation: Revocation) -> Record {
    let for_good = RevokedCertificate::of(&revocation).map(Change::Revoked);
    let record = Change::Certificate(Box::new(with(record, revocation)));
    Record { changes: for_good.into_iter().chain([record]).collect(), ..Record::default() }
}

/// The record of a certificate that has, or had, the certificate of a file that the CA has revoked,
/// with an event; `None` when it knows that.
pub fn noted(
    record: &CertificateRecord,
    leaf: &LeafFacts,
    reason: RevocationReason,
    now: Timestamp,
) -> Option<(CertificateRecord, Event)> {
    let known = record.revocation_of(&leaf.fingerprint);
    if known.is_some_and(|known| known.revoked_at.is_some()) {
        return None;
    }
    let revocation = Revocation {
        without_replacement: known.is_some_and(|known| known.without_replacement),
        ..RevokedCertificate::new(leaf, reason, now).into()
    };
    let serial = &leaf.serial;
    let message = format!("The certificate with serial {serial} was revoked by its file: {reason}");
    let event = Event { time: now, kind: EventType::Normal, reason: Reason::Revoked, message };
    Some((with(record, revocation), event))
}

/// Whether a certificate belongs to the sample whose CRLs are looked at now, of so many: each is at
/// least once in a week. `last` is the time of the last look.
pub fn is_sampled(
    fingerprint: &str,
    count: usize,
    last: Option<Timestamp>,
    now: Timestamp,
) -> bool {
    if count <= ALL {
        return true;
    }
    let digits = fingerprint.get(..12).and_then(|digits| i64::from_str_radix(digits, 16).ok());
    // Its own moment in each period: a look is due when one has passed since the last.
    let turn = |at: Timestamp| {
        at.as_second().saturating_add(digits.unwrap_or_default() % PERIOD).div_euclid(PERIOD)
    };
    let last = last.or_else(|| now.checked_sub(LOOK_EVERY).ok());
    last.is_none_or(|last| turn(last) < turn(now))
}

/// Whether a kept CRL, which holds until `next_update`, is not fetched again yet.
pub fn is_fresh(written: Timestamp, next_update: Option<Timestamp>, now: Timestamp) -> bool {
    let at_span = |span| written.saturating_add(span).unwrap_or(Timestamp::MAX);
    let (least, most) = (at_span(SHORTEST_RETENTION), at_span(LONGEST_RETENTION));
    let until = next_update.unwrap_or(least).clamp(least, most);
    written <= now && now < until
}

/// So few certificates are all in the sample.
const ALL: usize = 100;
/// In so many seconds each certificate has one turn; with the time between two looks, and runs that
/// are late, that is less than a week.
const PERIOD: i64 = 5 * 24 * 3600;
/// How long from one look at the CRLs of a sample to the next.
pub const LOOK_EVERY: SignedDuration = SignedDuration::from_hours(24);
/// The same, when a CRL could not be had.
pub const LOOK_AGAIN: SignedDuration = SignedDuration::from_hours(6);
/// How long a CRL is kept at least.
const SHORTEST_RETENTION: SignedDuration = SignedDuration::from_hours(1);
/// How long a CRL is kept at most.
pub const LONGEST_RETENTION: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The record with a revocation that is owed from now on.
fn with_request(record: &CertificateRecord, revocation: Revocation) -> Record {
    let (time, reason) = (revocation.requested_at, revocation.reason);
    let message = format!("Revocation of serial {} requested: {reason}", revocation.serial);
    let record = with(record, revocation);
    Record::of(Change::Certificate(Box::new(record))).normal(time, Reason::Revoked, message)
}

/// What is left without the revocations that are still owed.
#[derive(Clone, Debug, PartialEq)]
pub struct Cancelled {
    pub record: CertificateRecord,
    /// One for each revocation.
    pub events: Vec<Event>,
    /// Whether the issuance that they asked for ends: an open order is not needed then.
    pub is_withdrawn: bool,
}

/// The record without the revocations that are still owed, and without the issuance of a replacement
/// that nothing else asks for.
pub fn cancelled(record: &CertificateRecord, now: Timestamp) -> Cancelled {
    let owed = || record.revocations.iter().filter(|revocation| revocation.is_owed());
    let event = |revocation: &Revocation| {
        let message =
            format!("Revocation of serial {} cancelled: {}", revocation.serial, revocation.reason);
        Event { time: now, kind: EventType::Normal, reason: Reason::Revoked, message }
    };
    let events = owed().map(event).collect();
    let is_live = |revocation: &&Revocation| {
        record.issued_fingerprint.as_ref().is_none_or(|live| *live == revocation.fingerprint)
    };
    let of_live = owed().find(is_live).cloned();
    let mut record = record.clone();
    record.revocations.retain(|revocation| !revocation.is_owed());
    let is_withdrawn =
        of_live.is_some_and(|revocation| takes_issuance_along(&mut record, &revocation, now));
    Cancelled { record, events, is_withdrawn }
}

/// Whether the issuance that a cancelled revocation of the live certificate asked for ends with it.
fn takes_issuance_along(
    record: &mut CertificateRecord,
    cancelled: &Revocation,
    now: Timestamp,
) -> bool {
    if cancelled.reason == RevocationReason::KeyCompromise {
        // The key stays banned, and is replaced all the same.
        let of_revocation = |issuing: &&Condition| issuing.reason == Reason::Revoked;
        if let Some(issuing) = is_issuing(record).filter(of_revocation).cloned() {
            let (reason, message) = (Reason::BannedKey, BANNED_KEY.to_owned());
            record.status.set_condition(Condition { reason, message, ..issuing });
        }
        return false;
    }
    let is_due = record.status.renewal_time.is_some_and(|due| due <= now);
    !is_due && withdraw(record, cancelled.requested_at)
}

fn is_issuing(record: &CertificateRecord) -> Option<&Condition> {
    let issuing = record.status.condition(ConditionType::Issuing);
    issuing.filter(|issuing| issuing.status == ConditionStatus::True)
}

/// Ends the issuance of a replacement, and forgets its failures, as all is as before the request.
/// `false` where an issuance that something else asked for is under way.
fn withdraw(record: &mut CertificateRecord, requested_at: Timestamp) -> bool {
    let issuing = is_issuing(record);
    if issuing.is_some_and(|issuing| issuing.reason != Reason::Revoked) {
        return false;
    }
    let is_open = issuing.is_some();
    let is_since = |at: Option<Timestamp>| at.is_some_and(|at| requested_at <= at);
    let last = record.last_failure.as_ref().and_then(|failure| failure.at);
    if is_open || is_since(record.status.last_failure_time) {
        record.status.remove_condition(ConditionType::Issuing);
    }
    record.retry_after = None;
    if is_since(last) {
        record.last_failure = None;
        record.alerted = 0;
    }
    if is_since(record.status.last_failure_time) {
        record.status.last_failure_time = None;
        record.status.failed_issuance_attempts = None;
        record.attempted_inputs.clear();
    }
    true
}

/// The record with a revocation, which replaces an earlier one of the same certificate.
fn with(record: &CertificateRecord, revocation: Revocation) -> CertificateRecord {
    let mut record = record.clone();
    record.revocations.retain(|known| known.fingerprint != revocation.fingerprint);
    while record.revocations.len() >= MOST
        && let Some(oldest) = record.revocations.iter().position(|known| !known.is_owed())
    {
        record.revocations.remove(oldest);
    }
    record.revocations.push(revocation);
    record
}

/// Records the CA's response. With an unreachable CA, the revocation stays owed.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other outcome is refused, not kept")]
pub fn absorb(
    snapshot: &mut Snapshot,
    fingerprint: &str,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    let answer = match outcome {
        Outcome::Revoked(answer) => Ok(answer),
        Outcome::Failed(error) => Err(error),
        other => return Err(IllegalOutcome::new("revoking", &other)),
    };
    let record = answered(&snapshot.record, fingerprint, &answer, now);
    snapshot.run.revocations.push((fingerprint.to_owned(), answer));
    Ok(record)
}

fn answered(
    record: &CertificateRecord,
    fingerprint: &str,
    answer: &Result<RevocationAnswer, EffectError>,
    now: Timestamp,
) -> Record {
    let mut all = record.revocations.iter();
    let Some(mut revocation) =
        all.find(|revocation| revocation.fingerprint == fingerprint).cloned()
    else {
        return Record::default();
    };
    let (serial, reason) = (revocation.serial.clone(), revocation.reason);
    let is_final = match answer {
        Ok(_) => {
            revocation.revoked_at = Some(now);
            true
        }
        Err(error) if is_final(error) => {
            revocation.refusal = Some(error.cause.clone());
            true
        }
        Err(_) => false,
    };
    if is_final {
        revocation.certificate.clear();
    }
    let change = revoked(record, revocation);
    match answer {
        Ok(_) => {
            let message = format!("The certificate with serial {serial} was revoked: {reason}");
            change.normal(now, Reason::Revoked, message)
        }
        Err(error) => {
            let message = format!("The certificate with serial {serial} is not revoked: {error}");
            change.warning(now, Reason::RevocationFailed, message)
        }
    }
}

/// Whether a retry does not help.
fn is_final(error: &EffectError) -> bool {
    let limited = |problem: &Problem| problem.short_kind() == "rateLimited";
    // A CA that does not know the account says nothing about the certificate.
    let waits = error.cause.is_unknown_account() || error.problem().is_some_and(limited);
    match error.kind() {
        CauseKind::Refused | CauseKind::Gone => error.problem().is_some() && !waits,
        CauseKind::Transient
        | CauseKind::Unusable
        | CauseKind::Precondition
        | CauseKind::State
        | CauseKind::Unauthorized
        | CauseKind::Denied
        | CauseKind::Program
        | CauseKind::Local => false,
    }
}
