//! The operations of a DNS provider.

use std::fmt;
use std::fs::File;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;

use super::ProviderError;

/// A TXT value and where it belongs. Names are in lower case, without a trailing dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxtRecord {
    /// The domain to validate, without `*.`.
    pub domain: String,
    /// The name of the record: `_acme-challenge.` and the domain, or the target of its CNAMEs.
    pub name: String,
    /// The zone of the name, found by its SOA; empty for a provider that needs none.
    pub zone: String,
    /// The value (RFC 8555 section 8.4): 43 characters of base64url.
    pub value: String,
}

/// The requested action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Add the value.
    Present,
    /// Remove the value.
    CleanUp,
}

/// A program of the operator's, which may outlive certctl; shown by its name.
pub trait SolverProgram: fmt::Display {
    /// How long one run may take.
    fn limit(&self) -> Duration;

    /// Runs the program, which inherits the lock.
    fn run<'a>(
        &'a self,
        action: Action,
        record: &'a TxtRecord,
        lock: Option<&'a File>,
    ) -> ProviderFuture<'a>;
}

/// The future result of a provider's operation.
pub type ProviderFuture<'a, T = ()> = LocalBoxFuture<'a, Result<T, ProviderError>>;

/// A provider that is ready, or the reason why it is not.
pub type Opened = Result<Box<dyn DnsProvider>, ProviderError>;

/// A client that writes into one provider's zones with the credentials of one solver.
pub trait DnsProvider {
    /// Adds the value to those at the name. Idempotent.
    fn present<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a>;

    /// Removes the value from those at the name; the others stay. Succeeds when the value is
    /// already absent.
    fn clean_up<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a>;

    /// Whether the zone must be looked up in the DNS before a value is written.
    fn needs_zone(&self) -> bool {
        true
    }

    /// The provider itself, when it is a program of the operator's.
    fn as_program(&self) -> Option<&dyn SolverProgram> {
        None
    }

    /// Checks that the credentials can read the zone that would hold `name`; returns a one-line
    /// report. Changes nothing.
    fn check<'a>(&'a self, name: &'a str, zone: &'a str) -> ProviderFuture<'a, String>;
}
