//! create → authorize → solve → finalize → await → download.
//!
//! | phase | step | outcome → next phase |
//! | --- | --- | --- |
//! | no order for the request, or a replaced one | record a new one | Creating |
//! | Creating | newOrder | pending → Authorizing; ready → Finalizing; another certificate's → Creating |
//! | any, a run of another certificate works on the order | wait for it | |
//! | any, found from an earlier run; Finalizing, new | read the order first | as the CA says |
//! | Authorizing | read each authorization not read yet | all read → Solving |
//! | Solving, challenges in progress | settled: the challenges' controller acts | |
//! | Solving, all accepted | read the order, 5 ms after the last hit, after 10 ms, then ×2; when it stays pending, authorizations beside it | ready → Finalizing; invalid → Refused |
//! | Refused | read the authorizations, to learn why | Failed |
//! | Finalizing | POST the CSR | processing → Awaiting; valid → Downloading; refused → Awaiting |
//! | Awaiting | read the order | valid → Downloading; ready → Finalizing |
//! | Downloading | fetch, choose, verify | Issued |
//!
//! A new order names the live certificate as the one that it replaces (RFC 9773 section 5). When the
//! CA refuses it, it is asked for once more without that, uncounted.
//!
//! An order found expired or gone between runs, also one that the CA still shows, is replaced at once
//! and not counted; so is, once, one whose validation failed because a run was interrupted, or because
//! the end of another run reset the CA's connection, and one whose account the CA has forgotten.
//!
//! URLs that the CA says anew are taken. An order one of whose URLs gives no answer for a day, and one
//! that says nothing to work on for a day, is replaced once, uncounted, and is a failure the next
//! time; so it is at once when it has expired (`unreachable.rs`).
//!
//! A CA may give several certificates the same order, which only one of them can finalize: the first
//! that stores its URL, under the order's lock. The others store nothing, wait for that one's run,
//! and order anew; and so does one that finds its order finalized by another.

mod absorb;
mod authorization;
mod end;
mod replaces;
mod unreachable;

use std::net::IpAddr;
use std::sync::Arc;

use jiff::Timestamp;

use end::{failure_of, replaced, verdict};

use super::run::FINALIZE_TRIES;
use super::{Awaited, Change, Effect, OthersOrder, Record, Snapshot, Step, Wake};
use crate::resource::{
    Cause, CertificateRequest, CertificateSpec, Challenge, CheckReport, DnsName, Doing, Failure,
    FailureClass, Identifier, Issuer, Order, OrderPhase, OrderSpec, OrderState, OrderUrls, Pause,
    Phase, Reason,
};

pub use absorb::absorb;
pub use authorization::absorb_authorization;
pub(super) use end::failed;
pub use end::given_up;
pub(super) use unreachable::replaced_if_unreachable;

/// After this many polls of a pending order, each poll reads one authorization too, in turn: the
/// pause between two polls has grown to more than a second, and most CAs decide within that time.
/// A challenge whose validation failed and that the CA left pending shows its error there.
const FIRST_DOUBT: u32 = 8;
/// After this many polls, every fourth one reads all authorizations.
const PATIENCE: u32 = 12;

/// See the table above.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Step {
    let Some(request) = snapshot.next_request.as_ref().filter(|_| snapshot.is_issuing()) else {
        return Step::Settled;
    };
    if let Some(stale) = snapshot.stale_order().filter(|order| order.phase.is_open()) {
        let order = replaced(stale, why_stale(snapshot, stale));
        return Step::Record(Record::of(Change::Order(Box::new(order))));
    }
    let Some(order) = snapshot.current_order() else {
        return new_order(snapshot, now);
    };
    if let Some(why) = was_cut_off(snapshot, order) {
        let order = given_up(order, why, now);
        return Step::Record(Record::of(Change::Order(Box::new(order))));
    }
    if let Some(name) = solved_otherwise(snapshot, order) {
        let why = format!("the issuer's solver for {name} has changed");
        let order = given_up(order, &why, now);
        return Step::Record(Record::of(Change::Order(Box::new(order))));
    }
    if let Some(wait) = others_order(snapshot, now).filter(|_| order.phase.is_open()) {
        return wait;
    }
    match &order.phase {
        OrderPhase::Creating => Step::Act(vec![Effect::CreateOrder {
            account: order.spec.account_url.clone(),
            identifiers: order.spec.identifiers.clone(),
            profile: order.spec.profile.clone(),
            not_after: order.spec.not_after,
            replaces: order.replaces.clone(),
        }]),
        OrderPhase::Authorizing(urls)
        | OrderPhase::Solving(urls)
        | OrderPhase::Refused { urls, .. }
        | OrderPhase::Finalizing(urls)
        | OrderPhase::Awaiting(urls)
        | OrderPhase::Downloading { urls, .. }
            if !snapshot.run.order.is_known =>
        {
            Step::Act(vec![read(order, urls)])
        }
        OrderPhase::Authorizing(urls) => authorize(order, urls),
        OrderPhase::Solving(urls) => solve(snapshot, order, urls, now),
        OrderPhase::Refused { .. } => explain(order),
        OrderPhase::Finalizing(_) if snapshot.run.order.finalize_tries >= FINALIZE_TRIES => {
            Step::Fail(refused_csr(snapshot))
        }
        OrderPhase::Finalizing(urls) => {
            look(snapshot.run.order.poll.not_before, now, Wake::Time, || {
                vec![finalize(order, urls)]
            })
        }
        OrderPhase::Awaiting(urls) => {
            look(next_look(snapshot), now, Wake::Time, || vec![read(order, urls)])
        }
        OrderPhase::Downloading { certificate_url, .. } => {
            look(snapshot.run.order.poll.not_before, now, Wake::Time, || {
                vec![download(order, request, certificate_url, snapshot.issuer())]
            })
        }
        OrderPhase::Issued { .. } => Step::Settled,
        OrderPhase::Replaced { .. } => new_order(snapshot, now),
        OrderPhase::Failed(_) => after_failure(snapshot, order, now),
    }
}

/// The wait of a certificate to which the CA gave another one's order.
fn others_order(snapshot: &Snapshot, now: Timestamp) -> Option<Step> {
    let until = match snapshot.run.order.others.as_ref()? {
        OthersOrder::Held { .. } => None,
        OthersOrder::Finalized { again } if *again > now => Some(*again),
        OthersOrder::Finalized { .. } => return None,
    };
    Some(Step::Wait { until, wake: Wake::Time, what: Awaited::OthersOrder })
}

/// Why an order does not serve the next request any more.
fn why_stale(snapshot: &Snapshot, order: &Order) -> &'static str {
    let request = snapshot.next_request.as_ref().map(|request| &request.spec.request);
    let acme = &snapshot.issuer().acme;
    if request.is_none_or(|request| *request != order.spec.request) {
        "replaced by a newer request"
    } else if order.spec.directory_url != acme.server {
        "replaced, because the issuer now names another ACME server"
    } else if order.spec.profile != acme.profile {
        "replaced, because the issuer now names another ACME profile"
    } else {
        "replaced, because the issuer now has another ACME account"
    }
}

fn new_order(snapshot: &Snapshot, now: Timestamp) -> Step {
    if snapshot.run.order.was_requested && !snapshot.current_order().is_some_and(gives_way) {
        let message = "the order was lost, and one run makes at most one newOrder".to_owned();
        let cause = Cause::local(message);
        return Step::Fail(Failure::new(FailureClass::Ca, Doing::CreateOrder, cause));
    }
    let (Some(request), Some(account)) = (&snapshot.next_request, &snapshot.account) else {
        return Step::Settled;
    };
    let metadata = &snapshot.certificate.metadata;
    let number = snapshot.order_count.saturating_add(1);
    let order = Order {
        name: format!("{}-{}-{number}", metadata.name, request.revision),
        number,
        creation_timestamp: now,
        spec: Arc::new(OrderSpec {
            certificate: metadata.key(),
            revision: request.revision,
            request: request.spec.request.clone(),
            issuer_ref: request.spec.issuer_ref.clone(),
            directory_url: snapshot.issuer().acme.server.clone(),
            account_url: account.url.clone().unwrap_or_default(),
            identifiers: identifiers(&snapshot.certificate.spec),
            profile: snapshot.issuer().acme.profile.clone(),
            not_after: requested_end(snapshot, now),
        }),
        phase: OrderPhase::Creating,
        state: OrderState::Unknown,
        reason: String::new(),
        expires: None,
        authorizations: Vec::new(),
        challenges: Vec::new(),
        replaces: replaced_by(snapshot),
        is_replacement: snapshot.current_order().is_some_and(|o| o.state == OrderState::Expired),
    };
    let mut record = snapshot.record.clone();
    record.status.order_ref = Some(order.name.clone());
    let event = format!("Created Order resource {}/{}", metadata.namespace, order.name);
    let changes = vec![Change::Order(Box::new(order)), Change::Certificate(Box::new(record))];
    Step::Record(Record { changes, events: Vec::new() }.normal(now, Reason::OrderCreated, event))
}

/// The certificate that a new order would replace.
pub(super) fn replaced_by(snapshot: &Snapshot) -> Option<String> {
    replaces::replaced_by(snapshot, &identifiers(&snapshot.certificate.spec))
}

/// The identifiers of the order: names sorted, then addresses sorted; the CN among them.
pub fn identifiers(spec: &CertificateSpec) -> Vec<Identifier> {
    let mut names: Vec<_> = spec.dns_names.clone();
    let mut addresses: Vec<_> = spec.ip_addresses.clone();
    match spec.common_name.parse::<IpAddr>() {
        Ok(address) => addresses.push(address),
        Err(_) => names.extend(spec.common_name.parse::<DnsName>()),
    }
    // An IPv4 address is the same in IPv6 clothes, in which some CAs do not return it.
    for address in &mut addresses {
        *address = address.to_canonical();
    }
    names.sort();
    names.dedup();
    // Sorted as text, as cert-manager does.
    addresses.sort_by_key(ToString::to_string);
    addresses.dedup();
    let names = names.into_iter().map(Identifier::Dns);
    names.chain(addresses.into_iter().map(Identifier::Ip)).collect()
}

fn requested_end(snapshot: &Snapshot, now: Timestamp) -> Option<Timestamp> {
    if !snapshot.issuer().acme.enable_duration_feature {
        return None;
    }
    now.checked_add(snapshot.certificate.spec.duration?.0).ok()
}

/// A final order: replaced, or the failure to count.
fn after_failure(snapshot: &Snapshot, order: &Order, now: Timestamp) -> Step {
    if is_replaced(snapshot, order, now) {
        return new_order(snapshot, now);
    }
    let retry_after = snapshot.run.order.retry_after;
    Step::Fail(Failure { retry_after, ..failure_of(order) })
}

/// The name of a challenge without "accept" for which the issuer has another solver now: another
/// type, or a DNS provider with other settings. Settings of HTTP-01 solvers are ignored: they are
/// for clusters.
fn solved_otherwise(snapshot: &Snapshot, order: &Order) -> Option<Identifier> {
    if snapshot.run.order.was_requested || !matches!(order.phase, OrderPhase::Solving(_)) {
        return None;
    }
    let (issuer, certificate) = (snapshot.issuer(), &snapshot.certificate);
    let differs = |challenge: &&Challenge| {
        let undecided = challenge.phase().is_some_and(|phase| !phase.is_accepted());
        let spec = &challenge.spec;
        let of_it = order.authorizations.iter().find(|a| a.url == spec.authorization_url);
        let offered = of_it.iter().flat_map(|a| a.challenges.iter());
        let offered: Vec<_> = offered.map(|offered| offered.kind.clone()).collect();
        let today = issuer.solver_for(certificate, &spec.identifier, spec.wildcard, &offered);
        let is_same = today
            .is_some_and(|today| today.kind == spec.kind && today.solver.solves_as(&spec.solver));
        undecided && !is_same
    };
    order.challenges.iter().find(differs).map(|challenge| challenge.spec.identifier.clone())
}

/// Why the CA's refusal of a challenge says nothing about the name: its listener ended with an
/// earlier run, or the end of another run reset the CA's connection. Another order replaces it, once;
/// the next time it is a failure.
fn was_cut_off(snapshot: &Snapshot, order: &Order) -> Option<&'static str> {
    if order.is_replacement || order.failure_time().is_some() {
        return None;
    }
    let is_answered_here = |challenge: &&Challenge| {
        challenge.is_failed() && challenge.spec.kind.is_answered_here(&snapshot.settings)
    };
    let mut refused = order.challenges.iter().filter(is_answered_here);
    refused.find_map(|challenge| {
        if snapshot.run.attempt(&challenge.spec.url).is_cut_off {
            let why = "the CA validated the challenge after the run that presented it was \
                       interrupted";
            return Some(why);
        }
        let why = "the CA's connection was refused although the self-check had passed, and another \
                   run that shared the port ended meanwhile";
        was_reset(snapshot, challenge).then_some(why)
    })
}

/// Whether the end of another run may have reset the CA's connection.
fn was_reset(snapshot: &Snapshot, challenge: &Challenge) -> bool {
    let acceptance = snapshot.run.attempt(&challenge.spec.url).acceptance;
    let has_ended = snapshot
        .run
        .listener_gone
        .zip(acceptance)
        .is_some_and(|(at, acceptance)| at >= acceptance.begun);
    has_ended
        && challenge.spec.kind.is_served()
        && challenge.problem().is_some_and(|problem| problem.short_kind() == "connection")
        && challenge.check().is_some_and(CheckReport::has_passed)
}

/// Whether an order of this run was given up, so that another one takes its place.
fn gives_way(order: &Order) -> bool {
    order.state == OrderState::Expired && order.failure_time().is_some() && !order.is_replacement
}

/// The order that goes on; `None` when a new one comes next.
pub(super) fn continued(snapshot: &Snapshot, now: Timestamp) -> Option<&Order> {
    snapshot.current_order().filter(|order| !is_replaced(snapshot, order, now))
}

/// Whether another order replaces this failed one: its failure is counted already, it was
/// abandoned, or it had expired before this run read it.
fn is_replaced(snapshot: &Snapshot, order: &Order, now: Timestamp) -> bool {
    // The order is written before the count: a run killed between the two has not counted it.
    let counted = snapshot.record.status.last_failure_time;
    // A failure in the future comes from a wrong clock; its count was corrected.
    let is_counted = order.failure_time().is_some_and(|at| counted >= Some(at) || at > now);
    let watched = snapshot.run.order.was_requested || snapshot.run.order.was_seen;
    let given_up = order.failure_time().is_some();
    let expired_unwatched = order.state == OrderState::Expired && (given_up || !watched);
    let is_replaced = matches!(order.phase, OrderPhase::Replaced { .. });
    is_replaced || (order.failed().is_some() && (is_counted || expired_unwatched))
}

fn authorize(order: &Order, urls: &OrderUrls) -> Step {
    let unread =
        order.authorizations.iter().filter(|authorization| authorization.identifier.is_none());
    let unread: Vec<_> = unread.map(|a| read_authorization(order, &a.url)).collect();
    if unread.is_empty() {
        // The CA lists none: there is nothing to solve, and the order is read.
        let order = Order { phase: OrderPhase::Solving(urls.clone()), ..order.clone() };
        return Step::Record(Record::of(Change::Order(Box::new(order))));
    }
    Step::Act(unread)
}

/// Reads the authorizations of an invalid order.
fn explain(order: &Order) -> Step {
    let failed = order.challenges.iter().any(Challenge::is_failed);
    let why = authorizations_of(order, undecided(order));
    if failed || why.is_empty() { Step::Fail(failure_of(order)) } else { Step::Act(why) }
}

fn undecided(order: &Order) -> impl Iterator<Item = &Challenge> {
    order.challenges.iter().filter(|c| c.pending().is_some())
}

fn solve(snapshot: &Snapshot, order: &Order, urls: &OrderUrls, now: Timestamp) -> Step {
    if let Some(challenge) = order.challenges.iter().find(|c| c.is_failed()) {
        return Step::Fail(verdict(challenge));
    }
    let busy = |c: &Challenge| !matches!(c.phase(), Some(Phase::Accepted) | None);
    if order.challenges.iter().any(busy) {
        return Step::Settled;
    }
    let looks = snapshot.run.order.poll.looks;
    look(next_look(snapshot), now, Wake::ChallengeHit, || {
        let mut effects = vec![read(order, urls)];
        effects.extend(if looks >= PATIENCE && looks.is_multiple_of(4) {
            authorizations_of(order, undecided(order))
        } else {
            authorizations_of(order, one_in_doubt(undecided(order), looks).into_iter())
        });
        effects
    })
}

/// The challenge whose authorization this poll reads beside the order: each in turn.
fn one_in_doubt<'a>(
    undecided: impl Iterator<Item = &'a Challenge>,
    looks: u32,
) -> Option<&'a Challenge> {
    let undecided: Vec<_> = undecided.collect();
    let turn = usize::try_from(looks.checked_sub(FIRST_DOUBT)?).ok()?;
    undecided.get(turn.checked_rem(undecided.len())?).copied()
}

fn authorizations_of<'a>(
    order: &Order,
    challenges: impl Iterator<Item = &'a Challenge>,
) -> Vec<Effect> {
    challenges.map(|c| read_authorization(order, &c.spec.authorization_url)).collect()
}

fn read(order: &Order, urls: &OrderUrls) -> Effect {
    Effect::ReadOrder { account: order.spec.account_url.clone(), url: urls.url.clone() }
}

fn finalize(order: &Order, urls: &OrderUrls) -> Effect {
    Effect::Finalize {
        account: order.spec.account_url.clone(),
        urls: urls.clone(),
        request: order.spec.request.clone(),
    }
}

/// Reads an authorization of the order.
pub(super) fn read_authorization(order: &Order, url: &str) -> Effect {
    Effect::ReadAuthorization { account: order.spec.account_url.clone(), url: url.to_owned() }
}

/// Goes to the CA when the time has come.
fn look(
    until: Option<Timestamp>,
    now: Timestamp,
    wake: Wake,
    effects: impl FnOnce() -> Vec<Effect>,
) -> Step {
    if until.is_some_and(|until| until > now) {
        return Step::Wait { until, wake, what: Awaited::Ca };
    }
    Step::Act(effects())
}

/// When to read the order: 5 ms after the last hit, once each accepted challenge was requested; a
/// quarter of a second after accept when there is no hit. Later reads follow at the CA's own pace.
fn next_look(snapshot: &Snapshot) -> Option<Timestamp> {
    let run = &snapshot.run;
    if run.order.poll.looks > 0 || run.order.poll.not_before.is_some() {
        return run.order.poll.not_before;
    }
    let mut latest = None;
    for attempt in run.attempts.values() {
        let Some(accepted) = attempt.accepted() else { continue };
        let wait = match attempt.hit() {
            Some(hit) => hit.checked_add(Pause::POLL.length(0)),
            None => accepted.checked_add(jiff::SignedDuration::from_millis(250)),
        };
        latest = latest.max(wait.ok());
    }
    latest
}

fn download(order: &Order, request: &CertificateRequest, url: &str, issuer: &Issuer) -> Effect {
    Effect::Download {
        account: order.spec.account_url.clone(),
        url: url.to_owned(),
        preferred_chain: issuer.acme.preferred_chain.clone(),
        public_key: request.spec.public_key.clone(),
        identifiers: order.spec.identifiers.clone(),
    }
}

fn refused_csr(snapshot: &Snapshot) -> Failure {
    let refusal = snapshot.run.order.finalize_refusal.as_ref().map(|error| error.cause.clone());
    let cause = refusal
        .unwrap_or_else(|| Cause::local("the CA took the CSR, and the order still waits for one"));
    Failure {
        retry_after: snapshot.run.order.retry_after,
        ..Failure::new(FailureClass::Ca, Doing::Finalize, cause)
    }
}
