//! What a run costs, in figures that do not depend on the machine: requests, system calls, syncs
//! and bytes written to the state. None may grow by more than a tenth without a new kept figure in
//! `tests/bench-figures.json` (`CERTCTL_REGENERATE=1`; review the difference). Times are for
//! `tests/bench`, and fail nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::index::settle;
use crate::support::fixture::put;
use crate::support::{CertificateYaml, World, finish};

/// By name.
type Counts = BTreeMap<String, u64>;

/// The figures of this build, which is not optimised.
const BUILD: &str = "test";

#[test]
fn no_count_grows_by_more_than_a_tenth_without_a_new_kept_figure() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench-figures.json");
    let mut kept: BTreeMap<String, BTreeMap<String, Counts>> =
        serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let seen = BTreeMap::from([
        ("one name, account known".to_owned(), issuance(1, 1)),
        ("25 names".to_owned(), requests(issuance(1, 25))),
        ("10 certificates".to_owned(), issuance(10, 1)),
        ("idle, 10 certificates".to_owned(), idle(10)),
    ]);
    if std::env::var_os("CERTCTL_REGENERATE").is_some() {
        kept.insert(BUILD.to_owned(), seen);
        put(&path, format!("{}\n", serde_json::to_string_pretty(&kept).unwrap()).as_bytes());
        return;
    }
    let kept = &kept[BUILD];
    assert_eq!(kept.keys().collect::<Vec<_>>(), seen.keys().collect::<Vec<_>>());
    for (scene, counts) in &seen {
        let grown = counts.iter().filter(|(name, count)| **count > most(kept[scene][*name]));
        let grown: Vec<_> = grown.map(|(name, count)| (name, kept[scene][name], count)).collect();
        assert!(grown.is_empty(), "{scene}: (what, kept, now): {grown:?}");
    }
}

/// A tenth more, and one for small figures.
fn most(kept: u64) -> u64 {
    kept + kept.div_ceil(10)
}

/// A first issuance, by an account that is known.
fn issuance(certificates: usize, names: usize) -> Counts {
    let world = World::with(|options| options.renewal_info = true);
    world.prepare(&[CertificateYaml::new("account")]);
    world.issue().ends_in(0);
    let of = |number: usize| {
        let names: Vec<String> =
            (0..names).map(|n| format!("n{n}.c{number}.example.test")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        CertificateYaml::new(&format!("c{number}")).for_names(&names)
    };
    let all: Vec<CertificateYaml> = (0..certificates).map(of).collect();
    world.prepare(&all);
    count(&world, &[])
}

/// The requests alone: how many outcomes of one order are written together depends on the moment.
fn requests(mut counts: Counts) -> Counts {
    counts.retain(|name, _| name == "requests");
    counts
}

/// A run that has nothing to do, with an index that says so.
fn idle(certificates: usize) -> Counts {
    let names = (0..certificates).map(|number| format!("c{number}"));
    let all: Vec<CertificateYaml> = names.map(|name| CertificateYaml::new(&name)).collect();
    let world = World::with(|options| options.renewal_info = true);
    world.prepare(&all);
    world.issue().ends_in(0);
    settle(&world);
    world.issue().ends_in(0);
    count(&world, &[])
}

/// The same of a file beside the config directory.
fn idle_file(certificates: usize) -> Counts {
    let world = World::prepared(&[]);
    let names = (0..certificates).map(|number| format!("c{number}"));
    let all: Vec<String> = names.map(|name| CertificateYaml::new(&name).to_string()).collect();
    let file = world.write("many.yaml", &all.join("---\n")).display().to_string();
    world.run(&["issue", &file]).ends_in(0);
    settle(&world);
    world.run(&["issue", &file]).says_nothing();
    count(&world, &[&file])
}

#[test]
fn an_idle_run_of_a_file_makes_at_most_ten_calls_for_each_certificate() {
    let [few, many] = [16, 48].map(|certificates| idle_file(certificates)["system calls"]);
    assert!(many - few <= 10 * 32, "{few} {many}");
}

fn count(world: &World, words: &[&str]) -> Counts {
    let (before, trace) = (world.ca.requests(), world.path("trace"));
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-qq", "-s", "0", "-o"]).arg(&trace);
    command.arg(env!("CARGO_BIN_EXE_certctl")).arg("issue").args(words);
    // A run that waits for nothing may be ended by the index.
    command.args(["--self-check-interval", "100ms"]);
    command.arg("--http01-check-port").arg(world.port.number().to_string());
    world.surround(&mut command);
    finish(command.spawn().expect("strace is installed")).ends_in(0);
    let mut counts = of_trace(&fs::read_to_string(&trace).unwrap(), &world.path("state"));
    fs::remove_file(trace).unwrap();
    let requests = u64::try_from(world.ca.requests() - before).unwrap();
    counts.insert("requests".to_owned(), requests);
    counts
}

/// Counts the calls of a trace. Those that wait, for a thread or for an event, are as many as the
/// moment makes them, and are left out.
fn of_trace(trace: &str, state: &Path) -> Counts {
    const WAITS: [&str; 5] =
        ["futex", "epoll_wait", "epoll_pwait", "sched_yield", "restart_syscall"];
    let state = state.display().to_string();
    let (mut calls, mut syncs, mut bytes) = (0, 0, 0);
    let mut synced_writes = BTreeSet::new();
    for line in trace.lines() {
        let call = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        let Some((name, rest)) = call.split_once('(') else { continue };
        if WAITS.contains(&name) || name.starts_with("<...") {
            continue;
        }
        calls += 1;
        let path = rest.split_once('<').and_then(|(_, path)| path.split_once('>'));
        let path = path.map_or("", |(path, _)| path);
        let result = rest.rsplit_once(" = ").map_or("", |(_, result)| result);
        match name {
            "fsync" | "fdatasync" | "syncfs" | "sync" | "sync_file_range" => syncs += 1,
            "openat" if rest.contains("O_DSYNC") || rest.contains("O_SYNC") => {
                let opened = result.split_once('<').and_then(|(_, path)| path.split_once('>'));
                synced_writes.extend(opened.map(|(path, _)| path.to_owned()));
            }
            "write" | "pwrite64" | "writev" if path.starts_with(&state) => {
                bytes += result.parse::<u64>().unwrap_or_default();
                syncs += u64::from(synced_writes.contains(path));
            }
            _ => {}
        }
    }
    let named = [("system calls", calls), ("syncs", syncs), ("bytes written", bytes)];
    named.map(|(name, count)| (name.to_owned(), count)).into()
}

#[test]
fn calls_syncs_and_bytes_are_counted_from_a_trace() {
    let trace = "7 openat(3</s>, \"\"..., O_WRONLY|O_CREAT|O_DSYNC, 0600) = 4</s/log>\n\
                 7 write(4</s/log>, \"\"..., 12) = 12\n\
                 7 write(5</s/other>, \"\"..., 30) = 30\n\
                 8 futex(0x7f, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>\n\
                 7 write(1<pipe:[1]>, \"\"..., 5) = 5\n\
                 7 fsync(5</s/other>) = 0\n\
                 8 <... futex resumed>) = 0\n\
                 7 +++ exited with 0 +++\n";
    let expected = [("system calls", 5), ("syncs", 2), ("bytes written", 42)];
    let expected: Counts = expected.map(|(name, count)| (name.to_owned(), count)).into();
    assert_eq!(of_trace(trace, Path::new("/s")), expected);
}
