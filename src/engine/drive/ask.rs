//! Asks the CA when it suggests to renew a certificate, beside all other work.

use jiff::{SignedDuration, Timestamp};

use super::stop::unchanged;
use crate::controller::policy::first_trigger;
use crate::controller::{Effect, Outcome, absorb};
use crate::engine::ending::Ending;
use crate::engine::ports::{Clock, Lock, Observer, Performer, Store, StoreError};
use crate::engine::questions::Asked;
use crate::engine::run::{Engine, signal};
use crate::engine::session::Session;
use crate::resource::CauseKind;

/// What came of a question.
pub(in crate::engine) enum Answer {
    /// The renewal is due now.
    Due,
    /// Nothing is to be done.
    Nothing,
    /// The CA did not answer.
    Unreachable,
}

/// Asks about one certificate, and stores what the CA said. The request holds no lock; a certificate
/// that another process works on meanwhile is left to that one.
pub(in crate::engine) async fn ask<'t, C: Clock, S: Store, P: Performer, O: Observer>(
    engine: &Engine<'_, C, S, P, O>,
    mut asked: Asked<'t>,
) -> (Asked<'t>, Answer) {
    let certificate_id = asked.question.certificate_id.clone();
    let effect = Effect::AskForRenewalInformation { certificate_id };
    let outcome = tokio::select! {
        biased;
        _ = signal(engine.shutdown.clone()) => return (asked, Answer::Nothing),
        outcome = engine.performer.perform(asked.task, effect.clone()) => outcome,
    };
    let is_unreachable = matches!(
        &outcome, Outcome::Failed(error) if error.kind() == CauseKind::Transient
    );
    let answer = match note(engine, &mut asked, &effect, outcome).await {
        Ok(true) => Answer::Due,
        Ok(false) if is_unreachable => Answer::Unreachable,
        Ok(false) => Answer::Nothing,
        Err(error) => {
            let certificate = asked.task.certificate.metadata.key();
            tracing::debug!(%certificate, %error, "the CA's renewal information is not stored");
            Answer::Nothing
        }
    };
    (asked, answer)
}

/// Stores the answer. Returns whether the certificate is due now.
async fn note<C: Clock, S: Store, P: Performer, O: Observer>(
    engine: &Engine<'_, C, S, P, O>,
    asked: &mut Asked<'_>,
    effect: &Effect,
    outcome: Outcome,
) -> Result<bool, StoreError> {
    let task = asked.task;
    let name = task.certificate.metadata.key();
    let _lease = engine.store.lock(&Lock::Certificate(name), SignedDuration::ZERO).await?;
    let (now, intervals): (Timestamp, _) = (engine.clock.now(), engine.options.intervals);
    let mut session = Session::load(engine.store, task, intervals, now).await?;
    match absorb(&mut session.snapshot, effect, outcome, now) {
        Ok(record) => session.apply(record),
        Err(illegal) => {
            tracing::error!(certificate = %session.name, %illegal, "outcome refused");
        }
    }
    for event in session.flush().await? {
        engine.observer.event(&session.name, &event);
    }
    if let Ending::Unchanged { .. } = asked.ended.ending {
        asked.ended.ending = unchanged(&session);
    }
    Ok(first_trigger(&session.snapshot, now).is_some())
}
