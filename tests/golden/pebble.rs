//! Sessions at Pebble, a CA that is not ours.

use crate::pebble_support::{Ca, Options, installed};
use crate::session::Session;
use crate::start::type_into;

#[test]
fn create_asks_until_there_is_a_manifest_that_issues_at_pebble() {
    installed();
    let mut scene = Session::new("create-pebble");
    let ca = Ca::start(&Options {
        name_server: Some(scene.world.dns.address()),
        http_port: Some(scene.world.port.number()),
        has_one_profile: true,
        ..Options::default()
    });
    scene.world.write("pebble.pem", ca.bundle());
    let root = scene.world.path("pebble.pem").display().to_string() + "\n";
    scene.note("From nothing, by the questions alone, at Pebble.").with_columns(80);
    scene.run("ls -A config");
    type_into(
        &mut scene,
        "certctl create --http01-check-port $PORT",
        &[
            ("CA:", &(ca.directory_url() + "\n")),
            ("PEM file with the", &root),
            ("Name of its Issuer", "\n"),
            ("DNS names", "web.example.test www.example.test\n"),
            ("How to validate", "\n"),
            ("Program in", "\n"),
            ("Folder for copies", "\n"),
            ("[Y/n/show]", "\n"),
            ("Issue it now", "\n"),
        ],
    );
    scene.run("ls -A config");
    scene.run("certctl validate");
    assert_eq!(scene.on_terminal("certctl status"), 0);
    scene.run("certctl issue --http01-check-port $PORT");
    let sent = |request: &str| ca.requests().iter().filter(|sent| *sent == request).count();
    assert_eq!((sent("POST /sign-me-up"), sent("POST /order-plz")), (1, 1));
    scene.run("certctl check acme | grep terms");
    scene.end();
}
