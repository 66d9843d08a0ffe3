//! Revocation of live certificates: written down first, done when it is due, and finished by the
//! next run when this one is killed in between.

use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use super::links;
use super::perform::World;
use super::ports::{Clock, Lock, Store, StoreError};
use super::session::{Session, Task};
use crate::controller::{EffectError, Intervals, Snapshot, revocation};
use crate::pki::Chain;
use crate::resource::{
    BannedKey, Cause, LeafFacts, NamespacedName, PublicKeyDigest, Revocation, RevocationReason,
};
use crate::store::Records;

/// How a revocation is wished for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Why.
    pub reason: RevocationReason,
    /// Before its replacement is there.
    pub at_once: bool,
    /// Nothing is issued in its place.
    pub without_replacement: bool,
}

/// What came of a wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The live certificate's revocation is owed from now on.
    Owed(Revocation),
    /// The live certificate is revoked already.
    Already(Revocation),
    /// Another one, which is not live any more, was owed still: that is finished first.
    Earlier(Revocation),
}

/// Why nothing can be revoked.
#[derive(Debug, Error)]
pub enum AskError {
    /// The state.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no certificate.
    #[error("{certificate}: nothing is issued that could be revoked")]
    Nothing {
        /// Whose.
        certificate: NamespacedName,
    },
    /// Today's issuer has no account at the CA that issued it.
    #[error("{certificate}: its issuer names {now}, and the live certificate is of {then}")]
    OtherCa {
        /// Whose.
        certificate: NamespacedName,
        /// The directory that the issuer names.
        now: String,
        /// The directory that issued.
        then: String,
    },
}

/// Writes down that the live certificate of a task is to be revoked. A compromised key is banned
/// before anything else.
pub async fn ask_to_revoke<S: Store>(
    store: &S,
    task: &Task,
    wish: Wish,
    lock_timeout: SignedDuration,
    now: Timestamp,
) -> Result<Asked, AskError> {
    let certificate = task.certificate.metadata.key();
    let _lease = store.lock(&Lock::Certificate(certificate.clone()), lock_timeout).await?;
    let mut session = Session::load(store, task, no_intervals(), now).await?;
    links::put_right(store, &mut session, task, no_intervals(), now).await?;
    let leaf = live(&session.snapshot).cloned();
    let live = leaf.as_ref().map_or("", |leaf| leaf.fingerprint.as_str());
    let known = &session.snapshot.record.revocations;
    if let Some(earlier) = known.iter().find(|asked| asked.is_owed() && asked.fingerprint != live) {
        let at_once = earlier.at_once || wish.at_once;
        let earlier = Revocation { at_once, ..earlier.clone() };
        let record = revocation::asked(&session.snapshot.record, earlier.clone());
        session.apply(record);
        session.flush().await?;
        return Ok(Asked::Earlier(earlier));
    }
    let (Some(leaf), Some(pem)) = (leaf, live_pem(store, task).await?) else {
        return Err(AskError::Nothing { certificate });
    };
    let record = &session.snapshot.record;
    let then = record.status.revision.and_then(|of| record.directory_urls.get(&of));
    let server = &task.issuer.acme.server;
    if let Some(then) = then.filter(|then| *then != server) {
        let (now, then) = (server.clone(), then.clone());
        return Err(AskError::OtherCa { certificate, now, then });
    }
    if wish.reason == RevocationReason::KeyCompromise {
        ban(store, &leaf.public_key, lock_timeout, now).await?;
    }
    if let Some(done) = revocation::of(record, &leaf.fingerprint).filter(|r| !r.is_owed()) {
        return Ok(Asked::Already(done.clone()));
    }
    let owed = Revocation {
        serial: leaf.serial,
        fingerprint: leaf.fingerprint,
        reason: wish.reason,
        asked_at: now,
        at_once: wish.at_once,
        without_replacement: wish.without_replacement,
        certificate: pem,
        revoked_at: None,
        refusal: None,
    };
    let record = revocation::asked(record, owed.clone());
    session.apply(record);
    session.flush().await?;
    Ok(Asked::Owed(owed))
}

/// One revocation that the CA was told of, as it is recorded now; the error when it is not done.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The revocation.
    pub revocation: Revocation,
    /// What the CA, or the way to it, said.
    pub answer: Result<(), EffectError>,
}

/// Revokes what is owed of a task's certificate and due, and says what came of it, and what stays
/// owed because it is not due.
pub async fn revoke_owed<C: Clock, S: Store>(
    clock: &C,
    store: &S,
    world: &World<'_, C, S>,
    task: &Task,
    lock_timeout: SignedDuration,
) -> Result<(Vec<Told>, Vec<Revocation>), StoreError> {
    let certificate = task.certificate.metadata.key();
    let _lease = store.lock(&Lock::Certificate(certificate), lock_timeout).await?;
    let mut session = Session::load(store, task, no_intervals(), clock.now()).await?;
    let mut told: Vec<Told> = Vec::new();
    loop {
        // One that could not be told stays owed: what comes behind it is left to the next run.
        let last = told.last().is_none_or(|told| !told.revocation.is_owed());
        let Some(due) = revocation::due(&session.snapshot).filter(|_| last).cloned() else { break };
        let answer = match Chain::from_pem(&due.certificate) {
            Ok(chain) => {
                let der = chain.certificates().first().map_or(&[][..], Vec::as_slice);
                world.revoke(&session.snapshot, der, due.reason).await
            }
            Err(error) => Err(EffectError::new(Cause::State {
                message: format!("the certificate that is kept for it is damaged: {error}"),
            })),
        };
        let (record, now) = (&session.snapshot.record, clock.now());
        let record = revocation::answered(record, &due.fingerprint, &answer, now);
        session.apply(record);
        session.flush().await?;
        let mut all = session.snapshot.record.revocations.iter();
        let noted = all.find(|asked| asked.fingerprint == due.fingerprint).cloned();
        told.push(Told { revocation: noted.unwrap_or(due), answer });
    }
    let is_told = |asked: &Revocation| told.iter().any(|told| told.revocation == *asked);
    let owed = session.snapshot.record.revocations.iter();
    let owed = owed.filter(|asked| asked.is_owed() && !is_told(asked)).cloned().collect();
    Ok((told, owed))
}

/// Adds a key to those that are never used again.
async fn ban<S: Store>(
    store: &S,
    key: &PublicKeyDigest,
    lock_timeout: SignedDuration,
    now: Timestamp,
) -> Result<(), StoreError> {
    let _lease = store.lock(&Lock::Scheduler, lock_timeout).await?;
    let records = Records::new(store);
    let kept = records.banned_keys().await?;
    let (mut banned, revision) =
        kept.map_or_else(Default::default, |kept| (kept.value, Some(kept.revision)));
    if banned.contains(key) {
        return Ok(());
    }
    banned.keys.push(BannedKey { public_key: key.clone(), since: now });
    records.put_banned_keys(&banned, revision.as_ref()).await.map(drop)
}

/// The live leaf in PEM.
async fn live_pem<S: Store>(store: &S, task: &Task) -> Result<Option<String>, StoreError> {
    let files = store.published(&task.certificate.secret_key()).await?;
    let pem = files.as_ref().and_then(|files| files.0.get("tls.crt"));
    let chain = pem.and_then(|pem| Chain::from_pem(std::str::from_utf8(pem).ok()?).ok());
    Ok(chain.and_then(|chain| {
        let der = chain.certificates().first()?;
        der::pem::encode_string("CERTIFICATE", der::pem::LineEnding::LF, der).ok()
    }))
}

/// The live leaf, unless it only stands in for it.
fn live(snapshot: &Snapshot) -> Option<&LeafFacts> {
    let leaf = snapshot.secret.as_ref()?.certificate.as_ref()?.as_ref().ok()?;
    (!leaf.is_temporary()).then_some(leaf)
}

/// Nothing is looked at again here.
fn no_intervals() -> Intervals {
    Intervals { self_check: SignedDuration::ZERO }
}
