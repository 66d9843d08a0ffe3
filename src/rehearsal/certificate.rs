//! Certificates: download (RFC 8555 section 7.4.2), revocation (section 7.6), renewal information and
//! replacement (RFC 9773).

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use crate::resource::{Identifier, OrderState};

use super::csr;
use super::jws::{Signed, Signer};
use super::problem::{Problem, ProblemType, with_some};
use super::reply::{Content, Reply};
use super::route::Route;
use super::world::World;
use super::{Shared, crl, lock, plus};

/// One certificate.
#[derive(Clone, Debug)]
pub(super) struct Issued {
    pub(super) account: u64,
    pub(super) identifiers: Vec<Identifier>,
    pub(super) not_before: Timestamp,
    pub(super) not_after: Timestamp,
    pub(super) der: Vec<u8>,
    /// In PEM, one chain per root; the first is the default.
    pub(super) chains: Vec<String>,
    /// The reason code, once revoked.
    pub(super) revoked: Option<u8>,
    /// The newest order that named it in `replaces`.
    pub(super) replaced_by: Option<u64>,
    /// What a test suggests instead of the usual renewal.
    pub(super) renewal: Option<SuggestedRenewal>,
}

/// One of the certificate's chains; the others are linked as alternates.
pub(super) fn certificate(
    shared: &Shared,
    world: &World,
    id: u64,
    chain: usize,
    signed: &Signed,
) -> Result<Reply, Problem> {
    if !signed.is_read() {
        return Err(Problem::malformed("a certificate is read with an empty payload"));
    }
    let account = signed.account()?;
    let found = world
        .certificates
        .get(&id)
        .filter(|found| found.account == account)
        .ok_or_else(|| Problem::not_found("certificate"))?;
    let Some(pem) = found.chains.get(chain) else {
        return Err(Problem::not_found("chain"));
    };
    let reply = Reply::new(200, Content::Chain(pem.clone()));
    let others = (0..found.chains.len()).filter(|other| *other != chain);
    Ok(others.fold(reply, |reply, other| {
        reply.link(&shared.url(Route::Certificate(id, other)), "alternate")
    }))
}

#[derive(Debug, Deserialize)]
struct Revocation {
    certificate: String,
    #[serde(default)]
    reason: u8,
}

/// Revokes, when the ordering account or the certificate's key signed the request.
pub(super) fn revoke(world: &mut World, signed: &Signed) -> Result<Reply, Problem> {
    let wanted: Revocation = signed.parse()?;
    if wanted.reason == 7 || wanted.reason > 10 {
        let detail = format!("reason {} is not allowed", wanted.reason);
        return Err(Problem::new(ProblemType::BadRevocationReason, detail));
    }
    let der = URL_SAFE_NO_PAD
        .decode(&wanted.certificate)
        .map_err(|error| Problem::malformed(format!("certificate is not base64url: {error}")))?;
    let found = world
        .certificates
        .values_mut()
        .find(|issued| issued.der == der)
        .ok_or_else(|| Problem::not_found("certificate"))?;
    let may = match &signed.signer {
        Signer::Account(account) => *account == found.account,
        Signer::Key(key) => csr::key_of_certificate(&der).as_ref() == Some(key),
    };
    if !may {
        return Err(Problem::unauthorized("neither its account nor its key signed this"));
    }
    if found.revoked.is_some() {
        let detail = "the certificate is revoked already";
        return Err(Problem::new(ProblemType::AlreadyRevoked, detail));
    }
    found.revoked = Some(wanted.reason);
    Ok(Reply::new(200, Content::Empty))
}

/// The CRL, when this CA has one.
pub(super) fn crl(shared: &Shared) -> Reply {
    let Some(lifetime) = shared.options.crl_lifetime else {
        return Problem::not_found("CRL").into();
    };
    match signed_crl(shared, lifetime) {
        Ok(der) => Reply::new(200, Content::Crl(der)),
        Err(error) => Problem::internal(error).into(),
    }
}

/// The CRL in DER, which holds for so long from now.
pub(super) fn signed_crl(shared: &Shared, lifetime: Duration) -> Result<Vec<u8>, rcgen::Error> {
    let (now, world) = (shared.now(), lock(&shared.world));
    let revoked = world.revoked();
    crl::list(&shared.hierarchy, revoked.into_iter(), now, plus(now, lifetime))
}

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
pub(super) fn id_in(path: &str) -> &str {
    let base = Route::RenewalInfo.path();
    path.strip_prefix(&base).and_then(|rest| rest.strip_prefix('/')).unwrap_or_default()
}

/// The renewal information of a certificate (RFC 9773 section 4.2).
pub(super) fn renewal_info(shared: &Shared, path: &str) -> Result<Reply, Problem> {
    if !shared.options.renewal_info {
        return Err(Problem::not_found("resource"));
    }
    let world = lock(&shared.world);
    let found = world.certificate(id_in(path)).ok_or_else(|| Problem::not_found("certificate"))?;
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
        (plus(issued.not_before, life / 3 * 2), life / 24)
    };
    SuggestedRenewal {
        start,
        end: plus(start, length),
        explanation_url: None,
        retry_after: Some(RETRY_AFTER.as_secs().to_string()),
    }
}

/// Whether an order may replace this certificate (RFC 9773 section 5).
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
