//! Certificates: download (RFC 8555 section 7.4.2) and revocation (section 7.6).

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::csr;
use super::jws::{Signed, Signer};
use super::problem::{Problem, ProblemType};
use super::reply::{Content, Reply};
use super::route::Route;
use super::world::World;
use super::{Shared, after, crl, lock};

/// One certificate.
#[derive(Clone, Debug)]
pub(super) struct Issued {
    pub(super) account: u64,
    pub(super) der: Vec<u8>,
    /// In PEM, one chain per root; the first is the default.
    pub(super) chains: Vec<String>,
    /// The reason code, once revoked.
    pub(super) revoked: Option<u8>,
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
    crl::list(&shared.hierarchy, revoked.into_iter(), now, after(now, lifetime))
}
