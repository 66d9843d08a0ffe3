//! The words of `status` for the state of a certificate, and the sentence behind each.

use super::Scene;
use super::count::count;
use super::diagnosis::{Diagnosis, of_failure};
use super::order::waits_for;
use crate::cli::terminal::Paint;
use crate::engine::Evidence;
use crate::resource::{
    Cause, Challenge, ConditionType, Doing, Failure, Order, Phase, Reason, ReasonSource,
    Revocation, escape,
};
use crate::workspace::outlook::{State, When};
use crate::workspace::view::{CertificateView, Damage, DamageCourse, Mistake};

impl State {
    /// The printed word, and its colour.
    fn parts(self) -> (&'static str, Paint) {
        match self {
            Self::Damaged => ("STATE DAMAGED", Paint::Bad),
            Self::Invalid => ("INVALID", Paint::Bad),
            Self::NoManifest => ("NO MANIFEST", Paint::Warn),
            Self::Expired => ("EXPIRED", Paint::Bad),
            Self::Revoked => ("REVOKED", Paint::Bad),
            Self::LinksMissing => ("LINKS MISSING", Paint::Bad),
            Self::FilesDamaged => ("FILES DAMAGED", Paint::Bad),
            Self::Overdue => ("OVERDUE", Paint::Bad),
            Self::Deferred => ("DEFERRED", Paint::Warn),
            Self::Waiting => ("WAITING", Paint::Warn),
            Self::Issuing => ("ISSUING", Paint::Warn),
            Self::Renewing => ("RENEWING", Paint::Good),
            Self::Failed => ("FAILED", Paint::Bad),
            Self::PendingDeploy => ("PENDING DEPLOY", Paint::Warn),
            Self::Ready => ("READY", Paint::Good),
            Self::Pending => ("PENDING", Paint::Warn),
        }
    }

    /// The word as it is printed.
    pub fn word(self) -> &'static str {
        self.parts().0
    }

    /// Its colour.
    pub(crate) fn paint(self) -> Paint {
        self.parts().1
    }

    /// The sentence behind the word, on one line: what is the case, and what comes of it.
    pub(crate) fn sentence(self, view: &CertificateView, scene: &Scene) -> String {
        let fact = self.fact(view, scene);
        let end = match self {
            Self::Damaged => damage(view),
            Self::Invalid => "; it is not renewed until this is fixed".to_owned(),
            Self::NoManifest => "; nothing is renewed or deleted".to_owned(),
            Self::LinksMissing | Self::FilesDamaged => match &view.links {
                Some(_) => "; the next run restores this without an order".to_owned(),
                None => "; the next run orders another key and certificate".to_owned(),
            },
            Self::Overdue | Self::Waiting | Self::Deferred | Self::Failed => in_place(view, scene),
            Self::Issuing | Self::Pending => stand_in(view).to_owned() + &went_back(view),
            Self::Ready => went_back(view),
            Self::Revoked | Self::Expired | Self::Renewing | Self::PendingDeploy => String::new(),
        };
        fact + &end
    }

    /// Describes the state in short.
    pub(in crate::cli) fn fact(self, view: &CertificateView, scene: &Scene) -> String {
        let leaf = view.readable_leaf();
        let expiry = leaf.map(|leaf| scene.time(leaf.not_after)).unwrap_or_default();
        match self {
            Self::Damaged => view.damage.iter().map(|damage| escape(&damage.message)).collect(),
            Self::Invalid => view.mistake.as_ref().map(mistaken).unwrap_or_default(),
            Self::Overdue => overdue(view, scene),
            Self::Waiting => format!("the order waits for {}", waits_for(view, true).join("; ")),
            Self::Revoked => revoked(view, scene),
            Self::LinksMissing | Self::FilesDamaged => match &view.links {
                Some(repair) => escape(&repair.what).into_owned(),
                None => lost(view),
            },
            Self::Deferred => deferred(view, scene),
            Self::NoManifest => match view.record.as_ref().map(|record| &record.manifest) {
                Some(Some(path)) => {
                    format!("{} no longer has it", escape(&path.to_string_lossy()))
                }
                Some(None) => {
                    "its manifest was read from standard input, which is not stored; put \
                               it into a file in the config directory"
                        .to_owned()
                }
                None => "no manifest has it".to_owned(),
            },
            Self::Expired => match last_failure(view) {
                Some(failure) => format!("expired {expiry}; the last attempt failed: {failure}"),
                None => format!("expired {expiry}"),
            },
            Self::Issuing => format!("no certificate yet, {}", at_work(view)),
            Self::Renewing => format!("valid until {expiry}, {}", at_work(view)),
            Self::Failed => {
                let refused = view.refused_challenge().filter(|_| !view.has_failed());
                let refused = refused.map(|one| escape(&one.shown_reason()).into_owned());
                let failure = refused.or_else(|| last_failure(view));
                failure.unwrap_or_else(|| "the last attempt failed".to_owned())
            }
            Self::PendingDeploy => {
                format!("issued but not deployed: {}", undeployed(view).unwrap_or_default())
            }
            Self::Ready => format!("valid until {expiry}"),
            Self::Pending => {
                let status = view.record.as_ref().map(|record| &record.status);
                match status.and_then(|status| status.condition(ConditionType::Ready)) {
                    Some(_) if view.is_ready() && view.is_issuing() => {
                        format!(
                            "a renewal has started, but ordered nothing yet; valid until \
                            {expiry}"
                        )
                    }
                    Some(ready) if !view.is_ready() => escape(&ready.message).into_owned(),
                    Some(_) | None => "not issued yet".to_owned(),
                }
            }
        }
    }

    /// Returns whether the operator has to act: neither the next run nor the CA puts it right.
    pub(in crate::cli) fn needs_a_person(self, view: &CertificateView) -> bool {
        match self {
            Self::Expired
            | Self::Damaged
            | Self::Overdue
            | Self::Failed
            | Self::Invalid
            | Self::NoManifest => true,
            Self::Revoked => view.outlook.when == When::Never,
            Self::PendingDeploy => !is_only_owed(view),
            Self::Waiting => obstructed(view).is_some(),
            Self::FilesDamaged
            | Self::LinksMissing
            | Self::Deferred
            | Self::Pending
            | Self::Issuing
            | Self::Renewing
            | Self::Ready => false,
        }
    }
}

/// `300 certificates: 297 ready, 2 failed, 1 waiting`: those that are well, then the worst first.
pub(in crate::cli) fn totals(states: &[State]) -> String {
    let of = |state: State| (states.iter().filter(|one| **one == state).count(), state.word());
    let [others @ .., ready] = State::ALL;
    let counts = [ready].into_iter().chain(others).map(of).filter(|(count, _)| *count > 0);
    let counts: Vec<String> =
        counts.map(|(count, word)| format!("{count} {}", word.to_lowercase())).collect();
    format!("{}: {}", count(states.len(), "certificate"), counts.join(", "))
}

/// The first challenge whose self-check found something wrong, or which could not be presented.
pub(in crate::cli) fn obstructed(view: &CertificateView) -> Option<&Challenge> {
    // A run that ends queues it again, with what the self-check found.
    let is_wrong = |challenge: &&Challenge| match challenge.phase() {
        Some(Phase::SelfChecking) => !challenge.shown_reason().is_empty(),
        Some(Phase::Queued | Phase::Requeued | Phase::Presenting) => {
            challenge.reason_source == ReasonSource::SelfCheck
        }
        Some(Phase::Accepting | Phase::Accepted) | None => false,
    };
    view.refused_challenge().or_else(|| view.order()?.challenges.iter().find(is_wrong))
}

/// The certificate that servers have meanwhile.
fn in_place(view: &CertificateView, scene: &Scene) -> String {
    match view.readable_leaf() {
        Some(leaf) => {
            format!("; the current certificate is valid until {}", scene.time(leaf.not_after))
        }
        None => stand_in(view).to_owned(),
    }
}

/// The mistake, and its place.
fn mistaken(mistake: &Mistake) -> String {
    let Mistake { code, message, path, line } = mistake;
    let path = escape(&path.to_string_lossy()).into_owned();
    let place = if *line == 0 { path } else { format!("{path}:{line}") };
    format!("{place}: {code}: {}", escape(message))
}

/// Reason why the issuer is not known.
pub(in crate::cli) fn no_issuer(view: &CertificateView) -> &'static str {
    match (&view.mistake, &view.certificate) {
        (Some(_), _) => "not known while the manifest is invalid",
        (None, None) => "not known without the manifest",
        (None, Some(_)) => "no manifest defines it",
    }
}

fn revoked(view: &CertificateView, scene: &Scene) -> String {
    let Some(Revocation { reason, revoked_at, .. }) = view.revoked() else { return String::new() };
    let at = revoked_at.map(|at| scene.time(at)).unwrap_or_default();
    let step = if view.certificate.is_none() {
        "its manifest is gone, so nothing replaces it".to_owned()
    } else if view.is_issuing() {
        "its replacement is being issued".to_owned()
    } else if view.ends_here() {
        "nothing replaces it until you renew it".to_owned()
    } else {
        "the next run replaces it".to_owned()
    };
    format!("revoked {at}, {reason}; {step}")
}

fn deferred(view: &CertificateView, scene: &Scene) -> String {
    let until = view.next_attempt.map(|at| scene.time(at)).unwrap_or_default();
    let of_limit =
        view.limit.as_ref().map(|limit| format!(": the CA would refuse an order: {limit}"));
    let of_failure = || last_failure(view).map(|why| format!(": {why}"));
    let why = of_limit.or_else(of_failure).unwrap_or_default();
    format!("waits until {until}{why}")
}

/// Describes the effect of a state that cannot be read.
fn damage(view: &CertificateView) -> String {
    let Some(Damage { course, .. }) = &view.damage else { return String::new() };
    let course = match course {
        // No run works on it.
        DamageCourse::SetAside if view.certificate.is_none() => {
            "restore this file from a backup, or remove it"
        }
        DamageCourse::SetAside => {
            "the next run renames this file and exits with 7, and the run after it continues with \
             the existing key and certificate; to keep the history of this certificate, restore \
             the file from a backup first"
        }
        DamageCourse::LeftToNewer => {
            "install the newer certctl again or restore this file from a backup; if you remove \
             it, certctl issue adopts the existing key and certificate"
        }
        DamageCourse::Unusable => "certctl issue continues when this is corrected",
    };
    format!("; {course}; the current key and certificate are not affected")
}

/// Describes the files of an issued pair that are missing or unusable, and of which there is no
/// copy.
fn lost(view: &CertificateView) -> String {
    let status = view.record.as_ref().map(|record| &record.status);
    let ready = status.and_then(|status| status.condition(ConditionType::Ready));
    let what = match ready.map(|ready| ready.reason) {
        Some(Reason::InvalidKeyPair) => "tls.key is damaged, or not the key of tls.crt",
        Some(Reason::InvalidCertificate) => "tls.crt is damaged",
        Some(Reason::MissingData) if view.leaf.is_some() => "tls.key is missing",
        Some(Reason::MissingData) => "tls.crt is missing",
        Some(_) | None => "its key and certificate are missing",
    };
    format!("{what}, and there is no copy")
}

/// Since when a renewal is overdue, and why.
pub(in crate::cli) fn overdue(view: &CertificateView, scene: &Scene) -> String {
    let Some(overdue) = view.overdue else { return String::new() };
    let due = scene.time(overdue.due);
    let has_failed = view.has_failed();
    let why = if let Some(worker) = &view.worker {
        format!("locked by {worker}")
    } else if let Some(failure) = last_failure(view).filter(|_| has_failed) {
        failure
    } else if let Some(mistake) = &view.mistake {
        escape(&mistake.message).into_owned()
    } else if view.order_moved_at().is_some() {
        format!("the order waits for {}", waits_for(view, true).join("; "))
    } else if let Some(limit) = &view.limit {
        format!("the CA would refuse an order: {limit}")
    } else {
        "no attempt is recorded since then: check that a timer runs certctl issue, and that the \
         state can be written"
            .to_owned()
    };
    format!("the renewal was due {due}: {why}")
}

/// The process that issues it.
fn at_work(view: &CertificateView) -> String {
    let worker = view.worker.as_deref().map(|worker| format!(" by {worker}")).unwrap_or_default();
    format!("being issued{worker}")
}

/// Notes a temporary certificate: servers can start, clients do not trust it.
fn stand_in(view: &CertificateView) -> &'static str {
    if view.is_temporary() { "; servers use a temporary, untrusted certificate" } else { "" }
}

/// Notes a rollback to this certificate.
fn went_back(view: &CertificateView) -> String {
    let back = view.went_back();
    back.map_or_else(String::new, |back| format!("; rolled back from revision {}", back.from))
}

/// The first step of deployment that failed, else the output that is gone, else what no run has
/// done yet.
pub(in crate::cli) fn undeployed(view: &CertificateView) -> Option<String> {
    let failed = view.failed_deployment();
    let failed = failed.map(|failed| failed.failure().cause.to_string());
    let waits = || view.owed.as_ref().map(|owed| format!("{owed}: not run yet"));
    let what = failed.or_else(|| view.lost_output.clone()).or_else(waits)?;
    Some(escape(&what).into_owned())
}

/// Returns whether a deployment only waits to be run.
pub(in crate::cli) fn is_only_owed(view: &CertificateView) -> bool {
    view.failed_deployment().is_none() && view.lost_output.is_none() && view.owed.is_some()
}

/// Reason of the last failure, in one line.
pub(in crate::cli) fn last_failure(view: &CertificateView) -> Option<String> {
    Some(escape(&findings(view)?.title).into_owned())
}

/// When the last attempt failed, in front of what is said of that.
pub(in crate::cli) fn failed_at(view: &CertificateView, scene: &Scene) -> String {
    let failure = view.record.as_ref().and_then(|record| record.last_failure.as_ref());
    let at = failure.and_then(|failure| failure.at);
    at.map(|at| scene.time(at)).unwrap_or_default()
}

/// Puts the time in front of an event where it is known.
pub(in crate::cli) fn timed(at: &str, what: &str) -> String {
    if at.is_empty() { what.to_owned() } else { format!("{at}: {what}") }
}

/// Text behind the time of a failure that stays recorded until the next success and is no longer
/// the newest fact; `None` where it is. Where an obstacle on this host stops the next run, it may
/// be the same one again.
pub(in crate::cli) fn past(view: &CertificateView, is_blocked: bool) -> Option<&'static str> {
    if view.failure().is_none() {
        Some(if is_blocked { "" } else { " (no longer true)" })
    } else if view.has_moved_on() {
        Some(" (a new order has started since)")
    } else {
        None
    }
}

/// The root cause of the last failure.
pub(in crate::cli) fn findings(view: &CertificateView) -> Option<Diagnosis> {
    let failure = view.record.as_ref()?.last_failure.as_ref()?;
    // An order failed with an attempt that counted: what came after that has another cause.
    let order = if failure.counts() { failed_order(view) } else { None };
    Some(cause_of(failure, order, view))
}

/// Describes the last failure that counted, and its time, where something else has failed since.
pub(in crate::cli) fn counted_before(view: &CertificateView, scene: &Scene) -> Option<String> {
    let record = view.record.as_ref()?;
    record.last_failure.as_ref().filter(|failure| !failure.counts())?;
    let order = failed_order(view)?;
    let cause = Cause::local(order.reason.clone());
    let failure = Failure::of(Doing::Nothing, cause);
    let title = cause_of(&failure, Some(order), view).title;
    let at = record.status.last_failure_time.map(|at| scene.time(at)).unwrap_or_default();
    Some(format!("{at}: {}", escape(&title)))
}

fn cause_of(failure: &Failure, order: Option<&Order>, view: &CertificateView) -> Diagnosis {
    let url = failure.cause.at_the_ca().map_or("", |failed| failed.url.as_str());
    let evidence = Evidence {
        of_order: view.order().is_some_and(|order| order.has_url(url)),
        issuer: view.issuer_ref().map(|issuer| issuer.name.clone()).unwrap_or_default(),
        order: order.cloned().map(Box::new),
        ..Evidence::default()
    };
    of_failure(failure, &evidence, Some(&view.key))
}

/// The order that the last attempt that counted failed with, if one did.
fn failed_order(view: &CertificateView) -> Option<&Order> {
    let failed_at = view.record.as_ref()?.status.last_failure_time?;
    view.orders.iter().rfind(|order| order.failure_time() == Some(failed_at))
}
