//! A scripted name server for tests, on one loopback port for UDP and TCP.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use hickory_proto::op::ResponseCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UdpSocket};
use tokio::task::JoinSet;
use zeroize::Zeroizing;

use super::message::read;
use super::tsig::{Algorithm, Key};

/// A request as the server saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) tcp: bool,
    pub(super) bytes: Vec<u8>,
}

impl Received {
    /// An unsigned answer without records.
    pub(super) fn answer(&self, code: ResponseCode) -> Vec<u8> {
        let (mut message, _) = read(&self.bytes).unwrap();
        message.authorities.clear();
        message.additionals.clear();
        message.signature = None;
        message.metadata.response_code = code;
        message.into_response().to_vec().unwrap()
    }

    /// The same, signed with the key of [`key`] as an answer to this request.
    pub(super) fn signed(&self, code: ResponseCode, terms: (u64, u16, &[u8])) -> Vec<u8> {
        self.sign(&self.answer(code), terms)
    }

    pub(super) fn sign(&self, answer: &[u8], terms: (u64, u16, &[u8])) -> Vec<u8> {
        let (_, found) = read(&self.bytes).unwrap();
        key("c2VjcmV0").sign_answer(&found.unwrap(), answer, terms)
    }

    /// The same, with a TSIG record that holds an error and no signature.
    pub(super) fn bare(&self, code: ResponseCode, error: u16) -> Vec<u8> {
        let terms = (TIME, error, [].as_slice());
        let signed = self.signed(code, terms);
        let mac = 16;
        // From the end: other length 2, error 2, id 2, signature, its length 2.
        let end = signed.len() - 6;
        let mut bytes = signed[..end - mac - 2].to_vec();
        bytes.extend([0, 0]);
        bytes.extend(&signed[end..]);
        // The data's length field, after the name `k.`, type, class and TTL.
        let (_, found) = read(&signed).unwrap();
        let place = found.unwrap().start + 3 + 8;
        let size = u16::from_be_bytes([signed[place], signed[place + 1]]) - 16;
        bytes[place..place + 2].copy_from_slice(&size.to_be_bytes());
        bytes
    }
}

/// `k`, HMAC-MD5, with this secret in base64.
pub(super) fn key(secret: &str) -> Key {
    use base64::Engine as _;
    let secret = base64::engine::general_purpose::STANDARD.decode(secret).unwrap();
    let name = hickory_proto::rr::Name::from_ascii("k.").unwrap();
    Key::new(&name, Algorithm::Md5, Zeroizing::new(secret))
}

/// The running server; stops when it is dropped.
pub(super) struct Responder {
    pub(super) address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    _task: JoinSet<()>,
}

impl Responder {
    /// Sends the result of `answers` for each request, in that order.
    pub(super) async fn start(
        answers: impl Fn(&Received) -> Vec<Vec<u8>> + Send + 'static,
    ) -> Self {
        let (tcp, udp) = bind().await;
        let address = udp.local_addr().unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&received);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut buffer = [0; 4096];
            loop {
                tokio::select! {
                    Ok((size, peer)) = udp.recv_from(&mut buffer) => {
                        let received = Received { tcp: false, bytes: buffer[..size].to_vec() };
                        log.lock().unwrap().push(received.clone());
                        for answer in answers(&received) {
                            udp.send_to(&answer, peer).await.unwrap();
                        }
                    }
                    Ok((mut stream, _)) = tcp.accept() => {
                        let mut bytes = vec![0; stream.read_u16().await.unwrap().into()];
                        stream.read_exact(&mut bytes).await.unwrap();
                        let received = Received { tcp: true, bytes };
                        log.lock().unwrap().push(received.clone());
                        for answer in answers(&received) {
                            stream.write_u16(answer.len().try_into().unwrap()).await.unwrap();
                            stream.write_all(&answer).await.unwrap();
                        }
                    }
                }
            }
        });
        Self { address, received, _task: task }
    }

    /// Every request so far.
    pub(super) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

async fn bind() -> (TcpListener, UdpSocket) {
    for _ in 0..100 {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()).await {
            return (tcp, udp);
        }
    }
    panic!("no port is free for both");
}

/// The time of the test context.
pub(super) const TIME: u64 = 1_767_323_045;
