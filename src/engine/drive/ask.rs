//! Asks the CA when it suggests to renew a certificate, beside all other work.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::stop::unchanged;
use crate::controller::policy::first_trigger;
use crate::controller::{Effect, Outcome, Record, Snapshot, absorb, renewal, revocation};
use crate::engine::ending::Ending;
use crate::engine::ports::{
    Clock, Documents, Lock, Performer, Ports, Store, StoreError, Unguarded,
};
use crate::engine::questions::Query;
use crate::engine::run::{Engine, signal};
use crate::engine::session::Session;
use crate::engine::task::Task;
use crate::resource::{CauseKind, RevokedCertificate};

/// What came of a question.
pub(in crate::engine) enum Answer {
    /// The renewal is due now, perhaps since the CA has revoked the certificate.
    Due(Option<RevokedCertificate>),
    /// Nothing is to be done.
    Nothing,
    /// The CA did not answer.
    Unreachable,
}

/// Asks about one certificate, and stores what the CA said. The request holds no lock; a certificate
/// that another process works on meanwhile is left to that one.
pub(in crate::engine) async fn ask<'t, P: Ports>(
    engine: &Engine<'_, P>,
    mut query: Query<'t>,
) -> (Query<'t>, Answer) {
    let effect = query.question.effect();
    let issuer = Arc::clone(&query.question.issuer);
    let performer = engine.ports.performer();
    let response = performer.perform(query.task, issuer, effect.clone(), &Unguarded);
    let outcome = tokio::select! {
        biased;
        _ = signal(engine.shutdown.clone()) => return (query, Answer::Nothing),
        outcome = response => outcome,
    };
    let is_unreachable = matches!(
        &outcome, Outcome::Failed(error) if error.kind() == CauseKind::Transient
    );
    let not_due = if is_unreachable { Answer::Unreachable } else { Answer::Nothing };
    let is_new = matches!(query.ended.ending, Ending::Issued(_));
    let answer = match note(engine, &mut query, &effect, outcome).await {
        // One order in a run: the next one renews.
        Ok(Due::Early | Due::Now) if is_new => Answer::Nothing,
        Ok(Due::Early) => Answer::Due(note_revocation(engine, query.task).await),
        Ok(Due::Now) => Answer::Due(None),
        Ok(Due::Not) => not_due,
        Err(error) => {
            let certificate = query.task.certificate.metadata.key();
            tracing::debug!(%certificate, %error, "the CA's renewal information is not stored");
            not_due
        }
    };
    (query, answer)
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
async fn note_revocation<P: Ports>(
    engine: &Engine<'_, P>,
    task: &Task,
) -> Option<RevokedCertificate> {
    let found = tokio::select! {
        biased;
        _ = signal(engine.shutdown.clone()) => None,
        found = engine.ports.performer().revoked(task) => found,
    }?;
    let recorded = recorded(engine, task, |snapshot, now| revocation::found(snapshot, &found, now));
    if let Err(error) = recorded.await {
        let certificate = task.certificate.metadata.key();
        tracing::debug!(%certificate, %error, "the revocation is not recorded");
    }
    Some(found)
}

/// Stores the answer. Returns whether the certificate is due now.
async fn note<P: Ports>(
    engine: &Engine<'_, P>,
    query: &mut Query<'_>,
    effect: &Effect,
    outcome: Outcome,
) -> Result<Due, StoreError> {
    let answered = |snapshot: &mut Snapshot, now| {
        absorb(snapshot, effect, outcome, now).unwrap_or_else(|illegal| {
            let certificate = snapshot.certificate.metadata.key();
            tracing::error!(%certificate, %illegal, "outcome refused");
            Record::default()
        })
    };
    let (session, now) = recorded(engine, query.task, answered).await?;
    let status = &session.snapshot.record.status;
    match &mut query.ended.ending {
        Ending::Issued(issued) if status.revision == Some(issued.revision) => {
            issued.renewal_time = status.renewal_time;
        }
        ending @ Ending::Unchanged { .. } => *ending = unchanged(&session),
        Ending::Issued(_)
        | Ending::Deferred { .. }
        | Ending::Locked { .. }
        | Ending::Pending { .. }
        | Ending::Failed { .. }
        | Ending::Interrupted { .. } => {}
    }
    let snapshot = &session.snapshot;
    Ok(match first_trigger(snapshot, now) {
        None => Due::Not,
        Some(_) if renewal::is_early(snapshot, now) => Due::Early,
        Some(_) => Due::Now,
    })
}

/// Applies and stores a change to what is known of a certificate, under its lock, which is not waited
/// for. Returns what is known then.
async fn recorded<'e, P: Ports>(
    engine: &'e Engine<'_, P>,
    task: &'e Task,
    change: impl FnOnce(&mut Snapshot, Timestamp) -> Record,
) -> Result<(Session<'e, P::Store>, Timestamp), StoreError> {
    let name = task.certificate.metadata.key();
    let lease = engine
        .ports
        .store()
        .documents()
        .lease(&Lock::Certificate(name), SignedDuration::ZERO)
        .await?;
    let (now, intervals) = (engine.ports.clock().now(), engine.options.intervals);
    let store = engine.ports.store();
    let mut session = Session::load_under(&lease, store, task, intervals, now).await?;
    let record = change(&mut session.snapshot, now);
    session.apply(record);
    for event in session.finish().await? {
        engine.observer.event(&session.name, &event);
    }
    Ok((session, now))
}
