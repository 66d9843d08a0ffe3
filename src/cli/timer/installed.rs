//! Whether a timer of this system runs certctl, as far as files show it.
//!
//! Contract: read-only, and no program is started but `systemctl is-active` and `systemctl show`.

use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::crontab;
use super::systemd::{systemd_runs, systemd_runs_in};
use crate::cli::environment::{Directory, SYSTEM_CONFIG, SYSTEM_STATE, Source};
use crate::cli::hint::Hint;
use crate::cli::shell::Shell;
use crate::trust::sudo_on_own;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// It runs certctl; the file that says so.
    Enabled(PathBuf),
    /// A unit of systemd that is installed and not enabled.
    Disabled(PathBuf),
    /// A unit of systemd on a host that systemd does not run: nothing starts it.
    Idle(PathBuf),
    Absent,
}

impl Timer {
    /// The one that runs certctl with this folder of configuration; `None` where it is not the one
    /// of a scheduled run.
    pub(crate) fn of_config(config: &Directory) -> Option<Self> {
        Self::unit_of(config).map(|found| found.under(systemd_runs()))
    }

    /// The same on a host that systemd runs, or not.
    fn under(self, has_systemd: bool) -> Self {
        match self {
            Self::Enabled(path) | Self::Disabled(path) if !has_systemd && path.ends_with(TIMER) => {
                Self::Idle(path)
            }
            found @ (Self::Enabled(_) | Self::Disabled(_) | Self::Idle(_) | Self::Absent) => found,
        }
    }

    fn unit_of(config: &Directory) -> Option<Self> {
        match config.source {
            _ if config.path == Path::new(SYSTEM_CONFIG) => Some(Self::of_system(Path::new("/"))),
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
        self.is_of_systemd()
            && systemctl().is_some_and(|path| says_stopped(path, TIMER, is_of_user, as_root))
    }

    /// When a timer of systemd that is enabled runs next, in systemd's words.
    pub(crate) fn next_run(&self, is_of_user: bool, as_root: bool) -> Option<String> {
        let systemctl = systemctl().filter(|_| self.is_of_systemd())?;
        next_run(systemctl, is_of_user, as_root)
    }

    /// When the service of such a timer ended last since the host started, and how.
    pub(crate) fn last_run(&self, is_of_user: bool, as_root: bool) -> Option<LastRun> {
        let systemctl = systemctl().filter(|_| self.is_of_systemd())?;
        last_run(systemctl, is_of_user, as_root)
    }

    fn is_enabled(&self) -> bool {
        matches!(self, Self::Enabled(_))
    }

    /// Whether it is enabled, and one of systemd.
    fn is_of_systemd(&self) -> bool {
        match self {
            Self::Enabled(path) => path.ends_with(TIMER),
            Self::Disabled(_) | Self::Idle(_) | Self::Absent => false,
        }
    }

    /// The timer that runs certctl as root, or as its own user.
    fn of_system(root: &Path) -> Self {
        let is_there = |path: &&&str| root.join(path).symlink_metadata().is_ok();
        if let Some(path) = ENABLED.iter().find(is_there) {
            return Self::Enabled(root.join(path));
        }
        unit_in(root, FOLDERS, TIMER).map_or(Self::Absent, Self::Disabled)
    }

    /// The timer that runs certctl as a user, whose folder of configuration this is.
    fn of_user(folder: &Path) -> Self {
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

/// Whether the timer of a package, or of `timer print`, is there, enabled or not, and systemd can
/// start it.
pub(crate) fn has_timer(root: &Path) -> bool {
    systemd_runs_in(root) && unit_in(root, FOLDERS, TIMER).is_some()
}

/// Whether a package has a timer, which systemd can start.
pub(super) fn has_packaged_timer(root: &Path) -> bool {
    systemd_runs_in(root) && unit_in(root, PACKAGED, TIMER).is_some()
}

/// The command that starts the timer now and at each boot.
pub(crate) fn enable_timer(is_of_user: bool) -> String {
    format!("{} enable --now {TIMER}", systemctl_of(is_of_user))
}

/// systemctl as this user types it.
pub(crate) fn systemctl_of(is_of_user: bool) -> String {
    if is_of_user { "systemctl --user".to_owned() } else { format!("{}systemctl", sudo_on_own()) }
}

/// Whether `certctl-reload.service` runs the hooks of this process's state as root, after the runs of
/// its user.
pub(crate) fn leaves_hooks_to_unit(shell: &Shell) -> bool {
    let state = shell.environment.state_dir(shell.global.state_dir.as_deref());
    let is_usual = state.is_ok_and(|state| state.path == Path::new(SYSTEM_STATE));
    let is_of_user = || std::fs::metadata(SYSTEM_STATE).is_ok_and(|found| found.uid() != 0);
    is_usual && is_of_user() && has_reload_unit(Path::new("/"))
}

/// The command that runs the outputs and hooks of a certificate that have failed or are still to run.
pub(crate) fn retry_of_hooks(certificate: &str) -> Hint {
    Hint::Command(format!("certctl deploy {certificate}"))
}

/// The same of all certificates, by the unit that does it for the scheduled runs: only that clears the
/// failure of the unit.
pub(crate) fn retry_by_unit() -> Hint {
    Hint::Shell(format!("{} start {RELOAD}", systemctl_of(false)))
}

fn has_reload_unit(root: &Path) -> bool {
    systemd_runs_in(root) && unit_in(root, FOLDERS, RELOAD).is_some()
}

/// The user of the scheduled runs, as the installed service names it, and whether its timer is enabled.
pub(crate) fn user_of_service(root: &Path) -> Option<(String, bool)> {
    // The last change by the administrator comes before the others and the unit.
    let user = parts_of_service(root).into_iter().rev().find_map(|path| {
        let text = crontab::text(&path)?;
        let mut names = text.lines().filter_map(|line| line.trim().strip_prefix("User="));
        names.next_back().map(str::to_owned)
    });
    Some((user?, Timer::of_system(root).is_enabled()))
}

/// The first unit of the scheduled runs that the administrator masked: systemd refuses to start it.
pub(crate) fn masked_unit(root: &Path) -> Option<&'static str> {
    RUN_UNITS.iter().copied().find(|unit| is_masked(root, unit))
}

/// Whether `certctl.service` may listen on a port, where the service runs for these manifests: it has
/// the right to, or systemd opens the port for it.
pub(crate) fn service_may_listen(shell: &Shell, port: u16) -> bool {
    let config = shell.environment.config_dir(shell.global.config_dir.as_deref());
    let is_of_system =
        |config: Directory| Timer::of_config(&config).is_some() && config.source != Source::User;
    systemd_runs() && config.is_ok_and(is_of_system) && may_listen(Path::new("/"), port)
}

fn may_listen(root: &Path, port: u16) -> bool {
    let has_socket = || {
        let enabled = root.join("etc/systemd/system/certctl.service.wants").join(SOCKET);
        enabled.symlink_metadata().is_ok() && !is_masked(root, SOCKET)
    };
    may_open_ports(root) || (port == PORT_OF_SOCKET && has_socket())
}

/// Whether the service may open ports below 1024. As with systemd, each line adds to those before, but
/// for an empty one.
fn may_open_ports(root: &Path) -> bool {
    let set = |may_open, path: &PathBuf| {
        let text = crontab::text(path).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("AmbientCapabilities=").map(str::trim));
        lines.fold(may_open, |may_open, line| {
            !line.is_empty() && (may_open || line.contains("CAP_NET_BIND_SERVICE"))
        })
    };
    parts_of_service(root).iter().fold(false, set)
}

/// The files that make up the service: the unit, and the administrator's changes in their order.
fn parts_of_service(root: &Path) -> Vec<PathBuf> {
    if is_masked(root, SERVICE) {
        return Vec::new();
    }
    let Some(unit) = unit_in(root, FOLDERS, SERVICE) else { return Vec::new() };
    let changes = root.join("etc/systemd/system/certctl.service.d");
    let changes = std::fs::read_dir(changes).into_iter().flatten().flatten();
    let mut changes: Vec<PathBuf> = changes.map(|entry| entry.path()).collect();
    changes.retain(|path| path.extension().is_some_and(|extension| extension == "conf"));
    changes.sort();
    [unit].into_iter().chain(changes).collect()
}

/// The file of a unit of the system, in the first of these folders that has it.
fn unit_in(root: &Path, folders: &[&str], unit: &str) -> Option<PathBuf> {
    let mut paths = folders.iter().map(|folder| root.join(folder).join(unit));
    paths.find(|path| path.symlink_metadata().is_ok())
}

/// Whether the administrator masked a unit of the system.
fn is_masked(root: &Path, unit: &str) -> bool {
    let unit = root.join("etc/systemd/system").join(unit);
    std::fs::read_link(unit).is_ok_and(|target| target == Path::new("/dev/null"))
}

/// The program, where systemd runs the host.
fn systemctl() -> Option<&'static Path> {
    let program = Path::new("/usr/bin/systemctl");
    (systemd_runs() && program.exists()).then_some(program)
}

/// Whether systemd knows a unit to be stopped. Without an answer from it, nothing is known.
fn says_stopped(systemctl: &Path, unit: &str, is_of_user: bool, as_root: bool) -> bool {
    answer(systemctl, &["is-active", unit], is_of_user, as_root).is_some_and(|state| {
        matches!(state.trim_ascii(), b"inactive" | b"failed" | b"deactivating")
    })
}

/// When the timer runs next, where that is known.
fn next_run(systemctl: &Path, is_of_user: bool, as_root: bool) -> Option<String> {
    let arguments = ["show", TIMER, "--property=NextElapseUSecRealtime", "--value"];
    let text = String::from_utf8(answer(systemctl, &arguments, is_of_user, as_root)?).ok()?;
    // `Tue 2026-11-24 03:12:33 UTC`; else empty, or `n/a`.
    let text = text.trim();
    text.contains(':').then(|| text.to_owned())
}

/// A run of the service of a timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastRun {
    /// When it ended, and its exit code.
    pub(crate) text: String,
    /// Whether it failed, or the unit of its hooks.
    pub(crate) has_failed: bool,
}

/// When the service of the timer ended last, and how, where that is known.
fn last_run(systemctl: &Path, is_of_user: bool, as_root: bool) -> Option<LastRun> {
    let properties = "--property=ExecMainExitTimestamp,ExecMainCode,ExecMainStatus";
    let answer = answer(systemctl, &["show", SERVICE, properties], is_of_user, as_root)?;
    let text = String::from_utf8(answer).ok()?;
    let of = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let at = of("ExecMainExitTimestamp").filter(|at| at.contains(':'))?;
    let number = of("ExecMainStatus")?;
    // As in `si_code`: 1 is an exit, all others are signals.
    let has_exited = of("ExecMainCode")? == "1";
    let what = if has_exited { "exit code" } else { "signal" };
    let reload = has_failed_reload(systemctl, is_of_user, as_root);
    let failed = if reload { format!("; {RELOAD} has failed") } else { String::new() };
    // As in `SuccessExitStatus=`.
    let is_well = has_exited && ["0", "75"].contains(&number);
    Some(LastRun { text: format!("{at}, {what} {number}{failed}"), has_failed: !is_well || reload })
}

/// Whether the unit that runs the hooks of the service's runs has failed.
fn has_failed_reload(systemctl: &Path, is_of_user: bool, as_root: bool) -> bool {
    let found = answer(systemctl, &["is-failed", RELOAD], is_of_user, as_root);
    found.is_some_and(|found| found.starts_with(b"failed"))
}

/// What systemctl prints.
fn answer(
    systemctl: &Path,
    arguments: &[&str],
    is_of_user: bool,
    as_root: bool,
) -> Option<Vec<u8>> {
    let mut command = Command::new(systemctl);
    if as_root {
        command.uid(0).gid(0);
    }
    command.args(is_of_user.then_some("--user")).args(arguments);
    let answer = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    answer.ok().map(|answer| answer.stdout)
}

/// The timer of the packages, and of `timer print`.
pub(crate) const TIMER: &str = "certctl.timer";
/// The service of the timer.
const SERVICE: &str = "certctl.service";
/// Port 80, for a service without the right to open it, where it is enabled.
const SOCKET: &str = "certctl.socket";
/// Its `ListenStream`.
const PORT_OF_SOCKET: u16 = 80;
/// The hooks of root.
const RELOAD: &str = "certctl-reload.service";
const ENABLED: &[&str] = &[
    "etc/systemd/system/timers.target.wants/certctl.timer",
    "Library/LaunchDaemons/io.certctl.issue.plist",
];
/// What a scheduled run needs, but for the port.
const RUN_UNITS: &[&str] = &[TIMER, SERVICE, RELOAD];
/// Where units of the system are: the administrator's first.
const FOLDERS: &[&str] = &["etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"];
/// Those of packages.
const PACKAGED: &[&str] = &["usr/lib/systemd/system", "lib/systemd/system"];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::testing::write;
    use super::*;

    #[test]
    fn the_unit_of_the_hooks_is_found_where_packages_and_root_put_it() {
        for path in [
            "etc/systemd/system/certctl-reload.service",
            "usr/lib/systemd/system/certctl-reload.service",
            "lib/systemd/system/certctl-reload.service",
        ] {
            let root = tempfile::tempdir().unwrap();
            write(root.path(), path, "");
            assert!(!has_reload_unit(root.path()), "{path}: systemd does not run");
            fs::create_dir_all(root.path().join("run/systemd/system")).unwrap();
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
            let arguments = if of_user { "--user is-active" } else { "is-active" };
            let script = format!(
                "#!/bin/sh\n[ \"$*\" = '{arguments} certctl.timer' ] && echo {answer}\nexit 3\n"
            );
            let program = write(root.path(), "systemctl", &script);
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!(says_stopped(&program, TIMER, of_user, false), is_stopped, "{answer}");
        }
        assert!(!says_stopped(&root.path().join("none"), TIMER, false, false));
        assert!(!Timer::Enabled("/etc/io.plist".into()).is_stopped(false, false));
    }

    #[test]
    fn the_last_run_is_what_systemd_says() {
        let root = tempfile::tempdir().unwrap();
        let at = "Tue 2026-11-24 03:12:33 UTC";
        for (time, code, number, last) in [
            (at, "1", "0", Some(("exit code 0", false))),
            (at, "1", "75", Some(("exit code 75", false))),
            (at, "1", "3", Some(("exit code 3", true))),
            (at, "2", "9", Some(("signal 9", true))),
            ("", "0", "0", None),
            ("n/a", "0", "0", None),
        ] {
            let answer = format!(
                "ExecMainExitTimestamp={time}\\nExecMainCode={code}\\nExecMainStatus={number}\\n"
            );
            let arguments = "show certctl.service \
                             --property=ExecMainExitTimestamp,ExecMainCode,ExecMainStatus";
            let script = format!("#!/bin/sh\n[ \"$*\" = '{arguments}' ] && printf '{answer}'\n");
            let program = write(root.path(), "systemctl", &script);
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            let run = |how: &str, has_failed| LastRun { text: format!("{at}, {how}"), has_failed };
            let expected = last.map(|(how, has_failed)| run(how, has_failed));
            assert_eq!(last_run(&program, false, false), expected, "{answer}");
            let failed = "[ \"$*\" = 'is-failed certctl-reload.service' ] && echo failed\n";
            let program = write(root.path(), "systemctl", &(script + failed));
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            let failed = |(how, _)| run(&format!("{how}; certctl-reload.service has failed"), true);
            assert_eq!(last_run(&program, false, false), last.map(failed), "{answer}");
        }
    }

    #[test]
    fn the_next_run_is_what_systemd_says() {
        let root = tempfile::tempdir().unwrap();
        let time = "Tue 2026-11-24 03:12:33 UTC";
        for (answer, next) in [(time, Some(time)), ("", None), ("n/a", None), ("infinity", None)] {
            let arguments = "show certctl.timer --property=NextElapseUSecRealtime --value";
            let script = format!("#!/bin/sh\n[ \"$*\" = '{arguments}' ] && echo '{answer}'\n");
            let program = write(root.path(), "systemctl", &script);
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!(next_run(&program, false, false).as_deref(), next, "{answer}");
        }
    }

    #[test]
    fn the_service_may_listen_as_its_unit_and_the_changes_say() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let may = || (may_listen(root, 80), may_listen(root, 402));
        assert_eq!(may(), (false, false));
        let unit = include_str!("../../../packaging/systemd/certctl.service");
        write(root, "usr/lib/systemd/system/certctl.service", unit);
        assert_eq!(may(), (true, true));
        let change = "etc/systemd/system/certctl.service.d/port.conf";
        for (lines, has_right) in [
            ("AmbientCapabilities=", false),
            ("#AmbientCapabilities=", true),
            ("AmbientCapabilities=CAP_CHOWN", true),
            ("AmbientCapabilities=\nAmbientCapabilities=CAP_CHOWN", false),
            ("AmbientCapabilities=\nAmbientCapabilities=CAP_CHOWN CAP_NET_BIND_SERVICE", true),
        ] {
            write(root, change, &format!("[Service]\n{lines}\n"));
            assert_eq!(may(), (has_right, has_right), "{lines}");
        }
        write(root, change, "[Service]\nAmbientCapabilities=\n");
        write(root, "etc/systemd/system/certctl.service.wants/certctl.socket", "");
        assert_eq!(may(), (true, false));
        std::os::unix::fs::symlink("/dev/null", root.join("etc/systemd/system/certctl.socket"))
            .unwrap();
        assert_eq!(may(), (false, false));
    }

    #[test]
    fn a_timer_that_is_installed_is_found() {
        for path in [
            "etc/systemd/system/certctl.timer",
            "usr/lib/systemd/system/certctl.timer",
            "lib/systemd/system/certctl.timer",
        ] {
            let root = tempfile::tempdir().unwrap();
            write(root.path(), path, "");
            assert!(!has_timer(root.path()), "{path}: systemd does not run");
            fs::create_dir_all(root.path().join("run/systemd/system")).unwrap();
            assert!(has_timer(root.path()), "{path}");
        }
    }

    #[test]
    fn the_user_of_the_service_is_read_from_its_unit_and_its_changes() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        assert_eq!(user_of_service(root), None);
        let unit = include_str!("../../../packaging/systemd/certctl.service");
        write(root, "usr/lib/systemd/system/certctl.service", unit);
        assert_eq!(user_of_service(root), Some(("certctl".to_owned(), false)));
        write(root, "etc/systemd/system/timers.target.wants/certctl.timer", "");
        assert_eq!(user_of_service(root), Some(("certctl".to_owned(), true)));
        let change = "etc/systemd/system/certctl.service.d/user.conf";
        write(root, change, "[Service]\n#User=other\nUser=acme\n");
        assert_eq!(user_of_service(root), Some(("acme".to_owned(), true)));
        for (change, user) in [("a", "first"), ("z", "last"), ("b", "second")] {
            let change = format!("etc/systemd/system/certctl.service.d/{change}.conf");
            write(root, &change, &format!("[Service]\nUser={user}\n"));
        }
        // systemd reads no others.
        write(root, "etc/systemd/system/certctl.service.d/zz.conf.old", "[Service]\nUser=old\n");
        assert_eq!(user_of_service(root), Some(("last".to_owned(), true)));
        let masked = root.join("etc/systemd/system/certctl.service");
        std::os::unix::fs::symlink("/dev/null", masked).unwrap();
        assert_eq!(user_of_service(root), None);
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
    fn a_timer_is_found_by_its_files() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let of_system = || Timer::of_system(root);
        assert_eq!(of_system(), Timer::Absent);
        let unit = write(root, "usr/lib/systemd/system/certctl.timer", "");
        assert_eq!(of_system(), Timer::Disabled(unit));
        let timer = write(root, "etc/systemd/system/timers.target.wants/certctl.timer", "");
        assert_eq!(of_system(), Timer::Enabled(timer));
        let of_user = || Timer::of_user(&root.join("home"));
        assert_eq!(of_user(), Timer::Absent);
        let unit = write(root, "home/systemd/user/certctl.timer", "");
        assert_eq!(of_user(), Timer::Disabled(unit.clone()));
        let timer = write(root, "home/systemd/user/timers.target.wants/certctl.timer", "");
        assert_eq!(of_user(), Timer::Enabled(timer.clone()));
        // Without systemd, nothing starts it, and a plist of launchd is none of its units.
        assert_eq!(of_user().under(true), of_user());
        assert_eq!(of_user().under(false), Timer::Idle(timer));
        assert_eq!(Timer::Disabled(unit.clone()).under(false), Timer::Idle(unit));
        let plist = || Timer::Enabled("/Library/LaunchDaemons/io.certctl.issue.plist".into());
        assert_eq!((plist().under(false), Timer::Absent.under(false)), (plist(), Timer::Absent));
    }
}
