//! One account for an Issuer, known to the CA with the contacts that the manifest has.

use certctl::rehearsal::{CaOptions, RequestKind};

use crate::support::{CertificateYaml, World};

#[test]
fn an_account_is_made_once_and_its_terms_are_shown_once() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let run = world.issue().ends_in(0).says("/terms");
    assert_eq!(run.stderr.matches("/terms").count(), 1, "{}", run.stderr);
    world.write("config/other.yaml", &CertificateYaml::new("other"));
    let run = world.issue().ends_in(0);
    assert!(!run.stderr.contains("/terms"), "{}", run.stderr);
    assert_eq!(world.sent(RequestKind::NewAccount), 1);
}

#[test]
fn changed_contacts_are_sent_to_the_ca_once() {
    let world = World::start();
    let with = |email: &str, certificate: &str| {
        world.write("config/issuer.yaml", &world.issuer().field(&format!("email: {email}")));
        world.write(&format!("config/{certificate}.yaml"), &CertificateYaml::new(certificate));
        world.issue().ends_in(0);
        (world.sent(RequestKind::NewAccount), world.sent(RequestKind::Account))
    };
    assert_eq!(with("ops@example.test", "one"), (1, 0));
    assert_eq!(with("Ops@example.test", "two"), (1, 0));
    assert_eq!(with("sec@example.test", "three"), (1, 1));
    assert_eq!(with("sec@example.test", "four"), (1, 1));
}

fn asking_for_a_binding(options: &mut CaOptions) {
    options.external_account_keys.insert("kid-1".to_owned(), b"0123456789abcdef".to_vec());
}

const BINDING: &str = "externalAccountBinding:\n      keyID: kid-1\n      keySecretRef:\n        \
                       name: eab\n        key: hmac";

#[test]
fn an_external_account_is_bound_with_the_key_of_the_secret() {
    let world = World::with(asking_for_a_binding);
    world.write("config/issuer.yaml", &world.issuer().field(BINDING));
    world.write("config/web.yaml", &CertificateYaml::new("web"));
    world.issue().ends_in(3).says("secrets/default/eab/hmac");
    assert_eq!(world.ca.requests(), 0);
    let secret = world.write("config/secrets/default/eab/hmac", "MDEy MzQ1Njc4OWFiY2RlZg\n");
    private(&secret);
    let mistake = "the secret \"eab\", key \"hmac\" is not an HMAC key in base64url (letters, \
        digits, - and \
                   _, without spaces and =): character 5 is a space; copy it again";
    world.issue().ends_in(3).says(mistake);
    assert_eq!(world.ca.requests(), 0);
    let secret = world.write("config/secrets/default/eab/hmac", "MDEyMzQ1Njc4OWFiY2RlZg\n");
    private(&secret);
    world.issue().ends_in(0);
    world.state().published("web");
}

#[test]
fn a_wrong_binding_is_refused_and_the_right_one_tried_at_once() {
    let world = World::with(asking_for_a_binding);
    world.write("config/issuer.yaml", &world.issuer().field(BINDING));
    world.write("config/web.yaml", &CertificateYaml::new("web"));
    let secret = world.write("config/secrets/default/eab/hmac", "d3Jvbmcga2V5IGluZGVlZA\n");
    private(&secret);
    world.issue().ends_in(5);
    assert_eq!(world.state().record("web").status.failed_issuance_attempts, Some(1));
    world.issue().ends_in(75);
    world.write("config/secrets/default/eab/hmac", "MDEyMzQ1Njc4OWFiY2RlZg\n");
    world.issue().ends_in(0);
    assert_eq!(world.ca.created(RequestKind::NewAccount), 1);
}

fn private(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_ca_that_is_not_trusted_is_not_spoken_to() {
    let world = World::start();
    let stranger = World::start().ca.root_pem();
    let server = world.ca.directory_url();
    let certificate = CertificateYaml::new("web");
    world.prepare(&[certificate]);
    for issuer in [crate::support::IssuerYaml::new(&server, &stranger), world.issuer().trusting("")]
    {
        world.write("config/issuer.yaml", &issuer);
        world.issue().ends_in(5).says("127.0.0.1");
        assert_eq!(world.state().record("web").status.failed_issuance_attempts, None);
        assert_eq!(world.ca.requests(), 0);
    }
    world.write("config/issuer.yaml", &world.issuer());
    world.issue().ends_in(0);
}

#[test]
fn trust_in_anybody_is_possible_and_never_goes_unsaid() {
    let world = World::start();
    world.write("config/issuer.yaml", &world.issuer().trusting("skipTLSVerify: true"));
    world.write("config/web.yaml", &CertificateYaml::new("web"));
    for verb in [&["validate"][..], &["plan"], &["doctor", "--offline"], &["issue"]] {
        let run = world.run(verb);
        let all = run.stdout.clone() + &run.stderr;
        assert_eq!(
            all.matches("an attacker can impersonate this CA").count(),
            1,
            "{verb:?}: {all}"
        );
    }
    let status = world.run(&["describe", "web"]).ends_in(0);
    assert!(status.stdout.contains("skipTLSVerify"), "{}", status.stdout);
}
