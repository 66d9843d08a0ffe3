//! Orders, and which chain is taken.

use std::sync::Arc;

use certctl::acme::preferred_chain::{Choice, choose};
use certctl::controller::{
    AuthorizationSeen, ChallengeSeen, Effect, EffectError, OrderSeen, Outcome, order,
};
use certctl::resource::{
    Authorization, AuthorizationState, CaFault, Cause, Challenge, ChallengeSpec, Identifier,
    OfferedChallenge, Order, OrderPhase, OrderState, OrderUrls, Phase, Presented, ReasonSource,
};
use serde_json::{Value, json};

use super::challenge::state_of;
use super::input::{self, Case, keys, text};
use super::issuer::identifier;
use super::stage::{self, End, Stage, effect_error};

pub(crate) fn state(case: &Case) -> Value {
    let (given, acme) = (&case.input["order"], &case.input["acme"]);
    keys(&case.input, &["order", "challenges", "acme"]);
    keys(acme, &["getOrder", "finalize", "newOrder"]);
    let mut stage = on_stage(given, &case.input["challenges"]);
    let before = stage.snapshot.order.as_ref().map_or(0, |order| order.challenges.len());
    let (mut stored, mut finalized, mut erred) = (false, false, false);
    let end = stage.drive(&mut |effect| {
        let outcome = match effect {
            Effect::CreateOrder { .. } => answered(&acme["newOrder"]).map(authorized),
            Effect::ReadOrder { .. } => answered(&acme["getOrder"]),
            // What is retried is left there.
            Effect::Finalize { .. } if std::mem::replace(&mut finalized, true) => None,
            Effect::Finalize { .. } => answered(&acme["finalize"]),
            Effect::ReadAuthorization { url, .. } => authorization(given, url),
            Effect::Download { .. } => {
                stored = true;
                Some(Outcome::Certificate { pem: "chain".to_owned(), leaf: Box::new(leaf()) })
            }
            _ => None,
        };
        erred |= matches!(outcome, Some(Outcome::Failed(_)));
        outcome
    });
    let order = stage.snapshot.order.as_ref().unwrap();
    let identifiers: Vec<[String; 2]> = order::identifiers(&stage.snapshot.certificate.spec)
        .iter()
        .map(|identifier| match identifier {
            Identifier::Dns(name) => ["dns".to_owned(), name.to_string()],
            Identifier::Ip(address) => ["ip".to_owned(), address.to_string()],
        })
        .collect();
    let urls: Vec<Value> =
        order.authorizations.iter().map(|found| json!({ "url": found.url })).collect();
    let requeue = match &end {
        End::Wait(Some(until), _) | End::Deferred(until) => {
            Some(stage.now.duration_until(*until).as_secs_f64())
        }
        _ => None,
    };
    json!({
        "identifiers": identifiers,
        "state": order.state.as_str(),
        "reason": order.reason,
        "failureTime": order.failure_time().map(|time| if time == stage.now { "now" } else { "?" }),
        "certificateStored": stored && order.certificate().is_some(),
        "challengesCreated": order.challenges.len() - before,
        "requeueSeconds": requeue,
        "error": erred && !order.state.is_failure(),
        "authorizations": urls,
        "retried": matches!(&end, End::Fail(failure) if !failure.counts()),
        "acmeCalls": stage.done.len(),
        "events": stage.events(),
    })
}

pub(crate) fn finalize_5xx(case: &Case) -> Value {
    keys(&case.input, &["finalizeStatus", "getOrderStatus"]);
    let error = |status: &Value| json!({ "status": status });
    let ready = json!({ "state": "ready", "url": "set", "finalizeURL": "set" });
    let mut stage = on_stage(&ready, &Value::Null);
    let mut looked = false;
    stage.drive(&mut |effect| match effect {
        Effect::Finalize { .. } => match &case.input["finalizeStatus"] {
            Value::Null => answered(&"valid".into()),
            status => answered(&error(status)),
        },
        Effect::ReadOrder { .. } if std::mem::replace(&mut looked, true) => None,
        Effect::ReadOrder { .. } => match &case.input["getOrderStatus"] {
            Value::Null => answered(&"ready".into()),
            status => answered(&error(status)),
        },
        _ => None,
    });
    let order = stage.snapshot.order.as_ref().unwrap();
    json!({ "orderErrored": order.state.is_failure(), "state": order.state.as_str() })
}

/// An order in the state of the case, with the effect that is due in it.
fn on_stage(given: &Value, challenges: &Value) -> Stage {
    keys(
        given,
        &[
            "commonName",
            "dnsNames",
            "ipAddresses",
            "state",
            "url",
            "finalizeURL",
            "authorizations",
            "certificate",
        ],
    );
    let mut wanted = json!({ "dnsNames": [] });
    for key in ["commonName", "dnsNames", "ipAddresses"] {
        if let Some(value) = given.get(key) {
            wanted[key] = value.clone();
        }
    }
    let authorizations = given["authorizations"].as_array().cloned().unwrap_or_default();
    let mut snapshot = stage::idle();
    snapshot.certificate.spec = input::spec(&wanted);
    for authorization in &authorizations {
        let name = text(&authorization["identifier"]);
        snapshot.certificate.spec.dns_names.push(name.parse().unwrap());
    }
    let mut stage = stage::issuing(snapshot);
    let mut order = stage::order(&stage.snapshot);
    order.state = text(&given["state"]).into();
    let unread = |index: usize| Authorization {
        url: format!("{ORDER}/authorization/{index}"),
        identifier: None,
        wildcard: false,
        initial_state: None,
        challenges: Arc::default(),
    };
    order.authorizations = (0..authorizations.len()).map(unread).map(Arc::new).collect();
    let states = challenges.as_array().cloned().unwrap_or_default();
    let urls = OrderUrls { url: ORDER.to_owned(), finalize_url: format!("{ORDER}/finalize") };
    let certificate_url = format!("{ORDER}/certificate");
    order.phase = match &order.state {
        OrderState::Unknown if given["url"].is_null() => OrderPhase::Creating,
        OrderState::Unknown | OrderState::Pending | OrderState::Other(_) if states.is_empty() => {
            OrderPhase::Authorizing(urls)
        }
        OrderState::Unknown | OrderState::Pending | OrderState::Other(_) => {
            OrderPhase::Solving(urls)
        }
        OrderState::Ready => OrderPhase::Finalizing(urls),
        OrderState::Processing => OrderPhase::Awaiting(urls),
        OrderState::Valid if given["certificate"].is_null() => {
            OrderPhase::Downloading { urls, certificate_url }
        }
        OrderState::Valid => {
            let certificate = "chain".to_owned();
            OrderPhase::Issued { urls, certificate_url, certificate }
        }
        OrderState::Invalid | OrderState::Expired | OrderState::Errored => {
            OrderPhase::Failed(OrderPhase::Solving(urls).failed())
        }
    };
    for (index, state) in states.iter().enumerate() {
        let name = identifier(&text(&authorizations.get(index).unwrap()["identifier"]));
        let challenge = challenge(&order, &stage, name, index, text(state).into());
        order.challenges.push(challenge);
    }
    stage.snapshot.order = Some(order);
    stage
}

fn challenge(
    order: &Order,
    stage: &Stage,
    identifier: Identifier,
    index: usize,
    known: AuthorizationState,
) -> Challenge {
    let is_final = known == AuthorizationState::Valid || known.is_failure();
    Challenge {
        spec: Arc::new(ChallengeSpec {
            authorization_url: order.authorizations.get(index).unwrap().url.clone(),
            kind: certctl::resource::ChallengeType::Http01,
            url: format!("{ORDER}/challenge/{index}"),
            identifier,
            wildcard: false,
            token: "token".to_owned(),
            key: "token.key".to_owned(),
            solver: stage.snapshot.issuer().acme.solvers.first().unwrap().clone(),
        }),
        state: state_of(known, (!is_final).then_some(Phase::Queued)),
        reason: String::new(),
        reason_source: ReasonSource::Other,
        presented: Presented::default(),
    }
}

/// The authorization whose place among the order's is the last part of its URL.
fn authorization(given: &Value, url: &str) -> Option<Outcome> {
    let index: usize = url.rsplit('/').next()?.parse().ok()?;
    let authorization = given["authorizations"].get(index)?;
    keys(authorization, &["identifier", "challenges", "initialState", "wildcard"]);
    let state = authorization["initialState"].as_str().unwrap_or("pending");
    let kinds = authorization["challenges"].as_array().cloned().unwrap_or_default();
    let offered = |(number, kind): (usize, &Value)| OfferedChallenge {
        kind: text(kind).into(),
        url: format!("{ORDER}/challenge/{index}/{number}"),
        token: "token".to_owned(),
    };
    let offered: Vec<_> = kinds.iter().enumerate().map(offered).collect();
    let seen = |offered: &OfferedChallenge| {
        let seen = ChallengeSeen { state: AuthorizationState::Pending, problem: None };
        (offered.url.clone(), seen)
    };
    Some(Outcome::Authorization(Box::new(AuthorizationSeen {
        identifier: identifier(&text(&authorization["identifier"])),
        wildcard: authorization["wildcard"].as_bool().unwrap_or_default(),
        state: state.to_owned().into(),
        seen: offered.iter().map(seen).collect(),
        challenges: offered.into_iter().map(|o| (o, "token.key".to_owned())).collect(),
    })))
}

/// An order in the state told, or an error; the errors of cert-manager's ACME library by name.
fn answered(value: &Value) -> Option<Outcome> {
    let library = |message: &str| {
        Some(Outcome::Failed(EffectError::new(Cause::ca(CaFault::Refused, message))))
    };
    match value.as_str() {
        None if value.is_null() => None,
        None => Some(Outcome::Failed(effect_error(value))),
        Some("ErrCADoesNotSupportProfiles") => {
            library("acme: certificate authority does not support profiles")
        }
        Some("ErrProfileNotInSetOfSupportedProfiles") => {
            library("acme: certificate authority does not advertise a profile with name")
        }
        Some("error") => {
            Some(Outcome::Failed(EffectError::new(Cause::ca(CaFault::Unreachable, "error"))))
        }
        Some("certificate") => Some(seen("valid")),
        Some(word) => Some(seen(word)),
    }
}

/// A new order, with the authorization that cert-manager's tests give each.
fn authorized(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Order(mut seen) => {
            seen.authorizations = vec!["http://authzurl".to_owned()];
            Outcome::Order(seen)
        }
        other => other,
    }
}

/// The order, as the CA shows it.
pub(crate) fn seen(word: &str) -> Outcome {
    let state: OrderState = word.to_owned().into();
    assert!(!matches!(state, OrderState::Other(_)), "unknown order state `{word}`");
    Outcome::Order(Box::new(OrderSeen {
        url: ORDER.to_owned(),
        state,
        authorizations: Vec::new(),
        finalize_url: format!("{ORDER}/finalize"),
        certificate_url: Some(format!("{ORDER}/certificate")),
        expires: None,
        problem: None,
        retry_after: None,
    }))
}

fn leaf() -> certctl::resource::LeafFacts {
    serde_json::from_value(json!({
        "publicKey": "key", "fingerprint": "", "serial": "", "commonName": "", "dnsNames": [],
        "ipAddresses": [], "uris": [], "emailAddresses": [], "issuerCommonName": "",
        "notBefore": "2026-01-01T00:00:00Z", "notAfter": "2026-04-01T00:00:00Z",
        "keyDescription": "",
    }))
    .unwrap()
}

/// Fetches alternates as long as it is told to; how the order became valid changes nothing.
pub(crate) fn preferred_chain(case: &Case) -> Value {
    keys(&case.input, &["preferredChain", "finalizeStatus", "default", "alternates"]);
    let preferred = text(&case.input["preferredChain"]);
    let alternates = case.input["alternates"].as_array().cloned().unwrap_or_default();
    let topmost = |value: &Value| text(&value["topmostIssuerCN"]);
    let mut seen = vec![topmost(&case.input["default"])];
    let chosen = loop {
        let names: Vec<&str> = seen.iter().map(String::as_str).collect();
        match choose(&preferred, &names, alternates.len()) {
            Choice::Take(index) => break index,
            Choice::Fetch(index) => seen.push(topmost(alternates.get(index).unwrap())),
        }
    };
    let chosen = chosen.checked_sub(1).and_then(|index| alternates.get(index));
    json!({
        "chosen": chosen.map_or("default".into(), |chosen| chosen["url"].clone()),
        "fetched": seen.len() - 1,
    })
}

const ORDER: &str = "https://ca.test/order/1";
