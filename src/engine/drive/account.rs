//! Work on the account, with everybody else kept out: the certificates of this process by a gate,
//! other processes by the account's lock.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use tokio::sync::Mutex;

use super::Drive;
use crate::controller::{Change, Effect, Step, account};
use crate::engine::ports::{Clock, Lock, Store, StoreError};
use crate::engine::session::Session;
use crate::engine::{Observer, Performer};

/// One certificate at a time works on an account, in this process; the file lock keeps others out.
#[derive(Default)]
pub(in crate::engine) struct AccountGates {
    gates: RefCell<HashMap<String, Rc<Mutex<()>>>>,
    /// Accounts that the CA had forgotten and that were made again in this run: once is enough.
    renewed: RefCell<HashSet<String>>,
}

impl AccountGates {
    pub(super) fn gate(&self, id: &str) -> Rc<Mutex<()>> {
        Rc::clone(self.gates.borrow_mut().entry(id.to_owned()).or_default())
    }
}

impl<C: Clock, S: Store, P: Performer, O: Observer> Drive<'_, C, S, P, O> {
    pub(super) fn needs_the_account(step: &Step) -> bool {
        match step {
            Step::Act(effects) => effects.iter().any(Effect::needs_the_account),
            Step::Record(record) => {
                record.changes.iter().any(|change| matches!(change, Change::Account(_)))
            }
            Step::Settled | Step::Wait { .. } | Step::Fail(_) => false,
        }
    }

    /// Works on the account until its room is settled, with everybody else kept out.
    pub(super) async fn settle_the_account(&mut self) -> Result<(), StoreError> {
        let id = self.session.account_id();
        let gate = self.shared.accounts.gate(&id);
        let _turn = gate.lock().await;
        self.session.load_account().await?;
        if self.shared.accounts.renewed.borrow().contains(&id) {
            self.session.snapshot.run.note_account();
        }
        if matches!(account::decide(&self.session.snapshot, self.engine.clock.now()), Step::Settled)
        {
            self.session.snapshot.run.note_account();
            return Ok(());
        }
        let wait = self.engine.options.lock_timeout;
        let _lease = self.engine.store.lock(&Lock::Account(id.clone()), wait).await?;
        self.session.load_account().await?;
        let url_of = |session: &Session<'_, S>| session.snapshot.account.as_ref()?.url.clone();
        let before = url_of(&self.session);
        let mut was_lost = false;
        while self.session.snapshot.run.trouble.is_none() {
            self.flush().await?;
            let snapshot = &self.session.snapshot;
            was_lost |= account::is_lost(snapshot)
                || (snapshot.run.account_is_lost && url_of(&self.session).is_none());
            match account::decide(&self.session.snapshot, self.engine.clock.now()) {
                Step::Record(record) => self.session.apply(record),
                Step::Act(effects) => {
                    for effect in effects {
                        let snapshot = Rc::new(self.session.snapshot.clone());
                        self.engine.observer.stage(&self.session.name, effect.stage());
                        let outcome = self.engine.performer.perform(snapshot, effect.clone()).await;
                        self.absorb(&effect, outcome);
                    }
                }
                Step::Settled => {
                    self.session.snapshot.run.note_account();
                    break;
                }
                Step::Wait { .. } | Step::Fail(_) => break,
            }
        }
        self.flush().await?;
        let Some(url) = url_of(&self.session).filter(|_| was_lost) else { return Ok(()) };
        self.shared.accounts.renewed.borrow_mut().insert(id);
        let before = before.unwrap_or_default();
        tracing::warn!(
            certificate = %self.session.name, account = url,
            "the CA did not know the account {before} any more: it was registered again with the \
             same key"
        );
        Ok(())
    }
}
