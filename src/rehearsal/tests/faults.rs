//! Each fault, seen from the client.

use serde_json::{Value, json};

use super::client::csr;
use super::*;
use crate::resource::AuthorizationState;

#[tokio::test]
async fn answers_instead_of_deeds() {
    let (ca, _web, client) = stage(|_| {}).await;
    let faults = ca.faults();
    let cases: Vec<(Fault, u16, &str, &str)> = vec![
        (Fault::BadNonce, 400, "application/problem+json", ""),
        (Fault::rate_limited(Some("120")), 429, "application/problem+json", "120"),
        (
            Fault::unavailable(Some("Fri, 15 Jan 2027 13:00:00 GMT")),
            503,
            "application/problem+json",
            "Fri, 15 Jan 2027 13:00:00 GMT",
        ),
        (Fault::Html { status: 502 }, 502, "text/html; charset=utf-8", ""),
    ];
    for (fault, status, media_type, retry_after) in cases {
        faults.add(Rule::next(1, fault.clone()).on(RequestKind::NewOrder));
        let answer = client.order(&["a.example"]).await;
        assert_eq!(answer.status, status, "{fault:?}");
        assert_eq!(answer.header("content-type"), media_type);
        assert_eq!(answer.header("retry-after"), retry_after);
        assert!(!answer.header("replay-nonce").is_empty());
        assert_eq!(ca.log().last().unwrap().faults, [fault.name()]);
        assert_eq!(client.order(&["a.example"]).await.status, 201, "only once");
    }
    assert_eq!(ca.created(RequestKind::NewOrder), 4);
}

#[tokio::test]
async fn a_bad_nonce_rate_hits_signed_requests_only() {
    let (ca, _web, client) = stage(|_| {}).await;
    ca.faults().add(Rule::rate(1, 2, Fault::BadNonce));
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(client.read(&client.kid).await.status);
    }
    assert_eq!(statuses, [200, 400, 200, 400]);
}

#[tokio::test]
async fn a_lost_reply_is_a_deed_done_and_a_closed_connection_is_none() {
    let (ca, _web, client) = stage(|_| {}).await;
    let payload = || Some(json!({ "identifiers": [{ "type": "dns", "value": "a.example" }] }));
    let url = client.url("/new-order");
    for (fault, created) in [(Fault::LoseReply, 1), (Fault::CloseUnhandled, 1)] {
        ca.faults().add(Rule::next(1, fault.clone()).on(RequestKind::NewOrder));
        let error = client.try_post(&url, payload()).await.unwrap_err();
        assert!(error.is_request(), "{error:?}");
        assert_eq!(ca.created(RequestKind::NewOrder), created, "{fault:?}");
    }
    let last: Vec<(Option<u16>, bool)> = ca
        .log()
        .iter()
        .filter(|entry| entry.kind == RequestKind::NewOrder)
        .map(|entry| (entry.status, entry.delivered))
        .collect();
    assert_eq!(last, [(Some(201), false), (None, false)]);
}

#[tokio::test]
async fn bodies_and_headers_are_spoiled() {
    let (ca, _web, client) = stage(|_| {}).await;
    let directory = ca.directory_url();
    let next = |fault| ca.faults().add(Rule::next(1, fault));
    next(Fault::TruncateBody);
    let error = client.get(&directory).await.unwrap_err();
    assert!(error.is_decode() || error.is_body(), "{error:?}");
    next(Fault::HugeBody(3_000_000));
    let huge = client.get(&directory).await.unwrap();
    assert_eq!(huge.body.len(), 3_000_000);
    assert!(huge.json()["newOrder"].is_string());
    next(Fault::ReplaceBody("{".into()));
    assert_eq!(client.get(&directory).await.unwrap().body, "{");
    next(Fault::SetHeader("retry-after", "-1".into()));
    assert_eq!(client.get(&directory).await.unwrap().header("retry-after"), "-1");
    next(Fault::Delay(Duration::from_millis(1)));
    assert_eq!(client.get(&directory).await.unwrap().status, 200);
    assert_eq!(ca.log().last().unwrap().faults, ["delay"]);

    ca.faults().add(Rule::always(Fault::DropHeader("location")).on(RequestKind::NewOrder));
    let order = client.order(&["a.example"]).await;
    assert_eq!((order.status, order.header("location")), (201, ""));
    ca.faults().clear();
    next(Fault::PlainHttpUrls);
    let plain = client.get(&directory).await.unwrap().json();
    assert_eq!(plain["newOrder"], client.url("/new-order").replace("https:", "http:"));
    ca.faults().add(
        Rule::next(1, Fault::ForeignUrls("https://elsewhere.example".into()))
            .on(RequestKind::NewOrder),
    );
    let foreign = client.order(&["a.example"]).await;
    assert!(foreign.header("location").starts_with("https://elsewhere.example/order/"));
    let authorization = foreign.json()["authorizations"][0].as_str().unwrap().to_owned();
    assert!(authorization.starts_with("https://elsewhere.example/authorization/"));
}

#[tokio::test]
async fn documents_are_spoiled() {
    let (ca, _web, client) = stage(|_| {}).await;
    let faults = ca.faults();
    faults.add(Rule::always(Fault::StatusWord("dreaming".into())).on(RequestKind::Order));
    let foreign = Fault::ForeignIdentifier("bank.example".into());
    faults.add(Rule::always(foreign.clone()).on(RequestKind::NewOrder));
    faults.add(Rule::always(foreign).on(RequestKind::Authorization));
    let order = client.order(&["a.example"]).await;
    let names = |order: &Value| {
        let list = order["identifiers"].as_array().unwrap().iter();
        list.map(|one| one["value"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&order.json()), ["a.example", "bank.example"]);
    let authorization = &client.authorizations(&order.json()).await[0];
    assert_eq!(authorization["identifier"]["value"], "bank.example");
    let order = client.read(order.header("location")).await.json();
    assert_eq!((names(&order), &order["status"]), (vec!["a.example".into()], &json!("dreaming")));
}

#[tokio::test]
async fn tokens_and_first_states_are_as_configured() {
    let (ca, _web, client) = stage(|_| {}).await;
    let faults = ca.faults();
    for token in ["../../x", "a/b", "", &"x".repeat(4096), "nul\0"] {
        faults.add(Rule::next(1, Fault::Token(token.into())).for_name("a.example"));
        let order = client.order(&["b.example", "a.example"]).await.json();
        let found = client.authorizations(&order).await;
        assert_ne!(found[0]["challenges"][0]["token"], token);
        assert_eq!(found[1]["challenges"][0]["token"], token);
    }
    let cases = [
        (AuthorizationState::Valid, "valid", "ready"),
        (AuthorizationState::Invalid, "invalid", "invalid"),
        (AuthorizationState::Revoked, "revoked", "invalid"),
    ];
    for (born, word, order_status) in cases {
        faults.add(Rule::next(1, Fault::BornAs(born)));
        let order = client.order(&["a.example"]).await.json();
        assert_eq!(order["status"], order_status);
        assert_eq!(client.authorizations(&order).await[0]["status"], word);
    }
}

#[tokio::test]
async fn validation_refuses_the_configured_names() {
    let (ca, web, client) = stage(|_| {}).await;
    let refuse = Fault::Refuse { kind: ProblemType::Caa, detail: "CAA forbids it".into() };
    ca.faults().add(Rule::always(refuse).for_name("*.bad.example"));
    client.ready_order(&["good.example"], &web).await;
    let order = client.order(&["a.bad.example", "b.bad.example"]).await;
    for authorization in client.authorizations(&order.json()).await {
        let decided = client.accept(&authorization["challenges"][0]).await;
        assert_eq!(decided["error"]["type"], "urn:ietf:params:acme:error:caa");
    }
    let order = client.read(order.header("location")).await.json();
    assert_eq!(order["status"], "invalid");
    assert_eq!(order["error"]["subproblems"].as_array().unwrap().len(), 2);
    assert_eq!(web.hosts(), ["good.example"]);
}

#[tokio::test]
async fn a_slow_finalize_counts_the_polls() {
    let (ca, web, client) = stage(|_| {}).await;
    let slow = Fault::SlowFinalize { polls: 2, retry_after: Some("86400".into()) };
    ca.faults().add(Rule::next(1, slow));
    let (url, order) = client.ready_order(&["a.example"], &web).await;
    let mut seen = vec![client.finalize(&order, &csr(&["a.example"])).await];
    for _ in 0..3 {
        seen.push(client.read(&url).await);
    }
    let states: Vec<(String, &str)> = seen
        .iter()
        .map(|answer| {
            (answer.json()["status"].as_str().unwrap().to_owned(), answer.header("retry-after"))
        })
        .collect();
    let processing = || ("processing".to_owned(), "86400");
    assert_eq!(states, [processing(), processing(), processing(), ("valid".into(), "")]);
}

/// What a client can see of a downloaded chain.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    certificates: usize,
    key_fits: bool,
    names: Vec<String>,
    days: (i64, i64),
    is_linked: bool,
    leaf_first: bool,
}

fn look(pem: &str, key: &[u8]) -> Seen {
    use x509_parser::extensions::GeneralName;
    let blocks: Vec<_> =
        x509_parser::pem::Pem::iter_from_buffer(pem.as_bytes()).filter_map(Result::ok).collect();
    let certificates: Vec<_> = blocks.iter().map(|block| block.parse_x509().unwrap()).collect();
    let leaf = certificates.iter().find(|one| !one.is_ca()).unwrap();
    let issuer = certificates.iter().find(|one| one.is_ca()).unwrap();
    let names = &leaf.subject_alternative_name().unwrap().unwrap().value.general_names;
    let text = |name: &GeneralName<'_>| {
        if let GeneralName::DNSName(name) = name { (*name).to_owned() } else { name.to_string() }
    };
    let days = |time: x509_parser::time::ASN1Time| (time.timestamp() - now().as_second()) / 86_400;
    let key_id = |one: &x509_parser::certificate::X509Certificate<'_>, oid: &str, skip: usize| {
        let found = one.iter_extensions().find(|e| e.oid.to_id_string() == oid).unwrap();
        found.value[skip..].to_vec()
    };
    Seen {
        certificates: certificates.len(),
        key_fits: leaf.public_key().raw == key,
        names: names.iter().map(text).collect(),
        days: (days(leaf.validity().not_before), days(leaf.validity().not_after)),
        is_linked: key_id(leaf, "2.5.29.35", 4) == key_id(issuer, "2.5.29.14", 2),
        leaf_first: !certificates[0].is_ca(),
    }
}

#[tokio::test]
async fn certificates_are_wrong_in_the_way_asked_for() {
    let (ca, web, client) = stage(|options| options.reuse = Reuse::ValidAuthorizations).await;
    let key = rcgen::KeyPair::generate().unwrap();
    let spki = rcgen::PublicKeyData::subject_public_key_info(&key);
    let mut params = rcgen::CertificateParams::new(["a.example".to_owned()]).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    let csr = params.serialize_request(&key).unwrap().der().to_vec();
    let download = async || {
        let (_, order) = client.ready_order(&["a.example"], &web).await;
        let finalized = client.finalize(&order, &csr).await.json();
        client.read(finalized["certificate"].as_str().unwrap()).await.body
    };
    let good = || Seen {
        certificates: 2,
        key_fits: true,
        names: vec!["a.example".into()],
        days: (0, 90),
        is_linked: true,
        leaf_first: true,
    };
    assert_eq!(look(&download().await, &spki), good());
    let other_names = WrongCertificate::OtherNames(vec!["b.example".into()]);
    let address = WrongCertificate::ExtraAddress([192, 0, 2, 1].into());
    let cases = [
        (WrongCertificate::OtherKey, Seen { key_fits: false, ..good() }),
        (other_names, Seen { names: vec!["b.example".into()], ..good() }),
        (WrongCertificate::Expired, Seen { days: (-2, 0), ..good() }),
        (WrongCertificate::NotYetValid, Seen { days: (10, 90), ..good() }),
        (WrongCertificate::BrokenChain, Seen { is_linked: false, ..good() }),
        (WrongCertificate::LeafLast, Seen { leaf_first: false, ..good() }),
    ];
    for (wrong, expected) in cases {
        ca.faults().add(Rule::next(1, Fault::Certificate(wrong.clone())));
        assert_eq!(look(&download().await, &spki), expected, "{wrong:?}");
    }
    ca.faults().add(Rule::next(1, Fault::Certificate(address)));
    assert_eq!(look(&download().await, &spki).names.len(), 2);
    ca.faults().add(Rule::next(1, Fault::Certificate(WrongCertificate::Garbage)));
    assert!(x509_parser::pem::parse_x509_pem(download().await.as_bytes()).is_err());
    ca.faults().add(Rule::next(1, Fault::Certificate(WrongCertificate::Empty)));
    assert_eq!(download().await, "");
    assert_eq!(look(&download().await, &spki), good());
}
