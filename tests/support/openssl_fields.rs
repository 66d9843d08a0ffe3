//! What OpenSSL reads in a certificate, compared with what `certctl inspect` shows of it.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// Runs openssl in a folder, expects success, and gives back stdout.
pub(crate) fn openssl(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("openssl").args(arguments).current_dir(folder).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "openssl {arguments:?}: {text}");
    output.stdout
}

/// A list of texts.
pub(crate) fn list(field: &Value) -> Vec<&str> {
    field.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

/// Holds every field of the `leaf` that `inspect -o json` shows against what OpenSSL reads in the
/// first certificate of a file.
pub(crate) fn agree(folder: &Path, file: &str, leaf: &Value) {
    let x509 = |arguments: &[&str]| {
        let words = [&["x509", "-in", file, "-noout"], arguments].concat();
        let text = String::from_utf8(openssl(folder, &words)).unwrap();
        text.trim_end().to_owned()
    };
    let text = x509(&["-text"]);
    let shown: BTreeSet<&str> = leaf.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(shown, FIELDS.into_iter().collect(), "a field that is not compared");

    algorithms_agree(leaf, &text);
    let serial = x509(&["-serial"]);
    let hex = leaf["serialNumberHex"].as_str().unwrap();
    assert_eq!(serial, format!("serial={}", hex.to_uppercase()));
    let decimal = u128::from_str_radix(hex, 16).unwrap().to_string();
    assert_eq!(leaf["serialNumber"], json!(decimal));

    let fingerprint = x509(&["-fingerprint", "-sha256"]);
    assert_eq!(fingerprint.split_once('=').unwrap().1, leaf["sha256"].as_str().unwrap());
    let dates = x509(&["-startdate", "-enddate", "-dateopt", "iso_8601"]);
    let date = |field: &str| leaf[field].as_str().unwrap().replace('T', " ");
    let expected = format!("notBefore={}\nnotAfter={}", date("notBefore"), date("notAfter"));
    assert_eq!(dates, expected);

    names_agree(leaf, &text);
    let mut usages = Vec::new();
    for extension in ["Key Usage", "Extended Key Usage"] {
        let words = extension_of(&text, extension).into_iter().flat_map(|line| line.split(", "));
        usages.extend(words.map(|word| {
            let known = USAGES.iter().find(|(theirs, _)| *theirs == word);
            known.map_or(word, |(_, ours)| ours)
        }));
    }
    assert_eq!(list(&leaf["usages"]), usages);

    let lines = |prefix: &'static str| -> Vec<&str> {
        text.lines().filter_map(|line| line.trim().strip_prefix(prefix)).collect()
    };
    assert_eq!(list(&leaf["crlUrls"]), lines("URI:"));
    assert_eq!(list(&leaf["ocspUrls"]), lines("OCSP - URI:"));
    assert_eq!(leaf["sctCount"], json!(lines("Signed Certificate Timestamp:").len()));
    assert_eq!(leaf["isCa"], json!(text.contains("CA:TRUE")));

    for (party, option) in [("subject", "-subject"), ("issuer", "-issuer")] {
        let shown = x509(&[option, "-nameopt", "RFC2253,-esc_msb,sep_multiline"]);
        party_agrees(&leaf[party], &shown);
    }

    openssl(folder, &["x509", "-in", file, "-pubkey", "-noout", "-out", "public.pem"]);
    openssl(folder, &["pkey", "-pubin", "-in", "public.pem", "-outform", "DER", "-out", "spki"]);
    openssl(folder, &["dgst", "-sha256", "-binary", "-out", "digest", "spki"]);
    let pin = String::from_utf8(openssl(folder, &["base64", "-in", "digest"])).unwrap();
    assert_eq!(leaf["spkiSha256"], json!(pin.trim_end()));
}

fn algorithms_agree(leaf: &Value, text: &str) {
    for (field, label, words) in [
        ("publicKeyAlgorithm", "Public Key Algorithm:", &KEYS[..]),
        ("signatureAlgorithm", "Signature Algorithm:", &SIGNATURES),
    ] {
        let (_, behind) = text.split_once(label).expect(label);
        let theirs = behind.lines().next().unwrap().trim();
        let known = words.iter().find(|(known, _)| *known == theirs);
        assert_eq!(leaf[field], known.expect(theirs).1, "{label} {theirs}");
    }
}

/// Every name of every kind, in its order, and no other.
fn names_agree(leaf: &Value, text: &str) {
    let line = extension_of(text, "Subject Alternative Name").unwrap_or_default();
    let names: Vec<&str> = line.split(", ").filter(|name| !name.is_empty()).collect();
    let of_kind = |kind: &str| -> Vec<&str> {
        names.iter().filter_map(|name| name.strip_prefix(kind)).collect()
    };
    let kinds = [("dnsNames", "DNS:"), ("uris", "URI:"), ("emailAddresses", "email:")];
    for (field, kind) in kinds {
        assert_eq!(list(&leaf[field]), of_kind(kind), "{line}");
    }
    let address = |text: &str| text.parse::<IpAddr>().unwrap();
    let theirs: Vec<IpAddr> = of_kind("IP Address:").into_iter().map(address).collect();
    let ours: Vec<IpAddr> = list(&leaf["ipAddresses"]).into_iter().map(address).collect();
    assert_eq!(ours, theirs, "{line}");
    let compared: usize = kinds.iter().map(|(_, kind)| of_kind(kind).len()).sum();
    assert_eq!(compared + theirs.len(), names.len(), "{line}");
}

fn party_agrees(found: &Value, shown: &str) {
    let mut lines: Vec<String> = shown.lines().skip(1).map(|line| line.trim().to_owned()).collect();
    let mut expected = Vec::new();
    let common_name = found["commonName"].as_str().unwrap();
    if !common_name.is_empty() {
        expected.push(format!("CN={}", common_name.replace(',', "\\,")));
    }
    for (field, word) in [("organizationalUnit", "OU"), ("organization", "O"), ("country", "C")] {
        let values = list(&found[field]).into_iter();
        expected.extend(values.map(|value| format!("{word}={}", value.replace(',', "\\,"))));
    }
    for line in [&mut lines, &mut expected] {
        line.sort();
    }
    assert_eq!(expected, lines, "{shown}");
    // The whole name says no less.
    let name = found["name"].as_str().unwrap();
    for line in &lines {
        let (_, value) = line.split_once('=').unwrap();
        assert!(name.contains(&value.replace('\\', "")), "{line}: {name}");
    }
}

/// The line below the name of an X.509 extension.
fn extension_of<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let label = format!("X509v3 {name}:");
    let mut lines = text.lines().map(str::trim).skip_while(|line| !line.starts_with(&label));
    lines.nth(1)
}

/// What `inspect` shows of a certificate.
const FIELDS: [&str; 19] = [
    "crlUrls",
    "dnsNames",
    "emailAddresses",
    "ipAddresses",
    "isCa",
    "issuer",
    "notAfter",
    "notBefore",
    "ocspUrls",
    "publicKeyAlgorithm",
    "sctCount",
    "serialNumber",
    "serialNumberHex",
    "sha256",
    "signatureAlgorithm",
    "spkiSha256",
    "subject",
    "uris",
    "usages",
];

/// Words of OpenSSL, and ours.
const KEYS: [(&str, &str); 3] =
    [("rsaEncryption", "RSA"), ("id-ecPublicKey", "ECDSA"), ("ED25519", "Ed25519")];

const SIGNATURES: [(&str, &str); 7] = [
    ("sha256WithRSAEncryption", "SHA256-RSA"),
    ("sha384WithRSAEncryption", "SHA384-RSA"),
    ("sha512WithRSAEncryption", "SHA512-RSA"),
    ("ecdsa-with-SHA256", "ECDSA-SHA256"),
    ("ecdsa-with-SHA384", "ECDSA-SHA384"),
    ("ecdsa-with-SHA512", "ECDSA-SHA512"),
    ("ED25519", "Ed25519"),
];

const USAGES: [(&str, &str); 4] = [
    ("Digital Signature", "digital signature"),
    ("Key Encipherment", "key encipherment"),
    ("TLS Web Server Authentication", "server auth"),
    ("TLS Web Client Authentication", "client auth"),
];
