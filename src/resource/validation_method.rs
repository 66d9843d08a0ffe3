//! Validation method (the word of RFC 8657): what a challenge type is, as data.

use super::Identifier;

/// A challenge type that certctl solves. One row each, in `challenge.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidationMethod {
    /// The type on the wire, as in RFC 8555 section 9.7.8 and RFC 8657 section 4.
    pub word: &'static str,
    /// Where the answer is.
    pub presence: Presence,
    /// The TCP port of the name that the CA connects to; `None` if it connects to none.
    pub port: Option<u16>,
    pub(super) proves: Proves,
}

/// Where the answer to a challenge is while the CA validates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// A server gives it, of the run itself or with a file of the run: each run presents it anew.
    Served,
    /// A DNS record, which stays until it is removed: its place is stored before it is written.
    Record,
}

/// The identifiers of which a method proves control (RFC 8555 sections 8.3 and 8.4, RFC 8738).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proves {
    /// DNS names that are no wildcards, and addresses.
    Hosts,
    /// DNS names, with wildcards.
    Names,
}

impl ValidationMethod {
    /// Whether it proves control of the identifier (the name without `*.`), or of `*.` it.
    pub fn proves(&self, identifier: &Identifier, wildcard: bool) -> bool {
        match (self.proves, identifier) {
            (Proves::Hosts, Identifier::Dns(_)) => !wildcard,
            (Proves::Hosts, Identifier::Ip(_)) | (Proves::Names, Identifier::Dns(_)) => true,
            (Proves::Names, Identifier::Ip(_)) => false,
        }
    }
}
