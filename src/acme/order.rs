//! Orders as the CA describes them (RFC 8555 section 7.1.3).

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::error::{AcmeError, excerpt};
use super::{field, problem};
use crate::resource::{Identifier, OrderState, Problem};

/// The content of newOrder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// The names to certify.
    pub identifiers: Vec<Identifier>,
    /// The requested profile.
    pub profile: Option<String>,
    /// The requested end of validity.
    pub not_after: Option<Timestamp>,
    /// The identifier of the certificate that the order replaces (RFC 9773 section 5).
    pub replaces: Option<String>,
}

/// An order as the CA described it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderView {
    pub url: String,
    pub state: OrderState,
    /// The identifiers of the order.
    pub identifiers: Vec<Identifier>,
    /// The URLs of its authorizations, in the CA's order.
    pub authorizations: Vec<String>,
    /// The finalize URL. A new order always has it.
    pub finalize_url: Option<String>,
    /// The certificate URL.
    pub certificate_url: Option<String>,
    /// The certificate that the order replaces; `None` too when the CA ignored the field.
    pub replaces: Option<String>,
    /// When the CA deletes the order.
    pub expires: Option<Timestamp>,
    pub problem: Option<Problem>,
    /// Retry-After, from now.
    pub retry_after: Option<SignedDuration>,
}

/// Reads the answer to newOrder: the order must be for the requested identifiers, and have its
/// URLs.
pub(super) fn read_new(answer: &Answer, requested: &[Identifier]) -> Result<OrderView, AcmeError> {
    let Some(location) = &answer.location else {
        return Err(answer.malformed("the answer has no Location"));
    };
    let url = field::https_from(answer, location, "order")?;
    let mut view = read(answer, &url)?;
    let set = |of: &[Identifier]| of.iter().cloned().collect::<BTreeSet<_>>();
    if view.finalize_url.is_none() {
        return Err(answer.malformed("the order has no `finalize`"));
    }
    if view.identifiers.is_empty() {
        view.identifiers = requested.to_vec();
    } else if set(&view.identifiers) != set(requested) {
        let (found, requested) = (names(&view.identifiers), names(requested));
        return Err(answer.malformed(format!("the order is for {found}, not for {requested}")));
    }
    Ok(view)
}

/// An identifier of a certificate with a longer key identifier than any digest.
const LONGEST_ID: usize = 256;

/// However few names an order has.
const MOST_AUTHORIZATIONS: usize = 100;

/// Reads an order object.
pub(super) fn read(answer: &Answer, url: &str) -> Result<OrderView, AcmeError> {
    let value = answer.json()?;
    let identifiers = value.get("identifiers").and_then(Value::as_array);
    let identifiers: Vec<Identifier> = identifiers
        .into_iter()
        .flatten()
        .map(|identifier| field::identifier(answer, identifier))
        .collect::<Result<_, _>>()?;
    let mut authorizations = field::urls(&value, "authorizations")?;
    let mut seen = BTreeSet::new();
    authorizations.retain(|url| seen.insert(url.clone()));
    // An order has one for each name; without a bound, a CA decides how much is read and stored.
    let most = MOST_AUTHORIZATIONS.max(identifiers.len().saturating_mul(2));
    if authorizations.len() > most {
        let count = authorizations.len();
        return Err(
            answer.malformed(format!("the order has {count} authorizations, more than {most}"))
        );
    }
    Ok(OrderView {
        url: url.to_owned(),
        state: OrderState::from(field::word(&value, "status")),
        identifiers,
        authorizations,
        finalize_url: field::optional_url(&value, "finalize")?,
        certificate_url: field::optional_url(&value, "certificate")?,
        replaces: Some(field::text(&value, "replaces"))
            .filter(|id| (1..=LONGEST_ID).contains(&id.len()))
            .map(str::to_owned),
        expires: field::time(&value, "expires"),
        problem: value.get("error").and_then(|error| problem::parse(error, None)),
        retry_after: answer.retry_after,
    })
}

/// The payload of newOrder (RFC 8555 section 7.4).
pub(super) fn payload(new: &NewOrder) -> Value {
    let identifiers: Vec<_> = new.identifiers.iter().map(field::wire_identifier).collect();
    let mut payload = Map::new();
    payload.insert("identifiers".to_owned(), json!(identifiers));
    if let Some(profile) = &new.profile {
        payload.insert("profile".to_owned(), json!(profile));
    }
    if let Some(not_after) = new.not_after {
        payload.insert("notAfter".to_owned(), json!(not_after.to_string()));
    }
    if let Some(replaces) = &new.replaces {
        payload.insert("replaces".to_owned(), json!(replaces));
    }
    Value::Object(payload)
}

fn names(identifiers: &[Identifier]) -> String {
    let names: Vec<String> = identifiers.iter().map(ToString::to_string).collect();
    excerpt(&names.join(", "), 500)
}
