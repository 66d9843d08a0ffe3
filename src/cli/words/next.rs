//! Next step of a certificate, and its time: in the column NEXT, and behind `Next attempt`.

use jiff::Timestamp;

use super::Scene;
use super::order::NEXT_RUN;
use super::time;
use crate::workspace::outlook::When;
use crate::workspace::view::CertificateView;

/// Text of the column NEXT: a date, `next run`, or `you`, where nothing happens until the operator acts.
pub(in crate::cli) fn cell(view: &CertificateView, scene: &Scene) -> String {
    match view.outlook.when {
        When::Never if view.outlook.state.is_well() => "never".to_owned(),
        When::Never | When::Blocked => "you".to_owned(),
        When::UnderWay => "now".to_owned(),
        When::At(at) => date_and_distance(at, scene) + if view.is_suggested { " ARI" } else { "" },
        When::Waits(Some(at)) => format!("retry {}", time::relative(at, scene.now)),
        When::Waits(None) | When::NextRun => "next run".to_owned(),
    }
}

/// Text of `Next attempt`: the time and the number of the attempt.
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
    let distance = time::relative(at, scene.now);
    let distance = distance.strip_prefix("in ").unwrap_or(&distance);
    format!("{} {distance}", time::local_date(at, &scene.zone))
}
