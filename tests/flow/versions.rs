//! Documents of another version: an older one is brought up to date once, a newer one is left alone.

use std::fs;

use certctl::rehearsal::RequestKind;

use crate::support::{CertificateYaml, World};

const ORDER: &str = "certificates/default/web/orders/1-1.json";

fn issued() -> World {
    let world = World::start();
    world.prepare(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    world
}

/// Rewrites the version of the order's file, and returns the bytes that are there now.
fn order_of_version(world: &World, version: u32) -> Vec<u8> {
    let path = world.state().path(ORDER);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("{\n  \"version\": 2,"), "{text}");
    let other = text.replacen("\"version\": 2", &format!("\"version\": {version}"), 1);
    world.write(&format!("state/{ORDER}"), &other);
    other.into_bytes()
}

#[test]
fn an_older_document_is_brought_up_to_date_once_and_no_order_is_made() {
    let world = issued();
    let path = world.state().path(ORDER);
    let present = fs::read(&path).unwrap();
    let older = order_of_version(&world, 1);
    let before = world.state().everything();
    world.run(&["status"]).ends_in(0);
    assert_eq!(
        world.state().everything(),
        before,
        "status reads the old format, and writes nothing"
    );
    assert_eq!(fs::read(&path).unwrap(), older);
    for _ in 0..2 {
        world.issue().ends_in(0);
        assert_eq!(fs::read(&path).unwrap(), present);
    }
    assert_eq!(world.sent(RequestKind::NewOrder), 1);
}

#[test]
fn a_newer_document_is_called_newer_and_left_alone() {
    let world = issued();
    let newer = order_of_version(&world, 99);
    let before = world.state().everything();
    for words in [&["issue"][..], &["renew", "web"]] {
        let run = world.run(words).ends_in(7);
        assert!(run.stderr.contains("was written by a newer certctl"), "{}", run.stderr);
    }
    assert_eq!(fs::read(world.state().path(ORDER)).unwrap(), newer);
    assert_eq!(world.state().everything(), before, "nothing is written, and nothing set aside");
    assert_eq!(world.sent(RequestKind::NewOrder), 1);
}
