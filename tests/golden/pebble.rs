//! Sessions at Pebble, a CA that is not ours.

use crate::bind_support::{Bind, SECRET, key_of};
use crate::pebble_support::{Ca, Options, installed};
use crate::session::Session;
use crate::start::type_into;

#[test]
fn six_answers_lead_from_nothing_to_a_certificate_of_pebble() {
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
            ("DNS names", "web.example.test www.example.test\n"),
            ("CA: letsencrypt", &format!("{} {root}", ca.directory_url())),
            ("How to validate", "\n"),
            ("Server to reload", "\n"),
            ("Folder from", "\n"),
            ("issue the certificate now?", "\n"),
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

#[test]
fn six_answers_and_the_fields_of_bind_lead_to_a_wildcard_of_pebble() {
    installed();
    let mut scene = Session::new("create-bind");
    let bind = Bind::start();
    let name_server = Some(bind.address);
    let ca = Ca::start(&Options { name_server, has_one_profile: true, ..Options::default() });
    scene.world.write("pebble.pem", ca.bundle());
    let root = scene.world.path("pebble.pem").display().to_string() + "\n";
    scene.note("A wildcard, by the questions alone, at Pebble and BIND.").with_columns(80);
    let (address, port) = (bind.address, bind.address.port());
    scene.world.write("bind", &address.to_string());
    scene.world.write("bind-port", &port.to_string());
    type_into(
        &mut scene,
        "certctl create --resolver $(cat bind) --dns01-authoritative-port $(cat bind-port)",
        &[
            ("DNS names", "*.example.test\n"),
            ("CA: letsencrypt", &format!("{} {root}", ca.directory_url())),
            ("How to validate", "rfc2136\n"),
            ("nameserver:", &format!("{address}\n")),
            ("tsigKeyName:", &format!("{}\n", key_of("HMACSHA256"))),
            ("tsigAlgorithm:", "\n"),
            ("tsigSecret:", &format!("{SECRET}\n")),
            ("Server to reload", "\n"),
            ("Folder from", "\n"),
            ("issue the certificate now?", "\n"),
        ],
    );
    scene.run("stat -c '%a %n' config/secrets/default/rfc2136/tsigSecret");
    assert_eq!(scene.on_terminal("certctl status"), 0);
    scene.end();
}
