//! acme-dns against its API as its README describes it.

use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;
use crate::resource::{self, SecretKeySelector};
use crate::solver::dns01::fake::{Answer, Fake, Received, in_context};

const CANARY: &str = "canary-7f3a9";
const USER: &str = "canary-user-1";
const SUBDOMAIN: &str = "8e5700ea-a4bf-41c7-8a77-e990661dcc6a";

/// The two newest values of one subdomain.
#[derive(Default)]
struct World {
    values: Vec<String>,
    instead: Option<(u16, &'static str)>,
}

impl World {
    fn answer(&mut self, received: &Received) -> Answer {
        if let Some((status, body)) = self.instead {
            return Answer::new(status, body).with("retry-after", "11");
        }
        match (received.method.as_str(), received.path()) {
            ("GET", "/health") => Answer::new(200, ""),
            ("POST", "/update") => {
                if (received.header("x-api-user"), received.header("x-api-key")) != (USER, CANARY) {
                    return Answer::json(401, &json!({"error": "forbidden"}));
                }
                let body = received.json();
                let value = body["txt"].as_str().unwrap().to_owned();
                if body["subdomain"] != SUBDOMAIN {
                    return Answer::json(401, &json!({"error": "forbidden"}));
                }
                self.values.insert(0, value.clone());
                self.values.truncate(2);
                Answer::json(200, &json!({"txt": value}))
            }
            _ => Answer::new(404, "404 page not found"),
        }
    }
}

async fn start() -> (Arc<Mutex<World>>, Fake) {
    let world = Arc::new(Mutex::new(World::default()));
    let shared = Arc::clone(&world);
    let fake = Fake::start(move |received| shared.lock().unwrap().answer(received)).await;
    (world, fake)
}

fn accounts() -> String {
    json!({
        "Example.com": {
            "username": USER, "password": CANARY, "subdomain": SUBDOMAIN, "allowfrom": [],
            "fulldomain": format!("{SUBDOMAIN}.auth.test"), "server_url": "x",
        },
        "wrong.test": {
            "username": USER, "password": "canary-other", "subdomain": SUBDOMAIN,
            "fulldomain": "wrong.auth.test.", "allowfrom": ["192.0.2.0/24"],
        },
    })
    .to_string()
}

fn opened(host: &str, accounts: &str) -> Result<Box<dyn DnsProvider>, ProviderError> {
    let account_secret_ref = SecretKeySelector { name: "s".to_owned(), key: "k".to_owned() };
    let settings = resource::dns01::AcmeDns { host: host.to_owned(), account_secret_ref };
    let provider = resource::Dns01Provider::AcmeDns(settings);
    in_context(&[("s/k", accounts)], &[], |context| super::super::open(&provider, context))
}

fn record(domain: &str, value: &str) -> TxtRecord {
    TxtRecord {
        domain: domain.to_owned(),
        name: format!("_acme-challenge.{domain}"),
        zone: String::new(),
        value: value.to_owned(),
    }
}

#[tokio::test]
async fn the_two_newest_values_are_served_and_nothing_is_removed() {
    let (world, fake) = start().await;
    let provider = opened(&(fake.url() + "/"), &accounts()).unwrap();
    provider.present(&record("example.com", "one")).await.unwrap();
    provider.present(&record("example.com", "two")).await.unwrap();
    provider.clean_up(&record("example.com", "one")).await.unwrap();
    provider.clean_up(&record("absent.test", "one")).await.unwrap();
    assert_eq!(world.lock().unwrap().values, ["two", "one"]);
    provider.present(&record("example.com", "three")).await.unwrap();
    assert_eq!(world.lock().unwrap().values, ["three", "two"]);
    assert_eq!(fake.log(), ["POST /update"; 3]);
    let received = &fake.received()[0];
    assert_eq!(received.json(), json!({"subdomain": SUBDOMAIN, "txt": "one"}));
    assert_eq!(received.header("content-type"), "application/json");
}

#[tokio::test]
async fn errors_are_reported_without_the_account() {
    let forbidden = "{} refuses the credentials: forbidden; username and password must be those of \
                     the account for example.com, and its allowfrom must hold this machine";
    let cases: [(u16, &str, &str); 9] = [
        (401, r#"{"error":"forbidden"}"#, forbidden),
        (400, r#"{"error":"bad_txt"}"#, "{} answered 400: bad_txt"),
        (
            400,
            r#"{"error":"canary-7f3a9 canary-user-1"}"#,
            "{} answered 400: [redacted] [redacted]",
        ),
        (500, r#"{"error":"db_error"}"#, "{} answered 500: db_error"),
        (502, "<html>", "{} answered 502: <html>"),
        (429, "", "{} limits the rate of requests and asks to wait 11 s"),
        (200, "", "{} sent an unusable answer: EOF while parsing a value at line 1 column 0"),
        (
            200,
            r#"{"txt":"other"}"#,
            "{} sent an unusable answer: `txt` is not the value that was sent",
        ),
        (
            200,
            r#"{"txt":1}"#,
            "{} sent an unusable answer: invalid type: integer `1`, expected a string at line \
             1 column 8",
        ),
    ];
    for (status, body, expected) in cases {
        let (world, fake) = start().await;
        world.lock().unwrap().instead = Some((status, body));
        let provider = opened(&fake.url(), &accounts()).unwrap();
        let error = provider.present(&record("example.com", "one")).await.unwrap_err();
        assert_eq!(error.to_string(), expected.replacen("{}", &fake.address.to_string(), 1));
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
    }
}

#[tokio::test]
async fn an_account_is_the_domain_s_own() {
    let (_world, fake) = start().await;
    let provider = opened(&fake.url(), &accounts()).unwrap();
    let checked = |domain: &str| {
        let record = record(domain, "one");
        let provider = &provider;
        async move { provider.present(&record).await.unwrap_err().to_string() }
    };
    let missing =
        "acmeDNS: accountSecretRef: account credentials not found for domain www.example.com";
    assert_eq!(checked("www.example.com").await, missing);
    assert!(fake.log().is_empty());
    let expected = format!(
        "{} refuses the credentials: forbidden; username and password must be those of the account \
         for wrong.test, and its allowfrom must hold this machine",
        fake.address
    );
    assert_eq!(checked("wrong.test").await, expected);
}

#[tokio::test]
async fn a_check_reports_the_required_cname_target() {
    let (world, fake) = start().await;
    let provider = opened(&fake.url(), &accounts()).unwrap();
    let service = fake.address;
    let cases = [
        (
            "_acme-challenge.example.com",
            Ok(format!(
                "acmeDNS: {service} answers; _acme-challenge.example.com must be a CNAME of \
                 {SUBDOMAIN}.auth.test"
            )),
        ),
        (
            "wrong.auth.test",
            Ok(format!(
                "acmeDNS: {service} answers; the account of wrong.test writes to wrong.auth.test"
            )),
        ),
        (
            "_acme-challenge.absent.test",
            Err("acmeDNS: accountSecretRef: account credentials not found for domain absent.test"
                .to_owned()),
        ),
    ];
    for (name, expected) in cases {
        let checked = provider.check(name, "").await.map_err(|error| error.to_string());
        assert_eq!(checked, expected);
    }
    assert_eq!(fake.log(), ["GET /health"; 2]);
    assert!(world.lock().unwrap().values.is_empty());
}

#[test]
fn settings_that_cannot_be_used_are_refused_without_showing_the_account() {
    let (good, host) = (accounts(), "https://auth.test");
    let not_a_map = "this is not a JSON map from domain to {\"username\", \"password\", \
                     \"fulldomain\", \"subdomain\"}";
    let cases = [
        (host, good.as_str(), None),
        ("auth.test", &good, None),
        ("http://192.0.2.1:8080", &good, None),
        (
            "ftp://auth.test",
            &good,
            Some("acmeDNS: host: this is not an http:// or https:// address".to_owned()),
        ),
        ("https://", &good, Some("acmeDNS: host: empty host".to_owned())),
        (
            "https://canary:x@auth.test",
            &good,
            Some("acmeDNS: host: put credentials into the secret, not here".to_owned()),
        ),
        (
            host,
            "canary",
            Some(format!(
                "acmeDNS: accountSecretRef: secret s, key k: line 1, column 1: {not_a_map}"
            )),
        ),
        (
            host,
            r#"{"example.com": "canary"}"#,
            Some(format!(
                "acmeDNS: accountSecretRef: secret s, key k: line 1, column 24: {not_a_map}"
            )),
        ),
    ];
    for (host, accounts, expected) in cases {
        let error = opened(host, accounts).err();
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
        assert_eq!(error.map(|error| error.to_string()), expected, "{host}");
    }
}
