//! A request to one address and its answer: over UDP, and over TCP when UDP is too small.
//!
//! Without an answer the same bytes are sent again: repeating an update has no further effect.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use super::message::{Answer, Heard};

/// Timeouts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// For one try over UDP, for a connection, and for the answer on it.
    pub(super) wait: Duration,
    /// How many times a request is sent over UDP.
    pub(super) tries: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { wait: Duration::from_secs(5), tries: 3 }
    }
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// No server is reachable, or it does not answer.
    Unreachable(String),
    /// The data received is not an answer.
    Garbled(String),
}

/// The answer over UDP, or over TCP where necessary.
pub(super) async fn exchange(
    address: SocketAddr,
    request: &[u8],
    tcp: bool,
    limits: Limits,
    hear: impl Fn(&[u8]) -> Heard,
) -> Result<Answer, Silence> {
    if !tcp
        && request.len() <= LARGEST_OVER_UDP
        && let Some(answer) = over_udp(address, request, limits, &hear).await?
    {
        return Ok(answer);
    }
    over_tcp(address, request, limits, &hear).await
}

/// None when the answer is too large.
async fn over_udp(
    address: SocketAddr,
    request: &[u8],
    limits: Limits,
    hear: &impl Fn(&[u8]) -> Heard,
) -> Result<Option<Answer>, Silence> {
    let failed = |error: std::io::Error| Silence::Unreachable(format!("over UDP: {error}"));
    let any = if address.is_ipv4() {
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))
    } else {
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))
    };
    let socket = UdpSocket::bind(any).await.map_err(failed)?;
    // A connected socket receives only from this server.
    socket.connect(address).await.map_err(failed)?;
    let mut buffer = vec![0; usize::from(u16::MAX)];
    let mut noise = None;
    for _ in 0..limits.tries {
        socket.send(request).await.map_err(failed)?;
        let listen = async {
            loop {
                let size = socket.recv(&mut buffer).await.map_err(failed)?;
                match hear(buffer.get(..size).unwrap_or_default()) {
                    Heard::Answer(answer) => return Ok(Some(*answer)),
                    Heard::Truncated => return Ok(None),
                    // The datagram may be spoofed; the real answer may still arrive.
                    Heard::Noise(reason) => noise = Some(reason),
                }
            }
        };
        if let Ok(answer) = timeout(limits.wait, listen).await {
            return answer;
        }
    }
    Err(noise.map_or_else(
        || {
            let Limits { tries, wait } = limits;
            Silence::Unreachable(format!("no answer over UDP in {tries} tries of {wait:?}"))
        },
        Silence::Garbled,
    ))
}

async fn over_tcp(
    address: SocketAddr,
    request: &[u8],
    limits: Limits,
    hear: &impl Fn(&[u8]) -> Heard,
) -> Result<Answer, Silence> {
    let failed = |error: std::io::Error| Silence::Unreachable(format!("over TCP: {error}"));
    let wait = limits.wait;
    let late = |what: &str| Silence::Unreachable(format!("no {what} over TCP in {wait:?}"));
    let connected = timeout(limits.wait, TcpStream::connect(address)).await;
    let mut stream = connected.map_err(|_| late("connection"))?.map_err(failed)?;
    let size = u16::try_from(request.len())
        .map_err(|_| Silence::Garbled("the request is too large to be sent".to_owned()))?;
    let talk = async {
        stream.write_all(&[&size.to_be_bytes()[..], request].concat()).await?;
        let mut bytes = vec![0; usize::from(stream.read_u16().await?)];
        stream.read_exact(&mut bytes).await?;
        Ok(bytes)
    };
    let bytes = timeout(limits.wait, talk).await.map_err(|_| late("answer"))?.map_err(failed)?;
    match hear(&bytes) {
        Heard::Answer(answer) => Ok(*answer),
        Heard::Truncated => Err(Silence::Garbled("it is truncated over TCP too".to_owned())),
        Heard::Noise(reason) => Err(Silence::Garbled(reason)),
    }
}

/// Without EDNS (RFC 1035 section 4.2.1).
const LARGEST_OVER_UDP: usize = 512;
