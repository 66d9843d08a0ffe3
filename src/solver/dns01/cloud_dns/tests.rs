//! The provider against a service written from the documentation of Cloud DNS, of service
//! accounts and of the metadata server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as Lock, OnceLock};

use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};

use super::credentials::Source;
use super::*;
use crate::pki::PrivateKey;
use crate::resource::{KeyAlgorithm, SecretKeySelector};
use crate::solver::dns01::DnsProvider as _;
use crate::solver::dns01::fake::{Answer, Fake, Received, in_context, record, without_ambient};

const FQDN: &str = "_acme-challenge.www.example.com.";
const ZONES: &str = "/dns/v1/projects/my%3Aproject/managedZones";

/// A project. `pending`: how many polls report a change as pending.
#[derive(Default)]
struct Service {
    /// Name, DNS name, visibility; a page holds one.
    zones: Vec<(&'static str, &'static str, &'static str)>,
    sets: BTreeMap<String, Value>,
    before: Option<Value>,
    pending: usize,
    tokens: usize,
}

/// How a service answers a request.
type Responder = fn(&Received) -> Answer;

type State = Arc<Lock<Service>>;

fn key() -> &'static PrivateKey {
    static KEY: OnceLock<PrivateKey> = OnceLock::new();
    KEY.get_or_init(|| PrivateKey::generate(KeyAlgorithm::Rsa, 2048).unwrap())
}

fn failure(status: u16, reason: &str, message: &str) -> Answer {
    let errors = json!([{ "reason": reason, "message": message, "domain": "global" }]);
    let error = json!({ "code": status, "message": message, "errors": errors });
    Answer::json(status, &json!({ "error": error }))
}

fn answer(state: &State, received: &Received) -> Answer {
    let mut state = state.lock().unwrap();
    if received.path() == "/token" {
        return token(&mut state, received);
    }
    if received.header("authorization") != "Bearer CANARY-token" {
        return failure(401, "authError", "Invalid Credentials");
    }
    match received.path().strip_prefix(ZONES) {
        Some("") => zones(&state, received),
        Some("/public-zone/rrsets") => {
            assert_eq!(received.query("type").as_deref(), Some("TXT"));
            let set = state.sets.get(&received.query("name").unwrap());
            Answer::json(200, &json!({ "rrsets": set.into_iter().collect::<Vec<_>>() }))
        }
        Some("/public-zone/changes") => change(&mut state, &received.json()),
        Some("/public-zone/changes/7") => {
            state.pending -= 1;
            let status = if state.pending == 0 { "done" } else { "pending" };
            Answer::json(200, &json!({ "id": "7", "status": status }))
        }
        _ => failure(404, "notFound", "The 'parameters.managedZone' resource does not exist."),
    }
}

/// RFC 7523 section 2.1.
fn token(state: &mut Service, received: &Received) -> Answer {
    state.tokens += 1;
    let grant = received.form("grant_type").unwrap();
    assert_eq!(grant, "urn:ietf:params:oauth:grant-type:jwt-bearer");
    let assertion = received.form("assertion").unwrap();
    let (message, signature) = assertion.rsplit_once('.').unwrap();
    let (header, claims) = message.split_once('.').unwrap();
    let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).unwrap();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key().public_key_der());
    public.verify(message.as_bytes(), &decode(signature)).unwrap();
    let header: Value = serde_json::from_slice(&decode(header)).unwrap();
    assert_eq!(header, json!({ "alg": "RS256", "typ": "JWT", "kid": "key-1" }));
    let claims: Value = serde_json::from_slice(&decode(claims)).unwrap();
    let expected = json!({
        "iss": "certctl@p.iam.gserviceaccount.com",
        "scope": "https://www.googleapis.com/auth/ndev.clouddns.readwrite",
        "aud": format!("http://{}/token", received.header("host")),
        "iat": 1_767_323_045,
        "exp": 1_767_326_645,
    });
    assert_eq!(claims, expected);
    Answer::json(200, &json!({ "access_token": "CANARY-token", "expires_in": 3599 }))
}

fn zones(state: &Service, received: &Received) -> Answer {
    let wanted = received.query("dnsName").unwrap();
    let found: Vec<_> = state.zones.iter().filter(|(_, dns, _)| *dns == wanted).collect();
    let page: usize = received.query("pageToken").map_or(0, |page| page.parse().unwrap());
    let zone = |(name, dns, visibility): &&(&str, &str, &str)| json!({ "name": name, "dnsName": dns, "visibility": visibility, "id": "1" });
    let mut body = json!({ "kind": "dns#managedZonesListResponse" });
    if let Some(found) = found.get(page) {
        body["managedZones"] = json!([zone(found)]);
    }
    if page + 1 < found.len() {
        body["nextPageToken"] = (page + 1).to_string().into();
    }
    Answer::json(200, &body)
}

/// Applies a change atomically.
fn change(state: &mut Service, change: &Value) -> Answer {
    if let Some(set) = state.before.take() {
        state.sets.insert(FQDN.to_owned(), set);
    }
    let one = |name: &str| change.get(name).and_then(|list| list.get(0)).cloned();
    let (deletion, addition) = (one("deletions"), one("additions"));
    match (&deletion, state.sets.get(FQDN)) {
        (Some(_), None) => return failure(404, "notFound", "The 'deletions[0]' does not exist."),
        (Some(deletion), Some(set)) if deletion != set => {
            return failure(412, "conditionNotMet", "Precondition not met for 'deletions[0]'");
        }
        (None, Some(_)) => return failure(409, "alreadyExists", "'additions[0]' already exists"),
        _ => {}
    }
    state.sets.remove(FQDN);
    if let Some(addition) = addition {
        state.sets.insert(FQDN.to_owned(), addition);
    }
    let status = if state.pending == 0 { "done" } else { "pending" };
    Answer::json(200, &json!({ "id": "7", "status": status }))
}

fn account(token_uri: &str) -> String {
    let account = json!({
        "type": "service_account",
        "private_key_id": "key-1",
        "private_key": key().to_pkcs8_pem().as_str(),
        "client_email": "certctl@p.iam.gserviceaccount.com",
        "token_uri": token_uri,
    });
    account.to_string()
}

fn settings(zone: &str) -> Settings {
    Settings {
        project: "my:project".to_owned(),
        service_account_secret_ref: Some(SecretKeySelector {
            name: "google".to_owned(),
            key: "key.json".to_owned(),
        }),
        hosted_zone_name: zone.to_owned(),
    }
}

fn provider(base: String, zone: &str) -> CloudDns {
    let json = account(&format!("{base}/token"));
    let made = in_context(&[("google/key.json", &json)], &[], |context| {
        CloudDns::new(&settings(zone), context)
    });
    let made = made.unwrap();
    assert_eq!(made.base, "https://dns.googleapis.com");
    CloudDns { base, pause: Pause::NONE, ..made }
}

async fn start(service: Service) -> (State, Fake, CloudDns) {
    let state = Arc::new(Lock::new(service));
    let shared = Arc::clone(&state);
    let fake = Fake::start(move |received| answer(&shared, received)).await;
    let provider = provider(fake.url(), "");
    (state, fake, provider)
}

fn example() -> Service {
    let zones = vec![
        ("inside-1", "example.com.", "private"),
        ("inside-2", "example.com.", "private"),
        ("public-zone", "example.com.", "public"),
        ("shorter", "com.", "public"),
    ];
    Service { zones, ..Service::default() }
}

fn set(ttl: u32, values: &[&str]) -> Value {
    let values: Vec<_> = values.iter().map(|value| format!("\"{value}\"")).collect();
    json!({ "name": FQDN, "type": "TXT", "ttl": ttl, "rrdatas": values })
}

#[tokio::test]
async fn values_come_and_go_one_by_one() {
    let (state, fake, provider) = start(example()).await;
    let now = || state.lock().unwrap().sets.get(FQDN).cloned();
    let (apex, wild) = (record("apex"), record("wild"));
    // The zone is not known: three names are tried, and the last has three pages.
    let walked = TxtRecord { zone: String::new(), ..apex.clone() };
    provider.clean_up(&walked).await.unwrap();
    let pages = ["", "&pageToken=1", "&pageToken=2"];
    let received = fake.log();
    let lists: Vec<_> =
        received.iter().filter_map(|line| line.split("managedZones?").nth(1)).collect();
    let mut expected = vec![format!("dnsName={FQDN}"), "dnsName=www.example.com.".to_owned()];
    expected.extend(pages.map(|page| format!("dnsName=example.com.{page}")));
    assert_eq!(lists, expected);
    state.lock().unwrap().pending = 3;
    provider.present(&apex).await.unwrap();
    assert_eq!((now(), state.lock().unwrap().pending), (Some(set(60, &["apex"])), 0));
    provider.present(&wild).await.unwrap();
    provider.present(&wild).await.unwrap();
    assert_eq!(now(), Some(set(60, &["apex", "wild"])));
    provider.clean_up(&apex).await.unwrap();
    assert_eq!(now(), Some(set(60, &["wild"])));
    provider.clean_up(&apex).await.unwrap();
    provider.clean_up(&wild).await.unwrap();
    assert_eq!(now(), None);
    provider.present(&apex).await.unwrap();
    assert_eq!(now(), Some(set(60, &["apex"])));
    assert_eq!(state.lock().unwrap().tokens, 1, "a token is used until it ends");
    let message = provider.check("www.example.com", "").await.unwrap();
    let expected = "the credentials can read zone public-zone of project my:project at";
    assert_eq!(message, format!("{expected} {}", fake.address));
}

/// The fields that the book has for lego's variables, with the values of these.
#[tokio::test]
async fn a_change_that_is_never_done_is_read_a_few_times() {
    let (_state, fake, provider) = start(Service { pending: 999, ..example() }).await;
    let error = provider.present(&record("ours")).await.unwrap_err().to_string();
    assert!(error.ends_with("is still pending after 2 minutes"), "{error}");
    let polls = fake.received().iter().filter(|one| one.path().contains("/changes/")).count();
    assert_eq!(polls, 26);
}

#[tokio::test]
async fn the_values_of_legos_variables_lead_to_their_zone() {
    let state = Arc::new(Lock::new(example()));
    let shared = Arc::clone(&state);
    let fake = Fake::start(move |received| answer(&shared, received)).await;
    let variables = BTreeMap::from([
        ("GCE_PROJECT", "my:project".to_owned()),
        ("GCE_ZONE_ID", "public-zone".to_owned()),
        // The content of the file of GCE_SERVICE_ACCOUNT_FILE, too.
        ("GCE_SERVICE_ACCOUNT", account(&format!("{}/token", fake.url()))),
    ]);
    let settings: Settings = serde_json::from_value(json!({
        "project": variables["GCE_PROJECT"],
        "hostedZoneName": variables["GCE_ZONE_ID"],
        "serviceAccountSecretRef": { "name": "google", "key": "key.json" },
    }))
    .unwrap();
    let secrets = [("google/key.json", variables["GCE_SERVICE_ACCOUNT"].as_str())];
    let made = in_context(&secrets, &[], |context| CloudDns::new(&settings, context)).unwrap();
    let provider = CloudDns { base: fake.url(), pause: Pause::NONE, ..made };
    provider.present(&record("value")).await.unwrap();
    let sent: Vec<String> = fake
        .received()
        .iter()
        .map(|received| format!("{} {}", received.method, received.path()))
        .collect();
    assert_eq!(
        sent,
        [
            "POST /token".to_owned(),
            format!("GET {ZONES}/public-zone/rrsets"),
            format!("POST {ZONES}/public-zone/changes"),
        ]
    );
    assert_eq!(state.lock().unwrap().sets.get(FQDN), Some(&set(60, &["value"])));
}

#[tokio::test]
async fn what_others_write_stays_as_it_is() {
    let (state, _fake, provider) = start(example()).await;
    let now = || state.lock().unwrap().sets.get(FQDN).cloned();
    state.lock().unwrap().before = Some(set(5, &["theirs"]));
    provider.present(&record("ours")).await.unwrap();
    assert_eq!(now(), Some(set(5, &["theirs", "ours"])), "after 409");
    state.lock().unwrap().before = Some(set(5, &["theirs", "ours", "late"]));
    provider.present(&record("second")).await.unwrap();
    assert_eq!(now(), Some(set(5, &["theirs", "ours", "late", "second"])), "after 412");
    state.lock().unwrap().before = Some(set(5, &["ours", "theirs"]));
    provider.clean_up(&record("ours")).await.unwrap();
    assert_eq!(now(), Some(set(5, &["theirs"])));
}

#[tokio::test]
async fn ambiguous_and_missing_zones_are_reported() {
    let private = "{} has no zone for _acme-challenge.www.example.com: project my:project has no \
                   public zone for it, only private ones (inside)";
    let several = "cloudDNS: project my:project has several public zones for example.com (one, \
                   two): choose one in hostedZoneName";
    let cases = [
        (vec![("inside", "example.com.", "private")], private),
        (vec![("two", "example.com.", "public"), ("one", "example.com.", "public")], several),
    ];
    for (zones, expected) in cases {
        let (_state, fake, provider) = start(Service { zones, ..Service::default() }).await;
        let error = provider.present(&record("ours")).await.unwrap_err().to_string();
        assert_eq!(error, expected.replace("{}", &fake.address.to_string()));
    }
    let (_state, fake, mut provider) = start(example()).await;
    provider.zone = "elsewhere".to_owned();
    let error = provider.present(&record("ours")).await.unwrap_err().to_string();
    let expected = "no zone elsewhere in project my:project: The 'parameters.managedZone' \
                    resource does not exist.";
    let name = "_acme-challenge.www.example.com";
    assert_eq!(error, format!("{} has no zone for {name}: {expected}", fake.address));
    assert!(!fake.log().iter().any(|line| line.contains("managedZones?")), "no zone is looked for");
}

#[tokio::test]
async fn each_error_has_advice_and_no_credential() {
    let good = |_: &Received| {
        Answer::json(200, &json!({ "access_token": "CANARY-token", "expires_in": 3599 }))
    };
    let denied = |_: &Received| {
        Answer::json(400, &json!({ "error": "invalid_grant", "error_description": "Bad key." }))
    };
    let repeats = |received: &Received| Answer::new(403, received.form("assertion").unwrap());
    let cases: [(Responder, Responder, &str); 11] = [
        (denied, good, "{} refuses the credentials: invalid_grant: Bad key."),
        (repeats, good, "{} refuses the credentials: [redacted]"),
        (|_| Answer::new(200, "CANARY"), good, "{} sent an unusable answer: this is not JSON"),
        (|_| Answer::new(503, "").with("retry-after", "60"), good, "{} answered 503: no details"),
        (
            good,
            |received| failure(401, "authError", received.header("authorization")),
            "{} refuses the credentials: Bearer [redacted]",
        ),
        (
            good,
            |_| failure(403, "rateLimitExceeded", "Rate Limit Exceeded"),
            "{} limits the rate of requests",
        ),
        (
            good,
            |_| Answer::new(429, "").with("retry-after", "30"),
            "{} limits the rate of requests and asks to wait 30 s",
        ),
        (
            good,
            |_| failure(500, "backendError", "Internal\nerror"),
            "{} answered 500: Internal error",
        ),
        (
            good,
            |_| Answer::new(200, "<html>"),
            "{} sent an unusable answer: expected value at line 1 column 1",
        ),
        (
            good,
            |_| Answer::new(200, r#"{"rrsets":{}}"#),
            "{} sent an unusable answer: invalid type: map, expected a sequence at line 1 \
             column 10",
        ),
        (
            good,
            |received| match received.method.as_str() {
                "GET" => Answer::new(200, "{}"),
                _ => failure(412, "conditionNotMet", "Not met"),
            },
            "{} has not finished: the TXT set at _acme-challenge.www.example.com is changed by \
             others, after 5 tries: Not met",
        ),
    ];
    for (token, service, expected) in cases {
        let fake = Fake::start(move |received| match received.path() {
            "/token" => token(received),
            _ => service(received),
        })
        .await;
        let provider = provider(fake.url(), "zone");
        let error = provider.present(&record("ours")).await.unwrap_err();
        let expected = expected.replace("{}", &fake.address.to_string());
        assert_eq!(error.to_string(), expected);
        let check = provider.check("www.example.com", "example.com").await;
        let text = format!("{error} {error:?} {check:?}");
        assert!(!text.contains("CANARY"), "{text}");
    }
}

#[tokio::test]
async fn a_machine_of_googles_needs_no_key() {
    let fake = Fake::start(|received| match received.path() {
        "/computeMetadata/v1/instance/service-accounts/default/token" => {
            assert_eq!(received.header("metadata-flavor"), "Google");
            Answer::json(200, &json!({ "access_token": "CANARY-token", "expires_in": 300 }))
        }
        _ => Answer::json(200, &json!({ "auth": received.header("authorization") })),
    })
    .await;
    let host = fake.address.to_string();
    let settings = Settings { service_account_secret_ref: None, ..settings("zone") };
    let made = in_context(&[], &[("GCE_METADATA_HOST", &host)], |context| {
        CloudDns::new(&settings, context)
    });
    let provider = CloudDns { base: fake.url(), ..made.unwrap() };
    provider.clean_up(&record("ours")).await.unwrap();
    assert_eq!(fake.received()[1].header("authorization"), "Bearer CANARY-token");
    let made = without_ambient(|context| CloudDns::new(&settings, context).map(|_| ()));
    assert_eq!(
        made.err().unwrap().to_string(),
        "cloudDNS: give serviceAccountSecretRef: credentials of the machine are for \
         ClusterIssuers only"
    );
    let made = in_context(&[], &[], |context| CloudDns::new(&settings, context)).unwrap();
    let Source::Metadata(base) = &made.credentials.source else { panic!("a key from nowhere") };
    assert_eq!(base, "http://metadata.google.internal");
}

#[test]
fn a_key_that_is_none_is_refused_without_being_shown() {
    let good = account("https://oauth2.googleapis.com/token");
    let cases = [
        ("CANARY".to_owned(), "this is not JSON (line 1)"),
        (r#""CANARY""#.to_owned(), "there is no type in it"),
        (
            r#"{"type":"authorized_user","refresh_token":"CANARY"}"#.to_owned(),
            "this is not the key of a service account but other credentials of Google's, which \
             cannot be used",
        ),
        (r#"{"type":"CANARY"}"#.to_owned(), "this is not the key of a service account"),
        (account("http://CANARY.test/"), "its token_uri does not begin with https://"),
        (account("CANARY"), "its token_uri is not a URL"),
        (
            good.replace("-----BEGIN PRIVATE KEY-----", "CANARY"),
            "its private_key cannot be used: error decoding private key PEM block: no PEM data was \
             found in given input",
        ),
        (good.replace("client_email", "CANARY"), "there is no client_email in it"),
    ];
    for (json, expected) in cases {
        let made = in_context(&[("google/key.json", &json)], &[], |context| {
            CloudDns::new(&settings(""), context)
        });
        let error = made.err().unwrap();
        let prefix = "cloudDNS: serviceAccountSecretRef: secret google, key key.json";
        assert_eq!(error.to_string(), format!("{prefix}: {expected}"));
        assert!(!format!("{error:?}").contains("CANARY"), "{error:?}");
    }
}
