//! What happened in this run; dropped when the run ends.

mod account;
mod deployment;
mod order;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::attempt::{Attempt, Slot};
use super::effect::Effect;
use super::step::EffectError;
use crate::resource::{Doing, Obstacle, RevocationAnswer, RevocationReason};

pub use account::AccountRun;
pub use deployment::DeploymentRun;
pub(super) use order::FINALIZE_TRIES;
pub use order::{Hold, OrderRun, OthersOrder, Poll};

/// What happened in this run. Dropped when it ends.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says whether one action was done in this run"
)]
pub struct Run {
    /// The account at the CA.
    pub account: AccountRun,
    /// The order for the next revision.
    pub order: OrderRun,
    /// What happened to each challenge, by its URL.
    pub attempts: BTreeMap<String, Attempt>,
    /// The deployment of the live files.
    pub deployment: DeploymentRun,
    /// Make a new private key, overriding rotationPolicy.
    pub new_key: bool,
    /// `Prepare` succeeded.
    pub prepared: bool,
    /// `Prepare` succeeded for challenges too.
    pub prepared_to_solve: bool,
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
    /// When another run that shared the listener's port was last seen to have ended.
    pub listener_gone: Option<Timestamp>,
    /// The directory of the CA that issues has no renewalInfo.
    pub lacks_renewal_information: bool,
    /// Challenges of any certificate and run wait for a slot.
    pub is_crowded: bool,
    /// A certificate that clients trust may be replaced by one that they do not.
    pub allow_untrusted: bool,
    /// What the user requested for this run.
    pub request: Option<UserRequest>,
    /// The CA's responses to revocations, by fingerprint.
    pub revocations: Vec<(String, Result<RevocationAnswer, EffectError>)>,
    /// The revision that a rollback replaced in this run, and the one that is live instead.
    pub went_back: Option<(u32, u32)>,
    /// The error that ends this run.
    pub error: Option<(Doing, EffectError)>,
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

    /// The CA has forgotten the account, and with it the order: another order is allowed.
    pub(super) fn note_lost_account(&mut self) {
        self.account.is_lost = true;
        self.order.note_lost();
    }

    /// Notes the start of an effect.
    pub fn note_begin(&mut self, effect: &Effect, now: Timestamp) {
        if let Effect::Accept { url, .. } = effect {
            self.attempt_mut(url).begin_accept(now);
        }
        if matches!(effect, Effect::CreateOrder { .. } | Effect::Finalize { .. }) {
            self.order.sent_at = Some(now);
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
