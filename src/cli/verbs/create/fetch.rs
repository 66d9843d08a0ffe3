//! `--fetch-certificate`: one order, of a certificate that is not managed.

use zeroize::Zeroizing;

use super::files::{CreateRequestArgs, Files};
use crate::cli::render::report;
use crate::cli::run::{endings_of, run};
use crate::cli::targets::open;
use crate::cli::{CliError, Ending, ExitCode, Level, Shell, Text, escape, time};
use crate::engine::Task;
use crate::engine::ports::{Clock as _, LiveFiles, Store, SystemClock};
use crate::manifest::Loaded;
use crate::pki;
use crate::report::{self as ran, Report};
use crate::resource::FailureClass;
use crate::resource::{Certificate, NamespacedName};
use crate::workspace::unmanaged::published_at;
use crate::workspace::{Job, Workspace, one_off};

/// Orders the certificate, and writes key and chain.
pub(super) async fn fetch(
    args: &CreateRequestArgs,
    files: &Files,
    certificate: Certificate,
    own: Loaded,
    shell: &mut Shell,
) -> Result<Vec<Ending>, CliError> {
    shell.refuse_in_a_hook("create")?;
    let mut workspace = open(shell).await?;
    let mut targets = workspace.everything();
    targets.loaded.issuers.splice(0..0, own.issuers);
    let one_off = one_off(&args.name, certificate);
    let name = one_off.metadata.key();
    let Some(task) = workspace.one_off_task(&one_off, &targets).await? else {
        let issuer = &one_off.spec.issuer_ref;
        let message = format!("{} {} is not in any manifest", issuer.kind, issuer.name);
        return Err(CliError::manifest(message).hinted("-f MANIFEST"));
    };
    workspace.make_writable()?;
    let job = || Job::new("create", targets.secrets.clone());
    let ended = Box::pin(run(shell, &workspace, std::slice::from_ref(&task), job())).await?;
    let endings = endings_of(&ended, false);
    let Some(ending) = ended.first().map(|report| report.ending) else { return Ok(endings) };
    match ending {
        ran::Ending::Issued | ran::Ending::Unchanged | ran::Ending::Rewritten => {
            deliver(args, files, &workspace, &task, shell).await?;
            workspace.forget(&name, &[one_off.secret_key()], true).await?;
            return Ok(endings);
        }
        ran::Ending::Locked => {
            print(args, &ended, shell);
            return Ok(endings);
        }
        ran::Ending::Deferred
        | ran::Ending::Pending
        | ran::Ending::Failed
        | ran::Ending::Interrupted => {
            print(args, &ended, shell);
        }
    }
    let clean_up = Workspace::one_off_clean_up(&task);
    Box::pin(run(shell, &workspace, &[clean_up], job())).await?;
    if !is_owed(&workspace, &name, shell).await? {
        workspace.forget(&name, &[one_off.secret_key()], true).await?;
    }
    // A one-off order is never retried later.
    let is_pending = ending == ran::Ending::Pending;
    Ok(if is_pending { vec![Ending::Failed(FailureClass::Validation)] } else { endings })
}

/// Writes the files, and says where they are.
async fn deliver(
    args: &CreateRequestArgs,
    files: &Files,
    workspace: &Workspace,
    task: &Task,
    shell: &mut Shell,
) -> Result<(), CliError> {
    let state = workspace.state();
    let secret = task.certificate.secret_key();
    let issued = state.live_files().published(&secret).await?.unwrap_or_default().0;
    let none = Zeroizing::default();
    let bytes = |name: &str| issued.get(name).unwrap_or(&none);
    let (key, chain) = (bytes("tls.key"), bytes("tls.crt"));
    let leaf = pki::leaf_facts(&String::from_utf8_lossy(chain))
        .map_err(|error| CliError::new(ExitCode::State, error))?;
    files.write_both(key, chain).map_err(|error| {
        let folder = state.live_files().secret_path(&secret).unwrap_or_default();
        let message = format!(
            "issued but not written: {}; kept in {} until then",
            error.message,
            folder.display()
        );
        CliError::new(ExitCode::Output, message)
            .hinted("run the same command again; it creates no new order")
    })?;
    shell.output.talk(Level::Info, format!(
        "{}: serial {}, valid until {}\n  private key written to {}\n  certificate written to {}",
        args.name,
        leaf.serial,
        time::dated(leaf.not_after, SystemClock.now(), Some(&shell.environment.zone())),
        files.key.display(),
        files.certificate.display()
    ));
    Ok(())
}

fn print(args: &CreateRequestArgs, reports: &[Report], shell: &mut Shell) {
    for report in reports {
        shell.output.talk(Level::Error, format!("{}: {}", args.name, report::verdict(report)));
    }
}

/// Returns whether challenge responses may still be published; prints them.
async fn is_owed(
    workspace: &Workspace,
    name: &NamespacedName,
    shell: &mut Shell,
) -> Result<bool, CliError> {
    let orders = workspace.orders(name).await?;
    let owing: Vec<_> = orders.iter().filter(|order| order.owes_clean_up()).collect();
    let left: Vec<String> =
        owing.iter().flat_map(|order| &order.challenges).filter_map(published_at).collect();
    if !left.is_empty() {
        shell.output.talk(
            Level::Warn,
            Text::from(format!(
                "not cleaned up: {}\n  run the same command again to remove it, or keep it: ",
                escape(&left.join("; "))
            ))
            .with_command(&format!("certctl forget {}", name.short())),
        );
    }
    Ok(!owing.is_empty())
}
