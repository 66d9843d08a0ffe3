//! Findings as text: a line for each, what to do below it, and how many of which at the end.

use super::finding::{Finding, Verdict};
use crate::cli::render::output::{Paint, escape};
use crate::cli::render::text::Text;
use crate::cli::words::count::count;
use crate::cli::words::hint::Hint;

/// The page.
pub(super) fn page(findings: &[Finding]) -> Text {
    let longest = findings.iter().map(|one| one.subject.chars().count()).max().unwrap_or_default();
    let mut page = Text::default();
    for Finding { subject, verdict, fact, remedy } in findings {
        let (word, paint) = match verdict {
            Verdict::Well => ("OK", Paint::Good),
            Verdict::Warning => ("WARN", Paint::Warn),
            Verdict::Wrong => ("FAIL", Paint::Bad),
            Verdict::Unknown => ("?", Paint::Warn),
        };
        page.paint(paint, word);
        let gap = WORD.saturating_sub(word.len());
        page.push(&format!("{:gap$}{:longest$}  ", "", escape(subject)));
        page.hang();
        page.push(&format!("{}\n", escape(fact)));
        if let Some(hint) = remedy.clone().map(Hint::from) {
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
        assert_eq!(page(&findings()).text(false), text);
        assert_eq!(page(&findings()).lines(false, 80), text);
        let narrow = "\
OK    config     /etc/certctl
FAIL  state      the state belongs to
                 another user than this
                 one
                 try:
                   sudo -u '#999' certctl doctor
WARN  scheduler  none
                 try: make one of the
                   two that exist
?     clock      no CA answered
4 checks: 1 ok, 1 warning, 1 failed, 1
  unknown
";
        assert_eq!(page(&findings()).lines(false, 40), narrow);
        assert!(page(&findings()).text(true).starts_with("\u{1b}[32mOK\u{1b}[0m    config "));
    }
}
