//! `create certificaterequest`: a key and a request, or a certificate, once, and nothing stays.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use certctl::pki;
use certctl::rehearsal::{Fault, ProblemType, RequestKind, Rule};
use serde_json::{Value, json};

use crate::support::{CertificateYaml, Entry, Port, WebServer, World, finish, until};

const NAMES: [&str; 2] = ["one.example.test", "two.example.test"];

/// `web` is managed, and a manifest outside asks for something else into the same Secret.
fn world() -> World {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    world.write("other.yaml", &CertificateYaml::new("web").for_names(&NAMES));
    world
}

/// The words with the manifest, and these.
fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let create = ["create", "certificaterequest", "once", "--from-certificate-file", "other.yaml"];
    [&create, more].concat()
}

fn fetch(world: &World) -> crate::support::Run {
    world.run(&words(&["--fetch-certificate"]))
}

/// The leaf of `once.crt`, after a check that `once.key` is its key.
fn delivered(world: &World) -> certctl::resource::LeafFacts {
    let read = |name: &str| fs::read_to_string(world.path(name)).unwrap();
    let leaf = pki::leaf_facts(&read("once.crt")).unwrap();
    assert_eq!(pki::key_facts(&read("once.key")).unwrap().public_key, leaf.public_key);
    assert_eq!(mode(world, "once.key"), 0o600);
    leaf
}

fn mode(world: &World, name: &str) -> u32 {
    fs::metadata(world.path(name)).unwrap().permissions().mode() & 0o777
}

/// All of the state that a run which ended may change.
fn managed(world: &World) -> Vec<(std::path::PathBuf, Entry)> {
    let passing = ["locks", "scheduler.json", "issuance.log"];
    let mut all: Vec<_> = world.state().everything().into_iter().collect();
    all.retain(|(path, _)| passing.iter().all(|name| !path.starts_with(world.state().path(name))));
    all
}

#[test]
fn a_request_is_printed_for_others_and_its_key_is_kept() {
    let world = world();
    let before = (world.ca.requests(), managed(&world));
    let run = world.run(&words(&["-o", "json"])).ends_in(0);
    assert_eq!(run.stderr, "private key written to once.key\n");
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    let pem = BASE64_STANDARD.decode(object["spec"]["request"].as_str().unwrap()).unwrap();
    let expected = json!({
        "apiVersion": "cert-manager.io/v1",
        "kind": "CertificateRequest",
        "metadata": { "name": "once", "namespace": "default" },
        "spec": {
            "request": object["spec"]["request"],
            "usages": ["digital signature", "key encipherment"],
            "issuerRef": object["spec"]["issuerRef"],
        },
    });
    assert_eq!(object, expected);
    assert_eq!(object["spec"]["issuerRef"]["name"], "ca");
    let csr = pki::read_csr(std::str::from_utf8(&pem).unwrap()).unwrap();
    let key = fs::read_to_string(world.path("once.key")).unwrap();
    assert_eq!(pki::key_facts(&key).unwrap().public_key, csr.public_key);
    assert_eq!(mode(&world, "once.key"), 0o600);
    assert_eq!((world.ca.requests(), managed(&world)), before);

    // Nothing is overwritten, and YAML is what there is without a word.
    world.run(&words(&[])).ends_in(3).says("once.key already exists");
    assert_eq!(fs::read_to_string(world.path("once.key")).unwrap(), key);
    let run = world.run(&words(&["--output-key-file", "k.pem"])).ends_in(0);
    assert!(run.stdout.starts_with("apiVersion: cert-manager.io/v1\n"), "{}", run.stdout);
    assert!(world.path("k.pem").exists() && !world.path("once.crt").exists());
}

#[test]
fn a_certificate_is_fetched_once_in_the_account_that_there_is() {
    let world = world();
    let before = managed(&world);
    let run = fetch(&world).ends_in(0).says("certificate written to once.crt");
    assert_eq!(run.stdout, "");
    let leaf = delivered(&world);
    assert_eq!(leaf.dns_names, NAMES);
    assert_eq!(mode(&world, "once.crt"), 0o644);
    assert_eq!(world.ca.created(RequestKind::NewAccount), 1);
    // Nothing of it stays, and what is managed is as it was.
    assert!(managed(&world) == before, "the state is as it was");
    world.issue().says_nothing();
    assert_eq!(world.state().issuances(), 2);

    fetch(&world).ends_in(3).says("already exists");
    assert_eq!(delivered(&world), leaf);
    world
        .run(&words(&[
            "--fetch-certificate",
            "--output-key-file",
            "a",
            "--output-certificate-file",
            "b",
            "--exit-code",
        ]))
        .ends_in(10);
    assert!(world.path("a").exists() && world.path("b").exists());
    assert_eq!(world.ca.created(RequestKind::NewAccount), 1);
}

#[test]
fn the_first_thing_ever_can_be_a_one_off() {
    let world = World::start();
    let text =
        format!("{}\n---\n{}", world.issuer(), CertificateYaml::new("web").for_names(&NAMES));
    world.write("other.yaml", &text);
    fetch(&world).ends_in(0);
    assert_eq!(delivered(&world).dns_names, NAMES);
    assert_eq!(world.state().tokens(), Vec::<std::path::PathBuf>::new());
    assert!(!world.state().path("certificates/default/once.one-off.certctl").exists());
}

#[test]
fn of_one_that_fails_nothing_stays_and_the_next_is_not_held_back() {
    let world = world();
    let before = managed(&world);
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail: "not you".to_owned() };
    world.fault(Rule::always(refusal).for_name(NAMES[1]));
    let run = fetch(&world).ends_in(4).says("error: once: failed [validation]: ");
    assert!(run.stderr.contains("not you"), "{}", run.stderr);
    assert!(!world.path("once.key").exists() && !world.path("once.crt").exists());
    assert_eq!(world.state().tokens(), Vec::<std::path::PathBuf>::new());
    assert!(managed(&world) == before, "the state is as it was");
    world.issue().says_nothing();
    world.ca.faults().clear();
    fetch(&world).ends_in(0);
    assert_eq!(delivered(&world).dns_names, NAMES);
}

#[test]
fn a_killed_one_is_reported_and_continued() {
    let world = world();
    let before = managed(&world);
    world.fault(Rule::next(1, Fault::Delay(Duration::from_mins(5))).on(RequestKind::Finalize));
    let mut child = world.start_certctl(&words(&["--fetch-certificate"]));
    let one_off = "once.one-off.certctl";
    until("the order is proven", || {
        world
            .state()
            .orders(one_off)
            .iter()
            .any(|order| matches!(order.phase, certctl::resource::OrderPhase::Finalizing(_)))
    });
    // The running process was not interrupted.
    world.issue().says_nothing();
    fetch(&world).ends_in(75).says("locked by");
    child.kill().unwrap();
    finish(child);
    world.ca.faults().clear();
    let page = world.run(&["status"]).ends_in(0).stdout;
    assert!(page.contains(one_off), "{page}");
    let orders = world.ca.created(RequestKind::NewOrder);
    fetch(&world).ends_in(0);
    assert_eq!(world.ca.created(RequestKind::NewOrder), orders);
    assert_eq!(delivered(&world).dns_names, NAMES);
    assert!(managed(&world) == before, "the state is as it was");
}

#[test]
fn what_is_issued_and_cannot_be_written_is_not_lost() {
    let world = world();
    let out = ["--fetch-certificate", "--output-certificate-file", "none/once.crt"];
    world.run(&words(&out)).ends_in(6).says("issued but not written").says("the same command");
    assert!(!world.path("once.key").exists());
    let issued = world.ca.issued();
    fs::create_dir(world.path("none")).unwrap();
    world.run(&words(&out)).ends_in(0);
    assert_eq!(world.ca.issued(), issued);
    assert!(world.path("once.key").exists() && world.path("none/once.crt").exists());
}

#[test]
fn words_and_files_that_make_no_sense_are_refused() {
    let world = World::prepared(&[]);
    world.write("none.yaml", &world.issuer());
    let two = format!("{}\n---\n{}", CertificateYaml::new("a"), CertificateYaml::new("b"));
    world.write("two.yaml", &two);
    world.write("broken.yaml", "kind: Certificate\n");
    world.write("lost.yaml", &CertificateYaml::new("web").issued_by("nobody"));
    let from = |file| vec!["create", "cr", "once", "--from-certificate-file", file];
    let with = |file, more: &[&'static str]| [&from(file), more].concat();
    for (words, code, said) in [
        (vec!["create", "certificaterequest", "once"], 2, "--from-certificate-file"),
        (vec!["create", "cr", "a b", "--from-certificate-file", "two.yaml"], 2, "is not a name"),
        (from("absent.yaml"), 3, "absent.yaml"),
        (from("broken.yaml"), 3, "broken.yaml"),
        (from("none.yaml"), 3, "has 0 Certificates"),
        (from("two.yaml"), 3, "has 2 Certificates"),
        (with("lost.yaml", &["--fetch-certificate"]), 3, "Issuer nobody is not in any manifest"),
        (with("lost.yaml", &["--output-certificate-file", "x"]), 2, "--fetch-certificate"),
        (with("lost.yaml", &["-o", "name"]), 2, "-o json"),
        (
            with("lost.yaml", &["--fetch-certificate", "--output-key-file", "once.crt"]),
            2,
            "need different files",
        ),
    ] {
        world.run(&words).ends_in(code).says(said);
    }
    assert_eq!(world.ca.requests(), 0);
    assert!(!world.path("once.key").exists());
}

#[test]
fn a_certificate_names_the_only_issuer_there_is_and_one_that_is_not_there_is_refused() {
    let world = World::prepared(&[]);
    let made =
        |more: &[&str]| world.run(&[&["create", "certificate", "www.example.test"], more].concat());
    let run = made(&["--print"]).ends_in(0);
    assert!(run.stdout.ends_with("  issuerRef:\n    name: ca\n"), "{}", run.stdout);
    assert_eq!(run.stderr, "");
    // What is printed may be for another host.
    let run = made(&["--issuer", "later", "--print"]).ends_in(0);
    assert!(run.stdout.ends_with("    name: later\n"), "{}", run.stdout);
    made(&["--issuer", "later"]).ends_in(3).says("issuer `later` not found; nothing was written");
    let cluster = world.issuer().to_string().replace("kind: Issuer", "kind: ClusterIssuer");
    world.write("config/issuer.yaml", &cluster.replace("name: ca", "name: all"));
    let run = made(&["--print"]).ends_in(0);
    assert!(run.stdout.ends_with("    name: all\n    kind: ClusterIssuer\n"), "{}", run.stdout);
    world.write("config/own.yaml", &world.issuer());
    made(&[]).ends_in(2).says("which Issuer? The manifests have");
}

#[test]
fn a_manifest_that_is_there_stays_and_the_same_one_is_no_error() {
    let world = World::prepared(&[]);
    let folder = world.path("config").display().to_string();
    let certificate = ["certificate", "www.example.test", "--issuer", "letsencrypt"];
    for (words, file, other) in [
        (&["issuer", "letsencrypt"][..], "issuer-letsencrypt.yaml", "name the issuer differently"),
        (&certificate, "certificate-www.example.test.yaml", "choose another --name"),
    ] {
        let words = [&["create"], words].concat();
        let path = world.path(&format!("config/{file}"));
        world.run(&words).ends_in(0).says(&format!("written to {}; next:", path.display()));
        let there = fs::read_to_string(&path).unwrap();
        let printed = world.run(&[&words[..], &["--print"]].concat()).ends_in(0);
        assert_eq!((printed.stdout, printed.stderr), (there.clone(), String::new()));
        // Whether the folder is named or not.
        for words in [words.clone(), [&words[..], &["--into", &folder]].concat()] {
            world.run(&words).ends_in(0).says("already exists with the same content\n");
        }
        let changed = there + "# mine\n";
        world.write(&format!("config/{file}"), &changed);
        let said = format!("(--print prints a new one); or {other}\n");
        world.run(&words).ends_in(3).says("certctl does not overwrite it").says(&said);
        assert_eq!(fs::read_to_string(&path).unwrap(), changed);
    }
    // Of several CAs, none is taken that was not named.
    let words = ["create", "certificate", "www.example.test", "--name", "other"];
    let run = world.run(&words).ends_in(2).says("which Issuer? The manifests have letsencrypt, ca");
    run.says("add --issuer letsencrypt or --issuer ca");
    let mistyped = [&words[..], &["--issuer", "ac"]].concat();
    world.run(&mistyped).ends_in(3).says("issuer `ac` not found").says("there is `letsencrypt`");
}

#[test]
fn a_port_that_is_taken_matters_where_the_issuer_leaves_it_to_certctl() {
    let world = World::prepared(&[]);
    world.port.socket.listen(1).unwrap();
    let made = |name: &str| world.run(&["create", "certificate", name]).ends_in(0).stderr;
    let said = made("one.example.test");
    assert!(said.contains("is in use"), "{said}");
    let webroot = "metadata:\n  annotations: {certctl/http01-webroot: /srv}\n";
    let issuer = world.issuer().to_string().replacen("metadata:\n", webroot, 1);
    world.write("config/issuer.yaml", &issuer);
    let said = made("two.example.test");
    assert!(!said.contains("is in use"), "{said}");
}

/// The webroot is tried at once, where a web server of this host is to serve it.
#[test]
fn a_webroot_is_tried_as_it_is_named() {
    let world = World::prepared(&[]);
    let (served, other) = (world.path("served"), world.path("other"));
    for folder in [&served, &other] {
        fs::create_dir(folder).unwrap();
    }
    let made = |name: &str, webroot: &Path| {
        let webroot = webroot.to_str().unwrap();
        let words = ["create", "certificate", name, "--webroot", webroot];
        world.run(&words).ends_in(0).stderr
    };
    let step = "certctl check http ";
    let mistyped = served.display().to_string() + "x";
    let words = ["create", "certificate", "www.example.test", "--webroot", &mistyped];
    let meant = format!("did you mean {}?; nothing was written", served.display());
    world.run(&words).ends_in(3).says(&meant);
    // A line that was pasted with its placeholder.
    world.run(&["create", "certificate", "DNSNAME"]).ends_in(2).says("stands for a DNS name");
    let web = WebServer::start(&world.port, &served);
    let wrong = made("wrong.example.test", &other);
    assert!(wrong.contains("no server block for this name") && wrong.contains(step), "{wrong}");
    drop(web);
    let absent = made("nothing.example.test", &served);
    assert!(
        absent.contains("no web server of this host listens on") && absent.contains(step),
        "{absent}"
    );
    let _server = WebServer::start(&world.port, &served);
    let right = made("right.example.test", &served);
    let said = "right.example.test: this host receives the correct response\n";
    assert!(right.contains(said) && !right.contains(step), "{right}");
    // Each name is tried.
    let words = ["create", "certificate", "first.example.test", "second.invalid", "--webroot"];
    let words = [&words[..], &[served.to_str().unwrap()]].concat();
    let second = world.run(&words).ends_in(0).stderr;
    let said = "second.invalid: no server was queried: second.invalid does not exist";
    assert!(second.contains(said), "{second}");
    assert!(second.contains("certctl check http second.invalid"), "{second}");
}

/// A web server would hand out the private key.
#[test]
fn an_output_folder_below_a_webroot_or_of_another_one_is_refused() {
    let world = World::prepared(&[]);
    let webroot = world.path("webroot");
    fs::create_dir(&webroot).unwrap();
    let webroot = webroot.display().to_string();
    let below = format!("{webroot}/./tls");
    let words = ["create", "certificate", "www.example.test", "--output-dir", &below];
    let own = [&words[..], &["--webroot", &webroot]].concat();
    world.run(&own).ends_in(3).says("it could serve the private key; nothing was written");
    let one = CertificateYaml::new("web").annotation("certctl/http01-webroot", &webroot);
    world.write("config/web.yaml", &one);
    world.run(&words).ends_in(3).says("nothing was written");
    world.write("config/web.yaml", &one.clone().annotation("certctl/output-dir", &below));
    world.run(&["validate"]).ends_in(0).says("warning[W0309]").says("serve the private key");
    world.write("config/web.yaml", &one.annotation("certctl/output-dir", "/etc/tls"));
    let words = ["create", "certificate", "www.example.test", "--output-dir", "/etc/tls"];
    world.run(&words).ends_in(3).says("only one of them can write to it; nothing was written");
}

#[test]
fn a_second_certificate_for_the_same_names_is_said() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let folder = world.path("config").display().to_string();
    let made = |name: &str, of: &str| {
        let words = ["create", "certificate", of, "--name", name];
        world.run(&words).ends_in(0).stderr
    };
    let same = format!("warning: Certificate web in {folder}/web.yaml also has these names; ");
    assert!(made("second", "WEB.example.test").starts_with(&same));
    assert!(!made("third", "other.example.test").contains("same names"));
}

/// A file that is written is not written again, so it is one that works.
#[test]
fn an_issuer_that_cannot_work_is_not_written() {
    let world = World::start();
    let root = world.write("root.pem", &world.ca.root_pem()).display().to_string();
    let other = rcgen::generate_simple_self_signed(["ca.example.test".to_owned()]).unwrap();
    let other = world.write("other.pem", &other.cert.pem()).display().to_string();
    let server = world.ca.directory_url();
    let create = |server: &str, more: &[&str]| {
        let words = ["create", "issuer", "own", "--server", server];
        world.run(&[&words[..], more].concat())
    };
    let file = world.path("config/issuer-own.yaml");
    let no_acme = server.replace("/directory", "/nothing");
    for (server, more, why) in [
        (&server, &[][..], "does not trust the server"),
        (&server, &["--ca-bundle", &other], "its root is not in that file"),
        (&no_acme, &["--ca-bundle", &root], "this is not an ACME directory"),
    ] {
        create(server, more).ends_in(3).says(why).says("; nothing was written\n  try: ");
        assert!(!file.exists(), "{why}");
    }
    // What is only printed may be for another host.
    let printed =
        world.run(&["create", "issuer", "own", "--server", &server, "--print"]).ends_in(0);
    assert_eq!(printed.stderr, "");
    // Nobody listens there.
    let port = Port::take();
    let silent = format!("https://127.0.0.1:{}/directory", port.number());
    create(&silent, &[]).ends_in(0).says("warning: ").says("written to");
    fs::remove_file(&file).unwrap();
    create(&server, &["--ca-bundle", &root]).ends_in(0);
    assert!(file.exists());
}

#[test]
fn an_issuer_without_the_binding_that_its_ca_requires_is_not_written() {
    let world = World::with(|options| {
        options.external_account_keys = [("kid-1".to_owned(), b"key".to_vec())].into();
    });
    let root = world.write("root.pem", &world.ca.root_pem()).display().to_string();
    let server = world.ca.directory_url();
    let words = ["create", "issuer", "own", "--server", &server, "--ca-bundle", &root];
    world.run(&words).ends_in(3).says("requires an external account binding").says("--eab-kid ID");
    world.run(&[&words[..], &["--eab-kid", "kid-1"]].concat()).ends_in(0);
}

#[test]
fn a_placeholder_that_create_prints_is_a_warning_at_its_place() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let root = world.write("root.pem", &world.ca.root_pem()).display().to_string();
    for (name, provider) in [("azure", "azureDNS"), ("oracle", "oraclecloud")] {
        let words = ["create", "issuer", name, "--server", &world.ca.directory_url()];
        let of_world = ["--ca-bundle", &root, "--dns01", provider];
        let words = [&words[..], &of_world].concat();
        world.run(&words).ends_in(0);
    }
    let places: Vec<String> = ["azure", "oracle"]
        .into_iter()
        .flat_map(|name| {
            let path = world.path(&format!("config/issuer-{name}.yaml"));
            let text = fs::read_to_string(&path).unwrap();
            let is_placeholder =
                |line: &str| line.contains("CHANGE ME") || line.contains("-000000000000");
            let lines = (1..).zip(text.lines()).filter(|(_, line)| is_placeholder(line));
            let place = |(number, line): (usize, &str)| {
                let column = line.find(": ").unwrap() + 3;
                format!("  --> {}:{number}:{column}\n", path.display())
            };
            lines.map(place).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(places.len(), 8);
    for verb in ["validate", "plan"] {
        let run = world.run(&[verb]);
        assert_eq!(run.stderr.matches("warning[W0403]: ").count(), 8, "{verb}: {}", run.stderr);
        for place in &places {
            assert!(run.stderr.contains(place), "{verb}: {place}: {}", run.stderr);
        }
    }
    // It is their users' matter, and not that of a run.
    let run = world.issue().ends_in(0);
    assert!(!run.stderr.contains("W0403"), "{}", run.stderr);
}

#[test]
fn a_wildcard_that_the_issuer_cannot_validate_is_refused() {
    let world = World::prepared(&[]);
    let said = "spec.dnsNames[0]: *.example.test needs a dns01 solver";
    world.run(&["create", "certificate", "*.example.test"]).ends_in(3).says(said);
    world.run(&["create", "certificate", "www.example.test"]).ends_in(0);
}

#[test]
fn a_certificate_before_any_issuer_is_not_written() {
    let world = World::start();
    let run = world.run(&["create", "certificate", "www.example.test"]).ends_in(3);
    run.says("issuer `letsencrypt` not found; nothing was written").says("certctl create issuer");
    assert!(!world.path("config/certificate-www.example.test.yaml").exists());
}

#[test]
fn what_cannot_be_a_webroot_is_refused() {
    let world = World::prepared(&[]);
    let page = world.write("www/index.html", "").display().to_string();
    let below = world.path("www/.well-known/acme-challenge/").display().to_string();
    for (webroot, why) in [(&page, "this is a file"), (&below, "this is below a webroot; ")] {
        let words = ["create", "certificate", "www.example.test", "--webroot", webroot];
        world.run(&words).ends_in(3).says(why).says("; nothing was written\n");
    }
}

#[test]
fn the_name_in_a_url_is_proposed_instead_of_it() {
    let world = World::prepared(&[]);
    let words = ["create", "certificate", "https://www.example.test/a", "--name", "web"];
    world.run(&words).ends_in(2).says("is a URL; the name in it is www.example.test\n");
}

#[test]
fn a_root_that_expires_soon_is_said_when_the_issuer_is_made() {
    let world = World::prepared(&[]);
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(2024, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let root = world.write("old.pem", &parameters.self_signed(&key).unwrap().pem());
    // Nobody listens there.
    let silent = format!("https://127.0.0.1:{}/directory", Port::take().number());
    let words = ["create", "issuer", "old", "--server", &silent, "--ca-bundle"];
    let run = world.run(&[&words[..], &[root.to_str().unwrap()]].concat()).ends_in(0);
    run.says("in caBundle expired 2024-01-01, ").says("try: add the new root of the CA's server");
}
