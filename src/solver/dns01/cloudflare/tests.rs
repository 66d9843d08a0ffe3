//! Cloudflare against its API as its documentation describes it.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::*;
use crate::resource::{self, SecretKeySelector};
use crate::solver::dns01::DnsProvider as _;
use crate::solver::dns01::fake::{Answer, Fake, Received, api, in_context};

const CANARY: &str = "canary-7f3a9";

/// Zones and records; two entries per page.
#[derive(Default)]
struct World {
    zones: Vec<(&'static str, &'static str, &'static str)>,
    /// Id, zone, name and content.
    records: Vec<(u32, String, String, String)>,
    next: u32,
    /// Answers this instead, when the path ends so.
    instead: Option<(&'static str, u16, String)>,
    /// Another client creates this just before the next record.
    rival: Option<String>,
}

impl World {
    fn add(&mut self, zone: &str, name: &str, content: &str) -> u32 {
        self.next += 1;
        self.records.push((self.next, zone.to_owned(), name.to_owned(), content.to_owned()));
        self.next
    }

    fn answer(&mut self, received: &Received) -> Answer {
        if let Some((end, status, body)) = &self.instead
            && received.path().ends_with(end)
        {
            let answer = Answer::new(*status, body.clone());
            return if *status == 429 { answer.with("retry-after", "42") } else { answer };
        }
        if received.header("authorization") != format!("Bearer {CANARY}") {
            return no(400, 6003, "Invalid request headers", Some((6111, "Invalid format")));
        }
        let path: Vec<&str> = received.path().trim_start_matches('/').split('/').collect();
        match (received.method.as_str(), path.as_slice()) {
            ("GET", ["zones"]) => {
                let name = received.query("name").unwrap();
                let found = self.zones.iter().filter(|zone| zone.1 == name);
                let found = found.map(|z| json!({"id": z.0, "name": z.1, "status": z.2}));
                page(received, &found.collect::<Vec<_>>())
            }
            ("GET", ["zones", zone, "dns_records"]) => {
                let name = received.query("name").unwrap();
                let found = self.records.iter().filter(|r| r.1 == *zone && r.2 == name);
                let found = found.map(|r| {
                    let id = format!("r{}", r.0);
                    json!({"id": id, "type": "TXT", "name": r.2, "content": r.3})
                });
                page(received, &found.collect::<Vec<_>>())
            }
            ("POST", ["zones", zone, "dns_records"]) => {
                let body = received.json();
                assert_eq!((&body["type"], &body["ttl"]), (&json!("TXT"), &json!(60)));
                let (name, content) =
                    (body["name"].as_str().unwrap(), body["content"].as_str().unwrap());
                if let Some(rival) = self.rival.take() {
                    self.add(zone, name, &rival);
                }
                if self.records.iter().any(|r| r.1 == *zone && r.2 == name && r.3 == content) {
                    return no(400, 81_058, "An identical record already exists.", None);
                }
                let id = self.add(zone, name, content);
                yes(&json!({"id": format!("r{id}"), "name": name, "content": content}))
            }
            ("DELETE", ["zones", _, "dns_records", id]) => {
                let before = self.records.len();
                self.records.retain(|r| format!("r{}", r.0) != *id);
                if self.records.len() == before {
                    return no(404, 81_044, "Record does not exist.", None);
                }
                yes(&json!({"id": id}))
            }
            _ => no(404, 7003, "Could not route to that path", None),
        }
    }

    fn contents(&self) -> Vec<(&str, &str)> {
        self.records.iter().map(|r| (r.1.as_str(), r.3.as_str())).collect()
    }
}

fn page(received: &Received, all: &[Value]) -> Answer {
    let page: usize = received.query("page").unwrap().parse().unwrap();
    let shown: Vec<&Value> = all.iter().skip((page - 1) * 2).take(2).collect();
    let pages = all.len().div_ceil(2);
    let info = json!({"page": page, "per_page": 2, "total_pages": pages, "total_count": all.len()});
    let body = json!({
        "success": true, "errors": [], "messages": [], "result": shown, "result_info": info,
    });
    Answer::json(200, &body)
}

fn yes(result: &Value) -> Answer {
    Answer::json(200, &json!({"success": true, "errors": [], "messages": [], "result": result}))
}

fn no(status: u16, code: i64, message: &str, cause: Option<(i64, &str)>) -> Answer {
    let mut error = json!({"code": code, "message": message});
    if let Some((code, message)) = cause {
        error["error_chain"] = json!([{"code": code, "message": message}]);
    }
    let body = json!({"success": false, "errors": [error], "messages": [], "result": null});
    Answer::json(status, &body)
}

async fn start(world: World) -> (Arc<Mutex<World>>, Fake, Cloudflare) {
    let world = Arc::new(Mutex::new(world));
    let shared = Arc::clone(&world);
    let fake = Fake::start(move |received| shared.lock().unwrap().answer(received)).await;
    let login = Login::Token(Zeroizing::new(CANARY.to_owned()));
    let provider = Cloudflare { api: api(), base: fake.url(), login };
    (world, fake, provider)
}

fn example() -> World {
    World { zones: vec![("z1", "example.com", "active")], ..World::default() }
}

fn record(value: &str) -> TxtRecord {
    TxtRecord {
        domain: "www.example.com".to_owned(),
        name: NAME_OF_RECORD.to_owned(),
        zone: String::new(),
        value: value.to_owned(),
    }
}

const NAME_OF_RECORD: &str = "_acme-challenge.www.example.com";

#[tokio::test]
async fn values_come_and_go_one_by_one() {
    let (world, fake, cloudflare) = start(example()).await;
    let contents = || {
        let world = world.lock().unwrap();
        world.contents().iter().map(|(_, content)| (*content).to_owned()).collect::<Vec<_>>()
    };
    cloudflare.present(&record("one")).await.unwrap();
    cloudflare.present(&record("two")).await.unwrap();
    cloudflare.present(&record("one")).await.unwrap();
    assert_eq!(contents(), ["\"one\"", "\"two\""]);
    cloudflare.clean_up(&record("one")).await.unwrap();
    cloudflare.clean_up(&record("one")).await.unwrap();
    assert_eq!(contents(), ["\"two\""]);
    cloudflare.present(&record("one")).await.unwrap();
    assert_eq!(contents(), ["\"two\"", "\"one\""]);
    let expected = [
        "GET /zones?name=_acme-challenge.www.example.com&per_page=50&page=1",
        "GET /zones?name=www.example.com&per_page=50&page=1",
        "GET /zones?name=example.com&per_page=50&page=1",
        "GET \
         /zones/z1/dns_records?type=TXT&name=_acme-challenge.www.example.com&per_page=50&page=1",
        "POST /zones/z1/dns_records",
    ];
    assert_eq!(fake.log()[..5], expected);
}

#[tokio::test]
async fn what_others_wrote_stays_on_whatever_page_it_is() {
    let mut world = example();
    for foreign in ["a", "b", "c", "d", "e"] {
        world.add("z1", NAME_OF_RECORD, foreign);
    }
    // A value without quotes, and twice: other clients write so.
    world.add("z1", NAME_OF_RECORD, "one");
    world.add("z1", NAME_OF_RECORD, "\"one\"");
    world.add("z1", "_acme-challenge.other.example.com", "\"one\"");
    let (world, fake, cloudflare) = start(world).await;
    cloudflare.present(&record("one")).await.unwrap();
    assert!(!fake.log().iter().any(|line| line.starts_with("POST")), "it was there");
    cloudflare.clean_up(&record("one")).await.unwrap();
    let left = world.lock().unwrap().records.iter().map(|r| r.0).collect::<Vec<_>>();
    assert_eq!(left, [1, 2, 3, 4, 5, 8]);
}

#[tokio::test]
async fn a_rival_with_the_same_value_is_no_failure() {
    let (world, _fake, cloudflare) = start(example()).await;
    world.lock().unwrap().rival = Some("\"one\"".to_owned());
    cloudflare.present(&record("one")).await.unwrap();
    assert_eq!(world.lock().unwrap().contents(), [("z1", "\"one\"")]);
    // The service reports "already exists", but the record differs.
    let refusal =
        r#"{"success":false,"errors":[{"code":81057,"message":"The record already exists."}]}"#;
    let refuse = Fake::start(move |received| match received.method.as_str() {
        "POST" => Answer::new(400, refusal),
        _ if received.path() == "/zones" => {
            yes(&json!([{"id": "z1", "name": received.query("name"), "status": "active"}]))
        }
        _ => yes(&json!([])),
    })
    .await;
    let cloudflare = Cloudflare { base: refuse.url(), ..cloudflare };
    let message = cloudflare.present(&record("one")).await.unwrap_err().to_string();
    let expected = format!("{} answered 400: The record already exists. (81057)", refuse.address);
    assert_eq!(message, expected);
}

#[tokio::test]
async fn of_zones_with_one_name_the_active_one_is_meant() {
    let zones = vec![
        ("z1", "example.com", "moved"),
        ("z2", "example.com", "pending"),
        ("z3", "example.com", "moved"),
        ("z4", "example.com", "pending"),
        ("z5", "example.com", "active"),
        ("z6", "com", "active"),
    ];
    let (world, _fake, cloudflare) = start(World { zones, ..World::default() }).await;
    cloudflare.present(&record("one")).await.unwrap();
    assert_eq!(world.lock().unwrap().contents(), [("z5", "\"one\"")]);
}

#[tokio::test]
async fn errors_are_reported_without_the_token() {
    for (end, status, body, expected) in refusals() {
        let (world, fake, cloudflare) = start(example()).await;
        world.lock().unwrap().instead = Some((end, status, body));
        let expected = expected.replacen("{}", &fake.address.to_string(), 1);
        let errors = [
            cloudflare.present(&record("one")).await.unwrap_err(),
            cloudflare.clean_up(&record("one")).await.unwrap_err(),
            cloudflare.check(NAME_OF_RECORD, "").await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.to_string(), expected);
            assert!(!format!("{error:?}").contains(CANARY));
        }
    }
}

/// The end of a path, status and body of its answer, and the expected message.
fn refusals() -> Vec<(&'static str, u16, String, &'static str)> {
    let long_list = json!({
        "success": true, "result": [], "result_info": {"total_pages": 1000}
    });
    vec![
        (
            "/zones",
            400,
            envelope(
                6003,
                "Invalid request headers",
                Some((6111, "Invalid format for Authorization header")),
            ),
            "{} refuses the credentials: Invalid request headers (6003): Invalid format for \
             Authorization header (6111); the API token must be active and have Zone Read and DNS \
             Edit on the zone",
        ),
        (
            "/zones",
            403,
            envelope(9109, "Invalid access token", None),
            "{} refuses the credentials: Invalid access token (9109); the API token must be \
             active and have Zone Read and DNS Edit on the zone",
        ),
        (
            "/dns_records",
            403,
            envelope(10_000, "Authentication error", None),
            "{} refuses the credentials: Authentication error (10000); the API token must be \
             active and have Zone Read and DNS Edit on the zone",
        ),
        ("/dns_records", 400, envelope(9999, CANARY, None), "{} answered 400: [redacted] (9999)"),
        ("/zones", 200, envelope(1, "no", None), "{} answered 200: no (1)"),
        ("/zones", 429, String::new(), "{} limits the rate of requests and asks to wait 42 s"),
        (
            "/zones",
            502,
            "<html>\u{1b}bad</html>".to_owned(),
            "{} answered 502: <html>\\u{1b}bad</html>",
        ),
        ("/zones", 500, String::new(), "{} answered 500: no details"),
        (
            "/zones",
            200,
            "hello".to_owned(),
            "{} sent an unusable answer: expected value at line 1 column 1",
        ),
        (
            "/zones",
            200,
            r#"{"success":true,"result":null}"#.to_owned(),
            "{} sent an unusable answer: there is no `result` in it",
        ),
        (
            "/zones",
            200,
            r#"{"success":true,"result":[{"id":"../x","name":"example.com"}]}"#.to_owned(),
            "{} sent an unusable answer: an id is `../x`",
        ),
        (
            "/zones",
            200,
            r#"{"success":true,"result":[{"id":1,"name":"example.com"}]}"#.to_owned(),
            "{} sent an unusable answer: invalid type: integer `1`, expected a string at \
             line 1 column 33",
        ),
        (
            "/zones",
            200,
            long_list.to_string(),
            "{} sent an unusable answer: a list continues after 100 pages",
        ),
        (
            "/zones",
            200,
            r#"{"success":true,"result":[]}"#.to_owned(),
            "{} has no zone for _acme-challenge.www.example.com: the credentials see none of the \
             zones _acme-challenge.www.example.com, www.example.com, example.com; a token needs \
             Zone Read on the zone",
        ),
    ]
}

fn envelope(code: i64, message: &str, cause: Option<(i64, &str)>) -> String {
    let mut error = json!({"code": code, "message": message});
    if let Some((code, message)) = cause {
        error["error_chain"] = json!([{"code": code, "message": message}]);
    }
    json!({"success": false, "errors": [error], "result": null}).to_string()
}

#[tokio::test]
async fn a_check_reads_the_zone_and_writes_nothing() {
    let mut world = example();
    world.add("z1", NAME_OF_RECORD, "x");
    let (_world, fake, cloudflare) = start(world).await;
    let message = cloudflare.check(NAME_OF_RECORD, "example.com").await.unwrap();
    assert_eq!(message, "cloudflare: zone example.com can be read; TXT records at the name: 1");
    assert!(fake.log().iter().all(|line| line.starts_with("GET ")), "{:?}", fake.log());
}

#[tokio::test]
async fn an_email_goes_with_a_key() {
    let fake = Fake::start(|_| no(403, 9103, "Unknown X-Auth-Key or X-Auth-Email", None)).await;
    let key = Zeroizing::new(CANARY.to_owned());
    let login = Login::Key { email: "me@example.com".to_owned(), key };
    let cloudflare = Cloudflare { api: api(), base: fake.url(), login };
    let message = cloudflare.check("example.com", "").await.unwrap_err().to_string();
    let expected = format!(
        "{} refuses the credentials: Unknown X-Auth-Key or X-Auth-Email (9103); apiKeySecretRef is \
         for a Global API Key, which belongs with the account's email",
        fake.address
    );
    assert_eq!(message, expected);
    let received = &fake.received()[0];
    let headers = ["x-auth-email", "x-auth-key", "authorization"].map(|name| received.header(name));
    assert_eq!(headers, ["me@example.com", CANARY, ""]);
}

#[test]
fn settings_without_usable_credentials_are_refused() {
    let at = |name: &str| Some(SecretKeySelector { name: name.to_owned(), key: "k".to_owned() });
    let settings = |email: &str, key, token| resource::dns01::Cloudflare {
        email: email.to_owned(),
        api_key_secret_ref: key,
        api_token_secret_ref: token,
    };
    let cases = [
        (settings("", None, at("good")), None),
        (settings("me@example.com", at("good"), None), None),
        (settings("", at("good"), None), Some("cloudflare: email: required with apiKeySecretRef")),
        (
            settings("", None, None),
            Some("cloudflare: apiKeySecretRef or apiTokenSecretRef is required"),
        ),
        (
            settings("", at("good"), at("good")),
            Some("cloudflare: apiKeySecretRef and apiTokenSecretRef cannot both be specified"),
        ),
        (
            settings("", None, at("none")),
            Some("cloudflare: apiTokenSecretRef: secret none has no `k`"),
        ),
        (
            settings("", None, at("lines")),
            Some(
                "cloudflare: apiTokenSecretRef: secret lines, key k: there are control characters \
                 in it; is it more than one line?",
            ),
        ),
    ];
    let secrets = [("good/k", CANARY), ("lines/k", "canary-7f3a9\nx")];
    for (settings, expected) in cases {
        let provider = resource::Dns01Provider::Cloudflare(settings);
        let opened = in_context(&secrets, &[], |context| super::super::open(&provider, context));
        let error = opened.err();
        assert!(!format!("{error:?}").contains(CANARY));
        assert_eq!(error.map(|error| error.to_string()).as_deref(), expected);
    }
}
