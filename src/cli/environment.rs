//! The environment and the directories, each with where it comes from.
//!
//! Contract: this is the one place that reads environment variables, once, at the start; what
//! follows is pure. Precedence: flag > `CERTCTL_*` > systemd's `STATE_DIRECTORY`,
//! `CONFIGURATION_DIRECTORY`, `CREDENTIALS_DIRECTORY` > `config.toml` > the table in
//! `docs/src/reference/files.md`. A variable that is empty counts as unset.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use thiserror::Error;

/// Environment at the start of the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    is_root: bool,
    /// True if the user of this process owns the system's state, as a service's user does.
    is_owner: bool,
    user: Option<UserDirectories>,
    configured_state: Option<(PathBuf, usize)>,
}

/// The user's own directories, as the platform has them; `None` without a home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserDirectories {
    /// `$XDG_CONFIG_HOME/certctl`.
    pub config: PathBuf,
    /// `$XDG_STATE_HOME/certctl`, or the local data directory where there is no state directory.
    pub state: PathBuf,
}

impl Environment {
    /// Reads the environment of this process.
    pub fn of_process() -> Self {
        let variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        // Without HOME the platform would read the user database and find `/` or a wrong home: a
        // service without HOME has to name its directories.
        let has_home = variables.get(OsStr::new("HOME")).is_some_and(|home| !home.is_empty());
        let user = directories::ProjectDirs::from("", "", "certctl").filter(|_| has_home).map(
            |directories| UserDirectories {
                config: directories.config_dir().to_owned(),
                state: directories
                    .state_dir()
                    .unwrap_or_else(|| directories.data_local_dir())
                    .to_owned(),
            },
        );
        let us = rustix::process::geteuid();
        let is_owner = owns_state(us.as_raw());
        Self { variables, is_root: us.is_root(), is_owner, user, configured_state: None }
    }

    /// An environment of these variables, of a user without a home.
    pub fn from_pairs(pairs: &[(&str, &str)]) -> Self {
        let variables = pairs.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { variables, ..Self::default() }
    }

    /// Returns whether this process is root's.
    pub fn is_root(&self) -> bool {
        self.is_root
    }

    /// The same, with the state directory that `config.toml` names in this line.
    #[must_use]
    pub fn with_configured_state(self, path: PathBuf, line: usize) -> Self {
        Self { configured_state: Some((path, line)), ..self }
    }

    /// A variable, unless it is unset or empty.
    pub fn value(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str).filter(|v| !v.is_empty())
    }

    /// The zone of this host, or of TZ; UTC where it has none.
    pub fn zone(&self) -> TimeZone {
        // jiff finds a zone by its name, and lists all there are for it.
        let is_named = self.value("TZ").is_some();
        let own = fs::read("/etc/localtime").ok().filter(|_| !is_named);
        let own = own.and_then(|data| TimeZone::tzif("/etc/localtime", &data).ok());
        let zone = own.unwrap_or_else(TimeZone::system);
        if zone.is_unknown() { TimeZone::UTC } else { zone }
    }

    /// Returns whether a variable is set, but to nothing.
    pub fn is_blank(&self, name: &OsStr) -> bool {
        self.variables.get(name).is_some_and(|value| value.is_empty())
    }

    /// Returns whether the locale is one of UTF-8, so that more than ASCII can be shown.
    pub fn is_utf8(&self) -> bool {
        let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| self.value(name));
        let locale = set.map(|value| value.to_string_lossy().to_ascii_lowercase());
        locale.is_some_and(|locale| locale.contains("utf-8") || locale.contains("utf8"))
    }

    /// Returns whether the terminal, if there is one, knows control sequences (ECMA-48).
    pub fn has_controls(&self) -> bool {
        self.value("TERM").is_some_and(|value| value != "dumb")
    }

    /// The manifests named by `CERTCTL_FILES`, a list of paths as `PATH` is one.
    pub fn files(&self) -> Vec<PathBuf> {
        let paths = self.value("CERTCTL_FILES").map(|list| std::env::split_paths(list).collect());
        let paths: Vec<PathBuf> = paths.unwrap_or_default();
        paths.into_iter().filter(|path| !path.as_os_str().is_empty()).collect()
    }

    /// The directory of manifests, secrets and hooks.
    pub fn config_dir(&self, flag: Option<&Path>) -> Result<Directory, EnvironmentError> {
        self.resolve(&CONFIG, flag, None)
    }

    /// The directory of manifests where nothing names another.
    pub fn usual_config_dir(&self) -> Option<PathBuf> {
        let is_of_system = self.is_root || self.is_owner;
        let of_user = || self.user.as_ref().map(|user| user.config.clone());
        if is_of_system { Some(SYSTEM_CONFIG.into()) } else { of_user() }
    }

    /// Where state is kept.
    pub fn state_dir(&self, flag: Option<&Path>) -> Result<Directory, EnvironmentError> {
        self.resolve(&STATE, flag, self.configured_state.as_ref())
    }

    /// systemd's credentials, when the service has any.
    pub fn credentials_dir(&self) -> Option<Directory> {
        let path = self.value(CREDENTIALS)?;
        Some(Directory { path: path.into(), source: Source::Systemd(CREDENTIALS) })
    }

    fn resolve(
        &self,
        which: &Which,
        flag: Option<&Path>,
        configured: Option<&(PathBuf, usize)>,
    ) -> Result<Directory, EnvironmentError> {
        if let Some(path) = flag {
            return Ok(Directory { path: path.to_owned(), source: Source::Flag(which.flag) });
        }
        if let Some(path) = self.value(which.variable) {
            let source = Source::Variable(which.variable);
            return Ok(Directory { path: path.into(), source });
        }
        // systemd separates several directories with colons; the first one is the unit's own.
        let listed = self.value(which.systemd).map(|list| std::env::split_paths(list).next());
        if let Some(path) = listed.flatten() {
            return Ok(Directory { path, source: Source::Systemd(which.systemd) });
        }
        if let Some((path, line)) = configured {
            return Ok(Directory { path: path.clone(), source: Source::Config { line: *line } });
        }
        if self.is_root {
            return Ok(Directory { path: which.root.into(), source: Source::Root });
        }
        if self.is_owner {
            return Ok(Directory { path: which.root.into(), source: Source::Owner });
        }
        match &self.user {
            Some(user) => Ok(Directory { path: (which.user)(user), source: Source::User }),
            None => Err(EnvironmentError::NoHome {
                what: which.what,
                flag: which.flag,
                variable: which.variable,
            }),
        }
    }
}

/// Returns whether the system's state belongs to the user of this number.
fn owns_state(user: u32) -> bool {
    fs::metadata(STATE.root).is_ok_and(|found| found.uid() == user)
}

/// A directory and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// The path, as it was named.
    pub path: PathBuf,
    pub source: Source,
}

/// Where a directory's path comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A flag.
    Flag(&'static str),
    /// A variable of ours.
    Variable(&'static str),
    /// A variable of systemd's.
    Systemd(&'static str),
    /// `config.toml`.
    Config {
        /// The line, counted from 1.
        line: usize,
    },
    /// The default for root.
    Root,
    /// The same folders, for the user who owns root's default state: what that user types is about
    /// the certificates that the service renews as that user.
    Owner,
    /// The default for users.
    User,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "flag {flag}"),
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::Systemd(name) => write!(f, "systemd {name}"),
            Self::Config { line } => write!(f, "config.toml:{line}"),
            Self::Root => f.write_str("default for root"),
            Self::Owner => write!(f, "default for the owner of {}", STATE.root),
            Self::User => f.write_str("default for users"),
        }
    }
}

/// Reason for an unknown directory.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EnvironmentError {
    /// There is no home to derive it from.
    #[error("no {what} directory: HOME is not set, and neither is {flag} nor {variable}")]
    NoHome {
        /// `config` or `state`.
        what: &'static str,
        /// The flag that would name it.
        flag: &'static str,
        /// The variable that would name it.
        variable: &'static str,
    },
}

/// Row of the precedence table.
struct Which {
    what: &'static str,
    flag: &'static str,
    variable: &'static str,
    systemd: &'static str,
    root: &'static str,
    user: fn(&UserDirectories) -> PathBuf,
}

/// The manifests of the scheduled runs of a host.
pub const SYSTEM_CONFIG: &str = "/etc/certctl";

const CONFIG: Which = Which {
    what: "config",
    flag: "--config-dir",
    variable: "CERTCTL_CONFIG_DIR",
    systemd: "CONFIGURATION_DIRECTORY",
    root: SYSTEM_CONFIG,
    user: |user| user.config.clone(),
};

/// The state of the scheduled runs of a host.
pub const SYSTEM_STATE: &str = "/var/lib/certctl";

const STATE: Which = Which {
    what: "state",
    flag: "--state-dir",
    variable: "CERTCTL_STATE_DIR",
    systemd: "STATE_DIRECTORY",
    root: SYSTEM_STATE,
    user: |user| user.state.clone(),
};

const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(path: &str, source: Source) -> Directory {
        Directory { path: path.into(), source }
    }

    #[test]
    fn a_directory_comes_from_the_strongest_source() {
        let ours = ("CERTCTL_STATE_DIR", "/ours");
        let systemd = ("STATE_DIRECTORY", "/var/lib/one:/var/lib/two");
        for (flag, variables, is_root, found) in [
            (Some("flag"), vec![ours, systemd], true, directory("flag", Source::Flag(STATE.flag))),
            (None, vec![ours, systemd], true, directory("/ours", Source::Variable(STATE.variable))),
            (None, vec![systemd], true, directory("/var/lib/one", Source::Systemd(STATE.systemd))),
            (
                None,
                vec![("CERTCTL_STATE_DIR", ""), ("STATE_DIRECTORY", "")],
                true,
                directory("/var/lib/certctl", Source::Root),
            ),
            (None, vec![], false, directory("/home/u/.local/state/certctl", Source::User)),
        ] {
            let environment = Environment {
                is_root,
                user: Some(UserDirectories {
                    config: "/home/u/.config/certctl".into(),
                    state: "/home/u/.local/state/certctl".into(),
                }),
                ..Environment::from_pairs(&variables)
            };
            assert_eq!(environment.state_dir(flag.map(Path::new)), Ok(found), "{variables:?}");
        }
    }

    #[test]
    fn the_owner_of_the_systems_state_has_the_folders_of_root() {
        let user = Some(UserDirectories { config: "/home/u/c".into(), state: "/home/u/s".into() });
        let owner = Environment { is_owner: true, user, ..Environment::default() };
        let found = [owner.config_dir(None), owner.state_dir(None)];
        let wanted = ["/etc/certctl", "/var/lib/certctl"];
        assert_eq!(found, wanted.map(|path| Ok(directory(path, Source::Owner))));
        assert_eq!(Source::Owner.to_string(), "default for the owner of /var/lib/certctl");
        // What else names a folder is stronger, as it is for root; root remains root.
        let named = owner.clone().with_configured_state("/file".into(), 3);
        let found = named.state_dir(None);
        assert_eq!(found, Ok(directory("/file", Source::Config { line: 3 })));
        let root = Environment { is_root: true, ..owner };
        assert_eq!(root.state_dir(None), Ok(directory("/var/lib/certctl", Source::Root)));
    }

    #[test]
    fn the_config_file_is_weaker_than_systemd_and_stronger_than_the_table() {
        let systemd = Environment::from_pairs(&[("STATE_DIRECTORY", "/systemd")]);
        for (environment, found) in [
            (systemd, directory("/systemd", Source::Systemd(STATE.systemd))),
            (Environment::default(), directory("/file", Source::Config { line: 3 })),
        ] {
            let root = Environment { is_root: true, ..environment };
            let root = root.with_configured_state("/file".into(), 3);
            assert_eq!(root.state_dir(None), Ok(found));
            assert_eq!(root.config_dir(None), Ok(directory("/etc/certctl", Source::Root)));
        }
        assert_eq!(Source::Config { line: 3 }.to_string(), "config.toml:3");
    }

    #[test]
    fn a_missing_home_is_an_error_only_when_it_is_needed() {
        let homeless = Environment::from_pairs(&[("CERTCTL_STATE_DIR", "/s")]);
        assert_eq!(
            homeless.config_dir(None).unwrap_err().to_string(),
            "no config directory: HOME is not set, and neither is --config-dir nor \
             CERTCTL_CONFIG_DIR"
        );
        assert_eq!(homeless.state_dir(None).unwrap().path, Path::new("/s"));
        let root = Environment { is_root: true, ..homeless };
        assert_eq!(root.config_dir(None), Ok(directory("/etc/certctl", Source::Root)));
    }

    #[test]
    fn the_strongest_variable_of_the_locale_says_whether_it_is_utf_8() {
        for (variables, wanted) in [
            (vec![], false),
            (vec![("LANG", "C")], false),
            (vec![("LANG", "de_DE.UTF-8")], true),
            (vec![("LANG", "de_DE.UTF-8"), ("LC_ALL", "POSIX")], false),
            (vec![("LANG", "C"), ("LC_CTYPE", "C.utf8")], true),
            (vec![("LC_ALL", ""), ("LC_CTYPE", "en_US.ISO-8859-1"), ("LANG", "C.UTF-8")], false),
        ] {
            assert_eq!(Environment::from_pairs(&variables).is_utf8(), wanted, "{variables:?}");
        }
    }

    #[test]
    fn files_and_credentials_come_from_their_variables() {
        let environment = Environment::from_pairs(&[
            ("CERTCTL_FILES", "a.yaml::/b"),
            ("CREDENTIALS_DIRECTORY", "/run/credentials/certctl.service"),
        ]);
        assert_eq!(environment.files(), [PathBuf::from("a.yaml"), PathBuf::from("/b")]);
        assert_eq!(
            environment.credentials_dir(),
            Some(directory("/run/credentials/certctl.service", Source::Systemd(CREDENTIALS)))
        );
        assert_eq!(Environment::default().credentials_dir(), None);
    }
}
