//! Findings as text: a line for each, what to do below it, and how many of which at the end.

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{Hint, Paint, Text, count, escape};
use crate::resource::{Finding, Severity};

/// A finding, for programs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Finding")]
pub(in crate::cli) struct Item<'a> {
    /// Subject of the check, in a word or two.
    subject: &'a str,
    verdict: Severity,
    /// Result of the check.
    fact: &'a str,
    /// Fix of the mistake.
    remedy: Option<Remedy>,
}

/// Way to fix a problem.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Remedy {
    /// A command line for a shell, as it stands.
    Command(String),
    /// A sentence.
    Advice(String),
}

impl<'a> From<&'a Finding> for Item<'a> {
    fn from(Finding { subject, severity, fact, fix }: &'a Finding) -> Self {
        let remedy = fix.as_ref().map(|fix| match Hint::from(fix) {
            Hint::Command(line) | Hint::Shell(line) => Remedy::Command(line),
            hint @ (Hint::Commands(_) | Hint::Again(_) | Hint::Text(_)) => {
                Remedy::Advice(hint.to_string())
            }
        });
        Self { subject, verdict: *severity, fact, remedy }
    }
}

/// The page.
pub(super) fn page(findings: &[Finding]) -> Text {
    let longest = findings.iter().map(|one| one.subject.chars().count()).max().unwrap_or_default();
    let mut page = Text::default();
    for Finding { subject, severity, fact, fix } in findings {
        let (word, paint) = match severity {
            Severity::Well => ("OK", Paint::Good),
            Severity::Warning => ("WARN", Paint::Warn),
            Severity::Wrong => ("FAIL", Paint::Bad),
            Severity::Unknown => ("?", Paint::Warn),
        };
        page.paint(paint, word);
        let gap = WORD.saturating_sub(word.len());
        page.push(&format!("{:gap$}{:longest$}  ", "", escape(subject)));
        page.hang();
        page.push(&format!("{}\n", escape(fact)));
        if let Some(hint) = fix.as_ref().map(Hint::from) {
            page.push(&format!("{:1$}try: ", "", WORD + longest + 2));
            page.hint(&hint);
            page.push("\n");
        }
    }
    page.push(&format!("{}\n", tally(findings)));
    page
}

/// `12 checks: 8 ok, 3 failed, 1 unknown`.
pub(super) fn tally(findings: &[Finding]) -> String {
    let number = |severity| findings.iter().filter(|one| one.severity == severity).count();
    let parts = [
        (Severity::Well, "ok".to_owned()),
        (Severity::Warning, count_word(number(Severity::Warning), "warning")),
        (Severity::Wrong, "failed".to_owned()),
        (Severity::Unknown, "unknown".to_owned()),
    ];
    let parts = parts.into_iter().filter(|(verdict, _)| number(*verdict) > 0);
    let parts: Vec<String> =
        parts.map(|(verdict, word)| format!("{} {word}", number(verdict))).collect();
    format!("{}: {}", count(findings.len(), "check"), parts.join(", "))
}

/// The word in its number.
fn count_word(number: usize, word: &str) -> String {
    if number == 1 { word.to_owned() } else { format!("{word}s") }
}

/// Width of the word before a subject.
const WORD: usize = 6;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{Fix, Obstacle, Setting};

    fn findings() -> Vec<Finding> {
        let found = Obstacle::new("the state belongs to another user than this one");
        vec![
            Finding::well("config", "/etc/certctl"),
            Finding::wrong("state", found.with(Fix::Again(Some(999)))),
            Finding::warning("scheduler", Obstacle::new("none").with(Fix::Set(Setting::CaBundle))),
            Finding::unknown("clock", Obstacle::new("no CA answered")),
        ]
    }

    #[test]
    fn a_finding_is_one_line_or_as_many_as_the_terminal_needs() {
        let text = "\
OK    config     /etc/certctl
FAIL  state      the state belongs to another user than this one
                 try: the same with sudo -u '#999'
WARN  scheduler  none
                 try: set caBundle instead
?     clock      no CA answered
4 checks: 1 ok, 1 warning, 1 failed, 1 unknown
";
        assert_eq!(page(&findings()).text(false), text);
        assert_eq!(page(&findings()).lines(false, 80), text);
        let narrow = "\
OK    config     /etc/certctl
FAIL  state      the state belongs to
                 another user than this
                 one
                 try: the same with sudo
                   -u '#999'
WARN  scheduler  none
                 try: set caBundle
                   instead
?     clock      no CA answered
4 checks: 1 ok, 1 warning, 1 failed, 1
  unknown
";
        assert_eq!(page(&findings()).lines(false, 40), narrow);
        assert!(page(&findings()).text(true).starts_with("\u{1b}[32mOK\u{1b}[0m    config "));
    }
}
