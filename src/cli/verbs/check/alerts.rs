//! `certctl check alerts`: tells of a failure that has not happened, in each way that is set up.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::known::note_unread;
use super::page::{format_of, lines, print};
use crate::cli::error::CliError;
use crate::cli::exit::Ending;
use crate::cli::global::HookTime;
use crate::cli::run::on_one_thread;
use crate::cli::shell::Shell;
use crate::cli::verbs::doctor::{NOT_REPORTED, way_to_report};
use crate::cli::verbs::metrics_file;
use crate::cli::verbs::ping::{Moment, try_ping};
use crate::cli::words::hint::Hint;
use crate::engine::ports::{Clock as _, SystemClock};
use crate::resource::FailureClass;
use crate::resource::Obstacle;
use crate::workspace::check::TriedHook;

/// `certctl check alerts`.
pub(super) fn check(shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let format = format_of(shell, "check alerts")?;
    shell.refuse_in_a_hook("check alerts")?;
    note_unread(shell);
    let found = on_one_thread(async { Alerts::try_all(shell).await })?;
    let page = lines(&page(&found, shell));
    shell.output.name_commands();
    print(shell, format, page, &found.document())?;
    Ok(found.endings())
}

/// The ways in which a failure is reported, and how each went.
struct Alerts {
    on_failure: Option<TriedHook>,
    ping: Option<Result<String, String>>,
    /// File, and the obstacle to writing it.
    metrics_file: Option<(PathBuf, Option<Obstacle>)>,
}

impl Alerts {
    /// Tries those that can be tried.
    async fn try_all(shell: &Shell) -> Result<Self, CliError> {
        let on_failure = TriedHook::run(&shell.settings()?, SystemClock.now()).await;
        let ping = try_ping(shell, Moment::Failure).await;
        let ping = ping.map(|tried| tried.map_err(|why| why.to_string()));
        let metrics_file = shell.global.metrics_file.clone();
        let metrics_file = metrics_file.map(|path| {
            let refused = metrics_file::obstacle(&path);
            (path, refused)
        });
        Ok(Self { on_failure, ping, metrics_file })
    }

    fn endings(&self) -> Vec<Ending> {
        let has_failed = matches!(self.on_failure, Some(TriedHook { outcome: Err(_), .. }))
            || matches!(self.ping, Some(Err(_)))
            || matches!(self.metrics_file, Some((_, Some(_))));
        match self {
            _ if has_failed => vec![Ending::Failed(FailureClass::Output)],
            Self { on_failure: None, ping: None, metrics_file: None } => {
                vec![Ending::Failed(FailureClass::Precondition)]
            }
            Self { .. } => Vec::new(),
        }
    }

    fn document(&self) -> AlertsDocument {
        AlertsDocument {
            on_failure: self.on_failure.as_ref().map(|TriedHook { path, outcome }| HookItem {
                path: path.display().to_string(),
                error: outcome.as_ref().err().map(|refused| refused.fact.clone()),
            }),
            ping: self.ping.as_ref().map(|tried| PingItem { error: tried.as_ref().err().cloned() }),
            metrics_file: self.metrics_file.as_ref().map(|(path, _)| path.display().to_string()),
            metrics_file_error: self
                .metrics_file
                .as_ref()
                .and_then(|(_, refused)| refused.as_ref().map(|refused| refused.fact.clone())),
        }
    }
}

fn page(found: &Alerts, shell: &Shell) -> Vec<(&'static str, String)> {
    let mut page = Vec::new();
    let mut fix = None;
    if let Some(TriedHook { path, outcome }) = &found.on_failure {
        let path = path.display();
        match outcome {
            Ok(()) => {
                let user = if shell.global.hooks == HookTime::AsRoot { " as root" } else { "" };
                page.push(("on-failure", format!("{path} ran{user}, and succeeded")));
                page.push(("", ARRIVAL.to_owned()));
            }
            Err(refused) => {
                page.push(("on-failure", format!("failed: {}", refused.fact)));
                fix.clone_from(&refused.fix);
            }
        }
    }
    page.extend(found.ping.as_ref().map(|tried| {
        let result = match tried {
            Ok(host) => format!("{host} shows a failed run until the next run succeeds"),
            Err(why) => format!("failed: {why}"),
        };
        ("ping", result)
    }));
    if let Some((path, refused)) = &found.metrics_file {
        let path = path.display();
        let result = match refused {
            Some(Obstacle { fact, .. }) => format!("{path} cannot be written: {fact}"),
            None => format!("{path}: each run writes it, but this check does not"),
        };
        page.push(("metrics", result));
        fix = fix.or_else(|| refused.as_ref()?.fix.clone());
    }
    if page.is_empty() {
        page.push(("alerts", NOT_REPORTED.to_owned()));
        fix = Some(way_to_report());
    }
    page.extend(fix.map(|fix| ("try", Hint::from(fix).to_string())));
    page
}

/// The hook that is shipped sends mail to root.
const ARRIVAL: &str = "check that its message has arrived; mailq lists mail that has not left \
                       this host";

/// Result of a test failure in each way to report it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct AlertsDocument {
    /// The hook `on-failure`, where there is one.
    on_failure: Option<HookItem>,
    /// The URL of `ping`, where there is one.
    ping: Option<PingItem>,
    /// The file of `metrics-file`, which this check does not write.
    metrics_file: Option<String>,
    /// Reason why a run cannot write it.
    metrics_file_error: Option<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct HookItem {
    path: String,
    /// Reason for the failure.
    error: Option<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PingItem {
    /// Reason for the failure.
    error: Option<String>,
}
