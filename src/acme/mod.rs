//! RFC 8555 on the wire: one deed becomes requests, and their answer a typed result.
//!
//! Nothing here decides. [`Client`] is one CA for one run, shared by all its orders: it owns the
//! connection, the directory and the nonces. [`Session`] is an account at that CA; each of its
//! methods is exactly one request (besides a nonce, and besides what is repeated because the CA
//! refused a nonce or could not be reached), and works from stored URLs alone.
//!
//! Which request goes which way:
//!
//! | request | signed by | why |
//! | --- | --- | --- |
//! | newOrder | `instant-acme` | what the crate is for |
//! | newOrder with `notAfter` | our `jws` | the crate cannot send it |
//! | every POST-as-GET: order, authorization, certificate, alternate chain | `instant-acme` | `Account::order(url)` is one signed POST-as-GET of any URL |
//! | accept, finalize | our `jws` | the crate wants an authorization or order read first: one request more after a restart |
//! | newAccount, contacts, deactivation | our `jws` | the key must be on disk before the request, and EAB with such a key is beyond the crate |
//! | revocation | our `jws` | works from a stored certificate, and with the certificate's own key |
//!
//! All go over one transport and one pool of nonces. Answers are read here and not by the crate,
//! which knows neither `expires` nor Retry-After nor unknown words and loses the status of what is
//! not JSON. Every text of the CA is data: whoever shows it calls [`escape`] first, as the
//! `Display` of [`AcmeError`] does.

mod account;
mod answer;
mod authorization;
mod certificate_key;
mod chain;
mod client;
mod directory;
mod error;
mod field;
mod jws;
mod key;
mod limit;
mod link;
mod nonce;
mod order;
mod problem;
mod retry_after;
mod revocation;
mod session;
mod shim;
mod tls;
mod transport;

#[cfg(test)]
mod tests;

pub use account::{AccountAnswer, AccountStatus, Eab};
pub use authorization::{AuthorizationView, ChallengeView};
pub use certificate_key::CertificateKey;
pub use chain::Downloaded;
pub use client::{Client, Endpoint};
pub use directory::Directory;
pub(crate) use error::causes;
pub use error::{AcmeError, escape};
pub use key::AccountKey;
pub use limit::Limits;
pub use order::{NewOrder, OrderView};
pub use session::Session;
pub use tls::system_tls;
