//! Revocation: certificates to be revoked before they expire, and keys that must not be used again
//! (RFC 5280 section 5.3.1, RFC 8555 section 7.6).

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Cause, LeafFacts, PublicKeyDigest};

/// Why a certificate is revoked, by the names of RFC 5280 section 5.3.1. `removeFromCRL` is not
/// among them: it is for delta CRLs alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum RevocationReason {
    /// No reason given.
    #[default]
    #[serde(rename = "unspecified")]
    Unspecified,
    /// Another party has, or may have, the private key.
    #[serde(rename = "keyCompromise")]
    KeyCompromise,
    /// Another party has the CA's key.
    #[serde(rename = "cACompromise")]
    CaCompromise,
    /// The subject's information in the certificate has changed.
    #[serde(rename = "affiliationChanged")]
    AffiliationChanged,
    /// Another certificate replaces it.
    #[serde(rename = "superseded")]
    Superseded,
    /// It is not needed any more.
    #[serde(rename = "cessationOfOperation")]
    CessationOfOperation,
    /// Temporarily not valid.
    #[serde(rename = "certificateHold")]
    CertificateHold,
    /// A privilege that it carries was withdrawn.
    #[serde(rename = "privilegeWithdrawn")]
    PrivilegeWithdrawn,
    /// Another party has the attribute authority's key.
    #[serde(rename = "aACompromise")]
    AaCompromise,
}

impl RevocationReason {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 9] = [
        Self::Unspecified,
        Self::KeyCompromise,
        Self::CaCompromise,
        Self::AffiliationChanged,
        Self::Superseded,
        Self::CessationOfOperation,
        Self::CertificateHold,
        Self::PrivilegeWithdrawn,
        Self::AaCompromise,
    ];

    /// The name in RFC 5280.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::KeyCompromise => "keyCompromise",
            Self::CaCompromise => "cACompromise",
            Self::AffiliationChanged => "affiliationChanged",
            Self::Superseded => "superseded",
            Self::CessationOfOperation => "cessationOfOperation",
            Self::CertificateHold => "certificateHold",
            Self::PrivilegeWithdrawn => "privilegeWithdrawn",
            Self::AaCompromise => "aACompromise",
        }
    }

    /// The CRLReason code.
    pub fn code(self) -> u8 {
        match self {
            Self::Unspecified => 0,
            Self::KeyCompromise => 1,
            Self::CaCompromise => 2,
            Self::AffiliationChanged => 3,
            Self::Superseded => 4,
            Self::CessationOfOperation => 5,
            Self::CertificateHold => 6,
            Self::PrivilegeWithdrawn => 9,
            Self::AaCompromise => 10,
        }
    }
}

impl fmt::Display for RevocationReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RevocationReason {
    type Err = RevocationReasonError;

    fn from_str(word: &str) -> Result<Self, RevocationReasonError> {
        let mut all = Self::ALL.into_iter();
        all.find(|reason| reason.as_str().eq_ignore_ascii_case(word))
            .ok_or_else(|| RevocationReasonError { word: word.to_owned() })
    }
}

/// The CA's answer to a revocation. It does not tell for which reason one was revoked before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevocationAnswer {
    Revoked,
    AlreadyRevoked,
}

impl RevocationAnswer {
    /// The answer in words: `revoked (superseded)`, `was already revoked`.
    pub fn describe(self, reason: RevocationReason) -> String {
        match self {
            Self::Revoked => format!("revoked ({reason})"),
            Self::AlreadyRevoked => "was already revoked".to_owned(),
        }
    }
}

/// A name that is no reason.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{word}` is not one of {}", RevocationReason::ALL.map(RevocationReason::as_str).join(", "))]
pub struct RevocationReasonError {
    pub word: String,
}

/// A revocation: requested, and owed until the CA has responded; or found at the CA.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Revocation {
    /// Serial number, lower-case hexadecimal.
    pub serial: String,
    /// SHA-256 over the DER, lower-case hexadecimal.
    pub fingerprint: String,
    pub reason: RevocationReason,
    /// When it was requested; later than `revokedAt`: when it was found that the CA had revoked the
    /// certificate by itself.
    #[schemars(with = "crate::resource::DateTime")]
    pub requested_at: Timestamp,
    /// Whether to revoke at once, not only after the replacement is deployed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_once: bool,
    /// Whether no replacement is issued until the user requests one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_replacement: bool,
    /// The certificate in PEM, as long as the revocation is owed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub certificate: String,
    /// When the CA confirmed the revocation, or made it by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub revoked_at: Option<Timestamp>,
    /// Why the CA refuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Cause>,
}

impl Revocation {
    /// Whether the CA has not responded yet.
    pub fn is_owed(&self) -> bool {
        self.revoked_at.is_none() && self.refusal.is_none()
    }

    /// Whether the CA revoked the certificate by itself, and certctl found that.
    pub fn was_found(&self) -> bool {
        self.revoked_at.is_some_and(|at| at < self.requested_at)
    }
}

/// `revoked/FINGERPRINT.json`: a certificate that its CA has revoked, for good: it is not adopted, whatever
/// becomes of the Certificate that it was issued for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevokedCertificate {
    /// Serial number, lower-case hexadecimal.
    pub serial: String,
    /// SHA-256 over the DER, lower-case hexadecimal.
    pub fingerprint: String,
    pub reason: RevocationReason,
    /// When the CA revoked it, or confirmed that.
    #[schemars(with = "crate::resource::DateTime")]
    pub revoked_at: Timestamp,
}

impl RevokedCertificate {
    /// This certificate, revoked at a time.
    pub fn new(leaf: &LeafFacts, reason: RevocationReason, revoked_at: Timestamp) -> Self {
        Self {
            serial: leaf.serial.clone(),
            fingerprint: leaf.fingerprint.clone(),
            reason,
            revoked_at,
        }
    }

    /// The same, as a CRL lists it: by the reason's name in RFC 5280.
    pub fn listed(leaf: &LeafFacts, reason: Option<&str>, revoked_at: Timestamp) -> Self {
        let reason = reason.and_then(|word| word.parse().ok()).unwrap_or_default();
        Self::new(leaf, reason, revoked_at)
    }

    /// What is kept of a revocation that the CA has confirmed, or made by itself; `None` of others.
    pub fn of(revocation: &Revocation) -> Option<Self> {
        let Revocation { serial, fingerprint, reason, revoked_at, .. } = revocation;
        Some(Self {
            serial: serial.clone(),
            fingerprint: fingerprint.clone(),
            reason: *reason,
            revoked_at: (*revoked_at)?,
        })
    }
}

/// A revocation that is done, by us or by the CA itself.
impl From<RevokedCertificate> for Revocation {
    fn from(revoked: RevokedCertificate) -> Self {
        Self {
            serial: revoked.serial,
            fingerprint: revoked.fingerprint,
            reason: revoked.reason,
            requested_at: revoked.revoked_at,
            at_once: true,
            without_replacement: false,
            certificate: String::new(),
            revoked_at: Some(revoked.revoked_at),
            refusal: None,
        }
    }
}

/// `banned-keys.json`: keys that no certificate may use again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BannedKeys {
    /// Each key once, oldest first.
    pub keys: Vec<BannedKey>,
}

impl BannedKeys {
    /// Whether this key is among them.
    pub fn contains(&self, key: &PublicKeyDigest) -> bool {
        self.keys.iter().any(|banned| banned.public_key == *key)
    }
}

/// One banned key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BannedKey {
    /// Digest of its SubjectPublicKeyInfo.
    pub public_key: PublicKeyDigest,
    #[schemars(with = "crate::resource::DateTime")]
    pub since: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_the_words_and_codes_of_rfc_5280() {
        let expected = [
            ("unspecified", 0),
            ("keyCompromise", 1),
            ("cACompromise", 2),
            ("affiliationChanged", 3),
            ("superseded", 4),
            ("cessationOfOperation", 5),
            ("certificateHold", 6),
            ("privilegeWithdrawn", 9),
            ("aACompromise", 10),
        ];
        assert_eq!(RevocationReason::ALL.map(|reason| (reason.as_str(), reason.code())), expected);
        for (word, _) in expected {
            let reason: RevocationReason = word.parse().unwrap();
            assert_eq!(serde_json::to_value(reason).unwrap(), word);
            assert_eq!(word.to_lowercase().parse(), Ok(reason));
        }
        for word in ["", "removeFromCRL", "1", "key compromise"] {
            let error = RevocationReasonError { word: word.to_owned() };
            assert_eq!(word.parse::<RevocationReason>(), Err(error));
        }
    }
}
