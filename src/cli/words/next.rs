//! What happens next to a certificate, and when: in the column RENEWS, behind `Next attempt`, and on
//! the start page.

use jiff::Timestamp;

use super::Scene;
use super::order::NEXT_RUN;
use super::time;
use crate::workspace::outlook::{Action, When};
use crate::workspace::view::CertificateView;

/// What is to be done, as a noun.
pub(in crate::cli) fn noun(view: &CertificateView) -> &'static str {
    match view.outlook.next {
        Some(Action::Relink | Action::Restore | Action::SetAside) => "repair",
        Some(Action::Deploy) => "deployment",
        _ if is_retry(view) => "retry",
        Some(Action::Renew) => "renewal",
        Some(Action::Issue | Action::Adopt | Action::Rollback | Action::Rewrite) | None => {
            "issuance"
        }
    }
}

/// Whether an issuance is tried again that failed or waited.
fn is_retry(view: &CertificateView) -> bool {
    let issues = matches!(view.outlook.next, Some(Action::Issue | Action::Renew));
    let is_tried = match view.outlook.when {
        When::Waits(_) => true,
        When::NextRun | When::Blocked => view.has_failed(),
        When::At(_) | When::UnderWay | When::Never => false,
    };
    issues && is_tried
}

/// As the column RENEWS has it.
pub(in crate::cli) fn cell(view: &CertificateView, scene: &Scene) -> String {
    let relative = |at| time::relative(at, scene.now);
    let is_deployment = view.outlook.next == Some(Action::Deploy);
    match view.outlook.when {
        When::Never => "never".to_owned(),
        When::UnderWay => "now".to_owned(),
        When::Blocked => "blocked".to_owned(),
        When::At(at) => date_and_distance(at, scene) + if view.is_suggested { " ARI" } else { "" },
        When::Waits(Some(at)) if is_deployment => format!("deploy {}", relative(at)),
        When::Waits(Some(at)) => format!("retry {}", relative(at)),
        When::Waits(None) | When::NextRun => match (noun(view), view.renewal_time) {
            ("renewal", Some(due)) if due <= scene.now => format!("due {}", relative(due)),
            ("renewal" | "issuance", _) => "next run".to_owned(),
            ("deployment", _) => "deploy: next run".to_owned(),
            (noun, _) => format!("{noun}: next run"),
        },
    }
}

/// As `Next attempt` has it: the time and the number of the attempt.
pub(in crate::cli) fn sentence(view: &CertificateView, scene: &Scene) -> String {
    let when = match view.outlook.when {
        When::Never if view.mistake.is_some() => {
            return format!("{NEXT_RUN}, once its manifest is corrected");
        }
        When::Never => return "never".to_owned(),
        When::UnderWay => {
            let worker = view.worker.as_deref().unwrap_or_default();
            return format!("now, by {worker}");
        }
        When::Waits(Some(at)) => format!("not before {}", scene.time(at)),
        When::At(at) => scene.time(at),
        When::Blocked => format!("{NEXT_RUN}, once nothing blocks it"),
        When::Waits(None) | When::NextRun => NEXT_RUN.to_owned(),
    };
    match view.failures() {
        0 => when,
        failures => format!("{when}, attempt {}", failures.saturating_add(1)),
    }
}

/// `2027-02-18 90d`, `2026-11-01 20d ago`.
pub(in crate::cli) fn date_and_distance(at: Timestamp, scene: &Scene) -> String {
    format!("{} {}", time::local_date(at, &scene.zone), distance(at, scene))
}

/// `90d`, `20d ago`.
pub(in crate::cli) fn distance(at: Timestamp, scene: &Scene) -> String {
    let distance = time::relative(at, scene.now);
    distance.strip_prefix("in ").unwrap_or(&distance).to_owned()
}
