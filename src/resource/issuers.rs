//! The issuers of one Certificate.

use std::sync::Arc;

use super::Issuer;

/// The issuers of a Certificate, in the order in which their CAs are to be asked: at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuers {
    /// The one that `issuerRef` names.
    pub first: Arc<Issuer>,
    /// Those to be asked instead.
    pub others: Vec<Arc<Issuer>>,
}

impl Issuers {
    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Issuer> {
        std::iter::once(&self.first).chain(&self.others).map(AsRef::as_ref)
    }
}

impl From<Arc<Issuer>> for Issuers {
    fn from(only: Arc<Issuer>) -> Self {
        Self { first: only, others: Vec::new() }
    }
}
