//! The result of one certificate in a run, as one value.
//!
//! Contract: built once, from how the engine ended. `-o json` prints its serialization; the
//! terminal, the progress lines, the log and the exit code read the same fields.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::controller::Deferral;
use crate::engine::{self, Ended, Evidence, Issued};
use crate::resource::{
    CertificateRecord, CheckReport, Failure, FailureClass, Fix, NamespacedName, Problem, Reason,
    RevokedCertificate, Rfc3339, Spent, rfc3339,
};

/// The result of one certificate.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub namespace: String,
    pub name: String,
    pub ending: Ending,
    /// cert-manager's reason of a failure.
    pub reason: Option<Reason>,
    /// Why the run ended this way, when nothing failed.
    pub message: Option<String>,
    pub revision: Option<u32>,
    pub not_after: Option<Rfc3339>,
    pub renewal_time: Option<Rfc3339>,
    /// The paths that servers read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The pending order that the next run continues.
    pub order: Option<String>,
    /// The last self-check report of each challenge of that order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckReport>,
    pub failed_issuance_attempts: Option<u32>,
    /// The earliest time of the next attempt; without it, the next run tries.
    pub next_attempt: Option<Rfc3339>,
    pub error: Option<Fault>,
    /// Why the files are not deployed.
    pub deploy_error: Option<Fault>,
    #[serde(skip)]
    pub details: Details,
}

/// The kind of result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// A new pair is live.
    Issued,
    /// Nothing was due.
    Unchanged,
    /// The live pair was rewritten in other formats.
    Rewritten,
    /// Due, but it must wait.
    Deferred,
    /// Another process holds the lock.
    Locked,
    /// The order is still pending.
    Pending,
    Failed,
    /// A signal ended the run.
    Interrupted,
}

impl Ending {
    /// Whether the certificate matches its spec.
    pub fn is_well(self) -> bool {
        matches!(self, Self::Issued | Self::Unchanged | Self::Rewritten)
    }

    /// The printed form.
    pub fn word(self) -> &'static str {
        match self {
            Self::Issued => "issued",
            Self::Unchanged => "unchanged",
            Self::Rewritten => "rewritten",
            Self::Deferred => "deferred",
            Self::Locked => "locked",
            Self::Pending => "pending",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// Decides the exit code.
    pub class: FailureClass,
    pub message: String,
    /// The CA's problem document, if it sent one.
    pub problem: Option<Problem>,
    /// The failure with its cause; missing while an order is only overdue.
    #[serde(skip)]
    pub failure: Option<Failure>,
}

impl Fault {
    fn of(failure: &Failure) -> Self {
        let (message, problem) = (failure.to_string(), failure.cause.problem().cloned());
        Self { class: failure.class, message, problem, failure: Some(failure.clone()) }
    }
}

/// What only the text output shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Details {
    /// Whether to report it now: an unattended run reports the same thing once a day.
    pub is_due: bool,
    /// The same for a failed deployment.
    pub deploy_is_due: bool,
    /// When the step of deployment was tried before, unless this run has tried it.
    pub deploy_last_try: Option<Timestamp>,
    /// When it is retried, if not by the next run.
    pub deploy_next_try: Option<Timestamp>,
    /// Why the live pair was rewritten, if it was.
    pub rewritten: Option<String>,
    /// The deployment steps that succeeded.
    pub deployed: Vec<String>,
    /// The first of those that are left to another run.
    pub left: Option<String>,
    /// A new pair.
    pub issued: Option<Issued>,
    /// The places in the manifests of what this machine lacks.
    pub places: Vec<String>,
    /// What to do about it, which the message may say as well.
    pub fixes: Vec<Fix>,
    /// The number of consecutive failures, when this one counts or is waited for.
    pub attempts: Option<u32>,
    /// Why it waits, without the time.
    pub wait: String,
    /// The published limit of the CA that it waits for.
    pub limit: Option<Spent>,
    /// When the pending order was made.
    pub since: Option<Timestamp>,
    /// The signal that ended the run.
    pub signal: Option<i32>,
    /// That the live certificate is revoked, and not replaced until the user requests it.
    pub unreplaced: Option<String>,
    /// The revocation by its CA that made the run replace the certificate.
    pub revoked: Option<RevokedCertificate>,
    /// Details of a failure or a wait.
    pub evidence: Evidence,
}

impl Report {
    /// The result of an engine run.
    pub fn of(ended: Ended) -> Self {
        let Ended {
            certificate,
            ending,
            undeployed,
            rewritten,
            is_new,
            deployed,
            left,
            revoked,
            evidence,
            idle_until: _,
        } = ended;
        let report = Self {
            namespace: certificate.namespace,
            name: certificate.name,
            ending: Ending::Unchanged,
            reason: None,
            message: None,
            revision: None,
            not_after: evidence.not_after.map(Rfc3339),
            renewal_time: None,
            files: Vec::new(),
            order: None,
            checks: Vec::new(),
            failed_issuance_attempts: None,
            next_attempt: None,
            error: None,
            deploy_error: undeployed.as_ref().map(|undeployed| Fault::of(&undeployed.failure)),
            details: Details {
                is_due: is_new,
                deploy_is_due: undeployed.as_ref().is_some_and(|undeployed| undeployed.is_new),
                deploy_last_try: undeployed.as_ref().and_then(|undeployed| undeployed.last_try),
                deploy_next_try: undeployed.and_then(|undeployed| undeployed.next_try),
                rewritten,
                deployed,
                left,
                issued: None,
                places: Vec::new(),
                fixes: Vec::new(),
                attempts: None,
                wait: String::new(),
                limit: None,
                since: None,
                signal: None,
                unreplaced: None,
                revoked,
                evidence,
            },
        };
        report.ended(ending)
    }

    fn ended(mut self, ending: engine::Ending) -> Self {
        self.ending = match &ending {
            engine::Ending::Unchanged { .. } if self.details.rewritten.is_some() => {
                Ending::Rewritten
            }
            engine::Ending::Unchanged { .. } => Ending::Unchanged,
            engine::Ending::Issued(_) => Ending::Issued,
            engine::Ending::Deferred { .. } => Ending::Deferred,
            engine::Ending::Locked { .. } => Ending::Locked,
            engine::Ending::Pending { .. } => Ending::Pending,
            engine::Ending::Failed { .. } => Ending::Failed,
            engine::Ending::Interrupted { .. } => Ending::Interrupted,
        };
        match ending {
            engine::Ending::Unchanged { not_after, renewal_time } => {
                self.message.clone_from(&self.details.rewritten);
                self.not_after = not_after.map(Rfc3339);
                self.renewal_time = renewal_time.map(Rfc3339);
            }
            engine::Ending::Issued(issued) => {
                self.revision = Some(issued.revision);
                self.not_after = Some(Rfc3339(issued.leaf.not_after));
                self.renewal_time = issued.renewal_time.map(Rfc3339);
                self.details.issued = Some(*issued);
            }
            engine::Ending::Deferred { until, why, urgent } => {
                let message = deferral(&why, until);
                self.error = urgent.map(|class| Fault {
                    class,
                    message: message.clone(),
                    problem: None,
                    failure: self.details.evidence.last_failure.clone(),
                });
                self.message = Some(message);
                self.next_attempt = until.map(Rfc3339);
                self.details.wait = deferral(&why, None);
                match why {
                    Deferral::Limit(spent) => self.details.limit = Some(*spent),
                    Deferral::Backoff { attempts } => self.details.attempts = Some(attempts),
                    Deferral::RetryAfter | Deferral::Outage(_) => {}
                }
            }
            engine::Ending::Locked { holder } => {
                self.message = Some(format!("locked by {holder}"));
            }
            engine::Ending::Pending { order, since, why, overdue } => {
                let why = why.to_string();
                self.error = overdue.then(|| Fault {
                    class: FailureClass::Validation,
                    message: why.clone(),
                    problem: None,
                    failure: None,
                });
                let orders = self.details.evidence.order.iter();
                let challenges = orders.flat_map(|order| &order.challenges);
                let checks = challenges.filter_map(|challenge| challenge.check());
                self.checks = checks.cloned().collect();
                self.order = Some(order);
                self.details.since = Some(since);
                self.details.wait.clone_from(&why);
                self.message = Some(why);
            }
            engine::Ending::Failed { failure, attempts, next_attempt } => {
                self.reason = Some(failure.reason());
                self.error = Some(Fault::of(&failure));
                self.next_attempt = next_attempt.map(Rfc3339);
                self.details.attempts = attempts;
            }
            engine::Ending::Interrupted { signal } => {
                self.message = Some("interrupted; the next run continues".to_owned());
                self.details.signal = Some(signal);
            }
        }
        self
    }

    /// Adds what the state holds after the run, for `-o json`.
    #[must_use]
    pub fn with_state(mut self, record: Option<&CertificateRecord>, files: Vec<String>) -> Self {
        if let Some(status) = record.map(|record| &record.status) {
            self.revision = status.revision;
            self.not_after = status.not_after.map(Rfc3339);
            self.renewal_time = status.renewal_time.map(Rfc3339);
            self.failed_issuance_attempts = status.failed_issuance_attempts;
        }
        self.files = files;
        self
    }

    /// The certificate.
    pub fn key(&self) -> NamespacedName {
        NamespacedName::new(&self.namespace, &self.name)
    }

    /// The last self-checks, a line per server queried.
    pub fn checks_text(&self) -> String {
        self.checks.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    /// The reason of the result.
    pub fn why(&self) -> &str {
        let error = self.error.as_ref().map(|error| error.message.as_str());
        error.or(self.message.as_deref()).unwrap_or_default()
    }
}

/// Why an issuance waits; with the time unless a separate field has it.
fn deferral(why: &Deferral, until: Option<Timestamp>) -> String {
    let until = match (why, until.map(rfc3339)) {
        (Deferral::Backoff { .. }, Some(at)) => {
            format!(". Issuance will next be attempted at {at}")
        }
        (Deferral::RetryAfter | Deferral::Limit(_), Some(at)) => format!(" until {at}"),
        (Deferral::Outage(_), _) | (_, None) => String::new(),
    };
    format!("{why}{until}")
}
