//! The output of a verb for programs: an object with `apiVersion` and `kind`, as JSON or YAML.
//!
//! Contract: nothing else is printed as JSON or YAML with -o. A field without a value is left out, it
//! is never null. A type is a [`Document`] by its row in
//! the list of `cli`, and its schema is made from the type: what is printed and what `certctl schema
//! output` says cannot differ.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::cli::Format;
use crate::cli::render::yaml;
use crate::resource::escape_json;

/// Printed as an object with a kind of its own.
pub(crate) trait Document: Serialize + JsonSchema {
    /// `kind`.
    const KIND: &'static str;
    /// `apiVersion`.
    const API_VERSION: &'static str;
    /// Description of the document, for the schema.
    const ABOUT: &'static str;
}

/// All kinds of documents.
pub(crate) type Documents = [DocumentKind];

/// A kind of document: what it is, and its schema, made from the type.
#[derive(Clone, Copy, Debug)]
pub struct DocumentKind {
    /// `kind`.
    pub kind: &'static str,
    /// The verb that prints it, between backticks.
    pub about: &'static str,
    /// Adds its schema to the others.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

/// A document with its `apiVersion` and `kind`.
#[derive(Clone, Debug)]
pub(crate) struct Object<T>(pub(crate) T);

/// A list of which only the items are of interest.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Items<'a, T> {
    pub(crate) items: &'a [T],
}

/// Formats the document as YAML with -o yaml, else as JSON.
pub(crate) fn text<T: Document>(document: &T, format: Format) -> serde_json::Result<String> {
    encoded(&Object(document), format)
}

/// A list; as YAML a stream of its items, and the one item itself when requested by name.
pub(crate) fn list<T: Serialize>(
    items: &[T],
    by_name: bool,
    format: Format,
) -> serde_json::Result<String>
where
    for<'a> Items<'a, T>: Document,
{
    match (format, items) {
        (Format::Yaml, items) => {
            let texts = items.iter().map(|item| encoded(item, format));
            Ok(texts.collect::<Result<Vec<_>, _>>()?.join("---\n"))
        }
        (_, [item]) if by_name => encoded(item, format),
        (_, items) => text(&Items { items }, format),
    }
}

/// The same list, of which one item at a time is in memory: what each adds to the text, and what
/// ends it.
#[derive(Debug)]
pub(crate) struct Listed {
    format: Format,
    by_name: bool,
    has_items: bool,
    /// The first item that was requested by name: it may be the only one.
    first: Option<String>,
    /// Text before and behind the items.
    frame: (String, String),
}

impl Listed {
    /// A list of such items.
    pub(crate) fn new<T>(format: Format, by_name: bool) -> serde_json::Result<Self>
    where
        for<'a> Items<'a, T>: Document,
    {
        let empty = text(&Items::<T> { items: &[] }, format)?;
        let (before, behind) = empty.split_once("[]").unwrap_or_default();
        let frame = (before.to_owned(), behind.to_owned());
        Ok(Self { format, by_name, has_items: false, first: None, frame })
    }

    pub(crate) fn item(&mut self, item: &impl Serialize) -> serde_json::Result<String> {
        let is_first = !std::mem::replace(&mut self.has_items, true);
        let text = encoded(item, self.format)?;
        if self.format == Format::Yaml {
            return Ok(if is_first { text } else { format!("---\n{text}") });
        }
        if is_first && self.by_name {
            self.first = Some(text);
            return Ok(String::new());
        }
        let indented = |text: String| {
            text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
        };
        let held = self.first.take().map(|first| indented(first) + ",\n");
        let begin = if is_first || held.is_some() {
            self.frame.0.clone() + "[\n"
        } else {
            ",\n".to_owned()
        };
        Ok(begin + &held.unwrap_or_default() + &indented(text))
    }

    pub(crate) fn end(self) -> String {
        let (before, behind) = self.frame;
        match (self.format, self.first) {
            (Format::Yaml, _) => String::new(),
            (_, Some(first)) => first,
            (_, None) if self.has_items => "\n  ]".to_owned() + &behind,
            (_, None) => before + "[]" + &behind,
        }
    }
}

fn encoded(object: &impl Serialize, format: Format) -> serde_json::Result<String> {
    // Made into a value first, so that keys stand in the order of the alphabet.
    let mut value = serde_json::to_value(object)?;
    drop_nulls(&mut value);
    let json = format!("{value:#}\n");
    if format == Format::Yaml {
        yaml::document(&value)
    } else {
        Ok(escape_json(&json).into_owned())
    }
}

/// Takes out the fields that have no value.
fn drop_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, field| !field.is_null());
        fields.values_mut().for_each(drop_nulls);
    } else if let Value::Array(items) = value {
        items.iter_mut().for_each(drop_nulls);
    }
}

impl<T: Document> Document for &T {
    const KIND: &'static str = T::KIND;
    const API_VERSION: &'static str = T::API_VERSION;
    const ABOUT: &'static str = T::ABOUT;
}

impl<T: Document> Serialize for Object<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = serde_json::to_value(&self.0).map_err(S::Error::custom)?;
        if let Some(fields) = value.as_object_mut() {
            fields.insert(API_VERSION.to_owned(), T::API_VERSION.into());
            fields.insert(KIND.to_owned(), T::KIND.into());
        }
        value.serialize(serializer)
    }
}

impl<T: Document> JsonSchema for Object<T> {
    fn schema_name() -> Cow<'static, str> {
        T::KIND.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            fields.insert(API_VERSION.to_owned(), json!({ "const": T::API_VERSION }));
            fields.insert(KIND.to_owned(), json!({ "const": T::KIND }));
        }
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.extend([API_VERSION.into(), KIND.into()]);
        }
        schema.insert("title".to_owned(), T::KIND.into());
        schema.insert("description".to_owned(), T::ABOUT.into());
        schema
    }
}

const API_VERSION: &str = "apiVersion";
const KIND: &str = "kind";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_without_a_value_is_left_out() {
        let value = json!({ "a": null, "b": [{ "c": null, "d": 1 }, { "e": {} }] });
        let expected = json!({ "b": [{ "d": 1 }, { "e": {} }] });
        assert_eq!(encoded(&value, Format::Json).unwrap(), format!("{expected:#}\n"));
    }

    #[test]
    fn json_has_no_character_that_steers_a_terminal() {
        let text = encoded(&["\u{9b}31m\u{202e}"], Format::Json).unwrap();
        assert_eq!(text, "[\n  \"\\u009b31m\\u202e\"\n]\n");
    }
}
