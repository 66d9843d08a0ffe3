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
use super::served::{Presented, Served, ServedCheckError, test_token};
use crate::probe::{CheckOptions, DnsError, check_http01, explained_by_host};
use crate::resource::{
    AddressAnswer, DnsName, FailureClass, Http01Report, Identifier, Obstacle, Settings,
};
use crate::solver::listener::{Answers, Holder, Listener};
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
    pub async fn of(known: &Known, name: &DnsName) -> Result<Self, ServedCheckError> {
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
    ) -> Result<Self, ServedCheckError> {
        let resolver = run.resolver(BTreeMap::new()).await;
        let token = test_token()?;
        let answer = format!("{token}.check");
        let webroot = settings.http01_webroot.as_ref();
        let put = webroot
            .map(|path| Presented::in_webroot(Path::new(path), &run.bounds(), &token, &answer));
        let own = match put {
            Some(_) => None,
            None => {
                let listen = addresses_of(&run.http01_listen, settings).map_err(PortError::from);
                Some(Served::start(listen, Answers::http, &token, &answer)?)
            }
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
