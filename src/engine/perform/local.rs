//! Effects on this machine: preconditions, keys, CSRs.

use std::collections::BTreeSet;

use super::deploy::check_targets;
use super::error;
use super::world::World;
use crate::controller::{EffectError, Outcome, Secret, SecretContents};
use crate::engine::inputs::{names_of, solver_for};
use crate::engine::ports::{Clock, LiveFiles, Store};
use crate::engine::task::Task;
use crate::pki;
use crate::resource::{Cause, DeployTarget, Issuer, KeyAlgorithm};
use crate::store::Records;

/// Generates a key on a blocking thread, off the main one.
pub(super) async fn generate_key(
    algorithm: KeyAlgorithm,
    size: u32,
) -> Result<Outcome, EffectError> {
    let made = tokio::task::spawn_blocking(move || pki::PrivateKey::generate(algorithm, size));
    let key = made.await.map_err(error::local)?.map_err(error::local)?;
    Ok(Outcome::Key(Secret(key.to_pkcs8_pem()), key.facts().clone()))
}

impl<C: Clock, S: Store> World<'_, C, S> {
    /// Checks every local precondition before the first request to a CA.
    pub(super) async fn prepare(
        &self,
        task: &Task,
        issuer: &Issuer,
        solving: bool,
        contents: &SecretContents,
        targets: &[DeployTarget],
    ) -> Result<Outcome, EffectError> {
        self.can_be_stored(task)?;
        self.access(issuer).external_account_binding()?;
        self.formats_can_be_made(task, issuer, contents)?;
        check_targets(targets, &self.options.hooks, &self.options.bounds)?;
        if !solving {
            return Ok(Outcome::Prepared);
        }
        let mut served = BTreeSet::new();
        for name in names_of(&task.certificate) {
            let Some(chosen) = solver_for(issuer, &task.certificate, &name) else {
                return Err(error::precondition(format!(
                    "{name}: no solver of issuer \"{}\" matches this name",
                    issuer.metadata.name
                )));
            };
            let Some(dns01) = chosen.solver.dns01() else {
                served.insert(chosen.kind);
                continue;
            };
            self.provider(issuer, &dns01.provider).map_err(|error| {
                let cause = Cause::Solver {
                    identifier: name.clone(),
                    issuer: issuer.metadata.name.clone(),
                    cause: Box::new(error.cause),
                };
                EffectError { cause, ..error }
            })?;
        }
        let settings = task.settings();
        for kind in served {
            if let Some(solver) = self.served_solver(&settings, &kind) {
                solver.prepare().await.map_err(EffectError::new)?;
            }
        }
        Ok(Outcome::Prepared)
    }

    /// Checks the space for this certificate and those that are being issued beside it.
    fn can_be_stored(&self, task: &Task) -> Result<(), EffectError> {
        let name = task.certificate.metadata.key();
        let mut issuing = self.issuing.borrow_mut();
        issuing.insert(name.clone());
        // Those that failed since are among them; more than these are never at work at once.
        self.store.live_files().check_issuance(issuing.len().min(AT_ONCE)).map_err(|error| {
            issuing.remove(&name);
            error::state(&error)
        })
    }

    pub(super) async fn reuse_key(&self, task: &Task) -> Result<Outcome, EffectError> {
        let files = self.store.live_files().published(&task.certificate.secret_key()).await;
        let files = files.map_err(|e| error::state(&e))?;
        let bytes = files.as_ref().and_then(|files| files.0.get("tls.key"));
        let bytes = bytes.ok_or_else(|| error::local("there is no live key"))?;
        let text = std::str::from_utf8(bytes).map_err(error::local)?;
        let key = pki::PrivateKey::from_pem(text).map_err(error::local)?;
        Ok(Outcome::Key(Secret(key.to_pkcs8_pem()), key.facts().clone()))
    }

    pub(super) async fn build_request(&self, task: &Task) -> Result<Outcome, EffectError> {
        let key = self.next_key(task).await?;
        let csr = pki::build_csr(&task.certificate.spec, &key).map_err(error::local)?;
        Ok(Outcome::Request(csr.pem, key.facts().public_key.clone()))
    }

    pub(super) async fn next_key(&self, task: &Task) -> Result<pki::PrivateKey, EffectError> {
        let name = task.certificate.metadata.key();
        let bytes = Records::new(self.store.documents()).next_key(&name).await;
        let bytes = bytes.map_err(|e| error::state(&e))?;
        let bytes = bytes.ok_or_else(|| error::local("the next private key is gone"))?;
        let text = std::str::from_utf8(&bytes).map_err(error::local)?;
        pki::PrivateKey::from_pem(text).map_err(error::local)
    }
}

/// How many certificates at most are taken to be issued at a time, as `--parallel` is by default.
const AT_ONCE: usize = 256;
