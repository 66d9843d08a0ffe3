//! The calls of a run on the files of a world, as `strace` sees them from outside.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use jiff::Timestamp;

use crate::support::{Run, World, finish};

/// One successful call that changes a file or folder, or makes one durable.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// When it began.
    pub(crate) time: Timestamp,
    pub(crate) change: Change,
}

#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A file is opened, and made when there is none.
    Create {
        path: PathBuf,
        mode: u32,
    },
    /// Bytes are written at a place, or at the end.
    Write {
        path: PathBuf,
        at: Option<usize>,
        bytes: Vec<u8>,
    },
    /// The bytes of a file, or the names in a folder, are made durable.
    Sync {
        path: PathBuf,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Exchange {
        one: PathBuf,
        other: PathBuf,
    },
    /// A file gets a second name.
    Link {
        path: PathBuf,
        second: PathBuf,
    },
    Symlink {
        path: PathBuf,
        target: PathBuf,
    },
    /// A file, a link or an empty folder is removed.
    Remove {
        path: PathBuf,
    },
    Folder {
        path: PathBuf,
        mode: u32,
    },
    Mode {
        path: PathBuf,
        mode: u32,
    },
}

/// Whether there is an `strace` that may trace.
pub(crate) fn is_there() -> bool {
    let mut command = Command::new("strace");
    command.args(["-qq", "-o", "/dev/null", "true"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs certctl, and returns what it did below the world's folder.
pub(crate) fn record(world: &World, words: &[&str]) -> (Run, Vec<Call>) {
    let traces = world.path("traces");
    fs::create_dir(&traces).unwrap();
    let calls = format!("trace={}", CALLS.map(|call| format!("?{call}")).join(","));
    let mut command = Command::new("strace");
    // A file for each thread: no line of one is broken by another's.
    command.args(["-ff", "-y", "-ttt", "-xx", "-qq", "-s", "10000000", "-e", &calls, "-o"]);
    command.arg(traces.join("of")).arg(env!("CARGO_BIN_EXE_certctl")).args(words);
    command.args(["--self-check-interval", "100ms", "--http01-check-port"]);
    command.arg(world.port.number().to_string());
    world.surround(&mut command);
    let run = finish(command.spawn().unwrap());
    let of_threads = fs::read_dir(&traces).unwrap().map(|entry| {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let calls = text.lines().filter_map(|line| read(line, world)).collect::<Vec<Call>>();
        calls.into_iter().filter(|call| call.change.path().starts_with(world.path(""))).collect()
    });
    let mut of_threads: Vec<Vec<Call>> =
        of_threads.filter(|calls: &Vec<Call>| !calls.is_empty()).collect();
    fs::remove_dir_all(&traces).unwrap();
    assert!(of_threads.len() <= 1, "the state is written by one thread");
    (run, of_threads.pop().unwrap_or_default())
}

impl Change {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Create { path, .. }
            | Self::Write { path, .. }
            | Self::Sync { path }
            | Self::Rename { to: path, .. }
            | Self::Exchange { one: path, .. }
            | Self::Link { second: path, .. }
            | Self::Symlink { path, .. }
            | Self::Remove { path }
            | Self::Folder { path, .. }
            | Self::Mode { path, .. } => path,
        }
    }
}

/// A line such as `1700000000.000001 openat(3</state>, "a", O_WRONLY|O_CREAT, 0600) = 4</state/a>`,
/// with its paths and texts in hexadecimal.
fn read(line: &str, world: &World) -> Option<Call> {
    let (time, line) = line.split_once(' ')?;
    let (call, rest) = line.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    if !result.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let arguments: Vec<&str> = arguments.trim_end().strip_suffix(')')?.split(", ").collect();
    let argument = |number: usize| arguments[number];
    // A name in the folder of a handle.
    let below = |folder: usize| normal(&handle(argument(folder)).join(name(argument(folder + 1))));
    let here = |number: usize| normal(&world.path("").join(name(argument(number))));
    let mode = |number: usize| u32::from_str_radix(argument(number), 8).unwrap();
    let change = match call {
        "openat" if argument(2).contains("O_CREAT") => {
            assert!(!argument(2).contains("O_TRUNC") || !below(0).starts_with(world.path("")));
            Change::Create { path: below(0), mode: mode(3) }
        }
        "openat" => return None,
        "write" => {
            let (path, bytes) = (handle(argument(0)), bytes(argument(1)));
            Change::Write { path, at: None, bytes }
        }
        "pwrite64" => {
            let (path, bytes) = (handle(argument(0)), bytes(argument(1)));
            Change::Write { path, at: Some(argument(3).parse().unwrap()), bytes }
        }
        "fsync" | "fdatasync" => Change::Sync { path: handle(argument(0)) },
        "rename" => Change::Rename { from: here(0), to: here(1) },
        "renameat2" if argument(4).contains("EXCHANGE") => {
            Change::Exchange { one: below(0), other: below(2) }
        }
        "renameat" | "renameat2" => Change::Rename { from: below(0), to: below(2) },
        "linkat" => Change::Link { path: below(0), second: below(2) },
        "symlinkat" => Change::Symlink { path: below(1), target: name(argument(0)) },
        "unlink" | "rmdir" => Change::Remove { path: here(0) },
        "unlinkat" => Change::Remove { path: below(0) },
        "mkdir" => Change::Folder { path: here(0), mode: mode(1) },
        "mkdirat" => Change::Folder { path: below(0), mode: mode(2) },
        "chmod" => Change::Mode { path: here(0), mode: mode(1) },
        "fchmod" => Change::Mode { path: handle(argument(0)), mode: mode(1) },
        "fchmodat" | "fchmodat2" => Change::Mode { path: below(0), mode: mode(2) },
        other => {
            let is_elsewhere = !handle(argument(0)).starts_with(world.path(""));
            assert!(is_elsewhere, "{other} is not modelled: {line}");
            return None;
        }
    };
    let (seconds, micros) = time.split_once('.')?;
    let time = format!("{seconds}{micros}").parse().unwrap();
    Some(Call { time: Timestamp::from_microsecond(time).unwrap(), change })
}

/// The path of `4</path>`.
fn handle(text: &str) -> PathBuf {
    let (_, path) = text.split_once('<').unwrap_or_else(|| panic!("no handle: {text}"));
    String::from_utf8(unescaped(path.trim_end_matches('>'))).unwrap().into()
}

/// The text of `"text"`.
fn name(text: &str) -> PathBuf {
    String::from_utf8(bytes(text)).unwrap().into()
}

fn bytes(text: &str) -> Vec<u8> {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    unescaped(inner.unwrap_or_else(|| panic!("cut: {text}")))
}

/// Bytes, each written as `\x2f`.
fn unescaped(text: &str) -> Vec<u8> {
    text.split("\\x").skip(1).map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// Without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(part),
        }
    }
    normal
}

/// The calls that change files and folders, or make them durable.
const CALLS: [&str; 26] = [
    "openat",
    "write",
    "pwrite64",
    "writev",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "unlink",
    "unlinkat",
    "rmdir",
    "mkdir",
    "mkdirat",
    "chmod",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "ftruncate",
    "fallocate",
    "mknodat",
];
