//! Text for people in lines that fit their terminal.

use unicode_width::UnicodeWidthStr as _;

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

/// The lines of a text of which the first begins in column `first`, and the others, which get that
/// indent, in column `indent`. One that fits is left as it is.
pub(crate) fn hanging(text: &str, first: usize, indent: usize, width: usize) -> String {
    if first.saturating_add(text.width()) <= width {
        return text.to_owned();
    }
    let mut wrapped = String::new();
    let (mut column, mut is_first) = (first, true);
    for word in text.split_whitespace() {
        let length = word.width();
        if !is_first && column + 1 + length > width {
            wrapped.push('\n');
            wrapped.push_str(&" ".repeat(indent));
            column = indent;
        } else if !is_first {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += length;
        is_first = false;
    }
    wrapped
}

/// The width of a stream that is no terminal, in columns.
pub(crate) const USUAL: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hanging_text_fits_behind_what_stands_before_it() {
        for (text, width, lines) in [
            ("one  two", 12, "one  two"),
            ("one  two", 11, "one two"),
            ("one  two", 10, "one\n  two"),
            ("one two three four", 12, "one two\n  three four"),
            ("a-word-that-is-longer b", 9, "a-word-that-is-longer\n  b"),
        ] {
            assert_eq!(hanging(text, 4, 2, width), lines, "{text} {width}");
        }
    }

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
