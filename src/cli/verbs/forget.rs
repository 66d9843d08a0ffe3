//! `certctl forget`: ends the management of certificates.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use clap::Args;

use crate::cli::result::Forgotten;
use crate::cli::run::run;
use crate::cli::targets::open;
use crate::cli::verbs::revocations::stays_in;
use crate::cli::verbs::revoke::file_of_live;
use crate::cli::verbs::status::verb::write_metrics;
use crate::cli::{CliError, Ending, Level, Shell, Text, VerbArgs, escape, on_one_thread, short};
use crate::resource::{NamespacedName, Revocation};
use crate::store::{LiveFiles, Share, Store};
use crate::trust::quoted;
use crate::workspace::Workspace;
use crate::workspace::target::{CERTIFICATE, NameTarget};
use crate::workspace::unmanaged::published_at;

/// Stop managing a certificate; keeps its files without --secret.
///
/// certctl refuses while the manifest exists, unless --anyway is given, and while a revocation is
/// pending. Copies in output folders stay, and certctl prints their paths.
#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// Certificates, as NAME or NAMESPACE/NAME.
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<OsString>,
    /// Also delete the issued key and certificate; copies in output folders stay.
    #[arg(long)]
    pub secret: bool,
    /// Forget it even if its manifest exists. The next `certctl issue` adopts its files again if they
    /// are valid. Otherwise, or with --secret, it orders the certificate anew.
    #[arg(long)]
    pub anyway: bool,
    /// Confirm --secret without a question; required without a terminal.
    #[arg(long)]
    pub yes: bool,
}

impl ForgetArgs {
    /// The call that asks nothing.
    fn line(&self) -> String {
        let names: Vec<String> = self.names.iter().map(|name| quoted(name.as_ref())).collect();
        let anyway = if self.anyway { " --anyway" } else { "" };
        format!("certctl forget {} --secret{anyway} --yes", names.join(" "))
    }
}

impl VerbArgs for ForgetArgs {
    const WRITES_METRICS: bool = true;

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        forget(self, shell).and_then(|code| shell.print_results(code))
    }
}

/// Removes the state of the named certificates; the issued files only with the flag for it.
pub(crate) fn forget(args: &ForgetArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    on_one_thread(async {
        let mut workspace = open(shell).await?;
        let forgotten = if args.secret { workspace.forgotten()? } else { Vec::new() };
        let names = named(args, &mut workspace, &forgotten, shell)?;
        refuse_pending(&names, &mut workspace)?;
        refuse_managed(args, &names, &mut workspace, shell)?;
        let mut meant = Vec::new();
        for name in names {
            let secrets = if args.secret {
                workspace.secrets_of(&name)?
            } else {
                workspace.recorded_secret(&name)?.into_iter().collect()
            };
            meant.push((name, secrets));
        }
        if args.secret {
            let lost = meant.iter().flat_map(|(name, secrets)| deleted(name, secrets, &workspace));
            let lost: Vec<String> = lost.collect();
            if !lost.is_empty() {
                let line = args.line();
                shell.confirm(args.yes, &lost.join("\n"), "Delete?", &[(&line, "")])?;
            }
        }
        workspace.make_writable()?;
        let meant_names: BTreeSet<&NamespacedName> = meant.iter().map(|(name, _)| name).collect();
        take_back(&meant_names, &mut workspace, shell).await?;
        for (name, secrets) in &meant {
            forget_one(args, name, secrets, &workspace, shell).await?;
        }
        Box::pin(write_metrics(shell, &mut workspace, &[])).await?;
        Ok(Vec::new())
    })
}

/// The certificates that are meant.
fn named(
    args: &ForgetArgs,
    workspace: &mut Workspace,
    forgotten: &[NamespacedName],
    shell: &Shell,
) -> Result<Vec<NamespacedName>, CliError> {
    let known = workspace.records().iter().map(|(name, _)| name);
    let names: Vec<NamespacedName> = known.chain(forgotten).cloned().collect();
    let mut meant = Vec::new();
    for word in &args.names {
        let text = word.to_string_lossy();
        let target = NameTarget::parse_of(CERTIFICATE, &text)
            .ok_or_else(|| CliError::usage(format_args!("`{text}` is not a valid name")))?;
        let namespace = shell.global.namespace();
        let found = target.find(&names, namespace).map_err(|error| {
            let namespace = target.namespace.as_deref().or(namespace).unwrap_or("default");
            let name = NamespacedName::new(namespace, &target.name);
            without_state(&name, workspace).unwrap_or_else(|| error.into())
        });
        meant.push(found?);
    }
    Ok(meant)
}

/// A revocation that was requested and has not happened would be forgotten, too.
fn refuse_pending(names: &[NamespacedName], workspace: &mut Workspace) -> Result<(), CliError> {
    let owed = names.iter().find_map(|name| {
        let record = workspace.record(name)?;
        let owed = record.owed_revocation()?;
        let is_live = record.issued_fingerprint.as_ref() == Some(&owed.fingerprint);
        Some((name, owed.clone(), is_live))
    });
    let Some((name, Revocation { serial, reason, .. }, is_live)) = owed else { return Ok(()) };
    let one = short(name);
    let message = format!(
        "{one}: the revocation of serial {serial} ({reason}) is pending; forget would drop it"
    );
    // The file of another one would have that revoked.
    let file = file_of_live(name, workspace).filter(|_| is_live);
    let by_name = || format!("certctl revoke {one} --now");
    let (revoke, note) = match (workspace.manifest_of(name), file) {
        (Some(_), _) => (by_name(), "revokes it now"),
        (None, Some(file)) => {
            (format!("certctl revoke {} --reason {reason}", quoted(&file)), "revokes it now")
        }
        (None, None) => (by_name(), "revokes it now; put its manifest back first"),
    };
    let cancel = format!("certctl revoke {one} --cancel");
    let commands = [(&*revoke, note), (&cancel, "leaves it valid")];
    Err(CliError::manifest(message).trying_any(&commands))
}

/// Error for a certificate that was never issued and has only a manifest.
fn without_state(name: &NamespacedName, workspace: &mut Workspace) -> Option<CliError> {
    let (path, line) = workspace.manifest_of(name)?;
    let message = format!(
        "{}: nothing is issued yet; its manifest is {}:{line}",
        short(name),
        escape(&path.to_string_lossy())
    );
    Some(CliError::manifest(message).hinted("remove the manifest"))
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
            "{}: its manifest still exists: {}:{line}",
            short(name),
            escape(&path.to_string_lossy())
        ))
    });
    let places: Vec<String> = places.collect();
    if places.is_empty() {
        return Ok(());
    }
    let then = if args.secret {
        "orders it again"
    } else {
        "adopts its files if they are valid, or orders it again"
    };
    if args.anyway {
        for place in &places {
            let text = format!("{place}; the next certctl issue {then}");
            shell.output.talk(Level::Warn, &text);
        }
        return Ok(());
    }
    let hint = format!(
        "remove the manifest first, or use --anyway: the next certctl issue then \
        {then}"
    );
    Err(CliError::manifest(places.join("\n  ")).hinted(hint))
}

/// The files of a certificate that will be deleted: a line for each folder.
fn deleted(
    name: &NamespacedName,
    secrets: &[(NamespacedName, Share)],
    workspace: &Workspace,
) -> Vec<String> {
    let line = |(secret, share): &(NamespacedName, Share)| {
        let folder = folder(secret, workspace)?;
        let (what, rest) = match share {
            Share::Nothing => return None,
            Share::Whole | Share::Sets { has_live: true, .. } => ("its key and certificate", ""),
            Share::Sets { has_live: false, .. } => (
                "its earlier key and certificate",
                ", not those of the Certificate that has it now",
            ),
        };
        Some(format!("{}: {what} in {folder} will be deleted{rest}", short(name)))
    };
    let mut lines: Vec<String> = secrets.iter().filter_map(line).collect();
    if let Some(last) = lines.last_mut() {
        last.push_str(&stays_in(&copies(name, workspace)));
    }
    lines
}

/// Removes the challenge responses that interrupted runs left published: no later run knows of them.
async fn take_back(
    names: &BTreeSet<&NamespacedName>,
    workspace: &mut Workspace,
    shell: &Shell,
) -> Result<(), CliError> {
    let known = workspace.records().iter().map(|(name, _)| name);
    let others = known.filter(|name| !names.contains(name)).cloned().collect();
    let orphans = workspace.orphans(&others).await?;
    if let Some(orphans) = orphans.filter(|orphans| !orphans.tasks.is_empty()) {
        // Failed clean-ups are logged as they happen; what is left is listed.
        Box::pin(run(shell, workspace, &orphans.tasks, orphans.job("forget"))).await?;
    }
    Ok(())
}

async fn forget_one(
    args: &ForgetArgs,
    name: &NamespacedName,
    secrets: &[(NamespacedName, Share)],
    workspace: &Workspace,
    shell: &mut Shell,
) -> Result<(), CliError> {
    for order in workspace.orders(name).await? {
        let left: Vec<String> = order.challenges.iter().filter_map(published_at).collect();
        if !left.is_empty() {
            let (order, left) = (&order.name, left.join("; "));
            shell.output.talk(Level::Warn, format!("order {order} may have left: {left}"));
        }
    }
    let copies = copies(name, workspace);
    let own = secrets.iter().filter(|(_, share)| *share != Share::Nothing);
    let own: Vec<NamespacedName> = own.map(|(secret, _)| secret.clone()).collect();
    let folders = || own.iter().find_map(|secret| folder(secret, workspace));
    let (before, others) = (folders(), others(name, workspace)?);
    workspace.forget(name, &own, args.secret).await?;
    let folder = folders().filter(|_| !args.secret);
    let mut text = Text::from(format!("{} forgotten", short(name)));
    match (&before, &folder) {
        (_, Some(folder)) => {
            text.push(&format!("; its files stay in {folder}; to delete them: "));
            text.command(&format!("certctl forget {} --secret", short(name)));
        }
        (Some(_), None) => text.push("; its key and certificate are deleted"),
        (None, None) => {}
    }
    shell.output.talk(Level::Info, text.with(&[others, stays_in(&copies)].concat()));
    shell.results.forgotten(Forgotten { certificate: name.to_string(), folder, copies });
    Ok(())
}

/// The pair of another certificate in the folder that the record names, which stays.
fn others(name: &NamespacedName, workspace: &Workspace) -> Result<String, CliError> {
    let Some((secret, _)) = workspace.recorded_secret(name)? else { return Ok(String::new()) };
    let (owner, folder) = (workspace.other_owner(name, &secret), folder(&secret, workspace));
    Ok(owner.zip(folder).map_or_else(String::new, |(owner, folder)| {
        format!(
            "; the key and certificate in {folder} stay, because they belong to {}",
            short(&owner)
        )
    }))
}

/// The folder of a Secret, if there is one.
fn folder(secret: &NamespacedName, workspace: &Workspace) -> Option<String> {
    let folder =
        workspace.state().live_files().secret_path(secret).ok().filter(|folder| folder.exists())?;
    Some(folder.display().to_string())
}

/// The output folders with copies of its key and certificate.
fn copies(name: &NamespacedName, workspace: &Workspace) -> Vec<String> {
    let sets = workspace.copies(name, None);
    let folders: BTreeSet<&Path> = sets.iter().filter_map(|set| set.parent()).collect();
    folders.into_iter().map(|folder| escape(&folder.to_string_lossy()).into_owned()).collect()
}
