//! May the CA be asked for an account or an order now?
//!
//! A rate limit (RFC 8555 section 6.6) of newAccount or newOrder is no verdict on a certificate: it
//! holds back the orders that the CA names, or all of the account, until its Retry-After is over.

use jiff::{SignedDuration, Timestamp};

use super::{Effect, EffectError, Hold, Snapshot, Step, Wake, order};
use crate::resource::{AuthorizationState, Doing, OrderPhase, Refusal, Scope, Spending};

/// The wait when the CA does not say how long.
const UNSAID: SignedDuration = SignedDuration::from_hours(1);

/// The wait of a certificate that must not ask yet.
pub(super) fn decide(snapshot: &Snapshot) -> Option<Step> {
    Some(match snapshot.run.order.hold.clone()? {
        Hold::Wait { until, what } => Step::Wait { until, wake: Wake::Time, what },
        Hold::Defer { until, why } => Step::Defer { until, why },
    })
}

/// Whether the next request to the CA is for an account or an order.
pub fn asks(snapshot: &Snapshot, now: Timestamp) -> bool {
    let order = order::continued(snapshot, now);
    snapshot.is_issuing()
        && snapshot.next_request.is_some()
        && order.is_none_or(|order| order.phase == OrderPhase::Creating)
}

/// Whether an effect asks the CA for an account or an order.
pub fn creates(effect: &Effect) -> bool {
    matches!(effect.doing(), Doing::CreateOrder | Doing::RegisterAccount)
}

/// The refusal in an error of newAccount or newOrder: it holds back at least the certificate that
/// asked, or that one would ask again at once. An account that the CA paused until the user acts is
/// not refused for a time: that is a failure.
pub(super) fn refusal(
    snapshot: &Snapshot,
    effect: &Effect,
    error: &EffectError,
    now: Timestamp,
) -> Option<Refusal> {
    let problem = error.problem().filter(|_| creates(effect) && asks(snapshot, now))?;
    if problem.status != Some(429) || problem.is_paused() {
        return None;
    }
    let wait = error.retry_after.unwrap_or(UNSAID);
    let scope = if effect.doing() == Doing::CreateOrder {
        let names = names(snapshot);
        let scope = Scope::of(problem, &names);
        let is_covered = scope.covers(&names, renews(snapshot, &names));
        if is_covered { scope } else { Scope::Names(names) }
    } else {
        Scope::Account
    };
    Some(Refusal { scope, at: now, until: now.checked_add(wait).ok()? })
}

/// The names of the order, sorted.
pub fn names(snapshot: &Snapshot) -> Vec<String> {
    let names = order::identifiers(&snapshot.certificate.spec);
    let mut names: Vec<_> = names.iter().map(ToString::to_string).collect();
    names.sort_unstable();
    names
}

/// The names of the current order that the CA could not validate, without `*.`.
pub fn failed(snapshot: &Snapshot) -> Vec<String> {
    let challenges = snapshot.current_order().into_iter().flat_map(|order| &order.challenges);
    let failed = challenges.filter(|c| *c.authorization() == AuthorizationState::Invalid);
    failed.map(|challenge| challenge.spec.identifier.to_string()).collect()
}

/// What the order for these names would spend of the CA's published limits.
pub fn spending<'a>(snapshot: &Snapshot, names: &'a [String], now: Timestamp) -> Spending<'a> {
    let registers = snapshot.account.as_ref().is_none_or(|account| account.url.is_none());
    let replaces = match order::continued(snapshot, now) {
        Some(order) => order.replaces.clone(),
        None => order::replaced_by(snapshot),
    };
    let exempt = is_requested(snapshot, replaces.as_deref(), now);
    Spending { names, renews: renews(snapshot, names), registers, exempt }
}

/// Whether the CA asks for the renewal of the certificate that an order replaces: its limits do not
/// apply to that order. The certificate may not be live any more.
pub(super) fn is_requested(snapshot: &Snapshot, replaces: Option<&str>, now: Timestamp) -> bool {
    let known = snapshot.record.status.acme.ari.as_ref();
    let known = known.filter(|known| Some(known.certificate_id.as_str()) == replaces);
    let window = known.and_then(|known| known.suggested_window.as_ref());
    window.is_some_and(|window| window.renew_at <= now)
}

/// Whether the order renews the live certificate: this CA issued it, for the same names.
pub(super) fn renews(snapshot: &Snapshot, names: &[String]) -> bool {
    let issued_by = snapshot.record.issued_by();
    let live = snapshot.live_leaf().filter(|_| issued_by == Some(&snapshot.issuer().acme.server));
    live.filter(|leaf| !leaf.is_temporary()).is_some_and(|leaf| {
        let addresses = leaf.ip_addresses.iter().map(ToString::to_string);
        let mut live: Vec<_> = leaf.dns_names.iter().cloned().chain(addresses).collect();
        live.sort_unstable();
        live == names
    })
}
