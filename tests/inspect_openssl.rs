//! Promise: every field that `certctl inspect` shows is what OpenSSL reads in the same certificate,
//! and an OCSP responder that is not ours understands and is understood.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "what goes wrong in a test ends the test"
)]

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use certctl::engine::ports::{Clock as _, SystemClock};
use certctl::pki::{Bundle, Revocation, RevocationDoubt, check_ocsp, ocsp_request};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Runs openssl in a folder, expects success, and gives back stdout.
fn openssl(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("openssl").args(arguments).current_dir(folder).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "openssl {arguments:?}: {text}");
    output.stdout
}

fn text(folder: &Path, arguments: &[&str]) -> String {
    String::from_utf8(openssl(folder, arguments)).unwrap()
}

fn inspect(folder: &Path, file: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_certctl"))
        .args(["inspect", file, "--offline", "-o", "json"])
        .env_clear()
        .env("HOME", folder)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A self-signed certificate with everything in it, in `cert.pem`.
fn make(folder: &Path, key: &[&str]) {
    let extensions = [
        "subjectAltName=DNS:www.example.com,DNS:*.example.org,IP:192.0.2.1,IP:2001:db8::1,\
         URI:spiffe://example/x,email:ops@example.com",
        "keyUsage=critical,digitalSignature,keyEncipherment",
        "extendedKeyUsage=serverAuth,clientAuth,1.2.3.4",
        "crlDistributionPoints=URI:http://crl.example/1,URI:http://crl.example/2",
        "authorityInfoAccess=OCSP;URI:http://ocsp.example/,caIssuers;URI:http://ca.example/",
        "basicConstraints=critical,CA:FALSE",
    ];
    let subject = "/C=DE/O=Example, Inc/OU=One/OU=Two/CN=www.example.com";
    let mut words = vec!["req", "-x509", "-nodes", "-days", "30", "-subj", subject];
    words.extend(["-set_serial", "0x8234567890abcdef", "-keyout", "key.pem", "-out", "cert.pem"]);
    words.extend(key);
    words.extend(extensions.iter().flat_map(|extension| ["-addext", *extension]));
    openssl(folder, &words);
}

fn x509(folder: &Path, arguments: &[&str]) -> String {
    let words = [&["x509", "-in", "cert.pem", "-noout"], arguments].concat();
    text(folder, &words).trim_end().to_owned()
}

/// A line of `x509 -text`: what follows this label, or the line below it.
fn field<'a>(text: &'a str, label: &str) -> &'a str {
    let (_, behind) = text.split_once(label).expect(label);
    behind.trim_start().lines().next().unwrap().trim()
}

fn list(field: &Value) -> Vec<&str> {
    field.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

fn parties_agree(folder: &Path, leaf: &Value) {
    for (party, option) in [("subject", "-subject"), ("issuer", "-issuer")] {
        let shown = x509(folder, &[option, "-nameopt", "RFC2253,-esc_msb,sep_multiline"]);
        let lines: Vec<&str> = shown.lines().skip(1).map(str::trim).collect();
        let found = &leaf[party];
        let mut expected = vec![format!("CN={}", found["commonName"].as_str().unwrap())];
        let units = list(&found["organizationalUnit"]);
        expected.extend(units.iter().map(|unit| format!("OU={unit}")));
        let organization = list(&found["organization"])[0].replace(',', "\\,");
        expected.push(format!("O={organization}"));
        expected.push(format!("C={}", list(&found["country"])[0]));
        let sorted = |mut lines: Vec<String>| {
            lines.sort();
            lines
        };
        let lines = lines.into_iter().map(str::to_owned).collect();
        assert_eq!(sorted(expected), sorted(lines), "{shown}");
    }
}

#[test]
fn every_field_is_what_openssl_reads() {
    for (key, algorithm, signature) in [
        (
            &["-newkey", "rsa:2048", "-sha384"][..],
            ("RSA", "rsaEncryption"),
            ("SHA384-RSA", "sha384WithRSAEncryption"),
        ),
        (
            &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
            ("ECDSA", "id-ecPublicKey"),
            ("ECDSA-SHA256", "ecdsa-with-SHA256"),
        ),
        (&["-newkey", "ed25519"], ("Ed25519", "ED25519"), ("Ed25519", "ED25519")),
    ] {
        let folder = TempDir::new().unwrap();
        let folder = folder.path();
        make(folder, key);
        let report = inspect(folder, "./cert.pem");
        let leaf = &report["leaf"];
        let text = x509(folder, &["-text"]);

        assert_eq!(leaf["publicKeyAlgorithm"], algorithm.0);
        assert_eq!(field(&text, "Public Key Algorithm:"), algorithm.1);
        assert_eq!(leaf["signatureAlgorithm"], signature.0);
        assert_eq!(field(&text, "Signature Algorithm:"), signature.1);

        let serial = x509(folder, &["-serial"]);
        let hex = leaf["serialNumberHex"].as_str().unwrap();
        assert_eq!(serial, format!("serial={}", hex.to_uppercase()));
        let decimal = u64::from_str_radix(hex, 16).unwrap().to_string();
        assert_eq!(leaf["serialNumber"], json!(decimal));

        let fingerprint = x509(folder, &["-fingerprint", "-sha256"]);
        assert_eq!(fingerprint.split_once('=').unwrap().1, leaf["sha256"].as_str().unwrap());
        let dates = x509(folder, &["-startdate", "-enddate", "-dateopt", "iso_8601"]);
        let date = |field: &str| leaf[field].as_str().unwrap().replace('T', " ");
        let expected = format!("notBefore={}\nnotAfter={}", date("notBefore"), date("notAfter"));
        assert_eq!(dates, expected);
        assert_eq!(report["daysLeft"], 29);

        let names = field(&text, "X509v3 Subject Alternative Name:");
        let dns = list(&leaf["dnsNames"]).into_iter().map(|name| format!("DNS:{name}"));
        let uris = list(&leaf["uris"]).into_iter().map(|name| format!("URI:{name}"));
        let emails = list(&leaf["emailAddresses"]).into_iter().map(|name| format!("email:{name}"));
        for name in dns.chain(uris).chain(emails) {
            assert!(names.contains(&name), "{name}: {names}");
        }
        assert_eq!(leaf["ipAddresses"], json!(["192.0.2.1", "2001:db8::1"]));
        assert!(names.contains("IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1"));
        assert_eq!(names.split(", ").count(), 6);

        assert_eq!(
            field(&text, "X509v3 Key Usage: critical"),
            "Digital Signature, Key Encipherment"
        );
        let purposes = "TLS Web Server Authentication, TLS Web Client Authentication, 1.2.3.4";
        assert_eq!(field(&text, "X509v3 Extended Key Usage:"), purposes);
        let usages =
            ["digital signature", "key encipherment", "server auth", "client auth", "1.2.3.4"];
        assert_eq!(list(&leaf["usages"]), usages);

        for url in list(&leaf["crlUrls"]) {
            assert!(text.contains(&format!("URI:{url}\n")), "{url}: {text}");
        }
        assert_eq!(list(&leaf["crlUrls"]).len(), 2);
        let ocsp = text.lines().filter_map(|line| line.trim().strip_prefix("OCSP - URI:"));
        assert_eq!(list(&leaf["ocspUrls"]), ocsp.collect::<Vec<_>>());
        assert_eq!(leaf["isCa"], json!(text.contains("CA:TRUE")));

        parties_agree(folder, leaf);

        openssl(folder, &["x509", "-in", "cert.pem", "-pubkey", "-noout", "-out", "public.pem"]);
        openssl(
            folder,
            &["pkey", "-pubin", "-in", "public.pem", "-outform", "DER", "-out", "spki"],
        );
        openssl(folder, &["dgst", "-sha256", "-binary", "-out", "digest", "spki"]);
        let pin = self::text(folder, &["base64", "-in", "digest"]);
        assert_eq!(leaf["spkiSha256"], json!(pin.trim_end()));
    }
}

#[test]
fn the_responder_of_openssl_is_understood() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    let root = ["req", "-x509", "-subj", "/CN=Root", "-keyout", "root.key", "-out", "root.pem"];
    openssl(folder, &[&root[..], &ec].concat());
    let request = ["req", "-new", "-subj", "/CN=leaf", "-keyout", "leaf.key", "-out", "leaf.csr"];
    openssl(folder, &[&request[..], &ec].concat());
    let sign = ["x509", "-req", "-in", "leaf.csr", "-CA", "root.pem", "-CAkey", "root.key"];
    openssl(folder, &[&sign[..], &["-set_serial", "0x1001", "-out", "leaf.pem"]].concat());
    let der = |name: &str| {
        let pem = std::fs::read_to_string(folder.join(name)).unwrap();
        Bundle::from_pem(&pem).unwrap().leaf().to_vec()
    };
    let (leaf, issuer) = (der("leaf.pem"), der("root.pem"));
    let write = |name: &str, bytes: &[u8]| {
        File::create(folder.join(name)).unwrap().write_all(bytes).unwrap();
    };
    write("request", &ocsp_request(&leaf, &issuer).unwrap());
    let answer = |index: &str| {
        write("index.txt", index.as_bytes());
        let files = ["-reqin", "request", "-respout", "answer", "-index", "index.txt"];
        let signer = ["-CA", "root.pem", "-rsigner", "root.pem", "-rkey", "root.key"];
        let words = [&["ocsp", "-ndays", "1"], &files[..], &signer].concat();
        openssl(folder, &words);
        let answer = std::fs::read(folder.join("answer")).unwrap();
        check_ocsp(&answer, &leaf, &issuer, SystemClock.now())
    };
    let good = answer("V\t401231235959Z\t\t1001\tunknown\t/CN=leaf\n");
    assert!(matches!(good, Ok(Revocation::Good { .. })), "{good:?}");
    let revoked = answer("R\t401231235959Z\t240102030405Z,superseded\t1001\tunknown\t/CN=leaf\n");
    let at = "2024-01-02T03:04:05Z".parse().unwrap();
    assert_eq!(revoked, Ok(Revocation::Revoked { at, reason: Some("superseded") }));
    assert_eq!(
        answer("V\t401231235959Z\t\t1002\tunknown\t/CN=x\n"),
        Err(RevocationDoubt::NotKnown)
    );
}
