//! Text for people, with the words in it that get a colour on a terminal.
//!
//! Contract: without colours it is the text alone.

use std::fmt;

use crate::manifest::{Diagnostic, Mark, Severity};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Styled(Vec<(Option<Paint>, String)>);

impl Styled {
    /// A text that begins with the word of a level.
    pub(crate) fn led_by(word: &str, paint: Paint, text: impl Into<Self>) -> Self {
        let mut styled = Self::default();
        styled.paint(paint, word);
        styled.push(": ");
        styled.0.extend(text.into().0);
        styled
    }

    /// An error, and what to do about it.
    pub(crate) fn error(text: &str, hint: Option<&str>) -> Self {
        Self::led_by("error", Paint::Bad, text).trying(hint)
    }

    /// The same with what to do about it.
    #[must_use]
    pub(crate) fn trying(mut self, hint: Option<&str>) -> Self {
        if let Some(hint) = hint {
            self.push("\n  ");
            self.paint(Paint::Bold, "try");
            self.push(": ");
            self.push(&hint.replace('\n', "\n       "));
        }
        self
    }

    /// A diagnostic of a manifest.
    pub(crate) fn of_diagnostic(diagnostic: &Diagnostic) -> Self {
        let paint = match diagnostic.severity {
            Severity::Error => Paint::Bad,
            Severity::Warning => Paint::Warn,
        };
        let mut styled = Self::default();
        for (mark, text) in diagnostic.parts() {
            match mark {
                Mark::Level | Mark::Caret => styled.paint(paint, &text),
                Mark::Text => styled.push(&text),
            }
        }
        styled
    }

    /// Adds text.
    pub(crate) fn push(&mut self, text: &str) {
        self.0.push((None, text.to_owned()));
    }

    /// Adds a word with a colour.
    pub(crate) fn paint(&mut self, paint: Paint, word: &str) {
        let paint = Some(paint).filter(|_| !word.is_empty());
        self.0.push((paint, word.to_owned()));
    }

    /// The text, with colours or without.
    pub fn text(&self, color: bool) -> String {
        let parts = self.0.iter().map(|(paint, text)| match paint {
            Some(paint) => paint.on(text, color),
            None => text.clone(),
        });
        parts.collect()
    }
}

impl From<&str> for Styled {
    fn from(text: &str) -> Self {
        Self(vec![(None, text.to_owned())])
    }
}

impl From<String> for Styled {
    fn from(text: String) -> Self {
        Self(vec![(None, text)])
    }
}

/// Without colours.
impl fmt::Display for Styled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(_, text)| f.write_str(text))
    }
}

/// The colours in use. Words come first everywhere: a colour never carries a meaning alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Good.
    Good,
    /// In progress, or needs attention.
    Warn,
    /// Wrong.
    Bad,
    /// Headings.
    Bold,
}

impl Paint {
    /// All that [`Paint::on`] puts around a text, and clap's underline of a heading.
    pub(crate) const SEQUENCES: [&'static str; 6] =
        ["\u{1b}[32m", "\u{1b}[33m", "\u{1b}[31m", "\u{1b}[1m", "\u{1b}[4m", "\u{1b}[0m"];

    /// `text`, coloured when `color`.
    pub fn on(self, text: &str, color: bool) -> String {
        let code = match self {
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "31",
            Self::Bold => "1",
        };
        if color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_colours_only_where_there_are_any() {
        let styled = Styled::error("no\u{1b}", Some("certctl status"));
        let text = "error: no\u{1b}\n  try: certctl status";
        assert_eq!((styled.text(false), styled.to_string()), (text.to_owned(), text.to_owned()));
        let colored = "\u{1b}[31merror\u{1b}[0m: no\u{1b}\n  \u{1b}[1mtry\u{1b}[0m: certctl status";
        assert_eq!(styled.text(true), colored);
    }

    #[test]
    fn the_level_and_the_caret_of_a_diagnostic_have_its_colour() {
        let about = |severity| Diagnostic {
            severity,
            line: 3,
            column: 2,
            end_column: 4,
            source_line: Some("a^b".to_owned()),
            suggestion: Some("`c`".to_owned()),
            ..Diagnostic::about_file("web.yaml".into(), "E0102", "no ^".to_owned())
        };
        for (severity, word, code) in
            [(Severity::Error, "error", "31"), (Severity::Warning, "warning", "33")]
        {
            let found = about(severity);
            let styled = Styled::of_diagnostic(&found);
            assert_eq!(styled.to_string(), found.render());
            let colored = format!(
                "\u{1b}[{code}m{word}[E0102]\u{1b}[0m: no ^\n  --> web.yaml:3:2\n   |\n 3 | a^b\n   |  \
                 \u{1b}[{code}m^^\u{1b}[0m did you mean `c`?\n"
            );
            assert_eq!(styled.text(true), colored);
        }
    }
}
