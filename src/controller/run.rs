//! What happened in this run; dropped when the run ends.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::attempt::{Attempt, Slot};
use super::effect::Effect;
use super::step::{Awaited, Deferral, EffectError};
use crate::resource::{
    DeployStep, Doing, Failure, Obstacle, OrderPhase, Pause, Refusal, RevocationAnswer,
    RevocationReason,
};

/// What happened in this run. Dropped when it ends.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says whether one action was done in this run"
)]
pub struct Run {
    /// Make a new private key, overriding rotationPolicy.
    pub new_key: bool,
    /// `Prepare` succeeded.
    pub prepared: bool,
    /// `Prepare` succeeded for challenges too.
    pub prepared_to_solve: bool,
    /// The account record was created in this run, so no newAccount can have been sent before.
    pub account_is_fresh: bool,
    /// The CA does not know the account any more. The next request registers it again.
    pub account_is_lost: bool,
    /// The account was lost in this run and is registered again: the next loss is a failure.
    pub account_is_back: bool,
    /// The order was created or read at the CA in this run.
    pub order_is_known: bool,
    /// In this run, the CA has shown the order before it became invalid.
    pub order_was_seen: bool,
    /// newOrder was sent in this run.
    pub ordered: bool,
    /// The issuance that this run was to force is taken back: nothing is requested any more.
    pub taken_back: bool,
    /// Where the pair to adopt may be that cannot be read.
    pub unread_secret: Option<Obstacle>,
    /// A new pair was published in this run.
    pub published: bool,
    /// Which pair was adopted in this run, in one sentence, if one was.
    pub adopted: Option<String>,
    /// Why the live pair was rewritten in this run, if it was.
    pub rewritten: Option<String>,
    /// Live keystores, by file name, with a password other than the one the spec names.
    pub changed_passwords: BTreeSet<String>,
    /// How often the CSR was posted in this run.
    pub finalize_tries: u32,
    /// When another run that shared the listener's port was last seen to have ended.
    pub listener_gone: Option<Timestamp>,
    /// The directory of the CA that issues has no renewalInfo.
    pub lacks_renewal_information: bool,
    /// In this run, the CA took the CSR for the order.
    pub csr_is_taken: bool,
    /// How often another certificate had finalized the order: a CA may give several the same one.
    pub others_orders: u32,
    /// The order that the CA gave is another certificate's.
    pub others_order: Option<OthersOrder>,
    /// Why the CSR was refused the last time.
    pub finalize_refusal: Option<EffectError>,
    /// When the order may be read next.
    pub poll: Poll,
    pub attempts: BTreeMap<String, Attempt>,
    /// Challenges of any certificate and run wait for a slot.
    pub is_crowded: bool,
    /// When newOrder or finalize was sent in this run.
    pub sent_at: Option<Timestamp>,
    /// How long the CA last took to respond to newOrder or finalize: a CA that is slow to respond
    /// is slow to validate and to sign as well.
    pub answer_time: SignedDuration,
    /// The Retry-After of the CA when it refused the order.
    pub refusal_retry_after: Option<SignedDuration>,
    /// A rate limit of the CA that the engine has not stored yet, with the failed request.
    pub refusal: Option<(Refusal, Failure)>,
    /// Why no order may be asked for yet.
    pub hold: Option<Hold>,
    /// A certificate that clients trust may be replaced by one that they do not.
    pub allow_untrusted: bool,
    /// Deploy, ignoring the wait after earlier failures (`deploy`, and `issue NAME`).
    pub deploy_now: bool,
    /// Deploy what is deployed already, too (`deploy --again`).
    pub deploy_again: bool,
    /// Leave hooks and reloads to a later run (`--hooks later`).
    pub leaves_hooks: bool,
    /// What was deployed in this run.
    pub deployed: BTreeSet<DeployStep>,
    /// The same as text, with deployments of a pair that another one replaced.
    pub deployments: Vec<String>,
    /// What failed to deploy in this run.
    pub not_deployed: BTreeSet<DeployStep>,
    /// What the user requested for this run.
    pub request: Option<UserRequest>,
    /// The CA's responses to revocations, by fingerprint.
    pub revocations: Vec<(String, Result<RevocationAnswer, EffectError>)>,
    /// The revision that a rollback replaced in this run, and the one that is live instead.
    pub went_back: Option<(u32, u32)>,
    /// The contacts were sent to the CA in this run.
    pub contacts_are_sent: bool,
    /// An earlier run had to deactivate the account, and may have done it.
    pub may_be_deactivated: bool,
    /// The error that ends this run.
    pub error: Option<(Doing, EffectError)>,
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

/// The user's request.
#[derive(Clone, Debug, PartialEq)]
pub enum UserRequest {
    /// The live certificate is to be revoked.
    Revoke(RevocationRequest),
    /// Roll back to this revision; to the previous one when none is given.
    RollBack(Option<u32>),
}

/// The user's request to revoke the live certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevocationRequest {
    pub reason: RevocationReason,
    /// Before its replacement is there.
    pub at_once: bool,
    /// Without a replacement.
    pub without_replacement: bool,
    /// The live certificate in PEM.
    pub certificate: Option<String>,
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

/// How often the CSR is posted in one run before a refusal is final.
pub(super) const FINALIZE_TRIES: u32 = 3;
impl Run {
    /// What has happened to a challenge.
    pub fn attempt(&self, url: &str) -> Attempt {
        self.attempts.get(url).copied().unwrap_or_default()
    }

    pub fn attempt_mut(&mut self, url: &str) -> &mut Attempt {
        self.attempts.entry(url.to_owned()).or_default()
    }

    /// The URLs of the challenges that hold a slot.
    pub fn with_slot(&self) -> impl Iterator<Item = &str> {
        let holding = self.attempts.iter().filter(|(_, attempt)| attempt.has_slot());
        holding.map(|(url, _)| url.as_str())
    }

    /// Whether no challenge holds a slot or waits for one.
    pub fn give_slots_back(&mut self) {
        for attempt in self.attempts.values_mut() {
            attempt.slot = Slot::None;
            attempt.is_wanted = false;
        }
    }

    /// Other files are live: they have to be deployed again.
    pub(super) fn note_other_files(&mut self) {
        self.deployed.clear();
        self.not_deployed.clear();
    }

    /// The shortest pause between two reads, and before the first after finalize: that of a poll, or
    /// as long as the CA took to respond last, at most a second.
    pub fn first_pause(&self) -> SignedDuration {
        self.answer_time.clamp(Pause::POLL.length(0), SignedDuration::from_secs(1))
    }

    /// After a request that brought an order from one phase to another: what got further than ever
    /// in this run goes on at once, or as soon as the CA may be done; else the next request waits,
    /// each longer than the one before.
    pub(super) fn note_look(
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
    pub(super) fn note_vain_look(&mut self, retry_after: Option<SignedDuration>, now: Timestamp) {
        self.poll.looks = self.poll.looks.saturating_add(1);
        let pause = Pause::POLL.or_wish(self.poll.looks, retry_after).max(self.first_pause());
        self.poll.not_before = self.poll.not_before.max(now.checked_add(pause).ok());
    }

    /// A challenge was accepted for the first time: the CA's verdict is looked for soon.
    pub(super) fn note_first_accept(&mut self) {
        self.poll.reset();
    }

    /// Notes that the CA has an account.
    pub fn note_account(&mut self) {
        self.account_is_back |= std::mem::take(&mut self.account_is_lost);
    }

    /// The CA has forgotten the account, and with it the order: another order is allowed.
    pub(super) fn note_lost_account(&mut self) {
        self.account_is_lost = true;
        self.ordered = false;
        self.order_was_seen = false;
        self.finalize_tries = 0;
        self.poll = Poll::default();
    }

    /// Whether a run of another certificate works on the order.
    pub fn waits_for_an_order(&self) -> bool {
        matches!(self.others_order, Some(OthersOrder::Held { .. }))
    }

    /// Another certificate finalized the order: another order is allowed.
    pub(super) fn note_others_order(&mut self) {
        self.others_orders += 1;
        self.note_replaced_order();
    }

    /// Another order takes the place of the one of this run.
    pub(super) fn note_replaced_order(&mut self) {
        self.ordered = false;
        self.order_was_seen = false;
        self.finalize_tries = 0;
        self.finalize_refusal = None;
        self.poll = Poll::default();
    }

    /// How long the CA took to respond to newOrder or finalize.
    pub(super) fn note_answer(&mut self, now: Timestamp) {
        self.answer_time =
            self.sent_at.take().map_or(SignedDuration::ZERO, |sent_at| sent_at.duration_until(now));
    }

    /// Notes the start of an effect.
    pub fn note_begin(&mut self, effect: &Effect, now: Timestamp) {
        if let Effect::Accept { url, .. } = effect {
            self.attempt_mut(url).begin_accept(now);
        }
        if matches!(effect, Effect::CreateOrder { .. } | Effect::Finalize { .. }) {
            self.sent_at = Some(now);
        }
    }

    /// The responder received a request for the token of an accepted challenge. The CA may validate
    /// before its response to "accept" arrives.
    pub fn note_hit(&mut self, url: &str, at: Timestamp) {
        let accepted = self.attempts.get_mut(url).and_then(|attempt| attempt.acceptance.as_mut());
        if let Some(accepted) = accepted.filter(|accepted| at >= accepted.begun) {
            accepted.hit = Some(at);
        }
    }
}
