//! One certificate to work on: the manifests, and the goal.

use std::path::PathBuf;
use std::sync::Arc;

use super::goal::Goal;
use crate::resource::{Certificate, Issuers, Obstacle, RevokedCertificate, SecretFiles, Settings};

/// One certificate to work on.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub certificate: Arc<Certificate>,
    pub issuers: Issuers,
    /// The manifest, as an absolute path; `None` for standard input.
    pub manifest: Option<PathBuf>,
    /// Absolute paths of the other files that it refers to.
    pub references: Vec<PathBuf>,
    /// Whether the user named it, by name or by file: a failed deployment is tried at once.
    pub is_named: bool,
    /// Whether a trusted certificate may be replaced by an untrusted one (`--allow-untrusted`).
    pub allow_untrusted: bool,
    /// Issue now, overriding the trigger and the backoff (`renew`).
    pub force: Option<Force>,
    pub goal: Goal,
    /// Set when its CA has revoked the live certificate by itself.
    pub revoked: Option<RevokedCertificate>,
    /// The pair in a `kind: Secret` manifest of that name, for adoption.
    pub secret: Option<SecretFiles>,
    /// Where that Secret may be that cannot be read, and what to do about it.
    pub unread_secret: Option<Obstacle>,
    /// Its manifest, or that of its Issuer, where another user than root can change it, and hooks run as
    /// root.
    pub of_others: Option<PathBuf>,
    /// Digest over everything whose edit may bypass the backoff.
    pub input_digest: String,
}

/// How an issuance is forced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Force {
    /// Make a new private key, overriding `rotationPolicy`.
    pub new_key: bool,
    /// Abandon a pending order, and order anew.
    pub new_order: bool,
    /// A requested revocation asks for it, and the issuance ends when that is cancelled.
    pub for_revocation: bool,
}

impl Force {
    /// Whether a renewal that another run has just finished is not what is asked for.
    pub(super) fn asks_for_more(self) -> bool {
        self.new_key || self.new_order || self.for_revocation
    }
}

impl Task {
    /// The Certificate's settings, with those of its first Issuer as defaults, whichever is asked.
    pub fn settings(&self) -> Settings {
        self.certificate.settings.or(&self.issuers.first.settings)
    }
}
