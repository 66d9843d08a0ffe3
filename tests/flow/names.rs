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
