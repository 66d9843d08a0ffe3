//! `certctl timer print`: files that make a system scheduler run `certctl issue`.
//!
//! Contract: the printed files run `issue`, which does what is due; never `renew`, which forces.
//! Installs nothing.

mod host;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::cli::environment::Source;
use crate::cli::files::put;
use crate::cli::setting::{Origin, flags, settings};
use crate::cli::value_parser::user as user_name;
use crate::cli::{
    CliError, Directory, Ending, ExitCode, Hint, Level, Message, SYSTEM_CONFIG, Shell, VerbArgs,
};
use crate::host::rights::own_user;
use crate::host::scheduler::{TIMER, Units, has_packaged_unit};
use crate::resource::{Schedule, escape};
use crate::trust::{Trusted, Walk};
pub(crate) use host::Host;

/// Generate cron, systemd or launchd files.
#[derive(Debug, Subcommand)]
pub enum TimerVerb {
    /// Print the files of a scheduler; installs nothing.
    ///
    /// --systemd prints a hardened service with its timer, and a service that runs hooks and reloads
    /// as root. All run hourly at a host-specific minute.
    Print(TimerPrintArgs),
}

impl VerbArgs for TimerVerb {
    fn acts_as_owner(&self, _has_files: bool) -> bool {
        false
    }

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        timer(self, shell)
    }
}

/// `certctl timer print`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("scheduler").required(true)))]
pub struct TimerPrintArgs {
    /// Print systemd units.
    #[arg(long, group = "scheduler")]
    pub systemd: bool,
    /// Print a file for /etc/cron.d, or lines for crontab -e if --user names the current user.
    #[arg(long, group = "scheduler")]
    pub cron: bool,
    /// Print a property list for launchd.
    #[arg(long, group = "scheduler")]
    pub launchd: bool,
    /// User that runs certctl [default: certctl for systemd, root for the others]
    #[arg(long, value_name = "USER", value_parser = user_name)]
    pub user: Option<String>,
    /// Write the files into this folder instead.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Prints or writes the files of a scheduler.
pub(in crate::cli) fn timer(verb: &TimerVerb, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let TimerVerb::Print(args) = verb;
    let program = std::env::current_exe().map_err(|error| {
        CliError::new(ExitCode::Failed, format_args!("cannot find the path of certctl: {error}"))
    })?;
    let program = program.to_str().filter(|path| is_plain(path));
    let program = program.ok_or_else(|| {
        let message = "the path of certctl has characters that a scheduler interprets";
        CliError::new(ExitCode::Failed, message).hinted("install certctl in /usr/local/bin")
    })?;
    let is_other = !shell.environment.is_root() && args.user.is_none();
    let mine = shell.environment.config_dir(None).ok().filter(|_| is_other);
    let mine = mine.filter(|found| found.source != Source::Owner).map(|found| found.path);
    let warnings = warnings(args, program, &chosen_here(shell), mine.as_deref()).into_iter();
    for (warning, advice) in warnings.chain(second(args, has_packaged_unit(TIMER))) {
        shell.output.print(&Message::advice(&warning, Some(&Hint::Text(advice))));
    }
    let own = (!shell.environment.is_root()).then(own_user);
    let templates = templates(args, own.as_deref());
    let files = files(args, templates, program, &carried(shell)?, Host::here());
    match &args.dir {
        Some(folder) => {
            write(folder, &files)?;
            for (place, _) in &files {
                let path = folder.join(named(place));
                let is_there = path == Path::new(place);
                let of = if is_there { String::new() } else { format!(", for {place}") };
                let text = format!("written to {}{of}", escape(&path.to_string_lossy()));
                shell.output.talk(Level::Info, &text);
            }
        }
        None => shell.output.data(&printed(&files))?,
    }
    Ok(Vec::new())
}

/// The user whose runs are scheduled.
fn user_of(args: &TimerPrintArgs) -> &str {
    let usual = if args.systemd { "certctl" } else { "root" };
    args.user.as_deref().unwrap_or(usual)
}

/// Differences between the scheduled runs and this user's own, each with advice; `mine` is this
/// user's own configuration, when another user's is read.
fn warnings(
    args: &TimerPrintArgs,
    program: &str,
    chosen: &Chosen,
    mine: Option<&Path>,
) -> Vec<(String, String)> {
    let mut warnings = Vec::new();
    if let Some(mine) = mine {
        let warning = format!(
            "the scheduled runs belong to {}, who reads /etc/certctl instead of {}: move the \
             manifests there, or schedule your own runs",
            user_of(args),
            escape(&mine.to_string_lossy())
        );
        // The units of systemd read the folders of the host whatever their user is.
        let print = Schedule::PrintCron { of_user: true, state: None };
        warnings.push((warning, Hint::from(&print).to_string()));
    }
    // Another user may own the program that runs as that user; root and certctl hold the keys.
    let holds_keys = args.user.as_deref().is_none_or(|user| user == "root");
    let seen = Walk::new(Some(Trusted::root())).look(Path::new(program));
    if let Some(error) = seen.err().filter(|_| holds_keys) {
        let warning = format!(
            "{}: a user who can change it gets the rights and keys of every scheduled run",
            escape(&error.to_string())
        );
        let advice = "install certctl as root, in /usr/local/bin, and print again".to_owned();
        warnings.push((warning, advice));
    }
    let advised = [
        (&chosen.folders, "add it to the printed files"),
        (&chosen.settings, "set it in config.toml or in the printed files"),
    ];
    for (names, advice) in advised.into_iter().filter(|(names, _)| !names.is_empty()) {
        let warning = format!("the scheduled runs lack {}", names.join(", "));
        warnings.push((warning, advice.to_owned()));
    }
    warnings
}

/// Warns of a package's timer for the same runs.
fn second(args: &TimerPrintArgs, has_packaged: bool) -> Option<(String, String)> {
    let is_second = args.user.is_none() && !args.launchd && has_packaged;
    let warning = "the package has a timer for these runs".to_owned();
    is_second.then(|| {
        (
            warning,
            format!(
                "{} # instead of these files",
                Hint::from(&Schedule::Enable { of_user: false })
            ),
        )
    })
}

/// Returns whether runs of certctl's own schedulers have this configuration, and whether they are
/// this user's alone; `None` of another folder.
pub(crate) fn is_of_user(config: &Directory) -> Option<bool> {
    match config.source {
        _ if config.path == Path::new(SYSTEM_CONFIG) => Some(false),
        Source::Root | Source::Owner => Some(false),
        Source::User => Some(true),
        Source::Flag(_) | Source::Variable(_) | Source::Systemd(_) | Source::Config { .. } => None,
    }
}

/// Returns whether `certctl.service`, where it has this configuration, may listen on a port.
pub(crate) fn service_may_listen(shell: &Shell, port: u16) -> bool {
    let config = shell.environment.config_dir(shell.global.config_dir.as_deref());
    let is_of_system = config.is_ok_and(|config| is_of_user(&config) == Some(false));
    let units = || Units::read(false, shell.acts_as.is_some());
    is_of_system && units().is_some_and(|units| units.may_listen(port))
}

/// The flags and variables that change what `issue` does, and that a scheduler does not pass on.
struct Chosen {
    /// Flags of folders, which `config.toml` cannot set.
    folders: Vec<String>,
    settings: Vec<String>,
}

fn chosen_here(shell: &Shell) -> Chosen {
    let Shell { global, environment, .. } = shell;
    let directories = [
        environment.config_dir(global.config_dir.as_deref()),
        environment.state_dir(global.state_dir.as_deref()),
    ];
    let folders = directories.into_iter().flatten().filter_map(|found| match found.source {
        Source::Variable(name) => Some(name.to_owned()),
        Source::Flag(_)
        | Source::Systemd(_)
        | Source::Config { .. }
        | Source::Root
        | Source::Owner
        | Source::User => None,
    });
    let settings = settings(&shell.matches, environment, &shell.config).into_iter();
    let settings = settings.filter(|setting| !LOOKS.contains(&setting.name.as_str()));
    let settings = settings.filter_map(|setting| match setting.origin {
        Origin::Variable(name) => Some(name),
        Origin::Flag(_) | Origin::Config(_) | Origin::Default => None,
    });
    Chosen { folders: folders.collect(), settings: settings.collect() }
}

/// The flags of this command line, for the scheduled runs: with absolute paths, and nothing in them
/// that a scheduler or its shell would interpret.
fn carried(shell: &Shell) -> Result<Vec<Flag>, CliError> {
    let flags = flags(&shell.matches).into_iter();
    let flags = flags.filter(|(name, _)| !LOOKS.contains(&name.as_str()));
    flags.map(|(name, word)| flag_of(name, &word)).collect()
}

fn flag_of(name: String, word: &OsStr) -> Result<Flag, CliError> {
    let refused = |why: &str| {
        let error = CliError::usage(format_args!("--{name}: {why}"));
        error.hinted("leave it out here, and set it in config.toml")
    };
    let mut word = word.to_str().unwrap_or_default().to_owned();
    if PATHS.contains(&name.as_str()) {
        let (_, path) = word.split_once('=').unwrap_or_default();
        if path == "-" {
            return Err(refused("a scheduled run has no standard input"));
        }
        let path = std::path::absolute(path).map_err(|error| refused(&error.to_string()))?;
        word = format!("--{name}={}", path.to_str().unwrap_or_default());
    }
    if !is_plain(&word) || word.ends_with('=') {
        return Err(refused("a scheduler would interpret a character of this value"));
    }
    Ok(Flag { name, word })
}

/// A flag of the scheduled runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Flag {
    name: String,
    /// With its value.
    word: String,
}

/// Flags of a run's looks, which matter to no scheduler.
const LOOKS: &[&str] = &["color", "progress", "output", "quiet", "verbose", "log-format"];
/// The flags whose values are paths.
const PATHS: &[&str] = &["filename", "config-dir", "state-dir", "output-roots", "metrics-file"];

/// Where a file belongs, and what is in it.
type Unit = (&'static str, String);

/// The files, each with its place; `own` is the name of this user, unless that is root.
fn templates(args: &TimerPrintArgs, own: Option<&str>) -> &'static [(&'static str, &'static str)] {
    // One for another user is for root, who writes to /etc/cron.d.
    let is_own = own.is_some() && args.user.as_deref() == own;
    match (args.cron, args.launchd) {
        (true, _) if is_own => OWN_CRONTAB,
        (true, _) => CRON,
        (false, true) => LAUNCHD,
        (false, false) => SYSTEMD,
    }
}

fn files(
    args: &TimerPrintArgs,
    templates: &[(&'static str, &str)],
    program: &str,
    flags: &[Flag],
    host: Host,
) -> Vec<Unit> {
    let user = user_of(args);
    let minute = host.minute();
    let flag_words = flags.iter().map(|flag| &flag.word);
    let (before, behind) =
        if args.launchd { ("        <string>", "</string>\n") } else { (" ", "") };
    let flag_words: String = flag_words.flat_map(|word| [before, word, behind]).collect();
    let fill = |text: &str| {
        // A calendar of systemd wants two digits, cron and launchd take both.
        let minute = if args.launchd { minute.to_string() } else { format!("{minute:02}") };
        let text = text.replace("@FLAGS@", &flag_words);
        text.replace("@PROGRAM@", program).replace("@USER@", user).replace("@MINUTE@", &minute)
    };
    templates.iter().map(|(place, text)| (*place, fill(text))).collect()
}

/// All of them, each under its place when there are several.
fn printed(files: &[Unit]) -> String {
    match files {
        [(_, text)] => text.clone(),
        several => {
            let parts = several.iter().map(|(place, text)| format!("# {place}\n{text}"));
            parts.collect::<Vec<_>>().join("\n")
        }
    }
}

/// The file's own name.
fn named(place: &str) -> &str {
    if place == OWN { "certctl.crontab" } else { place.rsplit('/').next().unwrap_or(place) }
}

fn write(folder: &Path, files: &[Unit]) -> Result<(), CliError> {
    let files: Vec<_> = files.iter().map(|(place, text)| (named(place), text.as_str())).collect();
    put(folder, &files)
}

/// Returns whether nothing in a path means anything to systemd, to cron and its shell, or in XML.
fn is_plain(path: &str) -> bool {
    path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+,:@=".contains(c))
}

const SYSTEMD: &[(&str, &str)] = &[
    ("/etc/systemd/system/certctl.service", include_str!("certctl.service")),
    ("/etc/systemd/system/certctl.timer", include_str!("certctl.timer")),
    ("/etc/systemd/system/certctl.socket", include_str!("certctl.socket")),
    ("/etc/systemd/system/certctl-reload.path", include_str!("certctl-reload.path")),
    ("/etc/systemd/system/certctl-reload.service", include_str!("certctl-reload.service")),
    ("/etc/sysusers.d/certctl.conf", include_str!("certctl.sysusers")),
];
const CRON: &[(&str, &str)] = &[("/etc/cron.d/certctl", include_str!("certctl.cron"))];
/// The crontab of a user, in which no line has a user.
const OWN_CRONTAB: &[(&str, &str)] = &[(OWN, include_str!("certctl.crontab"))];
const OWN: &str = "crontab -e";
const LAUNCHD: &[(&str, &str)] =
    &[("/Library/LaunchDaemons/io.certctl.issue.plist", include_str!("certctl.plist"))];

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::{Arguments, Verb};

    fn units(arguments: &[&str]) -> Vec<Unit> {
        let line = [&["certctl", "timer", "print"], arguments].concat();
        let Some(Verb::Timer(TimerVerb::Print(args))) =
            Arguments::try_parse_from(line).unwrap().verb
        else {
            panic!("{arguments:?}")
        };
        files(&args, templates(&args, Some("bob")), "/usr/bin/certctl", &[], Host::here())
    }

    #[test]
    fn the_line_of_this_user_is_for_its_own_crontab() {
        let minute = format!("{:02}", Host::here().minute());
        let [(place, text)] = units(&["--cron", "--user", "bob"]).try_into().unwrap();
        assert_eq!((place, named(place)), ("crontab -e", "certctl.crontab"));
        let line = format!("{minute} * * * * /usr/bin/certctl issue -q");
        assert_eq!(text.lines().last(), Some(line.as_str()));
        assert!(text.starts_with("# For the crontab of bob (crontab -e)"), "{text}");
        // Cron would send the mail of another user's runs to root.
        assert!(!text.contains("MAILTO"), "{text}");
        let [(place, text)] = units(&["--cron", "--user", "acme"]).try_into().unwrap();
        assert_eq!(place, "/etc/cron.d/certctl");
        let line = format!("{minute} * * * * acme /usr/bin/certctl issue -q");
        assert_eq!(text.lines().last(), Some(line.as_str()));
        assert!(text.starts_with("# For /etc/cron.d/certctl"), "{text}");
    }

    #[test]
    fn every_scheduler_runs_issue_and_none_renews() {
        for (arguments, user) in [
            (&["--systemd"][..], "certctl"),
            (&["--cron"], "root"),
            (&["--launchd"], "root"),
            (&["--systemd", "--user", "acme"], "acme"),
            (&["--cron", "--user", "acme"], "acme"),
            (&["--launchd", "--user", "acme"], "acme"),
        ] {
            let text = printed(&units(arguments));
            // A list of arguments in XML is read as the line it makes.
            let plain = text.replace("</string>", "").replace("<string>", "");
            let joined = plain.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(joined.matches("/usr/bin/certctl issue").count(), 1, "{text}");
            // systemd's hooks are run by a unit of their own.
            let deploys = usize::from(arguments[0] == "--systemd");
            assert_eq!(joined.matches("/usr/bin/certctl deploy").count(), deploys, "{text}");
            assert_eq!(joined.matches("/usr/bin/certctl").count(), 1 + deploys, "{text}");
            assert!(!joined.contains("certctl renew"), "{text}");
            assert!(text.contains(user), "{text}");
            for placeholder in ["@PROGRAM@", "@USER@", "@MINUTE@", "@FLAGS@", "@WRITABLE@"] {
                assert!(!text.contains(placeholder), "{text}");
            }
        }
    }

    #[test]
    fn the_flags_of_this_command_are_those_of_the_runs() {
        let flag = |name: &str, word: &str| flag_of(name.to_owned(), word.as_ref());
        let flags = [
            flag("state-dir", "--state-dir=/srv/state").unwrap(),
            flag("timeout", "--timeout=5m").unwrap(),
        ];
        let (flags_of, line) = (" --state-dir=/srv/state --timeout=5m\n", "issue -q");
        let [line, by_systemd] = [line, "issue"].map(|verb| verb.to_owned() + flags_of);
        let launchd = "<string>-q</string> <string>--state-dir=/srv/state</string> \
                       <string>--timeout=5m</string> </array>";
        for (scheduler, wanted) in
            [("--cron", &*line), ("--systemd", &*by_systemd), ("--launchd", launchd)]
        {
            let line = ["certctl", "timer", "print", scheduler];
            let parsed = Arguments::try_parse_from(line).unwrap().verb;
            let Some(Verb::Timer(TimerVerb::Print(args))) = parsed else { panic!("{scheduler}") };
            let templates = templates(&args, None);
            let text = printed(&files(&args, templates, "/usr/bin/certctl", &flags, Host::here()));
            let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(wanted) || joined.contains(wanted), "{wanted}: {text}");
        }
        let here = std::env::current_dir().unwrap();
        let relative = flag("config-dir", "--config-dir=conf");
        if here.to_str().is_some_and(is_plain) {
            assert_eq!(relative.unwrap().word, format!("--config-dir={}/conf", here.display()));
        }
        for (name, word, why) in [
            ("filename", "--filename=-", "a scheduled run has no standard input"),
            ("selector", "--selector=a!=b", "would interpret a character"),
            ("http01-listen", "--http01-listen=[::]:5002", "would interpret a character"),
            ("config-dir", "--config-dir=/srv/a b", "would interpret a character"),
        ] {
            let error = flag(name, word).unwrap_err();
            assert_eq!(error.code, ExitCode::Usage);
            assert!(error.message.contains(why), "{}", error.message);
        }
    }

    #[test]
    fn the_hooks_that_one_service_leaves_are_run_by_the_other_whose_failure_is_its_own() {
        let units = units(&["--systemd"]);
        let text = |name: &str| {
            let found = units.iter().find(|(place, _)| place.ends_with(name));
            found.map(|(_, text)| text.as_str()).unwrap()
        };
        let issues = text("/certctl.service");
        for line in [
            "\nExecStart=/usr/bin/certctl issue\n",
            "CERTCTL_UNATTENDED=1",
            "CERTCTL_HOOKS=later",
            "\nWants=certctl-reload.service\n",
        ] {
            assert!(issues.contains(line), "{line}: {issues}");
        }
        let reloads = text("/certctl-reload.service");
        for line in [
            "\nExecStart=!/usr/bin/certctl deploy\n",
            "\nEnvironment=HOME=/root USER=root LOGNAME=root SHELL=/bin/sh\n",
            "\nEnvironment=PATH=/usr/local/sbin:",
            "\nAfter=certctl.service\n",
            "CERTCTL_HOOKS=as-root",
            "\nCapabilityBoundingSet=~CAP_",
            "\nRestrictNamespaces=yes\n",
        ] {
            assert!(reloads.contains(line), "{line}: {reloads}");
        }
        // systemd would not see a failure; and it would take the rights of root from a hook.
        let of_hooks = ["CAP_SETUID", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_KILL"];
        let words = ["ExecStart=-", "nginx", "NoNewPrivileges", "SystemCallFilter"];
        for word in words.into_iter().chain(of_hooks) {
            assert!(!reloads.contains(word), "{word}: {reloads}");
        }
    }

    #[test]
    fn the_timer_catches_up_and_is_spread() {
        let text = printed(&units(&["--systemd"]));
        let minute = format!("OnCalendar=*-*-* *:{:02}:00\n", Host::here().minute());
        for line in [
            &*minute,
            "\nPersistent=true\n",
            "\nRandomizedDelaySec=10m\n",
            "\nUser=certctl\n",
            "\nStateDirectory=certctl\n",
            "\nConfigurationDirectory=certctl\n",
            "\n#LoadCredential=",
            "\nSuccessExitStatus=75\n",
            "\nListenStream=80\n",
            "\nPathChanged=",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn a_program_that_others_can_change_and_settings_of_this_shell_are_warned_of() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = tempfile::tempdir().unwrap();
        let program = scratch.path().join("certctl");
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::File::create(&program).unwrap().set_permissions(open).unwrap();
        let of = |line: &[&str], program: &Path, chosen: &Chosen| {
            let line = [&["certctl", "timer", "print"], line].concat();
            let Some(Verb::Timer(TimerVerb::Print(args))) =
                Arguments::try_parse_from(line).unwrap().verb
            else {
                panic!()
            };
            let found = warnings(&args, program.to_str().unwrap(), chosen, None);
            let warnings =
                found.into_iter().map(|(warning, advice)| format!("{warning}: {advice}"));
            warnings.collect::<Vec<_>>()
        };
        let none = Chosen { folders: Vec::new(), settings: Vec::new() };
        for (line, wanted) in [
            (&["--cron"][..], true),
            (&["--systemd"], true),
            (&["--cron", "--user", "root"], true),
            (&["--cron", "--user", "acme"], false),
        ] {
            let found = of(line, &program, &none);
            assert_eq!(
                found.iter().any(|text| text.contains("keys")),
                wanted,
                "{line:?} {found:?}"
            );
        }
        let folders = vec!["--state-dir".to_owned()];
        let chosen = Chosen { folders, settings: vec!["CERTCTL_RESOLVERS".to_owned()] };
        let wanted = [
            "the scheduled runs lack --state-dir: add it to the printed files",
            "the scheduled runs lack CERTCTL_RESOLVERS: set it in config.toml or in the \
             printed files",
        ];
        assert_eq!(of(&["--cron"], Path::new("/"), &chosen), wanted);
        assert!(of(&["--cron"], Path::new("/"), &none).is_empty());
    }

    #[test]
    fn a_timer_of_the_package_is_named_instead() {
        let of = |line: &[&str], has_packaged| {
            let line = [&["certctl", "timer", "print"], line].concat();
            let Some(Verb::Timer(TimerVerb::Print(args))) =
                Arguments::try_parse_from(line).unwrap().verb
            else {
                panic!()
            };
            second(&args, has_packaged).map(|(_, advice)| advice)
        };
        let advice = "systemctl enable --now certctl.timer # instead of these files";
        for line in ["--cron", "--systemd"] {
            assert_eq!(of(&[line], false), None);
            assert_eq!(of(&[line], true).as_deref(), Some(advice), "{line}");
        }
        assert_eq!(of(&["--cron", "--user", "acme"], true), None);
    }

    #[test]
    fn another_users_runs_read_another_configuration() {
        for (line, user) in [("--cron", "root"), ("--systemd", "certctl"), ("--launchd", "root")] {
            let arguments = ["certctl", "timer", "print", line];
            let Some(Verb::Timer(TimerVerb::Print(args))) =
                Arguments::try_parse_from(arguments).unwrap().verb
            else {
                panic!()
            };
            let mine = Path::new("/home/me/.config/certctl");
            let found = warnings(
                &args,
                "/",
                &Chosen { folders: Vec::new(), settings: Vec::new() },
                Some(mine),
            );
            let warning = format!(
                "the scheduled runs belong to {user}, who reads /etc/certctl instead of \
                 /home/me/.config/certctl: move the manifests there, or schedule your own runs"
            );
            let advice = format!("certctl timer print --cron --user {}", own_user());
            assert_eq!(found, [(warning, advice)]);
        }
    }

    #[test]
    fn a_path_that_a_scheduler_would_interpret_is_refused() {
        for path in ["/usr/local/bin/certctl", "/opt/certctl-1.0+b/bin/certctl_x86:64@a,b=c"] {
            assert!(is_plain(path), "{path}");
        }
        for c in " \t\n%$\"'\\<>&;`|()[]{}*?!#~^\u{202e}\u{1b}".chars() {
            assert!(!is_plain(&format!("/opt/{c}/certctl")), "{c:?}");
        }
    }

    #[test]
    fn one_scheduler_is_named() {
        for arguments in [&[][..], &["--cron", "--systemd"], &["--cron", "--user", "a b"]] {
            let line = [&["certctl", "timer", "print"], arguments].concat();
            assert!(Arguments::try_parse_from(&line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn files_are_written_by_their_names() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("new");
        let units = units(&["--systemd"]);
        write(&folder, &units).unwrap();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), units.len());
        let service = std::fs::read_to_string(folder.join("certctl.service")).unwrap();
        assert_eq!(service, units[0].1);
    }
}
