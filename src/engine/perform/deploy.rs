//! Effects of deployment: outputs, hooks, reloads.

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::error;
use super::world::World;
use crate::controller::{EffectError, Outcome};
use crate::engine::gather::files_digest;
use crate::engine::hooks::{HooksDir, missing_hook};
use crate::engine::inputs::digest_of;
use crate::engine::ports::{Clock, HookTurn, HostRecord, LiveFiles, Store};
use crate::engine::task::Task;
use crate::host::rights::{
    self, can_be_made, can_be_searched, closed_above, group_name, has_nothing_of_others,
    is_of_root, may_give_away, own_user, user_name,
};
use crate::pki;
use crate::program::{INHERITED, Limits, Program, Run, Runner, end_earlier, is_running};
use crate::resource::{
    API_VERSION, Cause, DeployTarget, Elsewhere, FirstProcess, Fix, LeafFacts, NamespacedName,
    Obstacle, Reissue, SecretFiles, Setting,
};
use crate::store::{Output, OutputError};
use crate::trust::{Bounds, TrustError};

impl<C: Clock, S: Store> World<'_, C, S> {
    pub(super) async fn deploy(
        &self,
        task: &Task,
        target: &DeployTarget,
        revision: u32,
        replaces: &[String],
    ) -> Result<Outcome, EffectError> {
        let secret = task.certificate.secret_key();
        let files =
            self.store.live_files().published(&secret).await.map_err(|e| error::state(&e))?;
        let files = files.ok_or_else(|| error::local("nothing is published"))?;
        // A hook that is missing is found before servers get new files.
        let left = task.settings().deploy_targets();
        let left = left.iter().filter(|later| later.step() >= target.step());
        check_targets(left, &self.options.hooks, &self.options.bounds)?;
        match target {
            DeployTarget::Output { .. } => {
                let sets = self.sets(&secret).await?;
                let name = task.certificate.metadata.key();
                let leaves = sets.iter().filter_map(|set| set.pair.as_ref().ok()?.leaf());
                let own = Own { name, leaves: leaves.collect(), replaces };
                write_output(target, revision, &files, &own, &self.options.bounds)?;
            }
            DeployTarget::Hook { name } => {
                barred(task).map_or(Ok(()), Err)?;
                self.deploy_hook(task, name, revision, &files).await?;
            }
            // Once for all certificates of the run: see `reload_program`.
            DeployTarget::Reload { .. } => {}
        }
        Ok(Outcome::Deployed { files: files_digest(&files) })
    }

    async fn deploy_hook(
        &self,
        task: &Task,
        name: &str,
        revision: u32,
        files: &SecretFiles,
    ) -> Result<(), EffectError> {
        let certificate = task.certificate.metadata.key();
        let leaf = leaf_of(files)?;
        let folder = self.store.live_files().secret_path(&task.certificate.secret_key());
        let folder = folder.map_err(|e| error::state(&e))?;
        let place = folder.to_string_lossy().into_owned();
        let output = task.settings().output_dir.unwrap_or_default();
        let names: Vec<String> = leaf.dns_names.iter().map(ToString::to_string).collect();
        let addresses: Vec<String> = leaf.ip_addresses.iter().map(ToString::to_string).collect();
        let (not_before, not_after) = (leaf.not_before.to_string(), leaf.not_after.to_string());
        let input = json!({
            "apiVersion": API_VERSION,
            "kind": "DeployEvent",
            "event": "deploy",
            "certificate": {"namespace": certificate.namespace, "name": certificate.name},
            "secretName": task.certificate.spec.secret_name,
            "secretDir": place,
            "outputDir": output,
            "revision": revision,
            "serialNumber": leaf.serial,
            "fingerprintSHA256": leaf.fingerprint,
            "notBefore": not_before,
            "notAfter": not_after,
            "dnsNames": names,
            "ipAddresses": addresses,
        });
        let mut environment = inherited(&self.options.environment, "deploy");
        environment.extend([
            ("CERTCTL_NAMESPACE", certificate.namespace.clone()),
            ("CERTCTL_NAME", certificate.name.clone()),
            ("CERTCTL_SECRET_DIR", place),
            ("CERTCTL_OUTPUT_DIR", output),
            ("CERTCTL_USER", own_user()),
            ("CERTCTL_REVISION", revision.to_string()),
            ("CERTCTL_SERIAL", leaf.serial.clone()),
            ("CERTCTL_FINGERPRINT_SHA256", leaf.fingerprint.clone()),
            ("CERTCTL_NOT_AFTER", not_after),
            ("CERTCTL_DNS_NAMES", [names, addresses].concat().join(" ")),
        ]);
        self.run_hook(name, ("deploy", &certificate.to_string()), environment, &input).await
    }

    /// Runs the program that makes servers reload the deployed files.
    pub(super) async fn reload_program(
        &self,
        name: &str,
        certificates: &[NamespacedName],
    ) -> Result<(), EffectError> {
        let target = DeployTarget::Reload { name: name.to_owned() };
        check_targets([&target], &self.options.hooks, &self.options.bounds)?;
        let list: Vec<_> = certificates
            .iter()
            .map(|name| json!({"namespace": name.namespace, "name": name.name}))
            .collect();
        let input = json!({
            "apiVersion": API_VERSION,
            "kind": "ReloadEvent",
            "event": "reload",
            "certificates": list,
        });
        let mut environment = inherited(&self.options.environment, "reload");
        let names: Vec<String> = certificates.iter().map(ToString::to_string).collect();
        environment.push(("CERTCTL_CERTIFICATES", names.join(" ")));
        self.run_hook(name, ("reload", name), environment, &input).await
    }

    pub(super) async fn run_hook(
        &self,
        name: &str,
        (event, of): (&str, &str),
        environment: Vec<(&'static str, String)>,
        input: &serde_json::Value,
    ) -> Result<(), EffectError> {
        let hooks = &self.options.hooks;
        let program = hook(hooks, name, hooks.runner()).map_err(error::obstacle)?;
        let time = self.options.hook_timeout;
        self.in_turn(&program, &format!("{event} {of}"), time, async |lock| {
            run_now(hooks, &program, event, (environment, input), time, lock).await
        })
        .await
    }

    /// Runs a program with the lock of what it does, which its processes inherit.
    pub(super) async fn in_turn(
        &self,
        program: &(impl fmt::Display + ?Sized),
        what: &str,
        limit: Duration,
        run: impl AsyncFnOnce(Option<&File>) -> Result<(), EffectError>,
    ) -> Result<(), EffectError> {
        let digest = digest_of(what.as_bytes());
        let lock = self.turn_of(program, &digest, limit).await?;
        let ended = run(lock.as_ref()).await;
        if let Err(error) = self.store.host_record().hook_ended(&digest) {
            tracing::warn!(%error, "the lock of a program is left");
        }
        ended
    }

    /// Waits until the same program of a run that was killed has ended, at most as long as it may
    /// take, and then ends it, which root does not: two never run side by side. Where the state cannot be written, that
    /// cannot be known: a full disk must not keep `on-failure` from telling of it.
    async fn turn_of(
        &self,
        program: &(impl fmt::Display + ?Sized),
        digest: &str,
        limit: Duration,
    ) -> Result<Option<File>, EffectError> {
        let turn = || {
            self.store.host_record().hook_turn(digest, is_running).unwrap_or_else(|error| {
                tracing::debug!(%program, %error, "it runs without a lock");
                HookTurn::Free(None)
            })
        };
        let mut running = None;
        let free = async {
            let mut is_first = true;
            loop {
                match turn() {
                    HookTurn::Free(lock) => return lock,
                    HookTurn::Runs(process) => running = process,
                }
                if std::mem::take(&mut is_first) {
                    tracing::info!(%program, process = running.map(FirstProcess::number), "waits for a program of another run");
                }
                tokio::time::sleep(HOOK_PAUSE).await;
            }
        };
        if let Ok(lock) = tokio::time::timeout(limit, free).await {
            return Ok(lock);
        }
        if let Some(first) = running
            && end_earlier(first).await
        {
            let process = first.number();
            tracing::warn!(%program, process, "a program of an interrupted run is ended");
        }
        match turn() {
            HookTurn::Free(lock) => Ok(lock),
            HookTurn::Runs(first) => {
                let number = first
                    .map_or_else(String::new, |first| format!(", as process {}", first.number()));
                Err(error::local(format!("{program} of an interrupted run still runs{number}")))
            }
        }
    }
}

/// Why no hook may run for a task: as root they run for manifests that only root can change. Who writes
/// another one would choose which of root's programs run, and with which values.
pub(super) fn barred(task: &Task) -> Option<EffectError> {
    let manifest = task.of_others.as_ref()?.display();
    let fact = format!("no hook runs as root for {manifest}, which other users can change");
    Some(error::here(Obstacle::new(fact).with(Fix::Set(Setting::RootsManifest))))
}

/// The variables that every hook of this event has.
pub(super) fn inherited(
    environment: impl Fn(&str) -> Option<String>,
    event: &'static str,
) -> Vec<(&'static str, String)> {
    let inherited = INHERITED.iter().filter_map(|name| Some((*name, environment(name)?)));
    inherited.chain([("CERTCTL_EVENT", event.to_owned())]).collect()
}

/// Runs the program of a hook with its variables and its standard input.
pub(super) async fn run_now(
    hooks: &HooksDir,
    program: &Program,
    event: &str,
    (environment, input): (Vec<(&'static str, String)>, &serde_json::Value),
    time: Duration,
    lock: Option<&File>,
) -> Result<(), EffectError> {
    let as_root = hooks.runner() == Runner::Root;
    let input = format!("{input}\n").into_bytes();
    let arguments = vec![event.to_owned()];
    let run = Run { program, arguments, environment, input, lock, as_root };
    // A hook that needs longer starts a service of its own.
    run.to_the_end(&Limits::within(time)).await.map_err(|error| error::program(&error))
}

/// Checks whether all of these targets can be deployed to; the error names each that cannot.
pub(super) fn check_targets<'a>(
    targets: impl IntoIterator<Item = &'a DeployTarget>,
    hooks: &HooksDir,
    bounds: &Bounds,
) -> Result<(), EffectError> {
    let unmet = |target: &DeployTarget| match (target, check_target(target, hooks, bounds).err()?) {
        (DeployTarget::Hook { name } | DeployTarget::Reload { name }, obstacle)
            if Program::is_there(&hooks.folder, PLACE, &[name]) == Ok(true) =>
        {
            Some(Obstacle { fact: format!("hook {name}: {}", obstacle.fact), ..obstacle })
        }
        (
            DeployTarget::Output { .. } | DeployTarget::Hook { .. } | DeployTarget::Reload { .. },
            obstacle,
        ) => Some(obstacle),
    };
    let mut unmet: Vec<Obstacle> = targets.into_iter().filter_map(unmet).collect();
    // One program may be the hook and the reload.
    unmet.dedup();
    if unmet.is_empty() { Ok(()) } else { Err(EffectError::new(Cause::obstacles(unmet))) }
}

/// Checks whether a target can be deployed to, before there is a key.
pub(in crate::engine) fn check_target(
    target: &DeployTarget,
    hooks: &HooksDir,
    bounds: &Bounds,
) -> Result<(), Obstacle> {
    match target {
        DeployTarget::Output { .. } => {
            let output = output_of(target, bounds)?;
            output.map_or(Ok(()), |output| {
                check_owner(&output)?;
                output.check().map_err(|error| obstacle(&output, &error))?;
                check_group(&output)
            })
        }
        DeployTarget::Hook { name } | DeployTarget::Reload { name } => {
            hook(hooks, name, hooks.deployer()).map(drop)
        }
    }
}

/// Why this process may not give the files of an output to its owner, which no permission of the folder
/// changes. Root may.
fn check_owner(output: &Output) -> Result<(), Obstacle> {
    let us = rustix::process::geteuid();
    let folder = output.folder.display();
    let is_refused = |owner: &u32| *owner != us.as_raw() && !gives_to_all();
    if let Some(owner) = output.owner.filter(is_refused) {
        let (us, owner) = (own_user(), user_name(owner));
        let refused =
            format!("{folder}: certctl runs as user {us}, which cannot give files to user {owner}");
        return Err(Obstacle::new(refused).with(Fix::Set(Setting::OutputGroup)));
    }
    Ok(())
}

/// The same of its group.
fn check_group(output: &Output) -> Result<(), Obstacle> {
    let folder = output.folder.display();
    let is_refused = |group: &u32| {
        !is_own_group(*group) && !passes_on(&output.folder, *group) && !gives_to_all()
    };
    match output.group.filter(is_refused) {
        Some(group) => {
            let (us, group) = (own_user(), group_name(group));
            let refused =
                format!("{folder}: user {us} is not in group {group}, and cannot give files to it");
            Err(Obstacle::new(refused).with(permission(output)))
        }
        None => Ok(()),
    }
}

/// Whether this process may give its files to any user and group.
fn gives_to_all() -> bool {
    rustix::process::geteuid().is_root() || may_give_away()
}

/// Whether this process is in a group.
fn is_own_group(group: u32) -> bool {
    let others = rustix::process::getgroups().unwrap_or_default();
    let mut ours = others.into_iter().chain([rustix::process::getegid()]);
    ours.any(|ours| ours.as_raw() == group)
}

/// Whether the files that are made in a folder get this group.
fn passes_on(folder: &Path, group: u32) -> bool {
    let found = folder.symlink_metadata();
    found.is_ok_and(|found| {
        found.is_dir() && found.gid() == group && found.mode() & SET_GROUP_ID != 0
    })
}

/// The program of a hook, which may be run.
pub(super) fn hook(hooks: &HooksDir, name: &str, by: Runner) -> Result<Program, Obstacle> {
    let folder = &hooks.folder;
    let found = Program::find(folder, PLACE, &[name], by);
    found.map_err(|error| {
        if Program::is_there(folder, PLACE, &[name]) == Ok(false) {
            let path = folder.join(name);
            let missing = Obstacle::new(format_args!("there is no hook {}", path.display()));
            return missing.with(missing_hook(&path));
        }
        error
    })
}

/// An output's error, with what to do about it.
fn obstacle(output: &Output, error: &OutputError) -> Obstacle {
    let found = Obstacle::new(error);
    match (error.fix(), error) {
        (_, OutputError::Trust(TrustError::Owner { path, .. }))
            if *path == output.folder && !is_of_root() =>
        {
            found.with(permission(output))
        }
        (Some(Fix::Permit(permit)), OutputError::Trust(TrustError::Owner { trusted, .. }))
            if trusted.is_root_only() =>
        {
            found.with(Fix::Set(Setting::OutputOwner(permit)))
        }
        (_, OutputError::Io { path, source, .. })
            if source.kind() == ErrorKind::PermissionDenied
                || (source.kind() == ErrorKind::NotFound && !can_be_made(path)) =>
        {
            found.with(permission(output))
        }
        (fix, _) => found.with(fix),
    }
}

/// What lets this process write an output: a folder of its own. One that others use, as `/etc/ssl`,
/// stays theirs.
fn permission(output: &Output) -> Fix {
    let folder = output.folder.as_path();
    // A folder with this bit passes its group on to the files in it.
    let is_foreign = |group| !rustix::process::geteuid().is_root() && !is_own_group(group);
    let mode = if output.group.is_some_and(is_foreign) { 0o2750 } else { 0o750 };
    let own = |folder: &Path| rights::own_folder(folder, mode, output.group);
    let below = |above: &Path| own(&above.join("NAME")).map(Box::new);
    let changeable = || Elsewhere::Changeable(folder.to_owned());
    Fix::Set(Setting::OutputDir(
        if let Some(user) = other_owner(folder).filter(|_| !is_of_root()) {
            Elsewhere::OfAnother { folder: folder.to_owned(), user }
        } else if let Some(closed) = closed_above(folder) {
            let (user, folder) = (own_user(), closed.to_owned());
            below(closed.parent().unwrap_or(closed))
                .map_or_else(changeable, |other| Elsewhere::Closed { folder, user, other })
        } else if has_nothing_of_others(folder, is_of_output) {
            match own(folder) {
                Some(permit) => return Fix::Permit(permit),
                None => changeable(),
            }
        } else if !can_be_searched(folder) {
            own(folder).map_or_else(changeable, |permit| Elsewhere::Perhaps(Box::new(permit)))
        } else {
            below(folder).map_or_else(changeable, Elsewhere::Shared)
        },
    ))
}

/// The user, other than root and that of this process, who has a folder and may be the one whose
/// runs write there.
fn other_owner(folder: &Path) -> Option<String> {
    let owner = std::fs::metadata(folder).ok()?.uid();
    let is_other = owner != 0 && owner != rustix::process::geteuid().as_raw();
    is_other.then(|| user_name(owner))
}

/// Whether an entry of a folder is of those that outputs have: the sets, and the links into them.
fn is_of_output(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_in_set = || std::fs::read_link(path).is_ok_and(|target| target.starts_with("..data"));
    name.starts_with("..") || name.starts_with(".certctl-") || is_in_set()
}

/// The output of a target that is one.
fn output_of(target: &DeployTarget, bounds: &Bounds) -> Result<Option<Output>, Obstacle> {
    let DeployTarget::Output { folder, owner, group, mode } = target else { return Ok(None) };
    let owner = owner.as_deref().map(user_id).transpose()?;
    let group = group.as_deref().map(group_id).transpose()?;
    // A named group may read the files.
    let mode = mode.unwrap_or(if group.is_some() { 0o640 } else { 0o600 });
    let (folder, bounds) = (PathBuf::from(folder), bounds.clone());
    Ok(Some(Output { folder, owner, group, mode, bounds }))
}

fn user_id(name: &str) -> Result<u32, Obstacle> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let refused = |why| Obstacle::new(format_args!("certctl/output-owner: {why}"));
    match nix::unistd::User::from_name(name) {
        Ok(Some(user)) => Ok(user.uid.as_raw()),
        Ok(None) => Err(refused(format!("no user {name}"))),
        Err(error) => Err(refused(format!("{name}: {error}"))),
    }
}

fn group_id(name: &str) -> Result<u32, Obstacle> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let refused = |why| Obstacle::new(format_args!("certctl/output-group: {why}"));
    match nix::unistd::Group::from_name(name) {
        Ok(Some(group)) => Ok(group.gid.as_raw()),
        Ok(None) => Err(refused(format!("no group {name}"))),
        Err(error) => Err(refused(format!("{name}: {error}"))),
    }
}

/// What a folder may hold that an output replaces.
struct Own<'a> {
    /// The Certificate.
    name: NamespacedName,
    /// Of its pairs, as far as they are there.
    leaves: Vec<&'a LeafFacts>,
    /// The fingerprints of newer certificates that it may replace.
    replaces: &'a [String],
}

impl Own<'_> {
    /// Whether a certificate is another Certificate's: this one has none of its names, and never had it.
    fn is_of_another(&self, ours: &LeafFacts, theirs: &LeafFacts) -> bool {
        let is_known = self.leaves.iter().any(|leaf| leaf.fingerprint == theirs.fingerprint);
        let has = |name: &String| {
            let is_common = !name.is_empty() && ours.common_name == *name;
            is_common || ours.dns_names.contains(name)
        };
        let is_shared = theirs.dns_names.iter().any(has)
            || has(&theirs.common_name)
            || theirs.ip_addresses.iter().any(|address| ours.ip_addresses.contains(address));
        !is_known && !is_shared && !self.replaces.contains(&theirs.fingerprint)
    }
}

fn write_output(
    target: &DeployTarget,
    revision: u32,
    files: &SecretFiles,
    own: &Own<'_>,
    bounds: &Bounds,
) -> Result<(), EffectError> {
    let Some(output) = output_of(target, bounds).map_err(error::here)? else { return Ok(()) };
    let ours = leaf_of(files)?;
    let is_of_another = Cell::new(false);
    let may_replace = |there: &[u8]| match pki::leaf_facts(&String::from_utf8_lossy(there)) {
        Ok(theirs) if own.is_of_another(&ours, &theirs) => {
            is_of_another.set(true);
            let names = theirs.dns_names.join(", ");
            let name = own.name.short();
            Err(format!("the certificate there does not belong to Certificate {name}: {names}"))
        }
        Ok(theirs)
            if theirs.not_before > ours.not_before
                && !own.replaces.contains(&theirs.fingerprint) =>
        {
            Err(format!(
                "the certificate there is newer: it is valid from {}, the new one from {}",
                theirs.not_before, ours.not_before
            ))
        }
        Ok(_) | Err(_) => Ok(()),
    };
    let written = output.write(revision, files, &may_replace);
    written.map_err(|error| {
        let found = obstacle(&output, &error);
        error::here(match error {
            OutputError::Newer { .. } if is_of_another.get() => {
                let (link, certificate) = (output.folder.join("..data"), own.name.clone());
                found.with(Fix::Set(Setting::OutputDir(Elsewhere::Own { link, certificate })))
            }
            OutputError::Newer { .. } => found.with(Fix::renew(&own.name, Reissue::Plain)),
            OutputError::Io { .. }
            | OutputError::Foreign { .. }
            | OutputError::Link { .. }
            | OutputError::Trust(_)
            | OutputError::DefaultAcl { .. }
            | OutputError::AccessAcl { .. } => found,
        })
    })
}

fn leaf_of(files: &SecretFiles) -> Result<LeafFacts, EffectError> {
    let bytes = files.0.get("tls.crt").ok_or_else(|| error::local("there is no tls.crt"))?;
    pki::leaf_facts(&String::from_utf8_lossy(bytes)).map_err(error::local)
}

/// How often it is looked whether a program has ended.
const HOOK_PAUSE: Duration = Duration::from_millis(50);
/// The bit of a folder that passes its group on.
const SET_GROUP_ID: u32 = 0o2000;
pub(super) const PLACE: &str = "hooks.d";
