//! A distinguished name as text (RFC 4514), as far as its syntax and its CN go.

/// The value of the last CN, or why the text is not a distinguished name.
pub(crate) fn common_name(text: &str) -> Result<Option<String>, String> {
    let mut found = None;
    for pair in pairs(text)? {
        let Some((key, value)) = split_pair(&pair) else {
            return Err(format!(
                "`{}` is not written like `CN=value`",
                super::diagnostic::short(&plain(&pair))
            ));
        };
        let key = plain(key);
        let key = key.trim();
        if !KEYS.iter().any(|known| known.eq_ignore_ascii_case(key)) {
            let known = KEYS.join(", ");
            return Err(format!(
                "unrecognized key `{}`: use one of {known}",
                super::diagnostic::short(key)
            ));
        }
        if key.eq_ignore_ascii_case("CN") {
            found = Some(plain(value).trim().to_owned());
        }
    }
    Ok(found.filter(|text| !text.is_empty()))
}

/// A character, and whether it was escaped.
type Char = (char, bool);

/// Splits at unescaped `,`, `;` and `+`, and resolves the escapes (RFC 4514 section 3).
fn pairs(text: &str) -> Result<Vec<Vec<Char>>, String> {
    let mut all = Vec::new();
    let mut current: Vec<Char> = Vec::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
        match character {
            '\\' => {
                let (unescaped, behind) = escape(rest)?;
                current.extend(unescaped.chars().map(|c| (c, true)));
                rest = behind;
            }
            ',' | ';' | '+' => all.push(std::mem::take(&mut current)),
            other => current.push((other, false)),
        }
    }
    all.push(current);
    Ok(all)
}

/// Resolves what stands behind a backslash: a special character, or bytes in hexadecimal.
fn escape(text: &str) -> Result<(String, &str), String> {
    let first = text.chars().next().ok_or("a backslash at the end")?;
    if " \"#+,;<=>\\".contains(first) {
        return Ok((first.to_string(), text.get(1..).unwrap_or_default()));
    }
    let mut bytes = Vec::new();
    let mut rest = text;
    loop {
        let hex = rest.get(..2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        bytes.push(hex.ok_or("a backslash stands before a special character or two hex digits")?);
        rest = rest.get(2..).unwrap_or_default();
        match rest.strip_prefix('\\') {
            Some(next) if next.starts_with(|c: char| c.is_ascii_hexdigit()) => rest = next,
            Some(_) | None => break,
        }
    }
    let text = String::from_utf8(bytes).map_err(|_| "escaped bytes are not UTF-8")?;
    Ok((text, rest))
}

fn split_pair(pair: &[Char]) -> Option<(&[Char], &[Char])> {
    let middle = pair.iter().position(|c| *c == ('=', false))?;
    let (key, rest) = pair.split_at_checked(middle)?;
    Some((key, rest.get(1..)?))
}

fn plain(text: &[Char]) -> String {
    text.iter().map(|(c, _)| c).collect()
}

/// The keys cert-manager knows.
const KEYS: &[&str] = &["CN", "C", "O", "OU", "L", "ST", "STREET", "DC", "UID", "SERIALNUMBER"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_name_is_found_and_syntax_is_checked() {
        for (text, expected) in [
            ("CN=foo", Ok(Some("foo"))),
            ("C=DE, O=a\\, b, cn=www.example.com", Ok(Some("www.example.com"))),
            ("CN=a+UID=1;DC=x", Ok(Some("a"))),
            ("CN=b\\C3\\BCcher", Ok(Some("b\u{fc}cher"))),
            ("CN=a\\=b=c", Ok(Some("a=b=c"))),
            ("O=x", Ok(None)),
            ("foo", Err(())),
            ("CN=a,", Err(())),
            ("XX=a", Err(())),
            ("CN=a\\", Err(())),
            ("CN=a\\zz", Err(())),
            ("CN=\\FF", Err(())),
        ] {
            let found = common_name(text);
            assert_eq!(found.as_ref().map(Option::as_deref).map_err(|_| ()), expected, "{text}");
        }
    }
}
