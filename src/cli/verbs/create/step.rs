//! What is to be done before the first run of a new manifest, and its run by root's dialogue.
//!
//! Contract: a command is run as it is shown, after a yes only, and none behind one that fails.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::render::message::Level;
use crate::cli::render::output::escape;
use crate::cli::render::text::{Text, wrap};
use crate::cli::shell::Shell;

/// One thing to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A command that asks for nothing, and why it is needed.
    Command { why: Option<String>, line: String },
    /// What a person does: a comment for a shell, or a command that reads what is typed.
    ByHand(String),
}

impl Step {
    /// A command, as it is shown. What is not shown as it is, is not run either.
    pub(super) fn command(line: &str) -> Self {
        match escape(line) {
            shown if shown == line => Self::Command { why: None, line: line.to_owned() },
            shown => Self::ByHand(shown.into_owned()),
        }
    }

    /// The same, with a fact that makes it needed.
    pub(super) fn since(self, fact: &str) -> Self {
        match self {
            Self::Command { line, .. } => {
                Self::Command { why: Some(escape(fact).into_owned()), line }
            }
            by_hand @ Self::ByHand(_) => by_hand,
        }
    }

    /// The lines that are shown; those that are no command are comments.
    fn lines(&self) -> Vec<String> {
        match self {
            Self::Command { why, line } => {
                let why = why.as_deref().map(|why| wrap(why, "# ", WIDTH_OF_COMMENT));
                let why = why.iter().flat_map(|why| why.lines()).map(str::to_owned);
                why.chain([line.clone()]).collect()
            }
            Self::ByHand(line) => vec![line.clone()],
        }
    }
}

/// The lines of several.
pub(super) fn lines(steps: &[Step]) -> Vec<String> {
    steps.iter().flat_map(Step::lines).collect()
}

/// Offers root to run the commands among these, and runs them, up to the first that fails; `None` where
/// none was run.
pub(super) fn offer(steps: &[Step], shell: &mut Shell) -> Option<Result<(), CliError>> {
    let is_command = |step: &&Step| match step {
        Step::Command { .. } => true,
        Step::ByHand(_) => false,
    };
    let commands: Vec<Step> = steps.iter().filter(is_command).cloned().collect();
    if commands.is_empty() || !shell.environment.is_root() {
        return None;
    }
    let question =
        if commands.len() == 1 { "Run this command now?" } else { "Run these commands now?" };
    let mut text = Text::from("\nTo be done before the first run:");
    text.list(&lines(&commands));
    shell.output.talk(Level::Info, text);
    shell
        .output
        .confirms_by_default(question, ABOUT)
        .then(|| run_all(&commands).inspect(|()| shell.output.talk(Level::Info, "done")))
}

/// Runs the commands among these, up to the first that fails.
fn run_all(steps: &[Step]) -> Result<(), CliError> {
    steps.iter().try_for_each(|step| match step {
        Step::Command { line, .. } => run(line),
        Step::ByHand(_) => Ok(()),
    })
}

/// Runs a command as root, whose rights this process may have given up since it started.
fn run(line: &str) -> Result<(), CliError> {
    let failed = |why: &dyn std::fmt::Display| {
        CliError::new(ExitCode::Failed, format!("{}: {why}", escape(line)))
    };
    let mut command = Command::new("/bin/sh");
    // Folders above what is made are for others to search.
    command.args(["-c", &format!("umask 022; {line}")]).stdin(Stdio::null()).stdout(Stdio::null());
    if !rustix::process::geteuid().is_root() {
        command.uid(0).gid(0);
    }
    let status = command.status().map_err(|error| failed(&error))?;
    if status.success() { Ok(()) } else { Err(failed(&status)) }
}

/// Of 80 columns, behind the margin of a list.
const WIDTH_OF_COMMENT: usize = 78;
const ABOUT: &str = "y runs the commands as they are shown, as root; n leaves them to you, and they are \
                     listed again.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_otherwise_is_not_run() {
        let line = "install -d '/srv/a b'";
        assert_eq!(Step::command(line), Step::Command { why: None, line: line.to_owned() });
        assert!(matches!(Step::command("install -d '/srv/\u{1b}[2J'"), Step::ByHand(_)));
    }

    #[test]
    fn a_command_that_fails_is_the_last_and_an_error_with_its_line() {
        let root = tempfile::tempdir().unwrap();
        let [before, behind] = ["before", "behind"].map(|name| root.path().join(name));
        let touch = |path: &std::path::Path| Step::command(&format!("touch {}", path.display()));
        let by_hand = Step::ByHand("exit 8".to_owned());
        let error = run_all(&[touch(&before), by_hand, Step::command("exit 7"), touch(&behind)]);
        assert_eq!(error.unwrap_err().message, "exit 7: exit status: 7");
        assert!(before.exists() && !behind.exists());
    }

    #[test]
    fn a_command_makes_folders_that_others_may_search() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let below = root.path().join("a/b");
        run(&format!("mkdir -p {}", below.display())).unwrap();
        let mode = std::fs::metadata(root.path().join("a")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }
}
