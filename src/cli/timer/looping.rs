//! The processes of `certctl run`, which need no scheduler.
//!
//! Contract: read-only. The variables of another user's process cannot be read: then the defaults of
//! its user are assumed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::crontab::{KnownRun, User, run_of};

/// A process of `certctl run`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Looping {
    pub(crate) pid: u32,
    /// Its user and its folders.
    pub(crate) run: KnownRun,
}

impl Looping {
    /// Those of this host, or container.
    pub(crate) fn of_host() -> Vec<Self> {
        Self::of(Path::new("/proc"))
    }

    fn of(processes: &Path) -> Vec<Self> {
        let entries = fs::read_dir(processes).into_iter().flatten().flatten();
        let mut all: Vec<Self> = entries.filter_map(|entry| Self::read(&entry.path())).collect();
        all.sort_by_key(|one| one.pid);
        all
    }

    fn read(process: &Path) -> Option<Self> {
        let pid = process.file_name()?.to_str()?.parse().ok()?;
        let line = fs::read(process.join("cmdline")).ok()?;
        let words = texts(&line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (program, arguments) = words.split_first()?;
        if Path::new(program).file_name()? != "certctl" || !arguments.contains(&"run") {
            return None;
        }
        let user = User::of_number(process.metadata().ok()?.uid());
        let variables = fs::read(process.join("environ")).unwrap_or_default();
        let variables = texts(&variables).into_iter().filter_map(|variable| {
            let (name, value) = variable.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        });
        let variables: Vec<(String, String)> = variables.collect();
        let run = run_of(&words, Path::new(program), user, &variables)?;
        Some(Self { pid, run })
    }
}

/// Texts that each end in a zero byte.
fn texts(bytes: &[u8]) -> Vec<String> {
    let texts = bytes.split(|byte| *byte == 0).filter(|text| !text.is_empty());
    texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::write;
    use super::*;

    #[test]
    fn a_process_of_run_is_found_with_its_folders() {
        let root = tempfile::tempdir().unwrap();
        let process = |pid: u32, line: &str, variables: &str| {
            let zeros = |text: &str| text.replace(' ', "\0") + "\0";
            write(root.path(), &format!("{pid}/cmdline"), &zeros(line));
            write(root.path(), &format!("{pid}/environ"), &zeros(variables));
        };
        process(1, "/usr/bin/certctl run --every 1h", "CERTCTL_CONFIG_DIR=/srv/c A=b");
        process(7, "certctl run --config-dir /srv/d --state-dir=/srv/s", "");
        process(8, "certctl issue run.yaml", "");
        process(9, "vi run certctl", "");
        write(root.path(), "self/cmdline", "certctl\0run\0");
        let found = Looping::of(root.path());
        let found: Vec<(u32, String)> = found
            .into_iter()
            .map(|one| (one.pid, one.run.config.path.display().to_string()))
            .collect();
        assert_eq!(found, [(1, "/srv/c".to_owned()), (7, "/srv/d".to_owned())]);
    }
}
