//! `certctl` without a verb: what there is, what is wrong, and the next commands.
//!
//! Contract: read-only, and ends in 0 whatever is found. Of many certificates one view at a time is
//! in memory, and of what is wrong the worst few; the page is short for any number of them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use unicode_width::UnicodeWidthStr as _;

use super::blocked::Blocked;
use super::count::{count, names};
use super::error::CliError;
use super::exit::ExitCode;
use super::folders;
use super::global::Format;
use super::hint::Hint;
use super::last_run;
use super::output::{Paint, escape};
use super::report::short;
use super::run::on_one_thread;
use super::shell::Shell;
use super::status::{BLOCKED, Remedy, Scene, Step, Upcoming, Verdict};
use super::time;
use super::wrap::{behind, wrap};
use crate::engine::Task;
use crate::engine::ports::StoreError;
use crate::manifest::is_gone;
use crate::resource::{NamespacedName, lets_encrypt};
use crate::trust::{can_be_listed, command_for_reading, quoted};
use crate::workspace::view::CertificateView;
use crate::workspace::{Depth, Request, Settings, Workspace};

/// Prints the page.
pub(super) fn start_page(shell: &mut Shell) -> Result<ExitCode, CliError> {
    if shell.global.format() != Format::Text {
        let message = "the start page is plain text: -o needs a verb";
        return Err(CliError::new(ExitCode::Usage, message).trying("certctl status -o json"));
    }
    let settings = shell.settings()?;
    let scene = Scene::of(shell);
    let place = Place::of(shell, &settings);
    let text = match on_one_thread(Box::pin(Found::read(shell, settings, &scene)))? {
        Some(found) => {
            for mistake in &shell.config.mistakes {
                shell.output.finding(mistake);
            }
            found.page(&place, &scene)
        }
        None => place.denied(&scene),
    };
    shell.output.data(&text)?;
    shell.output.name_commands();
    Ok(ExitCode::Done)
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
                let line = line.and_then(command_for_reading);
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
    /// Under way, and waiting for validation or a limit.
    waiting: usize,
    failing: usize,
    /// Something on this host is in the way of the next step.
    blocked: usize,
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
    /// The event that comes first.
    next: Option<Next>,
    /// The first Issuer of the manifests.
    issuer: Option<String>,
    /// What on this host is in the way.
    obstacles: Vec<Blocked>,
}

/// What happens next to a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Next {
    /// Now where the next run does it.
    at: Timestamp,
    /// As a command accepts it.
    name: String,
    step: Step,
    /// Whether something on this host is in the way.
    is_blocked: bool,
}

impl Next {
    fn of(
        view: &CertificateView,
        upcoming: Upcoming,
        is_blocked: bool,
        now: Timestamp,
    ) -> Option<Self> {
        let (step, at) = match upcoming {
            Upcoming::At(step, at) => (step, at),
            Upcoming::NextRun(step) => (step, now),
            Upcoming::Never | Upcoming::UnderWay => return None,
        };
        Some(Self { at, name: short(&view.key), step, is_blocked })
    }

    /// Of two at the same time, what is blocked comes last.
    fn comes_before(&self, other: &Self) -> bool {
        (self.at, self.is_blocked) < (other.at, other.is_blocked)
    }

    fn dated(&self, scene: &Scene) -> String {
        let Self { at, name, step, is_blocked } = self;
        let when = match (*at > scene.now, is_blocked) {
            (true, _) => dated(*at, scene),
            (false, true) => "once nothing blocks it".to_owned(),
            (false, false) => "by the next run".to_owned(),
        };
        format!("{} of {name}, {when}", step.noun())
    }
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    /// The place of its kind among all.
    rank: usize,
    /// The certificate, as a command accepts it, or several; empty for a document that is none.
    name: String,
    sentence: String,
    /// What helps, with what it is for.
    remedies: Vec<Remedy>,
    /// What to do where that is no command.
    advice: Option<String>,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// With the certificate itself.
    Verdict(Verdict),
    /// On this host.
    Blocked,
}

impl Wrong {
    fn rank(self) -> Option<usize> {
        WORST_FIRST.iter().position(|wrong| *wrong == self)
    }

    fn word(self, color: bool) -> String {
        match self {
            Self::Verdict(verdict) => verdict.paint().on(verdict.word(), color),
            Self::Blocked => Paint::Bad.on(BLOCKED, color),
        }
    }
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
        let issuer = targets.loaded.issuers.first().map(|issuer| issuer.metadata.name.clone());
        let tasks: Vec<&Task> = targets.tasks.iter().collect();
        let obstacles = match Blocked::all(&workspace, &targets, &tasks).await {
            Err(error) if is_denied(&error) => return Ok(None),
            found => found?,
        };
        let run = Some(workspace.automatic_run()).filter(|_| shell.global.filename.is_empty());
        let missed_run = run.and_then(|run| last_run::missed(run, scene.now, &scene.zone));
        let last = workspace.last_write();
        let mut found = Self { missed_run, last, issuer, obstacles, ..Self::default() };
        let show = |view: CertificateView| {
            found.add(&view, scene);
            Ok::<_, StoreError>(())
        };
        match Box::pin(workspace.each_view(&targets, None, Depth::Line, scene.now, show)).await {
            Err(error) if is_denied(&error) => Ok(None),
            read => {
                read?;
                found.add_blocked();
                Ok(Some(found))
            }
        }
    }

    fn add(&mut self, view: &CertificateView, scene: &Scene) {
        let verdict = Verdict::of(view, scene.now);
        let upcoming = Upcoming::of(view, verdict, scene.now);
        let is_due = matches!(upcoming, Upcoming::NextRun(_));
        // What is ready is in use, whatever is in the way of its renewal.
        let is_idle = verdict == Verdict::Ready && !is_due;
        let is_blocked = !is_idle && self.is_blocked(&view.key, verdict);
        let counted = match verdict {
            _ if is_blocked => &mut self.blocked,
            Verdict::Ready if is_due => &mut self.due,
            Verdict::Ready | Verdict::Renewing => &mut self.ready,
            Verdict::Pending | Verdict::Issuing => &mut self.due,
            Verdict::Waiting | Verdict::Deferred => &mut self.waiting,
            Verdict::NoManifest => &mut self.orphaned,
            Verdict::Expired
            | Verdict::Damaged
            | Verdict::Revoked
            | Verdict::FilesDamaged
            | Verdict::LinksMissing
            | Verdict::Overdue
            | Verdict::Failed
            | Verdict::PendingDeploy
            | Verdict::Invalid => &mut self.failing,
        };
        *counted += 1;
        let next = Next::of(view, upcoming, is_blocked, scene.now);
        if let Some(next) = next
            && self.next.as_ref().is_none_or(|known| next.comes_before(known))
        {
            self.next = Some(next);
        }
        if let Some(rank) = Wrong::Verdict(verdict).rank().filter(|_| !is_blocked) {
            self.note(Fault {
                rank,
                name: if view.has_name() { short(&view.key) } else { String::new() },
                sentence: verdict.sentence(view, scene),
                remedies: Remedy::of(view, verdict, scene),
                advice: None,
            });
        }
    }

    /// Whether what is in the way says more of this certificate than its verdict: it is newer than what
    /// failed, if it stops the same.
    fn is_blocked(&self, certificate: &NamespacedName, verdict: Verdict) -> bool {
        let mut obstacles = self.obstacles.iter().filter(|one| one.is_of(certificate));
        MAY_BE_BLOCKED.contains(&verdict)
            && obstacles.any(|one| verdict != Verdict::PendingDeploy || one.is_of_deployment)
    }

    /// Adds what is in the way on this host.
    fn add_blocked(&mut self) {
        for blocked in std::mem::take(&mut self.obstacles) {
            let text = blocked.sentence();
            let Blocked { fix, certificates, .. } = blocked;
            let Some(rank) = Wrong::Blocked.rank() else { continue };
            let of: Vec<String> = certificates.iter().map(short).collect();
            let (name, sentence) = (names(&of), escape(&text).into_owned());
            let command = fix.as_ref().and_then(Hint::command).map(str::to_owned);
            let advice = fix.filter(|_| command.is_none()).map(|fix| fix.to_string());
            let remedies = command.map(|command| Remedy { command, what: "put that right" });
            let remedies = remedies.into_iter().collect();
            self.note(Fault { rank, name, sentence, remedies, advice });
        }
    }

    /// Keeps the worst.
    fn note(&mut self, fault: Fault) {
        self.troubled += 1;
        let at = self.faults.partition_point(|known| *known <= fault);
        self.faults.insert(at, fault);
        self.faults.truncate(MOST_SHOWN);
    }

    fn page(&self, place: &Place, scene: &Scene) -> String {
        let width = scene.columns();
        let Self { ready, due, waiting, failing, blocked, orphaned, .. } = *self;
        let total = ready + due + waiting + failing + blocked + orphaned;
        if total == 0 {
            return self.nothing(place, scene);
        }
        let groups = [
            (ready, "ready"),
            (due, "due"),
            (waiting, "waiting"),
            (failing, "failing"),
            (blocked, "blocked"),
            (orphaned, "without a manifest"),
        ];
        let groups = groups.into_iter().filter(|(number, _)| *number > 0);
        let groups: Vec<String> = groups.map(|(number, word)| format!("{number} {word}")).collect();
        let (total, groups) = (count(total, "certificate"), groups.join(", "));
        let mut text = wrap(&format!("{total}: {groups}"), "", width);
        let last = self.last.map_or_else(|| "never".to_owned(), |at| dated(at, scene));
        let mut rows =
            vec![Line::new("manifests", place.manifests.clone()), Line::new("last change", last)];
        rows.extend(self.next.as_ref().map(|next| Line::new("next", next.dated(scene))));
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
        for Fault { rank, name, sentence, remedies, advice } in &self.faults {
            let Some(wrong) = WORST_FIRST.get(*rank) else { continue };
            let name = if name.is_empty() { "a manifest" } else { name };
            text.push_str(&["  ", &escape(name), ": ", &wrong.word(scene.color), "\n"].concat());
            text += &wrap(sentence, "    ", width);
            if let Some(advice) = advice {
                text += &wrap(&format!("try: {advice}"), "    ", width);
            }
            // The first one comes first below, as well.
            for Remedy { command, .. } in remedies.iter().take(1) {
                text.push_str(&["    try: ", command, "\n"].concat());
            }
        }
        let omitted = self.troubled.saturating_sub(self.faults.len());
        if omitted > 0 {
            text.push_str(&format!("  and {omitted} more: certctl status\n"));
        }
        text
    }

    /// Three commands, and what each is for.
    fn next_steps(&self) -> Vec<(String, &'static str)> {
        let of = |line: &str, what| (format!("certctl {line}"), what);
        let mut steps = Vec::new();
        if let Some(worst) = self.faults.first() {
            let helps = worst.remedies.iter().take(1);
            steps.extend(helps.map(|remedy| (remedy.command.clone(), remedy.what)));
            let is_of_one = match WORST_FIRST.get(worst.rank) {
                Some(Wrong::Verdict(verdict)) => *verdict != Verdict::Invalid,
                Some(Wrong::Blocked) | None => false,
            };
            if is_of_one && !worst.name.is_empty() {
                steps.insert(0, of(&format!("status {}", worst.name), "show its details"));
            }
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

/// What is wrong, the worst first: what clients see, then what will be seen, then what only needs a
/// decision.
const WORST_FIRST: &[Wrong] = &[
    Wrong::Verdict(Verdict::Expired),
    Wrong::Verdict(Verdict::Revoked),
    Wrong::Verdict(Verdict::FilesDamaged),
    Wrong::Verdict(Verdict::LinksMissing),
    Wrong::Verdict(Verdict::Damaged),
    Wrong::Verdict(Verdict::Overdue),
    Wrong::Blocked,
    Wrong::Verdict(Verdict::Failed),
    Wrong::Verdict(Verdict::PendingDeploy),
    Wrong::Verdict(Verdict::Invalid),
    Wrong::Verdict(Verdict::Waiting),
    Wrong::Verdict(Verdict::Deferred),
    Wrong::Verdict(Verdict::NoManifest),
];
/// The verdicts of which an obstacle on this host says more.
const MAY_BE_BLOCKED: &[Verdict] = &[
    Verdict::Ready,
    Verdict::Pending,
    Verdict::Failed,
    Verdict::Waiting,
    Verdict::Deferred,
    Verdict::PendingDeploy,
];
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

    use super::super::status::Width;
    use super::*;
    use crate::workspace::view::{Damage, DamageCourse};

    fn scene() -> Scene {
        let now = "2026-11-21T03:12:09Z".parse().unwrap();
        let width = Some(Width { columns: 80, utf8: true });
        let zone = TimeZone::UTC;
        Scene { now, zone, color: false, format: Format::Text, width }
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

    #[test]
    fn the_page_is_short_for_thousands_and_names_the_worst_in_the_same_order() {
        let (mut found, scene) = (Found::default(), scene());
        for number in (0..2_000).rev() {
            let key = NamespacedName::new("default", format!("web-{number:04}"));
            found.add(&CertificateView::unknown(key), &scene);
        }
        let message = "status.json: cannot be read".to_owned();
        let damage = Some(Damage { message, course: DamageCourse::SetAside, entry: None });
        let key = NamespacedName::new("default", "zulu");
        found.add(&CertificateView { damage, ..CertificateView::unknown(key) }, &scene);
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

    fn view(name: &str) -> CertificateView {
        CertificateView::unknown(NamespacedName::new("default", name))
    }

    fn fault(wrong: Wrong, remedies: &[(&str, &'static str)]) -> Fault {
        let remedies = remedies.iter();
        let remedies =
            remedies.map(|(command, what)| Remedy { command: (*command).to_owned(), what });
        Fault {
            rank: wrong.rank().unwrap(),
            name: "web".to_owned(),
            sentence: "it is so".to_owned(),
            remedies: remedies.collect(),
            advice: None,
        }
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
    fn what_has_no_manifest_is_not_the_next_to_be_renewed() {
        let (mut found, scene) = (Found::default(), scene());
        let renewal_time = Some("2027-01-19T03:00:00Z".parse().unwrap());
        found.add(&CertificateView { renewal_time, ..view("web") }, &scene);
        assert_eq!(found.next, None);
        let steps = found.next_steps();
        assert_eq!(steps[1], ("certctl forget web".to_owned(), "stop managing it"));
    }

    #[test]
    fn what_comes_next_is_told_with_its_time_or_that_the_next_run_does_it() {
        let scene = scene();
        let at = "2026-11-21T05:12:09Z".parse().unwrap();
        let dated = |upcoming| {
            let next = Next::of(&view("web"), upcoming, false, scene.now);
            next.map(|next| next.dated(&scene)).unwrap_or_default()
        };
        let renewal = Step::Renewal { due: None };
        let later = "2026-11-21 05:12 UTC, in 2h";
        assert_eq!(dated(Upcoming::At(renewal, at)), format!("renewal of web, {later}"));
        assert_eq!(dated(Upcoming::At(Step::Retry, at)), format!("retry of web, {later}"));
        assert_eq!(dated(Upcoming::NextRun(Step::Retry)), "retry of web, by the next run");
        assert_eq!(dated(Upcoming::NextRun(Step::Issuance)), "issuance of web, by the next run");
        let blocked = Next::of(&view("web"), Upcoming::NextRun(Step::Issuance), true, scene.now);
        let line = blocked.map(|next| next.dated(&scene));
        assert_eq!(line.as_deref(), Some("issuance of web, once nothing blocks it"));
        assert_eq!((dated(Upcoming::Never), dated(Upcoming::UnderWay)), Default::default());
    }

    #[test]
    fn the_details_of_the_worst_come_first_and_then_what_helps_it() {
        let steps = |wrong, command| {
            let faults = vec![fault(wrong, &[(command, "do it")])];
            let found = Found { faults, ..Found::default() };
            found.next_steps().into_iter().map(|(line, _)| line).collect()
        };
        let of_one: Vec<String> = steps(Wrong::Verdict(Verdict::Failed), "certctl renew web");
        assert_eq!(of_one, ["certctl status web", "certctl renew web", "certctl plan"]);
        let of_host: Vec<String> = steps(Wrong::Blocked, "mkdir -p /srv");
        assert_eq!(of_host, ["mkdir -p /srv", "certctl plan", "certctl issue"]);
    }

    #[test]
    fn what_is_in_the_way_on_this_host_is_one_fault_of_all_that_it_stops() {
        let (mut found, scene) = (Found::default(), scene());
        let names = ["api", "mail", "shop", "web"];
        let certificates = names.map(|name| NamespacedName::new("default", name)).into();
        let fix = Some(Hint::Shell("mkdir -p /srv/www".to_owned()));
        let fact = "cannot open /srv/www".to_owned();
        let of_config = Some("web.yaml:6".to_owned());
        let is_of_deployment = false;
        found.obstacles =
            vec![Blocked { fact, place: of_config, fix, certificates, is_of_deployment }];
        found.add_blocked();
        let page = Found { blocked: 4, ..found }.page(&place(), &scene);
        assert!(page.starts_with("4 certificates: 4 blocked\n"), "{page}");
        let expected = "Problems:\n  api, mail, shop and 1 more: BLOCKED\n    cannot open \
                        /srv/www (web.yaml:6)\n    try: mkdir -p /srv/www\n\nNext:\n  mkdir -p /srv/www   # put \
                        that right\n";
        assert!(page.contains(expected), "{page}");
    }

    #[test]
    fn a_failed_deployment_is_seen_beside_what_is_in_the_way_of_the_renewal() {
        let key = NamespacedName::new("default", "web");
        let is_blocked = |is_of_deployment, verdict| {
            let (fact, certificates) = ("[::]:80 is in use".to_owned(), [key.clone()].into());
            let (place, fix) = (None, None);
            let obstacles = vec![Blocked { fact, place, fix, certificates, is_of_deployment }];
            Found { obstacles, ..Found::default() }.is_blocked(&key, verdict)
        };
        assert!(is_blocked(false, Verdict::Failed) && is_blocked(true, Verdict::PendingDeploy));
        assert!(!is_blocked(false, Verdict::PendingDeploy));
        assert!(!is_blocked(true, Verdict::Expired), "worse than that");
    }

    #[test]
    fn a_page_fits_its_terminal_but_for_commands() {
        let scene = Scene { width: Some(Width { columns: 40, utf8: true }), ..scene() };
        let wrong = Wrong::Verdict(Verdict::Failed);
        let faults = vec![fault(wrong, &[("certctl renew web", "when fixed: try again at once")])];
        let next = Some(Next {
            at: scene.now,
            name: "a-long-name".to_owned(),
            step: Step::Issuance,
            is_blocked: false,
        });
        let missed_run = Some("no automatic run since 2026-11-19 03:12 UTC, 2d ago".to_owned());
        let last = Some(scene.now);
        let found = Found { ready: 1, last, missed_run, next, faults, ..Found::default() };
        let page = found.page(&place(), &scene);
        assert!(page.lines().all(|line| line.chars().count() <= 40), "{page}");
        assert!(page.contains("\n    certctl doctor\n"), "{page}");
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
}
