//! Asks the CA when it suggests to renew a certificate, beside all other work.

use jiff::{SignedDuration, Timestamp};

use super::stop::unchanged;
use crate::controller::policy::first_trigger;
use crate::controller::{Effect, Outcome, absorb, renewal, revocation};
use crate::engine::ending::Ending;
use crate::engine::ports::{Clock, Lock, Observer, Performer, Store, StoreError};
use crate::engine::questions::Asked;
use crate::engine::run::{Engine, signal};
use crate::engine::session::Session;
use crate::engine::task::Task;
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
        Ok(Due::Early) => {
            note_revocation(engine, asked.task).await;
            Answer::Due
        }
        Ok(Due::Now) => Answer::Due,
        Ok(Due::Not) if is_unreachable => Answer::Unreachable,
        Ok(Due::Not) => Answer::Nothing,
        Err(error) => {
            let certificate = asked.task.certificate.metadata.key();
            tracing::debug!(%certificate, %error, "the CA's renewal information is not stored");
            Answer::Nothing
        }
    };
    (asked, answer)
}

/// Whether a certificate is due by what the CA said.
enum Due {
    Not,
    Now,
    /// Only the CA makes it due.
    Early,
}

/// A CA that suddenly wants a certificate to be renewed may have revoked it: its CRL says so, and
/// whether the key is compromised. Records that before the renewal.
async fn note_revocation<C: Clock, S: Store, P: Performer, O: Observer>(
    engine: &Engine<'_, C, S, P, O>,
    task: &Task,
) {
    let found = tokio::select! {
        biased;
        _ = signal(engine.shutdown.clone()) => None,
        found = engine.performer.revoked(task) => found,
    };
    let Some(found) = found else { return };
    let name = task.certificate.metadata.key();
    let (serial, reason) = (&found.serial, found.reason);
    let certificate = name.clone();
    tracing::warn!(%certificate, serial, %reason, "its CA has revoked the certificate; it is replaced now");
    let recorded = async {
        let _lease = engine.store.lock(&Lock::Certificate(name), SignedDuration::ZERO).await?;
        let (now, intervals) = (engine.clock.now(), engine.options.intervals);
        let mut session = Session::load(engine.store, task, intervals, now).await?;
        let record = revocation::found(&session.snapshot, &found, now);
        session.apply(record);
        for event in session.flush().await? {
            engine.observer.event(&session.name, &event);
        }
        Ok::<(), StoreError>(())
    };
    if let Err(error) = recorded.await {
        tracing::debug!(%certificate, %error, "the revocation is not recorded");
    }
}

/// Stores the answer. Returns whether the certificate is due now.
async fn note<C: Clock, S: Store, P: Performer, O: Observer>(
    engine: &Engine<'_, C, S, P, O>,
    asked: &mut Asked<'_>,
    effect: &Effect,
    outcome: Outcome,
) -> Result<Due, StoreError> {
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
    let snapshot = &session.snapshot;
    Ok(match first_trigger(snapshot, now) {
        None => Due::Not,
        Some(_) if renewal::is_early(snapshot, now) => Due::Early,
        Some(_) => Due::Now,
    })
}
