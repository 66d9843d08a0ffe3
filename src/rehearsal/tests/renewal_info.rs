//! Renewal information and replacements (RFC 9773).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::client::{Answer, csr};
use super::*;
use crate::pki::{Chain, leaf_facts};
use crate::resource::OrderState;

async fn informing() -> (Ca, Web, Client) {
    stage(|options| options.renewal_info = true).await
}

/// The identifier of a certificate for this name.
async fn issued(client: &Client, web: &Web, name: &str) -> String {
    let pem = client.issue(&[name], web).await.body;
    leaf_facts(&pem).unwrap().certificate_id.unwrap()
}

async fn ask(client: &Client, id: &str) -> Answer {
    client.get(&client.url(&format!("/renewal-info/{id}"))).await.unwrap()
}

async fn replace(client: &Client, id: &str, name: &str) -> Answer {
    let identifiers = json!([{ "type": "dns", "value": name }]);
    let payload = json!({ "identifiers": identifiers, "replaces": id });
    client.post(&client.url("/new-order"), payload).await
}

fn window(start: &str, end: &str) -> Value {
    json!({ "suggestedWindow": { "start": start, "end": end } })
}

#[tokio::test]
async fn the_usual_window_opens_at_two_thirds_of_the_life_and_lasts_a_24th() {
    let (ca, web, client) = informing().await;
    let directory = client.get(&client.directory_url).await.unwrap().json();
    assert_eq!(directory["renewalInfo"], client.url("/renewal-info"));
    let id = issued(&client, &web, "a.example").await;
    let answer = ask(&client, &id).await;
    assert_eq!(answer.json(), window("2027-03-16T11:40:00Z", "2027-03-20T05:42:30Z"));
    assert_eq!((answer.status, answer.header("retry-after")), (200, "21600"));
    let last = ca.log().pop().unwrap();
    assert_eq!((last.kind, last.status), (RequestKind::RenewalInfo, Some(200)));
    for unknown in ["", "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE", "x"] {
        assert_eq!(ask(&client, unknown).await.problem(), (404, "malformed".into()), "{unknown}");
    }
    let post = client.post(&client.url(&format!("/renewal-info/{id}")), json!({})).await;
    assert_eq!(post.status, 405);
}

#[tokio::test]
async fn a_revoked_certificate_is_to_be_renewed_at_once_unless_a_test_says_else() {
    let (ca, web, client) = informing().await;
    let pem = client.issue(&["a.example"], &web).await.body;
    let id = leaf_facts(&pem).unwrap().certificate_id.unwrap();
    let chain = Chain::from_pem(&pem).unwrap();
    let certificate = URL_SAFE_NO_PAD.encode(&chain.certificates()[0]);
    client.post(&client.url("/revoke-cert"), json!({ "certificate": certificate })).await;
    let past = window("2027-01-15T11:00:00Z", "2027-01-15T11:30:00Z");
    assert_eq!(ask(&client, &id).await.json(), past);
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let suggested = SuggestedRenewal {
        start: at("2027-02-02T00:00:00Z"),
        end: at("2027-02-01T00:00:00Z"),
        explanation_url: Some("https://ca.example/why".into()),
        retry_after: Some("never".into()),
    };
    assert!(ca.suggest_renewal(&id, Some(suggested.clone())));
    let answer = ask(&client, &id).await;
    let mut expected = window("2027-02-02T00:00:00Z", "2027-02-01T00:00:00Z");
    expected["explanationURL"] = json!("https://ca.example/why");
    assert_eq!((answer.json(), answer.header("retry-after")), (expected, "never"));
    assert!(ca.suggest_renewal(&id, None));
    assert_eq!(ask(&client, &id).await.json(), past);
    assert!(!ca.suggest_renewal("x", Some(suggested)));
}

#[tokio::test]
async fn faults_spoil_the_renewal_information_of_the_names_they_are_for() {
    let (ca, web, client) = informing().await;
    let (one, other) =
        (issued(&client, &web, "a.example").await, issued(&client, &web, "b.example").await);
    let on = |fault| Rule::next(1, fault).on(RequestKind::RenewalInfo).for_name("a.example");
    let down = Fault::unavailable(Some("60"));
    for fault in [down, Fault::ReplaceBody("{".into()), Fault::HugeBody(2_000_000)] {
        ca.faults().add(on(fault.clone()));
        assert_eq!(ask(&client, &other).await.status, 200);
        let spoiled = ask(&client, &one).await;
        let is_whole = spoiled.status == 200 && (3..1000).contains(&spoiled.body.len());
        assert!(!is_whole, "{fault:?}: {}", spoiled.body);
        assert_eq!(ca.log().last().unwrap().faults, [fault.name()]);
        assert_eq!(ask(&client, &one).await.status, 200);
    }
}

#[tokio::test]
async fn an_order_replaces_a_certificate_of_its_account_and_names_once() {
    let (ca, web, client) = informing().await;
    let id = issued(&client, &web, "a.example").await;
    let mut other = Client::new(&ca);
    other.register().await;
    let refused = [
        (replace(&client, "aYhba4.AIdlQyE", "a.example").await, (404, "malformed")),
        (replace(&other, &id, "a.example").await, (403, "unauthorized")),
        (replace(&client, &id, "b.example").await, (400, "malformed")),
    ];
    for (answer, (status, kind)) in refused {
        assert_eq!(answer.problem(), (status, kind.to_owned()), "{}", answer.body);
    }
    assert_eq!(ca.replacements(), []);

    let first = replace(&client, &id, "a.example").await;
    assert_eq!((first.status, &first.json()["replaces"]), (201, &json!(id)));
    let again = async || replace(&client, &id, "a.example").await;
    assert_eq!(again().await.problem(), (409, "alreadyReplaced".into()));
    // An order that failed leaves the certificate to the next one.
    let authorization = first.json()["authorizations"][0].as_str().unwrap().to_owned();
    client.post(&authorization, json!({ "status": "deactivated" })).await;
    let second = again().await;
    let url = second.header("location").to_owned();
    client.prove(&second.json(), &web).await;
    let order = client.read(&url).await.json();
    client.finalize(&order, &csr(&["a.example"])).await;
    assert_eq!(client.read(&url).await.json()["replaces"], json!(id));
    assert_eq!(again().await.problem(), (409, "alreadyReplaced".into()));
    let replaced = |answer: &Answer, state| (id.clone(), answer.header("location").into(), state);
    let expected = [replaced(&first, OrderState::Invalid), replaced(&second, OrderState::Valid)];
    assert_eq!(ca.replacements(), expected);
}

#[tokio::test]
async fn replacements_are_exempt_from_the_limit_of_orders() {
    let limit = Some((1, SignedDuration::from_hours(1)));
    let (_ca, web, client) = stage(|options| {
        (options.renewal_info, options.order_limit) = (true, limit);
    })
    .await;
    let id = issued(&client, &web, "a.example").await;
    assert_eq!(client.order(&["a.example"]).await.status, 429);
    assert_eq!(replace(&client, &id, "a.example").await.status, 201);
}

#[tokio::test]
async fn without_the_option_there_is_no_renewal_information_and_replaces_is_ignored() {
    let (ca, web, client) = stage(|_| {}).await;
    let directory = client.get(&client.directory_url).await.unwrap().json();
    assert_eq!(directory.get("renewalInfo"), None);
    let id = issued(&client, &web, "a.example").await;
    assert_eq!(ask(&client, &id).await.status, 404);
    for unheard in [&*id, "x"] {
        let order = replace(&client, unheard, "a.example").await;
        assert_eq!((order.status, order.json().get("replaces")), (201, None));
    }
    assert_eq!(ca.replacements(), []);
}
