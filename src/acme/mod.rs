//! RFC 8555 on the wire: one effect becomes requests, and their answer a typed result.
//!
//! Nothing here decides. [`Client`] is one CA for one run, shared by all its orders: it owns the
//! connection, the directory and the nonces. [`Session`] is an account at that CA; each of its
//! methods is exactly one request (besides a nonce, and besides what is repeated because the CA
//! refused a nonce or could not be reached), and works from stored URLs alone.
//!
//! Every request is signed in one place, `jws`, by one type of key, which is made of any
//! [`PrivateKey`](crate::pki::PrivateKey): an account's, or a certificate's own for its revocation.
//! All go over one transport and one pool of nonces. Problem documents and identifiers are decoded
//! as `instant-acme` has them. The other objects are read here, for the crate's types know neither
//! `expires` nor states and challenges that come later, and its calls hide Retry-After and Link.
//! Every text of the CA is data: whoever shows it calls [`crate::resource::escape`] first, as the `Display` of
//! [`AcmeError`] does.

mod account;
mod answer;
mod authorization;
mod chain;
mod client;
mod directory;
mod eab;
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
pub use error::AcmeError;
pub use key::AccountKey;
pub use limit::Limits;
pub use order::{NewOrder, OrderView};
pub use session::Session;
pub use tls::system_tls;
