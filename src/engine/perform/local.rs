//! Effects on this machine: keys, CSRs, challenges, publishing.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use super::deploy::check_output;
use super::error;
use super::world::World;
use crate::controller::{EffectError, Outcome, Secret, Snapshot};
use crate::engine::inputs::{names_of, solver_for};
use crate::engine::ports::{Clock, Store};
use crate::pki;
use crate::probe::check_http01;
use crate::resource::{
    Cause, Challenge, ChallengeType, CheckReport, KeyAlgorithm, SolverKind, Token,
};
use crate::solver::http01::{ListenError, Listener, Webroot};
use crate::store::Records;

/// Generates a key on a blocking thread, off the main one.
pub(super) async fn generate_key(
    algorithm: KeyAlgorithm,
    size: u32,
) -> Result<Outcome, EffectError> {
    let made = tokio::task::spawn_blocking(move || pki::PrivateKey::generate(algorithm, size));
    let key = made.await.map_err(error::local)?.map_err(error::local)?;
    Ok(Outcome::Key(Secret(key.to_pkcs8_pem()), key.facts().clone()))
}

impl<C: Clock, S: Store> World<'_, C, S> {
    /// Checks every local precondition before the first request to a CA.
    pub(super) async fn prepare(
        &self,
        snapshot: &Snapshot,
        solving: bool,
    ) -> Result<Outcome, EffectError> {
        self.access(snapshot).external_account_binding()?;
        self.formats_can_be_made(snapshot)?;
        check_output(snapshot)?;
        if !solving {
            return Ok(Outcome::Prepared);
        }
        let mut over_http = false;
        for name in names_of(&snapshot.certificate) {
            let solver = solver_for(&snapshot.issuer, &snapshot.certificate, &name);
            match solver.map(|solver| &solver.kind) {
                Some(SolverKind::Http01(_)) => over_http = true,
                Some(SolverKind::Dns01(dns01)) => {
                    self.provider(snapshot, &dns01.provider).map_err(|error| {
                        let cause = Cause::Solver {
                            identifier: name.clone(),
                            issuer: snapshot.issuer.metadata.name.clone(),
                            cause: Box::new(error.cause),
                        };
                        EffectError { cause, ..error }
                    })?;
                }
                None => {
                    return Err(error::precondition(format!(
                        "{name}: no solver of issuer \"{}\" is for this name",
                        snapshot.issuer.metadata.name
                    )));
                }
            }
        }
        if over_http {
            match &snapshot.settings.http01_webroot {
                Some(webroot) => {
                    let webroot = Webroot::open(Path::new(webroot)).map_err(error::precondition)?;
                    webroot.check_writable().map_err(error::precondition)?;
                }
                None => self.listen(snapshot).await?,
            }
        }
        Ok(Outcome::Prepared)
    }

    /// Opens the listener for this certificate's challenges, once per run. A port that another
    /// certctl holds is waited for: its run ends.
    async fn listen(&self, snapshot: &Snapshot) -> Result<(), EffectError> {
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for text in &snapshot.settings.http01_listen {
            addresses.push(text.parse().map_err(|_| {
                error::precondition(format!("certctl.io/http01-listen: {text} is no address"))
            })?);
        }
        let mut inherited = &[][..];
        if addresses.is_empty() {
            addresses.clone_from(&self.options.http01_listen);
            inherited = &self.options.http01_inherited;
        }
        let mut listeners = self.listeners.lock().await;
        if listeners.contains_key(&addresses) {
            return Ok(());
        }
        let mut waits = 0;
        let listener = loop {
            let sockets = inherited.iter().map(TcpListener::try_clone).collect::<Result<_, _>>();
            let sockets = sockets.map_err(error::local)?;
            match Listener::bind(&addresses, sockets, &self.tokens, &self.hits) {
                Err(ListenError::InUse { addr, holder: Some(holder) })
                    if holder.is_certctl && waits < PORT_WAITS =>
                {
                    if waits == 0 {
                        tracing::warn!("{addr} is in use by {holder}: waiting for it to end");
                    }
                    waits += 1;
                    tokio::time::sleep(PORT_PAUSE).await;
                }
                Err(error) => return Err(cannot_listen(&error)),
                Ok(listener) => break listener,
            }
        };
        listeners.insert(addresses, listener);
        Ok(())
    }

    pub(super) async fn reuse_key(&self, snapshot: &Snapshot) -> Result<Outcome, EffectError> {
        let files = self.store.published(&snapshot.certificate.secret_key()).await;
        let files = files.map_err(|e| error::state(&e))?;
        let bytes = files.as_ref().and_then(|files| files.0.get("tls.key"));
        let bytes = bytes.ok_or_else(|| error::local("there is no live key"))?;
        let text = std::str::from_utf8(bytes).map_err(error::local)?;
        let key = pki::PrivateKey::from_pem(text).map_err(error::local)?;
        Ok(Outcome::Key(Secret(key.to_pkcs8_pem()), key.facts().clone()))
    }

    pub(super) async fn build_request(&self, snapshot: &Snapshot) -> Result<Outcome, EffectError> {
        let key = self.next_key(snapshot).await?;
        let csr = pki::build_csr(&snapshot.certificate.spec, &key).map_err(error::local)?;
        Ok(Outcome::Request(csr.pem, key.facts().public_key.clone()))
    }

    pub(super) async fn next_key(
        &self,
        snapshot: &Snapshot,
    ) -> Result<pki::PrivateKey, EffectError> {
        let name = snapshot.certificate.metadata.key();
        let bytes = Records::new(self.store).next_key(&name).await;
        let bytes = bytes.map_err(|e| error::state(&e))?;
        let bytes = bytes.ok_or_else(|| error::local("the next private key is gone"))?;
        let text = std::str::from_utf8(&bytes).map_err(error::local)?;
        pki::PrivateKey::from_pem(text).map_err(error::local)
    }

    pub(super) async fn present(
        &self,
        snapshot: &Snapshot,
        url: &str,
    ) -> Result<Outcome, EffectError> {
        let challenge = challenge_of(snapshot, url)?;
        if challenge.spec.kind == ChallengeType::Dns01 {
            return self.write_record(snapshot, challenge).await;
        }
        let token = token_of(challenge)?;
        let key = &challenge.spec.key;
        if let Some(webroot) = &snapshot.settings.http01_webroot {
            let webroot = Webroot::open(Path::new(webroot)).map_err(error::local)?;
            webroot.put(&token, key).map_err(error::local)?;
        } else {
            self.tokens.put(&token, key).map_err(error::local)?;
        }
        Ok(Outcome::Presented)
    }

    pub(super) async fn self_check(
        &self,
        snapshot: &Snapshot,
        url: &str,
    ) -> Result<Outcome, EffectError> {
        let challenge = challenge_of(snapshot, url)?;
        if challenge.spec.kind == ChallengeType::Dns01 {
            return self.query_record(challenge).await;
        }
        let spec = &challenge.spec;
        let token = token_of(challenge)?;
        let options = self.check_options(snapshot);
        // Of many concurrent checks, the first finish while the others wait, so that the CA can
        // start early. Slow ones delay no others for long.
        let _turn = tokio::time::timeout(CHECK_TURN, self.checks.acquire()).await;
        let report =
            check_http01(&self.resolver, &spec.identifier, &token, &spec.key, options).await;
        Ok(Outcome::Checked(Box::new(CheckReport::Http01(report))))
    }

    pub(super) async fn clean_up(
        &self,
        snapshot: &Snapshot,
        order: &str,
        url: &str,
    ) -> Result<Outcome, EffectError> {
        let orders = snapshot.retired.iter().chain(&snapshot.order);
        let mut challenges = orders.filter(|o| o.name == order).flat_map(|o| &o.challenges);
        let challenge = challenges
            .find(|c| c.spec.url == url)
            .ok_or_else(|| error::local(format!("there is no challenge {url}")))?;
        if challenge.spec.kind == ChallengeType::Dns01 {
            return self.take_record_back(snapshot, challenge).await;
        }
        let token = token_of(challenge)?;
        self.tokens.remove(&token).map_err(error::local)?;
        if let Some(webroot) = &snapshot.settings.http01_webroot {
            let webroot = Webroot::open(Path::new(webroot)).map_err(error::local)?;
            webroot.remove(&token, &challenge.spec.key).map_err(error::local)?;
        }
        self.hits.forget(&token);
        Ok(Outcome::CleanedUp)
    }
}

pub(super) fn challenge_of<'a>(
    snapshot: &'a Snapshot,
    url: &str,
) -> Result<&'a Challenge, EffectError> {
    let order = snapshot.current_order();
    order
        .and_then(|order| order.challenges.iter().find(|c| c.spec.url == url))
        .ok_or_else(|| error::local(format!("there is no challenge {url}")))
}

fn cannot_listen(error: &ListenError) -> EffectError {
    if let ListenError::InUse { holder: Some(holder), .. } = error
        && holder.is_certctl
    {
        return error::precondition(format!(
            "the HTTP-01 listener cannot start: {error}, for over {} s",
            PORT_PAUSE.as_secs() * u64::from(PORT_WAITS)
        ));
    }
    error::precondition(format!(
        "the HTTP-01 listener cannot start: {error}. If a web server has the port, let it serve a \
         folder and name that in the annotation certctl.io/http01-webroot, or let it proxy \
         /.well-known/acme-challenge/ to an address given by --http01-listen"
    ))
}

fn token_of(challenge: &Challenge) -> Result<Token, EffectError> {
    challenge.spec.token.parse().map_err(error::local)
}

/// How often, and how long each time, a run waits for the port that another certctl holds.
const PORT_WAITS: u32 = 120;
const PORT_PAUSE: Duration = Duration::from_secs(1);
/// How long a self-check waits for earlier ones.
const CHECK_TURN: Duration = Duration::from_millis(50);
