//! Runs the operator's `on-failure` hook at the end of a run.

use crate::controller::{Change, Record, alert, backoff};
use crate::engine::ending::{Ended, Ending};
use crate::engine::ports::{Alert, Clock, Lock, Observer, Performer, Store, StoreError};
use crate::engine::run::Engine;
use crate::engine::session::Session;
use crate::engine::task::Task;

/// Runs the hook for each certificate that failed, unless an earlier run did for this stage.
pub(in crate::engine) async fn alert<C: Clock, S: Store, P: Performer, O: Observer>(
    engine: &Engine<'_, C, S, P, O>,
    tasks: &[Task],
    ended: &[Ended],
) {
    if !engine.performer.hears_of_failures() {
        return;
    }
    // Successful endings, the large majority, return here without reading anything.
    for end in ended.iter().filter(|end| may_be_reported(end)) {
        let of_it = |task: &&Task| task.certificate.metadata.key() == end.certificate;
        let Some(task) = tasks.iter().find(of_it) else { continue };
        // If this cannot be recorded, the next run reports it.
        if let Err(error) = tell(engine, task, end).await {
            tracing::warn!(certificate = %end.certificate, %error, "on-failure not noted");
        }
    }
}

/// Whether this ending may hide a failure.
fn may_be_reported(end: &Ended) -> bool {
    match end.ending {
        Ending::Failed { .. } | Ending::Pending { overdue: true, .. } | Ending::Deferred { .. } => {
            true
        }
        Ending::Pending { .. }
        | Ending::Unchanged { .. }
        | Ending::Issued(_)
        | Ending::Locked { .. }
        | Ending::Interrupted { .. } => end.undeployed.is_some(),
    }
}

async fn tell<C: Clock, S: Store, P: Performer, O: Observer>(
    engine: &Engine<'_, C, S, P, O>,
    task: &Task,
    end: &Ended,
) -> Result<(), StoreError> {
    let now = engine.clock.now();
    let intervals = engine.options.intervals;
    let mut session = Session::load(engine.store, task, intervals, now).await?;
    let record = &session.snapshot.record;
    let message = match &end.ending {
        Ending::Failed { failure, .. } => failure.to_string(),
        Ending::Pending { overdue: true, why, .. } => why.clone(),
        Ending::Deferred { .. } if record.last_failure.is_some() => {
            let failure = record.last_failure.as_ref();
            failure.map(ToString::to_string).unwrap_or_default()
        }
        Ending::Deferred { .. }
        | Ending::Pending { .. }
        | Ending::Unchanged { .. }
        | Ending::Issued(_)
        | Ending::Locked { .. }
        | Ending::Interrupted { .. } => match &end.undeployed {
            Some(undeployed) => undeployed.failure.to_string(),
            None => return Ok(()),
        },
    };
    let Some(stage) = alert::due(record, now) else { return Ok(()) };
    let lock = Lock::Certificate(end.certificate.clone());
    let _lease = engine.store.lock(&lock, engine.options.lock_timeout).await?;
    session = Session::load(engine.store, task, intervals, now).await?;
    let record = &session.snapshot.record;
    let alert = Alert {
        certificate: end.certificate.clone(),
        message,
        attempts: record.status.failed_issuance_attempts.unwrap_or_default(),
        next_attempt: backoff::next_attempt(record),
        not_after: record.status.not_after,
        stage,
    };
    if let Err(error) = engine.performer.alert(&alert).await {
        // The next run retries.
        tracing::warn!(certificate = %end.certificate, %error, "the on-failure hook failed");
        return Ok(());
    }
    let mut record = record.clone();
    record.alerted = stage;
    session.apply(Record::of(Change::Certificate(Box::new(record))));
    session.flush().await.map(drop)
}
