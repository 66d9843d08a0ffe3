//! Key usages and extended key usages, by cert-manager's names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One entry of `spec.usages` (RFC 5280 sections 4.2.1.3 and 4.2.1.12).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
// Each variant is the usage whose name it carries.
pub enum Usage {
    Signing,
    #[serde(rename = "digital signature")]
    DigitalSignature,
    #[serde(rename = "content commitment")]
    ContentCommitment,
    #[serde(rename = "key encipherment")]
    KeyEncipherment,
    #[serde(rename = "key agreement")]
    KeyAgreement,
    #[serde(rename = "data encipherment")]
    DataEncipherment,
    #[serde(rename = "cert sign")]
    CertSign,
    #[serde(rename = "crl sign")]
    CrlSign,
    #[serde(rename = "encipher only")]
    EncipherOnly,
    #[serde(rename = "decipher only")]
    DecipherOnly,
    Any,
    #[serde(rename = "server auth")]
    ServerAuth,
    #[serde(rename = "client auth")]
    ClientAuth,
    #[serde(rename = "code signing")]
    CodeSigning,
    #[serde(rename = "email protection")]
    EmailProtection,
    #[serde(rename = "s/mime")]
    SMime,
    #[serde(rename = "ipsec end system")]
    IpsecEndSystem,
    #[serde(rename = "ipsec tunnel")]
    IpsecTunnel,
    #[serde(rename = "ipsec user")]
    IpsecUser,
    Timestamping,
    #[serde(rename = "ocsp signing")]
    OcspSigning,
    #[serde(rename = "microsoft sgc")]
    MicrosoftSgc,
    #[serde(rename = "netscape sgc")]
    NetscapeSgc,
}

impl Usage {
    /// Every usage with its name in a manifest.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("signing", Self::Signing),
        ("digital signature", Self::DigitalSignature),
        ("content commitment", Self::ContentCommitment),
        ("key encipherment", Self::KeyEncipherment),
        ("key agreement", Self::KeyAgreement),
        ("data encipherment", Self::DataEncipherment),
        ("cert sign", Self::CertSign),
        ("crl sign", Self::CrlSign),
        ("encipher only", Self::EncipherOnly),
        ("decipher only", Self::DecipherOnly),
        ("any", Self::Any),
        ("server auth", Self::ServerAuth),
        ("client auth", Self::ClientAuth),
        ("code signing", Self::CodeSigning),
        ("email protection", Self::EmailProtection),
        ("s/mime", Self::SMime),
        ("ipsec end system", Self::IpsecEndSystem),
        ("ipsec tunnel", Self::IpsecTunnel),
        ("ipsec user", Self::IpsecUser),
        ("timestamping", Self::Timestamping),
        ("ocsp signing", Self::OcspSigning),
        ("microsoft sgc", Self::MicrosoftSgc),
        ("netscape sgc", Self::NetscapeSgc),
    ];

    /// Its name in a manifest.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, usage)| *usage == self).map_or("", |(name, _)| name)
    }

    /// Whether it is an extended key usage (RFC 5280 section 4.2.1.12): a CA takes the others from
    /// the kind of key.
    pub fn is_extended(self) -> bool {
        self >= Self::Any
    }

    /// cert-manager's defaults when `spec.usages` is empty.
    pub const DEFAULT: &'static [Self] = &[Self::DigitalSignature, Self::KeyEncipherment];
}
