//! `certctl schema config`: JSON Schema of `config.toml`, for editors.
//!
//! Contract: made from the flags, as the file is read by them.

use clap::{Arg, Command};
use serde_json::{Map, Value, json};

use super::key::{FILE, globals, shown};
use super::value::{Shape, is_list, shape};

/// The schema of the file, without its draft and id.
pub fn schema() -> Value {
    let command: Command = globals();
    let properties: Map<String, Value> =
        shown(&command).map(|(key, arg)| (key.to_owned(), property(arg))).collect();
    json!({
        "title": FILE,
        "type": "object",
        "properties": properties,
        "not": { "required": ["verbose", "quiet"] },
        "additionalProperties": false,
    })
}

fn property(arg: &Arg) -> Value {
    let words: Vec<String> =
        arg.get_possible_values().iter().map(|word| word.get_name().to_owned()).collect();
    let mut one = match shape(arg) {
        Shape::Switch => json!({ "type": "boolean" }),
        Shape::Number => json!({ "type": "integer", "minimum": 0 }),
        Shape::Text if words.is_empty() => json!({ "type": "string", "minLength": 1 }),
        Shape::Text => json!({ "enum": words }),
    };
    if is_list(arg) {
        one = json!({ "anyOf": [one, { "type": "array", "items": one }] });
    }
    if let Some(fields) = one.as_object_mut() {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        fields.insert("description".to_owned(), help.into());
    }
    one
}
