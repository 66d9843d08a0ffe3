//! Nodes that are stored as written, as JSON (YAML 1.2 core schema, section 10.3.2).

use serde_json::{Map, Number, Value as Json};

use super::tree::{Node, Value};

/// The node as JSON.
pub(crate) fn to_json(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Scalar { raw, plain: true } => plain(raw),
        Value::Scalar { raw, plain: false } => Json::String(raw.clone()),
        Value::Sequence(items) => Json::Array(items.iter().map(to_json).collect()),
        Value::Mapping(_) => Json::Object(to_object(node)),
    }
}

/// The node as a JSON object; empty when it is no mapping.
pub(crate) fn to_object(node: &Node) -> Map<String, Json> {
    node.entries().iter().map(|entry| (entry.key.clone(), to_json(&entry.value))).collect()
}

fn plain(raw: &str) -> Json {
    match raw {
        "true" | "True" | "TRUE" => return Json::Bool(true),
        "false" | "False" | "FALSE" => return Json::Bool(false),
        _ => {}
    }
    // JSON's own grammar of numbers: `010`, `0x10` and `1_000` stay text, and so do versions.
    match serde_json::from_str::<Number>(raw) {
        Ok(number) => Json::Number(number),
        Err(_) => Json::String(raw.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::parse;
    use super::*;

    #[test]
    fn what_is_kept_as_written_is_typed_as_yaml_does() {
        let text = "a: 1\nb: true\nc: no\nd: 010\ne: '1'\nf: 1.5\ng: ~\nh: [x]\ni: {j: 1.2.3}";
        let node = parse(text, 1, &mut Vec::new()).unwrap().unwrap();
        assert_eq!(
            to_json(&node),
            serde_json::json!({
                "a": 1, "b": true, "c": "no", "d": "010", "e": "1", "f": 1.5, "g": null,
                "h": ["x"], "i": {"j": "1.2.3"}
            })
        );
    }
}
