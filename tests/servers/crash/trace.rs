//! What `strace` sees of a run, and what it can do to one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Run, World, finish};

/// The calls that change a state directory.
const CALLS: [&str; 17] = [
    "openat",
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "rename",
    "renameat",
    "renameat2",
    "mkdir",
    "mkdirat",
    "symlink",
    "symlinkat",
    "unlink",
    "unlinkat",
    "link",
    "linkat",
    "ftruncate",
];

/// One call of the main thread, on which all state is read and written: the n-th of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) call: String,
    pub(crate) number: usize,
    /// As strace showed it, for messages.
    pub(crate) line: String,
}

/// certctl under strace.
fn strace(world: &World, words: &[&str], options: &[&str]) -> Run {
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-qq"]).args(options).arg(env!("CARGO_BIN_EXE_certctl"));
    command.args(words).args(["--self-check-interval", "100ms", "--http01-check-port"]);
    command.arg(world.port.number().to_string());
    world.surround(&mut command);
    finish(command.spawn().expect("strace is installed"))
}

/// A run that nothing disturbs, and every call in it that changes something below the world's
/// folder: in the state, or where a pair is used.
pub(crate) fn record(world: &World, words: &[&str]) -> Vec<Point> {
    let file: PathBuf = world.path("trace");
    let trace = format!("trace={}", CALLS.map(|call| format!("?{call}")).join(","));
    strace(world, words, &["-o", file.to_str().unwrap(), "-e", &trace]).ends_in(0);
    points(&std::fs::read_to_string(file).unwrap(), &world.path(""))
}

/// How often a run opens each manifest right in a folder.
pub(crate) fn opened(world: &World, words: &[&str], folder: &Path) -> BTreeMap<PathBuf, usize> {
    let file: PathBuf = world.path("trace");
    strace(world, words, &["-o", file.to_str().unwrap(), "-e", "trace=open,openat"]).ends_in(0);
    let mut opened = BTreeMap::new();
    for line in std::fs::read_to_string(file).unwrap().lines() {
        // The path of the folder's handle, and the name.
        let below = line.split(['<', '>']).nth(1).unwrap_or_default();
        let path = Path::new(below).join(line.split('"').nth(1).unwrap_or_default());
        if path.parent() == Some(folder) && path.extension().is_some_and(|end| end == "yaml") {
            *opened.entry(path).or_default() += 1;
        }
    }
    opened
}

fn points(trace: &str, folder: &Path) -> Vec<Point> {
    let folder = folder.to_str().unwrap();
    let mut main_thread = None;
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut points = Vec::new();
    for line in trace.lines() {
        let (thread, line) = line.split_once(' ').unwrap();
        let (call, rest) = line.trim_start().split_once('(').unwrap_or(("", ""));
        if *main_thread.get_or_insert(thread) != thread || !CALLS.contains(&call) {
            continue;
        }
        let number = numbers.entry(call).or_insert(0);
        *number += 1;
        let changes = match call {
            "openat" => rest.contains("O_CREAT"),
            "mkdir" | "mkdirat" => !rest.contains("EEXIST"),
            _ => true,
        };
        if changes && rest.contains(folder) {
            let (call, line) = (call.to_owned(), line.trim_start().to_owned());
            points.push(Point { call, number: *number, line });
        }
    }
    points
}

/// A run that is killed when it begins this call.
pub(crate) fn kill_at(world: &World, words: &[&str], point: &Point) -> Run {
    inject(world, words, point, "signal=KILL")
}

/// A run in which this call fails, once.
pub(crate) fn fail_at(world: &World, words: &[&str], point: &Point, error: &str) -> Run {
    inject(world, words, point, &format!("error={error}"))
}

fn inject(world: &World, words: &[&str], Point { call, number, .. }: &Point, what: &str) -> Run {
    let trace = format!("trace={call}");
    let inject = format!("inject={call}:{what}:when={number}");
    strace(world, words, &["-o", "/dev/null", "-e", &trace, "-e", &inject])
}
