//! Plain data with serde, and no behaviour beyond its own meaning.
//!
//! Field names in JSON are cert-manager's, so that stored documents and `-o yaml` read
//! like the objects of a cluster. Nothing here reads a clock, a file or a socket.

mod account;
mod api;
mod causes;
mod certificate;
mod certificate_request;
mod challenge;
mod check;
mod condition;
mod cron;
mod deploy_target;
mod deployment;
pub mod dns01;
pub(crate) mod envelope;
mod escape;
mod event;
mod failure;
mod field;
mod finding;
mod first_process;
mod fix;
mod go_duration;
mod hex;
mod host;
mod http01;
mod issuer;
mod issuers;
mod key;
mod leaf;
mod ledger;
pub mod lets_encrypt;
mod limit;
mod metadata;
mod name;
mod order;
mod pause;
mod problem;
mod queue;
mod reach;
mod renewal_information;
mod response_code;
mod revocation;
mod rollback;
mod secret;
mod secret_key_selector;
mod selection;
mod settings;
mod state;
mod status;
mod terms;
mod text_form;
mod time;
mod usage;
mod validation_method;
mod zone;

pub use account::{Account, AccountIdentity, AccountStep};
pub use api::{ANNOTATION_PREFIX, API_VERSION, SOLVER, SOLVER_GROUP};
pub(crate) use causes::{causes, innermost};
pub use certificate::{
    Certificate, CertificateSpec, IssuerRef, Jks, KeystoreProfile, Keystores, NameConstraintItem,
    NameConstraints, OtherName, OutputFormat, Pkcs12, PrivateKeySpec, Renewal, RenewalPolicy,
    RenewalWindow, RequestedField, RotationPolicy, SecretTemplate, Subject,
};
pub use certificate_request::{CertificateRequest, CertificateRequestSpec};
pub use challenge::{
    Accepts, Challenge, ChallengeSpec, ChallengeState, ChallengeType, Dns01Target, EndedChallenge,
    PendingChallenge, Phase, Presented, ReasonSource,
};
pub use check::{
    AddressAnswer, AddressReport, Aliases, AnswerReport, CheckReport, Dns01Report, HandshakeReport,
    Http01Report, NameServerReport, Outlook, ServerAnswer, ShownCertificate, TlsAlpn01Report,
    Verdict, WrongHandshake, WrongResponse,
};
pub use condition::{Condition, ConditionStatus, ConditionType, Reason};
pub use cron::{Cron, CronError};
pub use deploy_target::{DeployStep, DeployTarget};
pub use deployment::Deployment;
pub(crate) use dns01::dns01_providers;
pub use dns01::{CnameStrategy, Dns01, Dns01Provider};
pub use escape::{
    defuse_commands, escape, escape_for_stream, escape_json, escape_lines, is_hidden,
};
pub use event::{Event, EventType};
pub use failure::{
    CaFailure, CaFault, Cause, CauseKind, ChallengeFailure, Doing, Failure, FailureClass,
    OrderFailure, ProgramFailure, ProviderFailure, ProviderFault, Waiting,
};
pub use field::{Choices, FieldDoc, FieldType, Used};
pub use finding::{Finding, Obstacle, Severity};
pub use first_process::FirstProcess;
pub use fix::{
    Check, Creation, Elsewhere, Fix, Letters, Look, Page, Permit, Reissue, Right, Schedule, Setting,
};
pub use go_duration::{GoDuration, GoDurationError};
pub use hex::hex;
pub use host::host_of;
pub use http01::{
    CHALLENGE_PATH, RECEIVED_HOST_HEADER, SELF_CHECK_HEADER, Token, TokenError,
    UNKNOWN_TOKEN_HEADER, challenge_url,
};
pub use issuer::{
    Acme, ExternalAccountBinding, Http01, Issuer, IssuerKind, RenewalInformationSource, Selector,
    Solver, SolverKind, is_public, is_staging,
};
pub use issuers::Issuers;
pub use key::{
    KeyAlgorithm, KeyEncoding, KeyFacts, PublicKeyDigest, RSA_SIZES, SignatureAlgorithm,
};
pub use leaf::{LeafFacts, only_in};
pub use ledger::{Issuance, Ledger, Limit, PUBLISHED, PublishedLimits, Spending, Spent};
pub use limit::{AccountLimits, FailedValidation, Refusal, Scope};
pub use metadata::{Metadata, Origin};
pub use name::{
    DnsName, Identifier, NameError, NamespacedName, base_of, is_dns_label, is_dns_subdomain,
    short_form,
};
pub use order::{
    Authorization, FailedOrder, OfferedChallenge, Order, OrderPhase, OrderSpec, OrderUrls,
};
pub use pause::Pause;
pub use problem::{Problem, Subproblem};
pub use queue::{Entry, Place, Queue};
pub use reach::Reach;
pub use renewal_information::{AcmeStatus, NoWindow, RenewalInformation, SuggestedWindow};
pub use response_code::response_code;
pub use revocation::{
    BannedKey, BannedKeys, Revocation, RevocationAnswer, RevocationReason, RevocationReasonError,
    RevokedCertificate,
};
pub use rollback::Rollback;
pub use secret::{
    DataLink, PublishedFormats, PublishedKeystore, PublishedPair, Remedy, Repair, SecretFiles,
    SecretLinks, SecretMetadata, StoredPair, annotation, annotations_of, csv, keystore,
};
pub use secret_key_selector::SecretKeySelector;
pub use selection::{Chosen, pick_solver};
pub use settings::Settings;
pub use state::{AuthorizationState, OrderState};
pub use status::{CertificateRecord, CertificateStatus, HostSection, Notice};
pub use terms::readable_terms;
pub use time::{DateTime, Rfc3339, rfc1123, rfc3339};
pub use usage::Usage;
pub use validation_method::{Presence, ValidationMethod};
pub use zone::{UnknownZone, Zone};
