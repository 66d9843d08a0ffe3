//! The line as bash has it, and candidates as bash wants them.
//!
//! Contract: pure. bash hands over the whole line as it was typed, and puts a candidate in the
//! place of the last piece of the word only: what follows an opening quote, or one of the
//! characters of COMP_WORDBREAKS such as `=` and `:`.

use std::ffi::OsString;

/// A line with a cursor, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Split {
    /// The words without their quotes; the one at the cursor ends there.
    pub(super) words: Vec<OsString>,
    /// Which of them the cursor is in.
    pub(super) cursor: usize,
    /// How much of that word stays on the line whatever is chosen, in bytes.
    unbroken: usize,
    /// The quote that is open at the cursor.
    quote: Option<char>,
}

/// Splits a line; `point` is the place of the cursor in bytes.
pub(super) fn split(line: &str, point: usize, breaks: &str) -> Split {
    let (before, behind) = line.split_at_checked(point).unwrap_or((line, ""));
    let mut words = Vec::new();
    let mut word = Word::default();
    let mut characters = before.chars();
    while let Some(character) = characters.next() {
        match (word.quote, character) {
            (None, _) if character.is_whitespace() => {
                if std::mem::take(&mut word.is_begun) {
                    words.push(std::mem::take(&mut word).text.into());
                }
                continue;
            }
            (None, '\'' | '"') => {
                word.quote = Some(character);
                word.unbroken = word.text.len();
            }
            (Some(quote), _) if character == quote => word.quote = None,
            (None, '\\') => word.text.extend(characters.next()),
            (Some('"'), '\\') => match characters.next() {
                Some(next @ ('"' | '\\' | '$' | '`')) => word.text.push(next),
                Some(next) => word.text.extend(['\\', next]),
                None => word.text.push('\\'),
            },
            (quote, _) => {
                word.text.push(character);
                if quote.is_none() && breaks.contains(character) {
                    word.unbroken = word.text.len();
                }
            }
        }
        word.is_begun = true;
    }
    let cursor = words.len();
    words.push(word.text.into());
    // What follows the cursor within its word is in the way of nothing.
    let rest = behind.find(char::is_whitespace).and_then(|end| behind.get(end..));
    let rest = rest.unwrap_or_default().split_whitespace();
    words.extend(rest.map(|word| word.trim_matches(['\'', '"']).into()));
    Split { words, cursor, unbroken: word.unbroken, quote: word.quote }
}

#[derive(Default)]
struct Word {
    text: String,
    is_begun: bool,
    unbroken: usize,
    quote: Option<char>,
}

impl Split {
    /// A candidate as it is put on the line, with a space when the word is complete.
    pub(super) fn spelled(&self, candidate: &str, is_open: bool) -> Option<String> {
        let piece = candidate.get(self.unbroken..)?;
        let mut text = String::new();
        for character in piece.chars() {
            match (self.quote, character) {
                // bash puts the closing quote there. History expansion heeds no backslash in it.
                (Some('"'), '!') => text.push_str("\"'!'\""),
                (Some('"'), '"' | '\\' | '$' | '`') => text.extend(['\\', character]),
                // Nothing is special in it but its end.
                (Some('\''), '\'') => text.push_str("'\\''"),
                (None, _) if !character.is_alphanumeric() && !PLAIN.contains(character) => {
                    text.extend(['\\', character]);
                }
                (Some(_) | None, _) => text.push(character),
            }
        }
        if self.quote.is_none() && !is_open {
            text.push(' ');
        }
        Some(text)
    }
}

/// What bash gives no meaning to within a word, beside letters and digits; a tilde is there only
/// when it was typed.
const PLAIN: &str = "_-./=:,@%+~";

#[cfg(test)]
mod tests {
    use super::*;

    const BREAKS: &str = " \t\n\"'@><=;|&(:";

    #[test]
    fn a_line_is_split_as_bash_splits_it() {
        for (line, words, unbroken, quote) in [
            ("certctl ", vec!["certctl", ""], 0, None),
            ("certctl  re", vec!["certctl", "re"], 0, None),
            ("certctl --namespace=pr", vec!["certctl", "--namespace=pr"], 12, None),
            ("certctl -f my\\ file ", vec!["certctl", "-f", "my file", ""], 0, None),
            ("certctl -f \"my fi", vec!["certctl", "-f", "my fi"], 0, Some('"')),
            ("certctl -f 'a' b\"c\\\"d", vec!["certctl", "-f", "a", "bc\"d"], 1, Some('"')),
            ("certctl -f '' ", vec!["certctl", "-f", "", ""], 0, None),
        ] {
            let cursor = words.len() - 1;
            let words = words.into_iter().map(OsString::from).collect();
            let wanted = Split { words, cursor, unbroken, quote };
            assert_eq!(split(line, line.len(), BREAKS), wanted, "{line}");
        }
    }

    #[test]
    fn the_word_at_the_cursor_ends_there_and_the_words_behind_it_count() {
        let found = split("certctl renew web mail 'shop' ", 15, BREAKS);
        assert_eq!(found.words, ["certctl", "renew", "w", "mail", "shop"]);
        assert_eq!(found.cursor, 2);
        assert_eq!(split("certctl é", 9, BREAKS).words, ["certctl", "é"], "within a letter");
    }

    #[test]
    fn a_candidate_is_spelled_for_its_place() {
        for (line, candidate, is_open, wanted) in [
            ("certctl w", "web", false, "web "),
            ("certctl --namespace=p", "--namespace=prod", false, "prod "),
            ("certctl my", "my folder/", true, "my\\ folder/"),
            ("certctl \"my", "my $folder", false, "my \\$folder"),
            ("certctl 'my", "my folder", false, "my folder"),
            ("certctl 'a", "a'$(id)'b", false, "a'\\''$(id)'\\''b"),
            ("certctl \"a", "a\"$(id)!b", false, "a\\\"\\$(id)\"'!'\"b"),
            ("certctl a", "a'$(id)!`", false, "a\\'\\$\\(id\\)\\!\\` "),
            ("certctl ~/", "~/web.yaml", false, "~/web.yaml "),
            ("certctl -l a", "a;b", false, "a\\;b "),
        ] {
            let found = split(line, line.len(), BREAKS).spelled(candidate, is_open);
            assert_eq!(found.as_deref(), Some(wanted), "{line}");
        }
    }
}
