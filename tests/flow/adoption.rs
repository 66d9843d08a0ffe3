//! Promise: a pair that is there already costs no order.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use certctl::rehearsal::{Fault, ProblemType, RequestKind};
use certctl::resource::Reason;

use crate::support::{CertificateYaml, World};

/// The files of a pair that was issued elsewhere.
fn issued_elsewhere(name: &str) -> (Vec<u8>, Vec<u8>) {
    let elsewhere = World::prepared(&[CertificateYaml::new(name)]);
    elsewhere.issue().ends_in(0);
    let read = |file: &str| {
        fs::read(elsewhere.path(&format!("state/secrets/default/{name}-tls/{file}"))).unwrap()
    };
    (read("tls.crt"), read("tls.key"))
}

fn secret(crt: &[u8], key: &[u8]) -> String {
    let (crt, key) = (STANDARD.encode(crt), STANDARD.encode(key));
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: web-tls\n  annotations:\n    \
         cert-manager.io/issuer-name: another\ntype: kubernetes.io/tls\n\
         data:\n  tls.crt: {crt}\n  tls.key: {key}\n"
    )
}

fn events(world: &World) -> String {
    let path = world.path("state/certificates/default/web/events.jsonl");
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn a_pair_in_a_secret_of_the_manifests_is_taken_over_once_and_without_an_order() {
    let (crt, key) = issued_elsewhere("web");
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.write("config/secret.yaml", &secret(&crt, &key));
    let planned = world.run(&["plan"]).ends_in(0).stdout;
    assert!(planned.contains("web: adopt\n  why       the existing key "), "{planned}");
    let run = world.issue().ends_in(0);
    let told = "web   adopted   The key and certificate of the Secret in the manifests were adopted; \
                issued by \"";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    assert_eq!((world.ca.requests(), world.state().issuances()), (0, 0));
    let live = |file: &str| fs::read(world.path(&format!("state/secrets/default/web-tls/{file}")));
    assert_eq!((live("tls.crt").unwrap(), live("tls.key").unwrap()), (crt.clone(), key.clone()));
    assert_eq!(world.state().readiness("web"), Reason::Ready);
    assert_eq!(world.state().record("web").status.revision, None);
    assert_eq!(events(&world).matches("\"Adopted\"").count(), 1, "{}", events(&world));
    let before = world.state().everything();
    world.issue().says_nothing();
    assert_eq!((world.ca.requests(), world.state().everything()), (0, before));
    world.run(&["renew", "web"]).ends_in(0);
    assert_eq!(world.state().record("web").status.revision, Some(1));
    world.run(&["rollback", "web"]).ends_in(0);
    assert_eq!((live("tls.crt").unwrap(), live("tls.key").unwrap()), (crt, key));
}

#[test]
fn plain_files_in_the_folder_of_the_secret_are_taken_over_without_an_order() {
    let (crt, key) = issued_elsewhere("web");
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.run(&["status"]);
    place(&world, &crt, &key);
    world.issue().ends_in(0);
    assert_eq!(world.ca.requests(), 0);
    assert_eq!(world.state().readiness("web"), Reason::Ready);
    assert_eq!(events(&world).matches("\"Adopted\"").count(), 1, "{}", events(&world));
    world.run(&["renew", "web"]).ends_in(0);
    assert_eq!(world.state().record("web").status.revision, Some(1));
    world.run(&["rollback", "web"]).ends_in(0);
    let live = |file: &str| fs::read(world.path(&format!("state/secrets/default/web-tls/{file}")));
    assert_eq!((live("tls.crt").unwrap(), live("tls.key").unwrap()), (crt, key));
}

fn set_mode(world: &World, below: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(world.path(below), fs::Permissions::from_mode(mode)).unwrap();
}

/// Puts a pair into the folder of web's secret.
fn place(world: &World, crt: &[u8], key: &[u8]) {
    let folder = "state/secrets/default/web-tls";
    for (file, bytes) in [("tls.crt", crt), ("tls.key", key)] {
        world.write(&format!("{folder}/{file}"), &String::from_utf8(bytes.to_vec()).unwrap());
    }
    for private in ["state", "state/secrets", "state/secrets/default", folder] {
        set_mode(world, private, 0o700);
    }
    set_mode(world, "state/secrets/default/web-tls/tls.key", 0o600);
}

#[test]
fn a_pair_that_is_replaced_is_told_before_the_order_with_what_keeps_it() {
    let (crt, key) = issued_elsewhere("web");
    let larger = CertificateYaml::new("web").for_names(&["web.example.test", "www.example.test"]);
    let larger = larger.to_string().replace("algorithm: ECDSA", "algorithm: RSA");
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.write("config/web.yaml", &larger);
    place(&world, &crt, &key);
    let reason = "  why       The key and certificate in the secret's \
                  folder are replaced: its key is ECDSA 256, but spec.privateKey requests RSA \
                  2048; ";
    let keep = "To keep it, write into the manifest, below spec: privateKey: {algorithm: ECDSA, \
                size: 256}, dnsNames: [\"web.example.test\"]\n";
    let planned = world.run(&["plan"]).ends_in(0).stdout;
    assert!(planned.contains(reason) && planned.contains(keep), "{planned}");
    // The order does not come about: what is told is told before.
    let kind = ProblemType::RejectedIdentifier;
    let refusal = Fault::Problem { status: 403, kind, detail: "no".to_owned(), retry_after: None };
    world.next_fault(RequestKind::NewOrder, refusal);
    let run = world.issue().ends_in(5);
    let told =
        run.stderr.find("WARN web The key and certificate in the secret's folder are replaced: ");
    let failed = run.stderr.find("error: web: ");
    assert!(told.is_some() && told < failed, "{}", run.stderr);
    for text in [
        "its key is ECDSA 256, but spec.privateKey requests RSA 2048; ",
        "spec.dnsNames differs: the certificate has \"web.example.test\". ",
        "below spec: privateKey: {algorithm: ECDSA, size: 256}, dnsNames: [\"web.example.test\"] ",
    ] {
        assert!(run.stderr.contains(text), "{text}: {}", run.stderr);
    }
    assert!(!run.stderr.contains("adopted"), "{}", run.stderr);
}

#[test]
fn a_pair_is_adopted_once_the_manifest_fits_it_though_its_order_is_pending() {
    let (crt, key) = issued_elsewhere("web");
    let own = CertificateYaml::new("web");
    let world = World::prepared(&[own.clone().for_names(&["unknown.test"])]);
    place(&world, &crt, &key);
    world.run(&["issue", "--timeout", "2s"]).ends_in(75).says("spec.dnsNames differs");
    assert_eq!(world.sent(RequestKind::NewOrder), 1);
    let planned = world.run(&["plan"]).ends_in(0).stdout;
    assert!(planned.contains("folder are replaced: spec.dnsNames differs"), "{planned}");
    world.prepare(&[own]);
    let planned = world.run(&["plan"]).ends_in(0).stdout;
    assert!(planned.contains("web: adopt\n"), "{planned}");
    let run = world.issue().ends_in(0).says("web   adopted   The key and certificate found in");
    assert!(!run.stderr.contains("WARN"), "{}", run.stderr);
    let live = |file: &str| fs::read(world.path(&format!("state/secrets/default/web-tls/{file}")));
    assert_eq!((live("tls.crt").unwrap(), live("tls.key").unwrap()), (crt, key));
    assert_eq!(world.state().readiness("web"), Reason::Ready);
    world.issue().says_nothing();
    world.run(&["renew", "web"]).ends_in(0);
    assert_eq!(world.state().published("web").dns_names, ["web.example.test"]);
    assert_eq!(world.state().record("web").status.revision, Some(1));
}

#[test]
fn what_is_no_pair_or_not_for_these_names_is_ordered_anew() {
    let (crt, _) = issued_elsewhere("web");
    let (_, other_key) = issued_elsewhere("web");
    let (other_crt, its_key) = issued_elsewhere("mail");
    for (crt, key) in [(&crt, &other_key), (&other_crt, &its_key)] {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.write("config/secret.yaml", &secret(crt, key));
        world.issue().ends_in(0);
        assert_eq!(world.state().issuances(), 1);
        assert_eq!(world.state().published("web").dns_names, ["web.example.test"]);
        assert_eq!(events(&world).matches("\"Adopted\"").count(), 0);
    }
}

/// A file with a Secret of a pair that was issued elsewhere, and what keeps it from being read.
fn unreadable(world: &World, how: &str) {
    let (crt, key) = issued_elsewhere("web");
    let text = secret(&crt, &key);
    match how {
        "mode" => {
            world.write("config/secret.yaml", &text);
            set_mode(world, "config/secret.yaml", 0o644);
        }
        "writable by others" => {
            world.write("config/secret.yaml", &text);
            set_mode(world, "config/secret.yaml", 0o620);
        }
        "syntax" => {
            world.write("config/secret.yaml", &format!("{text}  other: [\n"));
        }
        "encoding" => {
            let path = world.write("config/secret.yaml", &text);
            let mut bytes = fs::read(&path).unwrap();
            bytes.extend(b"# \xff\n");
            crate::support::fixture::put(&path, &bytes);
        }
        "size" => {
            world.write("config/secret.yaml", &format!("{text}# {}\n", "x".repeat(1 << 20)));
        }
        _ => panic!("{how}"),
    }
}

#[test]
fn a_certificate_whose_pair_may_be_in_an_unreadable_secret_is_blocked_and_adopted_later() {
    for how in ["mode", "writable by others", "syntax", "encoding", "size"] {
        let world = World::prepared(&[CertificateYaml::new("web"), CertificateYaml::new("mail")]);
        unreadable(&world, how);
        let planned = world.run(&["plan"]).ends_in(3).stdout;
        assert!(planned.contains("web: blocked\n"), "{how}: {planned}");
        for words in [&["issue"][..], &["issue"], &["renew", "web"]] {
            let run = world.run(words).ends_in(3);
            let said = "its key and certificate may be in ";
            assert!(run.stderr.contains(said), "{how}: {words:?}: {}", run.stderr);
            if how == "mode" {
                assert!(run.stderr.contains("chmod"), "{}", run.stderr);
            }
        }
        assert!(world.state().pair("web-tls").is_none(), "{how}");
        // The other one is not in that file.
        assert_eq!(world.ca.issued(), 1, "{how}");
        let (crt, key) = issued_elsewhere("web");
        world.write("config/secret.yaml", &secret(&crt, &key));
        set_mode(&world, "config/secret.yaml", 0o600);
        let planned = world.run(&["plan"]).ends_in(0).stdout;
        assert!(planned.contains("web: adopt\n"), "{how}: {planned}");
        let run = world.issue().ends_in(0);
        assert!(run.stderr.contains("were adopted"), "{how}: {}", run.stderr);
        let live = fs::read(world.path("state/secrets/default/web-tls/tls.crt")).unwrap();
        assert_eq!((live, world.ca.issued()), (crt, 1), "{how}");
        world.issue().says_nothing();
    }
}

/// It is ordered already, and not issued, as the Secret turns up.
#[test]
fn a_pair_is_adopted_as_long_as_nothing_is_issued() {
    let (crt, key) = issued_elsewhere("web");
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let kind = ProblemType::RejectedIdentifier;
    let refusal = Fault::Problem { status: 403, kind, detail: "no".to_owned(), retry_after: None };
    world.next_fault(RequestKind::NewOrder, refusal);
    world.issue().ends_in(5);
    world.write("config/secret.yaml", &secret(&crt, &key));
    let planned = world.run(&["plan"]).ends_in(0).stdout;
    assert!(planned.contains("web: adopt\n"), "{planned}");
    world.issue().ends_in(0).says("were adopted");
    let live = fs::read(world.path("state/secrets/default/web-tls/tls.crt")).unwrap();
    assert_eq!((live, world.ca.issued()), (crt, 0));
    world.issue().says_nothing();
}

#[test]
fn a_list_of_secrets_may_be_larger_than_a_manifest() {
    let (crt, key) = issued_elsewhere("web");
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let item = |text: &str| format!("- {}", text.trim_end().replace('\n', "\n  "));
    let other = secret(&crt, &key).replace("name: web-tls", "name: other-tls");
    let padding = "y".repeat(1 << 20);
    let other = other.replace("another", &padding);
    let items = [item(&other), item(&secret(&crt, &key))].join("\n");
    world.write("config/secrets.yaml", &format!("apiVersion: v1\nitems:\n{items}\nkind: List\n"));
    world.issue().ends_in(0).says("were adopted");
    assert_eq!(world.ca.requests(), 0);
}

/// What is in it, nobody knows.
#[test]
fn a_file_that_is_too_large_may_hold_any_pair() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let path = world.write("config/secret.yaml", "");
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(65 << 20).unwrap();
    set_mode(&world, "config/secret.yaml", 0o600);
    world.issue().ends_in(3).says("its key and certificate may be in ");
    assert_eq!(world.ca.issued(), 0);
    fs::remove_file(&path).unwrap();
    world.issue().ends_in(0);
}
