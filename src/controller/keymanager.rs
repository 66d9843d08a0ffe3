//! Which private key will the next revision use?
//!
//! | Issuing | next key | policy | step |
//! | --- | --- | --- | --- |
//! | not True | none | – | settled |
//! | not True | some | – | remove it |
//! | True | fits the spec | – | settled, its name recorded |
//! | True | does not fit, or cannot be decoded | – | generate another |
//! | True | is banned, or another one than that of the open request | – | remove both |
//! | True | none | Always | generate |
//! | True | none | any, `renew --new-key` | generate |
//! | True | none | Never, the live key is banned | generate |
//! | True | none | Never | reuse the live key; generate when there is none; fail when it does not fit |

use jiff::Timestamp;

use super::policy::key_mismatches;
use super::requestmanager::{self, OTHER_KEY};
use super::{Change, Effect, IllegalOutcome, Outcome, Record, Snapshot, Step};
use crate::resource::{
    Cause, CertificateRequest, Doing, Failure, KeyFacts, Reason, RotationPolicy,
};

/// See the table above.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Step {
    if !snapshot.is_issuing() {
        return without_issuing(snapshot);
    }
    match &snapshot.next_key {
        Some(Ok(facts)) if snapshot.banned_keys.contains(&facts.public_key) => {
            dropped(snapshot, now, "the stored one is banned")
        }
        Some(Ok(facts)) if is_foreign(snapshot, facts) => {
            dropped(snapshot, now, "the stored one is not the one of the request")
        }
        Some(Ok(facts)) => {
            let fields = key_mismatches(&snapshot.certificate.spec, facts);
            if !fields.is_empty() {
                let why = format!("change in fields: [{}]", fields.join(" "));
                return dropped(snapshot, now, &why);
            }
            if snapshot.record.status.next_private_key_secret_name.is_none() {
                return Step::Record(name_recorded(snapshot));
            }
            Step::Settled
        }
        Some(Err(_)) => dropped(snapshot, now, "the stored one cannot be decoded"),
        None => match snapshot.certificate.spec.rotation_policy() {
            _ if snapshot.run.new_key => generate(snapshot),
            RotationPolicy::Always => generate(snapshot),
            RotationPolicy::Never => keep(snapshot),
        },
    }
}

/// The key is removed, with the request that was made with it, or that it does not belong to.
fn dropped(snapshot: &Snapshot, now: Timestamp, why: &str) -> Step {
    let record = Record::of(Change::DropNextKey);
    let message = format!("Regenerating private key: {why}");
    let record = record.normal(now, Reason::Deleted, message);
    Step::Record(match open_request(snapshot) {
        Some(request) => requestmanager::discarded(record, request, now, OTHER_KEY),
        None => record,
    })
}

/// Whether another key is in the place of the one that the CA may know.
fn is_foreign(snapshot: &Snapshot, facts: &KeyFacts) -> bool {
    open_request(snapshot).is_some_and(|request| request.spec.public_key != facts.public_key)
}

fn open_request(snapshot: &Snapshot) -> Option<&CertificateRequest> {
    snapshot.next_request.as_ref().filter(|request| request.failure_time.is_none())
}

fn without_issuing(snapshot: &Snapshot) -> Step {
    let named = snapshot.record.status.next_private_key_secret_name.is_some();
    if snapshot.next_key.is_none() && !named {
        return Step::Settled;
    }
    let mut record = snapshot.record.clone();
    record.status.next_private_key_secret_name = None;
    Step::Record(Record {
        changes: vec![Change::Certificate(Box::new(record)), Change::DropNextKey],
        events: Vec::new(),
    })
}

fn generate(snapshot: &Snapshot) -> Step {
    let (algorithm, size) = snapshot.certificate.spec.key_parameters();
    Step::Act(vec![Effect::GenerateKey { algorithm, size }])
}

/// rotationPolicy Never: the live key is kept.
fn keep(snapshot: &Snapshot) -> Step {
    let live = snapshot.secret.as_ref().and_then(|pair| pair.key.as_ref());
    match live {
        None | Some(Err(_)) => generate(snapshot),
        Some(Ok(key)) if snapshot.banned_keys.contains(&key.public_key) => generate(snapshot),
        Some(Ok(key)) => {
            let fields = key_mismatches(&snapshot.certificate.spec, key);
            if fields.is_empty() {
                Step::Act(vec![Effect::ReuseKey])
            } else {
                Step::Fail(cannot_regenerate(snapshot, &fields))
            }
        }
    }
}

fn cannot_regenerate(snapshot: &Snapshot, fields: &[&str]) -> Failure {
    let cause = Cause::KeyMismatch {
        secret_name: snapshot.certificate.spec.secret_name.clone(),
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
    };
    Failure::of(Doing::Nothing, cause)
}

/// A new key is stored before its first use.
pub fn absorb(
    snapshot: &Snapshot,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    let Outcome::Key(pem, facts) = outcome else {
        return Err(IllegalOutcome::new("keymanager", &outcome));
    };
    let name = next_key_name(snapshot);
    let (reason, message) = if is_live(snapshot, &facts) {
        let secret = &snapshot.certificate.spec.secret_name;
        (
            Reason::Reused,
            format!("Reusing private key stored in existing Secret resource \"{secret}\""),
        )
    } else {
        (
            Reason::Generated,
            format!("Stored new private key in temporary Secret resource \"{name}\""),
        )
    };
    let mut record = name_recorded(snapshot);
    let is_another = is_foreign(snapshot, &facts);
    record.changes.insert(0, Change::NextKey(pem, facts));
    let record = record.normal(now, reason, message);
    Ok(match open_request(snapshot).filter(|_| is_another) {
        Some(request) => requestmanager::discarded(record, request, now, OTHER_KEY),
        None => record,
    })
}

fn is_live(snapshot: &Snapshot, facts: &KeyFacts) -> bool {
    let live = snapshot.secret.as_ref().and_then(|pair| pair.key.as_ref());
    live.and_then(|key| key.as_ref().ok()).is_some_and(|key| key.public_key == facts.public_key)
}

fn name_recorded(snapshot: &Snapshot) -> Record {
    let mut record = snapshot.record.clone();
    record.status.next_private_key_secret_name = Some(next_key_name(snapshot));
    Record::of(Change::Certificate(Box::new(record)))
}

fn next_key_name(snapshot: &Snapshot) -> String {
    format!("{}-{}", snapshot.certificate.metadata.name, snapshot.next_revision())
}
