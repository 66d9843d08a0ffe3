//! A small authoritative name server on a loopback port, for tests, the quick start and
//! rehearsals.
//!
//! Contract: it answers over UDP and TCP, with authority for every name: those of its records,
//! which can be changed while it runs, have A, AAAA, TXT and CNAME; a zone has SOA and NS (which
//! names are zones, and what `*.example.com` stands for: [`super::zones`]). Names and types that
//! are not there are NXDOMAIN and an empty answer, each with the zone's SOA (RFC 2308). What does
//! not fit into the client's UDP buffer (512 bytes without EDNS) is cut, and TC says so.

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
use super::zones::Node;
#[cfg(feature = "testing")]
use super::zones::normal;
use super::{RehearsalError, Resolver, ZoneWriter};

/// A running name server with its own thread. Dropping it stops it and joins the thread.
#[derive(Debug)]
pub struct NameServer {
    address: SocketAddr,
    records: Records,
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
                // Nobody listens any more when `start` has given up; then it is over at once.
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

    /// Where it listens, for UDP and TCP.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Gives a name these addresses from now on; none leaves a name that exists without any.
    pub fn set(&self, name: &str, addresses: Vec<IpAddr>) {
        self.records.set(name, addresses);
    }

    /// Lets a name be unknown from now on, with everything that stands at it.
    pub fn remove(&self, name: &str) {
        self.records.zones(|zones| zones.change(name, |node| *node = Node::default()));
    }

    /// Adds a TXT record to those at a name. One that is there already stays alone.
    pub fn add_txt(&self, name: &str, value: &str) {
        self.add_txt_strings(name, &[value]);
    }

    /// Adds a TXT record of several strings, of up to 255 bytes each.
    pub fn add_txt_strings(&self, name: &str, strings: &[&str]) {
        self.records.add_txt(name, strings.iter().map(|&string| string.to_owned()).collect());
    }

    /// Removes the TXT records of a name with this value; the others stay.
    pub fn remove_txt(&self, name: &str, value: &str) {
        self.records.remove_txt(name, value);
    }

    /// The values of the TXT records of a name, oldest first, each record's strings joined.
    pub fn txt(&self, name: &str) -> Vec<String> {
        self.records.zones(|zones| zones.txt_at(name))
    }

    /// Lets a name be an alias of another; nothing else that stands there is seen.
    #[cfg(feature = "testing")]
    pub fn set_cname(&self, name: &str, target: &str) {
        let target = normal(target);
        self.records.zones(|zones| zones.change(name, |node| node.alias = Some(target)));
    }

    /// Answers questions about a name with SERVFAIL, until it is removed.
    #[cfg(feature = "testing")]
    pub fn set_broken(&self, name: &str) {
        self.records.zones(|zones| zones.change(name, |node| node.is_broken = true));
    }

    /// Makes a name the apex of a zone. Without, the zone of a name is its last two labels.
    pub fn add_zone(&self, zone: &str) {
        self.records.zones(|zones| zones.add_zone(zone));
    }

    /// The newest questions (up to 10 000), oldest first.
    pub fn questions(&self) -> Vec<Question> {
        self.records.questions()
    }

    /// The same records for the CA, so that it looks where everybody else does.
    pub fn resolver(&self) -> Resolver {
        let records = self.records.clone();
        let addresses = move |name: String| {
            let found = records.zones(|zones| zones.addresses(&name));
            std::future::ready(found).boxed()
        };
        Resolver::ask(Arc::new(addresses)).with_txt(self.txt_lookup())
    }

    /// Its TXT records alone, for a CA that finds addresses elsewhere.
    pub fn txt_lookup(&self) -> TxtLookup {
        let records = self.records.clone();
        Arc::new(move |name| std::future::ready(records.zones(|zones| zones.txt(&name))).boxed())
    }

    /// A DNS-01 provider that writes here.
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
        // An error belongs to one datagram, such as a client that has gone; the next one counts.
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
            // The client hears of an error by the end of the connection.
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
