//! `certctl` without a verb: what there is, what is wrong, and the next commands.
//!
//! Contract: read-only, and ends in 0 whatever is found. Of many certificates one view at a time is
//! in memory, and of what is wrong the worst few; the page is short for any number of them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use unicode_width::UnicodeWidthStr as _;

use crate::cli::error::CliError;
use crate::cli::exit::{Ending, ExitCode};
use crate::cli::folders;
use crate::cli::global::Format;
use crate::cli::render::output::{Paint, escape};
use crate::cli::render::report::short;
use crate::cli::render::text::{behind, wrap};
use crate::cli::run::on_one_thread;
use crate::cli::shell::Shell;
use crate::cli::verbs::last_run;
use crate::cli::words::Scene;
use crate::cli::words::count::count;
use crate::cli::words::fix;
use crate::cli::words::hint::Hint;
use crate::cli::words::next;
use crate::cli::words::time;
use crate::engine::Task;
use crate::engine::ports::StoreError;
use crate::host::rights::{self, can_be_listed};
use crate::manifest::{Diagnostic, is_gone};
use crate::resource::{Fix, lets_encrypt};
use crate::trust::quoted;
use crate::workspace::outlook::{State, When};
use crate::workspace::view::CertificateView;
use crate::workspace::{Depth, Request, Settings, Targets, Workspace};

/// Prints the page.
pub(in crate::cli) fn start_page(shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    if shell.global.format() != Format::Text {
        let message = "the start page is plain text: -o needs a verb";
        return Err(CliError::new(ExitCode::Usage, message).trying("certctl status -o json"));
    }
    let settings = shell.settings()?;
    let scene = shell.scene();
    let place = Place::of(shell, &settings);
    let text = match on_one_thread(Box::pin(Found::read(shell, settings, &scene)))? {
        Some(found) => {
            for mistake in &shell.config.mistakes {
                shell.output.finding(mistake);
            }
            for unmet in &found.unmet {
                shell.output.finding(&unmet.clone().as_warning("W0402"));
            }
            found.page(&place, &scene)
        }
        None => place.denied(&scene),
    };
    shell.output.data(&text)?;
    shell.output.name_commands();
    Ok(Vec::new())
}

/// Where the manifests and the state are.
#[derive(Debug)]
struct Place {
    /// The manifests, for people.
    manifests: String,
    /// The folder of manifests, for `--into`.
    config: Option<PathBuf>,
    state: PathBuf,
    /// Who may not read what there is, and the command that lets this user.
    reader: String,
    way_in: String,
    /// A folder of root's that was not read.
    unread: Option<&'static str>,
}

impl Place {
    fn of(shell: &Shell, settings: &Settings) -> Self {
        let (environment, global) = (&shell.environment, &shell.global);
        let config = environment.config_dir(global.config_dir.as_deref()).ok();
        let config = config.map(|found| found.path);
        let absent = |path: &Path| if is_gone(path) { " (missing)" } else { "" };
        let manifests = match (settings.files.len(), &config) {
            (0, Some(path)) => format!("{}{}", escape(&path.to_string_lossy()), absent(path)),
            (0, None) => "no folder".to_owned(),
            (files, _) => count(files, "named file"),
        };
        let unread = folders::unread(shell);
        let state = settings.state_dir.clone();
        let (reader, way_in) = match &shell.acts_as {
            // Root needs no other user to type it.
            Some(owner) => {
                let line = config.as_deref().filter(|path| !can_be_listed(path));
                let line =
                    line.and_then(rights::reading).map(|permit| Hint::from(&permit).to_string());
                let doctor = || "certctl doctor".to_owned();
                (format!("{owner}, the owner of the state,"), line.unwrap_or_else(doctor))
            }
            None => ("This user".to_owned(), folders::as_root(shell, "")),
        };
        Self { manifests, config, state, reader, way_in, unread }
    }

    /// The page of a user who may not read the state, or the manifests.
    fn denied(&self, scene: &Scene) -> String {
        let text =
            format!("{} has no permission to read certctl's manifests or state:", self.reader);
        let rows =
            [Line::new("manifests", self.manifests.clone()), Line::new("state", self.state())];
        let command = format!("  {}\n", self.way_in);
        wrap(&text, "", scene.columns())
            + &lines(&rows, scene.columns())
            + "\n"
            + &heading("Next:", scene)
            + &command
    }

    /// The state, for people.
    fn state(&self) -> String {
        let absent = if is_gone(&self.state) { " (missing)" } else { "" };
        format!("{}{absent}", escape(&self.state.to_string_lossy()))
    }
}

/// A word, what is known of it, and a command.
struct Line {
    word: &'static str,
    text: String,
    command: Option<String>,
}

impl Line {
    fn new(word: &'static str, text: String) -> Self {
        Self { word, text, command: None }
    }

    fn and(self, command: String) -> Self {
        Self { command: Some(command), ..self }
    }
}

/// What there is.
#[derive(Debug, Default)]
struct Found {
    ready: usize,
    due: usize,
    /// Waiting for validation, for a limit, or for what failed to be tried again.
    waiting: usize,
    failing: usize,
    /// Nothing renews them, and nothing fails.
    orphaned: usize,
    /// How many are not as they should be.
    troubled: usize,
    /// The worst first.
    faults: Vec<Fault>,
    /// That no automatic run came for a day.
    missed_run: Option<String>,
    /// When a run last wrote something.
    last: Option<Timestamp>,
    /// The event that comes first: its time, now where the next run does it, and what it is.
    next: Option<(Timestamp, String)>,
    /// The first Issuer of the manifests.
    issuer: Option<String>,
    /// What the manifests name and this host lacks.
    unmet: Vec<Diagnostic>,
}

/// A certificate that is not as it should be.
#[derive(Debug)]
struct Fault {
    state: State,
    /// As a command accepts it; empty for a document that has none.
    name: String,
    sentence: String,
    remedy: Option<(Fix, &'static str)>,
}

impl Found {
    /// Reads manifests and state; `None` where this user may not.
    async fn read(
        shell: &Shell,
        settings: Settings,
        scene: &Scene,
    ) -> Result<Option<Self>, CliError> {
        let config = settings.config_dir.as_deref().filter(|_| settings.files.is_empty());
        let listed = config.map(fs::read_dir);
        if let Some(Err(error)) = listed
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
        let mut found = Self {
            missed_run: missed.filter(|_| is_awaited),
            last: workspace.last_write(),
            issuer: targets.loaded.issuers.first().map(|issuer| issuer.metadata.name.clone()),
            ..Self::default()
        };
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
            self.add(&view, scene);
            Ok::<_, StoreError>(())
        };
        Box::pin(workspace.each_view(targets, None, Depth::Line, scene.now, show)).await
    }

    fn add(&mut self, view: &CertificateView, scene: &Scene) {
        let (state, when) = (view.outlook.state, view.outlook.when);
        let counted = match state {
            State::Ready if when == When::NextRun => &mut self.due,
            State::Ready | State::Renewing => &mut self.ready,
            State::Pending | State::Issuing => &mut self.due,
            State::Waiting | State::Deferred => &mut self.waiting,
            State::NoManifest => &mut self.orphaned,
            State::Expired
            | State::Damaged
            | State::Revoked
            | State::FilesDamaged
            | State::LinksMissing
            | State::Overdue
            | State::Failed
            | State::PendingDeploy
            | State::Invalid => &mut self.failing,
        };
        *counted += 1;
        let next =
            |at, when: &str| (at, format!("{} of {}, {when}", next::noun(view), short(&view.key)));
        let next = match when {
            When::At(at) | When::Waits(Some(at)) => Some(next(at, &dated(at, scene))),
            When::NextRun | When::Waits(None) => Some(next(scene.now, "by the next run")),
            When::Blocked | When::UnderWay | When::Never => None,
        };
        if let Some(next) = next
            && self.next.as_ref().is_none_or(|(at, _)| next.0 < *at)
        {
            self.next = Some(next);
        }
        if state < State::Pending {
            self.troubled += 1;
            let at = self.faults.partition_point(|known| known.state <= state);
            if at < MOST_SHOWN {
                let name = if view.has_name() { short(&view.key) } else { String::new() };
                let remedy = fix::of_certificate(view).into_iter().next();
                let sentence = state.sentence(view, scene);
                self.faults.insert(at, Fault { state, name, sentence, remedy });
                self.faults.truncate(MOST_SHOWN);
            }
        }
    }

    fn page(&self, place: &Place, scene: &Scene) -> String {
        let width = scene.columns();
        let groups = [
            (self.ready, "ready"),
            (self.due, "due"),
            (self.waiting, "waiting"),
            (self.failing, "failing"),
            (self.orphaned, "without a manifest"),
        ];
        let total = groups.iter().map(|(number, _)| number).sum();
        if total == 0 {
            return self.nothing(place, scene);
        }
        let groups = groups.into_iter().filter(|(number, _)| *number > 0);
        let groups: Vec<String> = groups.map(|(number, word)| format!("{number} {word}")).collect();
        let (total, groups) = (count(total, "certificate"), groups.join(", "));
        let mut text = wrap(&format!("{total}: {groups}"), "", width);
        let last = self.last.map_or_else(|| "never".to_owned(), |at| dated(at, scene));
        let mut rows =
            vec![Line::new("manifests", place.manifests.clone()), Line::new("last change", last)];
        rows.extend(self.next.as_ref().map(|(_, next)| Line::new("next", next.clone())));
        let missed = self.missed_run.clone();
        rows.extend(missed.map(|fact| Line::new("scheduler", fact).and(last_run::LOOK.to_owned())));
        text += &lines(&rows, width);
        text += &self.wrong(scene, width);
        text + "\n" + &heading("Next:", scene) + &steps(&self.next_steps(), width)
    }

    /// The worst, each in its own words.
    fn wrong(&self, scene: &Scene, width: usize) -> String {
        if self.faults.is_empty() {
            return String::new();
        }
        let mut text = String::from("\n") + &heading("Problems:", scene);
        for Fault { state, name, sentence, remedy } in &self.faults {
            let name = if name.is_empty() { "a manifest" } else { name };
            let word = state.paint().on(state.word(), scene.color);
            text.push_str(&["  ", &escape(name), ": ", &word, "\n"].concat());
            text += &wrap(sentence, "    ", width);
            if let Some((fix, _)) = remedy {
                text.push_str(&["    try: ", &fix::worded(fix), "\n"].concat());
            }
        }
        let omitted = self.troubled.saturating_sub(self.faults.len());
        if omitted > 0 {
            text.push_str(&["  and ", &omitted.to_string(), " more: certctl status\n"].concat());
        }
        text
    }

    /// Three commands, and what each is for.
    fn next_steps(&self) -> Vec<(String, &'static str)> {
        let of = |line: &str, what| (format!("certctl {line}"), what);
        let mut steps = Vec::new();
        if let Some(worst) = self.faults.first() {
            if worst.state != State::Invalid && !worst.name.is_empty() {
                steps.push(of(&format!("status {}", worst.name), "show its details"));
            }
            let helps = worst.remedy.clone();
            steps.extend(helps.map(|(fix, what)| (fix::worded(&fix), what)));
        } else if self.due == 0 {
            let look = self.missed_run.as_ref();
            steps.extend(look.map(|_| (last_run::LOOK.to_owned(), "why no run came")));
            steps.push(of("status", "one line for each certificate"));
        }
        steps.push(of("plan", "what the next run would do"));
        if self.faults.is_empty() && self.due == 0 {
            steps.push(of("create", "add a certificate"));
        } else {
            steps.push(of("issue", "issue and renew what is due"));
            steps.push(of("status", "one line for each certificate"));
        }
        steps.truncate(STEPS);
        steps
    }

    /// The page of a folder without a Certificate: from nothing to one.
    fn nothing(&self, place: &Place, scene: &Scene) -> String {
        let width = scene.columns();
        let rows =
            [Line::new("manifests", place.manifests.clone()), Line::new("state", place.state())];
        if let Some(path) = place.unread {
            return of_this_user(path, &rows, width);
        }
        let mut text = String::from("No certificate yet.\n") + &lines(&rows, width);
        let into = place.config.as_deref().map_or_else(|| "FOLDER".to_owned(), quoted);
        let issuer =
            format!("certctl create issuer {STAGING} --email you@example.com --into {into}");
        let of = match self.issuer.as_deref() {
            None => format!(" --issuer {STAGING}"),
            Some("letsencrypt") => String::new(),
            Some(issuer) => format!(" --issuer {issuer}"),
        };
        let certificate = format!("certctl create certificate www.example.com{of} --into {into}");
        let issue = "certctl issue".to_owned();
        let lines = match self.issuer {
            None => [issuer, certificate, issue],
            Some(_) => [certificate, "certctl plan".to_owned(), issue],
        };
        text += "\n";
        text +=
            &wrap("To get a certificate, this asks on a terminal for what it needs:", "", width);
        text += "  certctl create\n\n";
        let about = "Or, with your e-mail address and DNS name:";
        text += &wrap(about, "", width);
        for line in lines {
            text.push_str(&["  ", &line, "\n"].concat());
        }
        if self.issuer.is_none() {
            text += "\n";
            let about = format!(
                "Browsers do not trust the certificates of this staging CA, whose limits are high. \
                 When it works, change server in the Issuer to {}, and issue again.",
                lets_encrypt::PRODUCTION
            );
            text += &wrap(&about, "", width);
        }
        text + "\n`certctl --help` lists the verbs.\n"
    }
}

/// The page of a user without a Certificate, on a host whose scheduled runs read another folder.
fn of_this_user(unread: &str, rows: &[Line], width: usize) -> String {
    let about = format!(
        "The scheduled runs of this host use {unread}, which the commands of this user do not read:"
    );
    let own = "Without root, for certificates of this user alone: `certctl create`";
    ["No certificate of this user.\n", &lines(rows, width), "\n", &wrap(&about, "", width)].concat()
        + &["  ", &folders::sudo(""), "\n\n", &wrap(own, "", width)].concat()
}

/// Whether the state is there, and not for this user.
fn is_denied(error: &StoreError) -> bool {
    error.is_denied() || matches!(error, StoreError::ForeignOwner { .. })
}

/// Commands, and behind or below each what it is for, as a comment: a shell passes over it.
fn steps(steps: &[(String, &str)], width: usize) -> String {
    let longest = steps.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    let fits = steps.iter().all(|(_, what)| longest + what.len() + GAPS <= width);
    let mut text = String::new();
    for (command, what) in steps {
        if fits {
            let gap = " ".repeat(longest.saturating_sub(command.chars().count()));
            text.push_str(&["  ", command, &gap, "   # ", what, "\n"].concat());
        } else {
            text.push_str(&["  ", command, "\n", &wrap(what, "    # ", width)].concat());
        }
    }
    text
}

/// A line for each word and what is behind it; a command is never broken.
fn lines(rows: &[Line], width: usize) -> String {
    let indent = if width < LEAST { NARROW } else { BEHIND };
    let mut all = String::new();
    for Line { word, text, command } in rows {
        let mut line = behind(&format!("  {word:11}   "), text, indent, width);
        if let Some(command) = command {
            let is_wide = line.contains('\n') || line.width() + 2 + command.width() > width;
            let gap = if is_wide { format!(":\n{}", " ".repeat(indent)) } else { ": ".to_owned() };
            line += &[&gap, command.as_str()].concat();
        }
        all += &[&line, "\n"].concat();
    }
    all
}

fn heading(text: &str, scene: &Scene) -> String {
    Paint::Bold.on(text, scene.color) + "\n"
}

fn dated(at: Timestamp, scene: &Scene) -> String {
    time::dated(at, scene.now, Some(&scene.zone))
}

/// How much of what is wrong is on the page.
const MOST_SHOWN: usize = 3;
/// The Issuer to begin with, as README does.
const STAGING: &str = "letsencrypt-staging";
/// What stands before and between the columns of the commands.
const GAPS: usize = 7;
/// How many commands are.
const STEPS: usize = 3;
/// Where what is behind a word begins, and what continues it in few columns.
const BEHIND: usize = 16;
const NARROW: usize = 4;
const LEAST: usize = 60;

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::cli::terminal::Width;
    use crate::resource::NamespacedName;
    use crate::workspace::view::{Damage, DamageCourse};

    fn scene() -> Scene {
        let now = "2026-11-21T03:12:09Z".parse().unwrap();
        let width = Some(Width { columns: 80, utf8: true });
        Scene { now, zone: TimeZone::UTC, color: false, format: Format::Text, width }
    }

    fn place() -> Place {
        Place {
            manifests: "/etc/certctl".to_owned(),
            config: Some("/etc/certctl".into()),
            state: "/nowhere/state".into(),
            reader: "This user".to_owned(),
            way_in: "sudo certctl".to_owned(),
            unread: None,
        }
    }

    fn view(name: &str) -> CertificateView {
        CertificateView::unknown(NamespacedName::new("default", name)).judged(scene().now)
    }

    #[test]
    fn the_page_is_short_for_thousands_and_names_the_worst_in_the_same_order() {
        let (mut found, scene) = (Found::default(), scene());
        for number in 0..2_000 {
            found.add(&view(&format!("web-{number:04}")), &scene);
        }
        let message = "status.json: cannot be read".to_owned();
        let damage = Some(Damage { message, course: DamageCourse::SetAside, entry: None });
        found.add(&CertificateView { damage, ..view("zulu") }.judged(scene.now), &scene);
        assert_eq!((found.failing, found.orphaned, found.faults.len()), (1, 2_000, MOST_SHOWN));
        let page = found.page(&place(), &scene);
        assert!(
            page.starts_with("2001 certificates: 1 failing, 2000 without a manifest\n"),
            "{page}"
        );
        assert!(page.lines().count() < 24, "{page}");
        let worst = ["zulu: STATE DAMAGED", "web-0000: NO MANIFEST", "web-0001: NO MANIFEST"];
        let at: Vec<_> = worst.iter().filter_map(|line| page.find(line)).collect();
        assert!(at.len() == 3 && at.is_sorted(), "{page}");
        assert!(page.contains("and 1998 more: certctl status"), "{page}");
    }

    #[test]
    fn what_has_no_manifest_is_not_the_next_to_be_renewed() {
        let (mut found, scene) = (Found::default(), scene());
        let renewal_time = Some("2027-01-19T03:00:00Z".parse().unwrap());
        found.add(&CertificateView { renewal_time, ..view("web") }.judged(scene.now), &scene);
        assert_eq!(found.next, None);
        let steps = found.next_steps();
        assert_eq!(steps[1], ("certctl forget web".to_owned(), "stop managing it"));
    }

    #[test]
    fn a_user_whose_commands_read_other_folders_is_led_to_root() {
        let (found, scene) = (Found::default(), scene());
        let of_host = Place { unread: Some("/etc/certctl"), ..place() };
        let page = found.page(&of_host, &scene);
        assert!(page.starts_with("No certificate of this user.\n"), "{page}");
        let led = format!("  {}\n", folders::sudo(""));
        assert!(page.contains(&led) && !page.contains("--into"), "{page}");
        assert!(page.contains("runs of this host use /etc/certctl, which"), "{page}");
    }

    #[test]
    fn a_run_that_did_not_come_is_the_first_to_be_looked_at() {
        let of = |missed_run: Option<&str>| {
            let missed_run = missed_run.map(str::to_owned);
            let found = Found { ready: 1, missed_run, ..Found::default() };
            (found.next_steps().remove(0).0, found.page(&place(), &scene()))
        };
        let (first, page) = of(Some("no automatic run yet"));
        assert_eq!(first, "certctl doctor");
        assert!(page.contains("scheduler     no automatic run yet: certctl doctor\n"), "{page}");
        let (first, page) = of(None);
        assert_eq!(first, "certctl status");
        assert!(!page.contains("scheduler"), "{page}");
    }

    #[test]
    fn a_page_fits_its_terminal_but_for_commands() {
        let scene = Scene { width: Some(Width { columns: 40, utf8: true }), ..scene() };
        let mut found = Found { ready: 1, last: Some(scene.now), ..Found::default() };
        found.add(&view("a-long-name"), &scene);
        let page = found.page(&place(), &scene);
        assert!(
            page.lines().all(|line| line.chars().count() <= 40 || line.contains("certctl ")),
            "{page}"
        );
    }
}
