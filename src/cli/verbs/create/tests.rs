//! Every manifest that can be made is one that is read without a mistake.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Parser as _, ValueEnum as _};

use super::CreateVerb;
use super::dns01::Dns01;
use super::place::{Placed, check};
use super::{certificate, issuer};
use crate::cli::args::{Arguments, Verb};
use crate::resource::IssuerKind;

fn verb(words: &[&str]) -> CreateVerb {
    let words = ["certctl", "create"].iter().chain(words);
    let Some(Verb::Create(args)) = Arguments::parse_from(words).verb else {
        panic!("another verb")
    };
    args.verb.unwrap()
}

fn text(words: &[&str]) -> String {
    let config = PathBuf::from("/etc/certctl");
    let (name, namespace) = ("one".to_owned(), Some("web".to_owned()));
    let (is_named, install) = (false, "-m 0600".to_owned());
    let placed = Placed { kind: "any", name, namespace, config, is_named, install };
    match verb(words) {
        CreateVerb::Issuer(args) => issuer::text(&args, &placed, &BTreeMap::new()).unwrap(),
        CreateVerb::Certificate(args) => {
            certificate::text(&args, ("letsencrypt", IssuerKind::Issuer), &placed, "/state")
        }
        CreateVerb::CertificateRequest(_) => panic!("no manifest to be kept"),
    }
}

#[test]
fn each_provider_has_an_entry_that_is_read() {
    for provider in Dns01::value_variants() {
        let word = provider.to_possible_value().unwrap();
        let text = text(&["issuer", "letsencrypt", "--dns01", word.get_name()]);
        assert!(text.contains("      - dns01:\n"), "{text}");
        assert!(!text.contains("CONFIG") && !text.contains("NAMESPACE"), "{text}");
        check(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", word.get_name()));
    }
}

#[test]
fn a_proxy_forwards_to_the_address_of_its_example_or_to_another_one() {
    let of = |flag: &str| {
        let text = text(&["certificate", flag, "www.example.com"]);
        let loaded = check(&text).unwrap();
        loaded.certificates.first().unwrap().settings.http01_listen.clone()
    };
    assert_eq!(of("--behind-proxy"), ["127.0.0.1:402"]);
    let example = include_str!("../../../../examples/haproxy.yaml");
    assert!(example.contains("certctl/http01-listen: 127.0.0.1:402"), "{example}");
    assert_eq!(of("--behind-proxy=192.0.2.1:80"), ["192.0.2.1:80"]);
}

#[test]
fn each_flag_makes_a_manifest_that_is_read() {
    let cases: [&[&str]; 10] = [
        &["issuer", "letsencrypt", "--dns01", "azureDNS"],
        &["issuer", "letsencrypt"],
        &["issuer", "letsencrypt", "--staging", "--email", "you@example.com"],
        &["issuer", "home", "--server", "https://ca.example.com:14000/dir", "--eab-kid", "a #b"],
        &["issuer", "letsencrypt", "--profile", "shortlived"],
        &["certificate", "www.example.com", "*.example.com", "192.0.2.1", "2001:db8::1"],
        &["certificate", "true.example", "--webroot", "/var/w w: #", "--reload", "nginx"],
        &["certificate", "www.example.com", "--output-dir", "/etc/nginx/tls"],
        &["certificate", "www.example.com", "--behind-proxy=[::1]:402", "--reload", "haproxy"],
        &[
            "certificate",
            "www.example.com",
            "--output-dir=/etc/tls",
            "--output-owner=nginx",
            "--output-group=101",
            "--output-mode=0640",
        ],
    ];
    for words in cases {
        let text = text(words);
        check(&text).unwrap_or_else(|error| panic!("{words:?}: {error}\n{text}"));
    }
}

#[test]
fn the_questions_take_a_folder_to_write_to() {
    let read = |words: &[&str]| Arguments::try_parse_from([&["certctl", "create"], words].concat());
    let Some(Verb::Create(args)) = read(&["--into", "/srv/tls"]).unwrap().verb else {
        panic!("another verb")
    };
    assert_eq!((args.into, args.verb.is_none()), (Some(PathBuf::from("/srv/tls")), true));
}

#[test]
fn what_no_manifest_may_hold_is_refused() {
    let cases: [&[&str]; 6] = [
        &["issuer", "home", "--server", "http://ca.example.com"],
        &["issuer", "home", "--server", "ca"],
        &["certificate", "a b"],
        &["certificate", "www.example.com\n  isCA: true"],
        &["certificate", "www.example.com", "--webroot", "relative"],
        &["certificate", "www.example.com", "--output-dir", "/etc/tls", "--output-mode", "0644"],
    ];
    for words in cases {
        let text = text(words);
        assert!(check(&text).is_err(), "{words:?}:\n{text}");
    }
}

#[test]
fn the_copies_get_the_owner_the_group_and_the_mode_that_are_named() {
    let of_copies = ["--output-owner=nginx", "--output-group=101", "--output-mode=0640"];
    let words = [&["certificate", "a.example", "--output-dir=/etc/tls"], &of_copies[..]].concat();
    let text = text(&words);
    let lines = "    certctl/output-owner: nginx\n    certctl/output-group: \"101\"\n    \
                 certctl/output-mode: \"0640\"\n";
    assert!(text.contains(lines), "{text}");
}

#[test]
fn a_name_that_is_no_dns_name_is_refused_as_such() {
    let allowed = "letters, digits, `-` and `.` are allowed, and `*.` at the beginning";
    for name in ["_foo.example.com", "my_host.example.com"] {
        let why = format!(
            "`{name}` is not a DNS name for a certificate: character '_' is not allowed in a host \
             name; {allowed}"
        );
        assert_eq!(certificate::refusal_of(name), Some(why));
    }
    for name in ["www.example.com", "*.example.com", "WWW.example.com", "192.0.2.1", "2001:db8::1"]
    {
        assert_eq!(certificate::refusal_of(name), None, "{name}");
    }
}

#[test]
fn a_server_of_the_packages_gets_the_files_of_its_example() {
    // One is for failures, the other for any service.
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/hooks.d");
    let names = std::fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    for name in names.filter(|name| !["on-failure", "service"].contains(&&**name)) {
        let example = format!("{}/examples/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        let example = std::fs::read_to_string(example).unwrap();
        let made = text(&["certificate", "www.example.com", "--reload", &name]);
        let [example, made] = [&example, &made].map(|text| {
            let loaded = check(text).unwrap();
            let certificate = loaded.certificates.first().unwrap().clone();
            let formats = certificate.spec.additional_output_formats.clone();
            (formats, certificate.settings.deploy_hook.clone(), certificate.settings.reload.clone())
        });
        assert_eq!(made, example, "{name}");
    }
}

#[test]
fn a_command_is_not_the_name_of_a_program() {
    for name in ["nginx", "reload-nginx", "my_hook.sh"] {
        assert_eq!(certificate::no_program(name), None, "{name}");
    }
    for text in ["systemctl reload caddy", "/usr/sbin/nginx", "a/b"] {
        let why = format!("`{text}` is not the name of a program in hooks.d");
        assert_eq!(certificate::no_program(text), Some(why));
    }
}
