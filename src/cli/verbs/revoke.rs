//! `certctl revoke`: replaces and revokes a certificate, and continues interrupted revocations.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use zeroize::Zeroizing;

use crate::cli::result::{Revoked, RevokedState};
use crate::cli::run::{conclude, run};
use crate::cli::targets::{known_names, open, open_for, targets};
use crate::cli::verbs::orphans;
use crate::cli::verbs::revocations::{finish, paths};
use crate::cli::verbs::status::verb::write_metrics;
use crate::cli::{
    CliError, Ending, ExitCode, Level, Shell, Text, VerbArgs, escape, on_one_thread, short,
};
use crate::controller::RevocationRequest;
use crate::controller::revocation::{Requested, RevocationError};
use crate::engine::ports::{Clock as _, LiveFiles, Store, StoreError, SystemClock};
use crate::engine::{Force, Task};
use crate::pki::{Chain, ChainError, PrivateKey};
use crate::report::{self as ran, Report};
use crate::resource::{
    CertificateRecord, FailureClass, Issuer, NamespacedName, Revocation, RevocationReason,
};
use crate::trust::quoted;
use crate::workspace::target::{CERTIFICATE, NameTarget, Target};
use crate::workspace::{
    AskError, ForeignRevocation, Holder, Job, Refusal, Remembered, Request, Targets, Workspace,
    issuer_of,
};

/// Replace a certificate and revoke the old one
///
/// If a private key has leaked, run:
///
///   certctl revoke NAME --reason keyCompromise
///
/// certctl generates a new key, even with rotationPolicy: Never. It issues a
/// certificate for the new key, writes the files, runs the hooks, and then revokes
/// the old certificate. It never uses the old key again. `certctl status` lists the
/// names, and `certctl describe NAME` shows the revocation. With --now, certctl
/// revokes the old certificate first, and servers present a revoked certificate
/// until the new one is deployed.
///
/// If a run is killed, the next `issue` finishes the revocation. --cancel cancels
/// it. With FILE, certctl revokes the first certificate in the file and issues
/// nothing. The account that ordered the certificate signs the request, or the
/// certificate's own key.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct RevokeArgs {
    /// A certificate as NAME or NAMESPACE/NAME, or a file with a PEM certificate.
    #[arg(value_name = "NAME|FILE")]
    pub target: OsString,
    /// Reason: unspecified, keyCompromise, affiliationChanged, superseded, cessationOfOperation, or
    /// another of RFC 5280 that the CA accepts [default: that of a pending request, else unspecified]
    #[arg(long, value_name = "REASON", value_parser = reason(), ignore_case = true, hide_possible_values = true)]
    pub reason: Option<RevocationReason>,
    /// Revoke first; servers present a revoked certificate until the new one is issued.
    #[arg(long)]
    pub now: bool,
    /// Issue no replacement until `certctl renew NAME`; implies --now.
    #[arg(long)]
    pub no_issue: bool,
    /// Cancel the pending revocations of NAME, and an order that only replaces the revoked
    /// certificate. A key banned by keyCompromise stays banned.
    #[arg(long, conflicts_with_all = ["reason", "now", "no_issue", "key"])]
    pub cancel: bool,
    /// Private key of the certificate in FILE, which signs instead of an account key.
    #[arg(long, value_name = "KEYFILE")]
    pub key: Option<PathBuf>,
    /// Confirm without a question; required without a terminal.
    #[arg(long)]
    pub yes: bool,
}

impl RevokeArgs {
    /// The flag as it was typed, for the next command.
    fn reason_flag(&self) -> String {
        self.reason.map(|reason| format!(" --reason {reason}")).unwrap_or_default()
    }

    /// The call that asks nothing, with this for its reason.
    fn line(&self, reason: &str) -> String {
        let target = quoted(Path::new(&self.target));
        let key = self.key.as_ref().map(|key| format!(" --key {}", quoted(key)));
        let key = key.unwrap_or_default();
        let now = if self.now { " --now" } else { "" };
        let no_issue = if self.no_issue { " --no-issue" } else { "" };
        format!("certctl revoke {target}{reason}{key}{now}{no_issue} --yes")
    }
}

/// A reason of RFC 5280, in any case.
fn reason() -> impl TypedValueParser<Value = RevocationReason> {
    PossibleValuesParser::new(RevocationReason::ALL.map(RevocationReason::as_str))
        .try_map(|word| word.parse::<RevocationReason>())
}

impl VerbArgs for RevokeArgs {
    const WRITES_METRICS: bool = true;

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        revoke(self, shell).and_then(|code| shell.print_results(code))
    }
}

/// Revokes the live certificate of a name, or the one in a file.
pub(crate) fn revoke(args: &RevokeArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    shell.refuse_in_a_hook("revoke")?;
    let usage = |message: &str| CliError::usage(message);
    if args.cancel {
        return on_one_thread(cancel(args, shell));
    }
    let known = known_names(shell, std::slice::from_ref(&args.target))?;
    match Target::read(&args.target, &|path| path.exists(), &known)? {
        Target::Stdin => Err(usage("revoke needs a certificate's name or a file, not `-`")),
        Target::Path(path) if args.now || args.no_issue => Err(usage(&format!(
            "--now and --no-issue are for a certificate by name; {} is a file",
            path.display()
        ))),
        Target::Path(path) => on_one_thread(file(args, &path, shell)),
        Target::Name(_) if args.key.is_some() => Err(usage("--key is for a certificate in a file")),
        Target::Name(_) => on_one_thread(name(args, shell)),
    }
}

async fn name(args: &RevokeArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let request = Request::names(std::slice::from_ref(&args.target))?;
    let mut workspace = open_for(shell, &request).await?;
    let found = targets(shell, &mut workspace, &request);
    let found = found.map_err(|error| by_its_file(error, args, &mut workspace, shell));
    let Targets { tasks, secrets, .. } = found?;
    let [task] = tasks.as_slice() else {
        return Err(CliError::manifest("to revoke by name, its Certificate and Issuer must exist")
            .trying_any(&[("certctl revoke FILE --key KEYFILE", "needs neither")]));
    };
    let certificate = task.certificate.metadata.key();
    // Without one, that of a pending request stays.
    let pending = workspace.record(&certificate).and_then(CertificateRecord::owed_revocation);
    let reason = args.reason.or(pending.map(|pending| pending.reason));
    let reason = confirm(args, reason, task, &workspace, shell).await?;
    workspace.make_writable()?;
    let at_once = args.now || args.no_issue;
    let request = RevocationRequest {
        reason,
        at_once,
        without_replacement: args.no_issue,
        certificate: None,
    };
    let job = Job::new("revoke", secrets.clone());
    let outcome = Box::pin(workspace.ask_to_revoke(task, request, job)).await?;
    let replaces = wants_replacement(&outcome, &certificate, shell) && !args.no_issue;
    let (mut endings, mut is_finished) = (Vec::new(), false);
    if at_once {
        endings
            .extend(Box::pin(finish(shell, &mut workspace, Some(&certificate), "revoke")).await?);
    }
    if replaces {
        let new_key = reason == RevocationReason::KeyCompromise;
        let force = Some(Force { new_key, new_order: false, for_revocation: true });
        let tasks = [Task { force, ..task.clone() }];
        let job = Job::new("revoke", secrets);
        let ended = Box::pin(run(shell, &workspace, &tasks, job)).await?;
        let is_replaced =
            |end: &Report| end.ending == ran::Ending::Issued && end.deploy_error.is_none();
        // Of a key that has leaked, it is said first that the certificate is still good.
        is_finished = !at_once && !ended.iter().all(is_replaced);
        if is_finished {
            let owed = Box::pin(finish(shell, &mut workspace, Some(&certificate), "revoke"));
            endings.extend(owed.await?);
        }
        let now = SystemClock.now();
        let of_run = conclude(shell, workspace.state(), &ended, false, now).await?;
        if of_run.iter().any(|ending| matches!(ending, Ending::Like(_))) {
            return Ok(of_run);
        }
        endings.extend(of_run);
    }
    if !is_finished {
        let owed = Box::pin(finish(shell, &mut workspace, Some(&certificate), "revoke")).await?;
        endings.extend(owed);
    }
    let done = [certificate].into();
    Box::pin(orphans::clean_up(shell, &mut workspace, &done, "revoke")).await?;
    Box::pin(write_metrics(shell, &mut workspace, &endings)).await?;
    Ok(endings)
}

/// Returns whether a replacement is to be issued now; says what is known of a revocation that is
/// not new.
fn wants_replacement(outcome: &Requested, certificate: &NamespacedName, shell: &mut Shell) -> bool {
    let one = short(certificate);
    match outcome {
        Requested::Owed(_) => true,
        Requested::Already(done) => {
            let (serial, reason) = (&done.serial, done.reason);
            let revoked = Revoked::new(Some(certificate), serial, reason, RevokedState::Revoked);
            shell.results.revoked(revoked);
            let text = format!("{one}: serial {serial} is already revoked ({reason})");
            shell.output.talk(Level::Info, &text);
            !done.without_replacement
        }
        Requested::Earlier(earlier) => {
            let text = format!(
                "{one}: the pending revocation is for the earlier serial {}; the current \
                 certificate stays",
                earlier.serial
            );
            shell.output.talk(Level::Info, &text);
            false
        }
    }
}

/// Cancels the revocations of a certificate that are still pending; its manifest is not needed.
async fn cancel(args: &RevokeArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let mut workspace = open(shell).await?;
    let known: Vec<_> = workspace.records().iter().map(|(name, _)| name.clone()).collect();
    let word = args.target.to_string_lossy();
    let target = NameTarget::parse_of(CERTIFICATE, &word).ok_or_else(|| {
        CliError::usage(format!("--cancel: `{}` is not a certificate's name", escape(&word)))
    })?;
    let name = target.find(&known, shell.global.namespace())?;
    workspace.make_writable()?;
    let cancelled = workspace.cancel_revocations(&name).await?;
    if cancelled.is_empty() {
        let one = short(&name);
        let text = format!("{one}: no revocation is pending; to list completed ones: ");
        let text = Text::from(text).with_command(&format!("certctl describe {one}"));
        shell.output.talk(Level::Info, text);
        return Ok(Vec::new());
    }
    for Revocation { serial, reason, .. } in cancelled {
        let is_banned = reason == RevocationReason::KeyCompromise;
        let banned = if is_banned { "; its key stays banned, and certctl replaces it" } else { "" };
        let text =
            format!("{}: the revocation of serial {serial} ({reason}) is cancelled", short(&name));
        shell.output.talk(Level::Info, format!("{text}{banned}"));
        let state = RevokedState::Cancelled;
        shell.results.revoked(Revoked::new(Some(&name), &serial, reason, state));
    }
    let ended = vec![Ending::Changed];
    Box::pin(write_metrics(shell, &mut workspace, &ended)).await?;
    Ok(ended)
}

/// The error, with the way that is left when the manifest is gone.
fn by_its_file(
    error: CliError,
    args: &RevokeArgs,
    workspace: &mut Workspace,
    shell: &Shell,
) -> CliError {
    let known: Vec<_> = workspace.records().iter().map(|(name, _)| name.clone()).collect();
    let target = NameTarget::parse_of(CERTIFICATE, &args.target.to_string_lossy());
    let found = target.and_then(|word| word.find(&known, shell.global.namespace()).ok());
    let Some(name) = found.filter(|name| workspace.manifest_of(name).is_none()) else {
        return error;
    };
    let Some(file) = file_of_live(&name, workspace) else { return error };
    let file = quoted(&file);
    let reason = args.reason_flag();
    let line = format!("certctl revoke {file}{reason}");
    error.trying_any(&[(&line, "or restore the manifest")])
}

/// The file of the live certificate of a name that certctl knows, unless another one has published
/// its own there since.
pub(in crate::cli) fn file_of_live(
    name: &NamespacedName,
    workspace: &Workspace,
) -> Option<PathBuf> {
    let secret = NamespacedName::new(&name.namespace, &workspace.record(name)?.secret_name);
    if !workspace.has_live(name, &secret) {
        return None;
    }
    let folder = workspace.state().live_files().secret_path(&secret).ok()?;
    folder.exists().then(|| folder.join("tls.crt"))
}

/// Asks before the live certificate is revoked, and for the reason where there is none.
async fn confirm(
    args: &RevokeArgs,
    reason: Option<RevocationReason>,
    task: &Task,
    workspace: &Workspace,
    shell: &mut Shell,
) -> Result<RevocationReason, CliError> {
    let name = task.certificate.metadata.key();
    let Some(leaf) = workspace.live_leaf(&name).await? else {
        return Ok(reason.unwrap_or(RevocationReason::Unspecified));
    };
    let reason = reason_of(args, reason, shell)?;
    let when = if args.no_issue {
        "immediately, without a replacement"
    } else if args.now {
        "immediately, before its replacement is issued"
    } else {
        "when its replacement is deployed"
    };
    let serial = &leaf.serial;
    let copies = paths(&workspace.copies(&name, Some(&leaf.fingerprint)));
    let copies = if copies.is_empty() {
        String::new()
    } else {
        format!("\n  copies of its key and certificate are in {}", copies.join(", "))
    };
    let facts =
        format!("{}: serial {serial} will be revoked ({reason}) {when}{copies}", short(&name));
    ask(args, &facts, shell)?;
    Ok(reason)
}

/// This reason, or the one that a terminal is asked for.
fn reason_of(
    args: &RevokeArgs,
    known: Option<RevocationReason>,
    shell: &mut Shell,
) -> Result<RevocationReason, CliError> {
    if let Some(reason) = known {
        return Ok(reason);
    }
    while !args.yes && shell.output.can_ask() {
        let answer = shell.output.answer(WHY).ok_or_else(CliError::unconfirmed)?;
        match answer.trim() {
            "" => break,
            word => match word.parse::<RevocationReason>() {
                Ok(reason) => return Ok(reason),
                Err(error) => shell.output.talk(Level::Info, escape(&error.to_string())),
            },
        }
    }
    Ok(RevocationReason::Unspecified)
}

const WHY: &str = "Reason (keyCompromise if its key has leaked) [unspecified] ";

/// Asks before a revocation; where there is no terminal, it needs `--yes`.
fn ask(args: &RevokeArgs, facts: &str, shell: &mut Shell) -> Result<(), CliError> {
    let line = args.line(&args.reason_flag());
    let leaked = args.line(" --reason keyCompromise");
    let lines = [(&*line, ""), (&*leaked, "if its key has leaked")];
    let lines = if args.reason.is_some() { lines.get(..1).unwrap_or_default() } else { &lines };
    shell.confirm(args.yes, facts, "Revoke it?", lines)
}

/// Revokes the first certificate of a file, at the first of the Issuers' CAs that accepts.
async fn file(args: &RevokeArgs, path: &Path, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let wrong = |error: &dyn std::fmt::Display| {
        CliError::usage(format_args!("{}: {error}", path.display()))
    };
    let chain = Chain::from_pem(&read(path)?).map_err(|error| {
        // A user's file, not a response of a CA.
        if let ChainError::Undecodable(why) = &error {
            return wrong(&format_args!("no certificate: {why}"));
        }
        wrong(&error)
    })?;
    let key = match &args.key {
        Some(path) => Some(
            PrivateKey::from_pem(&read(path)?)
                .map_err(|error| CliError::usage(format_args!("{}: {error}", path.display())))?,
        ),
        None => None,
    };
    let leaf = chain.leaf();
    if key.as_ref().is_some_and(|key| key.facts().public_key != leaf.public_key) {
        return Err(wrong(&"the key does not match the certificate"));
    }
    let mut workspace = open(shell).await?;
    let targets = targets(shell, &mut workspace, &Request::default())?;
    let is_live =
        |record: &CertificateRecord| record.issued_fingerprint.as_ref() == Some(&leaf.fingerprint);
    // By its name, when its manifest and its CA's Issuer are there.
    let has_its_issuer = |name: &NamespacedName, record: &CertificateRecord| {
        let mut certificates = targets.loaded.certificates.iter();
        let certificate = certificates.find(|certificate| certificate.metadata.key() == *name);
        let issuer = certificate.and_then(|found| issuer_of(found, &targets.loaded));
        let is_of = |issuer: &Issuer| record.issued_by().is_none_or(|by| *by == issuer.acme.server);
        issuer.is_some_and(is_of)
    };
    let mut records = workspace.records().iter();
    let by_name = records.find(|(name, record)| is_live(record) && has_its_issuer(name, record));
    if let Some((name, _)) = by_name {
        let error = CliError::usage(format_args!(
            "{} is the current certificate of {}",
            path.display(),
            short(name)
        ));
        return Err(error.trying(format_args!("certctl revoke {}", short(name))));
    }
    let reason = reason_of(args, args.reason, shell)?;
    let serial = &leaf.serial;
    let facts = format!("{}: serial {serial} will be revoked ({reason})", path.display());
    ask(args, &facts, shell)?;
    workspace.make_writable()?;
    let foreign = ForeignRevocation { chain: &chain, key: key.as_ref(), reason };
    match workspace.revoke_foreign(&targets, &foreign).await? {
        Ok((server, answer)) => {
            let (server, done) = (escape(&server), answer.describe(reason));
            shell.output.talk(Level::Info, format!("serial {serial} {done} at {server}"));
            shell.results.revoked(Revoked::new(None, serial, reason, RevokedState::Revoked));
            let remembered = workspace.remember_revoked(leaf, reason).await;
            match print_holders(args, serial, remembered, &mut workspace, shell) {
                Some(error) => Err(error),
                None => Ok(Vec::new()),
            }
        }
        Err(refusals) => Err(nobody_revoked(serial, &refusals, key.is_some())),
    }
}

/// Reports which certificates of ours had the revoked one. Returns what could not be recorded.
fn print_holders(
    args: &RevokeArgs,
    serial: &str,
    remembered: Remembered,
    workspace: &mut Workspace,
    shell: &mut Shell,
) -> Option<CliError> {
    let mut code = ExitCode::Done;
    let mut lost = Vec::new();
    let mut note = |what: String, error: StoreError| {
        let CliError { code: its, message, .. } = error.into();
        // What is only locked is done by the same command later.
        if code == ExitCode::Done || its == ExitCode::State {
            code = its;
        }
        lost.push(format!("{what}: {message}"));
    };
    if let Some(error) = remembered.unbanned {
        note("its key is not banned".to_owned(), error);
    }
    if let Some(error) = remembered.adoptable {
        note("certctl would adopt it if its files were put back".to_owned(), error);
    }
    for Holder { certificate, revision, is_live, error } in remembered.holders {
        if let Some(error) = error {
            let what = format!("{} could still roll back to it", short(&certificate));
            note(what, error);
            continue;
        }
        let what = match (is_live, revision) {
            (true, _) if workspace.manifest_of(&certificate).is_none() => {
                "it is live; its manifest no longer exists, so nothing replaces it".to_owned()
            }
            (true, _) => "it is live; the next certctl issue replaces it".to_owned(),
            (false, 0) => "it was the adopted one; certctl will not use it again".to_owned(),
            (false, revision) => {
                format!("it was revision {revision}; certctl will not use it again")
            }
        };
        shell.output.talk(Level::Info, format!("{}: serial {serial}: {what}", short(&certificate)));
    }
    if lost.is_empty() {
        return None;
    }
    let message = format!(
        "serial {serial} is revoked, but certctl could not record it:\n  {}",
        lost.join("\n  ")
    );
    let file = quoted(Path::new(&args.target));
    let key = args.key.as_ref().map(|key| format!(" --key {}", quoted(key))).unwrap_or_default();
    let reason = args.reason_flag();
    Some(CliError::new(code, message).trying(format_args!("certctl revoke {file}{reason}{key}")))
}

/// Error for a serial that no CA revoked.
fn nobody_revoked(serial: &str, refusals: &[Refusal], has_key: bool) -> CliError {
    let mut message = format!("serial {serial} is not revoked");
    for Refusal { issuer, error } in refusals {
        message.push_str("\n  ");
        message.push_str(issuer);
        message.push_str(": ");
        message.push_str(&escape(&error.to_string()));
    }
    let class = refusals.last().map(|last| last.error.cause.class());
    let code = ExitCode::from(class.unwrap_or(FailureClass::Precondition));
    let error = CliError::new(code, message);
    match (refusals.is_empty(), has_key) {
        (true, _) => error.hinted("-f MANIFEST with an Issuer of the CA that issued it"),
        (false, false) => {
            error.trying_any(&[("certctl revoke FILE --key KEYFILE", "with its own key")])
        }
        (false, true) => error,
    }
}

fn read(path: &Path) -> Result<Zeroizing<String>, CliError> {
    let failed = |error: std::io::Error| {
        CliError::usage(format_args!("cannot read {}: {error}", path.display()))
    };
    let mut text = Zeroizing::new(String::new());
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(1 << 20).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

impl From<AskError> for CliError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Run(error) => error.into(),
            AskError::Failed(failure) => Self::new(ExitCode::from(failure.class), failure),
            AskError::Refused(
                error @ (RevocationError::Nothing { .. } | RevocationError::OfAnother { .. }),
            ) => Self::new(ExitCode::Manifest, error),
            AskError::Refused(error @ RevocationError::OtherCa { .. }) => {
                Self::new(ExitCode::Manifest, error)
                    .trying_any(&[("certctl revoke FILE -f MANIFEST", "with an Issuer of that CA")])
            }
        }
    }
}
