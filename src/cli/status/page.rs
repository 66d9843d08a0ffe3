//! Pages for people: indented lines of `Label: value`.

use super::verdict::PAST;
use crate::cli::output::escape;
use crate::cli::report::{Findings, Row, short};
use crate::resource::Condition;
use crate::workspace::view::CertificateView;

/// Lines of `Label: value`, two spaces per level.
#[derive(Default)]
pub(super) struct Page {
    /// What is written so far.
    pub(super) text: String,
}

impl Page {
    /// `Label: value`.
    pub(super) fn line(&mut self, level: usize, label: &str, value: impl AsRef<str>) {
        self.raw(level, &format!("{label}: {}", or_none(value.as_ref())));
    }

    /// `Label:` alone.
    pub(super) fn heading(&mut self, label: &str) {
        self.raw(0, &format!("{label}:"));
    }

    /// `Label:` and one `- value` per line.
    pub(super) fn list(&mut self, label: &str, values: &[impl AsRef<str>]) {
        self.heading(label);
        for value in values {
            self.raw(0, &format!("- {}", escape(value.as_ref())));
        }
    }

    /// The block of conditions.
    pub(super) fn conditions(&mut self, level: usize, conditions: &[Condition]) {
        self.raw(level, "Conditions:");
        for Condition { kind, status, reason, message, .. } in conditions {
            let message = escape(message);
            let reason = reason.as_str();
            let line = format!("{kind:?}: {status:?}, Reason: {reason}, Message: {message}");
            self.raw(level + 1, &line);
        }
        if conditions.is_empty() {
            self.raw(level + 1, "No Conditions set");
        }
    }

    /// What the last attempt failed by, what that means, and what to do about it.
    /// `status` is the line that the page began with.
    pub(super) fn cause(
        &mut self,
        found: &Findings,
        view: &CertificateView,
        status: &str,
        at: &str,
    ) {
        let title = escape(&found.title);
        if view.failure().is_none() {
            return self.line(0, "Last failure", [at, &*title, PAST].concat());
        }
        let title = if status.contains(&*title) { "see Status" } else { &title };
        self.line(0, "Last failure", [at, title].concat());
        for Row { label, text } in &found.rows {
            let mut label = format!("{label}:");
            for line in text.lines() {
                self.raw(1, format!("{label:<9} {}", escape(line)).trim_end());
                label.clear();
            }
        }
        if !found.commands.is_empty() {
            self.raw(1, &format!("try:      {}", escape(&found.commands.join("; "))));
        }
        self.raw(1, &format!("fixed?    certctl renew {}", short(&view.key)));
    }

    /// A line as it is.
    pub(super) fn raw(&mut self, level: usize, line: &str) {
        self.text.push_str(&"  ".repeat(level));
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// The text, or what is printed where there is none.
pub(super) fn or_none(text: &str) -> &str {
    if text.is_empty() { NONE } else { text }
}

/// What is printed where there is nothing.
pub(super) const NONE: &str = "<none>";
