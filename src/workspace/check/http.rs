//! The addresses of a name, whether the listener can bind, and the response at the HTTP-01
//! challenge URL (RFC 8555 section 8.3).
//!
//! The check serves a test token for its duration: by the listener if the port is free, or as a file
//! below the webroot of the Certificate for the name, as a run does.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use thiserror::Error;

use super::known::Known;
use super::names::wanting;
use super::port::{PortError, addresses_of};
use crate::engine::inputs::digest_of;
use crate::engine::ports::{Clock as _, SystemClock};
use crate::probe::{CheckOptions, DnsError, check_http01, explained_by_host};
use crate::resource::{
    AddressAnswer, DnsName, FailureClass, Http01Report, Identifier, Obstacle, Settings, Token,
    TokenError,
};
use crate::solver::http01::{Webroot, WebrootError};
use crate::solver::listener::{Answers, FolderError, Hits, Holder, Listener, TokenFolder};
use crate::trust::Bounds;
use crate::workspace::Scratch;
use crate::workspace::run::RunError;
use crate::workspace::settings::Settings as RunSettings;

/// What was found out of a name.
pub struct HttpCheck {
    pub name: DnsName,
    pub addresses: Result<Vec<String>, DnsError>,
    /// The bound addresses, or why binding failed; `None` where a webroot is used instead.
    pub listener: Option<Result<Vec<SocketAddr>, PortError>>,
    /// Other certctl processes that listen there as well.
    pub sharers: Vec<Holder>,
    /// The webroot, and whether the token could be put there.
    pub webroot: Option<(String, Result<(), Obstacle>)>,
    /// The port that was asked.
    pub port: u16,
    /// Whether the token was served.
    pub is_served: bool,
    pub report: Http01Report,
}

/// Why nothing could be found out.
#[derive(Debug, Error)]
pub enum HttpCheckError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Scratch(#[from] io::Error),
    #[error(transparent)]
    Tokens(#[from] FolderError),
    #[error("no random bytes available")]
    Random,
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Webroot(#[from] WebrootError),
}

/// The listener of a run, with the test token.
struct Served {
    listener: Result<Listener, PortError>,
    _presented: Presented,
    _scratch: Scratch,
}

/// A token that is presented until this is dropped: another run at the port would wait for it, and a
/// web server would serve it.
struct Presented {
    place: Place,
    token: Token,
    answer: String,
}

/// Where a token is presented.
enum Place {
    Folder(TokenFolder),
    Webroot(Webroot),
}

impl Presented {
    fn in_folder(folder: TokenFolder, token: &Token, answer: &str) -> Result<Self, FolderError> {
        folder.put(token, answer)?;
        Ok(Self::at(Place::Folder(folder), token, answer))
    }

    fn in_webroot(
        path: &Path,
        bounds: &Bounds,
        token: &Token,
        answer: &str,
    ) -> Result<Self, Obstacle> {
        let put = Webroot::open(path, bounds).and_then(|webroot| {
            webroot.put(token, answer)?;
            Ok(Self::at(Place::Webroot(webroot), token, answer))
        });
        put.map_err(|error| Webroot::obstacle(path, &error))
    }

    fn at(place: Place, token: &Token, answer: &str) -> Self {
        Self { place, token: token.clone(), answer: answer.to_owned() }
    }

    /// Idempotent.
    fn withdraw(&self) -> Result<(), HttpCheckError> {
        match &self.place {
            Place::Folder(folder) => folder.remove(&self.token)?,
            Place::Webroot(webroot) => drop(webroot.remove(&self.token, &self.answer)?),
        }
        Ok(())
    }
}

impl Drop for Presented {
    fn drop(&mut self) {
        if let Err(error) = self.withdraw() {
            tracing::debug!(%error, "the token of a check is left behind");
        }
    }
}

impl Served {
    fn start(
        default: &[SocketAddr],
        settings: &Settings,
        token: &Token,
        answer: &str,
    ) -> Result<Self, HttpCheckError> {
        let scratch = Scratch::new("check")?;
        let folder = TokenFolder::open_shared(&scratch.path().join("http01"))?;
        let presented = Presented::in_folder(folder.clone(), token, answer)?;
        let hits = Hits::new(|| SystemClock.now());
        let listener = addresses_of(default, settings).map_err(PortError::from);
        let listener = listener.and_then(|addresses| {
            Ok(Listener::bind(&addresses, Vec::new(), Answers::http(&folder, &hits))?)
        });
        Ok(Self { listener, _presented: presented, _scratch: scratch })
    }
}

/// The settings of the Certificates for the name, once where they are validated in the same way.
fn settings_of(known: &Known, name: &DnsName) -> Vec<Settings> {
    let wanting = wanting(&known.targets.loaded, name);
    let of_name = wanting.iter().filter(|wanting| !wanting.is_wildcard);
    let mut all: Vec<Settings> =
        of_name.map(|one| one.certificate.settings.or(&one.issuer.settings)).collect();
    let way = |one: &Settings| {
        (one.http01_webroot.clone(), one.http01_listen.clone(), one.http01_check_port)
    };
    let mut ways = Vec::new();
    all.retain(|one| {
        !ways.contains(&way(one)) && {
            ways.push(way(one));
            true
        }
    });
    all
}

impl HttpCheck {
    /// Serves a test token, and asks for it at each address of `name`. Where Certificates have several
    /// ways to validate it, each is tried: the first that fails is returned, else the first.
    pub async fn of(known: &Known, name: &DnsName) -> Result<Self, HttpCheckError> {
        let run = known.workspace.settings();
        let mut all = settings_of(known, name).into_iter();
        let mut found = Self::with(run, &all.next().unwrap_or_default(), name).await?;
        for settings in all {
            if found.failures().is_empty() {
                let next = Self::with(run, &settings, name).await?;
                found = if next.failures().is_empty() { found } else { next };
            }
        }
        Ok(found)
    }

    /// The same with these settings of a Certificate.
    pub async fn with(
        run: &RunSettings,
        settings: &Settings,
        name: &DnsName,
    ) -> Result<Self, HttpCheckError> {
        let resolver = run.resolver(BTreeMap::new()).await;
        let (token, answer) = test_token()?;
        let webroot = settings.http01_webroot.as_ref();
        let put = webroot
            .map(|path| Presented::in_webroot(Path::new(path), &run.bounds(), &token, &answer));
        let own = match put {
            Some(_) => None,
            None => Some(Served::start(&run.http01_listen, settings, &token, &answer)?),
        };
        let port = settings.check_port(run.http01_check_port);
        let options = CheckOptions { port, ..CheckOptions::default() };
        let identifier = Identifier::Dns(name.clone());
        let check = check_http01(&resolver, &identifier, &token, &answer, options);
        let (report, addresses) =
            futures_util::future::join(check, resolver.addresses(name.base())).await;
        if let Some(Ok(presented)) = &put {
            presented.withdraw()?;
        }
        let bound = own.as_ref().and_then(|own| own.listener.as_ref().ok());
        let sharers = bound.map(Listener::sharers).unwrap_or_default();
        let listener = own.map(|own| own.listener.map(|bound| bound.addresses().to_vec()));
        let is_served = match (&put, &listener) {
            (Some(put), _) => put.is_ok(),
            (None, listener) => matches!(listener, Some(Ok(_))),
        };
        let report = if is_served { explained_by_host(report, settings, port) } else { report };
        Ok(Self {
            name: name.clone(),
            addresses: addresses
                .map(|found| found.iter().map(|address| address.to_string()).collect()),
            listener,
            sharers,
            webroot: webroot.cloned().zip(put.map(|put| put.map(drop))),
            port,
            is_served,
            report,
        })
    }

    /// What would make HTTP-01 validation fail. If the token could not be served, any response
    /// passes.
    pub fn failures(&self) -> Vec<FailureClass> {
        let is_answered = self.report.addresses.iter().any(|report| match report.outcome {
            AddressAnswer::Correct | AddressAnswer::Wrong(_) => true,
            AddressAnswer::Broken { .. } | AddressAnswer::Unreachable { .. } => false,
        });
        let mut failures = Vec::new();
        let is_unusable = match &self.webroot {
            Some((_, put)) => put.is_err(),
            None => matches!(self.listener, Some(Err(_))),
        };
        if is_unusable {
            failures.push(FailureClass::Precondition);
        }
        let may_be_well = self.report.has_passed() || (!self.is_served && is_answered);
        if !may_be_well && !is_unusable {
            failures.push(FailureClass::Validation);
        }
        failures
    }
}

/// A test token and its response.
fn test_token() -> Result<(Token, String), HttpCheckError> {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| HttpCheckError::Random)?;
    let token: Token = format!("certctl-check-{}", digest_of(&bytes)).parse()?;
    let answer = format!("{token}.check");
    Ok((token, answer))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn no_other_run_sees_the_token_of_a_check_that_has_ended() {
        let root = tempfile::tempdir().unwrap();
        let shared = root.path().join("certctl/http01");
        let folder = TokenFolder::open_beside(&root.path().join("http01"), root.path()).unwrap();
        let (token, answer) = test_token().unwrap();
        let presented = Presented::in_folder(folder.clone(), &token, &answer).unwrap();
        let hits = Hits::new(|| SystemClock.now());
        let any = [SocketAddr::from(([127, 0, 0, 1], 0))];
        let listener = Listener::bind(&any, Vec::new(), Answers::http(&folder, &hits)).unwrap();
        let [address] = *listener.addresses() else { panic!("one address") };
        let of_port = shared.join(format!(".{}", address.port()));
        assert_eq!(fs::read_dir(&of_port).unwrap().count(), 1);
        assert_eq!(fs::read_dir(&shared).unwrap().count(), 2);
        drop(presented);
        assert_eq!(fs::read_dir(&shared).unwrap().count(), 0);
    }
}
