//! What a check found.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::resource::{Fix, Obstacle};

/// One line of the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(in crate::cli) struct Finding {
    /// What was checked, in a word or two.
    pub(super) subject: String,
    pub(super) verdict: Verdict,
    /// What is known of it.
    pub(super) fact: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<Fix>,
}

/// Whether it is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum Verdict {
    Well,
    /// It works, and deserves a look.
    Warning,
    Wrong,
    /// It could not be checked.
    Unknown,
}

impl Finding {
    pub(in crate::cli) fn well(subject: &str, fact: impl fmt::Display) -> Self {
        Self::new(Verdict::Well, subject, Obstacle::new(fact))
    }

    pub(in crate::cli) fn warning(subject: &str, found: Obstacle) -> Self {
        Self::new(Verdict::Warning, subject, found)
    }

    pub(in crate::cli) fn wrong(subject: &str, found: Obstacle) -> Self {
        Self::new(Verdict::Wrong, subject, found)
    }

    pub(in crate::cli) fn unknown(subject: &str, found: Obstacle) -> Self {
        Self::new(Verdict::Unknown, subject, found)
    }

    fn new(verdict: Verdict, subject: &str, found: Obstacle) -> Self {
        let Obstacle { fact, fix } = found;
        Self { subject: subject.to_owned(), verdict, fact, remedy: fix }
    }

    /// The same as no more than a warning.
    pub(in crate::cli) fn into_warning(self) -> Self {
        Self { verdict: Verdict::Warning, ..self }
    }

    /// What is known, and what to do about it.
    pub(in crate::cli) fn into_parts(self) -> (String, Option<Fix>) {
        (self.fact, self.remedy)
    }

    /// The same, kept.
    pub(in crate::cli) fn parts(&self) -> (&str, Option<&Fix>) {
        (&self.fact, self.remedy.as_ref())
    }

    /// Whether it could be checked.
    pub(in crate::cli) fn is_known(&self) -> bool {
        self.verdict != Verdict::Unknown
    }

    pub(in crate::cli) fn is_wrong(&self) -> bool {
        self.verdict == Verdict::Wrong
    }
}
