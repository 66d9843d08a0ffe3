//! Answers modified by fault rules, and the body that can end early or never.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderName, HeaderValue, Response};
use hyper::body::{Body, Frame};
use jiff::Timestamp;
use rcgen::{KeyPair, PublicKeyData};
use serde_json::{Value, json};
use thiserror::Error;

use super::{Fault, WrongCertificate};
use crate::rehearsal::Shared;
use crate::rehearsal::issue::{Hierarchy, Issuance, Leaf};
use crate::rehearsal::problem::{Problem, ProblemType};
use crate::rehearsal::reply::{Content, Reply};
use crate::resource::Identifier;

/// The connection is closed here on purpose.
#[derive(Debug, Error)]
#[error("cut on purpose")]
pub(in crate::rehearsal) struct Cut;

/// A body: data, then blanks, then possibly a closed connection.
#[derive(Debug)]
pub(in crate::rehearsal) struct Answer {
    data: Bytes,
    blanks: u64,
    ends_early: bool,
    is_flushed: bool,
}

impl From<Bytes> for Answer {
    fn from(data: Bytes) -> Self {
        Self { data, blanks: 0, ends_early: false, is_flushed: false }
    }
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
        // The data is flushed to the client before the connection is closed.
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

/// The answer of a fault that replaces the execution of the request.
pub(super) fn instead(fault: &Fault) -> Option<Reply> {
    if *fault == Fault::BadNonce {
        let detail = "the nonce is refused on purpose";
        return Some(Problem::new(ProblemType::BadNonce, detail).into());
    }
    if let Fault::Pace { .. } = fault {
        return instead(&Fault::rate_limited(Some("1")));
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

/// The complete answer, modified.
pub(super) fn reply(
    shared: &Shared,
    mut reply: Reply,
    faults: Vec<Fault>,
) -> Option<Response<Answer>> {
    if faults.contains(&Fault::LoseReply) {
        return None;
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
    let (mut head, data) = reply.into_response().into_parts();
    let mut answer = Answer::from(data);
    for fault in &faults {
        spoil_body(&mut answer, fault);
    }
    let headers = &mut head.headers;
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
    Some(Response::from_parts(head, answer))
}

/// The wrong certificate and chain for this fault.
pub(super) fn certificate(
    wrong: &WrongCertificate,
    hierarchy: &Hierarchy,
    key: &impl PublicKeyData,
    leaf: &Leaf,
    now: Timestamp,
) -> Result<Issuance, rcgen::Error> {
    let mut leaf = leaf.clone();
    let hours = |count: i64| jiff::SignedDuration::from_hours(count);
    match wrong {
        WrongCertificate::OtherNames(names) => {
            let names = names.iter().filter_map(|name| name.parse().ok());
            leaf.identifiers = names.map(Identifier::Dns).collect();
            leaf.common_name = None;
        }
        WrongCertificate::ExtraAddress(address) => {
            leaf.identifiers.push(Identifier::Ip(*address));
        }
        WrongCertificate::Expired => {
            leaf.not_before = now - hours(48);
            leaf.not_after = now - hours(1);
        }
        WrongCertificate::NotYetValid => leaf.not_before = now + hours(240),
        WrongCertificate::OtherKey
        | WrongCertificate::BrokenChain
        | WrongCertificate::LeafLast
        | WrongCertificate::Garbage
        | WrongCertificate::Empty => {}
    }
    let signed = if *wrong == WrongCertificate::OtherKey {
        hierarchy.sign(&KeyPair::generate()?, &leaf)?
    } else if *wrong == WrongCertificate::BrokenChain {
        Hierarchy::generate(false)?.sign(key, &leaf)?
    } else {
        hierarchy.sign(key, &leaf)?
    };
    let mut chains = hierarchy.chains(&signed.pem());
    if *wrong == WrongCertificate::LeafLast {
        chains = hierarchy.chains("").iter().map(|chain| chain.clone() + &signed.pem()).collect();
    } else if *wrong == WrongCertificate::Garbage {
        chains.fill(GARBAGE.to_owned());
    } else if *wrong == WrongCertificate::Empty {
        chains.fill(String::new());
    }
    Ok((signed.der().to_vec(), chains))
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

/// The wrong prefix of this CA's URLs.
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
const GARBAGE: &str = "-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU\n-----END CERT";
