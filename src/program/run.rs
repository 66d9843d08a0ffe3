//! One run of a program: no shell, a small environment, its own process group, a time limit.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{FusedFuture, FutureExt as _, join3};
use rustix::fs::Mode;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group, umask};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};

use super::first::{BUSY_WAIT, GRACE, note_of};
use super::{Program, ProgramError, shown};
use crate::resource::escape;

/// Time limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The whole run.
    pub(crate) time: Duration,
    /// From SIGTERM to SIGKILL.
    pub(crate) grace: Duration,
    /// For the rest of its output after its exit: background processes may hold the pipes open.
    pub(crate) linger: Duration,
}

impl Limits {
    /// This limit for the whole run; a program that is stopped gets five seconds to clean up.
    pub(crate) const fn within(time: Duration) -> Self {
        Self { time, grace: GRACE, linger: Duration::from_secs(1) }
    }
}

/// See the module.
pub(crate) struct Run<'a> {
    pub(crate) program: &'a Program,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(&'static str, String)>,
    pub(crate) input: Vec<u8>,
    /// A locked file. The program inherits it, so that the lock is held as long as one of its
    /// processes runs; its first process is noted in it.
    pub(crate) lock: Option<&'a File>,
    /// As root, even if this process is not root's: without the capabilities for that it fails.
    pub(crate) as_root: bool,
}

/// Kills the programs that were stopped because a run ended, and are still there after the grace.
pub(crate) async fn end_stopped() {
    let groups = std::mem::take(&mut *stopped());
    if groups.is_empty() {
        return;
    }
    let is_there = |pid: &Pid| test_kill_process_group(*pid).is_ok();
    let gone = async {
        while groups.iter().any(is_there) {
            tokio::time::sleep(BUSY_WAIT).await;
        }
    };
    if tokio::time::timeout(GRACE, gone).await.is_err() {
        kill_all(groups);
    }
}

/// The same, at once.
pub(crate) fn kill_stopped() {
    kill_all(std::mem::take(&mut *stopped()));
}

fn kill_all(groups: Vec<Pid>) {
    for pid in groups {
        kill(pid, Signal::KILL);
    }
}

fn stopped() -> MutexGuard<'static, Vec<Pid>> {
    STOPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn kill(group: Pid, signal: Signal) {
    // The group may have ended already.
    kill_process_group(group, signal).ok();
}

impl Run<'_> {
    /// Runs it, and returns why it failed.
    pub(crate) async fn to_the_end(&self, limits: &Limits) -> Result<(), ProgramError> {
        let mut child = self.start().await.map_err(|error| {
            let missing = error.kind() == ErrorKind::NotFound;
            let help = if missing {
                "; check that the interpreter in its first line exists, and that the line ends as \
                 on Unix"
            } else if Errno::from_io_error(&error) == Some(Errno::NOEXEC) {
                "; its first line must name the interpreter, such as #!/bin/sh"
            } else if self.as_root && error.kind() == ErrorKind::PermissionDenied {
                " as root; --hooks as-root needs CAP_SETUID and CAP_SETGID"
            } else {
                ""
            };
            let reason = format!("{} cannot be run: {error}{help}", self.program.path().display());
            ProgramError::Unusable { reason }
        })?;
        let group = Group(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
        if let (Some(lock), Some(first)) = (self.lock, child.id().and_then(note_of)) {
            // Without it, the next run waits for the program and does not end it.
            lock.write_all_at(format!("{first}\n").as_bytes(), 0).ok();
        }
        let output = Captured::default();
        let talk = join3(
            write(child.stdin.take(), &self.input),
            read(child.stdout.take(), &output.out, Keep::First),
            read(child.stderr.take(), &output.err, Keep::Last),
        );
        let mut talk = std::pin::pin!(talk.fuse());
        let end = wait(&mut child, talk.as_mut(), limits.linger);
        let ended = tokio::time::timeout(limits.time, end).await;
        let Ok(status) = ended else {
            group.signal(Signal::TERM);
            let end = wait(&mut child, talk, limits.linger);
            let in_time = tokio::time::timeout(limits.grace, end).await.is_ok();
            group.signal(Signal::KILL);
            if !in_time {
                drop(tokio::time::timeout(limits.grace, child.wait()).await);
            }
            group.disband();
            let (program, seconds) = (self.program.to_string(), limits.time.as_secs());
            return Err(ProgramError::Stopped { program, seconds, output: output.excerpt() });
        };
        group.disband();
        let program = self.program.to_string();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(ProgramError::Failed {
                program,
                status: words_of(status),
                output: output.excerpt(),
            }),
            Err(error) => Err(ProgramError::Unusable { reason: format!("{program}: {error}") }),
        }
    }

    async fn start(&self) -> Result<Child, Error> {
        let mut tries = 1;
        loop {
            match self.spawn() {
                // ETXTBSY: another process still has the file open for writing.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && tries < TRIES => {
                    tries += 1;
                    tokio::time::sleep(BUSY_WAIT).await;
                }
                other => return other,
            }
        }
    }

    fn spawn(&self) -> Result<Child, Error> {
        let mut command = Command::new(self.program.path());
        command
            .args(&self.arguments)
            .env_clear()
            .envs(
                self.environment.iter().map(|(name, value)| (name, safe(name, value).into_owned())),
            )
            .current_dir(self.program.folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if self.as_root {
            command.uid(0).gid(0);
        }
        if self.as_root || rustix::process::geteuid().is_root() {
            command.envs(environment_of_root());
        }
        // The umask belongs to the whole process, and a stricter one is harmless meanwhile.
        let guard = UMASK.lock();
        let before = umask(Mode::from_raw_mode(0o077));
        let inherit = |flags| self.lock.map_or(Ok(()), |lock| fcntl_setfd(lock, flags));
        inherit(FdFlags::empty())?;
        let child = command.spawn();
        inherit(FdFlags::CLOEXEC)?;
        umask(before);
        drop(guard);
        child
    }
}

/// A value without what a mail's header, a shell's `eval` or a terminal would obey. A path is exact.
fn safe<'v>(name: &str, value: &'v str) -> Cow<'v, str> {
    let is_text = name.starts_with("CERTCTL_") && !name.ends_with("_DIR");
    if is_text { escape(value) } else { Cow::Borrowed(value) }
}

/// Root's own variables: what certctl was started with may name folders of another user, and a
/// program reads its settings from below `HOME`.
fn environment_of_root() -> [(&'static str, OsString); 5] {
    let root = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(0)).ok().flatten();
    let (name, home, shell) = root.map_or_else(
        || ("root".to_owned(), PathBuf::from("/root"), PathBuf::from("/bin/sh")),
        |root| (root.name, root.dir, root.shell),
    );
    [
        ("HOME", home.into()),
        ("USER", name.clone().into()),
        ("LOGNAME", name.into()),
        ("SHELL", shell.into()),
        ("PATH", ROOTS_PATH.into()),
    ]
}

/// The end of the program, and its output until then.
async fn wait<T>(
    child: &mut Child,
    mut talk: Pin<&mut impl FusedFuture<Output = T>>,
    linger: Duration,
) -> Result<ExitStatus, Error> {
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            _ = talk.as_mut(), if !talk.is_terminated() => {}
        }
    };
    if !talk.is_terminated() {
        drop(tokio::time::timeout(linger, talk).await);
    }
    Ok(status)
}

/// A program need not read its standard input.
async fn write(pipe: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut pipe) = pipe {
        drop(pipe.write_all(input).await);
    }
}

#[derive(Clone, Copy)]
enum Keep {
    First,
    Last,
}

/// Reads to the end and keeps a part, so that a full pipe does not block a verbose program.
async fn read(pipe: Option<impl AsyncRead + Unpin>, captured: &RefCell<VecDeque<u8>>, keep: Keep) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; 8192];
    while let Ok(length) = pipe.read(&mut buffer).await {
        let Some(new) = buffer.get(..length).filter(|new| !new.is_empty()) else { return };
        let mut captured = captured.borrow_mut();
        match keep {
            Keep::First => {
                let limit = BUFFERED.saturating_sub(captured.len());
                captured.extend(new.iter().take(limit));
            }
            Keep::Last => {
                captured.extend(new);
                let surplus = captured.len().saturating_sub(BUFFERED);
                drop(captured.drain(..surplus));
            }
        }
    }
}

/// The beginning of standard output, the end of standard error.
#[derive(Default)]
struct Captured {
    out: RefCell<VecDeque<u8>>,
    err: RefCell<VecDeque<u8>>,
}

impl Captured {
    /// The last lines of standard error, or else the first line of standard output: the reason may
    /// stand above a line that only says that it failed.
    fn excerpt(&self) -> String {
        let text = |buffer: &RefCell<VecDeque<u8>>| {
            let bytes: Vec<u8> = buffer.borrow().iter().copied().collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (out, err) = (text(&self.out), text(&self.err));
        let filled = |line: &&str| !line.trim().is_empty();
        let mut last: Vec<&str> = err.lines().rev().filter(filled).take(LAST_LINES).collect();
        last.reverse();
        if last.is_empty() {
            last.extend(out.lines().find(filled));
        }
        shown(&last.iter().map(|line| line.trim()).collect::<Vec<_>>().join("; "))
    }
}

fn words_of(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => {
            let name = SIGNALS.iter().find(|(number, _)| *number == signal);
            let name = name.map_or_else(String::new, |(_, name)| format!(" ({name})"));
            format!("signal {signal}{name}")
        }
        (None, None) => status.to_string(),
    }
}

/// The processes of a run. When the wait for them ends early, they are asked to end, and
/// [`end_stopped`] kills those that do not.
struct Group(Option<Pid>);

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.0 {
            kill(pid, signal);
        }
    }

    fn disband(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            kill(pid, Signal::TERM);
            stopped().push(pid);
        }
    }
}

/// Where root's programs are, in the order of Debian's login.
const ROOTS_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
static UMASK: Mutex<()> = Mutex::new(());
/// The groups that were asked to end when a run ended.
static STOPPED: Mutex<Vec<Pid>> = Mutex::new(Vec::new());
const LAST_LINES: usize = 3;
/// Bytes of each output that are kept.
const BUFFERED: usize = 64 << 10;
const TRIES: u32 = 20;
const SIGNALS: [(i32, &str); 9] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (6, "SIGABRT"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_of_certctl_is_one_line_of_text_and_a_path_is_exact() {
        let value = "a\nBcc: b\u{1b}[2J";
        for name in ["CERTCTL_MESSAGE", "CERTCTL_DOMAIN"] {
            assert_eq!(safe(name, value), "a\\nBcc: b\\u{1b}[2J");
        }
        for name in ["CERTCTL_SECRET_DIR", "CERTCTL_OUTPUT_DIR", "PATH"] {
            assert_eq!(safe(name, value), value);
        }
    }
}
