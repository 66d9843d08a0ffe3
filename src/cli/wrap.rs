//! Text for people in lines that fit their terminal.

/// The text in lines of at most `width` columns, each behind `indent`, where its words allow it. A
/// word that is longer stays whole.
pub(crate) fn wrap(text: &str, indent: &str, width: usize) -> String {
    let mut wrapped = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            wrapped.push('\n');
            column = 0;
        }
        if column == 0 {
            wrapped.push_str(indent);
            column = indent.len();
        } else {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += length;
    }
    wrapped.push('\n');
    wrapped
}

/// The width of a stream that is no terminal, in columns.
pub(crate) const USUAL: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_fit() {
        for (text, width, lines) in [
            ("one two three", 80, "  one two three\n"),
            ("one two three", 9, "  one two\n  three\n"),
            ("one two three", 8, "  one\n  two\n  three\n"),
            ("a-word-that-is-longer b", 9, "  a-word-that-is-longer\n  b\n"),
            ("öö ü", 6, "  öö ü\n"),
            ("", 9, "\n"),
        ] {
            assert_eq!(wrap(text, "  ", width), lines, "{text} {width}");
        }
    }
}
