//! Whether a scheduler of this system runs certctl, as far as files show it.
//!
//! Contract: read-only, and no program is started but `systemctl is-active`. What is not found may be
//! there nevertheless: the crontab of another user cannot be read, and a container has a loop of its
//! own.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cli::environment::{Directory, Source};
use crate::cli::shell::Shell;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scheduler {
    /// It runs certctl; the file that says so.
    Enabled(PathBuf),
    /// A unit of systemd that is installed and not enabled.
    Disabled(PathBuf),
    Absent,
}

impl Scheduler {
    /// The one that runs certctl with this folder of configuration; `None` where it is not the one
    /// of a scheduled run.
    pub(crate) fn of_config(config: &Directory) -> Option<Self> {
        match config.source {
            Source::Root | Source::Owner => Some(Self::of_system(Path::new("/"))),
            Source::User => config.path.parent().map(Self::of_user),
            Source::Flag(_) | Source::Variable(_) | Source::Systemd(_) | Source::Config { .. } => {
                None
            }
        }
    }

    /// Whether it is a timer of systemd that is enabled, and does not run until the next boot.
    ///
    /// `as_root`: root acts as another user now, which systemd answers over a bus alone, that a small
    /// host does not have.
    pub(crate) fn is_stopped(&self, is_of_user: bool, as_root: bool) -> bool {
        let is_timer = match self {
            Self::Enabled(path) => path.ends_with(TIMER),
            Self::Disabled(_) | Self::Absent => false,
        };
        // As sd_booted(3) has it.
        let has_systemd = Path::new("/run/systemd/system").is_dir();
        is_timer
            && has_systemd
            && SYSTEMCTL.iter().map(Path::new).any(|path| says_stopped(path, is_of_user, as_root))
    }

    /// The one that runs certctl as root, or as its own user.
    pub(crate) fn of_system(root: &Path) -> Self {
        let is_there = |path: &&&str| root.join(path).symlink_metadata().is_ok();
        if let Some(path) = ENABLED.iter().find(is_there) {
            return Self::Enabled(root.join(path));
        }
        let names_us = |path: &&&str| names_certctl(&root.join(path));
        if let Some(path) = CRONTABS.iter().find(names_us) {
            return Self::Enabled(root.join(path));
        }
        match UNITS.iter().find(is_there) {
            Some(path) => Self::Disabled(root.join(path)),
            None => Self::Absent,
        }
    }

    /// The one that runs certctl as a user, whose folder of configuration this is. A crontab of the
    /// user's own is for root to read.
    pub(crate) fn of_user(folder: &Path) -> Self {
        let units = folder.join("systemd/user");
        let enabled = units.join("timers.target.wants").join(TIMER);
        let unit = units.join(TIMER);
        if enabled.symlink_metadata().is_ok() {
            Self::Enabled(enabled)
        } else if unit.symlink_metadata().is_ok() {
            Self::Disabled(unit)
        } else {
            Self::Absent
        }
    }
}

/// Whether `certctl-reload.service` runs the hooks of this state: it is installed, and the state is
/// that of the units, whose user has no right to run the hooks of root.
pub(crate) fn leaves_hooks_to_unit(shell: &Shell) -> bool {
    let state = shell.environment.state_dir(shell.global.state_dir.as_deref());
    let is_usual = state.is_ok_and(|state| state.path == Path::new(STATE));
    let is_of_user = || std::fs::metadata(STATE).is_ok_and(|found| found.uid() != 0);
    is_usual && is_of_user() && has_reload_unit(Path::new("/"))
}

/// The command that runs the outputs and hooks of a certificate that have failed or are still to
/// run. Where a unit does, it is started: only that clears its failure.
pub(crate) fn retry_of_hooks(by_unit: bool, certificate: &str) -> String {
    if by_unit {
        "systemctl start certctl-reload.service".to_owned()
    } else {
        format!("certctl deploy {certificate}")
    }
}

fn has_reload_unit(root: &Path) -> bool {
    RELOADS.iter().any(|path| root.join(path).symlink_metadata().is_ok())
}

/// The first unit of the scheduled runs that the administrator masked: systemd refuses to start it.
pub(crate) fn masked_unit(root: &Path) -> Option<&'static str> {
    RUN_UNITS.iter().copied().find(|unit| is_masked(root, unit))
}

/// Whether the administrator masked a unit of the system.
pub(crate) fn is_masked(root: &Path, unit: &str) -> bool {
    let unit = root.join("etc/systemd/system").join(unit);
    std::fs::read_link(unit).is_ok_and(|target| target == Path::new("/dev/null"))
}

/// Whether systemd knows the timer to be stopped. Without an answer from it, nothing is known.
fn says_stopped(systemctl: &Path, is_of_user: bool, as_root: bool) -> bool {
    let mut command = Command::new(systemctl);
    if as_root {
        command.uid(0).gid(0);
    }
    command.args(is_of_user.then_some("--user")).args(["is-active", TIMER]);
    let answer = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    answer.is_ok_and(|answer| {
        matches!(answer.stdout.trim_ascii(), b"inactive" | b"failed" | b"deactivating")
    })
}

/// Whether a line of a crontab that is no comment has our name.
fn names_certctl(path: &Path) -> bool {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MOST_READ).read_to_string(&mut text));
    let is_ours = |line: &str| !line.trim_start().starts_with('#') && line.contains("certctl");
    read.is_ok() && text.lines().any(is_ours)
}

/// The timer of the packages, and of `timer print`.
pub(crate) const TIMER: &str = "certctl.timer";
const ENABLED: &[&str] = &[
    "etc/systemd/system/timers.target.wants/certctl.timer",
    "Library/LaunchDaemons/io.certctl.issue.plist",
];
/// What a scheduled run needs, but for the port.
const RUN_UNITS: &[&str] = &[TIMER, "certctl.service", "certctl-reload.service"];
/// The state of the units.
const STATE: &str = "/var/lib/certctl";
const CRONTABS: &[&str] = &[
    "etc/cron.d/certctl",
    "etc/crontab",
    "var/spool/cron/crontabs/root",
    "var/spool/cron/root",
    "etc/crontabs/root",
];
const SYSTEMCTL: &[&str] = &["/usr/bin/systemctl"];
const UNITS: &[&str] = &[
    "etc/systemd/system/certctl.timer",
    "usr/lib/systemd/system/certctl.timer",
    "lib/systemd/system/certctl.timer",
];
const RELOADS: &[&str] = &[
    "etc/systemd/system/certctl-reload.service",
    "usr/lib/systemd/system/certctl-reload.service",
    "lib/systemd/system/certctl-reload.service",
];
/// More than a crontab has, in bytes.
const MOST_READ: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::store::atomic;

    fn write(root: &Path, path: &str, text: &str) -> PathBuf {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        atomic::write(&path, text.as_bytes(), 0o644).unwrap();
        path
    }

    #[test]
    fn the_unit_of_the_hooks_is_found_where_packages_and_root_put_it() {
        for path in RELOADS {
            let root = tempfile::tempdir().unwrap();
            assert!(!has_reload_unit(root.path()), "{path}");
            write(root.path(), path, "");
            assert!(has_reload_unit(root.path()), "{path}");
        }
    }

    #[test]
    fn a_timer_is_stopped_where_systemd_says_so() {
        let root = tempfile::tempdir().unwrap();
        for (answer, of_user, is_stopped) in [
            ("active", false, false),
            ("inactive", false, true),
            ("inactive", true, true),
            ("failed", false, true),
            // Without a bus.
            ("", false, false),
        ] {
            let words = if of_user { "--user is-active" } else { "is-active" };
            let script = format!(
                "#!/bin/sh\n[ \"$*\" = '{words} certctl.timer' ] && echo {answer}\nexit 3\n"
            );
            let program = write(root.path(), "systemctl", &script);
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!(says_stopped(&program, of_user, false), is_stopped, "{answer}");
        }
        assert!(!says_stopped(&root.path().join("none"), false, false));
        assert!(!Scheduler::Enabled("/etc/crontab".into()).is_stopped(false, false));
    }

    #[test]
    fn a_masked_unit_of_the_runs_is_found() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(masked_unit(root.path()), None);
        let unit = write(root.path(), "etc/systemd/system/certctl.timer", "");
        assert_eq!(masked_unit(root.path()), None);
        let masked = unit.with_file_name("certctl-reload.service");
        std::os::unix::fs::symlink("/dev/null", masked).unwrap();
        assert_eq!(masked_unit(root.path()), Some("certctl-reload.service"));
    }

    #[test]
    fn what_runs_certctl_is_found_by_its_files() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let of_system = || Scheduler::of_system(root);
        assert_eq!(of_system(), Scheduler::Absent);
        write(root, "etc/crontab", "# certctl is elsewhere\n1 2 * * * root backup\n");
        assert_eq!(of_system(), Scheduler::Absent);
        let unit = write(root, "usr/lib/systemd/system/certctl.timer", "");
        assert_eq!(of_system(), Scheduler::Disabled(unit));
        let crontab = write(root, "var/spool/cron/root", "17 * * * * certctl issue\n");
        assert_eq!(of_system(), Scheduler::Enabled(crontab));
        let timer = write(root, "etc/systemd/system/timers.target.wants/certctl.timer", "");
        assert_eq!(of_system(), Scheduler::Enabled(timer));
        let of_user = || Scheduler::of_user(&root.join("home"));
        assert_eq!(of_user(), Scheduler::Absent);
        let unit = write(root, "home/systemd/user/certctl.timer", "");
        assert_eq!(of_user(), Scheduler::Disabled(unit));
        let timer = write(root, "home/systemd/user/timers.target.wants/certctl.timer", "");
        assert_eq!(of_user(), Scheduler::Enabled(timer));
    }
}
