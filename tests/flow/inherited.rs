//! Promise: a socket that was handed over, as systemd does it, is the one that challenges are
//! answered on.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use socket2::{Domain, Socket, Type};

use crate::support::{CertificateYaml, World, finish};

/// Moves standard input to where systemd puts the first socket.
const HAND_OVER: &str = "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" \"$@\"";

/// `certctl issue` with this as its first socket, and no address to listen on.
fn issue(world: &World, socket: OwnedFd) -> std::process::Child {
    let own = world.command(&["issue"]);
    let mut command = Command::new("sh");
    world.surround(&mut command);
    command.args(["-c", HAND_OVER]).arg(own.get_program()).args(own.get_args());
    command.env_remove("CERTCTL_HTTP01_LISTEN").stdin(Stdio::from(socket)).spawn().unwrap()
}

#[test]
fn a_challenge_is_answered_on_the_socket_that_was_handed_over() {
    let world = World::prepared(&[CertificateYaml::new("web"), CertificateYaml::new("shop")]);
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.bind(&world.port.address().into()).unwrap();
    socket.listen(16).unwrap();
    let listener: TcpListener = socket.into();
    finish(issue(&world, listener.into())).ends_in(0);
    assert_eq!(world.state().issuances(), 2);
}

#[test]
fn what_was_handed_over_and_is_no_socket_for_visitors_ends_the_run() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let file = std::fs::File::open(world.path("config/web.yaml")).unwrap();
    finish(issue(&world, file.into())).ends_in(3).says("cannot use the inherited socket");
    assert_eq!(world.ca.log().len(), 0);
}
