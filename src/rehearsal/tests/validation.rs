//! HTTP-01, validated as public CAs do.

use std::net::Ipv6Addr;

use futures_util::FutureExt;
use serde_json::Value;

use super::web::Page;
use super::*;

/// Orders the name, serves the page that `page` makes of (token, key authorization), accepts.
async fn verdict(
    client: &Client,
    web: &Web,
    name: &str,
    page: impl FnOnce(&str, &str) -> Option<Page>,
) -> Value {
    let order = client.order(&[name]).await;
    let authorization = &client.authorizations(&order.json()).await[0];
    let challenge = &authorization["challenges"][0];
    let token = challenge["token"].as_str().unwrap();
    if let Some(page) = page(token, &format!("{token}.{}", client.thumbprint())) {
        web.put(token, page);
    }
    let decided = client.accept(challenge).await;
    let order = client.read(order.header("location")).await.json();
    let expected = if decided["status"] == "valid" { "ready" } else { "invalid" };
    assert_eq!(order["status"], expected, "{order}");
    if expected == "invalid" {
        assert_eq!(order["error"]["type"], decided["error"]["type"]);
    }
    decided
}

/// The last part of the problem type and the text, or the state and nothing.
pub(super) fn outcome(decided: &Value) -> (&str, &str) {
    match decided["error"]["type"].as_str() {
        Some(urn) => {
            (urn.rsplit(':').next().unwrap(), decided["error"]["detail"].as_str().unwrap())
        }
        None => (decided["status"].as_str().unwrap(), ""),
    }
}

#[tokio::test]
async fn what_is_served_decides() {
    let (_ca, web, client) = stage(|_| {}).await;
    let text = |text: String| Some(Page::Text(text));
    let port = web.port();
    let name = "a.example";

    let good = verdict(&client, &web, name, |_, key| text(format!("{key} \t\r\n\n"))).await;
    assert_eq!(outcome(&good), ("valid", ""));
    assert_eq!(good["validated"], NOW);
    let token = good["token"].as_str().unwrap();
    let url = format!("http://a.example/.well-known/acme-challenge/{token}");
    assert_eq!(
        good["validationRecord"],
        serde_json::json!([{
            "url": url, "hostname": "a.example", "port": port.to_string(),
            "addressesResolved": ["127.0.0.1"], "addressUsed": "127.0.0.1",
        }])
    );

    let missing = verdict(&client, &web, name, |_, _| None).await;
    let (kind, detail) = outcome(&missing);
    assert_eq!(kind, "unauthorized");
    assert!(detail.starts_with("127.0.0.1: ") && detail.ends_with(": 404"), "{detail}");

    let wrong = verdict(&client, &web, name, |_, _| text("something else\n".into())).await;
    let (kind, detail) = outcome(&wrong);
    assert_eq!(kind, "unauthorized");
    assert!(detail.contains(r#"got "something else""#), "{detail}");

    let leading = verdict(&client, &web, name, |_, key| text(format!(" {key}"))).await;
    assert_eq!(outcome(&leading).0, "unauthorized");

    let elsewhere = verdict(&client, &web, name, |token, key| {
        web.put("elsewhere", Page::Text(key.to_owned()));
        assert!(!token.is_empty());
        Some(Page::Redirect(format!(
            "http://b.example:{port}/.well-known/acme-challenge/elsewhere"
        )))
    })
    .await;
    assert_eq!(outcome(&elsewhere).0, "valid");
    assert_eq!(elsewhere["validationRecord"].as_array().unwrap().len(), 2);

    let circle =
        verdict(&client, &web, name, |token, _| Some(Page::Redirect(token.to_owned()))).await;
    assert_eq!(outcome(&circle).0, "connection");
    assert_eq!(circle["validationRecord"].as_array().unwrap().len(), 11);

    let other_port =
        verdict(&client, &web, name, |_, _| Some(Page::Redirect("http://b.example:1/".into())));
    assert_eq!(outcome(&other_port.await).0, "connection");
}

#[tokio::test]
async fn addresses_decide_too() {
    let four = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let six = IpAddr::V6(Ipv6Addr::LOCALHOST);
    let (ca, web, client) = stage(|options| {
        options.validation_timeout = Duration::from_millis(300);
        options.resolver = Resolver::ask(Arc::new(move |name| {
            async move {
                match name.as_str() {
                    "both.example" => Ok(vec![four, six]),
                    "none.example" => Ok(Vec::new()),
                    "slow.example" => std::future::pending().await,
                    _ => Err("SERVFAIL".to_owned()),
                }
            }
            .boxed()
        }));
    })
    .await;
    let page = |_: &str, key: &str| Some(Page::Text(key.to_owned()));
    // Nothing listens on the IPv6 address: one fallback.
    let both = verdict(&client, &web, "both.example", page).await;
    let used: Vec<&Value> =
        both["validationRecord"].as_array().unwrap().iter().map(|r| &r["addressUsed"]).collect();
    assert_eq!((outcome(&both).0, used), ("valid", vec![&Value::from("::1"), &"127.0.0.1".into()]));
    let cases = [
        ("none.example", "dns", "no valid A or AAAA"),
        ("broken.example", "dns", "SERVFAIL"),
        ("slow.example", "connection", "timeout"),
    ];
    for (name, kind, part) in cases {
        let decided = verdict(&client, &web, name, page).await;
        let found = outcome(&decided);
        assert!(found.0 == kind && found.1.contains(part), "{name}: {found:?}");
    }
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    ca.set_http01_port(closed.local_addr().unwrap().port());
    drop(closed);
    let refused = verdict(&client, &web, "127.0.0.1", page).await;
    assert_eq!(outcome(&refused).0, "connection");
}

#[tokio::test]
async fn a_decided_challenge_is_not_accepted_again() {
    let (_ca, web, client) = stage(|_| {}).await;
    let decided =
        verdict(&client, &web, "a.example", |_, key| Some(Page::Text(key.to_owned()))).await;
    let url = decided["url"].as_str().unwrap();
    let again = client.post(url, serde_json::json!({})).await;
    assert_eq!(again.problem(), (400, "malformed".into()));
    assert_eq!(client.read(url).await.json(), decided);
}
