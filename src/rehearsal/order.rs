//! Orders (RFC 8555 section 7.4): created, read.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::resource::{AuthorizationState, Identifier, OrderState};

use super::authorization::Authorization;
use super::certificate;
use super::identifier::{self, WireIdentifier};
use super::jws::Signed;
use super::options::Reuse;
use super::problem::{Problem, ProblemType, with_some};
use super::reply::Reply;
use super::route::Route;
use super::world::World;
use super::{Shared, random};

/// One order.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) account: u64,
    pub(super) created: Timestamp,
    pub(super) status: OrderState,
    pub(super) expires: Timestamp,
    pub(super) identifiers: Vec<Identifier>,
    pub(super) not_before: Option<Timestamp>,
    pub(super) not_after: Option<Timestamp>,
    pub(super) profile: Option<String>,
    /// The certificate that it replaces (RFC 9773 section 5).
    pub(super) replaces: Option<String>,
    pub(super) authorizations: Vec<u64>,
    /// Already signed; visible once the order is valid.
    pub(super) certificate: Option<u64>,
    /// Until when the order shows `processing`; `None` for no longer than its reads.
    pub(super) issued_at: Option<Instant>,
    /// Reads that still show `processing`.
    pub(super) polls_left: u32,
    /// Retry-After of those reads.
    pub(super) retry_after: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewOrder {
    identifiers: Vec<WireIdentifier>,
    not_before: Option<Timestamp>,
    not_after: Option<Timestamp>,
    profile: Option<String>,
    replaces: Option<String>,
}

/// newOrder: 201, with one authorization per identifier.
pub(super) fn new_order(
    shared: &Shared,
    world: &mut World,
    signed: &Signed,
) -> Result<Reply, Problem> {
    let account = signed.account()?;
    let wanted: NewOrder = signed.parse()?;
    let now = shared.now();
    let identifiers = check_identifiers(shared, &wanted.identifiers)?;
    check_profile(shared, wanted.profile.as_deref())?;
    if wanted.not_after.is_some_and(|end| end <= wanted.not_before.unwrap_or(now).max(now)) {
        return Err(Problem::malformed("notAfter is not in the future"));
    }
    // A CA without renewal information ignores the field.
    let replaces = wanted.replaces.filter(|_| shared.options.renewal_info);
    if let Some(predecessor) = &replaces {
        certificate::check_replaces(world, account, predecessor, &identifiers, now)?;
    }
    if shared.options.reuse >= Reuse::Orders
        && let Some(id) = world.open_order(account, &identifiers, wanted.profile.as_deref(), now)
    {
        return show(shared, world, account, id, 201);
    }
    if world.orders.len() >= shared.options.max_orders {
        return Err(Problem::new(ProblemType::RateLimited, "this CA has no more orders"));
    }
    if replaces.is_none()
        && let Some(wait) = over_the_limit(shared, world, account, now)
    {
        let problem =
            Problem::new(ProblemType::RateLimited, "too many new orders from this account");
        return Ok(Reply::from(problem).retry_after(Some(wait.to_string())));
    }
    let expires = super::plus(now, shared.options.order_lifetime);
    let authorizations = identifiers
        .iter()
        .map(|subject| authorize(shared, world, account, subject, now, expires))
        .collect();
    let id = world.next_id();
    let predecessor = replaces.as_deref().and_then(|name| world.certificate_mut(name));
    if let Some(predecessor) = predecessor {
        predecessor.replaced_by = Some(id);
    }
    world.orders.insert(
        id,
        Order {
            account,
            created: now,
            status: OrderState::Pending,
            expires,
            identifiers,
            not_before: wanted.not_before,
            not_after: wanted.not_after,
            profile: wanted.profile,
            replaces,
            authorizations,
            certificate: None,
            issued_at: None,
            polls_left: 0,
            retry_after: None,
        },
    );
    show(shared, world, account, id, 201)
}

/// How many seconds the account has to wait for another order.
fn over_the_limit(shared: &Shared, world: &World, account: u64, now: Timestamp) -> Option<i64> {
    let (most, window) = shared.options.order_limit?;
    let counts = |order: &&Order| order.account == account && order.replaces.is_none();
    let orders = world.orders.values().filter(counts);
    let mut ends: Vec<_> = orders.filter_map(|o| o.created.checked_add(window).ok()).collect();
    ends.retain(|end| *end > now);
    ends.sort_unstable();
    let frees = ends.len().checked_sub(most)?;
    let wait = now.duration_until(*ends.get(frees)?);
    Some(wait.as_secs() + i64::from(wait.subsec_nanos() > 0))
}

/// The order, read.
pub(super) fn order(
    shared: &Shared,
    world: &mut World,
    id: u64,
    signed: &Signed,
) -> Result<Reply, Problem> {
    if !signed.is_read() {
        return Err(Problem::malformed("an order is read with an empty payload"));
    }
    let account = signed.account()?;
    let reply = show(shared, world, account, id, 200)?;
    let order = world.order_of(account, id)?;
    if order.status == OrderState::Processing {
        order.polls_left = order.polls_left.saturating_sub(1);
    }
    Ok(reply)
}

/// The order as it is now.
pub(super) fn show(
    shared: &Shared,
    world: &mut World,
    account: u64,
    id: u64,
    status: u16,
) -> Result<Reply, Problem> {
    world.settle(id, shared.now(), Instant::now());
    let order = &*world.order_of(account, id)?;
    let usual = shared.options.retry_after.as_ref();
    let retry_after = if order.status == OrderState::Processing {
        order.retry_after.as_ref().or(usual).cloned()
    } else {
        usual.filter(|_| order.status == OrderState::Pending && status == 200).cloned()
    };
    let order = world.orders.get(&id).ok_or_else(|| Problem::not_found("order"))?;
    let reply = Reply::json(status, to_json(shared, world, id, order));
    Ok(reply.location(shared.url(Route::Order(id))).retry_after(retry_after))
}

fn to_json(shared: &Shared, world: &World, id: u64, order: &Order) -> Value {
    let urls = order.authorizations.iter().map(|id| shared.url(Route::Authorization(*id)));
    let document = json!({
        "status": order.status.as_str(),
        "expires": order.expires.to_string(),
        "identifiers": order.identifiers.iter().map(identifier::to_json).collect::<Value>(),
        "authorizations": urls.collect::<Value>(),
        "finalize": shared.url(Route::Finalize(id)),
    });
    let is_valid = order.status == OrderState::Valid;
    let certificate = order.certificate.filter(|_| is_valid);
    let certificate = certificate.map(|id| shared.url(Route::Certificate(id, 0)));
    with_some(
        document,
        [
            ("notBefore", order.not_before.map(|time| time.to_string().into())),
            ("notAfter", order.not_after.map(|time| time.to_string().into())),
            ("profile", order.profile.clone().map(Value::from)),
            ("replaces", order.replaces.clone().map(Value::from)),
            ("error", world.error_of(order).map(|error| error.to_json())),
            ("certificate", certificate.map(Value::from)),
        ],
    )
}

/// The identifiers without duplicates, in the order of the request; the error names every invalid
/// one.
fn check_identifiers(
    shared: &Shared,
    wanted: &[WireIdentifier],
) -> Result<Vec<Identifier>, Problem> {
    if wanted.is_empty() || wanted.len() > MAX_IDENTIFIERS {
        let detail = format!("{} identifiers: 1 to {MAX_IDENTIFIERS} are allowed", wanted.len());
        return Err(Problem::malformed(detail));
    }
    let mut seen = BTreeSet::new();
    let mut identifiers = Vec::new();
    let mut faults = Vec::new();
    for wire in wanted {
        let subject = match wire.parse() {
            Ok(subject) => subject,
            Err(problem) => {
                faults.push((wire.to_json(), problem));
                continue;
            }
        };
        if !seen.insert(subject.clone()) {
            continue;
        }
        match shared.options.faults.rejection(&subject.to_string()) {
            Some(problem) => faults.push((wire.to_json(), problem)),
            None => identifiers.push(subject),
        }
    }
    match Problem::of_identifiers(faults) {
        Some(problem) => Err(problem),
        None => Ok(identifiers),
    }
}

fn check_profile(shared: &Shared, profile: Option<&str>) -> Result<(), Problem> {
    match profile {
        Some(name) if !shared.options.profiles.contains_key(name) => {
            let detail = format!("profile {name:?} is not offered");
            Err(Problem::new(ProblemType::InvalidProfile, detail))
        }
        Some(_) | None => Ok(()),
    }
}

/// An authorization that may be used again, else a new one.
fn authorize(
    shared: &Shared,
    world: &mut World,
    account: u64,
    subject: &Identifier,
    now: Timestamp,
    order_expires: Timestamp,
) -> u64 {
    for (least, status) in [
        (Reuse::ValidAuthorizations, AuthorizationState::Valid),
        (Reuse::PendingAuthorizations, AuthorizationState::Pending),
    ] {
        if shared.options.reuse >= least
            && let Some(id) = world.authorization_in(&status, account, subject, now)
        {
            return id;
        }
    }
    let faults = &shared.options.faults;
    let name = subject.to_string();
    let status = faults.initial_status(&name).unwrap_or(AuthorizationState::Pending);
    let hostile = faults.token(&name);
    let expires = if status == AuthorizationState::Valid {
        super::plus(now, shared.options.authorization_lifetime)
    } else {
        order_expires
    };
    let token = || hostile.clone().unwrap_or_else(|| random::token(32));
    let id = world.next_id();
    let made = Authorization::new(account, subject.clone(), status, expires, token);
    world.authorizations.insert(id, made);
    id
}

const MAX_IDENTIFIERS: usize = 100;
