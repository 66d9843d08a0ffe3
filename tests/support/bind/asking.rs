//! Questions to one name server.

use std::io;
use std::net::SocketAddr;

use hickory_proto::op::{Message, OpCode, Query};
use hickory_proto::rr::{Name, RData, RecordType};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};

/// One question, one answer.
pub(super) async fn ask(
    server: SocketAddr,
    name: &str,
    kind: RecordType,
    tcp: bool,
) -> io::Result<Message> {
    let question = question(name, kind);
    if tcp {
        let mut stream = TcpStream::connect(server).await?;
        send(&mut stream, &question).await?;
        return receive(&mut stream).await;
    }
    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    socket.connect(server).await?;
    socket.send(&question).await?;
    let mut buffer = [0; 4096];
    let size = socket.recv(&mut buffer).await?;
    Message::from_vec(&buffer[..size]).map_err(io::Error::other)
}

/// AXFR (RFC 5936): the answer ends with the SOA that it began with.
pub(super) async fn transfer(server: SocketAddr, zone: &str) -> Vec<String> {
    let mut stream = TcpStream::connect(server).await.unwrap();
    send(&mut stream, &question(zone, RecordType::AXFR)).await.unwrap();
    let mut records = Vec::new();
    let mut ends = 0;
    while ends < 2 {
        let message = receive(&mut stream).await.unwrap();
        assert!(!message.answers.is_empty(), "{zone}: {message}");
        for mut record in message.answers {
            if let RData::SOA(soa) = &mut record.data {
                ends += 1;
                soa.serial = 0;
            }
            records.push(record.to_string());
        }
    }
    records.sort();
    records
}

fn question(name: &str, kind: RecordType) -> Vec<u8> {
    let mut message = Message::query();
    message.metadata.op_code = OpCode::Query;
    message.add_query(Query::query(Name::from_ascii(format!("{name}.")).unwrap(), kind));
    message.to_vec().unwrap()
}

async fn send(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    stream.write_u16(message.len().try_into().unwrap()).await?;
    stream.write_all(message).await
}

async fn receive(stream: &mut TcpStream) -> io::Result<Message> {
    let mut bytes = vec![0; stream.read_u16().await?.into()];
    stream.read_exact(&mut bytes).await?;
    Message::from_vec(&bytes).map_err(io::Error::other)
}
