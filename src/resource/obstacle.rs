//! Something on this machine that is in the way of a run, and what to do about it.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// What is in the way, and what removes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Obstacle {
    /// A lower-case fragment.
    pub fact: String,
    pub fix: Option<Fix>,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fix {
    /// A command line for a shell, as it stands.
    Command(String),
    /// A command of certctl, as it stands but for the flags of the folders.
    #[serde(rename = "command")]
    #[schemars(skip)]
    Certctl(String),
    /// A sentence.
    Advice(String),
}

impl Obstacle {
    /// One that nothing more is known of.
    pub fn new(fact: impl fmt::Display) -> Self {
        Self { fact: fact.to_string(), fix: None }
    }

    /// The same, and the command that removes it.
    #[must_use]
    pub fn command(self, line: impl Into<String>) -> Self {
        Self { fix: Some(Fix::Command(line.into())), ..self }
    }

    /// The same, and the command of certctl that helps.
    #[must_use]
    pub fn certctl(self, line: impl Into<String>) -> Self {
        Self { fix: Some(Fix::Certctl(line.into())), ..self }
    }

    /// The same, and what to do about it.
    #[must_use]
    pub fn advice(self, sentence: impl Into<String>) -> Self {
        Self { fix: Some(Fix::Advice(sentence.into())), ..self }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fix {
            Some(fix) => write!(f, "{}: {fix}", self.fact),
            None => f.write_str(&self.fact),
        }
    }
}

impl fmt::Display for Fix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Command(text) | Self::Certctl(text) | Self::Advice(text)) = self;
        f.write_str(text)
    }
}
