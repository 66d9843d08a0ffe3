//! Escapes foreign text: what a CA, a DNS server, a program or a file contains is printed in
//! messages, on terminals and in logs, and must not control any of them.

use std::borrow::Cow;

/// `text` with everything that could move a cursor, end a line, hide or reverse the reading
/// direction written as `\u{1b}`, `\n`, ….
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_hidden(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// Whether a character is invisible or changes the layout: control characters, line separators,
/// bidirectional controls, and characters of no width.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_steer_a_terminal_or_deceive_a_reader_is_made_visible() {
        let cases = [
            ("plain ünïcode `quoted` \"text\"", "plain ünïcode `quoted` \"text\""),
            ("\x1b[31mred\x07", "\\u{1b}[31mred\\u{7}"),
            ("a\r\nb\tc\0", "a\\r\\nb\\tc\\u{0}"),
            ("\u{9b}31m \u{202e}gnp.exe \u{feff}", "\\u{9b}31m \\u{202e}gnp.exe \\u{feff}"),
            ("\u{61c}\u{200b}\u{200e}", "\\u{61c}\\u{200b}\\u{200e}"),
            ("\u{2028}\u{2066}\u{2069}\u{206f}", "\\u{2028}\\u{2066}\\u{2069}\\u{206f}"),
        ];
        for (text, expected) in cases {
            assert_eq!(escape(text), expected);
        }
    }
}
