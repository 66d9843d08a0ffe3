//! Schedulers of certctl on this host, as far as its own files show them: the systemd units of the
//! packages and of `timer print`, and the files that `timer print` names for cron and for launchd.
//!
//! Contract: read-only, and no program is started but `systemctl show`. Schedulers of others are not
//! looked for: that they run certctl is seen in the state, by what their runs leave.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Scheduler of the runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheduler {
    Timer(Units),
    /// A file of cron, or of launchd.
    File(PathBuf),
    /// Nothing of certctl's own.
    Absent,
}

impl Scheduler {
    /// The one of the host, or of this user alone. `as_root`: root acts as another user now,
    /// to which systemd answers over a bus alone, that a small host does not have.
    pub fn find(is_of_user: bool, as_root: bool) -> Self {
        let units = Units::read(is_of_user, as_root).filter(|units| units.timer != Timer::Absent);
        let mut files = FILES.iter().map(PathBuf::from);
        match units {
            Some(units) if units.timer != Timer::Disabled => Self::Timer(units),
            units => {
                let file = files.find(|file| !is_of_user && file.exists());
                let of_units = || units.map_or(Self::Absent, Self::Timer);
                file.map_or_else(of_units, Self::File)
            }
        }
    }
}

/// The state of the timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timer {
    /// It is not installed, or systemd does not say.
    #[default]
    Absent,
    Disabled,
    /// Enabled, and stopped until the next boot.
    Stopped,
    Active,
}

/// State of certctl's units in systemd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Units {
    pub timer: Timer,
    /// The first unit of the runs that the administrator masked: systemd refuses to start it.
    pub masked: Option<&'static str>,
    /// When the timer runs next, in systemd's words.
    pub next_run: Option<String>,
    pub last_run: Option<LastRun>,
    /// The user of the runs.
    pub user: Option<String>,
    /// True if the service has the right to listen on ports below 1024.
    pub may_open_ports: bool,
    /// True if systemd opens port 80 for the service.
    pub has_socket: bool,
}

/// The last run of the service since the host started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastRun {
    /// When it ended, in systemd's words.
    pub at: String,
    /// True if it ended by itself, and its exit code; else the signal that ended it.
    pub has_exited: bool,
    pub number: String,
    /// True if the unit that runs the hooks has failed.
    pub hooks_failed: bool,
}

impl LastRun {
    /// Returns whether it failed, or the unit of its hooks.
    pub fn has_failed(&self) -> bool {
        // As in `SuccessExitStatus=`.
        let is_well = self.has_exited && ["0", "75"].contains(&self.number.as_str());
        !is_well || self.hooks_failed
    }
}

impl Units {
    /// Reads the units of the host, or of this user alone; `None` where systemd does not run or
    /// answer.
    pub fn read(is_of_user: bool, as_root: bool) -> Option<Self> {
        let systemctl = Path::new("/usr/bin/systemctl");
        if !systemd_runs() || !systemctl.exists() {
            return None;
        }
        let mut command = Command::new(systemctl);
        if as_root {
            command.uid(0).gid(0);
        }
        command.args(is_of_user.then_some("--user")).arg("show").args(UNITS).arg(PROPERTIES);
        let answer = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        Some(Self::of_answer(&String::from_utf8_lossy(&answer.stdout)))
    }

    /// The answer has a paragraph for each unit, with a line for each property that it has.
    fn of_answer(answer: &str) -> Self {
        let paragraphs = answer.split("\n\n");
        let properties =
            paragraphs.map(|unit| unit.lines().filter_map(|line| line.split_once('=')).collect());
        let units: Vec<BTreeMap<&str, &str>> = properties.collect();
        let of = |unit: &str, property: &str| {
            let mut found = units.iter().filter(|found| found.get("Id") == Some(&unit));
            found.next().and_then(|found| found.get(property)).copied().unwrap_or_default()
        };
        let is_enabled = |unit| of(unit, "UnitFileState").starts_with("enabled");
        let timer = match of(TIMER, "LoadState") {
            "" | "not-found" => Timer::Absent,
            _ if !is_enabled(TIMER) => Timer::Disabled,
            _ if ["inactive", "failed", "deactivating"].contains(&of(TIMER, "ActiveState")) => {
                Timer::Stopped
            }
            _ => Timer::Active,
        };
        // A time has colons; else it is empty, or `n/a`.
        let time = |text: &str| text.contains(':').then(|| text.to_owned());
        Self {
            timer,
            masked: RUN_UNITS.into_iter().find(|unit| of(unit, "LoadState") == "masked"),
            next_run: time(of(TIMER, "NextElapseUSecRealtime")),
            last_run: time(of(SERVICE, "ExecMainExitTimestamp")).map(|at| LastRun {
                at,
                // As in `si_code`: 1 is an exit, all others are signals.
                has_exited: of(SERVICE, "ExecMainCode") == "1",
                number: of(SERVICE, "ExecMainStatus").to_owned(),
                hooks_failed: of(RELOAD, "ActiveState") == "failed",
            }),
            user: Some(of(SERVICE, "User").to_owned()).filter(|user| !user.is_empty()),
            may_open_ports: of(SERVICE, "AmbientCapabilities").contains("cap_net_bind_service"),
            has_socket: is_enabled(SOCKET),
        }
    }

    /// Returns whether the timer starts runs, now or from the next boot on.
    pub fn is_enabled(&self) -> bool {
        match self.timer {
            Timer::Stopped | Timer::Active => true,
            Timer::Absent | Timer::Disabled => false,
        }
    }

    /// Returns whether the service may listen on this port.
    pub fn may_listen(&self, port: u16) -> bool {
        self.may_open_ports || (self.has_socket && port == PORT_OF_SOCKET)
    }
}

/// Returns whether systemd runs this host, as sd_booted(3) has it.
pub fn systemd_runs() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

/// Returns whether systemd runs this host, and a package has put the unit of this name there.
pub fn has_packaged_unit(unit: &str) -> bool {
    systemd_runs() && FOLDERS.iter().skip(1).any(|folder| is_in(folder, unit))
}

fn is_in(folder: &str, unit: &str) -> bool {
    Path::new(folder).join(unit).symlink_metadata().is_ok()
}

/// The timer of the packages, and of `timer print`.
pub const TIMER: &str = "certctl.timer";
/// Its service.
pub const SERVICE: &str = "certctl.service";
/// The hooks of root.
pub const RELOAD: &str = "certctl-reload.service";
/// Port 80, for a service without the right to open it, where it is enabled.
const SOCKET: &str = "certctl.socket";
/// Its `ListenStream`.
const PORT_OF_SOCKET: u16 = 80;
/// File that `timer print` writes for cron.
pub const CRON: &str = "/etc/cron.d/certctl";
const FILES: &[&str] = &[CRON, "/Library/LaunchDaemons/io.certctl.issue.plist"];
const UNITS: [&str; 4] = [TIMER, SERVICE, RELOAD, SOCKET];
/// Units that a scheduled run needs, but for the port.
const RUN_UNITS: [&str; 3] = [TIMER, SERVICE, RELOAD];
const PROPERTIES: &str = "--property=Id,LoadState,UnitFileState,ActiveState,NextElapseUSecRealtime,\
                          ExecMainExitTimestamp,ExecMainCode,ExecMainStatus,User,AmbientCapabilities";
/// Where units of the system are: the administrator's first.
const FOLDERS: [&str; 3] =
    ["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = "Tue 2026-11-24 03:12:33 UTC";

    /// The answer for a timer and a service with these properties.
    fn units(timer: &str, service: &str) -> Units {
        let of = |unit: &str, text: &str| format!("Id={unit}\n{}\n", text.replace(' ', "\n"));
        let at = |text: &str| text.replace("AT", AT);
        let answer = [
            at(&of(TIMER, timer)),
            at(&of(SERVICE, service)),
            of(RELOAD, "LoadState=loaded ActiveState=inactive"),
            of(SOCKET, "LoadState=loaded UnitFileState=disabled"),
        ];
        Units::of_answer(&answer.join("\n"))
    }

    #[test]
    fn the_timer_is_what_systemd_says() {
        for (answer, timer) in [
            ("LoadState=not-found ActiveState=inactive", Timer::Absent),
            ("LoadState=loaded UnitFileState=disabled ActiveState=active", Timer::Disabled),
            ("LoadState=loaded UnitFileState=enabled ActiveState=inactive", Timer::Stopped),
            ("LoadState=loaded UnitFileState=enabled-runtime ActiveState=failed", Timer::Stopped),
            ("LoadState=loaded UnitFileState=enabled ActiveState=active", Timer::Active),
        ] {
            let found = units(answer, "");
            assert_eq!(found.timer, timer, "{answer}");
            assert_eq!(found.is_enabled(), answer.contains("=enabled"), "{answer}");
        }
        // Without a bus.
        assert_eq!(Units::of_answer(""), Units::default());
        let masked = units("LoadState=loaded UnitFileState=enabled", "LoadState=masked").masked;
        assert_eq!(masked, Some(SERVICE));
        for (next, is_known) in [("AT", true), ("", false), ("n/a", false), ("infinity", false)] {
            let found = units(&format!("NextElapseUSecRealtime={next}"), "").next_run;
            assert_eq!(found, is_known.then(|| AT.to_owned()), "{next}");
        }
    }

    #[test]
    fn the_last_run_is_what_systemd_says() {
        for (time, code, number, ended) in [
            ("AT", "1", "0", Some(false)),
            ("AT", "1", "75", Some(false)),
            ("AT", "1", "3", Some(true)),
            ("AT", "2", "9", Some(true)),
            ("", "0", "0", None),
            ("n/a", "0", "0", None),
        ] {
            let service =
                format!("ExecMainExitTimestamp={time} ExecMainCode={code} ExecMainStatus={number}");
            let found = units("", &service).last_run;
            assert_eq!(found.as_ref().map(LastRun::has_failed), ended, "{service}");
            assert!(found.is_none_or(|found| found.at == AT && found.number == number));
        }
        let last = LastRun {
            at: AT.to_owned(),
            has_exited: true,
            number: "0".to_owned(),
            hooks_failed: true,
        };
        assert!(last.has_failed());
    }

    #[test]
    fn the_service_may_listen_by_a_right_or_by_its_socket() {
        let may = |units: &Units| (units.may_listen(80), units.may_listen(402));
        let plain = units("", "User=certctl AmbientCapabilities=");
        assert_eq!((may(&plain), plain.user.as_deref()), ((false, false), Some("certctl")));
        let right = units("", "AmbientCapabilities=cap_chown,cap_net_bind_service");
        assert_eq!(may(&right), (true, true));
        assert_eq!(may(&Units { has_socket: true, ..plain }), (true, false));
    }
}
