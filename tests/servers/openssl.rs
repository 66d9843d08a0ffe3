//! Promise: what certctl writes, OpenSSL reads, and what OpenSSL writes, certctl reads.
//!
//! Drives the `openssl` program, 3.0 or newer, over every kind and encoding of key: the key
//! itself, a request over it, and a TLS handshake with the files of the Secret. A missing program is
//! a failure.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use certctl::pki::{
    Chain, KeyError, PrivateKey, build_csr, key_facts, secret_files, verify_issued,
};
use certctl::resource::{
    CertificateSpec, Identifier, KeyAlgorithm, KeyEncoding, OtherName, OutputFormat,
    PrivateKeySpec, SignatureAlgorithm, Subject, Usage,
};
use tempfile::TempDir;

use crate::support::{CertificateYaml, World};

const ENCODINGS: [KeyEncoding; 2] = [KeyEncoding::Pkcs1, KeyEncoding::Pkcs8];

fn run(arguments: &[&str], stdin: &[u8]) -> Output {
    let mut child = Command::new("openssl")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that has read enough closes its end; that is its business.
    drop(child.stdin.take().unwrap().write_all(stdin));
    child.wait_with_output().unwrap()
}

/// Runs openssl, expects success, and gives back stdout followed by stderr.
fn openssl(arguments: &[&str], stdin: &[u8]) -> String {
    let output = run(arguments, stdin);
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "openssl {arguments:?}: {text}");
    text
}

fn file(folder: &Path, name: &str, content: &[u8]) -> String {
    let path: PathBuf = folder.join(name);
    File::create(&path).unwrap().write_all(content).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A root made by openssl, as the paths of its certificate and key.
fn root(folder: &Path) -> (String, String) {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (path("root.pem"), path("root.key"));
    let curve = "ec_paramgen_curve:P-256";
    let subject = ["-subj", "/CN=Test Root", "-days", "2", "-keyout", &key, "-out", &certificate];
    let new = ["req", "-x509", "-newkey", "ec", "-pkeyopt", curve, "-nodes"];
    openssl(&[&new[..], &subject[..]].concat(), b"");
    (certificate, key)
}

/// A TLS server that ends with the test.
struct Server {
    process: Child,
    port: String,
}

impl Server {
    fn start(certificate: &str, key: &str) -> Self {
        let mut process = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key])
            .args(["-cert_chain", certificate])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        // It prints `ACCEPT 127.0.0.1:<port>` when it listens.
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let accept =
            lines.find_map(|line| line.unwrap().strip_prefix("ACCEPT ").map(str::to_owned));
        let accept = accept.expect("s_server listens");
        let (_, port) = accept.rsplit_once(':').unwrap();
        let port = port.to_owned();
        // Read on, so that the server never waits for controller in the pipe.
        std::thread::spawn(move || lines.count());
        Self { process, port }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn spec(algorithm: KeyAlgorithm, bits: u32, encoding: KeyEncoding) -> CertificateSpec {
    CertificateSpec {
        common_name: "a.example".to_owned(),
        dns_names: vec!["a.example".parse().unwrap(), "*.b.example".parse().unwrap()],
        ip_addresses: vec!["127.0.0.1".parse().unwrap(), "2001:db8::1".parse().unwrap()],
        usages: vec![Usage::DigitalSignature, Usage::ServerAuth],
        private_key: Some(PrivateKeySpec {
            algorithm: Some(algorithm),
            size: Some(bits),
            encoding: Some(encoding),
            rotation_policy: None,
        }),
        additional_output_formats: vec![OutputFormat::Der, OutputFormat::CombinedPem],
        ..CertificateSpec::default()
    }
}

/// Everything that a key goes through between its making and a client's handshake.
fn goes_all_the_way(
    (algorithm, bits): (KeyAlgorithm, u32),
    encodings: &[KeyEncoding],
    (shown, signature): (&str, &str),
) {
    let folder = TempDir::new().unwrap();
    let (root_certificate, root_key) = root(folder.path());
    let key = PrivateKey::generate(algorithm, bits).unwrap();
    for encoding in encodings.iter().copied() {
        let spec = spec(algorithm, bits, encoding);
        let key_pem = key.to_pem(encoding);
        let text = openssl(&["pkey", "-check", "-text", "-noout"], key_pem.as_bytes());
        assert!(text.contains("Key is valid") && text.contains(shown), "{text}");

        let csr = build_csr(&spec, &key).unwrap();
        let text = openssl(&["req", "-verify", "-text", "-noout"], csr.pem.as_bytes());
        assert!(text.contains("Certificate request self-signature verify OK"), "{text}");
        assert!(text.contains(&format!("Signature Algorithm: {signature}")), "{text}");

        let ca = ["-CA", &root_certificate, "-CAkey", &root_key, "-days", "1"];
        let sign = ["x509", "-req", "-copy_extensions", "copy", "-CAcreateserial"];
        let signed = run(&[&sign[..], &ca[..]].concat(), csr.pem.as_bytes());
        let leaf = String::from_utf8(signed.stdout).unwrap();
        let above = std::fs::read_to_string(&root_certificate).unwrap();
        let chain = Chain::from_pem(&format!("{leaf}{above}")).unwrap();
        let identifiers: Vec<Identifier> = [
            spec.dns_names.iter().cloned().map(Identifier::Dns).collect::<Vec<_>>(),
            spec.ip_addresses.iter().copied().map(Identifier::Ip).collect(),
        ]
        .concat();
        let public_key = &key.facts().public_key;
        let now = chain.leaf().not_before;
        assert_eq!(verify_issued(&chain, public_key, &identifiers, now), Ok(()));

        let files = secret_files(&spec, &key, &chain).0;
        let at = |name: &str| file(folder.path(), name, &files[name]);
        let der = at("key.der");
        openssl(&["pkey", "-inform", "DER", "-in", &der, "-noout"], b"");
        let (certificate, private_key) = (at("tls.crt"), at("tls.key"));
        handshake(&certificate, &private_key, &root_certificate, "www.b.example");
        let combined = at("tls-combined.pem");
        handshake(&combined, &combined, &root_certificate, "www.b.example");
    }
}

fn handshake(certificate: &str, key: &str, root_certificate: &str, host: &str) {
    let server = Server::start(certificate, key);
    let address = format!("127.0.0.1:{}", server.port);
    let client = ["s_client", "-connect", &address, "-CAfile", root_certificate];
    let name = ["-verify_return_error", "-verify_hostname", host];
    let text = openssl(&[&client[..], &name[..]].concat(), b"");
    assert!(text.contains("Verify return code: 0 (ok)"), "{text}");
    assert!(text.contains("Verification: OK"), "{text}");
    assert!(text.contains("New, TLSv1.3, Cipher is TLS_"), "{text}");
}

#[test]
fn rsa_keys_go_all_the_way() {
    for (bits, signature) in [
        (2048, "sha256WithRSAEncryption"),
        (3072, "sha384WithRSAEncryption"),
        (4096, "sha512WithRSAEncryption"),
    ] {
        let shown = format!("Private-Key: ({bits} bit");
        goes_all_the_way((KeyAlgorithm::Rsa, bits), &ENCODINGS, (&shown, signature));
    }
}

#[test]
fn the_largest_rsa_key_goes_all_the_way() {
    // Openssl takes seconds to check one of this size, so it is done only once.
    let shown = ("Private-Key: (8192 bit", "sha512WithRSAEncryption");
    goes_all_the_way((KeyAlgorithm::Rsa, 8192), &[KeyEncoding::Pkcs1], shown);
}

#[test]
fn ecdsa_and_ed25519_keys_go_all_the_way() {
    for (algorithm, bits, shown) in [
        (KeyAlgorithm::Ecdsa, 256, ("NIST CURVE: P-256", "ecdsa-with-SHA256")),
        (KeyAlgorithm::Ecdsa, 384, ("NIST CURVE: P-384", "ecdsa-with-SHA384")),
        (KeyAlgorithm::Ecdsa, 521, ("NIST CURVE: P-521", "ecdsa-with-SHA512")),
        (KeyAlgorithm::Ed25519, 256, ("ED25519 Private-Key", "ED25519")),
    ] {
        goes_all_the_way((algorithm, bits), &ENCODINGS, shown);
    }
}

#[test]
fn what_a_run_publishes_is_served_with_every_kind_of_key() {
    for (key, encoding, label) in [
        ("RSA", "PKCS1", "RSA PRIVATE KEY"),
        ("RSA", "PKCS8", "PRIVATE KEY"),
        ("ECDSA", "PKCS1", "EC PRIVATE KEY"),
        ("ECDSA", "PKCS8", "PRIVATE KEY"),
        ("Ed25519", "PKCS1", "PRIVATE KEY"),
    ] {
        let world = World::start();
        world.prepare(&[]);
        let wanted = format!("algorithm: {key}\n    encoding: {encoding}");
        let manifest = CertificateYaml::new("web").to_string().replace("algorithm: ECDSA", &wanted);
        world.write("config/web.yaml", &manifest);
        world.issue().ends_in(0);
        let path = |name: &str| {
            let path = world.path(&format!("state/secrets/default/web-tls/{name}"));
            path.to_str().unwrap().to_owned()
        };
        let (certificate, key) = (path("tls.crt"), path("tls.key"));
        let root = world.write("root.pem", &world.ca.root_pem());
        let root = root.to_str().unwrap();
        let pem = std::fs::read_to_string(&key).unwrap();
        assert!(pem.starts_with(&format!("-----BEGIN {label}-----")), "{label}");
        openssl(&["pkey", "-check", "-noout", "-in", &key], b"");
        let of_leaf = openssl(&["x509", "-in", &certificate, "-noout", "-pubkey"], b"");
        assert_eq!(openssl(&["pkey", "-in", &key, "-pubout"], b""), of_leaf);
        let verify = ["verify", "-CAfile", root, "-untrusted", &certificate, &certificate];
        assert!(openssl(&verify, b"").ends_with(": OK\n"), "{label}");
        handshake(&certificate, &key, root, "web.example.test");
    }
}

/// The text of a request after `openssl req -verify -text`, white space folded.
fn request_text(spec: &CertificateSpec, key: &PrivateKey) -> String {
    let csr = build_csr(spec, key).unwrap();
    let shown = [
        "req",
        "-verify",
        "-text",
        "-noout",
        "-nameopt",
        "esc_2253,utf8,sep_comma_plus_space,sname",
    ];
    let text = openssl(&shown, csr.pem.as_bytes());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn requests_say_what_the_spec_says() {
    let key = PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap();
    let plain = spec(KeyAlgorithm::Ecdsa, 256, KeyEncoding::Pkcs8);
    let all_names = CertificateSpec {
        uris: vec!["spiffe://example/a".to_owned()],
        email_addresses: vec!["a@b.example".to_owned()],
        other_names: vec![OtherName {
            oid: "1.3.6.1.4.1.311.20.2.3".to_owned(),
            utf8_value: "ü@b.example".to_owned(),
        }],
        ..plain.clone()
    };
    let subject = Subject {
        organizations: vec!["Second, Inc".to_owned(), "First".to_owned()],
        countries: vec!["DE".to_owned()],
        organizational_units: vec!["Ü".to_owned()],
        localities: vec!["L".to_owned()],
        provinces: vec!["P".to_owned()],
        street_addresses: vec!["Street 1".to_owned()],
        postal_codes: vec!["12345".to_owned()],
        serial_number: "7".to_owned(),
    };
    let literal = |text: &str| CertificateSpec {
        common_name: String::new(),
        literal_subject: text.to_owned(),
        ..plain.clone()
    };
    let usages =
        vec![Usage::Signing, Usage::CrlSign, Usage::DecipherOnly, Usage::Any, Usage::SMime];
    let unnamed = CertificateSpec { common_name: String::new(), ..plain.clone() };
    let cases = [
        (plain.clone(), "Version: 1 (0x0) Subject: CN=a.example Subject Public Key Info:"),
        (
            all_names,
            "X509v3 Subject Alternative Name: DNS:a.example, DNS:*.b.example, email:a@b.example, \
             IP Address:127.0.0.1, IP Address:2001:DB8:0:0:0:0:0:1, URI:spiffe://example/a, \
             othername: UPN::ü@b.example X509v3",
        ),
        (
            CertificateSpec { subject: Some(subject), ..plain.clone() },
            "Subject: C=DE, O=First + O=Second\\, Inc, OU=Ü, L=L, ST=P, street=Street 1, \
             postalCode=12345, serialNumber=7, CN=a.example Subject Public",
        ),
        (
            literal("CN=a\\, b\\+c+OU=\\C3\\9C,DC=example,DC=net,C=DE"),
            "Subject: C=DE, DC=net, DC=example, OU=Ü + CN=a\\, b\\+c Subject Public",
        ),
        (literal("CN=#0C0161,1.2.3.4=x,O=o"), "Subject: O=o, 1.2.3.4=x, CN=a Subject Public"),
        (literal("CN=a+CN=a"), "Subject: CN=a + CN=a Subject Public"),
        (unnamed, "Subject: Subject Public"),
        (
            CertificateSpec { common_name: String::new(), ..plain.clone() },
            "X509v3 Subject Alternative Name: critical DNS:a.example",
        ),
        (
            CertificateSpec { usages: vec![], is_ca: true, ..plain.clone() },
            "X509v3 Key Usage: critical Digital Signature, Key Encipherment, Certificate Sign \
             Signature Algorithm: ecdsa-with-SHA256",
        ),
        (
            CertificateSpec { usages, ..plain.clone() },
            "X509v3 Key Usage: critical Digital Signature, CRL Sign, Decipher Only X509v3 \
             Extended Key Usage: Any Extended Key Usage, E-mail Protection Signature",
        ),
        (
            CertificateSpec { encode_usages_in_request: Some(false), ..plain },
            "IP Address:127.0.0.1, IP Address:2001:DB8:0:0:0:0:0:1 Signature Algorithm",
        ),
    ];
    for (spec, expected) in cases {
        let text = request_text(&spec, &key);
        assert!(text.contains("self-signature verify OK"), "{text}");
        assert!(text.contains(expected), "expected: {expected}\nfound: {text}");
    }
}

#[test]
fn a_signature_algorithm_asked_for_is_the_one_used() {
    let (rsa, ecdsa) = ((KeyAlgorithm::Rsa, 2048), (KeyAlgorithm::Ecdsa, 521));
    for ((algorithm, bits), wanted, shown) in [
        (rsa, SignatureAlgorithm::Sha512WithRsa, "sha512WithRSAEncryption"),
        (rsa, SignatureAlgorithm::Sha384WithRsa, "sha384WithRSAEncryption"),
        (ecdsa, SignatureAlgorithm::EcdsaWithSha256, "ecdsa-with-SHA256"),
    ] {
        let key = PrivateKey::generate(algorithm, bits).unwrap();
        let spec = CertificateSpec {
            signature_algorithm: Some(wanted),
            ..spec(algorithm, bits, KeyEncoding::Pkcs8)
        };
        let text = request_text(&spec, &key);
        assert!(text.contains("self-signature verify OK"), "{text}");
        assert!(text.contains(&format!("Signature Algorithm: {shown}")), "{text}");
    }
}

#[test]
fn keys_that_openssl_writes_are_read_in_every_form() {
    let generated: &[(&[&str], KeyAlgorithm, u32)] = &[
        (&["genrsa", "2048"], KeyAlgorithm::Rsa, 2048),
        (&["ecparam", "-genkey", "-name", "prime256v1"], KeyAlgorithm::Ecdsa, 256),
        (&["ecparam", "-genkey", "-name", "secp384r1"], KeyAlgorithm::Ecdsa, 384),
        (&["ecparam", "-genkey", "-name", "secp521r1", "-noout"], KeyAlgorithm::Ecdsa, 521),
        (&["genpkey", "-algorithm", "ed25519"], KeyAlgorithm::Ed25519, 256),
    ];
    for (arguments, algorithm, bits) in generated {
        let original = String::from_utf8(run(arguments, b"").stdout).unwrap();
        let facts = key_facts(&original).unwrap();
        assert_eq!((facts.algorithm, facts.size), (*algorithm, *bits));
        let read = |arguments: &[&str]| {
            let output = run(arguments, original.as_bytes());
            key_facts(&String::from_utf8(output.stdout).unwrap())
        };
        assert_eq!(read(&["pkey"]), Ok(facts.clone()));
        assert_eq!(read(&["pkey", "-text"]), Ok(facts.clone()));
        assert_eq!(read(&["pkcs8", "-topk8", "-passout", "pass:x"]), Err(KeyError::Encrypted));
        if *algorithm != KeyAlgorithm::Ed25519 {
            assert_eq!(read(&["pkey", "-traditional"]), Ok(facts));
            let old = ["pkey", "-traditional", "-aes128", "-passout", "pass:x"];
            assert_eq!(read(&old), Err(KeyError::Encrypted));
        }
    }
    let small = String::from_utf8(run(&["genrsa", "1024"], b"").stdout).unwrap();
    let expected = KeyError::Size { algorithm: KeyAlgorithm::Rsa, bits: 1024 };
    assert_eq!(key_facts(&small), Err(expected));
}
