//! Two state directories on one host without a folder for tokens that both find.

use std::fs::{File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use certctl::rehearsal::RequestKind;

use crate::support::{CertificateYaml, World, finish, until};

/// A user without a runtime folder.
const USER: u32 = 54_321;

/// They share no port either.
#[test]
fn without_a_runtime_folder_the_second_state_names_the_first_and_waits_for_it() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let world = World::start();
    world.dns.set("one.example.test", vec!["127.0.0.2".parse().unwrap()]);
    let all = Permissions::from_mode(0o755);
    std::fs::set_permissions(world.path(""), all).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_certctl"), world.path("certctl")).unwrap();
    let start = |label: &str| {
        let name = format!("{label}.example.test");
        let certificate = CertificateYaml::new("web").for_names(&[&name]);
        let text = format!("{}---\n{certificate}", world.issuer());
        let manifest = world.write(&format!("{label}.yaml"), &text);
        let state = world.path(label);
        std::fs::create_dir(&state).unwrap();
        std::fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();
        chown(&state, Some(USER), Some(USER)).unwrap();
        let mut command = Command::new(world.path("certctl"));
        command.arg("issue").arg(manifest).args(["--self-check-interval", "100ms"]);
        command.arg("--http01-check-port").arg(world.port.number().to_string());
        world.surround(&mut command);
        command.env("CERTCTL_STATE_DIR", &state).env("HOME", &state).uid(USER).gid(USER);
        command.stderr(File::create(world.path(&format!("{label}.log"))).unwrap());
        command.spawn().unwrap()
    };
    let said = |label: &str| {
        std::fs::read_to_string(world.path(&format!("{label}.log"))).unwrap_or_default()
    };
    let first = start("one");
    until("the first is ready", || world.sent(RequestKind::Authorization) > 0);
    let presented = || std::fs::read_dir(world.path("one/http01")).is_ok_and(|d| d.count() > 0);
    until("the first has presented", presented);
    let second = start("two");
    let waits = format!("is in use by certctl (pid {}): waiting for it to end", first.id());
    until("the second waits", || said("two").contains(&waits));
    world.dns.set("one.example.test", vec!["127.0.0.1".parse().unwrap()]);
    for (label, child) in [("one", first), ("two", second)] {
        let run = finish(child);
        assert_eq!(run.code, Some(0), "{label}: {}", said(label));
    }
    assert_eq!((world.sent(RequestKind::NewOrder), world.ca.issued()), (2, 2));
}
