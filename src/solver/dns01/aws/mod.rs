//! What Amazon's services have in common: credentials, signatures, XML.

mod credentials;
mod failure;
mod keys;
mod machine;
mod region;
mod sigv4;
mod xml;

pub(super) use credentials::Credentials;
pub(super) use failure::Failure;
pub(super) use keys::Keys;
pub(super) use region::Region;
pub(super) use sigv4::Signer;
pub(super) use xml::{Element, escaped};
