//! What happened to the order in this run, and when the CA may be asked again.

use jiff::{SignedDuration, Timestamp};

use crate::controller::step::{Awaited, Deferral, EffectError};
use crate::resource::{Failure, OrderPhase, Pause, Refusal};

/// How often the CSR is posted in one run before a refusal is final.
pub(in crate::controller) const FINALIZE_TRIES: u32 = 3;

/// What this run has done for the order, and what it waits for.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an event of its own in this run")]
pub struct OrderRun {
    /// The order was created or read at the CA in this run.
    pub is_known: bool,
    /// In this run, the CA has shown the order before it became invalid.
    pub was_seen: bool,
    /// newOrder was sent in this run.
    pub was_requested: bool,
    /// In this run, the CA took the CSR for the order.
    pub csr_is_taken: bool,
    /// How often the CSR was posted in this run.
    pub finalize_tries: u32,
    /// Why the CSR was refused the last time.
    pub finalize_refusal: Option<EffectError>,
    /// How often another certificate had finalized the order: a CA may give several the same one.
    pub finalized_by_others: u32,
    /// The order that the CA gave is another certificate's.
    pub others: Option<OthersOrder>,
    /// When the order may be read next.
    pub poll: Poll,
    /// When newOrder or finalize was sent in this run.
    pub sent_at: Option<Timestamp>,
    /// How long the CA last took to respond to newOrder or finalize: a CA that is slow to respond
    /// is slow to validate and to sign as well.
    pub answer_time: SignedDuration,
    /// The Retry-After of the CA when it refused the order.
    pub retry_after: Option<SignedDuration>,
    /// A rate limit of the CA that the engine has not stored yet, with the failed request.
    pub refusal: Option<(Refusal, Failure)>,
    /// Why no order may be asked for yet.
    pub hold: Option<Hold>,
}

/// Why an order is not worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OthersOrder {
    /// A run of another certificate works on it. It is waited for.
    Held {
        /// The order's URL.
        url: String,
    },
    /// Another certificate has finalized it. The CA is asked for one again at this time.
    Finalized { again: Timestamp },
}

/// Why a certificate must not ask for an order yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The run waits for this: until a time, or while others ask.
    Wait { until: Option<Timestamp>, what: Awaited },
    /// The run ends: the CA is asked after this time.
    Defer { until: Timestamp, why: Deferral },
}

/// When to read the order next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Poll {
    /// How many requests there were since the order last got further.
    pub looks: u32,
    /// Not before this time.
    pub not_before: Option<Timestamp>,
    /// How far the order was at most in this run.
    pub stage: u8,
}

impl Poll {
    /// The next request need not wait.
    fn reset(&mut self) {
        *self = Self { stage: self.stage, ..Self::default() };
    }
}

/// How far an order in this phase is.
fn stage(phase: &OrderPhase) -> u8 {
    match phase {
        OrderPhase::Creating | OrderPhase::Replaced { .. } | OrderPhase::Failed(_) => 0,
        OrderPhase::Authorizing(_) => 1,
        OrderPhase::Solving(_) | OrderPhase::Refused { .. } => 2,
        OrderPhase::Finalizing(_) => 3,
        OrderPhase::Awaiting(_) => 4,
        OrderPhase::Downloading { .. } => 5,
        OrderPhase::Issued { .. } => 6,
    }
}

impl OrderRun {
    /// Whether a run of another certificate works on the order.
    pub fn waits_for_others(&self) -> bool {
        matches!(self.others, Some(OthersOrder::Held { .. }))
    }

    /// The shortest pause between two reads, and before the first after finalize: that of a poll, or
    /// as long as the CA took to respond last, at most a second.
    pub fn first_pause(&self) -> SignedDuration {
        self.answer_time.clamp(Pause::POLL.length(0), SignedDuration::from_secs(1))
    }

    /// After a request that brought an order from one phase to another: what got further than ever
    /// in this run goes on at once, or as soon as the CA may be done; else the next request waits,
    /// each longer than the one before.
    pub(in crate::controller) fn note_look(
        &mut self,
        (from, to): (&OrderPhase, &OrderPhase),
        retry_after: Option<SignedDuration>,
        now: Timestamp,
    ) {
        let known = self.poll.stage.max(stage(from));
        self.poll.stage = known.max(stage(to));
        // Nothing was sent yet that the CA could be working on.
        let is_ready = matches!(to, OrderPhase::Finalizing(_)) && self.finalize_tries == 0;
        if stage(to) <= known && !is_ready {
            self.note_vain_look(retry_after, now);
            return;
        }
        self.poll.reset();
        if matches!(to, OrderPhase::Awaiting(_)) {
            let pause = Pause::POLL.or_wish(0, retry_after).max(self.first_pause());
            self.poll.not_before = now.checked_add(pause).ok();
        }
    }

    /// After a request for an order that changed nothing.
    pub(in crate::controller) fn note_vain_look(
        &mut self,
        retry_after: Option<SignedDuration>,
        now: Timestamp,
    ) {
        self.poll.looks = self.poll.looks.saturating_add(1);
        let pause = Pause::POLL.or_wish(self.poll.looks, retry_after).max(self.first_pause());
        self.poll.not_before = self.poll.not_before.max(now.checked_add(pause).ok());
    }

    /// A challenge was accepted for the first time: the CA's verdict is looked for soon.
    pub(in crate::controller) fn note_first_accept(&mut self) {
        self.poll.reset();
    }

    /// How long the CA took to respond to newOrder or finalize.
    pub(in crate::controller) fn note_answer(&mut self, now: Timestamp) {
        self.answer_time =
            self.sent_at.take().map_or(SignedDuration::ZERO, |sent_at| sent_at.duration_until(now));
    }

    /// Another certificate finalized the order: another order is allowed.
    pub(in crate::controller) fn note_finalized_by_others(&mut self) {
        self.finalized_by_others += 1;
        self.note_replaced();
    }

    /// Another order takes the place of the one of this run.
    pub(in crate::controller) fn note_replaced(&mut self) {
        self.finalize_refusal = None;
        self.note_lost();
    }

    /// The CA has forgotten the order, with the account: another order is allowed.
    pub(super) fn note_lost(&mut self) {
        self.was_requested = false;
        self.was_seen = false;
        self.finalize_tries = 0;
        self.poll = Poll::default();
    }
}
