//! Pages for people: indented lines of `Label: value`.

use crate::cli::{Text, escape};
use crate::resource::Condition;

/// Lines of `Label: value`, two spaces per level.
#[derive(Default)]
pub(super) struct Page {
    /// Text so far.
    pub(super) text: Text,
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

    /// A line as it is.
    pub(super) fn raw(&mut self, level: usize, line: &str) {
        self.text.push(&["  ".repeat(level).as_str(), line, "\n"].concat());
    }
}

/// The text, or what is printed where there is none.
pub(super) fn or_none(text: &str) -> &str {
    if text.is_empty() { NONE } else { text }
}

/// Text where there is nothing.
pub(super) const NONE: &str = "<none>";
