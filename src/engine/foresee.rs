//! What a run would begin with, for those who only look: nothing is written and nobody is asked.

use jiff::{SignedDuration, Timestamp};

use super::drive::pair_of_the_manifests;
use super::perform::changed_passwords;
use super::ports::{Store, StoreError};
use super::session::{Session, Task};
use crate::controller::{Intervals, Snapshot, backoff, trigger};
use crate::manifest::SecretSource;

/// What a run would begin with.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreseen {
    /// What is known, with a pair to take over as if it were live.
    pub snapshot: Snapshot,
    /// Whether a pair that was there before certctl would be taken over.
    pub adopts: bool,
}

/// Looks at a certificate as a run at `now` would, before its first deed.
pub async fn foresee<S: Store>(
    store: &S,
    task: &Task,
    secrets: &SecretSource,
    now: Timestamp,
) -> Result<Foreseen, StoreError> {
    let intervals = Intervals { self_check: SignedDuration::ZERO };
    let session = Session::load(store, task, intervals, now).await?;
    let is_known = session.is_known();
    let mut snapshot = session.snapshot;
    if let Some(record) = backoff::corrected(&snapshot.record, now) {
        snapshot.record = record;
    }
    if !is_known && let Some((pair, _)) = pair_of_the_manifests(&snapshot, task, now) {
        snapshot.secret = Some(pair);
    }
    let pair = snapshot.secret.as_ref().filter(|_| !is_known);
    let adopts = pair.is_some_and(|pair| trigger::is_adoptable(pair, now));
    snapshot.run.changed_passwords = changed_passwords(secrets, &snapshot);
    Ok(Foreseen { snapshot, adopts })
}
