//! The folders of manifests and state, and what the commands that certctl suggests need to read them.

use std::path::{Path, PathBuf};

use clap::parser::ValueSource;

use crate::cli::environment::{SYSTEM_STATE, Source};
use crate::cli::{CliError, Directory, Hint, Level, SYSTEM_CONFIG, Shell, escape};
use crate::trust::quoted;

/// certctl as root, who may read what this user may not, and acts as the owner of the state. `verb`
/// with a blank before it.
pub(super) fn as_root(shell: &Shell, verb: &str) -> String {
    // sudo does not pass variables on.
    let folders = folders_of(shell, |source| matches!(source, Source::Variable(_)));
    sudo(verb) + &typed_flags(folders)
}

/// The error whose hint is the same call by sudo, with the folders that sudo does not learn from variables.
pub(super) fn with_variables(error: CliError, shell: &Shell) -> CliError {
    let Some(Hint::Again(words)) = &error.hint else { return error };
    let named = typed_flags(folders_of(shell, |source| matches!(source, Source::Variable(_))));
    let and = if named.is_empty() { "" } else { " and" };
    CliError { hint: Some(Hint::Again([words, and, &named].concat())), ..error }
}

/// The same with the folders of root. `verb` with a blank before it.
pub(super) fn sudo(verb: &str) -> String {
    format!("sudo {}{verb}", program())
}

/// A command of certctl that reads the manifests in `config`, another folder than the usual one: with a
/// state of its own, unless one was named. `verb` with a blank before it.
pub(super) fn elsewhere(shell: &Shell, verb: &str, config: &Path) -> String {
    let named = folders_of(shell, |source| matches!(source, Source::Flag(_))).into_iter();
    let named = named.filter(|(flag, _)| *flag != CONFIG_FLAG);
    let own = own_state(shell, config).map(|state| (STATE_FLAG, state));
    let folders = [(CONFIG_FLAG, config.to_owned())].into_iter().chain(own).chain(named);
    format!("{PROGRAM}{verb}{}", typed_flags(folders))
}

/// The state that [`elsewhere`] gives to the manifests of another folder; `None` where one was named.
pub(super) fn own_state(shell: &Shell, config: &Path) -> Option<PathBuf> {
    let state = shell.environment.state_dir(shell.global.state_dir.as_deref());
    state.is_ok_and(|state| is_usual(&state)).then(|| state_beside(config))
}

/// Ends the call: says which of its flags the commands that it has printed need to read the same files
/// and folders.
pub(super) fn print_typed(shell: &mut Shell) {
    let is_typed = shell.matches.value_source("filename") == Some(ValueSource::CommandLine);
    let named = shell.global.filename.iter().filter(|path| is_typed && **path != Path::new("-"));
    let files = named.map(|path| ("-f", path.clone()));
    let folders = folders_of(shell, |source| matches!(source, Source::Flag(_)));
    let flags = typed_flags(files.chain(folders));
    if !flags.is_empty() && shell.output.has_named_commands() {
        shell.output.talk(Level::Info, format!("add to these commands:{flags}"));
    }
}

/// A state for manifests that are not in the usual folder: what is in the usual state is none of
/// theirs.
fn state_beside(config: &Path) -> PathBuf {
    let whole = || config.canonicalize().ok();
    let named = if config.file_name().is_some() { Some(config.to_owned()) } else { whole() };
    let named = named.as_deref().and_then(|path| Some((path, path.file_name()?)));
    named.map_or_else(
        || config.join("state"),
        |(path, name)| path.with_file_name(format!("{}-state", name.to_string_lossy())),
    )
}

/// Returns whether nothing that was typed names this state.
fn is_usual(state: &Directory) -> bool {
    match state.source {
        Source::Root | Source::Owner | Source::User | Source::Config { .. } => true,
        Source::Flag(_) | Source::Variable(_) | Source::Systemd(_) => false,
    }
}

/// Says which state is used, to a person who named the folder of manifests only and may expect
/// that this chooses the state, too.
pub(super) fn print_state(shell: &mut Shell) {
    let Shell { environment, global, .. } = &*shell;
    let config = environment.config_dir(global.config_dir.as_deref());
    let state = environment.state_dir(global.state_dir.as_deref());
    let (Ok(config), Ok(state)) = (config, state) else { return };
    let usual = environment.usual_config_dir();
    if shell.output.can_ask()
        && let Some(text) = of_other_manifests(&config, &state, usual.as_deref())
    {
        shell.output.talk(Level::Info, &text);
    }
}

/// Warning about the usual state that is used for manifests of another folder than the usual one.
fn of_other_manifests(
    config: &Directory,
    state: &Directory,
    usual: Option<&Path>,
) -> Option<String> {
    let is_named = matches!(config.source, Source::Flag(_) | Source::Variable(_));
    let is_other = is_named && usual != Some(config.path.as_path());
    (is_other && is_usual(state)).then(|| {
        let state = escape(&state.path.to_string_lossy()).into_owned();
        format!("the state stays in {state}; to use another folder, set --state-dir")
    })
}

/// This program, as sudo finds it.
fn program() -> String {
    let name = || "certctl".to_owned();
    std::env::current_exe().map_or_else(|_| name(), |path| called(&path, SEARCHED))
}

/// A program by its name, if sudo finds it in one of these folders, else by its path.
fn called(path: &Path, searched: &[&str]) -> String {
    let is_it = |folder: &&str| {
        let found = Path::new(folder).join("certctl");
        path.canonicalize().is_ok_and(|path| found.canonicalize().is_ok_and(|one| one == path))
    };
    if searched.iter().any(is_it) { "certctl".to_owned() } else { quoted(path) }
}

/// Where sudo usually looks for programs, whatever PATH its user has.
pub(super) const SEARCHED: &[&str] =
    &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Flags with their folders, as they are typed: a blank before each.
fn typed_flags(folders: impl IntoIterator<Item = (&'static str, PathBuf)>) -> String {
    folders.into_iter().fold(String::new(), |flags, (flag, path)| {
        [&flags, " ", flag, " ", &quoted(&path)].concat()
    })
}

/// The folders that come from such a source, each with its flag.
fn folders_of(shell: &Shell, is_meant: fn(Source) -> bool) -> Vec<(&'static str, PathBuf)> {
    let (environment, global) = (&shell.environment, &shell.global);
    let folders = [
        (CONFIG_FLAG, environment.config_dir(global.config_dir.as_deref())),
        (STATE_FLAG, environment.state_dir(global.state_dir.as_deref())),
    ];
    let folders = folders.into_iter().filter_map(|(flag, found)| {
        let found = found.ok().filter(|found| is_meant(found.source))?;
        Some((flag, found.path))
    });
    folders.collect()
}

const PROGRAM: &str = "certctl";
const CONFIG_FLAG: &str = "--config-dir";
const STATE_FLAG: &str = "--state-dir";

/// A folder of the scheduled runs of this host, where the commands of this user read the user's own
/// instead.
pub(super) fn unread(shell: &Shell) -> Option<&'static str> {
    let (environment, global) = (&shell.environment, &shell.global);
    let config = environment.config_dir(global.config_dir.as_deref()).ok()?;
    [SYSTEM_CONFIG, SYSTEM_STATE].into_iter().find(|path| is_unread(&config, Path::new(path)))
}

fn is_unread(config: &Directory, of_system: &Path) -> bool {
    config.source == Source::User && of_system.exists()
}

/// The error of what was not found, with where else it may be: that helps more than what helps where
/// all has been read.
pub(super) fn with_unread(error: CliError, unread: Option<&str>) -> CliError {
    match unread.filter(|_| error.is_absence) {
        Some(folder) => {
            let words = format!(", for the manifests in {folder}");
            CliError { hint: Some(Hint::Again(words)), ..error }
        }
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folders_of_the_host_are_unread_where_a_user_reads_its_own() {
        let there = tempfile::tempdir().unwrap();
        let missing = there.path().join("missing");
        for (source, path, unread) in [
            (Source::User, there.path(), true),
            (Source::User, &missing, false),
            (Source::Owner, there.path(), false),
            (Source::Root, there.path(), false),
            (Source::Flag("--config-dir"), there.path(), false),
        ] {
            let config = Directory { path: PathBuf::from("/home/me/.config/certctl"), source };
            assert_eq!(is_unread(&config, path), unread, "{source:?}");
        }
    }

    #[test]
    fn manifests_that_are_elsewhere_have_a_state_beside_them() {
        for (config, state) in
            [("/tmp/demo", "/tmp/demo-state"), ("demo/", "demo-state"), ("/", "/state")]
        {
            assert_eq!(state_beside(Path::new(config)), Path::new(state));
        }
        let here = tempfile::tempdir().unwrap();
        let beside = state_beside(&here.path().join(".."));
        let above = here.path().canonicalize().unwrap().parent().unwrap().to_owned();
        assert!(beside.to_string_lossy().starts_with(&*above.to_string_lossy()), "{beside:?}");
    }

    #[test]
    fn the_usual_state_of_other_manifests_is_named() {
        let of = |path: &str, source| Directory { path: path.into(), source };
        let named = |path| of(path, Source::Flag(CONFIG_FLAG));
        let (usual, warning) = (
            "/etc/certctl",
            "the state stays in /var/lib/certctl; to use another folder, set --state-dir",
        );
        for (config, state, is_warned) in [
            (named("/srv/c"), Source::Root, true),
            (of("/srv/c", Source::Variable("CERTCTL_CONFIG_DIR")), Source::User, true),
            (named("/srv/c"), Source::Config { line: 1 }, true),
            (named("/srv/c"), Source::Flag(STATE_FLAG), false),
            (named("/srv/c"), Source::Systemd("STATE_DIRECTORY"), false),
            (named(usual), Source::Root, false),
            (of(usual, Source::Root), Source::Root, false),
        ] {
            let state = of("/var/lib/certctl", state);
            let text = of_other_manifests(&config, &state, Some(Path::new(usual)));
            assert_eq!(text.as_deref(), is_warned.then_some(warning), "{config:?} {state:?}");
        }
    }

    #[test]
    fn a_program_outside_of_what_sudo_searches_is_called_by_its_path() {
        let there = tempfile::tempdir().unwrap();
        let root = there.path().canonicalize().unwrap();
        for folder in ["bin", "home", "opt"] {
            std::fs::create_dir(root.join(folder)).unwrap();
        }
        std::fs::File::create(root.join("opt/certctl")).unwrap();
        std::fs::File::create(root.join("home/certctl")).unwrap();
        std::os::unix::fs::symlink("../opt/certctl", root.join("bin/certctl")).unwrap();
        let searched = [root.join("none"), root.join("bin")].map(|path| path.display().to_string());
        let searched: Vec<&str> = searched.iter().map(String::as_str).collect();
        assert_eq!(called(&root.join("opt/certctl"), &searched), "certctl");
        let own = root.join("home/certctl");
        assert_eq!(called(&own, &searched), own.display().to_string());
    }

    #[test]
    fn what_was_not_found_may_be_where_this_user_does_not_read() {
        let error = || CliError::manifest("`web` not found").trying("certctl status");
        let hint = |error: CliError, unread| with_unread(error, unread).hint.unwrap().to_string();
        assert_eq!(
            hint(error().of_absence(), Some("/etc/certctl")),
            "the same with sudo, for the manifests in /etc/certctl"
        );
        assert_eq!(hint(error().of_absence(), None), "certctl status");
        assert_eq!(hint(error(), Some("/etc/certctl")), "certctl status");
    }
}
