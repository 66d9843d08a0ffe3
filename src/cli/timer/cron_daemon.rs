//! The daemon that starts what crontabs say.
//!
//! Contract: read-only, and no program is started. A system that hides the processes of other users
//! leaves it unknown.

use std::fs;
use std::path::Path;

use super::systemd::systemd_runs;
use crate::resource::Obstacle;

/// Whether there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CronDaemon {
    Runs,
    /// It is installed, and no process; the name of its service.
    Stopped(&'static str),
    Absent,
    Unknown,
}

impl CronDaemon {
    pub(crate) fn of_host() -> Self {
        // launchd starts the one of macOS as soon as there is a crontab.
        if cfg!(target_os = "linux") { Self::of(Path::new("/")) } else { Self::Unknown }
    }

    fn of(root: &Path) -> Self {
        let process = |path: &Path| fs::read_to_string(path.join("comm")).ok();
        let is_cron = |name: String| DAEMONS.contains(&name.trim());
        let processes = fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
        let wants = "etc/systemd/system/multi-user.target.wants";
        if processes.filter_map(|entry| process(&entry.path())).any(is_cron)
            || root.join(wants).join(UNITS_OF_CRONTABS).symlink_metadata().is_ok()
        {
            return Self::Runs;
        }
        if process(&root.join("proc/1")).is_none() {
            return Self::Unknown;
        }
        let program = PROGRAMS.iter().find(|(path, _)| root.join(path).exists());
        program.map_or(Self::Absent, |(_, service)| Self::Stopped(service))
    }

    /// What keeps crontabs from being run, and what to do.
    pub(crate) fn obstacle(self) -> Option<Obstacle> {
        match self {
            Self::Runs | Self::Unknown => None,
            Self::Stopped(service) => {
                let found = Obstacle::new(format_args!("the cron daemon ({service}) does not run"));
                Some(if systemd_runs() {
                    found.command(format!("systemctl enable --now {service}"))
                } else if Path::new("/etc/init.d").join(service).exists() {
                    found.command(format!("service {service} start"))
                } else {
                    found.advice(format!("start {service}, now and at each boot"))
                })
            }
            Self::Absent => {
                let found = Obstacle::new("no cron daemon is installed");
                Some(found.advice(if systemd_runs() {
                    "install one, such as the package cron, or use systemd: certctl timer print \
                     --systemd"
                } else {
                    "install one, such as the package cron, or let what supervises the services \
                     of this host keep `certctl run` running"
                }))
            }
        }
    }
}

/// Names of processes.
const DAEMONS: &[&str] = &["cron", "crond", "fcron", "dcron"];
/// systemd-cron makes timers of crontabs, and has no process.
const UNITS_OF_CRONTABS: &str = "cron.target";
/// Programs with the services that start them.
const PROGRAMS: &[(&str, &str)] = &[
    ("usr/sbin/cron", "cron"),
    ("usr/sbin/crond", "crond"),
    ("sbin/crond", "crond"),
    ("usr/bin/crond", "cronie"),
    ("usr/sbin/fcron", "fcron"),
];

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn a_daemon_is_found_by_its_process_and_else_by_its_program() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let write = |path: &str, text: &str| drop(testing::write(root, path, text));
        let of = || CronDaemon::of(root);
        assert_eq!(of(), CronDaemon::Unknown);
        write("proc/1/comm", "init\n");
        write("proc/meminfo", "cron\n");
        assert_eq!(of(), CronDaemon::Absent);
        write("usr/sbin/crond", "");
        assert_eq!(of(), CronDaemon::Stopped("crond"));
        write("proc/812/comm", "crond\n");
        assert_eq!(of(), CronDaemon::Runs);
        write("proc/812/comm", "crontab\n");
        write("etc/systemd/system/multi-user.target.wants/cron.target", "");
        assert_eq!(of(), CronDaemon::Runs);
    }

    #[test]
    fn only_a_daemon_that_is_known_not_to_run_is_an_obstacle() {
        let fact = |daemon: CronDaemon| daemon.obstacle().map(|found| found.fact);
        assert_eq!([CronDaemon::Runs, CronDaemon::Unknown].map(fact), [None, None]);
        let stopped = fact(CronDaemon::Stopped("cron"));
        assert_eq!(stopped.as_deref(), Some("the cron daemon (cron) does not run"));
        assert_eq!(fact(CronDaemon::Absent).as_deref(), Some("no cron daemon is installed"));
    }
}
