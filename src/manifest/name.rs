//! Names in manifests: of objects, of keys in Secrets, of labels, of hosts.
//!
//! Contract: a valid name is a single path component without characters that are special to a
//! shell, a terminal or a file system.

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};

use crate::resource::{DnsName, SecretKeySelector, is_dns_label, is_dns_subdomain};

use super::diagnostic::{Draft, short};
use super::field::{Field, REQUIRED};
use super::sink::Sink;

/// Kubernetes' message for an invalid name.
pub(crate) const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case \
    alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
/// Kubernetes' message for an invalid namespace.
pub(crate) const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case \
    alphanumeric characters or '-', and must start and end with an alphanumeric character";

/// Name of an object.
pub(crate) fn object_name(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<String> {
    let text = field.filled_text(sink)?;
    if is_dns_subdomain(&text) {
        return Some(text);
    }
    let message = if text.len() > 253 {
        format!("name of {} bytes, at most 253 are allowed", text.len())
    } else {
        SUBDOMAIN.to_owned()
    };
    sink.error("E0109", field.span(), &field.path, message);
    None
}

/// Name of a namespace.
pub(crate) fn namespace(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<String> {
    let text = field.filled_text(sink)?;
    if is_dns_label(&text) {
        return Some(text);
    }
    sink.error("E0109", field.span(), &field.path, LABEL);
    None
}

/// Whether `text` can be an entry of a Secret.
pub fn is_secret_key(text: &str) -> bool {
    !matches!(text, "" | "." | "..")
        && text.len() <= 253
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'))
}

/// Whether `text` can be the name of a file in one of the operator's folders.
pub(crate) fn is_component(text: &str) -> bool {
    is_secret_key(text) && !text.starts_with(['.', '-'])
}

/// A reference to a Secret's entry whose name must be there.
///
/// `key_required`: whether the field has no key of its own to fall back to.
pub(crate) fn secret_ref(
    field: &Field<'_>,
    sink: &mut Sink<'_>,
    key_required: bool,
) -> Option<SecretKeySelector> {
    let mut fields = field.mapping(sink, "secretRef")?;
    let name = fields.require(sink, "name", "secret name is required");
    let name = name.and_then(|name| object_name(&name, sink));
    let key = if key_required {
        fields.require(sink, "key", "secret key is required")
    } else {
        fields.take("key")
    };
    // An API server writes out the empty default.
    let key = key.filter(|key| key_required || key.node.as_text() != Some(""));
    let key = key.map(|key| secret_key(&key, sink));
    fields.finish(sink);
    Some(SecretKeySelector { name: name?, key: key.unwrap_or(Some(String::new()))? })
}

fn secret_key(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<String> {
    let text = field.filled_text(sink)?;
    if is_secret_key(&text) {
        return Some(text);
    }
    sink.error("E0109", field.span(), &field.path, SECRET_KEY);
    None
}

/// The rule for the keys of a Secret.
pub(crate) const SECRET_KEY: &str = "a key of a Secret consists of alphanumeric characters, '-', '_' or '.', and is not '.' or '..'";

/// A host name; letters beyond ASCII become A-labels (UTS 46, IDNA 2008).
pub(crate) fn dns_name(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<DnsName> {
    let text = field.text(sink)?;
    if text.is_empty() {
        sink.error("E0101", field.span(), &field.path, REQUIRED);
        return None;
    }
    match to_dns_name(&text) {
        Ok(name) => Some(name),
        Err(reason) => {
            let message = format!("invalid host name `{}`: {reason}", short(&text));
            let host = host_of(&text).filter(|host| host.parse::<DnsName>().is_ok());
            let draft = Draft::error("E0109", field.span(), &field.path, message);
            sink.add(draft.suggest(host.map(str::to_owned)));
            None
        }
    }
}

/// The host of a URL, of an address with a port, or of a name with a dot at its end.
fn host_of(text: &str) -> Option<&str> {
    let behind = text.split_once("://").map_or(text, |(_, behind)| behind);
    let host = behind.split(['/', '?', '#']).next()?;
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let host = host.strip_suffix('.').unwrap_or(host);
    (host.len() < text.len()).then_some(host)
}

/// The A-label form of a host name, or why there is none.
pub(crate) fn to_dns_name(text: &str) -> Result<DnsName, String> {
    let (star, base) = match text.strip_prefix("*.") {
        Some(base) => ("*.", base),
        None => ("", text),
    };
    let encoded = base.to_ascii_lowercase().split('.').any(|label| label.starts_with("xn--"));
    if base.is_ascii() && !encoded {
        return text.parse().map_err(|error: crate::resource::NameError| error.to_string());
    }
    let not_allowed = |c: char| format!("character {c:?} (U+{:04X}) is not allowed", u32::from(c));
    if let Some(space) = base.chars().find(|c| c.is_whitespace() && !c.is_ascii()) {
        return Err(not_allowed(space));
    }
    let ascii = idna::domain_to_ascii_cow(base.as_bytes(), idna::AsciiDenyList::STD3)
        .map_err(|_| "not a valid internationalized name (UTS 46)".to_owned())?;
    // UTS 46 admits symbols and punctuation, which IDNA 2008 does not. A name that is written as
    // A-labels is taken as it is: some zones have such names.
    let (mapped, _) = idna::domain_to_unicode(&ascii);
    if let Some(symbol) = mapped.chars().find(|c| !is_of_host_names(*c))
        && !base.is_ascii()
    {
        return Err(not_allowed(symbol));
    }
    let name = format!("{star}{ascii}").parse::<DnsName>();
    name.map_err(
        |error| if base.is_ascii() { error.to_string() } else { format!("{ascii}: {error}") },
    )
}

/// Whether IDNA 2008 has a character in names (RFC 5892, sections 2.1, 2.6 and 2.9).
fn is_of_host_names(character: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(character);
    let letters = GeneralCategoryGroup::Letter.union(GeneralCategoryGroup::Mark);
    let digits = GeneralCategoryGroup::DecimalNumber;
    letters.union(digits).contains(category) || EXCEPTIONS.contains(character)
}

/// The characters that are neither letters, marks nor digits.
const EXCEPTIONS: &str =
    ".-\u{b7}\u{375}\u{5f3}\u{5f4}\u{6fd}\u{6fe}\u{f0b}\u{200c}\u{200d}\u{3007}\u{30fb}";

/// Why `key` cannot be the key of a label or an annotation.
pub(crate) fn qualified_name_fault(key: &str) -> Option<&'static str> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if prefix.is_some_and(|prefix| !is_dns_subdomain(&prefix.to_ascii_lowercase())) {
        return Some("the part before `/` must be a DNS subdomain");
    }
    if name.is_empty() {
        return Some("the name must not be empty");
    }
    label_fault(name)
}

/// Why `text` cannot be the value of a label.
pub(crate) fn label_fault(text: &str) -> Option<&'static str> {
    let edge = |b: Option<u8>| b.is_none_or(|b| b.is_ascii_alphanumeric());
    if text.len() > 63 {
        return Some("at most 63 characters are allowed");
    }
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let good = edge(text.bytes().next()) && edge(text.bytes().last()) && text.bytes().all(inner);
    (!good).then_some(
        "only alphanumeric characters, '-', '_' and '.' are allowed, alphanumeric at both ends",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_beyond_ascii_become_a_labels() {
        for (text, name) in [
            ("bücher.example", Ok("xn--bcher-kva.example")),
            ("*.BÜCHER.example", Ok("*.xn--bcher-kva.example")),
            ("xn--bcher-kva.example", Ok("xn--bcher-kva.example")),
            ("faß.example", Ok("xn--fa-hia.example")),
            ("www.example.com", Ok("www.example.com")),
            ("xn--zz--zz.example", Err("not a valid internationalized name (UTS 46)")),
            ("bü cher.example", Err("not a valid internationalized name (UTS 46)")),
            (
                "\u{201c}www.example.com\u{201d}",
                Err("character '\u{201c}' (U+201C) is not allowed"),
            ),
            ("www.example.com\u{a0}", Err("character '\\u{a0}' (U+00A0) is not allowed")),
            ("i\u{2764}.example", Err("character '\u{2764}' (U+2764) is not allowed")),
            ("xn--i-7iq.example", Ok("xn--i-7iq.example")),
            ("\u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940}.example", Ok("xn--j2bd4cyah0f.example")),
            ("l\u{b7}l.example", Ok("xn--ll-0ea.example")),
            ("a_b.example", Err("character '_' is not allowed in a host name")),
            ("https://example.com", Err("character ':' is not allowed in a host name")),
        ] {
            let found = to_dns_name(text);
            let found = found.as_ref().map(DnsName::as_str).map_err(String::as_str);
            assert_eq!(found, name, "{text}");
        }
    }

    #[test]
    fn keys_of_secrets_are_single_path_components() {
        for good in ["tls.key", "a", "A_b-c.d", "...", ".hidden"] {
            assert!(is_secret_key(good), "{good}");
        }
        for bad in ["", ".", "..", "a/b", "../a", "a b", "a\n", "ü"] {
            assert!(!is_secret_key(bad), "{bad}");
        }
        for bad in [".hidden", "-rf", ".."] {
            assert!(!is_component(bad), "{bad}");
        }
    }

    #[test]
    fn labels_follow_kubernetes() {
        for good in ["a", "app.kubernetes.io/name", "A_b", "x-1"] {
            assert_eq!(qualified_name_fault(good), None, "{good}");
        }
        for bad in ["", "/a", "a/", "a/b/c", "-a", "a.", "a b"] {
            assert!(qualified_name_fault(bad).is_some(), "{bad}");
        }
    }
}
