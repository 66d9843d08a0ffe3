//! What has happened in this run, and is not remembered when it ends.

mod sorts;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

pub(super) use sorts::acts_for_the_account;
use sorts::{is_for_the_order, is_our_own};

use super::order_absorb::doing;
use super::{ChallengeSeen, DeedError, DeedErrorKind, Effect, Intervals, Outcome};
use crate::resource::{AuthorizationState, DeployStep, OrderState, RevocationReason};

/// What has happened in this run. Gone when it ends.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says whether one deed was done in this run"
)]
pub struct Run {
    /// A new private key is asked for, whatever rotationPolicy says.
    pub new_key: bool,
    /// `Prepare` has succeeded.
    pub prepared: bool,
    /// `Prepare` has succeeded for challenges too.
    pub prepared_to_solve: bool,
    /// The account record was made in this run, so no newAccount can have been sent before.
    pub account_is_fresh: bool,
    /// The CA does not know the account any more. What is asked of it next is to make it again.
    pub account_is_lost: bool,
    /// The account was lost in this run and is there again: the next loss is a failure.
    pub account_is_back: bool,
    /// The order was made or read at the CA in this run.
    pub order_is_known: bool,
    /// The CA has shown the order in this run, before it was invalid.
    pub order_was_seen: bool,
    /// newOrder was sent in this run.
    pub ordered: bool,
    /// A new pair was published in this run.
    pub published: bool,
    /// The live pair was written again in this run.
    pub rewritten: bool,
    /// Live keystores, by file name, whose password is not the one that the spec names now.
    pub changed_passwords: BTreeSet<String>,
    /// How often the CSR was posted in this run.
    pub finalize_tries: u32,
    /// Why the CSR was refused the last time.
    pub finalize_refusal: Option<String>,
    /// When the order may be read next.
    pub poll: Poll,
    /// Challenges, by URL, that hold a slot.
    pub granted: BTreeSet<String>,
    /// When those slots were granted in this run, by URL.
    pub grants: BTreeMap<String, Grant>,
    /// Challenges, by URL, that an earlier run was at work on, and that have no slot yet.
    pub without_slot: BTreeSet<String>,
    /// Challenges, by URL, whose turn is over because others wait for their slots.
    pub turn_over: BTreeSet<String>,
    /// Somebody waits for a slot, of whatever certificate and run.
    pub is_crowded: bool,
    /// When the responder was last asked for a challenge's token after accept, by URL.
    pub hits: BTreeMap<String, Timestamp>,
    /// When newOrder or finalize was begun in this run.
    pub asked_at: Option<Timestamp>,
    /// How long the CA took to answer newOrder or finalize last: a CA that is slow to answer is
    /// slow to look and to sign as well.
    pub answer_time: SignedDuration,
    /// When telling the CA to look was begun in this run, by URL.
    pub telling: BTreeMap<String, Timestamp>,
    /// When a challenge was accepted in this run, by URL.
    pub accepted: BTreeMap<String, Timestamp>,
    /// When an authorization was last read in this run, by its URL.
    pub looked: BTreeMap<String, Timestamp>,
    /// When a challenge may be presented or checked again, by URL.
    pub not_before: BTreeMap<String, Timestamp>,
    /// How often in a row an answer could not be put out, for a reason that does not pass, by URL.
    pub denials: BTreeMap<String, u32>,
    /// Challenges, by URL, whose answer may be out: who was to take it was not heard, or took it.
    pub may_be_out: BTreeSet<String>,
    /// Challenges, by URL, whose answer this run has put out.
    pub presented: BTreeSet<String>,
    /// Challenges, by URL, for which it is not known whether the CA has been told to look.
    pub unsure: BTreeSet<String>,
    /// Challenges, by URL, that an earlier run presented, and that the CA may have looked at when
    /// nobody answered.
    pub cut_off: BTreeSet<String>,
    /// How often "accept" was posted in this run, by URL.
    pub accept_tries: BTreeMap<String, u32>,
    /// Clean-ups, by URL, that failed in this run.
    pub clean_up_failed: BTreeSet<String>,
    /// How long the CA asked to wait when it refused the order.
    pub refusal_retry_after: Option<SignedDuration>,
    /// What is owed is deployed whatever failed before (`deploy`).
    pub deploy_now: bool,
    /// What was deployed in this run.
    pub deployed: BTreeSet<DeployStep>,
    /// What could not be deployed in this run.
    pub not_deployed: BTreeSet<DeployStep>,
    /// What is asked for in this run, beside what is recorded.
    pub wish: Option<Wish>,
    /// What the CA answered to revocations, by fingerprint.
    pub revocations: Vec<(String, Result<(), DeedError>)>,
    /// The revision that was left in this run, and the one that is live instead.
    pub went_back: Option<(u32, u32)>,
    /// The CA was told the contacts in this run.
    pub contacts_are_told: bool,
    /// An earlier run was to deactivate the account, and may have done it.
    pub may_be_deactivated: bool,
    /// The trouble that ends this run.
    pub trouble: Option<(String, DeedError)>,
}

/// What is asked for by hand.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// The live certificate is to be revoked.
    Revoke(RevocationWish),
    /// This revision is to be live again; the one before the live one when none is named.
    RollBack(Option<u32>),
}

/// A revocation of the live certificate that is asked for by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevocationWish {
    pub reason: RevocationReason,
    /// Before its replacement is there.
    pub at_once: bool,
    /// Nothing is issued in its place.
    pub without_replacement: bool,
    /// The live certificate in PEM.
    pub certificate: Option<String>,
}

/// The grant of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// When.
    pub at: Timestamp,
    /// Since when the challenge was in the queue that all runs share.
    pub queued_since: Timestamp,
}

/// When to look at the order next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Poll {
    /// How many looks there were since the last accept or finalize.
    pub looks: u32,
    /// Not before this time.
    pub not_before: Option<Timestamp>,
}

impl Poll {
    /// The first look after accept's last hit, and after finalize.
    pub const FIRST: SignedDuration = SignedDuration::from_millis(5);
    /// The longest pause between two looks, unless the CA asks for more.
    pub const LONGEST: SignedDuration = SignedDuration::from_secs(5);
    /// The longest Retry-After that is waited for within a run.
    pub const CLAMP: SignedDuration = SignedDuration::from_secs(60);

    /// The pause after `looks` looks: 5 ms, doubling to 5 s; never less than the CA asks for.
    pub fn pause(looks: u32, retry_after: Option<SignedDuration>) -> SignedDuration {
        let factor = 1_i32.checked_shl(looks.min(20)).unwrap_or(i32::MAX);
        let own = Self::FIRST.checked_mul(factor).unwrap_or(Self::LONGEST).min(Self::LONGEST);
        own.max(retry_after.unwrap_or(SignedDuration::ZERO).min(Self::CLAMP))
    }
}

/// How often the CSR is posted in one run before a refusal is final.
pub(super) const FINALIZE_TRIES: u32 = 3;
/// How often the certificate is asked for again when the CA does not have it yet.
const DOWNLOAD_TRIES: u32 = 12;
/// How often an answer is tried to be put out in one run, when it is refused for good: two
/// intervals of the self-check lie between two tries.
const DENIALS: u32 = 3;
/// How often "accept" is posted in one run.
const ACCEPT_TRIES: u32 = 3;

impl Run {
    /// Notes an outcome, before the room it belongs to says what it means.
    pub fn note(
        &mut self,
        effect: &Effect,
        outcome: &Outcome,
        intervals: Intervals,
        now: Timestamp,
    ) {
        if let Outcome::Failed(error) = outcome {
            self.note_failure(effect, error, intervals, now);
            return;
        }
        self.order_was_seen |= matches!(outcome, Outcome::Order(seen) if !seen.state.is_failure());
        match effect {
            Effect::Prepare { solving } => {
                self.prepared = true;
                self.prepared_to_solve |= *solving;
            }
            Effect::ObtainAccountKey => {
                self.account_is_fresh = matches!(outcome, Outcome::AccountKey { fresh: true, .. });
            }
            Effect::FindAccount => {
                self.account_is_fresh = matches!(outcome, Outcome::NoAccount);
                if !self.account_is_fresh {
                    self.note_account();
                }
            }
            Effect::RegisterAccount => {
                self.contacts_are_told = true;
                self.note_account();
            }
            Effect::UpdateContacts => self.contacts_are_told = true,
            Effect::Revoke { fingerprint, .. } => {
                self.revocations.push((fingerprint.clone(), Ok(())));
            }
            Effect::SwitchBack { from, to, .. } => self.went_back = Some((*from, *to)),
            Effect::CreateOrder => {
                self.note_answer(now);
                self.ordered = true;
                self.order_is_known = true;
            }
            Effect::ReadOrder => self.note_look(outcome, now),
            Effect::Finalize => {
                self.note_answer(now);
                self.finalize_tries += 1;
                self.poll = Poll::default();
                let earliest = now.checked_add(self.first_pause()).ok();
                self.poll.not_before = earliest.max(pause_ends(now, 0, outcome));
            }
            Effect::Accept { url } => {
                self.unsure.remove(url);
                self.cut_off.remove(url);
                self.accept_tries.remove(url);
                self.accepted.insert(url.clone(), now);
                self.poll = Poll::default();
                if let Outcome::Accepted(seen) = outcome {
                    self.note_left_pending(url, seen);
                }
            }
            Effect::ReadAuthorization { url } => {
                self.looked.insert(url.clone(), now);
                self.note_authorization(outcome);
            }
            Effect::SelfCheck { url } => self.note_check(url, outcome, intervals, now),
            Effect::Present { url } => {
                self.denials.remove(url);
                self.may_be_out.insert(url.clone());
                self.presented.insert(url.clone());
            }
            Effect::CleanUp { url, .. } => {
                self.may_be_out.remove(url);
                self.presented.remove(url);
            }
            Effect::GenerateKey { .. }
            | Effect::ReuseKey
            | Effect::BuildRequest
            | Effect::RestoreLinks { .. }
            | Effect::DeactivateAccount
            | Effect::Locate { .. }
            | Effect::Download => {}
            Effect::PublishTemporary => self.note_other_files(),
            Effect::Publish => {
                self.published = true;
                self.note_other_files();
            }
            Effect::Rewrite => {
                self.rewritten = true;
                self.note_other_files();
            }
            Effect::Deploy { step } => {
                self.deployed.insert(*step);
            }
        }
    }

    /// Other files are live: what was done with those before is to be done with these.
    fn note_other_files(&mut self) {
        self.deployed.clear();
        self.not_deployed.clear();
    }

    /// The pause before the first look: [`Poll::FIRST`], or as long as the CA took to answer last,
    /// at most a second.
    pub fn first_pause(&self) -> SignedDuration {
        self.answer_time.clamp(Poll::FIRST, SignedDuration::from_secs(1))
    }

    /// There is an account at the CA.
    pub fn note_account(&mut self) {
        self.account_is_back |= std::mem::take(&mut self.account_is_lost);
    }

    /// The CA has forgotten the account, and with it the order: another one may be made.
    fn note_lost_account(&mut self) {
        self.account_is_lost = true;
        self.ordered = false;
        self.order_was_seen = false;
        self.finalize_tries = 0;
        self.poll = Poll::default();
    }

    fn note_answer(&mut self, now: Timestamp) {
        self.answer_time =
            self.asked_at.take().map_or(SignedDuration::ZERO, |asked| asked.duration_until(now));
    }

    /// Notes that a deed begins.
    pub fn note_begin(&mut self, effect: &Effect, now: Timestamp) {
        if let Effect::Accept { url } = effect {
            self.telling.entry(url.clone()).or_insert(now);
        }
        if matches!(effect, Effect::CreateOrder | Effect::Finalize) {
            self.asked_at = Some(now);
        }
    }

    /// The responder was asked for the token of an accepted challenge. The CA may look before its
    /// answer to "accept" is here.
    pub fn note_hit(&mut self, url: &str, at: Timestamp) {
        let told = self.telling.get(url).is_some_and(|begun| at >= *begun);
        if told {
            self.hits.insert(url.to_owned(), at);
        }
    }

    fn note_look(&mut self, outcome: &Outcome, now: Timestamp) {
        self.order_is_known = true;
        self.poll.looks = self.poll.looks.saturating_add(1);
        self.poll.not_before = pause_ends(now, self.poll.looks, outcome);
        if let Outcome::Order(seen) = outcome
            && matches!(seen.state, OrderState::Ready | OrderState::Valid)
        {
            self.poll = Poll::default();
        }
    }

    /// A challenge that the CA still calls pending has not been told to look.
    fn note_authorization(&mut self, outcome: &Outcome) {
        let Outcome::Authorization(seen) = outcome else { return };
        for (url, challenge) in &seen.seen {
            if self.unsure.remove(url) && challenge.state != AuthorizationState::Pending {
                self.accept_tries.remove(url);
            }
            self.note_left_pending(url, challenge);
        }
    }

    /// The CA has looked in vain: what it fetched until now says nothing of its next look.
    fn note_left_pending(&mut self, url: &str, seen: &ChallengeSeen) {
        if seen.state == AuthorizationState::Pending && seen.problem.is_some() {
            self.hits.remove(url);
            self.telling.remove(url);
            self.accepted.remove(url);
        }
    }

    fn note_check(&mut self, url: &str, outcome: &Outcome, intervals: Intervals, now: Timestamp) {
        let Outcome::Checked(report) = outcome else { return };
        if !report.has_passed()
            && let Ok(next) = now.checked_add(intervals.self_check)
        {
            self.not_before.insert(url.to_owned(), next);
        }
    }

    fn note_failure(
        &mut self,
        effect: &Effect,
        error: &DeedError,
        intervals: Intervals,
        now: Timestamp,
    ) {
        if error.is_unknown_account() && acts_for_the_account(effect) && !self.account_is_back {
            self.note_lost_account();
            return;
        }
        self.refusal_retry_after = error.retry_after.or(self.refusal_retry_after);
        if is_our_own(error.kind) && is_for_the_order(effect) {
            self.trouble = Some((doing(effect).to_owned(), error.clone()));
            return;
        }
        match effect {
            Effect::Locate { url } | Effect::Present { url } | Effect::SelfCheck { url } => {
                let own = intervals.self_check;
                let own = if self.note_denial(effect, error.kind) { own * 2 } else { own };
                let wait = own.max(error.retry_after.unwrap_or_default());
                if let Ok(next) = now.checked_add(wait) {
                    self.not_before.insert(url.clone(), next);
                }
            }
            Effect::Deploy { step } => {
                self.not_deployed.insert(*step);
            }
            Effect::Revoke { fingerprint, .. } => {
                self.revocations.push((fingerprint.clone(), Err(error.clone())));
            }
            Effect::DeactivateAccount
                if self.may_be_deactivated && error.is_of_a_gone_account() => {}
            Effect::CleanUp { url, .. } => {
                self.clean_up_failed.insert(url.clone());
            }
            // Whether the CA was told to look is read from the CA.
            Effect::Accept { url } => {
                let tries = self.accept_tries.entry(url.clone()).or_insert(0);
                *tries += 1;
                self.unsure.insert(url.clone());
                if *tries >= ACCEPT_TRIES {
                    self.trouble = Some((doing(effect).to_owned(), error.clone()));
                }
            }
            Effect::Finalize => {
                self.finalize_tries += 1;
                self.finalize_refusal = Some(error.to_string());
                self.order_is_known = false;
                self.poll = Poll::default();
                // A CA that is away has refused nothing: the next run goes on with the order.
                if self.finalize_tries >= FINALIZE_TRIES {
                    self.note_trouble(effect, error);
                }
            }
            Effect::Download => self.note_missing_certificate(effect, error, now),
            Effect::CreateOrder => {
                self.ordered = true;
                self.note_trouble(effect, error);
            }
            Effect::ReadOrder | Effect::ReadAuthorization { .. } => {
                self.order_is_known = true;
                self.note_trouble(effect, error);
            }
            Effect::Prepare { .. }
            | Effect::GenerateKey { .. }
            | Effect::ReuseKey
            | Effect::BuildRequest
            | Effect::ObtainAccountKey
            | Effect::FindAccount
            | Effect::RegisterAccount
            | Effect::UpdateContacts
            | Effect::Publish
            | Effect::PublishTemporary
            | Effect::Rewrite
            | Effect::SwitchBack { .. }
            | Effect::RestoreLinks { .. }
            | Effect::DeactivateAccount => {
                self.trouble = Some((doing(effect).to_owned(), error.clone()));
            }
        }
    }

    /// Counts what does not pass by itself, and notes whether an answer may be out all the same.
    fn note_denial(&mut self, effect: &Effect, kind: DeedErrorKind) -> bool {
        let (Effect::Locate { url } | Effect::Present { url }) = effect else { return false };
        if matches!(effect, Effect::Present { .. }) && !kind.has_done_nothing() {
            self.may_be_out.insert(url.clone());
        }
        if !kind.is_for_good() {
            self.denials.remove(url);
            return false;
        }
        let count = self.denials.entry(url.clone()).or_insert(0);
        *count = count.saturating_add(1);
        true
    }

    /// Whether this run tries no more to put the answer to this challenge out.
    pub fn gives_up(&self, url: &str) -> bool {
        self.denials.get(url).is_some_and(|count| *count >= DENIALS)
    }

    /// A server that cannot be reached is not asked again in this run; every other answer is said
    /// by the order's own record.
    fn note_trouble(&mut self, effect: &Effect, error: &DeedError) {
        if error.kind == DeedErrorKind::Transient {
            self.trouble = Some((doing(effect).to_owned(), error.clone()));
        }
    }

    /// A CA may need a moment between "valid" and handing out the certificate.
    fn note_missing_certificate(&mut self, effect: &Effect, error: &DeedError, now: Timestamp) {
        self.poll.looks = self.poll.looks.saturating_add(1);
        let pause = Poll::pause(self.poll.looks, error.retry_after);
        self.poll.not_before = now.checked_add(pause).ok();
        let waiting = matches!(error.kind, DeedErrorKind::Gone | DeedErrorKind::Transient);
        if waiting && self.poll.looks >= DOWNLOAD_TRIES {
            self.trouble = Some((doing(effect).to_owned(), error.clone()));
        }
    }
}

fn pause_ends(now: Timestamp, looks: u32, outcome: &Outcome) -> Option<Timestamp> {
    let retry_after = match outcome {
        Outcome::Order(seen) => seen.retry_after,
        Outcome::Prepared
        | Outcome::Key(..)
        | Outcome::Request(..)
        | Outcome::AccountKey { .. }
        | Outcome::Account { .. }
        | Outcome::NoAccount
        | Outcome::Authorization(_)
        | Outcome::Located(_)
        | Outcome::Presented
        | Outcome::Checked(_)
        | Outcome::Accepted(_)
        | Outcome::CleanedUp
        | Outcome::Certificate { .. }
        | Outcome::Published(_)
        | Outcome::PublishedTemporary(_)
        | Outcome::Rewritten
        | Outcome::Deployed { .. }
        | Outcome::Done
        | Outcome::Failed(_) => None,
    };
    now.checked_add(Poll::pause(looks, retry_after)).ok()
}
