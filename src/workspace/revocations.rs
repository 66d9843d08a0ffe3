//! Revocations: of what is live by name, of what is owed, and of what is in a file.

use jiff::SignedDuration;

use super::open::Workspace;
use super::run::{Job, RunError};
use super::selection::Targets;
use crate::controller::{EffectError, Intervals};
use crate::engine::ports::{Clock as _, StoreError, SystemClock};
use crate::engine::{AskError, Asked, Task, Told, Wish, ask_to_revoke, look, revoke_owed};
use crate::pki::{Chain, PrivateKey};
use crate::resource::{CertificateRecord, NamespacedName, Revocation, RevocationReason};

/// What was done about the revocations of one certificate.
pub enum Finished {
    /// These were told to a CA, and those are not due yet.
    Told(Vec<Told>, Vec<Revocation>),
    /// Its Certificate and Issuer are not there.
    WithoutManifest,
    /// The state stood in the way.
    Failed(StoreError),
}

/// A certificate that is not managed here, to be revoked.
#[derive(Debug)]
pub struct ForeignRevocation<'a> {
    /// It and what issued it.
    pub chain: &'a Chain,
    /// Its own key, which any account may revoke with.
    pub key: Option<&'a PrivateKey>,
    /// Why.
    pub reason: RevocationReason,
}

/// Why an Issuer's CA did not revoke.
#[derive(Debug)]
pub struct Refusal {
    /// The Issuer.
    pub issuer: String,
    /// What it said.
    pub error: EffectError,
}

/// Whether something of a certificate is still to be revoked.
pub fn owes(record: &CertificateRecord) -> bool {
    record.revocations.iter().any(Revocation::is_owed)
}

impl Workspace {
    /// Writes down that the live certificate of a task is to be revoked.
    pub async fn ask_to_revoke(&self, task: &Task, wish: Wish) -> Result<Asked, AskError> {
        let timeout = self.settings().options.lock_timeout;
        Box::pin(ask_to_revoke(&self.state, task, wish, timeout, SystemClock.now())).await
    }

    /// Revokes what is owed of one certificate, or of all that are known.
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
        let timeout = self.settings().options.lock_timeout;
        let job = Job::new(verb, all.secrets.clone());
        self.with_world(job, async |world| {
            let mut finished = Vec::new();
            for name in owing {
                let done = match all.task(&name) {
                    Some(task) => {
                        let done = revoke_owed(&SystemClock, self.state(), world, task, timeout);
                        match Box::pin(done).await {
                            Ok((told, owed)) => Finished::Told(told, owed),
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

    /// Revokes a certificate at the first of the Issuers' CAs that does it: the CA's directory URL,
    /// or why none did.
    pub async fn revoke_foreign(
        &self,
        targets: &Targets,
        foreign: &ForeignRevocation<'_>,
    ) -> Result<Result<String, Vec<Refusal>>, RunError> {
        let intervals = Intervals { self_check: SignedDuration::ZERO };
        let ForeignRevocation { chain, key, reason } = foreign;
        let der = chain.certificates().first().map_or(&[][..], Vec::as_slice);
        let job = Job::new("revoke", targets.secrets.clone());
        self.with_world(job, async |world| {
            let mut refusals = Vec::new();
            for issuer in &targets.loaded.issuers {
                let task = self.issuer_task(issuer);
                let looked = look(self.state(), &task, intervals, SystemClock.now());
                let Ok(snapshot) = Box::pin(looked).await else { continue };
                let is_registered = snapshot.account.as_ref().is_some_and(|a| a.url.is_some());
                let done = match key {
                    Some(key) => Box::pin(world.revoke_by_key(&snapshot, key, der, *reason)).await,
                    None if !is_registered => continue,
                    None => Box::pin(world.revoke(&snapshot, der, *reason)).await,
                };
                match done {
                    Ok(()) => return Ok(issuer.acme.server.clone()),
                    Err(error) => {
                        let issuer = issuer.metadata.name.clone();
                        refusals.push(Refusal { issuer, error });
                    }
                }
            }
            Err(refusals)
        })
        .await
    }
}
