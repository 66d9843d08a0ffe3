//! When a live pair is rewritten, and its events.

use super::fixture::{fresh, from_now, hours, issuer_mut, issuing_first, key, live, now};
use crate::controller::{
    Change, Deferral, Effect, Outcome, Record, Snapshot, Step, formats, next_step, readiness,
};
use crate::resource::{
    Cause, Doing, Failure, FailureClass, Jks, KeyAlgorithm, KeyEncoding, KeystoreProfile,
    Keystores, OutputFormat, Pkcs12, PrivateKeySpec, Reason, SecretTemplate, csv,
};

/// A live pair whose spec was edited since.
fn edited(edit: impl FnOnce(&mut Snapshot)) -> Snapshot {
    let mut snapshot = live();
    edit(&mut snapshot);
    snapshot
}

/// The same, written as edited.
fn written(edit: impl FnOnce(&mut Snapshot)) -> Snapshot {
    let mut snapshot = edited(edit);
    let written = formats::written(&snapshot);
    snapshot.secret.as_mut().unwrap().formats = written;
    snapshot
}

fn keystores(snapshot: &mut Snapshot) {
    let (password, password_secret_ref) = (Some("x".to_owned()), None);
    snapshot.certificate.spec.keystores = Some(Keystores {
        jks: Some(Jks {
            create: true,
            alias: Some(String::new()),
            password: password.clone(),
            password_secret_ref: password_secret_ref.clone(),
        }),
        pkcs12: Some(Pkcs12 {
            create: true,
            profile: Some(KeystoreProfile::Modern2023),
            password,
            password_secret_ref,
        }),
    });
}

fn bundle(snapshot: &mut Snapshot) {
    snapshot.settings.ca_crt_from_bundle = true;
    issuer_mut(snapshot).acme.ca_bundle = Some("bundle".to_owned());
}

fn template(snapshot: &mut Snapshot, annotation: bool) {
    let mut template = SecretTemplate::default();
    let map = if annotation { &mut template.annotations } else { &mut template.labels };
    map.insert("a".to_owned(), "b".to_owned());
    snapshot.certificate.spec.secret_template = Some(template);
}

fn pkcs8(snapshot: &mut Snapshot) {
    let spec = &mut snapshot.certificate.spec;
    let key = spec.private_key.clone().unwrap_or_default();
    spec.private_key = Some(PrivateKeySpec { encoding: Some(KeyEncoding::Pkcs8), ..key });
}

#[test]
fn a_pair_is_written_again_for_each_thing_that_the_spec_asks_otherwise() {
    let formats_requested = |s: &mut Snapshot, format| {
        s.certificate.spec.additional_output_formats = vec![format];
    };
    let template_differs = Reason::SecretTemplateMismatch;
    let formats_differ = Reason::AdditionalOutputFormatsMismatch;
    let cases: Vec<(Snapshot, Reason, &str)> = vec![
        (edited(|s| template(s, true)), template_differs, "its annotations are not up to date"),
        (edited(|s| template(s, false)), template_differs, "its labels are not up to date"),
        (
            edited(|s| s.secret.as_mut().unwrap().annotations.clear()),
            template_differs,
            "its annotations are not up to date",
        ),
        (
            edited(|s| formats_requested(s, OutputFormat::Der)),
            formats_differ,
            "key.der does not match spec.additionalOutputFormats",
        ),
        (
            edited(|s| s.secret.as_mut().unwrap().formats.combined_pem = Some(false)),
            formats_differ,
            "tls-combined.pem does not match spec.additionalOutputFormats",
        ),
        (edited(pkcs8), Reason::SecretMismatch, "spec.privateKey.encoding has changed"),
        (edited(bundle), Reason::SecretMismatch, "ca.crt is not up to date"),
        (edited(keystores), Reason::SecretMismatch, "keystore.jks is missing"),
        (
            edited(|s| {
                keystores(s);
                let mut now = formats::written(s);
                now.keystores.get_mut("keystore.p12").unwrap().setting = "LegacyRC2".to_owned();
                s.secret.as_mut().unwrap().formats = now;
            }),
            Reason::SecretMismatch,
            "keystore.p12 must be created with Modern2023",
        ),
        (
            written(|s| {
                keystores(s);
                s.run.changed_passwords.insert("keystore.p12".to_owned());
            }),
            Reason::SecretMismatch,
            "the password of keystore.p12 has changed",
        ),
        (
            edited(|s| {
                let plain = s.clone();
                keystores(s);
                let now = formats::written(s);
                *s = plain;
                s.secret.as_mut().unwrap().formats = now;
            }),
            Reason::SecretMismatch,
            "keystore.jks is no longer requested",
        ),
    ];
    for (snapshot, reason, what) in cases {
        let message = format!("Secret written again without an order: {what}");
        let found = formats::decide(&snapshot, now());
        let contents = formats::contents(&snapshot);
        let rewrite = Effect::Rewrite { revision: 1, contents };
        assert_eq!(found, Step::Act(vec![rewrite]), "{what}");
        let expected = Record::default().normal(now(), reason, message);
        assert_eq!(
            formats::absorb(&mut snapshot.clone(), &Outcome::Rewritten, now()),
            Ok(expected)
        );
    }
}

#[test]
fn matching_and_untouchable_pairs_are_not_rewritten() {
    let different = || edited(keystores);
    let cases = vec![
        ("as specified", live()),
        (
            "everything as specified",
            written(|s| {
                keystores(s);
                bundle(s);
                pkcs8(s);
            }),
        ),
        (
            "the leaf's subject is not the spec's",
            edited(|s| {
                let annotations = &mut s.secret.as_mut().unwrap().annotations;
                annotations.insert("cert-manager.io/subject-countries".to_owned(), "DE".to_owned());
            }),
        ),
        ("nothing published", fresh()),
        ("being issued", issuing_first()),
        (
            "published in this run",
            edited(|s| {
                keystores(s);
                s.run.published = true;
            }),
        ),
        (
            "written in this run",
            edited(|s| {
                keystores(s);
                s.run.rewritten = Some(String::new());
            }),
        ),
        (
            "not ready",
            edited(|s| {
                keystores(s);
                s.secret.as_mut().unwrap().key = Some(Err("damaged".to_owned()));
            }),
        ),
        (
            "adopted",
            edited(|s| {
                keystores(s);
                s.record.status.revision = None;
            }),
        ),
    ];
    assert_ne!(formats::decide(&different(), now()), Step::Settled);
    for (name, snapshot) in cases {
        assert_eq!(formats::decide(&snapshot, now()), Step::Settled, "{name}");
    }
}

#[test]
fn an_ed25519_key_has_one_encoding() {
    let snapshot = edited(|s| {
        pkcs8(s);
        let algorithm = KeyAlgorithm::Ed25519;
        let ed25519 = crate::resource::KeyFacts { algorithm, ..key("live") };
        s.secret.as_mut().unwrap().key = Some(Ok(ed25519));
    });
    assert_eq!(formats::mismatch(&snapshot), None);
}

#[test]
fn a_rewrite_clears_its_earlier_failure() {
    let snapshot = edited(|s| {
        keystores(s);
        let (class, message) = (FailureClass::Precondition, "no password".to_owned());
        s.record.last_failure = Some(Failure::new(class, Doing::Nothing, Cause::local(message)));
    });
    let found = formats::absorb(&mut snapshot.clone(), &Outcome::Rewritten, now()).unwrap();
    let mut record = snapshot.record.clone();
    record.last_failure = None;
    assert_eq!(found.changes, [Change::Certificate(Box::new(record))]);
    assert!(formats::absorb(&mut snapshot.clone(), &Outcome::Prepared, now()).is_err());
    assert!(formats::absorb(&mut live(), &Outcome::Rewritten, now()).is_err());
}

#[test]
fn a_renewal_that_must_wait_holds_up_no_rewrite() {
    let due = from_now(hours(60 * 24));
    let renewal_failed = |s: &mut Snapshot| {
        s.record.status.failed_issuance_attempts = Some(1);
        s.record.status.last_failure_time = Some(due);
        s.record.attempted_inputs = vec![s.input_digest.clone()];
        keystores(s);
    };
    let failed = edited(renewal_failed);
    let rewrite = Effect::Rewrite { revision: 1, contents: formats::contents(&failed) };
    assert_eq!(next_step(&failed, due), (Vec::new(), Step::Act(vec![rewrite])));
    let (until, why) = (due + hours(1), Deferral::Backoff { attempts: 1 });
    let wait = Step::Defer { until, why };
    let all_is_noted = |s: &mut Snapshot| {
        renewal_failed(s);
        s.record = readiness::refreshed(s, due);
    };
    assert_eq!(next_step(&written(all_is_noted), due), (Vec::new(), wait));
}

#[test]
fn truststores_come_with_a_ca_only() {
    let names = |s: &Snapshot| formats::wanted_keystores(s).into_keys().collect::<Vec<_>>();
    assert_eq!(names(&edited(keystores)), ["keystore.jks", "keystore.p12"]);
    let all = ["keystore.jks", "keystore.p12", "truststore.jks", "truststore.p12"];
    assert_eq!(
        names(&edited(|s| {
            keystores(s);
            bundle(s);
        })),
        all
    );
    assert!(names(&edited(bundle)).is_empty());
    let settings = formats::wanted_keystores(&edited(keystores));
    assert_eq!(settings["keystore.jks"], "certificate");
}

#[test]
fn lists_are_written_as_go_writes_csv() {
    for (values, expected) in [
        (&[][..], ""),
        (&["a"], "a"),
        (&["a", "b c"], "a,b c"),
        (&["a,b", "say \"x\""], "\"a,b\",\"say \"\"x\"\"\""),
        (&[" a", "", "\\.", "a\nb"], "\" a\",,\"\\.\",\"a\nb\""),
    ] {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        assert_eq!(csv(&values), expected);
    }
}
