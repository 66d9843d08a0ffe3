//! Answers a request with the key authorization that belongs to it.
//!
//! | request | answer |
//! | --- | --- |
//! | GET or HEAD of a presented token, Host is the challenge's name | 200, the key authorization |
//! | anything else | 404, always the same, with nothing of the request in it |
//!
//! No file path is made from a request: its last component must be a valid token before it is
//! looked up.

use std::net::IpAddr;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;

use super::{Hits, TokenFolder};
use crate::resource::{CHALLENGE_PATH, SELF_CHECK_HEADER, Token};

/// The response to `request`; a fetch that is not a self-check is counted.
pub(super) fn answer<B>(
    folder: &TokenFolder,
    hits: &Hits,
    request: &Request<B>,
) -> Response<Full<Bytes>> {
    match key_authorization(folder, request) {
        Some((token, key_authorization)) => {
            if !request.headers().contains_key(SELF_CHECK_HEADER) {
                hits.record(&token);
            }
            let body = Bytes::from(key_authorization);
            response(StatusCode::OK, "application/octet-stream", body)
        }
        None => {
            response(StatusCode::NOT_FOUND, "text/plain", Bytes::from_static(b"404 not found\n"))
        }
    }
}

fn key_authorization<B>(folder: &TokenFolder, request: &Request<B>) -> Option<(Token, String)> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return None;
    }
    let token: Token = request.uri().path().strip_prefix(CHALLENGE_PATH)?.parse().ok()?;
    let host = asked_host(request.uri(), request.headers())?;
    let presented = folder.find(&token)?;
    is_same_host(host, &presented.name).then_some((token, presented.key_authorization))
}

fn response(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The requested host without its port: that of an absolute target, else of the single Host header
/// (RFC 9112 section 3.2.2); None when there are two.
fn asked_host<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    let authority = if let Some(authority) = uri.authority() {
        authority.as_str()
    } else {
        let mut all = headers.get_all(HOST).iter();
        let host = all.next()?.to_str().ok()?;
        if all.next().is_some() {
            return None;
        }
        host
    };
    if let Some(bracketed) = authority.strip_prefix('[') {
        return bracketed.split_once(']').map(|(host, _)| host);
    }
    Some(authority.split_once(':').map_or(authority, |(host, _)| host))
}

fn is_same_host(asked: &str, presented: &str) -> bool {
    match (asked.parse::<IpAddr>(), presented.parse::<IpAddr>()) {
        (Ok(asked), Ok(presented)) => asked == presented,
        _ => asked.eq_ignore_ascii_case(presented),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn only_the_right_host_method_and_path_get_the_key() {
        let root = tempfile::tempdir().unwrap();
        let folder = TokenFolder::open(&root.path().join("http01")).unwrap();
        folder.put(&"tok".parse().unwrap(), "tok.abc", "example.com").unwrap();
        folder.put(&"six".parse().unwrap(), "six.abc", "2001:db8::1").unwrap();
        let hits = Hits::new(|| Timestamp::UNIX_EPOCH);
        let path = "/.well-known/acme-challenge/";
        let cases: &[(&str, String, &[&str], bool)] = &[
            ("GET", format!("{path}tok"), &["example.com"], true),
            ("HEAD", format!("{path}tok"), &["example.com"], true),
            ("GET", format!("{path}tok"), &["EXAMPLE.com:80"], true),
            ("GET", format!("{path}tok?cache=buster"), &["example.com"], true),
            ("GET", format!("http://example.com{path}tok"), &["other.org"], true),
            ("GET", format!("{path}six"), &["[2001:db8::1]"], true),
            ("GET", format!("{path}six"), &["[2001:0DB8:0::1]:80"], true),
            ("POST", format!("{path}tok"), &["example.com"], false),
            ("TRACE", format!("{path}tok"), &["example.com"], false),
            ("GET", format!("{path}tok"), &["other.org"], false),
            ("GET", format!("{path}tok"), &["www.example.com"], false),
            ("GET", format!("{path}tok"), &["[example.com"], false),
            ("GET", format!("{path}tok"), &["example.com", "other.org"], false),
            ("GET", format!("{path}tok"), &[], false),
            ("GET", format!("http://other.org{path}tok"), &["example.com"], false),
            ("GET", format!("{path}six"), &["example.com"], false),
            ("GET", format!("{path}unknown"), &["example.com"], false),
            ("GET", path.to_owned(), &["example.com"], false),
            ("GET", format!("{path}tok/"), &["example.com"], false),
            ("GET", format!("{path}../acme-challenge/tok"), &["example.com"], false),
            ("GET", format!("{path}%74ok"), &["example.com"], false),
            ("GET", format!("/{path}tok"), &["example.com"], false),
            ("GET", "/../../etc/passwd".to_owned(), &["example.com"], false),
            ("GET", "/".to_owned(), &["example.com"], false),
            ("GET", "/tok".to_owned(), &["example.com"], false),
        ];
        let mut expected_hits = 0;
        for (method, target, hosts, is_answered) in cases {
            let mut request = Request::builder().method(*method).uri(target);
            for host in *hosts {
                request = request.header("host", *host);
            }
            let found = answer(&folder, &hits, &request.body(()).unwrap());
            let status = if *is_answered { StatusCode::OK } else { StatusCode::NOT_FOUND };
            assert_eq!(found.status(), status, "{method} {target} {hosts:?}");
            expected_hits += u64::from(*is_answered);
            assert_eq!(hits.total(), expected_hits, "{method} {target} {hosts:?}");
        }
    }

    #[test]
    fn a_self_check_is_answered_and_not_counted() {
        let root = tempfile::tempdir().unwrap();
        let folder = TokenFolder::open(&root.path().join("http01")).unwrap();
        let token: Token = "tok".parse().unwrap();
        folder.put(&token, "tok.abc", "example.com").unwrap();
        let hits = Hits::new(|| Timestamp::UNIX_EPOCH);
        let request = Request::builder()
            .uri("/.well-known/acme-challenge/tok")
            .header("host", "example.com")
            .header(SELF_CHECK_HEADER, "1");
        let found = answer(&folder, &hits, &request.body(()).unwrap());
        assert_eq!((found.status(), hits.of(&token)), (StatusCode::OK, None));
    }
}
