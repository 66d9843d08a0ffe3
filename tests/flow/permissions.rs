//! Only its owner can access what certctl writes, regardless of the umask.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::support::{CertificateYaml, Entry, World, finish};

#[test]
fn everything_is_private_even_with_an_open_umask() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "umask 000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_certctl")]);
    command.args(["issue", "--http01-check-port", &world.port.number().to_string()]);
    world.surround(&mut command);
    finish(command.spawn().unwrap()).ends_in(0);
    let everything = world.state().with_index();
    assert!(everything.len() > 20, "{everything:?}");
    for (path, entry) in everything {
        let is_private = match &entry {
            Entry::Folder(mode) => *mode == 0o700,
            Entry::File(mode, _) => *mode == 0o600,
            Entry::Link(target) => target.is_relative(),
        };
        assert!(is_private, "{}: {entry:?}", path.display());
    }
}

#[test]
fn documents_that_others_can_read_lead_to_the_one_command_that_closes_them() {
    let orders = "orders/1-1.json";
    for files in [&["status.json"][..], &["requests/1.json"], &[orders], &["status.json", orders]] {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.issue().ends_in(0);
        for file in files {
            let path = world.state().path(&format!("certificates/default/web/{file}"));
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        }
        let line = format!("chmod -R go-rwx {}", world.state().path("").display());
        let line = line.trim_end_matches('/').to_owned();
        for words in [&["status", "web"][..], &["doctor", "--offline"], &["plan"], &["issue"]] {
            let run = world.run(words).ends_in(7);
            let said = format!("{}{}", run.stdout, run.stderr);
            assert!(said.contains(&line), "{words:?}: {said}");
            assert!(!said.contains("remove it"), "{words:?}: {said}");
        }
        assert!(Command::new("/bin/sh").args(["-c", &line]).status().unwrap().success());
        world.run(&["status", "--exit-code"]).ends_in(0);
        world.issue().says_nothing();
    }
}
