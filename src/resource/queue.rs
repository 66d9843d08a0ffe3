//! The queue of challenges: which wait for a slot and which hold one, over all runs on a state.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{ChallengeType, Identifier, NamespacedName};

/// What all runs on a state share about their challenges.
///
/// Contract: an entry counts as long as its run holds its own lock. After a restart of the machine
/// the queue is obsolete, since no run survives it.
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
    /// The certificate of its order.
    pub certificate: NamespacedName,
    /// The challenge's URL: unique.
    pub url: String,
    /// Its identifier, without `*.`.
    pub identifier: Identifier,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ChallengeType,
    /// When it was queued, the last time; the oldest goes first.
    pub queued_at: Timestamp,
    pub place: Place,
}

/// The status of a challenge in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// It waits for its first slot, and is not presented.
    Queued,
    /// It holds a slot.
    Granted,
    /// It is presented and waits for another turn: no other challenge may have its name and type.
    Requeued,
}
