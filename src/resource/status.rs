//! The record of a Certificate: cert-manager's CertificateStatus, and what a cluster keeps
//! elsewhere.

use std::collections::BTreeMap;
use std::mem;
use std::path::PathBuf;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AcmeStatus, BannedKeys, Condition, ConditionType, Deployment, Failure, LeafFacts,
    RenewalInformation, Revocation, Rollback,
};

/// `status.json` of one certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CertificateRecord {
    /// When certctl first loaded this Certificate.
    #[schemars(with = "crate::resource::DateTime")]
    pub creation_timestamp: Timestamp,
    /// Counts edits of the spec, from 1.
    pub generation: i64,
    /// SHA-256 over the spec's JSON: a different one is a new generation.
    pub spec_digest: String,
    /// The Secret this certificate owns.
    pub secret_name: String,
    /// Absolute path of the manifest; `None` for standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<PathBuf>,
    /// Absolute paths of the other files that it refers to: its issuer, its secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<PathBuf>,
    /// The directory URL that issued each kept revision.
    #[serde(default, rename = "directoryURLs", skip_serializing_if = "BTreeMap::is_empty")]
    pub directory_urls: BTreeMap<u32, String>,
    /// SHA-256 over the DER of the live revision's leaf, as issued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_fingerprint: Option<String>,
    /// The earliest time of the next request to the CA (429 with Retry-After).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub retry_after: Option<Timestamp>,
    /// The last attempt's failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Failure>,
    /// Digests of the inputs of the attempts since the last success, oldest first:
    /// an edit bypasses the backoff once for each distinct one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempted_inputs: Vec<String>,
    /// The last stage of a failure that ran the operator's `on-failure` hook.
    #[serde(default, skip_serializing_if = "is_no_stage")]
    pub alerted: u8,
    /// The deployments of the live files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deployments: Vec<Deployment>,
    /// What unattended runs reported of this certificate within the last day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// The requested revocations, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revocations: Vec<Revocation>,
    /// The rollback that was requested since the newest revision went live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback: Option<Rollback>,
    /// cert-manager's own fields.
    pub status: CertificateStatus,
}

/// The fields of a [`CertificateRecord`] that tell what one host did and owes, whatever other hosts do:
/// stored on that host, and not with the others, where hosts share the documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HostSection {
    manifest: Option<PathBuf>,
    references: Vec<PathBuf>,
    alerted: u8,
    deployments: Vec<Deployment>,
    notices: Vec<Notice>,
}

impl CertificateRecord {
    /// Takes what is of this host out of it.
    pub fn take_host_section(&mut self) -> HostSection {
        HostSection {
            manifest: self.manifest.take(),
            references: mem::take(&mut self.references),
            alerted: mem::take(&mut self.alerted),
            deployments: mem::take(&mut self.deployments),
            notices: mem::take(&mut self.notices),
        }
    }

    /// Puts that in.
    pub fn set_host_section(&mut self, section: HostSection) {
        let HostSection { manifest, references, alerted, deployments, notices } = section;
        self.manifest = manifest;
        self.references = references;
        self.alerted = alerted;
        self.deployments = deployments;
        self.notices = notices;
    }

    /// The first revocation that is pending.
    pub fn owed_revocation(&self) -> Option<&Revocation> {
        self.revocations.iter().find(|requested| requested.is_owed())
    }

    /// The revocation recorded for a certificate, unless the CA refused it.
    pub fn revocation_of(&self, fingerprint: &str) -> Option<&Revocation> {
        let mut all = self.revocations.iter();
        all.find(|revocation| revocation.fingerprint == fingerprint && revocation.refusal.is_none())
    }

    /// The revision of the next issuance: no number is used twice.
    pub fn next_revision(&self) -> u32 {
        let newest = self.rollback.as_ref().map_or(0, |rollback| rollback.newest);
        self.status.revision.unwrap_or(0).max(newest).saturating_add(1)
    }

    /// Whether a certificate cannot be live again: it is revoked, that was requested, or its key is
    /// banned.
    pub fn has_given_up(&self, leaf: &LeafFacts, banned: &BannedKeys) -> bool {
        self.revocation_of(&leaf.fingerprint).is_some() || banned.contains(&leaf.public_key)
    }

    /// The directory URL of the CA that issued the live revision, as far as that was recorded.
    pub fn issued_by(&self) -> Option<&String> {
        self.directory_urls.get(&self.status.revision?)
    }

    /// What the CA said about this leaf; what it said about another one is ignored.
    pub fn renewal_information(&self, leaf: &LeafFacts) -> Option<&RenewalInformation> {
        let known = self.status.acme.ari.as_ref()?;
        (Some(&known.certificate_id) == leaf.certificate_id.as_ref()).then_some(known)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_no_stage(stage: &u8) -> bool {
    *stage == 0
}

/// A reported failure or deferral.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Notice {
    /// SHA-256 over the reported message, without the times in it.
    pub digest: String,
    #[schemars(with = "crate::resource::DateTime")]
    pub at: Timestamp,
}

/// `status` of a Certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CertificateStatus {
    /// Ready and Issuing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The revision that is live; absent until the first success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// Consecutive failures; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_issuance_attempts: Option<u32>,
    /// Set with `failed_issuance_attempts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub last_failure_time: Option<Timestamp>,
    /// From the stored leaf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub not_before: Option<Timestamp>,
    /// From the stored leaf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub not_after: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub renewal_time: Option<Timestamp>,
    /// The name of the next private key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_private_key_secret_name: Option<String>,
    /// Name of the current order, which may be a failed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_ref: Option<String>,
    #[serde(default, skip_serializing_if = "AcmeStatus::is_empty")]
    pub acme: AcmeStatus,
}

impl CertificateStatus {
    /// The condition of this type, if it exists.
    pub fn condition(&self, kind: ConditionType) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Sets a condition; its transition time stays when its status does.
    pub fn set_condition(&mut self, mut condition: Condition) {
        let kind = condition.kind;
        if let Some(old) = self.conditions.iter_mut().find(|old| old.kind == kind) {
            if old.status == condition.status {
                condition.last_transition_time = old.last_transition_time;
            }
            *old = condition;
        } else {
            self.conditions.push(condition);
        }
    }

    /// Removes a condition.
    pub fn remove_condition(&mut self, kind: ConditionType) {
        self.conditions.retain(|condition| condition.kind != kind);
    }
}
