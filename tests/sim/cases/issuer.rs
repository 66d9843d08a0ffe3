//! Solvers, the scheduler, and the account.

use std::collections::BTreeMap;
use std::sync::Arc;

use certctl::acme::AccountKey;
use certctl::controller::{Effect, EffectError, Outcome, Secret, account, scheduler as slots};
use certctl::pki::key_facts;
use certctl::resource::{
    AccountStep, CaFault, Cause, ChallengeType, Entry, Identifier, NamespacedName, Place,
    PublicKeyDigest, Selector, Solver, pick_solver,
};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::input::{Case, keys, noon, text};
use super::material::key_pem;
use super::stage::{self, End};
use super::{manifest, stage::effect_error};

pub(crate) fn solver(case: &Case) -> Value {
    let input = &case.input;
    keys(input, &["solvers", "identifier", "wildcard", "offeredChallenges", "orderLabels"]);
    let given = input["solvers"].as_array().unwrap();
    let solvers: Vec<Solver> = given
        .iter()
        .map(|value| {
            keys(value, &["id", "type", "selector"]);
            let selector = value.get("selector").filter(|selector| !selector.is_null());
            solver_of(&text(&value["type"]), selector.map(selector_of))
        })
        .collect();
    let labels: BTreeMap<String, String> =
        serde_json::from_value(input["orderLabels"].clone()).unwrap_or_default();
    let offered = input["offeredChallenges"].as_array().unwrap();
    let offered: Vec<ChallengeType> = offered.iter().map(|kind| text(kind).into()).collect();
    let wildcard = input["wildcard"].as_bool().unwrap_or_default();
    let identifier = identifier(&text(&input["identifier"]));
    let picked = pick_solver(&solvers, &identifier, wildcard, &labels, None, &offered);
    let index = picked
        .as_ref()
        .and_then(|picked| solvers.iter().position(|s| std::ptr::eq(s, picked.solver)));
    json!({
        "solver": index.and_then(|index| given.get(index)).map(|value| &value["id"]),
        "challenge": picked.map(|picked| picked.kind.as_str().to_owned()),
    })
}

/// The score shows in which rivals, of one zone and put behind it, the solver holds off.
pub(crate) fn dns_zones(case: &Case) -> Value {
    keys(&case.input, &["dnsZones", "name"]);
    let name = text(&case.input["name"]);
    let ours =
        solver_of("dns-01", Some(selector_of(&json!({ "dnsZones": case.input["dnsZones"] }))));
    let base = name.strip_prefix("*.").unwrap_or(&name);
    let wins = |rival: Option<&str>| {
        let rival = rival.map(|zone| selector_of(&json!({ "dnsZones": [zone] })));
        let mut solvers = vec![ours.clone()];
        if let Some(rival) = rival {
            solvers.push(solver_of("dns-01", Some(rival)));
        }
        let offered = [ChallengeType::Dns01];
        let wildcard = base.len() < name.len();
        let picked =
            pick_solver(&solvers, &identifier(base), wildcard, &BTreeMap::new(), None, &offered);
        picked.is_some_and(|picked| {
            solvers.first().is_some_and(|ours| std::ptr::eq(ours, picked.solver))
        })
    };
    let matches = wins(None);
    let labels: Vec<&str> = base.split('.').collect();
    let zones = (1..=labels.len()).map(|from| labels.iter().rev().take(from).rev());
    let zones = zones.map(|zone| zone.copied().collect::<Vec<_>>().join("."));
    let held_off = zones.filter(|zone| wins(Some(zone))).count();
    json!({ "matches": matches, "score": if matches { held_off } else { 0 } })
}

fn solver_of(kind: &str, selector: Option<Selector>) -> Solver {
    let mut written = match kind {
        "http-01" => json!({ "http01": {} }),
        "dns-01" => {
            json!({ "dns01": { "provider": { "webhook": { "groupName": "a", "solverName": "b" } } } })
        }
        other => panic!("unknown solver type `{other}`"),
    };
    if let Some(selector) = selector {
        written["selector"] = serde_json::to_value(selector).unwrap();
    }
    serde_json::from_value(written).unwrap_or_else(|error| panic!("solver: {error}"))
}

fn selector_of(value: &Value) -> Selector {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("selector: {error}"))
}

pub(crate) fn identifier(name: &str) -> Identifier {
    match name.parse() {
        Ok(address) => Identifier::Ip(address),
        Err(_) => Identifier::Dns(name.parse().unwrap_or_else(|e| panic!("`{name}`: {e}"))),
    }
}

pub(crate) fn scheduler(case: &Case) -> Value {
    keys(&case.input, &["n", "maxConcurrent", "challenges"]);
    let size = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let mut entries = Vec::new();
    for challenge in case.input["challenges"].as_array().unwrap() {
        keys(challenge, &["name", "dnsName", "type", "created", "state", "processing", "wildcard"]);
        let state: certctl::resource::AuthorizationState = text(&challenge["state"]).into();
        // A slot is free as soon as the verdict is in.
        if state.is_failure() || state == certctl::resource::AuthorizationState::Valid {
            continue;
        }
        let created = challenge["created"].as_i64().unwrap_or_default();
        let kind = challenge["type"].as_str().unwrap_or("HTTP-01");
        let is_processing = challenge["processing"].as_bool().unwrap_or_default();
        entries.push(Entry {
            // Each is of another order.
            certificate: NamespacedName::new("default", text(&challenge["name"])),
            identifier: identifier(&text(&challenge["dnsName"])),
            kind: kind.to_owned().into(),
            queued_at: noon() + SignedDuration::from_secs(created),
            place: if is_processing { Place::Granted } else { Place::Queued },
        });
    }
    let busy = entries.iter().filter(|entry| entry.place == Place::Granted).count();
    let cap = size(&case.input["maxConcurrent"]).min(busy + size(&case.input["n"]));
    let granted = slots::grant(&entries, cap);
    let granted: Vec<_> = granted.iter().map(|entry| &entry.certificate.name).collect();
    json!({ "scheduled": granted })
}

const ACCOUNT: &[&str] = &[
    "server",
    "key",
    "disableAccountKeyGeneration",
    "ready",
    "accountHost",
    "email",
    "keyHash",
    "eab",
    "register",
    "registered",
    "update",
];

pub(crate) fn account_setup(case: &Case) -> Value {
    let input = &case.input;
    keys(input, ACCOUNT);
    if let Some(server) = input["server"].as_str() {
        return server_setup(server);
    }
    let mut stage = stage::issuing(stage::idle());
    let email = input["email"].as_str().unwrap_or("same");
    let unlike = if input["update"].is_null() { email } else { "another@example.com" };
    let registered = input["registered"].as_str().unwrap_or(unlike);
    email.clone_into(&mut Arc::make_mut(&mut stage.snapshot.issuers.first).acme.email);
    if input["key"].is_string() {
        stage.snapshot.account = None;
    } else if let Some(account) = &mut stage.snapshot.account {
        account.contacts = vec![format!("mailto:{registered}")];
        let is_known = input["ready"] == true || registered != email;
        if !is_known && input["registered"].is_null() {
            account.next_step = AccountStep::Register;
            account.url = None;
            stage.snapshot.run.account.is_fresh = true;
        }
    }
    stage.snapshot.run.order.was_requested = false;
    let contacts = account::contacts(stage.snapshot.issuer());
    let is_update = |effect: &Effect| matches!(effect, Effect::UpdateContacts { .. });
    let asks = |effect: &Effect| {
        is_update(effect) || matches!(effect, Effect::FindAccount | Effect::RegisterAccount { .. })
    };
    let mut uri = None;
    let mut made = None;
    let end = stage.drive(&mut |effect| match effect {
        Effect::ObtainAccountKey => {
            let outcome = account_key(input, &mut made);
            uri = Some("cleared");
            Some(outcome)
        }
        Effect::RegisterAccount { .. } if input["eab"].is_string() => {
            Some(Outcome::Failed(precondition("the EAB secret cannot be read")))
        }
        Effect::RegisterAccount { .. } if !input["register"].is_null() => {
            Some(Outcome::Failed(refusal(&input["register"])))
        }
        Effect::UpdateContacts { .. } if !input["update"].is_null() => {
            Some(Outcome::Failed(refusal(&input["update"])))
        }
        effect if asks(effect) => Some(Outcome::Account {
            url: "https://ca.test/account/1".to_owned(),
            contacts: contacts.clone(),
            terms_of_service: None,
        }),
        _ => None,
    });
    let account = stage.snapshot.account.as_ref();
    let ready = account.is_some_and(|account| account.next_step == AccountStep::Nothing);
    let failed = stage.events.iter().map(|event| event.reason.as_str());
    let failed = failed.rev().find(|reason| reason.starts_with("Err"));
    let email = account.and_then(|account| account.contacts.first());
    json!({
        "ready": ready && failed.is_none(),
        "reason": failed.unwrap_or_else(|| "ACMEAccountRegistered".to_owned()),
        "message": stage.events.last().map(|event| &event.message),
        "messagePrefix": stage.events.last().map(|event| &event.message),
        "retry": matches!(end, End::Fail(failure) if !failure.counts()),
        "keyCreated": made,
        "accountURI": uri,
        "acmeCalls": stage.done.iter().filter(|effect| asks(effect)).count(),
        "updateCalled": stage.done.iter().any(is_update),
        "lastRegisteredEmail": email.map(|contact| contact.trim_start_matches("mailto:")),
    })
}

/// What a manifest with this server makes of it.
fn server_setup(server: &str) -> Value {
    let spec = json!({ "acme": {
        "server": server,
        "privateKeySecretRef": { "name": "key" },
        "solvers": [{ "http01": { "ingress": {} } }],
    }});
    let errors = manifest::errors("Issuer", &json!({ "name": "ca" }), &spec);
    let message = errors.first().map(|error| error.message.clone());
    let reason = message.as_ref().map(|_| "InvalidConfig");
    json!({ "ready": errors.is_empty(), "reason": reason, "message": message, "retry": false })
}

/// The key that the issuer refers to, or a new one, as the ACME client takes and makes them.
fn account_key(input: &Value, made: &mut Option<String>) -> Outcome {
    let word = text(&input["key"]);
    let found = match word.as_str() {
        "absent" if input["disableAccountKeyGeneration"] == true => {
            return Outcome::Failed(precondition("the account key does not exist"));
        }
        "absent" => {
            let pem = AccountKey::generate().unwrap().to_pem();
            let facts = key_facts(&pem).unwrap();
            *made = Some(format!("{}-{} PKCS8", facts.algorithm, facts.size));
            pem
        }
        "invalid" | "corrupt" => zeroize::Zeroizing::new(word.clone()),
        kind => zeroize::Zeroizing::new(key_pem(kind)),
    };
    match AccountKey::from_pem(&found) {
        Ok(_) => Outcome::AccountKey {
            pem: Secret(found),
            public_key: PublicKeyDigest("account".to_owned()),
            fresh: made.is_some(),
        },
        Err(error) => Outcome::Failed(precondition(&error.to_string())),
    }
}

/// An error that is no answer of the CA leaves the CA unreached.
fn refusal(value: &Value) -> EffectError {
    match value.as_str() {
        Some(word) => EffectError::new(Cause::ca(CaFault::Unreachable, word)),
        None => effect_error(value),
    }
}

fn precondition(message: &str) -> EffectError {
    EffectError::new(Cause::precondition(message.to_owned()))
}
