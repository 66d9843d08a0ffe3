//! What a DNS provider is asked for.

use futures_util::future::LocalBoxFuture;

use super::ProviderError;

/// A TXT value and where it belongs. Names are in lower case, without a trailing dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxtRecord {
    /// What is being proven, without `*.`.
    pub domain: String,
    /// The name of the record: `_acme-challenge.` and the domain, or where CNAMEs lead from there.
    pub name: String,
    /// The zone that holds the name, as its SOA says; empty for a provider that needs none.
    pub zone: String,
    /// The value (RFC 8555 section 8.4): 43 characters of base64url.
    pub value: String,
}

/// What a provider does, or why it could not.
pub type Deed<'a, T = ()> = LocalBoxFuture<'a, Result<T, ProviderError>>;

/// A provider that is ready, or why it is not.
pub type Opened = Result<Box<dyn DnsProvider>, ProviderError>;

/// Writes into one provider's zones, with the credentials of one solver.
pub trait DnsProvider {
    /// Makes sure that the value is among those at the name. A second time changes nothing.
    fn present<'a>(&'a self, record: &'a TxtRecord) -> Deed<'a>;

    /// Makes sure that the value is not among those at the name; the others stay. One that is gone
    /// already is a success.
    fn clean_up<'a>(&'a self, record: &'a TxtRecord) -> Deed<'a>;

    /// Whether the zone, as the DNS shows it, must be known before a value is written.
    fn needs_zone(&self) -> bool {
        true
    }

    /// Whether the credentials can read the zone that would hold `name`: says what was found, in
    /// one line. Changes nothing.
    fn check<'a>(&'a self, name: &'a str, zone: &'a str) -> Deed<'a, String>;
}
