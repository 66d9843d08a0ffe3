//! DigitalOcean against its API as its documentation describes it.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::*;
use crate::resource::{self, SecretKeySelector};
use crate::solver::dns01::DnsProvider as _;
use crate::solver::dns01::fake::{Answer, Fake, Received, api, in_context};

const CANARY: &str = "canary-7f3a9";
const NAME_OF_RECORD: &str = "_acme-challenge.www.example.com";

/// Domains and records; two entries per page.
#[derive(Default)]
struct World {
    domains: Vec<&'static str>,
    /// Id, domain, type, name in it, and data.
    records: Vec<(u64, String, String, String, String)>,
    next: u64,
    /// Answers this instead to this method.
    instead: Option<(&'static str, u16, String)>,
}

impl World {
    fn add(&mut self, domain: &str, kind: &str, name: &str, data: &str) -> u64 {
        self.next += 1;
        let texts = [domain, kind, name, data].map(str::to_owned);
        let [domain, kind, name, data] = texts;
        self.records.push((self.next, domain, kind, name, data));
        self.next
    }

    fn answer(&mut self, received: &Received) -> Answer {
        if let Some((method, status, body)) = &self.instead
            && received.method == *method
        {
            let answer = Answer::new(*status, body.clone());
            return if *status == 429 { answer.with("retry-after", "3600") } else { answer };
        }
        if received.header("authorization") != format!("Bearer {CANARY}") {
            return no(401, "unauthorized", "Unable to authenticate you");
        }
        let path: Vec<&str> = received.path().trim_start_matches('/').split('/').collect();
        let ["domains", domain, "records", rest @ ..] = path.as_slice() else {
            return no(404, "not_found", "The resource you were accessing could not be found.");
        };
        if !self.domains.contains(domain) {
            return no(404, "not_found", "The resource you were accessing could not be found.");
        }
        match (received.method.as_str(), rest) {
            // The filter by name is not applied: other records of the zone must not matter.
            ("GET", []) => {
                let found = self.records.iter().filter(|r| r.1 == *domain);
                let found = found
                    .map(|r| json!({"id": r.0, "type": r.2, "name": r.3, "data": r.4, "ttl": 60}));
                page(received, &found.collect::<Vec<_>>())
            }
            ("POST", []) => {
                let body = received.json();
                assert_eq!((&body["type"], &body["ttl"]), (&json!("TXT"), &json!(60)));
                let text = |field: &str| body[field].as_str().unwrap().to_owned();
                let id = self.add(domain, "TXT", &text("name"), &text("data"));
                Answer::json(201, &json!({"domain_record": {"id": id}}))
            }
            ("DELETE", [id]) => {
                let before = self.records.len();
                self.records.retain(|r| r.0.to_string() != *id);
                if self.records.len() == before {
                    return no(404, "not_found", "The resource you were accessing is gone.");
                }
                Answer::new(204, "")
            }
            _ => no(405, "method_not_allowed", "no"),
        }
    }
}

fn page(received: &Received, all: &[Value]) -> Answer {
    let page: usize = received.query("page").unwrap().parse().unwrap();
    let shown: Vec<&Value> = all.iter().skip((page - 1) * 2).take(2).collect();
    let mut pages = json!({});
    if page * 2 < all.len() {
        // Where it points to is not followed.
        pages["next"] = json!("https://elsewhere.test/v2/domains/x/records?page=2");
    }
    let body = json!({
        "domain_records": shown, "links": {"pages": pages}, "meta": {"total": all.len()},
    });
    Answer::json(200, &body)
}

fn no(status: u16, id: &str, message: &str) -> Answer {
    Answer::json(status, &json!({"id": id, "message": message}))
}

async fn start(world: World) -> (Arc<Mutex<World>>, Fake, DigitalOcean) {
    let world = Arc::new(Mutex::new(world));
    let shared = Arc::clone(&world);
    let fake = Fake::start(move |received| shared.lock().unwrap().answer(received)).await;
    let token = Zeroizing::new(CANARY.to_owned());
    let provider = DigitalOcean { api: api(), base: fake.url(), token };
    (world, fake, provider)
}

fn example() -> World {
    World { domains: vec!["example.com"], ..World::default() }
}

fn record(value: &str) -> TxtRecord {
    TxtRecord {
        domain: "www.example.com".to_owned(),
        name: NAME_OF_RECORD.to_owned(),
        zone: "example.com".to_owned(),
        value: value.to_owned(),
    }
}

#[tokio::test]
async fn values_come_and_go_one_by_one() {
    let (world, fake, ocean) = start(example()).await;
    let stored = || {
        let world = world.lock().unwrap();
        world.records.iter().map(|r| format!("{} {}", r.3, r.4)).collect::<Vec<_>>()
    };
    ocean.present(&record("one")).await.unwrap();
    ocean.present(&record("two")).await.unwrap();
    ocean.present(&record("one")).await.unwrap();
    assert_eq!(stored(), ["_acme-challenge.www one", "_acme-challenge.www two"]);
    ocean.clean_up(&record("one")).await.unwrap();
    ocean.clean_up(&record("one")).await.unwrap();
    assert_eq!(stored(), ["_acme-challenge.www two"]);
    ocean.present(&record("one")).await.unwrap();
    assert_eq!(stored(), ["_acme-challenge.www two", "_acme-challenge.www one"]);
    let list = "GET /domains/example.com/records?type=TXT&name=_acme-challenge.www.example.com\
                &per_page=200&page=1";
    assert_eq!(fake.log()[..2], [list, "POST /domains/example.com/records"]);
}

#[tokio::test]
async fn what_others_wrote_stays_on_whatever_page_it_is() {
    let mut world = example();
    for foreign in ["a", "b", "c", "d", "e"] {
        world.add("example.com", "TXT", "_acme-challenge.www", foreign);
    }
    world.add("example.com", "TXT", "_acme-challenge", "one");
    world.add("example.com", "CNAME", "_acme-challenge.www", "one");
    world.add("example.com", "TXT", "_acme-challenge.www", "one");
    world.add("example.com", "TXT", "_acme-challenge.www", "\"one\"");
    let (world, fake, ocean) = start(world).await;
    ocean.present(&record("one")).await.unwrap();
    assert!(!fake.log().iter().any(|line| line.starts_with("POST")), "it was there");
    ocean.clean_up(&record("one")).await.unwrap();
    let left = world.lock().unwrap().records.iter().map(|r| r.0).collect::<Vec<_>>();
    assert_eq!(left, [1, 2, 3, 4, 5, 6, 7]);
}

#[tokio::test]
async fn the_domain_of_the_account_is_found_from_the_name_up() {
    // The DNS shows a zone that the account does not have; the account has its parent.
    let cases = [
        ("www.example.com", vec!["example.com"], "_acme-challenge.www"),
        ("example.com", vec!["example.com", "www.example.com"], "_acme-challenge.www"),
        ("example.com", vec!["www.example.com"], "_acme-challenge"),
        ("com", vec![NAME_OF_RECORD], "@"),
    ];
    for (zone, domains, name) in cases {
        let expected = domains[0];
        let (world, _fake, ocean) = start(World { domains, ..World::default() }).await;
        let record = TxtRecord { zone: zone.to_owned(), ..record("one") };
        ocean.present(&record).await.unwrap();
        let found = world.lock().unwrap().records[0].clone();
        assert_eq!((found.1.as_str(), found.3.as_str()), (expected, name));
        ocean.clean_up(&record).await.unwrap();
        assert!(world.lock().unwrap().records.is_empty());
    }
}

#[tokio::test]
async fn errors_are_reported_without_the_token() {
    let endless = r#"{"domain_records":[],"links":{"pages":{"next":"x"}}}"#;
    let scopes = "; the token must not be expired and needs the scopes domain:read, domain:create \
                  and domain:delete";
    let cases = [
        (
            401,
            r#"{"id":"unauthorized","message":"Unable to authenticate you"}"#,
            format!(
                "{{}} refuses the credentials: Unable to authenticate you (unauthorized){scopes}"
            ),
        ),
        (
            403,
            r#"{"id":"forbidden","message":"You are not authorized: canary-7f3a9"}"#,
            format!(
                "{{}} refuses the credentials: You are not authorized: [redacted] (forbidden){scopes}"
            ),
        ),
        (
            422,
            r#"{"id":"unprocessable_entity","message":"Data is too long"}"#,
            "{} answered 422: Data is too long (unprocessable_entity)".to_owned(),
        ),
        (
            429,
            r#"{"id":"too_many_requests","message":"API rate limit exceeded."}"#,
            "{} limits the rate of requests and asks to wait 3600 s".to_owned(),
        ),
        (500, "", "{} answered 500: no details".to_owned()),
        (404, "<html>", "{} answered 404: <html>".to_owned()),
        (
            404,
            r#"{"id":"not_found","message":"gone"}"#,
            "{} has no zone for _acme-challenge.www.example.com: the account of the token has none \
             of the domains example.com, _acme-challenge.www.example.com, www.example.com"
                .to_owned(),
        ),
        (
            200,
            "hello",
            "{} sent an unusable answer: expected value at line 1 column 1".to_owned(),
        ),
        (
            200,
            r#"{"domain_records":{}}"#,
            "{} sent an unusable answer: invalid type: map, expected a sequence at line 1 \
             column 18"
                .to_owned(),
        ),
        (
            200,
            endless,
            "{} sent an unusable answer: a list continues after 100 pages".to_owned(),
        ),
    ];
    for (status, body, expected) in cases {
        let (world, fake, ocean) = start(example()).await;
        world.lock().unwrap().instead = Some(("GET", status, body.to_owned()));
        let expected = expected.replacen("{}", &fake.address.to_string(), 1);
        let errors = [
            ocean.present(&record("one")).await.unwrap_err(),
            ocean.clean_up(&record("one")).await.unwrap_err(),
            ocean.check(NAME_OF_RECORD, "example.com").await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.to_string(), expected);
            assert!(!format!("{error:?}").contains(CANARY));
        }
    }
}

#[tokio::test]
async fn writing_and_deleting_can_be_refused_too() {
    let mut world = example();
    world.add("example.com", "TXT", "_acme-challenge.www", "one");
    let (world, fake, ocean) = start(world).await;
    let body = r#"{"id":"forbidden","message":"no"}"#.to_owned();
    world.lock().unwrap().instead = Some(("POST", 422, body.clone()));
    let post = ocean.present(&record("two")).await.unwrap_err().to_string();
    world.lock().unwrap().instead = Some(("DELETE", 422, body));
    let delete = ocean.clean_up(&record("one")).await.unwrap_err().to_string();
    let expected = format!("{} answered 422: no (forbidden)", fake.address);
    assert_eq!((post, delete), (expected.clone(), expected));
    // Another client deleted it first, which is the desired state.
    world.lock().unwrap().instead = Some(("DELETE", 404, String::new()));
    ocean.clean_up(&record("one")).await.unwrap();
}

#[tokio::test]
async fn a_check_reads_the_domain_and_writes_nothing() {
    let (_world, fake, ocean) = start(example()).await;
    let message = ocean.check(NAME_OF_RECORD, "example.com").await.unwrap();
    assert_eq!(message, "digitalocean: domain example.com can be read; TXT records at the name: 0");
    assert!(fake.log().iter().all(|line| line.starts_with("GET ")), "{:?}", fake.log());
}

#[test]
fn a_missing_token_is_reported() {
    let cases = [
        ("good", None),
        ("none", Some("digitalocean: tokenSecretRef: secret none has no `k`")),
        ("empty", Some("digitalocean: tokenSecretRef: secret empty, key k: this is empty")),
    ];
    for (name, expected) in cases {
        let selector = SecretKeySelector { name: name.to_owned(), key: "k".to_owned() };
        let settings = resource::dns01::DigitalOcean { token_secret_ref: selector };
        let provider = resource::Dns01Provider::DigitalOcean(settings);
        let secrets = [("good/k", CANARY), ("empty/k", " \n")];
        let opened = in_context(&secrets, &[], |context| super::super::open(&provider, context));
        assert_eq!(opened.err().map(|error| error.to_string()).as_deref(), expected);
    }
}
