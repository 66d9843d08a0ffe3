//! Renewal information (RFC 9773): the suggested windows, and the orders that replace a certificate.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use tokio::time::Instant;

use crate::resource::{Identifier, OrderState};

use super::certificate::Issued;
use super::problem::{Problem, ProblemType, with_some};
use super::reply::Reply;
use super::route::Route;
use super::world::World;
use super::{Shared, lock};

/// What the CA says about the renewal of one certificate. Nothing is checked: a test may suggest
/// nonsense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuggestedRenewal {
    /// The start of the window.
    pub start: Timestamp,
    pub end: Timestamp,
    pub explanation_url: Option<String>,
    /// Retry-After, verbatim.
    pub retry_after: Option<String>,
}

/// The certificate identifier in a path.
pub(super) fn id_of(path: &str) -> &str {
    let base = Route::RenewalInfo.path();
    path.strip_prefix(&base).and_then(|rest| rest.strip_prefix('/')).unwrap_or_default()
}

/// The renewal information of a certificate (section 4.2).
pub(super) fn renewal_info(shared: &Shared, path: &str) -> Result<Reply, Problem> {
    if !shared.options.renewal_info {
        return Err(Problem::not_found("resource"));
    }
    let world = lock(&shared.world);
    let found = world.certificate(id_of(path)).ok_or_else(|| Problem::not_found("certificate"))?;
    let SuggestedRenewal { start, end, explanation_url, retry_after } =
        found.renewal.clone().unwrap_or_else(|| usual(found, shared.now()));
    let window = json!({ "start": start.to_string(), "end": end.to_string() });
    let document = with_some(
        json!({ "suggestedWindow": window }),
        [("explanationURL", explanation_url.map(Into::into))],
    );
    Ok(Reply::json(200, document).retry_after(retry_after))
}

/// At two thirds of the certificate's life, for a 24th of it; in the past once it is revoked, as
/// Let's Encrypt's server has it.
fn usual(issued: &Issued, now: Timestamp) -> SuggestedRenewal {
    let life = issued.not_after.duration_since(issued.not_before).unsigned_abs();
    let (start, length) = if issued.revoked.is_some() {
        (super::before(now, Duration::from_hours(1)), Duration::from_mins(30))
    } else {
        (super::after(issued.not_before, life / 3 * 2), life / 24)
    };
    SuggestedRenewal {
        start,
        end: super::after(start, length),
        explanation_url: None,
        retry_after: Some(RETRY_AFTER.as_secs().to_string()),
    }
}

/// Whether an order may replace this certificate (section 5).
pub(super) fn check_replaces(
    world: &mut World,
    account: u64,
    predecessor: &str,
    identifiers: &[Identifier],
    now: Timestamp,
) -> Result<(), Problem> {
    let found = world.certificate(predecessor).ok_or_else(|| Problem::not_found("certificate"))?;
    if found.account != account {
        let detail = "the certificate to replace belongs to another account";
        return Err(Problem::unauthorized(detail));
    }
    if !found.identifiers.iter().any(|identifier| identifiers.contains(identifier)) {
        let detail = "the certificate to replace has none of the order's identifiers";
        return Err(Problem::malformed(detail));
    }
    let Some(order) = found.replaced_by else { return Ok(()) };
    world.settle(order, now, Instant::now());
    // An order that failed, or that is lost, replaces nothing.
    match world.orders.get(&order) {
        Some(order) if order.status != OrderState::Invalid => {
            let detail = "another order replaces the certificate already";
            Err(Problem::new(ProblemType::AlreadyReplaced, detail))
        }
        Some(_) | None => Ok(()),
    }
}

const RETRY_AFTER: Duration = Duration::from_hours(6);
