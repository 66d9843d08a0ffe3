//! Back to a revision that is kept: written down first, then done; finished by the next run that
//! writes when this one is killed in between.

use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use super::gather::published_pair;
use super::links;
use super::ports::{Clock, KeptSet, Lock, Store, StoreError};
use super::session::{Session, Task};
use crate::controller::policy::{TRIGGER, Violation, first_violation};
use crate::controller::{Change, Intervals, Record, readiness, rollback};
use crate::resource::{Event, LeafFacts, NamespacedName, Rollback};

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum WentBack {
    /// Another revision is live.
    Done {
        /// From which one.
        from: u32,
        /// To which one; 0 is what was there before certctl.
        to: u32,
        /// What is live now.
        leaf: Box<LeafFacts>,
        /// When its renewal is due.
        renewal_time: Option<Timestamp>,
        /// In what it is not as the spec asks.
        violation: Option<Violation>,
    },
    /// It is the live one.
    Already {
        /// Which one.
        revision: u32,
    },
}

/// Why nothing was done.
#[derive(Debug, Error)]
pub enum BackError {
    /// The state.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nothing is live.
    #[error("{certificate}: nothing is issued yet")]
    Nothing {
        /// Whose.
        certificate: NamespacedName,
    },
    /// There is none before the live one.
    #[error("{certificate}: no revision before {live} is kept")]
    NoneBefore {
        /// Whose.
        certificate: NamespacedName,
        /// The live revision.
        live: u32,
        /// What is kept.
        kept: Vec<KeptRevision>,
    },
    /// It is not kept.
    #[error("{certificate}: revision {wanted} is not kept")]
    Unknown {
        /// Whose.
        certificate: NamespacedName,
        /// The revision asked for.
        wanted: u32,
        /// What is kept.
        kept: Vec<KeptRevision>,
    },
    /// It must not be live again.
    #[error("{certificate}: revision {wanted} does not go live again: {why}")]
    Refused {
        /// Whose.
        certificate: NamespacedName,
        /// The revision asked for, or the one before the live one.
        wanted: u32,
        /// Why.
        why: String,
        /// What is kept.
        kept: Vec<KeptRevision>,
    },
}

/// A revision whose files are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRevision {
    /// Its number; 0 is what was there before certctl.
    pub revision: u32,
    /// When its certificate ends, if it can be read.
    pub not_after: Option<Timestamp>,
    /// Whether it is live.
    pub is_live: bool,
    /// Why it may not go live again.
    pub refusal: Option<String>,
}

/// A kept revision and its set.
struct Candidate {
    kept: KeptRevision,
    set: String,
    leaf: Option<LeafFacts>,
}

/// Makes the revision `to` live again, or the one before the live one, under the certificate's
/// lock. Where the files are used is not touched: that is for a deployment.
pub async fn roll_back<C: Clock, S: Store>(
    clock: &C,
    store: &S,
    task: &Task,
    to: Option<u32>,
    lock_timeout: SignedDuration,
) -> Result<WentBack, BackError> {
    let certificate = task.certificate.metadata.key();
    let _lease = store.lock(&Lock::Certificate(certificate.clone()), lock_timeout).await?;
    let intervals = Intervals { self_check: SignedDuration::ZERO };
    let mut session = Session::load(store, task, intervals, clock.now()).await?;
    finish(store, &mut session, task, intervals, clock.now()).await?;
    links::put_right(store, &mut session, task, intervals, clock.now()).await?;
    let now = clock.now();
    if session.snapshot.secret.is_none() {
        return Err(BackError::Nothing { certificate });
    }
    let mut candidates = candidates(store, &session, now).await?;
    let record = &session.snapshot.record;
    let from = record.status.revision.unwrap_or(0);
    let kept = || candidates.iter().map(|candidate| candidate.kept.clone()).collect();
    let is_before = |candidate: &&Candidate| candidate.kept.revision < from;
    let before = candidates.iter().rfind(is_before).map(|candidate| candidate.kept.revision);
    let Some(wanted) = to.or(before) else {
        return Err(BackError::NoneBefore { certificate, live: from, kept: kept() });
    };
    let Some(at) = candidates.iter().position(|found| found.kept.revision == wanted) else {
        return Err(BackError::Unknown { certificate, wanted, kept: kept() });
    };
    let kept = kept();
    let Candidate { kept: chosen, set, leaf } = candidates.swap_remove(at);
    if chosen.is_live && wanted == from {
        return Ok(WentBack::Already { revision: wanted });
    }
    let (None, Some(leaf)) = (&chosen.refusal, leaf) else {
        let why = chosen.refusal.unwrap_or_default();
        return Err(BackError::Refused { certificate, wanted, why, kept });
    };
    let newest = record.next_revision().saturating_sub(1);
    let asked = Rollback {
        to: wanted,
        from,
        newest,
        set,
        fingerprint: leaf.fingerprint.clone(),
        left: rollback::left(&session.snapshot),
        asked_at: now,
        generation: record.generation,
        directory_url: task.issuer.acme.server.clone(),
        done_at: None,
    };
    let asked = rollback::asked(&session.snapshot, asked, now);
    session.apply(asked);
    session.flush().await?;
    finish(store, &mut session, task, intervals, clock.now()).await?;
    let snapshot = &session.snapshot;
    Ok(WentBack::Done {
        from,
        to: wanted,
        leaf: Box::new(leaf),
        renewal_time: snapshot.record.status.renewal_time,
        violation: first_violation(TRIGGER, snapshot, now)
            .filter(|_| rollback::in_force(snapshot).is_some()),
    })
}

/// Does what was asked for and is not done, and returns what there is to say of it. The caller
/// holds the certificate's lock; the session knows what is live afterwards.
pub(super) async fn finish<'a, S: Store>(
    store: &'a S,
    session: &mut Session<'a, S>,
    task: &Task,
    intervals: Intervals,
    now: Timestamp,
) -> Result<Vec<Event>, StoreError> {
    let owed = session.snapshot.record.rollback.as_ref().filter(|asked| asked.is_owed());
    let Some(owed) = owed.cloned() else { return Ok(Vec::new()) };
    let found = candidates(store, session, now).await?;
    let found = found.into_iter().find(|candidate| candidate.set == owed.set);
    let refusal = match found {
        Some(found) if found.kept.is_live => None,
        Some(found) => found.kept.refusal,
        None => Some("its files are not there any more".to_owned()),
    };
    if let Some(why) = refusal {
        let record = rollback::abandoned(&session.snapshot.record, &why, now);
        session.apply(record);
        return session.flush().await;
    }
    store.switch_back(&task.certificate.secret_key(), &owed.set).await?;
    let record = rollback::done(&session.snapshot.record, now);
    session.apply(record);
    let events = session.flush().await?;
    // Request, key and certificate are those of another revision now.
    *session = Session::load(store, task, intervals, now).await?;
    let record = readiness::refreshed(&session.snapshot, now);
    session.apply(Record::of(Change::Certificate(Box::new(record))));
    session.flush().await?;
    Ok(events)
}

/// The revisions whose files are there, oldest first; of the sets of one, the live one, else the
/// last that may go live.
async fn candidates<S: Store>(
    store: &S,
    session: &Session<'_, S>,
    now: Timestamp,
) -> Result<Vec<Candidate>, StoreError> {
    let snapshot = &session.snapshot;
    let newest = snapshot.record.next_revision().saturating_sub(1);
    let mut found: Vec<Candidate> = Vec::new();
    for KeptSet { name, revision, is_live, files } in
        store.sets(&snapshot.certificate.secret_key()).await?
    {
        // A publish that was cut off has left it: nobody ever used it.
        if revision > newest && !is_live {
            continue;
        }
        let pair = files.map(|files| published_pair(&files));
        let leaf = pair.as_ref().ok().and_then(|pair| pair.certificate.clone()?.ok());
        let refusal = match &pair {
            Ok(pair) => rollback::refusal(snapshot, pair, now),
            Err(error) => Some(error.to_string()),
        };
        let not_after = leaf.as_ref().map(|leaf| leaf.not_after);
        let kept = KeptRevision { revision, not_after, is_live, refusal };
        let candidate = Candidate { kept, set: name, leaf };
        match found.last_mut() {
            Some(last) if last.kept.revision == revision => {
                let is_better = candidate.kept.is_live || candidate.kept.refusal.is_none();
                if is_better && !last.kept.is_live {
                    *last = candidate;
                }
            }
            Some(_) | None => found.push(candidate),
        }
    }
    Ok(found)
}
