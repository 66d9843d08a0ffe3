//! tls-alpn-01, validated as public CAs do.

use std::net::Ipv6Addr;

use futures_util::FutureExt as _;
use serde_json::{Value, json};

use super::validation::outcome;
use super::*;
use crate::pki::ACME_TLS;
use crate::probe::tls_server::{Reaction, TlsServer, answering, usual};
use crate::resource::Identifier;

/// A TLS server, a CA that finds every name there, and a client with an account.
async fn scene(change: impl FnOnce(&mut CaOptions)) -> (Ca, TlsServer, Client) {
    let server = TlsServer::start("127.0.0.1:0", Reaction::Silent).await;
    let port = server.address.port();
    let (ca, _web, client) = stage(|options| {
        options.tlsalpn01_port = port;
        change(options);
    })
    .await;
    (ca, server, client)
}

fn of_name(name: &str) -> Identifier {
    Identifier::Dns(name.parse().unwrap())
}

/// Orders the identifier, lets the server react as `reaction` says of the key authorization, accepts.
async fn verdict(
    client: &Client,
    server: &TlsServer,
    name: &str,
    reaction: impl FnOnce(&str) -> Reaction,
) -> Value {
    let order = client.order(&[name]).await;
    let authorization = &client.authorizations(&order.json()).await[0];
    let challenges = authorization["challenges"].as_array().unwrap();
    let challenge = challenges.iter().find(|one| one["type"] == "tls-alpn-01").unwrap();
    let token = challenge["token"].as_str().unwrap();
    server.set(reaction(&format!("{token}.{}", client.thumbprint())));
    let decided = client.accept(challenge).await;
    let order = client.read(order.header("location")).await.json();
    let expected = if decided["status"] == "valid" { "ready" } else { "invalid" };
    assert_eq!(order["status"], expected, "{order}");
    decided
}

#[tokio::test]
async fn the_certificate_of_the_challenge_proves_a_name_and_an_address() {
    let (_ca, server, client) = scene(|_| {}).await;
    let name = of_name("a.example");
    let good = verdict(&client, &server, "a.example", |key| answering(&name, key)).await;
    assert_eq!(outcome(&good), ("valid", ""));
    let record = json!([{
        "hostname": "a.example", "port": server.address.port().to_string(),
        "addressesResolved": ["127.0.0.1"], "addressUsed": "127.0.0.1",
    }]);
    assert_eq!(good["validationRecord"], record);
    let address = Identifier::Ip(Ipv4Addr::LOCALHOST.into());
    let good = verdict(&client, &server, "127.0.0.1", |key| answering(&address, key)).await;
    assert_eq!(outcome(&good), ("valid", ""));
}

#[tokio::test]
async fn what_is_shown_decides() {
    let (_ca, server, client) = scene(|_| {}).await;
    let name = of_name("a.example");
    let verdict = |reaction: Reaction| verdict(&client, &server, "a.example", |_| reaction);
    let (at, of) = (server.address, "TLS handshake for a.example");
    let incorrect = "127.0.0.1: incorrect validation certificate for a.example";
    let cases = [
        (
            answering(&name, "other.key"),
            "unauthorized",
            format!(
                "{incorrect}: the acmeIdentifier extension has the digest of another key authorization"
            ),
        ),
        (
            usual("a.example", &[ACME_TLS]),
            "unauthorized",
            format!("{incorrect}: the certificate has no acmeIdentifier extension"),
        ),
        (
            usual("a.example", &[]),
            "unauthorized",
            format!("{incorrect}: the server did not agree to ALPN protocol acme-tls/1"),
        ),
        (
            usual("a.example", &[b"h2"]),
            "tls",
            format!("{at}: {of}: received fatal alert: NoApplicationProtocol"),
        ),
        (
            Reaction::Says(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
            "tls",
            format!("{at}: {of}: received corrupt message of type InvalidContentType"),
        ),
        (Reaction::Says(b""), "connection", format!("{at}: {of}: tls handshake eof")),
    ];
    for (reaction, kind, detail) in cases {
        assert_eq!(outcome(&verdict(reaction).await), (kind, &*detail));
    }
}

#[tokio::test]
async fn addresses_decide_too() {
    let four = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let six = IpAddr::V6(Ipv6Addr::LOCALHOST);
    let (_ca, server, client) = scene(|options| {
        options.validation_timeout = Duration::from_millis(300);
        options.resolver = Resolver::ask(Arc::new(move |name| {
            let found = match name.as_str() {
                "both.example" => Ok(vec![four, six]),
                "four.example" => Ok(vec![four]),
                "none.example" => Ok(Vec::new()),
                _ => Err("SERVFAIL".to_owned()),
            };
            std::future::ready(found).boxed()
        }));
    })
    .await;
    // Nothing listens on the IPv6 address: one fallback.
    let name = of_name("both.example");
    let both = verdict(&client, &server, "both.example", |key| answering(&name, key)).await;
    let records = both["validationRecord"].as_array().unwrap();
    let used: Vec<&Value> = records.iter().map(|record| &record["addressUsed"]).collect();
    assert_eq!((outcome(&both).0, used), ("valid", vec![&json!("::1"), &json!("127.0.0.1")]));
    for (name, kind, part) in [
        ("four.example", "connection", "timeout"),
        ("none.example", "dns", "no valid A or AAAA"),
        ("broken.example", "dns", "SERVFAIL"),
    ] {
        let decided = verdict(&client, &server, name, |_| Reaction::Silent).await;
        let found = outcome(&decided);
        assert!(found.0 == kind && found.1.contains(part), "{name}: {found:?}");
    }
}

#[tokio::test]
async fn a_fault_refuses_it_and_a_wildcard_has_none() {
    let (ca, server, client) = scene(|_| {}).await;
    let refuse = Fault::Refuse { kind: ProblemType::Caa, detail: "not here".to_owned() };
    ca.faults().add(Rule::always(refuse));
    let name = of_name("a.example");
    let refused = verdict(&client, &server, "a.example", |key| answering(&name, key)).await;
    assert_eq!(outcome(&refused), ("caa", "not here"));
    let order = client.order(&["*.b.example"]).await;
    let challenges = &client.authorizations(&order.json()).await[0]["challenges"];
    let kinds: Vec<&Value> =
        challenges.as_array().unwrap().iter().map(|challenge| &challenge["type"]).collect();
    assert_eq!(kinds, ["dns-01"]);
}
