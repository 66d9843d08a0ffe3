//! True if runs take place: what starts them, when the last one was, and what is overdue.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::cli::environment::SYSTEM_STATE;
use crate::cli::verbs::timer::is_of_user;
use crate::cli::verbs::{last_run, metrics_file};
use crate::cli::{Scene, Shell, count, names, short, time};
use crate::engine::has_alert_hook;
use crate::engine::ports::{Clock as _, HostRecord, Store, SystemClock};
use crate::host::scheduler::{CRON, LastRun, SERVICE, Scheduler, TIMER, Timer, systemd_runs};
use crate::resource::{Check, Finding, Fix, NamespacedName, Obstacle, Page, Schedule, Severity};
use crate::workspace::outlook::{State, When};
use crate::workspace::view::CertificateView;
use crate::workspace::{AutomaticRun, Workspace};

/// Scheduler of the runs of these folders, as far as certctl's own files and the state show it.
pub(in crate::cli) struct Starter {
    /// `None` where the folder of manifests is none of a scheduler of certctl's own.
    scheduler: Option<Scheduler>,
    is_of_user: bool,
    state: PathBuf,
    run: AutomaticRun,
    now: Timestamp,
    zone: TimeZone,
}

impl Starter {
    pub(in crate::cli) fn of(shell: &Shell, run: AutomaticRun) -> Option<Self> {
        let Shell { environment, global, .. } = shell;
        let config = environment.config_dir(global.config_dir.as_deref()).ok()?;
        let state = environment.state_dir(global.state_dir.as_deref()).ok()?.path;
        let of_user = is_of_user(&config);
        let find = |is_of_user| Scheduler::find(is_of_user, shell.acts_as.is_some());
        Some(Self {
            scheduler: of_user.map(find),
            is_of_user: of_user.unwrap_or(false),
            run,
            state,
            now: SystemClock.now(),
            zone: environment.zone(),
        })
    }

    /// Finding for the scheduler.
    pub(in crate::cli) fn finding(&self) -> Finding {
        let of_user = self.is_of_user;
        let missed = last_run::missed(self.run, self.now, &self.zone);
        match (&self.scheduler, &self.run) {
            (Some(Scheduler::Timer(units)), _) if units.masked.is_some() => {
                let unit = units.masked.unwrap_or_default();
                let found = format!("{unit} is masked, so no scheduled run starts");
                Self::wrong(&found, Schedule::Unmask { unit: unit.to_owned(), of_user })
            }
            (Some(Scheduler::Timer(units)), _) if units.is_enabled() => {
                let is_other = !self.is_of_user && self.state != Path::new(SYSTEM_STATE);
                if is_other {
                    let state = self.state.display();
                    let found = format!("{TIMER} uses the state {SYSTEM_STATE}, not {state}");
                    let state = Some(self.state.clone());
                    return Self::wrong(&found, Schedule::PrintCron { of_user, state });
                }
                if units.timer == Timer::Stopped {
                    let found = format!("{TIMER} is enabled, but stopped");
                    return Self::wrong(&found, Schedule::Start { of_user });
                }
                let next = units.next_run.as_ref().map(|next| format!("; next run {next}"));
                let last = units.last_run.as_ref().map(|last| format!("; last run {}", how(last)));
                let known = [next, last].map(Option::unwrap_or_default).concat();
                Finding::well("scheduler", format_args!("{TIMER}{known}"))
            }
            (Some(Scheduler::File(file)), _) => {
                let file = file.display();
                match missed {
                    None => Finding::well("scheduler", file),
                    Some(missed) => {
                        let found = Obstacle::new(format_args!("{file}, and {missed}"));
                        Finding::wrong("scheduler", found.with(Fix::Schedule(Schedule::LookAtCron)))
                    }
                }
            }
            // A run by hand without a terminal looks the same.
            (_, AutomaticRun::At(at)) if missed.is_none() => {
                let at = time::dated(*at, self.now, Some(&self.zone));
                let fact = format_args!("not known; last run without a terminal {at}");
                Finding::unknown("scheduler", Obstacle::new(fact))
            }
            (Some(Scheduler::Timer(_)), _) => {
                Self::wrong(&format!("{TIMER} is not enabled"), Schedule::Enable { of_user })
            }
            (Some(Scheduler::Absent), _) => self.absent(missed),
            (None, _) => match missed {
                Some(_) => self.absent(missed),
                None => not_checked(),
            },
        }
    }

    /// No scheduler is certctl's own, and no run shows that there is another one. Only a state that had
    /// the time for one lacks it.
    fn absent(&self, missed: Option<String>) -> Finding {
        let file = if self.is_of_user { String::new() } else { format!(", no {CRON}") };
        let of_user = self.is_of_user;
        let print = if systemd_runs() && !of_user {
            Schedule::PrintSystemd
        } else if cfg!(target_os = "macos") && !of_user {
            Schedule::PrintLaunchd
        } else {
            Schedule::PrintCron { of_user, state: None }
        };
        let severity = if missed.is_some() { Severity::Wrong } else { Severity::Warning };
        let run = missed.unwrap_or_else(|| "no automatic run yet".to_owned());
        let found =
            Obstacle::new(format_args!("no timer{file}, and {run}")).with(Fix::Schedule(print));
        Finding::new(severity, "scheduler", found)
    }

    fn wrong(fact: &str, fix: Schedule) -> Finding {
        Finding::wrong("scheduler", Obstacle::new(fact).with(Fix::Schedule(fix)))
    }

    /// The last run of the timer, where it failed while all else is well.
    pub(super) fn failed_run(&self) -> Option<Finding> {
        let Some(Scheduler::Timer(units)) = &self.scheduler else { return None };
        let last =
            units.last_run.as_ref().filter(|last| units.is_enabled() && last.has_failed())?;
        let fact =
            format_args!("of {SERVICE}: {}; its next run without an error clears this", how(last));
        let log = Schedule::Log { of_user: self.is_of_user };
        Some(Finding::warning("timer", Obstacle::new(fact).with(Fix::Schedule(log))))
    }

    /// Finding for the reports of failures. Without a report, it is wrong only where the timer
    /// starts the runs, since cron sends mail by itself.
    pub(super) fn reports(&self, shell: &Shell) -> Option<Finding> {
        let global = &shell.global;
        if let Some(found) = global.metrics_file.as_deref().and_then(metrics_file::obstacle) {
            return Some(Finding::warning(FAILURES, found));
        }
        let config = shell.environment.config_dir(global.config_dir.as_deref()).ok()?;
        let ways = [
            (alert_hook_of(&config.path).exists(), "hooks.d/on-failure"),
            (global.ping.is_some(), "ping"),
            (global.metrics_file.is_some(), "metrics-file"),
        ];
        let ways = ways.into_iter().filter(|(is_set, _)| *is_set).map(|(_, way)| way);
        let ways: Vec<&str> = ways.collect();
        if !ways.is_empty() {
            let ways = ways.join(", ");
            let fact = format!("reported by {ways}; to test it, run certctl check alerts");
            return Some(Finding::well(FAILURES, fact));
        }
        let Some(Scheduler::Timer(units)) = &self.scheduler else { return None };
        units
            .is_enabled()
            .then(|| Finding::warning(FAILURES, Obstacle::new(NOT_REPORTED).with(way_to_report())))
    }
}

/// Scheduler of the runs.
pub(in crate::cli) fn scheduler(shell: &Shell, run: AutomaticRun) -> Finding {
    Starter::of(shell, run).map_or_else(not_checked, |starter| starter.finding())
}

pub(super) fn not_checked() -> Finding {
    let obstacle = Obstacle::new("not checked: the config directory is not a default one");
    Finding::unknown("scheduler", obstacle)
}

/// When a run of systemd ended, and how.
fn how(last: &LastRun) -> String {
    let LastRun { at, has_exited, number, hooks_failed } = last;
    let what = if *has_exited { "exit code" } else { "signal" };
    let failed = if *hooks_failed { "; certctl-reload.service has failed" } else { "" };
    format!("{at}, {what} {number}{failed}")
}

/// The command that has failures reported, where nothing does.
pub(in crate::cli) fn way_to_report() -> Fix {
    Fix::Explain(Page::Failures)
}

pub(in crate::cli) fn alert_hook_of(config: &Path) -> PathBuf {
    config.join("hooks.d/on-failure")
}

/// The failures that `on-failure` has not reported, although a run left them to it.
pub(super) fn unsent(workspace: &Workspace) -> Option<Finding> {
    let left = workspace.state().host_record().left_alerts().ok()?.len();
    // Without the hook, the next run drops them.
    (left > 0 && has_alert_hook(&workspace.settings().hooks())).then(|| {
        let failures = count(left, "failure");
        let found = format!("{failures}: hooks.d/on-failure has not run, or failed");
        Finding::warning("not reported", Obstacle::new(found).with(Fix::Deploy(None)))
    })
}

const FAILURES: &str = "failures";
/// Finding that nothing reports a failure.
pub(in crate::cli) const NOT_REPORTED: &str =
    "failed renewals are not reported by a hook, ping or metrics file";

/// When a run came last, and changed something.
pub(super) fn last_run(workspace: &Workspace, of: &Certificates, scene: &Scene) -> Finding {
    let automatic = match workspace.automatic_run() {
        AutomaticRun::At(at) => format!("automatic {}", scene.local(at)),
        AutomaticRun::Never { .. } | AutomaticRun::Unknown => "no automatic one seen".to_owned(),
    };
    match workspace.last_write() {
        Some(at) => {
            let change = scene.local(at);
            Finding::well("last run", format_args!("{automatic}; last change {change}"))
        }
        None if of.are_damaged() => {
            Finding::unknown("last run", Obstacle::new("the state of certificates is damaged"))
        }
        None => Finding::warning("last run", Obstacle::new("never").with(Fix::Issue(None))),
    }
}

/// Fix for the only certificate with a finding, or for all.
type OfOne = fn(Option<NamespacedName>) -> Fix;

/// The certificates that are not as they should be.
#[derive(Debug, Default)]
pub(super) struct Certificates {
    all: usize,
    /// By the place of their row.
    found: BTreeMap<usize, Vec<NamespacedName>>,
}

impl Certificates {
    pub(super) fn add(&mut self, view: &CertificateView) {
        if view.key.name.is_empty() {
            // A file whose certificates are unknown is an error of the manifests.
            return;
        }
        self.all = self.all.saturating_add(1);
        let row = match view.outlook.state {
            State::Damaged if view.outlook.when != When::Never => 0,
            State::Damaged => 1,
            State::Expired => 2,
            State::Overdue => 3,
            State::LinksMissing | State::FilesDamaged => 4,
            State::Pending if view.went_back().is_some() => 5,
            State::Invalid
            | State::NoManifest
            | State::Revoked
            | State::Deferred
            | State::Failed
            | State::Waiting
            | State::PendingDeploy => 6,
            State::Issuing | State::Renewing | State::Ready | State::Pending => return,
        };
        self.found.entry(row).or_default().push(view.key.clone());
    }

    /// Returns whether a record of the state cannot be read.
    pub(super) fn are_damaged(&self) -> bool {
        self.found.keys().any(|row| *row < OF_DAMAGE)
    }

    /// Findings for them; of damage only where the state is not closed to this user.
    pub(super) fn findings(&self, is_closed: bool) -> Vec<Finding> {
        let is_shown = |(row, _): &(&usize, _)| !is_closed || **row >= OF_DAMAGE;
        let found = self.found.iter().filter(is_shown).filter_map(|(row, of)| {
            let (fact, fix, severity) = ROWS.get(*row)?;
            let only = if let [only] = of.as_slice() { Some(only.clone()) } else { None };
            let of: Vec<String> = of.iter().map(short).collect();
            let found = Obstacle::new(format_args!("{fact}: {}", names(&of))).with(fix(only));
            Some(Finding::new(*severity, "certificates", found))
        });
        let found: Vec<Finding> = found.collect();
        if !found.is_empty() || self.all == 0 || (is_closed && self.are_damaged()) {
            return found;
        }
        vec![Finding::well("certificates", "none is expired or overdue")]
    }
}

const LOOK: OfOne = |name| Fix::Check(Check::Status(name));
const ROWS: [(&str, OfOne, Severity); 7] = [
    ("state damaged, set aside by the next run", Fix::Issue, Severity::Wrong),
    ("state damaged", LOOK, Severity::Wrong),
    ("expired", LOOK, Severity::Wrong),
    ("overdue for renewal", LOOK, Severity::Wrong),
    ("not READY, files or links damaged", Fix::Issue, Severity::Warning),
    ("rolled back, different from their manifests", LOOK, Severity::Warning),
    ("not READY", LOOK, Severity::Warning),
];
/// Number of the rows of damage, which come first.
const OF_DAMAGE: usize = 2;

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::cli::words::hint::Hint;
    use crate::host::scheduler::Units;

    fn starter(scheduler: Option<Scheduler>, hours: Option<i64>) -> Starter {
        let now: Timestamp = "2026-11-21T03:12:09Z".parse().unwrap();
        let run = hours.map(|hours| AutomaticRun::At(now - SignedDuration::from_hours(hours)));
        Starter {
            scheduler,
            is_of_user: false,
            state: SYSTEM_STATE.into(),
            run: run.unwrap_or(AutomaticRun::Never { since: now }),
            now,
            zone: TimeZone::UTC,
        }
    }

    fn timer(timer: Timer) -> Scheduler {
        let next_run = Some("Tue 2026-11-24 03:12:33 UTC".to_owned());
        Scheduler::Timer(Units { timer, next_run, ..Units::default() })
    }

    #[test]
    fn a_scheduler_of_certctls_own_is_well_where_it_starts_runs() {
        let file = || Scheduler::File(CRON.into());
        let next = "certctl.timer; next run Tue 2026-11-24 03:12:33 UTC";
        let start = Some(Schedule::Start { of_user: false });
        let enable = Some(Schedule::Enable { of_user: false });
        let late = "/etc/cron.d/certctl, and no automatic run since 2026-11-20 02:12 UTC, 25h ago";
        for (scheduler, hours, verdict, fact, fix) in [
            (timer(Timer::Active), None, Severity::Well, next, None),
            (timer(Timer::Active), Some(25), Severity::Well, next, None),
            (
                timer(Timer::Stopped),
                None,
                Severity::Wrong,
                "certctl.timer is enabled, but stopped",
                start,
            ),
            (timer(Timer::Disabled), None, Severity::Wrong, "certctl.timer is not enabled", enable),
            (file(), None, Severity::Well, CRON, None),
            (file(), Some(25), Severity::Wrong, late, Some(Schedule::LookAtCron)),
        ] {
            let found = starter(Some(scheduler), hours).finding();
            assert_eq!((found.severity, found.fact.as_str()), (verdict, fact));
            assert_eq!(found.fix, fix.map(Fix::Schedule));
        }
        let units = Units { timer: Timer::Active, masked: Some(SERVICE), ..Units::default() };
        let found = starter(Some(Scheduler::Timer(units)), None).finding();
        assert!(found.is_wrong() && found.fact.starts_with("certctl.service is masked"));
    }

    #[test]
    fn a_scheduler_of_the_users_own_is_not_known_and_a_new_state_waits_for_a_run() {
        let recent = "not known; last run without a terminal 2026-11-21 01:12 UTC, 2h ago";
        for scheduler in [Some(Scheduler::Absent), Some(timer(Timer::Disabled)), None] {
            let found = starter(scheduler, Some(2)).finding();
            assert_eq!((found.severity, found.fact.as_str()), (Severity::Unknown, recent));
        }
        let own = "no timer, no /etc/cron.d/certctl, and no automatic run";
        for (hours, verdict, end) in [
            (None, Severity::Warning, "yet"),
            (Some(25), Severity::Wrong, "since 2026-11-20 02:12 UTC, 25h ago"),
        ] {
            let found = starter(Some(Scheduler::Absent), hours).finding();
            assert_eq!((found.severity, found.fact), (verdict, format!("{own} {end}")));
            let line = Hint::from(found.fix.unwrap()).to_string();
            assert!(line.starts_with("certctl timer print --"), "{line}");
        }
        assert_eq!(starter(None, None).finding().severity, Severity::Unknown);
        assert_eq!(starter(None, Some(25)).finding().severity, Severity::Wrong);
    }

    #[test]
    fn a_timer_with_another_state_is_wrong() {
        let of = Starter { state: "/srv/s".into(), ..starter(Some(timer(Timer::Active)), None) };
        let found = of.finding();
        assert_eq!(found.fact, "certctl.timer uses the state /var/lib/certctl, not /srv/s");
        let state = Some("/srv/s".into());
        let fix = Fix::Schedule(Schedule::PrintCron { of_user: false, state });
        assert_eq!((found.severity, found.fix), (Severity::Wrong, Some(fix)));
    }

    #[test]
    fn a_run_of_the_timer_that_failed_is_a_warning() {
        let at = "Tue 2026-11-24 03:12:33 UTC".to_owned();
        let of = |number: &str, hooks_failed| {
            let (at, number) = (at.clone(), number.to_owned());
            let last_run = Some(LastRun { at, has_exited: true, number, hooks_failed });
            let units = Units { timer: Timer::Active, last_run, ..Units::default() };
            starter(Some(Scheduler::Timer(units)), None).failed_run().map(|found| found.fact)
        };
        assert_eq!(of("75", false), None);
        let begin = format!("of certctl.service: {at}, exit code");
        let found = of("3", false).unwrap();
        assert!(found.starts_with(&format!("{begin} 3; its next run")), "{found}");
        let found = of("0", true).unwrap();
        assert!(found.starts_with(&format!("{begin} 0; certctl-reload.service has failed;")));
    }
}
