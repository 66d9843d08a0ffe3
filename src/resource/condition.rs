//! Conditions, with cert-manager's types and reasons.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The condition types of Certificates, CertificateRequests and Issuers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionType {
    /// The object matches its spec.
    Ready,
    /// An issuance is requested and in progress.
    Issuing,
}

/// True, False or Unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
// The three values of Kubernetes.
pub enum ConditionStatus {
    True,
    False,
    Unknown,
}

/// The closed list of CamelCase reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
// cert-manager's reasons; reference: its policies/constants.go.
pub enum Reason {
    // Trigger and readiness.
    DoesNotExist,
    MissingData,
    InvalidKeyPair,
    InvalidCertificate,
    SecretMismatch,
    IncorrectIssuer,
    IncorrectCertificate,
    RequestChanged,
    Renewing,
    Expired,
    Revoked,
    BannedKey,
    WindowError,
    ManuallyTriggered,
    Ready,
    // Requests and orders.
    Pending,
    Issued,
    Failed,
    // Events.
    Issuing,
    Generated,
    Reused,
    Deleted,
    CannotRegenerateKey,
    Requested,
    OrderCreated,
    Created,
    Complete,
    Solver,
    Started,
    Located,
    Requeued,
    Released,
    Presented,
    PresentError,
    DomainVerified,
    CleanUpError,
    Adopted,
    Deployed,
    DeployFailed,
    RevocationFailed,
    RolledBack,
    RollbackFailed,
    MissingLinks,
    LinksRestored,
    DamagedFiles,
    FilesRestored,
    SecretTemplateMismatch,
    AdditionalOutputFormatsMismatch,
    ACMEAccountRegistered,
    ErrVerifyACMEAccount,
    ErrRegisterACMEAccount,
    ErrUpdateACMEAccount,
}

impl Reason {
    /// The value as written in a condition.
    pub fn as_str(self) -> String {
        format!("{self:?}")
    }
}

/// One condition (metav1.Condition, with cert-manager's observedGeneration).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Condition {
    /// Which condition this is.
    #[serde(rename = "type")]
    pub kind: ConditionType,
    /// Whether the condition holds.
    pub status: ConditionStatus,
    /// For programs.
    pub reason: Reason,
    /// For users.
    pub message: String,
    /// When `status` last changed; other changes do not affect it.
    #[schemars(with = "crate::resource::DateTime")]
    pub last_transition_time: Timestamp,
    /// The generation of the spec that the condition refers to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
