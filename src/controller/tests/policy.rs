//! Every check of the trigger, and what sets readiness apart from it.

use jiff::SignedDuration;

use super::fixture::{hours, issuer_mut, leaf, live, names, now};
use crate::controller::policy::{READINESS, TRIGGER, first_violation};
use crate::controller::{Snapshot, renewal};
use crate::resource::{
    CertificateSpec, GoDuration, KeyAlgorithm, LeafFacts, OtherName, Reason, Subject, Usage,
    annotation,
};

fn trigger(snapshot: &Snapshot) -> Option<Reason> {
    first_violation(TRIGGER, snapshot, now()).map(|violation| violation.reason)
}

fn readiness(snapshot: &Snapshot) -> Option<Reason> {
    first_violation(READINESS, snapshot, now()).map(|violation| violation.reason)
}

fn leaf_of(snapshot: &mut Snapshot) -> &mut LeafFacts {
    snapshot.secret.as_mut().unwrap().certificate.as_mut().unwrap().as_mut().unwrap()
}

type Change = fn(&mut Snapshot);
type Edit = fn(&mut CertificateSpec);

#[test]
fn each_check_has_its_reason_in_both_lists() {
    let cases: &[(&str, Change, Reason)] = &[
        ("no secret", |s| s.secret = None, Reason::DoesNotExist),
        ("no key", |s| s.secret.as_mut().unwrap().key = None, Reason::MissingData),
        ("no certificate", |s| s.secret.as_mut().unwrap().certificate = None, Reason::MissingData),
        (
            "bad key",
            |s| s.secret.as_mut().unwrap().key = Some(Err("no PEM".to_owned())),
            Reason::InvalidKeyPair,
        ),
        (
            "bad certificate",
            |s| s.secret.as_mut().unwrap().certificate = Some(Err("no PEM".to_owned())),
            Reason::InvalidCertificate,
        ),
        ("another key", |s| leaf_of(s).public_key.0 = "another".to_owned(), Reason::InvalidKeyPair),
        (
            "another issuer",
            |s| s.certificate.spec.issuer_ref.name = "other".to_owned(),
            Reason::IncorrectIssuer,
        ),
        (
            "another server",
            |s| issuer_mut(s).acme.server = "https://other.test/directory".to_owned(),
            Reason::IncorrectIssuer,
        ),
        ("a profile", |s| s.issued_profile = Some("x".to_owned()), Reason::IncorrectIssuer),
        (
            "another certificate's",
            |s| {
                let annotations = &mut s.secret.as_mut().unwrap().annotations;
                annotations.insert(annotation::CERTIFICATE_NAME.to_owned(), "other".to_owned());
            },
            Reason::IncorrectCertificate,
        ),
        (
            "another algorithm",
            |s| {
                let key = s.certificate.spec.private_key.as_mut().unwrap();
                key.algorithm = Some(KeyAlgorithm::Rsa);
            },
            Reason::SecretMismatch,
        ),
        (
            "another size",
            |s| s.certificate.spec.private_key.as_mut().unwrap().size = Some(384),
            Reason::SecretMismatch,
        ),
        (
            "not the request's key",
            |s| s.current_request.as_mut().unwrap().spec.public_key.0 = "another".to_owned(),
            Reason::SecretMismatch,
        ),
        (
            "not the request's certificate",
            |s| s.record.issued_fingerprint = Some("another".to_owned()),
            Reason::SecretMismatch,
        ),
        (
            "another spec",
            |s| s.certificate.spec.dns_names = names(&["a.example", "b.example"]),
            Reason::RequestChanged,
        ),
        (
            "another spec without a request",
            |s| {
                s.current_request = None;
                s.certificate.spec.dns_names = names(&["b.example"]);
            },
            Reason::SecretMismatch,
        ),
    ];
    assert_eq!((trigger(&live()), readiness(&live())), (None, None));
    for (what, change, reason) in cases {
        let mut snapshot = live();
        change(&mut snapshot);
        let found = (trigger(&snapshot), readiness(&snapshot));
        assert_eq!(found, (Some(*reason), Some(*reason)), "{what}");
    }
}

#[test]
fn ready_until_it_has_expired_though_its_renewal_was_due() {
    let mut snapshot = live();
    leaf_of(&mut snapshot).not_after = now() + hours(1);
    assert_eq!((trigger(&snapshot), readiness(&snapshot)), (Some(Reason::Renewing), None));
    leaf_of(&mut snapshot).not_after = now();
    let expired = (Some(Reason::Renewing), Some(Reason::Expired));
    assert_eq!((trigger(&snapshot), readiness(&snapshot)), expired);
    // Missing links, a certificate that is not valid yet, and a renewal that no window allows: all
    // are reported and trigger nothing.
    assert_eq!(TRIGGER.len() + 3, READINESS.len());
}

#[test]
fn an_adopted_pair_says_nothing_of_its_issuer() {
    let mut snapshot = live();
    snapshot.secret.as_mut().unwrap().annotations.clear();
    snapshot.certificate.spec.issuer_ref.name = "other".to_owned();
    snapshot.current_request = None;
    assert_eq!(trigger(&snapshot), None);
}

#[test]
fn renewal_is_due_at_its_second_and_not_before() {
    let snapshot = live();
    let due = renewal::renewal_time(&snapshot.certificate.spec, &leaf("live")).unwrap().time;
    let at = |time| first_violation(TRIGGER, &snapshot, time).map(|violation| violation.reason);
    assert_eq!(at(due - SignedDuration::from_nanos(1)), None);
    assert_eq!(at(due), Some(Reason::Renewing));
}

#[test]
fn fields_that_go_to_the_ca_are_compared_with_the_request() {
    let cases: &[(&str, Edit)] = &[
        ("spec.ipAddresses", |s| s.ip_addresses = vec!["192.0.2.1".parse().unwrap()]),
        ("spec.uris", |s| s.uris = vec!["spiffe://a".to_owned()]),
        ("spec.emailAddresses", |s| s.email_addresses = vec!["a@example.com".to_owned()]),
        ("spec.dnsNames", |s| s.dns_names = names(&["b.example"])),
        ("spec.otherNames", |s| {
            s.other_names = vec![OtherName { oid: "1.2.3".to_owned(), utf8_value: "x".to_owned() }];
        }),
        ("spec.commonName", |s| s.common_name = "a.example".to_owned()),
        ("spec.subject.organizations", |s| {
            s.subject = Some(Subject { organizations: vec!["O".to_owned()], ..Subject::default() });
        }),
        ("spec.literalSubject", |s| s.literal_subject = "CN=a.example".to_owned()),
        ("spec.isCA", |s| s.is_ca = true),
        ("spec.usages", |s| s.usages = vec![Usage::ServerAuth]),
        ("spec.issuerRef", |s| s.issuer_ref.group = "other.io".to_owned()),
    ];
    let requested = live().certificate.spec;
    for (field, change) in cases {
        let mut wanted = requested.clone();
        change(&mut wanted);
        let found = crate::controller::policy::request_mismatches(&wanted, &requested);
        assert_eq!(found, [*field]);
    }
    let silent: &[Edit] = &[
        |s| s.secret_name = "other".to_owned(),
        |s| s.renew_before = Some(GoDuration(hours(1))),
        |s| s.revision_history_limit = Some(3),
        |s| s.usages = Usage::DEFAULT.to_vec(),
        |s| s.issuer_ref.group = "cert-manager.io".to_owned(),
        |s| s.duration = Some(GoDuration(hours(1))),
    ];
    for change in silent {
        let mut wanted = requested.clone();
        change(&mut wanted);
        let none: [&str; 0] = [];
        assert_eq!(crate::controller::policy::request_mismatches(&wanted, &requested), none);
    }
}

#[test]
fn a_duration_where_there_was_none_is_an_edit_for_an_issuer_that_sends_it() {
    let mut snapshot = live();
    snapshot.certificate.spec.duration = Some(GoDuration(hours(1)));
    assert_eq!(trigger(&snapshot), None);
    issuer_mut(&mut snapshot).acme.enable_duration_feature = true;
    assert_eq!(trigger(&snapshot), Some(Reason::RequestChanged));
    assert_eq!(readiness(&snapshot), Some(Reason::RequestChanged));
    let request = snapshot.current_request.as_mut().unwrap();
    request.certificate_spec.duration = snapshot.certificate.spec.duration;
    assert_eq!(trigger(&snapshot), None);
}

#[test]
fn a_change_of_duration_orders_nothing_of_an_issuer_that_does_not_send_it() {
    let mut snapshot = live();
    let request = snapshot.current_request.as_mut().unwrap();
    request.certificate_spec.duration = Some(GoDuration(hours(720)));
    for duration in [None, Some(GoDuration(hours(480)))] {
        snapshot.certificate.spec.duration = duration;
        assert_eq!(trigger(&snapshot), None);
    }
    issuer_mut(&mut snapshot).acme.enable_duration_feature = true;
    assert_eq!(trigger(&snapshot), Some(Reason::RequestChanged));
}
