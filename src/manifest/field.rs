//! Decodes a node as the type of its field, and reports every error to the sink.
//!
//! Contract: a method returns `None` (or leaves an item out) exactly when it reported an error to
//! the sink. `null` is the same as absent, as in Kubernetes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::str::FromStr;

use super::diagnostic::{Draft, short};
use super::sink::Sink;
use super::suggestion::nearest;
use super::syntax::SAME_COLUMN;
use super::tree::{Entry, Node, Span, Value};
use crate::resource::is_hidden;

/// A value with the path that points to it.
#[derive(Clone, Debug)]
pub(crate) struct Field<'n> {
    pub(crate) node: &'n Node,
    /// `spec.dnsNames[0]`.
    pub(crate) path: String,
    /// The key, or the value itself in a list.
    pub(crate) key_span: Span,
}

impl<'n> Field<'n> {
    /// A document's root, or an item of a List.
    pub(crate) fn root(node: &'n Node) -> Self {
        Self { node, path: String::new(), key_span: node.span }
    }

    /// Where the value is.
    pub(crate) fn span(&self) -> Span {
        self.node.span
    }

    /// Reports an invalid value to the sink.
    pub(crate) fn refuse(&self, sink: &mut Sink<'_>, message: impl Into<String>) {
        sink.error("E0105", self.span(), &self.path, message);
    }

    /// The same, with a suggested correction.
    pub(crate) fn refuse_word(&self, sink: &mut Sink<'_>, message: String, words: &[&str]) {
        sink.add(self.wrong_word(message, words));
    }

    fn wrong_word(&self, message: String, words: &[&str]) -> Draft {
        let suggestion = self.node.as_text().and_then(|text| nearest(text, words.iter().copied()));
        Draft::error("E0105", self.span(), &self.path, message).suggest(suggestion)
    }

    fn wrong_type(&self, sink: &mut Sink<'_>, wanted: &str) {
        if self.is_unrendered(sink) {
            return;
        }
        let found = match &self.node.value {
            Value::Null => "nothing".to_owned(),
            Value::Scalar { raw, .. } if sink.is_secret() || raw.is_empty() => "text".to_owned(),
            Value::Scalar { raw, .. } => format!("`{}`", short(raw)),
            Value::Sequence(_) => "a list".to_owned(),
            Value::Mapping(_) => "a mapping".to_owned(),
        };
        let span = first_line(self.span());
        let message = format!("expected {wanted}, found {found}");
        let draft = Draft::error("E0103", span, &self.path, message);
        let help = match &self.node.value {
            Value::Scalar { raw, plain: true } if wanted == LIST && raw.starts_with('-') => {
                "put a space after the `-`"
            }
            Value::Mapping(_) | Value::Scalar { .. } if wanted == LIST => {
                "each item of a list begins with `- `"
            }
            Value::Null | Value::Scalar { .. } | Value::Sequence(_) | Value::Mapping(_) => {
                return sink.add(draft);
            }
        };
        sink.add(draft.help(help));
    }

    /// A mapping; `owner` names it in "unknown field … in `owner`".
    pub(crate) fn mapping(
        &self,
        sink: &mut Sink<'_>,
        owner: impl Into<Cow<'static, str>>,
    ) -> Option<Fields<'n>> {
        let Value::Mapping(entries) = &self.node.value else {
            self.wrong_type(sink, "a mapping");
            return None;
        };
        let path = self.path.clone();
        Some(Fields { entries, owner: owner.into(), path, span: self.key_span, known: Vec::new() })
    }

    /// Text in one line: no control characters, no invisible characters, no template.
    pub(crate) fn text(&self, sink: &mut Sink<'_>) -> Option<String> {
        let text = self.free_text(sink)?;
        if self.has_swallowed(&text) {
            let last = self.span().end_line;
            let message = format!(
                "line {last} is read as more of this item, because its `-` is indented deeper"
            );
            let draft = Draft::error("E0103", first_line(self.span()), &self.path, message);
            sink.add(draft.help(SAME_COLUMN));
            return None;
        }
        if let Some(hidden) = text.chars().find(|c| is_hidden(*c)) {
            let code = u32::from(hidden);
            self.refuse(sink, format!("character U+{code:04X} is not allowed here"));
            return None;
        }
        if self.is_unrendered(sink) { None } else { Some(text) }
    }

    /// Reports a text that is still to be replaced to the sink.
    fn is_unrendered(&self, sink: &mut Sink<'_>) -> bool {
        let text = self.node.as_text().unwrap_or_default();
        let message = if text.contains("{{") {
            TEMPLATE
        } else if placeholder(text).is_some() {
            PLACEHOLDER
        } else {
            return false;
        };
        sink.error("E0008", self.span(), &self.path, message);
        true
    }

    /// Whether the item of a list has lines that were meant as items.
    fn has_swallowed(&self, text: &str) -> bool {
        let Span { line, end_line, .. } = self.span();
        let is_plain = matches!(self.node.value, Value::Scalar { plain: true, .. });
        is_plain && end_line > line && self.path.ends_with(']') && text.contains(" - ")
    }

    /// Any text.
    pub(crate) fn free_text(&self, sink: &mut Sink<'_>) -> Option<String> {
        let Value::Scalar { raw, plain } = &self.node.value else {
            self.wrong_type(sink, "text");
            return None;
        };
        if *plain && reads_otherwise(raw) {
            let message = format!("a cluster does not read `{}` as text", short(raw));
            let draft = Draft::warning("W0301", self.span(), &self.path, message);
            sink.add(draft.help(format!("write it in quotes: \"{}\"", short(raw))));
        }
        Some(raw.clone())
    }

    /// Text that is not empty.
    pub(crate) fn filled_text(&self, sink: &mut Sink<'_>) -> Option<String> {
        let text = self.text(sink)?;
        if text.is_empty() {
            sink.error("E0101", self.span(), &self.path, REQUIRED);
            return None;
        }
        Some(text)
    }

    /// Text that another type parses; its error is the message.
    pub(crate) fn parsed<T>(&self, sink: &mut Sink<'_>) -> Option<T>
    where
        T: FromStr,
        T::Err: std::fmt::Display,
    {
        // A bare number or boolean is refused by the parser, with the better message.
        let Value::Scalar { raw, .. } = &self.node.value else {
            self.wrong_type(sink, "text");
            return None;
        };
        match raw.parse() {
            Ok(value) => Some(value),
            Err(_) if self.is_unrendered(sink) => None,
            Err(error) => {
                self.refuse(sink, format!("invalid value `{}`: {error}", short(raw)));
                None
            }
        }
    }

    /// `true` or `false`, without quotes, or another word of YAML 1.1 for it, as Kubernetes reads it.
    pub(crate) fn boolean(&self, sink: &mut Sink<'_>) -> Option<bool> {
        if let Value::Scalar { raw, plain: true } = &self.node.value {
            match raw.as_str() {
                "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "y"
                | "Y" => {
                    return Some(true);
                }
                "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "n"
                | "N" => return Some(false),
                _ => {}
            }
        }
        self.wrong_type(sink, "true or false");
        None
    }

    /// A decimal integer, without quotes.
    pub(crate) fn integer(&self, sink: &mut Sink<'_>) -> Option<i64> {
        if let Value::Scalar { raw, plain: true } = &self.node.value
            && is_decimal(raw)
            && let Ok(number) = raw.parse()
        {
            return Some(number);
        }
        self.wrong_type(sink, "a decimal integer");
        None
    }

    /// An integer of 32 bits.
    pub(crate) fn int32(&self, sink: &mut Sink<'_>) -> Option<i32> {
        let number = self.integer(sink)?;
        let narrow = i32::try_from(number).ok();
        if narrow.is_none() {
            self.refuse(sink, format!("{number} does not fit into 32 bits"));
        }
        narrow
    }

    /// One word of `words`, decoded as the value next to it.
    pub(crate) fn word<T: Copy>(&self, sink: &mut Sink<'_>, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(sink)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let message = format!("unsupported value `{}`: use {}", short(&text), one_of(&names));
        self.refuse_word(sink, message, &names);
        None
    }

    /// The items of a list.
    pub(crate) fn list(&self, sink: &mut Sink<'_>) -> Vec<Self> {
        let Value::Sequence(items) = &self.node.value else {
            self.wrong_type(sink, LIST);
            return Vec::new();
        };
        let item = |(index, node): (usize, &'n Node)| Self {
            node,
            path: format!("{}[{index}]", self.path),
            key_span: first_line(node.span),
        };
        items.iter().enumerate().map(item).collect()
    }

    /// A list of text in one line each.
    pub(crate) fn texts(&self, sink: &mut Sink<'_>) -> Vec<String> {
        self.list(sink).iter().filter_map(|item| item.text(sink)).collect()
    }

    /// The entries of a mapping whose keys are free.
    pub(crate) fn entries(&self, sink: &mut Sink<'_>) -> Vec<(&'n Entry, Self)> {
        let Value::Mapping(entries) = &self.node.value else {
            self.wrong_type(sink, "a mapping");
            return Vec::new();
        };
        let field = |entry: &'n Entry| {
            let path = format!("{}.{}", self.path, short(&entry.key));
            (entry, Self { node: &entry.value, path, key_span: entry.key_span })
        };
        entries.iter().map(field).collect()
    }

    /// A mapping from text to any text.
    pub(crate) fn text_map(&self, sink: &mut Sink<'_>) -> BTreeMap<String, String> {
        let entries = self.entries(sink);
        let pair =
            |(entry, field): &(&Entry, Self)| Some((entry.key.clone(), field.free_text(sink)?));
        entries.iter().filter_map(pair).collect()
    }
}

/// The fields of a mapping, taken one by one by name.
pub(crate) struct Fields<'n> {
    entries: &'n [Entry],
    owner: Cow<'static, str>,
    path: String,
    span: Span,
    known: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// The field, unless it is absent or null; either way it is a known one from now on.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<Field<'n>> {
        self.known.push(name);
        let entry = self.entries.iter().find(|entry| entry.key == name)?;
        if entry.value.value == Value::Null {
            return None;
        }
        Some(Field { node: &entry.value, path: self.at(name), key_span: entry.key_span })
    }

    /// A required field; if it is absent, `message` is reported.
    pub(crate) fn require(
        &mut self,
        sink: &mut Sink<'_>,
        name: &'static str,
        message: &str,
    ) -> Option<Field<'n>> {
        let field = self.take(name);
        // One mistake: `finish` reports a field of this name in other cases.
        if field.is_none() && !self.has_in_other_case(name) {
            sink.error("E0101", self.place(name), &self.at(name), message);
        }
        field
    }

    /// Whether there is a field that differs from this one by upper and lower case.
    fn has_in_other_case(&self, name: &str) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.key != name && entry.key.eq_ignore_ascii_case(name))
    }

    /// Position of a field without a value, or else of the mapping that lacks it.
    pub(crate) fn place(&self, name: &str) -> Span {
        let entry = self.entries.iter().find(|entry| entry.key == name);
        entry.map_or(first_line(self.span), |entry| entry.key_span)
    }

    /// Accepts fields without reading them.
    pub(crate) fn ignore(&mut self, names: &[&'static str]) {
        self.known.extend_from_slice(names);
    }

    /// Renames the mapping, once its type is known.
    pub(crate) fn rename(&mut self, owner: &'static str) {
        self.owner = owner.into();
    }

    /// The path of a field of this mapping.
    pub(crate) fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Where the mapping's own key is.
    pub(crate) fn span(&self) -> Span {
        first_line(self.span)
    }

    /// The path of the mapping.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Reports each unknown field to the sink; those below a mapping without a value, which are
    /// indented too little, as one mistake.
    pub(crate) fn finish(self, sink: &mut Sink<'_>) {
        // The last known field without a value.
        let mut parent = None;
        let mut children: Vec<&Entry> = Vec::new();
        for entry in self.entries {
            if self.known.contains(&entry.key.as_str()) {
                self.report_children(parent, &children, sink);
                children.clear();
                parent = (entry.value.value == Value::Null).then_some(entry);
            } else if parent.is_some() {
                children.push(entry);
            } else if let Some(place) = self.lacking(&entry.key, sink) {
                let help = format!("indent it less to put it into `{place}`");
                let draft = self.unknown(entry, sink).help(help);
                sink.add(draft);
            } else {
                let draft = self.unknown(entry, sink);
                sink.add(match nearest(&entry.key, self.known.iter().copied()) {
                    suggestion @ Some(_) => draft.suggest(suggestion),
                    None => draft.help(format!("its fields: {}", self.known.join(", "))),
                });
            }
        }
        self.report_children(parent, &children, sink);
    }

    /// Reports the unknown fields behind one without a value.
    fn report_children(&self, parent: Option<&Entry>, children: &[&Entry], sink: &mut Sink<'_>) {
        let (Some(parent), Some(first)) = (parent, children.first()) else { return };
        let help = |what: &str| format!("indent {what} to put {what} into `{}`", parent.key);
        if !MAPPINGS.contains(&parent.key.as_str()) {
            for child in children {
                let draft = self.unknown(child, sink).help(help("it"));
                sink.add(draft);
            }
            return;
        }
        // The mapping lacks nothing but blanks.
        sink.withdraw_missing(&self.at(&parent.key));
        if children.len() == 1 {
            let draft = self.unknown(first, sink).help(help("it"));
            return sink.add(draft);
        }
        let keys: Vec<String> =
            children.iter().map(|child| format!("`{}`", short(&child.key))).collect();
        let message = format!("unknown fields {} in {}", keys.join(", "), self.owner(sink));
        let draft = Draft::error("E0102", first.key_span, self.at(&short(&first.key)), message);
        sink.add(draft.help(help("them")));
    }

    /// The mapping around this one that lacks a field of this name, which is indented too far.
    fn lacking<'p>(&'p self, key: &str, sink: &mut Sink<'_>) -> Option<&'p str> {
        let mut path = self.path.as_str();
        while let Some((outer, _)) = path.rsplit_once('.') {
            if sink.withdraw_missing(&format!("{outer}.{key}")) {
                return Some(outer);
            }
            path = outer;
        }
        None
    }

    /// The mapping in messages.
    fn owner(&self, sink: &Sink<'_>) -> String {
        let is_shared = sink.is_of_cluster && self.owner.starts_with("Issuer.");
        format!("{}{}", if is_shared { "Cluster" } else { "" }, self.owner)
    }

    fn unknown(&self, entry: &Entry, sink: &Sink<'_>) -> Draft {
        let message = format!("unknown field `{}` in {}", short(&entry.key), self.owner(sink));
        Draft::error("E0102", entry.key_span, self.at(&short(&entry.key)), message)
    }

    /// Whether a field that is not known (so far) is probably a misspelling of one of these.
    pub(crate) fn misspelt(&self, names: &[&str]) -> bool {
        let unknown = self.entries.iter().map(|entry| entry.key.as_str());
        let mut unknown = unknown.filter(|key| !self.known.contains(key));
        unknown.any(|key| nearest(key, names.iter().copied()).is_some())
    }
}

/// The fields that are mappings and are required: what is not indented below one is one mistake.
const MAPPINGS: &[&str] = &["metadata", "spec", "acme", "issuerRef", "privateKeySecretRef"];
const LIST: &str = "a list";
/// cert-manager's message for a field that is empty or absent.
pub(crate) const REQUIRED: &str = "must be specified";
/// For text with an unrendered template.
pub(crate) const TEMPLATE: &str =
    "this is a template: render it first (helm template, kustomize build, envsubst)";

/// For text with a variable that another program replaces.
pub(crate) const PLACEHOLDER: &str =
    "this is a placeholder: render it first (flux build, kustomize build, envsubst)";

/// Where the first `${NAME}` or `$(NAME)` begins.
pub(crate) fn placeholder(text: &str) -> Option<usize> {
    text.match_indices('$').map(|(at, _)| at).find(|at| {
        let behind = text.get(at + 1..).unwrap_or_default();
        let braced = behind.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let named = braced.or_else(|| behind.strip_prefix('(')?.split_once(')'));
        named.is_some_and(|(name, _)| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        })
    })
}

/// The first line of a position: for a collection, only its beginning is underlined.
pub(crate) fn first_line(span: Span) -> Span {
    if span.end_line > span.line { Span::point(span.line, span.column) } else { span }
}

/// `a`, `b` or `c`.
pub(crate) fn one_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => format!("`{only}`"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|word| format!("`{word}`")).collect();
            format!("{} or `{last}`", first.join(", "))
        }
    }
}

/// Whether YAML 1.1, as Kubernetes reads it, takes the word for something other than text.
fn reads_otherwise(raw: &str) -> bool {
    let word = raw.to_ascii_lowercase();
    matches!(word.as_str(), "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n")
        || is_number(&word)
}

/// Whether YAML 1.1, as Kubernetes reads it, takes the word for a number.
fn is_number(word: &str) -> bool {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word).replace('_', "");
    let is_integer = |prefix: &str, radix| {
        let digits = unsigned.strip_prefix(prefix);
        digits.is_some_and(|digits| u64::from_str_radix(digits, radix).is_ok())
    };
    let is_float = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.parse::<f64>().is_ok();
    is_float
        || matches!(unsigned.as_str(), ".inf" | ".nan")
        || is_integer("0x", 16)
        || is_integer("0o", 8)
        || is_integer("0b", 2)
}

fn is_decimal(raw: &str) -> bool {
    let digits = raw.strip_prefix('-').unwrap_or(raw);
    digits == "0" || (digits.starts_with(|c: char| c != '0') && is_digits(digits))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
