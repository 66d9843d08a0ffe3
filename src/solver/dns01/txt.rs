//! TXT records as HTTP APIs hold them: which zone of an account, and quotes around values.

/// The zones that an account may hold a name in, likeliest first: the one that the DNS shows, when
/// it was asked for, then the name and all that is above it down to two labels.
pub(super) fn candidates<'a>(name: &'a str, zone: &'a str) -> Vec<&'a str> {
    let mut found = Vec::new();
    if !zone.is_empty() {
        found.push(zone);
    }
    let mut rest = name;
    while rest.contains('.') {
        if rest != zone {
            found.push(rest);
        }
        rest = rest.split_once('.').map_or("", |(_, above)| above);
    }
    found
}

/// A value without the quotes of a zone file.
pub(super) fn unquoted(content: &str) -> &str {
    let content = content.trim();
    content.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(content)
}

/// Whether a service's text may stand in the path of a URL as it is.
pub(super) fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.len() <= 100 && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_tried_from_the_likeliest_up() {
        let cases: [(&str, &str, &[&str]); 4] = [
            ("_a.b.example.com", "", &["_a.b.example.com", "b.example.com", "example.com"]),
            (
                "_a.b.example.com",
                "example.com",
                &["example.com", "_a.b.example.com", "b.example.com"],
            ),
            ("_a.com", "com", &["com", "_a.com"]),
            ("com", "", &[]),
        ];
        for (name, zone, expected) in cases {
            assert_eq!(candidates(name, zone), expected, "{name} {zone}");
        }
    }

    #[test]
    fn quotes_of_a_zone_file_are_no_part_of_a_value() {
        let cases = [("\"a\"", "a"), ("a", "a"), (" \"a\" ", "a"), ("\"a", "\"a"), ("", "")];
        for (content, value) in cases {
            assert_eq!(unquoted(content), value);
        }
    }

    #[test]
    fn an_id_cannot_lead_to_another_path() {
        let long = "a".repeat(101);
        let cases =
            [("023e-1_f", true), ("", false), ("../x", false), ("a?b", false), (&long, false)];
        for (text, fine) in cases {
            assert_eq!(is_id(text), fine, "{text}");
        }
    }
}
