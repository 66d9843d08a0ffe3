//! Locks between processes, and between tasks of one process.
//!
//! Contract: a kernel lock on a file, so the kernel releases it when the holder dies. Waiting is
//! polling with an asynchronous sleep. A lock file that an administrator, or its last holder,
//! removed meanwhile is noticed. The handle is not inherited by hooks.
//!
//! Holders have exclusive locks. A process that reads whether a file is locked, or removes that of a
//! killed process, has a shared lock for a moment, and is not taken for a holder.
//!
//! The file holds the number of acquisitions and the process id of the last holder. It is not
//! synced: kernel locks do not outlive a power loss either.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use jiff::SignedDuration;
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use tokio::time::Instant;

use super::atomic::give_mode;
use super::folder::{Folder, io_error};
use crate::store::documents::Lease;
use crate::store::error::StoreError;

/// Length of what is in a lock file, in bytes: always the same, so that it is overwritten whole.
const LINE_BYTES: usize = 32;

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// How long a shared lock may keep a holder out.
const LONGEST_LOOK: Duration = Duration::from_secs(1);
/// How often in a row another process may have put a new file under the name since it was opened.
const MOST_REPLACED: usize = 10;
/// Some network and FUSE file systems give a file another number each time.
const UNSTABLE: &str = "the file system changes the inode numbers of its files: use a local one";

/// A lock that is held until this is dropped, or until the process ends.
#[derive(Debug)]
#[must_use = "the lock is given back when the lease is dropped"]
pub struct KernelLock {
    /// Keeps the kernel lock.
    _file: File,
    epoch: u64,
    /// The file to remove at the end.
    fleeting: Option<(Folder, String)>,
}

impl Drop for KernelLock {
    /// While the lock is held: those who wait for it notice that the file is another one.
    fn drop(&mut self) {
        if let Some((folder, name)) = &self.fleeting
            && let Err(error) = folder.remove(name)
        {
            tracing::warn!(%error, "a lock file is left");
        }
    }
}

impl Lease for KernelLock {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn left(&self) -> SignedDuration {
        SignedDuration::MAX
    }

    async fn renew(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl KernelLock {
    /// Removes the lock's file at the end.
    pub(super) fn removing(mut self, folder: Folder, name: String) -> Self {
        self.fleeting = Some((folder, name));
        self
    }
}

/// What came of an attempt.
#[derive(Debug)]
pub(super) enum Attempt<T> {
    Taken(T),
    /// Another holder has it.
    Held,
    /// Another process reads it.
    Passing,
    /// The file under its name is another one than was opened.
    Replaced,
}

/// Takes the lock on a file, waiting at most `wait` for its holder; tries once when that is not
/// positive.
pub(super) async fn take(
    folder: &Folder,
    name: &str,
    title: String,
    wait: SignedDuration,
) -> Result<KernelLock, StoreError> {
    take_by(|| attempt(folder, name), folder, name, title, wait).await
}

async fn take_by(
    attempt: impl Fn() -> Result<Attempt<KernelLock>, StoreError>,
    folder: &Folder,
    name: &str,
    title: String,
    wait: SignedDuration,
) -> Result<KernelLock, StoreError> {
    let wait = Duration::try_from(wait).unwrap_or_default();
    let mut replaced: usize = 0;
    let begun = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let found = attempt()?;
        let is_replaced = matches!(found, Attempt::Replaced);
        replaced = if is_replaced { replaced.saturating_add(1) } else { 0 };
        if replaced >= MOST_REPLACED {
            return Err(io_error(&folder.join(name), "lock", io::Error::other(UNSTABLE)));
        }
        let left = match found {
            Attempt::Taken(lease) => return Ok(lease),
            Attempt::Held => wait.saturating_sub(begun.elapsed()),
            Attempt::Passing | Attempt::Replaced => {
                wait.max(LONGEST_LOOK).saturating_sub(begun.elapsed())
            }
        };
        if left.is_zero() {
            return Err(StoreError::Locked { what: title, holder: holder(folder, name) });
        }
        tokio::time::sleep(pause.min(left)).await;
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

/// Takes the lock on a file unless it is held.
pub(super) fn try_take(folder: &Folder, name: &str) -> Result<Option<KernelLock>, StoreError> {
    match attempt(folder, name)? {
        Attempt::Taken(lease) => Ok(Some(lease)),
        Attempt::Held | Attempt::Passing | Attempt::Replaced => Ok(None),
    }
}

/// Removes the files with these beginnings that no process holds: what killed processes left.
pub(super) fn remove_abandoned(folder: &Folder, beginnings: &[&str]) -> Result<(), StoreError> {
    let is_ours = |name: &String| beginnings.iter().any(|beginning| name.starts_with(beginning));
    let names: Vec<String> = folder.entries()?.into_iter().filter(is_ours).collect();
    if names.is_empty() {
        return Ok(());
    }
    // Of two with shared locks on a file, the second could remove the next holder's.
    let Some(_alone) = alone_in(folder)? else { return Ok(()) };
    for name in names {
        let Some(file) = folder.open_file(&name, OFlags::RDONLY)? else { continue };
        if file.try_lock_shared().is_ok() && is_under(folder, &name, &file)? {
            folder.remove(&name)?;
        }
    }
    Ok(())
}

/// A lock on the folder itself, unless another process has it.
fn alone_in(folder: &Folder) -> Result<Option<File>, StoreError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = retry_on_intr(|| rustix::fs::openat(folder, ".", flags, Mode::empty()));
    let file = File::from(opened.map_err(|error| io_error(folder.path(), "open", error))?);
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(io_error(folder.path(), "lock", error)),
    }
}

fn open(folder: &Folder, name: &str) -> Result<File, StoreError> {
    let file = folder.open_file(name, OFlags::RDWR | OFlags::CREATE)?;
    file.ok_or_else(|| io_error(&folder.join(name), "create", Errno::NOENT))
}

fn attempt(folder: &Folder, name: &str) -> Result<Attempt<KernelLock>, StoreError> {
    let file = match has_taken(folder, name, open(folder, name)?)? {
        Attempt::Taken(file) => file,
        Attempt::Held => return Ok(Attempt::Held),
        Attempt::Passing => return Ok(Attempt::Passing),
        Attempt::Replaced => return Ok(Attempt::Replaced),
    };
    let path = folder.join(name);
    give_mode(&file, 0o600).map_err(|error| io_error(&path, "change the mode of", error))?;
    let epoch = read_line(&file).map_or(0, |(epoch, _)| epoch).saturating_add(1);
    let line = format!("{epoch:020} {:010}\n", std::process::id());
    file.write_all_at(line.as_bytes(), 0).map_err(|error| io_error(&path, "write", error))?;
    Ok(Attempt::Taken(KernelLock { _file: file, epoch, fleeting: None }))
}

/// Locks a file, without a note of the holder.
pub(super) fn take_file(folder: &Folder, name: &str) -> Result<Attempt<File>, StoreError> {
    has_taken(folder, name, open(folder, name)?)
}

/// Locks an open file.
fn has_taken(folder: &Folder, name: &str, file: File) -> Result<Attempt<File>, StoreError> {
    match file.try_lock() {
        Ok(()) if is_under(folder, name, &file)? => Ok(Attempt::Taken(file)),
        Ok(()) => Ok(Attempt::Replaced),
        Err(TryLockError::WouldBlock) if file.try_lock_shared().is_ok() => Ok(Attempt::Passing),
        Err(TryLockError::WouldBlock) => Ok(Attempt::Held),
        Err(TryLockError::Error(error)) => Err(io_error(&folder.join(name), "lock", error)),
    }
}

/// Whether an open file still is the one under its name.
fn is_under(folder: &Folder, name: &str, file: &File) -> Result<bool, StoreError> {
    let path = folder.join(name);
    let ours = retry_on_intr(|| rustix::fs::fstat(file))
        .map_err(|error| io_error(&path, "read", error))?;
    let there = folder.stat(name)?;
    Ok(there.is_some_and(|there| (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)))
}

/// Who holds the lock on a file now; `None` when no process does.
pub(super) fn current_holder(folder: &Folder, name: &str) -> Result<Option<String>, StoreError> {
    let Some(file) = folder.open_file(name, OFlags::RDONLY)? else { return Ok(None) };
    Ok(match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(holder(folder, name)),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    })
}

fn holder(folder: &Folder, name: &str) -> String {
    let line = folder.open_file(name, OFlags::RDONLY).ok().flatten().and_then(|f| read_line(&f));
    line.map_or_else(|| "another process".to_owned(), |(_, process)| format!("process {process}"))
}

/// Acquisitions and process id; `None` for a new file.
fn read_line(file: &File) -> Option<(u64, u32)> {
    let mut line = [0; LINE_BYTES];
    file.read_exact_at(&mut line, 0).ok()?;
    let (fence, process) = std::str::from_utf8(&line).ok()?.trim_end().split_once(' ')?;
    Some((fence.parse().ok()?, process.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(scratch: &tempfile::TempDir) -> Folder {
        Folder::open(scratch.path()).unwrap().unwrap()
    }

    async fn now(folder: &Folder) -> Result<KernelLock, StoreError> {
        take(folder, "web", "certificate web".into(), SignedDuration::ZERO).await
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_second_task_learns_the_holder_of_the_lock() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        let lease = now(&folder).await.unwrap();
        let error = now(&folder).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("certificate web is locked by process {}", std::process::id())
        );
        let process = format!("process {}", std::process::id());
        assert_eq!(current_holder(&folder, "web").unwrap(), Some(process));
        drop(lease);
        assert_eq!(current_holder(&folder, "web").unwrap(), None);
        assert_eq!(current_holder(&folder, "other").unwrap(), None);
        assert_eq!(now(&folder).await.unwrap().epoch(), 2);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_waiting_task_gets_the_lock_when_it_is_given_back() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        let lease = now(&folder).await.unwrap();
        let wait = take(&folder, "web", String::new(), SignedDuration::from_secs(600));
        let release = async {
            tokio::task::yield_now().await;
            drop(lease);
        };
        let (second, ()) = tokio::join!(wait, release);
        assert_eq!(second.unwrap().epoch(), 2);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_removed_lock_file_blocks_no_process() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        let old = now(&folder).await.unwrap();
        let waiting = open(&folder, "web").unwrap();
        folder.remove("web").unwrap();
        drop(old);
        // The old file is free, but others lock the new one.
        assert!(matches!(has_taken(&folder, "web", waiting).unwrap(), Attempt::Replaced));
        let _new = now(&folder).await.unwrap();
        assert!(matches!(now(&folder).await, Err(StoreError::Locked { .. })));
    }

    /// A file that is another one at each look: by its number no lock is ever taken.
    #[tokio::test(flavor = "current_thread")]
    async fn a_file_system_without_stable_numbers_is_not_another_process() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        let wait = SignedDuration::from_hours(1);
        let take = take_by(|| Ok(Attempt::Replaced), &folder, "web", String::new(), wait);
        let path = scratch.path().join("web");
        let expected = format!("{}: cannot lock: {UNSTABLE}", path.display());
        assert_eq!(take.await.unwrap_err().to_string(), expected);
        // Others may replace it now and then.
        let left = std::cell::Cell::new(MOST_REPLACED - 1);
        let once_more = || {
            if left.get() == 0 {
                return attempt(&folder, "web");
            }
            left.set(left.get() - 1);
            Ok(Attempt::Replaced)
        };
        let lease = take_by(once_more, &folder, "web", String::new(), wait).await.unwrap();
        assert_eq!(lease.epoch(), 1);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_file_of_a_fleeting_lock_goes_with_its_holder() {
        let scratch = tempfile::tempdir().unwrap();
        let (folder, own) = (folder(&scratch), folder(&scratch));
        let lease = now(&folder).await.unwrap().removing(own, "web".to_owned());
        let waiting = || open(&folder, "web").unwrap();
        let (first, second) = (waiting(), waiting());
        assert!(matches!(has_taken(&folder, "web", first).unwrap(), Attempt::Held));
        drop(lease);
        assert!(!scratch.path().join("web").exists());
        // One that waits for the removed file takes a new one.
        assert!(matches!(has_taken(&folder, "web", second).unwrap(), Attempt::Replaced));
        assert_eq!(now(&folder).await.unwrap().epoch(), 1);
    }

    /// A run that tries once would otherwise think that another certificate works on its order.
    #[tokio::test(flavor = "current_thread")]
    async fn who_only_looks_is_not_taken_for_a_holder() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        let look = open(&folder, "web").unwrap();
        look.try_lock_shared().unwrap();
        let taken = now(&folder);
        let end = async {
            tokio::task::yield_now().await;
            drop(look);
        };
        let (taken, ()) = tokio::join!(taken, end);
        let held = taken.unwrap();
        assert!(matches!(now(&folder).await, Err(StoreError::Locked { .. })));
        drop(held);
        // Not for ever.
        let looks_on = open(&folder, "web").unwrap();
        looks_on.try_lock_shared().unwrap();
        assert!(matches!(now(&folder).await, Err(StoreError::Locked { .. })));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_killed_processes_left_is_removed_by_one_at_a_time() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        let take = |name: &'static str| take(&folder, name, String::new(), SignedDuration::ZERO);
        for name in ["order-left", "hook-left", "certificate"] {
            drop(take(name).await.unwrap());
        }
        let _held = take("order-held").await.unwrap();
        let beginnings = ["order-", "hook-"];
        let other = alone_in(&folder).unwrap().unwrap();
        remove_abandoned(&folder, &beginnings).unwrap();
        assert!(scratch.path().join("order-left").exists(), "another process removes them");
        drop(other);
        remove_abandoned(&folder, &beginnings).unwrap();
        let mut left = folder.entries().unwrap();
        left.sort_unstable();
        assert_eq!(left, ["certificate", "order-held"]);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_lock_file_never_is_a_link() {
        let scratch = tempfile::tempdir().unwrap();
        File::create(scratch.path().join("target")).unwrap();
        std::os::unix::fs::symlink("target", scratch.path().join("web")).unwrap();
        assert!(matches!(now(&folder(&scratch)).await, Err(StoreError::NotPlain { .. })));
        assert_eq!(std::fs::read(scratch.path().join("target")).unwrap(), b"");
    }
}
