//! The client against a scripted CA.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::fake::{Fake, Reply, Seen, quick};
use super::*;
use crate::resource::{
    AuthorizationState, ChallengeType, Identifier, OrderState, Problem, Subproblem,
};

const TOKEN: &str = "evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA";
const CHAIN: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

fn dns(name: &str) -> Identifier {
    Identifier::Dns(name.parse().unwrap())
}

fn asked() -> NewOrder {
    NewOrder { identifiers: vec![dns("a.test"), dns("*.b.test")], profile: None, not_after: None }
}

fn order_json(fake: &Fake, status: &str) -> Value {
    json!({
        "status": status, "expires": "2026-11-27T00:00:00Z",
        "identifiers": [{"type": "dns", "value": "*.b.test"}, {"type": "dns", "value": "A.test"}],
        "authorizations": [fake.url("/authz/1"), fake.url("/authz/2")],
        "finalize": fake.url("/order/1/finalize"),
    })
}

fn authorization_json(fake: &Fake) -> Value {
    json!({
        "status": "pending", "identifier": {"type": "dns", "value": "b.test"}, "wildcard": true,
        "expires": "soon",
        "challenges": [
            {"type": "dns-01", "url": fake.url("/chall/1"), "token": TOKEN, "status": "pending"},
            {"type": "dns-persist-01", "url": fake.url("/chall/2"), "status": "dreaming"},
        ],
    })
}

/// A CA that does everything right.
fn good(fake: &Fake, seen: &Seen) -> Option<Reply> {
    let order = |status| order_json(fake, status);
    Some(match (seen.method.as_str(), seen.path.as_str()) {
        ("POST", "/account") => {
            Reply::json(201, &json!({"status": "valid"})).with("Location", fake.url("/account/1"))
        }
        ("POST", "/new-order") => {
            Reply::json(201, &order("pending")).with("Location", fake.url("/order/1"))
        }
        ("POST", "/authz/1") => Reply::json(200, &authorization_json(fake)),
        ("POST", "/chall/1") => Reply::json(
            200,
            &json!({
                "type": "dns-01", "url": fake.url("/chall/1"), "token": TOKEN,
                "status": "processing",
            }),
        ),
        ("POST", "/order/1/finalize") => {
            Reply::json(200, &order("processing")).with("Retry-After", "3")
        }
        ("POST", "/order/1") => {
            let mut valid = order("valid");
            valid["certificate"] = json!(fake.url("/cert/1"));
            Reply::json(200, &valid)
        }
        ("POST", "/cert/1") => Reply::new(200, CHAIN)
            .with("Link", format!("<{}>;rel=\"index\"", fake.url("/dir")))
            .with("Link", "</cert/1/1>;rel=\"alternate\", <http://x/2>;rel=\"alternate\""),
        ("POST", "/cert/1/1") => Reply::new(200, CHAIN),
        _ => return None,
    })
}

fn session(fake: &Fake) -> Session {
    session_of(fake, &fake.client())
}

fn session_of(fake: &Fake, client: &Arc<Client>) -> Session {
    client.account(&AccountKey::generate().unwrap(), &fake.url("/account/1"))
}

fn view(fake: &Fake, state: OrderState) -> OrderView {
    OrderView {
        url: fake.url("/order/1"),
        state,
        identifiers: vec![dns("*.b.test"), dns("a.test")],
        authorizations: vec![fake.url("/authz/1"), fake.url("/authz/2")],
        finalize_url: Some(fake.url("/order/1/finalize")),
        certificate_url: None,
        expires: Some("2026-11-27T00:00:00Z".parse().unwrap()),
        problem: None,
        retry_after: None,
    }
}

#[tokio::test]
async fn an_issuance_is_one_request_per_deed_plus_directory_and_one_nonce() {
    let fake = Fake::start(good).await;
    let client = fake.client();
    let session = session_of(&fake, &client);

    assert_eq!(session.new_order(&asked()).await, Ok(view(&fake, OrderState::Pending)));
    let authorization = session.authorization(&fake.url("/authz/1")).await.unwrap();
    let challenge = ChallengeView {
        kind: ChallengeType::Dns01,
        url: fake.url("/chall/1"),
        token: TOKEN.into(),
        state: AuthorizationState::Pending,
        problem: None,
    };
    let odd = ChallengeView {
        kind: ChallengeType::Other("dns-persist-01".into()),
        url: fake.url("/chall/2"),
        token: String::new(),
        state: AuthorizationState::Other("dreaming".into()),
        problem: None,
    };
    assert_eq!(
        authorization,
        AuthorizationView {
            url: fake.url("/authz/1"),
            identifier: dns("b.test"),
            wildcard: true,
            state: AuthorizationState::Pending,
            expires: None,
            challenges: vec![challenge.clone(), odd],
            retry_after: None,
        }
    );
    let accepted = session.accept(&fake.url("/chall/1")).await;
    assert_eq!(accepted, Ok(ChallengeView { state: AuthorizationState::Processing, ..challenge }));
    assert_eq!(fake.last().jws["payload"], json!("e30"));
    let order = view(&fake, OrderState::Processing);
    let finalized =
        session.finalize(&order.url, &fake.url("/order/1/finalize"), &[0x30, 0xff]).await;
    let wait = Some(SignedDuration::from_secs(3));
    assert_eq!(finalized, Ok(OrderView { retry_after: wait, ..order }));
    assert_eq!(fake.last().payload, json!({"csr": "MP8"}));
    let read = session.order(&fake.url("/order/1")).await;
    let certificate_url = Some(fake.url("/cert/1"));
    let valid = OrderView { certificate_url, ..view(&fake, OrderState::Valid) };
    assert_eq!(read, Ok(valid));
    assert_eq!(fake.last().jws["payload"], json!(""));
    let downloaded = session.certificate(&fake.url("/cert/1")).await.unwrap();
    let alternates = vec![fake.url("/cert/1/1")];
    assert_eq!(downloaded, Downloaded { pem: CHAIN.into(), alternates });
    assert!(fake.last().accept.starts_with("application/pem-certificate-chain"));
    assert_eq!(session.alternate(&downloaded.alternates[0]).await.as_deref(), Ok(CHAIN));

    let expected = [
        "GET /dir",
        "HEAD /nonce",
        "POST /new-order",
        "POST /authz/1",
        "POST /chall/1",
        "POST /order/1/finalize",
        "POST /order/1",
        "POST /cert/1",
        "POST /cert/1/1",
    ];
    assert_eq!(fake.requests(), expected);
    assert_eq!(client.requests(), 9);
    assert_eq!(fake.last().user_agent, "certctl/test");
    assert_eq!(fake.last().protected["kid"], json!(fake.url("/account/1")));
}

#[tokio::test]
async fn a_wished_end_and_profile_are_sent() {
    let fake = Fake::start(good).await;
    let session = session(&fake);
    let identifiers = json!([
        {"type": "dns", "value": "a.test"}, {"type": "dns", "value": "*.b.test"},
    ]);
    let profile = Some("shortlived".to_owned());
    let new = NewOrder { profile, ..asked() };
    session.new_order(&new).await.unwrap();
    assert_eq!(fake.last().payload, json!({"identifiers": identifiers, "profile": "shortlived"}));
    let not_after = Some("2027-01-01T00:00:00Z".parse().unwrap());
    session.new_order(&NewOrder { not_after, ..new }).await.unwrap();
    assert_eq!(
        fake.last().payload,
        json!({
            "identifiers": identifiers, "profile": "shortlived",
            "notAfter": "2027-01-01T00:00:00Z",
        })
    );
}

#[tokio::test]
async fn an_order_for_something_else_is_refused() {
    let fake = Fake::start(good).await;
    let other = NewOrder { identifiers: vec![dns("a.test"), dns("c.test")], ..asked() };
    let error = session(&fake).new_order(&other).await.unwrap_err();
    let why = "the order is for *.b.test, a.test, asked was a.test, c.test".into();
    assert_eq!(error, AcmeError::Malformed { url: fake.url("/new-order"), why });
}

#[tokio::test]
async fn accounts_are_found_registered_and_changed() {
    let fake = Fake::start(|fake, seen| {
        if seen.path == "/account/1" {
            let contacts = &seen.payload["contact"];
            return Some(Reply::json(200, &json!({"status": "valid", "contact": contacts})));
        }
        if seen.payload["onlyReturnExisting"] == json!(true) {
            return Some(match fake.count("/account") {
                1 => Reply::problem(400, "accountDoesNotExist", "none"),
                _ => Reply::new(200, "").with("Location", "/account/1"),
            });
        }
        good(fake, seen)
    })
    .await;
    let client = fake.client();
    let key = AccountKey::generate().unwrap();
    assert_eq!(client.find_account(&key).await, Ok(None));

    let contacts = ["mailto:ops@a.test".to_owned()];
    let eab = Eab { key_id: "k".into(), hmac_key: vec![1, 2, 3].into() };
    let made = client.register(&key, &contacts, Some(&eab)).await;
    let answer = AccountAnswer {
        url: fake.url("/account/1"),
        status: AccountStatus::Valid,
        contacts: Vec::new(),
        created: true,
    };
    assert_eq!(made, Ok(answer.clone()));
    let seen = fake.last();
    assert_eq!(seen.protected["jwk"], key.jwk());
    let binding = jws::external_account_binding(&key, &eab, &fake.url("/account"));
    assert_eq!(
        seen.payload,
        json!({
            "termsOfServiceAgreed": true, "contact": contacts, "externalAccountBinding": binding,
        })
    );

    let found = client.find_account(&key).await;
    let existing = AccountAnswer { created: false, ..answer };
    assert_eq!(found, Ok(Some(existing.clone())));
    let changed = client.update_contacts(&key, &existing.url, &contacts).await;
    assert_eq!(changed, Ok(AccountAnswer { contacts: contacts.to_vec(), ..existing }));
}

#[tokio::test]
async fn half_of_all_nonces_may_be_refused() {
    let posts = AtomicUsize::new(0);
    let fake = Fake::start(move |fake, seen| {
        // 17 refusals in a row, then one success: worse than any storm of one half.
        let refuse = seen.method == "POST" && posts.fetch_add(1, Ordering::SeqCst) % 18 != 17;
        if refuse { Some(Reply::problem(400, "badNonce", "again")) } else { good(fake, seen) }
    })
    .await;
    let session = session(&fake);
    session.new_order(&asked()).await.unwrap();
    session.accept(&fake.url("/chall/1")).await.unwrap();
    session.order(&fake.url("/order/1")).await.unwrap();
    assert_eq!(fake.count("/nonce"), 1);
    assert_eq!(fake.count("/new-order"), 18);
    assert_eq!(fake.count("/chall/1"), 18);
}

#[tokio::test]
async fn a_ca_that_refuses_every_nonce_is_given_up() {
    let fake = Fake::start(|_, seen| {
        // Recognised by its type, whatever the status.
        let status = if seen.path == "/chall/1" { 403 } else { 400 };
        (seen.method == "POST").then(|| Reply::problem(status, "badNonce", "never"))
    })
    .await;
    let session = session(&fake);
    let error = session.new_order(&asked()).await.unwrap_err();
    assert!(error.is_problem("badNonce"), "{error}");
    assert_eq!(fake.count("/new-order"), 21);
    session.accept(&fake.url("/chall/1")).await.unwrap_err();
    assert_eq!(fake.count("/chall/1"), 21);
}

#[tokio::test]
async fn a_bad_request_of_another_kind_is_not_repeated() {
    let fake =
        Fake::start(|_, seen| (seen.method == "POST").then(|| Reply::new(400, "<html>bad</html>")))
            .await;
    let error = session(&fake).order(&fake.url("/order/1")).await.unwrap_err();
    let expected = AcmeError::Http {
        url: fake.url("/order/1"),
        status: 400,
        snippet: "<html>bad</html>".into(),
        retry_after: None,
    };
    assert_eq!(error, expected);
    assert_eq!(fake.count("/order/1"), 1);
}

#[tokio::test]
async fn rate_limits_come_back_with_their_wait() {
    let waits =
        [("90", Some(90)), ("Fri, 20 Nov 2026 12:02:00 GMT", Some(120)), ("tomorrow", None)];
    for (header, seconds) in waits {
        let fake = Fake::start(move |_, seen| {
            (seen.path == "/new-order").then(|| {
                Reply::problem(429, "rateLimited", "slow down")
                    .with("Retry-After", header)
                    .with("Date", "Fri, 20 Nov 2026 12:00:00 GMT")
            })
        })
        .await;
        let error = session(&fake).new_order(&asked()).await.unwrap_err();
        let problem = Box::new(Problem {
            status: Some(429),
            kind: "urn:ietf:params:acme:error:rateLimited".into(),
            detail: "slow down".into(),
            subproblems: Vec::new(),
        });
        let retry_after = seconds.map(SignedDuration::from_secs);
        assert_eq!(error, AcmeError::Problem { url: fake.url("/new-order"), problem, retry_after });
        assert!(!error.is_transient());
        assert_eq!(fake.count("/new-order"), 1, "a 429 is never repeated");
    }
}

#[tokio::test]
async fn subproblems_name_their_identifiers() {
    let fake = Fake::start(|_, seen| {
        (seen.path == "/new-order").then(|| {
            Reply::json(
                403,
                &json!({
                    "type": "urn:x:rejectedIdentifier", "detail": "some names",
                    "subproblems": [{
                        "type": "urn:x:caa", "detail": "no",
                        "identifier": {"type": "dns", "value": "a.test"},
                    }],
                }),
            )
        })
    })
    .await;
    let error = session(&fake).new_order(&asked()).await.unwrap_err();
    let sub =
        Subproblem { identifier: "a.test".into(), kind: "urn:x:caa".into(), detail: "no".into() };
    assert_eq!(error.problem().unwrap().subproblems, vec![sub]);
}

#[tokio::test]
async fn only_what_reads_is_repeated_when_the_ca_is_down() {
    let down = |_: &Fake, seen: &Seen| {
        (seen.method == "POST").then(|| Reply::new(503, "<html>busy</html>"))
    };
    let cut = |_: &Fake, seen: &Seen| (seen.method == "POST").then(Reply::cut);
    for fake in [Fake::start(down).await, Fake::start(cut).await] {
        let session = session(&fake);
        let errors = [
            session.order(&fake.url("/order/1")).await.unwrap_err(),
            session.new_order(&asked()).await.unwrap_err(),
            session.accept(&fake.url("/chall/1")).await.unwrap_err(),
            session.finalize(&fake.url("/order/1"), &fake.url("/fin"), b"x").await.unwrap_err(),
        ];
        for error in errors {
            assert!(error.is_transient(), "{error}");
        }
        let paths = ["/order/1", "/new-order", "/chall/1", "/fin"];
        assert_eq!(paths.map(|path| fake.count(path)), [4, 1, 1, 1]);
    }
}

#[tokio::test]
async fn a_ca_that_comes_back_is_not_noticed() {
    let fake = Fake::start(|fake, seen| match (seen.path.as_str(), fake.count(&seen.path)) {
        ("/dir", 1) | ("/nonce", 1 | 2) => Some(Reply::new(502, "")),
        ("/order/1", 1) => Some(Reply::cut()),
        ("/order/1", 2) => Some(Reply::new(504, "").with("Retry-After", "0")),
        _ => good(fake, seen),
    })
    .await;
    session(&fake).order(&fake.url("/order/1")).await.unwrap();
    // The nonce that was spent on the cut connection is lost, and replaced.
    let counts = ["/dir", "/nonce", "/order/1"].map(|path| fake.count(path));
    assert_eq!(counts, [2, 4, 3]);
}

#[tokio::test]
async fn a_long_retry_after_is_left_to_the_caller() {
    let fake = Fake::start(|_, seen| {
        (seen.path == "/dir").then(|| Reply::new(503, "").with("Retry-After", "61"))
    })
    .await;
    let client = fake.client();
    let session = session_of(&fake, &client);
    let urls = (0..20).map(|_| session.order("https://localhost/order/1"));
    for answer in join_all(urls).await {
        let wait = answer.unwrap_err().retry_after();
        assert_eq!(wait, Some(SignedDuration::from_secs(61)));
    }
    assert_eq!(fake.requests(), ["GET /dir"], "those who wait share the failure");
}

#[tokio::test]
async fn the_directory_must_be_one() {
    let cases: [(Reply, &str); 4] = [
        (Reply::new(200, "<html>"), "the answer is not JSON: expected value at line 1 column 1"),
        (Reply::new(404, "<h1>gone</h1>"), "HTTP status 404: <h1>gone</h1>"),
        (Reply::json(200, &json!([])), "the answer is not a JSON object"),
        (Reply::json(200, &json!({"newNonce": "https://x/"})), "the answer has no `newAccount`"),
    ];
    for (reply, why) in cases {
        let fake = Fake::start(move |_, _| Some(reply.clone())).await;
        let error = fake.client().directory().await.unwrap_err();
        assert_eq!(error.to_string(), format!("{}: {why}", fake.url("/dir")));
    }
    let fake = Fake::start(|fake, _| {
        let mut directory = fake.directory();
        directory["newOrder"] = json!("http://ca.test/new-order");
        Some(Reply::json(200, &directory))
    })
    .await;
    let error = fake.client().directory().await.unwrap_err();
    let url = "http://ca.test/new-order".to_owned();
    assert_eq!(error, AcmeError::InsecureUrl { url, what: "newOrder".into() });
    let endpoint = Endpoint { directory_url: "http://ca.test/dir".into(), ..fake.endpoint() };
    assert!(matches!(Client::new(endpoint, Limits::default()), Err(AcmeError::InsecureUrl { .. })));
}

#[tokio::test]
async fn the_directory_tells_of_the_ca_and_can_be_kept() {
    let fake = Fake::start(|fake, seen| {
        let mut directory = fake.directory();
        directory["meta"] = json!({
            "termsOfService": "https://tos.test", "caaIdentities": ["ca.test"],
            "externalAccountRequired": true, "profiles": {"classic": "The usual", "odd": 7},
        });
        match seen.path.as_str() {
            "/dir" => Some(Reply::json(200, &directory)),
            _ => good(fake, seen),
        }
    })
    .await;
    let found = fake.client().directory().await.unwrap();
    let profiles = [("classic", "The usual"), ("odd", "")];
    let expected = Directory {
        new_nonce: fake.url("/nonce"),
        new_account: fake.url("/account"),
        new_order: fake.url("/new-order"),
        revoke_cert: None,
        key_change: None,
        renewal_info: None,
        terms_of_service: Some("https://tos.test".into()),
        website: None,
        caa_identities: vec!["ca.test".into()],
        external_account_required: true,
        profiles: Some(profiles.map(|(a, b)| (a.to_owned(), b.to_owned())).into()),
    };
    assert_eq!(*found, expected);

    let client = fake.client();
    client.reuse_directory(expected.clone(), SignedDuration::from_secs(60)).await;
    session_of(&fake, &client).order(&fake.url("/order/1")).await.unwrap();
    assert_eq!(fake.count("/dir"), 1, "a young directory is used");
    let client = fake.client();
    client.reuse_directory(expected, SignedDuration::from_secs(3601)).await;
    client.directory().await.unwrap();
    assert_eq!(fake.count("/dir"), 2, "an old one is not");
}

#[tokio::test]
async fn a_directory_that_moved_is_fetched_again() {
    let fake = Fake::start(good).await;
    let client = fake.client();
    let mut old = Directory::clone(&*client.directory().await.unwrap());
    old.new_nonce = fake.url("/old-nonce");
    old.new_order = fake.url("/old-order");
    let client = fake.client();
    client.reuse_directory(old, SignedDuration::ZERO).await;
    session_of(&fake, &client).new_order(&asked()).await.unwrap();
    let expected = [
        "GET /dir",
        "HEAD /old-nonce",
        "GET /dir",
        "HEAD /nonce",
        "POST /old-order",
        "POST /new-order",
    ];
    assert_eq!(fake.requests(), expected);
}

#[tokio::test]
async fn bodies_are_bounded() {
    let fake = Fake::start(|_, seen| match seen.path.as_str() {
        "/order/1" => Some(Reply::new(200, vec![b' '; 1001])),
        "/cert/1" => Some(Reply::new(200, vec![b'-'; 501])),
        _ => None,
    })
    .await;
    let client = fake.client_with(Limits { json_bytes: 1000, chain_bytes: 500, ..quick() });
    let session = session_of(&fake, &client);
    let url = fake.url("/order/1");
    let error = session.order(&url).await.unwrap_err();
    assert_eq!(error, AcmeError::TooLarge { url, limit: 1000 });
    let url = fake.url("/cert/1");
    let error = session.certificate(&url).await.unwrap_err();
    assert_eq!(error, AcmeError::TooLarge { url, limit: 500 });
}

#[tokio::test]
async fn a_silent_ca_is_left() {
    let fake = Fake::start(|_, seen| (seen.path == "/order/1").then(Reply::hang)).await;
    let request_timeout = Duration::from_millis(200);
    let client = fake.client_with(Limits { request_timeout, ..quick() });
    let url = fake.url("/order/1");
    let error = session_of(&fake, &client).order(&url).await.unwrap_err();
    assert_eq!(error, AcmeError::Timeout { url });
    assert_eq!(fake.count("/order/1"), 1);
}

#[tokio::test]
async fn odd_words_pass_and_dangerous_ones_do_not() {
    let fake = Fake::start(|fake, seen| {
        let mut authorization = authorization_json(fake);
        let mut order = order_json(fake, "napping");
        match seen.path.as_str() {
            "/authz/1" => authorization["challenges"][0]["token"] = json!("../../x\n"),
            "/authz/2" => authorization["challenges"][0]["url"] = json!("http://x/"),
            "/authz/3" => {
                authorization["identifier"]["value"] = json!("*.b.test");
                authorization["wildcard"] = json!("yes");
                authorization["challenges"][0]["error"] = json!({"type": "urn:x:dns"});
            }
            "/order/1" => {
                order["expires"] = json!(12);
                order["error"] = json!({"type": "urn:x:caa", "status": 403, "detail": "no"});
                return Some(Reply::json(200, &order));
            }
            "/order/2" => {
                order["certificate"] = json!("http://x/");
                return Some(Reply::json(200, &order));
            }
            "/cert/1" => return Some(Reply::new(200, "no PEM")),
            _ => return None,
        }
        Some(Reply::json(200, &authorization))
    })
    .await;
    let session = session(&fake);
    let url = fake.url("/authz/1");
    let error = session.authorization(&url).await.unwrap_err();
    assert_eq!(error, AcmeError::BadToken { url, token: "../../x".into() });
    let error = session.authorization(&fake.url("/authz/2")).await.unwrap_err();
    assert_eq!(error, AcmeError::InsecureUrl { url: "http://x/".into(), what: "url".into() });
    let odd = session.authorization(&fake.url("/authz/3")).await.unwrap();
    assert_eq!((odd.identifier, odd.wildcard), (dns("b.test"), true));
    let problem = Problem { kind: "urn:x:dns".into(), ..Problem::default() };
    assert_eq!(odd.challenges[0].problem, Some(problem));
    let napping = OrderView {
        expires: None,
        problem: Some(Problem {
            status: None,
            kind: "urn:x:caa".into(),
            detail: "no".into(),
            subproblems: Vec::new(),
        }),
        ..view(&fake, OrderState::Other("napping".into()))
    };
    assert_eq!(session.order(&fake.url("/order/1")).await, Ok(napping));
    let error = session.order(&fake.url("/order/2")).await.unwrap_err();
    let what = "certificate".into();
    assert_eq!(error, AcmeError::InsecureUrl { url: "http://x/".into(), what });
    let error = session.certificate(&fake.url("/cert/1")).await.unwrap_err();
    assert!(matches!(error, AcmeError::Malformed { .. }), "{error}");
}

#[tokio::test]
async fn orders_side_by_side_share_two_nonces() {
    let fake = Fake::start(good).await;
    let session = session(&fake);
    let url = fake.url("/order/1");
    try_join_all((0..50).map(|_| session.order(&url))).await.unwrap();
    let counts = ["/dir", "/nonce", "/order/1"].map(|path| fake.count(path));
    assert_eq!(counts, [1, 2, 50]);
}

#[tokio::test]
async fn requests_at_once_are_bounded() {
    let fake = Fake::start_gated(Some(3), good).await;
    let limits = Limits { nonces: 12, requests_at_once: 3, ..quick() };
    let client = fake.client_with(limits);
    let session = session_of(&fake, &client);
    let url = fake.url("/order/1");
    try_join_all((0..12).map(|_| session.order(&url))).await.unwrap();
    assert_eq!(fake.most_in_flight.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_request_that_is_dropped_half_way_blocks_nobody() {
    let fake = Fake::start(|fake, seen| match seen.path.as_str() {
        "/hang" => Some(Reply::hang()),
        _ => good(fake, seen),
    })
    .await;
    let limits = Limits { nonces: 1, requests_at_once: 1, ..quick() };
    let client = fake.client_with(limits);
    let session = session_of(&fake, &client);
    let (hanging, url) = (fake.url("/hang"), fake.url("/order/1"));
    let until_it_hangs = async {
        while fake.count("/hang") == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        answer = session.order(&hanging) => panic!("answered: {answer:?}"),
        () = until_it_hangs => {}
    }
    session.order(&url).await.unwrap();
    assert_eq!(fake.count("/nonce"), 2);
}

#[tokio::test]
async fn whom_to_trust_is_what_the_issuer_says() {
    let (fake, other) = (Fake::start(good).await, Fake::start(good).await);
    let ca_bundle = Some(other.ca_pem.clone());
    let stranger = Endpoint { ca_bundle: ca_bundle.clone(), ..fake.endpoint() };
    let error = Client::new(stranger.clone(), quick()).unwrap().directory().await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");
    let blind = Endpoint { skip_tls_verify: true, ..stranger };
    Client::new(blind, quick()).unwrap().directory().await.unwrap();
    assert!(fake.requests() == ["GET /dir"]);
}
