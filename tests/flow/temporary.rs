//! A server can start before there is a certificate, when that is asked for.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use certctl::rehearsal::{Fault, ProblemType, RequestKind, Rule};
use certctl::resource::{ConditionStatus, ConditionType, Reason};

use crate::support::{CertificateYaml, World};

const ANNOTATION: &str = "cert-manager.io/issue-temporary-certificate";

fn asking() -> CertificateYaml {
    CertificateYaml::new("web").annotation(ANNOTATION, "true")
}

#[test]
fn a_temporary_certificate_is_live_until_the_real_one_is() {
    let world = World::prepared(&[
        asking().field("additionalOutputFormats: [{type: CombinedPEM}]"),
        CertificateYaml::new("plain"),
    ]);
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail: "no".to_owned() };
    world.fault(Rule::always(refusal));
    world.issue().ends_in(4);
    assert_eq!(world.state().pair("plain-tls"), None);
    let temporary = world.state().published("web");
    assert!(temporary.is_temporary());
    assert_eq!(temporary.dns_names, ["web.example.test"]);
    let folder = world.state().path("secrets/default/web-tls");
    assert_eq!(fs::read_link(folder.join("..data")).unwrap().to_str(), Some("..revision-0-0"));
    assert!(folder.join("tls-combined.pem").exists());
    assert_eq!((world.state().issuances(), world.ca.issued()), (0, 0));
    let status = world.state().record("web").status;
    assert_eq!((status.revision, status.failed_issuance_attempts), (None, Some(1)));
    assert_eq!((status.not_after, status.renewal_time), (None, None));
    let ready = world.state().condition("web", ConditionType::Ready);
    assert_eq!((ready.status, ready.reason), (ConditionStatus::False, Reason::IncorrectIssuer));
    let page = world.run(&["describe", "web"]).ends_in(0).stdout;
    let stands_in = "; servers use a temporary, untrusted certificate";
    for words in ["Status: FAILED - ", stands_in, "Issuer Common Name: cert-manager.local"] {
        assert!(page.contains(words), "{words} is not in:\n{page}");
    }
    let json = world.run(&["status", "-o", "json", "web"]).ends_in(0).stdout;
    assert!(json.contains(r#""status.certctl/temporary": "true""#), "{json}");
    let table = world.run(&["status"]).ends_in(0).stdout;
    assert!(table.contains("temporary"), "{table}");
    // Until the next attempt it stays as it is.
    world.issue().ends_in(75);
    assert_eq!(world.state().published("web"), temporary);

    world.ca.faults().clear();
    world.run(&["renew", "web"]).ends_in(0);
    let real = world.state().published("web");
    assert!(!real.is_temporary());
    assert_eq!((world.state().issuances(), world.ca.issued()), (1, 1));
    assert_eq!(world.state().record("web").status.revision, Some(1));
    assert_eq!(world.state().readiness("web"), Reason::Ready);
    world.run(&["issue", "web"]).says_nothing();
    // A renewal that fails leaves the real one.
    world.fault(Rule::always(Fault::unavailable(None)).on(RequestKind::NewOrder));
    world.run(&["renew", "web"]).ends_in(5);
    assert_eq!(world.state().published("web"), real);
}

/// It is deployed before any request to the CA, and never adopted as an issued one.
#[test]
fn a_temporary_certificate_is_no_pair_to_adopt() {
    let world = World::prepared(&[asking()]);
    world.fault(Rule::always(Fault::unavailable(None)));
    world.issue().ends_in(5);
    let temporary = world.state().published("web");
    assert!(temporary.is_temporary());
    fs::remove_dir_all(world.state().path("certificates")).unwrap();
    world.issue().ends_in(5);
    assert_eq!(world.state().published("web"), temporary);
    world.ca.faults().clear();
    world.issue().ends_in(0);
    let status = world.state().record("web").status;
    assert_eq!((status.revision, world.state().published("web").is_temporary()), (Some(1), false));
}

/// Whatever encoding the published key has, the one in flight is PKCS#8, and its owner's alone.
#[test]
fn the_key_in_flight_is_pkcs8_and_private() {
    for (encoding, label) in [("PKCS1", "EC PRIVATE KEY"), ("PKCS8", "PRIVATE KEY")] {
        let world = World::start();
        let certificate = CertificateYaml::new("web").to_string();
        let with = format!("algorithm: ECDSA\n    encoding: {encoding}");
        world.prepare(&[]);
        world.write("config/web.yaml", &certificate.replace("algorithm: ECDSA", &with));
        world.fault(Rule::always(Fault::unavailable(None)).on(RequestKind::NewOrder));
        world.issue().ends_in(5);
        let path = world.state().path("certificates/default/web/next-private-key.pem");
        let pem = fs::read_to_string(&path).unwrap();
        assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n"), "{encoding}");
        assert_eq!(pem.matches("-----BEGIN").count(), 1, "{encoding}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        world.ca.faults().clear();
        world.issue().ends_in(0);
        let live = world.state().path("secrets/default/web-tls/tls.key");
        let live = fs::read_to_string(live).unwrap();
        assert!(live.starts_with(&format!("-----BEGIN {label}-----\n")), "{encoding}");
        assert!(!path.exists());
    }
}
