//! What `status` prints: cert-manager's kinds, with what certctl knows beyond them in annotations
//! under `status.certctl.io/`.

use serde_json::{Map, Value, json};

use super::{boolean, described, integer, kind, list, list_of, object, text, time, word};
use crate::cli::explain::field::Kind;
use crate::cli::schema::mapping;

pub(super) fn kinds() -> impl Iterator<Item = (&'static str, Value)> {
    let issuers = json!({ "oneOf": [issuer(Kind::Issuer), issuer(Kind::ClusterIssuer)] });
    let about = "`status`: what is known, as cert-manager's objects.";
    [
        list("CertificateList", about, certificate()),
        list("IssuerList", about, issuers),
        list("CertificateRequestList", about, request()),
        list("OrderList", about, order()),
        list("ChallengeList", about, challenge()),
        ("Certificate", certificate()),
        ("Issuer", issuer(Kind::Issuer)),
        ("ClusterIssuer", issuer(Kind::ClusterIssuer)),
        ("CertificateRequest", request()),
        ("Order", order()),
        ("Challenge", challenge()),
    ]
    .into_iter()
}

fn certificate() -> Value {
    let mut metadata = mapping(Kind::Certificate, "metadata");
    let known = metadata.pointer_mut("/properties/annotations/properties");
    if let Some(known) = known.and_then(Value::as_object_mut) {
        known.extend(notes());
    }
    let status = object(&[
        ("conditions?", conditions()),
        ("revision?", integer()),
        ("failedIssuanceAttempts?", integer()),
        ("lastFailureTime?", time()),
        ("notBefore?", time()),
        ("notAfter?", time()),
        ("renewalTime?", time()),
        ("nextPrivateKeySecretName?", text()),
    ]);
    let spec = mapping(Kind::Certificate, "spec");
    kind(
        CERT_MANAGER,
        "Certificate",
        &[("metadata", metadata), ("spec", spec), ("status?", status)],
    )
}

/// The annotations that certctl adds.
fn notes() -> Map<String, Value> {
    let verdicts = "What it comes to, in a word or two, such as READY or PENDING DEPLOY.";
    [
        ("verdict", verdicts),
        ("next-attempt", "RFC 3339."),
        ("secret-path", "The folder that servers read."),
        ("links", "What is wrong with the links by which servers reach the files."),
        ("temporary", "\"true\" while a certificate of certctl's own stands in."),
        ("serial-number", "Lower-case hexadecimal."),
        ("fingerprint-sha256", "Of the leaf."),
        ("order", "The order under way, or the last one."),
        ("last-failure", "The root cause."),
    ]
    .into_iter()
    .map(|(name, about)| (format!("status.certctl.io/{name}"), described(text(), about)))
    .collect()
}

fn issuer(of: Kind) -> Value {
    let status = object(&[
        ("acme", object(&[("uri", text()), ("lastRegisteredEmail?", text())])),
        ("conditions", conditions()),
    ]);
    let (metadata, spec) = (mapping(of, "metadata"), mapping(of, "spec"));
    kind(CERT_MANAGER, of.name(), &[("metadata", metadata), ("spec", spec), ("status?", status)])
}

fn request() -> Value {
    let spec = object(&[
        ("request", described(text(), "The CSR: base64 of PEM.")),
        ("duration?", text()),
        ("isCA?", boolean()),
        ("usages?", list_of(text())),
        ("issuerRef", mapping(Kind::Certificate, "spec.issuerRef")),
    ]);
    let status = object(&[
        ("conditions?", conditions()),
        ("certificate?", described(text(), "The chain: base64 of PEM.")),
        ("failureTime?", time()),
    ]);
    let metadata = mapping(Kind::Certificate, "metadata");
    kind(
        CERT_MANAGER,
        "CertificateRequest",
        &[("metadata", metadata), ("spec", spec), ("status", status)],
    )
}

fn order() -> Value {
    let offered = object(&[("type", text()), ("url", text()), ("token", text())]);
    let authorization = object(&[
        ("url", text()),
        ("identifier?", text()),
        ("wildcard?", boolean()),
        ("initialState?", word(STATES)),
        ("challenges", list_of(offered)),
    ]);
    let spec = object(&[
        ("request", text()),
        ("issuerRef", mapping(Kind::Certificate, "spec.issuerRef")),
        ("dnsNames", list_of(text())),
        ("ipAddresses?", list_of(text())),
        ("profile?", text()),
    ]);
    let status = object(&[
        ("url?", text()),
        ("finalizeURL?", text()),
        ("state?", word(STATES)),
        ("reason?", text()),
        ("authorizations", list_of(authorization)),
        ("certificate?", text()),
        ("failureTime?", time()),
    ]);
    kind(ACME, "Order", &[("metadata", owned()), ("spec", spec), ("status", status)])
}

fn challenge() -> Value {
    let spec = object(&[
        ("authorizationURL", text()),
        ("dnsName", text()),
        ("issuerRef", mapping(Kind::Certificate, "spec.issuerRef")),
        ("key", text()),
        ("solver", solver()),
        ("token", text()),
        ("type", text()),
        ("url", text()),
        ("wildcard", boolean()),
    ]);
    let status = object(&[
        ("presented", boolean()),
        ("presentedAt?", time()),
        ("processing", boolean()),
        ("reason?", text()),
        ("state?", word(STATES)),
    ]);
    kind(ACME, "Challenge", &[("metadata", owned()), ("spec", spec), ("status", status)])
}

/// One of the solvers of an issuer.
fn solver() -> Value {
    mapping(Kind::Issuer, "spec.acme.solvers")
}

/// The metadata of what belongs to a certificate.
fn owned() -> Value {
    let check = "What the last self-check of the challenge saw, in JSON.";
    let checks = "What the last self-check of each challenge saw, in JSON.";
    let annotations = object(&[
        ("cert-manager.io/certificate-name", text()),
        ("cert-manager.io/certificate-revision", text()),
        ("status.certctl.io/check?", described(text(), check)),
        ("status.certctl.io/checks?", described(text(), checks)),
    ]);
    object(&[
        ("name", text()),
        ("namespace", text()),
        ("creationTimestamp", time()),
        ("annotations", annotations),
    ])
}

fn conditions() -> Value {
    list_of(object(&[
        ("type", text()),
        ("status", word(&["True", "False", "Unknown"])),
        ("reason", text()),
        ("message", text()),
        ("lastTransitionTime?", time()),
        ("observedGeneration?", integer()),
    ]))
}

const STATES: &[&str] =
    &["pending", "ready", "processing", "valid", "invalid", "expired", "errored"];
const CERT_MANAGER: &str = "cert-manager.io/v1";
const ACME: &str = "acme.cert-manager.io/v1";
