//! Runs the operator's `on-failure` hook at the end of a run.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::controller::{Change, Record, Snapshot, alert, backoff, readiness};
use crate::engine::ending::{Ended, Ending};
use crate::engine::notice;
use crate::engine::ports::{
    Alert, Clock, Documents, HostRecord, Lock, Performer, Ports, Store, StoreError,
};
use crate::engine::run::Engine;
use crate::engine::session::Session;
use crate::engine::task::Task;
use crate::resource::{CertificateRecord, Failure, FailureClass, Fix};

/// Runs the hook for each certificate that failed, unless an earlier run did for this stage.
pub(in crate::engine) async fn alert<P: Ports>(
    engine: &Engine<'_, P>,
    tasks: &[Task],
    ended: &[Ended],
) {
    if !engine.ports.performer().hears_of_failures() {
        return;
    }
    let tasks: BTreeMap<_, &Task> =
        tasks.iter().map(|task| (task.certificate.metadata.key(), task)).collect();
    // Successful endings, the large majority, return here without reading anything.
    for end in ended.iter().filter(|end| may_be_reported(end)) {
        let Some(task) = tasks.get(&end.certificate) else { continue };
        if let Err(error) = report(engine, task, end).await {
            tracing::warn!(certificate = %end.certificate, %error, "on-failure not noted");
        }
    }
}

/// Whether this ending may hide a failure, or a renewal that is overdue.
fn may_be_reported(end: &Ended) -> bool {
    match end.ending {
        Ending::Failed { .. }
        | Ending::Pending { .. }
        | Ending::Deferred { .. }
        | Ending::Locked { .. } => true,
        Ending::Unchanged { .. } | Ending::Issued(_) | Ending::Interrupted { .. } => {
            end.undeployed.is_some()
        }
    }
}

async fn report<P: Ports>(
    engine: &Engine<'_, P>,
    task: &Task,
    end: &Ended,
) -> Result<(), StoreError> {
    let now = engine.ports.clock().now();
    let intervals = engine.options.intervals;
    let mut session = Session::load(engine.ports.store(), task, intervals, now).await?;
    let record = readiness::refreshed(&session.snapshot, now);
    let (message, has_failed) = reason(end, &record, engine.options.words);
    let has_failed =
        has_failed && is_worth_a_report(engine.options.is_scheduled, end, &record, now);
    let Some(stage) = alert::due(&record, has_failed, now) else { return Ok(()) };
    // A stage that could not be recorded: another process held the lock, or the disk was full.
    let mark = alert::mark(stage, record.status.not_after);
    if engine.ports.store().host_record().is_alerted(&end.certificate, &mark) {
        return Ok(());
    }
    let lock = Lock::Certificate(end.certificate.clone());
    let wait = match end.ending {
        // The run has waited for this lock.
        Ending::Locked { .. } => SignedDuration::ZERO,
        Ending::Unchanged { .. }
        | Ending::Issued(_)
        | Ending::Deferred { .. }
        | Ending::Pending { .. }
        | Ending::Failed { .. }
        | Ending::Interrupted { .. } => engine.options.lock_timeout,
    };
    let lease = engine.ports.store().documents().lease(&lock, wait).await;
    if let Ok(lease) = &lease {
        let store = engine.ports.store();
        session = Session::load_under(lease, store, task, intervals, now).await?;
    }
    let record = readiness::refreshed(&session.snapshot, now);
    let alert = Alert {
        certificate: end.certificate.clone(),
        message,
        attempts: record.status.failed_issuance_attempts.unwrap_or_default(),
        next_attempt: next_attempt(end, &session.snapshot, &record, now),
        not_after: record.status.not_after,
        stage,
    };
    if let Err(error) = engine.ports.performer().alert(&alert).await {
        // The next run retries.
        tracing::warn!(certificate = %end.certificate, %error, "the on-failure hook failed");
        return Ok(());
    }
    let noted = match lease {
        Ok(_lease) => {
            let alerted = stage.number();
            let record = CertificateRecord { alerted, ..session.snapshot.record.clone() };
            session.apply(Record::of(Change::Certificate(Box::new(record))));
            session.finish().await.map(drop)
        }
        Err(error) => Err(error),
    };
    if noted.is_err() {
        engine.ports.store().host_record().note_alert(&end.certificate, &mark)?;
    }
    Ok(())
}

/// When it is tried again, unless by the next run.
fn next_attempt(
    end: &Ended,
    snapshot: &Snapshot,
    record: &CertificateRecord,
    now: Timestamp,
) -> Option<Timestamp> {
    match end.ending {
        Ending::Failed { .. } => backoff::next_after_failure(snapshot, record, now),
        Ending::Unchanged { .. }
        | Ending::Issued(_)
        | Ending::Deferred { .. }
        | Ending::Pending { .. }
        | Ending::Locked { .. }
        | Ending::Interrupted { .. } => backoff::next_try(snapshot, record, now),
    }
}

/// Why a renewal has not succeeded, in one sentence, and whether that is a failure.
fn reason(end: &Ended, record: &CertificateRecord, words: fn(&Fix) -> String) -> (String, bool) {
    let sentence = |failure| sentence(failure, words);
    let of_record = || record.last_failure.as_ref().map(sentence);
    match (&end.ending, &end.undeployed) {
        (Ending::Failed { failure, .. }, _) => (sentence(failure), true),
        (Ending::Pending { why, overdue, .. }, _) => (why.to_string(), *overdue),
        (Ending::Deferred { why, .. }, _) => {
            let failure = of_record();
            let has_failed = failure.is_some();
            (failure.unwrap_or_else(|| why.to_string()), has_failed)
        }
        (Ending::Locked { holder }, _) => (format!("locked by {holder}"), false),
        (
            Ending::Unchanged { .. } | Ending::Issued(_) | Ending::Interrupted { .. },
            Some(undeployed),
        ) => (sentence(&undeployed.failure), true),
        (Ending::Unchanged { .. } | Ending::Issued(_) | Ending::Interrupted { .. }, None) => {
            (String::new(), false)
        }
    }
}

/// Whether the operator has to hear of a failure: a CA that cannot be reached for a while is none, and
/// a user who runs certctl by hand sees it.
fn is_worth_a_report(
    is_scheduled: bool,
    end: &Ended,
    record: &CertificateRecord,
    now: Timestamp,
) -> bool {
    let is_outage = matches!(&end.ending, Ending::Failed { failure, .. }
        if failure.class == FailureClass::Unreachable);
    (is_scheduled || !is_outage) && !notice::is_of_outage(record, &end.ending, now)
}

/// What failed, and what to do about it where that is known.
fn sentence(failure: &Failure, words: fn(&Fix) -> String) -> String {
    let fixes = failure.cause.fixes();
    fixes
        .iter()
        .map(words)
        .fold(failure.to_string(), |text, fix| format!("{text}; to fix it: {fix}"))
}
