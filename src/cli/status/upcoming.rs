//! What happens next to a certificate, and when: the one rule for the column RENEWS, for
//! `Next attempt` and for the start page.
//!
//! The first row that applies wins:
//!
//! | what | when |
//! | --- | --- |
//! | nothing | its manifest is gone or invalid, its state is not readable, or it was revoked for good |
//! | its repair, by the next run | a document of its state is damaged |
//! | it is under way | a process issues it |
//! | a retry, at its time | an issuance waits |
//! | a retry, a renewal or an issuance by the next run | an issuance is open, or the last attempt failed |
//! | its replacement, by the next run | it is revoked |
//! | its repair, by the next run | its links or files are missing or damaged, and there are copies |
//! | its issuance, by the next run | key or certificate is missing or damaged, and there is no copy |
//! | its deployment, at its time or by the next run | it is issued and not deployed |
//! | its issuance, by the next run | its manifest asks for another one |
//! | nothing | renewal is disabled |
//! | its renewal, at its time or by the next run | all else |

use jiff::Timestamp;

use super::progress::NEXT_RUN;
use super::scene::Scene;
use super::verdict::Verdict;
use crate::cli::time;
use crate::workspace::view::{CertificateView, DamageCourse};

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upcoming {
    /// Nothing, until the operator acts.
    Never,
    /// A process is at it.
    UnderWay,
    /// The next run does this.
    NextRun(Step),
    /// This, and not before this time.
    At(Step, Timestamp),
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A certificate is issued: the first one, or another one.
    Issuance,
    /// The live certificate is renewed; since when that is due.
    Renewal {
        due: Option<Timestamp>,
    },
    /// What failed, or waited, is tried again.
    Retry,
    Repair,
    Deployment,
}

impl Step {
    /// As the start page calls it.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Issuance => "issuance",
            Self::Renewal { .. } => "renewal",
            Self::Retry => "retry",
            Self::Repair => "repair",
            Self::Deployment => "deployment",
        }
    }
}

impl Upcoming {
    /// What happens next to a certificate with this verdict.
    pub fn of(view: &CertificateView, verdict: Verdict, now: Timestamp) -> Self {
        let is_issuing = view.is_issuing();
        let is_lost = view.certificate.is_none() || verdict == Verdict::Invalid;
        if is_lost || (view.ends_here() && !is_issuing) {
            return Self::Never;
        }
        if let Some(damage) = &view.damage {
            return match damage.course {
                DamageCourse::SetAside => Self::NextRun(Step::Repair),
                DamageCourse::LeftToNewer | DamageCourse::Unusable => Self::Never,
            };
        }
        if is_issuing && view.worker.is_some() {
            return Self::UnderWay;
        }
        if let Some(at) = view.next_attempt.filter(|at| *at > now) {
            return Self::At(Step::Retry, at);
        }
        let renewal = view.renewal_time.filter(|_| !view.never_renews());
        let due = renewal.filter(|at| *at <= now);
        if is_issuing || view.has_failed() {
            let first = if due.is_some() { Step::Renewal { due } } else { Step::Issuance };
            return Self::NextRun(if view.has_failed() { Step::Retry } else { first });
        }
        match verdict {
            Verdict::Revoked => return Self::NextRun(Step::Issuance),
            Verdict::FilesDamaged if view.links.is_none() => return Self::NextRun(Step::Issuance),
            Verdict::LinksMissing | Verdict::FilesDamaged => return Self::NextRun(Step::Repair),
            Verdict::PendingDeploy => {
                let at = view.next_deployment().filter(|at| *at > now);
                let next_run = Self::NextRun(Step::Deployment);
                return at.map_or(next_run, |at| Self::At(Step::Deployment, at));
            }
            Verdict::Pending if view.went_back().is_none() => {
                return Self::NextRun(Step::Issuance);
            }
            Verdict::Damaged
            | Verdict::Invalid
            | Verdict::NoManifest
            | Verdict::Expired
            | Verdict::Overdue
            | Verdict::Issuing
            | Verdict::Renewing
            | Verdict::Deferred
            | Verdict::Failed
            | Verdict::Waiting
            | Verdict::Ready
            | Verdict::Pending => {}
        }
        match renewal {
            Some(at) if at > now => Self::At(Step::Renewal { due: None }, at),
            Some(_) => Self::NextRun(Step::Renewal { due }),
            None => Self::Never,
        }
    }

    /// As the column RENEWS has it.
    pub(super) fn cell(self, view: &CertificateView, scene: &Scene) -> String {
        let relative = |at| time::relative(at, scene.now);
        match self {
            Self::Never => "never".to_owned(),
            Self::UnderWay => "now".to_owned(),
            Self::At(Step::Renewal { .. }, at) => {
                let suggested = if view.is_suggested { " ARI" } else { "" };
                date_and_distance(at, scene) + suggested
            }
            Self::At(Step::Deployment, at) => format!("deploy {}", relative(at)),
            Self::At(Step::Issuance | Step::Retry | Step::Repair, at) => {
                format!("retry {}", relative(at))
            }
            Self::NextRun(Step::Renewal { due: Some(due) }) => format!("due {}", relative(due)),
            Self::NextRun(Step::Renewal { due: None } | Step::Issuance) => "next run".to_owned(),
            Self::NextRun(Step::Retry) => "retry: next run".to_owned(),
            Self::NextRun(Step::Repair) => "repair: next run".to_owned(),
            Self::NextRun(Step::Deployment) => "deploy: next run".to_owned(),
        }
    }

    /// As `Next attempt` has it: the time and the number of the attempt.
    pub(super) fn sentence(self, view: &CertificateView, scene: &Scene) -> String {
        let when = match self {
            Self::Never if view.mistake.is_some() => {
                return format!("{NEXT_RUN}, once its manifest is corrected");
            }
            Self::Never => return "never".to_owned(),
            Self::UnderWay => {
                let worker = view.worker.as_deref().unwrap_or_default();
                return format!("now, by {worker}");
            }
            Self::At(Step::Retry | Step::Deployment, at) => {
                format!("not before {}", scene.time(at))
            }
            Self::At(Step::Issuance | Step::Renewal { .. } | Step::Repair, at) => scene.time(at),
            Self::NextRun(_) => NEXT_RUN.to_owned(),
        };
        match view.failures() {
            0 => when,
            failures => format!("{when}, attempt {}", failures.saturating_add(1)),
        }
    }
}

/// `2027-02-18 90d`, `2026-11-01 20d ago`.
pub(super) fn date_and_distance(at: Timestamp, scene: &Scene) -> String {
    format!("{} {}", time::local_date(at, &scene.zone), distance(at, scene))
}

/// `90d`, `20d ago`.
pub(super) fn distance(at: Timestamp, scene: &Scene) -> String {
    let distance = time::relative(at, scene.now);
    distance.strip_prefix("in ").unwrap_or(&distance).to_owned()
}
