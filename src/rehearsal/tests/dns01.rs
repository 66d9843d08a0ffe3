//! DNS-01, validated as public CAs do.

use std::collections::BTreeMap;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::FutureExt as _;
use serde_json::{Value, json};

use super::client::csr;
use super::validation::outcome;
use super::*;

/// A CA that looks into this name server, and a client with an account.
async fn scene() -> (Ca, Web, Client, NameServer) {
    let dns = NameServer::start(BTreeMap::new()).unwrap();
    let resolver = dns.resolver();
    let (ca, web, client) = stage(|options| options.resolver = resolver).await;
    (ca, web, client, dns)
}

/// The value of RFC 8555 section 8.4.
fn value_of(client: &Client, challenge: &Value) -> String {
    let key = format!("{}.{}", challenge["token"].as_str().unwrap(), client.thumbprint());
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, key.as_bytes()))
}

/// Orders the name, lets `write` do its work with the right value, accepts.
async fn verdict(client: &Client, name: &str, write: impl FnOnce(&str)) -> Value {
    let order = client.order(&[name]).await;
    let authorization = &client.authorizations(&order.json()).await[0];
    let challenges = authorization["challenges"].as_array().unwrap();
    let challenge = challenges.iter().find(|challenge| challenge["type"] == "dns-01").unwrap();
    write(&value_of(client, challenge));
    let decided = client.accept(challenge).await;
    let order = client.read(order.header("location")).await.json();
    let expected = if decided["status"] == "valid" { "ready" } else { "invalid" };
    assert_eq!(order["status"], expected, "{order}");
    assert_eq!(order["error"]["detail"], decided["error"]["detail"]);
    decided
}

#[tokio::test]
async fn any_one_right_value_suffices() {
    let (_ca, _web, client, dns) = scene().await;
    let at = "_acme-challenge.a.example";

    let alone = verdict(&client, "a.example", |value| dns.add_txt(at, value)).await;
    assert_eq!(outcome(&alone), ("valid", ""));
    assert_eq!(alone["validated"], NOW);
    assert_eq!(alone["validationRecord"], json!([{ "hostname": "a.example" }]));

    let stale = dns.txt(at);
    dns.add_txt(at, "something else");
    let among = verdict(&client, "a.example", |value| dns.add_txt(at, value)).await;
    assert_eq!((outcome(&among), dns.txt(at).len()), (("valid", ""), 3));
    assert_eq!(dns.txt(at)[0], stale[0]);

    let wildcard = verdict(&client, "*.b.example", |value| {
        dns.add_txt("_acme-challenge.b.example", value);
    })
    .await;
    assert_eq!(outcome(&wildcard), ("valid", ""));
    assert_eq!(wildcard["validationRecord"], json!([{ "hostname": "b.example" }]));

    let split = verdict(&client, "c.example", |value| {
        let (head, tail) = value.split_at(20);
        dns.add_txt_strings("_acme-challenge.c.example", &[head, tail]);
    })
    .await;
    assert_eq!(outcome(&split), ("valid", ""));

    let alias = verdict(&client, "d.example", |value| {
        dns.set_cname("_acme-challenge.d.example", "d.one.test");
        dns.set_cname("d.one.test", "D.two.test.");
        dns.add_txt("d.two.test", value);
    })
    .await;
    assert_eq!(outcome(&alias), ("valid", ""));
}

#[tokio::test]
async fn an_apex_and_its_wildcard_are_proven_at_one_name() {
    let (ca, _web, client, dns) = scene().await;
    let answer = client.order(&["e.example", "*.e.example"]).await;
    let authorizations = client.authorizations(&answer.json()).await;
    let mut challenges = Vec::new();
    for authorization in &authorizations {
        assert_eq!(authorization["identifier"]["value"], "e.example");
        let offered = authorization["challenges"].as_array().unwrap();
        challenges.push(offered.iter().find(|one| one["type"] == "dns-01").unwrap());
    }
    let values: Vec<String> = challenges.iter().map(|one| value_of(&client, one)).collect();
    assert_ne!(values[0], values[1]);
    for value in &values {
        dns.add_txt("_acme-challenge.e.example", value);
    }
    for challenge in challenges {
        assert_eq!(client.accept(challenge).await["status"], "valid");
    }
    let order = client.read(answer.header("location")).await.json();
    assert_eq!(order["status"], "ready");
    let names = ["e.example", "*.e.example"];
    let finalized = client.finalize(&order, &csr(&names)).await.json();
    assert_eq!((finalized["status"].as_str(), ca.issued()), (Some("valid"), 1));
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    let (ca, _web, client, dns) = scene().await;
    let at = "_acme-challenge.a.example";
    let failed = async |write: &dyn Fn(&str)| {
        dns.remove(at);
        let decided = verdict(&client, "a.example", write).await;
        assert!(decided["validationRecord"].is_null());
        let (kind, detail) = outcome(&decided);
        format!("{kind}: {detail}")
    };

    let lookup = format!("dns: looking up TXT for {at}");
    assert_eq!(failed(&|_| {}).await, format!("{lookup}: NXDOMAIN"));
    let empty = failed(&|_| dns.set(at, Vec::new())).await;
    assert_eq!(empty, format!("dns: no TXT record at {at}"));
    assert_eq!(failed(&|_| dns.set_broken(at)).await, format!("{lookup}: SERVFAIL"));

    let wrong = failed(&|value| {
        for wrong in [format!("{value}x"), value.to_lowercase(), "\"quoted\"".into()] {
            dns.add_txt(at, &wrong);
        }
        for number in 0..4 {
            dns.add_txt(at, &number.to_string());
        }
    })
    .await;
    let head = format!("unauthorized: incorrect TXT record at {at}: expected \"");
    assert!(wrong.starts_with(&head), "{wrong}");
    assert!(wrong.ends_with(r#"", "\"quoted\"", "0" and 3 more"#), "{wrong}");

    let dead = failed(&|_| dns.set_cname(at, "gone.test.example")).await;
    let place = format!("{at} (a CNAME points to gone.test.example)");
    assert_eq!(dead, format!("dns: looking up TXT for {place}: NXDOMAIN"));
    let circle = failed(&|_| dns.set_cname(at, at)).await;
    assert_eq!(circle, format!("{lookup}: more than 8 CNAMEs"));

    ca.faults().add(Rule::next(1, Fault::Refuse { kind: ProblemType::Caa, detail: "no".into() }));
    assert_eq!(failed(&|value| dns.add_txt(at, value)).await, "caa: no");
}

#[tokio::test]
async fn a_lookup_without_an_answer_fails_in_time() {
    let (_ca, _web, client) = stage(|options| {
        options.validation_timeout = Duration::from_millis(50);
        let silent: TxtLookup = Arc::new(|_| std::future::pending().boxed());
        options.resolver = Resolver::everywhere(Vec::new()).with_txt(silent);
    })
    .await;
    let decided = verdict(&client, "*.a.example", |_| {}).await;
    let detail = "looking up TXT for _acme-challenge.a.example: timeout";
    assert_eq!(outcome(&decided), ("dns", detail));
}
