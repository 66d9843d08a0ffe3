//! `check dns` and `issue` with the same flags and the same solver: one verdict.

use std::net::SocketAddr;
use std::process::Command;

use super::CERTCTL;
use super::issuing::{World, pebble};
use crate::bind_support::{Bind, Role};
use crate::pebble_support::{Ca, free_port};

/// The servers that flags and solvers name.
struct Servers {
    primary: Bind,
    /// Recursive, with a cache.
    forwarder: Bind,
    /// Answers, but is neither authoritative nor recursive.
    parent: Bind,
    refusing: Bind,
    /// No server.
    closed: SocketAddr,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Server {
    Primary,
    Forwarder,
    Parent,
    Refusing,
    Closed,
}

/// The flags and the solver.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// Whether the authoritative servers can be reached.
    authority: bool,
    /// `--dns01-recursive-nameservers-only`.
    recursive_only: bool,
    resolver: Server,
    nameservers: &'static [Server],
}

impl Cell {
    /// Whether a certificate comes of it.
    fn is_fine(&self) -> bool {
        let serves = |server: &Server| matches!(server, Server::Primary | Server::Forwarder);
        // The zone is found through the resolver, and its servers are asked if they can be.
        serves(&self.resolver)
            && (self.authority || self.recursive_only)
            && self.nameservers.iter().all(serves)
    }
}

impl Servers {
    fn start() -> Self {
        let primary = Bind::start();
        Self {
            forwarder: Bind::start_as(Role::Forwarder(primary.address.port())),
            parent: Bind::start_as(Role::Parent),
            refusing: Bind::start_as(Role::Refusing),
            closed: SocketAddr::from(([127, 0, 0, 1], free_port())),
            primary,
        }
    }

    fn at(&self, server: Server) -> String {
        let address = match server {
            Server::Primary => self.primary.address,
            Server::Forwarder => self.forwarder.address,
            Server::Parent => self.parent.address,
            Server::Refusing => self.refusing.address,
            Server::Closed => self.closed,
        };
        address.to_string()
    }

    /// The exit codes of `check dns` and of `issue` after it, and their outputs.
    fn verdicts(&self, ca: &Ca, number: usize, cell: &Cell) -> (Option<i32>, Option<i32>, String) {
        let world = World::new(&self.primary, ca);
        let own: Vec<String> =
            cell.nameservers.iter().map(|server| format!("'{}'", self.at(*server))).collect();
        let solver = world.solver("", "", "");
        let solver =
            solver.replace("dns01: {", &format!("dns01: {{ nameservers: [ {} ],", own.join(", ")));
        // Each has a name of its own: the forwarder remembers.
        let name = format!("cell-{number}.cached.test");
        world.write(&format!("[ {{ {solver} }} ]"), &[&name]);
        let check = self.run(&world, ca, cell, &["check", "dns", &name, "-f", "web.yaml"]);
        let issue = self.run(&world, ca, cell, &["issue", "./web.yaml"]);
        (check.0, issue.0, format!("{}\n{}", check.1, issue.1))
    }

    fn run(
        &self,
        world: &World<'_>,
        ca: &Ca,
        cell: &Cell,
        words: &[&str],
    ) -> (Option<i32>, String) {
        let authority = if cell.authority { self.primary.address } else { self.closed };
        let folder = world.work.path("");
        let mut command = Command::new(CERTCTL);
        command.current_dir(&folder).env_clear().env("HOME", &folder).args(words);
        command.args(["--state-dir", "state", "--config-dir", "config", "--timeout", "3s"]);
        command.args(["--self-check-interval", "200ms", "--resolver", &self.at(cell.resolver)]);
        command.args(["--dns01-authoritative-port", &authority.port().to_string()]);
        command.args(["--http01-listen", &format!("127.0.0.1:{}", ca.http_port)]);
        if cell.recursive_only {
            command.arg("--dns01-recursive-nameservers-only");
        }
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    }
}

/// Most cells wait for a timeout.
const AT_ONCE: usize = 6;

/// All combinations that differ.
fn cells() -> Vec<Cell> {
    use Server::{Closed, Forwarder, Parent, Primary, Refusing};
    const LISTS: [&[Server]; 7] = [
        &[],
        &[Primary],
        &[Forwarder],
        &[Forwarder, Primary],
        &[Parent],
        &[Refusing],
        &[Forwarder, Closed],
    ];
    let mut cells = Vec::new();
    for authority in [true, false] {
        for recursive_only in [false, true] {
            for resolver in [Forwarder, Primary, Closed, Refusing] {
                for nameservers in LISTS {
                    // Without a resolver no zone is found, whatever the others are.
                    let is_useless = matches!(resolver, Closed | Refusing);
                    if !is_useless || matches!(nameservers, [] | [Primary]) {
                        cells.push(Cell { authority, recursive_only, resolver, nameservers });
                    }
                }
            }
        }
    }
    cells
}

#[test]
fn check_dns_says_in_every_cell_what_issue_then_does() {
    let servers = Servers::start();
    let ca = pebble(&servers.primary);
    let cells = cells();
    assert_eq!((cells.len(), cells.iter().filter(|cell| cell.is_fine()).count()), (72, 24));
    let wrong_among = &|part: usize| {
        let mut wrong = Vec::new();
        for (number, cell) in cells.iter().enumerate().skip(part).step_by(AT_ONCE) {
            let (check, issue, said) = servers.verdicts(&ca, number, cell);
            let expected = if cell.is_fine() { (Some(0), Some(0)) } else { (Some(4), Some(75)) };
            if (check, issue) != expected {
                wrong.push(format!("{cell:?}: check {check:?}, issue {issue:?}\n{said}"));
            }
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let parts = (0..AT_ONCE).map(|part| scope.spawn(move || wrong_among(part)));
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} cells:\n{}", wrong.len(), wrong.join("\n"));
}
