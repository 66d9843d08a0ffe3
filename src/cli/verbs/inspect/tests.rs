use rcgen::DnType;

use super::*;
use crate::cli::ExitCode;
use crate::pki::test_ca::{Ca, leaf_with_urls};
use crate::pki::{CertificateDetails, PrivateKey};
use crate::resource::{CertificateSpec, KeyAlgorithm};
use crate::workspace::inspect::{HostMatch, KeyMatch, SpecMatch, Trust};

const URL: &str = "http://127.0.0.1:9/x";

/// Report on a certificate with its key, and a spec that it does not match.
async fn reported() -> (Report, Subject) {
    let root = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
    let upper = root.intermediate("Upper", KeyAlgorithm::Ecdsa, 256);
    let ca = upper.intermediate("Issuer", KeyAlgorithm::Ecdsa, 256);
    let mut params = leaf_with_urls(URL, URL);
    params.distinguished_name.push(DnType::OrganizationName, "Evil\u{1b}[31m Inc");
    let key = PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap();
    let pem = ca.sign(&params, &key) + &ca.above;
    let spec = CertificateSpec {
        dns_names: vec!["other.example.com".parse().unwrap()],
        ..CertificateSpec::default()
    };
    let subject =
        Subject { spec: Some(spec), ..Subject::of_pem(&format!("{pem}{}", *key.to_pkcs8_pem())) };
    let system = RootCertStore::empty();
    let roots = Roots { system, bundle: None, of_file: None, certificates: Vec::new() };
    let now = "2031-12-22T00:00:00Z".parse().unwrap();
    let report = Report::make(&subject, &roots, None, now).await.unwrap();
    (report, subject)
}

#[tokio::test]
async fn the_page_has_the_layout_of_cmctl() {
    let (report, _) = reported().await;
    assert_eq!((report.days_left, &report.private_key), (10, &KeyMatch::Matches));
    let differences = vec!["spec.commonName", "spec.dnsNames"];
    assert_eq!(report.spec, Some(SpecMatch { matches: false, differences }));
    assert!(report.needs_attention());
    let leaf = &report.leaf;
    let expected = format!(
        "\
Valid for:
\tDNS Names: \n\t\t- www.example.com
\tURIs: <none>
\tIP Addresses: <none>
\tEmail Addresses: <none>
\tUsages: <none>

Validity period:
\tNot Before: Tue, 01 Jan 2030 00:00:00 UTC
\tNot After: Thu, 01 Jan 2032 00:00:00 UTC
\tTime left: 10d

Issued By:
\tCommon Name:\tIssuer
\tOrganization:\t<none>
\tOrganizationalUnit:\t<none>
\tCountry:\t<none>

Issued For:
\tCommon Name:\twww.example.com
\tOrganization:\tEvil\\u{{1b}}[31m Inc
\tOrganizationalUnit:\t<none>
\tCountry:\t<none>

Certificate:
\tSigning Algorithm:\tECDSA-SHA256
\tPublic Key Algorithm: \tECDSA
\tSerial Number:\t35329
\tFingerprints: \t{}
\tIs a CA certificate: false
\tCRL:\t{URL}
\tOCSP:\t{URL}
\tSerial Number (hex): 8a01
\tSPKI SHA-256 (base64): {}
\tSCTs: 0

Debugging:
\tTrusted by this computer:\tno: there are no root certificates
\tCRL Status:\tnot checked (--offline)
\tOCSP Status:\tnot checked (--offline)
\tPrivate key: matches
\tMatches spec: no: spec.commonName, spec.dnsNames

Chain:
\t1. CN=www.example.com, O=Evil\\u{{1b}}[31m Inc
\t\tIssued by: CN=Issuer
\t\tNot After: Thu, 01 Jan 2032 00:00:00 UTC
\t2. CN=Issuer
\t\tIssued by: CN=Upper
\t\tNot After: Thu, 01 Jan 2032 00:00:00 UTC
",
        leaf.fingerprint, leaf.spki_pin
    );
    let page = text::page(&report, false);
    assert_eq!(page, expected, "{page}");
    serde_json::to_value(&report).unwrap();
}

#[tokio::test]
async fn a_terminal_is_shown_a_few_lines_of_a_server() {
    let (report, subject) = reported().await;
    assert_eq!(text::short(&report, false), None, "no server presents it");
    let leaf = CertificateDetails { is_ca: true, ..report.leaf.clone() };
    let root = Report { source: "root.pem".to_owned(), leaf, ..report.clone() };
    let of_ca = "\
root.pem is the certificate of a CA: www.example.com
valid until 2032-01-01, time left: 10d; issued by Issuer
and 1 certificate more in the same file
for details: the same with -o wide
";
    assert_eq!(text::short(&root, false).unwrap(), of_ca);
    let (name, expected_certificate) = ("www.example.com".to_owned(), None);
    let host = Some(HostMatch { name, matches: true, expected_certificate });
    let (source, served) = ("www.example.com:443".to_owned(), None);
    let of_server = Report { source, host, served, ..report };
    let short = text::short(&of_server, false).unwrap();
    let distrust = "this host does not trust it: there are no root certificates";
    let lines = "\
www.example.com:443 presents a certificate that certctl does not have
for www.example.com
valid until 2032-01-01, time left: 10d; issued by Issuer
the server also sends the certificate of Issuer
this host does not trust it: there are no root certificates
for details: the same with -o wide
";
    assert_eq!(short, lines);
    let alone = Report { chain: of_server.chain[..1].to_vec(), ..of_server.clone() };
    let tried = text::short(&alone, false).unwrap();
    assert_eq!(tried, lines.replace("also sends", "does not send"));
    let trust = Trust { trusted: true, reason: None };
    let below_a_root = text::short(&Report { trust, ..alone }, false).unwrap();
    assert!(!below_a_root.contains("send"), "{below_a_root}");
    let without_state = text::short(&of_server, true).unwrap();
    let first = "www.example.com:443 presents a certificate for www.example.com\n";
    assert!(without_state.starts_with(first), "{without_state}");
    for (trusted, end) in [
        (true, ", which is in the Issuer's caBundle; this host does not trust it"),
        (
            false,
            ", from the CA's operator; it is neither in the Issuer's caBundle nor trusted by this \
             host",
        ),
    ] {
        let of_bundle = Trust { trusted, ..of_server.trust.clone() };
        let private = Report { bundle_trust: Some(of_bundle), ..of_server.clone() };
        let line = format!("\nclients need the root of its CA{end}\n");
        let short = text::short(&private, false).unwrap();
        assert!(short.contains(&line), "{short}");
    }
    for (reason, line) in [
        (None, "clients that have the roots in --ca-bundle trust it"),
        (
            Some("issued by an unknown authority".to_owned()),
            "clients that have only the roots in --ca-bundle do not trust it: issued by an unknown \
             authority",
        ),
    ] {
        let file_trust = Some(Trust { trusted: reason.is_none(), reason });
        let of_file = Report { file_trust, ..of_server.clone() };
        let tried = text::short(&of_file, false).unwrap();
        assert_eq!(tried, lines.replace(distrust, line));
    }
    // A terminal is shown these; a program, and who asks for it, the whole page.
    let rendered = |format, columns| render(&of_server, &subject, format, false, columns).unwrap();
    assert_eq!(rendered(Format::Text, 80), lines);
    for whole in [rendered(Format::Text, usize::MAX), rendered(Format::Wide, 80)] {
        assert!(whole.starts_with("Valid for:\n") && whole.contains("\nVerdict:\n"), "{whole}");
    }
}

#[test]
fn words_are_secrets_files_and_servers() {
    let read = |words: &[&str]| {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        source(&words, &[]).map_err(|error| error.code)
    };
    let name = |name: &str, is_secret| {
        let name = crate::workspace::target::NameTarget::parse(name).unwrap();
        Ok(Source::Name { name, is_secret })
    };
    let server = |host: &str, port| Ok(Source::Server { host: host.to_owned(), port });
    for (words, expected) in [
        (&["web"][..], name("web", false)),
        (&["secret"], name("secret", false)),
        (&["secret", "default/web-tls"], name("default/web-tls", true)),
        (&["-"], Ok(Source::Stdin)),
        (&["./tls.crt"], Ok(Source::File("./tls.crt".into()))),
        (&["secret.yaml"], Ok(Source::File("secret.yaml".into()))),
        (&["www.example.com:443"], server("www.example.com", 443)),
        (&["192.0.2.1:8443"], server("192.0.2.1", 8443)),
        (&["[2001:db8::1]:443"], server("2001:db8::1", 443)),
        (&["https://www.example.com"], server("www.example.com", 443)),
        (&["https://www.example.com:8443/a"], server("www.example.com", 8443)),
        (&["https://[2001:db8::1]/"], server("2001:db8::1", 443)),
        (&["./a:443"], Ok(Source::File("./a:443".into()))),
        (&["host:0"], Err(ExitCode::Usage)),
        (&["host:https"], Err(ExitCode::Usage)),
        (&["order", "web"], Err(ExitCode::Usage)),
    ] {
        assert_eq!(read(words), expected, "{words:?}");
    }
}
