//! The CA and certctl ask one resolver, which remembers what it has seen: also that a name is absent.

use super::issuing::World;
use crate::bind_support::{Bind, Role};
use crate::pebble_support::{Ca, Options, installed};

/// A name and its wildcard, so many times.
fn apex_and_wildcard(rounds: usize) {
    installed();
    let primary = Bind::start();
    let forwarder = Bind::start_as(Role::Forwarder(primary.address.port()));
    let ca = Ca::start(&Options { name_server: Some(forwarder.address), ..Options::default() });
    for round in 0..rounds {
        let world = World::new(&primary, &ca);
        let name = format!("apex-{round}.cached.test");
        let solver = world.solver("", "", "");
        world.write(&format!("[ {{ {solver} }} ]"), &[&name, &format!("*.{name}")]);
        let mut command = world.work.command("web.yaml");
        let port = primary.address.port().to_string();
        command.env("CERTCTL_DNS01_AUTHORITATIVE_PORT", port);
        let output = command.args(["--self-check-interval", "1s"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{round}: {said}");
        assert_eq!(primary.values(&format!("_acme-challenge.{name}")), []);
    }
    assert_eq!(ca.said("set INVALID"), 0);
}

#[test]
fn apex_and_wildcard_are_issued_where_the_resolver_caches() {
    apex_and_wildcard(3);
}

#[test]
#[ignore = "a series of minutes; tests/run --all starts it"]
fn series_of_apex_and_wildcard() {
    apex_and_wildcard(10);
}
