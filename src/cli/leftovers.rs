//! What runs that were cut off have left in the world, of certificates that this run is not about:
//! a run that writes takes it back, or says what stays where.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::error::CliError;
use super::run::{Setting, run};
use super::shell::Shell;
use super::work::{Wanted, gather};
use crate::engine::ports::{Lock, Store as _, StoreError};
use crate::engine::{Only, Task};
use crate::resource::{CertificateRecord, Challenge, ChallengeType, NamespacedName, Order};
use crate::store::{Records, StateDirectory};

/// Looks at all known certificates that are not among `done`, and takes back what they owe.
pub(crate) async fn clean_up(
    shell: &mut Shell,
    state: &StateDirectory,
    known: &[(NamespacedName, CertificateRecord)],
    done: &BTreeSet<NamespacedName>,
    verb: &'static str,
) -> Result<(), CliError> {
    let owing = owing(state, known.iter().filter(|(name, _)| !done.contains(name))).await?;
    if owing.is_empty() {
        return Ok(());
    }
    let all = gather(shell, &Wanted { is_said: true, ..Wanted::default() }, known);
    let (tasks, secrets) = all.map(|work| (work.tasks, work.secrets)).unwrap_or_default();
    let mut mine = Vec::new();
    for (name, orders) in owing {
        match tasks.iter().find(|task| task.certificate.metadata.key() == *name) {
            Some(task) => {
                mine.push(Task { only: Some(Only::CleanUp), force: None, ..task.clone() });
            }
            None if is_at_work(state, name).await? => {}
            None => tell(shell, name, &orders),
        }
    }
    if mine.is_empty() {
        return Ok(());
    }
    let setting = Setting::new(verb, secrets);
    // What could not be taken back was said as it happened, and is tried again by the next run.
    Box::pin(run(shell, state, &mine, setting)).await.map(drop)
}

/// Whether a run has the lock of a certificate: then it was not cut off.
async fn is_at_work(state: &StateDirectory, name: &NamespacedName) -> Result<bool, CliError> {
    match state.lock(&Lock::Certificate(name.clone()), SignedDuration::ZERO).await {
        Ok(_lease) => Ok(false),
        Err(StoreError::Locked { .. }) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Says what is left in the world, for a run that may not begin.
pub(crate) async fn warn(
    shell: &mut Shell,
    state: &StateDirectory,
    known: &[(NamespacedName, CertificateRecord)],
) -> Result<(), CliError> {
    for (name, orders) in owing(state, known.iter()).await? {
        tell(shell, name, &orders);
    }
    Ok(())
}

async fn owing<'a>(
    state: &StateDirectory,
    certificates: impl Iterator<Item = &'a (NamespacedName, CertificateRecord)>,
) -> Result<Vec<(&'a NamespacedName, Vec<Order>)>, CliError> {
    let records = Records::new(state);
    let mut owing = Vec::new();
    for (name, _) in certificates {
        let orders = records.all_orders(name).await?;
        let orders = orders.into_iter().filter_map(|(_, kept)| Some(kept.ok()?.value));
        let orders: Vec<Order> = orders.filter(Order::owes_clean_up).collect();
        if !orders.is_empty() {
            owing.push((name, orders));
        }
    }
    Ok(owing)
}

fn tell(shell: &mut Shell, name: &NamespacedName, orders: &[Order]) {
    let what: Vec<String> =
        orders.iter().flat_map(|order| &order.challenges).filter_map(place).collect();
    if !what.is_empty() {
        shell.output.talk(&format!(
            "warning: {name}: left by a run that was cut off: {}\n  its Certificate and Issuer \
             are not there to take it back; the first run that finds them does",
            what.join("; ")
        ));
    }
}

/// What a challenge may have out in the world, and where.
pub(crate) fn place(challenge: &Challenge) -> Option<String> {
    let spec = &challenge.spec;
    match (&challenge.target, &spec.kind) {
        _ if !challenge.owes_clean_up() => None,
        (Some(target), _) => Some(target.to_string()),
        // Nothing is written before its place is known.
        (None, ChallengeType::Dns01) => None,
        (None, kind @ (ChallengeType::Http01 | ChallengeType::Other(_))) => {
            Some(format!("{} for {}, token {}", kind.as_str(), spec.identifier, spec.token))
        }
    }
}
