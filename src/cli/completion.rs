//! `certctl completion`: the script for a shell, generated from the tree of verbs and flags.
//!
//! The same scripts are kept in `completions/`; the test below fails when they are stale and
//! writes them anew when `CERTCTL_REGENERATE` is set:
//! `CERTCTL_REGENERATE=1 cargo test --lib cli`.

use clap::CommandFactory;
use clap_complete::Shell;

use super::args::Arguments;

/// The completion script.
pub fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "certctl", &mut script);
    script
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap_complete::Generator;

    use super::*;

    #[test]
    fn the_scripts_in_completions_are_up_to_date() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("completions");
        for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
            let path = folder.join(shell.file_name("certctl"));
            let script = String::from_utf8(script(shell)).unwrap();
            if std::env::var_os("CERTCTL_REGENERATE").is_some() {
                #[expect(clippy::disallowed_methods, reason = "a generated file, made by hand")]
                std::fs::write(&path, &script).unwrap();
            }
            let kept = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                kept == script,
                "{} is stale: CERTCTL_REGENERATE=1 cargo test --lib cli",
                path.display()
            );
        }
    }
}
