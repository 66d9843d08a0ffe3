//! The verb `status`, and the metrics that a run writes.

use std::ffi::OsString;
use std::path::Path;

use clap::Args;

use super::ahead::Host;
use super::{Exposition, Extent, LastRun, Listing, Noun, ObjectListing};
use crate::cli::environment::Source;
use crate::cli::targets::{show, warn_of_named_folder};
use crate::cli::verbs::{last_run, metrics_file};
use crate::cli::{
    CliError, Ending, ExitCode, Format, Hint, Level, Message, Scene, Shell, VerbArgs, count,
    escape, folders, on_one_thread,
};
use crate::engine::Task;
use crate::engine::ports::{Clock as _, SystemClock};
use crate::manifest::{Diagnostic, is_gone};
use crate::resource::FailureClass;
use crate::resource::NamespacedName;
use crate::store;
use crate::trust::Walk;
use crate::workspace::Blocked;
use crate::workspace::settings::Settings;
use crate::workspace::target::NameTarget;
use crate::workspace::view::CertificateView;
use crate::workspace::{Depth, Request, Scope, Targets, Workspace};

/// Show all certificates, or a summary of one.
///
/// NEXT is the date of the renewal, `next run`, or `you` if nothing happens until you act. ARI means
/// that the CA suggested the date (RFC 9773). -o wide adds columns, and -o yaml prints
/// cert-manager's own kinds. --exit-code exits with 8 unless all are READY or RENEWING. OVERDUE
/// means that more than a tenth of the time between renewalTime and notAfter has passed without a
/// renewal. WAITING means that an order waits and no process works on it. INVALID means that the
/// manifest has an error. STATE DAMAGED exits with 7.
#[derive(Debug, Args)]
#[command(aliases = ["get", "list", "ls", "show", "certificates"])]
pub struct StatusArgs {
    /// A kind (certificate, issuer, order, challenge or request) and names [default: certificate]
    #[arg(value_name = "KIND|NAME")]
    pub words: Vec<OsString>,
}

impl VerbArgs for StatusArgs {
    fn acts_as_owner(&self, has_files: bool) -> bool {
        !has_files
    }

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        show_all(&self.words, Extent::Summary, shell)
    }
}

/// Show `status NAME` with everything: events, orders, revocations.
#[derive(Debug, Args)]
pub struct DescribeArgs {
    /// A kind (certificate, issuer, order, challenge or request) and names [default: certificate]
    #[arg(value_name = "KIND|NAME", required = true)]
    pub words: Vec<OsString>,
}

impl VerbArgs for DescribeArgs {
    fn acts_as_owner(&self, has_files: bool) -> bool {
        !has_files
    }

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        show_all(&self.words, Extent::Whole, shell)
    }
}

/// Shows the objects of these words; certificates that are named, to this extent.
fn show_all(
    words: &[OsString],
    extent: Extent,
    shell: &mut Shell,
) -> Result<Vec<Ending>, CliError> {
    let (noun, words) = Noun::split(words);
    let mut names = Vec::new();
    for word in words {
        let text = word.to_string_lossy();
        names.push(NameTarget::parse_of(noun.kinds(), &text).ok_or_else(|| {
            CliError::usage(format_args!("`{text}` is not a valid name"))
                .trying_any(&[("certctl status -f FILE", "the objects of a file")])
        })?);
    }
    on_one_thread(async {
        let names_shown = if noun == Noun::Certificate { names.as_slice() } else { &[] };
        let mut workspace =
            Workspace::open_shown(shell.settings()?, names_shown, Scope::Only).await?;
        let request = Request { is_only_shown: true, ..Request::default() };
        let selection = workspace.select(&request);
        workspace.forget_manifests();
        show(shell, &selection.loaded);
        warn_of_named_folder(shell, &selection.loaded);
        let targets = workspace.targets(&request, selection)?;
        let scene = shell.scene();
        match noun {
            Noun::Certificate => {
                let extent = if names.is_empty() { Extent::Line } else { extent };
                let done = of_certificates(shell, &workspace, &targets, &names, extent, &scene);
                Box::pin(done).await
            }
            Noun::Issuer | Noun::CertificateRequest | Noun::Order | Noun::Challenge => {
                let mut listing = ObjectListing::new(noun, &names, &scene)?;
                let mut text = String::new();
                if noun == Noun::Issuer {
                    text = listing.add_issuers(&workspace.issuer_views(&targets).await?)?;
                } else {
                    let show = |view: CertificateView| {
                        text.push_str(&listing.add(&view)?);
                        written(shell, &mut text)
                    };
                    let shown = workspace.each_view(&targets, None, Depth::Line, scene.now, show);
                    Box::pin(shown).await?;
                }
                text.push_str(&listing.end()?);
                shell.output.data(&text)?;
                Ok(Vec::new())
            }
        }
    })
}

const EVENTS: &str = "certctl describe NAME has the events of a certificate";

/// Writes a text once it is long.
fn written(shell: &mut Shell, text: &mut String) -> Result<(), CliError> {
    if text.len() > MOST_HELD {
        shell.output.data(&std::mem::take(text))?;
    }
    Ok(())
}

/// The status of all certificates, or of those named.
async fn of_certificates(
    shell: &mut Shell,
    workspace: &Workspace,
    targets: &Targets,
    names: &[NameTarget],
    extent: Extent,
    scene: &Scene,
) -> Result<Vec<Ending>, CliError> {
    let by_name = !names.is_empty();
    let keys = if by_name { workspace.keys(targets) } else { Vec::new() };
    let find = |name: &NameTarget| {
        let found = name.find(&keys, shell.global.namespace());
        found.map_err(|error| {
            let error = CliError::from(error.among(&targets.loaded.certificates));
            // As kubectl has it: `get events`.
            let is_of_events = ["event", "events"].contains(&name.name.as_str());
            if is_of_events { error.hinted(EVENTS) } else { error }
        })
    };
    let chosen = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let depth = if by_name { Depth::Page } else { Depth::Line };
    let mut listing = Listing::new(extent, scene)?;
    listing.has_names = chosen.len() > 1;
    let is_named = |task: &&Task| chosen.contains(&task.certificate.metadata.key());
    let tasks: Vec<&Task> = targets.tasks.iter().filter(is_named).collect();
    let (is_summary, is_table) = (listing.is_summary(), listing.is_table());
    // The automatic runs do not read a file that was named here.
    let is_read = shell.global.filename.is_empty();
    let missed_run =
        || last_run::missed(workspace.automatic_run(), scene.now, &scene.zone).filter(|_| is_read);
    if listing.shows_host() {
        let blocked = Blocked::all(workspace, targets, &tasks).await?;
        listing.host = Host { blocked, missed_run: missed_run() };
    }
    let mut text = String::new();
    let selected: Vec<Option<&NamespacedName>> =
        if by_name { chosen.iter().map(Some).collect() } else { vec![None] };
    for only in selected {
        let show = |view: CertificateView| {
            text.push_str(&listing.add(&view)?);
            written(shell, &mut text)
        };
        Box::pin(workspace.each_view(targets, only, depth, scene.now, show)).await?;
    }
    shell.output.data(&text)?;
    if listing.has_commands() {
        shell.output.name_commands();
    }
    let Listing { needs_attention, is_empty, .. } = listing;
    let damage = listing.damage.take();
    let unread = is_empty.then(|| unread(shell, workspace.settings())).flatten();
    let unread = match unread {
        // A head without rows says nothing.
        Some(error) if is_table && damage.is_none() => return Err(error),
        unread => unread,
    };
    let issuers = match scene.format {
        Format::Prometheus => workspace.issuer_views(targets).await?,
        Format::Text | Format::Wide | Format::Json | Format::Yaml | Format::Name => Vec::new(),
    };
    listing.end(&issuers, |text| Ok(shell.output.data(text)?))?;
    if let Some(error) = damage.map(unreadable).or(unread) {
        return Err(error);
    }
    if is_empty && matches!(scene.format, Format::Text | Format::Wide) {
        shell.output.talk(Level::Info, nothing(workspace.settings()));
    }
    if !is_summary {
        for unmet in workspace.unmet(&targets.loaded, &targets.secrets, &tasks).await? {
            shell.output.finding(&unmet.as_warning("W0402"));
        }
    }
    if is_table
        && shell.global.quiet == 0
        && !targets.tasks.is_empty()
        && let Some(fact) = missed_run()
    {
        shell
            .output
            .print(&Message::advice(&fact, Some(&Hint::Command(last_run::LOOK.to_owned()))));
    }
    // A table that a filter or a wrong folder empties must not look healthy.
    let attention = is_empty || needs_attention;
    if targets.loaded.diagnostics.iter().any(Diagnostic::is_unread) {
        return Ok(vec![Ending::Failed(FailureClass::Precondition)]);
    }
    Ok(attention.then_some(Ending::Attention(None)).into_iter().collect())
}

/// The longest text that is held back until more is there, in bytes.
const MOST_HELD: usize = 64 << 10;

/// The error of an empty table whose config directory was named and is not there, or of a user whose
/// commands do not read the folders of the scheduled runs.
fn unread(shell: &Shell, settings: &Settings) -> Option<CliError> {
    let config = shell.environment.config_dir(shell.global.config_dir.as_deref()).ok()?;
    if folders::unread(shell).is_some() {
        return Some(CliError::manifest(nothing(settings)).of_absence());
    }
    let is_named = matches!(config.source, Source::Flag(_) | Source::Variable(_));
    if !is_named || !is_gone(&config.path) {
        return None;
    }
    let path = config.path.to_string_lossy();
    let message = format!("there is no config directory {}", escape(&path));
    Some(
        CliError::manifest(message).trying_any(&[
            ("certctl status --config-dir FOLDER", ""),
            ("certctl create", "to begin"),
        ]),
    )
}

/// Note on a table without rows.
fn nothing(settings: &Settings) -> String {
    let filter = match (&settings.namespace, &settings.selector) {
        (None, None) => "",
        (Some(_), None) => " in this namespace",
        (None, Some(_)) => " that the selector matches",
        (Some(_), Some(_)) => " in this namespace that the selector matches",
    };
    format!("no Certificate{filter}; read: {}", places(settings))
}

/// Where manifests and state are.
pub(in crate::cli) fn places(settings: &Settings) -> String {
    let place = |path: &Path| {
        let absent = if is_gone(path) { " (not there)" } else { "" };
        format!("{}{absent}", escape(&path.to_string_lossy()))
    };
    let config = settings.config_dir.as_deref();
    let files = settings.files.len();
    let mut read: Vec<String> =
        config.iter().map(|path| format!("manifests in {}", place(path))).collect();
    if files > 0 {
        read.push(count(files, "named file"));
    }
    read.push(format!("the state in {}", place(&settings.state_dir)));
    read.join(", ")
}

/// The error of a status with certificates whose state cannot be read: the first, and their count.
fn unreadable((first, count): (String, usize)) -> CliError {
    let message = match count {
        1 => first,
        several => {
            format!("the state of {several} certificates cannot be read, the first: {first}")
        }
    };
    CliError::new(ExitCode::State, escape(&message))
}

/// Writes the metrics of the certificates, as they are after a run that ended so, to the file of
/// `metrics-file`.
pub(crate) async fn write_metrics(
    shell: &Shell,
    workspace: &mut Workspace,
    ended: &[Ending],
) -> Result<(), CliError> {
    let Some(path) = shell.global.metrics_file.clone() else { return Ok(()) };
    workspace.widen().await?;
    let targets = workspace.everything_shown();
    let now = SystemClock.now();
    let mut metrics = Exposition::new(now);
    let show = |view: CertificateView| {
        metrics.add(&view);
        Ok::<_, CliError>(())
    };
    Box::pin(workspace.each_view(&targets, None, Depth::Line, now, show)).await?;
    let run = LastRun { code: shell.code_of(ended), requests: workspace.sent_requests() };
    let mut text = String::new();
    metrics.end(&workspace.issuer_views(&targets).await?, Some(&run), |part| {
        text.push_str(part);
        Ok::<_, CliError>(())
    })?;
    let failed = |error: &dyn std::fmt::Display| {
        let message = format_args!("metrics-file: {error}; this does not affect the run");
        let fix = metrics_file::obstacle(&path).and_then(|found| found.fix);
        CliError { hint: fix.map(Hint::from), ..CliError::new(ExitCode::Output, message) }
    };
    // The folder may be the collector's; no other user may decide where it is.
    let absolute = std::path::absolute(&path).map_err(|error| failed(&error))?;
    let above = absolute.parent().unwrap_or(&absolute);
    let walk = Walk::trusting_us().up_to_the_end();
    walk.folder(above).map_err(|error| failed(&error))?;
    let written = store::atomic::write(&path, text.as_bytes(), METRICS_MODE);
    written.map_err(|error| failed(&error))
}

/// Readable by the metrics collector, which is another user.
const METRICS_MODE: u32 = 0o644;
