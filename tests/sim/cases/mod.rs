//! The cases of cert-manager's own tests, run through the controllers.
//!
//! Each area has one adapter from a case's input to the input of a controller, which knows no case by
//! its name. Only the keys that a case expects are compared; an area, a key or a placeholder that
//! is unknown is a failure. Where certctl answers something else on purpose, a row of
//! `differences` says so. `CERTCTL_EXTRA_CASES=<file>` runs the cases of that file too.

#![expect(clippy::wildcard_enum_match_arm, reason = "what else comes ends the test")]

mod challenge;
mod differences;
mod input;
mod issuer;
mod manifest;
mod material;
mod order;
mod policy;
mod renewal;
mod stage;
mod trigger;

use std::io::Write as _;

use serde_json::Value;

use input::Case;

/// From a case to what the controllers answer: an object with every key that can be expected.
type Adapter = fn(&Case) -> Value;

const AREAS: &[(&str, Adapter)] = &[
    ("account_setup", issuer::account_setup),
    ("backoff", trigger::backoff),
    ("certificate_validation", manifest::certificate),
    ("challenge_error", challenge::error),
    ("challenge_readiness", challenge::readiness),
    ("challenge_state", challenge::state),
    ("csr_vs_spec", policy::request),
    ("duration_validation", manifest::duration),
    ("order_finalize_5xx", order::finalize_5xx),
    ("order_state", order::state),
    ("preferred_chain", order::preferred_chain),
    ("private_key_vs_spec", policy::private_key),
    ("renew_before", renewal::renew_before),
    ("renewal_time", renewal::renewal_time),
    ("renewal_window", renewal::window),
    ("revision_gc", trigger::revisions),
    ("scheduler", issuer::scheduler),
    ("selector_dns_zones", issuer::dns_zones),
    ("solver_selection", issuer::solver),
    ("trigger_controller", trigger::controller),
    ("trigger_policy", policy::trigger),
    ("x509_vs_spec_fuzzy", policy::leaf),
];

#[test]
fn every_case_of_cert_manager_passes_or_is_a_difference_with_a_reason() {
    let fixture = include_str!("../../fixtures/cert-manager-cases.json").to_owned();
    let extra = std::env::vars().find(|(name, _)| name == "CERTCTL_EXTRA_CASES");
    let extra = extra.map(|(_, path)| {
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    });
    let (mut cases, mut different, mut failures) = (0, 0, Vec::new());
    for text in [Some(fixture), extra].into_iter().flatten() {
        let file: Value = serde_json::from_str(&text).unwrap();
        for case in file.get("cases").and_then(Value::as_array).unwrap() {
            cases += 1;
            match judge(case) {
                Ok(by_row) => different += usize::from(by_row),
                Err(why) => failures.push(format!("{} / {}: {why}", case["area"], case["name"])),
            }
        }
    }
    let mut out = std::io::stdout();
    let failed = failures.len();
    writeln!(out, "{cases} cases, {failed} failed, {different} differ on purpose").unwrap();
    assert!(failures.is_empty(), "{failed} of {cases} cases:\n{}", failures.join("\n"));
}

/// Whether the case falls under a row of the table; an error when it fails.
fn judge(case: &Value) -> Result<bool, String> {
    let case = std::panic::catch_unwind(|| Case::new(case)).map_err(|_| "cannot be read")?;
    let adapter = AREAS.iter().find(|(area, _)| *area == case.area).ok_or("unknown area")?.1;
    let row = differences::row(&case);
    let mut expected = case.expect.as_object().ok_or("expects no object")?.clone();
    if let Some(row) = row {
        let answer = (row.answer)(&case);
        expected.extend(answer.as_object().cloned().unwrap_or_default());
    }
    let differs = case.expect.as_object() != Some(&expected);
    let found = std::panic::catch_unwind(|| adapter(&case)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("panicked").to_owned()
    })?;
    for (key, expected) in &expected {
        let found = found.get(key).ok_or_else(|| format!("unknown key `{key}`"))?;
        if !input::is_as_expected(key, expected, found) {
            return Err(format!("{key}: expected {expected}, found {found}"));
        }
    }
    Ok(differs)
}

#[test]
fn the_table_of_differences_is_short_and_reasoned() {
    assert!(differences::ROWS.len() <= 17);
    assert!(differences::ROWS.iter().all(|row| row.reason.contains("DESIGN")));
}
