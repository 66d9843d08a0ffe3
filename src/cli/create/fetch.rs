//! `--fetch-certificate`: one order, of a certificate that is not managed.
//!
//! The engine does it under a name of its own, `NAME.one-off.certctl.io`, in the state and so with
//! the accounts, locks, slots and presented tokens that all runs share. What is known under that
//! name is forgotten when the files are written. A run that was killed leaves it, and is gone on
//! with by the same command; what it may have put out into the world is told by every run until
//! then.

use zeroize::Zeroizing;

use super::Files;
use crate::cli::args::CreateRequestArgs;
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::leftovers::place;
use crate::cli::output::escape;
use crate::cli::run::{Setting, exit_code, open_state, refuse_in_a_hook, run};
use crate::cli::shell::Shell;
use crate::cli::work::{Wanted, gather, known, task};
use crate::cli::{report, time};
use crate::engine::ports::{Clock as _, Store as _, SystemClock};
use crate::engine::{Ended, Ending, Force, Only, Task};
use crate::manifest::Loaded;
use crate::pki;
use crate::resource::{Certificate, NamespacedName, Settings};
use crate::store::{OpenMode, Records, StateDirectory};

/// Asks the Issuer, and writes key and chain.
pub(super) async fn fetch(
    args: &CreateRequestArgs,
    files: &Files,
    certificate: Certificate,
    own: Loaded,
    shell: &mut Shell,
) -> Result<ExitCode, CliError> {
    refuse_in_a_hook(shell, "create")?;
    let path = shell.environment.state_dir(shell.global.state_dir.as_deref())?.path;
    let records = known(&open_state(&path, OpenMode::ReadOnly)?).await?;
    let wanted = Wanted { is_said: true, ..Wanted::default() };
    let mut work = gather(shell, &wanted, &records)?;
    work.loaded.issuers.splice(0..0, own.issuers);
    let one_off = one_off(args, certificate);
    let name = one_off.metadata.key();
    let Some(mut task) = task(shell, &one_off, &work.loaded, &work.secrets) else {
        let issuer = &one_off.spec.issuer_ref;
        let message = format!("{} {} is in no manifest", issuer.kind, issuer.name);
        return Err(CliError::new(ExitCode::Manifest, message).hinted("-f MANIFEST"));
    };
    // Its manifest is nothing that later runs should go by.
    task.manifest = None;
    task.references.clear();
    task.issuer.settings = unmanaged(&task.issuer.settings);
    let state = open_state(&path, OpenMode::ReadWrite)?;
    // A failure of an earlier run is no reason to wait: somebody asks by hand.
    let is_issued = state.published(&one_off.secret_key()).await?.is_some();
    task.force = (!is_issued).then_some(Force::default());
    let setting = || Setting::new("create", work.secrets.clone());
    let ended = Box::pin(run(shell, &state, std::slice::from_ref(&task), setting())).await?;
    let code = exit_code(shell, &ended, false);
    let Some(Ended { ending, .. }) = ended.first() else { return Ok(code) };
    match ending {
        Ending::Issued(_) | Ending::Unchanged { .. } => {
            deliver(args, files, &state, &task, shell).await?;
            state.forget(&name, Some(&one_off.secret_key()), shell.global.lock_timeout.0).await?;
            return Ok(code);
        }
        Ending::Locked { .. } => {
            tell(args, &ended, shell);
            return Ok(code);
        }
        Ending::Deferred { .. }
        | Ending::Pending { .. }
        | Ending::Failed { .. }
        | Ending::Interrupted { .. } => tell(args, &ended, shell),
    }
    task.force = None;
    task.only = Some(Only::CleanUp);
    Box::pin(run(shell, &state, &[task], setting())).await?;
    if !is_owed(&state, &name, shell).await? {
        state.forget(&name, Some(&one_off.secret_key()), shell.global.lock_timeout.0).await?;
    }
    // There is no later for what is asked for once.
    let is_pending = matches!(ending, Ending::Pending { .. });
    Ok(if is_pending { ExitCode::Validation } else { code })
}

/// The Certificate under a name and a Secret of its own, that goes nowhere else.
fn one_off(args: &CreateRequestArgs, mut certificate: Certificate) -> Certificate {
    let name = format!("{}.one-off.certctl.io", args.name);
    certificate.spec.secret_name.clone_from(&name);
    certificate.metadata.name = name;
    certificate.metadata.annotations.clear();
    certificate.settings = unmanaged(&certificate.settings);
    certificate.spec.keystores = None;
    certificate.spec.secret_template = None;
    certificate.spec.additional_output_formats.clear();
    certificate
}

/// How names are proven, and nothing that is done with what is issued.
fn unmanaged(settings: &Settings) -> Settings {
    Settings {
        http01_listen: settings.http01_listen.clone(),
        http01_webroot: settings.http01_webroot.clone(),
        http01_check_port: settings.http01_check_port,
        ..Settings::default()
    }
}

/// Writes the files, and says where they are.
async fn deliver(
    args: &CreateRequestArgs,
    files: &Files,
    state: &StateDirectory,
    task: &Task,
    shell: &mut Shell,
) -> Result<(), CliError> {
    let secret = task.certificate.secret_key();
    let issued = state.published(&secret).await?.unwrap_or_default().0;
    let none = Zeroizing::default();
    let bytes = |name: &str| issued.get(name).unwrap_or(&none);
    let (key, chain) = (bytes("tls.key"), bytes("tls.crt"));
    let leaf = pki::leaf_facts(&String::from_utf8_lossy(chain))
        .map_err(|error| CliError::new(ExitCode::State, error))?;
    files.write_both(key, chain).map_err(|error| {
        let folder = state.secret_path(&secret).unwrap_or_default();
        let message = format!(
            "issued but not written: {}; it stays in {} until it is",
            error.message,
            folder.display()
        );
        CliError::new(ExitCode::Output, message).hinted("the same command, which orders nothing")
    })?;
    shell.output.talk(&format!(
        "{}: serial {}, valid until {}\n  private key written to {}\n  certificate written to {}",
        args.name,
        leaf.serial,
        time::both(leaf.not_after, SystemClock.now()),
        files.key.display(),
        files.certificate.display()
    ));
    Ok(())
}

fn tell(args: &CreateRequestArgs, ended: &[Ended], shell: &mut Shell) {
    for end in ended {
        shell.output.talk(&format!("error: {}: {}", args.name, report::verdict(end)));
    }
}

/// Whether something may still be out in the world; says what.
async fn is_owed(
    state: &StateDirectory,
    name: &NamespacedName,
    shell: &mut Shell,
) -> Result<bool, CliError> {
    let orders = Records::new(state).all_orders(name).await?;
    let orders = orders.iter().filter_map(|(_, kept)| Some(&kept.as_ref().ok()?.value));
    let owing: Vec<_> = orders.filter(|order| order.owes_clean_up()).collect();
    let left: Vec<String> =
        owing.iter().flat_map(|order| &order.challenges).filter_map(place).collect();
    if !left.is_empty() {
        shell.output.talk(&format!(
            "warning: left behind: {}\n  the same command takes it back; certctl forget {name} \
             lets it be",
            escape(&left.join("; "))
        ));
    }
    Ok(!owing.is_empty())
}
