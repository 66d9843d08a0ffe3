//! The Link header (RFC 8288 section 3), as far as ACME needs it: the URLs of alternate chains.

/// The targets with `rel="alternate"` of one Link header (RFC 8288 section 3).
pub(super) fn alternates(header: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = header;
    while let Some((_, tail)) = rest.split_once('<') {
        let Some((target, tail)) = tail.split_once('>') else { break };
        let parameters = end_of_parameters(tail);
        let (these, next) = tail.split_at_checked(parameters).unwrap_or((tail, ""));
        if these.split(';').any(is_alternate) {
            found.push(target.to_owned());
        }
        rest = next;
    }
    found
}

/// The place of the comma that ends the parameters: the first one outside quotes.
fn end_of_parameters(text: &str) -> usize {
    let mut quoted = false;
    for (place, character) in text.char_indices() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => return place,
            _ => {}
        }
    }
    text.len()
}

fn is_alternate(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    name.trim().eq_ignore_ascii_case("rel")
        && value
            .trim()
            .trim_matches('"')
            .split_ascii_whitespace()
            .any(|relation| relation.eq_ignore_ascii_case("alternate"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternates_are_found_among_other_links() {
        let cases: &[(&str, &[&str])] = &[
            (r#"<https://ca.test/1/alt>;rel="alternate""#, &["https://ca.test/1/alt"]),
            (
                r#"<https://ca.test/dir>; rel="index", </a?x=1,2>; title="a,<b>"; rel=alternate"#,
                &["/a?x=1,2"],
            ),
            (r#"<u>; rel="up alternate", <v>; REL=Alternate"#, &["u", "v"]),
            (r#"<u>; rel="alternates""#, &[]),
            ("<broken", &[]),
            ("", &[]),
        ];
        for (header, expected) in cases {
            assert_eq!(alternates(header), *expected, "{header}");
        }
    }
}
