//! Makes the output of a program or a service safe for a message.

use crate::resource::escape;

/// Foreign text in a displayable form: one line, control characters escaped, at most 300
/// characters.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 300;
    let text = text.trim();
    let is_blank = |c| matches!(c, '\n' | '\r' | '\t');
    let line: String =
        text.chars().take(LONGEST).map(|c| if is_blank(c) { ' ' } else { c }).collect();
    let mut line = escape(&line).into_owned();
    if text.chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    if line.is_empty() { "no details".to_owned() } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_service_says_is_shown_on_one_line() {
        let long = "x".repeat(301);
        let cases = [
            (" bad\ntoken\u{1b}[31m ", "bad token\\u{1b}[31m".to_owned()),
            ("", "no details".to_owned()),
            ("\u{202e}gnp.exe", "\\u{202e}gnp.exe".to_owned()),
            (long.as_str(), format!("{}…", "x".repeat(300))),
        ];
        for (output, expected) in cases {
            assert_eq!(shown(output), expected);
        }
    }
}
