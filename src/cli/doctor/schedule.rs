//! Whether runs take place: what starts them, when the last one was, and what is overdue.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::finding::Finding;
use crate::cli::count::{count, names};
use crate::cli::environment::{Directory, SYSTEM_STATE, Source};
use crate::cli::metrics_file;
use crate::cli::report::short;
use crate::cli::shell::Shell;
use crate::cli::status::Scene;
use crate::cli::time;
use crate::cli::timer::{
    CronDaemon, Crontabs, KnownRun, Looping, TIMER, Timer, enable_timer, line_of_cron,
    line_of_user, masked_unit, systemctl_of, systemd_runs,
};
use crate::engine::{has_alert_hook, install_example};
use crate::resource::{Fix, Obstacle};
use crate::store::{OpenMode, StateDirectory};
use crate::trust::{quoted, sudo};
use crate::workspace::Workspace;
use crate::workspace::outlook::{State, When};
use crate::workspace::view::CertificateView;

/// What starts the runs: the timer, or else a line of a crontab or a `certctl run` with these folders.
pub(in crate::cli) fn scheduler(shell: &Shell) -> Finding {
    let Shell { environment, global, .. } = shell;
    let config = environment.config_dir(global.config_dir.as_deref());
    let state = environment.state_dir(global.state_dir.as_deref());
    let (Ok(config), Ok(state)) = (config, state) else { return not_checked() };
    let is_of_user = config.source == Source::User;
    let owner = std::fs::metadata(&state.path).ok().map(|found| found.uid());
    let folders = Folders { config: &config, state: &state, owner };
    // To find one, every process of the host is looked at.
    let opened = StateDirectory::open(&state.path, OpenMode::ReadOnly);
    let loops = if opened.is_ok_and(|state| !state.may_have_service()) {
        Vec::new()
    } else {
        Looping::of_host()
    };
    if let Some(found) = loops.iter().find(|one| folders.missed_by(&one.run).is_none()) {
        return by_loop(found);
    }
    let timer = Timer::of_config(&config);
    let is_of_units = matches!(timer, Some(Timer::Enabled(_) | Timer::Disabled(_)));
    if let Some(unit) = masked_unit(Path::new("/")).filter(|_| is_of_units && !is_of_user) {
        return masked(unit);
    }
    let as_root = shell.acts_as.is_some();
    if let Some(Timer::Enabled(path)) = &timer
        && !is_of_user
        && state.path != Path::new(SYSTEM_STATE)
    {
        return with_another_state(path, &state.path);
    }
    let now = match &timer {
        Some(found) if found.is_stopped(is_of_user, as_root) => Now::Stopped,
        Some(found) => Now::Runs {
            next: found.next_run(is_of_user, as_root),
            last: found.last_run(is_of_user, as_root).map(|last| last.text),
        },
        None => Now::Runs { next: None, last: None },
    };
    let is_root = environment.is_root();
    if matches!(timer, Some(Timer::Enabled(_))) {
        return scheduled(timer, is_of_user, now, is_root);
    }
    let crontabs = Crontabs::of_host(as_root);
    let judged = crontabs.runs.iter().map(|run| (run, folders.missed_by(run)));
    let judged: Vec<(&KnownRun, Option<String>)> = judged.collect();
    if let Some((run, _)) = judged.iter().find(|(_, missed)| missed.is_none()) {
        return by_cron(run, CronDaemon::of_host());
    }
    let elsewhere = judged.into_iter().find_map(|(run, missed)| Some((run, missed?)));
    match (&timer, elsewhere) {
        (Some(Timer::Absent | Timer::Idle(_)), Some((run, missed))) => {
            not_these(run, &missed, is_of_user, is_root)
        }
        (Some(Timer::Absent), None) => {
            absent(line_of(is_of_user, systemd_runs()), is_root, crontabs.has_unread)
        }
        (None, _) if matches!(config.source, Source::Flag(_)) => of_other_folders(is_root),
        (Some(Timer::Idle(_)), None) | (Some(Timer::Enabled(_) | Timer::Disabled(_)) | None, _) => {
            scheduled(timer, is_of_user, now, is_root)
        }
    }
}

/// What reports a failure of the runs; that nothing does, as far as is known, where the timer starts them:
/// cron sends mail by itself.
pub(super) fn reports(shell: &Shell) -> Option<Finding> {
    let global = &shell.global;
    let config = shell.environment.config_dir(global.config_dir.as_deref()).ok()?;
    let hook = alert_hook_of(&config.path);
    let metrics_file = global.metrics_file.as_deref().and_then(metrics_file::obstacle);
    let unwritable = metrics_file.map(|found| Finding::warning(FAILURES, found));
    if let Some(lacking) = lacks_mail(&hook).or(unwritable) {
        return Some(lacking);
    }
    let ways = ways(shell, &hook);
    if !ways.is_empty() {
        let ways = ways.join(", ");
        let fact = format!("reported by {ways}; certctl check alerts tries it");
        return Some(Finding::well(FAILURES, fact));
    }
    let is_by_timer = matches!(Timer::of_config(&config), Some(Timer::Enabled(_)));
    is_by_timer.then(|| {
        let fix = Some(way_to_report(&config.path));
        Finding::warning(FAILURES, Obstacle { fix, ..Obstacle::new(NOT_REPORTED) })
    })
}

/// The command that has root get mail of failures, where nothing reports them and mail can be sent.
pub(in crate::cli) fn mail_to_root(shell: &Shell) -> Option<String> {
    let config = shell.environment.config_dir(shell.global.config_dir.as_deref()).ok()?;
    mail_hook(&config.path).filter(|_| ways(shell, &alert_hook_of(&config.path)).is_empty())
}

/// What reports a failure, of all that can; `hook` is the program of `on-failure`.
fn ways(shell: &Shell, hook: &Path) -> Vec<&'static str> {
    let global = &shell.global;
    let ways = [
        (hook.exists(), "hooks.d/on-failure"),
        (global.ping.is_some(), "ping"),
        (global.metrics_file.is_some(), "metrics-file"),
    ];
    ways.into_iter().filter(|(is_set, _)| *is_set).map(|(_, way)| way).collect()
}

/// The command that installs the example of `on-failure`, where mail can be sent.
pub(in crate::cli) fn mail_hook(config: &Path) -> Option<String> {
    install_example(&alert_hook_of(config)).filter(|_| has_sendmail())
}

/// The command that has failures reported, where nothing does.
pub(in crate::cli) fn way_to_report(config: &Path) -> Fix {
    match mail_hook(config) {
        Some(line) => Fix::Command(format!("{line}   # mail to root, by sendmail")),
        None => Fix::Certctl("certctl help failures   # without mail: ping, or a hook".to_owned()),
    }
}

pub(in crate::cli) fn alert_hook_of(config: &Path) -> PathBuf {
    config.join("hooks.d/on-failure")
}

/// The failures that `on-failure` has not reported, although a run left them to it.
pub(super) fn unsent(workspace: &Workspace) -> Option<Finding> {
    let left = workspace.state().left_alerts().ok()?.len();
    // Without the hook, the next run drops them.
    (left > 0 && has_alert_hook(&workspace.settings().hooks())).then(|| {
        let failures = count(left, "failure");
        let found = format!("{failures}: hooks.d/on-failure has not run, or failed");
        Finding::warning("not reported", Obstacle::new(found).certctl("certctl deploy"))
    })
}

/// That the hook sends mail, where nothing can.
fn lacks_mail(hook: &Path) -> Option<Finding> {
    let program = std::fs::read_to_string(hook).ok()?;
    without_mail(&program, has_sendmail())
}

/// What lets the hook send mail, where it cannot.
pub(in crate::cli) fn way_to_send(shell: &Shell) -> Option<Fix> {
    let config = shell.environment.config_dir(shell.global.config_dir.as_deref()).ok()?;
    lacks_mail(&alert_hook_of(&config.path))?.parts().1.cloned()
}

/// Whether this host can send mail.
fn has_sendmail() -> bool {
    SENDMAIL.iter().any(|path| Path::new(path).exists())
}

/// That the program of this text sends mail where nothing can.
fn without_mail(program: &str, has_sendmail: bool) -> Option<Finding> {
    let sends_mail = program.lines().any(|line| {
        !line.trim_start().starts_with('#') && line.split([' ', '|']).any(|word| word == "sendmail")
    });
    (sends_mail && !has_sendmail).then(|| {
        let found = Obstacle::new("hooks.d/on-failure needs sendmail, which is not installed");
        Finding::warning(
            FAILURES,
            found.advice("install a mail server, or a program such as msmtp-mta"),
        )
    })
}

const FAILURES: &str = "failures";
/// That nothing reports a failure.
pub(in crate::cli) const NOT_REPORTED: &str =
    "no hook, ping or metrics file reports a renewal that fails";
/// Where Unix has it.
const SENDMAIL: &[&str] = &["/usr/sbin/sendmail", "/usr/bin/sendmail", "/usr/lib/sendmail"];

/// The folders that a run is to have.
struct Folders<'a> {
    config: &'a Directory,
    state: &'a Directory,
    /// The user who has the state, once it exists.
    owner: Option<u32>,
}

impl Folders<'_> {
    /// Why a run of cron does nothing for these.
    fn missed_by(&self, run: &KnownRun) -> Option<String> {
        let Self { config, state, owner } = self;
        if !run.reads(&config.path) {
            let (theirs, ours) = (run.config.path.display(), config.path.display());
            return Some(format!("it reads the manifests in {theirs}, not in {ours}"));
        }
        if !run.uses(state) {
            let (theirs, ours) = (run.state.path.display(), state.path.display());
            return Some(format!("it uses the state {theirs}, not {ours}"));
        }
        let is_foreign = owner.is_some_and(|owner| run.uid != 0 && run.uid != owner);
        is_foreign.then(|| format!("{} belongs to another user", state.path.display()))
    }
}

/// A process that does what a scheduler would start.
fn by_loop(Looping { pid, run }: &Looping) -> Finding {
    Finding::well("scheduler", format_args!("certctl run (pid {pid}), as {}", run.user))
}

/// A line of a crontab that has the right folders.
fn by_cron(run: &KnownRun, daemon: CronDaemon) -> Finding {
    let line = format!("{}, as {}", run.file.display(), run.user);
    match daemon.obstacle() {
        None => Finding::well("scheduler", line),
        Some(Obstacle { fact, fix }) => {
            Finding::wrong("scheduler", Obstacle { fact: format!("{line}: {fact}"), fix })
        }
    }
}

/// A line of a crontab with other folders, or without the right to these.
fn not_these(run: &KnownRun, missed: &str, is_of_user: bool, is_root: bool) -> Finding {
    let KnownRun { file, user, .. } = run;
    let fact = format!("{} runs certctl as {user}: {missed}", file.display());
    let obstacle = Obstacle::new(fact).certctl(line_of(is_of_user, systemd_runs()));
    if is_root {
        Finding::wrong("scheduler", obstacle)
    } else {
        Finding::warning("scheduler", obstacle)
    }
}

/// The timer of the system runs certctl with the state of the system.
fn with_another_state(timer: &Path, state: &Path) -> Finding {
    let fact = format!("{} uses the state {SYSTEM_STATE}, not {}", shown(timer), state.display());
    let line = format!("certctl timer print --cron --state-dir {}", quoted(state));
    Finding::wrong("scheduler", Obstacle::new(fact).command(line))
}

fn not_checked() -> Finding {
    let obstacle = Obstacle::new("not checked: the config directory is not a default one");
    Finding::unknown("scheduler", obstacle)
}

/// Nothing starts runs with the folders that were typed, as far as it is known: a unit may, under any
/// name.
fn of_other_folders(is_root: bool) -> Finding {
    let fact = "no crontab and no certctl run has these folders; systemd units of other names are not checked";
    let line = if is_root { "certctl timer print --cron".to_owned() } else { line_of_user() };
    Finding::warning("scheduler", Obstacle::new(fact).certctl(line))
}

/// The command that prints the files for a scheduler of these runs.
fn line_of(is_of_user: bool, has_systemd: bool) -> String {
    if has_systemd && !is_of_user {
        return "certctl timer print --systemd".to_owned();
    }
    if cfg!(target_os = "macos") && !is_of_user {
        return "certctl timer print --launchd".to_owned();
    }
    line_of_cron(is_of_user)
}

/// Nothing runs certctl, as far as this user can tell.
fn absent(line: String, is_root: bool, has_unread: bool) -> Finding {
    // An ordinary user may not even see that there are others.
    let is_whole = is_root && !has_unread;
    let fact = if is_whole {
        "no timer and no crontab runs certctl"
    } else {
        "no timer runs certctl, and no crontab that this user can read"
    };
    let obstacle = Obstacle::new(fact).certctl(line);
    if is_whole {
        Finding::wrong("scheduler", obstacle)
    } else {
        Finding::warning("scheduler", obstacle)
    }
}

/// What an enabled scheduler does.
enum Now {
    Stopped,
    Runs {
        /// When a timer of systemd runs next, where that is known.
        next: Option<String>,
        /// When its last run ended, and how.
        last: Option<String>,
    },
}

fn masked(unit: &str) -> Finding {
    let obstacle = Obstacle::new(format_args!("{unit} is masked: no scheduled run goes through"));
    Finding::wrong("scheduler", obstacle.command(format!("{} unmask {unit}", systemctl_of(false))))
}

fn scheduled(timer: Option<Timer>, is_of_user: bool, now: Now, is_root: bool) -> Finding {
    let systemctl = systemctl_of(is_of_user);
    match timer {
        Some(Timer::Enabled(path)) => match now {
            Now::Stopped => {
                let obstacle =
                    Obstacle::new(format_args!("{} is enabled, and stopped now", shown(&path)));
                Finding::wrong("scheduler", obstacle.command(format!("{systemctl} start {TIMER}")))
            }
            Now::Runs { next, last } => {
                let next = next.map(|next| format!("; next run {next}")).unwrap_or_default();
                let last = last.map(|last| format!("; last run {last}")).unwrap_or_default();
                Finding::well("scheduler", format_args!("{}{next}{last}", shown(&path)))
            }
        },
        Some(Timer::Disabled(path)) => {
            let obstacle = Obstacle::new(format_args!("{} is not enabled", shown(&path)));
            Finding::wrong("scheduler", obstacle.command(enable_timer(is_of_user)))
        }
        Some(Timer::Idle(path)) => idle(&path, is_of_user, CronDaemon::of_host()),
        Some(Timer::Absent) => absent(line_of(is_of_user, systemd_runs()), is_root, false),
        None => not_checked(),
    }
}

/// A unit by its name, which is what systemd is asked by; any other file by its path.
fn shown(scheduler: &Path) -> String {
    let is_unit = scheduler.extension().is_some_and(|extension| extension == "timer");
    let name = scheduler.file_name().filter(|_| is_unit).unwrap_or(scheduler.as_os_str());
    name.to_string_lossy().into_owned()
}

/// A timer without systemd: cron is the way, where there is a cron.
fn idle(timer: &Path, is_of_user: bool, cron: CronDaemon) -> Finding {
    let fact = format!("{}: systemd does not run here", shown(timer));
    Finding::wrong(
        "scheduler",
        match cron.obstacle() {
            None => Obstacle::new(fact).certctl(line_of_cron(is_of_user)),
            Some(found) => Obstacle { fact: format!("{fact}, and {}", found.fact), ..found },
        },
    )
}

/// A run of the timer that failed, while all else is well.
pub(super) fn failed_run(shell: &Shell) -> Option<Finding> {
    let config = shell.environment.config_dir(shell.global.config_dir.as_deref()).ok()?;
    let is_of_user = config.source == Source::User;
    let last = Timer::of_config(&config)?.last_run(is_of_user, shell.acts_as.is_some())?;
    last.has_failed.then(|| {
        let (sudo, user) = if is_of_user { ("", " --user") } else { (sudo(), "") };
        let start = format!("{sudo}systemctl{user} start certctl.service");
        let fact = format_args!(
            "of certctl.service: {}; its next run without an error clears this, also by hand: {start}",
            last.text
        );
        let obstacle = Obstacle::new(fact);
        let line = format!("{sudo}journalctl{user} -u 'certctl*' -n 30");
        Finding::warning("timer", obstacle.command(line))
    })
}

/// When a run last changed something.
pub(super) fn last_run(workspace: &Workspace, of: &Certificates, scene: &Scene) -> Finding {
    match workspace.last_write() {
        Some(at) => {
            let at = time::dated(at, scene.now, Some(&scene.zone));
            Finding::well("last run", format_args!("{at} (the last that changed something)"))
        }
        None if of.are_damaged() => {
            Finding::unknown("last run", Obstacle::new("the state of certificates is damaged"))
        }
        None => Finding::warning("last run", Obstacle::new("never").certctl("certctl issue")),
    }
}

/// The certificates that are not as they should be.
#[derive(Debug, Default)]
pub(super) struct Certificates {
    all: usize,
    overdue: Vec<String>,
    expired: Vec<String>,
    damaged: Vec<String>,
    /// Those of them that the next run continues.
    set_aside: Vec<String>,
    /// Those whose files or links the next run restores or replaces.
    files: Vec<String>,
    /// Those that a rollback keeps from being as their manifests say.
    gone_back: Vec<String>,
    /// What else `status` shows as not well.
    other: Vec<String>,
}

impl Certificates {
    pub(super) fn add(&mut self, view: &CertificateView) {
        if view.key.name.is_empty() {
            // A file whose certificates are unknown is an error of the manifests.
            return;
        }
        self.all = self.all.saturating_add(1);
        let wrong = match view.outlook.state {
            State::Overdue => &mut self.overdue,
            State::Expired => &mut self.expired,
            State::Damaged if view.outlook.when != When::Never => &mut self.set_aside,
            State::Damaged => &mut self.damaged,
            State::LinksMissing | State::FilesDamaged => &mut self.files,
            State::Invalid
            | State::NoManifest
            | State::Revoked
            | State::Deferred
            | State::Failed
            | State::Waiting
            | State::PendingDeploy => &mut self.other,
            State::Pending if view.went_back().is_some() => &mut self.gone_back,
            State::Issuing | State::Renewing | State::Ready | State::Pending => return,
        };
        wrong.push(short(&view.key));
    }

    /// Whether a record of the state cannot be read.
    pub(super) fn are_damaged(&self) -> bool {
        !self.damaged.is_empty() || !self.set_aside.is_empty()
    }

    /// What is to be said of them; of damage only where the state is not closed to this user.
    pub(super) fn findings(&self, is_closed: bool) -> Vec<Finding> {
        let rows = [
            (&self.set_aside, "state damaged, set aside by the next run:", "issue", true),
            (&self.damaged, "state damaged:", "status", true),
            (&self.expired, "expired:", "status", true),
            (&self.overdue, "overdue for renewal:", "status", true),
            (&self.files, "not READY, files or links damaged:", "issue", false),
            (&self.gone_back, "rolled back, not as their manifests say:", "status", false),
            (&self.other, "not READY:", "status", false),
        ];
        let rows = rows.into_iter().skip(if is_closed { 2 } else { 0 });
        let found = rows.filter(|(of, ..)| !of.is_empty());
        let found = found.map(|(of, fact, verb, is_wrong)| {
            let line = match of.first() {
                Some(first) if of.len() == 1 => format!("certctl {verb} {first}"),
                Some(_) | None => format!("certctl {verb}"),
            };
            let obstacle = Obstacle::new(format_args!("{fact} {}", names(of)));
            let obstacle = obstacle.certctl(line);
            if is_wrong {
                Finding::wrong("certificates", obstacle)
            } else {
                Finding::warning("certificates", obstacle)
            }
        });
        let found: Vec<Finding> = found.collect();
        if !found.is_empty() || self.all == 0 || (is_closed && self.are_damaged()) {
            return found;
        }
        vec![Finding::well("certificates", "none has expired, none is overdue")]
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::super::finding::Verdict;
    use super::{
        Folders, Now, absent, by_cron, idle, line_of, not_these, scheduled, with_another_state,
        without_mail,
    };
    use crate::cli::environment::{Directory, Source};
    use crate::cli::timer::{CronDaemon, KnownRun, Timer, line_of_cron, line_of_user};
    use crate::resource::Fix;
    use crate::trust::sudo_on_own;

    /// Before a command for root.
    fn sudo_of(is_of_user: bool) -> &'static str {
        if is_of_user { "" } else { sudo_on_own() }
    }

    #[test]
    fn a_program_that_sends_mail_needs_sendmail() {
        let example = include_str!("../../../examples/hooks.d/on-failure");
        let fact = |program, has| Some(without_mail(program, has)?.parts().0.to_owned());
        let needs = "hooks.d/on-failure needs sendmail, which is not installed".to_owned();
        assert_eq!(fact(example, false), Some(needs));
        assert_eq!(fact(example, true), None);
        assert_eq!(fact("#!/bin/sh\n# no sendmail here\nlogger failed\n", false), None);
        let lacking = without_mail(example, false).unwrap();
        let fix = Fix::Advice("install a mail server, or a program such as msmtp-mta".to_owned());
        assert_eq!(lacking.parts().1, Some(&fix));
    }

    #[test]
    fn a_scheduler_that_does_not_run_is_wrong_with_the_command_that_makes_it() {
        let unit = || Timer::Disabled(PathBuf::from("/certctl.timer"));
        let enable = "systemctl enable --now certctl.timer";
        let of_user = "systemctl --user enable --now certctl.timer";
        let enabled = || Some(Timer::Enabled("/certctl.timer".into()));
        let start = "systemctl start certctl.timer";
        let start_of_user = "systemctl --user start certctl.timer";
        let wrong = Verdict::Wrong;
        for (timer, is_of_user, is_stopped, is_root, verdict, line) in [
            (Some(unit()), false, false, true, wrong, Some(enable)),
            (Some(unit()), true, false, false, wrong, Some(of_user)),
            (enabled(), false, false, true, Verdict::Well, None),
            (enabled(), false, true, true, wrong, Some(start)),
            (enabled(), true, true, false, wrong, Some(start_of_user)),
            (None, false, false, true, Verdict::Unknown, None),
        ] {
            let now = if is_stopped { Now::Stopped } else { Now::Runs { next: None, last: None } };
            let found = scheduled(timer, is_of_user, now, is_root);
            let line = line.map(|line| Fix::Command([sudo_of(is_of_user), line].concat()));
            assert_eq!((found.verdict, found.remedy), (verdict, line), "{}", found.fact);
        }
        let next = Some("Tue 2026-11-24 03:12:33 UTC".to_owned());
        let last = Some("Tue 2026-11-24 02:12:34 UTC, exit code 0".to_owned());
        let found = scheduled(enabled(), false, Now::Runs { next, last }, true);
        assert_eq!(
            found.fact,
            "certctl.timer; next run Tue 2026-11-24 03:12:33 UTC; last run Tue 2026-11-24 02:12:34 \
             UTC, exit code 0"
        );
    }

    #[test]
    fn without_a_timer_and_a_crontab_the_command_that_prints_one_is_named() {
        let (print, of_this_user) = ("certctl timer print --systemd".to_owned(), line_of_user());
        let all = "no timer and no crontab runs certctl";
        let some = "no timer runs certctl, and no crontab that this user can read";
        let cron = line_of_cron(false);
        for (is_of_user, is_root, has_unread, has_systemd, verdict, fact, line) in [
            (false, true, false, true, Verdict::Wrong, all, &print),
            (false, true, false, false, Verdict::Wrong, all, &cron),
            (false, true, true, true, Verdict::Warning, some, &print),
            (true, false, true, true, Verdict::Warning, some, &of_this_user),
            (true, false, false, true, Verdict::Warning, some, &of_this_user),
        ] {
            let found = absent(line_of(is_of_user, has_systemd), is_root, has_unread);
            let remedy = Some(Fix::Certctl(line.clone()));
            assert_eq!((found.verdict, found.fact.as_str(), found.remedy), (verdict, fact, remedy));
        }
    }

    #[test]
    fn where_systemd_does_not_run_cron_is_named_or_what_it_lacks() {
        let of = |is_of_user, cron| idle(Path::new("/certctl.timer"), is_of_user, cron);
        let alone = "certctl.timer: systemd does not run here";
        for (is_of_user, line) in
            [(false, "certctl timer print --cron --dir /etc/cron.d"), (true, &line_of_user())]
        {
            let found = of(is_of_user, CronDaemon::Runs);
            assert_eq!((found.verdict, found.fact.as_str()), (Verdict::Wrong, alone));
            assert_eq!(found.remedy, Some(Fix::Certctl(line.to_owned())));
        }
        let found = of(false, CronDaemon::Absent);
        assert_eq!(found.fact, format!("{alone}, and no cron daemon is installed"));
        // A line in a crontab would not be run either.
        assert!(matches!(&found.remedy, Some(Fix::Advice(text)) if text.contains("cron")));
    }

    fn directory(path: &str, source: Source) -> Directory {
        Directory { path: path.into(), source }
    }

    fn run(config: &str, state: &str, uid: u32) -> KnownRun {
        KnownRun {
            file: PathBuf::from("/etc/cron.d/certctl"),
            user: "bob".to_owned(),
            uid,
            config: directory(config, Source::User),
            state: directory(state, Source::User),
        }
    }

    #[test]
    fn a_line_of_cron_counts_for_its_own_folders_and_with_the_right_to_the_state() {
        let config = directory("/no/config", Source::User);
        let state = directory("/no/state", Source::User);
        let of = |owner, run: &KnownRun| {
            Folders { config: &config, state: &state, owner }.missed_by(run)
        };
        let ours = || run("/no/config", "/no/state", 1000);
        assert_eq!(of(None, &ours()), None);
        assert_eq!(of(Some(1000), &ours()), None);
        assert_eq!(of(Some(1000), &KnownRun { uid: 0, ..ours() }), None);
        let foreign = of(Some(999), &ours());
        assert_eq!(foreign.as_deref(), Some("/no/state belongs to another user"));
        let other = of(None, &run("/home/bob/c", "/no/state", 1000)).unwrap();
        assert_eq!(other, "it reads the manifests in /home/bob/c, not in /no/config");
        let found = not_these(&run("/home/bob/c", "/", 1000), &other, false, true);
        assert_eq!(
            (found.verdict, found.fact),
            (Verdict::Wrong, format!("/etc/cron.d/certctl runs certctl as bob: {other}"))
        );
        assert_eq!(not_these(&ours(), &other, true, false).verdict, Verdict::Warning);
        let other = of(None, &run("/no/config", "/home/bob/s", 1000));
        assert_eq!(other.as_deref(), Some("it uses the state /home/bob/s, not /no/state"));
    }

    #[test]
    fn a_line_of_cron_needs_a_daemon() {
        let found = by_cron(&run("/c", "/s", 1000), CronDaemon::Runs);
        assert_eq!(
            (found.verdict, found.fact.as_str()),
            (Verdict::Well, "/etc/cron.d/certctl, as bob")
        );
        let found = by_cron(&run("/c", "/s", 1000), CronDaemon::Absent);
        let fact = "/etc/cron.d/certctl, as bob: no cron daemon is installed";
        assert_eq!((found.verdict, found.fact.as_str()), (Verdict::Wrong, fact));
    }

    #[test]
    fn a_timer_with_another_state_is_wrong() {
        let found = with_another_state(Path::new("/certctl.timer"), Path::new("/srv/s"));
        assert_eq!(found.fact, "certctl.timer uses the state /var/lib/certctl, not /srv/s");
        let line = Fix::Command("certctl timer print --cron --state-dir /srv/s".to_owned());
        assert_eq!((found.verdict, found.remedy), (Verdict::Wrong, Some(line)));
    }
}
