//! Every manifest that can be made is one that is read without a mistake.

use std::path::PathBuf;

use clap::{Parser as _, ValueEnum as _};

use super::CreateVerb;
use super::dns01::Dns01;
use super::known::IssuerName;
use super::print::{Placed, check};
use super::server::host_of_url;
use super::{certificate, issuer};
use crate::cli::args::{Arguments, Verb};
use crate::cli::servers;

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
    let placed =
        Placed { kind: "any", name, namespace, config, into: None, install: "-m 0600".to_owned() };
    match verb(words) {
        CreateVerb::Issuer(args) => issuer::text(&args, &placed).unwrap(),
        CreateVerb::Certificate(args) => {
            certificate::text(&args, &IssuerName::of("letsencrypt"), &placed, "/state")
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
fn the_name_in_a_url_is_its_host() {
    for (text, host) in [
        ("https://www.example.com", Some("www.example.com")),
        ("http://you@www.example.com:8443/a?b#c", Some("www.example.com")),
        ("https://[2001:db8::1]:443/", Some("2001:db8::1")),
        ("https://", None),
        ("www.example.com", None),
        ("2001:db8::1", None),
    ] {
        assert_eq!(host_of_url(text).as_deref(), host, "{text}");
    }
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
fn the_programs_that_are_offered_are_those_of_the_packages() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/hooks.d");
    let names = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    // One is for failures, the other for any service.
    names.retain(|name| !["on-failure", "service"].contains(&&**name));
    names.sort();
    assert_eq!(names, servers::names().collect::<Vec<_>>());
}

#[test]
fn a_server_of_the_packages_gets_the_files_of_its_example() {
    for name in servers::names() {
        let example = format!("{}/examples/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        let example = std::fs::read_to_string(example).unwrap();
        let made = text(&["certificate", "www.example.com", "--reload", name]);
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
fn a_command_to_reload_by_becomes_a_program_of_hooks() {
    let config = std::path::Path::new("/etc/certctl");
    let refused = |text: &str| certificate::RefusedProgram::of(text, config);
    for name in ["nginx", "reload-nginx", "my_hook.sh"] {
        assert_eq!(refused(name), None, "{name}");
    }
    let made = |name: &str, script: &str| {
        let path = config.join("hooks.d").join(name);
        let sudo = crate::trust::sudo_to_make(&path);
        format!(
            "printf '%s\\n' '#!/bin/sh' '{script}' | {sudo}install -D -m 0755 /dev/stdin {}",
            path.display()
        )
    };
    for (text, name) in [
        ("systemctl reload caddy", "caddy"),
        ("/usr/sbin/nginx -s reload", "nginx"),
        ("/opt/reload", "reload"),
    ] {
        let refused = refused(text).unwrap();
        assert!(
            refused.why.starts_with(&format!("`{text}` is not the name of a program in /etc/")),
            "{}",
            refused.why
        );
        assert_eq!((refused.name.as_str(), refused.line), (name, made(name, text)));
    }
    let line = refused("kill -HUP '$(cat pid)'").unwrap().line;
    assert!(line.contains("'kill -HUP '\\''$(cat pid)'\\''' | "), "{line}");
}

#[test]
fn a_name_that_another_certificate_has_is_noticed() {
    let text = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: web}\nspec:\n  \
                secretName: web-tls\n  dnsNames: [www.example.com]\n  issuerRef: {name: ca}\n";
    let sources = [crate::manifest::Source::Stdin(text.into())];
    let loaded = crate::manifest::load(&sources, &crate::manifest::Options::default());
    let of = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        certificate::of_shared_names(&loaded, &names)
    };
    let note = of(&["example.com", "www.example.com"]).unwrap();
    assert!(note.starts_with("Certificate web in "), "{note}");
    assert!(note.contains(" has www.example.com, too; another name may be added there"), "{note}");
    assert_eq!(of(&["example.com"]), None);
}
