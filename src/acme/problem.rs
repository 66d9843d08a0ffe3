//! Problem documents (RFC 7807, RFC 8555 section 6.7) as they come: any field may be missing or odd.

use serde_json::Value;

use crate::resource::{Problem, Subproblem};

/// Reads a problem document; `None` when `value` is none. `status` is the answer's, and `None` for
/// a problem inside an order or challenge.
pub(super) fn parse(value: &Value, status: Option<u16>) -> Option<Problem> {
    let object = value.as_object()?;
    if !object.contains_key("type") && !object.contains_key("detail") {
        return None;
    }
    let subproblems = object.get("subproblems").and_then(Value::as_array);
    Some(Problem {
        status,
        kind: text(value, "type"),
        detail: text(value, "detail"),
        instance: text(value, "instance"),
        subproblems: subproblems
            .map(|all| all.iter().take(MOST_SUBPROBLEMS).map(subproblem).collect())
            .unwrap_or_default(),
    })
}

fn subproblem(value: &Value) -> Subproblem {
    Subproblem {
        identifier: value.get("identifier").map(|i| text(i, "value")).unwrap_or_default(),
        kind: text(value, "type"),
        detail: text(value, "detail"),
    }
}

/// The text of a field, cut so that a hostile CA cannot fill the state and the terminal.
fn text(value: &Value, field: &str) -> String {
    let text = value.get(field).and_then(Value::as_str).unwrap_or_default();
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

const LONGEST_TEXT: usize = 1024;
const MOST_SUBPROBLEMS: usize = 100;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn problems_are_read_whatever_is_missing() {
        let full = json!({
            "type": "urn:ietf:params:acme:error:malformed", "detail": "some names", "status": 400,
            "instance": "https://ca.test/terms/7",
            "subproblems": [
                {"type": "urn:a", "detail": "no", "identifier": {"type": "dns", "value": "a.test"}},
                {"identifier": 7},
                "odd",
            ],
        });
        let expected = Problem {
            status: Some(403),
            kind: "urn:ietf:params:acme:error:malformed".into(),
            detail: "some names".into(),
            instance: "https://ca.test/terms/7".into(),
            subproblems: vec![
                Subproblem {
                    identifier: "a.test".into(),
                    kind: "urn:a".into(),
                    detail: "no".into(),
                },
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
        let many = vec![json!({}); 1000];
        let problem = parse(&json!({"detail": "", "subproblems": many}), None).unwrap();
        assert_eq!(problem.subproblems.len(), 100);
    }
}
