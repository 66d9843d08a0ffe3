//! What a certificate waits for, and pending clean-up.

use super::progress::{NEXT_RUN, waits_for};
use super::scene::Scene;
use super::upcoming::{Step, Upcoming};
use super::verdict::Verdict;
use crate::cli::output::escape;
use crate::resource::dns01::record_name;
use crate::resource::{
    Challenge, ChallengeType, CnameStrategy, Dns01, Dns01Provider, Order, SolverKind, challenge_url,
};
use crate::solver::dns01::txt_value;
use crate::workspace::view::{CertificateView, DamageCourse};

/// What this certificate waits for, one line each; never empty.
pub(super) fn waiting_for(view: &CertificateView, verdict: Verdict, scene: &Scene) -> Vec<String> {
    let now = scene.now;
    if let Some(damage) = &view.damage {
        let what = match damage.course {
            DamageCourse::SetAside if view.certificate.is_some() => NEXT_RUN,
            DamageCourse::SetAside | DamageCourse::LeftToNewer | DamageCourse::Unusable => {
                "a state that can be read"
            }
        };
        return vec![what.to_owned()];
    }
    if verdict == Verdict::Invalid {
        return vec!["a valid manifest".to_owned()];
    }
    if view.certificate.is_none() {
        return vec!["a manifest".to_owned()];
    }
    if let Some(back) = view.goes_back() {
        return vec![format!("{NEXT_RUN}, which goes back to revision {}", back.to)];
    }
    if view.next_attempt.is_some_and(|at| at > now) {
        return vec!["the next attempt".to_owned()];
    }
    if view.is_issuing() && view.order().is_some() {
        // The sentence behind the word has the reasons.
        return waits_for(view, verdict != Verdict::Waiting);
    }
    if let Some(worker) = &view.worker {
        return vec![worker.clone()];
    }
    if view.ends_here() {
        return vec!["a request for a replacement: it was revoked without one".to_owned()];
    }
    let is_ready = verdict == Verdict::Ready;
    let upcoming = Upcoming::of(view, verdict, now);
    let what = match upcoming {
        Upcoming::At(Step::Deployment, _) => "the next attempt to deploy",
        Upcoming::At(..) if is_ready => "the renewal time",
        Upcoming::At(..) => "the renewal time, or an edit of the manifest",
        Upcoming::Never => "nothing; renewal is disabled",
        Upcoming::NextRun(_) | Upcoming::UnderWay => NEXT_RUN,
    };
    vec![what.to_owned()]
}

/// Every challenge response that may still be published, named so that a person can remove it.
pub(super) fn owed(view: &CertificateView) -> Vec<String> {
    let owing = |order: &Order| -> Vec<String> {
        let challenges = order.challenges.iter().filter(|challenge| challenge.owes_clean_up());
        challenges.map(|challenge| format!("{} (order {})", trace(challenge), order.name)).collect()
    };
    view.orders.iter().flat_map(owing).collect()
}

/// Where the answer of a challenge is seen (RFC 8555 sections 8.3 and 8.4).
fn trace(challenge: &Challenge) -> String {
    let spec = &challenge.spec;
    match &spec.kind {
        ChallengeType::Http01 => challenge_url(&spec.identifier, &escape(&spec.token)),
        ChallengeType::Dns01 => {
            let value = txt_value(&spec.key);
            let place = match &spec.solver.kind {
                SolverKind::Dns01(dns01) => written_at(dns01),
                SolverKind::Http01(_) => String::new(),
            };
            format!("TXT {} \"{value}\"{place}", record_name(&spec.identifier))
        }
        ChallengeType::Other(word) => format!("{} for {}", escape(word), spec.identifier),
    }
}

/// Which provider the record is at, and whether under another name.
fn written_at(dns01: &Dns01) -> String {
    let provider = if let Dns01Provider::Webhook(webhook) = &dns01.provider {
        &webhook.solver_name
    } else {
        dns01.provider.name()
    };
    match dns01.cname_strategy {
        Some(CnameStrategy::Follow) => {
            format!(" at {}, or at the CNAME's target", escape(provider))
        }
        Some(CnameStrategy::None) | None => format!(" at {}", escape(provider)),
    }
}
