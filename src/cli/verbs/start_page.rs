//! `certctl` without a verb: the table of `status`, what this host lacks, and at most two commands.
//!
//! Contract: read-only, and ends in 0 whatever is found. The page is short for any number of
//! certificates.

use std::fmt::Write as _;
use std::fs;
use std::io;

use crate::cli::render::text::wrap;
use crate::cli::verbs::last_run;
use crate::cli::verbs::status::Overview;
use crate::cli::verbs::status::verb::places;
use crate::cli::{
    CliError, Ending, Format, Hint, Message, Paint, Scene, Shell, folders, on_one_thread,
};
use crate::engine::Task;
use crate::engine::ports::StoreError;
use crate::host::rights::{self, can_be_listed};
use crate::manifest::Diagnostic;
use crate::workspace::view::CertificateView;
use crate::workspace::{Depth, Request, Settings, Targets, Workspace};

/// Prints the page.
pub(in crate::cli) fn start_page(shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    if shell.global.format() != Format::Text {
        let message = "the start page is plain text: -o needs a verb";
        return Err(CliError::usage(message).trying("certctl status -o json"));
    }
    let settings = shell.settings()?;
    let scene = shell.scene();
    let places = places(&settings);
    let (mut text, steps) = match on_one_thread(Box::pin(Found::read(shell, settings, &scene)))? {
        None => denied(shell, &places),
        Some(found) => {
            for mistake in &shell.config.mistakes {
                shell.output.finding(mistake);
            }
            for unmet in found.unmet {
                shell.output.finding(&unmet.as_warning("W0402"));
            }
            if let Some(fact) = &found.missed_run {
                let look = Hint::Command(last_run::LOOK.to_owned());
                shell.output.print(&Message::advice(fact, Some(&look)));
            }
            match found.table.states() {
                states if states.is_empty() => nothing(shell, &places),
                _ => {
                    let steps = next_steps(&found.table);
                    (found.table.end(MOST, &scene), steps)
                }
            }
        }
    };
    text += &["\n", &Paint::Bold.on("Next:", scene.color), "\n"].concat();
    for (command, what) in steps {
        let _ = writeln!(text, "  {command:LONGEST$}   # {what}");
    }
    shell.output.data(&text)?;
    shell.output.name_commands();
    Ok(Vec::new())
}

/// Content of the folders.
#[derive(Debug, Default)]
struct Found {
    table: Overview,
    /// Warning that no automatic run came for a day.
    missed_run: Option<String>,
    /// Names in the manifests that this host lacks.
    unmet: Vec<Diagnostic>,
}

impl Found {
    /// Reads manifests and state; `None` where this user may not.
    async fn read(
        shell: &Shell,
        settings: Settings,
        scene: &Scene,
    ) -> Result<Option<Self>, CliError> {
        let config = settings.config_dir.as_deref().filter(|_| settings.files.is_empty());
        if let Some(Err(error)) = config.map(fs::read_dir)
            && error.kind() == io::ErrorKind::PermissionDenied
        {
            return Ok(None);
        }
        let mut workspace = match Workspace::open(settings).await {
            Err(error) if is_denied(&error) => return Ok(None),
            opened => opened?,
        };
        let request = Request { is_only_shown: true, ..Request::default() };
        let selection = workspace.select(&request);
        workspace.forget_manifests();
        let targets = workspace.targets(&request, selection)?;
        let missed = last_run::missed(workspace.automatic_run(), scene.now, &scene.zone);
        let is_awaited = shell.global.filename.is_empty() && !targets.tasks.is_empty();
        let missed_run = missed.filter(|_| is_awaited);
        let mut found = Self { missed_run, ..Self::default() };
        match Box::pin(found.fill(&workspace, &targets, scene)).await {
            Err(error) if is_denied(&error) => Ok(None),
            filled => Ok(Some(filled.map(|()| found)?)),
        }
    }

    async fn fill(
        &mut self,
        workspace: &Workspace,
        targets: &Targets,
        scene: &Scene,
    ) -> Result<(), StoreError> {
        let tasks: Vec<&Task> = targets.tasks.iter().collect();
        self.unmet = workspace.unmet(&targets.loaded, &targets.secrets, &tasks).await?;
        let show = |view: CertificateView| {
            self.table.add(&view, scene);
            Ok::<_, StoreError>(())
        };
        Box::pin(workspace.each_view(targets, None, Depth::Line, scene.now, show)).await
    }
}

/// A text, and commands with what each is for.
type Page = (String, Vec<(String, &'static str)>);

/// The page of a user who may not read the state, or the manifests.
fn denied(shell: &Shell, places: &str) -> Page {
    let (reader, command) = match &shell.acts_as {
        // Root needs no other user to type it.
        Some(owner) => {
            let config = shell.environment.config_dir(shell.global.config_dir.as_deref()).ok();
            let config = config.map(|found| found.path).filter(|path| !can_be_listed(path));
            let permit = config.as_deref().and_then(rights::reading);
            let permit = permit.map(|permit| Hint::from(&permit).to_string());
            let command = permit.unwrap_or_else(|| last_run::LOOK.to_owned());
            (format!("{owner}, the owner of the state,"), command)
        }
        None => ("This user".to_owned(), folders::as_root(shell, "")),
    };
    let text = format!("{reader} has no permission to read certctl's files: {places}");
    (wrap(&text, "", Shell::columns()), vec![(command, "look again")])
}

/// The page of a folder without a Certificate.
fn nothing(shell: &Shell, places: &str) -> Page {
    let create = ("certctl create".to_owned(), "asks a few questions");
    let (text, other) = match folders::unread(shell) {
        Some(path) => {
            let text = format!(
                "No certificate of this user. The scheduled runs of this host use {path}, which the \
                 commands of this user do not read."
            );
            return (
                wrap(&text, "", Shell::columns()),
                vec![(folders::sudo(""), "look there"), create],
            );
        }
        None => (format!("No certificate yet: {places}"), "certctl --help".to_owned()),
    };
    (wrap(&text, "", Shell::columns()), vec![create, (other, "lists the verbs")])
}

/// At most two.
fn next_steps(table: &Overview) -> Vec<(String, &'static str)> {
    let plan = ("certctl plan".to_owned(), "show the actions of the next run");
    match table.worst() {
        Some("") => vec![("certctl validate".to_owned(), "show the mistakes"), plan],
        Some(name) => vec![(format!("certctl status {name}"), "show its details"), plan],
        None if table.states().iter().all(|state| state.is_well()) => {
            vec![plan, ("certctl create".to_owned(), "add a certificate")]
        }
        None => vec![plan, ("certctl issue".to_owned(), "issue and renew due certificates")],
    }
}

/// Returns whether the state is there, and not for this user.
fn is_denied(error: &StoreError) -> bool {
    error.is_denied() || matches!(error, StoreError::ForeignOwner { .. })
}

/// Number of certificates are on the page.
const MOST: usize = 10;
/// Length of most commands.
const LONGEST: usize = 14;
