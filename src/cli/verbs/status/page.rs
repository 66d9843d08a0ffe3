//! Pages for people: lines of `Label: value`, short or with all there is.

use unicode_width::UnicodeWidthStr as _;

use crate::cli::words::count::first_names;
use crate::cli::{Text, escape};
use crate::resource::Condition;

/// Lines of `Label: value`.
#[derive(Debug)]
pub(super) struct Page {
    /// Text so far.
    pub(super) text: Text,
    /// Number of columns of a line.
    columns: usize,
    /// Where values begin, if all do so in one column.
    width: usize,
    /// Number of several values that are shown.
    pub(super) most: usize,
}

impl Page {
    /// A page for one screen.
    pub(super) fn short(columns: usize) -> Self {
        Self { text: Text::default(), columns, width: WIDTH, most: MOST }
    }

    /// A page with all there is.
    pub(super) fn whole(columns: usize) -> Self {
        Self { text: Text::default(), columns, width: 0, most: usize::MAX }
    }

    /// `Label: value`.
    pub(super) fn add(&mut self, label: &str, value: impl AsRef<str>) {
        self.put(label, or_none(value.as_ref()).into());
    }

    /// The same with a value that has colours.
    pub(super) fn put(&mut self, label: &str, value: Text) {
        self.begin(label);
        self.text.extend(value.with("\n"));
    }

    /// Names, of which a short page has a few.
    pub(super) fn names(&mut self, label: &str, names: &[String]) {
        self.add(label, escape(&first_names(names, self.most)));
    }

    /// A few of several values, one a line; nothing where there is none.
    pub(super) fn some(&mut self, label: &str, values: &[impl AsRef<str>]) {
        let (shown, others) = values.split_at(values.len().min(self.most));
        for (at, value) in shown.iter().enumerate() {
            self.add(if at == 0 { label } else { "" }, escape(value.as_ref()));
        }
        if !others.is_empty() {
            self.add("", format!("and {} more", others.len()));
        }
    }

    /// A command, which is never broken, and what it is for where there is room.
    pub(super) fn command(&mut self, label: &str, command: &str, what: &str) {
        self.begin(label);
        self.text.command(command);
        let length = [label.width() + 2, self.width].into_iter().max().unwrap_or_default();
        let what = if what.is_empty() { String::new() } else { format!("   # {what}") };
        let fits = length.saturating_add(command.width() + what.width()) <= self.columns;
        self.text.push(if fits { &what } else { "" });
        self.text.push("\n");
    }

    fn begin(&mut self, label: &str) {
        let (label, width) = if label.is_empty() {
            (String::new(), self.width.max(INDENT))
        } else {
            (format!("{label}: "), self.width)
        };
        self.text.push(&format!("{label:<width$}"));
        if self.width > 0 && self.columns >= LEAST {
            self.text.hang();
        }
    }

    /// `Label: value`, two spaces per level.
    pub(super) fn line(&mut self, level: usize, label: &str, value: impl AsRef<str>) {
        self.raw(level, &format!("{label}: {}", or_none(value.as_ref())));
    }

    /// `Label:` alone.
    pub(super) fn heading(&mut self, label: &str) {
        self.raw(0, &format!("{label}:"));
    }

    /// `Label:` and one `- value` per line; nothing where there is none.
    pub(super) fn list(&mut self, label: &str, values: &[impl AsRef<str>]) {
        if !values.is_empty() {
            self.heading(label);
        }
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
/// Width of the longest label of a short page, with its colon and the space between.
const WIDTH: usize = 14;
/// In fewer columns, a value is continued further left.
const LEAST: usize = 60;
/// Before a further value on a page where values begin in no one column.
const INDENT: usize = 2;
/// So many names, or things that a certificate waits for, are on a short page.
const MOST: usize = 3;
