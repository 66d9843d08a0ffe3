//! The table, its documentation, and one provider of it against a service on a loopback port.

use serde_json::json;

use super::*;
use crate::resource::Dns01Provider;
use crate::resource::dns01::Webhook;
use crate::solver::dns01::fake::{Answer, Fake, Received, in_context, record};
use crate::solver::dns01::listed::{ConfigField, ConfigKind};

const CANARY: &str = "canary 7f3a9~x";

fn opened(name: &str, config: &Value) -> Result<DnsUpdate, ProviderError> {
    let (key, service) = (pem(), r#"{"private_key": "canary 7f3a9~x"}"#);
    let secrets = [("s/one", CANARY), ("s/pem", key.as_str()), ("s/json", service), ("s/no", " ")];
    in_context(&secrets, &[], |context| DnsUpdate::new(row(name).unwrap(), Some(config), context))
}

/// A key that Oracle Cloud would accept.
fn pem() -> String {
    static KEY: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
        rcgen::KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).unwrap().serialize_pem()
    });
    KEY.clone()
}

fn value_of(provider: &str, field: ConfigField) -> Value {
    match (provider, field.name) {
        ("oraclecloud", "privateKeySecretRef") => json!({"name": "s", "key": "pem"}),
        ("ovh", "endpoint") => json!("ovh-eu"),
        ("autodns", "context") => json!(4),
        _ => match field.kind {
            ConfigKind::Secret | ConfigKind::SecretIfAny => json!({"name": "s", "key": "one"}),
            ConfigKind::Document => json!({"name": "s", "key": "json"}),
            ConfigKind::Text | ConfigKind::TextIfAny => json!("a-1"),
            ConfigKind::Flag => json!(true),
        },
    }
}

/// A `config` with all fields that are needed, and with the others or not.
fn config_of(row: &Row, all: bool) -> Value {
    let wanted = |field: &&ConfigField| match (row.of.name, field.name) {
        ("joker", "apiKeySecretRef") | ("cloudns", "authID") => true,
        ("joker", _) => false,
        _ => all || field.kind.is_needed(),
    };
    let fields = row.of.fields.iter().filter(wanted);
    fields.map(|f| (f.name.to_owned(), value_of(row.of.name, *f))).collect()
}

#[test]
fn every_provider_opens_with_the_fields_of_its_row() {
    for row in ROWS {
        for all in [true, false] {
            let provider = opened(row.of.name, &config_of(row, all));
            assert_eq!(
                provider.map(|provider| provider.name).map_err(|error| error.to_string()),
                Ok(row.of.name)
            );
        }
    }
}

#[test]
fn names_are_in_order_and_take_nothing_from_certctls_own() {
    let names: Vec<&str> = all().map(|provider| provider.name).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    let native = Dns01Provider::TABLES.iter().chain(Dns01Provider::OWN_TABLES);
    for own in native.map(|(name, _)| *name).chain(["exec", "http"]) {
        assert!(!names.iter().any(|name| name.eq_ignore_ascii_case(own)), "{own}");
    }
}

#[test]
fn mistakes_in_the_settings_are_named_and_no_credential_is() {
    let cases = [
        ("desec", json!({}), "desec: config: missing field `apiTokenSecretRef`"),
        ("desec", json!(CANARY), "desec: config: expected a map, got a text"),
        (
            "desec",
            json!({"apiToken": CANARY}),
            "desec: config: unknown field `apiToken`, expected `apiTokenSecretRef`",
        ),
        (
            "desec",
            json!({"apiTokenSecretRef": CANARY}),
            "desec: config.apiTokenSecretRef: expected SecretKeySelector, got a string",
        ),
        (
            "desec",
            json!({"apiTokenSecretRef": {"name": "other", "key": "k"}}),
            "desec: apiTokenSecretRef: secret other has no `k`",
        ),
        (
            "desec",
            json!({"apiTokenSecretRef": {"name": "s", "key": "no"}}),
            "desec: apiTokenSecretRef: secret s, key no: this is empty",
        ),
        (
            "transip",
            json!({"username": "u", "privateKeySecretRef": {"name": "s", "key": "no"}}),
            "transip: privateKeySecretRef: secret s, key no: this is empty",
        ),
        (
            "dnsimple",
            json!({"apiTokenSecretRef": {"name": "s", "key": "one"}, "accountID": " "}),
            "dnsimple: config.accountID: this is empty",
        ),
        (
            "dnsimple",
            json!({"apiTokenSecretRef": {"name": "s", "key": "one"}, "accountID": [CANARY]}),
            "dnsimple: config.accountID: expected a text, got a list",
        ),
        (
            "transip",
            json!({
                "username": "u",
                "privateKeySecretRef": {"name": "s", "key": "pem"},
                "globalKey": CANARY,
            }),
            "transip: config.globalKey: expected true or false, got a text",
        ),
        (
            "joker",
            json!({"username": "u"}),
            "joker: either apiKeySecretRef is needed, or username and passwordSecretRef",
        ),
        (
            "ovh",
            json!({
                "endpoint": "ovh-mars",
                "applicationKeySecretRef": {"name": "s", "key": "one"},
                "applicationSecretSecretRef": {"name": "s", "key": "one"},
                "consumerKeySecretRef": {"name": "s", "key": "one"},
            }),
            "ovh: Invalid OVH endpoint: ovh-mars",
        ),
    ];
    for (name, config, expected) in cases {
        let error = opened(name, &config).err().unwrap();
        assert!(
            matches!(error, ProviderError::Settings { .. } | ProviderError::Credential { .. }),
            "{error:?}"
        );
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_provider_is_found_by_the_name_of_a_webhook() {
    let named = |solver: &str, config: Option<Value>| {
        let (group_name, solver_name) = ("certctl".to_owned(), solver.to_owned());
        Dns01Provider::Webhook(Webhook { group_name, solver_name, config })
    };
    let config = json!({"apiTokenSecretRef": {"name": "s", "key": "one"}});
    let settings = named("desec", Some(config));
    assert_eq!(settings.name(), "desec");
    let open = |settings: &Dns01Provider| {
        in_context(&[("s/one", CANARY)], &[], |context| {
            crate::solver::dns01::open(settings, context).map(drop).map_err(|e| e.to_string())
        })
    };
    assert_eq!(open(&settings), Ok(()));
    let missing = "desec: config: missing field `apiTokenSecretRef`".to_owned();
    assert_eq!(open(&named("desec", None)), Err(missing));
    // One value at a name is too few.
    let unknown = open(&named("duckdns", None)).unwrap_err();
    assert!(
        unknown.ends_with("ultradns, vercel, volcengine, vultr, websupport, yandexcloud, zoneeu")
    );
}

/// PowerDNS's API: a zone of values per name.
#[derive(Default)]
struct World {
    contents: Vec<String>,
    instead: Option<u16>,
}

impl World {
    fn answer(&mut self, received: &Received) -> Answer {
        if let Some(status) = self.instead {
            return Answer::new(status, received.repeated());
        }
        assert_eq!(received.header("x-api-key"), CANARY);
        assert_eq!(received.path(), "/api/v1/servers/localhost/zones/example.com.");
        if received.method == "GET" {
            let records: Vec<Value> =
                self.contents.iter().map(|content| json!({"content": content})).collect();
            let name = "_acme-challenge.www.example.com.";
            let set = json!({"name": name, "type": "TXT", "ttl": TTL, "records": records});
            return Answer::json(200, &json!({"rrsets": [set]}));
        }
        let set = received.json()["rrsets"][0].clone();
        assert_eq!(set["name"], "_acme-challenge.www.example.com.");
        let records = set["records"].as_array().cloned().unwrap_or_default();
        let contents = records.iter().map(|record| record["content"].as_str().unwrap().to_owned());
        self.contents = contents.collect();
        Answer::new(204, "")
    }
}

async fn pdns(world: World) -> (DnsUpdate, Fake, std::sync::Arc<std::sync::Mutex<World>>) {
    let world = std::sync::Arc::new(std::sync::Mutex::new(world));
    let shared = std::sync::Arc::clone(&world);
    let fake = Fake::start(move |received| shared.lock().unwrap().answer(received)).await;
    let config = json!({"endpoint": fake.url(), "apiKeySecretRef": {"name": "s", "key": "one"}});
    (opened("pdns", &config).unwrap(), fake, world)
}

#[tokio::test]
async fn values_are_added_and_taken_back_one_by_one() {
    let (provider, _fake, world) = pdns(World::default()).await;
    let contents = || world.lock().unwrap().contents.clone();
    let (apex, wildcard) = (record("apex"), record("wildcard"));
    // Both at once, as the engine calls it: neither value is lost.
    let (one, two) = futures_util::join!(provider.present(&apex), provider.present(&wildcard));
    assert_eq!((one, two), (Ok(()), Ok(())));
    assert_eq!(contents(), ["\"apex\"", "\"wildcard\""]);
    provider.present(&apex).await.unwrap();
    assert_eq!(contents(), ["\"apex\"", "\"wildcard\""]);
    let message = provider.check(&apex.name, &apex.zone).await.unwrap();
    assert_eq!(message, "pdns: zone example.com can be read; TXT records at the name: 2");
    provider.clean_up(&apex).await.unwrap();
    assert_eq!(contents(), ["\"wildcard\""]);
    provider.clean_up(&apex).await.unwrap();
    provider.clean_up(&wildcard).await.unwrap();
    assert_eq!(contents(), [""; 0]);
}

#[tokio::test]
async fn a_service_that_repeats_the_credential_is_not_repeated() {
    for (status, expected) in [
        (400, "pdns answered 400: BadRequest GET"),
        (401, "pdns refuses the credentials: it answered 401"),
        (403, "pdns refuses the credentials: GET"),
        (404, "pdns answered 404: not found"),
        (422, "pdns answered 422: GET"),
    ] {
        let (provider, _fake, _) = pdns(World { instead: Some(status), ..World::default() }).await;
        let error = provider.present(&record("v")).await.unwrap_err();
        assert!(!format!("{error:?}").contains("7f3a9"), "{error:?}");
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}

#[tokio::test]
async fn a_deed_ends_when_its_time_is_over() {
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", socket.local_addr().unwrap());
    let config = json!({"endpoint": endpoint, "apiKeySecretRef": {"name": "s", "key": "one"}});
    let provider =
        DnsUpdate { limit: Duration::from_millis(20), ..opened("pdns", &config).unwrap() };
    let expected = ProviderError::Unreachable {
        service: "pdns".to_owned(),
        reason: "it was not done within 0.02 s".to_owned(),
    };
    let record = record("v");
    assert_eq!(provider.present(&record).await, Err(expected.clone()));
    assert_eq!(provider.clean_up(&record).await, Err(expected.clone()));
    assert_eq!(provider.check(&record.name, &record.zone).await, Err(expected));
}

#[test]
fn the_texts_of_the_crate_become_errors_without_credentials() {
    use dns_update::Error;
    let config = json!({"username": "u", "apiTokenSecretRef": {"name": "s", "key": "one"}});
    let provider = opened("luadns", &config).unwrap();
    let cut = format!("HTTP 400: {}canary 7f", "x".repeat(20));
    let cases = [
        (
            Error::Api(format!("Failed to send request to https://a/?k={CANARY}: gone")),
            "luadns cannot be reached: Failed to send request to https://a/?k=[redacted]: gone",
        ),
        (
            Error::Api("HTTP 403: canary+7f3a9%7Ex, canary%207f3a9~x".to_owned()),
            "luadns refuses the credentials: [redacted], [redacted]",
        ),
        // `u:` and the credential, as the header has it.
        (
            Error::Api("HTTP 500: dTpjYW5hcnkgN2YzYTl+eA==".to_owned()),
            "luadns answered 500: [redacted]",
        ),
        (Error::Api(cut), "luadns answered 400: xxxxxxxxxxxxxxxxxxxx[redacted]"),
        (
            Error::Serialize("no JSON (body: canary)".to_owned()),
            "luadns sent an unusable answer: no JSON (body: [redacted]",
        ),
        (Error::Api("HTTP 429".to_owned()), "luadns limits the rate of requests"),
        (Error::Api("HTTP 503: busy".to_owned()), "luadns cannot be reached: 503: busy"),
        (Error::Api("zone not found".to_owned()), "luadns answered an error: zone not found"),
        (Error::BadRequest, "luadns answered 400: no details"),
        (Error::Unsupported("no TXT".to_owned()), "luadns: no TXT"),
        (Error::InvalidRegion, "luadns: region: there is no such region"),
    ];
    for (error, expected) in cases {
        assert_eq!(provider.failed(&error).to_string(), expected);
    }
}

#[test]
fn the_shortest_ttl_is_asked_for_where_the_crate_knows_it() {
    assert!(RAISED.iter().all(|name| row(name).is_some()));
    assert_eq!(["joker", "namecheap", "godaddy"].map(ttl), [SHORT_TTL, SHORT_TTL, TTL]);
}
