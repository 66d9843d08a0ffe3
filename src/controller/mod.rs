//! The controllers: pure decisions, one file per controller of the design documents.
//!
//! A controller reads a [`Snapshot`] and the time, and returns the [`Step`] it wants next
//! (`decide`); where an effect was done for it, it applies the outcome (`absorb`). No controller
//! reads a clock, a file, a socket or a random source, and none calls another's `decide`: the
//! pipeline [`CONTROLLERS`] is the only place where they meet.

pub mod account;
pub mod alert;
pub mod backoff;
pub mod challenge;
pub mod deploy;
pub mod fallback;
pub mod formats;
pub mod idle;
pub mod issuing;
pub mod keymanager;
pub mod limit;
pub mod links;
pub mod lost_record;
pub mod order;
pub mod policy;
pub mod readiness;
pub mod renewal;
pub mod renewal_information;
pub mod requestmanager;
pub mod revocation;
pub mod rollback;
pub mod scheduler;
pub mod trigger;

mod attempt;
mod effect;
mod run;
mod secret;
mod snapshot;
mod step;
#[cfg(test)]
mod tests;

use jiff::Timestamp;

use crate::resource::{Failure, FailureClass};

pub use attempt::{Acceptance, Answer, Attempt, DENIALS, Grant, Slot, WITHOUT_NAME};
pub use effect::{Effect, ReliesOn, RevocationSigner, SecretContents};
pub use run::{
    AccountRun, DeploymentRun, Hold, OrderRun, OthersOrder, Poll, RevocationRequest, Run,
    UserRequest,
};
pub use secret::Secret;
pub use snapshot::{Intervals, Snapshot};
pub use step::{
    AuthorizationSeen, Awaited, ChallengeSeen, Change, Deferral, EffectError, IllegalOutcome,
    OrderSeen, Outcome, Record, RenewalInformationSeen, Step, Wake,
};

/// A controller's `decide`.
pub type Decide = fn(&Snapshot, Timestamp) -> Step;

/// The pipeline, in the order of the design documents. The first unsettled controller decides the
/// next step.
pub const CONTROLLERS: &[(&str, Decide)] = &[
    ("links, to follow the record", links::decide_following),
    ("trigger", trigger::decide),
    ("keymanager", keymanager::decide),
    ("requestmanager", requestmanager::decide),
    ("issuing, for the time being", issuing::decide_temporary),
    ("account", account::decide),
    ("order", order::decide),
    ("challenge", challenge::decide),
    ("issuing", issuing::decide),
    ("formats", formats::decide),
    ("readiness", readiness::decide),
    ("deploy", deploy::decide),
];

/// The clean-up effects that are owed, and the step of the first unsettled controller.
///
/// Clean-up never decides and never blocks: its effects run beside whatever the controllers
/// want.
pub fn next_step(snapshot: &Snapshot, now: Timestamp) -> (Vec<Effect>, Step) {
    (challenge::clean_ups(snapshot), step_of(CONTROLLERS, snapshot, now))
}

/// The step of the first unsettled one of these controllers, unless an error ended the run; and,
/// while that step waits, what needs no CA.
pub fn step_of(controllers: &[(&str, Decide)], snapshot: &Snapshot, now: Timestamp) -> Step {
    if let Some((doing, error)) = &snapshot.run.error {
        let failure = error.failure(*doing);
        let step = match trigger::decide(snapshot, now) {
            Step::Defer { until, .. } => backoff::beside_a_wait(snapshot, failure, Some(until)),
            Step::Settled | Step::Record(_) | Step::Act(_) | Step::Wait { .. } | Step::Fail(_) => {
                failure
            }
        };
        return Step::Fail(step);
    }
    match first_step(controllers, snapshot, now) {
        step @ (Step::Wait { .. } | Step::Defer { .. }) => meanwhile(snapshot, now).unwrap_or(step),
        step @ (Step::Settled | Step::Record(_) | Step::Act(_) | Step::Fail(_)) => step,
    }
}

/// The step of the first unsettled one of these controllers.
pub fn first_step(controllers: &[(&str, Decide)], snapshot: &Snapshot, now: Timestamp) -> Step {
    let mut steps = controllers.iter().map(|(_, decide)| decide(snapshot, now));
    steps.find(|step| *step != Step::Settled).unwrap_or(Step::Settled)
}

/// What needs no CA and does not wait for one: formats and deployment; and, when nothing is being
/// issued, the removal of an unused key, and the Ready condition.
fn meanwhile(snapshot: &Snapshot, now: Timestamp) -> Option<Step> {
    let controllers: &[Decide] = if snapshot.is_issuing() {
        &[formats::decide, deploy::decide]
    } else {
        &[keymanager::decide, formats::decide, readiness::decide, deploy::decide]
    };
    controllers.iter().find_map(|decide| match decide(snapshot, now) {
        step @ (Step::Record(_) | Step::Act(_)) => Some(step),
        Step::Settled | Step::Wait { .. } | Step::Defer { .. } | Step::Fail(_) => None,
    })
}

/// Applies an outcome; the only place that does. State of this run changes in the snapshot at
/// once, durable changes are returned.
pub fn absorb(
    snapshot: &mut Snapshot,
    effect: &Effect,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    if let Outcome::Failed(error) = &outcome
        && !account::was_deactivated(snapshot, effect, error)
    {
        if error.cause.is_unknown_account() && effect.acts_for_the_account() {
            return Ok(account::absorb_loss(snapshot, effect, error, now));
        }
        if let Some(refusal) = limit::refusal(snapshot, effect, error, now) {
            // What the CA limits is orders, not the pace of requests.
            let failure = Failure { class: FailureClass::Ca, ..error.failure(effect.doing()) };
            snapshot.run.order.refusal = Some((refusal, failure));
            return Ok(Record::default());
        }
        let run = &mut snapshot.run;
        run.order.retry_after = error.retry_after.or(run.order.retry_after);
        if effect.ends_the_run(error.kind()) {
            run.error = Some((effect.doing(), error.clone()));
            let of_account = effect.needs_the_account();
            return Ok(if of_account {
                account::failed(effect, error, now)
            } else {
                Record::default()
            });
        }
    }
    let is_over = snapshot.run.error.is_some();
    let record = absorb_one(snapshot, effect, outcome, now)?;
    Ok(if is_over { record } else { order::replaced_if_unreachable(snapshot, record, now) })
}

fn absorb_one(
    snapshot: &mut Snapshot,
    effect: &Effect,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    match effect {
        Effect::Prepare { solving, .. } => {
            account::absorb_preparation(snapshot, *solving, &outcome)
        }
        Effect::GenerateKey { .. } | Effect::ReuseKey => keymanager::absorb(snapshot, outcome, now),
        Effect::BuildRequest => requestmanager::absorb(snapshot, outcome, now),
        Effect::ObtainAccountKey
        | Effect::FindAccount
        | Effect::RegisterAccount { .. }
        | Effect::UpdateContacts { .. }
        | Effect::DeactivateAccount { .. } => account::absorb(snapshot, effect, outcome, now),
        Effect::CreateOrder { .. }
        | Effect::ReadOrder { .. }
        | Effect::Finalize { .. }
        | Effect::Download { .. } => order::absorb(snapshot, effect, outcome, now),
        Effect::ReadAuthorization { url, .. } => {
            order::absorb_authorization(snapshot, effect, url, outcome, now)
        }
        Effect::Locate { challenge }
        | Effect::Present { challenge, .. }
        | Effect::SelfCheck { challenge, .. } => {
            challenge::absorb(snapshot, effect, &challenge.url, outcome, now)
        }
        Effect::Accept { url, .. } => challenge::absorb(snapshot, effect, url, outcome, now),
        Effect::CleanUp { order, challenge, .. } => {
            challenge::absorb_clean_up(snapshot, order, &challenge.url, outcome, now)
        }
        Effect::Publish { .. } | Effect::PublishTemporary { .. } => {
            issuing::absorb(snapshot, outcome, now)
        }
        Effect::Rewrite { .. } => formats::absorb(snapshot, &outcome, now),
        Effect::AskForRenewalInformation { certificate_id } => {
            renewal_information::absorb(snapshot, certificate_id, outcome, now)
        }
        Effect::Deploy { target, .. } => deploy::absorb(snapshot, target.step(), outcome, now),
        Effect::Revoke { fingerprint, .. } => {
            revocation::absorb(snapshot, fingerprint, outcome, now)
        }
        Effect::SwitchBack { from, to, .. } => {
            rollback::absorb(snapshot, (*from, *to), &outcome, now)
        }
        Effect::RestoreLinks { .. } | Effect::RestoreFiles { .. } | Effect::Follow { .. } => {
            links::absorb(snapshot, &outcome, now)
        }
    }
}
