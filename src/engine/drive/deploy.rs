//! Deployment: of one certificate when nothing else is asked for, and the reloads at the end of a
//! run, each program once however many certificates want it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use jiff::Timestamp;

use super::leave::{state_failure, unchanged};
use super::{Drive, look_at_passwords};
use crate::controller::{Change, EffectError, Outcome, Record, Step, deploy};
use crate::engine::ports::{Clock, Lock, Store, StoreError};
use crate::engine::session::{Session, Task};
use crate::engine::{Ended, Ending, Engine, Observer, Performer, Undeployed, news};
use crate::resource::DeployStep;

/// Which programs are to be run at the end, and for which certificates.
#[derive(Default)]
pub(in crate::engine) struct Reloads(RefCell<BTreeMap<String, Vec<Task>>>);

impl Reloads {
    pub(super) fn ask(&self, program: String, task: &Task) {
        self.0.borrow_mut().entry(program).or_default().push(task.clone());
    }
}

/// Runs each program that was asked for, and notes with each certificate how that went.
pub(in crate::engine) async fn reload<C: Clock, S: Store, P: Performer, O: Observer>(
    engine: &Engine<'_, C, S, P, O>,
    reloads: &Reloads,
    ended: &mut [Ended],
) {
    for (program, tasks) in reloads.0.take() {
        // What a signal leaves undone stays owed.
        if engine.shutdown.borrow().is_some() {
            return;
        }
        let names: Vec<_> = tasks.iter().map(|task| task.certificate.metadata.key()).collect();
        let done = engine.performer.reload(&program, &names).await;
        for task in &tasks {
            let name = task.certificate.metadata.key();
            let Some(end) = ended.iter_mut().find(|end| end.certificate == name) else { continue };
            match note(engine, task, done.clone()).await {
                Ok(failure) => {
                    end.undeployed = failure;
                    if done.is_ok() {
                        let settings = task.certificate.settings.or(&task.issuer.settings);
                        let done = deploy::target(&settings, DeployStep::Reload);
                        end.deployed.extend(done.map(|target| target.to_string()));
                    }
                }
                Err(error) => end.ending = state_failure(&error),
            }
        }
    }
}

async fn note<C: Clock, S: Store, P: Performer, O: Observer>(
    engine: &Engine<'_, C, S, P, O>,
    task: &Task,
    done: Result<(), EffectError>,
) -> Result<Option<Undeployed>, StoreError> {
    let name = task.certificate.metadata.key();
    let _lease = engine.store.lock(&Lock::Certificate(name), engine.options.lock_timeout).await?;
    let now = engine.clock.now();
    let mut session = Session::load(engine.store, task, engine.options.intervals, now).await?;
    let step = DeployStep::Reload;
    let outcome = match done {
        Ok(()) => {
            let files = session.snapshot.files_digest.clone().unwrap_or_default();
            Outcome::Deployed { files }
        }
        Err(error) => Outcome::Failed(error),
    };
    if let Ok(record) = deploy::absorb(&session.snapshot, step, outcome, now) {
        session.apply(record);
    }
    let limited = engine.options.unattended && task.force.is_none() && task.only.is_none();
    let undeployed = told(&mut session, limited, now);
    for event in session.flush().await? {
        engine.observer.event(&session.name, &event);
    }
    Ok(undeployed)
}

/// What is issued and not deployed; when `limited`, the same is told once a day.
fn told<S: Store>(
    session: &mut Session<'_, S>,
    limited: bool,
    now: Timestamp,
) -> Option<Undeployed> {
    let failure = deploy::failure(&session.snapshot)?;
    let mut record = session.snapshot.record.clone();
    let is_news = !limited || news::note_failure(&mut record, &failure, now);
    if record != session.snapshot.record {
        session.apply(Record::of(Change::Certificate(Box::new(record))));
    }
    Some(Undeployed { failure, is_news })
}

impl<C: Clock, S: Store, P: Performer, O: Observer> Drive<'_, C, S, P, O> {
    /// What is issued and not deployed, and whether that is to be told.
    pub(super) async fn undeployed(
        &mut self,
        limited: bool,
    ) -> Result<Option<Undeployed>, StoreError> {
        let told = told(&mut self.session, limited, self.engine.clock.now());
        self.flush().await?;
        Ok(told)
    }

    /// Brings the live files to where they are used, and does nothing else.
    pub(super) async fn only_deploy(&mut self) -> Result<Ending, StoreError> {
        look_at_passwords(self.engine, &mut self.session);
        loop {
            let now = self.engine.clock.now();
            let Step::Act(effects) = deploy::decide(&self.session.snapshot, now) else {
                return Ok(unchanged(&self.session));
            };
            for effect in effects {
                let snapshot = std::rc::Rc::new(self.session.snapshot.clone());
                let outcome = self.engine.performer.perform(snapshot, effect.clone()).await;
                self.absorb(&effect, outcome);
            }
            self.flush().await?;
        }
    }
}
