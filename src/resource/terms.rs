//! The terms of service of a CA (RFC 8555, section 7.1.1) for people.

/// A URL, or the text of one that is its own text (RFC 2397), as those of CAs for tests are.
pub fn readable_terms(url: &str) -> String {
    let Some(text) = url.strip_prefix("data:text/plain,") else { return url.to_owned() };
    let mut parts = text.split('%');
    let begin = parts.next().unwrap_or_default().to_owned();
    parts.fold(begin, |text, part| {
        let code = part.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        match (code.filter(u8::is_ascii), part.get(2..)) {
            (Some(letter), Some(rest)) => format!("{text}{}{rest}", char::from(letter)),
            _ => format!("{text}%{part}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_is_a_text_is_read() {
        for (url, text) in [
            ("data:text/plain,Do%20what%20thou%20wilt", "Do what thou wilt"),
            ("data:text/plain,5%25 %zz%2", "5% %zz%2"),
            ("https://ca.example/terms%20of", "https://ca.example/terms%20of"),
        ] {
            assert_eq!(readable_terms(url), text);
        }
    }
}
