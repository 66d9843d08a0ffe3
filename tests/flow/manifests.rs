//! Which manifests a run is about, and what becomes of certificates without one.

use std::fs;
use std::io::Write as _;

use crate::support::{CertificateYaml, World, finish};

fn issued_from_a_file() -> (World, std::path::PathBuf) {
    let world = World::start();
    let text = format!("{}---\n{}", world.issuer(), CertificateYaml::new("web"));
    let file = world.write("site/web.yaml", &text);
    world.run(&["issue", file.to_str().unwrap()]).ends_in(0);
    (world, file)
}

fn prepare_another(world: &World) {
    world.write("config/issuer.yaml", &world.issuer().named("other"));
    world.write("config/other.yaml", &CertificateYaml::new("other").issued_by("other"));
}

#[test]
fn a_certificate_whose_manifest_is_gone_stays_and_is_reported() {
    let (world, file) = issued_from_a_file();
    prepare_another(&world);
    world.issue().ends_in(0);
    fs::remove_file(&file).unwrap();
    let before = (world.state().everything(), world.ca.requests());
    world.issue().ends_in(0).says("certctl forget").says(file.to_str().unwrap());
    assert_eq!((world.state().everything(), world.ca.requests()), before);
    // A run for others says nothing of it.
    for words in [&["issue", "other"][..], &["-n", "elsewhere", "plan"]] {
        let run = world.run(words);
        assert!(!run.stderr.contains("certctl forget"), "{words:?}: {}", run.stderr);
    }
}

#[test]
fn no_manifest_at_all_is_an_error_while_certificates_are_known() {
    let (world, file) = issued_from_a_file();
    fs::remove_file(&file).unwrap();
    world.issue().ends_in(3).says("1 certificate known from earlier runs no longer has a manifest");
    world.state().published("web");
}

#[test]
fn what_is_forgotten_is_not_managed_any_more_and_its_files_stay() {
    let (world, _) = issued_from_a_file();
    prepare_another(&world);
    world.issue().ends_in(0);
    world.run(&["forget", "web"]).ends_in(0);
    world.state().published("web");
    assert!(!world.state().path("certificates/default/web/status.json").exists());
    let requests = world.ca.requests();
    world.issue().says_nothing();
    assert_eq!(world.ca.requests(), requests);
    // What stayed can go later.
    world.run(&["forget", "web"]).ends_in(3);
    let unasked = world.run(&["forget", "web", "--secret"]).ends_in(2);
    unasked.says("try: certctl forget web --secret --yes\n");
    assert!(world.state().path("secrets/default/web-tls").exists());
    world.run(&["forget", "web", "--secret", "--yes"]).ends_in(0);
    assert!(!world.state().path("secrets/default/web-tls").exists());
    world.run(&["forget", "web", "--secret", "--yes"]).ends_in(3);
    world.run(&["forget", "other", "--secret", "--anyway", "--yes"]).ends_in(0);
    assert_eq!(world.state().pair("other-tls"), None);
}

#[test]
fn a_manifest_that_the_next_run_would_read_keeps_its_certificate_from_being_forgotten() {
    let world = World::start();
    let text = format!(
        "{}---\n{}---\n{}",
        world.issuer(),
        CertificateYaml::new("web"),
        CertificateYaml::new("mail")
    );
    let file = world.write("site/all.yaml", &text);
    world.run(&["issue", file.to_str().unwrap()]).ends_in(0);
    // The other's record has the path of the file.
    let before = world.state().everything();
    let line = 1 + text.lines().position(|line| line == "  name: web").unwrap();
    let place = format!("{}:{line}", file.display());
    world.run(&["forget", "web"]).ends_in(3).says(&place).says("--anyway");
    world.write("site/all.yaml", &text.replace("dnsNames", "dnsName"));
    world.run(&["forget", "web"]).ends_in(3).says(file.to_str().unwrap());
    assert_eq!(world.state().everything(), before);
    world.run(&["forget", "web", "mail", "--anyway"]).ends_in(0);
    // No record has the path any more, and the config directory is empty.
    world.issue().ends_in(3);
}

#[test]
fn two_certificates_of_one_secret_are_both_named_and_the_owner_keeps_it() {
    let second = |name: &str| {
        CertificateYaml::new(name).to_string().replace(&format!("{name}-tls"), "one-tls")
    };
    // Neither file order nor the order of names decides when the state knows the owner.
    for (owner, other, file) in [("one", "two", "a"), ("one", "alpha", "z"), ("one", "alpha", "a")]
    {
        let world = World::prepared(&[CertificateYaml::new("one")]);
        world.issue().ends_in(0);
        let path = world.write(&format!("config/{file}.yaml"), &second(other));
        let leaf = world.state().published("one");
        let said = format!("and {other} have the same secretName `one-tls`");
        let run = world.issue().ends_in(3).says(&format!("Certificates {owner} (")).says(&said);
        assert!(run.stderr.contains(&format!("--> {}:", path.display())), "{}", run.stderr);
        assert_eq!((world.state().published("one"), world.ca.issued()), (leaf, 1));
        let status = world.run(&["status"]).stdout;
        let shows = |name: &str, word: &str| {
            status.lines().any(|line| line.contains(&format!(" {name} ")) && line.starts_with(word))
        };
        assert!(shows(owner, "READY") && shows(other, "INVALID"), "{status}");
    }
    // Without a record the first by name is issued.
    let world = World::prepared(&[CertificateYaml::new("one")]);
    world.write("config/z.yaml", &second("alpha"));
    let status = world.run(&["status"]).stdout;
    assert!(
        status.contains("alpha") && status.contains("INVALID") && status.contains("one"),
        "{status}"
    );
    world.issue().ends_in(3).says("one have the same secretName");
}

#[test]
fn another_server_is_a_reason_to_issue_anew() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let production = World::start();
    production.ca.set_http01_port(world.port.number());
    world.write("config/issuer.yaml", &production.issuer());
    world.issue().ends_in(0);
    assert_eq!((world.ca.issued(), production.ca.issued()), (1, 1));
    world.issue().says_nothing();
    assert_eq!(world.state().record("web").status.revision, Some(2));
}

#[test]
fn standard_input_is_a_manifest_too() {
    use std::io::Write as _;
    use std::process::Stdio;

    let world = World::start();
    let mut child = world.command(&["issue", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    let text = format!("{}---\n{}", world.issuer(), CertificateYaml::new("web"));
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    finish(child).ends_in(0).says(
        "standard input is not stored; to renew this certificate, put the manifest into a file",
    );
    world.state().published("web");
    let page = world.run(&["status", "web"]).ends_in(0).stdout;
    assert!(page.contains("NO MANIFEST - its manifest was read from standard input"), "{page}");
    world.write("config/issuer.yaml", &world.issuer());
    world.write("config/web.yaml", &CertificateYaml::new("web"));
    world.run(&["status", "--exit-code", "web"]).ends_in(0);
}

#[test]
fn a_file_that_is_no_document_of_the_state_is_passed_over_and_told_of() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let folder = "certificates/default/web";
    for file in ["requests/01.json", "requests/note\u{1b}.txt", "orders/1.json"] {
        world.write(&format!("state/{folder}/{file}"), "{}");
    }
    let documents = || {
        let mut all = world.state().everything();
        all.retain(|path, _| !path.starts_with(world.path("state/locks")));
        all
    };
    let before = documents();
    // What a killed run left goes.
    world.write(&format!("state/{folder}/orders/.tmp-1"), "");
    world.issue().says_nothing();
    let page = world.run(&["describe", "web"]).ends_in(0).stdout;
    for file in ["requests/01.json", "requests/note\\u{1b}.txt", "orders/1.json"] {
        let path = format!("{folder}/{file}");
        assert!(page.contains(&format!("- {path}\n")), "{page}");
    }
    assert!(!page.contains(".tmp-1") && !page.contains("1-1.json"), "{page}");
    assert_eq!(documents(), before);
}

#[test]
fn a_file_without_a_certificate_is_named() {
    let (world, file) = issued_from_a_file();
    let empty = world.write("site/empty.yaml", "").display().to_string();
    let issuer = world.write("site/ca.yaml", &world.issuer().named("other")).display().to_string();
    let file = file.display().to_string();
    let none = format!("error: no Certificate in {empty}, {issuer}\n");
    world.run(&["issue", &empty, &issuer]).ends_in(3).says(&none);
    let run = world.run(&["issue", &file, &empty, &issuer]).ends_in(0);
    let nothing = "no Certificate, Issuer, ClusterIssuer or Secret: it is empty";
    assert_eq!(run.stderr, format!("warning[W0401]: {nothing}\n  --> {empty}\n"));
}

#[test]
fn a_manifest_that_moved_within_the_config_directory_is_not_gone() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    fs::rename(world.path("config/web.yaml"), world.path("config/site.yaml")).unwrap();
    for verb in ["plan", "issue"] {
        let run = world.run(&[verb]).ends_in(0);
        assert!(!run.stderr.contains("no longer exists"), "{}", run.stderr);
    }
    world.issue().says_nothing();
}

#[test]
fn a_manifest_with_a_mistake_is_another_thing_than_none() {
    let (world, file) = issued_from_a_file();
    let text = fs::read_to_string(&file).unwrap().replace("dnsNames", "dnsName");
    world.write("site/web.yaml", &text);
    let table = world.run(&["status"]).ends_in(0).stdout;
    assert!(table.contains("INVALID"), "{table}");
    let page = world.run(&["describe", "web"]).ends_in(0).stdout;
    let place = format!("Status: INVALID - {}:", file.display());
    assert!(page.starts_with(&place) && page.contains("dnsName"), "{page}");
}

#[test]
fn what_was_never_issued_leaves_no_files_when_it_is_forgotten() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let refusal = certctl::rehearsal::Fault::Refuse {
        kind: certctl::rehearsal::ProblemType::Dns,
        detail: "no such name".to_owned(),
    };
    world.fault(certctl::rehearsal::Rule::always(refusal));
    let run = world.issue().ends_in(4);
    assert!(
        run.stderr.contains("  try       certctl check http web.example.test"),
        "{}",
        run.stderr
    );
    let place = format!("{}:4", world.path("config/web.yaml").display());
    world.run(&["forget", "web"]).ends_in(3).says(&place);
    fs::remove_file(world.path("config/web.yaml")).unwrap();
    let run = world.run(&["forget", "web"]).ends_in(0);
    assert_eq!(run.stderr, "web forgotten\n");
}

#[test]
fn a_folder_of_that_name_is_no_obstacle_to_a_verb_that_takes_names() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    fs::create_dir(world.path("web")).unwrap();
    world.run(&["issue"]).ends_in(0);
    for words in [&["renew", "web"][..], &["deploy", "web"], &["rollback", "web"]] {
        world.run(words).ends_in(0);
    }
    // `issue` and `plan` take both.
    for verb in ["issue", "plan"] {
        world.run(&[verb, "web"]).ends_in(2).says("`web` is both a path and the name of an object");
    }
    // Nothing else has the name.
    world.write("d/other.yaml", &CertificateYaml::new("other"));
    let plan = world.run(&["plan", "d"]).ends_in(0);
    assert!(plan.stdout.contains("other.example.test"), "{}", plan.stdout);
    let pem = fs::read_to_string(world.path("state/secrets/default/web-tls/tls.crt")).unwrap();
    world.write("c.pem", &pem);
    world.run(&["inspect", "c.pem", "--offline"]).ends_in(0);
    world
        .run(&["revoke", "c.pem", "--yes"])
        .ends_in(2)
        .says("c.pem is the current certificate of web");
}

#[test]
fn a_manifest_may_come_through_a_pipe() {
    let world = World::start();
    let manifest = format!("{}---\n{}", world.issuer(), CertificateYaml::new("web"));
    let mut command = world.command(&["issue", "/dev/fd/0"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(manifest.as_bytes()).unwrap();
    finish(child).ends_in(0);
    assert_eq!(world.state().record("web").manifest, None);

    let fifo = world.path("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let writer = std::thread::spawn(move || {
        let mut file = fs::File::options().write(true).open(fifo).unwrap();
        file.write_all(manifest.as_bytes()).unwrap();
    });
    world.run(&["plan", "./fifo"]).ends_in(0);
    writer.join().unwrap();
}

#[test]
fn a_mistake_in_an_issuer_is_told_once_for_all_its_certificates() {
    let world = World::start();
    world.prepare(&["a", "b", "c"].map(CertificateYaml::new));
    world.write("config/issuer.yaml", &world.issuer().field("email: ops at example.test"));
    for verb in ["issue", "plan", "validate"] {
        let run = world.run(&[verb]).ends_in(3);
        assert_eq!(run.stderr.matches("error[E0202]").count(), 1, "{}", run.stderr);
        assert!(run.stderr.contains("= help: the same for b, c\n"), "{}", run.stderr);
    }
    // A program gets each.
    let run = world.run(&["issue", "--log-format", "json"]).ends_in(3);
    assert_eq!(run.stderr.matches("\"E0202\"").count(), 3, "{}", run.stderr);
}

#[test]
fn a_file_is_validated_with_what_it_refers_to_and_without_the_other_manifests() {
    let world = World::prepared(&[CertificateYaml::new("web"), CertificateYaml::new("other")]);
    let broken = CertificateYaml::new("other").to_string().replace("dnsNames", "dnsNam");
    world.write("config/other.yaml", &broken);
    let draft = world.write("draft.yaml", &CertificateYaml::new("draft"));
    let copy =
        world.write("copy.yaml", &CertificateYaml::new("web").for_names(&["more.example.test"]));
    for file in [draft, copy, world.path("config/web.yaml")] {
        let run = world.run(&["validate", file.to_str().unwrap()]).ends_in(0);
        assert!(!run.stderr.contains("other"), "{}", run.stderr);
    }
    // An issuer that is nowhere is none.
    let lost = world.write("lost.yaml", &CertificateYaml::new("lost").issued_by("nobody"));
    world.run(&["validate", lost.to_str().unwrap()]).ends_in(3).says("`nobody` not found");
    world.run(&["validate"]).ends_in(3).says("other.yaml");
}

#[test]
fn a_duration_that_is_not_sent_is_a_warning_and_orders_nothing() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    for duration in ["720h", "480h"] {
        let line = format!("duration: {duration}");
        world.write("config/web.yaml", &CertificateYaml::new("web").field(&line));
        let run = world.run(&["validate"]).ends_in(0);
        assert!(run.stderr.contains("enableDurationFeature"), "{}{}", run.stdout, run.stderr);
        let plan = world.run(&["plan"]).ends_in(0).stdout;
        assert!(!plan.contains("web: issue"), "{plan}");
        world.issue().ends_in(0);
    }
    assert_eq!(world.ca.issued(), 1);
}

#[test]
fn a_hash_that_does_not_fit_the_curve_is_refused_before_it_is_counted() {
    let world = World::prepared(&[]);
    for (key, signature, allowed) in [
        ("size: 256", "ECDSAWithSHA384", "[ECDSAWithSHA256]"),
        ("size: 256", "ECDSAWithSHA512", "[ECDSAWithSHA256]"),
        ("size: 384", "ECDSAWithSHA256", "[ECDSAWithSHA384]"),
    ] {
        let line = format!("signatureAlgorithm: {signature}");
        let text = CertificateYaml::new("web").field(&line).to_string();
        let text = text.replace("algorithm: ECDSA\n", &format!("algorithm: ECDSA\n    {key}\n"));
        world.write("config/web.yaml", &text);
        world.run(&["validate"]).ends_in(3).says(allowed);
        world.issue().ends_in(3).says(allowed);
    }
    assert_eq!(world.ca.requests(), 0);
}
