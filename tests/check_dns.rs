//! `certctl check dns` as it is run: what is off is data on stdout and no failure, what is wrong on
//! the command line is one.

#![expect(clippy::unwrap_used, reason = "test code outside of test functions")]

use std::collections::BTreeMap;
use std::process::{Command, Output};

use certctl::rehearsal::NameServer;

fn check(words: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_certctl"));
    command.env_clear().env("HOME", home.path()).args(["check", "dns"]).args(words);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn a_name_in_no_zone_is_shown_and_is_no_failure() {
    let server = NameServer::start(BTreeMap::new()).unwrap();
    let resolver = server.address().to_string();
    let output = check(&["*.Example.com", "--resolver", &resolver]);
    let expected = "\
domain:     example.com
challenge:  _acme-challenge.example.com
CAA:        none, so every CA may issue
trouble:    could not find the start of authority for \"_acme-challenge.example.com\"
";
    assert_eq!(text(&output.stdout), expected);
    assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
    let output = check(&["example.com", "-o", "json", "--resolver", &resolver]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = serde_json::json!({
        "apiVersion": "certctl.io/v1",
        "kind": "DnsCheck",
        "domain": "example.com",
        "name": "_acme-challenge.example.com",
        "aliases": {},
        "zone": null,
        "servers": [],
        "warnings": [],
        "trouble": "could not find the start of authority for \"_acme-challenge.example.com\"",
        "caa": {},
    });
    assert_eq!((value, output.status.code()), (expected, Some(0)));
}

#[test]
fn what_is_no_name_or_no_format_is_refused() {
    for (words, said) in [
        (vec!["192.0.2.1"], "error: \"192.0.2.1\": "),
        (vec!["a b"], "error: \"a b\": "),
        (vec!["example.com", "-o", "name"], "error: check dns has no such format\n"),
        (vec![], "error: the following required arguments were not provided:"),
    ] {
        let output = check(&words);
        assert!(text(&output.stderr).starts_with(said), "{words:?}: {}", text(&output.stderr));
        assert_eq!((text(&output.stdout), output.status.code()), ("", Some(2)), "{words:?}");
    }
}
