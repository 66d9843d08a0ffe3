//! Messages on stderr: as text, and as JSON objects with fields.
//!
//! Contract: the object has `timestamp`, `level` and `message`, as the lines of the log have, and
//! whatever else is known under names of its own. One object is one line.

use std::fmt::Display;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::cli::words::time::rfc3339;
use crate::cli::{Hint, Paint, Text, fix};
use crate::manifest::{Diagnostic, Severity};
use crate::resource::{Finding, escape, escape_json, escape_lines};

/// The level, as in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something is wrong.
    Error,
    /// Something needs attention.
    Warn,
    /// Something happened.
    Info,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Warn => "WARN",
            Self::Info => "INFO",
        }
    }

    /// The number of syslog(3).
    pub(in crate::cli) fn priority(self) -> u8 {
        match self {
            Self::Error => 3,
            Self::Warn => 4,
            Self::Info => 6,
        }
    }
}

/// A message on stderr.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Text for people, which may have several lines.
    pub text: Text,
    pub(in crate::cli) level: Level,
    line: String,
    fields: Map<String, Value>,
}

impl Message {
    /// A message without fields.
    pub fn new(level: Level, text: impl Into<Text>, message: impl Display) -> Self {
        Self { text: text.into(), level, line: message.to_string(), fields: Map::new() }
    }

    /// A message with the level as the prefix of its text.
    pub fn plain(level: Level, message: impl Into<Text>) -> Self {
        let message = message.into();
        let line = message.to_string();
        let text = match level {
            Level::Error => Text::led_by("error", Paint::Bad, message),
            Level::Warn => Text::led_by("warning", Paint::Warn, message),
            Level::Info => message,
        };
        Self::new(level, text, line.trim_end())
    }

    /// A fact with what to do, if that is known.
    pub fn fact(level: Level, fact: &str, hint: Option<&Hint>) -> Self {
        let text = Self::plain(level, fact).text.trying(hint);
        Self::new(level, text, fact).with_some("hint", hint.map(Hint::lines))
    }

    /// A warning with what to do, if that is known.
    pub fn advice(warning: &str, hint: Option<&Hint>) -> Self {
        Self::fact(Level::Warn, warning, hint)
    }

    /// The message of a diagnostic.
    pub fn of_diagnostic(diagnostic: &Diagnostic) -> Self {
        let level = match diagnostic.severity {
            Severity::Error => Level::Error,
            Severity::Warning => Level::Warn,
        };
        let fields = match serde_json::to_value(diagnostic) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) | Err(_) => Map::new(),
        };
        let message = diagnostic.headline();
        Self { text: Text::of_diagnostic(diagnostic), level, line: message, fields }
    }

    /// The same with another line for programs.
    #[must_use]
    pub fn saying(self, line: &str) -> Self {
        Self { line: line.to_owned(), ..self }
    }

    /// A finding beside the result of a verb.
    pub fn of_finding(found: &Finding) -> Self {
        let Finding { subject, fact, fix, .. } = found;
        let fact = format!("{}: {}", escape(subject), escape(fact));
        let level = if found.is_wrong() { Level::Error } else { Level::Warn };
        Self::fact(level, &fact, fix.as_ref().map(Hint::from).as_ref())
    }

    /// Adds a field.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a field, if there is a value.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The object, without a line feed.
    pub fn json(&self, now: Timestamp) -> String {
        let mut object = self.fields.clone();
        object.insert("timestamp".to_owned(), rfc3339(now).into());
        object.insert("level".to_owned(), self.level.word().into());
        object.insert("message".to_owned(), self.line.clone().into());
        escape_json(&Value::Object(object).to_string()).into_owned()
    }
}

/// Formats a mistake in a file as a command for GitHub's workflow runner.
/// <https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands>
pub fn annotation(diagnostic: &Diagnostic) -> String {
    let word = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut properties = vec![format!("file={}", property(&diagnostic.path.to_string_lossy()))];
    if diagnostic.line > 0 {
        properties.push(format!("line={}", diagnostic.line));
        properties.push(format!("col={}", diagnostic.column));
        properties.push(format!("endColumn={}", diagnostic.end_column.max(diagnostic.column)));
    }
    properties.push(format!("title={}", property(diagnostic.code)));
    let mut message = diagnostic.headline();
    if let Some(suggestion) = &diagnostic.suggestion {
        message = format!("{message}; did you mean `{suggestion}`?");
    }
    if let Some(help) = fix::help(diagnostic) {
        message = format!("{message}\n{help}");
    }
    format!("::{word} {}::{}", properties.join(","), data(&message))
}

/// Text behind the second `::`.
fn data(text: &str) -> String {
    escape_lines(text).replace('%', "%25").replace('\n', "%0A")
}

/// The value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::args::VERBS;
    use crate::cli::config::Config;

    fn object(message: &Message) -> Value {
        let now = "2026-11-21T03:12:09.5Z".parse().unwrap();
        let line = message.json(now);
        assert!(!line.contains('\n'), "{line}");
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn a_message_has_its_level_and_stays_one_line() {
        for (level, word, headline, text) in [
            (Level::Error, "ERROR", "web: no\n  try: that\n", "error: web: no\n  try: that\n"),
            (Level::Warn, "WARN", "web: odd", "warning: web: odd"),
            (Level::Info, "INFO", "error: is not a level", "error: is not a level"),
        ] {
            let wanted = json!({
                "timestamp": "2026-11-21T03:12:09Z", "level": word, "message": headline.trim_end(),
            });
            let message = Message::plain(level, headline);
            assert_eq!((object(&message), message.text.to_string().as_str()), (wanted, text));
        }
        let message =
            Message::new(Level::Info, "x", "y").with("n", 3).with_some("none", None::<u8>);
        let wanted = json!({
            "timestamp": "2026-11-21T03:12:09Z", "level": "INFO", "message": "y", "n": 3,
        });
        assert_eq!(object(&message), wanted);
    }

    #[test]
    fn a_mistake_is_an_annotation_with_nothing_left_to_misread() {
        let path = "100%,a:b.toml".into();
        let mistakes =
            Config::parse(path, "timeout = \"10 :: minutes\"\nparalel = 1", VERBS.tree).mistakes;
        let annotations: Vec<String> = mistakes.iter().map(annotation).collect();
        assert_eq!(
            annotations,
            [
                "::error file=100%25%2Ca%3Ab.toml,line=1,col=11,endColumn=26,title=E0303::\
                 timeout: `10 :: minutes`: unknown unit ` :: minutes`: use ns, us, ms, s, m or \
                 h%0Aaccepted: a duration, such as \"90s\", \"10m\" or \"1h30m\"",
                "::error file=100%25%2Ca%3Ab.toml,line=2,col=1,endColumn=8,title=E0301::\
                 paralel: unknown key; did you mean `parallel`?",
            ]
        );
        let about_file = Diagnostic {
            line: 0,
            message: "a%\r\nb\u{1b}\u{9b}\u{202e}".into(),
            field: String::new(),
            suggestion: None,
            help: None,
            fix: None,
            severity: Severity::Warning,
            ..mistakes.into_iter().next().unwrap()
        };
        let wanted =
            "::warning file=100%25%2Ca%3Ab.toml,title=E0303::a%25\\r%0Ab\\u{1b}\\u{9b}\\u{202e}";
        assert_eq!(annotation(&about_file), wanted);
    }
}
