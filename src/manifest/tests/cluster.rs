//! Manifests as a cluster reads them, and what a public CA does not certify.

use super::super::{Options, Source, check_references, load};
use super::{alone, findings, read};
use crate::resource::lets_encrypt;

/// A Certificate with these fields of its own, and an Issuer at this server.
fn manifest(server: &str, fields: &str) -> String {
    format!(
        "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {{name: ca}}\nspec:\n  acme:\n    \
         server: {server}\n    privateKeySecretRef: {{name: key, key: \"\"}}\n    solvers:\n    - \
         http01: {{ingress: {{}}}}\n    - dns01: {{route53: {{region: eu-west-1}}}}\n---\n\
         apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {{name: web}}\nspec:\n  \
         issuerRef: {{name: ca}}\n  {fields}\n"
    )
}

/// The findings, references checked.
fn checked(server: &str, fields: &str) -> Vec<String> {
    let mut loaded = read(&manifest(server, fields));
    check_references(&mut loaded);
    findings(&loaded)
}

const PRIVATE: &str = "https://ca.example.com/directory";

#[test]
fn the_empty_key_that_an_api_server_writes_is_the_default() {
    let loaded = read(&manifest(PRIVATE, "secretName: a\n  dnsNames: [a.example.com]"));
    assert_eq!(findings(&loaded), Vec::<String>::new());
    assert_eq!(loaded.issuers[0].acme.private_key_secret_ref.key, "");
}

#[test]
fn booleans_are_those_of_yaml_1_1() {
    for (word, expected) in [("no", false), ("Off", false), ("yes", true), ("TRUE", true)] {
        let fields = format!("secretName: a\n  isCA: {word}\n  dnsNames: [a.example.com]");
        let loaded = read(&manifest(PRIVATE, &fields));
        assert_eq!(findings(&loaded), Vec::<String>::new(), "{word}");
        assert_eq!(loaded.certificates[0].spec.is_ca, expected, "{word}");
    }
    for word in ["\"no\"", "nO", "1"] {
        let fields = format!("secretName: a\n  isCA: {word}\n  dnsNames: [a.example.com]");
        assert_eq!(alone(&manifest(PRIVATE, &fields)).len(), 1, "{word}");
    }
}

#[test]
fn text_that_a_cluster_takes_for_a_number_is_a_warning() {
    for (word, warns) in [
        ("1e3", true),
        ("1.0", true),
        ("0o17", true),
        ("0b11", true),
        ("0x1f", true),
        ("1_000", true),
        ("017", true),
        ("\"1e3\"", false),
        ("1e3a", false),
        ("1.2.3", false),
        ("0b12", false),
        ("e3", false),
    ] {
        let fields = format!("secretName: a\n  dnsNames: [a.example.com]\n  commonName: {word}");
        let found = alone(&manifest(PRIVATE, &fields));
        let warned = found.iter().any(|line| line.starts_with("W0301"));
        assert_eq!(warned, warns, "{word}: {found:?}");
    }
}

#[test]
fn a_placeholder_is_called_one_wherever_it_is() {
    let message = "this is a placeholder: render it first (flux build, kustomize build, envsubst)";
    for (fields, place) in [
        ("secretName: ${NAME}\n  dnsNames: [a.example.com]", "17:15 spec.secretName"),
        ("secretName: a\n  dnsNames:\n  - www.${DOMAIN}", "19:5 spec.dnsNames[0]"),
        ("secretName: a\n  dnsNames:\n  - $(HOST).example.com", "19:5 spec.dnsNames[0]"),
        ("secretName: a\n  dnsNames: ${NAMES}", "18:13 spec.dnsNames"),
        (
            "secretName: a\n  dnsNames: [a.example.com]\n  duration: ${TIME:=1h}",
            "19:13 spec.duration",
        ),
        ("secretName: a\n  dnsNames: [a.example.com]\n  isCA: ${CA}", "19:9 spec.isCA"),
        (
            "secretName: a\n  emailAddresses: [\"${USER}@example.com\"]",
            "18:20 spec.emailAddresses[0]",
        ),
        ("secretName: a\n  dnsNames: [${HOST}]", "18:14 "),
    ] {
        let found = alone(&manifest(PRIVATE, fields));
        assert_eq!(found, [format!("E0008 {place}: {message}")], "{fields}");
    }
    for price in ["CN=$5", "CN=${}", "CN=a$(b"] {
        let fields = format!("secretName: a\n  dnsNames: [a.example.com]\n  commonName: {price}");
        let found = alone(&manifest(PRIVATE, &fields));
        assert!(found.iter().all(|line| !line.starts_with("E0008")), "{found:?}");
    }
}

#[test]
fn names_that_no_public_ca_certifies_are_a_warning_with_a_public_ca() {
    let fields = "secretName: a\n  dnsNames: [www.example.com, \"*.lan\", intranet, nas.local, co.uk]\
                  \n  ipAddresses: [192.168.1.5]";
    assert_eq!(checked(PRIVATE, fields), Vec::<String>::new());
    let places = [
        "18:31 spec.dnsNames[1]",
        "18:40 spec.dnsNames[2]",
        "18:50 spec.dnsNames[3]",
        "18:61 spec.dnsNames[4]",
        "19:17 spec.ipAddresses[0]",
    ];
    let warned = places.map(|at| format!("W0303 {at}: public ACME CAs do not certify this name"));
    assert_eq!(checked(lets_encrypt::PRODUCTION, fields), warned);
}

#[test]
fn more_than_100_names_are_too_many_for_a_public_ca_only() {
    let names: Vec<String> = (0..101).map(|n| format!("a{n}.example.com")).collect();
    let fields = format!("secretName: a\n  dnsNames: [{}]", names.join(", "));
    assert_eq!(checked(PRIVATE, &fields), Vec::<String>::new());
    let found = checked(lets_encrypt::STAGING, &fields);
    let [one] = found.as_slice() else { panic!("{found:?}") };
    assert!(one.ends_with("spec.dnsNames[100]: 101 names, the CA takes at most 100"), "{one}");
}

#[test]
fn the_space_of_another_kind_in_a_value_is_named() {
    let fields = "secretName: a\n  dnsNames:\n  - www.example.com\u{a0}";
    let message = "invalid host name `www.example.com\\u{a0}`: character '\\u{a0}' (U+00A0) is not \
                   allowed";
    let found = alone(&manifest(PRIVATE, fields));
    assert_eq!(found, [format!("E0109 19:5 spec.dnsNames[0]: {message}")]);
}

#[test]
fn an_unknown_field_is_in_the_mapping_that_has_it() {
    let issuer = "apiVersion: cert-manager.io/v1\nkind: ClusterIssuer\nmetadata: {name: ca}\nspec:\n  \
                  acme:\n    server: https://ca.example/dir\n    privateKeySecretRef: {name: key}\n    \
                  odd: 1\n";
    let [found] = &alone(issuer)[..] else { panic!() };
    assert_eq!(found, "E0102 8:5 spec.acme.odd: unknown field `odd` in ClusterIssuer.spec.acme");
    let fields = "secretName: a\n  dnsNames: [a.example.com]\n  isCA: true\n  nameConstraints: \
                  {permitted: {odd: 1}}";
    let [found] = &alone(&manifest(PRIVATE, fields))[..] else { panic!() };
    assert!(found.ends_with("`odd` in Certificate.spec.nameConstraints.permitted"), "{found}");
}

#[test]
fn a_link_that_leads_nowhere_is_not_suggested_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dang.yaml");
    std::os::unix::fs::symlink("nowhere.yaml", &path).unwrap();
    let loaded = load(&[Source::File(path)], &Options::default());
    let [found] = loaded.diagnostics.as_slice() else { panic!("{loaded:?}") };
    assert_eq!(found.help, None);
}
