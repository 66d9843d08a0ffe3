//! The queue of challenges: who waits for a slot and who holds one, over all runs on a state.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{ChallengeType, Identifier, NamespacedName};

/// What all runs on a state know of each other's challenges.
///
/// Contract: an entry counts as long as its run holds its own lock. Nothing in here is of use
/// after the machine was down, since no run lives that long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Queue {
    /// The entries of each run, by its number.
    pub runs: BTreeMap<u32, Vec<Entry>>,
}

/// One challenge that waits for a slot or holds one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// Whose order it belongs to.
    pub certificate: NamespacedName,
    /// The challenge's URL: unique.
    pub url: String,
    /// What it proves, without `*.`.
    pub identifier: Identifier,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ChallengeType,
    /// When it was queued, the last time; the oldest goes first.
    pub queued_at: Timestamp,
    /// Where it stands.
    pub place: Place,
}

/// Where a challenge stands with the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// It waits for its first slot, and nothing of it is out.
    Queued,
    /// It holds a slot.
    Granted,
    /// It is presented and waits for another turn: nobody else may have its name and type.
    Requeued,
}
