//! Words of a program or a service, made fit for a message.

/// Somebody else's words, fit to be shown: one line, control characters escaped, at most 300
/// characters.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 300;
    let text = text.trim();
    let mut line: String = text.chars().take(LONGEST).flat_map(escaped).collect();
    if text.chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    if line.is_empty() { "it said no more".to_owned() } else { line }
}

fn escaped(c: char) -> Box<dyn Iterator<Item = char>> {
    if c == '\n' || c == '\r' || c == '\t' {
        Box::new(std::iter::once(' '))
    } else if c.is_control() {
        Box::new(c.escape_default())
    } else {
        Box::new(std::iter::once(c))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_service_says_is_shown_on_one_line() {
        let long = "x".repeat(301);
        let cases = [
            (" bad\ntoken\u{1b}[31m ", "bad token\\u{1b}[31m".to_owned()),
            ("", "it said no more".to_owned()),
            (long.as_str(), format!("{}…", "x".repeat(300))),
        ];
        for (said, expected) in cases {
            assert_eq!(shown(said), expected);
        }
    }
}
