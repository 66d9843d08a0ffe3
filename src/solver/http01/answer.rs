//! Answers a request with the key authorization that belongs to it.
//!
//! | request | answer |
//! | --- | --- |
//! | GET or HEAD of a presented token, under any Host | 200, the key authorization |
//! | anything else | 404, with nothing of the request in it; a self-check learns that it is ours |
//!
//! The token is the secret: a proxy may send its own address as the Host, and a redirect the name
//! of a central host. A self-check gets the Host back, and reports it when it changed on the way.
//!
//! No file path is made from a request: its last component must be a valid token before it is
//! looked up.

use std::convert::Infallible;
use std::future::ready;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;

use crate::resource::{
    CHALLENGE_PATH, RECEIVED_HOST_HEADER, SELF_CHECK_HEADER, Token, UNKNOWN_TOKEN_HEADER,
};
use crate::solver::listener::{Hits, TokenFolder};

/// Answers the one request of a connection.
///
/// The client has `header_timeout` for the header (at most 8 KiB) and 30 s in all.
pub(in crate::solver) async fn serve(
    stream: TcpStream,
    folder: &TokenFolder,
    hits: &Hits,
    header_timeout: Duration,
) {
    let service = service_fn(|request| ready(Ok::<_, Infallible>(answer(folder, hits, &request))));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
        .max_buf_size(MAX_HEADER_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A client that disconnects or does not send HTTP is not an error.
    match tokio::time::timeout(VISIT_TIMEOUT, connection).await {
        Ok(Ok(())) | Err(_) => {}
        Ok(Err(error)) => tracing::trace!(%error, "visitor of the HTTP-01 listener"),
    }
}

/// The response to `request`; a fetch that is not a self-check is counted.
fn answer<B>(folder: &TokenFolder, hits: &Hits, request: &Request<B>) -> Response<Full<Bytes>> {
    if let Some((token, key_authorization)) = key_authorization(folder, request) {
        let body = Bytes::from(key_authorization);
        let mut response = response(StatusCode::OK, "application/octet-stream", body);
        if !request.headers().contains_key(SELF_CHECK_HEADER) {
            hits.record(&token);
        } else if let Some(host) = request.headers().get(HOST) {
            response.headers_mut().insert(RECEIVED_HOST_HEADER, host.clone());
        }
        return response;
    }
    let body = Bytes::from_static(b"404 not found\n");
    let mut response = response(StatusCode::NOT_FOUND, "text/plain", body);
    if request.headers().contains_key(SELF_CHECK_HEADER) {
        response.headers_mut().insert(UNKNOWN_TOKEN_HEADER, HeaderValue::from_static("1"));
    }
    response
}

fn key_authorization<B>(folder: &TokenFolder, request: &Request<B>) -> Option<(Token, String)> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return None;
    }
    let token: Token = request.uri().path().strip_prefix(CHALLENGE_PATH)?.parse().ok()?;
    let presented = folder.find(&token)?;
    Some((token, presented.key_authorization))
}

fn response(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// hyper's minimum.
const MAX_HEADER_BYTES: usize = 8 * 1024;
const VISIT_TIMEOUT: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[test]
    fn a_known_token_is_answered_under_any_host_for_the_right_method_and_path() {
        let root = tempfile::tempdir().unwrap();
        let folder = TokenFolder::open(&root.path().join("http01")).unwrap();
        folder.put(&"tok".parse().unwrap(), "tok.abc").unwrap();
        let hits = Hits::new(|| Timestamp::UNIX_EPOCH);
        let path = "/.well-known/acme-challenge/";
        let cases: &[(&str, String, &[&str], bool)] = &[
            ("GET", format!("{path}tok"), &["example.com"], true),
            ("HEAD", format!("{path}tok"), &["example.com"], true),
            ("GET", format!("{path}tok?cache=buster"), &["example.com"], true),
            ("GET", format!("{path}tok"), &["127.0.0.1:8402"], true),
            ("GET", format!("{path}tok"), &["validation.example.org"], true),
            ("GET", format!("{path}tok"), &["[::1]:80"], true),
            ("GET", format!("{path}tok"), &[], true),
            ("GET", format!("http://other.org{path}tok"), &["example.com"], true),
            ("POST", format!("{path}tok"), &["example.com"], false),
            ("TRACE", format!("{path}tok"), &["example.com"], false),
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
    fn a_self_check_gets_the_host_back_and_is_not_counted() {
        let root = tempfile::tempdir().unwrap();
        let folder = TokenFolder::open(&root.path().join("http01")).unwrap();
        let token: Token = "tok".parse().unwrap();
        folder.put(&token, "tok.abc").unwrap();
        let hits = Hits::new(|| Timestamp::UNIX_EPOCH);
        let request = Request::builder()
            .uri("/.well-known/acme-challenge/tok")
            .header("host", "example.com")
            .header(SELF_CHECK_HEADER, "1");
        let found = answer(&folder, &hits, &request.body(()).unwrap());
        assert_eq!((found.status(), hits.of(&token)), (StatusCode::OK, None));
        assert_eq!(found.headers()[RECEIVED_HOST_HEADER], "example.com");
        for (header, is_marked) in [(SELF_CHECK_HEADER, true), ("x-other", false)] {
            let request =
                Request::builder().uri("/.well-known/acme-challenge/no").header(header, "1");
            let found = answer(&folder, &hits, &request.body(()).unwrap());
            assert_eq!(found.headers().contains_key(UNKNOWN_TOKEN_HEADER), is_marked, "{header}");
        }
    }

    #[tokio::test]
    async fn a_header_that_never_ends_is_given_up() {
        let root = tempfile::tempdir().unwrap();
        let folder = TokenFolder::open(&root.path().join("http01")).unwrap();
        let hits = Hits::new(|| Timestamp::UNIX_EPOCH);
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut slow = TcpStream::connect(socket.local_addr().unwrap()).await.unwrap();
        slow.write_all(b"GET / HTTP/1.1\r\nX-Slow: ").await.unwrap();
        let (stream, _) = socket.accept().await.unwrap();
        let limit = Duration::from_millis(20);
        serve(stream, &folder, &hits, limit).await;
        let mut found = String::new();
        // The server may have reset the connection.
        drop(slow.read_to_string(&mut found).await);
        assert!(found.is_empty() || found.starts_with("HTTP/1.1 408"), "{found}");
    }
}
