//! The provider against a service written from the Edge DNS API's documentation.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as Lock};

use aws_lc_rs::{digest, hmac};
use base64::prelude::{BASE64_STANDARD, Engine as _};

use super::*;
use crate::resource::SecretKeySelector;
use crate::solver::dns01::DnsProvider as _;
use crate::solver::dns01::fake::{Answer, Fake, Received, in_context, record};

const SECRETS: [(&str, &str); 3] = [
    ("edge/client", "CANARY-client"),
    ("edge/secret", "CANARY-secret="),
    ("edge/access", "CANARY-access"),
];
const SET: &str =
    "/config-dns/v2/zones/example.com/names/_acme-challenge.www.example.com/types/TXT";

/// Zone example.com. The hooks that run once, before or after a write, simulate another client.
#[derive(Default)]
struct Service {
    sets: BTreeMap<String, Value>,
    before: Option<Value>,
    at_next_change: Option<Value>,
    signatures: usize,
}

/// How a service answers a request.
type Responder = fn(&Received) -> Answer;

type State = Arc<Lock<Service>>;

fn answer(state: &State, address: &str, received: &Received) -> Answer {
    let mut state = state.lock().unwrap();
    if received.header("authorization") != expected_authorization(received, address) {
        return problem(401, "Not authorized", "Signature does not match");
    }
    state.signatures += 1;
    if received.path() == "/config-dns/v2/zones/example.com" {
        return Answer::json(200, &json!({ "zone": "example.com", "type": "PRIMARY" }));
    }
    if !received.path().starts_with("/config-dns/v2/zones/example.com/names/") {
        return problem(404, "Not Found", "Zone not found");
    }
    let key = received.path().to_owned();
    if received.method == "GET" {
        return match state.sets.get(&key) {
            Some(set) => Answer::json(200, set),
            None => problem(404, "Not Found", "Record set not found"),
        };
    }
    if let Some(set) = state.before.take() {
        state.sets.insert(key.clone(), set);
    }
    let exists = state.sets.contains_key(&key);
    let answer = match received.method.as_str() {
        "POST" if exists => return problem(409, "Conflict", "Record set exists"),
        "PUT" | "DELETE" if !exists => return problem(404, "Not Found", "Record set not found"),
        "DELETE" => {
            state.sets.remove(&key);
            Answer::new(204, "")
        }
        _ => {
            state.sets.insert(key.clone(), received.json());
            Answer::json(201, &received.json())
        }
    };
    if let Some(set) = state.at_next_change.take() {
        state.sets.insert(key, set);
    }
    answer
}

fn problem(status: u16, title: &str, detail: &str) -> Answer {
    let body = json!({ "type": "about:blank", "title": title, "status": status, "detail": detail });
    Answer::new(status, body.to_string()).with("content-type", "application/problem+json")
}

/// The header that the documentation requires, given its time and nonce.
fn expected_authorization(received: &Received, address: &str) -> String {
    let mac = |key: &[u8], data: &str| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        BASE64_STANDARD.encode(hmac::sign(&key, data.as_bytes()))
    };
    let given = received.header("authorization");
    let (unsigned, _) = given.split_once("signature=").unwrap_or((given, ""));
    let part = |name: &str| {
        let found = unsigned.split([';', ' ']).find_map(|part| part.strip_prefix(name));
        found.unwrap_or_default().to_owned()
    };
    let time = part("timestamp=");
    assert_eq!(time, "20260102T03:04:05+0000");
    assert_eq!(part("client_token=") + &part("access_token="), "CANARY-clientCANARY-access");
    let content = match received.method.as_str() {
        "POST" => BASE64_STANDARD.encode(digest::digest(&digest::SHA256, received.body.as_bytes())),
        _ => String::new(),
    };
    let data = format!(
        "{}\thttp\t{address}\t{}\t\t{content}\t{unsigned}",
        received.method, received.target
    );
    let key = mac(b"CANARY-secret=", &time);
    format!("{unsigned}signature={}", mac(key.as_bytes(), &data))
}

fn settings(host: &str) -> Settings {
    let selector = |key: &str| SecretKeySelector { name: "edge".to_owned(), key: key.to_owned() };
    Settings {
        service_consumer_domain: host.to_owned(),
        client_token_secret_ref: selector("client"),
        client_secret_secret_ref: selector("secret"),
        access_token_secret_ref: selector("access"),
    }
}

fn provider(base: String) -> Akamai {
    let made = in_context(&SECRETS, &[], |context| {
        Akamai::new(&settings("akab-x.luna.akamaiapis.net"), context)
    });
    let made = made.unwrap();
    assert_eq!(made.base, "https://akab-x.luna.akamaiapis.net");
    Akamai { base, pause: Pause::NONE, ..made }
}

async fn start() -> (State, Fake, Akamai) {
    let state = State::default();
    let shared = Arc::clone(&state);
    let fake = Fake::start(move |received| {
        let address = received.header("host").to_owned();
        answer(&shared, &address, received)
    })
    .await;
    let provider = provider(fake.url());
    (state, fake, provider)
}

fn set(ttl: u32, values: &[&str]) -> Value {
    let rdata: Vec<_> = values.iter().map(|value| format!("\"{value}\"")).collect();
    json!({ "name": "_acme-challenge.www.example.com", "type": "TXT", "ttl": ttl, "rdata": rdata })
}

#[tokio::test]
async fn values_come_and_go_one_by_one() {
    let (state, fake, provider) = start().await;
    let now = || state.lock().unwrap().sets.get(SET).cloned();
    let (apex, wild) = (record("apex"), record("wild"));
    provider.clean_up(&apex).await.unwrap();
    provider.present(&apex).await.unwrap();
    assert_eq!(now(), Some(set(300, &["apex"])));
    provider.present(&wild).await.unwrap();
    assert_eq!(now(), Some(set(300, &["apex", "wild"])));
    let before = fake.received().len();
    provider.present(&wild).await.unwrap();
    assert_eq!(fake.received().len(), before + 1, "what stands there is not written again");
    provider.clean_up(&apex).await.unwrap();
    assert_eq!(now(), Some(set(300, &["wild"])));
    provider.clean_up(&apex).await.unwrap();
    provider.clean_up(&wild).await.unwrap();
    assert_eq!(now(), None, "an empty set is removed");
    provider.present(&apex).await.unwrap();
    assert_eq!(now(), Some(set(300, &["apex"])));
    assert_eq!(state.lock().unwrap().signatures, fake.received().len());
    let message = provider.check("_acme-challenge.www.example.com", "example.com").await.unwrap();
    assert_eq!(message, format!("the credentials can read zone example.com at {}", fake.address));
}

#[tokio::test]
async fn what_others_write_stays() {
    let (state, _fake, provider) = start().await;
    // Another client created it after it was found absent.
    state.lock().unwrap().before = Some(set(60, &["theirs"]));
    provider.present(&record("ours")).await.unwrap();
    assert_eq!(state.lock().unwrap().sets[SET], set(60, &["theirs", "ours"]));
    // Another client that read before our write overwrites our value.
    state.lock().unwrap().at_next_change = Some(set(60, &["theirs", "ours", "late"]));
    provider.present(&record("second")).await.unwrap();
    let all = set(60, &["theirs", "ours", "late", "second"]);
    assert_eq!(state.lock().unwrap().sets[SET], all);
    // The same for a removal.
    state.lock().unwrap().at_next_change = Some(set(60, &["theirs", "ours"]));
    provider.clean_up(&record("ours")).await.unwrap();
    assert_eq!(state.lock().unwrap().sets[SET], set(60, &["theirs"]));
}

#[tokio::test]
async fn each_error_has_advice_and_no_credential() {
    let cases: [(Responder, &str); 9] = [
        (
            |_| problem(401, "Not authorized", "Invalid timestamp"),
            "{} refuses the credentials: Not authorized: Invalid timestamp",
        ),
        (
            |received| Answer::new(403, received.header("authorization")),
            "{} refuses the credentials: EG1-HMAC-SHA256 client_token=[redacted];\
             access_token=[redacted];timestamp=20260102T03:04:05+0000;nonce=",
        ),
        (
            |_| Answer::new(429, "").with("retry-after", "30"),
            "{} limits the rate of requests and asks to wait 30 s",
        ),
        (|_| problem(500, "Oops", ""), "{} answered 500: Oops"),
        (|_| Answer::new(502, "<html>"), "{} answered 502: <html>"),
        (
            |_| Answer::new(200, "<html>"),
            "{} sent an unusable answer: expected value at line 1 column 1",
        ),
        (
            |_| Answer::new(200, r#"{"ttl":300,"rdata":"one"}"#),
            "{} sent an unusable answer: invalid type: string \"one\", expected a sequence at \
             line 1 column 24",
        ),
        (
            |_| problem(404, "Not Found", "Zone not found"),
            "{} has no zone for _acme-challenge.www.example.com: these credentials cannot see \
             zone example.com: Not Found: Zone not found",
        ),
        (
            |received| match received.method.as_str() {
                "GET" => problem(404, "Not Found", ""),
                _ => problem(409, "Conflict", ""),
            },
            "{} has not finished: the TXT set at _acme-challenge.www.example.com is changed by \
             others, after 6 tries",
        ),
    ];
    for (service, expected) in cases {
        let fake = Fake::start(service).await;
        let provider = provider(fake.url());
        let error = provider.present(&record("ours")).await.unwrap_err();
        let expected = expected.replace("{}", &fake.address.to_string());
        let message = error.to_string();
        assert!(message.starts_with(&expected), "{message}\n{expected}");
        assert!(message == expected || expected.ends_with("nonce="), "{message}");
        let check = provider.check("www.example.com", "example.com").await;
        for text in [message, format!("{error:?} {check:?}")] {
            assert!(!text.contains("CANARY"), "{text}");
        }
    }
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let secrets = [SECRETS[0], SECRETS[1], ("edge/access", "a\nb")];
    let host = "akab-x.luna.akamaiapis.net";
    let shape = "akamai: serviceConsumerDomain must be a host name: \
                 akab-….luna.akamaiapis.net, without https:// and without a path";
    let cases = [
        ("", &SECRETS, shape),
        ("https://akab-x.luna.akamaiapis.net", &SECRETS, shape),
        ("akab-x.luna.akamaiapis.net/x", &SECRETS, shape),
        (
            host,
            &secrets,
            "akamai: accessTokenSecretRef: secret edge, key access: there are control characters \
             in it; is it more than one line?",
        ),
    ];
    for (host, secrets, expected) in cases {
        let made = in_context(secrets, &[], |context| Akamai::new(&settings(host), context));
        assert_eq!(made.err().unwrap().to_string(), expected);
    }
}
