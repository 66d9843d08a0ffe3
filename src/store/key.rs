//! What is stored, by name: documents, logs and locks.

use serde::{Deserialize, Serialize};

use crate::resource::NamespacedName;

/// The identity of a stored document. Only the store knows its file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// All that is stored of a certificate, in one [`Frame`](super::Frame).
    Certificate(NamespacedName),
    /// A part of it, which can be read and set aside by itself. It is written with the others.
    Part(NamespacedName, Part),
    /// The pair of one revision, by the fingerprint of its leaf: key and chain, PEM. Created before the
    /// record names it, and never changed; only where [`Documents::SHARED`](super::Documents::SHARED).
    Pair(NamespacedName, u32, String),
    /// `resource::Account`, by the digest of its identity.
    Account(String),
    /// The account's private key, PKCS#8 PEM.
    AccountKey(String),
    /// `resource::AccountLimits` of an account.
    AccountLimits(String),
    /// `resource::BannedKeys`, written under [`Lock::Scheduler`] only: that lock covers what all
    /// certificates share.
    BannedKeys,
    /// `resource::RevokedCertificate`, by its fingerprint. Written once, and never changed.
    Revoked(String),
    /// `resource::Queue`, written under [`Lock::Scheduler`] only. Only living processes need it, so
    /// that a write of it need not be durable.
    Scheduler,
}

impl Key {
    /// The certificate that the document belongs to: it is written under [`Lock::Certificate`].
    pub fn certificate(&self) -> Option<&NamespacedName> {
        match self {
            Self::Certificate(name) | Self::Part(name, _) | Self::Pair(name, ..) => Some(name),
            Self::Account(_)
            | Self::AccountKey(_)
            | Self::AccountLimits(_)
            | Self::BannedKeys
            | Self::Revoked(_)
            | Self::Scheduler => None,
        }
    }
}

/// A part of what is stored of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Part {
    /// `resource::CertificateRecord`.
    #[serde(rename = "certificate")]
    Record,
    /// `resource::CertificateRequest` of one revision.
    Request(u32),
    /// `resource::Order` number n of one revision.
    Order(u32, u32),
    /// The next private key, PKCS#8 PEM.
    NextKey,
}

impl Part {
    /// This part of a certificate.
    pub fn of(self, certificate: &NamespacedName) -> Key {
        Key::Part(certificate.clone(), self)
    }
}

/// Which documents to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Collection {
    /// All `Key::Certificate`.
    Certificates,
    /// All `Key::Pair` of one certificate, by revision.
    Pairs(NamespacedName),
    /// All `Key::Account`.
    Accounts,
}

/// What is only ever appended to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Log {
    /// The events of a certificate, for people: not durable, and the oldest go.
    Events(NamespacedName),
    /// `issuance.log`: durable, and nothing of it goes.
    Issuances,
}

/// What can be locked. Order: certificate, then account or scheduler, then run;
/// never the reverse.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Lock {
    /// One certificate's documents and secret.
    Certificate(NamespacedName),
    /// One account, by the digest of its identity.
    Account(String),
    /// The queue of challenges.
    Scheduler,
    /// The life of one run that has challenges: if another run can take it, that run has ended.
    /// The number is the smallest that no other run holds. Taken under [`Lock::Scheduler`].
    Run(u32),
    /// The one `certctl run` of a host: on a shared store, each host has its own.
    Service,
    /// One order at a CA, by the digest of its URL: held while a certificate's run works on it. It
    /// is tried, and waited for only by a run that holds no other one.
    Order(String),
}
