//! Only its owner can access what certctl writes, regardless of the umask.

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
