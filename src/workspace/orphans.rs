//! Clean-ups that interrupted runs left for certificates outside the current run.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::SignedDuration;

use super::open::Workspace;
use super::run::Job;
use super::selection::Targets;
use crate::engine::ports::{Documents, Lock, Store, StoreError};
use crate::engine::{Goal, Task};
use crate::manifest::SecretSource;
use crate::resource::{
    Certificate, CertificateSpec, Metadata, NamespacedName, Order, Origin, Settings,
};
use crate::store::CertificateDocument;

/// The clean-ups that can be done now, and those that cannot.
#[derive(Debug)]
pub struct Orphans {
    pub tasks: Vec<Task>,
    /// The orders whose Issuer is not loaded; or whose Certificate is not, which may say where a
    /// response is published.
    pub left: Vec<(NamespacedName, Vec<Order>)>,
    secrets: SecretSource,
}

impl Orphans {
    /// The tasks that perform the clean-ups.
    pub fn job(&self, verb: &'static str) -> Job {
        Job::new(verb, self.secrets.clone())
    }
}

impl Workspace {
    /// The clean-ups owed by certificates that are not among `done`; `None` when there are none.
    /// Challenges of a run that is still active are not orphans.
    pub async fn orphans(
        &mut self,
        done: &BTreeSet<NamespacedName>,
    ) -> Result<Option<Orphans>, StoreError> {
        let owing = self.owing(done).await?;
        if owing.is_empty() {
            return Ok(None);
        }
        if let Some(notes) = self.notes.borrow_mut().as_mut() {
            notes.others_owe = true;
        }
        let all = self.everything();
        let mut orphans =
            Orphans { tasks: Vec::new(), left: Vec::new(), secrets: all.secrets.clone() };
        for (name, orders) in owing {
            let task = match all.task(&name) {
                Some(task) => Some(task.clone()),
                None if self.is_at_work(&name).await? => continue,
                None => self.task_by_orders(&name, &orders, &all),
            };
            match task {
                Some(task) => orphans.tasks.push(Task { goal: Goal::CleanUp, ..task }),
                None => orphans.left.push((name, orders)),
            }
        }
        Ok(Some(orphans))
    }

    /// A task that takes back the records of a certificate whose manifest is gone: the orders say where they
    /// are, and for which Issuer.
    fn task_by_orders(
        &self,
        name: &NamespacedName,
        orders: &[Order],
        all: &Targets,
    ) -> Option<Task> {
        let owed = orders.iter().flat_map(|order| &order.challenges);
        let mut owed = owed.filter(|challenge| challenge.owes_clean_up());
        let issuer_ref = &orders.last()?.spec.issuer_ref;
        let is_same = orders.iter().all(|order| order.spec.issuer_ref == *issuer_ref);
        if !is_same || !owed.all(|challenge| challenge.spec.kind.is_record()) {
            return None;
        }
        let spec = CertificateSpec {
            secret_name: self.record(name)?.secret_name.clone(),
            issuer_ref: issuer_ref.clone(),
            ..CertificateSpec::default()
        };
        let metadata = Metadata {
            name: name.name.clone(),
            namespace: name.namespace.clone(),
            ..Metadata::default()
        };
        let certificate = Certificate {
            metadata,
            spec,
            settings: Settings::default(),
            origin: Origin { path: PathBuf::new(), line: 0, column: 0 },
        };
        self.task_of(&Arc::new(certificate), &all.loaded, &all.secrets, true)
    }

    /// The orders of known certificates, except those in `done`, that owe a clean-up.
    pub async fn owing(
        &self,
        done: &BTreeSet<NamespacedName>,
    ) -> Result<Vec<(NamespacedName, Vec<Order>)>, StoreError> {
        let mut owing = Vec::new();
        for (name, _) in self.records.iter().filter(|(name, _)| !done.contains(name)) {
            let mut orders = self.orders(name).await?;
            orders.retain(Order::owes_clean_up);
            if !orders.is_empty() {
                owing.push((name.clone(), orders));
            }
        }
        Ok(owing)
    }

    /// The readable orders of a certificate, oldest first.
    pub async fn orders(&self, name: &NamespacedName) -> Result<Vec<Order>, StoreError> {
        let mut stored = CertificateDocument::read(self.state.documents(), name).await?;
        Ok(stored.orders().await?.into_iter().filter_map(|(_, order)| order.ok()).collect())
    }

    /// Whether a run holds the certificate's lock: then it was not interrupted.
    async fn is_at_work(&self, name: &NamespacedName) -> Result<bool, StoreError> {
        match self
            .state
            .documents()
            .lease(&Lock::Certificate(name.clone()), SignedDuration::ZERO)
            .await
        {
            Ok(_lease) => Ok(false),
            Err(StoreError::Locked { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }
}
