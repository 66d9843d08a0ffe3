//! CertificateRequest: one revision's CSR, and its result.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Condition, GoDuration, IssuerRef, Metadata, Usage};

/// The request of one revision. Its spec never changes once written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CertificateRequest {
    /// `<certificate>-<revision>`, with the Certificate's labels and annotations.
    pub metadata: Metadata,
    /// The revision it is for, counted from 1.
    pub revision: u32,
    #[schemars(with = "crate::resource::DateTime")]
    pub creation_timestamp: Timestamp,
    pub spec: CertificateRequestSpec,
    /// Of the Certificate's spec it was built from, the fields that went to the CA: later edits are
    /// found by comparing with them.
    pub certificate_spec: super::CertificateSpec,
    /// The Ready condition: Pending, Issued or Failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The issued chain in PEM, leaf first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// When it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub failure_time: Option<Timestamp>,
}

/// `spec` of a CertificateRequest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CertificateRequestSpec {
    /// The CSR in PEM.
    pub request: String,
    /// Digest of the CSR's public key.
    pub public_key: super::PublicKeyDigest,
    /// The requested lifetime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<GoDuration>,
    /// Whether it requests a CA certificate.
    #[serde(default, rename = "isCA", skip_serializing_if = "std::ops::Not::not")]
    pub is_ca: bool,
    /// The requested usages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usages: Vec<Usage>,
    /// The issuer reference.
    pub issuer_ref: IssuerRef,
}

impl CertificateRequestSpec {
    /// The request for a Certificate's spec, with this CSR in PEM and this key.
    pub fn new(
        spec: &super::CertificateSpec,
        request: String,
        public_key: super::PublicKeyDigest,
    ) -> Self {
        Self {
            request,
            public_key,
            duration: spec.duration,
            is_ca: spec.is_ca,
            usages: spec.effective_usages().to_vec(),
            issuer_ref: spec.issuer_ref.clone(),
        }
    }
}
