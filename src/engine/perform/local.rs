//! Effects on this machine: keys, CSRs, challenges, publishing.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use jiff::SignedDuration;

use super::deploy::check_targets;
use super::dns01::record_of;
use super::error;
use super::world::World;
use crate::controller::{EffectError, Outcome, Secret, SecretContents};
use crate::engine::inputs::{names_of, solver_for};
use crate::engine::ports::{Clock, Store};
use crate::engine::task::Task;
use crate::pki;
use crate::probe::{check_http01, explained_by_host};
use crate::resource::{
    Cause, ChallengeSpec, CheckReport, DeployTarget, Dns01Target, Fix, Http01Report, KeyAlgorithm,
    Obstacle, Outlook, Token, Verdict,
};
use crate::solver::dns01::Action;
use crate::solver::http01::{Webroot, check_webroot};
use crate::solver::listener::{Answers, Holder, ListenError, Listener, answers_for};
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
        task: &Task,
        solving: bool,
        contents: &SecretContents,
        targets: &[DeployTarget],
    ) -> Result<Outcome, EffectError> {
        self.can_be_stored(task)?;
        self.access(task).external_account_binding()?;
        self.formats_can_be_made(task, contents)?;
        check_targets(targets, &self.options.hooks, &self.options.bounds)?;
        if !solving {
            return Ok(Outcome::Prepared);
        }
        let mut over_http = false;
        for name in names_of(&task.certificate) {
            let chosen = solver_for(&task.issuer, &task.certificate, &name);
            match chosen.map(|chosen| chosen.solver.dns01()) {
                Some(None) => over_http = true,
                Some(Some(dns01)) => {
                    self.provider(task, &dns01.provider).map_err(|error| {
                        let cause = Cause::Solver {
                            identifier: name.clone(),
                            issuer: task.issuer.metadata.name.clone(),
                            cause: Box::new(error.cause),
                        };
                        EffectError { cause, ..error }
                    })?;
                }
                None => {
                    return Err(error::precondition(format!(
                        "{name}: no solver of issuer \"{}\" is for this name",
                        task.issuer.metadata.name
                    )));
                }
            }
        }
        if over_http {
            match &task.settings().http01_webroot {
                Some(webroot) => {
                    let bounds = &self.options.bounds;
                    check_webroot(Path::new(webroot), bounds).map_err(error::obstacle)?;
                }
                None => self.listen(task).await?,
            }
        }
        Ok(Outcome::Prepared)
    }

    /// Checks the space for this certificate and those that are being issued beside it.
    fn can_be_stored(&self, task: &Task) -> Result<(), EffectError> {
        let name = task.certificate.metadata.key();
        let mut issuing = self.issuing.borrow_mut();
        issuing.insert(name.clone());
        // Those that failed since are among them; more than these are never at work at once.
        self.store.check_issuance(issuing.len().min(AT_ONCE)).map_err(|error| {
            issuing.remove(&name);
            error::state(&error)
        })
    }

    /// Opens the listener for this certificate's challenges, once per run. A port that another
    /// certctl holds is waited for: its run ends.
    async fn listen(&self, task: &Task) -> Result<(), EffectError> {
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for text in &task.settings().http01_listen {
            addresses.push(text.parse().map_err(|_| {
                error::precondition(format!("certctl/http01-listen: {text} is no address"))
            })?);
        }
        let mut inherited = &[][..];
        if addresses.is_empty() {
            addresses.clone_from(&self.options.http01_listen);
            inherited = &self.options.http01_inherited;
        }
        let mut listeners = self.listeners.lock().await;
        if let Some(known) = listeners.get(&addresses) {
            return known.as_ref().map(|_| ()).map_err(Clone::clone);
        }
        let mut waits = 0;
        let listener = loop {
            let sockets = inherited.iter().map(TcpListener::try_clone).collect::<Result<_, _>>();
            let sockets = sockets.map_err(error::local)?;
            let answers = Answers::http(&self.tokens, &self.hits);
            match Listener::bind(&addresses, sockets, answers) {
                Err(ListenError::InUse { addr, holder: Some(holder) })
                    if holder.is_certctl && waits < PORT_WAITS =>
                {
                    if waits == 0 {
                        tracing::warn!("{addr} is in use by {holder}: waiting for it to end");
                    }
                    waits += 1;
                    tokio::time::sleep(PORT_PAUSE).await;
                }
                // Another listener of this run answers for this address, too.
                Err(ListenError::InUse { addr, holder: Some(holder) })
                    if holder.is_this_process()
                        && listeners.keys().flatten().any(|open| answers_for(*open, addr)) =>
                {
                    return Ok(());
                }
                Err(error) => {
                    let error = cannot_listen(&error);
                    // The wait is over for the others of this run as well.
                    if waits > 0 {
                        listeners.insert(addresses, Err(error.clone()));
                    }
                    return Err(error);
                }
                Ok(listener) => break listener,
            }
        };
        listeners.insert(addresses, Ok(listener));
        Ok(())
    }

    pub(super) async fn reuse_key(&self, task: &Task) -> Result<Outcome, EffectError> {
        let files = self.store.published(&task.certificate.secret_key()).await;
        let files = files.map_err(|e| error::state(&e))?;
        let bytes = files.as_ref().and_then(|files| files.0.get("tls.key"));
        let bytes = bytes.ok_or_else(|| error::local("there is no live key"))?;
        let text = std::str::from_utf8(bytes).map_err(error::local)?;
        let key = pki::PrivateKey::from_pem(text).map_err(error::local)?;
        Ok(Outcome::Key(Secret(key.to_pkcs8_pem()), key.facts().clone()))
    }

    pub(super) async fn build_request(&self, task: &Task) -> Result<Outcome, EffectError> {
        let key = self.next_key(task).await?;
        let csr = pki::build_csr(&task.certificate.spec, &key).map_err(error::local)?;
        Ok(Outcome::Request(csr.pem, key.facts().public_key.clone()))
    }

    pub(super) async fn next_key(&self, task: &Task) -> Result<pki::PrivateKey, EffectError> {
        let name = task.certificate.metadata.key();
        let bytes = Records::new(self.store).next_key(&name).await;
        let bytes = bytes.map_err(|e| error::state(&e))?;
        let bytes = bytes.ok_or_else(|| error::local("the next private key is gone"))?;
        let text = std::str::from_utf8(&bytes).map_err(error::local)?;
        pki::PrivateKey::from_pem(text).map_err(error::local)
    }

    pub(super) async fn present(
        &self,
        task: &Task,
        challenge: &ChallengeSpec,
        target: Option<&Dns01Target>,
    ) -> Result<Outcome, EffectError> {
        if let (Some(dns01), Some(target)) = (challenge.solver.dns01(), target) {
            let record = record_of(challenge, target)?;
            self.write_record(task, &dns01.provider, Action::Present, &record).await?;
            return Ok(Outcome::Presented);
        }
        let token = token_of(challenge)?;
        let key = &challenge.key;
        if let Some(webroot) = &task.settings().http01_webroot {
            let path = Path::new(webroot);
            let put = Webroot::open(path, &self.options.bounds)
                .and_then(|webroot| webroot.put(&token, key));
            put.map_err(|error| error::here(Webroot::obstacle(path, &error)))?;
        } else {
            self.tokens.put(&token, key).map_err(error::local)?;
        }
        Ok(Outcome::Presented)
    }

    pub(super) async fn self_check(
        &self,
        task: &Task,
        challenge: &ChallengeSpec,
        target: Option<&Dns01Target>,
    ) -> Result<Outcome, EffectError> {
        if let Some(dns01) = challenge.solver.dns01() {
            return self.query_record(challenge, dns01, target).await;
        }
        let token = token_of(challenge)?;
        if task.settings().http01_webroot.is_none()
            && let Some(stopped) = self.stopped_sharer().await
        {
            let report = shared_with_a_stopped_run(challenge, &stopped);
            return Ok(Outcome::Checked(Box::new(CheckReport::Http01(report))));
        }
        let options = self.check_options(task);
        // Of many concurrent checks, the first finish while the others wait, so that the CA can
        // start early. Slow ones delay no others for long.
        let _turn = tokio::time::timeout(CHECK_TURN, self.checks.acquire()).await;
        let (identifier, key) = (&challenge.identifier, &challenge.key);
        let report = check_http01(&self.resolver, identifier, &token, key, options).await;
        let report = explained_by_host(report, &task.settings(), options.port);
        Ok(Outcome::Checked(Box::new(CheckReport::Http01(report))))
    }

    /// Another run on a port of this one that is stopped; it is looked for once a second.
    async fn stopped_sharer(&self) -> Option<Holder> {
        let now = self.clock.now();
        if let Some((at, known)) = &*self.stopped_sharer.borrow()
            && at.duration_until(now).abs() < SHARERS_AGAIN
        {
            return known.clone();
        }
        let found = {
            let listeners = self.listeners.lock().await;
            listeners.values().flatten().find_map(Listener::stopped_sharer)
        };
        self.stopped_sharer.replace(Some((now, found.clone())));
        found
    }

    pub(super) async fn clean_up(
        &self,
        task: &Task,
        challenge: &ChallengeSpec,
        target: Option<&Dns01Target>,
    ) -> Result<Outcome, EffectError> {
        if challenge.kind.is_record() {
            return self.take_record_back(task, challenge, target).await;
        }
        let token = token_of(challenge)?;
        self.tokens.remove(&token).map_err(error::local)?;
        if let Some(webroot) = &task.settings().http01_webroot {
            let webroot = Webroot::open(Path::new(webroot), &self.options.bounds);
            let webroot = webroot.map_err(error::local)?;
            webroot.remove(&token, &challenge.key).map_err(error::local)?;
        }
        self.hits.forget(&token);
        // Other clean-ups of this moment come before.
        tokio::task::yield_now().await;
        self.tokens.sync().map_err(error::local)?;
        Ok(Outcome::CleanedUp)
    }
}

/// The report of a check that was not made: the system may pass the CA's connection to the other run,
/// which does not answer it.
fn shared_with_a_stopped_run(challenge: &ChallengeSpec, stopped: &Holder) -> Http01Report {
    let ChallengeSpec { identifier, token, .. } = challenge;
    let pid = stopped.pid();
    let reason = format!(
        "{stopped} listens on the same port and is stopped, so that the CA may get no response; it \
         goes on after: kill -CONT {pid}"
    );
    Http01Report {
        identifier: identifier.clone(),
        url: format!("http://{identifier}/.well-known/acme-challenge/{token}"),
        addresses: Vec::new(),
        dns: None,
        outlook: Outlook::Open,
        verdict: Verdict::Failed { reason },
    }
}

/// How often other runs on the port are looked for.
const SHARERS_AGAIN: SignedDuration = SignedDuration::from_secs(1);

fn cannot_listen(error: &ListenError) -> EffectError {
    if let ListenError::InUse { holder: Some(holder), .. } = error
        && holder.is_certctl
    {
        return error::precondition(format!(
            "the HTTP-01 listener cannot start: {error}, for over {} s",
            PORT_PAUSE.as_secs() * u64::from(PORT_WAITS)
        ));
    }
    let is_denied = matches!(error, ListenError::NoPermission { .. });
    let found = Obstacle::new(format_args!("the HTTP-01 listener cannot start: {error}"));
    error::obstacle(found.with(Fix::FreePort { is_denied }))
}

fn token_of(challenge: &ChallengeSpec) -> Result<Token, EffectError> {
    challenge.token.parse().map_err(error::local)
}

/// How many certificates at most are taken to be issued at a time, as `--parallel` is by default.
const AT_ONCE: usize = 256;
/// How often, and how long each time, a run waits for the port that another certctl holds.
const PORT_WAITS: u32 = 120;
const PORT_PAUSE: Duration = Duration::from_secs(1);
/// How long a self-check waits for earlier ones.
const CHECK_TURN: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_cannot_be_listened_on_is_a_fact_in_a_line() {
        let addr = "[::]:80".parse().unwrap();
        let in_use = |name| ListenError::InUse { addr, holder: Some(Holder::new(name, 812)) };
        for (error, fact) in [
            (ListenError::NoPermission { addr }, "no permission to listen on [::]:80"),
            (in_use("nginx"), "[::]:80 is in use by nginx (pid 812)"),
        ] {
            let message = cannot_listen(&error).cause.to_string();
            assert_eq!(message, format!("the HTTP-01 listener cannot start: {fact}"));
        }
    }
}
