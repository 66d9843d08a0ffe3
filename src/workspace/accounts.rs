//! Accounts at the CAs of Issuers.

use super::open::Workspace;
use super::run::{Job, RunError};
use crate::controller::EffectError;
use crate::engine::ports::{StoreError, SystemClock};
use crate::engine::{AccountWish, settle_account};
use crate::resource::{Account, Issuer};

/// What came of a wish for one account.
pub type Settled = Result<Result<Account, EffectError>, StoreError>;

impl Workspace {
    /// Makes the accounts of these Issuers as they are wished to be, one after the other.
    pub async fn settle_accounts(
        &self,
        issuers: &[&Issuer],
        wish: AccountWish,
        job: Job,
    ) -> Result<Vec<Settled>, RunError> {
        let timeout = self.settings.options.lock_timeout;
        self.with_world(job, async |world| {
            let mut settled = Vec::new();
            for issuer in issuers {
                let task = self.issuer_task(issuer);
                let account =
                    settle_account(&SystemClock, &self.state, world, &task, wish, timeout);
                settled.push(Box::pin(account).await);
            }
            settled
        })
        .await
    }
}
