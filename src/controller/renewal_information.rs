//! When does the CA suggest to renew the live certificate? (ARI, RFC 9773)
//!
//! | what | the CA is |
//! | --- | --- |
//! | the issuer's renewalInformationSource is None, or renewal is disabled | not asked |
//! | no pair of this issuer's CA is live, or its certificate has no identifier | not asked |
//! | something is due or in progress | not asked: no renewal waits for ARI |
//! | the time to ask again has not come | not asked |
//! | any other | asked |
//!
//! | answer | becomes | asked again after |
//! | --- | --- | --- |
//! | a window that can be | the window, and the instant in it | Retry-After, a minute to a day; 6 h without |
//! | any other window, or an error | the last window stays, with the error | 6 h, or Retry-After if that is longer |
//! | the directory has no renewalInfo | the same | a day |
//!
//! Up to a quarter more, derived from the certificate's identifier, spreads the questions; the
//! instant is derived from it too, so that hosts that share a certificate choose the same.

use std::sync::Arc;

use aws_lc_rs::digest;
use jiff::{SignedDuration, Timestamp};

use super::policy::first_trigger;
use super::{
    Change, Effect, EffectError, IllegalOutcome, Outcome, Record, RenewalInformationSeen, Snapshot,
    readiness, revocation,
};
use crate::resource::{
    CauseKind, Issuer, LeafFacts, NoWindow, Reason, RenewalInformation, SuggestedWindow, rfc3339,
};

/// Without a Retry-After, and after a failed question (RFC 9773 section 4.3).
const UNSAID: SignedDuration = SignedDuration::from_hours(6);
/// The bounds of the CA's Retry-After.
const SHORTEST: SignedDuration = SignedDuration::from_mins(1);
const LONGEST: SignedDuration = SignedDuration::from_hours(24);

/// A question that the CA may be asked now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The identifier of the live certificate.
    pub certificate_id: String,
    /// Since when it may be asked; the start of the certificate's validity for the first time.
    pub since: Timestamp,
    /// The issuer whose CA is asked.
    pub issuer: Arc<Issuer>,
}

impl Question {
    pub fn effect(&self) -> Effect {
        Effect::AskForRenewalInformation { certificate_id: self.certificate_id.clone() }
    }
}

/// See the first table.
pub fn question(snapshot: &Snapshot, now: Timestamp) -> Option<Question> {
    let question = next_question(snapshot, now).filter(|question| question.since <= now)?;
    let is_busy = snapshot.is_issuing() || snapshot.run.error.is_some();
    let is_due = || first_trigger(snapshot, now).is_some();
    (!is_busy && !revocation::ends_here(snapshot) && !is_due()).then_some(question)
}

/// The next question about the live certificate, if nothing comes between.
pub(super) fn next_question(snapshot: &Snapshot, now: Timestamp) -> Option<Question> {
    let record = &snapshot.record;
    let leaf = snapshot.live_leaf().filter(|leaf| !leaf.is_temporary())?;
    let certificate_id = leaf.certificate_id.clone()?;
    // What a CA does not offer for one certificate it offers for none.
    let is_of_it = |known: &&RenewalInformation| {
        known.certificate_id == certificate_id || known.last_error == Some(NoWindow::NotOffered)
    };
    let since = match record.status.acme.ari.as_ref().filter(is_of_it) {
        // A question in the future is of a clock that was ahead.
        Some(known) if known.last_checked.is_none_or(|at| at <= now) => known.next_check,
        // Of a CA whose clock is ahead, a new certificate is not valid yet.
        Some(_) | None => leaf.not_before.min(now),
    };
    let issuer = Arc::clone(snapshot.issuer());
    is_wanted(snapshot).then_some(Question { certificate_id, since, issuer })
}

/// Whether the manifests want the CA of the live certificate to be asked.
fn is_wanted(snapshot: &Snapshot) -> bool {
    let acme = &snapshot.issuer().acme;
    acme.asks_when_to_renew()
        && !snapshot.certificate.spec.never_renews()
        && snapshot.record.issued_by() == Some(&acme.server)
}

/// Applies the answer about a certificate, unless another one is live by now.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other outcome is refused, not kept")]
pub fn absorb(
    snapshot: &Snapshot,
    certificate_id: &str,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    let live = snapshot.live_leaf();
    let Some(leaf) = live.filter(|leaf| leaf.certificate_id.as_deref() == Some(certificate_id))
    else {
        return Ok(Record::default());
    };
    let before = snapshot.record.renewal_information(leaf);
    let follows_early_renewal = before.is_some_and(|before| before.follows_early_renewal);
    let (answer, wait) = match outcome {
        Outcome::RenewalInformation(seen) => {
            let wait = seen.retry_after.unwrap_or(UNSAID).clamp(SHORTEST, LONGEST);
            match usable(leaf, *seen, follows_early_renewal, now) {
                Ok(window) => (Ok(window), wait),
                Err(error) => (Err(error), UNSAID),
            }
        }
        Outcome::NoRenewalInformation => (Err(NoWindow::NotOffered), LONGEST),
        Outcome::Failed(EffectError { cause, retry_after }) => {
            let wait = retry_after.unwrap_or(UNSAID).clamp(UNSAID, LONGEST);
            (Err(NoWindow::Failed(cause)), wait)
        }
        other => return Err(IllegalOutcome::new("asking for renewal information", &other)),
    };
    // A wrong one does not hide for long that the CA has revoked.
    let half = (now.duration_until(leaf.not_after) / 2).max(SHORTEST);
    let next_check = next_check(certificate_id, now, wait.min(half));
    let known = RenewalInformation {
        certificate_id: certificate_id.to_owned(),
        suggested_window: before.and_then(|before| before.suggested_window.clone()),
        last_checked: Some(now),
        next_check,
        last_error: None,
        made_due: false,
        follows_early_renewal,
    };
    let (known, event) = match answer {
        Ok(window) => {
            let event = is_another(before, &window).then(|| suggested(&window));
            (RenewalInformation { suggested_window: Some(window), ..known }, event)
        }
        Err(error) => {
            let event = is_another_error(before, &error).then(|| failed(&error, next_check));
            (RenewalInformation { last_error: Some(error), ..known }, event)
        }
    };
    let mut informed = snapshot.clone();
    informed.record.status.acme.ari = Some(known);
    let record = Change::Certificate(Box::new(readiness::refreshed(&informed, now)));
    Ok(match event {
        None => Record::of(record),
        Some((Reason::Renewing, message)) => {
            Record::of(record).normal(now, Reason::Renewing, message)
        }
        Some((reason, message)) => Record::of(record).warning(now, reason, message),
    })
}

/// The renewal information of the certificate that goes live, before the CA is asked about it.
/// `is_early`: only ARI made its renewal due; `is_offered`: the directory has renewalInfo.
pub fn of_new_leaf(
    leaf: &LeafFacts,
    is_early: bool,
    is_offered: bool,
    now: Timestamp,
) -> Option<RenewalInformation> {
    let certificate_id = leaf.certificate_id.clone().filter(|_| is_early || !is_offered)?;
    let known = RenewalInformation {
        next_check: now,
        certificate_id,
        suggested_window: None,
        last_checked: None,
        last_error: None,
        made_due: false,
        follows_early_renewal: is_early,
    };
    if is_offered {
        return Some(known);
    }
    Some(RenewalInformation {
        next_check: next_check(&known.certificate_id, now, LONGEST),
        last_checked: Some(now),
        last_error: Some(NoWindow::NotOffered),
        ..known
    })
}

/// The window and the instant in it, if the certificate has not ended by then. A window that was
/// over before the certificate began may be a revocation's, but not twice in a row: then the CA says
/// it of every certificate.
fn usable(
    leaf: &LeafFacts,
    seen: RenewalInformationSeen,
    follows_early_renewal: bool,
    now: Timestamp,
) -> Result<SuggestedWindow, NoWindow> {
    let RenewalInformationSeen { start, end, explanation_url, .. } = seen;
    let is_stale = follows_early_renewal && end <= leaf.not_before;
    if end <= start || end > leaf.not_after || is_stale {
        return Err(NoWindow::Unusable { start, end });
    }
    let id = leaf.certificate_id.as_deref().unwrap_or_default();
    let renew_at = start.saturating_add(part(start.duration_until(end), fractions(id).0));
    let renew_at = renew_at.unwrap_or(start);
    Ok(SuggestedWindow { start, end, renew_at, reported_at: now, explanation_url })
}

fn next_check(certificate_id: &str, now: Timestamp, wait: SignedDuration) -> Timestamp {
    let spread = part(wait / 4, fractions(certificate_id).1);
    now.saturating_add(wait + spread).unwrap_or(Timestamp::MAX)
}

/// Two numbers that are evenly distributed over all names, in parts of 2^32.
pub(super) fn fractions(name: &str) -> (u32, u32) {
    let digest = digest::digest(&digest::SHA256, name.as_bytes());
    let mut chunks = digest.as_ref().chunks_exact(4);
    let mut word = || {
        let bytes = chunks.next().and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
        u32::from_be_bytes(bytes.unwrap_or_default())
    };
    (word(), word())
}

/// A part of a duration, in whole seconds.
pub(super) fn part(of: SignedDuration, fraction: u32) -> SignedDuration {
    let seconds = (i128::from(of.as_secs()) * i128::from(fraction)) >> 32;
    SignedDuration::from_secs(i64::try_from(seconds).unwrap_or_default())
}

fn is_another(before: Option<&RenewalInformation>, window: &SuggestedWindow) -> bool {
    let before = before.and_then(|before| before.suggested_window.as_ref());
    before.is_none_or(|before| {
        (before.start, before.end, &before.explanation_url)
            != (window.start, window.end, &window.explanation_url)
    })
}

/// Whether the event of an error is new: the same one comes back every few hours.
fn is_another_error(before: Option<&RenewalInformation>, error: &NoWindow) -> bool {
    let kind = |error: &NoWindow| match error {
        NoWindow::NotOffered => None,
        NoWindow::Unusable { .. } => Some(CauseKind::Unusable),
        NoWindow::Failed(cause) => Some(cause.kind()),
    };
    let before = before.and_then(|before| before.last_error.as_ref());
    *error != NoWindow::NotOffered && before.map(kind) != Some(kind(error))
}

fn suggested(window: &SuggestedWindow) -> (Reason, String) {
    let SuggestedWindow { start, end, renew_at, explanation_url, .. } = window;
    let see = explanation_url.as_ref().map(|url| format!(" ({url})")).unwrap_or_default();
    let message = format!(
        "The CA suggests renewing between {} and {}{see}; the chosen time is {}",
        rfc3339(*start),
        rfc3339(*end),
        rfc3339(*renew_at)
    );
    (Reason::Renewing, message)
}

fn failed(error: &NoWindow, next_check: Timestamp) -> (Reason, String) {
    let message = format!(
        "The CA's renewal information (ARI) is unavailable: {error}; the next query is after {}",
        rfc3339(next_check)
    );
    (Reason::Failed, message)
}
