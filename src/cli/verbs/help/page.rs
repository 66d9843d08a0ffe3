//! A page of the manual as plain text.
//!
//! Contract: reads the part of man(7) that `certctl man` writes, and nothing else.

use crate::cli::Paint;
use crate::cli::render::text::wrap;

/// Columns before a paragraph.
const BODY: usize = 4;
/// Columns before the text that belongs to a tag, beyond those before the tag.
const HANG: usize = 6;

/// The text of a page, in lines of at most `width` columns where its words allow it.
pub(super) fn text(source: &str, width: usize, color: bool) -> String {
    let mut page = Page { width, color, indent: BODY, ..Page::default() };
    for line in source.lines() {
        page.read(line);
    }
    page.end_paragraph();
    page.text
}

/// A page that is being written.
#[derive(Default)]
struct Page {
    text: String,
    width: usize,
    color: bool,
    /// Columns before a tag, or before a paragraph without one.
    indent: usize,
    /// Columns before the text of a tag, beyond `indent`.
    hang: usize,
    /// The words of the paragraph so far.
    paragraph: String,
    /// The tag, once it is known.
    tag: Option<String>,
    /// True if the next line is a tag.
    awaits_tag: bool,
    /// True if lines are kept as they are.
    is_literal: bool,
}

impl Page {
    fn read(&mut self, line: &str) {
        let (request, rest) = match line.strip_prefix('.') {
            Some(request) => request.split_once(' ').unwrap_or((request, "")),
            None => ("", line),
        };
        match request {
            "SH" => self.heading(&arguments(rest).join(" ")),
            "TP" => {
                self.gap();
                self.awaits_tag = true;
                self.hang = HANG;
            }
            "IP" => {
                match arguments(rest).into_iter().next() {
                    // A list is compact.
                    Some(tag) => {
                        self.end_paragraph();
                        (self.tag, self.hang) = (Some(tag), 2);
                    }
                    None => self.gap(),
                }
            }
            "PP" => {
                self.gap();
                self.hang = 0;
            }
            "RS" => {
                self.end_paragraph();
                self.indent += HANG;
            }
            "RE" => {
                self.end_paragraph();
                self.indent = self.indent.saturating_sub(HANG).max(BODY);
                self.hang = HANG;
            }
            "EX" => {
                self.end_paragraph();
                self.is_literal = true;
            }
            "EE" => self.is_literal = false,
            "br" => self.end_paragraph(),
            "B" | "I" => self.add(&arguments(rest).join(" ")),
            "BR" | "RB" | "IR" | "RI" | "BI" | "IB" => self.add(&arguments(rest).concat()),
            "" if self.is_literal => {
                let margin = " ".repeat(self.indent + self.hang);
                let line = margin + &plain(rest);
                self.text.push_str(line.trim_end());
                self.text.push('\n');
            }
            "" if rest.is_empty() => self.gap(),
            "" => self.add(&plain(rest)),
            // What sets a page in type.
            _ => {}
        }
    }

    fn add(&mut self, text: &str) {
        if self.awaits_tag {
            self.awaits_tag = false;
            self.tag = Some(text.to_owned());
            return;
        }
        self.paragraph.push(' ');
        self.paragraph.push_str(text);
    }

    fn heading(&mut self, title: &str) {
        self.end_paragraph();
        if !self.text.is_empty() {
            self.gap();
        }
        (self.indent, self.hang) = (BODY, 0);
        self.text.push_str(&Paint::Bold.on(title, self.color));
        self.text.push('\n');
    }

    /// Ends the paragraph, and leaves a line free, but not below a heading.
    fn gap(&mut self) {
        self.end_paragraph();
        let last = self.text.trim_end_matches('\n').lines().last().unwrap_or_default();
        if last.starts_with(' ') && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let margin = " ".repeat(self.indent);
        let inner = " ".repeat(self.indent + self.hang);
        let mut body = if paragraph.trim().is_empty() {
            String::new()
        } else {
            wrap(&paragraph, &inner, self.width)
        };
        if let Some(tag) = self.tag.take() {
            // A tag that is short shares the line with the beginning of its text.
            if tag.chars().count() < self.hang && !body.is_empty() {
                let head = format!("{margin}{tag:<hang$}", hang = self.hang);
                body.replace_range(..inner.len(), &head);
            } else {
                self.text.push_str(&wrap(&tag, &margin, self.width));
            }
        }
        self.text.push_str(&body);
    }
}

/// The words of a request: separated by spaces, or between quotes.
fn arguments(rest: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let (mut word, mut is_quoted) = (None::<String>, false);
    for letter in rest.chars() {
        match letter {
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            ' ' if !is_quoted => arguments.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    arguments.extend(word);
    arguments.iter().map(|word| plain(word)).collect()
}

/// Text without escapes.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\\') {
        out.push_str(before);
        let known = ESCAPES
            .iter()
            .find_map(|(name, text)| escape.strip_prefix(name).map(|tail| (*text, tail)));
        let (text, tail) = known.unwrap_or(("\\", escape));
        out.push_str(text);
        rest = tail;
    }
    out + rest
}

/// The escapes that `certctl man` writes, and what they stand for.
const ESCAPES: &[(&str, &str)] = &[
    ("-", "-"),
    ("fB", ""),
    ("fI", ""),
    ("fR", ""),
    ("(aq", "'"),
    ("*(Aq", "'"),
    ("(dq", "\""),
    ("(bu", "-"),
    ("e", "\\"),
    ("&", ""),
    (" ", " "),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::VERBS;
    use crate::cli::man::pages;

    #[test]
    fn requests_and_escapes_become_plain_text() {
        let source = "\
.TH certctl 7
.SH \"TWO WORDS\"
A page of
.BR certctl\\-hooks (7),
with a paragraph that is longer than a line.
.TP
.B 10
done
.TP
\\fB\\-\\-quiet\\fR
Say less
.RS 14
.IP \\(bu 2
one
.IP \\(bu 2
two
.RE
.PP
The end:
.PP
.EX
a: \\(aqb\\(aq
  c
.EE
";
        let expected = "\
TWO WORDS
    A page of certctl-hooks(7), with a
    paragraph that is longer than a line.

    10    done

    --quiet
          Say less
          - one
          - two

    The end:

    a: 'b'
      c
";
        assert_eq!(text(source, 42, false), expected);
    }

    #[test]
    fn no_page_has_a_request_or_an_escape_that_is_unknown() {
        let known = [
            "TH", "SH", "TP", "IP", "PP", "RS", "RE", "EX", "EE", "br", "B", "I", "BR", "RB", "IR",
            "RI", "BI", "IB", "ie", "el",
        ];
        for page in pages(&VERBS) {
            for line in page.text.lines() {
                let request = line.strip_prefix('.').map(|line| line.split(' ').next().unwrap());
                assert!(request.is_none_or(|name| known.contains(&name)), "{}: {line}", page.file);
            }
            let text = text(&page.text, 80, false);
            for line in text.lines() {
                // JSON is kept as it is.
                let is_long = line.chars().count() > 80 && !line.contains(['{', '|']);
                assert!(!line.contains("\\f") && !line.contains("\\-"), "{}: {line}", page.file);
                assert!(!is_long, "{}: {line}", page.file);
            }
        }
    }
}
