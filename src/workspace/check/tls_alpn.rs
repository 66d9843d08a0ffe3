//! The addresses of a name, whether the listener can bind, and the certificate that each address shows
//! in the handshake of TLS-ALPN-01 (RFC 8737 section 3).
//!
//! The check answers for its duration, if the port is free, as a run does.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::known::Known;
use super::port::PortError;
use super::served::{Served, ServedCheckError};
use crate::pki;
use crate::probe::{CheckOptions, DnsError, check_tlsalpn01, handshake_explained_by_host};
use crate::resource::{
    DnsName, FailureClass, Identifier, TlsAlpn01Report, Token, ValidationMethod, hex,
};
use crate::solver::http01::made_up_token;
use crate::solver::listener::{Answers, Holder, Listener, listener_addresses};

/// What was found out of a name.
pub struct TlsAlpnCheck {
    pub name: DnsName,
    pub addresses: Result<Vec<String>, DnsError>,
    /// The bound addresses, or why binding failed.
    pub listener: Result<Vec<SocketAddr>, PortError>,
    /// Other certctl processes that listen there as well.
    pub sharers: Vec<Holder>,
    /// The port that was connected to.
    pub port: u16,
    pub report: TlsAlpn01Report,
}

impl TlsAlpnCheck {
    /// Answers for `name`, and makes a handshake with each of its addresses.
    pub async fn of(known: &Known, name: &DnsName) -> Result<Self, ServedCheckError> {
        let run = known.workspace.settings();
        let resolver = run.resolver(BTreeMap::new()).await;
        let identifier = Identifier::Dns(name.clone());
        let key_authorization = format!("{}.check", made_up_token()?);
        let listen = listener_addresses(&run.tlsalpn01_listen, &ValidationMethod::TLS_ALPN01);
        let own = Served::start(
            Ok(listen.clone()),
            Answers::tls,
            &Token::of_server_name(&identifier.server_name()),
            &hex(&pki::digest_of(&key_authorization)),
        )?;
        let port = run.tlsalpn01_check_port;
        let options = CheckOptions { port, ..CheckOptions::default() };
        let check = check_tlsalpn01(&resolver, &identifier, &key_authorization, options);
        let (report, addresses) =
            futures_util::future::join(check, resolver.addresses(name.base())).await;
        let is_served = own.listener.is_ok();
        let report = if is_served { handshake_explained_by_host(report, &listen) } else { report };
        let sharers = own.listener.as_ref().map(Listener::sharers).unwrap_or_default();
        Ok(Self {
            name: name.clone(),
            addresses: addresses
                .map(|found| found.iter().map(|address| address.to_string()).collect()),
            listener: own.addresses(),
            sharers,
            port,
            report,
        })
    }

    /// What would make validation fail.
    pub fn failures(&self) -> Vec<FailureClass> {
        if self.listener.is_err() {
            return vec![FailureClass::Precondition];
        }
        if self.report.has_passed() { Vec::new() } else { vec![FailureClass::Validation] }
    }
}
