//! The queue of challenges: which wait for a slot and which hold one, over all runs on a state.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ChallengeType, Identifier, NamespacedName};

/// What all runs on a state share about their challenges.
///
/// Contract: an entry counts as long as its run holds its own lock. After a restart of the machine
/// the queue is obsolete, since no run survives it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Queue {
    /// The entries of each run, by its number.
    pub runs: BTreeMap<u32, Vec<Entry>>,
}

/// The challenges of one certificate with one name and type, which wait for a slot or hold one
/// together, or are being cleaned up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// The certificate of their order: a CA may hand out one challenge to several.
    pub certificate: NamespacedName,
    /// Their identifier, without `*.`.
    pub identifier: Identifier,
    /// Their type.
    #[serde(rename = "type")]
    pub kind: ChallengeType,
    /// When they were queued, the last time; the oldest go first.
    #[schemars(with = "crate::resource::DateTime")]
    pub queued_at: Timestamp,
    pub place: Place,
}

impl Entry {
    /// What tells it from all others.
    pub fn group(&self) -> (&NamespacedName, &Identifier, &ChallengeType) {
        (&self.certificate, &self.identifier, &self.kind)
    }

    /// What only one group at a time may have.
    pub fn contested(&self) -> (&Identifier, &ChallengeType) {
        (&self.identifier, &self.kind)
    }
}

/// The status of a group in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// It waits for its first slot, and nothing of it is presented.
    Queued,
    /// It holds a slot.
    Granted,
    /// It is presented and waits for another turn: no other group may have its name and type.
    Requeued,
    /// It needs no slot any more, but may still be presented: no other group may have its name and
    /// type until it is cleaned up.
    CleaningUp,
}
