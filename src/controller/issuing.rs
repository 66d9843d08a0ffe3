//! Do chain and key satisfy the spec? If so, publish the pair as the next revision.
//!
//! | order | step |
//! | --- | --- |
//! | no certificate yet | settled |
//! | has a certificate, verified when it was fetched | publish |
//!
//! Before the order, with the annotation `cert-manager.io/issue-temporary-certificate`:
//!
//! | order | live pair | step |
//! | --- | --- | --- |
//! | has a certificate | – | settled: the real pair follows at once |
//! | – | none, or incomplete | publish the next key with a temporary certificate |
//! | – | any, temporary or real, valid or expired | settled |
//!
//! A temporary pair is only live: the revision, Issuing and the failures stay as they are. It names
//! no issuer, so trigger and readiness report a violation, and it is never adopted.
//!
//! After publishing: the request keeps the certificate; one write sets the record's revision and
//! clears Issuing and all failures; then the next key is removed. A crash between publish and
//! that write repeats the publish, which changes nothing.

use jiff::Timestamp;

use super::policy::{TEMPORARY, first_violation};
use super::{Change, Effect, IllegalOutcome, Outcome, Record, SecretContents, Snapshot, Step};
use super::{deploy, formats, limit, readiness, renewal_information};
use crate::resource::{
    Condition, ConditionStatus, ConditionType, LeafFacts, Order, PublishedPair, Reason,
};

/// See the table above.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Step {
    let Some((order, certificate)) = issued(snapshot).filter(|_| snapshot.is_issuing()) else {
        return Step::Settled;
    };
    Step::Act(vec![Effect::Publish {
        certificate: certificate.to_owned(),
        revision: snapshot.next_revision(),
        contents: formats::contents(snapshot),
        account: order.spec.account_url.clone(),
        renewal: limit::renews(snapshot, &limit::names(snapshot)),
        exempt: limit::is_requested(snapshot, order.replaces.as_deref(), now),
    }])
}

/// The order that has a certificate, and its chain in PEM.
fn issued(snapshot: &Snapshot) -> Option<(&Order, &str)> {
    let order = snapshot.current_order()?;
    Some((order, order.certificate()?))
}

/// See the second table above.
pub fn decide_temporary(snapshot: &Snapshot, now: Timestamp) -> Step {
    let annotations = &snapshot.certificate.metadata.annotations;
    let requested = annotations.get(ISSUE_TEMPORARY).is_some_and(|value| value == "true");
    let ready = snapshot.next_request.is_some() && matches!(snapshot.next_key, Some(Ok(_)));
    if !requested || !snapshot.is_issuing() || !ready || issued(snapshot).is_some() {
        return Step::Settled;
    }
    match first_violation(TEMPORARY, snapshot, now) {
        Some(_) => Step::Act(vec![Effect::PublishTemporary {
            revision: snapshot.record.status.revision.unwrap_or(0),
            contents: formats::temporary_contents(snapshot),
        }]),
        None => Step::Settled,
    }
}

/// See above.
pub fn absorb(
    snapshot: &mut Snapshot,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    if let Outcome::PublishedTemporary(leaf) = outcome {
        now_live(snapshot, &leaf);
        let message = "Issued temporary certificate";
        return Ok(Record::default().normal(now, Reason::Issuing, message));
    }
    let Outcome::Published(leaf) = outcome else {
        return Err(IllegalOutcome::new("issuing", &outcome));
    };
    let (Some(request), Some((_, certificate))) = (&snapshot.next_request, issued(snapshot)) else {
        return Err(IllegalOutcome::new("no certificate", &Outcome::Published(leaf)));
    };
    let mut request = request.clone();
    request.certificate = Some(certificate.to_owned());
    request.conditions = vec![Condition {
        kind: ConditionType::Ready,
        status: ConditionStatus::True,
        reason: Reason::Issued,
        message: "Certificate fetched from issuer successfully".to_owned(),
        last_transition_time: now,
        observed_generation: None,
    }];
    let record = published_record(snapshot, &leaf, now);
    let changes = vec![
        Change::Request(Box::new(request)),
        Change::Certificate(Box::new(record)),
        Change::DropNextKey,
    ];
    snapshot.run.published = true;
    if let Some((order, _)) = issued(snapshot) {
        let spec = order.spec.clone();
        snapshot.issued_profile = Some(spec.profile.clone());
        snapshot.issued_account = Some(spec.account_url.clone());
    }
    now_live(snapshot, &leaf);
    Ok(Record { changes, events: Vec::new() }.normal(
        now,
        Reason::Issuing,
        "The certificate has been successfully issued",
    ))
}

fn published_record(
    snapshot: &Snapshot,
    leaf: &LeafFacts,
    now: Timestamp,
) -> crate::resource::CertificateRecord {
    let revision = snapshot.next_revision();
    let mut issued_snapshot = snapshot.clone();
    let record = &mut issued_snapshot.record;
    record.directory_urls.insert(revision, snapshot.issuer().acme.server.clone());
    while record.directory_urls.len() > 16 {
        record.directory_urls.pop_first();
    }
    record.issued_fingerprint = Some(leaf.fingerprint.clone());
    record.rollback = None;
    record.retry_after = None;
    record.last_failure = None;
    record.attempted_inputs.clear();
    record.notices.clear();
    record.alerted = 0;
    deploy::begin_anew(record);
    let status = &mut record.status;
    status.revision = Some(revision);
    status.failed_issuance_attempts = None;
    status.last_failure_time = None;
    status.next_private_key_secret_name = None;
    status.remove_condition(ConditionType::Issuing);
    let is_early = status.acme.ari.as_ref().is_some_and(|known| known.made_due);
    let is_offered = !snapshot.run.lacks_renewal_information;
    status.acme.ari = renewal_information::of_new_leaf(leaf, is_early, is_offered, now);
    issued_snapshot.secret = Some(published_pair(snapshot, leaf));
    issued_snapshot.current_request.clone_from(&snapshot.next_request);
    issued_snapshot.next_request = None;
    issued_snapshot.issued_profile = issued(snapshot).map(|(order, _)| order.spec.profile.clone());
    readiness::refreshed(&issued_snapshot, now)
}

fn now_live(snapshot: &mut Snapshot, leaf: &LeafFacts) {
    snapshot.secret = Some(published_pair(snapshot, leaf));
    snapshot.files_digest = None;
    snapshot.run.deployment.note_other_files();
}

/// The pair as it is after publishing.
pub(super) fn published_pair(snapshot: &Snapshot, leaf: &LeafFacts) -> PublishedPair {
    let SecretContents { annotations, labels, .. } = formats::contents_with(snapshot, leaf);
    PublishedPair {
        key: snapshot.next_key.clone(),
        certificate: Some(Ok(leaf.clone())),
        annotations,
        labels,
        formats: formats::written(snapshot),
    }
}

/// The annotation that requests a temporary certificate, as in cert-manager.
const ISSUE_TEMPORARY: &str = "cert-manager.io/issue-temporary-certificate";
