//! What has happened in this run to one challenge. Gone when the run ends.

use jiff::Timestamp;

/// One challenge in this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    pub slot: Slot,
    pub answer: Answer,
    /// Since the CA was told to look, and has not looked in vain yet.
    pub told: Option<Told>,
    /// When its authorization was last read.
    pub looked: Option<Timestamp>,
    /// When it may be presented or checked again.
    pub not_before: Option<Timestamp>,
    /// How often in a row its answer could not be put out, for a reason that does not pass.
    pub denials: u32,
    /// How often "accept" was posted without an answer.
    pub accept_tries: u32,
    /// Whether the CA has been told to look is not known.
    pub is_unsure: bool,
    /// An earlier run presented it, and the CA may have looked when no listener answered.
    pub is_cut_off: bool,
    pub clean_up_failed: bool,
}

/// A place among the challenges that are worked on at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slot {
    /// It waits in the queue, or needs none.
    #[default]
    None,
    /// An earlier run was at work on it, and this run has no slot for it yet.
    Missing,
    Held {
        /// Of this run; none for what an earlier run has accepted.
        grant: Option<Grant>,
        /// Others wait for it, and this challenge has had its turn.
        is_over: bool,
    },
}

/// The grant of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub at: Timestamp,
    /// Since when the challenge was in the queue that all runs share.
    pub queued_since: Timestamp,
}

/// Whether the answer to a challenge is out in the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    #[default]
    NotOut,
    /// An earlier run put it out, or a reply was lost.
    MayBeOut,
    /// This run put it out.
    Out,
}

/// The CA was told to look at a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// When "accept" was begun: the CA may look before its answer is here.
    pub begun: Timestamp,
    /// When the CA had answered.
    pub accepted: Option<Timestamp>,
    /// When the responder was last asked for the token since then.
    pub hit: Option<Timestamp>,
}

/// How often an answer is tried to be put out in one run, when it is refused for good: two
/// intervals of the self-check lie between two tries.
const DENIALS: u32 = 3;

impl Attempt {
    /// The CA is told to look.
    pub fn begin_accept(&mut self, now: Timestamp) -> &mut Told {
        self.told.get_or_insert(Told { begun: now, accepted: None, hit: None })
    }

    pub fn has_slot(&self) -> bool {
        matches!(self.slot, Slot::Held { .. })
    }

    /// Whether this run tries no more to put the answer out.
    pub fn gives_up(&self) -> bool {
        self.denials >= DENIALS
    }

    /// When the responder was last asked for the token since the CA was told to look.
    pub fn hit(&self) -> Option<Timestamp> {
        self.told?.hit
    }

    /// When the CA had answered "accept".
    pub fn accepted(&self) -> Option<Timestamp> {
        self.told?.accepted
    }
}
