//! The CA with instant-acme, a client that does not share code with certctl's own: every step of
//! RFC 8555 that both know.

use std::collections::BTreeMap;
use std::pin::Pin;

use instant_acme::{
    Account, AccountCredentials, AuthorizationStatus, BodyWrapper, BytesResponse,
    CertificateIdentifier, ChallengeType, Error, ExternalAccountKey, HttpClient, Identifier,
    KeyAuthorization, NewAccount, NewOrder, Order, OrderStatus, RetryPolicy, RevocationReason,
    RevocationRequest,
};
use serde::Deserialize as _;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

use super::flow::{chain, verifies};
use super::web::Page;
use super::*;
use crate::pki::leaf_facts;

/// instant-acme's view of reqwest.
struct Wire(reqwest::Client);

impl HttpClient for Wire {
    fn request(
        &self,
        request: http::Request<BodyWrapper<bytes::Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let client = self.0.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let other = |error: reqwest::Error| Error::Other(Box::new(error));
            let body = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
            let request = client.request(head.method, head.uri.to_string()).headers(head.headers);
            let answer = request.body(body).send().await.map_err(other)?;
            let mut parts = http::Response::new(()).into_parts().0;
            parts.status = answer.status();
            parts.headers = answer.headers().clone();
            Ok(BytesResponse { parts, body: Box::new(answer.bytes().await.map_err(other)?) })
        })
    }
}

async fn account(
    ca: &Ca,
    binding: Option<&ExternalAccountKey>,
) -> Result<(Account, AccountCredentials), Error> {
    let wanted = NewAccount {
        contact: &["mailto:admin@example.com"],
        terms_of_service_agreed: true,
        only_return_existing: false,
    };
    Account::builder_with_http(Box::new(Wire(client::http(&ca.root_pem()))))
        .create(&wanted, ca.directory_url(), binding)
        .await
}

const PATIENCE: RetryPolicy =
    RetryPolicy::new().initial_delay(Duration::from_millis(2)).timeout(Duration::from_secs(20));

fn dns(names: &[&str]) -> Vec<Identifier> {
    names.iter().map(|name| Identifier::Dns((*name).to_owned())).collect()
}

/// Proves all names of an order by challenges of one type; `put` makes one of them true.
async fn prove(
    order: &mut Order,
    kind: ChallengeType,
    put: impl Fn(&str, &KeyAuthorization, &str),
) -> Result<(), Error> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        let mut challenge = authorization.challenge(kind.clone()).unwrap();
        let key = challenge.key_authorization();
        let Identifier::Dns(name) = challenge.identifier().identifier else { unreachable!() };
        put(name, &key, &challenge.token.clone());
        challenge.set_ready().await?;
    }
    Ok(())
}

/// A certificate for these names, by HTTP-01.
async fn issue(account: &Account, web: &Web, names: &[&str]) -> Result<String, Error> {
    let mut order = account.new_order(&NewOrder::new(&dns(names))).await?;
    prove(&mut order, ChallengeType::Http01, |_, key, token| {
        web.put(token, Page::Text(key.as_str().to_owned()));
    })
    .await?;
    order.poll_ready(&PATIENCE).await?;
    order.finalize().await?;
    order.poll_certificate(&PATIENCE).await
}

/// The type of the problem that the CA reported, without its prefix.
fn problem<T>(answer: Result<T, Error>) -> String {
    match answer {
        Ok(_) => String::new(),
        Err(Error::Api(problem)) => {
            let kind = problem.r#type.unwrap();
            kind.strip_prefix("urn:ietf:params:acme:error:").unwrap().to_owned()
        }
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_certificate_for_names_and_an_address() {
    let web = Web::start().await;
    let ca = Ca::start(options(&web)).await.unwrap();
    let (account, _) = account(&ca, None).await.unwrap();
    let identifiers = [
        Identifier::Dns("b.example".into()),
        Identifier::Dns("a.example".into()),
        Identifier::Ip([127, 0, 0, 1].into()),
    ];
    let mut order = account.new_order(&NewOrder::new(&identifiers)).await.unwrap();
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization.unwrap();
        let mut challenge = authorization.challenge(ChallengeType::Http01).unwrap();
        let content = challenge.key_authorization().as_str().to_owned();
        web.put(&challenge.token.clone(), Page::Text(content));
        challenge.set_ready().await.unwrap();
    }
    assert_eq!(order.poll_ready(&PATIENCE).await.unwrap(), OrderStatus::Ready);
    order.finalize().await.unwrap();
    let pem = order.poll_certificate(&PATIENCE).await.unwrap();

    let chain = chain(&pem);
    assert_eq!(chain.len(), 2);
    for name in ["a.example", "b.example", "127.0.0.1"] {
        assert!(verifies(&chain, &ca.root_pem(), name), "{name}");
    }
    assert!(!verifies(&chain, &ca.root_pem(), "c.example"));
    let (_, leaf) = x509_parser::certificate::X509Certificate::from_der(&chain[0]).unwrap();
    let names = &leaf.subject_alternative_name().unwrap().unwrap().value.general_names;
    assert_eq!(
        *names,
        [
            GeneralName::DNSName("b.example"),
            GeneralName::DNSName("a.example"),
            GeneralName::IPAddress(&[127, 0, 0, 1]),
        ]
    );
    assert_eq!(ca.created(RequestKind::NewAccount), 1);
    assert_eq!(ca.created(RequestKind::NewOrder), 1);
    assert_eq!(ca.issued(), 1);
    let mut hosts = web.hosts();
    hosts.sort();
    assert_eq!(hosts, ["127.0.0.1", "a.example", "b.example"]);
    let log = ca.log();
    assert_eq!(log.len(), ca.requests());
    assert_eq!(log[0].kind, RequestKind::Directory);
    assert!(log.iter().all(|entry| entry.delivered && entry.faults.is_empty()), "{log:#?}");
    assert!(log.iter().any(|entry| entry.kind == RequestKind::Certificate));
}

#[tokio::test]
async fn external_account_binding_is_checked() {
    let web = Web::start().await;
    let mut options = options(&web);
    options.external_account_keys = BTreeMap::from([("kid-1".into(), b"secret".to_vec())]);
    let ca = Ca::start(options).await.unwrap();
    let key = |id: &str, secret: &[u8]| ExternalAccountKey::new(id.into(), secret);
    let refused = async |key: Option<&ExternalAccountKey>| problem(account(&ca, key).await);
    assert_eq!(refused(None).await, "externalAccountRequired");
    assert_eq!(refused(Some(&key("kid-2", b"secret"))).await, "unauthorized");
    assert_eq!(refused(Some(&key("kid-1", b"other"))).await, "unauthorized");
    let (bound, _) = account(&ca, Some(&key("kid-1", b"secret"))).await.unwrap();
    issue(&bound, &web, &["a.example"]).await.unwrap();
    assert_eq!((ca.created(RequestKind::NewAccount), ca.issued()), (1, 1));
}

#[tokio::test]
async fn a_name_and_its_wildcard_by_dns01() {
    let web = Web::start().await;
    let zone = NameServer::start(BTreeMap::new()).unwrap();
    let mut options = options(&web);
    options.resolver = zone.resolver();
    let ca = Ca::start(options).await.unwrap();
    let (account, _) = account(&ca, None).await.unwrap();
    let names = ["a.example", "*.a.example"];
    let mut order = account.new_order(&NewOrder::new(&dns(&names))).await.unwrap();
    prove(&mut order, ChallengeType::Dns01, |name, key, _| {
        zone.add_txt(&format!("_acme-challenge.{name}"), &key.dns_value());
    })
    .await
    .unwrap();
    assert_eq!(order.poll_ready(&PATIENCE).await.unwrap(), OrderStatus::Ready);
    assert_eq!(zone.txt("_acme-challenge.a.example").len(), 2);
    order.finalize().await.unwrap();
    let chain = chain(&order.poll_certificate(&PATIENCE).await.unwrap());
    for (name, is_covered) in [("a.example", true), ("b.a.example", true), ("b.example", false)] {
        assert_eq!(verifies(&chain, &ca.root_pem(), name), is_covered, "{name}");
    }
}

#[tokio::test]
async fn a_wildcard_has_no_http01_challenge() {
    let web = Web::start().await;
    let ca = Ca::start(options(&web)).await.unwrap();
    let (account, _) = account(&ca, None).await.unwrap();
    let mut order = account.new_order(&NewOrder::new(&dns(&["*.a.example"]))).await.unwrap();
    let mut authorizations = order.authorizations();
    let authorization = authorizations.next().await.unwrap().unwrap();
    assert_eq!(authorization.identifier().to_string(), "*.a.example");
    let offered: Vec<_> = authorization.challenges.iter().map(|one| one.r#type.clone()).collect();
    assert_eq!(offered, [ChallengeType::Dns01]);
}

#[tokio::test]
async fn a_failed_validation_ends_the_order() {
    let web = Web::start().await;
    let ca = Ca::start(options(&web)).await.unwrap();
    let (account, _) = account(&ca, None).await.unwrap();
    let mut order = account.new_order(&NewOrder::new(&dns(&["a.example"]))).await.unwrap();
    prove(&mut order, ChallengeType::Http01, |_, _, token| {
        web.put(token, Page::Text("something else".to_owned()));
    })
    .await
    .unwrap();
    assert_eq!(problem(order.poll_ready(&PATIENCE).await), "unauthorized");
    assert_eq!((order.state().status, ca.issued()), (OrderStatus::Invalid, 0));
}

#[tokio::test]
async fn a_certificate_is_revoked_once_and_by_its_account_only() {
    let web = Web::start().await;
    let ca = Ca::start(options(&web)).await.unwrap();
    let (owner, _) = account(&ca, None).await.unwrap();
    let (stranger, _) = account(&ca, None).await.unwrap();
    let pem = issue(&owner, &web, &["a.example"]).await.unwrap();
    let leaf = &chain(&pem)[0];
    let revoke = async |by: &Account, reason| {
        problem(by.revoke(&RevocationRequest { certificate: leaf, reason }).await)
    };
    assert_eq!(revoke(&stranger, None).await, "unauthorized");
    assert_eq!(ca.revoked_serials(), []);
    assert_eq!(revoke(&owner, Some(RevocationReason::Superseded)).await, "");
    assert_eq!(ca.revoked_serials(), [(leaf_facts(&pem).unwrap().serial, 4)]);
    assert_eq!(revoke(&owner, None).await, "alreadyRevoked");
}

#[tokio::test]
async fn an_authorization_and_an_account_are_deactivated_for_good() {
    let web = Web::start().await;
    let ca = Ca::start(options(&web)).await.unwrap();
    let (owner, credentials) = account(&ca, None).await.unwrap();
    owner.update_contacts(&["mailto:ops@example.com"]).await.unwrap();
    let mut order = owner.new_order(&NewOrder::new(&dns(&["a.example"]))).await.unwrap();
    let mut authorizations = order.authorizations();
    let mut authorization = authorizations.next().await.unwrap().unwrap();
    let state = authorization.deactivate().await.unwrap();
    assert_eq!(state.status, AuthorizationStatus::Deactivated);
    assert_eq!(order.refresh().await.unwrap().status, OrderStatus::Invalid);

    owner.deactivate().await.unwrap();
    let again = Account::builder_with_http(Box::new(Wire(client::http(&ca.root_pem()))));
    let again = again.from_credentials(credentials).await.unwrap();
    assert_eq!(problem(issue(&again, &web, &["a.example"]).await), "unauthorized");
    assert_eq!(ca.issued(), 0);
}

#[tokio::test]
async fn a_nonce_that_is_refused_twice_delays_each_step_and_three_times_ends_it() {
    let web = Web::start().await;
    let ca = Ca::start(options(&web)).await.unwrap();
    ca.faults().add(Rule::rate(2, 3, Fault::BadNonce));
    let (owner, _) = account(&ca, None).await.unwrap();
    issue(&owner, &web, &["a.example"]).await.unwrap();
    ca.faults().clear();
    let (mut accepted, mut refused) = (0, 0);
    for entry in ca.log() {
        if matches!(entry.kind, RequestKind::Directory | RequestKind::NewNonce) {
            continue;
        }
        if entry.faults.is_empty() {
            accepted += 1;
        } else {
            refused += 1;
        }
    }
    assert!(accepted > 6 && refused >= 2 * (accepted - 1), "{accepted} {refused}");

    ca.faults().add(Rule::next(3, Fault::BadNonce));
    assert_eq!(problem(issue(&owner, &web, &["b.example"]).await), "badNonce");
    issue(&owner, &web, &["b.example"]).await.unwrap();
}

#[tokio::test]
async fn renewal_information_names_a_window_and_a_replacement_is_reflected() {
    let web = Web::start().await;
    let mut options = options(&web);
    options.renewal_info = true;
    let ca = Ca::start(options).await.unwrap();
    let (account, _) = account(&ca, None).await.unwrap();
    let pem = issue(&account, &web, &["a.example"]).await.unwrap();
    let id = serde_json::Value::from(leaf_facts(&pem).unwrap().certificate_id.unwrap());
    let id = CertificateIdentifier::deserialize(&id).unwrap();
    let (info, _) = account.renewal_info(&id).await.unwrap();
    let (window, opens) = (info.suggested_window, "2027-03-16T11:40:00Z".parse::<Timestamp>());
    assert_eq!(window.start.unix_timestamp(), opens.unwrap().as_second());
    assert!(window.end > window.start);
    // The client itself fails when the CA leaves `replaces` out of its answer.
    let names = dns(&["a.example"]);
    account.new_order(&NewOrder::new(&names).replaces(id)).await.unwrap();
    assert_eq!(ca.replacements().len(), 1);
}
