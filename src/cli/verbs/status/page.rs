//! Pages for people: indented lines of `Label: value`.

use crate::cli::render::output::escape;
use crate::cli::render::text::Text;
use crate::cli::words::diagnosis::{Diagnosis, Row};
use crate::cli::words::state::{past, timed};
use crate::resource::Condition;
use crate::workspace::view::CertificateView;

/// Lines of `Label: value`, two spaces per level.
#[derive(Default)]
pub(super) struct Page {
    /// What is written so far.
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

    /// What the last attempt failed by, what that means, and what to do about it.
    /// `status` is the line that the page began with.
    pub(super) fn cause(
        &mut self,
        found: &Diagnosis,
        view: &CertificateView,
        (status, at): (&str, &str),
    ) {
        let title = escape(&found.title);
        if let Some(past) = past(view, false) {
            return self.line(0, "Last failure", timed(&[at, past].concat(), &title));
        }
        let is_shown = status.contains(&*title) && !at.is_empty();
        self.line(0, "Last failure", if is_shown { at.to_owned() } else { timed(at, &title) });
        for Row { label, text } in &found.rows {
            let mut label = format!("{label}:");
            for line in text.lines() {
                self.raw(1, format!("{label:<9} {}", escape(line)).trim_end());
                label.clear();
            }
        }
        for (at, fix) in found.fixes.iter().enumerate() {
            let label = if at == 0 { "try:" } else { "" };
            self.text.push(&format!("  {label:<9} "));
            self.text.hint(&fix.into());
            self.text.push("\n");
        }
    }

    /// A line as it is.
    pub(super) fn raw(&mut self, level: usize, line: &str) {
        self.text.push(&["  ".repeat(level).as_str(), line, "\n"].concat());
    }

    /// A command, and what it is for.
    pub(super) fn attempt(&mut self, level: usize, command: &str, what: &str) {
        let what = if what.is_empty() { String::new() } else { format!("   # {what}") };
        self.text.push(&["  ".repeat(level).as_str(), "Try: "].concat());
        self.text.command(command);
        self.text.push(&[what.as_str(), "\n"].concat());
    }
}

/// Where the files go and what runs then, beside the folder of the Secret.
pub(super) fn deployment(view: &CertificateView) -> Vec<String> {
    let targets = view.deploy_targets().unwrap_or_default();
    targets.iter().map(ToString::to_string).collect()
}

/// What is known of a live certificate that is not there.
pub(super) fn no_leaf(view: &CertificateView) -> &'static str {
    if view.damage.is_some() { NOT_KNOWN } else { "not issued yet" }
}

/// The folder of the Secret.
pub(super) fn secret_path(view: &CertificateView) -> String {
    match escape(&view.secret_path.to_string_lossy()) {
        path if path.is_empty() && view.damage.is_some() => NOT_KNOWN.to_owned(),
        path => path.into_owned(),
    }
}

/// What is printed where only the state, which cannot be read, has it.
const NOT_KNOWN: &str = "not known: the state is damaged";

/// The text, or what is printed where there is none.
pub(super) fn or_none(text: &str) -> &str {
    if text.is_empty() { NONE } else { text }
}

/// What is printed where there is nothing.
pub(super) const NONE: &str = "<none>";
