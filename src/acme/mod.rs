//! RFC 8555 on the wire: one operation becomes requests, and their answer a typed result.
//!
//! This module makes no decisions. [`Client`] is one CA for one run, shared by all its orders: it
//! owns the connection, the directory and the nonces. [`Session`] is an account at that CA; each of
//! its methods is exactly one request (besides newNonce, and besides retries because the CA
//! rejected a nonce or could not be reached), and uses only stored URLs.
//!
//! Every request is signed in one place, `jws`, by one type of key, which is made from any
//! [`PrivateKey`](crate::pki::PrivateKey): an account's, or a certificate's own for its revocation.
//! All requests share one transport and one pool of nonces. Problem documents, identifiers and
//! renewal windows are decoded by the types of `instant-acme`. The other objects are read and
//! written here: of its types, orders and authorizations know neither `expires` nor states to come
//! (an unknown word is text here, and read again), a challenge that cannot be read makes its
//! authorization unreadable, newOrder has no `notAfter`, newAccount no external account binding, a
//! revocation's reason cannot be made from its code, and the directory is private. Its functions
//! sign with P-256 only, and hide Retry-After and Link.
//! Texts of the CA are untrusted: code that displays them calls [`crate::resource::escape`] first,
//! as the `Display` of [`AcmeError`] does.

mod account;
mod answer;
mod authorization;
mod chain;
mod client;
mod directory;
mod eab;
mod error;
mod field;
mod host;
mod jws;
mod key;
mod limit;
mod link;
mod nonce;
mod order;
mod pace;
pub mod preferred_chain;
mod problem;
mod renewal_info;
mod retry_after;
mod revocation;
mod session;
mod tls;
mod transport;

#[cfg(test)]
mod tests;

pub use account::{AccountAnswer, AccountStatus};
pub use authorization::{AuthorizationView, ChallengeView};
pub use chain::Downloaded;
pub use client::{Client, Endpoint};
pub use directory::Directory;
pub use eab::Eab;
pub use error::{AcmeError, Distrust};
pub use key::AccountKey;
pub use limit::Limits;
pub use order::{NewOrder, OrderView};
pub use renewal_info::RenewalInfo;
pub use session::Session;
pub use tls::system_tls;
pub use transport::{RequestCounts, RequestKind};
