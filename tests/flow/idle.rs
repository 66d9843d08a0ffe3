//! A run that has nothing to do leaves no trace: not on its streams, not at the CA, not in the DNS,
//! and not in any folder.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use certctl::rehearsal::RequestKind;

use crate::index::settle;
use crate::support::{CertificateYaml, World};

const COUNT: usize = 50;

/// Everything that can be seen of a file without changing it, and its content. The time of the last
/// access is left out: reading is allowed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    inode: u64,
    links: u64,
    mode: u32,
    owner: (u32, u32),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    content: Vec<u8>,
}

fn traces(path: &Path, all: &mut BTreeMap<PathBuf, Trace>) {
    let of = fs::symlink_metadata(path).unwrap();
    let content = if of.is_symlink() {
        fs::read_link(path).unwrap().into_os_string().into_encoded_bytes()
    } else if of.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            traces(&entry.unwrap().path(), all);
        }
        Vec::new()
    } else {
        fs::read(path).unwrap()
    };
    let trace = Trace {
        inode: of.ino(),
        links: of.nlink(),
        mode: of.mode(),
        owner: (of.uid(), of.gid()),
        size: of.size(),
        modified: (of.mtime(), of.mtime_nsec()),
        changed: (of.ctime(), of.ctime_nsec()),
        content,
    };
    all.insert(path.to_owned(), trace);
}

/// Everything below the world's folder: manifests, state, outputs, home.
pub(crate) fn everything(world: &World) -> BTreeMap<PathBuf, Trace> {
    let mut all = BTreeMap::new();
    traces(&world.path(""), &mut all);
    all
}

/// 50 certificates that were issued, some of them written out and reloaded, and the index of them.
fn all_issued() -> World {
    let world = World::start();
    let out = world.path("out").display().to_string();
    let certificate = |number: usize| {
        let plain = CertificateYaml::new(&format!("c{number}"));
        match number % 10 {
            0 => plain.annotation("certctl/output-dir", &format!("{out}-{number}")),
            1 => plain.annotation("certctl/reload", "reload"),
            _ => plain,
        }
    };
    for hook in ["reload", "on-failure"] {
        let called = world.path("called").display().to_string();
        world.write_program(&format!("config/hooks.d/{hook}"), &format!("echo {hook} >> {called}"));
    }
    world.prepare(&(0..COUNT).map(certificate).collect::<Vec<_>>());
    world.issue().ends_in(0);
    assert_eq!((world.ca.issued(), world.sent(RequestKind::NewAccount)), (COUNT, 1));
    assert_eq!(fs::read_to_string(world.path("called")).unwrap(), "reload\n");
    settle(&world);
    world.issue().says_nothing();
    assert!(world.path("state/index.jsonl").exists());
    // A run of files has an index of its own.
    world.run(&["issue", "./config"]).says_nothing();
    world
}

#[test]
fn an_idle_run_over_fifty_certificates_leaves_no_trace_but_its_time() {
    let world = all_issued();
    let before = everything(&world);
    let asked = || (world.ca.requests(), world.dns.questions().len());
    let asked_before = asked();
    // Its times are when the run ended.
    let last_run = world.path("state/last-run");
    for words in [&["issue"][..], &["issue", "./config"], &["issue", "--parallel", "1"]] {
        world.run(words).says_nothing();
        assert_eq!(asked(), asked_before, "{words:?}");
        let after = everything(&world);
        let differs = |path: &&PathBuf| before.get(*path) != after.get(*path) && **path != last_run;
        let differing: Vec<_> = before.keys().chain(after.keys()).filter(differs).collect();
        assert_eq!(differing, Vec::<&PathBuf>::new(), "{words:?}");
    }
}

/// The same, as the system sees it: no connection, and nothing opened to be written below the
/// world's folder.
#[cfg(feature = "real-servers")]
#[test]
fn an_idle_run_connects_to_no_server_and_opens_nothing_for_writing() {
    use std::process::Command;

    let world = all_issued();
    let trace = world.path("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-qq", "-o"]).arg(&trace);
    command
        .args(["-e", "trace=connect,bind,sendto,openat,?open,?creat,?rename,renameat,?renameat2"]);
    command.arg(env!("CARGO_BIN_EXE_certctl")).arg("issue");
    world.surround(&mut command);
    crate::support::finish(command.spawn().expect("strace is installed")).says_nothing();
    let seen = fs::read_to_string(trace).unwrap();
    assert!(seen.contains("index.jsonl"), "the trace shows what is read: {seen}");
    let folder = world.path("state").display().to_string();
    let is_trace = |line: &&str| {
        let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "creat(", "rename"];
        let talks = ["connect(", "bind(", "sendto("];
        talks.iter().any(|word| line.contains(word))
            || (line.contains(&folder) && writes.iter().any(|word| line.contains(word)))
    };
    let traces: Vec<&str> = seen.lines().filter(is_trace).collect();
    assert!(traces.is_empty(), "{traces:#?}");
}
