//! `certctl revoke`: takes a certificate back before its end; and what runs that were cut off owe
//! in that.

use std::io::Read as _;
use std::path::Path;

use zeroize::Zeroizing;

use super::args::RevokeArgs;
use super::error::CliError;
use super::exit::{self, ExitCode};
use super::leftovers;
use super::output::escape;
use super::remark::{Level, Remark};
use super::result::{Revoked, class_word};
use super::run::{
    Setting, code_of, conclude, on_one_thread, open_state, refuse_in_a_hook, run, with_world,
};
use super::shell::Shell;
use super::target::Target;
use super::work::{Wanted, gather, issuer_task, known};
use crate::controller::{DeedError, Failure};
use crate::engine::ports::{Clock as _, SystemClock};
use crate::engine::{AskError, Asked, Force, Task, Wish, ask_to_revoke, look, revoke_owed};
use crate::pki::{Chain, ChainError, PrivateKey};
use crate::resource::{
    CertificateRecord, FailureClass, NamespacedName, Revocation, RevocationReason,
};
use crate::store::{OpenMode, StateDirectory};

/// Revokes the live certificate of a name, or the one in a file.
pub(crate) fn revoke(args: &RevokeArgs, shell: &mut Shell) -> Result<ExitCode, CliError> {
    refuse_in_a_hook(shell, "revoke")?;
    let usage = |message: &str| CliError::new(ExitCode::Usage, message);
    match Target::read(&args.target, &|path| path.exists())? {
        Target::Stdin => Err(usage("`-` is neither a certificate's name nor a file")),
        Target::Path(path) if args.now || args.no_issue => Err(usage(&format!(
            "--now and --no-issue are for a certificate by name; {} is a file",
            path.display()
        ))),
        Target::Path(path) => on_one_thread(file(args, &path, shell)),
        Target::Name(_) if args.key.is_some() => Err(usage("--key is for a certificate in a file")),
        Target::Name(_) => on_one_thread(name(args, shell)),
    }
}

async fn name(args: &RevokeArgs, shell: &mut Shell) -> Result<ExitCode, CliError> {
    let path = shell.environment.state_dir(shell.global.state_dir.as_deref())?.path;
    let state = open_state(&path, OpenMode::ReadOnly)?;
    let records = known(&state).await?;
    let wanted = Wanted::read(std::slice::from_ref(&args.target))?;
    let work = gather(shell, &wanted, &records)?;
    let [task] = work.tasks.as_slice() else {
        let message = "its Certificate and Issuer must be there to revoke it by name";
        return Err(CliError::new(ExitCode::Manifest, message)
            .hinted("certctl revoke FILE --key KEYFILE, which needs neither"));
    };
    let state = open_state(&path, OpenMode::ReadWrite)?;
    let wish = Wish {
        reason: args.reason,
        at_once: args.now || args.no_issue,
        without_replacement: args.no_issue,
    };
    let timeout = shell.global.lock_timeout.0;
    let asked = ask_to_revoke(&state, task, wish, timeout, SystemClock.now());
    let asked = Box::pin(asked).await?;
    let certificate = task.certificate.metadata.key();
    let replaces = match &asked {
        Asked::Owed(_) => !args.no_issue,
        Asked::Already(done) => {
            let (serial, reason) = (&done.serial, done.reason);
            shell.results.revoked(Revoked::new(Some(&certificate), serial, reason, "revoked"));
            shell
                .output
                .talk(&format!("{certificate}: serial {serial} is revoked already ({reason})"));
            !done.without_replacement && !args.no_issue
        }
        Asked::Earlier(earlier) => {
            let serial = &earlier.serial;
            shell.output.talk(&format!(
                "{certificate}: the revocation of serial {serial} was owed still; the live \
                 certificate is another one and stays"
            ));
            false
        }
    };
    let mut endings = Vec::new();
    if wish.at_once {
        endings.extend(Box::pin(finish(shell, &state, Some(&certificate), "revoke")).await?);
    }
    if replaces {
        let new_key = args.reason == RevocationReason::KeyCompromise;
        let force = Some(Force { new_key, new_order: false });
        let tasks = [Task { force, ..task.clone() }];
        let setting = Setting::new("revoke", work.secrets);
        let ended = Box::pin(run(shell, &state, &tasks, setting)).await?;
        let code = conclude(shell, &state, &ended, false, SystemClock.now()).await?;
        if let signal @ ExitCode::Signal(_) = code {
            return Ok(signal);
        }
        endings.extend(ended.iter().map(code_of));
    }
    let owed = Box::pin(finish(shell, &state, Some(&certificate), "revoke")).await?;
    endings.extend(owed);
    let done = [certificate].into();
    Box::pin(leftovers::clean_up(shell, &state, &records, &done, "revoke")).await?;
    Ok(exit::of_run(endings, shell.global.exit_code))
}

/// Whether something of a certificate is still to be revoked.
pub(crate) fn owes(record: &CertificateRecord) -> bool {
    record.revocations.iter().any(Revocation::is_owed)
}

/// Revokes what is owed of one certificate, or of all that are known, and says what came of it.
/// How it ended is told for each that is owed still.
pub(crate) async fn finish(
    shell: &mut Shell,
    state: &StateDirectory,
    only: Option<&NamespacedName>,
    verb: &'static str,
) -> Result<Vec<exit::Ending>, CliError> {
    let mut records = known(state).await?;
    let owing: Vec<NamespacedName> = records
        .iter()
        .filter(|(name, record)| owes(record) && only.is_none_or(|only| only == name))
        .map(|(name, _)| name.clone())
        .collect();
    if owing.is_empty() {
        return Ok(Vec::new());
    }
    records.sort_by(|(one, _), (other, _)| one.cmp(other));
    let Ok(work) = gather(shell, &Wanted { is_said: true, ..Wanted::default() }, &records) else {
        return Ok(vec![exit::Ending::Deferred]);
    };
    let setting = Setting::new(verb, work.secrets);
    let timeout = shell.global.lock_timeout.0;
    let mut told = Vec::new();
    with_world(shell, state, setting, async |world| {
        for name in owing {
            let task = work.tasks.iter().find(|task| task.certificate.metadata.key() == name);
            let done = match task {
                Some(task) => {
                    let deed = revoke_owed(&SystemClock, state, world, task, timeout);
                    Some(Box::pin(deed).await)
                }
                None => None,
            };
            told.push((name, done));
        }
    })
    .await?;
    let mut endings = Vec::new();
    for (name, done) in told {
        let Some(done) = done else {
            shell.output.talk(&format!(
                "warning: {name}: a revocation is owed, and its Certificate and Issuer are not \
                 there; the first run that finds them does it"
            ));
            continue;
        };
        let (told, owed) = done?;
        endings.extend(
            told.into_iter().map(|told| tell(shell, &name, &told.revocation, &told.answer)),
        );
        for revocation in owed {
            let serial = &revocation.serial;
            shell.results.revoked(Revoked::new(Some(&name), serial, revocation.reason, "owed"));
            shell.output.talk(&format!(
                "owed: {name}: serial {serial} is not revoked yet: it is as soon as its \
                 replacement is issued and deployed\n  to revoke it before: certctl revoke {name} \
                 --now"
            ));
            endings.push(exit::Ending::Deferred);
        }
    }
    Ok(endings)
}

fn tell(
    shell: &mut Shell,
    name: &NamespacedName,
    revocation: &Revocation,
    answer: &Result<(), DeedError>,
) -> exit::Ending {
    let Revocation { serial, reason, .. } = revocation;
    let revoked = |state| Revoked::new(Some(name), serial, *reason, state);
    match answer {
        Ok(()) => {
            shell.results.revoked(revoked("revoked"));
            shell.output.talk(&format!("{name}: serial {serial} revoked ({reason})"));
            exit::Ending::Changed
        }
        Err(error) => {
            let next = if revocation.is_owed() {
                "tried again by the next run".to_owned()
            } else {
                "not tried again: the CA has refused; with the certificate's own key it can be \
                 done: certctl revoke FILE --key KEYFILE"
                    .to_owned()
            };
            let message = escape(&error.message);
            let text = format!("error: {name}: serial {serial} not revoked: {message}\n  {next}");
            let class = Failure::of_deed("", error).class;
            let remark = Remark::new(Level::Error, text, format_args!("not revoked: {message}"))
                .with("certificate", name.to_string())
                .with("class", class_word(class))
                .with("serial", serial.as_str())
                .with("next_attempt", serde_json::Value::Null)
                .with("hint", next);
            shell.output.tell(&remark);
            shell
                .results
                .revoked(Revoked { message: Some(error.message.clone()), ..revoked("failed") });
            exit::Ending::Failed(class)
        }
    }
}

/// Revokes the first certificate of a file, at whichever of the Issuers' CAs does it.
async fn file(args: &RevokeArgs, path: &Path, shell: &mut Shell) -> Result<ExitCode, CliError> {
    let wrong = |error: &dyn std::fmt::Display| {
        CliError::new(ExitCode::Usage, format_args!("{}: {error}", path.display()))
    };
    let chain = Chain::from_pem(&read(path)?).map_err(|error| {
        // It is somebody's file, and no answer of an issuer.
        if let ChainError::Undecodable(why) = &error {
            return wrong(&format_args!("no certificate: {why}"));
        }
        wrong(&error)
    })?;
    let key = match &args.key {
        Some(path) => Some(PrivateKey::from_pem(&read(path)?).map_err(|error| {
            CliError::new(ExitCode::Usage, format_args!("{}: {error}", path.display()))
        })?),
        None => None,
    };
    let leaf = chain.leaf();
    if key.as_ref().is_some_and(|key| key.facts().public_key != leaf.public_key) {
        return Err(wrong(&"the key is not that of the certificate"));
    }
    let state_dir = shell.environment.state_dir(shell.global.state_dir.as_deref())?.path;
    let state = open_state(&state_dir, OpenMode::ReadOnly)?;
    let records = known(&state).await?;
    let is_it = |fingerprint: &Option<String>| fingerprint.as_ref() == Some(&leaf.fingerprint);
    if let Some((name, _)) = records.iter().find(|(_, record)| is_it(&record.issued_fingerprint)) {
        let error = CliError::new(
            ExitCode::Usage,
            format_args!("{} is the live certificate of {name}", path.display()),
        );
        return Err(error.hinted(format_args!("certctl revoke {name}")));
    }
    let work = gather(shell, &Wanted::default(), &records)?;
    let tasks: Vec<Task> =
        work.loaded.issuers.iter().map(|issuer| issuer_task(shell, issuer)).collect();
    let state = open_state(&state_dir, OpenMode::ReadWrite)?;
    let setting = Setting::new("revoke", work.secrets);
    let der = chain.certificates().first().map_or(&[][..], Vec::as_slice);
    let intervals = crate::controller::Intervals { self_check: jiff::SignedDuration::ZERO };
    let mut refusals: Vec<(String, DeedError)> = Vec::new();
    let mut at = None;
    with_world(shell, &state, setting, async |world| {
        for task in &tasks {
            let issuer = task.issuer.metadata.name.clone();
            let looked = look(&state, task, intervals, SystemClock.now());
            let Ok(snapshot) = Box::pin(looked).await else { continue };
            let done = match &key {
                Some(key) => Box::pin(world.revoke_by_key(&snapshot, key, der, args.reason)).await,
                None if snapshot.account.as_ref().is_none_or(|a| a.url.is_none()) => continue,
                None => Box::pin(world.revoke(&snapshot, der, args.reason)).await,
            };
            match done {
                Ok(()) => {
                    at = Some(task.issuer.acme.server.clone());
                    return;
                }
                Err(error) => refusals.push((issuer, error)),
            }
        }
    })
    .await?;
    let (serial, reason) = (&leaf.serial, args.reason);
    if let Some(server) = at {
        shell.output.talk(&format!("serial {serial} revoked ({reason}) at {}", escape(&server)));
        shell.results.revoked(Revoked::new(None, serial, reason, "revoked"));
        return Ok(ExitCode::Done);
    }
    Err(nobody_revoked(serial, &refusals, key.is_some()))
}

/// Why no CA revoked a serial.
fn nobody_revoked(serial: &str, refusals: &[(String, DeedError)], has_key: bool) -> CliError {
    let mut message = format!("serial {serial} is not revoked");
    for (issuer, error) in refusals {
        message.push_str("\n  ");
        message.push_str(issuer);
        message.push_str(": ");
        message.push_str(&escape(&error.message));
    }
    let class = refusals.last().map(|(_, error)| Failure::of_deed("", error).class);
    let code = ExitCode::from(class.unwrap_or(FailureClass::Precondition));
    let error = CliError::new(code, message);
    match (refusals.is_empty(), has_key) {
        (true, _) => error.hinted("-f MANIFEST with an Issuer of the CA that issued it"),
        (false, false) => error.hinted("certctl revoke FILE --key KEYFILE, with its own key"),
        (false, true) => error,
    }
}

fn read(path: &Path) -> Result<Zeroizing<String>, CliError> {
    let failed = |error: std::io::Error| {
        CliError::new(ExitCode::Usage, format_args!("cannot read {}: {error}", path.display()))
    };
    let mut text = Zeroizing::new(String::new());
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(1 << 20).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

impl From<AskError> for CliError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Store(error) => error.into(),
            error @ AskError::Nothing { .. } => Self::new(ExitCode::Manifest, error),
            error @ AskError::OtherCa { .. } => Self::new(ExitCode::Manifest, error)
                .hinted("certctl revoke FILE -f MANIFEST, with an Issuer of that CA"),
        }
    }
}
