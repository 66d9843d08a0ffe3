//! Identifiers as RFC 8555 section 9.7.7 and RFC 8738 write them in JSON.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::resource::Identifier;

use super::problem::{Problem, ProblemType};

/// An identifier as a client sent it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WireIdentifier {
    #[serde(rename = "type")]
    kind: String,
    pub(super) value: String,
}

impl WireIdentifier {
    /// As it was sent.
    pub(super) fn to_json(&self) -> Value {
        json!({ "type": self.kind, "value": self.value })
    }

    pub(super) fn parse(&self) -> Result<Identifier, Problem> {
        let rejected = |detail: String| Problem::new(ProblemType::RejectedIdentifier, detail);
        match self.kind.as_str() {
            "dns" => {
                self.value.parse().map(Identifier::Dns).map_err(|error| {
                    rejected(format!("invalid DNS name {:?}: {error}", self.value))
                })
            }
            "ip" => {
                self.value.parse().map(Identifier::Ip).map_err(|error| {
                    rejected(format!("invalid IP address {:?}: {error}", self.value))
                })
            }
            other => Err(Problem::new(
                ProblemType::UnsupportedIdentifier,
                format!("identifiers of type {other:?} are not issued here"),
            )),
        }
    }
}

pub(super) fn to_json(identifier: &Identifier) -> Value {
    match identifier {
        Identifier::Dns(name) => json!({ "type": "dns", "value": name.as_str() }),
        Identifier::Ip(address) => json!({ "type": "ip", "value": address.to_string() }),
    }
}

/// The same without a leading `*.`: the identifier of an authorization (RFC 8555 section 7.1.4).
pub(super) fn base_to_json(identifier: &Identifier) -> Value {
    json!({ "type": kind(identifier), "value": base(identifier) })
}

/// The name without `*.`, or the address, as text.
pub(super) fn base(identifier: &Identifier) -> String {
    match identifier {
        Identifier::Dns(name) => name.base().to_owned(),
        Identifier::Ip(address) => address.to_string(),
    }
}

pub(super) fn is_wildcard(identifier: &Identifier) -> bool {
    match identifier {
        Identifier::Dns(name) => name.is_wildcard(),
        Identifier::Ip(_) => false,
    }
}

fn kind(identifier: &Identifier) -> &'static str {
    match identifier {
        Identifier::Dns(_) => "dns",
        Identifier::Ip(_) => "ip",
    }
}
