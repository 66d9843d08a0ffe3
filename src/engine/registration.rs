//! Work on an Issuer's account alone, without a certificate: registering as an issuance would,
//! telling contacts, giving it up.

use std::rc::Rc;

use jiff::SignedDuration;

use super::Performer as _;
use super::perform::World;
use super::ports::{Clock, Key, Lock, Store, StoreError};
use super::session::{Session, Task};
use crate::controller::{Change, EffectError, Intervals, Record, Step, account as room};
use crate::resource::{Account, AccountDeed, Cause};

/// What is to be done with an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountWish {
    /// There is to be one, with the Issuer's contacts.
    Registered,
    /// The CA is to be told the Issuer's contacts, whatever it was told before.
    Updated,
    /// It is to be given up for good (RFC 8555 section 7.3.6).
    Deactivated,
}

/// Does what is wished for with the account of a task's issuer, under the account's lock. Nothing
/// is written of the task's certificate, which only stands for the issuer.
pub async fn settle_account<C: Clock, S: Store>(
    clock: &C,
    store: &S,
    world: &World<'_, C, S>,
    task: &Task,
    wish: AccountWish,
    lock_timeout: SignedDuration,
) -> Result<Result<Account, EffectError>, StoreError> {
    let intervals = Intervals { self_check: SignedDuration::ZERO };
    let session = Session::load(store, task, intervals, clock.now()).await?;
    let _lease = store.lock(&Lock::Account(session.account_id()), lock_timeout).await?;
    let mut session = Session::load(store, task, intervals, clock.now()).await?;
    if wish != AccountWish::Registered {
        let known = session.snapshot.account.clone().filter(|account| account.url.is_some());
        let Some(known) = known else {
            return Ok(Err(not_registered(&task.issuer.acme.server)));
        };
        if wish == AccountWish::Deactivated {
            return deactivate(store, world, &mut session, known).await;
        }
        let asked = Account { deed: AccountDeed::UpdateContacts, ..known };
        session.apply(Record::of(Change::Account(Box::new(asked))));
    }
    loop {
        session.flush_without_journal().await?;
        let effects = match room::next(&session.snapshot) {
            Step::Record(record) => {
                session.apply(record);
                continue;
            }
            Step::Act(effects) => effects,
            Step::Fail(failure) => return Ok(Err(EffectError::new(failure.cause))),
            Step::Settled | Step::Wait { .. } => break,
        };
        for effect in effects {
            let snapshot = Rc::new(session.snapshot.clone());
            let outcome = world.perform(snapshot, effect.clone()).await;
            let now = clock.now();
            session.snapshot.run.note(&effect, &outcome, intervals, now);
            if let Some((_, error)) = session.snapshot.run.trouble.take() {
                return Ok(Err(error));
            }
            match room::absorb(&session.snapshot, &effect, outcome, now) {
                Ok(record) => session.apply(record),
                Err(illegal) => return Ok(Err(precondition(illegal.to_string()))),
            }
        }
    }
    let account = session.snapshot.account.clone();
    Ok(account.ok_or_else(|| not_registered(&task.issuer.acme.server)))
}

/// That it is given up is written down first. A CA that then does not know the account any more
/// was told by a run whose answer was lost.
async fn deactivate<C: Clock, S: Store>(
    store: &S,
    world: &World<'_, C, S>,
    session: &mut Session<'_, S>,
    known: Account,
) -> Result<Result<Account, EffectError>, StoreError> {
    let is_second = known.deed == AccountDeed::Deactivate;
    let asked = Account { deed: AccountDeed::Deactivate, ..known };
    session.apply(Record::of(Change::Account(Box::new(asked.clone()))));
    session.flush_without_journal().await?;
    if let Err(error) = world.deactivate_account(&session.snapshot).await {
        let kind = error.problem().map(|problem| problem.short_kind().to_owned());
        let is_gone = matches!(kind.as_deref(), Some("unauthorized" | "accountDoesNotExist"));
        if !(is_second && is_gone) {
            return Ok(Err(error));
        }
    }
    // The record first: a key without an account would be taken up again.
    let done = Account { deed: AccountDeed::Deactivated, ..asked };
    session.apply(Record::of(Change::Account(Box::new(done.clone()))));
    session.flush_without_journal().await?;
    let key = Key::AccountKey(session.account_id());
    if let Some(stored) = store.get(&key).await? {
        store.quarantine(&key, &stored.revision).await?;
    }
    Ok(Ok(done))
}

fn not_registered(server: &str) -> EffectError {
    precondition(format!("no account is known at {server}"))
}

fn precondition(message: String) -> EffectError {
    EffectError::new(Cause::Precondition { message })
}
