//! DNS-01 (RFC 8555 section 8.4): a TXT value at a name, written through the zone's provider.
//!
//! One file per provider, and one line in [`PROVIDERS`]. Where the value belongs was found before,
//! and is on disk, as owed, when a provider is asked to write. A provider touches nothing but the
//! one value it is given: what else stands at the name stays.

mod acme_dns;
mod akamai;
mod api;
mod aws;
mod azure_dns;
mod cloud_dns;
mod cloudflare;
mod context;
mod digital_ocean;
mod error;
mod exec;
#[cfg(test)]
mod fake;
mod kept;
mod list;
#[cfg(feature = "more-dns-providers")]
mod more;
mod oauth;
mod percent;
mod redact;
mod rfc2136;
mod route53;
mod suffixes;
mod token_file;
mod txt;
mod webhook;

use futures_util::future::LocalBoxFuture;

pub use api::{Api, Call, Reply, Tls};
pub use context::{Context, Lookup, ReadSecret};
pub use error::ProviderError;
pub use list::{Entry, Open, PROVIDERS, entries, entry_of, open};

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

/// Writes into one provider's zones, with the credentials of one solver.
pub trait DnsProvider {
    /// Makes sure that the value is among those at the name. A second time changes nothing.
    fn present<'a>(&'a self, record: &'a TxtRecord) -> Deed<'a>;

    /// Makes sure that the value is not among those at the name; the others stay. One that is gone
    /// already is a success.
    fn clean_up<'a>(&'a self, record: &'a TxtRecord) -> Deed<'a>;

    /// Whether the credentials can read the zone that would hold `name`: says what was found, in
    /// one line. Changes nothing.
    fn check<'a>(&'a self, name: &'a str, zone: &'a str) -> Deed<'a, String>;
}
