//! What of a record selects: enough to find manifests, owners and mistakes.
//!
//! Contract: a verb that only shows keeps no more than this of each record, and reads the record
//! again for its view; ten thousand whole ones are not in memory at once.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::resource::{CertificateRecord, ConditionStatus, ConditionType};

/// What of a record selects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outline<'a> {
    /// When certctl first loaded the Certificate.
    pub(super) since: Timestamp,
    pub(super) secret_name: &'a str,
    pub(super) manifest: Option<&'a PathBuf>,
    pub(super) references: &'a [PathBuf],
    /// Whether an issuance is in progress.
    pub(super) is_issuing: bool,
    /// Whether attempts since the last success are recorded.
    pub(super) has_attempts: bool,
}

impl<'a> From<&'a CertificateRecord> for Outline<'a> {
    fn from(record: &'a CertificateRecord) -> Self {
        let issuing = record.status.condition(ConditionType::Issuing);
        Self {
            since: record.creation_timestamp,
            secret_name: &record.secret_name,
            manifest: record.manifest.as_ref(),
            references: &record.references,
            is_issuing: issuing.is_some_and(|issuing| issuing.status == ConditionStatus::True),
            has_attempts: !record.attempted_inputs.is_empty(),
        }
    }
}

/// An outline whose record is not kept.
#[derive(Debug)]
pub(super) struct RecordOutline {
    since: Timestamp,
    secret_name: String,
    manifest: Option<PathBuf>,
    references: Vec<PathBuf>,
    is_issuing: bool,
    has_attempts: bool,
}

impl From<CertificateRecord> for RecordOutline {
    fn from(record: CertificateRecord) -> Self {
        let Outline { since, is_issuing, has_attempts, .. } = Outline::from(&record);
        let CertificateRecord { secret_name, manifest, references, .. } = record;
        Self { since, secret_name, manifest, references, is_issuing, has_attempts }
    }
}

impl RecordOutline {
    /// What it says.
    pub(super) fn outline(&self) -> Outline<'_> {
        Outline {
            since: self.since,
            secret_name: &self.secret_name,
            manifest: self.manifest.as_ref(),
            references: &self.references,
            is_issuing: self.is_issuing,
            has_attempts: self.has_attempts,
        }
    }
}
