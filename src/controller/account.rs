//! Is there an account, with this key, these contacts, at this CA?
//!
//! | account | step |
//! | --- | --- |
//! | nothing is being issued, or an order is past newOrder | settled |
//! | a rate limit of the CA, or the turn of others, holds an order back | wait |
//! | local preconditions not checked yet, or without those of challenges to come | prepare |
//! | none recorded | obtain the key, and record it |
//! | Register, recorded in this run | newAccount |
//! | Register of an earlier run, or Find | look up the account by its key; register when there is none |
//! | to be deactivated | fail: finish the deactivation first |
//! | deactivated | as if none were recorded |
//! | the CA does not know it any more | record Find: the key stays |
//! | contacts differ | send them to the CA |
//! | registered | settled |

use jiff::Timestamp;

use super::{
    Change, Deferral, Effect, EffectError, IllegalOutcome, Outcome, Record, Snapshot, Step,
    formats, limit, order,
};
use crate::resource::{
    Account, AccountIdentity, AccountStep, Cause, Doing, Failure, Issuer, OrderPhase, Reason,
    readable_terms,
};

/// See the table above.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Step {
    if !snapshot.is_issuing() || snapshot.next_request.is_none() {
        return Step::Settled;
    }
    if let Some(until) = snapshot.record.retry_after.filter(|time| *time > now) {
        return Step::Defer { until, why: Deferral::RetryAfter };
    }
    let order = order::continued(snapshot, now);
    let phase = order.map_or(&OrderPhase::Creating, |order| &order.phase);
    let solving = *phase == OrderPhase::Creating || phase.is_being_authorized();
    if *phase == OrderPhase::Creating
        && let Some(wait) = limit::decide(snapshot)
    {
        return wait;
    }
    if !snapshot.run.prepared || (solving && !snapshot.run.prepared_to_solve) {
        let contents = formats::contents(snapshot);
        let targets = snapshot.settings.deploy_targets();
        return Step::Act(vec![Effect::Prepare { solving, contents, targets }]);
    }
    if *phase != OrderPhase::Creating {
        return Step::Settled;
    }
    next(snapshot)
}

/// Registers an account with the Issuer's contacts, whether or not anything is being issued.
pub fn decide_registered(snapshot: &Snapshot, _: Timestamp) -> Step {
    next(snapshot)
}

/// Sends the Issuer's contacts to the CA, even if they did not change.
pub fn decide_updated(snapshot: &Snapshot, _: Timestamp) -> Step {
    match &snapshot.account {
        Some(account) if account.url.is_some() || snapshot.run.account.is_lost => {
            if account.next_step != AccountStep::Nothing || snapshot.run.account.contacts_are_sent {
                return next(snapshot);
            }
            record(Account { next_step: AccountStep::UpdateContacts, ..account.clone() })
        }
        Some(_) | None => Step::Fail(Failure::of(Doing::Nothing, snapshot.not_registered())),
    }
}

/// Deactivates the account for good (RFC 8555 section 7.3.6). That is recorded first: a CA that
/// then no longer knows the account deactivated it for a run that did not get the response.
pub fn decide_deactivated(snapshot: &Snapshot, _: Timestamp) -> Step {
    match &snapshot.account {
        Some(account @ Account { url: Some(url), .. }) => match account.next_step {
            AccountStep::Deactivated => Step::Settled,
            AccountStep::Deactivate => {
                Step::Act(vec![Effect::DeactivateAccount { account: url.clone() }])
            }
            AccountStep::Register
            | AccountStep::Find
            | AccountStep::UpdateContacts
            | AccountStep::Nothing => {
                record(Account { next_step: AccountStep::Deactivate, ..account.clone() })
            }
        },
        Some(Account { url: None, .. }) | None => {
            Step::Fail(Failure::of(Doing::Nothing, snapshot.not_registered()))
        }
    }
}

fn record(account: Account) -> Step {
    Step::Record(Record::of(Change::Account(Box::new(account))))
}

/// The account's own next step, whether or not anything is being issued.
fn next(snapshot: &Snapshot) -> Step {
    let Some(account) = &snapshot.account else {
        return Step::Act(vec![Effect::ObtainAccountKey]);
    };
    if is_lost(snapshot) {
        return record(to_be_found(account));
    }
    let contacts = contacts(snapshot.issuer());
    match (account.next_step, &account.url) {
        (AccountStep::Deactivate, _) => {
            let cause = Cause::UnfinishedDeactivation {
                directory_url: account.identity.directory_url.clone(),
                issuer: snapshot.issuer().metadata.name.clone(),
            };
            Step::Fail(Failure::of(Doing::Nothing, cause))
        }
        (AccountStep::Deactivated, _) => Step::Act(vec![Effect::ObtainAccountKey]),
        (AccountStep::Register, _) if snapshot.run.account.is_fresh => {
            Step::Act(vec![Effect::RegisterAccount { contacts }])
        }
        (AccountStep::UpdateContacts, Some(url)) => {
            Step::Act(vec![Effect::UpdateContacts { account: url.clone(), contacts }])
        }
        (AccountStep::Register | AccountStep::Find, _) | (AccountStep::UpdateContacts, None) => {
            Step::Act(vec![Effect::FindAccount])
        }
        (AccountStep::Nothing, _) if account.contacts != contacts => {
            let next_step = AccountStep::UpdateContacts;
            record(Account { next_step, ..account.clone() })
        }
        (AccountStep::Nothing, _) => Step::Settled,
    }
}

/// Whether the account is still the one that the CA did not know. Another process may have
/// registered it again by now.
pub fn is_lost(snapshot: &Snapshot) -> bool {
    let url = snapshot.account.as_ref().and_then(|account| account.url.as_deref());
    let lost = snapshot.order.as_ref().map(|order| order.spec.account_url.as_str());
    snapshot.run.account.is_lost && url.is_some() && url == lost
}

/// The account without its URL at the CA, which is looked up before registering again.
fn to_be_found(account: &Account) -> Account {
    Account { next_step: AccountStep::Find, url: None, ..account.clone() }
}

/// The journal's event when the CA has forgotten an account.
pub(super) fn lost(url: &str, error: &EffectError) -> String {
    format!(
        "The ACME server no longer knows the account {url}; registering the same key again: {error}"
    )
}

/// The contacts that the CA should know: `mailto:` and the lower-cased address.
pub fn contacts(issuer: &Issuer) -> Vec<String> {
    let email = &issuer.acme.email;
    if email.is_empty() { Vec::new() } else { vec![format!("mailto:{}", email.to_lowercase())] }
}

/// Why there is no account, by the effect that failed.
fn reason(effect: &Effect) -> Reason {
    if matches!(effect, Effect::UpdateContacts { .. }) {
        Reason::ErrUpdateACMEAccount
    } else if *effect == Effect::ObtainAccountKey {
        Reason::ErrVerifyACMEAccount
    } else {
        Reason::ErrRegisterACMEAccount
    }
}

/// Whether all local preconditions hold, including those of challenges to be presented.
pub fn absorb_preparation(
    snapshot: &mut Snapshot,
    solving: bool,
    outcome: &Outcome,
) -> Result<Record, IllegalOutcome> {
    if *outcome != Outcome::Prepared {
        return Err(IllegalOutcome::new("preparing", outcome));
    }
    snapshot.run.prepared = true;
    snapshot.run.prepared_to_solve |= solving;
    Ok(Record::default())
}

/// The journal's event when an effect for the account failed.
pub(super) fn failed(effect: &Effect, error: &EffectError, now: Timestamp) -> Record {
    let failure = error.clone().failure(effect.doing());
    Record::default().warning(now, reason(effect), failure.to_string())
}

/// The CA does not know the requesting account: the order is lost with it. The first time in a run
/// the account is registered again, and another order follows, uncounted; the second time fails.
pub(super) fn absorb_loss(
    snapshot: &mut Snapshot,
    effect: &Effect,
    error: &EffectError,
    now: Timestamp,
) -> Record {
    let is_first = !snapshot.run.account.is_back;
    if is_first {
        snapshot.run.note_lost_account();
    } else {
        let known = snapshot.run.order.retry_after;
        snapshot.run.order.retry_after = error.retry_after.or(known);
    }
    if matches!(effect, Effect::UpdateContacts { .. }) {
        let Some(account) = snapshot.account.as_ref().filter(|_| is_first) else {
            snapshot.run.error = Some((effect.doing(), error.clone()));
            return failed(effect, error, now);
        };
        let message = lost(account.url.as_deref().unwrap_or_default(), error);
        let record = Record::of(Change::Account(Box::new(to_be_found(account))));
        return record.warning(now, Reason::ErrVerifyACMEAccount, message);
    }
    // Several effects of one order get the same error.
    let order = snapshot.current_order().filter(|order| order.phase.is_open());
    let Some(order) = order else { return Record::default() };
    let url = &order.spec.account_url;
    if is_first {
        let message = lost(url, error);
        let order = order::given_up(order, "the CA has forgotten the account that ordered", now);
        let record = Record::of(Change::Order(Box::new(order)));
        return record.warning(now, Reason::ErrVerifyACMEAccount, message);
    }
    let cause = Cause::LostAccount { url: url.clone(), cause: Box::new(error.cause.clone()) };
    let failure = EffectError { cause, ..error.clone() }.failure(effect.doing());
    Record::of(Change::Order(Box::new(order::failed(order, failure))))
}

/// Whether an earlier run deactivated the account, and did not get the response.
pub(super) fn was_deactivated(snapshot: &Snapshot, effect: &Effect, error: &EffectError) -> bool {
    let is_second = snapshot.run.account.may_be_deactivated && is_deactivation(effect);
    is_second && error.is_of_a_gone_account()
}

fn is_deactivation(effect: &Effect) -> bool {
    matches!(effect, Effect::DeactivateAccount { .. })
}

/// The key is recorded before the first request, the URL right after the response.
pub fn absorb(
    snapshot: &mut Snapshot,
    effect: &Effect,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    match (outcome, &snapshot.account) {
        (Outcome::AccountKey { pem, public_key, fresh }, None) => {
            snapshot.run.account.is_fresh = fresh;
            let account = Account {
                identity: AccountIdentity::of(snapshot.issuer()),
                next_step: AccountStep::Register,
                public_key,
                url: None,
                registered_at: None,
                contacts: Vec::new(),
                terms_of_service: None,
            };
            Ok(Record::of(Change::AccountKey(pem, Box::new(account))))
        }
        (Outcome::Account { url, contacts, terms_of_service }, Some(account)) => {
            snapshot.run.account.contacts_are_sent |= *effect != Effect::FindAccount;
            if !matches!(effect, Effect::UpdateContacts { .. }) {
                snapshot.run.account.is_fresh &= *effect != Effect::FindAccount;
                snapshot.run.account.note_known();
            }
            let terms_of_service = terms_of_service.or_else(|| account.terms_of_service.clone());
            let message = format!(
                "Registered the ACME account {url} (terms: {})",
                terms_of_service
                    .as_deref()
                    .map_or_else(|| "none published".to_owned(), readable_terms)
            ) + &new_thumbprint(snapshot);
            let account = Account {
                next_step: AccountStep::Nothing,
                url: Some(url),
                registered_at: if matches!(effect, Effect::RegisterAccount { .. }) {
                    Timestamp::from_second(now.as_second()).ok()
                } else {
                    account.registered_at
                },
                contacts,
                terms_of_service,
                ..account.clone()
            };
            let record = Record::of(Change::Account(Box::new(account)));
            Ok(if matches!(effect, Effect::RegisterAccount { .. }) {
                record.normal(now, Reason::ACMEAccountRegistered, message)
            } else {
                record
            })
        }
        (Outcome::Done | Outcome::Failed(_), Some(account)) if is_deactivation(effect) => {
            let account = Account { next_step: AccountStep::Deactivated, ..account.clone() };
            Ok(Record::of(Change::Account(Box::new(account))))
        }
        // No CA has seen this key: registering cannot create a second account.
        (Outcome::NoAccount, Some(account)) if *effect == Effect::FindAccount => {
            snapshot.run.account.is_fresh = true;
            let account = Account { next_step: AccountStep::Register, ..account.clone() };
            Ok(Record::of(Change::Account(Box::new(account))))
        }
        (other, account) => {
            let state =
                account.as_ref().map_or("no account".to_owned(), |a| format!("{:?}", a.next_step));
            Err(IllegalOutcome::new(state, &other))
        }
    }
}

/// The consequence of a new key where servers answer any token with its thumbprint.
fn new_thumbprint(snapshot: &Snapshot) -> String {
    if !snapshot.settings.http01_stateless {
        return String::new();
    }
    let Issuer { kind, metadata, .. } = &**snapshot.issuer();
    format!(
        ". {kind} {} has certctl/http01: stateless: its servers need the thumbprint of this account's \
         key",
        metadata.name
    )
}
