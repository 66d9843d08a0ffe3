//! Exclusive access to the account: while the pipeline works on it, a gate keeps out the other
//! certificates of this process, and the account's lock keeps out other processes.

use tokio::sync::OwnedMutexGuard;

use super::state::Drive;
use crate::controller::{Change, Effect, Step, account};
use crate::engine::goal::Pass;
use crate::engine::ports::{Clock, Documents, LeaseOf, Lock, Ports, Store, StoreError};
use crate::resource::{AccountStep, CauseKind};

/// Exclusive access to the account until this is dropped.
pub(super) struct AccountTurn<L> {
    _gate: OwnedMutexGuard<()>,
    _lease: L,
    /// The account's URL before.
    before: Option<String>,
    /// The CA does not know the account (any more).
    was_lost: bool,
}

/// Whether a step is of the account's controller, or changes the account.
pub(super) fn needs_the_account(step: &Step) -> bool {
    match step {
        Step::Act(effects) => effects.iter().any(Effect::needs_the_account),
        Step::Record(record) => {
            record.changes.iter().any(|change| matches!(change, Change::Account(_)))
        }
        Step::Settled | Step::Wait { .. } | Step::Defer { .. } | Step::Fail(_) => false,
    }
}

impl<P: Ports> Drive<'_, P> {
    /// Locks the account; `None` when it needs no work any more by then.
    pub(super) async fn take_the_account(
        &mut self,
        pass: Pass,
    ) -> Result<Option<AccountTurn<LeaseOf<P::Store>>>, StoreError> {
        let id = self.session.account_id();
        let gate = self.shared.accounts.gate(&id).lock_owned().await;
        self.session.load_account().await?;
        if let Some(error) = self.shared.accounts.unreachable.borrow().get(&id) {
            self.session.snapshot.run.error = Some(error.clone());
            return Ok(None);
        }
        if self.shared.accounts.renewed.borrow().contains(&id) {
            self.session.snapshot.run.account.note_known();
        }
        if !needs_the_account(&self.next(pass, self.engine.ports.clock().now()).1) {
            self.session.snapshot.run.account.note_known();
            return Ok(None);
        }
        let wait = self.engine.options.lock_timeout;
        let lease = self.engine.ports.store().documents().lease(&Lock::Account(id), wait).await?;
        self.session.load_account().await?;
        let account = self.session.snapshot.account.as_ref();
        let before = account.and_then(|account| account.url.clone());
        let is_second = account.is_some_and(|account| account.next_step == AccountStep::Deactivate);
        self.session.snapshot.run.account.may_be_deactivated = is_second;
        Ok(Some(AccountTurn { _gate: gate, _lease: lease, before, was_lost: false }))
    }

    /// Notes whether the CA no longer knows the account.
    pub(super) fn look_at_the_account(&self, turn: &mut AccountTurn<LeaseOf<P::Store>>) {
        let snapshot = &self.session.snapshot;
        let has_url = snapshot.account.as_ref().is_some_and(|account| account.url.is_some());
        turn.was_lost |= account::is_lost(snapshot) || (snapshot.run.account.is_lost && !has_url);
    }

    /// Releases the account.
    pub(super) fn give_the_account_back(
        &mut self,
        turn: AccountTurn<LeaseOf<P::Store>>,
        step: &Step,
    ) {
        if !matches!(step, Step::Wait { .. } | Step::Defer { .. } | Step::Fail(_)) {
            self.session.snapshot.run.account.note_known();
        }
        let error = self.session.snapshot.run.error.clone();
        if let Some(error) = error.filter(|(_, error)| error.kind() == CauseKind::Transient) {
            let mut unreachable = self.shared.accounts.unreachable.borrow_mut();
            unreachable.insert(self.session.account_id(), error);
        }
        let account = self.session.snapshot.account.as_ref();
        let url = account.and_then(|account| account.url.clone());
        let Some(url) = url.filter(|_| turn.was_lost) else { return };
        self.shared.accounts.renewed.borrow_mut().insert(self.session.account_id());
        let before = turn.before.unwrap_or_default();
        tracing::warn!(
            certificate = %self.session.name, account = url,
            "the CA did not know the account {before} any more: it was registered again with the \
             same key"
        );
    }
}
