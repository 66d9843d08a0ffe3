//! `certctl issue`, `certctl renew` and `certctl deploy`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use clap::Args;

use crate::cli::daily::Daily;
use crate::cli::render::output;
use crate::cli::run::{conclude, print_tally, run};
use crate::cli::targets::{refuse_ambiguous, targets};
use crate::cli::value_parser::duration;
use crate::cli::verbs::ping::{Moment, ping};
use crate::cli::verbs::status::verb::write_metrics;
use crate::cli::verbs::timer::Host;
use crate::cli::verbs::{doctor, last_run, orphans, revocations, revoked};
use crate::cli::{
    CliError, Ending, ExitCode, Level, Message, Shell, VerbArgs, When, count, folders, names,
    on_one_thread, short,
};
use crate::controller::alert;
use crate::engine::ports::{Clock as _, SystemClock};
use crate::engine::{Force, Goal, Task};
use crate::manifest::{Diagnostic, Loaded, SecretSource, Source, is_gone};
use crate::report::{self as ran, Details, Fault, Report};
use crate::resource::{
    AccountIdentity, CertificateRecord, FailureClass, Finding, Fix, GoDuration, Obstacle, Severity,
};
use crate::trust::quoted;
use crate::workspace::unmanaged::{lost_key, without_manifest};
use crate::workspace::{Glance, Job, Lack, Layout, Request, Targets, Workspace, owes};

/// Issue and renew the certificates that are due; run it from cron.
///
/// You can repeat this command safely. Without arguments, it processes all certificates of the
/// config directory and those issued from files before. If nothing is due, it prints nothing, except
/// on a terminal.
#[derive(Debug, Args)]
#[command(alias = "apply")]
pub struct IssueArgs {
    /// Manifests, folders of them, `-` for standard input, or names of known certificates.
    #[arg(value_name = "FILE|DIR|-|NAME")]
    pub targets: Vec<OsString>,
    /// Send orders even if the CA's rate limits would refuse them.
    ///
    /// By default, certctl keeps within Let's Encrypt's published rate limits, counted from
    /// issuance.log, and respects the Retry-After of every CA. If a limit would refuse an order, the
    /// run exits with 75 and shows when the order is possible. `certctl plan` shows how much of the
    /// limits is left.
    #[arg(long)]
    pub ignore_limits: bool,
    /// Allow a staging CA's untrusted certificate to replace a trusted one.
    #[arg(long)]
    pub allow_untrusted: bool,
    /// Start after a fixed, host-specific delay of up to DURATION.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub splay: Option<GoDuration>,
    /// Show the planned actions and change nothing, like `certctl plan`.
    #[arg(long)]
    pub dry_run: bool,
}

impl IssueArgs {
    /// Arguments of `certctl issue NAME`.
    pub(crate) fn of(name: &str) -> Self {
        let targets = vec![name.into()];
        let (ignore_limits, allow_untrusted, dry_run) = (false, false, false);
        Self { targets, ignore_limits, allow_untrusted, splay: None, dry_run }
    }
}

impl VerbArgs for IssueArgs {
    const WRITES_METRICS: bool = true;

    fn is_routine(&self) -> bool {
        self.targets.is_empty()
    }

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        issue(self, shell).and_then(|code| shell.print_results(code))
    }
}

/// Issue certificates now, due or not; skips the backoff.
///
/// For cron, use `certctl issue`. If a CA has validated the names recently, it may not validate them
/// again. To test the validation, use `certctl doctor`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct RenewArgs {
    /// Certificates, as NAME or NAMESPACE/NAME.
    #[arg(value_name = "NAME")]
    pub names: Vec<OsString>,
    /// Renew all certificates, even if they are not due; for cron, use `certctl issue`.
    #[arg(long)]
    pub all: bool,
    /// Generate a new private key, even with rotationPolicy: Never.
    #[arg(long)]
    pub new_key: bool,
    /// Drop a pending order and create a new one.
    #[arg(long)]
    pub new_order: bool,
    /// Send orders even if the CA's rate limits would refuse them.
    ///
    /// For example, Let's Encrypt refuses a sixth identical certificate within a week. By default,
    /// certctl does not send such an order, exits with 75 and shows when the order is possible.
    #[arg(long)]
    pub ignore_limits: bool,
    /// Allow a staging CA's untrusted certificate to replace a trusted one.
    #[arg(long)]
    pub allow_untrusted: bool,
    /// Confirm --all or a selector without a question; required without a terminal.
    #[arg(long)]
    pub yes: bool,
    /// Show the actions of `certctl issue` and change nothing, like `certctl plan`.
    #[arg(long)]
    pub dry_run: bool,
}

impl VerbArgs for RenewArgs {
    const WRITES_METRICS: bool = true;

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        renew(self, shell).and_then(|code| shell.print_results(code))
    }
}

/// Write pending outputs and run pending hooks again, without issuing.
///
/// Without arguments, it processes all certificates. It does not repeat completed steps.
#[derive(Debug, Args)]
pub struct DeployArgs {
    /// Certificates, as NAME or NAMESPACE/NAME.
    #[arg(value_name = "NAME")]
    pub names: Vec<OsString>,
    /// Write all outputs and run all hooks and reloads again, not only pending ones.
    #[arg(long)]
    pub again: bool,
}

impl VerbArgs for DeployArgs {
    const WRITES_METRICS: bool = true;

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        deploy(self, shell).and_then(|code| shell.print_results(code))
    }
}

/// Issues or renews the certificates that are due.
pub(crate) fn issue(args: &IssueArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    if let Some(splay) = args.splay {
        on_one_thread(async {
            Host::here().wait(&SystemClock, splay).await;
            Ok(())
        })?;
    }
    let mut opened = open(shell, args.ignore_limits);
    let request = Request::read(&args.targets, &[])?;
    let may_glance = !args.allow_untrusted && may_glance(shell, &request, args.ignore_limits);
    let glance = opened.as_ref().ok().filter(|_| may_glance);
    let glance = glance.and_then(|workspace| Glance::take(workspace, &request, SystemClock.now()));
    // The evidence of a glance is older than all that is read.
    if let Ok(workspace) = &mut opened {
        refuse_ambiguous(workspace, &request, &args.targets)?;
    }
    begin(shell, opened, &request, "issue", glance, |task| {
        task.allow_untrusted = args.allow_untrusted;
    })
}

/// Opens the state of a run.
fn open(shell: &Shell, ignore_limits: bool) -> Result<Workspace, CliError> {
    let mut workspace = Workspace::unread(shell.settings()?)?;
    workspace.ignore_limits(ignore_limits);
    Ok(workspace)
}

/// Returns whether a run may end by a glance at the index: it is routine, and what it prints of a
/// certificate without anything due is nothing.
fn may_glance(shell: &Shell, request: &Request, ignore_limits: bool) -> bool {
    let is_silent = !shell.output.talks_to_terminal()
        && !shell.wants_document()
        && !tracing::enabled!(tracing::Level::DEBUG);
    let shows_progress = matches!(shell.global.progress, When::Always);
    request.names.is_empty()
        && !ignore_limits
        && is_silent
        && !shows_progress
        && shell.global.metrics_file.is_none()
}

/// Runs pending outputs and hooks, without waiting for a backoff.
pub(crate) fn deploy(args: &DeployArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let request = Request::names(&args.names)?;
    let again = args.again;
    let opened = open(shell, false);
    begin(shell, opened, &request, "deploy", None, |task| {
        task.goal = Goal::Deploy { again };
    })
}

/// Limits a task to outputs and hooks.
pub(crate) fn only_deploy(task: &mut Task) {
    task.goal = Goal::Deploy { again: false };
}

/// Issues certificates now, without a trigger and despite a backoff.
pub(crate) fn renew(args: &RenewArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let request = Request::names(&args.names)?;
    let usage = |message: &str| CliError::usage(message);
    let has_names = !args.names.is_empty();
    let has_selector = shell.global.selector.is_some();
    match (has_names, args.all, has_selector) {
        (false, false, false) => {
            return Err(usage(
                "please either supply one or more Certificate resource names, label selectors, \
                 or use the --all flag to renew all Certificate resources",
            )
            .trying_any(&[
                ("certctl renew NAME", "one now, due or not"),
                ("certctl issue", "all that are due"),
            ]));
        }
        (true, true, _) | (true, _, true) | (_, true, true) => {
            return Err(usage(
                "cannot specify more than one of Certificate resource names, the --all flag and \
                 a label selector",
            ));
        }
        (true, false, false) | (false, true, false) | (false, false, true) => {}
    }
    // Nothing is forced by a command line that means something else.
    let named = shell.files_named();
    for path in named.iter().filter(|path| path.as_os_str() != "-") {
        std::fs::metadata(path).map_err(|error| {
            let path = output::escape(&path.to_string_lossy()).into_owned();
            let message = format!("cannot read {path}: {error}; nothing is renewed");
            CliError::manifest(message)
        })?;
    }
    let mut opened = open(shell, args.ignore_limits);
    if args.all {
        let lines =
            [("certctl renew --all --yes", ""), ("certctl issue", "renews those that are due")];
        shell.confirm(args.yes, ALL, "Renew all of them now?", &lines)?;
    } else if has_selector
        && !args.yes
        && let Ok(workspace) = &mut opened
    {
        means_several(workspace, &request, shell)?;
    }
    let force = Force { new_key: args.new_key, new_order: args.new_order, for_revocation: false };
    begin(shell, opened, &request, "renew", None, |task| {
        task.force = Some(force);
        task.allow_untrusted = args.allow_untrusted;
    })
}

/// The crontabs of other tools have a `renew` that renews what is due: this one forces.
const ALL: &str = "renew --all orders every certificate again, due or not; CAs have rate limits";

/// Asks where a selector has more than one certificate.
fn means_several(
    workspace: &mut Workspace,
    request: &Request,
    shell: &mut Shell,
) -> Result<(), CliError> {
    let selected = on_one_thread(async {
        workspace.read_for(request).await?;
        let selection = workspace.select(request);
        // An error in the manifests is reported by the run.
        let is_refused = selection.is_refused();
        let targets = workspace.targets(request, selection)?;
        let names = targets.tasks.iter().map(|task| short(&task.certificate.metadata.key()));
        Ok(if is_refused { Vec::new() } else { names.collect::<Vec<_>>() })
    })?;
    if selected.len() < 2 {
        return Ok(());
    }
    let fact = format!("each is ordered again, due or not: {}", names(&selected));
    let selector = shell.matches.get_raw("selector").and_then(Iterator::last);
    let selector = quoted(Path::new(selector.unwrap_or_default()));
    let line = format!("certctl renew -l {selector} --yes");
    shell.confirm(false, &fact, "Renew all of them now?", &[(&line, "")])
}

/// Runs a verb in what was opened for it. A monitor hears of what prevented that, too.
fn begin(
    shell: &mut Shell,
    opened: Result<Workspace, CliError>,
    request: &Request,
    verb: &'static str,
    glance: Option<Glance>,
    adapt: impl Fn(&mut Task),
) -> Result<Vec<Ending>, CliError> {
    shell.refuse_in_a_hook(verb)?;
    on_one_thread(async {
        let is_pinged = matches!(verb, "issue" | "renew");
        if is_pinged {
            ping(shell, Moment::Start).await;
        }
        let result = match opened {
            Ok(mut workspace) => {
                let run = read_and_work(shell, &mut workspace, request, verb, glance, adapt);
                let result = Box::pin(run).await;
                if is_pinged {
                    last_run::note(shell, &workspace);
                }
                result
            }
            Err(error) => Err(error),
        };
        if is_pinged {
            let moment = match &result {
                Ok((ended, is_stuck)) => Moment::of(shell.code_of(ended), *is_stuck),
                Err(_) => Moment::Failure,
            };
            ping(shell, moment).await;
        }
        result.map(|(ended, _)| ended)
    })
}

async fn read_and_work(
    shell: &mut Shell,
    workspace: &mut Workspace,
    request: &Request,
    verb: &'static str,
    mut glance: Option<Glance>,
    adapt: impl Fn(&mut Task),
) -> Result<(Vec<Ending>, bool), CliError> {
    // Also where nothing is due, a state that cannot be written is an error.
    if glance.as_ref().is_some_and(Glance::is_idle) && workspace.make_writable().is_ok() {
        return Ok((Vec::new(), false));
    }
    let part = match &mut glance {
        Some(glance) => Box::pin(glance.read_due(workspace)).await,
        None => None,
    };
    let settings = workspace.settings();
    let is_whole = part.is_none() && settings.namespace.is_none() && settings.selector.is_none();
    let is_daily = settings.options.reports_daily && verb == "issue" && request.is_empty();
    shell.daily = (is_daily && !shell.wants_document()).then(|| Daily::of(workspace));
    let done = work_on_all(shell, workspace, request, verb, (glance, part), adapt);
    let done = Box::pin(done).await;
    if let Some(daily) = shell.daily.take() {
        daily.end(workspace, is_whole);
    }
    done
}

/// The certificates that a glance leaves to a run.
type Part = (Targets, Layout);

async fn work_on_all(
    shell: &mut Shell,
    workspace: &mut Workspace,
    request: &Request,
    verb: &'static str,
    (glance, part): (Option<Glance>, Option<Part>),
    adapt: impl Fn(&mut Task),
) -> Result<(Vec<Ending>, bool), CliError> {
    let (targets, layout) = match part {
        Some((targets, layout)) => (targets, Some(layout)),
        None => Box::pin(read_all(shell, workspace, request, glance.as_ref())).await?,
    };
    if layout.is_some() {
        workspace.note_for_the_index();
    }
    let is_stuck = shell.global.ping.is_some() && any_is_stuck(workspace, &targets.tasks);
    let code = Box::pin(work_on(shell, workspace, request, targets, verb, adapt)).await?;
    if let (Some(glance), Some(layout)) = (&glance, layout)
        && let Err(error) = workspace.write_index(glance, layout)
    {
        tracing::debug!(%error, "the index is not written");
    }
    Ok((code, is_stuck))
}

/// Reads all manifests and records.
async fn read_all(
    shell: &mut Shell,
    workspace: &mut Workspace,
    request: &Request,
    glance: Option<&Glance>,
) -> Result<(Targets, Option<Layout>), CliError> {
    // Manifests are read before anything is written: an error in them changes nothing.
    workspace.read_for(request).await?;
    if let Some(daily) = &mut shell.daily {
        daily.watch(workspace.records().iter().map(|(_, record)| &record.status));
    }
    if !request.is_empty() {
        workspace.report_again();
    }
    let targets = match targets(shell, workspace, request) {
        Ok(targets) => targets,
        Err(error) => {
            orphans::warn(shell, workspace).await?;
            return Err(error);
        }
    };
    let layout = match glance {
        Some(glance) => workspace.index_layout(&targets, request, glance).await,
        None => None,
    };
    Ok((targets, layout))
}

/// Returns whether one of the certificates has failed or is overdue already, as a run begins.
fn any_is_stuck(workspace: &Workspace, tasks: &[Task]) -> bool {
    let now = SystemClock.now();
    let keys: BTreeSet<_> = tasks.iter().map(|task| task.certificate.metadata.key()).collect();
    workspace.records().iter().any(|(key, CertificateRecord { status, .. })| {
        let is_stuck = status.failed_issuance_attempts.is_some()
            || alert::overdue(status.renewal_time, status.not_after, now).is_some();
        is_stuck && keys.contains(key)
    })
}

/// Runs a verb on its targets, then the pending clean-up of earlier runs.
pub(crate) async fn work_on(
    shell: &mut Shell,
    workspace: &mut Workspace,
    request: &Request,
    targets: Targets,
    verb: &'static str,
    adapt: impl Fn(&mut Task),
) -> Result<Vec<Ending>, CliError> {
    let Targets { mut tasks, secrets, orphans, has_errors, loaded } = targets;
    folders::print_state(shell);
    shell.print_findings(&without_manifest(&orphans));
    print_empty(shell, request, &loaded, has_errors)?;
    if loaded.certificates.is_empty() && !has_errors {
        let error = nothing_found(shell, workspace.records().len());
        Box::pin(orphans::clean_up_all(shell, workspace, verb)).await?;
        return if shell.prints(&error.message) {
            Err(error)
        } else {
            Ok(vec![Ending::Like(error.code)])
        };
    }
    if tasks.is_empty() && !has_errors {
        shell.output.talk(Level::Info, "nothing to do: no Certificate matches");
        return Ok(Vec::new());
    }
    tasks.iter_mut().for_each(adapt);
    if let Err(error) = workspace.make_writable() {
        // Certificates that run out of time are reported all the same.
        if let Err(unreported) =
            Box::pin(workspace.alert(&tasks, Job::new(verb, secrets), &error)).await
        {
            tracing::warn!(error = %unreported, "the on-failure hook did not run");
        }
        let unwritable = [Ending::Failed(FailureClass::State)];
        Box::pin(write_metrics(shell, workspace, &unwritable)).await?;
        return Err(error.into());
    }
    let done = tasks.iter().map(|task| task.certificate.metadata.key()).collect();
    let owed = workspace.records().iter().any(|(_, record)| owes(record));
    let job = || Job::new(verb, secrets.clone());
    let mut ended = if verb == "issue" {
        let samples = request.is_empty();
        Box::pin(revoked::issue(shell, workspace, &tasks, samples, job)).await?
    } else {
        Box::pin(run(shell, workspace, &tasks, job())).await?
    };
    if verb == "issue" {
        note_unreplaced(workspace, &mut ended, shell).await;
        warn_of_lost_keys(workspace, &tasks, &ended, shell).await?;
    }
    note_lacks(workspace, &tasks, &mut ended, (&loaded, &secrets)).await?;
    let is_unreported = Box::pin(alert_of_others(workspace, has_errors, job)).await;
    Box::pin(orphans::clean_up(shell, workspace, &done, verb)).await?;
    let now = SystemClock.now();
    let mut endings = conclude(shell, workspace.state(), &ended, has_errors, now).await?;
    print_tally(shell, &ended, loaded.blocked.iter().filter(|id| id.kind == "Certificate").count());
    match verb {
        "issue" => shell.print_findings(&later_runs(shell, workspace, request, &ended)),
        "deploy" if !request.is_empty() => shell.print_findings(&not_issued(&ended)),
        _ => {}
    }
    let revoked = if owed {
        Box::pin(revocations::finish(shell, workspace, None, verb)).await?
    } else {
        Vec::new()
    };
    // What failed in the run comes first.
    if !endings.iter().any(|ending| matches!(ending, Ending::Failed(_) | Ending::Like(_))) {
        endings.extend(revoked);
        endings.extend(is_unreported.then_some(Ending::Unreported));
    }
    match Box::pin(write_metrics(shell, workspace, &endings)).await {
        Err(error) if shell.code_of(&endings) == ExitCode::Done => Err(error),
        Err(error) => {
            // The exit code of the certificates takes precedence.
            let CliError { message, hint, .. } = error;
            shell.output.print(&Message::advice(&message, hint.as_ref()));
            Ok(endings)
        }
        Ok(()) => Ok(endings),
    }
}

/// Runs the operator's hook for what no task of this run has reported. Whether it failed for some.
async fn alert_of_others(
    workspace: &mut Workspace,
    has_errors: bool,
    job: impl Fn() -> Job,
) -> bool {
    if has_errors && let Err(error) = Box::pin(workspace.alert_invalid(job())).await {
        tracing::warn!(%error, "the on-failure hook did not run");
    }
    let left = Box::pin(workspace.alert_left(job())).await;
    left.map_or_else(
        |error| {
            tracing::warn!(%error, "the on-failure hook did not run for an earlier run");
            true
        },
        |left| left.unreported > 0,
    )
}

/// Certificates without anything to deploy.
fn not_issued(ended: &[Report]) -> Vec<Finding> {
    let absent = ended.iter().filter(|end| end.error.is_none() && end.not_after.is_none());
    let found = absent.map(|end| {
        let found = Obstacle::new("nothing is issued yet").with(Fix::Issue(Some(end.key())));
        Finding::warning(&short(&end.key()), found)
    });
    found.collect()
}

/// Lacks of a first certificate for its renewal: a manifest that stays, and a scheduler.
fn later_runs(
    shell: &Shell,
    workspace: &Workspace,
    request: &Request,
    ended: &[Report],
) -> Vec<Finding> {
    let is_read = request.sources.iter().any(|source| matches!(source, Source::Stdin(_)));
    let is_first = |end: &Report| end.ending == ran::Ending::Issued && end.revision == Some(1);
    let is_watched = shell.output.talks_to_terminal() && shell.global.quiet == 0;
    let is_shown_now = if is_read { !shell.is_scheduled() } else { is_watched };
    if !is_shown_now || shell.wants_document() || !ended.iter().any(is_first) {
        return Vec::new();
    }
    let found = if is_read {
        let fact =
            "standard input is not stored; to renew this certificate, put the manifest into a file";
        Finding::warning("manifest", Obstacle::new(fact))
    } else {
        doctor::scheduler(shell, workspace.automatic_run())
    };
    let is_shown = matches!(found.severity, Severity::Warning | Severity::Wrong);
    if is_shown { vec![found] } else { Vec::new() }
}

/// Notes the certificates for which nothing is issued since the user had them revoked for good; in
/// an unattended run, once a day.
async fn note_unreplaced(workspace: &Workspace, ended: &mut [Report], shell: &mut Shell) {
    for end in ended.iter_mut().filter(|end| end.ending == ran::Ending::Unchanged) {
        let why = workspace.unreplaced(&end.key()).await;
        let is_due = |why: &String| shell.prints(&format!("{}: {why}", end.key()));
        let why = why.filter(is_due);
        end.message = why.clone().or(end.message.take());
        end.details.unreplaced = why;
    }
}

/// Says which accounts have lost their keys before a renewal needs them. Where one was needed, the
/// certificate's own error says it.
async fn warn_of_lost_keys(
    workspace: &Workspace,
    tasks: &[Task],
    ended: &[Report],
    shell: &mut Shell,
) -> Result<(), CliError> {
    if ended.iter().all(|end| end.error.is_none()) {
        let issuers = workspace.lost_account_keys(tasks).await?.into_iter();
        let lost = issuers.map(|issuer| lost_key(&AccountIdentity::of(issuer), Some(issuer)));
        shell.print_findings(&lost.collect::<Vec<_>>());
    }
    Ok(())
}

/// Adds to what failed by a precondition the places in the manifests, and what to do.
async fn note_lacks(
    workspace: &Workspace,
    tasks: &[Task],
    ended: &mut [Report],
    (loaded, secrets): (&Loaded, &SecretSource),
) -> Result<(), CliError> {
    let lacks = |fault: &Option<Fault>, is_due| {
        is_due && fault.as_ref().is_some_and(|one| one.class == FailureClass::Precondition)
    };
    for end in ended {
        let Details { is_due, deploy_is_due, .. } = end.details;
        if !lacks(&end.error, is_due) && !lacks(&end.deploy_error, deploy_is_due) {
            continue;
        }
        let key = end.key();
        if let Some(task) = tasks.iter().find(|task| task.certificate.metadata.key() == key) {
            let found = workspace.lacks(loaded, secrets, &[task]).await?;
            note_lack(end, found.into_iter().filter(|lack| lack.is_of(task)).collect(), loaded);
        }
    }
    Ok(())
}

/// The places in the manifests, and what to do.
fn note_lack(end: &mut Report, mut lacks: Vec<Lack>, loaded: &Loaded) {
    // A certificate that was issued lacked nothing but what its deployment needs.
    lacks.retain(|lack| end.error.is_some() || lack.unmet.need.is_of_deployment());
    let are_many = lacks.len() > 1;
    let Details { places, fixes, .. } = &mut end.details;
    for lack in lacks {
        let fix = lack.unmet.obstacle.fix.clone();
        fixes.extend(fix.filter(|fix| !fixes.contains(fix)));
        let Diagnostic { path, line, column, field, message, .. } = lack.diagnostic(loaded);
        let path = output::escape(&path.to_string_lossy()).into_owned();
        let fact = if are_many { format!(": {message}") } else { String::new() };
        let place = format!("{path}:{line}:{column} {field}{fact}");
        if !places.contains(&place) {
            places.push(place);
        }
    }
}

fn name_of(source: &Source) -> String {
    match source {
        Source::File(path) | Source::Directory(path) => {
            output::escape(&path.to_string_lossy()).into_owned()
        }
        Source::Stdin(_) => "standard input".to_owned(),
    }
}

/// Reports named files without a Certificate: an error if no named file has one.
fn print_empty(
    shell: &mut Shell,
    request: &Request,
    loaded: &Loaded,
    has_errors: bool,
) -> Result<(), CliError> {
    let holds_one =
        |path: &Path| loaded.certificates.iter().any(|c| c.origin.path.starts_with(path));
    let lacks_one = |source: &&Source| match source {
        Source::File(path) | Source::Directory(path) => !holds_one(path),
        Source::Stdin(_) => !holds_one(Path::new("-")),
    };
    let empty: Vec<&Source> = request.sources.iter().filter(lacks_one).collect();
    if empty.is_empty() || has_errors {
        return Ok(());
    }
    // A file with only an Issuer or a Secret is fine.
    for found in loaded.holding_nothing(&request.sources) {
        shell.output.finding(&found);
    }
    if empty.len() == request.sources.len() && request.names.is_empty() {
        let names: Vec<String> = empty.into_iter().map(name_of).collect();
        return Err(CliError::manifest(format!("no Certificate in {}", names.join(", "))));
    }
    Ok(())
}

/// The error of a verb that finds no Certificate at all.
pub(crate) fn nothing_found(shell: &Shell, known: usize) -> CliError {
    let config = shell.environment.config_dir(shell.global.config_dir.as_deref());
    let place = config.map_or_else(
        |error| error.to_string(),
        |dir| {
            let is_there = if is_gone(&dir.path) { ", which does not exist" } else { "" };
            format!("{}{is_there}", dir.path.display())
        },
    );
    let message = match known {
        0 => format!("no Certificate found in {place}"),
        known => format!(
            "no Certificate found in {place}; {} known from earlier runs no longer has a manifest",
            count(known, "certificate")
        ),
    };
    let error = CliError::manifest(message).of_absence();
    error.trying_any(&[
        ("certctl create", "asks, and writes the first manifests"),
        ("certctl issue FILE", "from a manifest elsewhere"),
    ])
}
