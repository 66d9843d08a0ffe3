//! Accounts at the CAs of Issuers.

use super::open::Workspace;
use super::run::{Job, RunError};
use crate::controller::{EffectError, Snapshot};
use crate::engine::ports::StoreError;
use crate::engine::{AccountRequest, Ending, Goal, Task};
use crate::resource::{Account, Issuer};

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
                settled.push(reached.map(|(ending, snapshot)| came_to(ending, &snapshot)));
            }
            settled
        })
        .await
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
