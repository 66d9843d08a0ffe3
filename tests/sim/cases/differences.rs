//! Where certctl answers something else than cert-manager, on purpose.

use serde_json::{Value, json};

use super::input::Case;

/// One difference: the cases it is about, by area and input, and what certctl answers instead.
pub(crate) struct Row {
    areas: &'static [&'static str],
    when: fn(&Case) -> bool,
    /// The keys that differ.
    pub(crate) answer: fn(&Case) -> Value,
    /// Where it was decided.
    pub(crate) reason: &'static str,
}

/// The row that a case falls under.
pub(crate) fn row(case: &Case) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.areas.contains(&case.area.as_str()) && (row.when)(case))
}

pub(crate) const ROWS: &[Row] = &[
    Row {
        areas: &["order_state"],
        when: |case| case.input["acme"]["finalize"]["status"] == 429,
        answer: |_| json!({ "state": "ready", "failureTime": null, "reason": "" }),
        reason: "DESIGN section 4, backoff: 429 is the CA's pace, and no failure of the order",
    },
    Row {
        areas: &["backoff"],
        when: |case| {
            case.input["minBackoffSeconds"] != 3600 || case.input["maxBackoffSeconds"] != 115_200
        },
        answer: standard_backoff,
        reason: "DESIGN section 4, backoff: 1h·2^(n−1), cap 32h, no flag",
    },
    Row {
        areas: &["trigger_controller"],
        when: |case| case.input["others"].is_array(),
        answer: |_| json!({ "requeueSeconds": null }),
        reason: "DESIGN section 3: of two Certificates with one secretName the other is an error",
    },
    Row {
        areas: &["order_state"],
        when: |case| offers_nothing_known(&case.input["order"]),
        answer: |case| {
            let authorization = &case.input["order"]["authorizations"][0];
            let name = authorization["identifier"].as_str().unwrap_or_default();
            let offered = authorization["challenges"][0].as_str().unwrap_or_default();
            let why = format!(
                "no configured challenge solvers can be used for this challenge (the CA offers \
                 {offered})"
            );
            json!({ "state": "errored", "events": [format!("Warning Solver {name}: {why}")] })
        },
        reason: "DESIGN, head: where cert-manager has a defect (it hangs), what its user wanted",
    },
    Row {
        areas: &["order_state"],
        when: |case| {
            let states = case.input["challenges"].as_array();
            states.into_iter().flatten().any(|state| *state == "invalid")
                && case.input["acme"]["getOrder"] == "pending"
        },
        answer: |_| json!({ "state": "invalid" }),
        reason: "DESIGN, head: where cert-manager has a defect (it hangs), what its user wanted",
    },
    Row {
        areas: &["challenge_state"],
        when: |case| case.input["deleted"] == true && case.expect["processing"] == true,
        answer: |_| json!({ "processing": false }),
        reason: "DESIGN section 2: what is final frees the slot; clean-up never blocks anything else",
    },
    Row {
        areas: &["order_state"],
        when: |case| is_polled(&case.input),
        answer: |_| json!({ "requeueSeconds": 0.01 }),
        reason: "DESIGN section 4, in flight: polls begin at once and double from 10 ms up to 5 s",
    },
    Row {
        areas: &["challenge_state"],
        when: |case| case.input["presented"] != true,
        answer: |case| {
            if !case.expect["events"].is_array() {
                return json!({});
            }
            let all = case.expect["events"].as_array().into_iter().flatten();
            let named = all.map(|event| match event.as_str().unwrap_or_default() {
                event if event.contains(" Present") => format!("{event} (test.com)"),
                event => event.to_owned(),
            });
            json!({ "events": named.collect::<Vec<_>>() })
        },
        reason: "DESIGN section 3: one journal per certificate, so that events name the identifier",
    },
    Row {
        areas: &["challenge_error"],
        when: |case| {
            let error = &case.input["error"];
            let status = error["status"].as_u64();
            error.is_object() && status.is_none_or(|status| (400..500).contains(&status))
        },
        answer: |case| {
            let ours = "Failed to fetch authorization";
            match case.expect["reason"].as_str() {
                None => json!({}),
                Some("") => {
                    let kind = case.input["error"]["type"].as_str().unwrap_or_default();
                    json!({ "reason": format!("{ours}: {kind}: ") })
                }
                Some(reason) => {
                    json!({ "reason": reason.replace("Failed to retrieve Order resource", ours) })
                }
            }
        },
        reason: "DESIGN, head: where cert-manager has a defect (it names the order, or says nothing), \
                 what its user wanted",
    },
    Row {
        areas: &["challenge_readiness"],
        when: |case| {
            let number = |key: &str| case.input[key].as_i64().unwrap_or_default();
            number("waitSeconds") - number("presentedAgoSeconds") > number("retryPeriodSeconds")
        },
        answer: |case| {
            let number = |key: &str| case.input[key].as_i64().unwrap_or_default();
            json!({ "retryAfterSeconds": number("waitSeconds") - number("presentedAgoSeconds") })
        },
        reason: "DESIGN section 1, one step: a wait names the time at which something is to do",
    },
    Row {
        areas: &["account_setup"],
        when: |case| {
            case.input["key"] == "absent" && case.input["disableAccountKeyGeneration"] != true
        },
        answer: |_| json!({ "keyCreated": "ECDSA-256 PKCS8" }),
        reason: "DESIGN section 4, accounts: a generated key is P-256",
    },
    Row {
        areas: &["account_setup"],
        when: |case| case.input["key"].as_str().is_some_and(|key| key.starts_with("ECDSA")),
        answer: |_| json!({ "ready": true, "reason": "ACMEAccountRegistered" }),
        reason: "DESIGN section 4, accounts: ECDSA keys work too",
    },
    Row {
        areas: &["account_setup"],
        when: |case| {
            let words = ["eab", "key"].map(|key| case.input[key].as_str());
            words.iter().flatten().any(|word| ["secret absent", "invalid"].contains(word))
        },
        answer: |_| json!({ "retry": true }),
        reason: "DESIGN section 4, found before any ACME call: no attempt counted, the next run \
                 tries",
    },
    Row {
        areas: &["revision_gc"],
        when: |case| case.input["ready"] == false && case.input["revisions"].is_array(),
        answer: |case| {
            let all = case.input["revisions"].as_array().cloned().unwrap_or_default();
            let kept = case.input["limit"].as_u64().unwrap_or(1);
            let kept = usize::try_from(kept).unwrap_or(usize::MAX);
            let gone: Vec<_> = all.iter().take(all.len().saturating_sub(kept)).collect();
            json!({ "delete": gone })
        },
        reason: "DESIGN section 2: pruning by revisionHistoryLimit is part of every writing run",
    },
    Row {
        areas: &["certificate_validation"],
        when: |case| {
            let key = &case.input["spec"]["privateKey"];
            let size = key["size"].as_u64().unwrap_or_default();
            let made = [2048, 3072, 4096, 8192];
            [json!("RSA"), json!(null)].contains(&key["algorithm"])
                && (2048..=8192).contains(&size)
                && !made.contains(&size)
        },
        answer: |_| {
            let message = "must be 2048, 3072, 4096 or 8192 for rsa keyAlgorithm";
            json!({ "errors": [{ "field": "spec.privateKey.size", "message": message }] })
        },
        reason: "DESIGN section 4, RSA sizes: those of aws-lc-rs, others are refused",
    },
    Row {
        areas: &["certificate_validation"],
        when: |case| !format_errors(case).is_empty(),
        answer: |case| json!({ "errors": format_errors(case) }),
        reason: "DESIGN section 4, YAML: all mistakes in one go, each in its place; and the CRD refuses \
                 other words",
    },
];

/// What is wrong with each of the output formats.
fn format_errors(case: &Case) -> Vec<Value> {
    let formats = case.input["spec"]["additionalOutputFormats"].as_array();
    let words: Vec<&str> =
        formats.into_iter().flatten().filter_map(|f| f["type"].as_str()).collect();
    let mut errors = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let message = if !["DER", "CombinedPEM"].contains(word) {
            format!("unsupported value `{word}`: use `DER` or `CombinedPEM`")
        } else if words.iter().take(index).any(|earlier| earlier == word) {
            format!("duplicate value: {word}")
        } else {
            continue;
        };
        let field = format!("spec.additionalOutputFormats[{index}].type");
        errors.push(json!({ "field": field, "message": message }));
    }
    errors
}

/// The design's formula, written down once more.
fn standard_backoff(case: &Case) -> Value {
    let number = |key: &str| case.input[key].as_i64();
    let Some(ago) = number("lastFailureAgoSeconds") else { return json!({}) };
    let attempts = number("failedIssuanceAttempts").unwrap_or(1).clamp(1, 6);
    let left = (3600 << (attempts - 1)) - ago;
    let waits = left > 0 && case.input["nextRequestMatchesSpec"] != false;
    json!({ "backoff": waits, "delaySeconds": if waits { left } else { 0 } })
}

/// Whether nothing is left to do for an order that the CA has not made up its mind on.
fn is_polled(input: &Value) -> bool {
    let all = input["order"]["authorizations"].as_array().into_iter().flatten();
    let done = all.map(|authorization| authorization["initialState"] == "valid");
    ["pending", "processing"].iter().any(|word| input["acme"]["getOrder"] == *word)
        && done.fold(None, |all, one| Some(all.unwrap_or(true) && one)) == Some(true)
}

/// Whether one of the authorizations offers only challenges of unknown types.
fn offers_nothing_known(order: &Value) -> bool {
    let known = |kind: &Value| kind == "http-01" || kind == "dns-01";
    let all = order["authorizations"].as_array().into_iter().flatten();
    all.filter_map(|authorization| authorization["challenges"].as_array())
        .any(|kinds| !kinds.iter().any(known))
}
