//! The lines of crontabs, and of the scripts that cron runs hourly, daily, weekly and monthly, that
//! run certctl: their users and their folders.
//!
//! Contract: read-only, and no program is started but `crontab -l`. Flags and variables of a line
//! count as for every run; of a script that a crontab names, the defaults of its user are assumed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cli::environment::{Directory, Environment, Source};

/// A run that something starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownRun {
    /// The crontab, or the script; of one that goes on, its program.
    pub(crate) file: PathBuf,
    pub(crate) user: String,
    /// The number of the user.
    pub(crate) uid: u32,
    pub(crate) config: Directory,
    pub(crate) state: Directory,
}

impl KnownRun {
    /// Whether it reads the manifests of this folder.
    pub(crate) fn reads(&self, config: &Path) -> bool {
        is_same(&self.config.path, config)
    }

    /// Whether it uses this state, once it reads the same `config.toml`.
    pub(crate) fn uses(&self, state: &Directory) -> bool {
        let is_default = matches!(self.state.source, Source::Root | Source::Owner | Source::User);
        let is_configured = matches!(state.source, Source::Config { .. });
        is_same(&self.state.path, &state.path) || (is_default && is_configured)
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    one == other || real(one) == real(other)
}

/// A user that a line may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct User {
    name: String,
    uid: u32,
    home: PathBuf,
}

impl User {
    fn of_host(name: &str) -> Option<Self> {
        nix::unistd::User::from_name(name).ok().flatten().map(Self::from)
    }

    /// The one with this number, which may have no name in a container.
    pub(super) fn of_number(uid: u32) -> Self {
        let user = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid));
        let nameless = || Self { name: uid.to_string(), uid, home: PathBuf::from("/") };
        user.ok().flatten().map_or_else(nameless, Self::from)
    }

    fn own() -> Option<Self> {
        let user = nix::unistd::User::from_uid(nix::unistd::Uid::effective());
        user.ok().flatten().map(Self::from)
    }
}

impl From<nix::unistd::User> for User {
    fn from(user: nix::unistd::User) -> Self {
        Self { name: user.name, uid: user.uid.as_raw(), home: user.dir }
    }
}

/// The runs that the crontabs of a host have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Crontabs {
    pub(crate) runs: Vec<KnownRun>,
    /// Whether there are some that this user cannot read.
    pub(crate) has_unread: bool,
}

impl Crontabs {
    /// Those of this host. `as_root`: root acts as another user now.
    pub(crate) fn of_host(as_root: bool) -> Self {
        let own = || {
            let user = if as_root { User::of_host("root") } else { User::own() };
            Some((user?, own_crontab(as_root)?))
        };
        Self::read(Path::new("/"), &User::of_host, own)
    }

    /// `own`: this user and its own crontab, where the folder of all cannot be read.
    fn read(
        root: &Path,
        known: &dyn Fn(&str) -> Option<User>,
        own: impl FnOnce() -> Option<(User, String)>,
    ) -> Self {
        let mut found = Self::default();
        let system = [root.join("etc/crontab")];
        let drop_ins = fs::read_dir(root.join("etc/cron.d")).map(files).unwrap_or_default();
        for file in system.into_iter().chain(drop_ins) {
            let text = text(&file).unwrap_or_default();
            found.runs.extend(runs(&text, &file, None, known));
        }
        if let Some(user) = known("root") {
            for file in SCRIPTS.iter().flat_map(|folder| scripts(&root.join(folder))) {
                let text = text(&file).unwrap_or_default();
                found.runs.extend(runs_of_script(&text, &file, &user));
            }
        }
        let (mut seen, mut closed) = (BTreeSet::new(), None);
        for spool in SPOOLS.iter().map(|spool| root.join(spool)) {
            if !seen.insert(spool.canonicalize().unwrap_or_else(|_| spool.clone())) {
                continue;
            }
            match fs::read_dir(&spool) {
                Ok(entries) => {
                    for file in files(entries) {
                        let user = file.file_name().and_then(|name| known(name.to_str()?));
                        let (Some(user), Some(text)) = (user, text(&file)) else { continue };
                        found.runs.extend(runs(&text, &file, Some(&user), known));
                    }
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(_) => closed = Some(spool),
            }
        }
        if let Some(spool) = closed {
            found.has_unread = true;
            if let Some((user, text)) = own() {
                found.runs.extend(runs(&text, &spool.join(&user.name), Some(&user), known));
            }
        }
        found
    }
}

/// The files of a folder, by name.
fn files(entries: fs::ReadDir) -> Vec<PathBuf> {
    let paths = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
    let mut paths: Vec<PathBuf> = paths.collect();
    paths.sort();
    paths
}

/// The files of a folder that `run-parts` runs.
fn scripts(folder: &Path) -> Vec<PathBuf> {
    let is_part = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or(".");
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        is_name && path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
    };
    fs::read_dir(folder).map(files).unwrap_or_default().into_iter().filter(is_part).collect()
}

/// The text of a file, unless it is longer than a crontab or a unit.
pub(super) fn text(path: &Path) -> Option<String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MOST_READ).read_to_string(&mut text));
    read.ok().map(|_| text)
}

/// The crontab of this user, which only this program may read.
fn own_crontab(as_root: bool) -> Option<String> {
    let program =
        ["/usr/bin/crontab", "/bin/crontab"].into_iter().find(|path| Path::new(path).exists());
    let mut command = Command::new(program?);
    if as_root {
        command.uid(0).gid(0);
    }
    let answer = command.arg("-l").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(answer.stdout).ok()
}

/// The runs of certctl in a crontab: the one of `owner`, or one whose lines each name their user.
fn runs(
    text: &str,
    file: &Path,
    owner: Option<&User>,
    known: &dyn Fn(&str) -> Option<User>,
) -> Vec<KnownRun> {
    let (mut variables, mut runs) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        if line.starts_with(|c: char| c.is_ascii_alphabetic() || "_\"'".contains(c)) {
            variables.extend(line.split_once('=').map(|(name, value)| (bare(name), bare(value))));
            continue;
        }
        let Some(mut words) = behind_the_time(line) else { continue };
        let user = match owner {
            Some(owner) => Some(owner.clone()),
            None => words.next().and_then(known),
        };
        let words: Vec<&str> = words.collect();
        // A user that does not exist runs nothing.
        let Some(user) = user else { continue };
        runs.extend(run_of(&words, file, user, &variables));
    }
    runs
}

/// The words behind the time of a line; `None` for a comment, and for what runs at boot only.
fn behind_the_time(line: &str) -> Option<std::str::SplitWhitespace<'_>> {
    let mut words = line.split_whitespace();
    let first = words.next()?;
    if first.starts_with('#') || first == "@reboot" {
        return None;
    }
    if !first.starts_with('@') {
        words.nth(3)?;
    }
    Some(words)
}

/// The run that a command is, if it is one.
pub(super) fn run_of(
    words: &[&str],
    file: &Path,
    user: User,
    variables: &[(String, String)],
) -> Option<KnownRun> {
    let is_named = words.iter().any(is_program);
    let command = match command_of(words) {
        Some(command) => command,
        // Another verb, such as `status`.
        None if is_named => return None,
        // A script.
        None if words.iter().any(|word| word.contains("certctl")) => words,
        None => return None,
    };
    let before = command.iter().take_while(|word| is_named && !is_program(word));
    let before = before.filter_map(|word| word.split_once('='));
    let before = before.map(|(name, value)| (bare(name), bare(value)));
    let variables: Vec<(String, String)> = variables.iter().cloned().chain(before).collect();
    let environment = Environment::of_run(user.uid, &user.home, &variables);
    let flag = |name: &str| flag(command, name);
    Some(KnownRun {
        config: environment.config_dir(flag("--config-dir").as_deref()).ok()?,
        state: environment.state_dir(flag("--state-dir").as_deref()).ok()?,
        file: file.to_owned(),
        user: user.name,
        uid: user.uid,
    })
}

/// The runs of certctl in a script of the shell.
fn runs_of_script(text: &str, file: &Path, user: &User) -> Vec<KnownRun> {
    let (mut variables, mut runs) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if command_of(&words).is_some() {
            runs.extend(run_of(&words, file, user.clone(), &variables));
        } else {
            let set = words.iter().filter(|word| **word != "export");
            let set = set.map_while(|word| word.split_once('='));
            variables.extend(set.map(|(name, value)| (bare(name), bare(value))));
        }
    }
    runs
}

/// The command of a line that renews.
fn command_of<'l>(words: &'l [&'l str]) -> Option<&'l [&'l str]> {
    let ends = |word: &&str| ["&&", "||", "|", ";", "&"].contains(word);
    let renews = |command: &&[&str]| {
        let words = command.iter().skip_while(|word| !is_program(word));
        words.map(|word| word.trim_end_matches(';')).any(|word| VERBS.contains(&word))
    };
    words.split(ends).find(renews)
}

fn is_program(word: &&str) -> bool {
    Path::new(word).file_name().is_some_and(|name| name == "certctl")
}

/// The value of a flag.
fn flag(command: &[&str], name: &str) -> Option<PathBuf> {
    let mut words = command.iter();
    while let Some(word) = words.next() {
        let value = match word.strip_prefix(name) {
            Some("") => words.next().copied(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        if let Some(value) = value {
            return Some(PathBuf::from(bare(value)));
        }
    }
    None
}

/// Without the blanks and quotes around it.
fn bare(word: &str) -> String {
    word.trim().trim_matches(['"', '\'']).to_owned()
}

/// The verbs that renew.
const VERBS: &[&str] = &["issue", "renew", "run"];
/// Where the scripts are that cron or anacron runs as root.
const SCRIPTS: &[&str] =
    &["etc/cron.hourly", "etc/cron.daily", "etc/cron.weekly", "etc/cron.monthly"];
/// Where the crontabs of users are, each called as its user.
const SPOOLS: &[&str] = &[
    "var/spool/cron/crontabs",
    "var/spool/cron",
    "etc/crontabs",
    "var/cron/tabs",
    "usr/lib/cron/tabs",
];
/// More than a crontab has, in bytes.
const MOST_READ: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn known(name: &str) -> Option<User> {
        let (uid, home) = match name {
            "root" => (0, "/root"),
            "bob" => (4_200_001, "/home/bob"),
            _ => return None,
        };
        Some(User { name: name.to_owned(), uid, home: home.into() })
    }

    /// Users with their folders of manifests and state.
    fn found(text: &str, owner: Option<&str>) -> Vec<(String, String, String)> {
        let owner = owner.and_then(known);
        let found = runs(text, Path::new("/etc/cron.d/certctl"), owner.as_ref(), &known);
        let shown = |found: Directory| found.path.display().to_string();
        found.into_iter().map(|run| (run.user, shown(run.config), shown(run.state))).collect()
    }

    #[test]
    fn a_line_is_a_run_of_its_user_with_its_folders() {
        let run = |user: &str, config: &str, state: &str| {
            vec![(user.to_owned(), config.to_owned(), state.to_owned())]
        };
        let of_root = || run("root", "/etc/certctl", "/var/lib/certctl");
        let of_bob = || run("bob", "/home/bob/.config/certctl", "/home/bob/.local/state/certctl");
        for (text, owner, expected) in [
            ("7 * * * * root /usr/bin/certctl issue -q", None, of_root()),
            ("7 * * * * certctl issue -q", Some("root"), of_root()),
            ("@hourly certctl issue", Some("bob"), of_bob()),
            ("7 * * * * bob certctl issue -q", None, of_bob()),
            ("7 * * * * bob sh /usr/local/sbin/certctl-cron", None, of_bob()),
            ("7 * * * * bob cd / && flock -n /run/l certctl issue; true", None, of_bob()),
            (
                "7 * * * * root certctl issue -q --config-dir=/srv/c --state-dir '/srv/s'",
                None,
                run("root", "/srv/c", "/srv/s"),
            ),
            (
                "CERTCTL_CONFIG_DIR = \"/srv/c\"\n7 * * * * root CERTCTL_STATE_DIR=/srv/s certctl issue",
                None,
                run("root", "/srv/c", "/srv/s"),
            ),
            (
                "XDG_STATE_HOME=/srv\n7 * * * * bob certctl issue",
                None,
                run("bob", "/home/bob/.config/certctl", "/srv/certctl"),
            ),
            ("# 7 * * * * root certctl issue", None, vec![]),
            ("@reboot root certctl issue", None, vec![]),
            ("7 * * * * root certctl status -o prometheus", None, vec![]),
            ("7 * * * * no-such-user certctl issue", None, vec![]),
            ("7 * * * * root backup", None, vec![]),
            ("7 * *", None, vec![]),
        ] {
            if cfg!(target_os = "linux") {
                assert_eq!(found(text, owner), expected, "{text}");
            }
        }
    }

    #[test]
    fn a_script_that_cron_runs_at_intervals_is_a_run_of_root() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let write = |path: &str, text: &str, mode: u32| {
            let path = testing::write(root, path, &format!("#!/bin/sh\n{text}\n"));
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        write(
            "etc/cron.hourly/certctl",
            "[ -x /usr/bin/certctl ] || exit 0\nexec certctl issue -q",
            0o755,
        );
        write(
            "etc/cron.daily/a-b_C9",
            "export CERTCTL_STATE_DIR=/srv/s\ncertctl issue --config-dir /srv/c",
            0o700,
        );
        write(
            "etc/cron.weekly/renew",
            "if ! /usr/local/bin/certctl renew --all; then exit 1; fi",
            0o755,
        );
        write("etc/cron.monthly/one", "flock -n /run/l certctl issue", 0o755);
        // What run-parts does not run, and what renews nothing.
        write("etc/cron.daily/certctl.sh", "certctl issue", 0o755);
        write("etc/cron.daily/off", "certctl issue", 0o644);
        write("etc/cron.yearly/certctl", "certctl issue", 0o755);
        write("etc/cron.weekly/backup", "# certctl issue\ntar cf /b /var/lib/certctl", 0o755);
        write("etc/cron.weekly/state", ". /etc/certctl/env\ncertctl status --exit-code", 0o755);
        let own = || None;
        let found = Crontabs::read(root, &known, own).runs;
        let shown = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
        let found: Vec<[String; 4]> = found
            .iter()
            .map(|run| {
                [
                    shown(&run.file),
                    run.user.clone(),
                    shown(&run.config.path),
                    shown(&run.state.path),
                ]
            })
            .collect();
        let usual = ["root", "/etc/certctl", "/var/lib/certctl"];
        let of = |file: &str, [user, config, state]: [&str; 3]| {
            [file, user, config, state].map(str::to_owned)
        };
        let expected = [
            of("etc/cron.hourly/certctl", usual),
            of("etc/cron.daily/a-b_C9", ["root", "/srv/c", "/srv/s"]),
            of("etc/cron.weekly/renew", usual),
            of("etc/cron.monthly/one", usual),
        ];
        if cfg!(target_os = "linux") {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn the_state_of_config_toml_is_that_of_a_run_that_names_none() {
        let of = |line: &str| runs(line, Path::new("/c"), known("root").as_ref(), &known).remove(0);
        let plain = of("7 * * * * certctl issue");
        let named = of("7 * * * * certctl issue --state-dir=/srv/s");
        let state = |path: &str, source| Directory { path: path.into(), source };
        for (run, state, uses) in [
            (&plain, state("/var/lib/certctl", Source::Root), true),
            (&plain, state("/srv/t", Source::Config { line: 1 }), true),
            (&plain, state("/srv/s", Source::Flag("--state-dir")), false),
            (&named, state("/srv/s", Source::Flag("--state-dir")), true),
            (&named, state("/srv/t", Source::Config { line: 1 }), false),
        ] {
            assert_eq!(run.uses(&state), uses, "{run:?} {state:?}");
        }
        assert!(plain.reads(Path::new("/etc/certctl")) && !plain.reads(Path::new("/srv")));
    }

    #[test]
    fn all_crontabs_of_a_host_are_read_as_far_as_this_user_may() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let write = |path: &str, text: &str| drop(testing::write(root, path, text));
        let read = || {
            let own = || Some((known("bob")?, "7 * * * * certctl issue".to_owned()));
            let Crontabs { runs, has_unread } = Crontabs::read(root, &known, own);
            let of = |run: KnownRun| (run.file.strip_prefix(root).unwrap().to_owned(), run.user);
            (runs.into_iter().map(of).collect::<Vec<_>>(), has_unread)
        };
        assert_eq!(read(), (vec![], false));
        write("etc/crontab", "# certctl is elsewhere\n1 2 * * * root backup\n");
        write("etc/cron.d/web", "7 * * * * bob certctl issue -q\n");
        write("var/spool/cron/crontabs/root", "7 * * * * certctl issue\n");
        let of = |file: &str, user: &str| (PathBuf::from(file), user.to_owned());
        let web = || of("etc/cron.d/web", "bob");
        let all = vec![web(), of("var/spool/cron/crontabs/root", "root")];
        assert_eq!(read(), (all, false));
        // Root reads a folder whatever its mode: a file in its place cannot be listed by anyone.
        fs::remove_dir_all(root.join("var/spool/cron/crontabs")).unwrap();
        write("var/spool/cron/crontabs", "");
        fs::set_permissions(root.join("etc"), fs::Permissions::from_mode(0o755)).unwrap();
        let own = of("var/spool/cron/crontabs/bob", "bob");
        assert_eq!(read(), (vec![web(), own], true));
    }
}
