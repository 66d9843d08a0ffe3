//! Text for people in lines that fit their terminal.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr as _;

/// The text in lines of at most `width` columns, each behind `indent`, where its words allow it. A
/// word that is longer stays whole.
pub(crate) fn wrap(text: &str, indent: &str, width: usize) -> String {
    let mut wrapped = String::new();
    let mut column = 0;
    for word in unbreakable(text) {
        let word = word.as_str();
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

/// The words of a text; a time, `2026-12-03 04:12 CET, in 12d`, is one, and so is a command to be pasted.
fn unbreakable(text: &str) -> Vec<String> {
    let mut unbreakable: Vec<String> = Vec::new();
    let mut all = text.split_whitespace().peekable();
    while let Some(word) = all.next() {
        let mut whole = word.to_owned();
        let next = all.peek().copied().unwrap_or_default();
        if begins_line(word, next, unbreakable.is_empty()) {
            while !whole.ends_with(BEHIND_COMMAND) {
                let Some(part) = all.next() else { break };
                whole = [&whole, " ", part].concat();
            }
        } else if is_date(word) {
            for part in all.by_ref().take(2) {
                whole = [&whole, " ", part].concat();
            }
            let is_followed = whole.ends_with(',');
            let is_relative = all.peek().is_some_and(|next| {
                next.starts_with("in") || next.starts_with(|letter: char| letter.is_ascii_digit())
            });
            if is_followed && is_relative {
                for part in all.by_ref().take(2) {
                    whole = [&whole, " ", part].concat();
                }
            } else if is_followed && all.peek().is_some_and(|next| next.starts_with("now")) {
                whole = [&whole, " ", all.next().unwrap_or_default()].concat();
            }
        }
        unbreakable.push(whole);
    }
    unbreakable
}

/// Whether a word is `2026-12-03`.
fn is_date(word: &str) -> bool {
    let is_digit = |(at, letter): (usize, char)| match at {
        4 | 7 => letter == '-',
        _ => letter.is_ascii_digit(),
    };
    word.len() == 10 && word.chars().enumerate().all(is_digit)
}

/// The lines of a text of which the first begins in column `first`, and the others, which get that
/// indent, in column `indent`. One that fits is left as it is.
pub(crate) fn hanging(text: &str, first: usize, indent: usize, width: usize) -> String {
    if first.saturating_add(text.width()) <= width {
        return text.to_owned();
    }
    let mut wrapped = String::new();
    let (mut column, mut is_first) = (first, true);
    for word in unbreakable(text) {
        let word = word.as_str();
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

/// A label with a text behind it, in lines of at most `width` columns; those that continue it are
/// indented. A first word for which there is no space behind the label is below it.
pub(crate) fn behind(label: &str, text: &str, indent: usize, width: usize) -> String {
    let first = label.width();
    let length = unbreakable(text).first().map_or(0, |word| word.width());
    if indent < first && first + length > width {
        let text = hanging(text, indent, indent, width);
        return [label.trim_end(), "\n", &" ".repeat(indent), &text].concat();
    }
    label.to_owned() + &hanging(text, first, indent, width)
}

/// The text with each line of it in lines of at most `width` columns: what stands behind a gap of two
/// spaces continues below itself, or below the line where the gap is far to the right. A command
/// stays in one line.
pub(crate) fn aligned(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| match split_at_gap(line) {
        Some((label, text)) if line.width() > width && !is_command(text) => {
            let column = label.width();
            let lead = line.len().saturating_sub(line.trim_start().len());
            let is_far = column * 3 > width * 2;
            behind(label, text, if is_far { lead + BELOW } else { column }, width)
        }
        Some(_) => line.to_owned(),
        None => fitted(line, width),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A line up to the end of its first gap, and what stands behind that.
fn split_at_gap(line: &str) -> Option<(&str, &str)> {
    let lead = line.len().saturating_sub(line.trim_start().len());
    let gap = line.get(lead..)?.find("  ")? + lead;
    let text = line.get(gap..)?.trim_start();
    (!text.is_empty()).then(|| line.split_at(line.len().saturating_sub(text.len())))
}

/// The text with each line of it in lines of at most `width` columns, where its words allow it: those
/// that continue one are indented below it. A line that is a command is broken as a shell has it, a
/// setting of a server as that has it; a command in a sentence stays in one line, and so does a line of a
/// manifest. Colours take no space.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| {
        if shown_width(line) <= width || is_of_manifest(line) {
            return Cow::Borrowed(line);
        }
        Cow::Owned(match Manner::of(line) {
            Manner::Whole => return Cow::Borrowed(line),
            Manner::Continued(end) => broken_by(end, line, width),
            Manner::Sentence => broken(line, width),
        })
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// How a line that is too long goes on.
enum Manner {
    /// It does not: two lines would not mean the same.
    Whole,
    /// On a next one, with this at its end.
    Continued(&'static str),
    Sentence,
}

impl Manner {
    fn of(line: &str) -> Self {
        let text = line.trim_start();
        if !line.starts_with("  ") {
            return Self::Sentence;
        }
        let word = text.split(' ').next().unwrap_or_default();
        let setting = SETTINGS.iter().find(|(name, _)| *name == word);
        // What stands behind a gap is no part of it.
        let is_plain = !text.contains(['\'', '"', '#', '`', '\u{1b}']) && !text.contains("  ");
        match setting {
            Some((_, Some(end))) if is_plain => Self::Continued(end),
            None if is_plain && is_command(text) => Self::Continued(" \\"),
            Some(_) => Self::Whole,
            None if names_file_of_secret(text) => Self::Whole,
            None => Self::Sentence,
        }
    }
}

/// A line that is too long, broken between its words, each line but the last with this at its end.
fn broken_by(end: &str, line: &str, width: usize) -> String {
    let text = line.trim_start();
    let lead = line.len().saturating_sub(text.len());
    let next = " ".repeat(lead + BELOW);
    joined(text.split(' '), lead, [end, &next], width)
}

/// A line that is too long, broken where a sentence is.
fn broken(line: &str, width: usize) -> String {
    let text = line.trim_start();
    let lead = line.len().saturating_sub(text.len());
    let indent = lead + if text.starts_with(HELP) { HELP.len() } else { 2 };
    let indent = if indent * 3 > width { lead + 2 } else { indent };
    // A comment among commands is one in each of its lines: a shell passes over all of it.
    let is_comment = text.starts_with("# ");
    let next = if is_comment { " ".repeat(lead) + "#   " } else { " ".repeat(indent) };
    joined(units(text).iter().map(String::as_str), lead, ["", &next], width)
}

/// The units in lines of at most `width` columns: the first is indented by `lead`, and where a line
/// ends, the one stands at its end, the other at the beginning of the next.
fn joined<'a>(
    units: impl Iterator<Item = &'a str>,
    lead: usize,
    [end, next]: [&str; 2],
    width: usize,
) -> String {
    let mut lines = " ".repeat(lead);
    let mut column = lead;
    for (at, unit) in units.enumerate() {
        let length = shown_width(unit);
        if at > 0 && column + 1 + length + end.width() > width && column > next.len() {
            lines.push_str(end);
            lines.push('\n');
            lines.push_str(next);
            column = next.len();
        } else if at > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(unit);
        column += length;
    }
    lines
}

/// Whether a line of a server's configuration ends with a file of a Secret.
fn names_file_of_secret(text: &str) -> bool {
    let file = text.rsplit(' ').next().unwrap_or_default().trim_end_matches([';', '\'']);
    ["/tls.crt", "/tls.key", "/tls-combined.pem"].iter().any(|name| file.ends_with(name))
}

/// The words of a text; a command with its arguments is one.
fn units(text: &str) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    let mut is_command = false;
    let mut all = text.split(' ').peekable();
    while let Some(word) = all.next() {
        if let Some(unit) = units.last_mut().filter(|_| is_command) {
            unit.push(' ');
            unit.push_str(word);
        } else {
            // A gap, or the end, makes it a word of a table.
            let has_arguments = all.peek().is_some_and(|next| !next.is_empty());
            is_command = has_arguments && begins_command(word, units.last().map(String::as_str));
            units.push(word.to_owned());
        }
        // What stands behind a command is apart from it.
        is_command &= !word.ends_with(BEHIND_COMMAND);
    }
    units
}

/// Whether a command begins with this word.
fn begins_command(word: &str, before: Option<&str>) -> bool {
    let word = word.trim_start_matches(['(', '`']);
    let is_expected = before
        .is_none_or(|before| before.ends_with(':') || before.ends_with(']') || before.is_empty());
    word == "certctl" || (is_expected && PROGRAMS.contains(&word))
}

/// Whether a command that is pasted, and no sentence, begins with these two words of a text.
fn begins_line(word: &str, next: &str, is_first: bool) -> bool {
    let is_program = |word: &str| PROGRAMS.contains(&word) || word.starts_with('/');
    match word {
        "sudo" => next == "certctl" || is_program(next),
        // Also a verb.
        "install" => is_first && next.starts_with('-'),
        word => is_first && PROGRAMS.contains(&word),
    }
}

/// Whether it is a command with its arguments.
fn is_command(text: &str) -> bool {
    text.split(' ').next().is_some_and(|word| begins_command(word, None))
}

/// Whether it is a line of a manifest, its place, or what stands below it.
fn is_of_manifest(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(|letter: char| letter.is_ascii_digit());
    ["|", "-->"].iter().any(|start| line.trim_start().starts_with(start))
}

/// How many columns a text takes on a terminal: none for its colours.
pub(crate) fn shown_width(text: &str) -> usize {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().width();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text).width());
    first + rest.sum::<usize>()
}

/// What stands at the end of a word behind which a sentence goes on.
const BEHIND_COMMAND: [char; 4] = [';', ',', ':', ')'];
/// How far what stands below a line is indented from it.
const BELOW: usize = 4;
const HELP: &str = "= help: ";
/// Settings of servers, and what stands at the end of a line that is continued on the next, if one can
/// be.
const SETTINGS: [(&str, Option<&str>); 8] = [
    ("ssl_certificate", Some("")),
    ("ssl_certificate_key", Some("")),
    ("SSLCertificateFile", Some(" \\")),
    ("SSLCertificateKeyFile", Some(" \\")),
    ("RedirectMatch", Some(" \\")),
    ("http-request", None),
    ("location", None),
    ("server_name", None),
];
/// The programs that certctl suggests.
const PROGRAMS: &[&str] = &[
    "sudo",
    "systemctl",
    "install",
    "mkdir",
    "chmod",
    "chown",
    "mv",
    "rm",
    "setcap",
    "usermod",
    "printf",
    "chgrp",
    "setfacl",
    "openssl",
    "curl",
];

/// The width of a stream that is no terminal, in columns.
pub(crate) const USUAL: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_to_be_pasted_stays_in_one_line() {
        for (text, lines) in [
            (
                "try sudo certctl issue web; then wait",
                "try\n  sudo certctl issue web;\n  then wait",
            ),
            ("sudo install -d /srv/web/htdocs", "sudo install -d /srv/web/htdocs"),
            ("sudo /etc/certctl/hooks.d/nginx", "sudo /etc/certctl/hooks.d/nginx"),
            ("openssl s_client -connect a:443", "openssl s_client -connect a:443"),
            ("install -d -m 0755 /srv/web", "install -d -m 0755 /srv/web"),
            ("install the newer certctl again", "install the newer\n  certctl again"),
            ("with sudo you are root here", "with sudo you are\n  root here"),
        ] {
            assert_eq!(hanging(text, 0, 2, 20), lines, "{text}");
            assert_eq!(wrap(text, "", 20).replace('\n', "\n  ").trim_end(), lines, "{text}");
        }
    }

    #[test]
    fn a_hanging_text_fits_behind_what_stands_before_it() {
        for (text, width, lines) in [
            ("one  two", 12, "one  two"),
            ("one  two", 11, "one two"),
            ("one  two", 10, "one\n  two"),
            ("one two three four", 12, "one two\n  three four"),
            ("at 2026-12-03 04:12 CET, in 12d or", 33, "at\n  2026-12-03 04:12 CET, in 12d or"),
            ("a-word-that-is-longer b", 9, "a-word-that-is-longer\n  b"),
        ] {
            assert_eq!(hanging(text, 4, 2, width), lines, "{text} {width}");
        }
    }

    #[test]
    fn what_is_too_long_goes_on_below_and_commands_and_manifests_stay_whole() {
        for (text, width, expected) in [
            ("one two\n  three", 10, "one two\n  three"),
            ("one two three four", 9, "one two\n  three\n  four"),
            ("  one two three", 9, "  one two\n    three"),
            // A shell passes over all lines of a comment.
            ("  # one two three", 12, "  # one two\n  #   three"),
            // As shells and servers have it.
            ("  sudo install -d /srv", 16, "  sudo install \\\n      -d /srv"),
            ("  sudo install -d 'a b'", 16, "  sudo install -d 'a b'"),
            ("  certctl issue   # is one", 16, "  certctl issue   # is one"),
            ("  certctl issue   to get it", 16, "  certctl issue   to get it"),
            ("  ssl_certificate /f/a/tls.crt;", 20, "  ssl_certificate\n      /f/a/tls.crt;"),
            ("  SSLCertificateFile /f/tls.crt", 22, "  SSLCertificateFile \\\n      /f/tls.crt"),
            // Of a server's configuration.
            ("  cert = </a b/tls.crt", 12, "  cert = </a b/tls.crt"),
            (
                "  RedirectMatch 301 ^/a https://a/b",
                28,
                "  RedirectMatch 301 ^/a \\\n      https://a/b",
            ),
            ("  server_name one two;", 12, "  server_name one two;"),
            ("\u{1b}[31merror\u{1b}[0m: one two", 10, "\u{1b}[31merror\u{1b}[0m: one\n  two"),
            (
                "is lost; to go on: certctl issue web now; or not",
                20,
                "is lost; to go on:\n  certctl issue web now;\n  or not",
            ),
            (" = help: mkdir -p /a/b/c/d/e/f", 16, " = help:\n   mkdir -p /a/b/c/d/e/f"),
            (
                "    = help: a certificate of its own or none",
                40,
                "    = help: a certificate of its own or\n            none",
            ),
            (" 7 |   dnsNames: [a, b, c, d, e]", 9, " 7 |   dnsNames: [a, b, c, d, e]"),
            // The source of an event is no command.
            ("  3m  certctl  one two three", 24, "  3m  certctl  one two\n    three"),
        ] {
            assert_eq!(fitted(text, width), expected, "{text} {width}");
        }
    }

    #[test]
    fn what_stands_behind_a_gap_continues_below_itself_or_below_its_line() {
        for (text, width, expected) in [
            ("name:  one two\nb:     c", 14, "name:  one two\nb:     c"),
            ("name:  one two three", 14, "name:  one two\n       three"),
            ("  a-name <word>   one two three", 24, "  a-name <word>   one\n      two three"),
            ("  a-name <word>   letters two", 22, "  a-name <word>\n      letters two"),
            ("try:  certctl status web -o wide", 14, "try:  certctl status web -o wide"),
            ("one two three", 8, "one two\n  three"),
        ] {
            assert_eq!(aligned(text, width), expected, "{text} {width}");
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
