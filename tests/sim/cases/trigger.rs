//! The trigger's controller, the backoff, and which requests are kept.

use std::collections::BTreeMap;

use certctl::controller::policy::{self, Violation};
use certctl::controller::{Change, Snapshot, Step, backoff as waiting, trigger};
use certctl::resource::{NamespacedName, Reason, annotation};
use certctl::store::past_revisions;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::input::{Case, count, keys, moment, noon, seconds, text};
use super::stage;

pub(crate) fn backoff(case: &Case) -> Value {
    let input = &case.input;
    keys(
        input,
        &[
            "now",
            "failedIssuanceAttempts",
            "lastFailureAgoSeconds",
            "nextRequestMatchesSpec",
            "minBackoffSeconds",
            "maxBackoffSeconds",
        ],
    );
    let now = moment(&input["now"], noon()).unwrap_or_else(noon);
    let mut snapshot = stage::idle();
    failed(&mut snapshot, input, now);
    // What the failed attempt was made with; nothing is known when its request is gone.
    snapshot.record.attempted_inputs = match input["nextRequestMatchesSpec"].as_bool() {
        Some(true) => vec![snapshot.input_digest.clone()],
        Some(false) => vec!["another one".to_owned()],
        None => Vec::new(),
    };
    let until = waiting::holds_until(&snapshot, now);
    let delay = until.map_or(SignedDuration::ZERO, |until| now.duration_until(until));
    json!({ "backoff": until.is_some(), "delaySeconds": delay.as_secs() })
}

fn failed(snapshot: &mut Snapshot, input: &Value, now: Timestamp) {
    let status = &mut snapshot.record.status;
    status.failed_issuance_attempts = count(&input["failedIssuanceAttempts"]);
    status.last_failure_time = seconds(&input["lastFailureAgoSeconds"]).map(|ago| now - ago);
}

pub(crate) fn controller(case: &Case) -> Value {
    let input = &case.input;
    keys(
        input,
        &[
            "conditions",
            "policyResult",
            "generation",
            "failedIssuanceAttempts",
            "lastFailureAgoSeconds",
            "nextRequest",
            "spec",
            "status",
            "self",
            "others",
            "secret",
        ],
    );
    let now = noon();
    let mut snapshot = stage::idle();
    failed(&mut snapshot, input, now);
    snapshot.record.generation = input["generation"].as_i64().unwrap_or(1);
    for condition in input["conditions"].as_array().into_iter().flatten() {
        keys(condition, &["type", "status"]);
        let mut known = stage::issuing_condition();
        known.kind = serde_json::from_value(condition["type"].clone()).unwrap();
        known.status = serde_json::from_value(condition["status"].clone()).unwrap();
        snapshot.record.status.set_condition(known);
    }
    if input["nextRequest"].is_object() {
        let requested = |key: &str| super::input::spec(&input[key]).requested();
        let is_same = requested("nextRequest") == requested("spec");
        let digest = if is_same { snapshot.input_digest.as_str() } else { "another one" };
        snapshot.record.attempted_inputs = vec![digest.to_owned()];
    }
    keys(&input["status"], &["renewalTime"]);
    let renewal_time = moment(&input["status"]["renewalTime"], now);
    let owner = owns(input);
    // Nothing is published, so that the policy finds something whenever it is asked.
    let step = trigger::decide(&snapshot, now);
    let evaluates = owner && matches!(step, Step::Record(_));
    let mut found = json!({
        "owner": owner,
        "evaluatesPolicy": evaluates,
        "issuing": if evaluates { "True" } else { "unchanged" },
        "requeueSeconds": null,
    });
    if !input["policyResult"].is_null() {
        let result = &input["policyResult"];
        keys(result, &["reason", "message", "reissue"]);
        let reason = serde_json::from_value(result["reason"].clone()).unwrap();
        let message = text(&result["message"]);
        let record = if reason == Reason::WindowError {
            let violation = policy::renewal_outside_windows(renewal_time);
            let record = trigger::triggered(&snapshot.record, violation, now);
            trigger::outside_windows(record, message, now)
        } else {
            trigger::triggered(&snapshot.record, Violation { reason, message }, now)
        };
        let conditions = record.changes.iter().find_map(|change| match change {
            Change::Certificate(record) => Some(record.status.conditions.clone()),
            _ => None,
        });
        let mut condition = serde_json::to_value(conditions.unwrap()).unwrap()[0].clone();
        let fields = condition.as_object_mut().unwrap();
        fields.remove("lastTransitionTime");
        // A generation that a case does not give is 0, which is not printed.
        if input["generation"].is_null() {
            fields.remove("observedGeneration");
        }
        let line =
            |e: &certctl::resource::Event| format!("{:?} {:?} {}", e.kind, e.reason, e.message);
        found["condition"] = condition;
        found["events"] = record.events.iter().map(line).collect();
    }
    found
}

/// Whether this Certificate may have the Secret that others want as well.
fn owns(input: &Value) -> bool {
    if input["self"].is_null() {
        return true;
    }
    keys(&input["secret"], &["annotations"]);
    let owner = input["secret"]["annotations"][annotation::CERTIFICATE_NAME].as_str();
    let others = input["others"].as_array().into_iter().flatten();
    let all: Vec<_> = others
        .chain([&input["self"]])
        .map(|value| {
            keys(value, &["name", "createdOffsetSeconds"]);
            let since = noon() + seconds(&value["createdOffsetSeconds"]).unwrap();
            (NamespacedName::new("default", text(&value["name"])), since)
        })
        .collect();
    let claims: Vec<_> = all
        .iter()
        .map(|(name, since)| trigger::Claim {
            name,
            since: Some(*since),
            owns: owner == Some(name.name.as_str()),
        })
        .collect();
    trigger::owner(&claims).is_some_and(|name| name.name == text(&input["self"]["name"]))
}

pub(crate) fn revisions(case: &Case) -> Value {
    let input = &case.input;
    keys(input, &["ready", "revisions", "requests", "limit"]);
    let mut named: Vec<(u32, String)> = Vec::new();
    for value in input["revisions"].as_array().into_iter().flatten() {
        named.push((count(value).unwrap(), value.to_string()));
    }
    for (name, value) in input["requests"].as_object().into_iter().flatten() {
        // Files without a revision for a name are none of ours.
        named.extend(count(value).map(|revision| (revision, name.clone())));
    }
    named.sort();
    let all: Vec<u32> = named.iter().map(|(revision, _)| *revision).collect();
    let live = all.last().copied().unwrap_or_default();
    let limit = input["limit"].as_u64().map_or(1, |limit| usize::try_from(limit).unwrap());
    let past = past_revisions(live, limit, &all);
    let mut left: BTreeMap<u32, usize> = BTreeMap::new();
    for revision in &past {
        *left.entry(*revision).or_default() += 1;
    }
    let mut superfluous = Vec::new();
    for (revision, name) in named {
        if let Some(count @ 1..) = left.get_mut(&revision) {
            *count -= 1;
            superfluous.push(name);
        }
    }
    superfluous.sort();
    json!({ "delete": past, "deleteNames": superfluous })
}
