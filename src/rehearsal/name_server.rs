//! A small authoritative name server on a loopback port, for tests, the quick start and
//! rehearsals.
//!
//! Contract: A and AAAA come from the records, which can be changed while it runs; other types of
//! a name that exists are an empty answer, names that do not exist NXDOMAIN. `*.example.com`
//! stands for every name below `example.com` that is not listed itself (RFC 4592). UDP only:
//! no answer it is given comes near the limit.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};

use futures_util::FutureExt;
use hickory_proto::op::{Message, MessageType, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use tokio::net::UdpSocket;
use tokio::sync::oneshot;

use super::{RehearsalError, Resolver, lock};

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
    pub fn start(records: BTreeMap<String, Vec<IpAddr>>) -> Result<Self, RehearsalError> {
        let records = Records::new(records);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(RehearsalError::Thread)?;
        let (stop, stopped) = oneshot::channel();
        let (started, start) = mpsc::channel();
        let served = records.clone();
        let run = move || {
            runtime.block_on(async move {
                let bound = bind().await;
                let (socket, address) = match bound {
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
                        () = serve(socket, served) => {}
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Gives a name these addresses from now on; none leaves a name that exists without any.
    pub fn set(&self, name: &str, addresses: Vec<IpAddr>) {
        lock(&self.records.0).insert(name.to_ascii_lowercase(), addresses);
    }

    /// Lets a name be unknown from now on.
    pub fn remove(&self, name: &str) {
        lock(&self.records.0).remove(&name.to_ascii_lowercase());
    }

    /// The same records for the CA, so that it looks where everybody else does.
    pub fn resolver(&self) -> Resolver {
        let records = self.records.clone();
        Resolver::Ask(Arc::new(move |name| {
            let found = records.find(&name).ok_or_else(|| "NXDOMAIN".to_owned());
            std::future::ready(found).boxed()
        }))
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

/// The records, shared with the thread that serves them.
#[derive(Clone, Debug)]
struct Records(Arc<Mutex<BTreeMap<String, Vec<IpAddr>>>>);

impl Records {
    fn new(records: BTreeMap<String, Vec<IpAddr>>) -> Self {
        let lower = |(name, ips): (String, Vec<IpAddr>)| (name.to_ascii_lowercase(), ips);
        Self(Arc::new(Mutex::new(records.into_iter().map(lower).collect())))
    }

    /// The addresses of a name; `None` when there is no such name.
    fn find(&self, name: &str) -> Option<Vec<IpAddr>> {
        let records = lock(&self.0);
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        if let Some(found) = records.get(&name) {
            return Some(found.clone());
        }
        let mut rest = name.as_str();
        while let Some((_, parent)) = rest.split_once('.') {
            if let Some(found) = records.get(&format!("*.{parent}")) {
                return Some(found.clone());
            }
            rest = parent;
        }
        None
    }
}

async fn bind() -> Result<(UdpSocket, SocketAddr), RehearsalError> {
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let failed = |source| RehearsalError::Bind { address: wanted, source };
    let socket = UdpSocket::bind(wanted).await.map_err(failed)?;
    let address = socket.local_addr().map_err(failed)?;
    Ok((socket, address))
}

async fn serve(socket: UdpSocket, records: Records) {
    let mut buffer = [0; 4096];
    loop {
        // An error belongs to one datagram, such as a client that has gone; the next one counts.
        let Ok((size, peer)) = socket.recv_from(&mut buffer).await else { continue };
        let query = buffer.get(..size).map(Message::from_vec);
        let Some(Ok(query)) = query else { continue };
        if let Some(Ok(answer)) = answer(query, &records).map(|answer| answer.to_vec()) {
            drop(socket.send_to(&answer, peer).await);
        }
    }
}

fn answer(query: Message, records: &Records) -> Option<Message> {
    if query.metadata.message_type != MessageType::Query {
        return None;
    }
    let question = query.queries.first()?.clone();
    let mut answer = query.into_response();
    answer.metadata.authoritative = true;
    match records.find(&question.name().to_ascii()) {
        Some(ips) => answer.answers = addresses(question.name(), question.query_type(), &ips),
        None => answer.metadata.response_code = ResponseCode::NXDomain,
    }
    Some(answer)
}

/// The addresses of the family that was asked for.
fn addresses(name: &Name, kind: RecordType, ips: &[IpAddr]) -> Vec<Record> {
    let data = ips.iter().map(|ip| match ip {
        IpAddr::V4(v4) => RData::A(A(*v4)),
        IpAddr::V6(v6) => RData::AAAA(AAAA(*v6)),
    });
    let asked = data.filter(|data| data.record_type() == kind);
    asked.map(|data| Record::from_rdata(name.clone(), TTL, data)).collect()
}

/// Records may change at any time, so nobody is to keep them.
const TTL: u32 = 0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::{Addresses, DnsError, Resolver as Asking, ResolverOptions};

    #[tokio::test]
    async fn it_answers_as_its_records_say() {
        let ips = |texts: &[&str]| -> Vec<IpAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        let server = NameServer::start(BTreeMap::from([
            ("web.Example.com".to_owned(), ips(&["192.0.2.1", "2001:db8::1"])),
            ("*.example.com".to_owned(), ips(&["192.0.2.2"])),
            ("bare.example.com".to_owned(), ips(&[])),
        ]))
        .unwrap();
        let address = server.address();
        let options = ResolverOptions { servers: vec![address], ..ResolverOptions::default() };
        let asking = Asking::new(options).unwrap();
        let found = |v4: &[&str], v6: &[&str]| {
            Ok(Addresses {
                v4: v4.iter().map(|ip| ip.parse().unwrap()).collect(),
                v6: v6.iter().map(|ip| ip.parse().unwrap()).collect(),
                trouble: None,
            })
        };
        let unknown =
            |name: &str| Err(DnsError::NxDomain { name: name.to_owned(), server: address });
        let bare = DnsError::NoAddress { name: "bare.example.com".into(), server: address };
        let cases = [
            ("WEB.example.com", found(&["192.0.2.1"], &["2001:db8::1"])),
            ("a.b.example.com", found(&["192.0.2.2"], &[])),
            ("bare.example.com", Err(bare)),
            ("example.com", unknown("example.com")),
            ("example.net", unknown("example.net")),
        ];
        for (name, expected) in cases {
            assert_eq!(asking.addresses(name).await, expected, "{name}");
        }
        server.set("example.NET", ips(&["192.0.2.3"]));
        server.remove("*.example.com");
        assert_eq!(asking.addresses("example.net").await, found(&["192.0.2.3"], &[]));
        assert_eq!(asking.addresses("a.example.com").await, unknown("a.example.com"));
        let ca = server.resolver();
        assert_eq!(ca.resolve("example.net").await, Ok(ips(&["192.0.2.3"])));
        assert_eq!(ca.resolve("a.example.com").await, Err("NXDOMAIN".to_owned()));
    }
}
