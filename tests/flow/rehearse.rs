//! `certctl rehearse`: the user's manifests against a CA and a name server of its own.

use crate::support::{CertificateYaml, World};

/// An Issuer with DNS-01 for all names but `www`, and a Certificate for three names.
fn write_manifests(world: &World) {
    let solvers = "    - dns01:\n        cloudflare:\n          apiTokenSecretRef:\n            \
                   name: zone-editor\n            key: token\n        nameservers: \
                   [\"127.0.0.1:1\"]\n      waitInsteadOfSelfCheck: 1h\n    - http01:\n        \
                   ingress: {}\n      selector:\n        dnsNames: [www.example.test]\n";
    world.write("config/issuer.yaml", &world.issuer().solvers(solvers));
    let names = ["example.test", "*.example.test", "www.example.test"];
    world.write("config/web.yaml", &CertificateYaml::new("web").for_names(&names));
}

#[test]
fn a_wildcard_is_rehearsed_without_a_word_to_its_provider() {
    let world = World::start();
    write_manifests(&world);
    world.write_secret("zone-editor", "token", "not-a-token-of-anybody");
    let run = world.run(&["rehearse"]).ends_in(0);
    let end = "rehearsed against the built-in CA: 1 of 1 certificate issued; no real CA or DNS \
               provider was contacted, and no output or hook was run";
    assert!(run.stderr.contains(end), "{}", run.stderr);
    assert!(
        run.stderr.contains("(zone example.test, the built-in name server, not cloudflare)"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("were read but not used\n"), "{}", run.stderr);
    assert_eq!(world.ca.requests(), 0);
    assert!(!world.path("state").exists());
    // HTTP-01 looks where it always does; nothing else is asked of the world's name server.
    let asked = world.dns.questions();
    assert!(!asked.is_empty());
    for question in asked {
        assert_eq!(question.name, "www.example.test", "{question:?}");
    }
}

#[test]
fn a_rehearsal_finds_that_a_credential_is_missing() {
    let world = World::start();
    write_manifests(&world);
    let run = world.run(&["rehearse"]).ends_in(3);
    assert!(run.stderr.contains("zone-editor"), "{}", run.stderr);
    assert!(!run.stderr.contains("1 of them to the end"), "{}", run.stderr);
    assert_eq!((world.ca.requests(), world.dns.questions()), (0, Vec::new()));
}
