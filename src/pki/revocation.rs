//! The revocation status of a certificate, by CRL or OCSP.
//!
//! Contract: an answer that is not from the issuer, not current, or not about this certificate is a
//! [`RevocationDoubt`], never "good".

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

use super::verify::MAX_SKEW;

/// What a valid answer says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "status")]
pub enum Revocation {
    /// Not revoked when the answer was made.
    Good {
        /// When the answer was made.
        #[schemars(with = "crate::resource::DateTime")]
        this_update: Timestamp,
        /// Until when it holds.
        #[schemars(with = "Option<crate::resource::DateTime>")]
        next_update: Option<Timestamp>,
    },
    /// Revoked.
    Revoked {
        /// Since when.
        #[schemars(with = "crate::resource::DateTime")]
        at: Timestamp,
        /// Why, in the words of RFC 5280 section 5.3.1, when the CA says so.
        reason: Option<&'static str>,
    },
}

/// Why an answer does not count.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RevocationDoubt {
    #[error("the answer is damaged: {reason}")]
    Damaged { reason: String },
    #[error("the answer comes from `{found}`, not from the issuer")]
    OtherIssuer { found: String },
    #[error("the answer is not signed by the issuer")]
    WrongSigner,
    #[error("the answer is signed with algorithm {oid}, which is not known")]
    SignatureAlgorithm { oid: String },
    #[error("the answer is dated {this_update}, in the future")]
    NotYetValid { this_update: Timestamp },
    #[error("the answer expired at {next_update}")]
    Expired { next_update: Timestamp },
    #[error("the answer of {this_update} has no end of its validity and is too old")]
    Undated { this_update: Timestamp },
    #[error("the answer does not cover this certificate: {why}")]
    Scope { why: &'static str },
    #[error("the responder refuses to answer: {status}")]
    Refused { status: &'static str },
    #[error("the responder does not know the certificate")]
    NotKnown,
}

impl RevocationDoubt {
    #[expect(clippy::needless_pass_by_value, reason = "map_err gives the error away")]
    pub(super) fn damaged(error: impl ToString) -> Self {
        Self::Damaged { reason: error.to_string() }
    }
}

/// Whether an answer is current.
pub(super) fn check_dates(
    this_update: Timestamp,
    next_update: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), RevocationDoubt> {
    if this_update.duration_since(now) > MAX_SKEW {
        return Err(RevocationDoubt::NotYetValid { this_update });
    }
    match next_update {
        Some(next_update) if next_update <= now => Err(RevocationDoubt::Expired { next_update }),
        None if now.duration_since(this_update) > MAX_UNDATED => {
            Err(RevocationDoubt::Undated { this_update })
        }
        Some(_) | None => Ok(()),
    }
}

/// The name of a CRLReason (RFC 5280 section 5.3.1); none for "unspecified".
pub(super) fn reason_word(code: u8) -> Option<&'static str> {
    let word = REASONS.iter().find(|(known, _)| *known == code);
    word.map(|(_, word)| *word)
}

const REASONS: [(u8, &str); 8] = [
    (1, "keyCompromise"),
    (2, "cACompromise"),
    (3, "affiliationChanged"),
    (4, "superseded"),
    (5, "cessationOfOperation"),
    (6, "certificateHold"),
    (9, "privilegeWithdrawn"),
    (10, "aACompromise"),
];

/// An answer without nextUpdate (RFC 6960 section 2.4 allows it) means that a newer one is always
/// available, so an old one is a replay.
const MAX_UNDATED: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);
