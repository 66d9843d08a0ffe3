//! The data that `status` and others show: everything known of one certificate or one issuer.
//!
//! Contract: plain data, filled from the manifests and the state; the rendering reads nothing
//! more, and takes the time as an argument.

use std::collections::BTreeSet;
use std::path::PathBuf;

use jiff::Timestamp;

use super::outlook::{Outlook, State};
use crate::controller::alert::Overdue;
use crate::controller::{order, rollback};
pub use crate::engine::ports::DamageCourse;
use crate::engine::ports::{StoreError, WrongEntry};
use crate::manifest::{Diagnostic, UNREAD};
use crate::resource::{
    Account, Certificate, CertificateRecord, CertificateRequest, CertificateSpec, Challenge,
    ConditionType, DeployTarget, Deployment, Event, Failure, Issuer, IssuerRef, LeafFacts,
    NamespacedName, Order, Reason, RenewalInformation, Repair, Revocation, Rollback, Spent,
};

/// Everything known of one certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateView {
    /// Namespace and name.
    pub key: NamespacedName,
    /// The manifest; `None` when the certificate exists in the state only.
    pub certificate: Option<Certificate>,
    /// The issuer it refers to, if found.
    pub issuer: Option<Issuer>,
    /// The account of that issuer, if there is one.
    pub account: Option<Account>,
    /// The state; `None` before the first run.
    pub record: Option<CertificateRecord>,
    /// The leaf of tls.crt; `None` when there is none, `Some(Err)` when it cannot be read.
    pub leaf: Option<Result<LeafFacts, String>>,
    /// The first step of deployment that is not done for the live files.
    pub owed: Option<DeployTarget>,
    /// The output that servers do not find any more as it was written.
    pub lost_output: Option<String>,
    /// The repair of the Secret's folder: broken links, missing or damaged files.
    pub links: Option<Repair>,
    /// The kept requests, by revision.
    pub requests: Vec<CertificateRequest>,
    /// The kept orders, oldest first.
    pub orders: Vec<Order>,
    /// The journal, oldest first.
    pub events: Vec<Event>,
    /// Unreadable files among its requests and orders, relative to the state directory.
    pub strays: Vec<String>,
    /// The folder of the issued Secret.
    pub secret_path: PathBuf,
    /// Whether what the last attempt failed by is no longer asked for.
    pub is_withdrawn: bool,
    /// The earliest time of the next attempt, while something delays it.
    pub next_attempt: Option<Timestamp>,
    /// When renewal is due.
    pub renewal_time: Option<Timestamp>,
    /// Whether the CA suggests that time.
    pub is_suggested: bool,
    /// The published limit of the CA that an issuance waits for, until `next_attempt`.
    pub limit: Option<Box<Spent>>,
    /// The renewal, when it is overdue.
    pub overdue: Option<Overdue>,
    /// The process that works on it.
    pub worker: Option<String>,
    /// Why its existing manifest is invalid.
    pub mistake: Option<Mistake>,
    /// What of its state cannot be read.
    pub damage: Option<Damage>,
    /// What there is of it, and what comes next.
    pub outlook: Outlook,
}

/// What of a certificate's state cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file, and why.
    pub message: String,
    pub course: DamageCourse,
    /// The entry of the state whose owner or mode is the reason.
    pub entry: Option<Box<WrongEntry>>,
}

impl Damage {
    /// The damage that this error reports.
    pub fn of(error: &StoreError) -> Self {
        Self {
            message: error.to_string(),
            course: error.course(),
            entry: error.wrong_entry().map(Box::new),
        }
    }
}

/// The first error of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Its code, such as `E0104`.
    pub code: &'static str,
    /// The message, with its field.
    pub message: String,
    pub path: PathBuf,
    /// The line, counted from 1; 0 when the error concerns the whole file.
    pub line: usize,
}

impl Mistake {
    /// The mistake that a diagnostic reports.
    pub fn of(found: &Diagnostic) -> Self {
        Self {
            code: found.code,
            message: found.headline(),
            path: found.path.clone(),
            line: found.line,
        }
    }

    /// Whether it is that the file, or a folder above it, cannot be read.
    pub fn is_unread(&self) -> bool {
        self.code == UNREAD
    }
}

impl CertificateView {
    /// One of which nothing is known.
    pub fn unknown(key: NamespacedName) -> Self {
        Self {
            key,
            certificate: None,
            issuer: None,
            account: None,
            record: None,
            leaf: None,
            links: None,
            owed: None,
            lost_output: None,
            requests: Vec::new(),
            orders: Vec::new(),
            events: Vec::new(),
            strays: Vec::new(),
            secret_path: PathBuf::new(),
            is_withdrawn: false,
            next_attempt: None,
            renewal_time: None,
            is_suggested: false,
            limit: None,
            overdue: None,
            worker: None,
            mistake: None,
            damage: None,
            outlook: Outlook::never(State::NoManifest),
        }
    }

    /// Whether it has an identity: a document that cannot be parsed has none.
    pub fn has_name(&self) -> bool {
        !self.key.name.is_empty()
    }

    /// The spec, from the manifest or else from the newest request.
    pub fn spec(&self) -> Option<&CertificateSpec> {
        let own = self.certificate.as_ref().map(|certificate| &certificate.spec);
        own.or_else(|| self.request().map(|request| &request.certificate_spec))
    }

    /// The issuer reference.
    pub fn issuer_ref(&self) -> Option<&IssuerRef> {
        self.spec().map(|spec| &spec.issuer_ref)
    }

    /// The leaf, when it is readable and not a temporary certificate.
    pub fn readable_leaf(&self) -> Option<&LeafFacts> {
        self.live_leaf().filter(|leaf| !leaf.is_temporary())
    }

    /// Whether the live certificate is a temporary one.
    pub fn is_temporary(&self) -> bool {
        self.live_leaf().is_some_and(LeafFacts::is_temporary)
    }

    fn live_leaf(&self) -> Option<&LeafFacts> {
        self.leaf.as_ref().and_then(|leaf| leaf.as_ref().ok())
    }

    /// What the CA said about when to renew the live certificate, if it is asked and offers that.
    pub fn renewal_information(&self) -> Option<&RenewalInformation> {
        let is_wanted = self.issuer.as_ref().is_none_or(|issuer| issuer.acme.asks_when_to_renew());
        let (record, leaf) = self.record.as_ref().zip(self.readable_leaf())?;
        let known = record.renewal_information(leaf).filter(|_| is_wanted);
        known.filter(|known| known.is_worth_showing())
    }

    /// The request of the newest revision: the running one, or the last that finished.
    pub fn request(&self) -> Option<&CertificateRequest> {
        self.requests.iter().max_by_key(|request| request.revision)
    }

    /// The current order, which may be a failed one.
    pub fn order(&self) -> Option<&Order> {
        let wanted = self.record.as_ref().and_then(|record| record.status.order_ref.as_ref());
        wanted
            .and_then(|name| self.orders.iter().find(|order| order.name == *name))
            .or_else(|| self.orders.last())
    }

    /// When the order in progress last moved: it was made, or a challenge of it was presented.
    pub fn order_moved_at(&self) -> Option<Timestamp> {
        let order = self.order().filter(|order| self.is_issuing() && order.phase.is_open())?;
        let presented = order.challenges.iter().filter_map(|challenge| challenge.presented.at);
        presented.chain([order.creation_timestamp]).max()
    }

    /// The last failure, unless it is past: what failed is no longer asked for, or it was not
    /// counted, and the order in progress has moved since.
    pub fn failure(&self) -> Option<&Failure> {
        let failure = self.record.as_ref()?.last_failure.as_ref()?;
        let is_past = self.is_withdrawn || (!failure.counts() && self.has_moved_on());
        (!is_past).then_some(failure)
    }

    /// Whether the order in progress is newer than the last failure.
    pub fn has_moved_on(&self) -> bool {
        let failure = self.record.as_ref().and_then(|record| record.last_failure.as_ref());
        let failed_at = failure.and_then(|failure| failure.at);
        self.order_moved_at().is_some_and(|moved| failed_at.is_none_or(|failed| moved > failed))
    }

    /// Whether the last attempt failed, and neither has that been withdrawn nor is another one in
    /// progress.
    pub fn has_failed(&self) -> bool {
        let is_recorded = self.record.as_ref().is_some_and(|record| record.last_failure.is_some());
        (is_recorded || self.failures() > 0) && !self.is_withdrawn && !self.has_moved_on()
    }

    /// The challenge of the order in progress whose presentation was refused, so that nothing is there
    /// to be cleaned up: a retry fails the same way until the operator acts.
    pub fn refused_challenge(&self) -> Option<&Challenge> {
        self.order_moved_at()?;
        self.order()?.challenges.iter().find(|challenge| challenge.was_refused())
    }

    /// Whether it waits for a limit of the CA: a published one, or one that the CA has named.
    pub fn waits_for_a_limit(&self) -> bool {
        let problem = self.failure().and_then(|failure| failure.cause.problem());
        self.limit.is_some() || problem.is_some_and(|problem| problem.short_kind() == "rateLimited")
    }

    /// What the manifest asks for beyond the files in the state; `None` without one.
    pub fn deploy_targets(&self) -> Option<Vec<DeployTarget>> {
        let own = &self.certificate.as_ref()?.settings;
        let settings = self.issuer.as_ref().map(|issuer| own.or(&issuer.settings));
        Some(settings.as_ref().unwrap_or(own).deploy_targets())
    }

    /// The first step of deployment that failed.
    pub fn failed_deployment(&self) -> Option<&Deployment> {
        let mut steps = self.record.iter().flat_map(|record| &record.deployments);
        steps.find(|step| step.failed_attempts > 0)
    }

    /// Whether a deployment failed, or its result is gone, or no run has done it yet.
    pub fn is_undeployed(&self) -> bool {
        self.failed_deployment().is_some() || self.lost_output.is_some() || self.owed.is_some()
    }

    /// Failures in a row; 0 when the last attempt succeeded.
    pub fn failures(&self) -> u32 {
        let status = self.record.as_ref().map(|record| &record.status);
        status.and_then(|status| status.failed_issuance_attempts).unwrap_or(0)
    }

    /// Whether an issuance is in progress.
    pub fn is_issuing(&self) -> bool {
        self.holds(ConditionType::Issuing)
    }

    /// Whether the Ready condition holds.
    pub fn is_ready(&self) -> bool {
        self.holds(ConditionType::Ready)
    }

    /// Whether it was issued, and its key or certificate is gone or unusable without a copy: the next
    /// run orders another one.
    pub fn has_lost_its_pair(&self) -> bool {
        let Some(record) = &self.record else { return false };
        let ready = record.status.condition(ConditionType::Ready);
        let is_lost = ready.is_some_and(|ready| {
            matches!(
                ready.reason,
                Reason::DoesNotExist
                    | Reason::MissingData
                    | Reason::InvalidKeyPair
                    | Reason::InvalidCertificate
            )
        });
        is_lost && !self.is_ready() && record.status.revision.is_some()
    }

    /// The revocation of the live certificate, once the CA has confirmed it.
    pub fn revoked(&self) -> Option<&Revocation> {
        self.requested_revocation().filter(|requested| requested.revoked_at.is_some())
    }

    /// The oldest revocation that the CA has not confirmed yet: of the live certificate, or of one
    /// before it.
    pub fn owed_revocation(&self) -> Option<&Revocation> {
        self.record.as_ref()?.owed_revocation()
    }

    /// Whether it was revoked without a replacement (until the user requests one).
    pub fn ends_here(&self) -> bool {
        self.requested_revocation().is_some_and(|requested| requested.without_replacement)
    }

    fn requested_revocation(&self) -> Option<&Revocation> {
        self.record.as_ref()?.revocation_of(&self.readable_leaf()?.fingerprint)
    }

    /// The rollback that made the live pair live; it stays until its renewal.
    pub fn went_back(&self) -> Option<&Rollback> {
        let (record, issuer) = self.record.as_ref().zip(self.issuer.as_ref())?;
        rollback::of_live(record, issuer, self.readable_leaf()?)
    }

    /// The rollback that an interrupted run did not complete.
    pub fn goes_back(&self) -> Option<&Rollback> {
        self.record.as_ref()?.rollback.as_ref().filter(|rollback| rollback.is_owed())
    }

    /// Whether time alone never makes a renewal due.
    pub fn never_renews(&self) -> bool {
        self.spec().is_some_and(CertificateSpec::never_renews)
    }

    /// Every name of every kind; the common name last when it is not among them.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        if let Some(spec) = self.spec() {
            names.extend(spec.dns_names.iter().map(ToString::to_string));
            names.extend(spec.ip_addresses.iter().map(ToString::to_string));
            names.extend(spec.uris.iter().cloned());
            names.extend(spec.email_addresses.iter().cloned());
            names.extend(spec.other_names.iter().map(|other| other.utf8_value.clone()));
            if !spec.common_name.is_empty() && !names.contains(&spec.common_name) {
                names.push(spec.common_name.clone());
            }
        } else if let Some(leaf) = self.readable_leaf() {
            names.extend(leaf.names());
        }
        names
    }

    /// The DNS names and addresses of the manifest that the live certificate lacks, where there is one.
    pub fn names_not_issued(&self) -> Vec<String> {
        let (Some(spec), Some(leaf)) = (self.spec(), self.readable_leaf()) else {
            return Vec::new();
        };
        let issued: BTreeSet<String> = leaf.names().map(|name| name.to_lowercase()).collect();
        let addresses = spec.ip_addresses.iter().map(ToString::to_string);
        let names = spec.dns_names.iter().map(ToString::to_string).chain(addresses);
        names.filter(|name| !issued.contains(&name.to_lowercase())).collect()
    }

    /// Whether the order in progress is for other names than the manifest has, which was edited since: the
    /// next run makes another one.
    pub fn orders_other_names(&self) -> bool {
        let (Some(certificate), Some(order)) = (&self.certificate, self.order()) else {
            return false;
        };
        order.spec.identifiers != order::identifiers(&certificate.spec)
    }

    fn holds(&self, kind: ConditionType) -> bool {
        let status = self.record.as_ref().map(|record| &record.status);
        status
            .and_then(|status| status.condition(kind))
            .is_some_and(|condition| condition.status == crate::resource::ConditionStatus::True)
    }
}

/// Everything known of one issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerView {
    pub issuer: Issuer,
    /// Its account, if there is one.
    pub account: Option<Account>,
}
