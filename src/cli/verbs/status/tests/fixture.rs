//! Views of three certificates, as they would be gathered.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controller::deploy;
use crate::resource::{
    Account, Certificate, CertificateRecord, CertificateRequest, CertificateSpec, Event, Issuer,
    IssuerKind, LeafFacts, Metadata, NamespacedName, Order, Origin, Settings,
};
use crate::workspace::outlook::{Action, Outlook, State, When};
use crate::workspace::view::{CertificateView, IssuerView};

pub(super) const NOW: &str = "2026-11-21T03:12:09Z";

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn metadata(name: &str) -> Metadata {
    Metadata { name: name.into(), namespace: "default".into(), ..Metadata::default() }
}

fn origin(path: &str) -> Origin {
    Origin { path: path.into(), line: 4, column: 9 }
}

pub(super) fn issuer() -> IssuerView {
    let acme = from(json!({
        "server": "https://acme.example/directory",
        "email": "ops@example.com",
        "privateKeySecretRef": { "name": "account" },
        "caBundle": "-----BEGIN CERTIFICATE-----\n",
        "skipTLSVerify": true,
        "solvers": [solver()],
    }));
    let issuer = Issuer {
        kind: IssuerKind::Issuer,
        metadata: metadata("letsencrypt"),
        acme,
        settings: Settings::default(),
        origin: origin("/etc/certctl/issuers.yaml"),
        server_line: 6,
    };
    let account: Account = from(json!({
        "identity": {
            "directoryURL": "https://acme.example/directory", "kind": "Issuer",
            "namespace": "default", "secretName": "account",
        },
        "nextStep": "nothing",
        "publicKey": "aa",
        "url": "https://acme.example/acct/7",
        "contacts": ["mailto:ops@example.com"],
    }));
    IssuerView { issuer, account: Some(account) }
}

fn solver() -> Value {
    json!({ "dns01": {
        "cnameStrategy": "Follow",
        "provider": { "cloudflare": { "apiTokenSecretRef": { "name": "cf", "key": "token" } } },
    } })
}

fn spec(name: &str, names: &[&str]) -> CertificateSpec {
    from(json!({
        "secretName": format!("{name}-tls"),
        "issuerRef": { "name": "letsencrypt" },
        "commonName": names[0],
        "dnsNames": names,
        "duration": "2160h0m0s",
        "privateKey": { "algorithm": "ECDSA" },
    }))
}

fn certificate(name: &str, names: &[&str]) -> Certificate {
    Certificate {
        metadata: metadata(name),
        spec: spec(name, names),
        settings: Settings::default(),
        origin: origin(&format!("/etc/certctl/{name}.yaml")),
    }
}

fn leaf(names: &[&str], not_before: &str, not_after: &str) -> LeafFacts {
    from(json!({
        "publicKey": "bb", "fingerprint": "f1".repeat(32), "serial": "04d2",
        "commonName": names[0], "dnsNames": names, "ipAddresses": [], "uris": [],
        "emailAddresses": [], "notBefore": not_before, "notAfter": not_after,
        "issuerCommonName": "R\u{1b}11", "keyDescription": "ECDSA P-256",
    }))
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-11-21T03:10:09Z", "observedGeneration": 1,
    })
}

fn record(name: &str, status: &Value, failure: Option<&Value>) -> CertificateRecord {
    let mut record = json!({
        "creationTimestamp": "2026-08-01T00:00:00Z", "generation": 1, "specDigest": "cc",
        "secretName": format!("{name}-tls"), "manifest": format!("/etc/certctl/{name}.yaml"),
        "status": status,
    });
    if let Some(failure) = failure {
        record["lastFailure"] = failure.clone();
    }
    from(record)
}

fn request(name: &str, revision: u32, names: &[&str], condition: &Value) -> CertificateRequest {
    from(json!({
        "metadata": { "name": format!("{name}-{revision}"), "namespace": "default" },
        "revision": revision,
        "creationTimestamp": "2026-11-21T03:09:09Z",
        "spec": {
            "request": "-----BEGIN CERTIFICATE REQUEST-----\n", "publicKey": "bb",
            "duration": "2160h0m0s", "issuerRef": { "name": "letsencrypt" },
            "usages": ["digital signature", "server auth"],
        },
        "certificateSpec": serde_json::to_value(spec(name, names)).unwrap(),
        "conditions": [condition],
    }))
}

fn order(name: &str, state: &str, phase: &str, challenges: &Value) -> Order {
    let urls = json!({
        "url": "https://acme.example/order/1",
        "finalizeURL": "https://acme.example/order/1/finalize",
    });
    let phase = match phase {
        "failed" => json!({ "failed": { "urls": urls } }),
        phase => json!({ phase: urls }),
    };
    from(json!({
        "name": format!("{name}-1-1"),
        "number": 1,
        "creationTimestamp": "2026-11-21T03:09:12Z",
        "spec": {
            "certificate": { "namespace": "default", "name": name },
            "revision": 1,
            "request": "-----BEGIN CERTIFICATE REQUEST-----\n",
            "issuerRef": { "name": "letsencrypt" },
            "directoryURL": "https://acme.example/directory",
            "accountURL": "https://acme.example/acct/7",
            "identifiers": [{ "dns": "*.api.example.com" }, { "ip": "192.0.2.7" }],
        },
        "phase": phase,
        "state": state,
        "expires": "2026-11-28T03:09:12Z",
        "authorizations": [
            {
                "url": "https://acme.example/authz/1", "identifier": { "dns": "api.example.com" },
                "wildcard": true, "initialState": "pending",
                "challenges": [{
                    "type": "dns-01", "url": "https://acme.example/chall/1", "token": "tok",
                }],
            },
            { "url": "https://acme.example/authz/2", "initialState": "revoked" },
        ],
        "challenges": challenges,
    }))
}

fn challenge(kind: &str, identifier: &Value, phase: &str, state: &str, reason: &str) -> Value {
    json!({
        "spec": {
            "authorizationURL": "https://acme.example/authz/1", "type": kind,
            "url": "https://acme.example/chall/1", "identifier": identifier,
            "wildcard": kind == "dns-01", "token": "tok", "key": "tok.thumb", "solver": {
                "dns01": solver()["dns01"],
            },
        },
        "state": { "pending": { "phase": phase, "authorization": state } },
        "reason": reason,
        "presented": { "isOwed": true, "at": "2026-11-21T03:10:00Z" },
    })
}

fn view(name: &str, names: &[&str]) -> CertificateView {
    let IssuerView { issuer, account } = issuer();
    CertificateView {
        certificate: Some(certificate(name, names)),
        issuer: Some(issuer),
        account,
        secret_path: format!("/var/lib/certctl/secrets/default/{name}-tls").into(),
        ..CertificateView::unknown(NamespacedName::new("default", name))
    }
}

fn event(time: &str, kind: &str, reason: &str, message: &str) -> Event {
    from(json!({ "time": time, "type": kind, "reason": reason, "message": message }))
}

/// Issued two minutes ago.
pub(super) fn ready() -> CertificateView {
    let names = ["www.example.com", "example.com"];
    let status = json!({
        "conditions": [condition(
            "Ready", "True", "Ready", "Certificate is up to date and has not expired"
        )],
        "revision": 4,
        "notBefore": "2026-11-20T03:00:00Z", "notAfter": "2027-02-18T03:00:00Z",
        "renewalTime": "2027-01-19T03:00:00Z",
    });
    let issued =
        condition("Ready", "True", "Issued", "Certificate fetched from issuer successfully");
    let mut ready = CertificateView {
        record: Some(record("web", &status, None)),
        leaf: Some(Ok(leaf(&names, "2026-11-20T03:00:00Z", "2027-02-18T03:00:00Z"))),
        requests: vec![request("web", 4, &names, &issued)],
        strays: Vec::new(),
        events: vec![
            event("2026-11-21T03:00:09Z", "Normal", "Issuing", "The certificate must be issued"),
            event("2026-11-21T03:09:09Z", "Normal", "Requested", "Created \u{1b}[2Jrequest"),
            event("2026-11-21T03:10:09Z", "Normal", "Issuing", "The certificate must be issued"),
        ],
        renewal_time: Some(at("2027-01-19T03:00:00Z")),
        ..view("web", &names)
    };
    let spec = &mut ready.certificate.as_mut().unwrap().spec;
    spec.ip_addresses = vec!["192.0.2.7".parse().unwrap()];
    spec.uris = vec!["spiffe://example".into()];
    spec.email_addresses = vec!["ops@example.com".into()];
    ready
}

/// Never issued, two challenges under way.
pub(super) fn issuing() -> CertificateView {
    let names = ["*.api.example.com"];
    let status = json!({
        "conditions": [
            condition("Issuing", "True", "DoesNotExist", "Issuing certificate"),
            condition("Ready", "False", "DoesNotExist", "Secret does not exist"),
        ],
        "orderRef": "api-1-1",
    });
    let pending = condition("Ready", "False", "Pending", "Waiting for order api-1-1");
    let challenges = json!([
        challenge(
            "dns-01",
            &json!({ "dns": "api.example.com" }),
            "selfChecking",
            "pending",
            "ns1.example.com: no such record"
        ),
        challenge("http-01", &json!({ "ip": "192.0.2.7" }), "accepted", "deactivated", ""),
    ]);
    let mut view = view("api", &names);
    let spec = &mut view.certificate.as_mut().unwrap().spec;
    spec.ip_addresses = vec!["192.0.2.7".parse().unwrap()];
    CertificateView {
        record: Some(record("api", &status, None)),
        requests: vec![request("api", 1, &names, &pending)],
        orders: vec![order("api", "pending", "solving", &challenges)],
        worker: Some("process 4711".into()),
        ..view
    }
}

/// Failed three times, backing off, with a certificate that works for ten days.
pub(super) fn failed() -> CertificateView {
    let names = ["mail.example.com", "a.example.com", "b.example.com"];
    let status = json!({
        "conditions": [
            condition("Issuing", "False", "Failed", "domain validation failed"),
            condition("Ready", "True", "Ready", "Certificate is up to date and has not expired"),
        ],
        "revision": 1,
        "failedIssuanceAttempts": 3, "lastFailureTime": "2026-11-21T00:52:09Z",
    });
    let failure = json!({
        "class": "validation", "cause": { "local": { "message": "no such\nrecord" } },
    });
    CertificateView {
        record: Some(record("mail", &status, Some(&failure))),
        leaf: Some(Ok(leaf(&names, "2026-09-01T00:00:00Z", "2026-12-01T04:00:00Z"))),
        next_attempt: Some(at("2026-11-21T04:52:09Z")),
        renewal_time: Some(at("2026-11-01T00:00:00Z")),
        ..view("mail", &names)
    }
}

/// With the outlook that a dry run would find.
pub(super) fn planned(view: &CertificateView, now: Timestamp) -> CertificateView {
    let state = State::of(view, now);
    let is_open = view.is_issuing() || view.has_failed();
    let ends_here = view.ends_here() && !view.is_issuing();
    let (next, when) = match (state, view.next_attempt) {
        _ if ends_here => (Action::Renew, When::Never),
        (_, Some(at)) if at > now => (Action::Issue, When::Waits(Some(at))),
        _ if is_open => (Action::Issue, When::NextRun),
        (State::PendingDeploy, _) => {
            let retry = view.failed_deployment().and_then(deploy::next_try);
            let retry = retry.filter(|at| *at > now);
            (Action::Deploy, retry.map_or(When::NextRun, |at| When::Waits(Some(at))))
        }
        (State::LinksMissing, _) => (Action::Relink, When::NextRun),
        (State::FilesDamaged, _) if view.links.is_some() => (Action::Restore, When::NextRun),
        (State::Pending | State::Revoked | State::FilesDamaged, _)
            if view.went_back().is_none() =>
        {
            (Action::Issue, When::NextRun)
        }
        _ => match view.renewal_time {
            Some(at) if at > now => (Action::Renew, When::At(at)),
            Some(_) => (Action::Renew, When::NextRun),
            None => (Action::Renew, When::Never),
        },
    };
    let outlook = Outlook { next: Some(next), when, ..view.outlook.clone() };
    CertificateView { outlook, ..view.clone() }.judged(now)
}
