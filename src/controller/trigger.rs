//! Must a new certificate be issued? Sets the Issuing condition.
//!
//! | Issuing | violation of `policy::TRIGGER` | backoff | step |
//! | --- | --- | --- | --- |
//! | – | – | times of a wrong clock | correct them |
//! | any but a settled one | the live pair is trusted, the issuer's are not | – | fail, unless that is allowed |
//! | – | nothing was issued, and the Secret to adopt may be where it cannot be read | – | fail |
//! | True as the issuer names another CA | none, and no order is open | – | record that nothing is to be issued |
//! | True | – | – | settled: already requested |
//! | not True, a pair was published in this run | – | – | settled: one run issues at most once |
//! | not True, revoked without a replacement | – | – | settled, until the user requests one |
//! | not True, after a rollback | of `policy::TRIGGER_AFTER_ROLLBACK` only | – | as below |
//! | not True | none | – | settled |
//! | not True | some | over | record Issuing=True with its reason |
//! | not True | some | not over | wait for the next attempt's time |

use std::fmt;

use jiff::Timestamp;

use super::policy::{Violation, first_trigger, key_mismatches, leaf_mismatches, window_error};
use super::{Change, Deferral, Record, Snapshot, Step, backoff, order, renewal, revocation};
use crate::resource::{
    Cause, CertificateRecord, CertificateSpec, Condition, ConditionStatus, ConditionType, Doing,
    Failure, FailureClass, Fix, KeyFacts, LeafFacts, NamespacedName, Obstacle, PublishedPair,
    Reason, is_staging, rfc3339,
};

/// See the table above.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Step {
    if let Some(record) = backoff::corrected(&snapshot.record, now) {
        return Step::Record(Record::of(Change::Certificate(Box::new(record))));
    }
    let is_due = || snapshot.is_issuing() || first_trigger(snapshot, now).is_some();
    if let Some(failure) = replaces_trusted(snapshot, now).filter(|_| is_due()) {
        return Step::Fail(failure);
    }
    if let Some(failure) = hides_pair(snapshot) {
        return Step::Fail(failure);
    }
    if let Some(record) = withdrawn(snapshot, now) {
        return Step::Record(record);
    }
    // A certificate can be due as soon as it is issued, when its lifetime is shorter than
    // renewBefore; the next run renews it, and this one does not loop.
    if snapshot.is_issuing() || snapshot.run.published || revocation::ends_here(snapshot) {
        return Step::Settled;
    }
    let Some(violation) = first_trigger(snapshot, now) else {
        return Step::Settled;
    };
    if let Some(until) = backoff::holds_until(snapshot, now) {
        let attempts = snapshot.record.status.failed_issuance_attempts;
        let why = match attempts {
            Some(attempts) => Deferral::Backoff { attempts },
            None if snapshot.record.status.last_failure_time.is_some() => {
                Deferral::Backoff { attempts: 1 }
            }
            None => Deferral::RetryAfter,
        };
        return Step::Defer { until, why };
    }
    let is_renewal = violation.reason == Reason::Renewing;
    let mut record = snapshot.record.clone();
    if is_renewal && let Some(known) = &mut record.status.acme.ari {
        known.made_due = renewal::is_early(snapshot, now);
    }
    let record = triggered(&record, violation, now);
    Step::Record(match window_error(snapshot, now).filter(|_| is_renewal) {
        Some(error) => outside_windows(record, error, now),
        None => record,
    })
}

/// An issuance that began because the Issuer named another CA, such as one with a typing error in
/// its URL, and that the CA knows nothing of, ends when the Issuer names the CA of the live
/// certificate again. cert-manager does not compare servers, and begins none.
fn withdrawn(snapshot: &Snapshot, now: Timestamp) -> Option<Record> {
    let issuing = snapshot.record.status.condition(ConditionType::Issuing)?;
    // Also one of the other CA.
    let is_open = snapshot.order.as_ref().is_some_and(|order| order.phase.is_open());
    let of_issuer = issuing.reason == Reason::IncorrectIssuer;
    if !snapshot.is_issuing() || !of_issuer || is_open || first_trigger(snapshot, now).is_some() {
        return None;
    }
    let mut record = snapshot.record.clone();
    record.status.remove_condition(ConditionType::Issuing);
    let message = "The issuer is again that of the current certificate: nothing to issue";
    Some(Record::of(Change::Certificate(Box::new(record))).normal(now, Reason::Ready, message))
}

/// A forced issuance of a certificate that is not due ends where this machine lacks what it needs before
/// anything is sent to the CA: all is as `before` again, and the user forces it again. `None` where
/// the issuance goes on.
pub fn taken_back(
    snapshot: &Snapshot,
    before: &CertificateRecord,
    failure: &Failure,
    now: Timestamp,
) -> Option<Record> {
    if failure.class != FailureClass::Precondition || snapshot.current_order().is_some() {
        return None;
    }
    let mut record = snapshot.record.clone();
    record.status.remove_condition(ConditionType::Issuing);
    if let Some(known) = before.status.condition(ConditionType::Issuing) {
        record.status.set_condition(known.clone());
    }
    record.status.next_private_key_secret_name = None;
    record.retry_after = before.retry_after;
    if first_trigger(&Snapshot { record: record.clone(), ..snapshot.clone() }, now).is_some() {
        return None;
    }
    let key = snapshot.next_key.as_ref().map(|_| Change::DropNextKey);
    let request = snapshot.next_request.as_ref();
    let request = request.map(|request| Change::DropRequest(request.revision));
    let changes = key.into_iter().chain(request).chain([Change::Certificate(Box::new(record))]);
    let message = "Re-issuance cancelled: nothing was sent to the CA";
    let record = Record { changes: changes.collect(), events: Vec::new() };
    Some(record.normal(now, Reason::Ready, message))
}

/// A valid pair of a production CA would be replaced by one of a staging CA, which clients refuse.
fn replaces_trusted(snapshot: &Snapshot, now: Timestamp) -> Option<Failure> {
    let issued_by = snapshot.record.issued_by()?;
    let server = &snapshot.issuer().acme.server;
    let is_valid = snapshot.live_leaf().is_some_and(|leaf| now < leaf.not_after);
    let is_allowed = snapshot.settings.allow_untrusted || snapshot.run.allow_untrusted;
    if is_allowed || !is_valid || is_staging(issued_by) || !is_staging(server) {
        return None;
    }
    let message = format!(
        "the current certificate is from {issued_by}, but issuer \"{}\" names the staging CA \
         {server}, which no client trusts",
        snapshot.issuer().metadata.name
    );
    let found = Obstacle::new(message).with(Fix::AllowUntrusted);
    Some(Failure::of(Doing::Nothing, Cause::obstacles(vec![found])))
}

/// The same, with the event that no window allowed the renewal.
pub fn outside_windows(record: Record, error: impl fmt::Display, now: Timestamp) -> Record {
    let message = format!("Renewing certificate without satisfying renewal windows due to {error}");
    record.warning(now, Reason::WindowError, message)
}

/// Nothing was issued yet, and there may be a pair to adopt where it cannot be read: an order would
/// replace it.
fn hides_pair(snapshot: &Snapshot) -> Option<Failure> {
    let obstacle = snapshot.run.unread_secret.as_ref()?;
    let has_pair = snapshot.secret.as_ref().is_some_and(|pair| !pair.is_temporary());
    let cause = || Cause::obstacles(vec![obstacle.clone()]);
    (!has_pair && is_unissued(&snapshot.record)).then(|| Failure::of(Doing::Nothing, cause()))
}

/// Records a violation: Issuing=True with its reason and message, and an event.
pub fn triggered(record: &CertificateRecord, violation: Violation, now: Timestamp) -> Record {
    let record = issuing(record, violation.reason, &violation.message, now);
    Record::of(Change::Certificate(Box::new(record))).normal(
        now,
        Reason::Issuing,
        violation.message,
    )
}

/// A Certificate whose Secret other Certificates have too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim<'a> {
    pub name: &'a NamespacedName,
    /// When certctl first loaded it; `None` when it never did.
    pub since: Option<Timestamp>,
    /// Whether the Secret is recorded as this Certificate's.
    pub owns: bool,
}

/// Of several Certificates with the same Secret, the one that may have it: the recorded owner,
/// else the one known longest, else the first by name. The others issue nothing.
pub fn owner<'a>(claims: &[Claim<'a>]) -> Option<&'a NamespacedName> {
    let order = |claim: &&Claim<'a>| (!claim.owns, claim.since.is_none(), claim.since, claim.name);
    claims.iter().min_by_key(order).map(|claim| claim.name)
}

/// Whether a pair that certctl did not issue can be adopted: it matches, is valid at `now`, and
/// is not a temporary one.
pub fn is_adoptable(pair: &PublishedPair, now: Timestamp) -> bool {
    match (&pair.key, &pair.certificate) {
        (Some(Ok(key)), Some(Ok(leaf))) => {
            let is_valid = leaf.not_before <= now && now < leaf.not_after;
            key.public_key == leaf.public_key && is_valid && !leaf.is_temporary()
        }
        (Some(_) | None, Some(_) | None) => false,
    }
}

/// Why a pair that certctl did not issue is replaced at once, and how to keep it; `None` where it is
/// adopted, be it to be renewed.
pub fn why_replaced(snapshot: &Snapshot, now: Timestamp) -> Option<String> {
    let pair = snapshot.secret.as_ref().filter(|pair| !pair.is_temporary())?;
    let violation = first_trigger(snapshot, now)?;
    let spec = &snapshot.certificate.spec;
    let (why, keep) = match (&pair.key, pair.leaf()) {
        (Some(Ok(key)), Some(leaf)) if is_adoptable(pair, now) => {
            let (why, keep) = differences(spec, key, leaf);
            if why.is_empty() && violation.reason == Reason::Renewing {
                return None;
            }
            (why, keep)
        }
        (_, Some(leaf)) if leaf.not_after <= now => {
            (vec![format!("it expired at {}", rfc3339(leaf.not_after))], Vec::new())
        }
        (_, Some(leaf)) if now < leaf.not_before => {
            (vec![format!("it is not valid before {}", rfc3339(leaf.not_before))], Vec::new())
        }
        (_, _) => (Vec::new(), Vec::new()),
    };
    let why = if why.is_empty() { violation.message } else { why.join("; ") };
    let keep = if keep.is_empty() {
        String::new()
    } else {
        format!(". To keep it, write into the manifest, below spec: {}", keep.join(", "))
    };
    Some(format!("The key and certificate in the secret's folder are replaced: {why}{keep}"))
}

/// Whether a first issuance is under way for a pair that did not fit the manifest.
pub fn is_first_for_other(record: &CertificateRecord) -> bool {
    let issuing = record.status.condition(ConditionType::Issuing);
    is_unissued(record) && issuing.is_some_and(|issuing| issuing.reason == Reason::SecretMismatch)
}

/// Whether certctl has issued nothing for it: then a pair can still be adopted.
pub fn is_unissued(record: &CertificateRecord) -> bool {
    record.status.revision.is_none() && record.issued_fingerprint.is_none()
}

/// The end of a first issuance that is under way, for a pair that did not fit the manifest and now
/// does, or for one that `is_found` only now: it can be adopted after all.
pub fn fits_now(snapshot: &Snapshot, is_found: bool, now: Timestamp) -> Option<Record> {
    let record = &snapshot.record;
    let is_adoptable = snapshot.secret.as_ref().is_some_and(|pair| is_adoptable(pair, now));
    let is_first = is_first_for_other(record) || is_found && is_unissued(record);
    let fits = is_first && is_adoptable;
    if !fits || first_trigger(snapshot, now).is_some() {
        return None;
    }
    let mut record = record.clone();
    record.status.remove_condition(ConditionType::Issuing);
    let open = snapshot.order.iter().filter(|order| order.phase.is_open());
    let given_up = open.map(|open| order::given_up(open, "given up for the adopted pair", now));
    let mut changes: Vec<Change> = given_up.map(|order| Change::Order(Box::new(order))).collect();
    changes.push(Change::Certificate(Box::new(record)));
    Some(Record { changes, events: Vec::new() })
}

/// How a pair differs from the spec, and the fields that fit it.
fn differences(
    spec: &CertificateSpec,
    key: &KeyFacts,
    leaf: &LeafFacts,
) -> (Vec<String>, Vec<String>) {
    let (mut why, mut keep) = (Vec::new(), Vec::new());
    if !key_mismatches(spec, key).is_empty() {
        let (algorithm, size) = spec.key_parameters();
        let (found, bits) = (key.algorithm, key.size);
        why.push(format!(
            "its key is {found} {bits}, but spec.privateKey requests {algorithm} \
            {size}"
        ));
        keep.push(format!("privateKey: {{algorithm: {found}, size: {bits}}}"));
    }
    for field in leaf_mismatches(spec, leaf) {
        let name = field.strip_prefix("spec.").unwrap_or(field);
        let found: Vec<String> = match name {
            "commonName" => leaf.common_name.split_terminator('\0').map(str::to_owned).collect(),
            "dnsNames" => leaf.dns_names.clone(),
            "ipAddresses" => leaf.ip_addresses.iter().map(ToString::to_string).collect(),
            "uris" => leaf.uris.clone(),
            _ => leaf.email_addresses.clone(),
        };
        let found: Vec<String> = found.iter().map(|value| format!("\"{value}\"")).collect();
        let found = found.join(", ");
        let (has, fits) = match (name, found.as_str()) {
            (_, "") => ("none".to_owned(), format!("no {name}")),
            ("commonName", one) => (one.to_owned(), format!("{name}: {one}")),
            (_, several) => (several.to_owned(), format!("{name}: [{several}]")),
        };
        why.push(format!("{field} differs: the certificate has {has}"));
        keep.push(fits);
    }
    (why, keep)
}

/// The record with Issuing=True.
pub fn issuing(
    record: &CertificateRecord,
    reason: Reason,
    message: &str,
    now: Timestamp,
) -> CertificateRecord {
    let mut record = record.clone();
    record.status.set_condition(Condition {
        kind: ConditionType::Issuing,
        status: ConditionStatus::True,
        reason,
        message: message.to_owned(),
        last_transition_time: now,
        observed_generation: Some(record.generation),
    });
    record
}
