//! Findings as text: a line for each, what to do below it, and how many of which at the end.

use super::finding::{Finding, Verdict};
use crate::cli::count::count;
use crate::cli::output::{Paint, escape};
use crate::cli::wrap::wrap;
use crate::resource::Fix;

/// The page, in lines of `columns` where there is a terminal.
pub(super) fn page(findings: &[Finding], columns: Option<usize>, color: bool) -> String {
    let longest = findings.iter().map(|one| one.subject.chars().count()).max().unwrap_or_default();
    let least = WORD + longest + GAP + LEAST_FACT;
    let is_wide = columns.is_none_or(|columns| columns >= least);
    let columns = columns.unwrap_or(usize::MAX);
    let layout = Layout { subjects: is_wide.then_some(longest), columns, color };
    let lines: String = findings.iter().map(|finding| layout.finding(finding)).collect();
    lines + &wrap(&tally(findings), "", columns)
}

/// Where the parts of a finding stand.
struct Layout {
    /// The width of the column of subjects, where they have one of their own.
    subjects: Option<usize>,
    columns: usize,
    color: bool,
}

impl Layout {
    fn finding(&self, finding: &Finding) -> String {
        let Finding { subject, verdict, fact, remedy } = finding;
        let (subject, fact) = (escape(subject), escape(fact));
        let (subject, rest, indent) = match self.subjects {
            Some(width) => {
                (format!("{subject:width$}{:GAP$}", ""), fact.into_owned(), WORD + width + GAP)
            }
            None => (String::new(), format!("{subject}: {fact}"), WORD),
        };
        let indent = " ".repeat(indent);
        let wrapped = wrap(&rest, &indent, self.columns);
        let rest = wrapped.strip_prefix(&indent).unwrap_or(&wrapped);
        let remedy = remedy.as_ref().map(|remedy| self.remedy(remedy, &indent));
        [self.word(*verdict), subject, rest.to_owned(), remedy.unwrap_or_default()].concat()
    }

    /// The coloured word and the space behind it.
    fn word(&self, verdict: Verdict) -> String {
        let (word, paint) = match verdict {
            Verdict::Well => ("OK", Paint::Good),
            Verdict::Warning => ("WARN", Paint::Warn),
            Verdict::Wrong => ("FAIL", Paint::Bad),
            Verdict::Unknown => ("?", Paint::Warn),
        };
        let gap = " ".repeat(WORD.saturating_sub(word.len()));
        paint.on(word, self.color) + &gap
    }

    fn remedy(&self, remedy: &Fix, indent: &str) -> String {
        match remedy {
            // It can be copied: whatever the width, it is one line.
            Fix::Command(line) | Fix::Certctl(line) => {
                [indent, "try: ", &escape(line), "\n"].concat()
            }
            Fix::Advice(sentence) => {
                wrap(&["try: ", &escape(sentence)].concat(), indent, self.columns)
            }
        }
    }
}

/// `12 checks: 8 ok, 3 failed, 1 unknown`.
pub(super) fn tally(findings: &[Finding]) -> String {
    let number = |verdict| findings.iter().filter(|one| one.verdict == verdict).count();
    let parts = [
        (Verdict::Well, "ok".to_owned()),
        (Verdict::Warning, count_word(number(Verdict::Warning), "warning")),
        (Verdict::Wrong, "failed".to_owned()),
        (Verdict::Unknown, "unknown".to_owned()),
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

/// What stands before a subject, in columns.
const WORD: usize = 6;
/// What is between a subject and the fact.
const GAP: usize = 2;
/// Where fewer columns are left for the facts, subjects are no column of their own.
const LEAST_FACT: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Obstacle;

    fn findings() -> Vec<Finding> {
        let found = Obstacle::new("the state belongs to another user than this one");
        vec![
            Finding::well("config", "/etc/certctl"),
            Finding::wrong("state", found.command("sudo -u '#999' certctl doctor")),
            Finding::warning(
                "scheduler",
                Obstacle::new("none").advice("make one of the two that exist"),
            ),
            Finding::unknown("clock", Obstacle::new("no CA answered")),
        ]
    }

    #[test]
    fn a_finding_is_one_line_or_as_many_as_the_terminal_needs() {
        let text = "\
OK    config     /etc/certctl
FAIL  state      the state belongs to another user than this one
                 try: sudo -u '#999' certctl doctor
WARN  scheduler  none
                 try: make one of the two that exist
?     clock      no CA answered
4 checks: 1 ok, 1 warning, 1 failed, 1 unknown
";
        assert_eq!(page(&findings(), None, false), text);
        assert_eq!(page(&findings(), Some(80), false), text);
        let narrow = "\
OK    config: /etc/certctl
FAIL  state: the state belongs
      to another user than
      this one
      try: sudo -u '#999' certctl doctor
WARN  scheduler: none
      try: make one of the two
      that exist
?     clock: no CA answered
4 checks: 1 ok, 1 warning, 1
failed, 1 unknown
";
        assert_eq!(page(&findings(), Some(30), false), narrow);
        assert!(page(&findings(), None, true).starts_with("\u{1b}[32mOK\u{1b}[0m    config "));
    }
}
