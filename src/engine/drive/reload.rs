//! The reloads, each program once for all its certificates; and certificates that are issued but not
//! deployed.

use jiff::Timestamp;

use super::shared::Reloads;
use super::state::Drive;
use super::stop::state_failure;
use crate::controller::{Change, EffectError, Outcome, Record, deploy};
use crate::engine::ending::{Ended, Ending, Undeployed};
use crate::engine::goal::Goal;
use crate::engine::notice;
use crate::engine::ports::{Clock, Documents, Lock, Performer, Ports, Store, StoreError};
use crate::engine::run::Engine;
use crate::engine::session::Session;
use crate::engine::task::Task;
use crate::resource::{DeployStep, NamespacedName};

/// What came of a certificate's reload.
pub(in crate::engine) struct Reloaded(Result<Done, StoreError>);

struct Done {
    undeployed: Option<Undeployed>,
    deployed: Option<String>,
}

impl Reloaded {
    /// Completes the ending of the certificate that was reloaded.
    pub(in crate::engine) fn complete(self, ended: &mut Ended) {
        match self.0 {
            Ok(Done { undeployed, deployed }) => {
                ended.undeployed = undeployed;
                ended.deployed.extend(deployed);
            }
            Err(error) => ended.ending = state_failure(&error),
        }
    }
}

/// Runs each requested program, and records the result with each certificate.
pub(in crate::engine) async fn reload<P: Ports>(
    engine: &Engine<'_, P>,
    reloads: &Reloads,
) -> Vec<(NamespacedName, Reloaded)> {
    let mut all = Vec::new();
    for (program, tasks) in reloads.take() {
        // What a signal interrupts stays owed.
        if engine.shutdown.borrow().is_some() {
            break;
        }
        let barred = |task: &Task| engine.ports.performer().bars_hooks(task);
        let names: Vec<_> = tasks.iter().map(|task| task.certificate.metadata.key()).collect();
        let of_run = tasks.iter().zip(&names).filter(|(task, _)| barred(task).is_none());
        let of_run: Vec<_> = of_run.map(|(_, name)| name.clone()).collect();
        let ended = match of_run.as_slice() {
            [] => Ok(()),
            of_run => engine.ports.performer().reload(&program, of_run).await,
        };
        for (task, name) in tasks.iter().zip(names) {
            let ended = barred(task).map_or_else(|| ended.clone(), Err);
            let target = deploy::target(&task.settings(), DeployStep::Reload);
            let deployed = target.filter(|_| ended.is_ok()).map(|target| target.to_string());
            let noted = note(engine, task, ended).await;
            all.push((name, Reloaded(noted.map(|undeployed| Done { undeployed, deployed }))));
        }
    }
    all
}

async fn note<P: Ports>(
    engine: &Engine<'_, P>,
    task: &Task,
    done: Result<(), EffectError>,
) -> Result<Option<Undeployed>, StoreError> {
    let name = task.certificate.metadata.key();
    let lease = engine
        .ports
        .store()
        .documents()
        .lease(&Lock::Certificate(name), engine.options.lock_timeout)
        .await?;
    let (store, now) = (engine.ports.store(), engine.ports.clock().now());
    let intervals = engine.options.intervals;
    let mut session = Session::load_under(&lease, store, task, intervals, now).await?;
    let step = DeployStep::Reload;
    let outcome = match done {
        Ok(()) => {
            let files = session.snapshot.files_digest.clone().unwrap_or_default();
            Outcome::Deployed { files }
        }
        Err(error) => Outcome::Failed(error),
    };
    if let Ok(record) = deploy::absorb(&mut session.snapshot, step, outcome, now) {
        session.apply(record);
    }
    let limited = engine.options.reports_once_a_day(task);
    let undeployed = deployment_failure(&mut session, limited, now);
    for event in session.finish().await? {
        engine.observer.event(&session.name, &event);
    }
    Ok(undeployed)
}

/// The deployment failure; when `limited`, the same one is reported once a day.
fn deployment_failure<S: Store>(
    session: &mut Session<'_, S>,
    limited: bool,
    now: Timestamp,
) -> Option<Undeployed> {
    let failure = deploy::failure(&session.snapshot)?;
    let (last_try, next_try) = deploy::tries(&session.snapshot);
    let mut record = session.snapshot.record.clone();
    let is_new = !limited || notice::note_failure(&mut record, &failure, now);
    if record != session.snapshot.record {
        session.apply(Record::of(Change::Certificate(Box::new(record))));
    }
    Some(Undeployed { failure, is_new, last_try, next_try })
}

impl<P: Ports> Drive<'_, P> {
    /// Requests the reload that is owed; else reports the deployment failure.
    pub(super) async fn reload_or_report(
        &mut self,
        ended: &mut Ended,
        limited: bool,
    ) -> Result<(), StoreError> {
        let now = self.engine.ports.clock().now();
        let is_left =
            matches!(ended.ending, Ending::Interrupted { .. }) || self.task.goal == Goal::CleanUp;
        let program = deploy::reload(&self.session.snapshot, now);
        if let Some(program) = program.filter(|_| !is_left) {
            self.shared.reloads.ask(program, self.task, now);
            return Ok(());
        }
        ended.undeployed = deployment_failure(&mut self.session, limited, now);
        self.flush(&[]).await
    }
}
