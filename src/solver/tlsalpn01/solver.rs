//! TLS-ALPN-01: prepare, present, check, clean up.

use jiff::Timestamp;

use crate::pki::digest_of;
use crate::probe::{CheckOptions, Resolver, check_tlsalpn01, handshake_explained_by_host};
use crate::resource::{Cause, ChallengeSpec, TlsAlpn01Report, ValidationMethod, hex};
use crate::solver::listener::Answers;
use crate::solver::served::{PortOptions, Served, local, shared_with_a_stopped_run};

/// The TLS-ALPN-01 solver.
pub struct TlsAlpn01Solver<'a> {
    pub(in crate::solver) served: &'a Served,
    pub(in crate::solver) port: &'a PortOptions,
}

impl TlsAlpn01Solver<'_> {
    /// Opens the listener.
    pub(in crate::solver) async fn prepare(&self) -> Result<(), Cause> {
        let answers = Answers::tls(&self.served.tokens, &self.served.hits);
        let PortOptions { listen, inherited, .. } = self.port;
        self.served.listen(&ValidationMethod::TLS_ALPN01, listen, inherited, &answers).await
    }

    pub(in crate::solver) fn present(&self, challenge: &ChallengeSpec) -> Result<(), Cause> {
        let name = challenge.answer_name().map_err(local)?;
        let digest = hex(&digest_of(&challenge.key));
        self.served.tokens.put(&name, &digest).map_err(local)
    }

    /// Connects to each address as the CA will.
    pub(in crate::solver) async fn check(
        &self,
        challenge: &ChallengeSpec,
        resolver: &Resolver,
        now: Timestamp,
    ) -> Result<TlsAlpn01Report, Cause> {
        let _turn = self.served.turn_to_check().await;
        let (identifier, port) = (&challenge.identifier, self.port.check);
        if let Some(stopped) = self.served.stopped_sharer(now).await {
            let reason = shared_with_a_stopped_run(&stopped);
            return Ok(TlsAlpn01Report::not_made(identifier.clone(), port, reason));
        }
        let options = CheckOptions { port, ..CheckOptions::default() };
        let report = check_tlsalpn01(resolver, identifier, &challenge.key, options).await;
        Ok(handshake_explained_by_host(report, &self.port.listen))
    }

    pub(in crate::solver) async fn clean_up(&self, challenge: &ChallengeSpec) -> Result<(), Cause> {
        let name = challenge.answer_name().map_err(local)?;
        self.served.tokens.remove(&name).map_err(local)?;
        self.served.forget(challenge).await
    }
}
