//! The runs that listen on this host: each listener has a file in the folder `.listeners` of the
//! runtime folder, named by its process. So a run learns without a look at every socket of the host
//! that another one has come or gone.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, fstat, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::folder::private_folder;

/// The folder of the runs that listen.
#[derive(Debug)]
pub(super) struct Presence {
    folder: Arc<OwnedFd>,
    seen: Mutex<Seen>,
}

/// What the folder was when it was last looked at.
#[derive(Debug, Default)]
struct Seen {
    /// When it last changed: seconds and nanoseconds.
    changed: Option<(i64, u64)>,
    /// The files of processes that live.
    names: BTreeSet<String>,
}

/// The file of one listener; it goes with it.
#[derive(Debug)]
pub(super) struct Present {
    folder: Arc<OwnedFd>,
    name: String,
}

impl Presence {
    /// Opens the folder, below a runtime folder.
    pub(super) fn open(runtime: impl AsFd, uid: u32) -> Option<Self> {
        let folder = private_folder(runtime, FOLDER.as_ref(), Mode::RWXU, uid)?;
        Some(Self { folder: Arc::new(folder), seen: Mutex::default() })
    }

    /// Enters a listener of this process. Files that killed processes left go.
    pub(super) fn enter(&self) -> Result<Present, Errno> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        for name in names(&self.folder).iter().filter(|name| !lives(name)) {
            unlink(&self.folder, name);
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        // It may be there: an earlier process had the same number.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        drop(File::from(openat(&self.folder, &name, flags, Mode::RUSR | Mode::WUSR)?));
        Ok(Present { folder: Arc::clone(&self.folder), name })
    }

    /// Whether a listener has gone since the last call. One that came and went in between is one.
    pub(super) fn has_one_gone(&self) -> bool {
        let changed = fstat(&*self.folder).ok().map(|stat| (stat.st_mtime, stat.st_mtime_nsec));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let is_alone = seen.names.len() <= 1;
        // A process that is killed leaves its file.
        if changed == seen.changed && (is_alone || seen.names.iter().all(|name| lives(name))) {
            return false;
        }
        let names: BTreeSet<_> =
            names(&self.folder).into_iter().filter(|name| lives(name)).collect();
        let has_come = names.len() > seen.names.len() && names.is_superset(&seen.names);
        let is_first = seen.changed.is_none();
        *seen = Seen { changed, names };
        !has_come && !is_first
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        unlink(&self.folder, &self.name);
    }
}

fn names(folder: &OwnedFd) -> Vec<String> {
    let entries = Dir::read_from(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
    names.filter(|name| !name.starts_with('.')).collect()
}

/// Whether the process of a file lives.
fn lives(name: &str) -> bool {
    let number = name.split_once('-').and_then(|(pid, _)| pid.parse().ok());
    let pid = number.and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

fn unlink(folder: &OwnedFd, name: &str) {
    if let Err(errno) = unlinkat(folder, name, AtFlags::empty())
        && errno != Errno::NOENT
    {
        tracing::debug!(name, %errno, "the file of a listener stays");
    }
}

const FOLDER: &str = ".listeners";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use super::*;

    fn open(root: &Path) -> Presence {
        let folder = File::open(root).unwrap();
        Presence::open(&folder, rustix::process::geteuid().as_raw()).unwrap()
    }

    #[test]
    fn a_listener_that_goes_is_noticed_and_one_that_comes_is_not_one_that_went() {
        let root = tempfile::tempdir().unwrap();
        let (one, two) = (open(root.path()), open(root.path()));
        let _own = one.enter().unwrap();
        assert!(!one.has_one_gone(), "the first look");
        let other = two.enter().unwrap();
        assert!(!one.has_one_gone(), "one has come");
        assert!(!one.has_one_gone(), "nothing has happened");
        drop(other);
        assert!(one.has_one_gone());
        assert!(!one.has_one_gone(), "it is told once");
    }

    #[test]
    fn what_a_killed_process_left_counts_as_gone_and_is_taken_away() {
        let root = tempfile::tempdir().unwrap();
        let presence = open(root.path());
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let folder = root.path().join(FOLDER);
        File::create(folder.join(format!("{}-0", child.id()))).unwrap();
        let _own = presence.enter().unwrap();
        assert!(!presence.has_one_gone(), "the first look");
        let before = std::fs::metadata(&folder).unwrap().mtime_nsec();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(presence.has_one_gone());
        assert_eq!(std::fs::metadata(&folder).unwrap().mtime_nsec(), before);
        let _again = presence.enter().unwrap();
        assert_eq!(names(&presence.folder).len(), 2);
    }
}
