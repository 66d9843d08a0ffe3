//! Access tokens (RFC 6749 section 5) of clouds: the request and its answer.
//!
//! No text of an answer that contains a token gets into a message.

use std::rc::Rc;

use http::header::AUTHORIZATION;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use zeroize::Zeroizing;

use super::error::shown;
use super::token_cache::Cached;
use super::{Api, Call, Context, ProviderError, Reply};

/// A token and its expiry.
pub(super) type Token = (Zeroizing<String>, Timestamp);

/// Where tokens come from.
pub(super) trait Source {
    async fn token(&self, api: &Api, now: Timestamp) -> Result<Token, ProviderError>;
}

/// Requests that carry a token of the source; a token is used until a minute before its expiry.
pub(super) struct Bearer<S> {
    pub(super) source: S,
    api: Rc<Api>,
    now: Rc<dyn Fn() -> Timestamp>,
    token: Cached<Zeroizing<String>>,
}

impl<S: Source> Bearer<S> {
    pub(super) fn new(source: S, context: &Context<'_>) -> Self {
        let (api, now) = (Rc::clone(&context.api), Rc::clone(&context.now));
        Self { source, api, now, token: Cached::nothing() }
    }

    pub(super) async fn send(&self, call: Call) -> Result<Reply, ProviderError> {
        let now = (self.now)();
        let token = if let Some(token) = self.token.at(now) {
            token
        } else {
            let (token, until) = self.source.token(&self.api, now).await?;
            self.token.keep(token, until)
        };
        self.api.send(call.credential(AUTHORIZATION, "Bearer ", &token)?).await
    }
}

/// Sends the request for a token; it hides what must not be shown.
pub(super) async fn token(api: &Api, call: Call, now: Timestamp) -> Result<Token, ProviderError> {
    let reply = api.send(call).await?;
    if reply.is_success() { read(&reply, now) } else { Err(refused(&reply)) }
}

fn read(reply: &Reply, now: Timestamp) -> Result<Token, ProviderError> {
    let garbled = |what: &str| reply.garbled(&what);
    let answer: Value =
        serde_json::from_slice(&reply.body).map_err(|_| garbled("this is not JSON"))?;
    let token = answer.get("access_token").and_then(Value::as_str);
    let token = token.ok_or_else(|| garbled("there is no access_token in it"))?;
    if token.is_empty() || token.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(garbled("its access_token is not one word"));
    }
    // Azure's metadata service sends a string.
    let seconds = answer.get("expires_in").and_then(|value| match value {
        Value::String(text) => text.parse::<i64>().ok(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.as_i64()
        }
    });
    let seconds = seconds.ok_or_else(|| garbled("there is no expires_in in it"))?;
    let lifetime = SignedDuration::from_secs(seconds.clamp(0, LONGEST));
    Ok((Zeroizing::new(token.to_owned()), now + lifetime))
}

/// The message of the error document (RFC 6749 section 5.2). A request refused with 400 has invalid
/// credentials, as the section defines.
fn refused(reply: &Reply) -> ProviderError {
    let body = String::from_utf8_lossy(&reply.body);
    let document = serde_json::from_str::<Value>(&body).unwrap_or_default();
    let part = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
    let message = match (part("error"), part("error_description")) {
        ("", "") => body.into_owned(),
        (error, "") => error.to_owned(),
        ("", description) => description.to_owned(),
        (error, description) => format!("{error}: {description}"),
    };
    if reply.status == 400 {
        let (service, reason) = (reply.service.clone(), shown(&message));
        return ProviderError::Unauthorized { service, reason };
    }
    reply.refused(&message)
}

const LONGEST: i64 = 24 * 3600;

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    fn reply(status: u16, body: &str) -> Reply {
        let body = body.as_bytes().to_vec();
        Reply { service: "login.test".to_owned(), status, headers: HeaderMap::new(), body }
    }

    #[test]
    fn a_token_is_read_with_its_end() {
        let start = Timestamp::UNIX_EPOCH;
        let later = |seconds| start + SignedDuration::from_secs(seconds);
        let good = [
            (r#"{"access_token":"a.b-c","expires_in":3599}"#, later(3599)),
            (r#"{"access_token":"a.b-c","expires_in":"3599"}"#, later(3599)),
            (r#"{"access_token":"a.b-c","expires_in":9000000000000000000}"#, later(LONGEST)),
            (r#"{"access_token":"a.b-c","expires_in":-5}"#, start),
        ];
        for (body, until) in good {
            let (token, end) = read(&reply(200, body), start).unwrap();
            assert_eq!((token.as_str(), end), ("a.b-c", until), "{body}");
        }
        let bad = [
            ("CANARY", "this is not JSON"),
            (r#"["CANARY"]"#, "there is no access_token in it"),
            (r#"{"access_token":5}"#, "there is no access_token in it"),
            (r#"{"access_token":"CAN\nARY","expires_in":1}"#, "its access_token is not one word"),
            (r#"{"access_token":"CANARY"}"#, "there is no expires_in in it"),
            (r#"{"access_token":"CANARY","expires_in":"soon"}"#, "there is no expires_in in it"),
        ];
        for (body, why) in bad {
            let error = read(&reply(200, body), start).unwrap_err().to_string();
            assert_eq!(error, format!("login.test sent an unusable answer: {why}"));
        }
    }

    #[test]
    fn a_refusal_is_said_with_its_description() {
        let cases = [
            (
                400,
                r#"{"error":"invalid_client","error_description":"secret expired"}"#,
                "login.test refuses the credentials: invalid_client: secret expired",
            ),
            (401, r#"{"error":"x"}"#, "login.test refuses the credentials: x"),
            (500, "x", "login.test answered 500: x"),
            (429, "", "login.test limits the rate of requests"),
        ];
        for (status, body, expected) in cases {
            assert_eq!(refused(&reply(status, body)).to_string(), expected);
        }
    }
}
