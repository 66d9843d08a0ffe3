//! What a run that was ended or killed leaves, and what must be there before an order.

use std::fs::{self, DirBuilder, File};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use certctl::rehearsal::RequestKind;
use certctl::resource::FirstProcess;
use certctl::store::atomic;
use rustix::process::{Pid, Signal, geteuid, kill_process, test_kill_process};

use crate::support::{CertificateYaml, World, finish, silent_server, until};

/// A user without rights.
const SERVICE: u32 = 54_326;

/// A world with a deploy hook that says when two of its processes run at once, and its run up to the
/// moment when the hook is started. `first` is what the first one does.
fn interrupted_in_a_hook(first: &str) -> (World, Child) {
    started_by(None, first)
}

/// The same by this user, to whom all is given.
fn started_by(user: Option<u32>, first: &str) -> (World, Child) {
    let world = World::start();
    let web = CertificateYaml::new("web").annotation("certctl/deploy-hook", "install");
    world.prepare(&[web]);
    let folder = world.path("").display().to_string();
    let script = format!(
        "cd {folder}\n\
         for p in $(cat pids 2>/dev/null); do kill -0 $p 2>/dev/null && echo twice >> twice; done\n\
         echo $$ >> pids\n\
         [ $(wc -l < pids) -gt 1 ] && exit\n\
         {first}\n"
    );
    world.write_program("config/hooks.d/install", &script);
    if let Some(user) = user {
        let owner = format!("{user}:{user}");
        let chown = Command::new("chown").args(["-R", &owner]).arg(world.path("")).status();
        assert!(chown.unwrap().success());
    }
    let run = command_of(user, &world, &["issue"]).spawn().unwrap();
    until("the hook runs", || !hooks(&world).is_empty());
    until("its process is noted", || {
        let locks = fs::read_dir(world.state().path("locks")).unwrap().map(|lock| lock.unwrap());
        let mut hooks =
            locks.filter(|lock| lock.file_name().as_encoded_bytes().starts_with(b"hook-"));
        hooks.any(|lock| lock.metadata().is_ok_and(|found| found.len() > 0))
    });
    (world, run)
}

/// A command of this user's.
fn command_of(user: Option<u32>, world: &World, words: &[&str]) -> Command {
    let mut command = world.command(words);
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    command
}

/// The processes of the hook, oldest first.
fn hooks(world: &World) -> Vec<Pid> {
    let pids = fs::read_to_string(world.path("pids")).unwrap_or_default();
    // The last line may be in the making.
    let lines = pids.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    lines.map(|line| Pid::from_raw(line.trim().parse().unwrap()).unwrap()).collect()
}

fn is_there(process: Pid) -> bool {
    test_kill_process(process).is_ok()
}

#[test]
fn a_hook_that_ignores_term_does_not_outlive_a_run_that_a_signal_ends() {
    let (world, run) = interrupted_in_a_hook("trap '' TERM; echo >> ready; exec sleep 600");
    until("the signal is ignored", || world.path("ready").exists());
    let certctl = Pid::from_raw(run.id().cast_signed()).unwrap();
    kill_process(certctl, Signal::TERM).unwrap();
    assert_eq!(finish(run).code, Some(143));
    let hook = hooks(&world)[0];
    until("the hook is gone", || !is_there(hook));
    world.issue().ends_in(0);
    assert_eq!((hooks(&world).len(), world.path("twice").exists()), (2, false));
}

#[test]
fn a_hook_of_a_killed_run_is_waited_for_and_ended_before_it_is_run_again() {
    // Root ends nothing of which it has but a number.
    let user = geteuid().is_root().then_some(SERVICE);
    let (world, mut run) = started_by(user, "exec sleep 600");
    let certctl = |words: &[&str]| finish(command_of(user, &world, words).spawn().unwrap());
    run.kill().unwrap();
    finish(run);
    let hook = hooks(&world)[0];
    assert!(is_there(hook), "it outlives a killed certctl");
    certctl(&["issue", "--hook-timeout", "1s"]).ends_in(0).says("is ended");
    assert_eq!((hooks(&world).len(), world.path("twice").exists()), (2, false));
    assert!(!is_there(hook));
    assert_eq!(world.sent(RequestKind::NewOrder), 1);
    certctl(&["issue"]).says_nothing();
    // What a hook leaves in the background keeps no run waiting.
    let folder = world.path("").display().to_string();
    let script = format!("sleep 600 & echo $! > {folder}/left; echo done >> {folder}/done");
    world.write_program("config/hooks.d/install", &script);
    for _ in 0..2 {
        certctl(&["renew", "web"]).ends_in(0);
        let left = fs::read_to_string(world.path("left")).unwrap();
        kill_process(Pid::from_raw(left.trim().parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    }
    assert_eq!(fs::read_to_string(world.path("done")).unwrap(), "done\ndone\n");
    let locks = fs::read_dir(world.state().path("locks")).unwrap();
    let left = locks
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("hook-"));
    assert_eq!(left.count(), 0);
}

/// The state may be another user's, who can write any number into it.
#[test]
fn as_root_no_process_that_a_lock_names_is_ended() {
    if !geteuid().is_root() {
        return not_run("it needs root");
    }
    let (world, mut run) = interrupted_in_a_hook("exec sleep 600");
    run.kill().unwrap();
    finish(run);
    let hook = hooks(&world)[0];
    let still = |number: i32| format!("still runs, as process {number}");
    let deploy = || world.run(&["deploy", "web", "--hook-timeout", "1s"]);
    deploy().ends_in(6).says(&still(hook.as_raw_nonzero().get()));
    assert!(is_there(hook));
    kill_process(hook, Signal::KILL).unwrap();
    until("the hook is gone", || !is_there(hook));
    // Another process holds the lock, and names a third one.
    let mut victim = Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", victim.id())).unwrap();
    let started = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse();
    let number = victim.id().cast_signed();
    let named = FirstProcess::new(number, started.unwrap()).unwrap();
    let locks = fs::read_dir(world.state().path("locks")).unwrap().map(|lock| lock.unwrap().path());
    let is_of_hook =
        |lock: &PathBuf| lock.file_name().unwrap().as_encoded_bytes().starts_with(b"hook-");
    let lock = locks.into_iter().find(is_of_hook).unwrap();
    let mut held = File::create(&lock).unwrap();
    held.lock().unwrap();
    writeln!(held, "{named}").unwrap();
    deploy().ends_in(6).says(&still(number));
    assert!(victim.try_wait().unwrap().is_none());
    // For kill(2), these are all processes, or those of this group.
    for number in ["0000000001", "0000000000", "-000000001"] {
        File::create(&lock).unwrap().write_all(number.as_bytes()).unwrap();
        deploy().ends_in(6).says("still runs");
    }
    assert!(victim.try_wait().unwrap().is_none());
    victim.kill().unwrap();
    victim.wait().unwrap();
}

/// A world with an exec solver that writes nothing, and its run up to the moment when the solver is
/// started. The first solver ignores TERM until the gate opens; the others note whether it runs, and
/// fail.
fn interrupted_in_a_solver() -> (World, Child) {
    let world = World::start();
    let folder = world.path("").display().to_string();
    let gate = world.path("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let script = format!(
        "cd {folder}\n\
         [ -e runs ] && echo >> twice\n\
         echo $$ >> pids\n\
         [ $(wc -l < pids) -gt 1 ] && exit 1\n\
         trap '' TERM; echo >> runs; read line < gate; rm runs\n"
    );
    world.write_program("config/solvers.d/slow", &script);
    let solver = "    - dns01:\n        webhook:\n          groupName: certctl\n          \
                  solverName: exec\n          config: {command: slow}\n";
    world.write("config/issuer.yaml", &world.issuer().solvers(solver));
    world.write("config/web.yaml", &CertificateYaml::new("web").for_names(&["*.example.test"]));
    let run = world.start_certctl(&["issue"]);
    until("the solver runs", || world.path("runs").exists());
    (world, run)
}

#[test]
fn a_solver_that_ignores_term_does_not_outlive_a_run_that_a_signal_ends() {
    let (world, run) = interrupted_in_a_solver();
    kill_process(Pid::from_child(&run), Signal::TERM).unwrap();
    assert_eq!(finish(run).code, Some(143));
    let solver = hooks(&world)[0];
    until("the solver is gone", || !is_there(solver));
}

#[test]
fn a_solver_of_a_killed_run_is_waited_for_before_it_is_run_again() {
    let (world, mut run) = interrupted_in_a_solver();
    run.kill().unwrap();
    finish(run);
    let solver = hooks(&world)[0];
    assert!(is_there(solver), "it outlives a killed certctl");
    let log = world.path("log");
    let mut command = world.command(&["issue", "-v"]);
    command.stderr(File::create(&log).unwrap());
    let mut run = command.spawn().unwrap();
    let waits = || fs::read_to_string(&log).unwrap().contains("waits for a program of another run");
    until("the solver is waited for", || waits() || world.path("twice").exists());
    assert!(is_there(solver), "it has not been ended");
    // Open for both, so that it waits for no reader.
    let mut gate = File::options().read(true).write(true).open(world.path("gate")).unwrap();
    writeln!(gate).unwrap();
    until("the run ends", || run.try_wait().unwrap().is_some());
    assert_eq!(finish(run).code, Some(4));
    let said = fs::read_to_string(&log).unwrap();
    assert!(said.contains("solvers.d/slow answered exit code 1"), "{said}");
    assert!(!world.path("twice").exists());
}

/// An empty file, private as certctl's are.
fn leave(path: &Path) {
    atomic::write(path, b"", 0o600).unwrap();
}

/// In each folder of the state of `web`.
fn leave_everywhere(world: &World) {
    let state = world.state();
    let digest = fs::read_dir(state.path("accounts")).unwrap().next().unwrap().unwrap().file_name();
    let account = format!("accounts/{}", digest.to_str().unwrap());
    for folder in [
        "",
        "certificates/default/web",
        "certificates/default/web/orders",
        "certificates/default/web/requests",
        "secrets/default/web-tls",
        &account,
    ] {
        leave(&state.path(folder).join(".tmp-1-1-x"));
    }
    for lock in ["order-1f", "hook-1f"] {
        leave(&state.path("locks").join(lock));
    }
}

#[test]
fn what_a_killed_run_left_goes_with_every_verb_that_writes() {
    let world = World::start();
    let out = world.path("out").display().to_string();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/output-dir", &out)]);
    world.issue().ends_in(0);
    let is_left = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with(".tmp-") || name.ends_with("-1f")
    };
    for words in [
        &["renew", "web"][..],
        &["rollback", "web"],
        &["deploy", "web"],
        &["deploy", "web", "--again"],
        &["revoke", "web", "--yes"],
        &["forget", "web", "--anyway", "--yes"],
    ] {
        leave_everywhere(&world);
        world.run(words).ends_in(0);
        let left: Vec<_> = world.state().everything().into_keys().filter(is_left).collect();
        assert_eq!(left, Vec::<PathBuf>::new(), "{words:?}");
    }
}

#[test]
fn what_a_killed_run_left_goes_with_the_next_run_though_nothing_is_due() {
    let world = World::start();
    let out = world.path("out").display().to_string();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/output-dir", &out)]);
    world.issue().ends_in(0);
    let state = world.state();
    let before = state.everything();
    leave_everywhere(&world);
    world.issue().says_nothing();
    let paths =
        |all: &std::collections::BTreeMap<PathBuf, _>| -> Vec<_> { all.keys().cloned().collect() };
    assert_eq!(paths(&state.everything()), paths(&before));
    // In an output, with what is written there next.
    symlink("..data/tls.key", world.path("out/.certctl-1-tls.key")).unwrap();
    world.run(&["renew", "web"]).ends_in(0);
    assert!(world.path("out/.certctl-1-tls.key").symlink_metadata().is_err());
}

#[test]
fn a_log_of_issuances_that_cannot_be_written_is_found_before_an_order() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let log = world.state().path("issuance.log");
    fs::set_permissions(&log, fs::Permissions::from_mode(0o644)).unwrap();
    world.run(&["renew", "web"]).ends_in(7).says("issuance.log");
    fs::remove_file(&log).unwrap();
    fs::create_dir(&log).unwrap();
    world.run(&["renew", "web"]).ends_in(7).says("issuance.log");
    assert_eq!(world.sent(RequestKind::NewOrder), 1);
    fs::remove_dir(&log).unwrap();
    world.run(&["renew", "web"]).ends_in(0);
}

/// Shows in the runtime folder that this process has a token presented at a port.
fn present_at(port: u16) -> Option<PathBuf> {
    let user = geteuid();
    let run = if user.is_root() { "/run".to_owned() } else { format!("/run/user/{user}") };
    let outer = Path::new(&run).join("certctl");
    DirBuilder::new().mode(0o755).create(&outer).ok();
    let folder = outer.join("http01").join(format!(".{port}"));
    DirBuilder::new().mode(0o700).recursive(true).create(&folder).ok()?;
    let file = folder.join(std::process::id().to_string());
    File::create(&file).ok()?;
    Some(file)
}

/// At its end, a run waits for another one that has a token presented at the port they share.
#[test]
fn a_signal_while_a_run_waits_for_others_at_its_end_does_not_block_it() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let Some(other) = present_at(world.port.number()) else {
        return not_run("there is no runtime folder");
    };
    let mut run = world.start_certctl(&["issue"]);
    let live = world.state().path("secrets/default/web-tls/tls.crt");
    let lock = world.state().path("locks/certificates/default/web");
    let is_free = || File::open(&lock).is_ok_and(|lock| lock.try_lock().is_ok());
    until("it is issued", || live.exists() && is_free());
    kill_process(Pid::from_child(&run), Signal::TERM).unwrap();
    fs::remove_file(other).unwrap();
    until("it ends", || run.try_wait().unwrap().is_some());
    finish(run).ends_in(0);
}

/// Said past the harness, which would keep it to itself.
fn not_run(why: &str) {
    writeln!(std::io::stderr(), "NOT RUN: {why}").ok();
}

#[test]
fn as_root_a_disk_that_is_too_small_for_all_certificates_costs_no_order_of_those_that_do_not_fit() {
    let world = World::start();
    let certificates: Vec<_> =
        (0..50).map(|number| CertificateYaml::new(&format!("c{number}"))).collect();
    world.prepare(&certificates);
    let state = world.path("state");
    fs::create_dir(&state).unwrap();
    let mount = |words: &[&str]| {
        let mut command = Command::new("mount");
        command.args(words).arg(&state);
        command.output().is_ok_and(|output| output.status.success())
    };
    if !mount(&["-t", "tmpfs", "-o", "size=1200k,mode=0700", "tmpfs"]) {
        return not_run("a small disk needs root");
    }
    let unmount = Unmount(&state);
    for _ in 0..3 {
        world.issue();
    }
    let (orders, issued) = (world.sent(RequestKind::NewOrder), world.ca.issued());
    assert!(issued > 0 && orders == issued, "{orders} orders, {issued} issued");
    assert!(mount(&["-o", "remount,size=64m"]));
    world.issue().ends_in(0);
    assert_eq!((world.sent(RequestKind::NewOrder), world.ca.issued()), (50, 50));
    drop(unmount);
}

struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.0).status().unwrap();
    }
}

#[test]
fn a_signal_that_ends_a_check_leaves_no_test_file_in_the_webroot() {
    let world = World::start();
    let webroot = world.path("webroot");
    fs::create_dir(&webroot).unwrap();
    let folder = webroot.display().to_string();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/http01-webroot", &folder)]);
    let _server = silent_server(&world.port);
    let files = || match fs::read_dir(webroot.join(".well-known/acme-challenge")) {
        Ok(files) => files.count(),
        Err(_) => 0,
    };
    for words in [&["check", "http", "web.example.test"][..], &["doctor"]] {
        let mut check = world.start_certctl(words);
        until("the test file is there", || files() == 1);
        let certctl = Pid::from_raw(check.id().cast_signed()).unwrap();
        kill_process(certctl, Signal::TERM).unwrap();
        assert_eq!(check.wait().unwrap().signal(), Some(Signal::TERM.as_raw()), "{words:?}");
        assert_eq!(files(), 0, "{words:?}");
    }
}
