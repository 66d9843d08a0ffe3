//! Problem documents (RFC 7807, RFC 8555 section 6.7): any field may be missing or invalid.

use instant_acme as wire;
use serde::Deserialize as _;
use serde_json::Value;

use super::error::excerpt;
use crate::resource::{Problem, Subproblem};

/// Reads a problem document; `None` when `value` is none. `status` is the answer's, and `None` for
/// a problem inside an order or challenge.
pub(super) fn parse(value: &Value, status: Option<u16>) -> Option<Problem> {
    let object = value.as_object()?;
    if !object.contains_key("type") && !object.contains_key("detail") {
        return None;
    }
    let found = wire::Problem::deserialize(value).unwrap_or_else(|_| leniently(value));
    Some(Problem {
        status,
        kind: cut(found.r#type),
        detail: cut(found.detail),
        instance: cut(text(value, "instance")),
        algorithms: list(value, "algorithms")
            .filter_map(Value::as_str)
            .take(MOST_ALGORITHMS)
            .map(|word| cut(Some(word.to_owned())))
            .collect(),
        subproblems: found.subproblems.into_iter().take(MOST_SUBPROBLEMS).map(part).collect(),
    })
}

/// The problem document that a rate limit without one stands for: a proxy in front of the CA knows
/// only the status.
pub(super) fn of_status(status: u16, body: &[u8]) -> Option<Problem> {
    (status == 429).then(|| Problem {
        status: Some(status),
        kind: "urn:ietf:params:acme:error:rateLimited".to_owned(),
        detail: excerpt(&String::from_utf8_lossy(body), 200),
        ..Problem::default()
    })
}

fn part(found: wire::Subproblem) -> Subproblem {
    let identifier = found.identifier.map(|identifier| identifier.authorized(false).to_string());
    Subproblem { identifier: cut(identifier), kind: cut(found.r#type), detail: cut(found.detail) }
}

/// The crate's type accepts only completely valid documents. Invalid fields are removed, and the
/// rest is kept.
fn leniently(value: &Value) -> wire::Problem {
    let subproblems = list(value, "subproblems").map(|found| {
        wire::Subproblem::deserialize(found).unwrap_or_else(|_| wire::Subproblem {
            identifier: None,
            r#type: text(found, "type"),
            detail: text(found, "detail"),
        })
    });
    wire::Problem {
        r#type: text(value, "type"),
        detail: text(value, "detail"),
        status: None,
        subproblems: subproblems.collect(),
    }
}

fn list<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

fn text(value: &Value, field: &str) -> Option<String> {
    value.get(field).and_then(Value::as_str).map(str::to_owned)
}

/// A limit, so that a hostile CA cannot flood the state and the terminal. A URL must be whole: Let's
/// Encrypt sends one with a long token to the owner of a paused account.
fn cut(text: Option<String>) -> String {
    let mut text = text.unwrap_or_default();
    let longest = if text.contains("https://") { LONGEST_WITH_URL } else { LONGEST_TEXT };
    if let Some((end, _)) = text.char_indices().nth(longest) {
        text.truncate(end);
        text.push('…');
    }
    text
}

const LONGEST_TEXT: usize = 1024;
const LONGEST_WITH_URL: usize = 8192;
const MOST_SUBPROBLEMS: usize = 100;
const MOST_ALGORITHMS: usize = 20;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn problems_are_read_whatever_is_missing() {
        let full = json!({
            "type": "urn:ietf:params:acme:error:malformed", "detail": "some names", "status": 400,
            "instance": "https://ca.test/terms/7", "algorithms": ["ES256", 7, "EdDSA"],
            "subproblems": [
                {"type": "urn:a", "detail": "no", "identifier": {"type": "dns", "value": "a.test"}},
                {"type": "urn:b", "detail": "odd", "identifier": {"type": "x", "value": "y"}},
                {"identifier": 7},
                "odd",
            ],
        });
        let expected = Problem {
            status: Some(403),
            kind: "urn:ietf:params:acme:error:malformed".into(),
            detail: "some names".into(),
            instance: "https://ca.test/terms/7".into(),
            algorithms: vec!["ES256".into(), "EdDSA".into()],
            subproblems: vec![
                Subproblem {
                    identifier: "a.test".into(),
                    kind: "urn:a".into(),
                    detail: "no".into(),
                },
                Subproblem { kind: "urn:b".into(), detail: "odd".into(), ..Subproblem::default() },
                Subproblem::default(),
                Subproblem::default(),
            ],
        };
        assert_eq!(parse(&full, Some(403)), Some(expected));
        assert_eq!(parse(&json!({"detail": 1, "subproblems": {}}), None), Some(Problem::default()));
        assert_eq!(parse(&json!({"status": "valid"}), None), None);
        assert_eq!(parse(&json!("text"), None), None);
    }

    #[test]
    fn long_texts_and_lists_are_cut() {
        let problem = parse(&json!({"detail": "ä".repeat(5000)}), None).unwrap();
        assert_eq!(problem.detail, "ä".repeat(1024) + "…");
        let paused = format!("visit https://ca.test/unpause?jwt={}", "x".repeat(4000));
        assert_eq!(parse(&json!({"detail": paused}), None).unwrap().detail, paused);
        let problem = parse(&json!({"detail": "https://".repeat(5000)}), None).unwrap();
        assert_eq!(problem.detail.chars().count(), 8193);
        let many = vec![json!({}); 1000];
        let problem = parse(&json!({"detail": "", "subproblems": many}), None).unwrap();
        assert_eq!(problem.subproblems.len(), 100);
    }
}
