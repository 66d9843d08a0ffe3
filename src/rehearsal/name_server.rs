//! A small authoritative name server on a loopback port, for tests, the quick start and
//! rehearsals.
//!
//! Contract: it answers over UDP and TCP, with authority for every name: those of its records,
//! which can be changed while it runs, have A, AAAA, TXT and CNAME; a zone has SOA and NS (which
//! names are zones, and what `*.example.com` stands for: [`super::zones`]). An unknown name
//! is NXDOMAIN and an unknown type an empty answer, each with the zone's SOA (RFC 2308). An answer
//! longer than the client's UDP buffer (512 bytes without EDNS) is truncated, with TC set.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::records::{Question, Records};
use super::resolver::TxtLookup;
use super::{RehearsalError, ZoneWriter};

/// A running name server with its own thread. Dropping it stops it and joins the thread.
#[derive(Debug)]
pub struct NameServer {
    address: SocketAddr,
    pub(super) records: Records,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl NameServer {
    /// Serves these records: names without a trailing dot, with their addresses.
    pub fn start(addresses: BTreeMap<String, Vec<IpAddr>>) -> Result<Self, RehearsalError> {
        let records = Records::default();
        for (name, addresses) in addresses {
            records.set(&name, addresses);
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(RehearsalError::Thread)?;
        let (stop, stopped) = oneshot::channel();
        let (started, start) = mpsc::channel();
        let served = records.clone();
        let run = move || {
            runtime.block_on(async move {
                let (udp, tcp, address) = match bind().await {
                    Ok(bound) => bound,
                    Err(error) => {
                        drop(started.send(Err(error)));
                        return;
                    }
                };
                // The receiver is gone if `start` has failed; then the thread ends.
                if started.send(Ok(address)).is_ok() {
                    tokio::select! {
                        _ = stopped => {}
                        () = serve_udp(udp, &served) => {}
                        () = serve_tcp(tcp, &served) => {}
                    }
                }
            });
        };
        let thread = thread::Builder::new()
            .name("rehearsal-dns".into())
            .spawn(run)
            .map_err(RehearsalError::Thread)?;
        let died = |_| RehearsalError::Thread(io::Error::other("the thread ended at once"));
        let address = start.recv().map_err(died)??;
        Ok(Self { address, records, stop: Some(stop), thread: Some(thread) })
    }

    /// The address of the listeners, UDP and TCP.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The latest queries (up to 10 000), oldest first.
    pub fn questions(&self) -> Vec<Question> {
        self.records.questions()
    }

    /// Only the TXT records, for a CA with another source of addresses.
    pub fn txt_lookup(&self) -> TxtLookup {
        let records = self.records.clone();
        Arc::new(move |name| std::future::ready(records.zones(|zones| zones.txt(&name))).boxed())
    }

    /// A DNS-01 provider that writes to this server.
    pub fn provider(&self) -> ZoneWriter {
        ZoneWriter::new(self.records.clone())
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        // Dropping the sender is the signal.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// A port that is free for UDP and TCP.
async fn bind() -> Result<(UdpSocket, TcpListener, SocketAddr), RehearsalError> {
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let failed = |source| RehearsalError::Bind { address: wanted, source };
    let mut tries = 0;
    loop {
        let tcp = TcpListener::bind(wanted).await.map_err(failed)?;
        let address = tcp.local_addr().map_err(failed)?;
        tries += 1;
        match UdpSocket::bind(address).await {
            Ok(udp) => return Ok((udp, tcp, address)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries < TRIES => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

async fn serve_udp(socket: UdpSocket, records: &Records) {
    let mut buffer = [0; 4096];
    loop {
        // An error concerns one datagram only, such as one to a closed port.
        let Ok((size, peer)) = socket.recv_from(&mut buffer).await else { continue };
        if let Some(answer) = buffer.get(..size).and_then(|query| records.reply(query, false)) {
            drop(socket.send_to(&answer, peer).await);
        }
    }
}

async fn serve_tcp(listener: TcpListener, records: &Records) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= MAX_CONNECTIONS {
            drop(connections.join_next().await);
        }
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let records = records.clone();
        connections.spawn(async move {
            // After an error the connection is closed, which the client notices.
            drop(tokio::time::timeout(PATIENCE, converse(stream, &records)).await);
        });
    }
}

/// Messages with their lengths before them (RFC 1035 section 4.2.2).
async fn converse(mut stream: TcpStream, records: &Records) -> io::Result<()> {
    loop {
        let size = stream.read_u16().await?;
        let mut query = vec![0; usize::from(size)];
        stream.read_exact(&mut query).await?;
        let Some(answer) = records.reply(&query, true) else { return Ok(()) };
        let size = u16::try_from(answer.len()).map_err(io::Error::other)?;
        stream.write_all(&[&size.to_be_bytes(), answer.as_slice()].concat()).await?;
    }
}

const TRIES: usize = 16;
const MAX_CONNECTIONS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(30);
