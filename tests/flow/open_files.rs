//! A low limit of open files slows a run down, and fails nothing.

use std::process::Command;

use crate::support::{CertificateYaml, Run, World, finish};

const COUNT: usize = 120;

/// `issue` under a limit that `ulimit` sets.
fn limited(world: &World, limit: &str) -> Run {
    let present = world.command(&["issue"]);
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(format!("ulimit {limit} && exec \"$0\" \"$@\""));
    shell.arg(present.get_program()).args(present.get_args());
    world.surround(&mut shell);
    finish(shell.spawn().unwrap())
}

fn many() -> World {
    let named = |number| CertificateYaml::new(&format!("c{number}"));
    World::prepared(&(0..COUNT).map(named).collect::<Vec<_>>())
}

#[test]
fn a_soft_limit_of_open_files_is_raised() {
    limited(&many(), "-S -n 24").ends_in(0);
}

#[test]
fn a_hard_limit_of_open_files_fails_no_certificate() {
    limited(&many(), "-n 128").ends_in(0);
}
