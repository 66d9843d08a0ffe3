//! The report on one certificate that failed or waits: a title, labelled rows, commands for
//! details, and the next step.
//!
//! Contract: plain data until the last moment. Line ends in foreign text are escaped before it gets
//! here, all else that could steer a terminal when the block becomes text.

use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use crate::cli::hint::Hint;
use crate::cli::message::{Level, Message};
use crate::cli::output::{Paint, escape};
use crate::cli::styled::Styled;
use crate::cli::wrap::hanging;

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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<Next>,
}

/// The next step, and the command for another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Next {
    pub(crate) text: String,
    /// What it is for, and the command.
    pub(crate) or: Option<(&'static str, Hint)>,
}

impl Next {
    /// Without another one.
    pub(crate) fn only(text: impl Into<String>) -> Self {
        Self { text: text.into(), or: None }
    }
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
    /// As a message, in lines that fit so many columns; only `error` has the level ERROR.
    pub(crate) fn to_message(&self, utf8: bool, columns: Option<usize>) -> Message {
        let is_error = self.word == "error";
        let (level, paint) =
            if is_error { (Level::Error, Paint::Bad) } else { (Level::Warn, Paint::Warn) };
        let styled = Styled::led_by(self.word, paint, self.body(utf8, columns));
        Message::new(level, styled, self.body(utf8, None))
            .naming_commands(!self.commands.is_empty())
    }

    /// What stands behind the word; without characters of ours beyond ASCII unless `utf8`.
    fn body(&self, utf8: bool, columns: Option<usize>) -> Styled {
        let Self { word, certificate, title, tags, rows, commands: _, next } = self;
        let shown = |text: &str| {
            let text = escape(text);
            if utf8 { text.into_owned() } else { text.replace('…', "...") }
        };
        let wide = columns.unwrap_or(usize::MAX);
        let indent = if wide < LEAST { NARROW } else { TEXTS };
        // A Certificate with the name of a host: its title may begin with that as well.
        let own = title.strip_prefix(certificate.as_str()).and_then(|rest| rest.strip_prefix(": "));
        let title = own.unwrap_or(title);
        let tags = if tags.is_empty() { String::new() } else { format!(" [{}]", tags.join(", ")) };
        let title = shown(&format!("{certificate}: {title}{tags}"));
        let mut body = Styled::from(hanging(&title, word.len() + 2, NARROW, wide));
        for Row { label, text } in rows {
            for (label, line) in lines(label, text) {
                let line = hanging(&shown(line), TEXTS, indent, wide);
                body.push(&format!("\n  {label:<WIDTH$}  {line}"));
            }
        }
        for (at, (line, is_whole)) in self.tries(columns.is_some()).into_iter().enumerate() {
            let label = if at == 0 { "try" } else { "" };
            let line = shown(&line);
            let line = if is_whole { line } else { hanging(&line, TEXTS, indent, wide) };
            body.push("\n  ");
            body.paint(Paint::Bold, label);
            body.push(&format!("{:gap$}  {line}", "", gap = WIDTH.saturating_sub(label.len())));
        }
        if let Some(Next { text, or }) = next {
            let or = or.as_ref().map(|(what, command)| format!("{what}: {command}"));
            let whole = [Some(text.clone()), or.clone()].into_iter().flatten();
            let whole = shown(&whole.collect::<Vec<_>>().join("; "));
            let fits = whole.width().saturating_add(INDENT) <= wide;
            // A command is never broken.
            let parts = if fits { vec![whole] } else { vec![shown(text)] };
            for line in parts {
                body.push(&format!("\n  {}", hanging(&line, INDENT, NARROW, wide)));
            }
            if let Some(or) = or.filter(|_| !fits) {
                body.push(&format!("\n  {}", shown(&or)));
            }
        }
        body
    }

    /// What is to be done, a line each, before the commands that show more; and whether a line is a
    /// command, which is never broken.
    fn tries(&self, is_watched: bool) -> Vec<(String, bool)> {
        let mut does = Vec::new();
        let mut shows = Vec::new();
        for hint in &self.commands {
            match hint {
                Hint::Command(line) => shows.push(line.as_str()),
                Hint::Shell(line) => does.push((line.clone(), true)),
                hint @ (Hint::Commands(_) | Hint::Again(_) | Hint::Text(_)) => {
                    does.push((hint.to_string(), false));
                }
            }
        }
        if is_watched {
            does.extend(shows.into_iter().map(|line| (line.to_owned(), true)));
        } else if !shows.is_empty() {
            does.push((shows.join("; "), true));
        }
        does
    }

    /// As people read it, without colours and in lines of any length.
    #[cfg(test)]
    pub(crate) fn text(&self, utf8: bool) -> String {
        self.to_message(utf8, None).text.to_string()
    }
}

/// Each line of `value`, `label` before the first.
fn lines<'a>(label: &'a str, value: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    labels.zip(value.lines().map(str::trim_end))
}

/// As long as the longest label: `instance`.
const WIDTH: usize = 8;
/// Where the lines below a title begin, and those that continue one.
const INDENT: usize = 2;
const NARROW: usize = 4;
/// Where the texts behind labels begin.
const TEXTS: usize = INDENT + WIDTH + 2;
/// In fewer columns, a text is continued further left.
const LEAST: usize = 40;

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
            next: Some(Next::only("next attempt tomorrow")),
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
    fn lines_fit_a_terminal_and_commands_stay_whole() {
        let block = Block {
            title: "www.example.com was not validated: unauthorized".into(),
            rows: Row::new("cause", "the CA received a different response").into_iter().collect(),
            commands: vec![
                Hint::Text("make the folder, or name another one".into()),
                Hint::Shell("install -D -m 0640 -g certctl /dev/stdin /etc/x".into()),
                command("certctl check http www.example.com"),
                command("certctl status web"),
            ],
            next: Some(Next {
                text: "next attempt tomorrow".into(),
                or: Some(("to retry now", command("certctl renew web"))),
            }),
            ..block()
        };
        let at = |columns| block.to_message(true, Some(columns)).text.to_string();
        let text = "\
error: web: www.example.com was not
    validated: unauthorized [challenge,
    attempt 2]
  cause     the CA received a different
            response
  try       make the folder, or name
            another one
            install -D -m 0640 -g certctl /dev/stdin /etc/x
            certctl check http www.example.com
            certctl status web
  next attempt tomorrow
  to retry now: certctl renew web";
        assert_eq!(at(42), text);
        assert!(at(38).contains("the CA received a\n    different response\n"), "{}", at(38));
        assert!(at(80).ends_with("tomorrow; to retry now: certctl renew web"), "{}", at(80));
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
            "next": { "text": "next attempt tomorrow", "or": null },
        });
        assert_eq!(value, expected);
    }
}
