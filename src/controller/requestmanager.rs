//! Which CertificateRequest belongs to the next revision?
//!
//! | next request | step |
//! | --- | --- |
//! | none | build the CSR |
//! | its key is not the next key | remove it |
//! | its spec is not the current one | remove it |
//! | it failed before this issuance was requested | remove it |
//! | fits | settled |

use jiff::Timestamp;

use super::policy::request_differences;
use super::{Change, Effect, IllegalOutcome, Outcome, Record, Snapshot, Step};
use crate::resource::{
    CertificateRequest, CertificateRequestSpec, Condition, ConditionStatus, ConditionType,
    Metadata, Reason,
};

/// See the table above. Does nothing without Issuing=True and a next key.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Step {
    let (true, Some(Ok(key))) = (snapshot.is_issuing(), &snapshot.next_key) else {
        return Step::Settled;
    };
    let Some(request) = &snapshot.next_request else {
        return Step::Act(vec![Effect::BuildRequest]);
    };
    if request.spec.public_key != key.public_key {
        return discard(request, now, OTHER_KEY);
    }
    let fields = request_differences(snapshot, request);
    if !fields.is_empty() {
        return discard(request, now, &format!("fields changed: [{}]", fields.join(" ")));
    }
    if let Some(failed) = request.failure_time {
        let issuing = snapshot.record.status.condition(ConditionType::Issuing);
        if issuing.is_some_and(|condition| failed <= condition.last_transition_time) {
            return discard(request, now, "it failed before");
        }
    }
    Step::Settled
}

fn discard(request: &CertificateRequest, now: Timestamp, why: &str) -> Step {
    Step::Record(discarded(Record::default(), request, now, why))
}

/// The record, and a request that is removed.
pub(super) fn discarded(
    mut record: Record,
    request: &CertificateRequest,
    now: Timestamp,
    why: &str,
) -> Record {
    record.changes.push(Change::DropRequest(request.revision));
    let name = &request.metadata.name;
    let message = format!("Deleted CertificateRequest resource \"{name}\": {why}");
    record.normal(now, Reason::Deleted, message)
}

/// Why a request is removed.
pub(super) const OTHER_KEY: &str = "its key is not the next private key";

/// The new request is stored before it is sent.
pub fn absorb(
    snapshot: &Snapshot,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    let Outcome::Request(pem, public_key) = outcome else {
        return Err(IllegalOutcome::new("requestmanager", &outcome));
    };
    let certificate = &snapshot.certificate;
    let revision = snapshot.next_revision();
    let name = format!("{}-{revision}", certificate.metadata.name);
    let spec = &certificate.spec;
    let request = CertificateRequest {
        metadata: Metadata {
            name: name.clone(),
            namespace: certificate.metadata.namespace.clone(),
            labels: certificate.metadata.labels.clone(),
            annotations: inherited_annotations(&certificate.metadata),
        },
        revision,
        creation_timestamp: now,
        spec: CertificateRequestSpec::new(spec, pem, public_key),
        certificate_spec: spec.clone().into_requested(),
        conditions: vec![Condition {
            kind: ConditionType::Ready,
            status: ConditionStatus::False,
            reason: Reason::Pending,
            message: "Waiting on certificate issuance".to_owned(),
            last_transition_time: now,
            observed_generation: None,
        }],
        certificate: None,
        failure_time: None,
    };
    Ok(Record::of(Change::Request(Box::new(request))).normal(
        now,
        Reason::Requested,
        format!("Created new CertificateRequest resource \"{name}\""),
    ))
}

/// Annotations of other tools stay with the Certificate (cert-manager's list of prefixes).
fn inherited_annotations(metadata: &Metadata) -> std::collections::BTreeMap<String, String> {
    const OTHERS: [&str; 3] = ["kubectl.kubernetes.io/", "fluxcd.io/", "argocd.argoproj.io/"];
    metadata
        .annotations
        .iter()
        .filter(|(key, _)| !OTHERS.iter().any(|prefix| key.starts_with(prefix)))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
