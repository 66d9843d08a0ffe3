//! The operator's hook for failures.

use std::time::Duration;

use serde_json::{Value, json};

use super::deploy::{PLACE, hook, inherited, run_now};
use super::error;
use super::world::World;
use crate::controller::EffectError;
use crate::engine::hooks::{Hooks, HooksDir};
use crate::engine::inputs::digest_of;
use crate::engine::ports::{Alert, Clock, HostRecord, Store};
use crate::program::Program;
use crate::resource::{API_VERSION, NamespacedName, Obstacle, escape, rfc3339};

impl<C: Clock, S: Store> World<'_, C, S> {
    /// Whether there is an `on-failure` program to run: a rehearsal has no failures to report.
    pub(super) fn has_alert_hook(&self) -> bool {
        self.options.dns01.stand_in.is_none() && has_alert_hook(&self.options.hooks)
    }

    /// Has the operator hear of a failure, now or from the run that runs the hooks: a user without the
    /// rights of root may be unable to send mail. Where the state cannot keep it, now.
    pub(super) async fn alert_operator(&self, alert: &Alert) -> Result<(), EffectError> {
        if self.options.hooks.run_by == Hooks::Later {
            match self.postpone(alert) {
                Ok(()) => return Ok(()),
                Err(error) => tracing::debug!(%error, "on-failure is run at once"),
            }
        }
        self.alert_program(alert).await
    }

    /// A failure that was not reported before it was over is none any more.
    pub(super) fn end_alert(&self, certificate: &NamespacedName) {
        if let Err(error) = self.store.host_record().forget_alert(&alert_of(certificate)) {
            tracing::debug!(%error, "a failure that is over will be reported");
        }
    }

    fn postpone(&self, alert: &Alert) -> Result<(), EffectError> {
        let bytes = serde_json::to_vec(alert).map_err(error::local)?;
        self.store
            .host_record()
            .leave_alert(&alert_of(&alert.certificate), &bytes)
            .map_err(|error| error::state(&error))
    }

    /// Runs the operator's program for a failure.
    async fn alert_program(&self, alert: &Alert) -> Result<(), EffectError> {
        let (environment, input) = event_of(alert, &self.options.environment);
        let of = alert.certificate.to_string();
        self.run_hook(ON_FAILURE, (ON_FAILURE, &of), environment, &input).await
    }
}

/// Runs the `on-failure` program, which has to be there, within this time, for a failure that is a test. The
/// state is not needed, and notes nothing of it.
pub async fn try_alert_hook(
    hooks: &HooksDir,
    environment: &dyn Fn(&str) -> Option<String>,
    time: Duration,
    alert: &Alert,
) -> Result<(), EffectError> {
    let program = hook(hooks, ON_FAILURE, hooks.runner()).map_err(error::obstacle)?;
    let (mut environment, mut input) = event_of(alert, environment);
    environment.push(("CERTCTL_TEST", "1".to_owned()));
    if let Some(input) = input.as_object_mut() {
        input.insert("test".to_owned(), true.into());
    }
    run_now(hooks, &program, ON_FAILURE, (environment, &input), time, None).await
}

/// The variables and the standard input of the program for a failure.
fn event_of(
    alert: &Alert,
    environment: impl Fn(&str) -> Option<String>,
) -> (Vec<(&'static str, String)>, Value) {
    let Alert { certificate, message, attempts, next_attempt, not_after, stage } = alert;
    // It may have text of a CA, and of the state.
    let message = escape(message);
    let (next_attempt, not_after) = (next_attempt.map(rfc3339), not_after.map(rfc3339));
    let input = json!({
        "apiVersion": API_VERSION,
        "kind": "FailureEvent",
        "event": ON_FAILURE,
        "certificate": {"namespace": certificate.namespace, "name": certificate.name},
        "message": message,
        "failedIssuanceAttempts": attempts,
        "nextAttempt": next_attempt,
        "notAfter": not_after,
        "stage": stage.number(),
        "stageName": stage.name(),
    });
    let mut variables = inherited(environment, ON_FAILURE);
    variables.extend([
        ("CERTCTL_NAMESPACE", certificate.namespace.clone()),
        ("CERTCTL_NAME", certificate.name.clone()),
        ("CERTCTL_MESSAGE", message.into_owned()),
        ("CERTCTL_ATTEMPTS", attempts.to_string()),
        ("CERTCTL_NEXT_ATTEMPT", next_attempt.unwrap_or_default()),
        ("CERTCTL_NOT_AFTER", not_after.unwrap_or_default()),
        ("CERTCTL_STAGE", stage.number().to_string()),
        ("CERTCTL_STAGE_NAME", stage.name().to_owned()),
    ]);
    (variables, input)
}

/// The digest by which the store knows what is left of a certificate for `on-failure`.
pub fn alert_of(certificate: &NamespacedName) -> String {
    digest_of(certificate.to_string().as_bytes())
}

/// Whether the folder of hooks has an `on-failure` program.
pub fn has_alert_hook(hooks: &HooksDir) -> bool {
    Program::is_there(&hooks.folder, PLACE, &[ON_FAILURE]).unwrap_or_default()
}

/// Why the `on-failure` program, where there is one, cannot be run.
pub fn check_alert_hook(hooks: &HooksDir) -> Result<(), Obstacle> {
    if has_alert_hook(hooks) { hook(hooks, ON_FAILURE, hooks.runner()).map(drop) } else { Ok(()) }
}

const ON_FAILURE: &str = "on-failure";
