//! Diagnostics: errors and warnings in a manifest, with their position, and how they are rendered.
//!
//! Contract: rendering is pure, plain text without colour, and never shows a control character of
//! the manifest. An error inside a Secret, or at a password, carries no source line.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use unicode_width::UnicodeWidthChar;

use crate::resource::{Fix, NamespacedName, is_hidden};

use super::tree::Span;

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The object, document or file cannot be used.
    Error,
    /// Does not prevent use.
    Warning,
}

/// What a part of the text of a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The severity and the code.
    Level,
    /// The run of `^` below the word that is meant.
    Caret,
    /// A line of the manifest, or its place.
    Source,
    /// Anything else.
    Text,
}

/// What identifies an object among all that were loaded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// `Certificate`, `Issuer`, `ClusterIssuer` or `Secret`.
    pub kind: String,
    /// Namespace (empty for a `ClusterIssuer`) and name.
    pub key: NamespacedName,
}

impl std::fmt::Display for ObjectId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind, self.key.short())
    }
}

/// What cannot be used because of an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Blocks {
    /// Nothing: a warning.
    #[default]
    Nothing,
    /// Every document of the file.
    File,
    /// The whole document: its objects cannot be identified.
    Document,
    /// One object.
    Object(ObjectId),
}

/// The code of a file or a folder that cannot be read.
pub(crate) const UNREAD: &str = "E0001";

/// One diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// Stable code, such as `E0102`.
    pub code: &'static str,
    /// For a field, cert-manager's own message where it has one.
    pub message: String,
    /// The file as the user named it; `-` for standard input.
    pub path: PathBuf,
    /// The field, such as `spec.dnsNames[0]`; empty when it is about no field.
    pub field: String,
    /// Line counted from 1; 0 when it is about the whole file.
    pub line: usize,
    /// Column of the first character, counted from 1.
    pub column: usize,
    /// Column behind the last character on that line.
    pub end_column: usize,
    /// The value that was probably meant, as it would be written.
    pub suggestion: Option<String>,
    /// Additional help text, without "help:".
    pub help: Option<String>,
    /// What to do, beside the help.
    pub fix: Option<Fix>,
    /// The line, or a part of a long line; `None` when it must not be shown.
    pub source_line: Option<String>,
    /// Column of the first character of `source_line`; 1 unless the line is long.
    pub source_column: usize,
    /// Number of the document in its file, counted from 0.
    pub document: usize,
    /// What cannot be used because of it.
    pub blocks: Blocks,
}

impl Diagnostic {
    /// A diagnostic about a whole file.
    pub(crate) fn about_file(path: PathBuf, code: &'static str, message: String) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message,
            path,
            field: String::new(),
            line: 0,
            column: 0,
            end_column: 0,
            suggestion: None,
            help: None,
            fix: None,
            source_line: None,
            source_column: 1,
            document: 0,
            blocks: Blocks::File,
        }
    }

    /// The same as a warning with this code.
    #[must_use]
    pub fn as_warning(self, code: &'static str) -> Self {
        Self { severity: Severity::Warning, blocks: Blocks::Nothing, code, ..self }
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Whether it is about a file or a folder that cannot be read.
    pub fn is_unread(&self) -> bool {
        self.code == UNREAD
    }

    /// The message prefixed with its field, unless the message already names it.
    pub fn headline(&self) -> String {
        if self.field.is_empty() || SPEAKS_FOR_ITSELF.contains(&self.code) {
            self.message.clone()
        } else {
            format!("{}: {}", self.field, self.message)
        }
    }

    /// The diagnostic as text, in rustc's format: headline, position, source line, caret, help.
    pub fn render(&self) -> String {
        self.parts(self.help.as_deref()).into_iter().map(|(_, text)| text).collect()
    }

    /// The same in parts, each with what it is; with another help.
    pub fn parts(&self, help: Option<&str>) -> Vec<(Mark, String)> {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let path = printable(&self.path.to_string_lossy());
        let place =
            if self.line == 0 { path } else { format!("{path}:{}:{}", self.line, self.column) };
        let headline = printable(&self.headline());
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len() + 2);
        let mut parts = vec![
            (Mark::Level, format!("{word}[{}]", self.code)),
            (Mark::Text, format!(": {headline}\n")),
            (Mark::Source, format!("  --> {place}\n")),
        ];
        let suggestion = self.suggestion.as_deref().map(printable);
        let mut rest = String::new();
        if let Some(source) = &self.source_line {
            let (text, indent, length) = self.underline(source);
            let indent = " ".repeat(indent);
            let source = format!("{gutter}|\n {number} | {text}\n{gutter}| {indent}");
            parts.push((Mark::Source, source));
            parts.push((Mark::Caret, "^".repeat(length)));
            if let Some(suggestion) = suggestion {
                _ = write!(rest, " did you mean `{suggestion}`?");
            }
            rest.push('\n');
        } else if let Some(suggestion) = suggestion {
            _ = writeln!(rest, "{gutter}= did you mean `{suggestion}`?");
        }
        if let Some(help) = help {
            _ = writeln!(rest, "{gutter}= help: {}", printable(help));
        }
        parts.push((Mark::Text, rest));
        parts
    }

    /// The line as it is shown, and how many cells the caret is indented and long.
    fn underline(&self, source: &str) -> (String, usize, usize) {
        let mut text = String::new();
        let (mut before, mut under) = (0, 0);
        for (column, character) in (self.source_column..).zip(source.chars()) {
            let cells = match character {
                '\t' => {
                    text.push_str("    ");
                    4
                }
                hidden if is_hidden(hidden) => {
                    text.push('\u{fffd}');
                    1
                }
                shown => {
                    text.push(shown);
                    shown.width().unwrap_or(0)
                }
            };
            if column < self.column {
                before += cells;
            } else if column < self.end_column {
                under += cells;
            }
        }
        (text.trim_end().to_owned(), before, under.max(1))
    }
}

/// The diagnostics as a person reads them: what an issuer, a file or a folder lacks is told once, with
/// the other objects and files that it is told of.
pub fn joined(diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut all: Vec<(Diagnostic, Vec<String>)> = Vec::new();
    let mut known = HashMap::new();
    for found in diagnostics {
        let Diagnostic { code, message, suggestion, help, path, .. } = found;
        if OF_MANY.contains(code) {
            let first = *known.entry((code, message, suggestion, help)).or_insert(all.len());
            if let Some((of, others)) = all.get_mut(first) {
                match &found.blocks {
                    Blocks::Object(id) => others.push(id.key.short()),
                    Blocks::Nothing | Blocks::File | Blocks::Document if of.path == *path => {}
                    Blocks::Nothing | Blocks::File | Blocks::Document => {
                        others.push(path.display().to_string());
                    }
                }
                continue;
            }
        }
        all.push((found.clone(), Vec::new()));
    }
    let with_others = |(found, others): (Diagnostic, Vec<String>)| {
        let unnamed = match others.len().saturating_sub(FEW) {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        let names = others.iter().take(FEW).cloned().collect::<Vec<_>>().join(", ");
        let also = (!names.is_empty()).then(|| format!("the same for {names}{unnamed}"));
        let help = [found.help.clone(), also].into_iter().flatten().collect::<Vec<_>>().join("; ");
        Diagnostic { help: Some(help).filter(|help| !help.is_empty()), ..found }
    };
    all.into_iter().map(with_others).collect()
}

/// `n errors, m warnings`, for the last line of a report.
pub fn count(diagnostics: &[Diagnostic]) -> (usize, usize) {
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    (errors, diagnostics.len() - errors)
}

/// An error or warning in a manifest, or in `config.toml`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    /// Stable error code, such as E0102.
    code: &'static str,
    severity: Severity,
    file: String,
    /// Line, counted from 1; 0 when the diagnostic is about the whole file.
    line: usize,
    /// Column of the first character, counted from 1.
    column: usize,
    /// Column after the last character on that line.
    end_column: usize,
    /// Path of the field, such as `spec.dnsNames[0]`.
    path: &'a str,
    message: &'a str,
    /// The value that was probably meant.
    suggestion: Option<&'a str>,
}

impl JsonSchema for Diagnostic {
    fn schema_name() -> Cow<'static, str> {
        "Diagnostic".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Report::json_schema(generator)
    }
}

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Report {
            code: self.code,
            severity: self.severity,
            file: self.path.to_string_lossy().into_owned(),
            line: self.line,
            column: self.column,
            end_column: self.end_column,
            path: &self.field,
            message: &self.message,
            suggestion: self.suggestion.as_deref(),
        }
        .serialize(serializer)
    }
}

/// A diagnostic without its file: created where the error is found, completed by the sink.
pub(crate) struct Draft {
    pub(crate) severity: Severity,
    pub(crate) code: &'static str,
    pub(crate) span: Span,
    pub(crate) field: String,
    pub(crate) message: String,
    pub(crate) suggestion: Option<String>,
    pub(crate) help: Option<String>,
    pub(crate) fix: Option<Fix>,
}

impl Draft {
    /// An error at `span`.
    pub(crate) fn error(
        code: &'static str,
        span: Span,
        field: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Error,
            code,
            span,
            field: field.into(),
            message: message.into(),
            suggestion: None,
            help: None,
            fix: None,
        }
    }

    /// A warning at `span`.
    pub(crate) fn warning(
        code: &'static str,
        span: Span,
        field: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, field, message) }
    }

    /// Adds a suggested correction, when there is a similar name.
    pub(crate) fn suggest(self, suggestion: Option<String>) -> Self {
        Self { suggestion, ..self }
    }

    /// Adds a help text.
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Adds what to do.
    pub(crate) fn with(self, fix: Fix) -> Self {
        Self { fix: Some(fix), ..self }
    }
}

/// Text of a manifest for a message: cut at 80 characters.
pub(crate) fn short(text: &str) -> String {
    let (shown, ellipsis) = match text.char_indices().nth(80) {
        Some((end, _)) => (text.get(..end).unwrap_or_default(), "…"),
        None => (text, ""),
    };
    // A space of another kind looks like one.
    let is_odd = |c: char| c.is_whitespace() && !c.is_ascii();
    let visible = |c: char| if is_odd(c) { c.escape_default().to_string() } else { c.to_string() };
    shown.chars().map(visible).chain([ellipsis.to_owned()]).collect()
}

fn printable(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// Codes of what an issuer, a file or a folder lacks, which many objects and files meet.
const OF_MANY: &[&str] = &["E0201", "E0202", "E0203", "E0011", UNREAD];
/// How many other Certificates are named.
const FEW: usize = 5;

/// Codes whose messages name the field or object they are about.
const SPEAKS_FOR_ITSELF: &[&str] =
    &["E0102", "E0104", "E0106", "E0107", "E0201", "E0202", "E0203", "E0204", "E0205"];

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(source: &str, column: usize, end_column: usize) -> Diagnostic {
        Diagnostic {
            line: 9,
            column,
            end_column,
            field: "spec.dnsName".into(),
            source_line: Some(source.into()),
            suggestion: Some("dnsNames".into()),
            help: Some("its fields: dnsNames, secretName".into()),
            blocks: Blocks::Document,
            ..Diagnostic::about_file(
                "web.yaml".into(),
                "E0102",
                "unknown field `dnsName` in Certificate.spec".into(),
            )
        }
    }

    #[test]
    fn the_caret_stands_under_its_word() {
        assert_eq!(
            sample("  dnsName:", 3, 10).render(),
            "error[E0102]: unknown field `dnsName` in Certificate.spec\n  \
             --> web.yaml:9:3\n   \
             |\n 9 |   dnsName:\n   \
             |   ^^^^^^^ did you mean `dnsNames`?\n   \
             = help: its fields: dnsNames, secretName\n"
        );
        for (source, column, end, caret) in [
            ("\tab", 2, 4, "   |     ^^ did"),
            ("日本: x", 5, 6, "   |       ^ did"),
            ("x: 日本", 4, 6, "   |    ^^^^ did"),
            ("e\u{301}: x", 5, 6, "   |    ^ did"),
            ("a", 2, 2, "   |  ^ did"),
        ] {
            let text = sample(source, column, end).render();
            let line = text.lines().find(|line| line.contains('^')).unwrap();
            assert!(line.starts_with(caret), "{source}: {line}");
        }
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        let mut diagnostic = sample("a\u{1b}[31m\u{202e}b", 1, 2);
        diagnostic.message = "bad \u{7} bell".into();
        assert!(!diagnostic.render().contains(['\u{1b}', '\u{7}', '\u{202e}']));
    }

    #[test]
    fn a_mistake_in_an_issuer_is_told_once_for_all_certificates() {
        let of = |name: &str, code, message: &str| Diagnostic {
            blocks: Blocks::Object(ObjectId {
                kind: "Certificate".to_owned(),
                key: NamespacedName::new("default", name),
            }),
            ..Diagnostic::about_file("web.yaml".into(), code, message.to_owned())
        };
        let mut found = vec![of("own", "E0105", "wrong"), of("own", "E0105", "wrong")];
        found.extend((1..=8).map(|number| of(&format!("web-{number}"), "E0202", "Issuer a")));
        found.push(of("other", "E0202", "Issuer b"));
        let shown: Vec<_> = joined(&found).into_iter().map(|one| (one.message, one.help)).collect();
        let others = "the same for web-2, web-3, web-4, web-5, web-6 and 2 more";
        let expected =
            [("wrong", None), ("wrong", None), ("Issuer a", Some(others)), ("Issuer b", None)]
                .map(|(message, help)| (message.to_owned(), help.map(str::to_owned)));
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_file_that_others_may_read_is_told_once_for_all_its_secrets() {
        let of = |name: String| Diagnostic {
            blocks: Blocks::Object(ObjectId {
                kind: "Secret".to_owned(),
                key: NamespacedName::new("default", name),
            }),
            ..Diagnostic::about_file("secrets.yaml".into(), "E0011", "a Secret, and open".into())
        };
        let found: Vec<_> = (1..=297).map(|number| of(format!("web-{number}"))).collect();
        let shown: Vec<_> = joined(&found).into_iter().map(|one| one.help).collect();
        let others = "the same for web-2, web-3, web-4, web-5, web-6 and 291 more";
        assert_eq!(shown, [Some(others.to_owned())]);
    }

    #[test]
    fn json_has_the_documented_keys() {
        assert_eq!(
            serde_json::to_string(&sample("  dnsName:", 3, 10)).unwrap(),
            "{\"code\":\"E0102\",\"severity\":\"error\",\"file\":\"web.yaml\",\"line\":9,\
             \"column\":3,\"endColumn\":10,\"path\":\"spec.dnsName\",\
             \"message\":\"unknown field `dnsName` in Certificate.spec\",\
             \"suggestion\":\"dnsNames\"}"
        );
    }
}
