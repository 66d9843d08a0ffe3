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

#[test]
fn a_name_in_two_manifests_or_with_the_secret_of_another_is_not_worked_on() {
    let world = World::prepared(&[CertificateYaml::new("web"), CertificateYaml::new("mail")]);
    world.issue().ends_in(0);
    let copy = world.write("config/z.yaml", &CertificateYaml::new("web").for_names(&["z.test"]));
    for words in [&["issue", "web"][..], &["renew", "web"], &["plan", "web"], &["deploy", "web"]] {
        world.run(words).ends_in(3).says("Certificate default/web is defined already");
    }
    fs::remove_file(copy).unwrap();
    // The record of mail is of another Secret than it wants now.
    let text = CertificateYaml::new("mail").to_string().replace("mail-tls", "web-tls");
    world.write("config/mail.yaml", &text);
    for words in [&["issue", "mail"][..], &["renew", "mail"], &["status", "mail"]] {
        world.run(words).says("default/web (").says("have the same secretName `web-tls`");
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
        &["revoke", "web"],
    ];
    let forget = "try: restore it; or to stop managing it: certctl forget default/web\n";
    let folder = world.path("state/secrets/default/web-tls");
    let by_file =
        format!("try: certctl revoke {}/tls.crt; or restore the manifest\n", folder.display());
    let way_out =
        |words: &[&str]| if words[0] == "revoke" { by_file.clone() } else { forget.to_owned() };
    for words in verbs {
        let run = world.run(words).ends_in(3).says(&way_out(words));
        let said = format!(
            "`default/web` is known from earlier runs, and its manifest {} no longer exists",
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
fn a_host_name_leads_to_the_certificate_that_is_for_it_and_to_no_other_host() {
    let named = CertificateYaml::new("y.example.test");
    let world = World::prepared(&[CertificateYaml::new("web"), named]);
    for verb in ["issue", "status"] {
        let run = world.run(&[verb, "web.example.test"]).ends_in(3);
        run.says("`web.example.test` is a host name of the Certificate `default/web`")
            .says("try: certctl status default/web");
        let run = world.run(&[verb, "x.y.example.test"]).ends_in(3).says("not found");
        assert!(!run.stderr.contains("did you mean"), "{}", run.stderr);
        world.run(&[verb, "z.example.test"]).ends_in(3).says("did you mean");
    }
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
        world.run(&[verb, "web"]).ends_in(3).says("choose one of default/web, prod/web");
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
    let run = world.run(&["validate"]).ends_in(3).says("which certctl plan names");
    assert!(run.stderr.contains(&format!("--> {}", place("web"))), "{}", run.stderr);
    assert!(!world.path("state").exists());
    fs::remove_file(world.path("config/a.yaml")).unwrap();
    world.issue().ends_in(0);
    world.write("config/a.yaml", &second);
    let run = world.run(&["validate"]).ends_in(3).says("it belongs to default/web; give");
    assert!(run.stderr.contains(&format!("--> {}", place("a"))), "{}", run.stderr);
    let plan = world.run(&["plan"]).ends_in(3);
    assert!(plan.stderr.contains(&format!("--> {}", place("a"))), "{}", plan.stderr);
}
