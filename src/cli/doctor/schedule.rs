//! Whether runs take place: what starts them, when the last one was, and what is overdue.

use std::path::Path;

use super::finding::{Finding, names};
use crate::cli::environment::Source;
use crate::cli::report::short;
use crate::cli::shell::Shell;
use crate::cli::status::{Scene, Verdict};
use crate::cli::time;
use crate::cli::timer::{Scheduler, TIMER, enable_timer, line_of_user, masked_unit};
use crate::resource::Obstacle;
use crate::workspace::Workspace;
use crate::workspace::view::CertificateView;

/// What starts the runs.
pub(super) fn scheduler(shell: &Shell) -> Finding {
    let config = shell.environment.config_dir(shell.global.config_dir.as_deref()).ok();
    let found = config.as_ref().and_then(Scheduler::of_config);
    let is_of_user = config.is_some_and(|config| config.source == Source::User);
    let is_of_units = matches!(found, Some(Scheduler::Enabled(_) | Scheduler::Disabled(_)));
    if let Some(unit) = masked_unit(Path::new("/")).filter(|_| is_of_units && !is_of_user) {
        return masked(unit);
    }
    let as_root = shell.acts_as.is_some();
    let now = match &found {
        Some(found) if found.is_stopped(is_of_user, as_root) => Now::Stopped,
        Some(found) => Now::Runs { next: found.next_run(is_of_user, as_root) },
        None => Now::Runs { next: None },
    };
    scheduled(found, is_of_user, now, shell.environment.is_root())
}

/// What an enabled scheduler does.
enum Now {
    Stopped,
    /// When a timer of systemd runs next, where that is known.
    Runs {
        next: Option<String>,
    },
}

fn masked(unit: &str) -> Finding {
    let obstacle = Obstacle::new(format_args!("{unit} is masked: no scheduled run goes through"));
    Finding::wrong("scheduler", obstacle.command(format!("systemctl unmask {unit}")))
}

fn scheduled(scheduler: Option<Scheduler>, is_of_user: bool, now: Now, is_root: bool) -> Finding {
    let print =
        if is_of_user { line_of_user() } else { "certctl timer print --systemd".to_owned() };
    let systemctl = if is_of_user { "systemctl --user" } else { "systemctl" };
    match scheduler {
        Some(Scheduler::Enabled(path)) => match now {
            Now::Stopped => {
                let obstacle =
                    Obstacle::new(format_args!("{} is enabled, and stopped now", path.display()));
                Finding::wrong("scheduler", obstacle.command(format!("{systemctl} start {TIMER}")))
            }
            Now::Runs { next: Some(next) } => {
                Finding::well("scheduler", format_args!("{}; next run {next}", path.display()))
            }
            Now::Runs { next: None } => Finding::well("scheduler", path.display()),
        },
        Some(Scheduler::Disabled(path)) => {
            let obstacle = Obstacle::new(format_args!("{} is not enabled", path.display()));
            Finding::wrong("scheduler", obstacle.command(enable_timer(is_of_user)))
        }
        Some(Scheduler::Absent) if is_root => {
            let obstacle = Obstacle::new("no timer and no crontab of the system runs certctl");
            Finding::wrong("scheduler", obstacle.command(print))
        }
        // The crontabs of users, root among them, are for root to read.
        Some(Scheduler::Absent) => {
            let obstacle = Obstacle::new("no timer runs certctl; this user cannot read crontabs");
            Finding::warning("scheduler", obstacle.command(print))
        }
        None => Finding::unknown(
            "scheduler",
            Obstacle::new("not checked: the config directory is not a default one"),
        ),
    }
}

/// When a run last changed something.
pub(super) fn last_run(workspace: &Workspace, of: &Certificates, scene: &Scene) -> Finding {
    match workspace.last_write() {
        Some(at) => {
            let at = time::told(at, scene.now, Some(&scene.zone));
            Finding::well("last run", format_args!("{at} (the last that changed something)"))
        }
        None if of.are_damaged() => {
            Finding::unknown("last run", Obstacle::new("the state of certificates is damaged"))
        }
        None => Finding::warning("last run", Obstacle::new("never").command("certctl issue")),
    }
}

/// The certificates that are not as they should be.
#[derive(Debug, Default)]
pub(super) struct Certificates {
    all: usize,
    overdue: Vec<String>,
    expired: Vec<String>,
    damaged: Vec<String>,
    /// What else `status` shows as not well.
    other: Vec<String>,
}

impl Certificates {
    pub(super) fn add(&mut self, view: &CertificateView, scene: &Scene) {
        self.all = self.all.saturating_add(1);
        let wrong = match Verdict::of(view, scene.now) {
            Verdict::Overdue => &mut self.overdue,
            Verdict::Expired => &mut self.expired,
            Verdict::Damaged => &mut self.damaged,
            Verdict::Invalid
            | Verdict::NoManifest
            | Verdict::Revoked
            | Verdict::LinksMissing
            | Verdict::FilesDamaged
            | Verdict::Deferred
            | Verdict::Failed
            | Verdict::Waiting
            | Verdict::PendingDeploy => &mut self.other,
            Verdict::Issuing | Verdict::Renewing | Verdict::Ready | Verdict::Pending => return,
        };
        wrong.push(short(&view.key));
    }

    /// Whether a record of the state cannot be read.
    pub(super) fn are_damaged(&self) -> bool {
        !self.damaged.is_empty()
    }

    /// What is to be said of them; of damage only where the state is not closed to this user.
    pub(super) fn findings(&self, is_closed: bool) -> Vec<Finding> {
        let rows = [
            (&self.damaged, "state damaged:", true),
            (&self.expired, "expired:", true),
            (&self.overdue, "overdue for renewal:", true),
            (&self.other, "not READY:", false),
        ];
        let rows = rows.into_iter().skip(usize::from(is_closed));
        let found = rows.filter(|(of, ..)| !of.is_empty());
        let found = found.map(|(of, words, is_wrong)| {
            let line = match of.first() {
                Some(first) if of.len() == 1 => format!("certctl status {first}"),
                Some(_) | None => "certctl status".to_owned(),
            };
            let obstacle = Obstacle::new(format_args!("{words} {}", names(of)));
            let obstacle = obstacle.command(line);
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
    use std::path::PathBuf;

    use super::super::finding::Verdict;
    use super::{Now, scheduled};
    use crate::cli::timer::{Scheduler, line_of_user};
    use crate::resource::Fix;

    #[test]
    fn a_scheduler_that_does_not_run_is_wrong_with_the_command_that_makes_it() {
        let unit = || Scheduler::Disabled(PathBuf::from("/certctl.timer"));
        let print = "certctl timer print --systemd";
        let of_this_user = line_of_user();
        let enable = "systemctl enable --now certctl.timer";
        let of_user = "systemctl --user enable --now certctl.timer";
        let enabled = || Some(Scheduler::Enabled("/certctl.timer".into()));
        let start = "systemctl start certctl.timer";
        let start_of_user = "systemctl --user start certctl.timer";
        let (wrong, warning) = (Verdict::Wrong, Verdict::Warning);
        for (scheduler, is_of_user, is_stopped, is_root, verdict, line) in [
            (Some(Scheduler::Absent), false, false, true, wrong, Some(print)),
            (Some(Scheduler::Absent), true, false, false, warning, Some(of_this_user.as_str())),
            (Some(Scheduler::Absent), false, false, false, warning, Some(print)),
            (Some(unit()), false, false, true, wrong, Some(enable)),
            (Some(unit()), true, false, false, wrong, Some(of_user)),
            (enabled(), false, false, true, Verdict::Well, None),
            (enabled(), false, true, true, wrong, Some(start)),
            (enabled(), true, true, false, wrong, Some(start_of_user)),
            (None, false, false, true, Verdict::Unknown, None),
        ] {
            let now = if is_stopped { Now::Stopped } else { Now::Runs { next: None } };
            let found = scheduled(scheduler, is_of_user, now, is_root);
            let line = line.map(|line| Fix::Command(line.to_owned()));
            assert_eq!((found.verdict, found.remedy), (verdict, line), "{}", found.fact);
        }
        let next = Some("Tue 2026-11-24 03:12:33 UTC".to_owned());
        let found = scheduled(enabled(), false, Now::Runs { next }, true);
        assert_eq!(found.fact, "/certctl.timer; next run Tue 2026-11-24 03:12:33 UTC");
    }
}
