//! A small DNS for tests: name servers on loopback addresses with one port, over UDP and TCP.
//!
//! Each server answers from its own records, written as `owner TYPE data` (the strings of a TXT
//! separated by `|`); the zones are those with a SOA. Wildcards work as in RFC 4592.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, CAA, CNAME, NS, SOA, TXT};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

/// How a server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Authoritative for its zones.
    Honest,
    /// Recursive: follows CNAMEs, is authoritative for nothing.
    Recursive,
    /// Has no zones and is not authoritative.
    Lame,
    /// An empty answer with this code.
    Code(ResponseCode),
    /// Receives and never answers.
    Silent,
    /// Ignores the first query of each kind, and TCP.
    Forgetful,
    /// A malformed answer.
    Garbled,
    /// Truncates every UDP answer.
    Truncating,
    /// The same, and TCP is closed.
    OnlyTruncating,
    /// Returns every name in capitals.
    Shouting,
}

/// The running servers; they stop when this is dropped.
pub(crate) struct Lab {
    pub(crate) port: u16,
    hosts: Vec<Host>,
    queries: Arc<Mutex<BTreeSet<String>>>,
    task: JoinSet<()>,
}

#[derive(Clone)]
struct Host {
    ip: IpAddr,
    manner: Manner,
    records: Arc<Mutex<Vec<Record>>>,
}

impl Lab {
    /// Starts a server for each entry: its address, its behavior and its records.
    pub(crate) async fn start(hosts: Vec<(&str, Manner, Vec<String>)>) -> Self {
        let host = |(ip, manner, lines): (&str, Manner, Vec<String>)| Host {
            ip: ip.parse().unwrap(),
            manner,
            records: Arc::new(Mutex::new(lines.iter().map(|line| parse(line)).collect())),
        };
        let hosts: Vec<Host> = hosts.into_iter().map(host).collect();
        let queries: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        for _ in 0..100 {
            // A port that is free at one address may be taken at another.
            if let Some((port, task)) = listen(&hosts, &queries).await {
                return Self { port, hosts, queries, task };
            }
        }
        panic!("no port is free at all addresses");
    }

    /// Answers over HTTP too, with the records of the server at this address and this status;
    /// returns the URL.
    pub(crate) async fn serve_http(&mut self, ip: &str, status: u16) -> String {
        let ip: IpAddr = ip.parse().unwrap();
        let host = self.hosts.iter().find(|host| host.ip == ip).unwrap().clone();
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/dns-query", socket.local_addr().unwrap());
        let queries = Arc::clone(&self.queries);
        self.task.spawn(async move {
            loop {
                let (stream, _) = socket.accept().await.unwrap();
                visit_http(stream, &host, &queries, status).await.unwrap();
            }
        });
        url
    }

    /// Where the server with this address listens.
    pub(crate) fn at(&self, ip: &str) -> SocketAddr {
        SocketAddr::new(ip.parse().unwrap(), self.port)
    }

    /// Gives the server with this address one more record.
    pub(crate) fn add(&self, ip: &str, line: &str) {
        let ip: IpAddr = ip.parse().unwrap();
        let host = self.hosts.iter().find(|host| host.ip == ip).unwrap();
        host.records.lock().unwrap().push(parse(line));
    }

    /// The queries received since the last call, as `address name TYPE udp` or `tcp`.
    pub(crate) fn take_queries(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.queries.lock().unwrap())
    }
}

async fn listen(
    hosts: &[Host],
    queries: &Arc<Mutex<BTreeSet<String>>>,
) -> Option<(u16, JoinSet<()>)> {
    let mut port = 0;
    let mut task = JoinSet::new();
    for host in hosts {
        let udp = UdpSocket::bind((host.ip, port)).await.ok()?;
        port = udp.local_addr().unwrap().port();
        let tcp = TcpListener::bind((host.ip, port)).await.ok()?;
        task.spawn(serve_udp(udp, host.clone(), Arc::clone(queries)));
        if !matches!(host.manner, Manner::OnlyTruncating | Manner::Forgetful) {
            task.spawn(serve_tcp(tcp, host.clone(), Arc::clone(queries)));
        }
    }
    Some((port, task))
}

async fn serve_udp(socket: UdpSocket, host: Host, queries: Arc<Mutex<BTreeSet<String>>>) {
    let mut buffer = [0; 4096];
    loop {
        let (size, peer) = socket.recv_from(&mut buffer).await.unwrap();
        if let Some(answer) = host.answer(&buffer[..size], "udp", &queries) {
            // The client has disconnected.
            drop(socket.send_to(&answer, peer).await);
        }
    }
}

async fn serve_tcp(socket: TcpListener, host: Host, queries: Arc<Mutex<BTreeSet<String>>>) {
    let mut visits = JoinSet::new();
    loop {
        let (stream, _) = socket.accept().await.unwrap();
        let (host, queries) = (host.clone(), Arc::clone(&queries));
        visits.spawn(async move {
            drop(visit(stream, &host, &queries).await);
        });
    }
}

async fn visit(
    mut stream: TcpStream,
    host: &Host,
    queries: &Mutex<BTreeSet<String>>,
) -> std::io::Result<()> {
    let mut query = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut query).await?;
    match host.answer(&query, "tcp", queries) {
        Some(answer) => {
            stream.write_u16(u16::try_from(answer.len()).unwrap()).await?;
            stream.write_all(&answer).await?;
            stream.shutdown().await
        }
        None => std::future::pending().await,
    }
}

async fn visit_http(
    mut stream: TcpStream,
    host: &Host,
    queries: &Mutex<BTreeSet<String>>,
    status: u16,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    assert!(head.starts_with("post /dns-query http/1.1\r\n"), "{head}");
    assert_eq!(field("content-type: "), "application/dns-message");
    let mut query = vec![0; field("content-length: ").parse().unwrap()];
    stream.read_exact(&mut query).await?;
    let answer = host.answer(&query, "https", queries).unwrap();
    let length = answer.len();
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all(&[head.as_bytes(), &answer].concat()).await?;
    stream.shutdown().await
}

impl Host {
    fn answer(
        &self,
        query: &[u8],
        protocol: &str,
        queries: &Mutex<BTreeSet<String>>,
    ) -> Option<Vec<u8>> {
        let query = Message::from_vec(query).unwrap();
        let question = query.queries[0].clone();
        let (name, kind) = (question.name().to_lowercase(), question.query_type());
        let shown = name.to_ascii();
        let entry = format!("{} {} {kind} {protocol}", self.ip, shown.trim_end_matches('.'));
        let is_first = queries.lock().unwrap().insert(entry);
        let mut answer = query.into_response();
        answer.metadata.authoritative = true;
        let is_recursive = self.manner == Manner::Recursive;
        answer.metadata.recursion_available = is_recursive;
        match self.manner {
            Manner::Silent => return None,
            Manner::Forgetful if is_first => return None,
            Manner::Garbled => {
                return Some([&answer.metadata.id.to_be_bytes()[..], &[0x84; 12]].concat());
            }
            Manner::Truncating | Manner::OnlyTruncating if protocol == "udp" => {
                answer.metadata.truncation = true;
            }
            Manner::Code(code) => answer.metadata.response_code = code,
            Manner::Lame => answer.metadata.authoritative = false,
            Manner::Honest
            | Manner::Recursive
            | Manner::Truncating
            | Manner::OnlyTruncating
            | Manner::Forgetful
            | Manner::Shouting => {
                answer.metadata.authoritative = !is_recursive;
                fill(&mut answer, &self.records.lock().unwrap(), &name, kind, is_recursive);
            }
        }
        if self.manner == Manner::Shouting {
            answer.queries[0].name = capitals(&answer.queries[0].name);
            answer.answers.iter_mut().for_each(|record| record.name = capitals(&record.name));
        }
        Some(answer.to_vec().unwrap())
    }
}

fn fill(
    answer: &mut Message,
    records: &[Record],
    name: &Name,
    kind: RecordType,
    is_recursive: bool,
) {
    let mut name = name.clone();
    // A server does not follow a loop forever.
    for _ in 0..20 {
        let zone = records.iter().filter(|record| record.record_type() == RecordType::SOA);
        let zone = zone.filter(|soa| soa.name.zone_of(&name));
        let Some(soa) = zone.max_by_key(|soa| soa.name.num_labels()).cloned() else {
            let root = parse(". SOA");
            if is_recursive {
                answer.metadata.response_code = ResponseCode::NXDomain;
                answer.authorities.push(root);
            } else {
                answer.metadata.response_code = ResponseCode::Refused;
            }
            return;
        };
        let is_below = |record: &&Record| {
            record.name.num_labels() > soa.name.num_labels() && record.name.zone_of(&name)
        };
        let servers = records.iter().filter(|record| record.record_type() == RecordType::NS);
        let cuts = servers.clone().filter(is_below);
        if let Some(cut) = cuts.max_by_key(|cut| cut.name.num_labels()).filter(|_| !is_recursive) {
            refer(answer, records, servers.filter(|record| record.name == cut.name));
            return;
        }
        let own = matching(records, &name);
        let found = own.iter().filter(|record| record.record_type() == kind);
        answer.answers.extend(found.clone().cloned());
        if found.count() > 0 {
            return;
        }
        let alias = own.iter().find(|record| record.record_type() == RecordType::CNAME);
        let Some(alias) = alias else {
            answer.authorities.push(soa);
            if !exists(records, &name) && own.is_empty() {
                answer.metadata.response_code = ResponseCode::NXDomain;
            }
            return;
        };
        answer.answers.push(alias.clone());
        let RData::CNAME(target) = &alias.data else { unreachable!() };
        if !is_recursive {
            return;
        }
        name = target.0.clone();
    }
    answer.metadata.response_code = ResponseCode::ServFail;
}

/// A referral to the servers of a zone of its own, with their addresses.
fn refer<'a>(answer: &mut Message, records: &[Record], servers: impl Iterator<Item = &'a Record>) {
    answer.metadata.authoritative = false;
    for server in servers {
        let RData::NS(target) = &server.data else { unreachable!() };
        let glue = records.iter().filter(|record| record.name == target.0);
        answer.additionals.extend(glue.cloned());
        answer.authorities.push(server.clone());
    }
}

/// The records of a name, those of a wildcard included.
fn matching(records: &[Record], name: &Name) -> Vec<Record> {
    let own = |owner: &Name| records.iter().filter(|r| r.name == *owner).cloned().collect();
    let mut at = name.clone();
    while !exists(records, &at) && !at.is_root() {
        at = at.base_name();
        let wildcard = at.prepend_label("*").unwrap();
        let found: Vec<Record> = own(&wildcard);
        if !found.is_empty() {
            let rename = |mut record: Record| {
                record.name = name.clone();
                record
            };
            return found.into_iter().map(rename).collect();
        }
    }
    if at == *name { own(name) } else { Vec::new() }
}

fn exists(records: &[Record], name: &Name) -> bool {
    records.iter().any(|record| name.zone_of(&record.name))
}

fn capitals(name: &Name) -> Name {
    Name::from_ascii(name.to_ascii().to_ascii_uppercase()).unwrap()
}

fn parse(line: &str) -> Record {
    let name = |text: &str| Name::from_ascii(format!("{}.", text.trim_end_matches('.'))).unwrap();
    let mut words = line.splitn(3, ' ');
    let (owner, kind, data) =
        (words.next().unwrap(), words.next().unwrap(), words.next().unwrap_or("host.test"));
    let data = match kind {
        "SOA" => RData::SOA(SOA::new(name(data), name(data), 1, 60, 60, 60, 60)),
        "NS" => RData::NS(NS(name(data))),
        "CNAME" => RData::CNAME(CNAME(name(data))),
        "A" => RData::A(A(data.parse().unwrap())),
        "AAAA" => RData::AAAA(AAAA(data.parse().unwrap())),
        "TXT" => RData::TXT(TXT::new(data.split('|').map(ToOwned::to_owned).collect())),
        "CAA" => {
            let (tag, value) = data.split_once(' ').unwrap();
            let mut caa = CAA::new_issue(tag.ends_with('!'), None, Vec::new());
            (caa.tag, caa.value) = (tag.trim_end_matches('!').to_owned(), value.into());
            RData::CAA(caa)
        }
        other => panic!("{other}"),
    };
    Record::from_rdata(name(owner), 60, data)
}
