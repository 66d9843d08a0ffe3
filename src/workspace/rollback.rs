//! Rollback to a kept revision.

use jiff::Timestamp;
use thiserror::Error;

use super::open::Workspace;
use super::run::{Job, RunError};
use crate::controller::Snapshot;
use crate::controller::policy::{TRIGGER, Violation, first_violation};
use crate::controller::rollback::{self, RollbackError};
use crate::engine::ports::{Clock as _, SystemClock};
use crate::engine::{Ending, Goal, Task};
use crate::resource::{Failure, LeafFacts};

/// The result.
#[derive(Clone, Debug, PartialEq)]
pub enum WentBack {
    /// Another revision is live.
    Done {
        from: u32,
        /// 0 is the certificate that was adopted.
        to: u32,
        /// What is live now.
        leaf: Box<LeafFacts>,
        /// When its renewal is due.
        renewal_time: Option<Timestamp>,
        /// The fields that differ from the spec.
        violation: Option<Violation>,
    },
    /// That revision is live already.
    Already { revision: u32 },
}

/// Why the rollback failed.
#[derive(Debug, Error)]
pub enum BackError {
    /// The run could not start.
    #[error(transparent)]
    Run(#[from] RunError),
    /// That revision cannot be made live.
    #[error(transparent)]
    Refused(#[from] RollbackError),
    /// It was recorded, and the next run completes it.
    #[error("{0}")]
    Failed(Failure),
}

impl Workspace {
    /// Makes the revision `to` of a task's certificate live again, or the previous one.
    pub async fn roll_back(
        &self,
        task: &Task,
        to: Option<u32>,
        job: Job,
    ) -> Result<WentBack, BackError> {
        let task = Task { goal: Goal::RollBack(to), ..task.clone() };
        let reached = self.with_world(job, async |world| self.reach(world, &task).await).await?;
        let (ending, snapshot) = reached.map_err(RunError::from)?;
        let now = SystemClock.now();
        if let Ending::Failed { failure, .. } = ending {
            rollback::chosen(&snapshot, to, now)?;
            return Err(BackError::Failed(failure));
        }
        Ok(came_to(snapshot, now))
    }
}

fn came_to(snapshot: Snapshot, now: Timestamp) -> WentBack {
    let violation = first_violation(TRIGGER, &snapshot, now)
        .filter(|_| rollback::in_force(&snapshot).is_some());
    let status = snapshot.record.status;
    let leaf = snapshot.secret.and_then(|pair| pair.certificate?.ok());
    match (snapshot.run.went_back, leaf) {
        (Some((from, to)), Some(leaf)) => {
            let (leaf, renewal_time) = (Box::new(leaf), status.renewal_time);
            WentBack::Done { from, to, leaf, renewal_time, violation }
        }
        _ => WentBack::Already { revision: status.revision.unwrap_or(0) },
    }
}
