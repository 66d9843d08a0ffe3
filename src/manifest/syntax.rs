//! Explains a YAML syntax error, and locates its cause.
//!
//! Contract: pure; bounded by the length of the document; no message repeats text of the
//! document, which may hold secrets, but for the key of a list. For any other error, the parser's own message and position are
//! used.

use granit_parser::ErrorKind;

use super::text::{Document, lines};
use super::tree::Span;

/// An error as it is reported.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) help: Option<&'static str>,
}

/// Finds the cause of `kind`, the error of the parser at `at`.
pub(crate) fn explain(document: Document<'_>, at: Span, kind: &ErrorKind) -> Fault {
    let scene = Scene {
        lines: lines(document.text).map(|(_, line)| line).collect(),
        first: document.first_line,
    };
    let found = scene
        .quote(at, kind)
        .or_else(|| scene.blank(at))
        .or_else(|| scene.bracket(at))
        .or_else(|| scene.marker(at))
        .or_else(|| scene.unquoted(at, kind))
        .or_else(|| scene.colon(at, kind))
        .or_else(|| scene.item(at))
        .or_else(|| scene.indentation(at));
    found.unwrap_or_else(|| Fault { span: at, message: kind.to_string(), help: None })
}

/// The document, line by line.
struct Scene<'t> {
    lines: Vec<&'t str>,
    first: usize,
}

impl<'t> Scene<'t> {
    /// A line by its number in the file.
    fn line(&self, number: usize) -> &'t str {
        let index = number.checked_sub(self.first);
        index.and_then(|index| self.lines.get(index)).copied().unwrap_or_default()
    }

    /// The numbers of the lines above that are not empty, nearest first.
    fn above(&self, number: usize) -> impl Iterator<Item = (usize, &'t str)> {
        let numbers = (self.first..number).rev();
        numbers.map(|number| (number, self.line(number))).filter(|(_, line)| {
            let text = line.trim_start();
            !text.is_empty() && !text.starts_with('#')
        })
    }

    /// A tab or a space of another kind that indents this line or the next, or the line above: the
    /// parser takes it for a part of a value or of a key, and stops there or at the next line.
    fn blank(&self, at: Span) -> Option<Fault> {
        let above = self.above(at.line).next().map(|(number, _)| number);
        [at.line, at.line + 1].into_iter().chain(above).find_map(|number| {
            let line = self.line(number);
            let blank = line.chars().take_while(|c| c.is_whitespace()).count();
            let (first, wrong) = line.chars().take(blank).enumerate().find(|(_, c)| *c != ' ')?;
            let (column, end_column) = (first + 1, blank + 1);
            let span = Span { line: number, column, end_line: number, end_column };
            let what = match wrong {
                '\t' => "a tab".to_owned(),
                '\u{a0}' => "a no-break space (U+00A0)".to_owned(),
                other => format!("the space U+{:04X}", u32::from(other)),
            };
            let message = format!("{what}: YAML is indented with spaces only");
            Some(Fault { span, message, help: None })
        })
    }

    /// The collections that were open when the parser stopped.
    fn open(&self, at: Span) -> Open {
        let mut open = Open::default();
        for (number, line) in (self.first..=at.line).zip(&self.lines) {
            let end = if number == at.line { at.column - 1 } else { usize::MAX };
            open.read(number, line, end);
        }
        open
    }

    /// A quote without its end: the next quote, which opens another text, is read as that end, and
    /// the other text is then too much.
    fn quote(&self, at: Span, kind: &ErrorKind) -> Option<Fault> {
        let is_trailing = matches!(
            kind,
            ErrorKind::InvalidTrailingSingleQuotedScalar
                | ErrorKind::InvalidTrailingDoubleQuotedScalar
        );
        let span = if is_trailing {
            self.open(at).closed.filter(|span| span.line < at.line)?
        } else if matches!(kind, ErrorKind::UnclosedQuotedScalar) {
            at
        } else {
            return None;
        };
        Some(Fault { span, message: "this quote is never closed".to_owned(), help: None })
    }

    /// A bracket of an earlier line that is still open.
    fn bracket(&self, at: Span) -> Option<Fault> {
        let open = self.open(at);
        let (_, span) = open.brackets.last().filter(|(_, span)| span.line < at.line)?;
        Some(Fault { span: *span, message: "this bracket is never closed".to_owned(), help: None })
    }

    /// Dashes that are not a document separator, because there are not three.
    fn marker(&self, at: Span) -> Option<Fault> {
        let dashes = |line: &str| {
            let text = line.trim_end();
            text.len() > 1 && text.bytes().all(|byte| byte == b'-')
        };
        let mut near = std::iter::once((at.line, self.line(at.line))).chain(self.above(at.line));
        let (line, text) = near.by_ref().take(2).find(|(_, line)| dashes(line))?;
        let end_column = text.trim_end().len() + 1;
        let span = Span { line, column: 1, end_line: line, end_column };
        let message = "objects are separated by a line of exactly three dashes: ---".to_owned();
        Some(Fault { span, message, help: None })
    }

    /// A value that begins with a character that is special in YAML.
    fn unquoted(&self, at: Span, kind: &ErrorKind) -> Option<Fault> {
        let is_alias =
            matches!(kind, ErrorKind::UnknownAnchor | ErrorKind::MissingAnchorOrAliasName);
        let (begin, help) = match self.line(at.line).chars().nth(at.column - 1)? {
            '*' if is_alias => ('*', Some("write \"*.example.com\"")),
            other @ ('*' | '@' | '`' | '%') => (other, None),
            _ => return None,
        };
        let word = |c: &char| !c.is_whitespace() && !matches!(c, ',' | ']' | '}');
        let length = self.line(at.line).chars().skip(at.column - 1).take_while(word).count();
        let span = Span { end_line: at.line, end_column: at.column + length, ..at };
        let message = format!("a value that begins with `{begin}` wants quotes");
        Some(Fault { span, message, help })
    }

    /// Too few colons, or too many.
    fn colon(&self, at: Span, kind: &ErrorKind) -> Option<Fault> {
        let line = self.line(at.line);
        let missing = matches!(kind, ErrorKind::SimpleKeyExpected);
        if !missing && !matches!(kind, ErrorKind::MappingValueNotAllowed) {
            return None;
        }
        let word = Span { end_line: at.line, end_column: line.chars().count() + 1, ..at };
        if !missing && let Some(inner) = second_colon(line, at.column) {
            let span = Span { column: inner, end_line: at.line, ..word };
            let message = "a value with `: ` in it wants quotes".to_owned();
            return Some(Fault { span, message, help: None });
        }
        let above = if missing { None } else { self.above(at.line).next() };
        for (number, text) in std::iter::once((at.line, line)).chain(above) {
            if let Some(column) = tight_colon(text) {
                let span = Span { line: number, column, end_line: number, end_column: column + 1 };
                let message = "a space is missing after this `:`".to_owned();
                return Some(Fault { span, message, help: None });
            }
        }
        let bare = |span| {
            let message = "a `:` is missing after this key".to_owned();
            Fault { span, message, help: None }
        };
        if missing {
            return Some(bare(word));
        }
        let (parent, text) = above?;
        if indent(line) <= indent(text) {
            let (column, end_column) = (indent(text) + 1, text.trim_end().chars().count() + 1);
            let span = Span { line: parent, column, end_line: parent, end_column };
            return (!text.contains(':')).then(|| bare(span));
        }
        let message = format!(
            "indented deeper than line {parent} ({}, not {}), which already has a value",
            spaces(indent(line)),
            indent(text)
        );
        let column = indent(line) + 1;
        Some(Fault { span: Span { column, ..word }, message, help: None })
    }

    /// An item whose dash is not below those of its list.
    fn item(&self, at: Span) -> Option<Fault> {
        let line = self.line(at.line);
        let own = indent(line);
        let _item = item_of(line)?;
        let end_column = line.trim_end().chars().count() + 1;
        let span = Span { line: at.line, column: own + 1, end_line: at.line, end_column };
        let above = self.above(at.line).find(|(_, text)| item_of(text).is_some());
        let Some((number, list)) = above else {
            let message = "an item of a list, where a field was expected".to_owned();
            return Some(Fault { span, message, help: Some("put it below the field of the list") });
        };
        let wanted = indent(list);
        if wanted == own {
            return None;
        }
        let key = self.above(number).find(|(_, text)| item_of(text).is_none());
        let key = key.and_then(|(_, text)| key_of_list(text));
        let key = key.map(|key| format!(" of `{key}`")).unwrap_or_default();
        let message = format!(
            "this item is indented by {}, the items{key} above it by {wanted} (line {number})",
            spaces(own)
        );
        Some(Fault { span, message, help: Some(SAME_COLUMN) })
    }

    /// A line whose indentation matches no open level above it.
    fn indentation(&self, at: Span) -> Option<Fault> {
        let own = indent(self.line(at.line));
        let mut open: Vec<(usize, usize)> = Vec::new();
        for (number, line) in self.above(at.line) {
            let outer = indent(line);
            // The text after a dash is a level of its own.
            for level in inner(line).into_iter().chain([outer]) {
                if open.last().is_none_or(|(_, least)| level < *least) {
                    open.push((number, level));
                }
            }
            if outer == 0 {
                break;
            }
        }
        if open.is_empty() || open.iter().any(|(_, level)| *level == own) {
            return None;
        }
        let deeper = open.iter().rev().find(|(_, level)| *level > own);
        let less = open.iter().find(|(_, level)| *level < own);
        let at_line = |(number, level): &(usize, usize)| format!("{level} in line {number}");
        let others: Vec<String> = deeper.into_iter().chain(less).map(at_line).collect();
        let message = format!(
            "indented by {}, which matches no line above ({})",
            spaces(own),
            others.join(", ")
        );
        let help = Some("the fields of an object begin in the same column");
        let column = own + 1;
        let end_column = self.line(at.line).trim_end().chars().count() + 1;
        let span = Span { line: at.line, column, end_line: at.line, end_column };
        Some(Fault { span, message, help })
    }
}

/// Open quotes, brackets and text blocks between two lines.
#[derive(Default)]
struct Open {
    quote: Option<(char, Span)>,
    /// Where the quoted text began that was closed last.
    closed: Option<Span>,
    brackets: Vec<(char, Span)>,
    /// The indentation of the key whose text block continues.
    block: Option<usize>,
}

impl Open {
    /// Reads a line, but no more than its first `end` characters.
    fn read(&mut self, number: usize, line: &str, end: usize) {
        if self.quote.is_none() && self.brackets.is_empty() {
            let blank = line.trim_start().is_empty();
            if self.block.is_some_and(|outer| blank || indent(line) > outer) {
                return;
            }
            self.block = None;
        }
        let (mut before, mut escaped) = ("", false);
        for (column, (at, character)) in (1..=end).zip(line.char_indices()) {
            let begins = matches!(before.chars().last(), None | Some(':' | '-' | ',' | '[' | '{'));
            let span = Span::point(number, column);
            match (self.quote, character) {
                (Some(_), _) if escaped => escaped = false,
                (Some(('"', _)), '\\') => escaped = true,
                (Some((quote, span)), _) if quote == character => {
                    (self.quote, self.closed) = (None, Some(span));
                }
                (None, '"' | '\'') if begins => self.quote = Some((character, span)),
                (None, '[' | '{') if begins => self.brackets.push((character, span)),
                (None, ']' | '}') => drop(self.brackets.pop()),
                (None, '#') if line.get(..at).is_none_or(is_spaced) => break,
                _ => {}
            }
            if !character.is_whitespace() {
                before = line.get(..at + character.len_utf8()).unwrap_or_default();
            }
        }
        let last = before.rsplit(' ').next().unwrap_or_default();
        let is_block = |text: &str| text.chars().all(|c| matches!(c, '+' | '-' | '0'..='9'));
        if self.quote.is_none() && last.strip_prefix(['|', '>']).is_some_and(is_block) {
            self.block = Some(indent(line));
        }
    }
}

fn is_spaced(before: &str) -> bool {
    before.is_empty() || before.ends_with([' ', '\t'])
}

/// `1 space`, `2 spaces`.
fn spaces(count: usize) -> String {
    if count == 1 { "1 space".to_owned() } else { format!("{count} spaces") }
}

/// For an item of a list, and for one that was read as more of the item above it.
pub(super) const SAME_COLUMN: &str = "the dashes of a list begin in the same column";

/// What follows the dash of an item.
fn item_of(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('-')?;
    (rest.is_empty() || rest.starts_with(' ')).then_some(rest)
}

/// The key of a line that has nothing but a key.
fn key_of_list(line: &str) -> Option<&str> {
    let key = line.trim().strip_suffix(':')?;
    let is_plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric());
    is_plain.then_some(key)
}

/// The spaces a line begins with.
fn indent(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count()
}

/// Where the text after the dash of a list item begins.
fn inner(line: &str) -> Option<usize> {
    let rest = line.trim_start().strip_prefix('-')?;
    let text = rest.trim_start();
    (rest.len() > text.len() && !text.is_empty()).then(|| line.len() - text.len())
}

/// The column after an earlier `: ` of the line: where the value begins that the colon at `end`
/// is a part of.
fn second_colon(line: &str, end: usize) -> Option<usize> {
    let before: String = line.chars().take(end - 1).collect();
    let at = before.find(": ")?;
    let value = before.get(at + 1..)?;
    let spaces = value.len() - value.trim_start().len();
    Some(before.get(..at + 1)?.chars().count() + spaces + 1)
}

/// The column of the colon of `key:value`.
fn tight_colon(line: &str) -> Option<usize> {
    let text = line.trim_start().trim_start_matches("- ").trim_start();
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let key = text.find(|c: char| !word(c)).filter(|length| *length > 0)?;
    let rest = text.get(key..)?.strip_prefix(':')?;
    let tight = rest.starts_with(|c: char| !c.is_whitespace());
    tight.then(|| line.len() - text.len() + key + 1)
}

#[cfg(test)]
mod tests {
    use super::super::builder::parse;
    use super::super::tree::TreeError;
    use super::*;

    /// Line, columns and message of the error.
    fn found(text: &str) -> String {
        let error = parse(text, 1, &mut Vec::new()).err();
        let Some((at, TreeError::Syntax(kind))) = error else {
            return format!("{error:?}");
        };
        let Fault { span, message, help } = explain(Document { text, first_line: 1 }, at, &kind);
        let help = help.map(|help| format!(" ({help})")).unwrap_or_default();
        format!("{}:{}-{} {message}{help}", span.line, span.column, span.end_column)
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table of cases")]
    fn each_error_is_reported_where_its_cause_is() {
        let tab = "a tab: YAML is indented with spaces only";
        let quoted = "wants quotes";
        let quote = "this quote is never closed";
        let bracket = "this bracket is never closed";
        let dashes = "objects are separated by a line of exactly three dashes: ---";
        let space = "a space is missing after this `:`";
        let fits = "which matches no line above";
        let column = "(the fields of an object begin in the same column)";
        let cases = [
            ("a:\n\tb: 1", format!("2:1-2 {tab}")),
            ("a:\n  b:\n\t\t- c\n", format!("3:1-3 {tab}")),
            ("a:\n  b: c\n\td: 1\n", format!("3:1-2 {tab}")),
            ("a:\n  b: c\n  \td: 1\n", format!("3:3-4 {tab}")),
            (
                "a:\n- *.b.c\n",
                format!("2:3-8 a value that begins with `*` {quoted} (write \"*.example.com\")"),
            ),
            (
                "a: [b, *.c]\n",
                format!("1:8-11 a value that begins with `*` {quoted} (write \"*.example.com\")"),
            ),
            (
                "a:\n\u{a0} b: 1\n  c: 1\n",
                "2:1-3 a no-break space (U+00A0): YAML is indented with spaces only".to_owned(),
            ),
            ("a: @b\n", format!("1:4-6 a value that begins with `@` {quoted}")),
            ("a:\n- \"b\n- c\n", format!("2:3-4 {quote}")),
            ("a: 'b\nc: d\n", format!("1:4-5 {quote}")),
            ("a: 'b\nc: 'd'\n", format!("1:4-5 {quote}")),
            ("- \"a\n- \"b\"\n", format!("1:3-4 {quote}")),
            ("a: \"it's\"\nb: \"c\nd: 1\n", format!("2:4-5 {quote}")),
            ("a: [b, c\nd: 1\n", format!("1:4-5 {bracket}")),
            ("a: |\n  it's [\nb: [c\nd: 1\n", format!("3:4-5 {bracket}")),
            ("a: 1 # it's [\nb: {c: 1\nd: 1\n", format!("2:4-5 {bracket}")),
            ("a: 1\n--\nb: 1\n", format!("2:1-3 {dashes}")),
            ("a: 1\n----\nb: 1\n", format!("2:1-5 {dashes}")),
            ("a:\n  b:c\n  d: 1\n", format!("2:4-5 {space}")),
            ("a:b\nc: 1\n", format!("1:2-3 {space}")),
            ("a: 1\nb:c\n", format!("2:2-3 {space}")),
            ("a b\nc d: e\n", "1:1-4 a `:` is missing after this key".to_owned()),
            ("a: b: c\n", format!("1:4-8 a value with `: ` in it {quoted}")),
            ("a: 1\nbc\n", "2:1-3 a `:` is missing after this key".to_owned()),
            (
                "a: b\n  c: d\n",
                "2:3-7 indented deeper than line 1 (2 spaces, not 0), which already has a value"
                    .to_owned(),
            ),
            (
                "a:\n   b: 1\n  c: 1\n",
                format!("3:3-7 indented by 2 spaces, {fits} (3 in line 2, 0 in line 1) {column}"),
            ),
            (
                "a:\n  b: 1\n c: 1\n",
                format!("3:2-6 indented by 1 space, {fits} (2 in line 2, 0 in line 1) {column}"),
            ),
            (
                "a:\n  b: 1\n- c\n",
                "3:1-4 an item of a list, where a field was expected (put it below the field of \
                 the list)"
                    .to_owned(),
            ),
            (
                "a:\n  b:\n    - c\n  - d\n",
                format!(
                    "4:3-6 this item is indented by 2 spaces, the items of `b` above it by 4 \
                     (line 3) ({SAME_COLUMN})"
                ),
            ),
            (
                "a:\n  b:\n    - c\n   - d\n  e: 1\n",
                format!(
                    "4:4-7 this item is indented by 3 spaces, the items of `b` above it by 4 \
                     (line 3) ({SAME_COLUMN})"
                ),
            ),
            (
                "a:\n- b: 1\n   c: 1\n",
                "3:4-8 indented deeper than line 2 (3 spaces, not 0), which already has a value"
                    .to_owned(),
            ),
        ];
        let (texts, expected): (Vec<&str>, Vec<String>) = cases.into_iter().unzip();
        let reported: Vec<String> = texts.iter().map(|text| found(text)).collect();
        assert_eq!(reported, expected);
    }

    #[test]
    fn other_errors_keep_the_parsers_message() {
        let expected = "1:8-9 while parsing a block mapping, did not find expected key";
        assert_eq!(found("a: [b] c"), expected);
    }
}
