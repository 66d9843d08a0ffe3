//! `certctl check http`: the addresses of a name, whether the listener can bind, and the response
//! at the HTTP-01 challenge URL (RFC 8555 section 8.3).
//!
//! The check serves a test token for its duration: by the listener if the port is free, or as a file
//! below the webroot of the Certificate for the name, as a run does.

use std::collections::BTreeMap;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::known::Known;
use super::names::wanting;
use super::page::{code_of, format_of, lines, written};
use crate::cli::args::CheckHttpArgs;
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::run::on_one_thread;
use crate::cli::scratch::Scratch;
use crate::cli::shell::Shell;
use crate::engine::ports::{Clock as _, SystemClock};
use crate::probe::{CheckOptions, Resolver, check_http01};
use crate::resource::{
    AddressAnswer, CHALLENGE_PATH, DnsName, FailureClass, Http01Report, Identifier, Obstacle,
    Settings, Token,
};
use crate::solver::http01::{
    Hits, Holder, ListenError, Listener, TokenFolder, Webroot, listener_addresses,
};

/// `certctl check http`.
pub(super) fn check(args: &CheckHttpArgs, shell: &mut Shell) -> Result<ExitCode, CliError> {
    let format = format_of(shell, "check http")?;
    let usage = |message: &dyn std::fmt::Display| CliError::new(ExitCode::Usage, message);
    let name: DnsName =
        args.name.parse().map_err(|error| usage(&format_args!("{:?}: {error}", args.name)))?;
    if name.is_wildcard() {
        return Err(usage(&format_args!("{name}: only DNS-01 validates a wildcard"))
            .trying(format_args!("certctl check dns {}", name.base())));
    }
    on_one_thread(async {
        let known = Known::read(shell, false).await?;
        let settings = settings_of(&known, &name);
        let resolver = known.workspace.settings().resolver(BTreeMap::new()).await?;
        let findings = Findings::gather(shell, &resolver, &name, &settings).await?;
        shell.output.data(&written(format, findings.page(), &findings.document())?)?;
        Ok(code_of(findings.failures()))
    })
}

/// The settings of the first Certificate for the name.
fn settings_of(known: &Known, name: &DnsName) -> Settings {
    let wanting = wanting(&known.targets.loaded, name);
    let first = wanting.iter().find(|wanting| !wanting.is_wildcard);
    first.map_or_else(Settings::default, |wanting| {
        wanting.certificate.settings.or(&wanting.issuer.settings)
    })
}

/// The listener of a run, with the test token.
struct Served {
    /// Or why it cannot listen.
    listener: Result<Listener, String>,
    /// What helps then.
    ways_out: &'static [&'static str],
    /// Holds the token.
    _scratch: Scratch,
}

impl Served {
    fn start(
        shell: &Shell,
        settings: &Settings,
        token: &Token,
        answer: &str,
    ) -> Result<Self, CliError> {
        let failed = |error: &dyn std::fmt::Display| CliError::new(ExitCode::Failed, error);
        let scratch = Scratch::new("check")?;
        let folder = TokenFolder::open_shared(&scratch.path().join("http01"));
        let folder = folder.map_err(|error| failed(&error))?;
        folder.put(token, answer).map_err(|error| failed(&error))?;
        let hits = Hits::new(|| SystemClock.now());
        let mut help = WAYS_OUT;
        let listener = addresses_of(shell, settings).and_then(|addresses| {
            Listener::bind(&addresses, Vec::new(), &folder, &hits).map_err(|error| {
                help = ways_out(&error);
                error.to_string()
            })
        });
        Ok(Self { listener, ways_out: help, _scratch: scratch })
    }
}

/// Puts the test token below a webroot.
fn put(path: &Path, token: &Token, answer: &str) -> Result<(), Obstacle> {
    let put = Webroot::open(path).and_then(|webroot| webroot.put(token, answer));
    put.map_err(|error| Webroot::obstacle(path, &error))
}

struct Findings {
    name: String,
    addresses: Result<Vec<String>, String>,
    /// The bound addresses, or why binding failed; `None` where a webroot is used instead.
    listener: Option<Result<Vec<SocketAddr>, String>>,
    /// What helps when it failed.
    ways_out: &'static [&'static str],
    /// Other certctl processes that listen there as well.
    sharers: Vec<String>,
    /// The webroot, and whether the token could be put there.
    webroot: Option<(String, Result<(), Obstacle>)>,
    /// The port that was asked, and what serves the webroot there on this host.
    port: u16,
    server: Server,
    /// Whether the token was served.
    serves: bool,
    report: Http01Report,
}

impl Findings {
    async fn gather(
        shell: &Shell,
        resolver: &Resolver,
        name: &DnsName,
        settings: &Settings,
    ) -> Result<Self, CliError> {
        let failed = |error: &dyn std::fmt::Display| CliError::new(ExitCode::Failed, error);
        let (token, answer) = probe_token().map_err(|error| failed(&error))?;
        let webroot = settings.http01_webroot.as_ref();
        let put = webroot.map(|path| put(Path::new(path), &token, &answer));
        let own = match put {
            Some(_) => None,
            None => Some(Served::start(shell, settings, &token, &answer)?),
        };
        let port = settings.http01_check_port.unwrap_or(shell.global.http01_check_port);
        let options = CheckOptions { port, ..CheckOptions::default() };
        let identifier = Identifier::Dns(name.clone());
        let asked = check_http01(resolver, &identifier, &token, &answer, options);
        let (report, addresses) =
            futures_util::future::join(asked, resolver.addresses(name.base())).await;
        if let (Some(path), Some(Ok(()))) = (webroot, &put) {
            let folder = Webroot::open(Path::new(path));
            let removed = folder.and_then(|folder| folder.remove(&token, &answer));
            removed.map_err(|error| failed(&error))?;
        }
        let serves = match (&put, &own) {
            (Some(put), _) => put.is_ok(),
            (None, own) => own.as_ref().is_some_and(|own| own.listener.is_ok()),
        };
        let listener = own.as_ref().map(|own| match &own.listener {
            Ok(listener) => Ok(listener.addresses().to_vec()),
            Err(why) => Err(why.clone()),
        });
        let bound = own.iter().filter_map(|own| own.listener.as_ref().ok());
        Ok(Self {
            name: name.to_string(),
            addresses: addresses
                .map(|found| found.iter().map(|address| address.to_string()).collect())
                .map_err(|error| error.to_string()),
            serves,
            sharers: bound.flat_map(Listener::sharers).map(|holder| holder.to_string()).collect(),
            listener,
            port,
            server: if webroot.is_some() { Server::at(port) } else { Server::Other },
            ways_out: own.as_ref().map_or(WAYS_OUT, |own| own.ways_out),
            webroot: webroot.cloned().zip(put),
            report,
        })
    }

    fn page(&self) -> String {
        let addresses = match &self.addresses {
            Ok(addresses) => addresses.join(", "),
            Err(why) => format!("none: {why}"),
        };
        let listener = match &self.listener {
            None => "not used: there is a webroot".to_owned(),
            Some(Ok(addresses)) => {
                let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
                let state = match self.sharers.as_slice() {
                    [] => "free".to_owned(),
                    sharers => format!("shared with {}", sharers.join(", ")),
                };
                format!("{}: {state}", addresses.join(", "))
            }
            Some(Err(why)) => why.clone(),
        };
        let mut page =
            vec![("name", self.name.clone()), ("addresses", addresses), ("listener", listener)];
        match &self.webroot {
            Some((path, Ok(()))) => {
                page.push(("webroot", format!("{path}: a test file was put there, then removed")));
            }
            Some((_, Err(Obstacle { fact, .. }))) => page.push(("webroot", fact.clone())),
            None => {}
        }
        page.push(("verdict", self.verdict()));
        if self.report.has_passed() {
            page.push(("", NOT_KNOWN.to_owned()));
        }
        if !self.report.addresses.is_empty() {
            page.push(("queried", self.report.summary()));
            page.extend(self.report.details().into_iter().map(|line| ("", format!("  {line}"))));
        }
        page.extend(self.way_out().map(|way_out| ("try", way_out)));
        lines(&page)
    }

    /// What leads on from the first thing that is wrong; `None` where nothing is.
    fn way_out(&self) -> Option<String> {
        if self.failures().is_empty() {
            return None;
        }
        match (&self.webroot, &self.listener) {
            (Some((_, Err(obstacle))), _) => {
                return obstacle.fix.as_ref().map(ToString::to_string);
            }
            (None, Some(Err(_))) => return Some(self.ways_out.join(", or ")),
            (Some(_) | None, _) => {}
        }
        if self.addresses.is_err() {
            return Some(format!("publish an A or AAAA record: dig +trace A {}", self.name));
        }
        let (folder, _) = self.report.url.rsplit_once('/')?;
        Some(match &self.webroot {
            Some(_) if self.lacks_server() => WAYS_OF_WEBROOT.to_owned(),
            Some(_) => format!("curl -v {folder}/"),
            None => format!("route port 80 of each address to this host: curl -v {folder}/"),
        })
    }

    /// What would make HTTP-01 validation fail. If the token could not be served, any response
    /// passes.
    fn failures(&self) -> Vec<FailureClass> {
        let is_answered = self.report.addresses.iter().any(|report| match report.outcome {
            AddressAnswer::Correct | AddressAnswer::Wrong { .. } => true,
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
        let may_be_well = self.report.has_passed() || (!self.serves && is_answered);
        if !may_be_well && !is_unusable {
            failures.push(FailureClass::Validation);
        }
        failures
    }

    fn verdict(&self) -> String {
        if let (Err(why), true) = (&self.addresses, self.serves) {
            return format!("no server was asked: {why}");
        }
        if let (Some((path, Ok(()))), false) = (&self.webroot, self.report.has_passed()) {
            let (url, port) = (&self.report.url, self.port);
            return match (self.responding(), &self.server) {
                (None, Server::Absent) => format!(
                    "nothing listens on port {port} of this host: the web server that serves {path} \
                     does not run"
                ),
                (_, Server::Certctl(holder)) => format!(
                    "{holder} has port {port}, not a web server that serves {path}: certctl does not \
                     answer from that folder"
                ),
                (Some(server), Server::Absent | Server::Other) => format!(
                    "the server at {server} does not serve this file at {url}: have it serve {path} \
                     there (location {CHALLENGE_PATH}), on every address of the name"
                ),
                (None, Server::Other) => format!(
                    "no server answers at {url}: start one that serves {path} there on port 80, and \
                     check the addresses of the name"
                ),
            };
        }
        match (self.serves, self.report.has_passed()) {
            (_, true) => "this host receives the correct response".to_owned(),
            (true, false) => {
                "this host does not receive the correct response; most likely no CA does".to_owned()
            }
            (false, false) => {
                "unknown: certctl could not serve the test token; current responses below"
                    .to_owned()
            }
        }
    }

    /// Whether it is known that no web server of this host serves the webroot.
    fn lacks_server(&self) -> bool {
        match &self.server {
            Server::Absent => self.responding().is_none(),
            Server::Certctl(_) => true,
            Server::Other => false,
        }
    }

    /// The first address whose server responds with something else.
    fn responding(&self) -> Option<String> {
        self.report.addresses.iter().find_map(|report| match &report.outcome {
            AddressAnswer::Wrong { remote, .. } => Some(remote.to_string()),
            AddressAnswer::Broken { .. } => Some(report.address.to_string()),
            AddressAnswer::Correct | AddressAnswer::Unreachable { .. } => None,
        })
    }

    fn document(&self) -> HttpDocument<'_> {
        HttpDocument {
            name: &self.name,
            addresses: self.addresses.as_deref().ok(),
            error: self.addresses.as_ref().err(),
            listener: ListenerItem {
                addresses: self.listener.as_ref().and_then(|found| found.as_deref().ok()),
                shared_with: &self.sharers,
                error: self.listener.as_ref().and_then(|found| found.as_ref().err()),
            },
            webroot: self.webroot.as_ref().map(|(path, put)| WebrootItem {
                path,
                error: put.as_ref().err().map(|e| &e.fact),
            }),
            served: self.serves,
            passed: self.report.has_passed(),
            report: &self.report,
        }
    }
}

/// Whether this host receives the correct response to an HTTP-01 challenge at the name.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct HttpDocument<'a> {
    name: &'a str,
    /// The addresses of the name.
    addresses: Option<&'a [String]>,
    /// Why the name has no addresses.
    error: Option<&'a String>,
    listener: ListenerItem<'a>,
    /// The folder of `certctl.io/http01-webroot`.
    webroot: Option<WebrootItem<'a>>,
    /// Whether certctl served a test token during the check.
    served: bool,
    /// Whether this host received the correct response; a CA's requests come from elsewhere.
    passed: bool,
    report: &'a Http01Report,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListenerItem<'a> {
    /// The addresses that it can bind.
    addresses: Option<&'a [SocketAddr]>,
    /// Other certctl processes that listen there, and answer for its tokens.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    shared_with: &'a [String],
    /// Why it cannot bind.
    error: Option<&'a String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct WebrootItem<'a> {
    path: &'a str,
    /// Why tokens cannot be written there.
    error: Option<&'a String>,
}

/// The addresses of a run's listener, as they are now.
#[derive(Debug)]
pub(in crate::cli) enum Port {
    /// It can listen, perhaps with other certctl processes.
    Usable { addresses: Vec<SocketAddr>, sharers: Vec<Holder> },
    /// It cannot.
    Refused(ListenError),
    /// An address is none.
    Unknown(String),
}

impl Port {
    /// The port of a Certificate with these settings. Nothing listens on it meanwhile.
    pub(in crate::cli) fn of(shell: &Shell, settings: &Settings) -> Self {
        let addresses = match addresses_of(shell, settings) {
            Ok(addresses) => addresses,
            Err(why) => return Self::Unknown(why),
        };
        match Listener::check(&addresses) {
            Ok(sharers) => Self::Usable { addresses, sharers },
            Err(error) => Self::Refused(error),
        }
    }
}

/// What has the port of this host on which a web server is to serve a webroot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Server {
    /// Nothing listens.
    Absent,
    /// Another certctl.
    Certctl(Holder),
    /// Another program, or what this user cannot see.
    Other,
}

impl Server {
    /// What is there now. Nothing listens on the port meanwhile.
    pub(in crate::cli) fn at(port: u16) -> Self {
        match Listener::check(&[SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))]) {
            Ok(sharers) => sharers.into_iter().next().map_or(Self::Absent, Self::Certctl),
            Err(ListenError::InUse { holder: Some(holder), .. }) if holder.is_certctl => {
                Self::Certctl(holder)
            }
            // Where it is in use, the table of sockets shows so, which Linux has.
            Err(ListenError::NoPermission { .. }) if cfg!(target_os = "linux") => Self::Absent,
            Err(
                ListenError::NoPermission { .. }
                | ListenError::InUse { .. }
                | ListenError::Io { .. }
                | ListenError::Thread { .. }
                | ListenError::Inherited { .. },
            ) => Self::Other,
        }
    }
}

/// What helps where no web server has the port of a webroot.
pub(in crate::cli) const WAYS_OF_WEBROOT: &str = "start the web server that serves the folder; without one, leave out \
     certctl.io/http01-webroot, and certctl answers itself";

/// What helps where the listener cannot listen.
pub(in crate::cli) fn ways_out(error: &ListenError) -> &'static [&'static str] {
    match error {
        ListenError::NoPermission { .. } => WAYS_WITHOUT_PERMISSION,
        ListenError::InUse { holder: Some(holder), .. } if holder.is_init() => WAYS_OF_SOCKET,
        ListenError::InUse { .. }
        | ListenError::Io { .. }
        | ListenError::Thread { .. }
        | ListenError::Inherited { .. } => WAYS_OUT,
    }
}

/// The addresses that the listener of a run could bind now; else why it could not.
pub(in crate::cli) fn listening(shell: &Shell) -> Result<Vec<SocketAddr>, String> {
    match Port::of(shell, &Settings::default()) {
        Port::Usable { addresses, .. } => Ok(addresses),
        Port::Refused(error) => Err(error.to_string()),
        Port::Unknown(why) => Err(why),
    }
}

/// The addresses that the listener binds in a run.
fn addresses_of(shell: &Shell, settings: &Settings) -> Result<Vec<SocketAddr>, String> {
    let mut addresses = Vec::new();
    for text in &settings.http01_listen {
        let address = text.parse();
        addresses.push(
            address.map_err(|_| format!("certctl.io/http01-listen: {text} is not an address"))?,
        );
    }
    if addresses.is_empty() {
        addresses = listener_addresses(&shell.global.http01_listen);
    }
    Ok(addresses)
}

/// A test token and its response.
fn probe_token() -> Result<(Token, String), String> {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| "no random bytes available".to_owned())?;
    let text = crate::engine::inputs::digest_of(&bytes);
    let token: Token =
        format!("certctl-check-{text}").parse().map_err(|error| format!("{error}"))?;
    let answer = format!("{token}.check");
    Ok((token, answer))
}

/// Only this host has asked.
const NOT_KNOWN: &str = "not known: whether a CA's requests get here from the internet (firewall, \
                         NAT, the DNS that it sees)";
const WAYS_WITHOUT_PERMISSION: &[&str] = &[
    "root, or CAP_NET_BIND_SERVICE, which a port below 1024 needs",
    "another port: --http01-listen, with port 80 forwarded to it",
    "a web server on port 80 that serves the folder of certctl.io/http01-webroot",
];
const WAYS_OF_SOCKET: &[&str] = &[
    "systemctl start certctl.service, if certctl.socket has the port: it issues with that",
    "systemctl mask --now certctl.socket",
];
const WAYS_OUT: &[&str] = &[
    "have that server serve the folder named by certctl.io/http01-webroot",
    "proxy /.well-known/acme-challenge/ to --http01-listen",
];
