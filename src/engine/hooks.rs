//! The operator's hooks, and who runs them.

use std::path::{Path, PathBuf};

use crate::manifest::nearest_by;
use crate::program::Runner;
use crate::trust::{quoted, sudo_to_make};

/// The operator's hooks.
#[derive(Clone, Debug, Default)]
pub struct HooksDir {
    /// `hooks.d`.
    pub folder: PathBuf,
    /// Who runs deploy hooks and reloads.
    pub run_by: Hooks,
}

impl HooksDir {
    /// Who runs a hook that this run starts.
    pub(super) fn runner(&self) -> Runner {
        match self.run_by {
            Hooks::Now | Hooks::Later => Runner::Us,
            Hooks::AsRoot => Runner::Root,
        }
    }

    /// Who runs deploy hooks and reloads, now or later.
    pub(super) fn deployer(&self) -> Runner {
        match self.run_by {
            Hooks::Now => Runner::Us,
            Hooks::Later => Runner::Other,
            Hooks::AsRoot => Runner::Root,
        }
    }
}

/// Who runs deploy hooks and reloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hooks {
    /// This run, as its own user.
    #[default]
    Now,
    /// A later run: they stay owed, which is no failure of this one.
    Later,
    /// This run, as root, which needs the capabilities to become root.
    AsRoot,
}

/// The command that installs a package's example as the hook at this path; `None` where there is no
/// example of its name.
pub fn install_example(hook: &Path) -> Option<String> {
    install_from(Path::new(EXAMPLES), hook)
}

fn install_from(examples: &Path, hook: &Path) -> Option<String> {
    let example = examples.join(hook.file_name()?);
    let sudo = sudo_to_make(hook);
    let line = || format!("{sudo}install -D -m 0755 {} {}", quoted(&example), quoted(hook));
    example.is_file().then(line)
}

/// The hook or example that a missing hook may be a typing error of.
pub fn similar_hook(hook: &Path) -> Option<String> {
    let name = hook.file_name()?.to_str()?;
    let names = [programs_in(hook.parent()?), examples()].concat();
    nearest_by(name, names.into_iter(), String::as_str)
}

/// The hooks that the packages have examples of, where they are installed.
pub fn examples() -> Vec<String> {
    programs_in(Path::new(EXAMPLES))
}

/// The names of what is in a folder of hooks, sorted.
pub fn programs_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Where the packages have the examples of hooks.
const EXAMPLES: &str = "/usr/share/doc/certctl/examples/hooks.d";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::sudo_on_own;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test's own files need not survive a crash")]
    fn an_example_of_the_name_of_a_hook_is_installed_by_one_command() {
        let examples = tempfile::tempdir().unwrap();
        let folder = examples.path();
        std::fs::write(folder.join("nginx"), "#!/bin/sh\n").unwrap();
        let line = install_from(folder, Path::new("/etc/my hooks.d/nginx")).unwrap();
        let shown = quoted(&folder.join("nginx"));
        let sudo = sudo_to_make(Path::new("/etc/my hooks.d"));
        assert_eq!(line, format!("{sudo}install -D -m 0755 {shown} '/etc/my hooks.d/nginx'"));
        let own = install_from(folder, &folder.join("hooks.d/nginx")).unwrap();
        assert!(own.starts_with(&format!("{}install ", sudo_on_own())), "{own}");
        assert_eq!(install_from(folder, Path::new("/etc/certctl/hooks.d/other")), None);
    }
}
