//! The client against a scripted CA: what the tests share.

mod fake;
mod faults;
mod operations;
mod renewal_info;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{join_all, try_join_all};
use jiff::SignedDuration;
use serde_json::{Value, json};

use self::fake::{Fake, Reply, Seen, quick};
use super::*;

use crate::resource::{
    AuthorizationState, ChallengeType, Identifier, OrderState, Problem, Subproblem,
};

const TOKEN: &str = "evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA";
const CHAIN: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

fn dns(name: &str) -> Identifier {
    Identifier::Dns(name.parse().unwrap())
}

fn new_order() -> NewOrder {
    NewOrder {
        identifiers: vec![dns("a.test"), dns("*.b.test")],
        profile: None,
        not_after: None,
        replaces: None,
    }
}

fn order_json(fake: &Fake, status: &str) -> Value {
    json!({
        "status": status, "expires": "2026-11-27T00:00:00Z",
        "identifiers": [{"type": "dns", "value": "*.b.test"}, {"type": "dns", "value": "A.test"}],
        "authorizations": [fake.url("/authz/1"), fake.url("/authz/2")],
        "finalize": fake.url("/order/1/finalize"),
    })
}

fn authorization_json(fake: &Fake) -> Value {
    json!({
        "status": "pending", "identifier": {"type": "dns", "value": "b.test"}, "wildcard": true,
        "expires": "soon",
        "challenges": [
            {"type": "dns-01", "url": fake.url("/chall/1"), "token": TOKEN, "status": "pending"},
            {"type": "dns-persist-01", "url": fake.url("/chall/2"), "status": "dreaming"},
        ],
    })
}

/// A CA without errors.
fn good(fake: &Fake, seen: &Seen) -> Option<Reply> {
    let order = |status| order_json(fake, status);
    Some(match (seen.method.as_str(), seen.path.as_str()) {
        ("POST", "/account") => {
            Reply::json(201, &json!({"status": "valid"})).with("Location", fake.url("/account/1"))
        }
        ("POST", "/new-order") => {
            Reply::json(201, &order("pending")).with("Location", fake.url("/order/1"))
        }
        ("POST", "/authz/1") => Reply::json(200, &authorization_json(fake)),
        ("POST", "/chall/1") => Reply::json(
            200,
            &json!({
                "type": "dns-01", "url": fake.url("/chall/1"), "token": TOKEN,
                "status": "processing",
            }),
        ),
        ("POST", "/order/1/finalize") => {
            Reply::json(200, &order("processing")).with("Retry-After", "3")
        }
        ("POST", "/order/1") => {
            let mut valid = order("valid");
            valid["certificate"] = json!(fake.url("/cert/1"));
            Reply::json(200, &valid)
        }
        ("POST", "/cert/1") => Reply::new(200, CHAIN)
            .with("Link", format!("<{}>;rel=\"index\"", fake.url("/dir")))
            .with("Link", "</cert/1/1>;rel=\"alternate\", <http://x/2>;rel=\"alternate\""),
        ("POST", "/cert/1/1") => Reply::new(200, CHAIN),
        _ => return None,
    })
}

fn session(fake: &Fake) -> Session {
    session_of(fake, &fake.client())
}

fn session_of(fake: &Fake, client: &Arc<Client>) -> Session {
    let key = AccountKey::generate().unwrap();
    Session::new(Arc::clone(client), key, fake.url("/account/1"))
}

fn view(fake: &Fake, state: OrderState) -> OrderView {
    OrderView {
        url: fake.url("/order/1"),
        state,
        identifiers: vec![dns("*.b.test"), dns("a.test")],
        authorizations: vec![fake.url("/authz/1"), fake.url("/authz/2")],
        finalize_url: Some(fake.url("/order/1/finalize")),
        certificate_url: None,
        replaces: None,
        expires: Some("2026-11-27T00:00:00Z".parse().unwrap()),
        problem: None,
        retry_after: None,
    }
}
