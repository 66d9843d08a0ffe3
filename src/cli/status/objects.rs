//! cert-manager's objects from ours, for `-o json` and `-o yaml`.
//!
//! Contract: each object validates against cert-manager's v1 schemas. What certctl knows beyond
//! them stands in annotations under `status.certctl.io/`. A state that the schema has no word for
//! is written as `errored`, and its own word goes into the reason.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::issuance::{challenge_name, plain_reason};
use super::verdict::Verdict;
use crate::cli::time::rfc3339;
use crate::resource::{
    AuthorizationState, CertificateRequest, CertificateSpec, CertificateStatus, Challenge,
    Condition, Identifier, Metadata, NamespacedName, Order, OrderState, Solver,
};
use crate::workspace::view::{CertificateView, IssuerView};

/// A Certificate; without a manifest its spec is that of the newest request, and without one of
/// those it says no more than which Secret it owns.
pub(super) fn certificate(view: &CertificateView, now: Timestamp) -> Value {
    let secret_name = view.record.as_ref().map(|record| record.secret_name.clone());
    let bare_spec = CertificateSpec {
        secret_name: secret_name.unwrap_or_default(),
        ..CertificateSpec::default()
    };
    let spec = view.spec().unwrap_or(&bare_spec);
    let own = view.certificate.as_ref().map(|certificate| &certificate.metadata);
    let bare = Metadata {
        name: view.key.name.clone(),
        namespace: view.key.namespace.clone(),
        ..Metadata::default()
    };
    let mut metadata = own.unwrap_or(&bare).clone();
    let mut note = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            metadata.annotations.insert(format!("status.certctl.io/{name}"), value);
        }
    };
    let leaf = view.readable_leaf();
    note("verdict", Some(Verdict::of(view, now).word().to_owned()));
    note("next-attempt", view.next_attempt.map(rfc3339));
    note("secret-path", Some(view.secret_path.to_string_lossy().into_owned()));
    note("links", view.links.as_ref().map(|repair| repair.what.clone()));
    note("temporary", view.is_temporary().then(|| "true".to_owned()));
    note("serial-number", leaf.map(|leaf| leaf.serial.clone()));
    note("fingerprint-sha256", leaf.map(|leaf| leaf.fingerprint.clone()));
    let back = view.went_back();
    note("rolled-back-from", back.map(|back| back.from.to_string()));
    note("order", view.order().map(|order| order.name.clone()));
    let failure = view.record.as_ref().and_then(|record| record.last_failure.as_ref());
    note("last-failure", failure.map(|failure| failure.to_string()));
    let record = view.record.as_ref();
    let mut metadata = meta(&metadata, record.map(|record| record.creation_timestamp));
    if let (Some(map), Some(record)) = (metadata.as_object_mut(), record) {
        map.insert("generation".into(), record.generation.into());
    }
    let mut object = Map::new();
    object.insert("apiVersion".into(), CERT_MANAGER.into());
    object.insert("kind".into(), "Certificate".into());
    object.insert("metadata".into(), metadata);
    object.insert("spec".into(), plain(spec));
    if let Some(record) = record {
        object.insert("status".into(), certificate_status(&record.status));
    }
    object.into()
}

fn certificate_status(status: &CertificateStatus) -> Value {
    without_nulls(json!({
        "conditions": conditions(&status.conditions, true),
        "revision": status.revision,
        "failedIssuanceAttempts": status.failed_issuance_attempts,
        "lastFailureTime": status.last_failure_time.map(rfc3339),
        "notBefore": status.not_before.map(rfc3339),
        "notAfter": status.not_after.map(rfc3339),
        "renewalTime": status.renewal_time.map(rfc3339),
        "nextPrivateKeySecretName": status.next_private_key_secret_name,
    }))
}

/// A CertificateRequest.
pub(super) fn request(request: &CertificateRequest) -> Value {
    let spec = &request.spec;
    json!({
        "apiVersion": CERT_MANAGER,
        "kind": "CertificateRequest",
        "metadata": meta(&request.metadata, Some(request.creation_timestamp)),
        "spec": without_nulls(json!({
            "request": STANDARD.encode(&spec.request),
            "duration": spec.duration.map(|duration| duration.to_string()),
            "isCA": spec.is_ca.then_some(true),
            "usages": spec.usages,
            "issuerRef": spec.issuer_ref,
        })),
        "status": without_nulls(json!({
            "conditions": conditions(&request.conditions, false),
            "certificate": request.certificate.as_ref().map(|pem| STANDARD.encode(pem)),
            "failureTime": request.failure_time.map(rfc3339),
        })),
    })
}

/// The same as a manifest, for others to grant.
pub(in crate::cli) fn request_manifest(of: &CertificateRequest) -> Value {
    let mut object = request(of);
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("creationTimestamp");
    }
    object
}

/// An Order.
pub(super) fn order(order: &Order) -> Value {
    let spec = &order.spec;
    let dns: Vec<&Identifier> =
        spec.identifiers.iter().filter(|id| matches!(id, Identifier::Dns(_))).collect();
    let ip: Vec<&Identifier> =
        spec.identifiers.iter().filter(|id| matches!(id, Identifier::Ip(_))).collect();
    let words = |ids: &[&Identifier]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    let authorizations: Vec<Value> = order
        .authorizations
        .iter()
        .map(|authorization| {
            let offered = authorization.challenges.iter().map(|challenge| {
                json!({ "type": challenge.kind.as_str(), "url": challenge.url, "token": challenge.token })
            });
            without_nulls(json!({
                "url": authorization.url,
                "identifier": authorization.identifier.as_ref().map(ToString::to_string),
                "wildcard": authorization.wildcard,
                "initialState": authorization.initial_state.as_ref().and_then(state_word),
                "challenges": offered.collect::<Vec<_>>(),
            }))
        })
        .collect();
    let (state, foreign) = match &order.state {
        OrderState::Unknown => (None, None),
        OrderState::Other(word) => (None, Some(word.as_str())),
        OrderState::Pending
        | OrderState::Ready
        | OrderState::Processing
        | OrderState::Valid
        | OrderState::Invalid
        | OrderState::Expired
        | OrderState::Errored => (Some(order.state.as_str()), None),
    };
    let checks = order.challenges.iter().filter(|challenge| challenge.check.is_some());
    let checks: Vec<Value> = checks.map(checked).collect();
    let mut object = json!({
        "apiVersion": ACME,
        "kind": "Order",
        "metadata": owned(&order.name, &spec.certificate, spec.revision, order.creation_timestamp),
        "spec": without_nulls(json!({
            "request": STANDARD.encode(&spec.request),
            "issuerRef": spec.issuer_ref,
            "dnsNames": words(&dns),
            "ipAddresses": (!ip.is_empty()).then(|| words(&ip)),
            "profile": Some(&spec.profile).filter(|profile| !profile.is_empty()),
        })),
        "status": without_nulls(json!({
            "url": order.url(),
            "finalizeURL": order.phase.urls().map(|urls| &urls.finalize_url),
            "state": state,
            "reason": reason_or(&order.reason, foreign),
            "authorizations": authorizations,
            "certificate": order.certificate().map(|pem| STANDARD.encode(pem)),
            "failureTime": order.failure_time().map(rfc3339),
        })),
    });
    if !checks.is_empty() {
        annotate(&mut object, "checks", &Value::from(checks));
    }
    object
}

/// What the last self-check of a challenge saw, and which challenge that is.
fn checked(challenge: &Challenge) -> Value {
    let Challenge { spec, check, .. } = challenge;
    json!({
        "identifier": spec.identifier.to_string(),
        "type": spec.kind.as_str().to_uppercase(),
        "wildcard": spec.wildcard,
        "check": check,
    })
}

/// Adds what cert-manager's schema has no field for, as JSON in an annotation.
fn annotate(object: &mut Value, name: &str, value: &Value) {
    let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    if let Some(annotations) = annotations {
        annotations.insert(format!("status.certctl.io/{name}"), value.to_string().into());
    }
}

/// A Challenge: number `index` of its order.
pub(super) fn challenge(order: &Order, index: usize, challenge: &Challenge) -> Value {
    let spec = &challenge.spec;
    let name = challenge_name(order, index);
    let foreign = match &challenge.state {
        AuthorizationState::Deactivated
        | AuthorizationState::Revoked
        | AuthorizationState::Other(_) => Some(challenge.state.as_str()),
        AuthorizationState::Unknown
        | AuthorizationState::Pending
        | AuthorizationState::Processing
        | AuthorizationState::Valid
        | AuthorizationState::Invalid
        | AuthorizationState::Expired
        | AuthorizationState::Errored => None,
    };
    let mut object = json!({
        "apiVersion": ACME,
        "kind": "Challenge",
        "metadata": owned(
            &name, &order.spec.certificate, order.spec.revision, order.creation_timestamp
        ),
        "spec": {
            "authorizationURL": spec.authorization_url,
            "dnsName": spec.identifier.to_string(),
            "issuerRef": order.spec.issuer_ref,
            "key": spec.key,
            "solver": solver(&spec.solver),
            "token": spec.token,
            "type": spec.kind.as_str().to_uppercase(),
            "url": spec.url,
            "wildcard": spec.wildcard,
        },
        "status": without_nulls(json!({
            "presented": challenge.is_presented(),
            "presentedAt": challenge.presented_at.map(rfc3339),
            "processing": challenge.is_processing(),
            "reason": reason_or(&plain_reason(challenge), foreign),
            "state": state_word(&challenge.state),
        })),
    });
    if challenge.check.is_some() {
        annotate(&mut object, "check", &json!(challenge.check));
    }
    object
}

/// An Issuer or ClusterIssuer.
pub(super) fn issuer(IssuerView { issuer, account }: &IssuerView) -> Value {
    let mut acme = plain(&issuer.acme);
    if let Some(map) = acme.as_object_mut() {
        if let Some(bundle) = &issuer.acme.ca_bundle {
            map.insert("caBundle".into(), STANDARD.encode(bundle).into());
        }
        let solvers: Vec<Value> = issuer.acme.solvers.iter().map(solver).collect();
        map.insert("solvers".into(), solvers.into());
    }
    let mut object = json!({
        "apiVersion": CERT_MANAGER,
        "kind": issuer.kind.to_string(),
        "metadata": meta(&issuer.metadata, None),
        "spec": { "acme": acme },
    });
    let url = account.as_ref().and_then(|account| account.url.as_ref());
    if let (Some(map), Some(url)) = (object.as_object_mut(), url) {
        let contacts = account.as_ref().map_or(&[][..], |account| account.contacts.as_slice());
        let email = contacts.iter().find_map(|contact| contact.strip_prefix("mailto:"));
        let status = json!({
            "acme": without_nulls(json!({ "uri": url, "lastRegisteredEmail": email })),
            "conditions": [{
                "type": "Ready",
                "status": "True",
                "reason": REGISTERED.0,
                "message": REGISTERED.1,
            }],
        });
        map.insert("status".into(), status);
    }
    object
}

/// A solver as cert-manager writes it: the provider's key stands beside the other dns01 fields.
fn solver(solver: &Solver) -> Value {
    let mut value = plain(solver);
    if let Some(dns01) = value.get_mut("dns01").and_then(Value::as_object_mut)
        && let Some(Value::Object(provider)) = dns01.remove("provider")
    {
        dns01.extend(provider);
    }
    value
}

fn owned(name: &str, certificate: &NamespacedName, revision: u32, created: Timestamp) -> Value {
    json!({
        "name": name,
        "namespace": certificate.namespace,
        "creationTimestamp": rfc3339(created),
        "annotations": {
            "cert-manager.io/certificate-name": certificate.name,
            "cert-manager.io/certificate-revision": revision.to_string(),
        },
    })
}

fn meta(metadata: &Metadata, created: Option<Timestamp>) -> Value {
    let mut value = plain(metadata);
    if let (Some(map), Some(at)) = (value.as_object_mut(), created) {
        map.insert("creationTimestamp".into(), rfc3339(at).into());
    }
    value
}

/// Conditions; only those of a Certificate have an observedGeneration.
fn conditions(conditions: &[Condition], with_generation: bool) -> Vec<Value> {
    let object = |condition: &Condition| {
        without_nulls(json!({
            "type": format!("{:?}", condition.kind),
            "status": format!("{:?}", condition.status),
            "reason": condition.reason.as_str(),
            "message": condition.message,
            "lastTransitionTime": rfc3339(condition.last_transition_time),
            "observedGeneration": condition.observed_generation.filter(|_| with_generation),
        }))
    };
    conditions.iter().map(object).collect()
}

/// The schema's word for a state; `None` while there is none.
fn state_word(state: &AuthorizationState) -> Option<&str> {
    match state {
        AuthorizationState::Unknown | AuthorizationState::Other(_) => None,
        AuthorizationState::Deactivated | AuthorizationState::Revoked => Some("errored"),
        AuthorizationState::Pending
        | AuthorizationState::Processing
        | AuthorizationState::Valid
        | AuthorizationState::Invalid
        | AuthorizationState::Expired
        | AuthorizationState::Errored => Some(state.as_str()),
    }
}

fn reason_or(reason: &str, foreign: Option<&str>) -> Option<String> {
    match (reason, foreign) {
        ("", Some(word)) => Some(format!("the state at the CA is {word:?}")),
        ("", None) => None,
        (reason, _) => Some(reason.to_owned()),
    }
}

/// Our types serialize without fail: they have string keys and no foreign Serialize.
fn plain(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

fn without_nulls(mut value: Value) -> Value {
    if let Some(map) = value.as_object_mut() {
        map.retain(|_, field| !field.is_null());
    }
    value
}

/// Reason and message of an Issuer that is ready, as cert-manager words them.
pub(super) const REGISTERED: (&str, &str) =
    ("ACMEAccountRegistered", "The ACME account was registered with the ACME server");
const CERT_MANAGER: &str = "cert-manager.io/v1";
const ACME: &str = "acme.cert-manager.io/v1";
