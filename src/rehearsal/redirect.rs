//! The URLs that HTTP-01 validation requests: the first one, and redirects.

use std::fmt;

use reqwest::Url;

use super::problem::{Problem, ProblemType};

/// An http or https URL, and the port that is connected to: one port stands for port 80.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    url: Url,
    pub(super) port: u16,
}

impl Target {
    /// The URL of RFC 8555 section 8.3, which names no port.
    pub(super) fn first(host: &str, port: u16, path: &str) -> Result<Self, Problem> {
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let url = Url::parse(&format!("http://{host}{path}")).map_err(Problem::internal)?;
        Ok(Self { url, port })
    }

    /// Follows a Location. Ports 80 and 443 are allowed, and the port configured instead of 80.
    pub(super) fn redirected(&self, location: &str, http_port: u16) -> Result<Self, Problem> {
        let refused = |why: &str| {
            let detail = format!("redirect from {self} to {location:?}: {why}");
            Problem::new(ProblemType::Connection, detail)
        };
        let url = self.url.join(location).map_err(|_| refused("not a URL"))?;
        let usual = match url.scheme() {
            "http" => http_port,
            "https" => 443,
            _ => return Err(refused("neither http nor https")),
        };
        let port = url.port().unwrap_or(usual);
        if ![80, 443, http_port].contains(&port) {
            return Err(refused("only ports 80 and 443 are followed"));
        }
        Ok(Self { url, port })
    }

    pub(super) fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Name or address, without brackets.
    pub(super) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default().trim_matches(['[', ']'])
    }

    /// Path and query.
    pub(super) fn path(&self) -> String {
        let query = self.url.query().map(|query| format!("?{query}"));
        self.url.path().to_owned() + &query.unwrap_or_default()
    }

    /// The value of the Host header.
    pub(super) fn authority(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_followed_where_a_ca_would() {
        let from = Target::first("a.test", 5002, "/.well-known/acme-challenge/t").unwrap();
        let good = [
            ("/x?y", "http://a.test/x?y", 5002),
            ("u", "http://a.test/.well-known/acme-challenge/u", 5002),
            ("//b.test/x", "http://b.test/x", 5002),
            ("http://b.test/x", "http://b.test/x", 5002),
            ("http://b.test:80/x", "http://b.test/x", 5002),
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
            ("file:///etc/passwd", "neither http nor https"),
            ("ftp://b.test/x", "neither http nor https"),
            ("http://", "not a URL"),
        ];
        for (location, why) in bad {
            let detail = from.redirected(location, 5002).unwrap_err().detail;
            assert!(detail.ends_with(why), "{location}: {detail}");
        }
    }
}
