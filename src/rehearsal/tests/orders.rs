//! Orders: what they accept, how they move, how they end.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicI64;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::json;

use super::client::csr;
use super::*;

#[tokio::test]
async fn an_order_is_as_rfc_8555_writes_it() {
    let (_ca, _web, client) = stage(|options| {
        options.profiles = BTreeMap::from([("short".into(), "six days".into())]);
    })
    .await;
    let dns = |name: &str| json!({ "type": "dns", "value": name });
    let payload = json!({
        "identifiers": [dns("B.example"), dns("*.a.example"), dns("b.example")],
        "notAfter": "2027-02-01T00:00:00Z",
        "profile": "short",
    });
    let answer = client.post(&client.url("/new-order"), payload).await;
    assert_eq!(answer.status, 201);
    let url = answer.header("location");
    let order = answer.json();
    let expected = json!({
        "status": "pending",
        "expires": "2027-01-22T12:00:00Z",
        "notAfter": "2027-02-01T00:00:00Z",
        "profile": "short",
        "identifiers": [dns("b.example"), dns("*.a.example")],
        "authorizations": [client.url("/authorization/2"), client.url("/authorization/3")],
        "finalize": url.replace("/order/", "/finalize/"),
    });
    assert_eq!(order, expected);
    assert_eq!(client.read(url).await.json(), expected);

    let authorizations = client.authorizations(&order).await;
    let kinds = |found: &serde_json::Value| -> Vec<String> {
        let challenges = found["challenges"].as_array().unwrap();
        challenges.iter().map(|one| one["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(authorizations[0]["identifier"], dns("b.example"));
    assert_eq!(kinds(&authorizations[0]), ["http-01", "dns-01", "tls-alpn-01"]);
    assert!(authorizations[0].get("wildcard").is_none());
    assert_eq!(authorizations[1]["identifier"], dns("a.example"));
    assert_eq!(authorizations[1]["wildcard"], true);
    assert_eq!(kinds(&authorizations[1]), ["dns-01"]);
}

#[tokio::test]
async fn new_orders_are_refused_for_a_reason() {
    let (ca, _web, client) = stage(|options| options.max_orders = 3).await;
    let reject = Fault::RejectIdentifier { detail: "on the block list".into() };
    ca.faults().add(Rule::always(reject).for_name("bad*"));
    let cases: &[(serde_json::Value, (u16, &str), usize)] = &[
        (json!([]), (400, "malformed"), 0),
        (json!([["dns", "a..b"]]), (400, "rejectedIdentifier"), 1),
        (
            json!([["dns", "a..b"], ["dns", "good.example"], ["dns", "bad.example"]]),
            (400, "rejectedIdentifier"),
            2,
        ),
        (json!([["dns", "bad.example"], ["email", "a@b"]]), (400, "compound"), 2),
        (json!([["ip", "300.0.0.1"]]), (400, "rejectedIdentifier"), 1),
    ];
    for (identifiers, expected, subproblems) in cases {
        let list = identifiers.as_array().unwrap().iter();
        let list = list.map(|pair| json!({ "type": pair[0], "value": pair[1] }));
        let payload = json!({ "identifiers": list.collect::<serde_json::Value>() });
        let answer = client.post(&client.url("/new-order"), payload).await;
        assert_eq!(answer.problem(), (expected.0, expected.1.to_owned()), "{identifiers}");
        let found = answer.json()["subproblems"].as_array().map_or(0, Vec::len);
        assert_eq!(found, *subproblems, "{identifiers}");
    }
    let dns = json!([{ "type": "dns", "value": "a.example" }]);
    let with = |field: &str, value: &str| json!({ "identifiers": dns, field: value });
    let new_order = client.url("/new-order");
    let past = client.post(&new_order, with("notAfter", "2027-01-15T12:00:00Z")).await;
    assert_eq!(past.problem(), (400, "malformed".into()));
    let profile = client.post(&new_order, with("profile", "short")).await;
    assert_eq!(profile.problem(), (400, "invalidProfile".into()));
    for _ in 0..3 {
        assert_eq!(client.order(&["a.example"]).await.status, 201);
    }
    assert_eq!(client.order(&["a.example"]).await.problem(), (429, "rateLimited".into()));
    assert_eq!(ca.created(RequestKind::NewOrder), 3);
}

#[tokio::test]
async fn valid_authorizations_are_reused_when_asked() {
    let (ca, web, client) = stage(|options| options.reuse = Reuse::ValidAuthorizations).await;
    let (_, first) = client.ready_order(&["a.example", "b.example"], &web).await;
    let second = client.order(&["b.example", "a.example"]).await.json();
    assert_eq!(second["status"], "ready");
    let of = |order: &serde_json::Value, at: usize| order["authorizations"][at].clone();
    assert_eq!([of(&second, 0), of(&second, 1)], [of(&first, 1), of(&first, 0)]);
    assert_eq!(client.order(&["a.example", "c.example"]).await.json()["status"], "pending");
    let mut other = Client::new(&ca);
    other.register().await;
    assert_eq!(other.order(&["a.example"]).await.json()["status"], "pending");
    assert_eq!(other.read(first["finalize"].as_str().unwrap()).await.status, 404);
}

#[tokio::test]
async fn pending_authorizations_and_open_orders_are_handed_out_again_when_asked() {
    let (_ca, web, client) = stage(|options| options.reuse = Reuse::PendingAuthorizations).await;
    let first = client.order(&["a.example"]).await;
    let second = client.order(&["a.example"]).await;
    assert_ne!(first.header("location"), second.header("location"));
    assert_eq!(first.json()["authorizations"], second.json()["authorizations"]);
    drop((web, client));

    let (_ca, web, client) = stage(|options| options.reuse = Reuse::Orders).await;
    let first = client.order(&["a.example", "b.example"]).await;
    let again = client.order(&["b.example", "a.example"]).await;
    assert_eq!(first.header("location"), again.header("location"));
    let less = client.order(&["a.example"]).await;
    assert_ne!(first.header("location"), less.header("location"));
    let (url, order) = client.ready_order(&["a.example", "b.example"], &web).await;
    assert_eq!(url, first.header("location"));
    let names = ["a.example", "b.example"];
    assert_eq!(client.finalize(&order, &csr(&names)).await.status, 200);
    let next = client.order(&names).await;
    assert_ne!(first.header("location"), next.header("location"), "that one is used up");
}

#[tokio::test]
async fn a_csr_must_fit_the_order() {
    let (_ca, web, client) = stage(|_| {}).await;
    let (url, order) = client.ready_order(&["a.example", "b.example"], &web).await;
    let signed = |names: &[&str], common_name: Option<&str>, key: &KeyPair| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name = DistinguishedName::new();
        if let Some(name) = common_name {
            params.distinguished_name.push(DnType::CommonName, name);
        }
        params.serialize_request(key).unwrap().der().to_vec()
    };
    let key = KeyPair::generate().unwrap();
    let account_key = KeyPair::try_from(client.key.as_slice()).unwrap();
    let both = ["a.example", "b.example"];
    let mut broken = signed(&both, None, &key);
    *broken.last_mut().unwrap() ^= 1;
    let mut longer = signed(&both, None, &key);
    longer.push(0);
    let cases = [
        ("a name less", signed(&["a.example"], None, &key)),
        ("a name more", signed(&["a.example", "b.example", "c.example"], None, &key)),
        ("another common name", signed(&both, Some("c.example"), &key)),
        ("an address more", signed(&["a.example", "b.example", "127.0.0.1"], None, &key)),
        ("the account's key", signed(&both, None, &account_key)),
        ("a broken signature", broken),
        ("more behind it", longer),
        ("no CSR", b"none".to_vec()),
    ];
    for (name, csr) in cases {
        assert_eq!(client.finalize(&order, &csr).await.problem(), (400, "badCSR".into()), "{name}");
    }
    assert_eq!(client.read(&url).await.json()["status"], "ready");
    let good = signed(&["b.example"], Some("a.example"), &key);
    let finalized = client.finalize(&order, &good).await.json();
    assert_eq!(finalized["status"], "valid", "{finalized}");
    let again = client.finalize(&order, &good).await;
    assert_eq!(again.problem(), (403, "orderNotReady".into()));
    let pem = client.read(finalized["certificate"].as_str().unwrap()).await.body;
    let (_, block) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).unwrap();
    assert_eq!(block.parse_x509().unwrap().subject().to_string(), "CN=a.example");
}

#[tokio::test]
async fn keys_of_all_usual_kinds_are_certified() {
    let (_ca, web, client) = stage(|options| options.reuse = Reuse::ValidAuthorizations).await;
    for algorithm in [
        &rcgen::PKCS_ECDSA_P256_SHA256,
        &rcgen::PKCS_ECDSA_P384_SHA384,
        &rcgen::PKCS_ECDSA_P521_SHA512,
        &rcgen::PKCS_ED25519,
        &rcgen::PKCS_RSA_SHA256,
        &rcgen::PKCS_RSA_SHA512,
    ] {
        let (_, order) = client.ready_order(&["a.example"], &web).await;
        let key = KeyPair::generate_for(algorithm).unwrap();
        let mut params = CertificateParams::new(["a.example".to_owned()]).unwrap();
        params.distinguished_name = DistinguishedName::new();
        let csr = params.serialize_request(&key).unwrap().der().to_vec();
        let finalized = client.finalize(&order, &csr).await.json();
        let pem = client.read(finalized["certificate"].as_str().unwrap()).await.body;
        let (_, block) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).unwrap();
        let leaf = block.parse_x509().unwrap();
        let expected = rcgen::PublicKeyData::subject_public_key_info(&key);
        assert_eq!(leaf.public_key().raw, expected, "{algorithm:?}");
    }
}

#[tokio::test]
async fn a_slow_ca_is_processing_for_the_configured_time() {
    let (_ca, web, client) = stage(|options| {
        options.finalize_delay = Duration::from_millis(50);
        options.retry_after = Some("7".into());
    })
    .await;
    let (url, order) = client.ready_order(&["a.example"], &web).await;
    let mut answer = client.finalize(&order, &csr(&["a.example"])).await;
    assert_eq!(answer.json()["status"], "processing");
    assert!(answer.json().get("certificate").is_none());
    assert_eq!(answer.header("retry-after"), "7");
    while answer.json()["status"] == "processing" {
        answer = client.read(&url).await;
    }
    assert_eq!(answer.json()["status"], "valid");
    assert_eq!(answer.header("retry-after"), "");
}

#[tokio::test]
async fn orders_and_authorizations_expire_by_the_cas_clock() {
    let hours = Arc::new(AtomicI64::new(0));
    let clock = Arc::clone(&hours);
    let (_ca, web, client) = stage(|options| {
        options.clock = Arc::new(move || {
            now() + jiff::SignedDuration::from_hours(clock.load(Ordering::Relaxed))
        });
        options.order_lifetime = Duration::from_hours(8);
        options.authorization_lifetime = Duration::from_hours(12);
    })
    .await;
    let (ready_url, ready) = client.ready_order(&["a.example"], &web).await;
    let pending = client.order(&["b.example"]).await;
    hours.store(7, Ordering::Relaxed);
    assert_eq!(client.read(&ready_url).await.json()["status"], "ready");
    hours.store(8, Ordering::Relaxed);
    assert_eq!(client.read(&ready_url).await.json()["status"], "invalid");
    let late = client.finalize(&ready, &csr(&["a.example"])).await;
    assert_eq!(late.problem(), (403, "orderNotReady".into()));
    assert_eq!(client.read(pending.header("location")).await.json()["status"], "invalid");
    assert_eq!(client.authorizations(&pending.json()).await[0]["status"], "expired");
    assert_eq!(client.authorizations(&ready).await[0]["status"], "valid");
    hours.store(12, Ordering::Relaxed);
    assert_eq!(client.authorizations(&ready).await[0]["status"], "expired");
}

#[tokio::test]
async fn an_authorization_given_back_ends_its_order() {
    let (_ca, _web, client) = stage(|_| {}).await;
    let order = client.order(&["a.example"]).await;
    let url = order.json()["authorizations"][0].as_str().unwrap().to_owned();
    let given_back = client.post(&url, json!({ "status": "deactivated" })).await.json();
    assert_eq!(given_back["status"], "deactivated");
    let order = client.read(order.header("location")).await.json();
    assert_eq!(order["status"], "invalid");
    assert_eq!(order["error"]["subproblems"][0]["identifier"]["value"], "a.example");
}

#[tokio::test]
async fn a_certificate_is_revoked_once_by_its_account_or_its_key() {
    let (ca, web, client) = stage(|_| {}).await;
    let (_, order) = client.ready_order(&["a.example"], &web).await;
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["a.example".to_owned()]).unwrap();
    params.distinguished_name = DistinguishedName::new();
    let csr = params.serialize_request(&key).unwrap().der().to_vec();
    let finalized = client.finalize(&order, &csr).await.json();
    let pem = client.read(finalized["certificate"].as_str().unwrap()).await.body;
    let (_, block) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).unwrap();
    let revoke_url = client.url("/revoke-cert");
    let request = |reason: u8| json!({ "certificate": URL_SAFE_NO_PAD.encode(&block.contents), "reason": reason });
    let mut other = Client::new(&ca);
    let by_stranger_key = other.post(&revoke_url, request(1)).await.problem();
    other.register().await;
    let by_stranger = other.post(&revoke_url, request(1)).await.problem();
    assert_eq!([by_stranger, by_stranger_key], [(); 2].map(|()| (403, "unauthorized".into())));
    let reason = client.post(&revoke_url, request(7)).await.problem();
    assert_eq!(reason, (400, "badRevocationReason".into()));
    assert_eq!(ca.revoked(), 0);
    let by_key = Client { kid: String::new(), key: key.serialize_der(), ..other };
    assert_eq!(by_key.post(&revoke_url, request(1)).await.status, 200);
    let again = client.post(&revoke_url, request(1)).await.problem();
    assert_eq!(again, (400, "alreadyRevoked".into()));
    assert_eq!(ca.revoked(), 1);
}
