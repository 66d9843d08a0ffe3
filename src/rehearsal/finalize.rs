//! Finalization (RFC 8555 section 7.4): the CSR is checked and signed.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use tokio::time::Instant;

use crate::resource::{Identifier, OrderState};

use super::Shared;
use super::certificate::Issued;
use super::csr::Csr;
use super::issue::Leaf;
use super::jws::Signed;
use super::order;
use super::problem::{Problem, ProblemType};
use super::reply::Reply;
use super::route::Route;
use super::world::World;

#[derive(Debug, Deserialize)]
struct Finalize {
    csr: String,
}

/// Signs immediately; the order stays `processing` as long as options and faults specify.
pub(super) fn finalize(
    shared: &Shared,
    world: &mut World,
    id: u64,
    signed: &Signed,
) -> Result<Reply, Problem> {
    let account = signed.account()?;
    world.settle(id, shared.now(), Instant::now());
    let found = &*world.order_of(account, id)?;
    if found.status != OrderState::Ready {
        let detail = format!("the order is {}, not ready", found.status.as_str());
        return Err(Problem::new(ProblemType::OrderNotReady, detail));
    }
    let payload: Finalize = signed.parse()?;
    let der = URL_SAFE_NO_PAD.decode(&payload.csr).map_err(|error| {
        Problem::new(ProblemType::BadCsr, format!("the CSR is not base64url: {error}"))
    })?;
    let csr = Csr::parse(&der)?;
    let wanted = found.identifiers.clone();
    check_names(&csr, &wanted)?;
    let bounds = (found.not_before, found.not_after);
    if csr.as_account_key.as_ref() == Some(&world.account(account)?.key) {
        let detail = "the certificate's key is the account's key";
        return Err(Problem::new(ProblemType::BadCsr, detail));
    }
    let names: Vec<String> = wanted.iter().map(Identifier::to_string).collect();
    let now = shared.now();
    let not_before = bounds.0.unwrap_or_else(|| super::before(now, BACKDATED));
    let leaf = Leaf {
        identifiers: wanted.clone(),
        common_name: csr.common_name.filter(|name| names.contains(&name.to_ascii_lowercase())),
        not_before,
        not_after: bounds.1.unwrap_or_else(|| super::plus(now, shared.options.leaf_lifetime)),
        crl: shared.options.crl_lifetime.map(|_| shared.url(Route::Crl)),
    };
    let faults = &shared.options.faults;
    let (der, chains) = match faults.issue(&shared.hierarchy, &names, &csr.key, &leaf, now) {
        Some(wrong) => wrong,
        None => shared
            .hierarchy
            .sign(&csr.key, &leaf)
            .map(|signed| (signed.der().to_vec(), shared.hierarchy.chains(&signed.pem()))),
    }
    .map_err(Problem::internal)?;
    let issued = Issued {
        account,
        identifiers: wanted,
        not_before: leaf.not_before,
        not_after: leaf.not_after,
        der,
        chains,
        revoked: None,
        replaced_by: None,
        renewal: None,
    };
    let certificate = world.add_certificate(issued);
    let (polls, retry_after) = faults.slow_finalize(&names).unwrap_or_default();
    let found = world.order_of(account, id)?;
    found.status = OrderState::Processing;
    found.certificate = Some(certificate);
    found.polls_left = polls;
    found.retry_after = retry_after;
    let delay = shared.options.finalize_delay;
    found.issued_at = if delay.is_zero() { None } else { Instant::now().checked_add(delay) };
    order::show(shared, world, account, id, 200)
}

/// The names must be those of the order, no more and no less (section 7.4). A common name counts
/// as a name.
fn check_names(csr: &Csr, wanted: &[Identifier]) -> Result<(), Problem> {
    let mut requested = csr.identifiers.clone();
    if let Some(name) = &csr.common_name {
        let subject = match name.parse() {
            Ok(address) => Identifier::Ip(address),
            Err(_) => Identifier::Dns(name.parse().map_err(|error| {
                Problem::new(ProblemType::BadCsr, format!("common name {name:?}: {error}"))
            })?),
        };
        requested.insert(subject);
    }
    let ordered = wanted.iter().cloned().collect();
    if requested == ordered {
        return Ok(());
    }
    let list = |names: Vec<&Identifier>| {
        names.into_iter().map(Identifier::to_string).collect::<Vec<_>>().join(", ")
    };
    let detail = format!(
        "the CSR's names are not the order's: missing [{}], not ordered [{}]",
        list(ordered.difference(&requested).collect()),
        list(requested.difference(&ordered).collect()),
    );
    Err(Problem::new(ProblemType::BadCsr, detail))
}

const BACKDATED: Duration = Duration::from_hours(1);
