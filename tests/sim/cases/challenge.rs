//! Challenges.

use std::sync::Arc;

use certctl::controller::{AuthorizationSeen, Awaited, ChallengeSeen, Effect, Outcome, Slot};
use certctl::resource::{
    Authorization, AuthorizationState, Challenge, ChallengeSpec, ChallengeState, ChallengeType,
    CheckReport, Dns01Target, EndedChallenge, GoDuration, Http01Report, Identifier, OrderPhase,
    OrderState, OrderUrls, Outlook, PendingChallenge, Phase, Presented, Problem, ReasonSource,
    Verdict,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::input::{Case, keys, noon, seconds, text};
use super::issuer::identifier;
use super::order::seen;
use super::stage::{self, End, Stage, effect_error};

pub(crate) fn state(case: &Case) -> Value {
    keys(
        &case.input,
        &[
            "deleted",
            "finalizer",
            "cleanup",
            "processing",
            "state",
            "presented",
            "presentedAt",
            "presentedAgoSeconds",
            "type",
            "dnsName",
            "present",
            "check",
            "waitInsteadOfSelfCheckSeconds",
            "acme",
        ],
    );
    keys(&case.input["acme"], &["getAuthorization", "accept", "waitAuthorization"]);
    played(&case.input)
}

/// What an error of the authorization that is asked for means.
pub(crate) fn error(case: &Case) -> Value {
    keys(&case.input, &["error"]);
    let error = &case.input["error"];
    let answer = if error.is_null() { json!("") } else { json!({ "failed": error }) };
    let mut found = played(&json!({ "state": "", "acme": { "getAuthorization": answer } }));
    // A refusal in HTTP's 4xx is the challenge's end and no error of the controller.
    let is_refusal =
        error["status"].as_u64().is_none_or(|status| status < 500) && error.is_object();
    found["errorReturned"] = json!(found["error"] == true && !is_refusal);
    found
}

pub(crate) fn readiness(case: &Case) -> Value {
    let input = &case.input;
    keys(input, &["waitSeconds", "presentedAgoSeconds", "check", "retryPeriodSeconds"]);
    let ago = input["presentedAgoSeconds"].as_i64().unwrap_or_default();
    let mut given = json!({
        "state": "pending",
        "presented": true,
        "presentedAgoSeconds": ago,
        "waitInsteadOfSelfCheckSeconds": input["waitSeconds"],
        "retryPeriodSeconds": input["retryPeriodSeconds"],
    });
    given["check"] =
        input.get("check").filter(|check| !check.is_null()).unwrap_or(&json!("ok")).clone();
    let mut found = played(&given);
    found["checkCalls"] = found["checks"].clone();
    found
}

/// Where a record goes.
fn place() -> Dns01Target {
    Dns01Target {
        provider: "rfc2136".to_owned(),
        solver_digest: String::new(),
        zone: "example.com".to_owned(),
        name: "_acme-challenge.example.com".to_owned(),
        value: "value".to_owned(),
    }
}

/// Drives one challenge with the answers of the case.
fn played(given: &Value) -> Value {
    let mut stage = on_stage(given);
    let was = challenge(&stage).presented.at;
    let acme = &given["acme"];
    let (mut checks, mut cleaned, mut erred, mut accepted) = (0, false, false, false);
    let end = stage.drive(&mut |effect| {
        let outcome = match effect {
            Effect::CleanUp { .. } => {
                cleaned = true;
                worked(&given["cleanup"], Outcome::CleanedUp)
            }
            Effect::Locate { .. } => Some(Outcome::Located(place())),
            Effect::Present { .. } if given["presented"] == true => Some(Outcome::Presented),
            Effect::Present { .. } => worked(&given["present"], Outcome::Presented),
            Effect::SelfCheck { .. } => {
                checks += 1;
                checked(given)
            }
            Effect::ReadAuthorization { .. } if accepted => awaited(given, authorization),
            Effect::ReadAuthorization { .. } => match &acme["getAuthorization"] {
                Value::Null => None,
                Value::String(word) if word.starts_with("without this challenge") => {
                    Some(authorization(given, "pending", false))
                }
                Value::String(word) if word.contains(' ') => {
                    Some(Outcome::Failed(effect_error(&json!(word))))
                }
                Value::String(word) => Some(authorization(given, word, true)),
                other => Some(Outcome::Failed(effect_error(other.get("failed").unwrap_or(other)))),
            },
            Effect::Accept { .. } => accept(acme, &mut accepted),
            Effect::ReadOrder { .. } => awaited(given, |_, word, _| match word {
                "valid" => seen("ready"),
                "invalid" => seen("invalid"),
                _ => seen("pending"),
            }),
            _ => None,
        };
        erred |= matches!(outcome, Some(Outcome::Failed(_)));
        outcome
    });
    let challenge = challenge(&stage);
    let (until, waiting_for) = match &end {
        End::Wait(until, Awaited::InsteadOfSelfCheck { challenge, left }) => {
            (*until, Some(challenge.waiting_instead(*left)))
        }
        End::Wait(until, Awaited::Challenge(challenge)) => (*until, Some(challenge.reason.clone())),
        End::Wait(until, _) => (*until, None),
        _ => (None, None),
    };
    let shown = |time: Timestamp| match (&given["presentedAt"], was) {
        (Value::String(word), Some(was)) if was == time => word.clone(),
        _ if time == noon() => "now".to_owned(),
        _ => time.to_string(),
    };
    json!({
        "state": challenge.authorization().as_str(),
        "reason": waiting_for.unwrap_or_else(|| challenge.reason.clone()),
        "processing": challenge.is_processing(),
        "presented": challenge.is_presented(),
        "presentedAt": challenge.presented.at.map(shown),
        "finalizer": challenge.owes_clean_up(),
        "cleanupCalled": cleaned,
        "checkCalled": checks > 0,
        "checks": checks,
        "error": erred || *challenge.authorization() == AuthorizationState::Errored,
        "events": stage.events(),
        "requeue": matches!(end, End::Wait(..)),
        "ready": challenge.phase() == Some(Phase::Accepting),
        "retryAfterSeconds": until.map(|until| stage.now.duration_until(until).as_secs_f64()),
    })
}

fn challenge(stage: &Stage) -> Challenge {
    let orders = stage.snapshot.retired.iter().chain(&stage.snapshot.order);
    orders.flat_map(|order| &order.challenges).next().unwrap().clone()
}

/// What the CA answers to "accept"; pending when the case tells only of the verdict.
fn accept(acme: &Value, accepted: &mut bool) -> Option<Outcome> {
    let word = match &acme["accept"] {
        Value::Null if acme["waitAuthorization"].is_object() => "pending",
        Value::Null => return None,
        Value::String(word) => word,
        other => return Some(Outcome::Failed(effect_error(other))),
    };
    *accepted = true;
    Some(Outcome::Accepted(ChallengeSeen { state: word.to_owned().into(), problem: None }))
}

/// `ok`, or why it did not work.
fn worked(value: &Value, outcome: Outcome) -> Option<Outcome> {
    match value.as_str() {
        None => None,
        Some("ok") => Some(outcome),
        Some(_) => Some(Outcome::Failed(effect_error(value))),
    }
}

fn checked(given: &Value) -> Option<Outcome> {
    let verdict = match given["check"].as_str()? {
        "ok" => Verdict::Passed,
        reason => Verdict::Failed { reason: reason.to_owned() },
    };
    Some(Outcome::Checked(Box::new(CheckReport::Http01(Http01Report {
        identifier: name(given),
        url: String::new(),
        addresses: Vec::new(),
        dns: None,
        outlook: Outlook::Open,
        verdict,
    }))))
}

/// What the CA answers when its verdict is awaited: a state, an authorization that failed, or an
/// error of the transport.
fn awaited(given: &Value, answer: impl Fn(&Value, &str, bool) -> Outcome) -> Option<Outcome> {
    let wait = &given["acme"]["waitAuthorization"];
    match wait.as_str() {
        None if wait.is_null() => None,
        None if wait["authorizationError"].is_object() => Some(answer(given, "invalid", true)),
        Some(word) if !word.contains(' ') => Some(answer(given, word, true)),
        None | Some(_) => Some(Outcome::Failed(effect_error(wait))),
    }
}

fn authorization(given: &Value, word: &str, with_ours: bool) -> Outcome {
    let state: AuthorizationState = word.to_owned().into();
    let errors = &given["acme"]["waitAuthorization"]["authorizationError"]["errors"];
    let problem = errors.get(0).filter(|_| state.is_failure()).map(|error| {
        let cause = match error.as_str() {
            Some(detail) => return Problem { detail: detail.to_owned(), ..Problem::default() },
            None => effect_error(error).cause,
        };
        let mut problem = cause.problem().unwrap().clone();
        problem.kind = text(&error["type"]);
        problem
    });
    let ours = (CHALLENGE.to_owned(), ChallengeSeen { state: state.clone(), problem });
    Outcome::Authorization(Box::new(AuthorizationSeen {
        identifier: name(given),
        wildcard: false,
        state,
        challenges: Vec::new(),
        seen: if with_ours { vec![ours] } else { Vec::new() },
    }))
}

/// An order with the challenge of the case.
fn on_stage(given: &Value) -> Stage {
    let mut snapshot = stage::idle();
    snapshot.certificate.spec.dns_names = vec![name(given).to_string().parse().unwrap()];
    if let Some(period) = seconds(&given["retryPeriodSeconds"]) {
        snapshot.intervals.self_check = period;
    }
    let kind: ChallengeType = given["type"].as_str().unwrap_or("HTTP-01").to_owned().into();
    let mut stage = stage::issuing(snapshot);
    let mut solver = stage.snapshot.issuer().acme.solvers.first().unwrap().clone();
    solver.wait_instead_of_self_check =
        seconds(&given["waitInsteadOfSelfCheckSeconds"]).map(GoDuration);
    let known: AuthorizationState = given["state"].as_str().unwrap_or("pending").to_owned().into();
    let challenge = Challenge {
        spec: Arc::new(ChallengeSpec {
            authorization_url: AUTHORIZATION.to_owned(),
            kind,
            url: CHALLENGE.to_owned(),
            identifier: name(given),
            wildcard: false,
            token: "token".to_owned(),
            key: "token.key".to_owned(),
            solver,
        }),
        state: state_of(known.clone(), phase(given, &known)),
        reason: String::new(),
        reason_source: ReasonSource::Other,
        presented: Presented {
            is_owed: given["finalizer"].as_bool().unwrap_or(given["presented"] == true),
            at: presented_at(given),
            target: None,
        },
    };
    if given["processing"] == true {
        stage.snapshot.run.attempt_mut(CHALLENGE).slot = Slot::Held { grant: None, is_over: false };
    }
    if challenge.phase() == Some(Phase::Accepting) {
        stage.snapshot.run.attempt_mut(CHALLENGE).is_unsure = true;
    }
    let mut order = stage::order(&stage.snapshot);
    let url = "https://ca.test/order/1".to_owned();
    order.state = OrderState::Pending;
    order.phase = OrderPhase::Solving(OrderUrls { url, finalize_url: String::new() });
    order.authorizations = vec![Arc::new(Authorization {
        url: AUTHORIZATION.to_owned(),
        identifier: Some(name(given)),
        wildcard: false,
        initial_state: Some(AuthorizationState::Pending),
        challenges: Arc::default(),
    })];
    order.challenges = vec![challenge];
    if given["deleted"] == true {
        // Its order was replaced, and nothing else is wanted.
        order.phase = OrderPhase::Replaced { urls: order.phase.urls().cloned() };
        stage.snapshot.record.status.conditions.clear();
        stage.snapshot.run.published = true;
        stage.snapshot.retired.push(order);
    } else {
        stage.snapshot.order = Some(order);
    }
    stage
}

/// What is next for a challenge in this state. What cert-manager knows as "presented" is here the
/// time of it: without one the answer is put out again.
fn phase(given: &Value, state: &AuthorizationState) -> Option<Phase> {
    let is_final = *state == AuthorizationState::Valid || state.is_failure();
    if is_final || given["deleted"] == true {
        return None;
    }
    if *state == AuthorizationState::Unknown {
        return Some(Phase::Accepting);
    }
    Some(match (given["presented"] == true, presented_at(given)) {
        (true, Some(_)) => Phase::SelfChecking,
        (true, None) => Phase::Presenting,
        (false, _) => Phase::Queued,
    })
}

/// With a phase: undecided.
pub(crate) fn state_of(authorization: AuthorizationState, phase: Option<Phase>) -> ChallengeState {
    let (problem, check, accepts) = (None, None, None);
    if let Some(phase) = phase {
        let pending = PendingChallenge { phase, authorization, problem, check, accepts };
        return ChallengeState::Pending(pending);
    }
    if authorization == AuthorizationState::Valid {
        return ChallengeState::Valid;
    }
    let is_failure = authorization.is_failure();
    let ended = EndedChallenge { authorization, problem, check };
    if is_failure { ChallengeState::Failed(ended) } else { ChallengeState::Ended(ended) }
}

fn presented_at(given: &Value) -> Option<Timestamp> {
    let ago = seconds(&given["presentedAgoSeconds"]);
    let told = given["presentedAt"].as_str().map(|_| SignedDuration::from_hours(1));
    ago.or(told).map(|ago| noon() - ago).or_else(|| {
        let is_final = text(&given["state"]) != "pending";
        (given["presented"] == true && is_final).then(noon)
    })
}

/// Whose challenge it is.
fn name(given: &Value) -> Identifier {
    let failed = &given["acme"]["waitAuthorization"]["authorizationError"]["identifier"];
    identifier(given["dnsName"].as_str().or(failed.as_str()).unwrap_or("test.com"))
}

const AUTHORIZATION: &str = "https://ca.test/authorization/1";
const CHALLENGE: &str = "https://ca.test/challenge/1";
