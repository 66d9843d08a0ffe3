//! What a certificate waits for, and its next attempt.

use jiff::Timestamp;

use super::order::{NEXT_RUN, order_waits_for};
use super::scene::Scene;
use super::verdict::Verdict;
use crate::workspace::view::CertificateView;

/// What this certificate waits for, one line each; never empty.
pub(super) fn waiting_for(view: &CertificateView, verdict: Verdict, now: Timestamp) -> Vec<String> {
    if verdict == Verdict::Damaged {
        return vec!["a state that can be read".to_owned()];
    }
    if verdict == Verdict::Invalid {
        return vec!["a valid manifest".to_owned()];
    }
    if verdict == Verdict::NoManifest {
        return vec!["a manifest".to_owned()];
    }
    if let Some(back) = view.goes_back() {
        return vec![format!("{NEXT_RUN}, which goes back to revision {}", back.to)];
    }
    if view.next_attempt.is_some_and(|at| at > now) {
        return vec!["the next attempt".to_owned()];
    }
    if let Some(order) = view.order().filter(|_| view.is_issuing()) {
        return order_waits_for(order);
    }
    if let Some(worker) = &view.worker {
        return vec![worker.clone()];
    }
    if view.ends_here() {
        return vec![format!("certctl renew {}; it was revoked without a replacement", view.key)];
    }
    let is_ready = verdict == Verdict::Ready;
    let what = if is_ready && view.never_renews() {
        "nothing; renewal is disabled"
    } else if is_ready && view.renewal_time.is_some_and(|at| at > now) {
        "the renewal time"
    } else if verdict == Verdict::Pending && view.went_back().is_some() {
        "the renewal time, or an edit of the manifest"
    } else {
        NEXT_RUN
    };
    vec![what.to_owned()]
}

/// The time and the number of the next attempt.
pub(super) fn next_attempt(view: &CertificateView, verdict: Verdict, scene: &Scene) -> String {
    let is_due = verdict == Verdict::Ready || view.went_back().is_some();
    let idle = is_due && !view.is_issuing();
    let at = view.next_attempt.or(view.renewal_time.filter(|_| idle && !view.never_renews()));
    let lost = matches!(verdict, Verdict::NoManifest | Verdict::Invalid | Verdict::Damaged);
    let never = lost || (idle && view.never_renews());
    let when = match at {
        Some(_) | None if never => return "never".to_owned(),
        Some(at) if at > scene.now => scene.time(at),
        Some(_) | None => NEXT_RUN.to_owned(),
    };
    match view.failures() {
        0 => when,
        failures => format!("{when}, attempt {}", failures.saturating_add(1)),
    }
}
