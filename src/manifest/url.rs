//! URLs as they are written in manifests.

/// Why a text is not an `https://` URL with a host.
pub(crate) fn https_fault(text: &str) -> Option<&'static str> {
    if text.trim() != text {
        return Some("it begins or ends with a space");
    }
    let lower = text.to_ascii_lowercase();
    let Some(rest) = lower.strip_prefix("https://") else {
        return Some("it must begin with https://");
    };
    match text.parse::<http::Uri>() {
        Ok(uri) if uri.host().is_some_and(|host| !host.is_empty()) => {}
        Ok(_) | Err(_) => return Some("it is not a URL with a host"),
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Some("a user name is not allowed in it");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_https_with_a_host() {
        for good in ["https://acme.example/dir", "HTTPS://localhost:14000/dir", "https://[::1]/d"] {
            assert_eq!(https_fault(good), None, "{good}");
        }
        for bad in [
            "http://acme.example",
            "file:///etc/passwd",
            "acme.example",
            "https://",
            "https:///d",
            "https://u:p@acme.example",
            "https://a b/",
            " https://acme.example",
        ] {
            assert!(https_fault(bad).is_some(), "{bad}");
        }
    }
}
