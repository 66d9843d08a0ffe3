//! The addresses of a name, whether the listener can bind, and the response at the HTTP-01
//! challenge URL (RFC 8555 section 8.3).
//!
//! The check serves a test token for its duration: by the listener if the port is free, or as a file
//! below the webroot of the Certificate for the name, as a run does.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use super::known::Known;
use super::names::wanting;
use super::port::{PortError, addresses_of};
use super::served::{Presented, Served, ServedCheckError};
use crate::acme::AccountKey;
use crate::engine::inputs::account_id;
use crate::probe::{CheckOptions, DnsError, check_http01, explained_by_host};
use crate::resource::{
    AccountIdentity, AddressAnswer, DnsName, FailureClass, Http01Report, Identifier, Issuer,
    Obstacle, Settings,
};
use crate::solver::http01::made_up_token;
use crate::solver::listener::{Answers, Holder, Listener};
use crate::store::{Records, Store};
use crate::workspace::settings::Settings as RunSettings;

/// What was found out of a name.
pub struct HttpCheck {
    pub name: DnsName,
    pub addresses: Result<Vec<String>, DnsError>,
    /// The bound addresses, or why binding failed; `None` where a server of the operator answers.
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

/// How a name is validated.
#[derive(Default, PartialEq)]
struct Way {
    settings: Settings,
    /// The thumbprint of the account, where a server answers by itself and the account has a key.
    thumbprint: Option<String>,
}

/// The ways of the Certificates for the name, each once.
async fn ways_of(known: &Known, name: &DnsName) -> Vec<Way> {
    let wanting = wanting(&known.targets.loaded, name);
    let mut ways = Vec::new();
    for one in wanting.iter().filter(|wanting| !wanting.is_wildcard) {
        let all = one.certificate.settings.or(&one.issuer.settings);
        let settings = Settings {
            http01_stateless: all.http01_stateless,
            http01_webroot: all.http01_webroot,
            http01_listen: all.http01_listen,
            http01_check_port: all.http01_check_port,
            ..Settings::default()
        };
        let thumbprint =
            if settings.http01_stateless { thumbprint_of(known, one.issuer).await } else { None };
        let way = Way { settings, thumbprint };
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}

/// Of the account key in the state.
async fn thumbprint_of(known: &Known, issuer: &Issuer) -> Option<String> {
    let id = account_id(&AccountIdentity::of(issuer));
    let pem = Records::new(known.state()?.documents()).account_key(&id).await.ok()??;
    let key = AccountKey::from_pem(std::str::from_utf8(&pem).ok()?).ok()?;
    Some(key.thumbprint().to_owned())
}

impl HttpCheck {
    /// Serves a test token, and asks for it at each address of `name`. Where Certificates have several
    /// ways to validate it, each is tried: the first that fails is returned, else the first.
    pub async fn of(known: &Known, name: &DnsName) -> Result<Self, ServedCheckError> {
        let run = known.workspace.settings();
        let mut all = ways_of(known, name).await.into_iter();
        let mut found = Self::by(run, &all.next().unwrap_or_default(), name).await?;
        for way in all {
            if found.failures().is_empty() {
                let next = Self::by(run, &way, name).await?;
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
    ) -> Result<Self, ServedCheckError> {
        Self::by(run, &Way { settings: settings.clone(), thumbprint: None }, name).await
    }

    async fn by(
        run: &RunSettings,
        Way { settings, thumbprint }: &Way,
        name: &DnsName,
    ) -> Result<Self, ServedCheckError> {
        let resolver = run.resolver(BTreeMap::new()).await;
        let token = made_up_token()?;
        let is_stateless = settings.http01_stateless;
        let end = thumbprint.as_deref().unwrap_or("check");
        let answer = format!("{token}.{end}");
        let webroot = settings.http01_webroot.as_ref().filter(|_| !is_stateless);
        let put = webroot
            .map(|path| Presented::in_webroot(Path::new(path), &run.bounds(), &token, &answer));
        let own = if put.is_none() && !is_stateless {
            let listen = addresses_of(&run.http01_listen, settings).map_err(PortError::from);
            Some(Served::start(listen, Answers::http, &token, &answer)?)
        } else {
            None
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
        let listener = own.map(Served::addresses);
        let is_served = match (&put, &listener) {
            _ if is_stateless => thumbprint.is_some(),
            (Some(put), _) => put.is_ok(),
            (None, listener) => matches!(listener, Some(Ok(_))),
        };
        let report = match thumbprint {
            Some(thumbprint) => report.of_any_token(&token, thumbprint),
            None if is_served => explained_by_host(report, settings, port),
            None => report,
        };
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
        let is_unusable = match &self.webroot {
            Some((_, put)) => put.is_err(),
            None => matches!(self.listener, Some(Err(_))),
        };
        if is_unusable {
            return vec![FailureClass::Precondition];
        }
        let may_be_well = self.report.has_passed() || (!self.is_served && is_answered);
        if may_be_well { Vec::new() } else { vec![FailureClass::Validation] }
    }
}
