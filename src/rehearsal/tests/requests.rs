//! Requests that are refused, and why.

use reqwest::Method;
use serde_json::{Value, json};

use super::*;

const JOSE: &str = "application/jose+json";

#[tokio::test]
async fn requests_are_opened_only_when_every_check_passes() {
    let (ca, _web, client) = stage(|_| {}).await;
    let url = client.url("/new-order");
    let stranger = Client::new(&ca);
    let kid = client.kid.clone();
    let payload = json!({ "identifiers": [{ "type": "dns", "value": "a.example" }] });
    // What is changed in the header of a good request, and the answer to it.
    let cases: &[(&str, Value, (u16, &str))] = &[
        ("good", json!({}), (201, "no problem")),
        ("alg", json!({ "alg": "none" }), (400, "badSignatureAlgorithm")),
        ("alg of another key", json!({ "alg": "RS256" }), (400, "badSignatureAlgorithm")),
        ("url", json!({ "url": client.url("/new-account") }), (403, "unauthorized")),
        ("unknown nonce", json!({ "nonce": "AAAAAAAAAAAAAAAAAAAAAA" }), (400, "badNonce")),
        ("no nonce", json!({ "nonce": null }), (400, "badNonce")),
        ("no key", json!({ "kid": null }), (400, "malformed")),
        ("key and account", json!({ "jwk": client.jwk() }), (400, "malformed")),
        ("jwk", json!({ "kid": null, "jwk": client.jwk() }), (400, "malformed")),
        ("unknown kid", json!({ "kid": client.url("/account/999") }), (400, "accountDoesNotExist")),
        (
            "foreign kid",
            json!({ "kid": "https://ca.example/account/1" }),
            (400, "accountDoesNotExist"),
        ),
        ("crit", json!({ "crit": ["b64"] }), (400, "malformed")),
    ];
    for (name, change, expected) in cases {
        let mut header = json!({
            "alg": "ES256", "url": url, "kid": kid, "nonce": client.nonce().await,
        });
        for (field, value) in change.as_object().unwrap() {
            header[field] = value.clone();
        }
        let body = client.sign(&header, Some(&payload)).to_string();
        let answer = client.send(Method::POST, &url, JOSE, body).await.unwrap();
        assert_eq!(answer.problem(), (expected.0, expected.1.to_owned()), "{name}");
        assert!(!answer.header("replay-nonce").is_empty(), "{name}");
    }

    let header =
        async || json!({ "alg": "ES256", "url": url, "kid": kid, "nonce": client.nonce().await });
    let forged = stranger.sign(&header().await, Some(&payload)).to_string();
    let mut extra = client.sign(&header().await, Some(&payload));
    extra["header"] = json!({});
    let good = client.sign(&header().await, Some(&payload)).to_string();
    let cases = [
        ("forged", JOSE, forged, (400, "malformed")),
        ("unprotected header", JOSE, extra.to_string(), (400, "malformed")),
        ("not JSON", JOSE, "{".into(), (400, "malformed")),
        ("content type", "application/json", good.clone(), (415, "malformed")),
        ("the same, now good", JOSE, good.clone(), (201, "no problem")),
        ("sent twice", JOSE, good, (400, "badNonce")),
        ("too long", JOSE, " ".repeat(256 * 1024 + 1), (413, "malformed")),
    ];
    for (name, content_type, body, expected) in cases {
        let answer = client.send(Method::POST, &url, content_type, body).await.unwrap();
        assert_eq!(answer.problem(), (expected.0, expected.1.to_owned()), "{name}");
    }
    for (path, expected) in [("/new-order", 405), ("/order/1", 405), ("/none", 404)] {
        assert_eq!(client.get(&client.url(path)).await.unwrap().status, expected, "{path}");
    }
    let head = client.send(Method::HEAD, &client.url("/new-nonce"), "", String::new()).await;
    let head = head.unwrap();
    assert_eq!(head.status, 200);
    assert!(!head.header("replay-nonce").is_empty());
    let get = client.send(Method::POST, &client.url("/directory"), JOSE, String::new()).await;
    assert_eq!(get.unwrap().status, 405);
}

#[tokio::test]
async fn an_rsa_account_key_signs_too() {
    use aws_lc_rs::encoding::AsDer;
    use aws_lc_rs::rsa::{KeyPair, KeySize};
    use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    let (ca, _web, client) = stage(|_| {}).await;
    let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
    assert!(!key.public_key().as_der().unwrap().as_ref().is_empty());
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let (n, e) = (key.public_key().modulus(), key.public_key().exponent());
    let jwk = json!({
        "kty": "RSA",
        "n": encode(n.big_endian_without_leading_zero()),
        "e": encode(e.big_endian_without_leading_zero()),
    });
    let url = client.url("/new-account");
    let header = json!({ "alg": "RS256", "url": url, "jwk": jwk, "nonce": client.nonce().await });
    let protected = encode(header.to_string().as_bytes());
    let payload = encode(json!({ "termsOfServiceAgreed": true }).to_string().as_bytes());
    let mut signature = vec![0; key.public_modulus_len()];
    let random = aws_lc_rs::rand::SystemRandom::new();
    let input = format!("{protected}.{payload}");
    key.sign(&RSA_PKCS1_SHA256, &random, input.as_bytes(), &mut signature).unwrap();
    let body =
        json!({ "protected": protected, "payload": payload, "signature": encode(&signature) });
    let answer = client.send(Method::POST, &url, JOSE, body.to_string()).await.unwrap();
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert_eq!(ca.created(RequestKind::NewAccount), 2);
}

#[tokio::test]
async fn accounts_are_found_changed_and_deactivated() {
    let (ca, _web, client) = stage(|_| {}).await;
    let new_account = client.url("/new-account");
    let mut other = Client::new(&ca);
    let cases = [
        (json!({ "onlyReturnExisting": true }), (400, "accountDoesNotExist")),
        (json!({ "contact": [] }), (400, "malformed")),
        (
            json!({ "termsOfServiceAgreed": true, "contact": ["tel:1"] }),
            (400, "unsupportedContact"),
        ),
        (json!({ "termsOfServiceAgreed": true, "contact": ["mailto:x"] }), (400, "invalidContact")),
    ];
    for (payload, expected) in cases {
        let found = other.post(&new_account, payload.clone()).await.problem();
        assert_eq!(found, (expected.0, expected.1.to_owned()), "{payload}");
    }
    other.register().await;
    assert_eq!(ca.created(RequestKind::NewAccount), 2);

    let by_key = Client { kid: String::new(), ..other };
    let found = by_key.post(&new_account, json!({ "onlyReturnExisting": true })).await;
    assert_eq!(found.status, 200);
    let me = Client { kid: found.header("location").to_owned(), ..by_key };
    let contact = json!({ "contact": ["mailto:new@example.com"] });
    let changed = me.post(&me.kid, contact).await.json();
    assert_eq!(changed, json!({ "status": "valid", "contact": ["mailto:new@example.com"] }));
    assert_eq!(me.read(&me.kid).await.json(), changed);
    assert_eq!(me.read(&client.kid).await.problem(), (403, "unauthorized".into()));
    let gone = me.post(&me.kid, json!({ "status": "deactivated" })).await;
    assert_eq!(gone.json()["status"], "deactivated");
    assert_eq!(me.read(&me.kid).await.problem(), (403, "unauthorized".into()));
    assert_eq!(me.order(&["a.example"]).await.problem(), (403, "unauthorized".into()));
}

#[tokio::test]
async fn an_external_account_is_bound_to_this_key_and_this_url_only() {
    use aws_lc_rs::hmac;
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    // `register` is refused here: the client stays without an account.
    let (_ca, _web, client) = stage(|options| {
        options.external_account_keys = [("kid-1".to_owned(), b"secret".to_vec())].into();
    })
    .await;
    let stranger = Client { key: rcgen::KeyPair::generate().unwrap().serialize_der(), ..client };
    let strange_jwk = stranger.jwk();
    let client = Client { key: rcgen::KeyPair::generate().unwrap().serialize_der(), ..stranger };
    let url = client.url("/new-account");
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let cases = [
        ("another key", json!({}), &strange_jwk, (400, "malformed")),
        (
            "another url",
            json!({ "url": client.url("/new-order") }),
            &client.jwk(),
            (400, "malformed"),
        ),
        ("a nonce", json!({ "nonce": "AAAA" }), &client.jwk(), (400, "malformed")),
        ("another alg", json!({ "alg": "none" }), &client.jwk(), (400, "malformed")),
        ("good", json!({}), &client.jwk(), (201, "no problem")),
    ];
    for (name, change, jwk, expected) in cases {
        let mut header = json!({ "alg": "HS256", "kid": "kid-1", "url": url });
        for (field, value) in change.as_object().unwrap() {
            header[field] = value.clone();
        }
        let (protected, payload) = (encode(&header), encode(jwk));
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"secret");
        let mac = hmac::sign(&key, format!("{protected}.{payload}").as_bytes());
        let binding = json!({
            "protected": protected,
            "payload": payload,
            "signature": URL_SAFE_NO_PAD.encode(mac.as_ref()),
        });
        let wanted = json!({ "termsOfServiceAgreed": true, "externalAccountBinding": binding });
        let found = client.post(&url, wanted).await.problem();
        assert_eq!(found, (expected.0, expected.1.to_owned()), "{name}");
    }
}
