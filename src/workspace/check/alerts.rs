//! The hook for failures, tried without a failure.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};

use crate::controller::alert::Stage;
use crate::engine::{Alert, check_alert_hook, has_alert_hook, try_alert_hook};
use crate::resource::{NamespacedName, Obstacle};
use crate::workspace::Settings;

/// The `on-failure` program, and how it took a failure that has not happened.
pub struct TriedHook {
    pub path: PathBuf,
    pub outcome: Result<(), Obstacle>,
}

impl TriedHook {
    /// Runs it, where it is there; the state is not needed.
    pub async fn run(settings: &Settings, now: Timestamp) -> Option<Self> {
        let hooks = settings.hooks();
        if !has_alert_hook(&hooks) {
            return None;
        }
        let outcome = match check_alert_hook(&hooks) {
            Ok(()) => {
                let time = settings.hook_timeout;
                try_alert_hook(&hooks, &*settings.environment, time, &no_failure(now))
                    .await
                    .map_err(|error| Obstacle::new(error.cause))
            }
            Err(refused) => Err(refused),
        };
        Some(Self { path: hooks.folder.join("on-failure"), outcome })
    }
}

/// What its reader cannot take for a failure.
fn no_failure(now: Timestamp) -> Alert {
    let at = |distance| now.checked_add(distance).ok();
    Alert {
        certificate: NamespacedName::new("default", "test"),
        message: "This is a test of the hook: no certificate has failed".to_owned(),
        attempts: 1,
        next_attempt: at(SignedDuration::from_hours(1)),
        not_after: at(SignedDuration::from_hours(20 * 24)),
        stage: Stage::Failed,
    }
}
