//! The binary against Pebble, the ACME server that Let's Encrypt tests clients with.
//!
//! Where Pebble is missing these tests say so on stderr; under `tests/run` they fail.

#![expect(clippy::unwrap_used, reason = "test code outside of test functions")]

mod pebble_support;

use pebble_support::{Ca, Issuer, Options, Run, Work, installed};

const CERTCTL: &str = env!("CARGO_BIN_EXE_certctl");

/// The DNS names of a leaf and the certificates of its chain.
fn names_of(chain: &str) -> Vec<String> {
    let (_, pem) = x509_parser::pem::parse_x509_pem(chain.as_bytes()).unwrap();
    let certificate = pem.parse_x509().unwrap();
    let names = certificate.subject_alternative_name().unwrap().unwrap();
    let names = names.value.general_names.iter().map(|name| match name {
        x509_parser::extensions::GeneralName::DNSName(name) => (*name).to_owned(),
        other => other.to_string(),
    });
    names.collect()
}

/// `count` names that sort as they are counted.
fn names(label: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("n{n:03}.{label}.test")).collect()
}

fn assert_done(run: &Run) {
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

#[test]
fn one_twenty_five_and_a_hundred_names_are_issued() {
    if !installed() {
        return;
    }
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    for count in [1, 25, 100] {
        let names = names("many", count);
        work.manifest("web.yaml", &Issuer::default(), &[(&format!("web-{count}"), names.clone())]);
        assert_done(&work.issue("web.yaml"));
        let mut found = names_of(&work.secret(&format!("web-{count}"), "tls.crt").unwrap());
        found.sort();
        assert_eq!(found, names);
    }
}
