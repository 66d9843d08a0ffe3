//! Accounts with keys of every kind that works, from the secret that `privateKeySecretRef` names.

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use certctl::rehearsal::RequestKind;
use serde_json::{Value, json};

use crate::support::{CertificateYaml, World};

fn pem(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/account-keys");
    std::fs::read_to_string(format!("{folder}/{name}.pem")).unwrap()
}

fn with_key(world: World, name: &str) -> World {
    world.prepare(&[CertificateYaml::new("web")]);
    world.write_secret("ca-account", "tls.key", &pem(name));
    world
}

/// Registers, issues, revokes and deactivates.
fn lives(name: &str, kind: &str) {
    let world = with_key(World::start(), name);
    world.run(&["account", "register", "ca"]).ends_in(0);
    let page = world.run(&["account", "show", "ca"]).ends_in(0).stdout;
    assert!(page.contains(&format!("Key: {kind}, privateKeySecretRef")), "{page}");
    world.issue().ends_in(0);
    world.state().published("web");
    world.run(&["revoke", "web", "--yes"]).ends_in(0);
    assert_eq!((world.ca.issued(), world.ca.revoked()), (2, 1));
    world.run(&["account", "deactivate", "ca", "--yes"]).ends_in(0);
    // The existing account was found, so the CA was queried before registration.
    assert_eq!(world.sent(RequestKind::NewAccount), 2);
    assert_eq!(world.ca.created(RequestKind::NewAccount), 1);
}

#[test]
fn an_account_with_an_rsa_key_of_2048_bits_lives() {
    lives("rsa-2048", "RSA 2048");
}

#[test]
fn an_account_with_an_rsa_key_of_4096_bits_lives() {
    lives("rsa-4096", "RSA 4096");
}

#[test]
fn an_account_with_a_p_256_key_lives() {
    lives("p256", "ECDSA P-256");
}

#[test]
fn an_account_with_a_p_384_key_lives() {
    lives("p384", "ECDSA P-384");
}

#[test]
fn an_account_with_an_ed25519_key_lives() {
    lives("ed25519", "Ed25519");
}

#[test]
fn the_thumbprint_is_that_of_the_key_as_a_jwk_and_no_request_is_sent() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let missing = world.run(&["account", "thumbprint", "ca"]).ends_in(3);
    missing.says("there is no account key yet").says("certctl account register ca\n");
    let world = with_key(world, "rsa-2048");
    world.run(&["account", "register", "ca"]).ends_in(0);
    // RFC 7638 section 3: the required members, in their order, without spaces.
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/account-keys");
    let jwk = std::fs::read_to_string(format!("{folder}/rsa-2048.jwk.json")).unwrap();
    let jwk: Value = serde_json::from_str(&jwk).unwrap();
    let text = format!("{{\"e\":{},\"kty\":{},\"n\":{}}}", jwk["e"], jwk["kty"], jwk["n"]);
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    let thumbprint = BASE64_URL_SAFE_NO_PAD.encode(digest);

    let requests = world.ca.requests();
    for words in [&["account", "thumbprint", "ca"][..], &["account", "thumbprint"]] {
        assert_eq!(world.run(words).ends_in(0).stdout, format!("{thumbprint}\n"));
    }
    let lines = world.run(&["account", "thumbprint", "--for", "nginx"]).ends_in(0).stdout;
    assert!(lines.contains(&format!("return 200 \"$1.{thumbprint}\";\n")), "{lines}");
    let object = |words: &[&str]| -> Value {
        serde_json::from_str(&world.run(words).ends_in(0).stdout).unwrap()
    };
    let all = ["account", "thumbprint", "ca", "-o", "json"];
    let mut expected = json!({
        "apiVersion": "certctl/v1",
        "kind": "AccountThumbprint",
        "server": world.ca.directory_url(),
        "issuers": ["ca"],
        "thumbprint": thumbprint,
    });
    assert_eq!(object(&all), expected);
    expected["configuration"] = lines.into();
    assert_eq!(object(&[&all[..], &["--for", "nginx"]].concat()), expected);
    assert_eq!(world.ca.requests(), requests);
}

#[test]
fn the_account_that_the_ca_has_for_a_key_is_used() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.write_secret("ca-account", "tls.key", &pem("rsa-2048"));
    world.issue().ends_in(0);
    std::fs::remove_dir_all(world.path("state")).unwrap();
    world.issue().ends_in(0);
    assert_eq!(world.ca.created(RequestKind::NewAccount), 1);
}

#[test]
fn a_key_that_few_cas_take_is_refused_before_any_request() {
    for (name, kind) in
        [("rsa-1024", "RSA 1024"), ("rsa-4104", "RSA 4104"), ("p521", "ECDSA P-521")]
    {
        let world = with_key(World::start(), name);
        world
            .issue()
            .ends_in(3)
            .says("config/secrets/default/ca-account/tls.key")
            .says(&format!("the account key is {kind}"))
            .says("RSA of 2048 to 4096 bits, ECDSA P-256, ECDSA P-384 and Ed25519");
        assert_eq!(world.ca.requests(), 0);
        assert_eq!(world.state().record("web").status.failed_issuance_attempts, None);
    }
}

#[test]
fn a_ca_that_does_not_accept_the_signature_is_reported_with_what_it_accepts() {
    let accepted = ["ES256", "RS256"].map(str::to_owned).to_vec();
    let world = World::with(|options| options.signature_algorithms = accepted);
    let world = with_key(world, "ed25519");
    world
        .issue()
        .ends_in(5)
        .says("the CA does not accept EdDSA signatures, which the Ed25519 key makes")
        .says("it accepts ES256, RS256");
    assert_eq!(world.sent(RequestKind::NewOrder), 0);
}

#[test]
fn a_key_that_comes_after_the_first_run_is_reported_as_unused() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.run(&["account", "register", "ca"]).ends_in(0);
    let run = world.run(&["check", "acme"]).ends_in(0);
    assert!(!run.stdout.contains("warning:"), "{}", run.stdout);
    world.write_secret("ca-account", "tls.key", &pem("p256"));
    let run = world.run(&["check", "acme"]).ends_in(0);
    let said = "warning:    the key in secret ca-account is not used: the state has another one";
    assert!(run.stdout.contains(said), "{}", run.stdout);
    // The key that is used may be given as well.
    let own = std::fs::read_dir(world.path("state/accounts")).unwrap();
    let own = own.flat_map(|entry| std::fs::read_dir(entry.unwrap().path()).into_iter().flatten());
    let keys: Vec<_> = own.map(|entry| entry.unwrap().path()).collect();
    let key = keys.iter().find(|path| path.extension().is_some_and(|end| end == "pem"));
    let key = std::fs::read_to_string(key.unwrap_or_else(|| panic!("{keys:?}"))).unwrap();
    world.write_secret("ca-account", "tls.key", &key);
    let run = world.run(&["check", "acme"]).ends_in(0);
    assert!(!run.stdout.contains("warning:"), "{}", run.stdout);
}

#[test]
fn a_key_that_is_not_in_use_is_warned_of_where_accounts_are_shown_and_registered() {
    let world = with_key(World::start(), "p256");
    let warning = "ca: the key in secret ca-account is not used: the state has another one";
    let run = world.run(&["account", "register"]).ends_in(0);
    assert!(!run.stderr.contains("is not used"), "{}", run.stderr);
    world.write_secret("ca-account", "tls.key", &pem("p384"));
    for verb in ["register", "show", "update"] {
        for of in [&["account", verb][..], &["account", verb, "ca"]] {
            let run = world.run(of).ends_in(0).says(warning);
            assert!(run.stderr.contains("and name that in privateKeySecretRef"), "{}", run.stderr);
        }
    }
}
