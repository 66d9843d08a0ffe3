//! Promise: Java and OpenSSL read the keystores that certctl writes, and get out the key and the
//! chain that went in.
//!
//! Drives `keytool` (Java 17 or newer) and `openssl` (3.0 or newer) over every profile and every
//! kind of key. Neither of these versions knows PBMAC1, so of Modern2026 openssl reads the
//! contents without looking at the authentication, and that is computed a second time with
//! openssl's own PBKDF2 and HMAC.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use certctl::pki::{Chain, KeystoreContents, PrivateKey};
use certctl::resource::{KeyAlgorithm, KeyEncoding, KeystoreProfile};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

const PASSWORD: &str = "changeit";
/// What openssl takes and Java does not: Java wants ASCII.
const FOREIGN_PASSWORD: &str = "chäng€it";
const PROFILES: [KeystoreProfile; 4] = [
    KeystoreProfile::LegacyRC2,
    KeystoreProfile::LegacyDES,
    KeystoreProfile::Modern2023,
    KeystoreProfile::Modern2026,
];
const KEYS: [(KeyAlgorithm, u32); 4] = [
    (KeyAlgorithm::Rsa, 2048),
    (KeyAlgorithm::Ecdsa, 256),
    (KeyAlgorithm::Ecdsa, 521),
    (KeyAlgorithm::Ed25519, 256),
];

/// A key, its chain of two, and the root above that.
struct Issued {
    key: PrivateKey,
    chain: Chain,
    root: Chain,
}

impl Issued {
    fn new(algorithm: KeyAlgorithm, bits: u32) -> Self {
        let (root, root_pem) = authority("The Root", None);
        let (middle, middle_pem) = authority("The Middle", Some(&root));
        let key = PrivateKey::generate(algorithm, bits).unwrap();
        let public = KeyPair::from_pem(&key.to_pkcs8_pem()).unwrap();
        let params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        let leaf = params.signed_by(&public, &middle).unwrap().pem();
        let chain = Chain::from_pem(&(leaf + &middle_pem)).unwrap();
        Self { key, chain, root: Chain::from_pem(&root_pem).unwrap() }
    }

    fn contents(&self) -> KeystoreContents<'_> {
        KeystoreContents { key: &self.key, chain: &self.chain, authorities: None }
    }

    fn with_root(&self) -> KeystoreContents<'_> {
        KeystoreContents { authorities: Some(&self.root), ..self.contents() }
    }
}

fn authority(
    name: &str,
    above: Option<&Issuer<'static, KeyPair>>,
) -> (Issuer<'static, KeyPair>, String) {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = match above {
        Some(above) => params.signed_by(&key, above).unwrap(),
        None => params.self_signed(&key).unwrap(),
    };
    (Issuer::new(params, key), certificate.pem())
}

/// Runs a program, expects success, and gives back stdout.
fn run(program: &str, arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new(program);
    command.args(arguments);
    let output = command.output().unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {text}");
    output.stdout
}

fn text(program: &str, arguments: &[&str]) -> String {
    String::from_utf8(run(program, arguments)).unwrap()
}

fn file(folder: &Path, name: &str, content: &[u8]) -> String {
    let path = folder.join(name);
    File::create(&path).unwrap().write_all(content).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What `openssl pkcs12` finds in a store: the key, and the certificates in PEM.
fn opened(path: &str, password: &str, options: &[&str]) -> (PrivateKey, String) {
    let password = format!("pass:{password}");
    let open = ["pkcs12", "-in", path, "-passin", &password, "-nodes"];
    let found = text("openssl", &[&open[..], options].concat());
    let (certificates, key): (Vec<&str>, Vec<&str>) =
        found.split_inclusive("-----END ").partition(|part| part.contains("BEGIN CERTIFICATE"));
    assert!(!certificates.is_empty() && !key.is_empty(), "{found}");
    let only = |options: &[&str]| text("openssl", &[&open[..], options].concat());
    let key = PrivateKey::from_pem(&only(&[options, &["-nocerts"]].concat())).unwrap();
    (key, only(&[options, &["-nokeys"]].concat()))
}

fn assert_same(issued: &Issued, (key, certificates): &(PrivateKey, String), above: &[Vec<u8>]) {
    assert_eq!(key.der(KeyEncoding::Pkcs8), issued.key.der(KeyEncoding::Pkcs8));
    let found = Chain::from_pem(certificates).unwrap();
    assert_eq!(found.certificates(), [issued.chain.certificates(), above].concat());
}

/// Java's own reading of a store, written again as a PKCS#12 store of today.
fn through_java(folder: &Path, path: &str, kind: &str) -> String {
    let out = folder.join(format!("{kind}-again.p12")).to_str().unwrap().to_owned();
    drop(std::fs::remove_file(&out));
    let from = ["-srckeystore", path, "-srcstoretype", kind, "-srcstorepass", PASSWORD];
    let to = ["-destkeystore", &out, "-deststoretype", "PKCS12", "-deststorepass", PASSWORD];
    let all = [&["-importkeystore", "-noprompt"][..], &from[..], &to[..]].concat();
    run("keytool", &all);
    out
}

fn listed(path: &str, kind: &str) -> String {
    let list = ["-list", "-v", "-keystore", path, "-storetype", kind, "-storepass", PASSWORD];
    text("keytool", &list)
}

fn openssl_options(profile: KeystoreProfile) -> &'static [&'static str] {
    match profile {
        KeystoreProfile::LegacyRC2 => &["-legacy"],
        KeystoreProfile::LegacyDES | KeystoreProfile::Modern2023 => &[],
        KeystoreProfile::Modern2026 => &["-nomacver"],
    }
}

#[test]
fn openssl_reads_every_profile() {
    let folder = TempDir::new().unwrap();
    for (algorithm, bits) in KEYS {
        let issued = Issued::new(algorithm, bits);
        for profile in PROFILES {
            let options = openssl_options(profile);
            for password in [PASSWORD, FOREIGN_PASSWORD] {
                let store = issued.contents().pkcs12(profile, password).unwrap();
                let path = file(folder.path(), "keystore.p12", &store);
                assert_same(&issued, &opened(&path, password, options), &[]);
            }
            let store = issued.with_root().pkcs12(profile, PASSWORD).unwrap();
            let path = file(folder.path(), "keystore.p12", &store);
            assert_same(&issued, &opened(&path, PASSWORD, options), issued.root.certificates());
        }
    }
}

#[test]
fn a_profile_is_what_its_name_says() {
    let folder = TempDir::new().unwrap();
    let issued = Issued::new(KeyAlgorithm::Ecdsa, 256);
    let aes = "PBES2, PBKDF2, AES-256-CBC, Iteration 10000, PRF hmacWithSHA256";
    for (profile, mac, certificates, key) in [
        (
            KeystoreProfile::LegacyRC2,
            "MAC: sha1, Iteration 2048",
            "pbeWithSHA1And40BitRC2-CBC, Iteration 2048",
            "pbeWithSHA1And3-KeyTripleDES-CBC, Iteration 2048",
        ),
        (
            KeystoreProfile::LegacyDES,
            "MAC: sha1, Iteration 2048",
            "pbeWithSHA1And3-KeyTripleDES-CBC, Iteration 2048",
            "pbeWithSHA1And3-KeyTripleDES-CBC, Iteration 2048",
        ),
        (KeystoreProfile::Modern2023, "MAC: sha256, Iteration 2048", aes, aes),
    ] {
        let store = issued.contents().pkcs12(profile, PASSWORD).unwrap();
        let path = file(folder.path(), "keystore.p12", &store);
        let password = format!("pass:{PASSWORD}");
        let info = ["pkcs12", "-info", "-noout", "-legacy", "-in", &path, "-passin", &password];
        let output = Command::new("openssl").args(info).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        for line in [
            mac.to_owned(),
            format!("PKCS7 Encrypted data: {certificates}"),
            format!("Shrouded Keybag: {key}"),
        ] {
            assert!(said.contains(&line), "{profile:?}: {line}: {said}");
        }
    }
}

#[test]
fn a_wrong_password_opens_no_store() {
    let folder = TempDir::new().unwrap();
    let issued = Issued::new(KeyAlgorithm::Ecdsa, 256);
    for profile in &PROFILES[..3] {
        let store = issued.contents().pkcs12(*profile, "other").unwrap();
        let path = file(folder.path(), "keystore.p12", &store);
        let password = format!("pass:{PASSWORD}");
        let open = ["pkcs12", "-legacy", "-noout", "-in", &path, "-passin", &password];
        let output = Command::new("openssl").args(open).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("invalid password"), "{said}");
    }
}

#[test]
fn the_authentication_of_modern_2026_is_right() {
    let folder = TempDir::new().unwrap();
    let issued = Issued::new(KeyAlgorithm::Ecdsa, 256);
    let store = issued.contents().pkcs12(KeystoreProfile::Modern2026, PASSWORD).unwrap();
    let path = file(folder.path(), "keystore.p12", &store);
    let shown = text("openssl", &["asn1parse", "-inform", "DER", "-in", &path]);
    assert!(shown.contains("1.2.840.113549.1.5.14") || shown.contains("PBMAC1"), "{shown}");
    let dumps: Vec<&str> =
        shown.lines().filter_map(|line| Some(line.split_once("[HEX DUMP]:")?.1)).collect();
    let [contents, salt, mac, _unread] = dumps[..] else { panic!("{shown}") };
    let key = text(
        "openssl",
        &[
            "kdf",
            "-keylen",
            "32",
            "-kdfopt",
            "digest:SHA256",
            "-kdfopt",
            "iter:10000",
            "-kdfopt",
            &format!("pass:{PASSWORD}"),
            "-kdfopt",
            &format!("hexsalt:{salt}"),
            "PBKDF2",
        ],
    );
    let key = format!("hexkey:{}", key.trim().replace(':', ""));
    let contents: Vec<u8> = (0..contents.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&contents[at..at + 2], 16).unwrap())
        .collect();
    let contents = file(folder.path(), "contents", &contents);
    let expected =
        text("openssl", &["mac", "-digest", "SHA256", "-macopt", &key, "-in", &contents, "HMAC"]);
    assert_eq!(mac, expected.trim());
}

#[test]
fn java_reads_every_store_and_gets_the_key_out() {
    let folder = TempDir::new().unwrap();
    for (algorithm, bits) in KEYS {
        let issued = Issued::new(algorithm, bits);
        let mut stores = vec![("JKS", issued.contents().jks("Certificate", PASSWORD).unwrap())];
        for profile in &PROFILES[..3] {
            stores.push(("PKCS12", issued.contents().pkcs12(*profile, PASSWORD).unwrap()));
        }
        for (kind, store) in stores {
            let path = file(folder.path(), "keystore", &store);
            let list = listed(&path, kind);
            assert!(list.contains("Entry type: PrivateKeyEntry"), "{list}");
            assert!(list.contains("Certificate chain length: 2"), "{list}");
            if kind == "JKS" {
                assert!(list.contains("Alias name: certificate\n"), "{list}");
            }
            let again = through_java(folder.path(), &path, kind);
            assert_same(&issued, &opened(&again, PASSWORD, &[]), &[]);
        }
    }
}

#[test]
fn java_trusts_what_a_truststore_holds() {
    let folder = TempDir::new().unwrap();
    let issued = Issued::new(KeyAlgorithm::Ecdsa, 256);
    let contents = issued.with_root();
    let mut stores = vec![("JKS", contents.jks_truststore(PASSWORD).unwrap())];
    for profile in &PROFILES[..3] {
        stores.push(("PKCS12", contents.pkcs12_truststore(*profile, PASSWORD).unwrap()));
    }
    for (kind, store) in stores {
        let path = file(folder.path(), "truststore", &store);
        let list = listed(&path, kind);
        for line in ["Alias name: ca\n", "Entry type: trustedCertEntry", "Owner: CN=The Root"] {
            assert!(list.contains(line), "{kind}: {line}: {list}");
        }
        assert!(list.contains("Your keystore contains 1 entry"), "{list}");
    }
}
