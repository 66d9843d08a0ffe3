//! An error of another crate as one text.

use std::error::Error;
use std::io;

/// The error and all its causes, each printed once. A connection that the peer closed is said in
/// certctl's words: rustls puts the address of its manual there.
pub(crate) fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(cause) = next {
        if is_closed(cause) {
            return CLOSED.to_owned();
        }
        let message = cause.to_string();
        if text.is_empty() {
            text = message;
        } else if !text.ends_with(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        next = cause.source();
    }
    text
}

/// The innermost of these texts alone.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    if is_closed(deepest) { CLOSED.to_owned() } else { deepest.to_string() }
}

/// Whether the peer closed the connection.
fn is_closed(error: &(dyn Error + 'static)) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    kind == Some(io::ErrorKind::UnexpectedEof)
}

const CLOSED: &str = "the server closed the connection before it had answered";

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] io::Error);

    #[test]
    fn a_closed_connection_is_told_without_the_address_of_a_library() {
        let rustls = "peer closed connection without sending TLS close_notify: https://docs.rs/x";
        let closed = Outer(io::Error::new(io::ErrorKind::UnexpectedEof, rustls));
        assert_eq!((causes(&closed), innermost(&closed)), (CLOSED.to_owned(), CLOSED.to_owned()));
        let other = Outer(io::Error::other("inner"));
        assert_eq!(causes(&other), "outer: inner");
    }
}
