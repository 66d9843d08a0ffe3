//! Text for people: lines of spans, in the columns of a terminal.
//!
//! Contract: without colours and columns it is the text alone. Words are wrapped; what is to be pasted
//! is a span of its own and never broken.

use std::fmt;
use std::ops::Range;

use textwrap::WordSeparator;
use textwrap::core::{Word, display_width};
use textwrap::wrap_algorithms::wrap_first_fit;

pub use crate::cli::terminal::Paint;
use crate::cli::{Hint, fix};
use crate::manifest::{Diagnostic, Mark, Severity};
use crate::resource::escape;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text(Vec<Span>);

/// A part of a text. A line feed begins a line.
#[derive(Clone, Debug, PartialEq)]
enum Span {
    /// In a colour, or none.
    Words(Option<Paint>, String),
    /// Never broken: a line of a manifest or of a configuration.
    Whole(String),
    /// A command line of certctl, as a shell reads it.
    Command(String),
    /// The column in which what continues the line begins.
    Hang,
}

impl Text {
    /// A text that begins with the word of a level.
    pub(crate) fn led_by(word: &str, paint: Paint, text: impl Into<Self>) -> Self {
        let mut led = Self::default();
        led.paint(paint, word);
        led.push(": ");
        led.0.extend(text.into().0);
        led
    }

    /// The same with what to do about it.
    #[must_use]
    pub(crate) fn trying(mut self, hint: Option<&Hint>) -> Self {
        let Some(hint) = hint else { return self };
        self.push("\n  ");
        self.paint(Paint::Bold, "try");
        self.push(": ");
        self.hint(hint);
        self
    }

    /// The same with a command behind it.
    #[must_use]
    pub(crate) fn with_command(mut self, line: &str) -> Self {
        self.command(line);
        self
    }

    /// The same with words behind it.
    #[must_use]
    pub(crate) fn with(mut self, words: &str) -> Self {
        self.push(words);
        self
    }

    /// Adds what to do.
    pub(crate) fn hint(&mut self, hint: &Hint) {
        match hint {
            Hint::Command(line) => self.command(&escape(line)),
            Hint::Shell(line) => self.whole(&escape(line)),
            Hint::Commands(lines) => {
                for (at, (line, note)) in lines.iter().enumerate() {
                    self.push(if at == 0 { "" } else { BELOW_TRY });
                    self.command(line);
                    self.push(&if note.is_empty() { String::new() } else { format!(" # {note}") });
                }
            }
            Hint::Again(_) | Hint::Text(_) => self.push(&hint.to_string().replace('\n', BELOW_TRY)),
        }
    }

    /// Begins the continuation of the line in the column that is reached, unless that is far to the
    /// right.
    pub(crate) fn hang(&mut self) {
        self.0.push(Span::Hang);
    }

    /// A diagnostic of a manifest.
    pub(crate) fn of_diagnostic(diagnostic: &Diagnostic) -> Self {
        let paint = match diagnostic.severity {
            Severity::Error => Paint::Bad,
            Severity::Warning => Paint::Warn,
        };
        let mut text = Self::default();
        for (mark, part) in diagnostic.parts(fix::help(diagnostic).as_deref()) {
            match mark {
                Mark::Level | Mark::Caret => text.paint(paint, &part),
                Mark::Text => text.push(&part),
                Mark::Source => text.whole(&part),
            }
        }
        text
    }

    /// Adds words.
    pub(crate) fn push(&mut self, words: &str) {
        self.0.push(Span::Words(None, words.to_owned()));
    }

    /// Adds a word with a colour.
    pub(crate) fn paint(&mut self, paint: Paint, word: &str) {
        let paint = Some(paint).filter(|_| !word.is_empty());
        self.0.push(Span::Words(paint, word.to_owned()));
    }

    /// Adds what is never broken.
    pub(crate) fn whole(&mut self, line: &str) {
        self.0.push(Span::Whole(line.to_owned()));
    }

    /// Adds a command line.
    pub(crate) fn command(&mut self, line: &str) {
        self.0.push(Span::Command(line.to_owned()));
    }

    /// Adds lines to paste, each below the last.
    pub(crate) fn list(&mut self, lines: &[String]) {
        for line in lines {
            self.push("\n  ");
            self.whole(line);
        }
    }

    /// Adds another text.
    pub(crate) fn extend(&mut self, text: Self) {
        self.0.extend(text.0);
    }

    /// Returns whether it has a command to paste.
    pub(crate) fn has_command(&self) -> bool {
        self.0.iter().any(|span| matches!(span, Span::Command(_)))
    }

    /// The text, with colours or without.
    pub fn text(&self, color: bool) -> String {
        self.lines(color, usize::MAX)
    }

    /// The same in lines of at most `width` columns, as far as its spans allow it; what continues a line
    /// is indented below it.
    pub(crate) fn lines(&self, color: bool, width: usize) -> String {
        let (mut text, mut whole, mut hangs) = (String::new(), Vec::new(), Vec::new());
        for span in &self.0 {
            let begin = text.len();
            match span {
                Span::Words(Some(paint), word) => text.push_str(&paint.on(word, color)),
                Span::Words(None, words) => text.push_str(words),
                Span::Whole(line) | Span::Command(line) => {
                    text.push_str(line);
                    whole.push(begin..text.len());
                }
                Span::Hang => hangs.push(begin),
            }
        }
        if width == usize::MAX {
            return text;
        }
        let mut lines = String::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let end = at + line.len();
            let of_line = whole.iter().map(|range| range.start.max(at)..range.end.min(end));
            let of_line = of_line.filter(|range| range.start < range.end);
            let of_line: Vec<_> = of_line.map(|range| range.start - at..range.end - at).collect();
            let hang = hangs.iter().find(|hang| (at..end).contains(*hang));
            let hang = hang.and_then(|hang| line.get(..hang - at)).map(display_width);
            let hang = hang.filter(|hang| hang * 2 <= width);
            lines.push_str(&continued(line, &of_line, hang, width));
            at = end;
        }
        lines
    }
}

impl<S: AsRef<str>> From<S> for Text {
    fn from(words: S) -> Self {
        Self(vec![Span::Words(None, words.as_ref().to_owned())])
    }
}

/// Without colours.
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(false))
    }
}

/// Words in lines of at most `width` columns, each behind `indent`.
pub(crate) fn wrap(words: &str, indent: &str, width: usize) -> String {
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    broken(&words, &[], [indent, indent], width) + "\n"
}

/// A label with words behind it, in lines of at most `width` columns; those that continue it are
/// indented. A first word for which there is no space behind the label is below it.
pub(crate) fn behind(label: &str, words: &str, indent: usize, width: usize) -> String {
    let first = words.split(' ').next().map_or(0, display_width);
    let next = " ".repeat(indent);
    if indent < display_width(label) && display_width(label).saturating_add(first) > width {
        return [label.trim_end(), "\n", &broken(words, &[], [&next, &next], width)].concat();
    }
    broken(words, &[], [label, &next], width)
}

/// Each line of a text in lines of at most `width` columns: those that continue it are indented below it.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    Text::from(text).lines(false, width)
}

fn continued(line: &str, whole: &[Range<usize>], hang: Option<usize>, width: usize) -> String {
    if display_width(line.trim_end_matches('\n')) <= width {
        return line.to_owned();
    }
    let lead = line.len().saturating_sub(line.trim_start_matches(' ').len());
    let next = " ".repeat(hang.unwrap_or(lead + 2));
    broken(line, whole, ["", &next], width)
}

/// A line, broken between its words but within none of these parts; the indents are those of the first
/// line and of the others.
fn broken(line: &str, whole: &[Range<usize>], indents: [&str; 2], width: usize) -> String {
    let mut words = Vec::new();
    let (mut begin, mut end) = (0, 0);
    for part in WordSeparator::AsciiSpace.find_words(line) {
        end += part.word.len() + part.whitespace.len();
        // What is before the first word stays with it.
        let is_within = whole.iter().any(|range| range.start < end && end < range.end);
        if !is_within && !part.word.is_empty() {
            words.extend(line.get(begin..end).map(Word::from));
            begin = end;
        }
    }
    let widths = indents.map(|indent| {
        let columns = width.saturating_sub(display_width(indent));
        f64::from(u32::try_from(columns).unwrap_or(u32::MAX))
    });
    let mut text = String::new();
    for (at, line) in wrap_first_fit(&words, &widths).into_iter().enumerate() {
        let [begin, next] = indents;
        text.push_str(if at == 0 { begin } else { "\n" });
        text.push_str(if at == 0 { "" } else { next });
        for (at, word) in line.iter().enumerate() {
            text.push_str(word.word);
            let is_last = at + 1 == line.len();
            text.push_str(if is_last { "" } else { word.whitespace });
        }
    }
    text
}

/// The width of a stream that is no terminal, in columns.
pub(crate) const USUAL: usize = 80;
/// A line below the first of a hint.
const BELOW_TRY: &str = "\n       ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped_below_their_line_and_a_command_stays_whole() {
        let mut text = Text::from("one two three\n  four five, or ");
        text.command("certctl issue web");
        text.push(", then six");
        let plain = "one two three\n  four five, or certctl issue web, then six";
        assert_eq!(text.lines(false, 80), plain);
        let lines = "one two\n  three\n  four five,\n    or\n    certctl issue web,\n    then six";
        assert_eq!(text.lines(false, 12), lines);
        let mut text = Text::from("  ");
        text.command("certctl issue web");
        assert_eq!(text.lines(false, 9), "  certctl issue web");
    }

    #[test]
    fn what_continues_a_label_begins_behind_it_unless_that_is_far_to_the_right() {
        let mut text = Text::from("  why  ");
        text.hang();
        text.push("one two three");
        assert_eq!(text.lines(false, 15), "  why  one two\n       three");
        assert_eq!(text.lines(false, 11), "  why  one\n    two\n    three");
        assert_eq!(behind("a: ", "one two three", 2, 10), "a: one two\n  three");
        assert_eq!(behind("label: ", "fourteen-letters", 2, 10), "label:\n  fourteen-letters");
    }

    #[test]
    fn colours_take_no_column_and_wide_letters_two() {
        let mut text = Text::default();
        text.paint(Paint::Bad, "one");
        text.push(" two three");
        assert_eq!(text.lines(true, 7), "\u{1b}[31mone\u{1b}[0m two\n  three");
        assert_eq!(wrap("ページ two", "", 8), "ページ\ntwo\n");
    }

    #[test]
    fn words_have_colours_only_where_there_are_any() {
        let hint = Hint::Command("certctl status".to_owned());
        let styled = Text::led_by("error", Paint::Bad, "no").trying(Some(&hint));
        let text = "error: no\n  try: certctl status";
        assert_eq!((styled.text(false), styled.to_string()), (text.to_owned(), text.to_owned()));
        let colored = "\u{1b}[31merror\u{1b}[0m: no\n  \u{1b}[1mtry\u{1b}[0m: certctl status";
        assert_eq!(styled.text(true), colored);
        assert!(styled.has_command());
    }

    #[test]
    fn the_level_and_the_caret_of_a_diagnostic_have_its_colour() {
        let about = |severity| Diagnostic {
            severity,
            line: 3,
            column: 2,
            end_column: 4,
            source_line: Some("a^b".to_owned()),
            suggestion: Some("c".to_owned()),
            ..Diagnostic::about_file("web.yaml".into(), "E0102", "no ^".to_owned())
        };
        for (severity, word, code) in
            [(Severity::Error, "error", "31"), (Severity::Warning, "warning", "33")]
        {
            let found = about(severity);
            let styled = Text::of_diagnostic(&found);
            assert_eq!(styled.to_string(), found.render());
            let colored = format!(
                "\u{1b}[{code}m{word}[E0102]\u{1b}[0m: no ^\n  --> web.yaml:3:2\n   |\n 3 | a^b\n   |  \
                 \u{1b}[{code}m^^\u{1b}[0m did you mean `c`?\n"
            );
            assert_eq!(styled.text(true), colored);
        }
    }
}
