//! Back to a revision that is kept.

use super::open::Workspace;
use crate::engine::ports::SystemClock;
use crate::engine::{BackError, Task, WentBack, roll_back};

impl Workspace {
    /// Makes the revision `to` of a task's certificate live again, or the one before the live one.
    pub async fn roll_back(&self, task: &Task, to: Option<u32>) -> Result<WentBack, BackError> {
        let timeout = self.settings.options.lock_timeout;
        Box::pin(roll_back(&SystemClock, &self.state, task, to, timeout)).await
    }
}
