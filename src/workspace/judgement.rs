//! The state of a certificate, by its view.

use jiff::Timestamp;

use super::outlook::{Action, Outlook, State, When};
use super::view::{CertificateView, DamageCourse};
use crate::resource::Remedy;

impl State {
    /// The state of a certificate with this view.
    pub fn of(view: &CertificateView, now: Timestamp) -> Self {
        let leaf = view.readable_leaf();
        let is_expired = leaf.is_some_and(|leaf| leaf.not_after <= now);
        if view.damage.is_some() {
            Self::Damaged
        } else if view.mistake.is_some() {
            Self::Invalid
        } else if view.revoked().is_some() && !is_expired {
            Self::Revoked
        } else if view.certificate.is_none() {
            Self::NoManifest
        } else if is_expired {
            Self::Expired
        } else if let Some(repair) = &view.links {
            match repair.remedy {
                Remedy::Link { .. } => Self::LinksMissing,
                Remedy::Publish { .. } | Remedy::Follow { .. } => Self::FilesDamaged,
            }
        } else if view.overdue.is_some() {
            Self::Overdue
        } else if view.is_issuing() && view.worker.is_some() {
            if leaf.is_some() { Self::Renewing } else { Self::Issuing }
        } else if view.is_issuing() && view.next_attempt.is_some_and(|at| at > now) {
            Self::Deferred
        } else if view.has_failed() || view.refused_challenge().is_some() {
            Self::Failed
        } else if view.order_moved_at().is_some() {
            Self::Waiting
        } else if view.has_lost_its_pair() {
            Self::FilesDamaged
        } else if view.is_issuing() {
            Self::Pending
        } else if view.is_undeployed() {
            Self::PendingDeploy
        } else if view.is_ready() && leaf.is_some() {
            Self::Ready
        } else {
            Self::Pending
        }
    }
}

impl CertificateView {
    /// With its state at `now`; under way where a process issues it, and never renewed where its manifest
    /// or its record cannot be read.
    #[must_use]
    pub fn judged(mut self, now: Timestamp) -> Self {
        let state = State::of(&self, now);
        let is_planned =
            self.damage.is_none() && self.mistake.is_none() && self.certificate.is_some();
        let is_set_aside = self.certificate.is_some()
            && self.damage.as_ref().is_some_and(|damage| damage.course == DamageCourse::SetAside);
        if is_set_aside {
            let (next, when) = (Some(Action::Restore), When::NextRun);
            self.outlook = Outlook { next, when, ..Outlook::never(state) };
        } else if !is_planned {
            self.outlook = Outlook::never(state);
        } else if self.is_issuing() && self.worker.is_some() {
            self.outlook.when = When::UnderWay;
        }
        self.outlook.state = state;
        self
    }
}
