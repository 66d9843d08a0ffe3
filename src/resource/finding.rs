//! What is wrong, or not, and what to do about it.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::Fix;

/// What is known of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at, in a word or two.
    pub subject: String,
    pub severity: Severity,
    pub fact: String,
    pub fix: Option<Fix>,
}

/// Whether it is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    #[serde(rename = "ok")]
    Well,
    /// It works, and deserves a look.
    Warning,
    #[serde(rename = "failed")]
    Wrong,
    /// It could not be looked at.
    Unknown,
}

/// Something in the way of a run, before it is known whose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Obstacle {
    /// A lower-case fragment.
    pub fact: String,
    pub fix: Option<Fix>,
}

impl Finding {
    pub fn new(severity: Severity, subject: &str, found: Obstacle) -> Self {
        let Obstacle { fact, fix } = found;
        Self { subject: subject.to_owned(), severity, fact, fix }
    }

    pub fn well(subject: &str, fact: impl fmt::Display) -> Self {
        Self::new(Severity::Well, subject, Obstacle::new(fact))
    }

    pub fn warning(subject: &str, found: Obstacle) -> Self {
        Self::new(Severity::Warning, subject, found)
    }

    pub fn wrong(subject: &str, found: Obstacle) -> Self {
        Self::new(Severity::Wrong, subject, found)
    }

    pub fn unknown(subject: &str, found: Obstacle) -> Self {
        Self::new(Severity::Unknown, subject, found)
    }

    pub fn is_wrong(&self) -> bool {
        self.severity == Severity::Wrong
    }
}

impl Obstacle {
    pub fn new(fact: impl fmt::Display) -> Self {
        Self { fact: fact.to_string(), fix: None }
    }

    /// The same with what removes it.
    #[must_use]
    pub fn with(self, fix: impl Into<Option<Fix>>) -> Self {
        Self { fix: fix.into(), ..self }
    }
}

/// The fact alone.
impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fact)
    }
}
