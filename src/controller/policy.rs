//! The named checks shared by trigger and readiness, and the two literal lists.
//!
//! [`TRIGGER`] lists line by line when a certificate is issued again; readiness differs in the last
//! lines only, and [`TRIGGER_AFTER_ROLLBACK`] ignores the spec. Reasons and messages are
//! cert-manager's.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::renewal::{self, WindowError, go_time};
use super::{Snapshot, rollback};
use crate::resource::{
    CertificateRequest, CertificateSpec, DnsName, KeyFacts, LeafFacts, Reason, Remedy, Repair,
    annotation, rfc1123,
};

/// Why a certificate does not match its spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub reason: Reason,
    pub message: String,
}

/// The message of a first issuance.
pub const NO_SECRET: &str = "Issuing certificate as Secret does not exist";

/// One check: `None` when it passes.
pub type Check = fn(&Snapshot, Timestamp) -> Option<Violation>;

/// When a certificate is issued again. The first violation wins.
pub const TRIGGER: &[Check] = &[
    secret_does_not_exist,
    secret_is_missing_data,
    key_and_certificate_do_not_match,
    key_is_banned,
    certificate_is_revoked,
    issuer_is_not_the_one_that_issued,
    directory_is_not_the_one_that_issued,
    profile_is_not_the_one_that_issued,
    secret_was_issued_for_another_certificate,
    key_differs_from_the_spec,
    key_is_not_the_one_of_the_current_request,
    certificate_is_not_the_one_of_the_current_request,
    current_request_differs_from_the_spec,
    certificate_differs_from_the_spec,
    renewal_is_due,
];

/// When a certificate is not ready. The first violation wins.
pub const READINESS: &[Check] = &[
    secret_does_not_exist,
    files_are_not_as_published,
    secret_is_missing_data,
    key_and_certificate_do_not_match,
    key_is_banned,
    certificate_is_revoked,
    issuer_is_not_the_one_that_issued,
    directory_is_not_the_one_that_issued,
    profile_is_not_the_one_that_issued,
    secret_was_issued_for_another_certificate,
    key_differs_from_the_spec,
    key_is_not_the_one_of_the_current_request,
    certificate_is_not_the_one_of_the_current_request,
    current_request_differs_from_the_spec,
    certificate_differs_from_the_spec,
    certificate_has_expired,
    certificate_is_not_valid_yet,
    renewal_lies_in_no_window,
];

/// When a certificate is issued again after a rollback: because of its own state, not because of
/// the spec, which may be why the user rolled back.
pub const TRIGGER_AFTER_ROLLBACK: &[Check] = &[
    secret_does_not_exist,
    secret_is_missing_data,
    key_and_certificate_do_not_match,
    key_is_banned,
    certificate_is_revoked,
    secret_was_issued_for_another_certificate,
    renewal_is_due,
];

/// The first reason to issue again.
pub fn first_trigger(snapshot: &Snapshot, now: Timestamp) -> Option<Violation> {
    let checks = match rollback::in_force(snapshot) {
        Some(_) => TRIGGER_AFTER_ROLLBACK,
        None => TRIGGER,
    };
    first_violation(checks, snapshot, now)
}

/// When a temporary certificate is published, if requested: there is no pair.
pub const TEMPORARY: &[Check] =
    &[secret_does_not_exist, secret_is_missing_data, key_and_certificate_do_not_match];

/// The first violation of a list.
pub fn first_violation(checks: &[Check], snapshot: &Snapshot, now: Timestamp) -> Option<Violation> {
    checks.iter().find_map(|check| check(snapshot, now))
}

fn secret_does_not_exist(s: &Snapshot, _now: Timestamp) -> Option<Violation> {
    s.secret.is_none().then(|| violation(Reason::DoesNotExist, NO_SECRET.to_owned()))
}

/// Not from cert-manager: servers do not find the files, or not as they were published.
fn files_are_not_as_published(s: &Snapshot, _now: Timestamp) -> Option<Violation> {
    let Repair { what, remedy } = s.repair.as_ref()?;
    let reason = match remedy {
        Remedy::Link { .. } => Reason::MissingLinks,
        Remedy::Publish { .. } | Remedy::Follow { .. } => Reason::DamagedFiles,
    };
    Some(violation(reason, format!("{what}; the next run restores this without an order")))
}

fn secret_is_missing_data(s: &Snapshot, _now: Timestamp) -> Option<Violation> {
    let pair = s.secret.as_ref()?;
    let missing = match (&pair.key, &pair.certificate) {
        (None, None) => "any data",
        (None, Some(_)) => "a private key",
        (Some(_), None) => "a certificate",
        (Some(_), Some(_)) => return None,
    };
    let message = format!("Issuing certificate as Secret does not contain {missing}");
    Some(violation(Reason::MissingData, message))
}

fn key_and_certificate_do_not_match(s: &Snapshot, _now: Timestamp) -> Option<Violation> {
    let pair = s.secret.as_ref()?;
    match (pair.key.as_ref()?, pair.certificate.as_ref()?) {
        (Err(why), _) => Some(violation(
            Reason::InvalidKeyPair,
            format!("Issuing certificate as Secret contains invalid private key data: {why}"),
        )),
        (Ok(_), Err(why)) => Some(violation(
            Reason::InvalidCertificate,
            format!("Issuing certificate as Secret contains an invalid certificate: {why}"),
        )),
        (Ok(key), Ok(leaf)) if key.public_key != leaf.public_key => Some(violation(
            Reason::InvalidKeyPair,
            "Issuing certificate as Secret contains a private key that does not match the \
             certificate"
                .to_owned(),
        )),
        (Ok(_), Ok(_)) => None,
    }
}

/// Why a certificate with a banned key is replaced.
pub(super) const BANNED_KEY: &str =
    "Issuing certificate as its private key is banned: it is, or may be, known to others";

/// Not from cert-manager, which has no revocation.
fn key_is_banned(s: &Snapshot, _now: Timestamp) -> Option<Violation> {
    let key = usable(s)?.0;
    s.banned_keys
        .contains(&key.public_key)
        .then(|| violation(Reason::BannedKey, BANNED_KEY.to_owned()))
}

/// Not from cert-manager either. It holds whether or not the CA has revoked it yet.
fn certificate_is_revoked(s: &Snapshot, _now: Timestamp) -> Option<Violation> {
    let leaf = usable(s)?.1;
    let revocation = s.record.revocation_of(&leaf.fingerprint)?;
    let reason = revocation.reason;
    let message = if revocation.was_found() {
        format!("Issuing certificate as the CA has revoked it ({reason})")
    } else if revocation.revoked_at.is_some() {
        format!("Issuing certificate as it is revoked ({reason})")
    } else {
        format!("Issuing certificate as its revocation was requested ({reason})")
    };
    Some(violation(Reason::Revoked, message))
}

fn issuer_is_not_the_one_that_issued(s: &Snapshot, _now: Timestamp) -> Option<Violation> {
    let pair = s.secret.as_ref()?;
    let read = |key| pair.annotations.get(key).map_or("", String::as_str);
    let (name, kind, group) = (
        read(annotation::ISSUER_NAME),
        read(annotation::ISSUER_KIND),
        read(annotation::ISSUER_GROUP),
    );
    let wanted = &s.certificate.spec.issuer_ref;
    let kind = if kind.is_empty() { "Issuer" } else { kind };
    let group = group_or_default(group);
    let none_is_set = [annotation::ISSUER_NAME, annotation::ISSUER_KIND, annotation::ISSUER_GROUP]
        .iter()
        .all(|key| !pair.annotations.contains_key(*key));
    if none_is_set && !pair.is_temporary() {
        // An adopted pair does not name its issuer. A temporary one has none.
        return None;
    }
    let same = name == wanted.name
        && kind == wanted.kind.to_string()
        && group == group_or_default(&wanted.group);
    (!same).then(|| {
        violation(
            Reason::IncorrectIssuer,
            format!(
                "Issuing certificate as Secret was previously issued by \"{kind}.{group}/{name}\""
            ),
        )
    })
}

fn directory_is_not_the_one_that_issued(s: &Snapshot, _now: Timestamp) -> Option<Violation> {
    let issued_by = s.record.issued_by()?;
    (issued_by != &s.issuer().acme.server).then(|| {
        violation(
            Reason::IncorrectIssuer,
            format!(
                "Issuing certificate as Secret was previously issued by the ACME server \
                 \"{issued_by}\", and the issuer now names \"{}\"",
                s.issuer().acme.server
            ),
        )
    })
}

/// Not from cert-manager, which applies another profile with the next renewal.
fn profile_is_not_the_one_that_issued(s: &Snapshot, _now: Timestamp) -> Option<Violation> {
    let (issued_by, wanted) = (s.issued_profile.as_ref()?, &s.issuer().acme.profile);
    (issued_by != wanted).then(|| {
        let message = format!(
            "Issuing certificate as Secret was previously issued with the ACME profile \
             \"{issued_by}\", and the issuer now names \"{wanted}\""
        );
        violation(Reason::IncorrectIssuer, message)
    })
}

fn secret_was_issued_for_another_certificate(s: &Snapshot, _now: Timestamp) -> Option<Violation> {
    let name = s.secret.as_ref()?.other_owner(&s.certificate.metadata.name)?;
    Some(violation(
        Reason::IncorrectCertificate,
        format!(
            "Secret was issued for \"{name}\". If this message is not transient, you might have \
             two conflicting Certificates pointing to the same secret."
        ),
    ))
}

fn key_differs_from_the_spec(s: &Snapshot, _now: Timestamp) -> Option<Violation> {
    let key = usable(s)?.0;
    let fields = key_mismatches(&s.certificate.spec, key);
    (!fields.is_empty()).then(|| {
        violation(
            Reason::SecretMismatch,
            format!("Existing private key is not up to date for spec: {}", go_list(&fields)),
        )
    })
}

fn key_is_not_the_one_of_the_current_request(s: &Snapshot, _now: Timestamp) -> Option<Violation> {
    let key = usable(s)?.0;
    let request = s.current_request.as_ref()?;
    (request.spec.public_key != key.public_key).then(|| {
        violation(
            Reason::SecretMismatch,
            "Secret contains a private key that does not match the current CertificateRequest"
                .to_owned(),
        )
    })
}

/// Check 7b of the design: the split-controller document requires it, cert-manager leaves it out.
fn certificate_is_not_the_one_of_the_current_request(
    s: &Snapshot,
    _now: Timestamp,
) -> Option<Violation> {
    let leaf = usable(s)?.1;
    let issued = s.record.issued_fingerprint.as_ref()?;
    (issued != &leaf.fingerprint).then(|| {
        violation(
            Reason::SecretMismatch,
            "Secret contains a certificate that is not the one issued for the current \
             CertificateRequest"
                .to_owned(),
        )
    })
}

fn current_request_differs_from_the_spec(s: &Snapshot, _now: Timestamp) -> Option<Violation> {
    let fields = request_differences(s, s.current_request.as_ref()?);
    (!fields.is_empty()).then(|| {
        violation(
            Reason::RequestChanged,
            format!(
                "Fields on existing CertificateRequest resource not up to date: {}",
                go_list(&fields)
            ),
        )
    })
}

fn certificate_differs_from_the_spec(s: &Snapshot, _now: Timestamp) -> Option<Violation> {
    if s.current_request.is_some() {
        return None;
    }
    let leaf = usable(s)?.1;
    let fields = leaf_mismatches(&s.certificate.spec, leaf);
    (!fields.is_empty()).then(|| {
        violation(
            Reason::SecretMismatch,
            format!(
                "Issuing certificate as Existing issued Secret is not up to date for spec: {}",
                go_list(&fields)
            ),
        )
    })
}

fn renewal_is_due(s: &Snapshot, now: Timestamp) -> Option<Violation> {
    let leaf = usable(s)?.1;
    let due = renewal::due(s, leaf, now)?;
    if now < due.time {
        return None;
    }
    if due.window_error.is_some() {
        return Some(renewal_outside_windows(Some(due.time)));
    }
    // The recorded time, if there is one; a later one is of other settings.
    let recorded = s.record.status.renewal_time.filter(|time| *time <= now);
    let time = go_time(recorded.unwrap_or(due.time));
    let asks =
        if due.is_suggested { ", as the CA's renewal information (ARI) suggests" } else { "" };
    let message = format!("Renewing certificate as renewal was scheduled at {time}{asks}");
    Some(violation(Reason::Renewing, message))
}

/// A renewal that is due at a time that no window allows; `None` prints as in Go.
pub fn renewal_outside_windows(time: Option<Timestamp>) -> Violation {
    let time = time.map_or_else(|| "<nil>".to_owned(), go_time);
    let message = format!("Renewing certificate without satisfying renewal windows at: {time}");
    violation(Reason::Renewing, message)
}

fn renewal_lies_in_no_window(s: &Snapshot, now: Timestamp) -> Option<Violation> {
    let error = window_error(s, now)?;
    let message = format!("Could not calculate renewal time: {error}");
    Some(violation(Reason::WindowError, message))
}

/// Why no window allows the renewal of the live certificate.
pub fn window_error(s: &Snapshot, now: Timestamp) -> Option<WindowError> {
    renewal::due(s, usable(s)?.1, now)?.window_error
}

fn certificate_has_expired(s: &Snapshot, now: Timestamp) -> Option<Violation> {
    let leaf = usable(s)?.1;
    (now >= leaf.not_after).then(|| {
        let time = rfc1123(leaf.not_after);
        violation(Reason::Expired, format!("Certificate expired on {time}"))
    })
}

/// Another certificate would not help: the clock of this host is behind, or was ahead.
fn certificate_is_not_valid_yet(s: &Snapshot, now: Timestamp) -> Option<Violation> {
    let leaf = usable(s)?.1;
    (now.duration_until(leaf.not_before) > SKEW).then(|| {
        let time = rfc1123(leaf.not_before);
        let message = format!("Certificate is not valid before {time}, by this host's clock");
        violation(Reason::InvalidCertificate, message)
    })
}

/// How far the clocks of a CA and of a host may differ.
const SKEW: SignedDuration = SignedDuration::from_hours(1);

/// Key and leaf, when both are there and can be decoded.
fn usable(s: &Snapshot) -> Option<(&KeyFacts, &LeafFacts)> {
    let pair = s.secret.as_ref()?;
    Some((pair.key.as_ref()?.as_ref().ok()?, pair.leaf()?))
}

/// The key's fields that differ from the spec. Another algorithm hides another size.
pub fn key_mismatches(spec: &CertificateSpec, key: &KeyFacts) -> Vec<&'static str> {
    let (algorithm, size) = spec.key_parameters();
    if algorithm != key.algorithm {
        vec!["spec.privateKey.algorithm"]
    } else if size != key.size {
        vec!["spec.privateKey.size"]
    } else {
        Vec::new()
    }
}

/// The fields in which a request differs from what would be requested now. Not from cert-manager: a
/// duration where there was none, of an issuer that sends it; and no duration at all of one that
/// does not, since another order would bring the same certificate.
pub fn request_differences(s: &Snapshot, request: &CertificateRequest) -> Vec<&'static str> {
    let (wanted, requested) = (&s.certificate.spec, &request.certificate_spec);
    let mut fields = request_mismatches(wanted, requested);
    if !s.issuer().acme.enable_duration_feature {
        fields.retain(|field| *field != "spec.duration");
    } else if wanted.duration.is_some() && requested.duration.is_none() {
        fields.push("spec.duration");
    }
    fields
}

/// The fields in which a request's spec differs from the current one, in cert-manager's order.
/// Fields that do not go to the CA are not compared.
pub fn request_mismatches(
    wanted: &CertificateSpec,
    requested: &CertificateSpec,
) -> Vec<&'static str> {
    // Most are the same: then there is nothing to list.
    if wanted.clone().into_requested() == *requested {
        return Vec::new();
    }
    let (wanted, requested) = (wanted.requested(), requested.requested());
    let fields = wanted.iter().zip(&requested);
    fields.filter(|(one, other)| one.differs_from(other)).map(|(field, _)| field.name).collect()
}

/// The fields in which an issued leaf differs from the spec; a CA may move the CN into or out of
/// the names.
pub fn leaf_mismatches(spec: &CertificateSpec, leaf: &LeafFacts) -> Vec<&'static str> {
    let wanted: BTreeSet<&str> = spec.dns_names.iter().map(DnsName::as_str).collect();
    let issued: BTreeSet<&str> = leaf.dns_names.iter().map(String::as_str).collect();
    let with_cn = |names: &BTreeSet<&str>, cn: &str| {
        let mut all: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
        if !cn.is_empty() {
            all.insert(cn.to_owned());
        }
        all
    };
    let wanted_all = with_cn(&wanted, &spec.common_name);
    let issued_all = with_cn(&issued, &leaf.common_name);
    let mut fields = Vec::new();
    if wanted_all != issued_all {
        let missing_cn =
            |cn: &str, others: &BTreeSet<String>| !cn.is_empty() && !others.contains(cn);
        if missing_cn(&spec.common_name, &issued_all) || missing_cn(&leaf.common_name, &wanted_all)
        {
            fields.push("spec.commonName");
        }
        let names_differ = wanted.iter().any(|name| !issued_all.contains(*name))
            || issued.iter().any(|name| !wanted_all.contains(*name));
        if names_differ {
            fields.push("spec.dnsNames");
        }
    }
    if sorted(&spec.ip_addresses) != sorted(&leaf.ip_addresses) {
        fields.push("spec.ipAddresses");
    }
    if sorted(&spec.uris) != sorted(&leaf.uris) {
        fields.push("spec.uris");
    }
    if sorted(&spec.email_addresses) != sorted(&leaf.email_addresses) {
        fields.push("spec.emailAddresses");
    }
    fields
}

fn sorted<T: Ord + Clone>(list: &[T]) -> Vec<T> {
    let mut list = list.to_vec();
    list.sort();
    list
}

fn group_or_default(group: &str) -> &str {
    if group.is_empty() { "cert-manager.io" } else { group }
}

fn go_list(fields: &[&str]) -> String {
    format!("[{}]", fields.join(" "))
}

fn violation(reason: Reason, message: String) -> Violation {
    Violation { reason, message }
}
