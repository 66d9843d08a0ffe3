//! The operator's hooks, and who runs them.

use std::path::{Path, PathBuf};

use crate::host::rights;
use crate::manifest::nearest_by;
use crate::program::Runner;
use crate::resource::Fix;

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

/// A hook that is not in its folder; with a package's example of its name, or the name of another one that
/// it may be a typing error of.
pub fn missing_hook(hook: &Path) -> Fix {
    missing_from(Path::new(EXAMPLES), hook)
}

fn missing_from(examples: &Path, hook: &Path) -> Fix {
    let example = hook.file_name().map(|name| examples.join(name));
    let example = example.filter(|example| example.is_file());
    let similar = if example.is_none() { similar_hook(hook) } else { None };
    let by_root = !rights::can_be_made(hook);
    Fix::PutProgram { path: hook.to_owned(), example, similar, by_root }
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

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test's own files need not survive a crash")]
    fn an_example_of_the_name_of_a_hook_takes_its_place() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        std::fs::write(folder.join("nginx"), "#!/bin/sh\n").unwrap();
        let of = |path: PathBuf| {
            let fix = missing_from(folder, &path);
            let Fix::PutProgram { example, by_root, .. } = fix else { panic!("{fix:?}") };
            (example, by_root)
        };
        assert_eq!(of(folder.join("hooks.d/nginx")), (Some(folder.join("nginx")), false));
        assert_eq!(of("/etc/certctl/hooks.d/other".into()).0, None);
    }
}
