//! Another user of the same host, against a run of root's or of a third user: folders, links and
//! files that this user can exchange while certctl looks at them.
//!
//! These need two users: they run as root only, and say so where they did not run.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{CertificateYaml, Run, World, finish, until};

/// The attacker.
const THEM: u32 = 65_534;
/// The user of a service.
const SERVICE: u32 = 65_533;
const TRIES: u32 = 50;

fn is_root(test: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        // Not through a macro: the harness would keep it to itself.
        writeln!(std::io::stderr(), "NOT RUN: {test}: it needs root, and a second user").ok();
    }
    is_root
}

fn give(path: &Path, user: u32) {
    lchown(path, Some(user), Some(user)).unwrap();
}

/// A world that all users can reach.
fn open_world(certificates: &[CertificateYaml]) -> World {
    let world = World::prepared(certificates);
    fs::set_permissions(world.path(""), Permissions::from_mode(0o755)).unwrap();
    world
}

/// A folder of the attacker's, in which the link `way` leads to one of two places, forever.
struct Swapper(Child);

impl Swapper {
    fn start(world: &World, good: &Path, evil: &Path) -> Self {
        let theirs = world.path("theirs");
        fs::create_dir(&theirs).unwrap();
        symlink(good, theirs.join("way")).unwrap();
        give(&theirs, THEM);
        give(&theirs.join("way"), THEM);
        let script =
            "cd \"$0\"; while :; do ln -s \"$1\" a; mv -T a way; ln -s \"$2\" b; mv -T b way; done";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).args([theirs.as_path(), good, evil]);
        command.uid(THEM).gid(THEM).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
        self.0.wait().ok();
    }
}

fn run_as(world: &World, user: u32, words: &[&str]) -> Run {
    let mut command = world.command(words);
    command.uid(user).gid(user);
    finish(command.spawn().unwrap())
}

#[test]
fn a_hook_behind_a_link_that_another_user_can_exchange_never_runs() {
    if !is_root("a hook behind a link") {
        return;
    }
    let world =
        open_world(&[CertificateYaml::new("web").annotation("certctl/deploy-hook", "install")]);
    let hooks = world.path("config/hooks.d");
    // A hook that fails stays due.
    world.write_program("config/hooks.d/install", "exit 1");
    world.issue().ends_in(6);
    let (good, evil) = (world.path("good"), world.path("evil"));
    fs::rename(&hooks, &good).unwrap();
    let ran = world.path("ran");
    world.write_program("evil/install", &format!("id -u >> {}; exit 1", ran.display()));
    // Of what the other place holds, the owner does not matter: it may be any program of root's.
    for owner in [0, THEM] {
        give(&evil, owner);
        give(&evil.join("install"), owner);
        let swapper = Swapper::start(&world, &good, &evil);
        symlink(world.path("theirs/way"), &hooks).unwrap();
        for _ in 0..TRIES / 2 {
            let run = world.run(&["deploy", "web"]);
            assert_ne!(run.code, Some(0), "{run:?}");
            assert!(run.stderr.contains("is owned by user 65534"), "{run:?}");
        }
        drop(swapper);
        fs::remove_file(&hooks).unwrap();
        fs::remove_dir_all(world.path("theirs")).unwrap();
    }
    assert!(!ran.exists(), "{}", fs::read_to_string(&ran).unwrap());
}

#[test]
fn a_manifest_behind_a_link_that_another_user_can_exchange_is_never_read() {
    if !is_root("a manifest behind a link") {
        return;
    }
    let world = open_world(&[]);
    for (folder, name) in [("good", "good"), ("evil", "evil")] {
        world.write(&format!("{folder}/web.yaml"), &CertificateYaml::new(name));
    }
    let _swapper = Swapper::start(&world, &world.path("good"), &world.path("evil"));
    // The first link and the file are root's, what is between them is not.
    symlink(world.path("theirs/way"), world.path("ours")).unwrap();
    for _ in 0..TRIES {
        let path = world.path("ours/web.yaml").display().to_string();
        let run = world.run(&["validate", &path]).ends_in(3);
        assert!(run.stderr.contains("error[E0011]"), "{run:?}");
        assert!(run.stderr.contains("is owned by user 65534"), "{run:?}");
    }
}

/// Not root: a service's user, whose folder all may write to.
#[test]
fn a_users_config_folder_that_others_can_write_is_refused() {
    if !is_root("a config folder that others can write") {
        return;
    }
    let world = open_world(&[CertificateYaml::new("web")]);
    let config = world.path("config");
    for path in ["config", "config/web.yaml", "config/issuer.yaml", "home"] {
        give(&world.path(path), SERVICE);
    }
    let state = world.path("state");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();
    give(&state, SERVICE);
    run_as(&world, SERVICE, &["plan"]).ends_in(0);
    fs::set_permissions(&config, Permissions::from_mode(0o777)).unwrap();
    let shown = config.display().to_string();
    let why = format!(
        "{shown} can be written by users other than root or user 65533 (owner user 65533, mode 0777)"
    );
    // A config.toml could be put there at any time.
    run_as(&world, SERVICE, &["plan"]).ends_in(3).says("error[E0306]").says(&why);
    let path = world.path("config").display().to_string();
    let words = ["plan", "--config-dir", "/nowhere", path.as_str()];
    run_as(&world, SERVICE, &words).ends_in(3).says("error[E0011]").says(&why);
    // What another user put there is refused for its owner also where adding files is all they can.
    fs::set_permissions(&config, Permissions::from_mode(0o1777)).unwrap();
    run_as(&world, SERVICE, &["plan"]).ends_in(0);
    world.write("config/added.yaml", &CertificateYaml::new("added"));
    give(&world.path("config/added.yaml"), THEM);
    run_as(&world, SERVICE, &["plan"]).says("is owned by user 65534").says("error[E0011]");
}

/// Not root: the folders of a service's user are all keys.
#[test]
fn an_output_of_a_service_is_not_written_through_another_users_link() {
    if !is_root("an output behind another user's link") {
        return;
    }
    let world = open_world(&[]);
    let (theirs, place) = (world.path("theirs"), world.path("place"));
    for folder in [&theirs, &place] {
        fs::create_dir(folder).unwrap();
    }
    let link = theirs.join("tls");
    symlink(&place, &link).unwrap();
    let output = link.display().to_string();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/output-dir", &output)]);
    fs::create_dir(world.path("state")).unwrap();
    fs::set_permissions(world.path("state"), Permissions::from_mode(0o700)).unwrap();
    for path in ["config", "config/web.yaml", "config/issuer.yaml", "home", "state", "place"] {
        give(&world.path(path), SERVICE);
    }
    give(&link, THEM);
    for (owner, why) in [
        (THEM, "is owned by user 65534"),
        (SERVICE, "is a symbolic link"),
        (0, "is a symbolic link"),
    ] {
        give(&theirs, owner);
        run_as(&world, SERVICE, &["issue"]).ends_in(3).says(why);
    }
    assert_eq!(world.ca.log().len(), 0, "no request to the CA");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
}

#[test]
fn a_secret_a_solver_and_a_config_file_in_a_folder_of_another_user_are_not_used() {
    if !is_root("a secret in another user's folder") {
        return;
    }
    let world = open_world(&[CertificateYaml::new("web")]);
    let binding = "externalAccountBinding: {keyID: k, keySecretRef: {name: eab, key: hmac}}";
    world.write("config/issuer.yaml", &world.issuer().field(binding));
    let secret = world.write("config/secrets/default/eab/hmac", "MDEyMzQ1Njc4OWFiY2RlZg\n");
    fs::set_permissions(secret, Permissions::from_mode(0o600)).unwrap();
    let solver =
        "    - dns01:\n        webhook: {groupName: acme.example.org, solverName: my-dns}\n";
    world.write("config/dns.yaml", &world.issuer().named("dns").solvers(solver));
    let ran = world.path("ran");
    let program = format!("touch {}", ran.display());
    world.write_program("config/solvers.d/acme.example.org/my-dns", &program);
    world.write("config/wild.yaml", &CertificateYaml::new("wild").for_names(&["*.example.test"]));
    let text = fs::read_to_string(world.path("config/wild.yaml")).unwrap();
    world.write("config/wild.yaml", &text.replace("name: ca\n", "name: dns\n"));
    for (folder, name) in [("secrets/default", "web"), ("solvers.d", "wild")] {
        let folder = world.path("config").join(folder);
        // The folder itself, and then a link of theirs to it.
        give(&folder, THEM);
        let why = format!("{} is owned by user 65534", folder.display());
        world.run(&["renew", name]).ends_in(3).says(&why);
        give(&folder, 0);
        let real = folder.with_extension("real");
        fs::rename(&folder, &real).unwrap();
        symlink(&real, &folder).unwrap();
        give(&folder, THEM);
        world.run(&["renew", name]).ends_in(3).says(&why);
        give(&folder, 0);
    }
    assert!(!ran.exists());
    assert_eq!(world.ca.created(certctl::rehearsal::RequestKind::NewOrder), 0);
    world.write("config/config.toml", "color = 'never'\n");
    give(&world.path("config"), THEM);
    world.run(&["status"]).ends_in(3).says("error[E0306]").says("is owned by user 65534");
}

#[test]
fn a_state_below_another_users_folder_is_not_used() {
    if !is_root("a state below another user's folder") {
        return;
    }
    let world = open_world(&[CertificateYaml::new("web")]);
    let theirs = world.path("theirs");
    fs::create_dir_all(theirs.join("state")).unwrap();
    fs::set_permissions(theirs.join("state"), Permissions::from_mode(0o700)).unwrap();
    give(&theirs, THEM);
    // Also behind a link of theirs, and when the state is still to be made.
    for state in ["theirs/state", "theirs/new/state"] {
        let path = world.path(state).display().to_string();
        world
            .run(&["issue", "--state-dir", &path])
            .ends_in(7)
            .says(&format!("{} is owned by user 65534", theirs.display()));
    }
    assert_eq!(fs::read_dir(theirs.join("state")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 1);
    assert_eq!(world.ca.log().len(), 0, "no request to the CA");
}

#[test]
fn printed_files_do_not_go_through_links_of_another_user() {
    if !is_root("printed files and links of another user") {
        return;
    }
    let world = open_world(&[]);
    let (theirs, victim) = (world.path("theirs"), world.path("victim"));
    fs::create_dir(&theirs).unwrap();
    world.write("victim", "untouched");
    let path = theirs.display().to_string();
    for (words, name) in [
        (&["man", path.as_str()][..], "certctl.1"),
        (&["timer", "print", "--cron", "--dir", path.as_str()], "certctl"),
    ] {
        let link = theirs.join(name);
        symlink(&victim, &link).unwrap();
        give(&link, THEM);
        // In a sticky folder of root's the link is replaced; in their own folder nothing is done.
        give(&theirs, 0);
        fs::set_permissions(&theirs, Permissions::from_mode(0o1777)).unwrap();
        world.run(words).ends_in(0);
        assert!(!fs::symlink_metadata(&link).unwrap().is_symlink());
        fs::remove_file(&link).unwrap();
        symlink(&victim, &link).unwrap();
        give(&theirs, THEM);
        world.run(words).ends_in(3).says("is owned by user 65534");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
    }
}

/// Files and a socket of root's, in a folder of root's that a link of theirs leads to, and in their own.
#[test]
fn manifests_metrics_and_a_socket_are_not_made_where_another_user_says() {
    if !is_root("manifests, metrics, a socket and links of another user") {
        return;
    }
    let world = open_world(&[CertificateYaml::new("web")]);
    let (theirs, place) = (world.path("theirs"), world.path("place"));
    for folder in [&theirs, &place] {
        fs::create_dir(folder).unwrap();
    }
    fs::set_permissions(&place, Permissions::from_mode(0o700)).unwrap();
    symlink(&place, theirs.join("way")).unwrap();
    give(&theirs, THEM);
    give(&theirs.join("way"), THEM);
    let way = |below: &str| theirs.join("way").join(below).display().to_string();
    let (into, metrics, socket) = (way(""), way("certctl.prom"), way("http"));
    let why = "is owned by user 65534";
    let create = ["create", "certificate", "www.example.test", "--issuer", "ca", "--into", &into];
    world.run(&create).ends_in(3).says(why);
    world.run(&["issue", "--metrics-file", &metrics]).ends_in(6).says(why);
    world.run(&["run", "--serve", &socket]).ends_in(3).says(why);
    let own = theirs.join("http").display().to_string();
    world.run(&["run", "--serve", &own]).ends_in(3).says(why);
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 1);
}

#[test]
fn printed_files_can_be_written_by_their_owner_alone_whatever_the_umask() {
    let world = World::start();
    let folder = world.path("units").display().to_string();
    for (umask, words) in [
        ("000", &["timer", "print", "--systemd", "--dir", folder.as_str()][..]),
        ("077", &["man", folder.as_str()]),
    ] {
        let mut command = Command::new("/bin/sh");
        let script = format!("umask {umask}; exec \"$0\" \"$@\"");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_certctl")]).args(words);
        world.surround(&mut command);
        finish(command.spawn().unwrap()).ends_in(0);
    }
    for entry in fs::read_dir(world.path("units")).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().mode() & 0o7777;
        assert_eq!(mode, 0o644, "{}", entry.path().display());
    }
}

#[test]
fn a_webroot_behind_another_users_link_is_not_written_to() {
    if !is_root("a webroot behind another user's link") {
        return;
    }
    let world = open_world(&[CertificateYaml::new("web")]);
    let (theirs, place) = (world.path("theirs"), world.path("place"));
    fs::create_dir(&theirs).unwrap();
    fs::create_dir(&place).unwrap();
    symlink(&place, theirs.join("www")).unwrap();
    give(&theirs, THEM);
    give(&theirs.join("www"), THEM);
    let root = theirs.join("www").display().to_string();
    world.write(
        "config/web.yaml",
        &CertificateYaml::new("web").annotation("certctl/http01-webroot", &root),
    );
    world.issue().ends_in(3).says("is owned by user 65534");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
}

/// As root it runs as another user: root's files in `/proc` are root's in any case.
#[cfg(target_os = "linux")]
#[test]
fn a_run_leaves_no_core_dump_and_is_closed_to_its_own_user() {
    let world = open_world(&[]);
    let fifo = world.path("manifest.yaml");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut command = Command::new("/bin/sh");
    let script = "ulimit -c unlimited 2>/dev/null || ulimit -c $(ulimit -H -c); exec \"$0\" \"$@\"";
    command.args(["-c", script, env!("CARGO_BIN_EXE_certctl"), "validate"]).arg(&fifo);
    world.surround(&mut command);
    command.current_dir("/");
    if is_root("a process that is closed to its own user") {
        give(&fifo, SERVICE);
        command.uid(SERVICE).gid(SERVICE);
    }
    let mut child = command.spawn().unwrap();
    let process = Path::new("/proc").join(child.id().to_string());
    let limits = || fs::read_to_string(process.join("limits")).unwrap_or_default();
    let is_zero = |line: &str| line.starts_with("Max core file size") && line.contains(" 0 ");
    until("the limit of core dumps is zero", || limits().lines().any(is_zero));
    until("its files belong to root", || {
        fs::metadata(process.join("fd")).is_ok_and(|found| found.uid() == 0)
    });
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::ABORT).unwrap();
    let status = child.wait().unwrap();
    assert!(!status.core_dumped(), "{status}");
}
