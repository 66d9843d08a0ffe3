//! `certctl timer print`: files that make a system scheduler run `certctl issue`.
//!
//! Contract: the printed files run `issue`, which does what is due; never `renew`, which forces.
//! Installs nothing.

mod host;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::args::{TimerPrintArgs, TimerVerb};
use super::error::CliError;
use super::exit::ExitCode;
use super::shell::Shell;

pub(crate) use host::Host;

/// Prints or writes the files of a scheduler.
pub(super) fn timer(verb: &TimerVerb, shell: &mut Shell) -> Result<ExitCode, CliError> {
    let TimerVerb::Print(args) = verb;
    let program = std::env::current_exe().map_err(|error| {
        CliError::new(ExitCode::Failed, format_args!("cannot find the path of certctl: {error}"))
    })?;
    let program = program.to_str().filter(|path| !path.contains(|c: char| UNFIT.contains(c)));
    let program = program.ok_or_else(|| {
        let message = "the path of certctl has characters that a scheduler interprets";
        CliError::new(ExitCode::Failed, message).hinted("install certctl in /usr/local/bin")
    })?;
    let files = files(args, program, Host::here());
    match &args.dir {
        Some(folder) => write(folder, &files)?,
        None => shell.output.data(&printed(&files))?,
    }
    Ok(ExitCode::Done)
}

/// Where a file belongs, and what is in it.
type Unit = (&'static str, String);

fn files(args: &TimerPrintArgs, program: &str, host: Host) -> Vec<Unit> {
    let (templates, usual_user): (&[(&str, &str)], _) = if args.cron {
        (CRON, "root")
    } else if args.launchd {
        (LAUNCHD, "root")
    } else {
        (SYSTEMD, "certctl")
    };
    let user = args.user.as_deref().unwrap_or(usual_user);
    let minute = host.minute();
    let fill = |text: &str| {
        // A calendar of systemd wants two digits, cron and launchd take both.
        let minute = if args.launchd { minute.to_string() } else { format!("{minute:02}") };
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

fn write(folder: &Path, files: &[Unit]) -> Result<(), CliError> {
    let failed = |path: &Path, error: &std::io::Error| {
        CliError::new(ExitCode::Failed, format_args!("cannot write {}: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    for (place, text) in files {
        let name = Path::new(place).file_name().map(PathBuf::from).unwrap_or_default();
        let path = folder.join(name);
        let written = File::create(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}

/// Blanks divide words, and the others mean something to systemd, cron or XML.
const UNFIT: &str = " \t\n%$\"'\\<>&;";

const SYSTEMD: &[(&str, &str)] = &[
    ("/etc/systemd/system/certctl.service", include_str!("certctl.service")),
    ("/etc/systemd/system/certctl.timer", include_str!("certctl.timer")),
    ("/etc/systemd/system/certctl.socket", include_str!("certctl.socket")),
    ("/etc/systemd/system/certctl-reload.path", include_str!("certctl-reload.path")),
    ("/etc/systemd/system/certctl-reload.service", include_str!("certctl-reload.service")),
    ("/etc/sysusers.d/certctl.conf", include_str!("certctl.sysusers")),
];
const CRON: &[(&str, &str)] = &[("/etc/cron.d/certctl", include_str!("certctl.cron"))];
const LAUNCHD: &[(&str, &str)] =
    &[("/Library/LaunchDaemons/io.certctl.issue.plist", include_str!("certctl.plist"))];

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::{Arguments, Verb};

    fn units(words: &[&str]) -> Vec<Unit> {
        let line = [&["certctl", "timer", "print"], words].concat();
        let Verb::Timer(TimerVerb::Print(args)) = Arguments::try_parse_from(line).unwrap().verb
        else {
            panic!("{words:?}")
        };
        files(&args, "/usr/bin/certctl", Host::here())
    }

    #[test]
    fn every_scheduler_runs_issue_and_none_renews() {
        for (words, user) in [
            (&["--systemd"][..], "certctl"),
            (&["--cron"], "root"),
            (&["--launchd"], "root"),
            (&["--systemd", "--user", "acme"], "acme"),
            (&["--cron", "--user", "acme"], "acme"),
            (&["--launchd", "--user", "acme"], "acme"),
        ] {
            let text = printed(&units(words));
            // A list of arguments in XML is read as the line it makes.
            let plain = text.replace("</string>", "").replace("<string>", "");
            let joined = plain.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(joined.matches("/usr/bin/certctl issue").count(), 1, "{text}");
            assert_eq!(joined.matches("/usr/bin/certctl").count(), 1, "{text}");
            assert!(!joined.contains("certctl renew"), "{text}");
            assert!(text.contains(user), "{text}");
            for placeholder in ["@PROGRAM@", "@USER@", "@MINUTE@"] {
                assert!(!text.contains(placeholder), "{text}");
            }
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
    fn one_scheduler_is_named() {
        for words in [&[][..], &["--cron", "--systemd"], &["--cron", "--user", "a b"]] {
            let line = [&["certctl", "timer", "print"], words].concat();
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
