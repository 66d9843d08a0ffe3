//! Revocations: of a live certificate by name, of those owed, and of a certificate in a file.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use super::open::Workspace;
use super::run::{Job, RunError};
use super::selection::Targets;
use crate::controller::order::given_up;
use crate::controller::revocation::{self, Cancelled, Requested, RevocationError, requested};
use crate::controller::{
    Effect, EffectError, Intervals, Outcome, RevocationRequest, RevocationSigner, Secret, Snapshot,
};
use crate::engine::ports::{
    Clock as _, Documents, LiveFiles, Lock, SecretSet, Store, StoreError, SystemClock, Unguarded,
};
use crate::engine::{Ending, Goal, Performer as _, Seen, Task, ban, look, published_pair};
use crate::pki::{Chain, PrivateKey};
use crate::resource::{
    BannedKey, CertificateRecord, Failure, LeafFacts, NamespacedName, Revocation, RevocationAnswer,
    RevocationReason, RevokedCertificate, SecretFiles,
};
use crate::store::{CertificateDocument, Records};

/// Why nothing is revoked.
#[derive(Debug, Error)]
pub enum AskError {
    /// The run could not start.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The certificate cannot be revoked.
    #[error(transparent)]
    Refused(#[from] RevocationError),
    /// The request could not be recorded.
    #[error("{0}")]
    Failed(Failure),
}

/// One revocation that was sent to the CA, as recorded now; the error when it failed.
#[derive(Clone, Debug, PartialEq)]
pub struct SentRevocation {
    pub revocation: Revocation,
    /// The CA's or the connection's error.
    pub answer: Result<RevocationAnswer, EffectError>,
}

/// The result of the revocations of one certificate.
pub enum Finished {
    /// The first were sent to a CA, the others are not due yet.
    Sent(Vec<SentRevocation>, Vec<Revocation>),
    /// Its Certificate and Issuer are not loaded.
    WithoutManifest,
    /// The state could not be read or written.
    Failed(StoreError),
}

/// A certificate to revoke that certctl does not manage.
#[derive(Debug)]
pub struct ForeignRevocation<'a> {
    /// The certificate and its issuer's.
    pub chain: &'a Chain,
    /// Its own key, which can sign the request for any account.
    pub key: Option<&'a PrivateKey>,
    pub reason: RevocationReason,
}

/// Why the CA of one Issuer did not revoke it.
#[derive(Debug)]
pub struct Refusal {
    pub issuer: String,
    /// The CA's error.
    pub error: EffectError,
}

/// A certificate of ours that has the revoked certificate of a file, live or kept.
#[derive(Debug)]
pub struct Holder {
    pub certificate: NamespacedName,
    /// The revision that it is; 0 for the one that was adopted.
    pub revision: u32,
    pub is_live: bool,
    /// Why its record does not say so.
    pub error: Option<StoreError>,
}

/// What the state keeps of a certificate in a file that is revoked.
#[derive(Debug, Default)]
pub struct Remembered {
    /// By name.
    pub holders: Vec<Holder>,
    /// Why its compromised key is not banned.
    pub unbanned: Option<StoreError>,
    /// Why it may be adopted again.
    pub adoptable: Option<StoreError>,
}

/// Whether a certificate has a revocation left to do.
pub fn owes(record: &CertificateRecord) -> bool {
    record.revocations.iter().any(Revocation::is_owed)
}

impl Workspace {
    /// Records that the live certificate of a task is to be revoked.
    pub async fn ask_to_revoke(
        &self,
        task: &Task,
        request: RevocationRequest,
        job: Job,
    ) -> Result<Requested, AskError> {
        let task = Task { goal: Goal::Revoke(Some(request)), ..task.clone() };
        let reached = self.with_world(job, async |world| self.reach(world, &task).await).await?;
        let (ending, snapshot) = reached.map_err(RunError::from)?;
        if let Ending::Failed { failure, .. } = ending
            && snapshot.run.error.is_some()
        {
            return Err(AskError::Failed(failure));
        }
        Ok(requested(&snapshot, SystemClock.now())?)
    }

    /// Performs the owed revocations of one certificate, or of all known ones.
    pub async fn finish_revocations(
        &mut self,
        only: Option<&NamespacedName>,
        verb: &'static str,
    ) -> Result<Vec<(NamespacedName, Finished)>, RunError> {
        self.read_records().await?;
        let is_meant = |name: &NamespacedName| only.is_none_or(|only| only == name);
        let owing = self.records().iter().filter(|(name, record)| is_meant(name) && owes(record));
        let owing: Vec<NamespacedName> = owing.map(|(name, _)| name.clone()).collect();
        if owing.is_empty() {
            return Ok(Vec::new());
        }
        let all = self.everything();
        let job = Job::new(verb, all.secrets.clone());
        self.with_world(job, async |world| {
            let mut finished = Vec::new();
            for name in owing {
                let done = match all.task(&name) {
                    Some(task) => {
                        let task = Task { goal: Goal::Revoke(None), ..task.clone() };
                        match self.reach(world, &task).await {
                            Ok((ending, snapshot)) => result(ending, snapshot),
                            Err(error) => Finished::Failed(error),
                        }
                    }
                    None => Finished::WithoutManifest,
                };
                finished.push((name, done));
            }
            finished
        })
        .await
    }

    /// Revokes a certificate at the first of the Issuers' CAs that accepts: the CA's directory URL,
    /// or why none did.
    pub async fn revoke_foreign(
        &self,
        targets: &Targets,
        foreign: &ForeignRevocation<'_>,
    ) -> Result<Result<(String, RevocationAnswer), Vec<Refusal>>, RunError> {
        let intervals = Intervals { self_check: SignedDuration::ZERO };
        let ForeignRevocation { chain, key, reason } = foreign;
        let job = Job::new("revoke", targets.secrets.clone());
        self.with_world(job, async |world| {
            let mut refusals = Vec::new();
            for issuer in &targets.loaded.issuers {
                let task = self.issuer_task(issuer);
                let looked = look(self.state(), &task, intervals, SystemClock.now());
                let Ok(Seen { snapshot, .. }) = Box::pin(looked).await else { continue };
                let account = snapshot.account.and_then(|account| account.url);
                let signer = match (key, account) {
                    (Some(key), _) => RevocationSigner::Certificate(Secret(key.to_pkcs8_pem())),
                    (None, Some(url)) => RevocationSigner::Account(url),
                    (None, None) => continue,
                };
                let effect = Effect::Revoke {
                    certificate: chain.to_pem(),
                    fingerprint: chain.leaf().fingerprint.clone(),
                    reason: *reason,
                    signer,
                };
                let outcome =
                    world.perform(&task, Arc::clone(&task.issuers.first), effect, &Unguarded);
                let outcome = Box::pin(outcome).await;
                if let Outcome::Revoked(answer) = outcome {
                    return Ok((issuer.acme.server.clone(), answer));
                }
                if let Outcome::Failed(error) = outcome {
                    refusals.push(Refusal { issuer: issuer.metadata.name.clone(), error });
                }
            }
            Err(refusals)
        })
        .await
    }
}

impl Workspace {
    /// That the live certificate is revoked, and not replaced until the user requests it.
    pub async fn unreplaced(&self, name: &NamespacedName) -> Option<String> {
        let record = self.record(name)?;
        if !record.revocations.iter().any(|revocation| revocation.without_replacement) {
            return None;
        }
        revocation::unreplaced(record, &self.live_leaf(name).await.ok()??)
    }

    /// Records that the CA has revoked the certificate of a file, in each certificate of ours that
    /// has it live or among its kept sets: none makes it live again. A compromised key is banned
    /// first.
    pub async fn remember_revoked(&self, leaf: &LeafFacts, reason: RevocationReason) -> Remembered {
        let now = SystemClock.now();
        let mut remembered = Remembered::default();
        if reason == RevocationReason::KeyCompromise {
            let key = BannedKey { public_key: leaf.public_key.clone(), since: now };
            let wait = self.settings.options.lock_timeout;
            remembered.unbanned = ban(&self.state, key, wait).await.err();
        }
        let revoked = RevokedCertificate::new(leaf, reason, now);
        remembered.adoptable =
            Records::new(self.state.documents()).remember_revoked(&revoked).await.err();
        for (name, record) in &self.records {
            let secret = NamespacedName::new(&name.namespace, &record.secret_name);
            let (found, error) = match self.holding(name, &secret, leaf).await {
                Ok(None) => continue,
                Ok(Some(found)) => (found, self.note_revoked(name, leaf, reason, now).await.err()),
                Err(error) => ((0, false), Some(error)),
            };
            let (revision, is_live) = found;
            let certificate = name.clone();
            remembered.holders.push(Holder { certificate, revision, is_live, error });
        }
        remembered
    }

    /// Cancels the owed revocations of a certificate, whose manifest is not needed, and the issuance
    /// that only they asked for: those that were owed.
    pub async fn cancel_revocations(
        &self,
        name: &NamespacedName,
    ) -> Result<Vec<Revocation>, StoreError> {
        let lock = Lock::Certificate(name.clone());
        let lease = self.state.documents().lease(&lock, self.settings.options.lock_timeout).await?;
        let mut stored = CertificateDocument::under(&lease, self.state.documents(), name).await?;
        let Some(record) = stored.record().await? else { return Ok(Vec::new()) };
        let owed = record.revocations.iter().filter(|revocation| revocation.is_owed());
        let owed: Vec<Revocation> = owed.cloned().collect();
        if !owed.is_empty() {
            let now = SystemClock.now();
            let Cancelled { record, events, is_withdrawn } = revocation::cancelled(&record, now);
            if is_withdrawn {
                give_up_orders(&mut stored, now).await?;
            }
            stored.put_record(&record).await?;
            stored.settle(&[]).await?;
            Records::new(self.state.documents()).note_events(name, &events).await?;
        }
        Ok(owed)
    }

    /// The revision of a Secret that is this leaf, published for this certificate, and whether it is
    /// live.
    async fn holding(
        &self,
        name: &NamespacedName,
        secret: &NamespacedName,
        leaf: &LeafFacts,
    ) -> Result<Option<(u32, bool)>, StoreError> {
        let is_it = |files: &SecretFiles| {
            let pair = published_pair(files);
            let is_leaf = pair.leaf().is_some_and(|found| found.fingerprint == leaf.fingerprint);
            is_leaf && pair.other_owner(&name.name).is_none()
        };
        let sets = self.state.live_files().sets(secret).await?;
        let of_a_set = |set: &&SecretSet| set.files.as_ref().is_ok_and(is_it);
        let found = sets.iter().filter(of_a_set).max_by_key(|set| set.is_live);
        if let Some(set) = found {
            return Ok(Some((set.revision, set.is_live)));
        }
        // A pair from before certctl is in no set yet.
        let live = self.state.live_files().published(secret).await?;
        Ok(live.as_ref().is_some_and(is_it).then_some((0, true)))
    }

    async fn note_revoked(
        &self,
        name: &NamespacedName,
        leaf: &LeafFacts,
        reason: RevocationReason,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let lock = Lock::Certificate(name.clone());
        let lease = self.state.documents().lease(&lock, self.settings.options.lock_timeout).await?;
        let mut stored = CertificateDocument::under(&lease, self.state.documents(), name).await?;
        let Some(record) = stored.record().await? else { return Ok(()) };
        let Some((record, event)) = revocation::noted(&record, leaf, reason, now) else {
            return Ok(());
        };
        stored.put_record(&record).await?;
        stored.settle(&[]).await?;
        Records::new(self.state.documents()).note_events(name, &[event]).await
    }
}

/// Ends the open orders of a certificate; the next run removes what they presented.
async fn give_up_orders<D: Documents>(
    stored: &mut CertificateDocument<'_, D>,
    now: Timestamp,
) -> Result<(), StoreError> {
    for (id, order) in stored.orders().await? {
        let order = order?;
        if order.phase.is_open() {
            let ended = given_up(&order, "its revocation was cancelled", now);
            stored.put_order(id, &ended, Some(&order)).await?;
        }
    }
    Ok(())
}

/// The revocations sent to the CA, or that could not be sent, and those that are not due yet.
fn result(ending: Ending, snapshot: Snapshot) -> Finished {
    let all = &snapshot.record.revocations;
    let answers = snapshot.run.revocations;
    let sent = answers.iter().filter_map(|(fingerprint, answer)| {
        let revocation = all.iter().find(|requested| requested.fingerprint == *fingerprint)?;
        Some(SentRevocation { revocation: revocation.clone(), answer: answer.clone() })
    });
    let mut sent: Vec<SentRevocation> = sent.collect();
    if let Ending::Failed { failure, .. } = ending
        && let Some(first) = all.iter().find(|requested| requested.is_owed())
    {
        let answer = Err(EffectError::new(failure.cause));
        sent.push(SentRevocation { revocation: first.clone(), answer });
    }
    let is_sent = |requested: &Revocation| sent.iter().any(|sent| sent.revocation == *requested);
    let owed = all
        .iter()
        .filter(|requested| requested.is_owed() && !is_sent(requested))
        .cloned()
        .collect();
    Finished::Sent(sent, owed)
}
