//! `certctl check dns` as it is run: what is off is data on stdout and no failure, what is wrong on
//! the command line is one.

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
fn what_dns_says_of_a_name_is_shown_and_is_no_failure() {
    let server = NameServer::start(BTreeMap::new()).unwrap();
    server.add_txt("_acme-challenge.example.com", "of-somebody");
    let address = server.address();
    let (resolver, port) = (address.to_string(), address.port().to_string());
    let words = ["*.Example.com", "--resolver", &resolver, "--dns01-authoritative-port", &port];
    let output = check(&words);
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    let expected = [
        "domain:     example.com",
        "challenge:  _acme-challenge.example.com",
        "zone:       example.com",
        "CAA:        none, so every CA may issue",
        "",
    ];
    assert_eq!(lines[..5], expected);
    let row = lines.iter().find(|line| line.contains("ns.example.com")).unwrap();
    assert_eq!(row.split_whitespace().nth(1), Some(&resolver[..]), "{row}");
    assert!(row.contains("of-somebody"), "{row}");
    assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
    let output = check(&[&words[..], &["-o", "json"]].concat());
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&value["kind"], &value["zone"]), (&"DnsCheck".into(), &"example.com".into()));
    assert_eq!(value["servers"][0]["server"], "ns.example.com");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn what_is_no_name_or_no_format_is_refused() {
    for (words, said) in [
        (vec!["192.0.2.1"], "error: \"192.0.2.1\": "),
        (vec!["a b"], "error: \"a b\": "),
        (vec!["example.com", "-o", "name"], "error: check dns has no such format\n"),
        (vec![], "error: the following required arguments were not provided:\n  <DNSNAME>\n"),
    ] {
        let output = check(&words);
        assert!(text(&output.stderr).starts_with(said), "{words:?}: {}", text(&output.stderr));
        assert_eq!((text(&output.stdout), output.status.code()), ("", Some(2)), "{words:?}");
    }
}
