//! A name server for tests, on a loopback port.

use std::net::{IpAddr, SocketAddr};

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, CNAME};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use tokio::net::UdpSocket;
use tokio::task::JoinSet;

/// The answer to one query.
pub(crate) enum Reply {
    /// Those of the requested family; none is an empty answer.
    Addresses(Vec<IpAddr>),
    /// A CNAME to this name, and this address of it.
    Alias(&'static str, IpAddr),
    /// An empty answer with this code.
    Code(ResponseCode),
    /// No answer.
    Silence,
}

/// The running server; stops when it is dropped.
pub(crate) struct NameServer {
    pub(crate) address: SocketAddr,
    _task: JoinSet<()>,
}

impl NameServer {
    /// Answers UDP queries by `reply`, which gets the name with its trailing dot.
    pub(crate) async fn start(reply: impl Fn(&str, RecordType) -> Reply + Send + 'static) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut buffer = [0; 4096];
            loop {
                let (size, peer) = socket.recv_from(&mut buffer).await.unwrap();
                let query = Message::from_vec(&buffer[..size]).unwrap();
                if let Some(answer) = answer(query, &reply) {
                    socket.send_to(&answer.to_vec().unwrap(), peer).await.unwrap();
                }
            }
        });
        Self { address, _task: task }
    }
}

fn answer(query: Message, reply: &impl Fn(&str, RecordType) -> Reply) -> Option<Message> {
    let question = query.queries[0].clone();
    let name = question.name().clone();
    let record = question.query_type();
    let text = name.to_ascii().to_ascii_lowercase();
    let mut answer = query.into_response();
    match reply(&text, record) {
        Reply::Addresses(ips) => answer.answers = records(&name, record, &ips),
        Reply::Alias(target, ip) => {
            let target = Name::from_ascii(target).unwrap();
            answer.answers =
                vec![Record::from_rdata(name, 60, RData::CNAME(CNAME(target.clone())))];
            answer.answers.extend(records(&target, record, &[ip]));
        }
        Reply::Code(code) => answer.metadata.response_code = code,
        Reply::Silence => return None,
    }
    Some(answer)
}

fn records(name: &Name, record: RecordType, ips: &[IpAddr]) -> Vec<Record> {
    let data = ips.iter().map(|ip| match ip {
        IpAddr::V4(v4) => RData::A(A(*v4)),
        IpAddr::V6(v6) => RData::AAAA(AAAA(*v6)),
    });
    let answers = data.filter(|data| data.record_type() == record);
    answers.map(|data| Record::from_rdata(name.clone(), 60, data)).collect()
}
