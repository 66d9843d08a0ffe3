//! Webhooks over HTTP, and how `groupName` and `solverName` are resolved.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Empty;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::http::NAME;
use super::*;
use crate::resource::Dns01Provider;
use crate::solver::dns01::fake::{Answer, Fake, Received, in_context};
use crate::solver::dns01::{DnsProvider, TxtRecord};

const CANARY: &str = "canary-7f3a9";

/// A webhook that keeps values per name.
#[derive(Default)]
struct World {
    values: Vec<(String, String)>,
    instead: Option<(u16, String)>,
}

impl World {
    fn answer(&mut self, received: &Received) -> Answer {
        if let Some((status, body)) = &self.instead {
            return Answer::new(*status, body.clone()).with("retry-after", "60");
        }
        if received.header("x-api-key") != CANARY {
            return Answer::new(401, format!("{} is wrong", received.header("x-api-key")));
        }
        if received.method == "GET" {
            return Answer::new(405, "");
        }
        let request = received.json()["request"].clone();
        let text = |field: &str| request[field].as_str().unwrap().to_owned();
        let entry = (text("resolvedFQDN"), text("key"));
        match text("action").as_str() {
            "Present" if self.values.contains(&entry) => {}
            "Present" => self.values.push(entry),
            "CleanUp" => self.values.retain(|value| *value != entry),
            other => return refusal(&format!("unknown action {other}"), "BadRequest", 400),
        }
        let response = json!({"uid": request["uid"], "success": true});
        let kind = "ChallengePayload";
        Answer::json(200, &json!({"kind": kind, "response": response}))
    }
}

fn refusal(message: &str, reason: &str, code: u16) -> Answer {
    Answer::new(200, response(message, reason, code))
}

fn response(message: &str, reason: &str, code: u16) -> String {
    let status = json!({"message": message, "reason": reason, "code": code});
    json!({"response": {"uid": "", "success": false, "status": status}}).to_string()
}

async fn start() -> (Arc<Mutex<World>>, Fake) {
    let world = Arc::new(Mutex::new(World::default()));
    let shared = Arc::clone(&world);
    let fake = Fake::start(move |received| shared.lock().unwrap().answer(received)).await;
    (world, fake)
}

fn opened(solver: &str, config: Option<Value>) -> Result<Box<dyn DnsProvider>, ProviderError> {
    let settings =
        Webhook { group_name: SOLVER_GROUP.to_owned(), solver_name: solver.to_owned(), config };
    let provider = Dns01Provider::Webhook(settings);
    let secrets = [("good/k", CANARY), ("wrong/k", "canary-other"), ("accounts/k", "{}")];
    in_context(&secrets, &[], |context| super::super::open(&provider, context))
}

fn config(url: &str, secret: &str) -> Value {
    json!({"url": url, "headers": {"X-Api-Key": {"name": secret, "key": "k"}}})
}

fn record(value: &str) -> TxtRecord {
    TxtRecord {
        domain: "www.example.com".to_owned(),
        name: "_acme-challenge.www.example.com".to_owned(),
        zone: "example.com".to_owned(),
        value: value.to_owned(),
    }
}

#[tokio::test]
async fn values_come_and_go_one_by_one() {
    let (world, fake) = start().await;
    world.lock().unwrap().values.push(("_acme-challenge.www.example.com.".into(), "x".into()));
    let hook = opened("http", Some(config(&(fake.url() + "/hook?a=b"), "good"))).unwrap();
    let values = || {
        let world = world.lock().unwrap();
        world.values.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>()
    };
    hook.present(&record("one")).await.unwrap();
    hook.present(&record("two")).await.unwrap();
    hook.present(&record("two")).await.unwrap();
    assert_eq!(values(), ["x", "one", "two"]);
    hook.clean_up(&record("one")).await.unwrap();
    hook.clean_up(&record("one")).await.unwrap();
    assert_eq!(values(), ["x", "two"]);
    hook.present(&record("one")).await.unwrap();
    assert_eq!(values(), ["x", "two", "one"]);
    assert_eq!(fake.log(), ["POST /hook?a=b"; 6]);
}

#[tokio::test]
async fn the_request_is_cert_manager_s_payload() {
    let (_world, fake) = start().await;
    let mut config = config(&fake.url(), "good");
    config["config"] = json!({"a": 1});
    let hook = opened("http", Some(config)).unwrap();
    hook.clean_up(&TxtRecord { zone: String::new(), ..record("one") }).await.unwrap();
    let received = &fake.received()[0];
    let mut document = received.json();
    let uid = document["request"]["uid"].take();
    let parts: Vec<usize> = uid.as_str().unwrap().split('-').map(str::len).collect();
    assert_eq!(parts, [8, 4, 4, 4, 12], "{uid}");
    let expected = json!({
        "apiVersion": "webhook.acme.cert-manager.io/v1alpha1",
        "kind": "ChallengePayload",
        "request": {
            "uid": null, "action": "CleanUp", "type": "dns-01", "dnsName": "www.example.com",
            "key": "one", "resourceNamespace": "default",
            "resolvedFQDN": "_acme-challenge.www.example.com.", "resolvedZone": "",
            "allowAmbientCredentials": true, "config": {"a": 1},
        },
    });
    assert_eq!(document, expected);
    assert_eq!(received.header("content-type"), "application/json");
}

#[tokio::test]
async fn the_answer_determines_success() {
    let cases = [
        (200, String::new(), None),
        (204, String::new(), None),
        (200, " \n".to_owned(), None),
        (201, r#"{"response":{"uid":"","success":true}}"#.to_owned(), None),
        (200, r#"{"response":{"success":true}}"#.to_owned(), None),
        (200, response("no such zone", "", 0), Some("{} answered `success: false`: no such zone")),
        (200, response("no", "Forbidden", 403), Some("{} refuses the credentials: no (Forbidden)")),
        (200, response("", "Conflict", 409), Some("{} answered 409: Conflict")),
        (
            200,
            response("slowly", "", 429),
            Some("{} limits the rate of requests and asks to wait 60 s"),
        ),
        (
            200,
            r#"{"response":{"uid":"x","success":true}}"#.to_owned(),
            Some("{} sent an unusable answer: `response.uid` is not that of the request"),
        ),
        (
            200,
            r#"{"kind":"ChallengePayload"}"#.to_owned(),
            Some("{} sent an unusable answer: there is no `response` in it"),
        ),
        (
            200,
            r#"{"response":{"success":"yes"}}"#.to_owned(),
            Some(
                "{} sent an unusable answer: invalid type: string \"yes\", expected a boolean \
                 at line 1 column 28",
            ),
        ),
        (
            200,
            "ok".to_owned(),
            Some("{} sent an unusable answer: expected value at line 1 column 1"),
        ),
        (500, response("canary-7f3a9 failed", "", 0), Some("{} answered 500: [redacted] failed")),
        (
            403,
            json!({"kind": "Status", "message": "not you", "reason": "Forbidden"}).to_string(),
            Some("{} refuses the credentials: not you (Forbidden)"),
        ),
        (502, "<html>bad</html>".to_owned(), Some("{} answered 502: <html>bad</html>")),
        (302, String::new(), Some("{} answered 302: no details")),
        (429, String::new(), Some("{} limits the rate of requests and asks to wait 60 s")),
    ];
    for (status, body, expected) in cases {
        let (world, fake) = start().await;
        world.lock().unwrap().instead = Some((status, body));
        let hook = opened("http", Some(config(&fake.url(), "good"))).unwrap();
        let expected = expected.map(|text| text.replacen("{}", &fake.address.to_string(), 1));
        for result in [hook.present(&record("v")).await, hook.clean_up(&record("v")).await] {
            assert!(!format!("{result:?}").contains("canary"), "{result:?}");
            assert_eq!(result.err().map(|error| error.to_string()), expected);
        }
    }
}

#[tokio::test]
async fn a_check_changes_nothing_and_hears_of_wrong_credentials() {
    let (world, fake) = start().await;
    let check = async |secret: &str| {
        let hook = opened("http", Some(config(&fake.url(), secret))).unwrap();
        hook.check("_acme-challenge.www.example.com", "example.com").await
    };
    let service = fake.address;
    let message = check("good").await.unwrap();
    assert_eq!(
        message,
        format!("webhook: {service} answers; its permissions at the DNS provider are unknown")
    );
    let message = check("wrong").await.unwrap_err();
    assert_eq!(
        message.to_string(),
        format!("{service} refuses the credentials: [redacted] is wrong")
    );
    assert!(world.lock().unwrap().values.is_empty());
}

#[tokio::test]
async fn a_webhook_that_is_silent_is_given_up() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let service = silent.local_addr().unwrap();
    let config = json!({"url": format!("http://{service}"), "timeout": "1s"});
    let hook = opened("http", Some(config)).unwrap();
    let message = hook.present(&record("v")).await.unwrap_err().to_string();
    assert_eq!(message, format!("{service} cannot be reached: no answer within 1 s"));
}

#[test]
fn settings_of_a_webhook_are_checked_before_anything_is_sent() {
    let url = "https://hook.test/";
    let cases = [
        (json!({"url": url}), None),
        (json!({"url": "http://hook.test/", "timeout": "5m"}), None),
        (json!({}), Some("config: missing field `url`")),
        (json!({"url": "hook"}), Some("config.url: relative URL without a base")),
        (
            json!({"url": "file:///etc/passwd"}),
            Some("config.url: this is not an http:// or https:// address"),
        ),
        (
            json!({"url": "https://canary:canary@hook.test"}),
            Some("config.url: put credentials into config.headers, not here"),
        ),
        (json!({"url": url, "timeout": "0s"}), Some("config.timeout: use 1s to 5m")),
        (json!({"url": url, "timeout": "6m"}), Some("config.timeout: use 1s to 5m")),
        (json!({"url": url, "timeout": "-1s"}), Some("config.timeout: use 1s to 5m")),
        (
            json!({"url": url, "headers": {"a b": {"name": "good", "key": "k"}}}),
            Some("config.headers: `a b` is not the name of a header"),
        ),
        (
            json!({"url": url, "headers": {"x-key": {"name": "none", "key": "k"}}}),
            Some("config.headers: secret none has no `k`"),
        ),
        (
            json!({"url": url, "headers": {"x-key": "canary"}}),
            Some("config: expected SecretKeySelector, got a string"),
        ),
        (json!({"url": url, "caBundle": "!"}), Some("config.caBundle: this is not base64")),
        (
            json!({"url": url, "caBundle": "-----BEGIN CERTIFICATE-----"}),
            Some("config.caBundle: this is not base64 of the PEM text"),
        ),
        (
            json!({"url": url, "caBundle": "AAAA"}),
            Some("config.caBundle: there is no PEM certificate"),
        ),
        (
            json!({"url": url, "skipTLSVerify": true}),
            Some(
                "config: unknown field `skipTLSVerify`, expected one of `url`, `caBundle`, \
                 `headers`, `timeout`, `config`",
            ),
        ),
    ];
    for (config, expected) in cases {
        let error = opened("http", Some(config)).err();
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
        let message = error.map(|error| error.to_string());
        assert_eq!(message, expected.map(|text| format!("webhook: {text}")));
    }
}

#[tokio::test]
async fn a_provider_of_this_build_can_be_named() {
    let token = json!({"tokenSecretRef": {"name": "good", "key": "k"}});
    assert!(opened("digitalocean", Some(token)).is_ok());
    assert!(opened("rfc2136", Some(json!({"nameserver": "192.0.2.1:53"}))).is_ok());
    let cases = [
        ("digitalocean", None, "digitalocean: config: missing field `tokenSecretRef`"),
        (
            "digitalocean",
            Some(json!({"tokenSecretRef": "canary"})),
            "digitalocean: config: expected SecretKeySelector, got a string",
        ),
        (
            "acmeDNS",
            Some(json!({"host": "a", "accountSecretRef": {"name": "none", "key": "k"}})),
            "acmeDNS: accountSecretRef: secret none has no `k`",
        ),
    ];
    for (name, config, expected) in cases {
        let error = opened(name, config).err().unwrap();
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
        assert_eq!(error.to_string(), expected);
    }
    let others = names();
    for name in ["webhook", "nothing"] {
        let message = opened(name, None).err().unwrap().to_string();
        let list = others.join(", ");
        let expected = format!(
            "webhook: solverName: groupName certctl has no `{name}`; there are exec, http, \
             {list}{OTHER_BUILD}"
        );
        assert_eq!(message, expected);
    }
    let cases = [
        (SOLVER_GROUP, "acmeDNS", ("acmeDNS", Some("acmeDNS"))),
        (SOLVER_GROUP, "cloudflare", ("cloudflare", Some("cloudflare"))),
        (SOLVER_GROUP, "desec", ("desec", None)),
        (SOLVER_GROUP, "http", (NAME, None)),
        (SOLVER_GROUP, "webhook", (NAME, None)),
        ("acme.example.com", "acmeDNS", (NAME, None)),
    ];
    for (group, solver, expected) in cases {
        let (group_name, solver_name) = (group.to_owned(), solver.to_owned());
        let webhook = Webhook { group_name, solver_name, config: None };
        let own = webhook.own_provider().map(|(name, _)| name);
        assert_eq!((Dns01Provider::Webhook(webhook).name(), own), expected);
    }
}

#[tokio::test]
async fn a_provider_that_is_named_needs_the_zone_that_it_always_needs() {
    let account = json!({"host": "a", "accountSecretRef": {"name": "accounts", "key": "k"}});
    let token = json!({"tokenSecretRef": {"name": "good", "key": "k"}});
    let cases = [
        ("acmeDNS", account, false),
        ("digitalocean", token, true),
        ("http", config(URL, "good"), true),
    ];
    for (name, config, expected) in cases {
        assert_eq!(opened(name, Some(config)).unwrap().needs_zone(), expected, "{name}");
    }
}

const URL: &str = "https://hook.test/";

/// A server on 127.0.0.1 that answers every request with success, and its certificate as a
/// caBundle.
async fn start_tls() -> (String, String, JoinSet<()>) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let configuration = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.unwrap())
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(configuration));
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let mut task = JoinSet::new();
    task.spawn(async move {
        loop {
            let (stream, _) = socket.accept().await.unwrap();
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            let serve = service_fn(async |_| {
                let response = hyper::Response::builder().status(204).header("connection", "close");
                response.body(Empty::<bytes::Bytes>::new())
            });
            let http = hyper::server::conn::http1::Builder::new();
            drop(http.serve_connection(TokioIo::new(stream), serve).await);
        }
    });
    (address.to_string(), STANDARD.encode(made.cert.pem()), task)
}

#[tokio::test]
async fn a_ca_bundle_is_trusted_and_nothing_else_is() {
    let (service, bundle, _server) = start_tls().await;
    let (_, stranger, _other) = start_tls().await;
    let present = async |bundle: &str| {
        let config = json!({"url": format!("https://{service}/"), "caBundle": bundle});
        opened("http", Some(config)).unwrap().present(&record("v")).await
    };
    // The second CA has the same name and another key.
    let refused = present(&stranger).await.unwrap_err().to_string();
    let why =
        "error sending request: client error (Connect): invalid peer certificate: BadSignature";
    assert_eq!(refused, format!("{service} cannot be reached: {why}"));
    present(&bundle).await.unwrap();
}
