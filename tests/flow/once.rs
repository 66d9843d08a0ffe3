//! What one run does once, as the system sees it: the state is opened, settings are built (which
//! reads the standard input of `-f -`), the config directory is listed, each manifest is read, and
//! records are loaded for the selection.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::index::settle;
use crate::support::{CertificateYaml, World, finish};

/// What a run read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Reads {
    /// How often the folder of the state was opened.
    state: usize,
    /// How often the config directory was listed.
    listings: usize,
    /// How often each manifest was opened, by name.
    manifests: BTreeMap<String, usize>,
    /// How often the record of `web` was opened: before the lock was taken, and after that.
    record: [usize; 2],
    /// How often standard input was read to its end.
    inputs: usize,
}

fn traced(world: &World, words: &[&str], code: i32) -> Reads {
    traced_with(world, words, Stdio::null(), code)
}

fn traced_with(world: &World, words: &[&str], input: Stdio, code: i32) -> Reads {
    let trace = world.path("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-qq", "-s", "0", "-e", "trace=?open,openat,getdents64,read", "-o"]);
    command.arg(&trace).arg(env!("CARGO_BIN_EXE_certctl")).args(words);
    command.args(["--self-check-interval", "100ms"]);
    command.arg("--http01-check-port").arg(world.port.number().to_string());
    world.surround(&mut command);
    finish(command.stdin(input).spawn().expect("strace is installed")).ends_in(code);
    let reads = reads(&fs::read_to_string(&trace).unwrap(), world);
    fs::remove_file(trace).unwrap();
    reads
}

fn reads(trace: &str, world: &World) -> Reads {
    let mut reads = Reads::default();
    let mut is_locked = false;
    for line in trace.lines() {
        let Some((call, result)) = line.rsplit_once(" = ") else { continue };
        if call.contains("getdents64(") {
            let is_end = result == "0" && path_in(call) == Some(world.path("config"));
            reads.listings += usize::from(is_end);
        } else if call.contains("read(0<") {
            reads.inputs += usize::from(result == "0");
        } else if let Some(path) = path_in(result) {
            let is = |below: &str| path == world.path(below);
            reads.state += usize::from(is("state"));
            is_locked |= is("state/locks/certificates/default/web");
            let number = usize::from(is("state/certificates/default/web/status.json"));
            reads.record[usize::from(is_locked)] += number;
            if path.extension().is_some_and(|extension| extension == "yaml") {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                *reads.manifests.entry(name).or_default() += 1;
            }
        }
    }
    reads
}

/// The path of the first descriptor in a text.
fn path_in(text: &str) -> Option<PathBuf> {
    let (_, path) = text.split_once('<')?;
    Some(Path::new(path.split_once('>')?.0).to_owned())
}

fn once(names: &[&str]) -> BTreeMap<String, usize> {
    names.iter().map(|name| ((*name).to_owned(), 1)).collect()
}

/// Issued by the config directory, with an index that says so.
fn issued(certificates: &[CertificateYaml]) -> World {
    let world = World::with(|options| options.leaf_lifetime = Duration::from_hours(3));
    world.prepare(certificates);
    world.issue().ends_in(0);
    settle(&world);
    world.issue().says_nothing();
    world
}

fn web(renew_before: &str) -> CertificateYaml {
    CertificateYaml::new("web").field(&format!("renewBefore: {renew_before}"))
}

#[test]
fn a_first_issuance_reads_each_thing_once() {
    let world = World::start();
    let text = format!("{}---\n{}", world.issuer(), CertificateYaml::new("web"));
    let file = world.write("web.yaml", &text);
    let (file, listings) = (file.to_str().unwrap(), 1);
    // Who makes the folder opens it to give it its mode.
    let first = Reads { state: 2, listings, manifests: once(&["web.yaml"]), ..Reads::default() };
    assert_eq!(traced(&world, &["issue", file], 0), first);
    // For the selection, and to decide.
    let idle = Reads { state: 1, record: [2, 0], ..first };
    assert_eq!(traced(&world, &["issue", file], 0), idle);
    assert_eq!(world.ca.issued(), 1);
}

#[test]
fn a_folder_that_could_be_the_name_of_a_certificate_is_read_once() {
    let world = World::start();
    world.write("site/issuer.yaml", &world.issuer());
    world.write("site/web.yaml", &CertificateYaml::new("web"));
    let manifests = once(&["issuer.yaml", "web.yaml"]);
    // All names are looked up: the folder of manifests is listed for these and for the run.
    let first = Reads { state: 2, listings: 2, manifests, ..Reads::default() };
    assert_eq!(traced(&world, &["issue", "site"], 0), first);
    let idle = Reads { state: 1, record: [2, 0], ..first };
    assert_eq!(traced(&world, &["issue", "site"], 0), idle);
    assert_eq!(world.ca.issued(), 1);
}

/// They are part of the settings.
#[test]
fn manifests_on_standard_input_of_the_flag_are_read_once_and_found() {
    let world = World::start();
    let text = format!("{}---\n{}", world.issuer(), CertificateYaml::new("web"));
    let input = File::open(world.write("web.yaml", &text)).unwrap();
    let expected = Reads { state: 2, listings: 1, inputs: 1, ..Reads::default() };
    let words = ["issue", "-f", "-"];
    assert_eq!(traced_with(&world, &words, input.into(), 0), expected);
    assert_eq!(world.ca.issued(), 1);
}

#[test]
fn a_due_renewal_reads_each_thing_once() {
    let world = issued(&[web("1h")]);
    world.write("config/web.yaml", &web("3h30m"));
    let manifests = once(&["issuer.yaml", "web.yaml"]);
    // Without the lock for the selection and to decide; under it to decide again.
    let due = Reads { state: 1, listings: 1, manifests, record: [2, 1], inputs: 0 };
    assert_eq!(traced(&world, &["issue"], 0), due);
    world.write("config/web.yaml", &web("1h"));
    assert_eq!(traced(&world, &["renew", "--all", "--yes"], 0), due);
    // It is looked up first whether this is about several, or whether others matter.
    let due = Reads { listings: 2, ..due };
    for words in [&["renew", "-l", "app!=none"][..], &["renew", "web"]] {
        assert_eq!(traced(&world, words, 0), due, "{words:?}");
    }
    assert_eq!(world.ca.issued(), 5);
    for (words, listings) in [(&["deploy"][..], 1), (&["deploy", "web"], 2)] {
        let due = Reads { listings, ..due.clone() };
        assert_eq!(traced(&world, words, 0), due, "{words:?}");
    }
}

#[test]
fn an_idle_run_reads_each_thing_once() {
    let world = issued(&["web", "b", "c"].map(CertificateYaml::new));
    let by_the_index = Reads { state: 1, ..Reads::default() };
    for words in [&["issue"][..], &["issue", "-q"]] {
        assert_eq!(traced(&world, words, 0), by_the_index, "{words:?}");
    }
    // Only this one is looked at.
    let record = world.path("state/certificates/default/web/status.json");
    for mode in [0o640, 0o600] {
        fs::set_permissions(&record, Permissions::from_mode(mode)).unwrap();
    }
    let manifests = once(&["issuer.yaml", "web.yaml"]);
    let few = Reads { manifests, record: [2, 0], ..by_the_index };
    assert_eq!(traced(&world, &["issue"], 0), few);
    fs::remove_file(world.path("state/index.jsonl")).unwrap();
    let manifests = once(&["issuer.yaml", "web.yaml", "b.yaml", "c.yaml"]);
    let all = Reads { listings: 1, manifests, ..few };
    assert_eq!(traced(&world, &["issue"], 0), all);
}

/// It notes that it printed them.
#[test]
fn a_scheduled_run_with_mistakes_reads_each_thing_once() {
    let world = issued(&[CertificateYaml::new("web")]);
    world.write("config/bad.yaml", "a: [");
    let manifests = once(&["bad.yaml", "issuer.yaml", "web.yaml"]);
    let expected = Reads { state: 1, listings: 1, manifests, record: [2, 0], inputs: 0 };
    for _ in 0..2 {
        assert_eq!(traced(&world, &["issue", "-q"], 3), expected);
    }
    assert!(world.path("state/reported").exists());
}
