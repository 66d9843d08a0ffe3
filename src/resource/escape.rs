//! Escapes foreign text: what a CA, a DNS server, a program or a file contains is printed in
//! messages, on terminals and in logs, and must not control any of them.
//!
//! | where the text goes | function |
//! | --- | --- |
//! | one line of a message, a log or a table | [`escape`] |
//! | a text of several lines | [`escape_lines`] |
//! | all that is written to a stream, once more | [`escape_for_stream`] |
//! | JSON | [`escape_json`], over the JSON |
//! | the log of a workflow of GitHub's | [`defuse_commands`], over what is said |

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

/// The same; the text may have several lines.
pub fn escape_lines(text: &str) -> String {
    text.split('\n').map(escape).collect::<Vec<_>>().join("\n")
}

/// A whole text on its way to a stream: lines and tabs stay, and the sequences in `ours`.
pub fn escape_for_stream<'t>(text: &'t str, ours: &[&str]) -> Cow<'t, str> {
    let is_foreign = |c: char| is_hidden(c) && c != '\n' && c != '\t';
    if !text.contains(is_foreign) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(at) = rest.find(is_foreign) {
        let (before, from) = rest.split_at(at);
        escaped.push_str(before);
        if let Some(known) = ours.iter().find(|known| from.starts_with(**known)) {
            escaped.push_str(known);
            rest = from.strip_prefix(known).unwrap_or_default();
        } else {
            let mut characters = from.chars();
            escaped.extend(characters.next().into_iter().flat_map(char::escape_default));
            rest = characters.as_str();
        }
    }
    escaped.push_str(rest);
    Cow::Owned(escaped)
}

/// JSON in which every hidden character beyond ASCII, and DEL, is written as `\u202e`: the same
/// data, for a terminal too. JSON itself demands that of those below.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let is_raw = |c: char| c >= '\u{7f}' && is_hidden(c);
    if !json.contains(is_raw) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 8);
    for character in json.chars() {
        if is_raw(character) {
            let mut units = [0; 2];
            let units = character.encode_utf16(&mut units);
            escaped.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// Text in which GitHub's workflow runner finds no command: it obeys `::` at the beginning of a
/// line, also behind blanks, and `##[` anywhere.
/// <https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands>
pub fn defuse_commands(text: &str) -> String {
    let line = |line: &str| {
        let line = line.replace("##[", "#\\u{23}[");
        match line.trim_start().strip_prefix("::") {
            Some(rest) => {
                let blanks = line.len() - line.trim_start().len();
                format!("{}\\u{{3a}}:{rest}", line.get(..blanks).unwrap_or_default())
            }
            None => line,
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Whether a character is invisible or changes the layout: control characters, line separators,
/// bidirectional controls, and characters of no width.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_encoder_has_the_same_characters_made_visible() {
        assert_eq!(escape_lines("a\u{1b}\r\nb\u{202e}"), "a\\u{1b}\\r\nb\\u{202e}");
        let text = "\u{1b}\u{7}\u{7f}\u{9b}31m \u{202e}gnp\u{feff}\u{2028} ünï 🦀";
        let json = serde_json::Value::from(text).to_string();
        let escaped = escape_json(&json);
        let wanted = r#""\u001b\u0007\u007f\u009b31m \u202egnp\ufeff\u2028 ünï 🦀""#;
        assert_eq!(escaped, wanted);
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
        assert_eq!(escape_json("{\n  \"a\": 1\n}"), "{\n  \"a\": 1\n}");
        for (text, wanted) in [
            ("error: a\n::error::b", "error: a\n\\u{3a}:error::b"),
            ("  ::add-mask::x", "  \\u{3a}:add-mask::x"),
            ("a ##[group]b", "a #\\u{23}[group]b"),
            ("a ::b", "a ::b"),
        ] {
            assert_eq!(defuse_commands(text), wanted);
        }
    }

    #[test]
    fn a_stream_gets_no_sequence_but_ours() {
        let ours = ["\u{1b}[31m", "\u{1b}[0m"];
        for (text, expected) in [
            ("a\n\tb ünï", "a\n\tb ünï"),
            ("\u{1b}[31merror\u{1b}[0m: x\u{1b}[2J", "\u{1b}[31merror\u{1b}[0m: x\\u{1b}[2J"),
            ("\u{1b}\u{1b}[31m\r\n", "\\u{1b}\u{1b}[31m\\r\n"),
            ("\u{7}\u{202e}", "\\u{7}\\u{202e}"),
        ] {
            assert_eq!(escape_for_stream(text, &ours), expected);
        }
        assert_eq!(escape_for_stream("\u{1b}[31mx", &[]), "\\u{1b}[31mx");
    }

    #[test]
    fn what_could_steer_a_terminal_or_deceive_a_reader_is_made_visible() {
        let cases = [
            ("plain ünïcode `quoted` \"text\"", "plain ünïcode `quoted` \"text\""),
            ("\x1b[31mred\x07", "\\u{1b}[31mred\\u{7}"),
            ("a\r\nb\tc\0", "a\\r\\nb\\tc\\u{0}"),
            ("\u{9b}31m \u{202e}gnp.exe \u{feff}", "\\u{9b}31m \\u{202e}gnp.exe \\u{feff}"),
            ("\u{61c}\u{200b}\u{200e}", "\\u{61c}\\u{200b}\\u{200e}"),
            ("\u{ad}\u{3164}\u{fe0f}\u{e0041}", "\\u{ad}\\u{3164}\\u{fe0f}\\u{e0041}"),
            ("\u{2028}\u{2066}\u{2069}\u{206f}", "\\u{2028}\\u{2066}\\u{2069}\\u{206f}"),
        ];
        for (text, expected) in cases {
            assert_eq!(escape(text), expected);
        }
    }
}
