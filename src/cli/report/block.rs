//! The report on one certificate that failed or waits: a title, labelled rows, commands for
//! details, and the next step.
//!
//! Contract: plain data until the last moment. Line ends in foreign text are escaped before it gets
//! here, all else that could steer a terminal when the block becomes text.

use serde::Serialize;

use crate::cli::hint::Hint;
use crate::cli::message::{Level, Message};
use crate::cli::output::{Paint, escape};
use crate::cli::styled::Styled;

/// One message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Block {
    /// `error`, `pending` or `deferred`.
    pub(crate) word: &'static str,
    /// The certificate, as a command takes it.
    pub(crate) certificate: String,
    /// The root cause in one line.
    pub(crate) title: String,
    /// The class of the failure, and which attempt it was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tags: Vec<String>,
    /// The query, the response, and the cause.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) rows: Vec<Row>,
    /// What removes the cause, and the commands of certctl that show more.
    #[serde(rename = "try", skip_serializing_if = "Vec::is_empty")]
    pub(crate) commands: Vec<Hint>,
    /// The next step.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) next: String,
}

/// A label, and one line or several behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Row {
    /// One word.
    pub(crate) label: &'static str,
    /// The value; further lines are indented below the first.
    pub(crate) text: String,
}

impl Row {
    /// A row; `None` for an empty value.
    pub(crate) fn new(label: &'static str, text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (!text.trim().is_empty()).then_some(Self { label, text })
    }
}

impl Block {
    /// As a message; only `error` has the level ERROR.
    pub(crate) fn to_message(&self, utf8: bool) -> Message {
        let is_error = self.word == "error";
        let (level, paint) =
            if is_error { (Level::Error, Paint::Bad) } else { (Level::Warn, Paint::Warn) };
        let body = self.body(utf8);
        let message = body.to_string();
        Message::new(level, Styled::led_by(self.word, paint, body), message)
    }

    /// What stands behind the word; without characters of ours beyond ASCII unless `utf8`.
    fn body(&self, utf8: bool) -> Styled {
        let Self { word: _, certificate, title, tags, rows, commands, next } = self;
        let shown = |text: &str| {
            let text = escape(text);
            if utf8 { text.into_owned() } else { text.replace('…', "...") }
        };
        // A Certificate with the name of a host: its title may begin with that as well.
        let own = title.strip_prefix(certificate.as_str()).and_then(|rest| rest.strip_prefix(": "));
        let title = own.unwrap_or(title);
        let tags = if tags.is_empty() { String::new() } else { format!(" [{}]", tags.join(", ")) };
        let mut body = Styled::from(shown(&format!("{certificate}: {title}{tags}")));
        for Row { label, text } in rows {
            for (label, line) in lines(label, text) {
                body.push(&format!("\n  {label:<WIDTH$}  {}", shown(line)));
            }
        }
        // What is to be done is a line each, before the commands that show more.
        let is_command = |hint: &&Hint| matches!(hint, Hint::Command(_));
        let (shows, does): (Vec<&Hint>, Vec<&Hint>) = commands.iter().partition(is_command);
        let [shows, does] = [shows, does].map(|all| all.into_iter().map(Hint::to_string));
        let shows = Some(shows.collect::<Vec<_>>().join("; ")).filter(|line| !line.is_empty());
        let tries: Vec<String> = does.chain(shows).collect();
        for (label, line) in lines("try", &tries.join("\n")) {
            body.push("\n  ");
            body.paint(Paint::Bold, label);
            body.push(&format!(
                "{:gap$}  {}",
                "",
                shown(line),
                gap = WIDTH.saturating_sub(label.len())
            ));
        }
        if !next.is_empty() {
            body.push(&format!("\n  {}", shown(next)));
        }
        body
    }

    /// As people read it, without colours.
    #[cfg(test)]
    pub(crate) fn text(&self, utf8: bool) -> String {
        self.to_message(utf8).text.to_string()
    }
}

/// Each line of `value`, `label` before the first.
fn lines<'a>(label: &'a str, value: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    labels.zip(value.lines().map(str::trim_end))
}

/// As long as the longest label: `instance`.
const WIDTH: usize = 8;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn command(line: &str) -> Hint {
        Hint::Command(line.to_owned())
    }

    fn block() -> Block {
        Block {
            word: "error",
            certificate: "web".into(),
            title: "no\u{1b}[2J".into(),
            tags: vec!["challenge".into(), "attempt 2".into()],
            rows: Row::new("detail", "one\n  two\u{7}…").into_iter().collect(),
            commands: ["certctl status web", "certctl check dns x"].map(command).to_vec(),
            next: "next attempt tomorrow".into(),
        }
    }

    #[test]
    fn a_block_is_a_title_rows_commands_and_what_comes_next() {
        let text = "error: web: no\\u{1b}[2J [challenge, attempt 2]\n  detail    one\n            \
                    \x20 two\\u{7}…\n  try       certctl status web; certctl check dns x\n  \
                    next attempt tomorrow";
        assert_eq!(block().text(true), text);
        assert_eq!(block().text(false), text.replace('…', "..."));
        let (first, then) =
            (Hint::Text("certctl issue, or mkdir /a".into()), Hint::Text("b".into()));
        let fixed = Block { commands: vec![command("certctl status web"), first, then], ..block() };
        let tries = "  try       certctl issue, or mkdir /a\n            b\n            \
                     certctl status web\n";
        assert!(fixed.text(true).contains(tries), "{}", fixed.text(true));
        let twice = Block { title: "web: no solver".into(), ..block() };
        assert!(twice.text(true).starts_with("error: web: no solver [challenge"), "{twice:?}");
        let bare = Block { word: "pending", title: "x".into(), ..Block::default() };
        assert_eq!(bare.text(false), "pending: : x");
        assert_eq!((Row::new("x", " \n"), Row::new("x", "")), (None, None));
    }

    #[test]
    fn machines_get_the_parts() {
        let value = serde_json::to_value(block()).unwrap();
        let expected = json!({
            "word": "error",
            "certificate": "web",
            "title": "no\u{1b}[2J",
            "tags": ["challenge", "attempt 2"],
            "rows": [{ "label": "detail", "text": "one\n  two\u{7}…" }],
            "try": ["certctl status web", "certctl check dns x"],
            "next": "next attempt tomorrow",
        });
        assert_eq!(value, expected);
    }
}
