//! The listener's sockets: bound so that certctl processes that know each other's tokens, and no
//! other program, share a port.
//!
//! `SO_REUSEPORT` admits any process of the same user, including a web server that sets it, and the
//! kernel would then distribute connections between the two. So a port on which a program of
//! another name listens counts as in use, although binding it would succeed. A process without the
//! runtime folder does not set it: the kernel then keeps two of them apart, and one waits.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use thiserror::Error;

use super::holder::{self, Holder};
use crate::resource::ValidationMethod;

/// Opens a listening socket on `address`, non-blocking.
///
/// `[::]` serves IPv4 as well, and is `0.0.0.0` on a host without IPv6. `is_shared` admits other
/// certctl processes.
pub(super) fn listen(address: SocketAddr, is_shared: bool) -> Result<TcpListener, ListenError> {
    taken(address, |address| open(address, is_shared))
}

/// Whether a socket that admits other certctl processes could listen on `address`. It is bound and
/// never listens: no connection of those processes comes to it.
pub(super) fn check(address: SocketAddr) -> Result<(), ListenError> {
    taken(address, |address| bound(address, true)).map(drop)
}

fn taken<T>(
    address: SocketAddr,
    take: impl Fn(SocketAddr) -> io::Result<T>,
) -> Result<T, ListenError> {
    if address.port() != 0
        && !is_free(address)
        && let Some(holder) = holder::stranger_on(address)
    {
        return Err(ListenError::InUse { addr: address, holder: Some(holder) });
    }
    match take(address) {
        Ok(socket) => Ok(socket),
        Err(error) if address.is_ipv6() && address.ip().is_unspecified() && lacks_ipv6(&error) => {
            let fallback = SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()));
            take(fallback).map_err(|source| explain(fallback, source))
        }
        Err(source) => Err(explain(address, source)),
    }
}

/// The listening sockets that the parent process passed on.
#[derive(Debug, Default)]
pub struct Inherited {
    /// For HTTP-01: all others.
    pub http01: Vec<TcpListener>,
    /// For TLS-ALPN-01: at port 443, or with the name `tlsalpn01` (`FileDescriptorName=`).
    pub tls_alpn01: Vec<TcpListener>,
}

impl Inherited {
    /// Takes them over, as systemd passes them on (`LISTEN_FDS`, `LISTEN_PID`, `LISTEN_FDNAMES`).
    /// Call it once, before other threads start: it removes the variables. `names` is the value of
    /// the last one.
    pub fn take(names: &str) -> Result<Self, ListenError> {
        let refused = |source| ListenError::Inherited { source };
        let mut handed_over = listenfd::ListenFd::from_env();
        let mut found = Self::default();
        let mut names = names.split(':');
        for index in 0..handed_over.len() {
            let is_named = names.next() == Some(TLS_ALPN01);
            // Close-on-exec: child processes must not inherit it.
            let Some(socket) = handed_over.take_tcp_listener(index).map_err(refused)? else {
                continue;
            };
            let port = socket.local_addr().map_err(refused)?.port();
            let is_tls = is_named || Some(port) == ValidationMethod::TLS_ALPN01.port;
            let of_method = if is_tls { &mut found.tls_alpn01 } else { &mut found.http01 };
            of_method.push(socket);
        }
        Ok(found)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.http01.is_empty() && self.tls_alpn01.is_empty()
    }
}

/// The name of its sockets.
const TLS_ALPN01: &str = "tlsalpn01";

/// Whether nothing listens on `address`: the kernel gives it to a socket that shares it with none.
/// The table of all sockets, in which holders are found, takes the kernel milliseconds to print.
fn is_free(address: SocketAddr) -> bool {
    bound(address, false).is_ok()
}

fn open(address: SocketAddr, is_shared: bool) -> io::Result<TcpListener> {
    let socket = bound(address, is_shared)?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn bound(address: SocketAddr, is_shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(is_shared)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

fn lacks_ipv6(error: &io::Error) -> bool {
    let codes = [Errno::AFNOSUPPORT, Errno::ADDRNOTAVAIL, Errno::PROTONOSUPPORT];
    error.raw_os_error().is_some_and(|code| codes.iter().any(|e| e.raw_os_error() == code))
}

fn explain(addr: SocketAddr, source: io::Error) -> ListenError {
    let is_denied = source.kind() == io::ErrorKind::PermissionDenied;
    // The kernel asks for the right to the port first, and then whether it is in use.
    if source.kind() == io::ErrorKind::AddrInUse || (is_denied && holder::is_held(addr)) {
        ListenError::InUse { addr, holder: holder::holder_of(addr) }
    } else if is_denied {
        ListenError::NoPermission { addr }
    } else {
        ListenError::Io { addr, source }
    }
}

/// Why the listener cannot listen. Checked before any request to a CA.
#[derive(Debug, Error)]
pub enum ListenError {
    /// Another process holds the port.
    #[error("{addr} is in use{}", by(holder.as_ref()))]
    InUse {
        /// The address that was to be bound.
        addr: SocketAddr,
        /// `nginx (pid 812)`, if known.
        holder: Option<Holder>,
    },
    /// Ports below 1024 need a privilege.
    #[error("no permission to listen on {addr}")]
    NoPermission {
        /// The address that was to be bound.
        addr: SocketAddr,
    },
    /// The operating system reported another error.
    #[error("cannot listen on {addr}: {source}")]
    Io {
        /// The address that was to be bound.
        addr: SocketAddr,
        source: io::Error,
    },
    /// The thread of the listener cannot start.
    #[error("cannot start the listener: {source}")]
    Thread { source: io::Error },
    /// An inherited socket cannot be used.
    #[error("cannot use the inherited socket: {source}")]
    Inherited { source: io::Error },
}

fn by(holder: Option<&Holder>) -> String {
    holder.map(|holder| format!(" by {holder}")).unwrap_or_default()
}

/// The backlog (the kernel has its own limit).
const BACKLOG: i32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_of_us_share_a_port_on_both_families() {
        let one = listen("[::]:0".parse().unwrap(), true).unwrap();
        let address = one.local_addr().unwrap();
        let two = listen(address, true).unwrap();
        assert_eq!(address, two.local_addr().unwrap());
        std::net::TcpStream::connect(("127.0.0.1", address.port())).unwrap();
    }

    #[test]
    fn a_port_is_checked_without_a_listener_on_it() {
        let one = listen("127.0.0.1:0".parse().unwrap(), true).unwrap();
        let address = one.local_addr().unwrap();
        check(address).unwrap();
        let alone = listen("127.0.0.1:0".parse().unwrap(), false).unwrap();
        let refused = check(alone.local_addr().unwrap()).unwrap_err();
        assert!(matches!(refused, ListenError::InUse { .. }), "{refused}");
        drop(one);
        check(address).unwrap();
        std::net::TcpStream::connect(address).unwrap_err();
    }

    #[test]
    fn who_shares_no_tokens_shares_no_port() {
        for (first, second) in [(false, false), (false, true), (true, false)] {
            let one = listen("127.0.0.1:0".parse().unwrap(), first).unwrap();
            let refused = listen(one.local_addr().unwrap(), second).unwrap_err();
            assert!(matches!(refused, ListenError::InUse { .. }), "{first} {second}: {refused}");
        }
    }

    #[test]
    fn a_port_that_does_not_share_is_in_use_and_its_holder_named() {
        let foreign = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = foreign.local_addr().unwrap();
        let Err(ListenError::InUse { addr: found, holder }) = listen(addr, true) else {
            panic!("{addr} was bound twice")
        };
        assert_eq!(found, addr);
        if cfg!(target_os = "linux") {
            let pid = format!("(pid {})", std::process::id());
            assert!(holder.as_ref().is_some_and(|h| h.to_string().ends_with(&pid)), "{holder:?}");
        }
    }

    #[test]
    fn only_a_host_without_ipv6_falls_back() {
        let cases = [
            (Errno::AFNOSUPPORT, true),
            (Errno::ADDRNOTAVAIL, true),
            (Errno::ADDRINUSE, false),
            (Errno::ACCESS, false),
        ];
        for (errno, expected) in cases {
            assert_eq!(lacks_ipv6(&errno.into()), expected, "{errno}");
        }
    }

    #[test]
    fn errors_name_the_address_and_the_holder() {
        // Whatever listens on this host, nothing listens on port 0.
        let addr: SocketAddr = "[::]:0".parse().unwrap();
        let in_use = |holder| ListenError::InUse { addr, holder };
        let refused = io::Error::from(io::ErrorKind::PermissionDenied);
        let cases = [
            (in_use(Some(Holder::new("nginx", 812))), "[::]:0 is in use by nginx (pid 812)"),
            (in_use(None), "[::]:0 is in use"),
            (explain(addr, refused), "no permission to listen on [::]:0"),
        ];
        for (error, expected) in cases {
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn a_port_that_is_denied_and_held_is_in_use() {
        let foreign = TcpListener::bind("127.0.0.1:0").unwrap();
        let refused = io::Error::from(io::ErrorKind::PermissionDenied);
        let found = explain(foreign.local_addr().unwrap(), refused);
        let is_in_use = matches!(found, ListenError::InUse { .. });
        assert_eq!(is_in_use, cfg!(target_os = "linux"), "{found}");
    }
}
