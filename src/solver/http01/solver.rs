//! HTTP-01: prepare, present, check, clean up.

use std::net::SocketAddr;
use std::path::Path;

use jiff::Timestamp;

use super::stateless::{self, thumbprint_of};
use super::{Webroot, check_webroot};
use crate::probe::{CheckOptions, Resolver, check_http01, explained_by_host};
use crate::resource::{
    Cause, ChallengeSpec, Http01Report, Obstacle, Outlook, Settings, ValidationMethod, Verdict,
};
use crate::solver::listener::{Answers, Holder};
use crate::solver::served::{PortOptions, Served, local, shared_with_a_stopped_run};
use crate::trust::Bounds;

/// The HTTP-01 solver of a Certificate.
pub struct Http01Solver<'a> {
    pub(in crate::solver) served: &'a Served,
    pub(in crate::solver) port: &'a PortOptions,
    pub(in crate::solver) settings: &'a Settings,
    pub(in crate::solver) bounds: &'a Bounds,
}

/// Who answers the CA.
enum Way<'a> {
    /// A server that makes the answer to any token itself.
    Stateless,
    /// A web server, from this folder.
    Webroot(&'a Path),
    /// The listener of this run.
    Listener,
}

impl Http01Solver<'_> {
    fn way(&self) -> Way<'_> {
        match &self.settings.http01_webroot {
            _ if self.settings.http01_stateless => Way::Stateless,
            Some(webroot) => Way::Webroot(Path::new(webroot)),
            None => Way::Listener,
        }
    }

    /// Opens the listener, or looks at the webroot.
    pub(in crate::solver) async fn prepare(&self) -> Result<(), Cause> {
        let mut addresses: Vec<SocketAddr> = Vec::new();
        match self.way() {
            Way::Stateless => return Ok(()),
            Way::Webroot(path) => {
                let checked = check_webroot(path, self.bounds);
                return checked.map_err(|obstacle| Cause::obstacles(vec![obstacle]));
            }
            Way::Listener => {}
        }
        for text in &self.settings.http01_listen {
            addresses.push(text.parse().map_err(|_| {
                Cause::precondition(format!("certctl/http01-listen: {text} is not an address"))
            })?);
        }
        let mut inherited = &[][..];
        if addresses.is_empty() {
            addresses.clone_from(&self.port.listen);
            inherited = &self.port.inherited;
        }
        let answers = Answers::http(&self.served.tokens, &self.served.hits);
        self.served.listen(&ValidationMethod::HTTP01, &addresses, inherited, &answers).await
    }

    pub(in crate::solver) fn present(&self, challenge: &ChallengeSpec) -> Result<(), Cause> {
        let (token, key) = (challenge.answer_name().map_err(local)?, &challenge.key);
        match self.way() {
            Way::Stateless => Ok(()),
            Way::Webroot(path) => {
                let put = Webroot::open(path, self.bounds).and_then(|root| root.put(&token, key));
                put.map_err(|error| {
                    let Obstacle { fact, fix } = Webroot::obstacle(path, &error);
                    Cause::Local { message: fact, fixes: fix.into_iter().collect() }
                })
            }
            Way::Listener => self.served.tokens.put(&token, key).map_err(local),
        }
    }

    /// Requests the answer as the CA will. Without a token presented, that to a made-up one: whether
    /// the server knows the account.
    pub(in crate::solver) async fn check(
        &self,
        challenge: &ChallengeSpec,
        resolver: &Resolver,
        now: Timestamp,
    ) -> Result<Http01Report, Cause> {
        let (identifier, key) = (&challenge.identifier, &challenge.key);
        let port = self.settings.check_port(self.port.check);
        let options = CheckOptions { port, ..CheckOptions::default() };
        let _turn = self.served.turn_to_check().await;
        match self.way() {
            Way::Stateless => {
                let thumbprint = thumbprint_of(key);
                let token = stateless::made_up_token().map_err(local)?;
                let answer = format!("{token}.{thumbprint}");
                let report = check_http01(resolver, identifier, &token, &answer, options).await;
                return Ok(report.of_any_token(&token, thumbprint));
            }
            Way::Listener => {
                if let Some(stopped) = self.served.stopped_sharer(now).await {
                    return Ok(not_made(challenge, &stopped));
                }
            }
            Way::Webroot(_) => {}
        }
        let token = challenge.answer_name().map_err(local)?;
        let report = check_http01(resolver, identifier, &token, key, options).await;
        Ok(explained_by_host(report, self.settings, port))
    }

    pub(in crate::solver) async fn clean_up(&self, challenge: &ChallengeSpec) -> Result<(), Cause> {
        let token = challenge.answer_name().map_err(local)?;
        self.served.tokens.remove(&token).map_err(local)?;
        if let Way::Webroot(path) = self.way() {
            let webroot = Webroot::open(path, self.bounds).map_err(local)?;
            webroot.remove(&token, &challenge.key).map_err(local)?;
        }
        self.served.forget(challenge).await
    }
}

/// The report of a check that was not made.
fn not_made(challenge: &ChallengeSpec, stopped: &Holder) -> Http01Report {
    let ChallengeSpec { identifier, token, .. } = challenge;
    Http01Report {
        identifier: identifier.clone(),
        url: format!("http://{identifier}/.well-known/acme-challenge/{token}"),
        addresses: Vec::new(),
        dns: None,
        outlook: Outlook::Open,
        verdict: Verdict::Failed { reason: shared_with_a_stopped_run(stopped) },
    }
}
