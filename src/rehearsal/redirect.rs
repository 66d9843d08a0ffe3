//! The URLs that HTTP-01 validation requests: the first one, and redirects.

use std::fmt;

use http::Uri;

use super::problem::{Problem, ProblemType};

/// A parsed http or https URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) is_https: bool,
    /// Name or address, without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// Path and query.
    pub(super) path: String,
    /// Whether the URL names the port.
    names_port: bool,
}

impl Target {
    /// The URL of RFC 8555 section 8.3. The URL has no port: for the name it is port 80.
    pub(super) fn first(host: &str, port: u16, path: String) -> Self {
        Self { is_https: false, host: host.to_owned(), port, path, names_port: false }
    }

    /// Follows a Location. Ports 80 and 443 are allowed, and the port configured instead of 80.
    pub(super) fn redirected(&self, location: &str, http_port: u16) -> Result<Self, Problem> {
        let refused = |why: &str| {
            let detail = format!("redirect from {self} to {location:?}: {why}");
            Problem::new(ProblemType::Connection, detail)
        };
        let absolute = if location.contains("://") {
            location.to_owned()
        } else if let Some(rest) = location.strip_prefix("//") {
            format!("{}://{rest}", self.scheme())
        } else if location.starts_with('/') {
            format!("{}://{}{location}", self.scheme(), self.authority())
        } else {
            let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            format!("{}://{}{folder}/{location}", self.scheme(), self.authority())
        };
        let uri: Uri = absolute.parse().map_err(|_| refused("not a URL"))?;
        let is_https = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            Some(_) | None => return Err(refused("neither http nor https")),
        };
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        if host.is_empty() {
            return Err(refused("no host"));
        }
        let default = if is_https { 443 } else { http_port };
        let port = uri.port_u16().unwrap_or(default);
        if ![80, 443, http_port].contains(&port) {
            return Err(refused("only ports 80 and 443 are followed"));
        }
        Ok(Self {
            is_https,
            host: host.to_owned(),
            port,
            path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
            names_port: uri.port().is_some(),
        })
    }

    /// The Host header.
    pub(super) fn host_header(&self) -> String {
        self.authority()
    }

    fn scheme(&self) -> &'static str {
        if self.is_https { "https" } else { "http" }
    }

    fn authority(&self) -> String {
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.names_port { format!("{host}:{}", self.port) } else { host }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme(), self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_followed_where_a_ca_would() {
        let from = Target::first("a.test", 5002, "/.well-known/acme-challenge/t".into());
        let good = [
            ("/x?y", "http://a.test/x?y", 5002),
            ("u", "http://a.test/.well-known/acme-challenge/u", 5002),
            ("//b.test/x", "http://b.test/x", 5002),
            ("http://b.test/x", "http://b.test/x", 5002),
            ("http://b.test:80/x", "http://b.test:80/x", 80),
            ("http://b.test:5002/x", "http://b.test:5002/x", 5002),
            ("https://b.test/x", "https://b.test/x", 443),
            ("http://[::1]/x", "http://[::1]/x", 5002),
        ];
        for (location, url, port) in good {
            let found = from.redirected(location, 5002).unwrap();
            assert_eq!((found.to_string().as_str(), found.port), (url, port));
        }
        let bad = [
            ("https://b.test:8443/x", "only ports 80 and 443 are followed"),
            ("file:///etc/passwd", "not a URL"),
            ("ftp://b.test/x", "neither http nor https"),
            ("http://", "not a URL"),
        ];
        for (location, why) in bad {
            let detail = from.redirected(location, 5002).unwrap_err().detail;
            assert!(detail.ends_with(why), "{location}: {detail}");
        }
    }
}
