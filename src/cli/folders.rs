//! The folders of manifests and state, and the commands that certctl suggests, as they are typed here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Args as _, Command};

use super::environment::{Directory, SYSTEM_CONFIG, SYSTEM_STATE, Source, owns_state};
use super::error::CliError;
use super::global::GlobalArgs;
use super::hint::{Hint, Place, is_destructive};
use super::message::Level;
use super::output::escape;
use super::setting;
use super::shell::Shell;
use super::typed_flags::{OF_VERBS, PROGRAM, TypedFlags};
use crate::trust::{has_no_login, is_by_sudo, is_in_journal, is_of_root, quoted};

/// The sudo and the flags as they were typed.
pub(super) fn flags(shell: &Shell) -> TypedFlags {
    let program = by_sudo();
    let folders = flags_of(shell, is_passed_on());
    let of_verbs = setting::flags(&shell.matches)
        .into_iter()
        .filter(|(name, _)| OF_VERBS.iter().any(|(flags, _)| flags.contains(&name.as_str())));
    let of_verbs = of_verbs.map(|(name, word)| (name, typed(&word.to_string_lossy())));
    TypedFlags { program, folders, of_verbs: of_verbs.collect() }
}

/// certctl as root, who may read what this user may not, and acts as the owner of the state. `verb`
/// with a blank before it.
pub(super) fn as_root(shell: &Shell, verb: &str) -> String {
    // sudo does not pass variables on.
    let folders = flags_of(shell, |source| matches!(source, Source::Flag(_) | Source::Variable(_)));
    TypedFlags { folders, ..flags(shell) }.on(&sudo(verb))
}

/// The same with the folders of root. `verb` with a blank before it.
pub(super) fn sudo(verb: &str) -> String {
    format!("sudo {}{verb}", program())
}

/// A command of certctl to type next, for the user who typed the last one: with sudo where that
/// started this process, and with the flags of the folders. `verb` with a blank before it; `config`
/// is the folder of manifests that it is to read, where that is another one: then with a state of
/// its own, unless one was named.
pub(super) fn next(shell: &Shell, verb: &str, config: Option<&Path>) -> String {
    let folders = folders_of(shell, is_passed_on()).into_iter();
    let folders = folders.filter(|(flag, _)| config.is_none() || *flag != CONFIG_FLAG);
    let state = config.and_then(|config| own_state(shell, config));
    let state = state.map(|state| (STATE_FLAG, state));
    let config = config.map(|config| (CONFIG_FLAG, config.to_owned()));
    let folders = typed_flags(config.into_iter().chain(state).chain(folders));
    TypedFlags { folders, ..flags(shell) }.on(&format!("{PROGRAM}{verb}"))
}

/// The state that [`next`] gives to the manifests of another folder; `None` where one was named.
pub(super) fn own_state(shell: &Shell, config: &Path) -> Option<PathBuf> {
    let state = shell.environment.state_dir(shell.global.state_dir.as_deref());
    state.is_ok_and(|state| is_usual(&state)).then(|| state_beside(config))
}

/// The same for commands about the manifests of the last one: with its `-f`, too.
pub(super) fn flags_with_files(shell: &Shell) -> TypedFlags {
    let is_typed = shell.matches.value_source("filename") == Some(ValueSource::CommandLine);
    let named = shell.global.filename.iter().filter(|path| is_typed && **path != Path::new("-"));
    let files = named.map(|path| ("-f", path.clone()));
    let folders = typed_flags(files.chain(folders_of(shell, is_passed_on())));
    TypedFlags { folders, ..flags(shell) }
}

/// certctl with sudo, where its commands are typed so.
fn by_sudo() -> Option<String> {
    is_typed_with_sudo().then(|| sudo(""))
}

/// Whether sudo started this process, or this is a service of the packages: who reads its log types
/// sudo, where there is one.
fn is_typed_with_sudo() -> bool {
    is_by_sudo()
        || is_of_service() && SEARCHED.iter().any(|path| Path::new(path).join("sudo").exists())
}

fn is_of_service() -> bool {
    let is_of_owner = owns_state(rustix::process::geteuid().as_raw()) && has_no_login();
    is_of_owner || is_of_root() && is_in_journal()
}

/// certctl, as the user who typed the last command types it.
fn own_program() -> String {
    by_sudo().unwrap_or_else(|| PROGRAM.to_owned())
}

/// Which folders the next command has to name.
fn is_passed_on() -> fn(Source) -> bool {
    if is_typed_with_sudo() {
        // sudo does not pass variables on.
        |source| matches!(source, Source::Flag(_) | Source::Variable(_))
    } else {
        |source| matches!(source, Source::Flag(_))
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

/// Whether nothing that was typed names this state.
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

/// What is said of the usual state that is used for manifests of another folder than the usual one.
fn of_other_manifests(
    config: &Directory,
    state: &Directory,
    usual: Option<&Path>,
) -> Option<String> {
    let is_named = matches!(config.source, Source::Flag(_) | Source::Variable(_));
    let is_other = is_named && usual != Some(config.path.as_path());
    (is_other && is_usual(state)).then(|| {
        let state = escape(&state.path.to_string_lossy()).into_owned();
        format!("the state is in {state}, as always; --state-dir names another folder")
    })
}

/// The hint as a command that can be typed: with the flags of the folders, and with all that was
/// typed, and the flags of its variables, for another user who has none of these.
pub(super) fn with_the_line(error: CliError, shell: &Shell, words: &[OsString]) -> CliError {
    // What gives something up is not to be pasted for another object than the one that was named.
    let is_destructive = words.iter().any(|word| is_destructive(&word.to_string_lossy()));
    let error = match error.hint {
        Some(Hint::Instead { .. }) if error.is_absence && is_destructive => {
            error.trying("certctl status")
        }
        _ => error,
    };
    let again = |hint: Hint| {
        let of_variables = flags_of(shell, |source| matches!(source, Source::Variable(_)));
        let line = [program(), retyped(words, None), of_variables].concat();
        let hint = hint.with_flags(&flags(shell)).again(&line);
        hint.instead(|place, by| own_program() + &retyped(words, Some((place, by))))
    };
    CliError { hint: error.hint.map(again), ..error }
}

/// The hint of a line that could not be read, as a command that can be typed.
pub(super) fn retyping(error: CliError, words: &[OsString]) -> CliError {
    let line = |place: Place<'_>, by: &str| own_program() + &retyped(words, Some((place, by)));
    // The flags are not known yet.
    let flags = TypedFlags { program: by_sudo(), ..TypedFlags::default() };
    CliError { hint: error.hint.map(|hint| hint.instead(line).with_flags(&flags)), ..error }
}

/// What was typed, as another user types it.
pub(super) fn as_user(user: &str, words: &[OsString]) -> String {
    format!("sudo -u {user} {}{}", program(), retyped(words, None))
}

/// The arguments as they are typed, perhaps with another word or value in a place; a blank before
/// each.
fn retyped(words: &[OsString], instead: Option<(Place<'_>, &str)>) -> String {
    let mut before: Option<String> = None;
    // One that stands there already is not typed twice: `issue web wbe`.
    let is_there = |by: &str| {
        let pairs = words.iter().skip(1).zip(words.iter().skip(2));
        let mut names = pairs.filter(|(before, _)| !before.to_string_lossy().starts_with('-'));
        !by.starts_with('-') && names.any(|(_, one)| one.to_string_lossy() == by)
    };
    let words = words.iter().skip(1).map(|one| {
        let one = one.to_string_lossy();
        let by = instead.and_then(|(place, by)| match place {
            Place::Word(word) => {
                let is_it = one == word || one.rsplit('/').next() == Some(word);
                let value = || one.strip_prefix(word).filter(|rest| rest.starts_with('='));
                if is_it && is_there(by) {
                    Some(String::new())
                } else if is_it {
                    Some(by.to_owned())
                } else {
                    value().map(|_| typed(&one.replacen(word, by, 1)))
                }
            }
            Place::Value(flag) => {
                let is_it =
                    |before: &str| before == flag || short_of(flag).as_deref() == Some(before);
                let value = one.strip_prefix(flag).filter(|rest| rest.starts_with('='));
                let whole = value.map(|_| typed(&format!("{flag}={by}")));
                if before.as_deref().is_some_and(is_it) { Some(typed(by)) } else { whole }
            }
        });
        let word = by.unwrap_or_else(|| typed(&one));
        before = Some(one.into_owned());
        if word.is_empty() { word } else { [" ", &word].concat() }
    });
    words.collect()
}

/// The short form of a flag of every verb, as `-o` of `--output`.
fn short_of(flag: &str) -> Option<String> {
    let command = GlobalArgs::augment_args(Command::new(PROGRAM));
    let name = flag.strip_prefix("--")?;
    let mut all = command.get_arguments();
    let short = all.find(|argument| argument.get_long() == Some(name))?.get_short()?;
    Some(format!("-{short}"))
}

/// A word as it is typed; a flag needs no quotes for its dashes, nor for the `=` before its value.
fn typed(word: &str) -> String {
    let is_flag = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if let Some((flag, value)) = word.split_once('=')
        && flag.starts_with("--")
        && is_flag(flag)
    {
        return format!("{flag}={}", quoted(Path::new(value)));
    }
    let bare = word.trim_start_matches('-');
    let dashes = "-".repeat(word.len().saturating_sub(bare.len()));
    if bare.is_empty() { dashes } else { dashes + &quoted(Path::new(bare)) }
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

fn flags_of(shell: &Shell, is_meant: fn(Source) -> bool) -> String {
    typed_flags(folders_of(shell, is_meant))
}

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
            let note = format!(" # for the manifests in {folder}");
            CliError { hint: Some(Hint::Again { by: "sudo ".to_owned(), note }), ..error }
        }
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::exit::ExitCode;

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
            "the state is in /var/lib/certctl, as always; \
                                              --state-dir names another folder",
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
    fn words_are_quoted_as_far_as_a_shell_needs_it() {
        let words = [
            "issue",
            "-f",
            "a b.yaml",
            "--state-dir",
            "-",
            "--",
            "x;y",
            "--resolver=::1",
            "--a=b c",
        ];
        let line: Vec<String> = words.iter().map(|word| typed(word)).collect();
        assert_eq!(
            line.join(" "),
            "issue -f 'a b.yaml' --state-dir - -- 'x;y' --resolver=::1 --a='b c'"
        );
    }

    fn words_of(line: &str) -> Vec<OsString> {
        ["certctl"].into_iter().chain(line.split(' ')).map(OsString::from).collect()
    }

    #[test]
    fn a_word_that_was_meant_otherwise_is_typed_anew() {
        let words = ["certctl", "status", "default/wbe", "-f", "a b.yaml"].map(OsString::from);
        assert_eq!(retyped(&words, Some((Place::Word("wbe"), "web"))), " status web -f 'a b.yaml'");
        for (line, expected) in [
            ("issue web wbe", " issue web"),
            ("issue wbe db web", " issue db web"),
            ("issue -f web wbe", " issue -f web web"),
        ] {
            let words = words_of(line);
            assert_eq!(retyped(&words, Some((Place::Word("wbe"), "web"))), expected);
        }
        let words = ["certctl", "issue", "--tiemout=5m"].map(OsString::from);
        assert_eq!(
            retyped(&words, Some((Place::Word("--tiemout"), "--timeout"))),
            " issue --timeout=5m"
        );
        let hint = Hint::Instead { word: "web".into(), by: vec!["./web".into(), "a/web".into()] };
        let words = ["certctl", "issue", "web"].map(OsString::from);
        let hint =
            hint.instead(|place, by| format!("certctl{}", retyped(&words, Some((place, by)))));
        let expected = "certctl issue ./web\ncertctl issue a/web";
        assert_eq!(hint, Hint::Text(expected.to_owned()));
        for (line, expected) in [
            (
                "create ca --server ca --into /tmp/ca",
                " create ca --server 'https://ca?a&b' --into /tmp/ca",
            ),
            ("create ca --server=ca", " create ca --server='https://ca?a&b'"),
        ] {
            let words = words_of(line);
            let place = Place::Value("--server");
            assert_eq!(retyped(&words, Some((place, "https://ca?a&b"))), expected);
        }
        for (line, expected) in [
            ("status -o jsn", " status -o json"),
            ("status --output jsn", " status --output json"),
            ("status -n o", " status -n o"),
        ] {
            let words = words_of(line);
            assert_eq!(retyped(&words, Some((Place::Value("--output"), "json"))), expected);
        }
    }

    #[test]
    fn what_was_not_found_may_be_where_this_user_does_not_read() {
        let error =
            || CliError::new(ExitCode::Manifest, "`web` not found").trying("certctl status");
        let hint = |error: CliError, unread| with_unread(error, unread).hint.unwrap().to_string();
        assert_eq!(
            hint(error().of_absence(), Some("/etc/certctl")),
            "sudo certctl … # for the manifests in /etc/certctl"
        );
        assert_eq!(hint(error().of_absence(), None), "certctl status");
        assert_eq!(hint(error(), Some("/etc/certctl")), "certctl status");
    }
}
