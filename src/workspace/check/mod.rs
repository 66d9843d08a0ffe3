//! `certctl check` and what `doctor` shares with it: how a name, a CA and this host's port are now,
//! as data.
//!
//! Contract: nothing is registered, ordered or left behind; a test token is served only meanwhile.
//! What could not be found out is a value too, with the reason.

mod account;
mod acme;
mod alerts;
mod dns;
mod http;
mod issuer;
mod known;
mod names;
mod port;
mod served;
mod tls_alpn;

pub use crate::acme::{AccountKey, AccountStatus, Directory};
pub use crate::probe::{Caa, CaaRecord, DnsError, LookupError, is_of_this_host};
pub use crate::solver::listener::{Holder, ListenError};
pub use account::{AccountState, AccountUnknown, KeyPlace, UnusableKey, has_unused_key};
pub use acme::{CaCheck, NoDirectory, ServerTls, directory_of_ca};
pub use alerts::TriedHook;
pub use dns::{DnsCheck, SelfCheck};
pub use http::HttpCheck;
pub use issuer::{CaaVerdict, CheckedProvider, IssuerCheck};
pub use known::Known;
pub use port::{BadAddress, Port, PortError, WebServer};
pub use served::ServedCheckError;
pub use tls_alpn::TlsAlpnCheck;

#[cfg(test)]
pub(crate) use dns::testing;
