//! `certctl rollback`: makes a kept revision live again and deploys it.

use std::ffi::OsString;

use clap::Args;
use jiff::tz::TimeZone;

use crate::cli::targets::{open_for, targets};
use crate::cli::verbs::issue::{only_deploy, work_on};
use crate::cli::{
    CliError, Ending, ExitCode, Level, Shell, Text, VerbArgs, escape, on_one_thread, short, time,
};
use crate::controller::rollback::{RollbackError, StoredRevision};
use crate::engine::ports::{Clock as _, SystemClock};
use crate::resource::NamespacedName;
use crate::workspace::{BackError, Job, Request, WentBack};

/// Go back to the previous certificate and key, and deploy them.
///
/// That certificate stays live until its renewal is due, you run `certctl renew NAME`, or its
/// manifest changes. If its renewal is already due, certctl renews it after two thirds of its
/// remaining time. certctl never goes back to an expired or revoked certificate, or to a banned
/// key.
#[derive(Debug, Args)]
pub struct RollbackArgs {
    /// A certificate, as NAME or NAMESPACE/NAME.
    #[arg(value_name = "NAME")]
    pub name: OsString,
    /// The revision to go back to; 0 is the adopted certificate [default: the previous one]
    #[arg(long, value_name = "REVISION")]
    pub to: Option<u32>,
}

impl VerbArgs for RollbackArgs {
    const WRITES_METRICS: bool = true;

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        rollback(self, shell).and_then(|code| shell.print_results(code))
    }
}

/// Makes a kept revision live again, then deploys it.
pub(crate) fn rollback(args: &RollbackArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    shell.refuse_in_a_hook("rollback")?;
    let request = Request::names(std::slice::from_ref(&args.name))?;
    if request.names.is_empty() {
        return Err(CliError::usage("rollback needs a certificate: NAME or NAMESPACE/NAME"));
    }
    on_one_thread(go_back(args, &request, shell))
}

async fn go_back(
    args: &RollbackArgs,
    request: &Request,
    shell: &mut Shell,
) -> Result<Vec<Ending>, CliError> {
    let mut workspace = open_for(shell, request).await?;
    let found = targets(shell, &mut workspace, request)?;
    let [task] = found.tasks.as_slice() else {
        let message = "to roll back, its Certificate and Issuer must exist";
        return Err(CliError::manifest(message).hinted("-f MANIFEST"));
    };
    workspace.make_writable()?;
    let job = Job::new("rollback", found.secrets.clone());
    let back = Box::pin(workspace.roll_back(task, args.to, job)).await.map_err(refused)?;
    let text = summary(&task.certificate.metadata.key(), &back, &shell.environment.zone());
    shell.output.talk(Level::Info, text);
    workspace.read_records().await?;
    let run = work_on(shell, &mut workspace, request, found, "rollback", only_deploy);
    let mut ended = Box::pin(run).await?;
    ended.extend(matches!(back, WentBack::Done { .. }).then_some(Ending::Changed));
    Ok(ended)
}

fn summary(certificate: &NamespacedName, back: &WentBack, zone: &TimeZone) -> Text {
    let WentBack::Done { from, to, leaf, renewal_time, violation } = back else {
        let WentBack::Already { revision } = back else { return Text::default() };
        return format!("{}: {} is already in use", short(certificate), what(*revision)).into();
    };
    let now = SystemClock.now();
    let text = format!(
        "{}: rolled back from revision {from} to {}: serial {}, valid until {}",
        short(certificate),
        what(*to),
        leaf.serial,
        time::dated(leaf.not_after, now, Some(zone))
    );
    let mut text = Text::from(text);
    if let Some(violation) = violation {
        text.push(&format!(
            "\n  it does not match its manifest, and stays until you edit the manifest: {}",
            escape(&violation.message)
        ));
    }
    match renewal_time {
        Some(at) => {
            let at = time::dated(*at, now, Some(zone));
            text.push(&format!("\n  renews {at}; to replace it earlier: "));
        }
        None => text.push("\n  automatic renewal is disabled: "),
    }
    text.with_command(&format!("certctl renew {}", short(certificate)))
}

fn what(revision: u32) -> String {
    match revision {
        0 => "the adopted certificate (revision 0)".to_owned(),
        revision => format!("revision {revision}"),
    }
}

/// The error with a line for each revision that is kept.
fn refused(error: BackError) -> CliError {
    let error = match error {
        BackError::Run(error) => return error.into(),
        BackError::Failed(failure) => {
            return CliError::new(ExitCode::from(failure.class), failure);
        }
        BackError::Refused(error) => error,
    };
    let (certificate, stored) = match &error {
        RollbackError::NoneBefore { certificate, stored, .. }
        | RollbackError::Unknown { certificate, stored, .. }
        | RollbackError::Refused { certificate, stored, .. } => (certificate, stored.as_slice()),
        RollbackError::Nothing { .. } => {
            return CliError::manifest(error);
        }
    };
    let mut message = error.to_string();
    for found in stored {
        message.push_str("\n  ");
        message.push_str(&line(found));
    }
    let possible = stored.iter().rev().find(|found| found.refusal.is_none() && !found.is_live);
    let error = CliError::manifest(message);
    match possible {
        Some(found) => error.trying(format_args!(
            "certctl rollback {} --to {}",
            short(certificate),
            found.revision
        )),
        None => error.trying(format_args!("certctl renew {}", short(certificate))),
    }
}

fn line(found: &StoredRevision) -> String {
    let StoredRevision { revision, not_after, is_live, refusal } = found;
    let end = not_after.map_or_else(String::new, |at| format!(", until {}", time::rfc3339(at)));
    let why = match (is_live, refusal) {
        (true, _) => "live".to_owned(),
        (false, Some(why)) => format!("not possible: {}", escape(why)),
        (false, None) => "possible".to_owned(),
    };
    format!("revision {revision}{end}: {why}")
}
