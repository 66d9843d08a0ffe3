//! `certctl` without a verb: what there is, what is wrong, and the next commands.
//!
//! Contract: read-only, and ends in 0 whatever is found. Of many certificates one view at a time is
//! in memory, and of what is wrong the worst few; the page is short for any number of them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::args::Format;
use super::count::count;
use super::environment::Source;
use super::error::CliError;
use super::exit::ExitCode;
use super::folders;
use super::hint::Hint;
use super::output::{Paint, escape};
use super::report::short;
use super::run::on_one_thread;
use super::shell::Shell;
use super::status::{Scene, Verdict};
use super::time;
use super::timer::{Scheduler, enable_timer, line_of_user, retry_of_hooks};
use super::wrap::wrap;
use crate::engine::ports::StoreError;
use crate::trust::quoted;
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
    let text = match on_one_thread(Box::pin(Found::read(settings, &scene)))? {
        Some(found) => {
            for mistake in &shell.config.mistakes {
                shell.output.finding(mistake);
            }
            found.page(&place, &scene)
        }
        None => place.denied(&scene),
    };
    shell.output.data(&text)?;
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
    /// The flags of these folders, for commands.
    flags: String,
    /// The command that shows this page to root, who acts as the owner of the state.
    as_root: String,
    /// What runs certctl; `None` where these folders are not those of a scheduled run.
    scheduler: Option<Scheduler>,
    /// Whether they are those of a user's own runs.
    is_of_user: bool,
    /// A folder of root's that was not read.
    unread: Option<&'static str>,
}

impl Place {
    fn of(shell: &Shell, settings: &Settings) -> Self {
        let (environment, global) = (&shell.environment, &shell.global);
        let config = environment.config_dir(global.config_dir.as_deref()).ok();
        let flags = folders::flags(shell);
        let scheduler = config.as_ref().and_then(Scheduler::of_config);
        let is_of_user = config.as_ref().is_some_and(|found| found.source == Source::User);
        let config = config.map(|found| found.path);
        let absent = |path: &Path| if path.exists() { "" } else { " (missing)" };
        let manifests = match (settings.files.len(), &config) {
            (0, Some(path)) => format!("{}{}", escape(&path.to_string_lossy()), absent(path)),
            (0, None) => "no folder".to_owned(),
            (files, _) => count(files, "named file"),
        };
        let unread = folders::unread(shell);
        let state = settings.state_dir.clone();
        let as_root = folders::as_root(shell, "");
        Self { manifests, config, state, flags, as_root, scheduler, is_of_user, unread }
    }

    /// The page of a user who may not read the state, or the manifests.
    fn denied(&self, scene: &Scene) -> String {
        let text = "This user has no permission to read certctl's manifests or state:";
        let rows = [("manifests", self.manifests.clone()), ("state", self.state())];
        let command = format!("  {}\n", self.as_root);
        wrap(text, "", columns(scene)) + &lines(&rows) + "\n" + &heading("Next:", scene) + &command
    }

    /// The state, for people.
    fn state(&self) -> String {
        let absent = if self.state.exists() { "" } else { " (missing)" };
        format!("{}{absent}", escape(&self.state.to_string_lossy()))
    }

    /// What is known of the scheduler.
    fn scheduler(&self) -> Option<String> {
        let path = |path: &Path| escape(&path.to_string_lossy()).into_owned();
        Some(match self.scheduler.as_ref()? {
            Scheduler::Enabled(found) => path(found),
            Scheduler::Disabled(found) => {
                format!("{} is not enabled: {}", path(found), enable_timer(self.is_of_user))
            }
            Scheduler::Absent if self.is_of_user => format!("none found: {}", line_of_user()),
            Scheduler::Absent => "none found: certctl timer print --systemd, or --cron".to_owned(),
        })
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
    /// Nothing renews them, and nothing fails.
    orphaned: usize,
    /// How many are not as they should be.
    troubled: usize,
    /// The worst first.
    faults: Vec<Fault>,
    /// When a run last wrote something.
    last: Option<Timestamp>,
    /// The event that comes first.
    next: Option<Next>,
    /// The first Issuer of the manifests.
    issuer: Option<String>,
}

/// What happens next to a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Next {
    /// Not before now.
    at: Timestamp,
    /// As a command accepts it.
    name: String,
    event: &'static str,
}

impl Next {
    /// The event of a certificate that is renewed at this time unless an attempt failed.
    fn of(
        view: &CertificateView,
        verdict: Verdict,
        renewal: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<Self> {
        let retry = view.next_attempt.filter(|at| *at > now);
        let retry = retry.or((verdict == Verdict::Failed).then_some(now));
        let (at, event) = match (retry, renewal) {
            (Some(at), _) => (at, "retry"),
            (None, Some(at)) => (at.max(now), "renewal"),
            (None, None) => return None,
        };
        Some(Self { at, name: short(&view.key), event })
    }

    fn told(&self, scene: &Scene) -> String {
        let Self { at, name, event } = self;
        let when = if *at > scene.now { told(*at, scene) } else { "due".to_owned() };
        format!("{event} of {name}, {when}")
    }
}

/// A certificate that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    /// The place of its verdict among all.
    rank: usize,
    /// As a command accepts it; empty for a document that is no Certificate.
    name: String,
    sentence: String,
    has_manifest: bool,
}

impl Found {
    /// Reads manifests and state; `None` where this user may not.
    async fn read(settings: Settings, scene: &Scene) -> Result<Option<Self>, CliError> {
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
        let mut found = Self { last: workspace.last_write(), issuer, ..Self::default() };
        let show = |view: CertificateView| {
            found.add(&view, scene);
            Ok::<_, StoreError>(())
        };
        match Box::pin(workspace.each_view(&targets, None, Depth::Line, scene.now, show)).await {
            Err(error) if is_denied(&error) => Ok(None),
            read => read.map(|()| Some(found)).map_err(CliError::from),
        }
    }

    fn add(&mut self, view: &CertificateView, scene: &Scene) {
        let verdict = Verdict::of(view, scene.now);
        // What has no manifest, or was revoked for good, is not renewed.
        let renews = view.certificate.is_some() && !view.never_renews() && !view.ends_here();
        let renewal = view.renewal_time.filter(|_| renews);
        let counted = match verdict {
            Verdict::Ready if renewal.is_some_and(|at| at <= scene.now) => &mut self.due,
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
        let name = if view.has_name() { short(&view.key) } else { String::new() };
        let next = Next::of(view, verdict, renewal, scene.now).filter(|_| renews);
        if let Some(next) = next
            && self.next.as_ref().is_none_or(|known| next.at < known.at)
        {
            self.next = Some(next);
        }
        if let Some(rank) = WORST_FIRST.iter().position(|wrong| *wrong == verdict) {
            let sentence = verdict.sentence(view, scene);
            let has_manifest = view.certificate.is_some();
            let fault = Fault { rank, name, sentence, has_manifest };
            self.troubled += 1;
            let at = self.faults.partition_point(|known| *known <= fault);
            self.faults.insert(at, fault);
            self.faults.truncate(MOST_SHOWN);
        }
    }

    fn page(&self, place: &Place, scene: &Scene) -> String {
        let width = columns(scene);
        let Self { ready, due, waiting, failing, orphaned, .. } = *self;
        let total = ready + due + waiting + failing + orphaned;
        if total == 0 {
            return self.nothing(place, scene);
        }
        let groups = [
            (ready, "ready"),
            (due, "due"),
            (waiting, "waiting"),
            (failing, "failing"),
            (orphaned, "without a manifest"),
        ];
        let groups = groups.into_iter().filter(|(number, _)| *number > 0);
        let groups: Vec<String> = groups.map(|(number, word)| format!("{number} {word}")).collect();
        let (total, groups) = (count(total, "certificate"), groups.join(", "));
        let mut text = wrap(&format!("{total}: {groups}"), "", width);
        let last = match self.last {
            Some(at) => format!("{} (the last that changed something)", told(at, scene)),
            None => "never".to_owned(),
        };
        let mut rows = vec![("manifests", place.manifests.clone()), ("last run", last)];
        rows.extend(self.next.as_ref().map(|next| ("next", next.told(scene))));
        rows.extend(place.scheduler().map(|found| ("scheduler", found)));
        text += &lines(&rows);
        text += &self.wrong(scene, width);
        text + "\n"
            + &heading("Next:", scene)
            + &steps(&self.next_steps(place, scene.has_reload_unit), width)
    }

    /// The worst, each in its own words.
    fn wrong(&self, scene: &Scene, width: usize) -> String {
        if self.faults.is_empty() {
            return String::new();
        }
        let mut text = String::from("\n") + &heading("Problems:", scene);
        for fault in &self.faults {
            let Some(verdict) = WORST_FIRST.get(fault.rank) else { continue };
            let word = verdict.paint().on(verdict.word(), scene.color);
            let name = if fault.name.is_empty() { "a manifest" } else { &fault.name };
            text.push_str(&["  ", &escape(name), ": ", &word, "\n"].concat());
            text += &wrap(&fault.sentence, "    ", width);
        }
        let more = self.troubled.saturating_sub(self.faults.len());
        if more > 0 {
            text.push_str(&["  and ", &more.to_string(), " more: certctl status\n"].concat());
        }
        text
    }

    /// Three commands, and what each is for.
    fn next_steps(&self, place: &Place, by_unit: bool) -> Vec<(Hint, &'static str)> {
        let of = |line: &str, what| (Hint::Command(format!("certctl {line}")), what);
        let mut steps = Vec::new();
        if let Some(worst) = self.faults.first() {
            let name = &worst.name;
            let verdict = WORST_FIRST.get(worst.rank).copied();
            if !name.is_empty() && verdict != Some(Verdict::Invalid) {
                steps.push(of(&format!("status {name}"), "show its details"));
            }
            steps.extend(match verdict {
                Some(Verdict::Invalid) => {
                    Some(of("validate", "each mistake, with its file and line"))
                }
                Some(Verdict::NoManifest | Verdict::Revoked) if !worst.has_manifest => {
                    Some(of(&format!("forget {name}"), "stop managing it"))
                }
                Some(Verdict::PendingDeploy) => {
                    Some((retry_of_hooks(by_unit, name), "run its outputs and hooks now"))
                }
                Some(Verdict::Revoked) => Some(of(&format!("renew {name}"), "replace it")),
                _ => None,
            });
        } else if self.due == 0 {
            let line = match (&place.scheduler, place.is_of_user) {
                (None | Some(Scheduler::Enabled(_)), _) => None,
                (Some(Scheduler::Absent), true) => Some(Hint::Command(line_of_user())),
                (Some(Scheduler::Absent), false) => Some(Hint::Command(OF_SYSTEMD.to_owned())),
                (Some(Scheduler::Disabled(_)), is_of_user) => {
                    Some(Hint::Text(enable_timer(is_of_user)))
                }
            };
            steps.extend(line.map(|line| (line, "renew automatically")));
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
        steps.into_iter().map(|(command, what)| (command.in_these(&place.flags), what)).collect()
    }

    /// The page of a folder without a Certificate: from nothing to one.
    fn nothing(&self, place: &Place, scene: &Scene) -> String {
        let width = columns(scene);
        let mut rows = vec![("manifests", place.manifests.clone()), ("state", place.state())];
        let unread = place.unread.map(|path| {
            format!("{path}, of the scheduled runs of this host: {}", folders::sudo(""))
        });
        rows.extend(unread.map(|unread| ("not read", unread)));
        let mut text = String::from("No certificate yet.\n") + &lines(&rows);
        let into = place.config.as_deref().map_or_else(|| "FOLDER".to_owned(), quoted);
        let issuer =
            format!("certctl create issuer {STAGING} --email you@example.com --into {into}");
        let of = match self.issuer.as_deref() {
            None => format!(" --issuer {STAGING}"),
            Some("letsencrypt") => String::new(),
            Some(issuer) => format!(" --issuer {issuer}"),
        };
        let certificate = format!("certctl create certificate www.example.com{of} --into {into}");
        let issue = format!("certctl issue{}", place.flags);
        let lines = match self.issuer {
            None => [issuer, certificate, issue],
            Some(_) => [certificate, format!("certctl plan{}", place.flags), issue],
        };
        text += "\n";
        let about = "To get a certificate, with your e-mail address and DNS name:";
        text += &wrap(about, "", width);
        for line in lines {
            text.push_str(&["  ", &line, "\n"].concat());
        }
        if self.issuer.is_none() {
            text += "\n";
            let about = "Browsers do not trust the certificates of this staging CA, whose limits are \
                         high. When it works, change server in the Issuer to \
                         https://acme-v02.api.letsencrypt.org/directory, and issue again.";
            text += &wrap(about, "", width);
        }
        text += "\n";
        let more = "On a terminal, `certctl create` asks for these values; `certctl --help` lists \
                    the verbs.";
        text + &wrap(more, "", width)
    }
}

/// Whether the state is there, and not for this user.
fn is_denied(error: &StoreError) -> bool {
    error.is_denied() || matches!(error, StoreError::ForeignOwner { .. })
}

/// Commands, and behind or below each what it is for.
fn steps(steps: &[(Hint, &str)], width: usize) -> String {
    let steps = steps.iter().map(|(command, what)| (command.to_string(), *what));
    let steps: Vec<(String, &str)> = steps.collect();
    let longest = steps.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    let fits = steps.iter().all(|(_, what)| longest + what.len() + GAPS <= width);
    let mut text = String::new();
    for (command, what) in &steps {
        if fits {
            let gap = " ".repeat(longest.saturating_sub(command.chars().count()));
            text.push_str(&["  ", command, &gap, "   ", what, "\n"].concat());
        } else {
            text.push_str(&["  ", command, "\n", &wrap(what, "    ", width)].concat());
        }
    }
    text
}

/// A line for each word and what is behind it.
fn lines(rows: &[(&str, String)]) -> String {
    let lines: Vec<String> =
        rows.iter().map(|(word, text)| format!("  {word:11}   {text}\n")).collect();
    lines.concat()
}

fn heading(text: &str, scene: &Scene) -> String {
    Paint::Bold.on(text, scene.color) + "\n"
}

fn told(at: Timestamp, scene: &Scene) -> String {
    time::told(at, scene.now, Some(&scene.zone))
}

fn columns(scene: &Scene) -> usize {
    scene.width.map_or(usize::MAX, |width| width.columns)
}

/// What is wrong, the worst first: what clients see, then what will be seen, then what only needs a
/// decision.
const WORST_FIRST: &[Verdict] = &[
    Verdict::Expired,
    Verdict::Revoked,
    Verdict::FilesDamaged,
    Verdict::LinksMissing,
    Verdict::Damaged,
    Verdict::Overdue,
    Verdict::Failed,
    Verdict::PendingDeploy,
    Verdict::Invalid,
    Verdict::Waiting,
    Verdict::Deferred,
    Verdict::NoManifest,
];
/// How much of what is wrong is on the page.
const MOST_SHOWN: usize = 3;
/// The Issuer to begin with, as README does.
const STAGING: &str = "letsencrypt-staging";
const OF_SYSTEMD: &str = "certctl timer print --systemd";
/// What stands before and between the columns of the commands.
const GAPS: usize = 5;
/// How many commands are.
const STEPS: usize = 3;

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::super::status::Width;
    use super::*;
    use crate::resource::NamespacedName;

    fn scene() -> Scene {
        let now = "2026-11-21T03:12:09Z".parse().unwrap();
        let width = Some(Width { columns: 80, utf8: true });
        let zone = TimeZone::UTC;
        Scene { now, zone, color: false, format: Format::Text, width, has_reload_unit: false }
    }

    fn place(scheduler: Option<Scheduler>) -> Place {
        Place {
            manifests: "/etc/certctl".to_owned(),
            config: Some("/etc/certctl".into()),
            state: "/nowhere/state".into(),
            flags: String::new(),
            as_root: "sudo certctl".to_owned(),
            scheduler,
            is_of_user: false,
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
        let damage = Some("status.json: cannot be read".to_owned());
        let key = NamespacedName::new("default", "zulu");
        found.add(&CertificateView { damage, ..CertificateView::unknown(key) }, &scene);
        assert_eq!((found.failing, found.orphaned, found.faults.len()), (1, 2_000, MOST_SHOWN));
        let page = found.page(&place(None), &scene);
        assert!(
            page.starts_with("2001 certificates: 1 failing, 2000 without a manifest\n"),
            "{page}"
        );
        assert!(page.lines().count() < 20, "{page}");
        let worst = ["zulu: STATE DAMAGED", "web-0000: NO MANIFEST", "web-0001: NO MANIFEST"];
        let at: Vec<_> = worst.iter().filter_map(|line| page.find(line)).collect();
        assert!(at.len() == 3 && at.is_sorted(), "{page}");
        assert!(page.contains("and 1998 more: certctl status"), "{page}");
    }

    #[test]
    fn what_is_revoked_and_lost_is_neither_renewed_nor_the_next_to_be_renewed() {
        let (mut found, scene) = (Found::default(), scene());
        let fault = |has_manifest| Fault {
            rank: WORST_FIRST.iter().position(|one| *one == Verdict::Revoked).unwrap(),
            name: "web".to_owned(),
            sentence: String::new(),
            has_manifest,
        };
        for (has_manifest, step) in [(true, "certctl renew web"), (false, "certctl forget web")] {
            found.faults = vec![fault(has_manifest)];
            assert_eq!(found.next_steps(&place(None), false)[1].0.to_string(), step);
        }
        let key = NamespacedName::new("default", "web");
        let renewal_time = Some("2027-01-19T03:00:00Z".parse().unwrap());
        found.add(&CertificateView { renewal_time, ..CertificateView::unknown(key) }, &scene);
        assert_eq!(found.next, None);
    }

    #[test]
    fn a_retry_comes_before_the_renewal_that_it_is_for() {
        let scene = scene();
        let (renewal, later) = ("2027-01-19T03:00:00Z", "2026-11-21T05:12:09Z");
        let [renewal, later] = [renewal, later].map(|at| Some(at.parse().unwrap()));
        let key = NamespacedName::new("default", "web");
        let view = |next_attempt| CertificateView {
            next_attempt,
            ..CertificateView::unknown(key.clone())
        };
        let told = |next_attempt, verdict, renewal| {
            Next::of(&view(next_attempt), verdict, renewal, scene.now)
                .map(|next| next.told(&scene))
                .unwrap_or_default()
        };
        let ready = told(None, Verdict::Ready, renewal);
        assert!(ready.starts_with("renewal of web, 2027-01-19 "), "{ready}");
        let failed = told(later, Verdict::Failed, renewal);
        assert!(failed.starts_with("retry of web, 2026-11-21 "), "{failed}");
        assert_eq!(told(None, Verdict::Failed, renewal), "retry of web, due");
        assert_eq!(told(None, Verdict::Ready, Some(scene.now)), "renewal of web, due");
        assert_eq!(told(None, Verdict::Pending, None), "");
    }

    #[test]
    fn a_failed_hook_is_answered_by_the_unit_where_there_is_one() {
        let fault = Fault {
            rank: WORST_FIRST.iter().position(|one| *one == Verdict::PendingDeploy).unwrap(),
            name: "web".to_owned(),
            sentence: String::new(),
            has_manifest: true,
        };
        let found = Found { faults: vec![fault], ..Found::default() };
        let place = Place { flags: " --state-dir /s".to_owned(), ..place(None) };
        for (by_unit, step) in [
            (false, "certctl deploy web --state-dir /s"),
            (true, "systemctl start certctl-reload.service"),
        ] {
            assert_eq!(found.next_steps(&place, by_unit)[1].0.to_string(), step);
        }
    }

    #[test]
    fn a_scheduler_that_is_missing_is_the_first_to_be_made() {
        let found = Found { ready: 1, ..Found::default() };
        let first =
            |scheduler| found.next_steps(&place(Some(scheduler)), false).remove(0).0.to_string();
        assert_eq!(first(Scheduler::Absent), "certctl timer print --systemd");
        let of_user = Place { is_of_user: true, ..place(Some(Scheduler::Absent)) };
        assert_eq!(found.next_steps(&of_user, false).remove(0).0.to_string(), line_of_user());
        assert_eq!(first(Scheduler::Enabled("/etc/cron.d/certctl".into())), "certctl status");
        let disabled = || Scheduler::Disabled("/t".into());
        assert_eq!(first(disabled()), "systemctl enable --now certctl.timer");
        let of_user = Place { is_of_user: true, ..place(Some(disabled())) };
        let line = "systemctl --user enable --now certctl.timer";
        assert_eq!(found.next_steps(&of_user, false).remove(0).0.to_string(), line);
        let page = found.page(&place(Some(disabled())), &scene());
        assert!(page.contains("/t is not enabled: systemctl enable --now certctl.timer"), "{page}");
    }
}
