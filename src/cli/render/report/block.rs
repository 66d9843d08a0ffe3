//! The report on one certificate that failed or waits: a title, labelled rows, commands for
//! details, and the next step.
//!
//! Contract: plain data until the last moment. Line ends in foreign text are escaped before it gets
//! here, all else that could steer a terminal when the block becomes text.

use serde::Serialize;

use crate::cli::render::message::{Level, Message};
use crate::cli::render::output::{Paint, escape};
use crate::cli::render::text::Text;
use crate::cli::words::hint::Hint;

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
    /// As a message; only `error` has the level ERROR.
    pub(crate) fn to_message(&self, utf8: bool) -> Message {
        let is_error = self.word == "error";
        let (level, paint) =
            if is_error { (Level::Error, Paint::Bad) } else { (Level::Warn, Paint::Warn) };
        let body = self.body(utf8);
        let line = body.to_string();
        Message::new(level, Text::led_by(self.word, paint, body), line)
    }

    /// What stands behind the word; without characters of ours beyond ASCII unless `utf8`.
    fn body(&self, utf8: bool) -> Text {
        let Self { word: _, certificate, title, tags, rows, commands, next } = self;
        let shown = |text: &str| {
            let text = escape(text);
            if utf8 { text.into_owned() } else { text.replace('…', "...") }
        };
        let tags = if tags.is_empty() { String::new() } else { format!(" [{}]", tags.join(", ")) };
        let mut body = Text::from(shown(&format!("{certificate}: {title}{tags}")));
        let label = |body: &mut Text, label: &str, is_bold: bool| {
            body.push("\n  ");
            if is_bold {
                body.paint(Paint::Bold, label);
            } else {
                body.push(label);
            }
            body.push(&" ".repeat((WIDTH + 2).saturating_sub(label.len())));
            body.hang();
        };
        for Row { label: word, text } in rows {
            for (at, line) in text.lines().enumerate() {
                label(&mut body, if at == 0 { word } else { "" }, false);
                body.push(&shown(line.trim_end()));
            }
        }
        // What removes the cause comes before what shows more.
        let only_shows = |hint: &&Hint| matches!(hint, Hint::Command(_));
        let does = commands.iter().filter(|hint| !only_shows(hint));
        for (at, hint) in does.chain(commands.iter().filter(only_shows)).enumerate() {
            label(&mut body, if at == 0 { "try" } else { "" }, true);
            body.hint(hint);
        }
        if let Some(Next { text, or }) = next {
            body.push(&format!("\n  {}", shown(text)));
            if let Some((what, command)) = or {
                body.push(&format!("; {what}: "));
                body.hint(command);
            }
        }
        body
    }

    /// As people read it, without colours and in lines of any length.
    #[cfg(test)]
    pub(crate) fn text(&self, utf8: bool) -> String {
        self.to_message(utf8).text.to_string()
    }
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
            next: Some(Next::only("next attempt tomorrow")),
        }
    }

    #[test]
    fn a_block_is_a_title_rows_commands_and_what_comes_next() {
        let text = "error: web: no\\u{1b}[2J [challenge, attempt 2]\n  detail    one\n            \
                    \x20 two\\u{7}…\n  try       certctl status web\n            certctl check dns x\n  \
                    next attempt tomorrow";
        assert_eq!(block().text(true), text);
        assert_eq!(block().text(false), text.replace('…', "..."));
        let (first, then) =
            (Hint::Text("certctl issue, or mkdir /a".into()), Hint::Text("b".into()));
        let fixed = Block { commands: vec![command("certctl status web"), first, then], ..block() };
        let tries = "  try       certctl issue, or mkdir /a\n            b\n            \
                     certctl status web\n";
        assert!(fixed.text(true).contains(tries), "{}", fixed.text(true));
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
        let at = |columns| block.to_message(true).text.lines(false, columns);
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
  next attempt tomorrow; to retry now:
    certctl renew web";
        assert_eq!(at(42), text);
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
