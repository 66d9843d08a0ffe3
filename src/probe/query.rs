//! One query to one server, and the whole answer: UDP with EDNS0, TCP when the answer is truncated
//! or lost over UDP, or HTTPS (RFC 8484) for a server that is a URL.
//!
//! Contract: any response is an answer, error codes included; a [`Fault`] means that there is none.
//! Recursion is always desired: a server that does not offer it ignores the flag. CNAMEs are not
//! followed.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hickory_proto::op::{Edns, Message, MessageType, Query, ResponseCode};
use hickory_proto::rr::{Name, Record, RecordType};
use rustix::io::Errno;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use super::dns_error::code;
use super::{DnsServer, Fault, Resolver, doh};

/// A server's answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) code: ResponseCode,
    /// Whether the answer is authoritative (the AA bit).
    pub(super) is_authoritative: bool,
    /// Whether the server resolves names recursively (the RA bit).
    pub(super) is_recursive: bool,
    pub(super) answers: Vec<Record>,
    pub(super) authorities: Vec<Record>,
    pub(super) additionals: Vec<Record>,
}

/// Queries `server`. The resolver provides the time limit, for each of UDP and TCP or for one HTTPS
/// request, and the addresses of a server that is a URL.
pub(super) async fn query(
    resolver: &Resolver,
    server: &DnsServer,
    name: &Name,
    record: RecordType,
) -> Result<Answer, Fault> {
    let question = Query::query(name.clone(), record);
    let mut message = Message::query();
    message.metadata.recursion_desired = true;
    message.add_query(question);
    let mut edns = Edns::new();
    edns.set_max_payload(UDP_PAYLOAD);
    message.set_edns(edns);
    let answer = match server {
        DnsServer::Address(address) => over_udp(resolver, *address, &message).await?,
        DnsServer::Unusable { reason, .. } => return Err(Fault::Unusable(reason.clone())),
        DnsServer::Https(url) => {
            // The same query must give the same bytes, for caches (RFC 8484 section 4.1).
            message.metadata.id = 0;
            let bytes = doh::post(resolver, url, encode(&message)?).await?;
            read(&bytes, &message)?
        }
    };
    tracing::debug!(target: "certctl::dns", %server, %name, %record, code = %code(answer.code));
    Ok(answer)
}

async fn over_udp(
    resolver: &Resolver,
    server: SocketAddr,
    message: &Message,
) -> Result<Answer, Fault> {
    if server.is_ipv6() && !resolver.has_ipv6() {
        return Err(Fault::NoRoute("this host has no IPv6".to_owned()));
    }
    let limit = resolver.timeout();
    let request = encode(message)?;
    let udp = timeout(limit, exchange_udp(server, message.metadata.id, &request, limit / 2)).await;
    let before = match udp {
        Ok(Ok(Datagram::Whole(bytes))) => return read(&bytes, message),
        Ok(Ok(Datagram::Truncated)) => "truncated over UDP",
        Ok(Err(fault)) => return Err(fault),
        Err(_) => "silent over UDP",
    };
    let tcp = timeout(limit, exchange_tcp(server, &request)).await;
    match tcp.unwrap_or(Err(Fault::Timeout)) {
        Ok(bytes) => read(&bytes, message),
        Err(Fault::Unusable(why)) => Err(Fault::Unusable(format!("{before}, and {why}"))),
        Err(fault) => Err(fault),
    }
}

enum Datagram {
    Whole(Vec<u8>),
    Truncated,
}

/// A datagram may get lost: it is repeated once after `patience`.
async fn exchange_udp(
    server: SocketAddr,
    id: u16,
    request: &[u8],
    patience: Duration,
) -> Result<Datagram, Fault> {
    let local: SocketAddr = if server.is_ipv4() {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    };
    let socket = UdpSocket::bind(local).await.map_err(|error| no_connection(&error))?;
    // A connected socket receives only from this server, and reports a closed port at once.
    socket.connect(server).await.map_err(|error| no_connection(&error))?;
    let unusable = |error: io::Error| Fault::Unusable(format!("UDP: {error}"));
    socket.send(request).await.map_err(unusable)?;
    if let Ok(received) = timeout(patience, receive(&socket, id)).await {
        return received.map_err(unusable);
    }
    socket.send(request).await.map_err(unusable)?;
    receive(&socket, id).await.map_err(unusable)
}

async fn receive(socket: &UdpSocket, id: u16) -> io::Result<Datagram> {
    let mut buffer = vec![0; usize::from(u16::MAX)];
    loop {
        let size = socket.recv(&mut buffer).await?;
        let datagram = buffer.get(..size).unwrap_or_default();
        // A datagram that does not match this query may be spoofed.
        let Some([high, low, flags, _]) = datagram.first_chunk() else { continue };
        if u16::from_be_bytes([*high, *low]) != id || flags & IS_RESPONSE == 0 {
            continue;
        }
        // The records of a truncated message may end anywhere, so they are ignored.
        if flags & IS_TRUNCATED != 0 {
            return Ok(Datagram::Truncated);
        }
        return Ok(Datagram::Whole(datagram.to_vec()));
    }
}

async fn exchange_tcp(server: SocketAddr, request: &[u8]) -> Result<Vec<u8>, Fault> {
    let unusable = |error: io::Error| Fault::Unusable(format!("TCP: {error}"));
    let length = u16::try_from(request.len())
        .map_err(|_| Fault::Unusable("the question is too long".to_owned()))?;
    let mut stream = TcpStream::connect(server).await.map_err(unusable)?;
    let framed = [&length.to_be_bytes(), request].concat();
    stream.write_all(&framed).await.map_err(unusable)?;
    let length = stream.read_u16().await.map_err(unusable)?;
    let mut answer = vec![0; usize::from(length)];
    stream.read_exact(&mut answer).await.map_err(unusable)?;
    Ok(answer)
}

fn encode(message: &Message) -> Result<Vec<u8>, Fault> {
    message.to_vec().map_err(|error| Fault::Unusable(error.to_string()))
}

fn read(bytes: &[u8], question: &Message) -> Result<Answer, Fault> {
    let garbled = |why: &dyn fmt::Display| Fault::Unusable(format!("a malformed answer: {why}"));
    let message = Message::from_vec(bytes).map_err(|error| garbled(&error))?;
    let metadata = &message.metadata;
    if metadata.message_type != MessageType::Response || metadata.id != question.metadata.id {
        return Err(garbled(&"it does not belong to the question"));
    }
    // A server that could not read the query cannot repeat it. Names are compared without case.
    let is_other = message.queries != question.queries;
    if is_other && !(message.queries.is_empty() && metadata.response_code != ResponseCode::NoError)
    {
        return Err(garbled(&"it answers another question"));
    }
    Ok(Answer {
        code: metadata.response_code,
        is_authoritative: metadata.authoritative,
        is_recursive: metadata.recursion_available,
        answers: message.answers,
        authorities: message.authorities,
        additionals: message.additionals,
    })
}

/// This host lacks the server's address family, or a route.
fn no_connection(error: &io::Error) -> Fault {
    let lacks = [Errno::NETUNREACH, Errno::HOSTUNREACH, Errno::ADDRNOTAVAIL, Errno::AFNOSUPPORT];
    match Errno::from_io_error(error) {
        Some(errno) if lacks.contains(&errno) => Fault::NoRoute(error.to_string()),
        _ => Fault::Unusable(format!("UDP: {error}")),
    }
}

/// Nearly every path can carry less; a truncated answer comes over TCP.
const UDP_PAYLOAD: u16 = 4096;
const IS_RESPONSE: u8 = 0x80;
const IS_TRUNCATED: u8 = 0x02;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_route_is_distinct_from_an_unreachable_server() {
        let skips = |errno: Errno| matches!(no_connection(&errno.into()), Fault::NoRoute(_));
        for errno in
            [Errno::NETUNREACH, Errno::HOSTUNREACH, Errno::ADDRNOTAVAIL, Errno::AFNOSUPPORT]
        {
            assert!(skips(errno), "{errno:?}");
        }
        for errno in [Errno::CONNREFUSED, Errno::ACCESS, Errno::MFILE] {
            assert!(!skips(errno), "{errno:?}");
        }
    }
}
