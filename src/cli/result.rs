//! What a run did, for programs: the document that `issue`, `renew`, `deploy` and `revoke` print
//! with -o json or -o yaml, and with `--log-format json` the line for each certificate.
//!
//! Contract: one item for each certificate that the run was about, whether something was done or
//! not; what is live stands in it as the state has it after the run.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::args::Format;
use super::document;
use super::error::CliError;
use super::exit::ExitCode;
use super::output::Output;
use super::remark::{Level, Remark};
use super::report;
use super::report::Look;
use super::shell::Shell;
use super::time::rfc3339;
use crate::engine::{Ended, Ending};
use crate::resource::{FailureClass, NamespacedName, RevocationReason};
use crate::store::{Records, StateDirectory};

/// What a run did.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Results {
    items: Vec<Item>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    revocations: Vec<Revoked>,
}

/// One certificate.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Item {
    namespace: String,
    name: String,
    ending: &'static str,
    /// cert-manager's reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Why it ended so.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_after: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    renewal_time: Option<String>,
    /// What servers read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    /// The order that is gone on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_issuance_attempts: Option<u32>,
    /// Not before then; the next run when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Fault>,
    /// Why it is not where it is to be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    deploy_error: Option<Fault>,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct Fault {
    class: &'static str,
    message: String,
}

/// A certificate that was to be taken back.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Revoked {
    /// The Certificate whose it was, as `namespace/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) certificate: Option<String>,
    /// Lower-case hexadecimal.
    pub(crate) serial: String,
    /// RFC 5280's word.
    pub(crate) reason: String,
    /// `revoked`, `owed` or `failed`.
    pub(crate) state: &'static str,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

impl Revoked {
    /// A revocation and how it stands.
    pub(crate) fn new(
        certificate: Option<&NamespacedName>,
        serial: &str,
        reason: RevocationReason,
        state: &'static str,
    ) -> Self {
        let certificate = certificate.map(ToString::to_string);
        let (serial, reason) = (serial.to_owned(), reason.to_string());
        Self { certificate, serial, reason, state, message: None }
    }
}

impl Results {
    /// Notes how certificates ended.
    pub(crate) async fn note(
        &mut self,
        state: &StateDirectory,
        ended: &[Ended],
    ) -> Result<(), CliError> {
        for end in ended {
            self.items.push(Item::of(state, end).await?);
        }
        Ok(())
    }

    /// Notes a revocation.
    pub(crate) fn revoked(&mut self, revoked: Revoked) {
        self.revocations.push(revoked);
    }
}

/// Whether the document is wanted.
pub(crate) fn is_wanted(shell: &Shell) -> bool {
    matches!(shell.global.format(), Format::Json | Format::Yaml)
}

/// Prints the document when it is wanted.
pub(crate) fn print(shell: &mut Shell) -> Result<(), CliError> {
    let text = match shell.global.format() {
        format @ (Format::Json | Format::Yaml) => document::text(&shell.results, format)?,
        Format::Text | Format::Wide | Format::Name | Format::Prometheus => return Ok(()),
    };
    Ok(shell.output.data(&text)?)
}

impl Item {
    async fn of(state: &StateDirectory, end: &Ended) -> Result<Self, CliError> {
        let name = &end.certificate;
        let record = Records::new(state).certificate(name).await?.map(|kept| kept.value);
        let status = record.as_ref().map(|record| &record.status);
        let secret = record.as_ref().map(|r| NamespacedName::new(&name.namespace, &r.secret_name));
        let is_live = status.is_some_and(|status| status.revision.is_some());
        let item = Self {
            namespace: name.namespace.clone(),
            name: name.name.clone(),
            ending: word(end),
            reason: None,
            message: None,
            revision: status.and_then(|status| status.revision),
            not_after: status.and_then(|status| status.not_after).map(rfc3339),
            renewal_time: status.and_then(|status| status.renewal_time).map(rfc3339),
            files: secret
                .filter(|_| is_live)
                .map(|secret| files(state, &secret))
                .unwrap_or_default(),
            order: None,
            failed_issuance_attempts: status.and_then(|status| status.failed_issuance_attempts),
            next_attempt: None,
            error: None,
            deploy_error: end.undeployed.as_ref().map(|undeployed| Fault {
                class: class_word(undeployed.failure.class),
                message: undeployed.failure.to_string(),
            }),
        };
        Ok(item.ended(end))
    }

    /// With what is known of the ending.
    fn ended(self, end: &Ended) -> Self {
        let fault = |class, message: &str| {
            Some(Fault { class: class_word(class), message: message.to_owned() })
        };
        match &end.ending {
            Ending::Unchanged { .. } => Self { message: end.rewritten.clone(), ..self },
            Ending::Issued(_) | Ending::Interrupted { .. } => self,
            Ending::Deferred { until, why, urgent } => {
                let why = report::deferral(why, *until);
                Self {
                    next_attempt: until.map(rfc3339),
                    error: urgent.and_then(|class| fault(class, &why)),
                    message: Some(why),
                    ..self
                }
            }
            Ending::Locked { holder } => {
                Self { message: Some(format!("locked by {holder}")), ..self }
            }
            Ending::Pending { order, why, overdue, .. } => Self {
                message: Some(why.clone()),
                order: Some(order.clone()),
                error: overdue.then(|| fault(FailureClass::Validation, why)).flatten(),
                ..self
            },
            Ending::Failed { failure, next_attempt, .. } => Self {
                reason: Some(failure.reason().as_str()),
                next_attempt: next_attempt.map(rfc3339),
                error: fault(failure.class, &failure.to_string()),
                ..self
            },
        }
    }
}

/// Says how one certificate ended, in parts.
pub(crate) fn tell(output: &mut Output, state: &StateDirectory, end: &Ended, look: &Look) {
    match remark(end).filter(|_| end.is_news) {
        Some(remark) => {
            let block = report::block(end, look).unwrap_or_default();
            let rows = block.rows.iter().map(|row| json!({ "label": row.label, "text": row.text }));
            let rows: Vec<Value> = rows.collect();
            output.tell(&remark.with("details", rows).with("try", block.commands));
        }
        // It has no parts, or is not told, or is a line of the log already.
        None => report::ending(output, state, &Ended { undeployed: None, ..end.clone() }, look),
    }
    if let Some(undeployed) = end.undeployed.as_ref().filter(|undeployed| undeployed.is_news) {
        let failure = &undeployed.failure;
        let remark = about(end, Level::Error, &failure.to_string())
            .with("class", class_word(failure.class))
            .with("reason", failure.reason().as_str())
            .with("next_attempt", Value::Null);
        output.tell(&remark);
    }
}

fn remark(end: &Ended) -> Option<Remark> {
    let next = |at: Option<Timestamp>| at.map_or(Value::Null, |at| rfc3339(at).into());
    match &end.ending {
        Ending::Unchanged { .. } | Ending::Issued(_) => None,
        Ending::Deferred { until, why, urgent } => {
            let level = if urgent.is_some() { Level::Error } else { Level::Warn };
            let class = urgent.map_or(ExitCode::Deferred.word(), class_word);
            let why = report::deferral(why, *until);
            Some(about(end, level, &why).with("class", class).with("next_attempt", next(*until)))
        }
        Ending::Locked { holder } => {
            let remark = about(end, Level::Warn, &format!("locked by {holder}"));
            Some(remark.with("class", ExitCode::Deferred.word()).with("next_attempt", Value::Null))
        }
        Ending::Pending { order, why, overdue, since } => {
            let (level, class) = match overdue {
                true => (Level::Error, class_word(FailureClass::Validation)),
                false => (Level::Warn, ExitCode::Deferred.word()),
            };
            let remark = about(end, level, why)
                .with("class", class)
                .with("next_attempt", Value::Null)
                .with("order", order.as_str())
                .with("since", rfc3339(*since));
            Some(remark.with("report", end.evidence.checks()))
        }
        Ending::Failed { failure, attempts, next_attempt } => {
            let remark = about(end, Level::Error, &failure.to_string())
                .with("class", class_word(failure.class))
                .with("reason", failure.reason().as_str())
                .with("next_attempt", next(*next_attempt));
            Some(remark.with_some("attempts", *attempts))
        }
        Ending::Interrupted { signal } => {
            let remark = about(end, Level::Warn, "interrupted; the next run goes on");
            Some(remark.with("class", "interrupted").with("signal", *signal))
        }
    }
}

fn about(end: &Ended, level: Level, message: &str) -> Remark {
    let certificate = end.certificate.to_string();
    Remark::new(level, format!("{certificate}: {message}"), message)
        .with("certificate", certificate)
        .with("ending", word(end))
}

fn word(end: &Ended) -> &'static str {
    match &end.ending {
        Ending::Unchanged { .. } if end.rewritten.is_some() => "rewritten",
        Ending::Unchanged { .. } => "unchanged",
        Ending::Issued(_) => "issued",
        Ending::Deferred { .. } => "deferred",
        Ending::Locked { .. } => "locked",
        Ending::Pending { .. } => "pending",
        Ending::Failed { .. } => "failed",
        Ending::Interrupted { .. } => "interrupted",
    }
}

/// The class of a failure, for programs.
pub(crate) fn class_word(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Unreachable => "unreachable",
        FailureClass::Other
        | FailureClass::Precondition
        | FailureClass::Validation
        | FailureClass::Ca
        | FailureClass::Output
        | FailureClass::State => ExitCode::from(class).word(),
    }
}

/// The files of a Secret, by the paths that stay.
fn files(state: &StateDirectory, secret: &NamespacedName) -> Vec<String> {
    let Ok(folder) = state.secret_path(secret) else { return Vec::new() };
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut paths: Vec<String> = names
        .filter(|name| !name.starts_with('.'))
        .map(|name| folder.join(name).to_string_lossy().into_owned())
        .collect();
    paths.sort();
    paths
}
