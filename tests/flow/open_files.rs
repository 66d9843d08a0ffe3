//! A low limit of open files slows a run down, and fails nothing; one of a file's size is an error of
//! the state.

use std::collections::VecDeque;
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use certctl::rehearsal::RequestKind;

use crate::support::{CertificateYaml, Run, World, finish};

const COUNT: usize = 120;

/// `issue` under a limit that `ulimit` sets.
fn limited(world: &World, limit: &str) -> Run {
    let present = world.command(&["issue", "--timeout", "1m"]);
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

/// The limit is in blocks of 512 bytes.
#[test]
fn a_limit_of_a_files_size_fails_a_write_and_ends_no_process() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    limited(&world, "-f 1").ends_in(7).says("File too large");
    world.issue().ends_in(0);
}

/// A visitor that cannot be taken in for want of open files waits in the kernel's queue, and the CA
/// with it: it is not refused.
#[test]
fn visitors_that_take_all_open_files_refuse_nothing_to_the_ca() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let (address, is_over) = (world.port.address(), AtomicBool::new(false));
    let run = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut held = VecDeque::new();
            while !is_over.load(Ordering::Relaxed) {
                match TcpStream::connect(address) {
                    Ok(visitor) => held.push_back(visitor),
                    Err(_) => std::thread::yield_now(),
                }
                if held.len() > 40 {
                    held.pop_front();
                    std::thread::park_timeout(Duration::from_millis(20));
                }
            }
        });
        let run = limited(&world, "-n 48");
        is_over.store(true, Ordering::Relaxed);
        run
    });
    run.ends_in(0);
    assert_eq!(world.sent(RequestKind::NewOrder), 1);
}
