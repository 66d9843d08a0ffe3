//! What is known of the limits of the accounts, read once for each.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use jiff::Timestamp;

use super::open::Workspace;
use super::outlook::{Outlook, continued};
use crate::engine::DryRun;
use crate::engine::inputs::account_id;
use crate::engine::ports::{Store, StoreError};
use crate::resource::{AccountIdentity, AccountLimits, Issuer, Ledger, Spent};
use crate::store::Records;

/// What the CA refused an account, and what the account spent of the limits that the CA publishes.
type Known = (AccountLimits, Option<Ledger>);

/// By the digest of the account's identity.
pub(super) type Ledgers = BTreeMap<String, Known>;

impl Workspace {
    /// What the order of this outlook spends of the limits of its account; where the CA would refuse
    /// it now, it waits.
    pub(super) async fn limit(
        &self,
        outlook: &mut Outlook,
        dry_run: &DryRun,
        ledgers: &mut Ledgers,
        now: Timestamp,
    ) -> Result<Vec<Spent>, StoreError> {
        if !outlook.orders() || continued(dry_run).is_some() {
            return Ok(Vec::new());
        }
        let (known, ledger) = self.ledger(ledgers, dry_run.then.issuer(), now).await?;
        Ok(outlook.limit(&dry_run.then, known, ledger.as_mut(), now))
    }

    /// That of an issuer's account.
    pub(super) async fn ledger<'l>(
        &self,
        ledgers: &'l mut Ledgers,
        issuer: &Issuer,
        now: Timestamp,
    ) -> Result<&'l mut Known, StoreError> {
        let account = AccountIdentity::of(issuer);
        let id = account_id(&account);
        Ok(match ledgers.entry(id.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let limits = self.settings.options.limits;
                let records = Records::new(self.state.documents());
                unknown.insert(records.ledger(&id, &account, limits, now).await?)
            }
        })
    }
}
