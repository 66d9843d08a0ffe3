//! Promise: every field that `certctl inspect` shows is what OpenSSL reads in the same certificate,
//! and an OCSP responder that is not ours understands and is understood.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use certctl::engine::ports::{Clock as _, SystemClock};
use certctl::pki::{Bundle, Revocation, RevocationDoubt, check_ocsp, ocsp_request};
use serde_json::Value;
use tempfile::TempDir;

use crate::openssl_fields::{agree, list, openssl};

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

#[test]
fn every_field_is_what_openssl_reads() {
    for (key, algorithm, signature) in [
        (&["-newkey", "rsa:2048", "-sha384"][..], "RSA", "SHA384-RSA"),
        (&["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"], "ECDSA", "ECDSA-SHA256"),
        (&["-newkey", "ed25519"], "Ed25519", "Ed25519"),
    ] {
        let folder = TempDir::new().unwrap();
        let folder = folder.path();
        make(folder, key);
        let report = inspect(folder, "./cert.pem");
        let leaf = &report["leaf"];
        agree(folder, "cert.pem", leaf);
        assert_eq!(report["daysLeft"], 29);
        // The requested fields are present.
        assert_eq!(leaf["publicKeyAlgorithm"], algorithm);
        assert_eq!(leaf["signatureAlgorithm"], signature);
        assert_eq!(leaf["serialNumberHex"], "8234567890abcdef");
        assert_eq!(list(&leaf["dnsNames"]), ["www.example.com", "*.example.org"]);
        assert_eq!(list(&leaf["ipAddresses"]), ["192.0.2.1", "2001:db8::1"]);
        assert_eq!(list(&leaf["uris"]), ["spiffe://example/x"]);
        assert_eq!(list(&leaf["emailAddresses"]), ["ops@example.com"]);
        let usages =
            ["digital signature", "key encipherment", "server auth", "client auth", "1.2.3.4"];
        assert_eq!(list(&leaf["usages"]), usages);
        assert_eq!(list(&leaf["crlUrls"]), ["http://crl.example/1", "http://crl.example/2"]);
        assert_eq!(list(&leaf["ocspUrls"]), ["http://ocsp.example/"]);
        assert_eq!(list(&leaf["subject"]["organizationalUnit"]).len(), 2);
        assert_eq!(list(&leaf["issuer"]["organization"]), ["Example, Inc"]);
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
