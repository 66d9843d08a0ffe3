//! Clean-ups that interrupted runs left for certificates outside the current run.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::open::Workspace;
use super::run::Job;
use crate::engine::ports::{Lock, Store as _, StoreError};
use crate::engine::{Goal, Task};
use crate::manifest::SecretSource;
use crate::resource::{NamespacedName, Order};
use crate::store::Records;

/// The clean-ups that can be done now, and those that cannot.
#[derive(Debug)]
pub struct Orphans {
    pub tasks: Vec<Task>,
    /// The orders whose Certificate and Issuer are not loaded.
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
            match all.task(&name) {
                Some(task) => {
                    let task = Task { goal: Goal::CleanUp, ..task.clone() };
                    orphans.tasks.push(task);
                }
                None if self.is_at_work(&name).await? => {}
                None => orphans.left.push((name, orders)),
            }
        }
        Ok(Some(orphans))
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
        let all = Records::new(&self.state).all_orders(name).await?;
        Ok(all.into_iter().filter_map(|(_, stored)| Some(stored.ok()?.value)).collect())
    }

    /// Whether a run holds the certificate's lock: then it was not interrupted.
    async fn is_at_work(&self, name: &NamespacedName) -> Result<bool, StoreError> {
        match self.state.lock(&Lock::Certificate(name.clone()), SignedDuration::ZERO).await {
            Ok(_lease) => Ok(false),
            Err(StoreError::Locked { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }
}
