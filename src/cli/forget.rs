//! `certctl forget`: ends the management of certificates.

use std::collections::BTreeSet;
use std::path::Path;

use super::args::ForgetArgs;
use super::error::CliError;
use super::exit::ExitCode;
use super::message::Level;
use super::orphans::place;
use super::output::escape;
use super::result::Forgotten;
use super::revocations::stays_in;
use super::run::on_one_thread;
use super::shell::Shell;
use super::status::verb::write_metrics;
use super::targets::open;
use crate::resource::NamespacedName;
use crate::workspace::Workspace;
use crate::workspace::target::NameTarget;

/// Removes the state of the named certificates; the issued files only with the flag for it.
pub(crate) fn forget(args: &ForgetArgs, shell: &mut Shell) -> Result<ExitCode, CliError> {
    on_one_thread(async {
        let mut workspace = open(shell).await?;
        let names = named(args, &workspace, shell)?;
        refuse_managed(args, &names, &mut workspace, shell)?;
        if args.secret {
            let lost = names.iter().filter_map(|name| deleted(name, &workspace));
            let lost: Vec<String> = lost.collect();
            if !lost.is_empty() {
                shell.confirm(args.yes, &lost.join("\n"), "Delete?")?;
            }
        }
        workspace.make_writable()?;
        for name in names {
            forget_one(args, &name, &workspace, shell).await?;
        }
        Box::pin(write_metrics(shell, &mut workspace, ExitCode::Done)).await?;
        Ok(ExitCode::Done)
    })
}

/// The certificates that are meant.
fn named(
    args: &ForgetArgs,
    workspace: &Workspace,
    shell: &Shell,
) -> Result<Vec<NamespacedName>, CliError> {
    let names: Vec<NamespacedName> =
        workspace.records().iter().map(|(name, _)| name.clone()).collect();
    let mut meant = Vec::new();
    for word in &args.names {
        let text = word.to_string_lossy();
        let target = NameTarget::parse(&text).ok_or_else(|| {
            CliError::new(ExitCode::Usage, format_args!("`{text}` is not a valid name"))
        })?;
        meant.push(target.find(&names, shell.global.namespace())?);
    }
    Ok(meant)
}

/// A certificate with a manifest would be issued again by the next run.
fn refuse_managed(
    args: &ForgetArgs,
    names: &[NamespacedName],
    workspace: &mut Workspace,
    shell: &mut Shell,
) -> Result<(), CliError> {
    let places = names.iter().filter_map(|name| {
        let (path, line) = workspace.manifest_of(name)?;
        Some(format!(
            "{name}: its manifest is still there: {}:{line}",
            escape(&path.to_string_lossy())
        ))
    });
    let places: Vec<String> = places.collect();
    if places.is_empty() {
        return Ok(());
    }
    if args.anyway {
        for place in &places {
            let text = format!("{place}; the next certctl issue issues it anew");
            shell.output.talk(Level::Warn, &text);
        }
        return Ok(());
    }
    let hint = "remove the manifest first; or --anyway, and the next certctl issue issues it anew";
    Err(CliError::new(ExitCode::Manifest, places.join("\n  ")).hinted(hint))
}

/// What a person must know before the files of a certificate are deleted.
fn deleted(name: &NamespacedName, workspace: &Workspace) -> Option<String> {
    let folder = folder(name, workspace)?;
    let stays = stays_in(&copies(name, workspace));
    Some(format!("{name}: its key and certificate in {folder} will be deleted{stays}"))
}

async fn forget_one(
    args: &ForgetArgs,
    name: &NamespacedName,
    workspace: &Workspace,
    shell: &mut Shell,
) -> Result<(), CliError> {
    for order in workspace.orders(name).await? {
        let left: Vec<String> = order.challenges.iter().filter_map(place).collect();
        if !left.is_empty() {
            let (order, left) = (&order.name, left.join("; "));
            shell.output.talk(Level::Warn, &format!("order {order} may have left: {left}"));
        }
    }
    let record = workspace.record(name);
    let secret = record.map(|record| NamespacedName::new(&name.namespace, &record.secret_name));
    let copies = copies(name, workspace);
    workspace.forget(name, secret.as_ref(), args.secret).await?;
    let folder = folder(name, workspace);
    let files = folder.as_ref().map(|folder| format!("; its files stay in {folder}"));
    let (files, stays) = (files.unwrap_or_default(), stays_in(&copies));
    shell.output.talk(Level::Info, &format!("{name} forgotten{files}{stays}"));
    shell.results.forgotten(Forgotten { certificate: name.to_string(), folder, copies });
    Ok(())
}

/// The folder of its files, if there is one.
fn folder(name: &NamespacedName, workspace: &Workspace) -> Option<String> {
    let record = workspace.record(name)?;
    let secret = NamespacedName::new(&name.namespace, &record.secret_name);
    let folder = workspace.state().secret_path(&secret).ok().filter(|folder| folder.exists())?;
    Some(folder.display().to_string())
}

/// The output folders with copies of its key and certificate.
fn copies(name: &NamespacedName, workspace: &Workspace) -> Vec<String> {
    let sets = workspace.copies(name, None);
    let folders: BTreeSet<&Path> = sets.iter().filter_map(|set| set.parent()).collect();
    folders.into_iter().map(|folder| escape(&folder.to_string_lossy()).into_owned()).collect()
}
