//! Accounts at the CAs of Issuers.

use std::collections::BTreeSet;

use super::open::Workspace;
use super::run::{Job, RunError};
use crate::controller::{EffectError, Snapshot};
use crate::engine::inputs::account_id;
use crate::engine::ports::{Store, StoreError};
use crate::engine::{AccountRequest, Ending, Goal, Task};
use crate::resource::{Account, AccountIdentity, AccountStep, Issuer};
use crate::store::Records;

/// The result for one account.
pub type Settled = Result<Result<Account, EffectError>, StoreError>;

impl Workspace {
    /// Brings the accounts of these Issuers to the requested state, one after the other.
    pub async fn settle_accounts(
        &self,
        issuers: &[&Issuer],
        request: AccountRequest,
        job: Job,
    ) -> Result<Vec<Settled>, RunError> {
        self.with_world(job, async |world| {
            let mut settled = Vec::new();
            for issuer in issuers {
                let task = Task { goal: Goal::Account(request), ..self.issuer_task(issuer) };
                let reached = self.reach(world, &task).await;
                let mut done = reached.map(|(ending, snapshot)| came_to(ending, &snapshot));
                // An account that is known already was settled without its key.
                if let (AccountRequest::Registered, Ok(Ok(_))) = (request, &done)
                    && let Err(error) = world.check_account_key(issuer).await
                {
                    done = Ok(Err(error));
                }
                settled.push(done);
            }
            settled
        })
        .await
    }
}

impl Workspace {
    /// The issuers of these tasks whose account is registered and has lost its key, each account
    /// once.
    pub async fn lost_account_keys<'t>(
        &self,
        tasks: &'t [Task],
    ) -> Result<Vec<&'t Issuer>, StoreError> {
        let records = Records::new(self.state.documents());
        let (mut seen, mut lost) = (BTreeSet::new(), Vec::new());
        for issuer in tasks.iter().flat_map(|task| task.issuers.iter()) {
            let id = account_id(&AccountIdentity::of(issuer));
            if !seen.insert(id.clone()) {
                continue;
            }
            let account = records.account(&id).await?.map(|known| known.value);
            let is_used = account.is_some_and(|account| {
                account.url.is_some() && account.next_step != AccountStep::Deactivated
            });
            if is_used && records.account_key(&id).await?.is_none() {
                lost.push(issuer);
            }
        }
        Ok(lost)
    }
}

fn came_to(ending: Ending, snapshot: &Snapshot) -> Result<Account, EffectError> {
    match (&snapshot.run.error, ending, &snapshot.account) {
        (Some((_, error)), ..) => Err(error.clone()),
        (None, Ending::Failed { failure, .. }, _) => Err(EffectError::new(failure.cause)),
        (None, _, Some(account)) => Ok(account.clone()),
        (None, _, None) => Err(EffectError::new(snapshot.not_registered())),
    }
}
