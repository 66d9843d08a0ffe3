//! `certctl completion`: the script for a shell.

use clap::Args;
use clap_complete::Shell as ShellName;

use crate::cli::{CliError, Ending, Shell, VerbArgs};

/// Print a completion script for a shell
///
/// bash: certctl completion bash > /etc/bash_completion.d/certctl
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct CompletionArgs {
    /// The shell.
    pub shell: ShellName,
}

impl VerbArgs for CompletionArgs {
    const NEEDS_SETTINGS: bool = false;

    fn acts_as_owner(&self, _has_files: bool) -> bool {
        false
    }

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        shell.output.data(script(self.shell))?;
        Ok(Vec::new())
    }
}

/// The script for a shell; the same files are in `completions/`.
fn script(shell: ShellName) -> &'static str {
    match shell.to_string().as_str() {
        "bash" => include_str!("../../../completions/certctl.bash"),
        "elvish" => include_str!("../../../completions/certctl.elv"),
        "fish" => include_str!("../../../completions/certctl.fish"),
        "powershell" => include_str!("../../../completions/_certctl.ps1"),
        _ => include_str!("../../../completions/_certctl"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_has_its_script() {
        for (shell, word) in [
            (ShellName::Bash, "COMP_LINE"),
            (ShellName::Elvish, "arg-completer"),
            (ShellName::Fish, "commandline"),
            (ShellName::PowerShell, "Register-ArgumentCompleter"),
            (ShellName::Zsh, "#compdef"),
        ] {
            let line = format!("`certctl completion {shell}`");
            assert!(script(shell).contains(word) && script(shell).contains(&line), "{shell}");
        }
    }
}
