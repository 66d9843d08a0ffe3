//! The port of the HTTP-01 listener, and what has that of a webroot's server.

use std::net::{Ipv6Addr, SocketAddr};

use thiserror::Error;

use crate::resource::{Settings, ValidationMethod};
use crate::solver::listener::{Holder, ListenError, Listener, listener_addresses};

/// The addresses of a run's listener, as they are now.
#[derive(Debug)]
pub enum Port {
    /// It can listen, perhaps with other certctl processes.
    Usable { addresses: Vec<SocketAddr>, sharers: Vec<Holder> },
    /// It cannot.
    Refused(ListenError),
    /// An address is none.
    Unknown(BadAddress),
}

/// `certctl/http01-listen` names something else than an address with a port.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("certctl/http01-listen: {0} is not an address")]
pub struct BadAddress(pub String);

/// Why a listener cannot listen.
#[derive(Debug, Error)]
pub enum PortError {
    #[error(transparent)]
    Address(#[from] BadAddress),
    #[error(transparent)]
    Listen(#[from] ListenError),
}

impl Port {
    /// The port of a Certificate with these settings; `default` are the addresses of the run. Nothing
    /// listens on it meanwhile.
    pub fn of(default: &[SocketAddr], settings: &Settings) -> Self {
        let addresses = match addresses_of(default, settings) {
            Ok(addresses) => addresses,
            Err(bad) => return Self::Unknown(bad),
        };
        match Listener::check(&addresses) {
            Ok(sharers) => Self::Usable { addresses, sharers },
            Err(error) => Self::Refused(error),
        }
    }

    /// The addresses that a listener could bind now.
    pub fn addresses(self) -> Result<Vec<SocketAddr>, PortError> {
        match self {
            Self::Usable { addresses, .. } => Ok(addresses),
            Self::Refused(error) => Err(error.into()),
            Self::Unknown(bad) => Err(bad.into()),
        }
    }
}

/// The addresses that the listener binds in a run.
pub(super) fn addresses_of(
    default: &[SocketAddr],
    settings: &Settings,
) -> Result<Vec<SocketAddr>, BadAddress> {
    let address = |text: &String| text.parse().map_err(|_| BadAddress(text.clone()));
    let named: Vec<SocketAddr> =
        settings.http01_listen.iter().map(address).collect::<Result<_, _>>()?;
    Ok(if named.is_empty() {
        listener_addresses(default, &ValidationMethod::HTTP01)
    } else {
        named
    })
}

/// What has the port of this host on which a web server is to serve a webroot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebServer {
    /// Nothing listens.
    Absent,
    /// Another certctl.
    Certctl(Holder),
    /// Another program, or what this user cannot see.
    Other,
}

impl WebServer {
    /// What is there now. Nothing listens on the port meanwhile.
    pub fn at(port: u16) -> Self {
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
