//! The text of one file: its lines, and its documents.
//!
//! Contract: bytes become text or one located error; a document is the text between markers
//! (`---` or `...` at column 1), with the number of its first line.

use std::path::{Path, PathBuf};

use super::diagnostic::Diagnostic;

/// The largest file, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// The largest file with a List, such as all Secrets of a cluster.
pub(crate) const MAX_LIST_BYTES: usize = 64 << 20;
/// The most documents in one file.
pub(crate) const MAX_DOCUMENTS: usize = 1_000;
/// The longest part of a line that a diagnostic shows, in characters.
const MAX_SHOWN: usize = 160;

/// A file as text.
pub(crate) struct Text<'t> {
    path: &'t Path,
    lines: Vec<&'t str>,
}

/// One document of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Document<'t> {
    /// Its text, markers included.
    pub(crate) text: &'t str,
    /// Line of its first character in the file, counted from 1.
    pub(crate) first_line: usize,
}

/// Reads bytes as UTF-8, with or without a byte order mark.
pub(crate) fn decode<'b>(path: &Path, bytes: &'b [u8]) -> Result<&'b str, Box<Diagnostic>> {
    let refuse =
        |code, message: String| Box::new(Diagnostic::about_file(path.to_path_buf(), code, message));
    let limit = if holds_list(bytes) { MAX_LIST_BYTES } else { MAX_BYTES };
    if bytes.len() > limit {
        let limit = limit / 1024;
        return Err(refuse("E0002", format!("the file is larger than {limit} KiB")));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(refuse("E0003", "the file is UTF-16: save it as UTF-8".into()));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let (good, bad) = bytes.split_at(error.valid_up_to());
        let good = String::from_utf8_lossy(good);
        let last = good.rsplit('\n').next().unwrap_or_default();
        let column = last.chars().count() + 1;
        let byte = bad.first().copied().unwrap_or_default();
        Box::new(Diagnostic {
            line: good.matches('\n').count() + 1,
            column,
            end_column: column + 1,
            ..*refuse("E0003", format!("byte {byte:#04x} is not UTF-8"))
        })
    })
}

/// Whether the file is a List, as kubectl prints it in YAML or JSON.
fn holds_list(bytes: &[u8]) -> bool {
    let is_list = |line: &[u8]| {
        let line = line.trim_ascii_end();
        line.starts_with(b"kind:") && line.ends_with(b"List")
            || line.trim_ascii_start().starts_with(b"\"kind\":")
                && line.strip_suffix(b",").unwrap_or(line).ends_with(b"List\"")
    };
    bytes.split(|byte| *byte == b'\n').any(is_list)
}

impl<'t> Text<'t> {
    /// Splits into lines at LF, CRLF and CR.
    pub(crate) fn new(path: &'t Path, text: &'t str) -> Self {
        Self { path, lines: lines(text).map(|(_, line)| line).collect() }
    }

    /// The file's name.
    pub(crate) fn path(&self) -> PathBuf {
        self.path.to_path_buf()
    }

    /// Length of a line in characters; lines count from 1.
    pub(crate) fn length(&self, line: usize) -> usize {
        self.line(line).chars().count()
    }

    /// A line, or the part of a long one around `column`, and the column of its first character.
    pub(crate) fn shown(&self, line: usize, column: usize) -> (String, usize) {
        let text = self.line(line);
        if text.len() <= MAX_SHOWN {
            return (text.to_owned(), 1);
        }
        let skip = column.saturating_sub(MAX_SHOWN / 4);
        (text.chars().skip(skip).take(MAX_SHOWN).collect(), skip + 1)
    }

    fn line(&self, line: usize) -> &'t str {
        self.lines.get(line.wrapping_sub(1)).copied().unwrap_or_default()
    }
}

/// Splits a file into its documents; empty ones are left out. `Err` is the line of the document
/// that is one too many.
pub(crate) fn documents(text: &str) -> Result<Vec<Document<'_>>, usize> {
    let mut found = Vec::new();
    let mut markers = 0;
    let mut open =
        Open { start: 0, first_line: 1, marked: false, content: false, directive: false };
    let mut close = |open: &Open, end: usize| {
        if open.content {
            let text = text.get(open.start..end).unwrap_or_default();
            found.push(Document { text, first_line: open.first_line });
        }
    };
    for (number, (start, line)) in (1..).zip(lines(text)) {
        let begins = is_marker(line, "---");
        // Directives belong to the document whose marker follows them.
        if begins && (open.marked || open.content || !open.directive) {
            close(&open, start);
            open =
                Open { start, first_line: number, marked: true, content: false, directive: false };
        } else if begins {
            open.marked = true;
        }
        if begins {
            markers += 1;
            if markers > MAX_DOCUMENTS {
                return Err(number);
            }
            open.content |= !is_blank(line.get(3..).unwrap_or_default());
        } else if is_marker(line, "...") {
            close(&open, start);
            let start = start + line.len();
            open =
                Open { start, first_line: number, marked: false, content: false, directive: false };
        } else if line.starts_with('%') && !open.marked && !open.content {
            open.directive = true;
        } else {
            open.content |= !is_blank(line);
        }
    }
    close(&open, text.len());
    Ok(found)
}

struct Open {
    start: usize,
    first_line: usize,
    marked: bool,
    content: bool,
    directive: bool,
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn is_blank(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t']);
    line.is_empty() || line.starts_with('#')
}

/// Lines without their breaks, each with its byte offset.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let start = next?;
        let rest = text.get(start..)?;
        let Some(length) = rest.find(['\n', '\r']) else {
            next = None;
            return Some((start, rest));
        };
        let (line, ending) = rest.split_at(length);
        let break_length = if ending.starts_with("\r\n") { 2 } else { 1 };
        next = Some(start + length + break_length);
        Some((start, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<(&str, usize)> {
        documents(text).unwrap().iter().map(|d| (d.text, d.first_line)).collect()
    }

    #[test]
    fn markers_split_a_file_into_documents() {
        for (text, expected) in [
            ("", vec![]),
            ("a: 1", vec![("a: 1", 1)]),
            ("---\na: 1\n---\nb: 2\n", vec![("---\na: 1\n", 1), ("---\nb: 2\n", 3)]),
            ("a: 1\n...\nb: 2\n", vec![("a: 1\n", 1), ("\nb: 2\n", 2)]),
            ("# note\n---\n---\n# x\n---\na: 1", vec![("---\na: 1", 5)]),
            ("%YAML 1.2\n---\na: 1", vec![("%YAML 1.2\n---\na: 1", 1)]),
            ("--- {a: 1}\n--- # x\n", vec![("--- {a: 1}\n", 1)]),
            ("a: |\n  ---\n ---\n", vec![("a: |\n  ---\n ---\n", 1)]),
            ("----\n", vec![("----\n", 1)]),
            ("a: 1\r\n---\r\nb: 2\r\n", vec![("a: 1\r\n", 1), ("---\r\nb: 2\r\n", 2)]),
            ("a: 1\r---\rb: 2", vec![("a: 1\r", 1), ("---\rb: 2", 2)]),
        ] {
            assert_eq!(split(text), expected, "{text:?}");
        }
    }

    #[test]
    fn too_many_documents_are_refused_at_the_first_too_many() {
        assert_eq!(documents(&"---\n".repeat(1_000_000)), Err(1_001));
        assert_eq!(documents(&"---\na: 1\n".repeat(1_000)).map(|d| d.len()), Ok(1_000));
    }

    #[test]
    fn only_utf_8_is_text() {
        let place = |bytes: &[u8]| {
            decode(Path::new("x"), bytes).map_err(|d| (d.code, d.line, d.column)).map(str::to_owned)
        };
        assert_eq!(place(b"\xef\xbb\xbfa: 1"), Ok("a: 1".into()));
        assert_eq!(place(b"\xff\xfea\0"), Err(("E0003", 0, 0)));
        assert_eq!(place(b"a: 1\n\xc3\xbc\xffb"), Err(("E0003", 2, 2)));
        assert_eq!(place(&vec![b' '; MAX_BYTES + 1]), Err(("E0002", 0, 0)));
    }

    #[test]
    fn a_long_line_is_shown_in_part() {
        let long = format!("{}here", "x".repeat(500_000));
        let text = Text::new(Path::new("x"), &long);
        let (shown, column) = text.shown(1, 500_001);
        assert_eq!((shown.len(), column), (43, 499_962));
    }
}
