//! Collects the diagnostics of one document, and completes each with its file and line.

use super::diagnostic::{Blocks, Diagnostic, Draft, Severity};
use super::text::Text;
use super::tree::Span;

/// The maximum number of diagnostics of one document.
const MAX_FINDINGS: usize = 200;

/// The code of a required field that is not there.
const MISSING: &str = "E0101";

/// Collects the diagnostics of one document.
pub(crate) struct Sink<'t> {
    text: &'t Text<'t>,
    document: usize,
    /// Whether source lines may hold secrets.
    secret: bool,
    /// Whether the object is a `ClusterIssuer`, whose fields are named like those of an Issuer.
    pub(crate) is_of_cluster: bool,
    found: Vec<Diagnostic>,
    errors: usize,
}

impl<'t> Sink<'t> {
    /// An empty sink for document number `document`.
    pub(crate) fn new(text: &'t Text<'t>, document: usize, secret: bool) -> Self {
        Self { text, document, secret, is_of_cluster: false, found: Vec::new(), errors: 0 }
    }

    /// Adds a diagnostic.
    pub(crate) fn add(&mut self, draft: Draft) {
        let is_error = draft.severity == Severity::Error;
        self.errors += usize::from(is_error);
        if self.found.len() > MAX_FINDINGS {
            return;
        }
        let mut finding = self.complete(draft);
        if self.found.len() == MAX_FINDINGS {
            finding.message = "too many mistakes in this document: the rest is not listed".into();
            finding.field = String::new();
        }
        self.found.push(finding);
    }

    /// An error of a field.
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        span: Span,
        field: &str,
        message: impl Into<String>,
    ) {
        self.add(Draft::error(code, span, field, message));
    }

    /// Withdraws the error that a field is missing, or its name: another error says where it is.
    /// Returns whether there was one.
    pub(crate) fn withdraw_missing(&mut self, field: &str) -> bool {
        let is_of = |found: &str| {
            let rest = found.strip_prefix(field);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let is_it = |found: &Diagnostic| found.code == MISSING && is_of(&found.field);
        let at = self.found.iter().position(is_it);
        if let Some(at) = at {
            self.found.remove(at);
            self.errors = self.errors.saturating_sub(1);
        }
        at.is_some()
    }

    /// Omits source lines from now on.
    pub(crate) fn keep_secret(&mut self) {
        self.secret = true;
    }

    /// Whether source lines are omitted.
    pub(crate) fn is_secret(&self) -> bool {
        self.secret
    }

    /// How many errors there were so far.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    /// How many diagnostics there are so far.
    pub(crate) fn len(&self) -> usize {
        self.found.len()
    }

    /// Sets what the errors added since `from` block.
    pub(crate) fn block(&mut self, from: usize, blocks: &Blocks) {
        for finding in self.found.iter_mut().skip(from).filter(|finding| finding.is_error()) {
            finding.blocks = blocks.clone();
        }
    }

    /// The diagnostics.
    pub(crate) fn into_found(self) -> Vec<Diagnostic> {
        self.found
    }

    /// A diagnostic with its file and line, for a caller that stores it elsewhere.
    pub(crate) fn complete(&self, draft: Draft) -> Diagnostic {
        let Draft { severity, code, span, field, message, suggestion, help, fix } = draft;
        let end_column = if span.end_line > span.line {
            self.text.length(span.line) + 1
        } else {
            span.end_column
        };
        let hide = self.secret || field.ends_with(".password");
        let (source_line, source_column) = if hide || span.line == 0 {
            (None, 1)
        } else {
            let (line, column) = self.text.shown(span.line, span.column);
            (Some(line), column)
        };
        Diagnostic {
            severity,
            code,
            message,
            path: self.text.path(),
            field,
            line: span.line,
            column: span.column,
            end_column: end_column.max(span.column + 1),
            suggestion,
            help,
            fix,
            source_line,
            source_column,
            document: self.document,
            blocks: match severity {
                Severity::Error => Blocks::Document,
                Severity::Warning => Blocks::Nothing,
            },
        }
    }
}
