//! Answers spoiled by rules of misbehaviour, and the body that can end early or never.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Response};
use hyper::body::{Body, Frame};
use serde_json::{Value, json};
use thiserror::Error;

use super::Shared;
use super::faults::Fault;
use super::problem::{Problem, ProblemType};
use super::reply::{Content, Reply};

/// What goes to the client.
#[derive(Debug)]
pub(super) enum Outcome {
    /// An answer.
    Answer(Response<Answer>),
    /// Nothing: the connection is closed.
    Cut,
}

/// The connection is cut here on purpose.
#[derive(Debug, Error)]
#[error("cut on purpose")]
pub(super) struct Cut;

impl From<Infallible> for Cut {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// A body: data, then blanks, then perhaps a cut.
#[derive(Debug)]
pub(super) struct Answer {
    data: Bytes,
    blanks: u64,
    ends_early: bool,
    is_flushed: bool,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        if !self.data.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.data)))));
        }
        if self.blanks > 0 {
            let some = self.blanks.min(u64::try_from(BLANKS.len()).unwrap_or(1));
            self.blanks = self.blanks.saturating_sub(some);
            let chunk = BLANKS.get(..usize::try_from(some).unwrap_or_default()).unwrap_or_default();
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(chunk)))));
        }
        if !self.ends_early {
            return Poll::Ready(None);
        }
        // What was sent so far leaves for the client before the connection is cut.
        if !std::mem::replace(&mut self.is_flushed, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.ends_early = false;
        Poll::Ready(Some(Err(Cut)))
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_empty() && self.blanks == 0 && !self.ends_early
    }
}

/// The answer that a fault gives instead of the deed.
pub(super) fn instead(fault: &Fault) -> Option<Reply> {
    if *fault == Fault::BadNonce {
        let detail = "the nonce is refused on purpose";
        return Some(Problem::new(ProblemType::BadNonce, detail).into());
    }
    if let Fault::Html { status } = fault {
        let page = format!("<html><head><title>{status}</title></head><body>Oops</body></html>\n");
        return Some(Reply::new(*status, Content::Html(page)));
    }
    if let Fault::Problem { status, kind, detail, retry_after } = fault {
        let problem = Problem::new(*kind, detail.clone()).with_status(*status);
        return Some(Reply::from(problem).retry_after(retry_after.clone()));
    }
    None
}

/// The finished answer, spoiled.
pub(super) fn reply(shared: &Shared, mut reply: Reply, faults: Vec<Fault>) -> Outcome {
    if faults.contains(&Fault::LoseReply) {
        return Outcome::Cut;
    }
    for fault in &faults {
        if let Content::Json(document) = &mut reply.content {
            spoil_document(shared, document, fault);
        }
        if let Some(base) = other_base(shared, fault) {
            for (_, value) in &mut reply.headers {
                *value = value.replace(&shared.base_url, &base);
            }
        }
    }
    let media_type = reply.content.media_type();
    let mut answer = Answer {
        data: reply.content.into_bytes().into(),
        blanks: 0,
        ends_early: false,
        is_flushed: false,
    };
    let mut response = Response::new(());
    *response.status_mut() = http::StatusCode::from_u16(reply.status).unwrap_or_default();
    let headers = response.headers_mut();
    for (name, value) in reply.headers {
        // A value that HTTP cannot carry is left out; a test gave it.
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.append(name, value);
        }
    }
    if let Some(media_type) = media_type {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    }
    for fault in &faults {
        spoil_body(&mut answer, fault);
    }
    if answer.blanks == 0 {
        let length = if answer.ends_early { answer.data.len() * 2 } else { answer.data.len() };
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    for fault in faults {
        if let Fault::DropHeader(name) = fault {
            headers.remove(name);
        } else if let Fault::SetHeader(name, value) = fault
            && let Ok(value) = HeaderValue::from_str(&value)
        {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    Outcome::Answer(response.map(|()| answer))
}

fn spoil_document(shared: &Shared, document: &mut Value, fault: &Fault) {
    if let Fault::StatusWord(word) = fault
        && let Some(status) = document.get_mut("status")
    {
        *status = word.clone().into();
    } else if let Fault::ForeignIdentifier(name) = fault {
        let foreign = json!({ "type": "dns", "value": name });
        if let Some(list) = document.get_mut("identifiers").and_then(Value::as_array_mut) {
            list.push(foreign);
        } else if let Some(identifier) = document.get_mut("identifier") {
            *identifier = foreign;
        }
    } else if let Some(base) = other_base(shared, fault) {
        replace_urls(document, &shared.base_url, &base);
    }
}

/// What URLs of this CA begin with instead.
fn other_base(shared: &Shared, fault: &Fault) -> Option<String> {
    if *fault == Fault::PlainHttpUrls {
        Some(shared.base_url.replacen("https://", "http://", 1))
    } else if let Fault::ForeignUrls(base) = fault {
        Some(base.clone())
    } else {
        None
    }
}

fn replace_urls(value: &mut Value, from: &str, to: &str) {
    if let Value::String(text) = value {
        if let Some(path) = text.strip_prefix(from) {
            *text = format!("{to}{path}");
        }
    } else if let Value::Array(list) = value {
        for item in list {
            replace_urls(item, from, to);
        }
    } else if let Value::Object(fields) = value {
        for field in fields.values_mut() {
            replace_urls(field, from, to);
        }
    }
}

fn spoil_body(answer: &mut Answer, fault: &Fault) {
    if let Fault::ReplaceBody(text) = fault {
        answer.data = text.clone().into_bytes().into();
    } else if *fault == Fault::TruncateBody {
        answer.data.truncate(answer.data.len() / 2);
        answer.ends_early = true;
    } else if let Fault::HugeBody(bytes) = fault {
        answer.blanks = bytes.saturating_sub(u64::try_from(answer.data.len()).unwrap_or(u64::MAX));
    }
}

static BLANKS: [u8; 16 * 1024] = [b' '; 16 * 1024];
