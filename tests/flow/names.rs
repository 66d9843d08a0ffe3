//! A verb with names reads those certificates: what is wrong with others is not its matter.

use std::fs;

use crate::support::{CertificateYaml, World};

fn broken(name: &str) -> String {
    CertificateYaml::new(name).to_string().replace("dnsNames", "dnsName")
}

#[test]
fn a_mistake_in_another_manifest_is_said_by_runs_that_read_it() {
    let world = World::prepared(&[CertificateYaml::new("web"), CertificateYaml::new("mail")]);
    world.issue().ends_in(0);
    world.write("config/mail.yaml", &broken("mail"));
    for words in [
        &["status", "web"][..],
        &["issue", "web"],
        &["plan", "web"],
        &["deploy", "web"],
        &["renew", "web"],
        &["inspect", "web", "--offline"],
        &["rollback", "web"],
    ] {
        let run = world.run(words).ends_in(0);
        assert!(!run.stderr.contains("dnsName"), "{words:?}: {}", run.stderr);
    }
    for words in [&["status"][..], &["status", "mail"], &["issue"], &["plan"], &["issue", "mail"]] {
        world.run(words).says("unknown field `dnsName`");
    }
    // The certificates of both were issued once, and one was renewed.
    assert_eq!(world.ca.issued(), 3);
}

/// What was issued goes on being renewed, whichever file comes first; the mistake is said each time.
#[test]
fn a_second_manifest_of_a_name_does_not_stop_the_one_that_was_issued() {
    for copy in ["config/a.yaml", "config/z.yaml"] {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        let other = CertificateYaml::new("web").for_names(&["z.example.test"]);
        let path = world.write(copy, &other);
        let said = "Certificate web is defined already";
        world.issue().ends_in(3).says(said);
        assert_eq!(world.ca.issued(), 0, "which one is meant is not known");
        fs::remove_file(&path).unwrap();
        world.issue().ends_in(0);
        world.write(copy, &other);
        for words in [&["issue"][..], &["plan", "web"], &["renew", "web"], &["deploy", "web"]] {
            let run = world.run(words).ends_in(3).says(said);
            assert!(run.stderr.contains(&format!("--> {}:", path.display())), "{}", run.stderr);
        }
        assert_eq!(world.state().published("web").dns_names, ["web.example.test"]);
        assert_eq!(world.ca.issued(), 2, "issue and renew");
        world.run(&["status"]).says(said);
        let page = world.run(&["status", "web"]).stdout;
        assert!(page.starts_with("Status:       READY"), "{page}");
    }
}

/// A manifest that was issued by name, and is then copied to where the others are.
#[test]
fn a_copy_of_a_manifest_from_elsewhere_is_used_once_it_is_issued() {
    let world = World::prepared(&[]);
    let home = world.write("home/web.yaml", &CertificateYaml::new("web"));
    world.run(&["issue", home.to_str().unwrap()]).ends_in(0);
    let copy = world.write("config/web.yaml", &CertificateYaml::new("web"));
    let command = format!("certctl issue {}", copy.display());
    let run = world.issue().ends_in(3);
    assert!(run.stderr.contains(&command), "{}", run.stderr);
    world.run(&["issue", copy.to_str().unwrap()]).ends_in(0);
    world.issue().ends_in(0);
    assert_eq!(world.ca.issued(), 1);
}

#[test]
fn a_certificate_with_the_secret_of_another_is_not_worked_on() {
    let world = World::prepared(&[CertificateYaml::new("web"), CertificateYaml::new("mail")]);
    world.issue().ends_in(0);
    // The record of mail is of another Secret than it wants now.
    let text = CertificateYaml::new("mail").to_string().replace("mail-tls", "web-tls");
    world.write("config/mail.yaml", &text);
    for words in [&["issue", "mail"][..], &["renew", "mail"], &["status", "mail"]] {
        world.run(words).says("web (").says("have the same secretName `web-tls`");
    }
    world.run(&["renew", "mail"]).ends_in(3);
    assert_eq!(world.ca.issued(), 2);
    // What owns its Secret is worked on; the mistake of the other is said, as by a run over all.
    world.run(&["renew", "web"]).ends_in(3).says("have the same secretName `web-tls`");
    assert_eq!(world.ca.issued(), 3);
}

#[test]
fn a_name_whose_manifest_is_gone_is_said_to_be_that_with_the_way_out() {
    let world = World::prepared(&[CertificateYaml::new("web"), CertificateYaml::new("web2")]);
    world.issue().ends_in(0);
    let path = world.path("config/web.yaml");
    let good = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let verbs = [
        &["issue", "web"][..],
        &["plan", "web"],
        &["renew", "web"],
        &["deploy", "default/web"],
        &["rollback", "web"],
        &["revoke", "web", "--yes"],
    ];
    let forget = "try: certctl forget web # or restore it\n";
    let folder = world.path("state/secrets/default/web-tls");
    let by_file = format!("try: certctl revoke {}/tls.crt ", folder.display());
    let way_out =
        |words: &[&str]| if words[0] == "revoke" { by_file.clone() } else { forget.to_owned() };
    for words in verbs {
        let run = world.run(words).ends_in(3).says(&way_out(words));
        let said = format!(
            "`web` is known from earlier runs, but its manifest {} no longer exists",
            path.display()
        );
        assert!(run.stderr.contains(&said), "{words:?}: {}", run.stderr);
        assert!(!run.stderr.contains("did you mean"), "{words:?}: {}", run.stderr);
    }
    world.write("config/web.yaml", &CertificateYaml::new("web3"));
    for words in verbs {
        world.run(words).ends_in(3).says("no longer has it").says(&way_out(words));
    }
    // A mistake in it is another matter.
    world.write("config/web.yaml", &good.replace("dnsNames", "dnsName"));
    for words in verbs {
        let run = world.run(words).ends_in(3).says("unknown field `dnsName`");
        let said = format!("try: certctl validate {}\n", path.display());
        assert!(run.stderr.contains(&said), "{words:?}: {}", run.stderr);
    }
    assert_eq!(world.ca.issued(), 2);
    // A name that nobody knows is none.
    world.run(&["issue", "wec"]).ends_in(3).says("did you mean");
}

#[test]
fn a_dns_name_leads_to_the_certificates_that_have_it_and_to_no_other_host() {
    let named = CertificateYaml::new("y.example.test");
    let wild = CertificateYaml::new("wild").for_names(&["*.example.test"]);
    let world = World::prepared(&[CertificateYaml::new("web"), named]);
    world.write("config/wild.yaml", &wild);
    let typed = |verb: &str, name: &str| {
        let run = world.run(&[verb, name]);
        assert!(matches!(run.code, Some(2 | 3)), "{verb}: {}", run.stderr);
        run
    };
    let verbs = [
        "issue", "status", "renew", "inspect", "describe", "plan", "validate", "deploy", "revoke",
        "rollback",
    ];
    for verb in verbs {
        typed(verb, "web.example.test")
            .says("`web.example.test` is a DNS name of the Certificate `web`")
            .says("  try: `web` instead of `web.example.test`\n");
        typed(verb, "*.example.test").says("  try: `wild` instead of `*.example.test`\n");
        let run = typed(verb, "x.y.example.test").says("not found");
        assert!(!run.stderr.contains("did you mean"), "{}", run.stderr);
    }
    world.run(&["status", "z.example.test"]).ends_in(3).says("did you mean");
    world.write(
        "config/other.yaml",
        &CertificateYaml::new("other").for_names(&["web.example.test"]),
    );
    typed("issue", "web.example.test")
        .says("is a DNS name of several Certificates (other, web)")
        .says("  try: `other` or `web` instead of `web.example.test`\n");
}

#[test]
fn a_bare_name_of_two_namespaces_is_asked_for_by_every_verb_that_works_on_it() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let in_prod = |yaml: String| yaml.replacen("metadata:\n", "metadata:\n  namespace: prod\n", 1);
    let other = in_prod(CertificateYaml::new("web").to_string());
    let text = format!("{}---\n{other}", in_prod(world.issuer().to_string()));
    world.write("config/prod.yaml", &text);
    let asks = |verb: &str| {
        world
            .run(&[verb, "web"])
            .ends_in(3)
            .says("`web` is in several namespaces: default/web, prod/web\n");
    };
    for verb in ["plan", "issue", "renew"] {
        asks(verb);
    }
    // It reads no manifest but that of the one that the state knows.
    let shown = world.run(&["describe", "web"]).ends_in(0).stdout;
    assert!(shown.contains("Namespace: default"), "{shown}");
    fs::remove_file(world.path("config/web.yaml")).unwrap();
    for verb in ["plan", "issue", "status"] {
        asks(verb);
    }
    world.run(&["status", "default/web"]).ends_in(0);
    world.run(&["status", "web", "-n", "default"]).ends_in(0);
    world.run(&["plan", "prod/web"]).ends_in(0);
}

#[test]
fn validate_puts_the_mistake_of_a_shared_secret_on_the_one_that_does_not_own_it() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let second = CertificateYaml::new("a-new").to_string().replace("a-new-tls", "web-tls");
    world.write("config/a.yaml", &second);
    let place = |at: &str| format!("{}:", world.path(&format!("config/{at}.yaml")).display());
    // Nothing is known of either: the first by name has it.
    let run = world.run(&["validate"]).ends_in(3).says("the one that was issued first");
    assert!(run.stderr.contains(&format!("--> {}", place("web"))), "{}", run.stderr);
    assert!(!world.path("state").exists());
    fs::remove_file(world.path("config/a.yaml")).unwrap();
    world.issue().ends_in(0);
    world.write("config/a.yaml", &second);
    let run = world.run(&["validate"]).ends_in(3).says("it belongs to web; give");
    assert!(run.stderr.contains(&format!("--> {}", place("a"))), "{}", run.stderr);
    let plan = world.run(&["plan"]).ends_in(3);
    assert!(plan.stderr.contains(&format!("--> {}", place("a"))), "{}", plan.stderr);
}

/// A command, what it prints, and the verbs that take that.
type Printed<'a> = (&'a [&'a str], &'a str, &'a [&'a [&'a str]]);

#[test]
fn what_o_name_prints_is_taken_by_every_verb_that_takes_a_name() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let in_prod = |yaml: String| yaml.replacen("metadata:\n", "metadata:\n  namespace: prod\n", 1);
    let other = in_prod(CertificateYaml::new("web").to_string());
    let text = format!("{}---\n{other}", in_prod(world.issuer().to_string()));
    world.write("config/prod.yaml", &text);
    let both = "certificate/web\ncertificate/prod/web\n";
    assert_eq!(world.run(&["plan", "-o", "name"]).ends_in(0).stdout, both);
    world.issue().ends_in(0);
    let certificates: &[&[&str]] = &[
        &["issue"],
        &["plan"],
        &["renew"],
        &["deploy"],
        &["validate"],
        &["rehearse"],
        &["status"],
        &["status", "certificate"],
        &["describe"],
        &["inspect", "--offline"],
        &["rollback"],
        &["revoke", "--yes"],
        &["forget"],
    ];
    let table: &[Printed<'_>] = &[
        (&["status", "-o", "name"], both, certificates),
        (
            &["describe", "web", "-n", "prod", "-o", "name"],
            "certificate/prod/web\n",
            &[&["status"]],
        ),
        (
            &["status", "issuer", "-o", "name"],
            "issuer/ca\nissuer/prod/ca\n",
            &[&["status"], &["status", "issuer"], &["check", "acme"], &["account", "show"]],
        ),
        (
            &["status", "request", "-o", "name"],
            "certificaterequest/web-1\ncertificaterequest/prod/web-1\n",
            &[&["status"], &["status", "request"], &["describe"]],
        ),
        (
            &["status", "order", "-o", "name"],
            "order/web-1-1\norder/prod/web-1-1\n",
            &[&["status"], &["status", "order"]],
        ),
        (
            &["inspect", "prod/web", "--offline", "-o", "name"],
            "secret/prod/web-tls\n",
            &[&["inspect", "--offline"]],
        ),
    ];
    for (words, printed, _) in table {
        assert_eq!(world.run(words).ends_in(0).stdout, *printed, "{words:?}");
    }
    let challenges = world.run(&["status", "challenge", "-o", "name"]).ends_in(0).stdout;
    for name in challenges.lines() {
        world.run(&["status", name]).ends_in(0);
    }
    for (_, printed, verbs) in table.iter().rev() {
        for verb in *verbs {
            for name in printed.lines() {
                feed_back(&world, verb, name);
            }
        }
    }
    world.run(&["renew", "issuer/ca"]).ends_in(3).says("`issuer/ca` not found");
}

/// The verb finds the object, if it then refuses what is asked: there is no earlier certificate, and
/// the manifest is still there.
fn feed_back(world: &World, verb: &[&str], name: &str) {
    let run = world.run(&[verb, &[name]].concat());
    assert_ne!(run.code, Some(2), "{verb:?} {name}: {}", run.stderr);
    for refusal in ["not found", "not a valid name", "no name", "several namespaces"] {
        assert!(!run.stderr.contains(refusal), "{verb:?} {name}: {}", run.stderr);
    }
    if !["rollback", "forget"].contains(&verb[0]) {
        assert_eq!(run.code, Some(0), "{verb:?} {name}: {}", run.stderr);
    }
}

#[test]
fn validate_and_rehearse_take_the_names_that_issue_takes() {
    let world = World::prepared(&[CertificateYaml::new("web"), CertificateYaml::new("mail")]);
    let elsewhere = format!(
        "{}---\n{}",
        world.issuer().named("other"),
        CertificateYaml::new("far").issued_by("other")
    );
    let elsewhere = world.write("elsewhere/far.yaml", &elsewhere);
    world.run(&["issue", elsewhere.to_str().unwrap()]).ends_in(0);
    world.write("config/mail.yaml", &broken("mail"));
    // The mistake of another is not its matter; a mistake of its own is.
    let valid = world.run(&["validate", "web"]).ends_in(0);
    assert_eq!(valid.stderr, "1 Certificate, 1 Issuer in 2 files: valid, 0 warnings\n");
    let valid = world.run(&["validate", "certificate/web", "far"]).ends_in(0);
    assert_eq!(valid.stderr, "2 Certificates, 2 Issuers in 3 files: valid, 0 warnings\n");
    world.run(&["validate", "mail"]).ends_in(3).says("unknown field `dnsName`");
    world.run(&["validate", "wec"]).ends_in(3).says("did you mean `web`?");
    for verb in ["validate", "rehearse"] {
        let said = "`web.example.test` is a DNS name of the Certificate `web`";
        world.run(&[verb, "web.example.test"]).ends_in(3).says(said);
    }
    for name in ["web", "far"] {
        let run = world.run(&["rehearse", name]).says("rehearsed against the built-in CA: 1 of 1");
        assert!(run.stderr.contains(&format!("\n{name}\n")), "{}", run.stderr);
    }
    assert_eq!(world.ca.issued(), 1);
}

#[test]
fn a_mistake_in_another_manifest_is_none_of_a_first_issuance_by_name() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.write("config/mail.yaml", &broken("mail"));
    world.write("config/noise.yaml", "kind: [\n");
    let run = world.run(&["issue", "web"]).ends_in(0);
    assert!(!run.stderr.contains("dnsName") && !run.stderr.contains("noise"), "{}", run.stderr);
    assert_eq!(world.ca.issued(), 1);
    world.run(&["issue", "web"]).ends_in(0);
    world.run(&["issue", "mail"]).ends_in(3).says("unknown field `dnsName`");
    world.issue().ends_in(3).says("noise.yaml");
}
