//! Server: shakes hands with the certificate of the name that the client asks for, and says no more.
//!
//! | client | answer |
//! | --- | --- |
//! | offers `acme-tls/1`, and asks for a name with an answer presented | its certificate |
//! | offers `acme-tls/1`, and asks for another name, or for none | alert `unrecognized_name` |
//! | does not offer `acme-tls/1` | alert `no_application_protocol` |
//!
//! An answer is the SHA-256 digest of the key authorization in hexadecimal, under
//! [`Token::of_server_name`]: any process makes a certificate of it, and what is presented for
//! HTTP-01 is none. A self-check looks like a CA, and is counted like one.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::server::{Acceptor, ClientHello, NoServerSessionStorage};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{AlertDescription, ContentType, ProtocolVersion, ServerConfig};
use thiserror::Error;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_rustls::LazyConfigAcceptor;

use crate::pki::{ACME_TLS, ChallengeEncodingError, challenge_certificate};
use crate::resource::{Identifier, Token, hex};
use crate::solver::listener::{Hits, PresentedToken, TokenFolder};

/// The certificates made so far. Clones share them.
#[derive(Clone, Debug, Default)]
pub(in crate::solver) struct Certificates(Arc<Mutex<BTreeMap<Answer, Arc<ServerConfig>>>>);

/// An answer that is presented.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Answer {
    server_name: String,
    digest: [u8; 32],
}

/// Why there is no certificate for an answer.
#[derive(Debug, Error)]
enum Unanswerable {
    #[error(transparent)]
    Encoding(#[from] ChallengeEncodingError),
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

/// Shakes hands with one client, which has `limit` for it. A handshake that succeeds is counted.
pub(in crate::solver) async fn serve(
    stream: TcpStream,
    folder: &TokenFolder,
    hits: &Hits,
    certificates: &Certificates,
    limit: Duration,
) {
    // A client that disconnects or does not speak TLS is not an error.
    match tokio::time::timeout(limit, shake_hands(stream, folder, hits, certificates)).await {
        Ok(Ok(())) | Err(_) => {}
        Ok(Err(error)) => tracing::trace!(%error, "visitor of the TLS-ALPN-01 listener"),
    }
}

async fn shake_hands(
    stream: TcpStream,
    folder: &TokenFolder,
    hits: &Hits,
    certificates: &Certificates,
) -> io::Result<()> {
    let mut hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
    let (token, configuration) = match choose(&hello.client_hello(), folder, certificates) {
        Ok(chosen) => chosen,
        Err(alert) => return refuse(&mut hello.io, alert).await,
    };
    let mut stream = hello.into_stream(configuration).await?;
    hits.record(&token);
    // No data follows (RFC 8737 section 3).
    stream.shutdown().await
}

/// What the client asks for, or the alert that it gets.
fn choose(
    hello: &ClientHello<'_>,
    folder: &TokenFolder,
    certificates: &Certificates,
) -> Result<(Token, Arc<ServerConfig>), AlertDescription> {
    let mut offered = hello.alpn().into_iter().flatten();
    if !offered.any(|protocol| protocol == ACME_TLS) {
        return Err(AlertDescription::NoApplicationProtocol);
    }
    let unrecognized = AlertDescription::UnrecognisedName;
    let server_name = hello.server_name().ok_or(unrecognized)?.to_ascii_lowercase();
    let token = Token::of_server_name(&server_name);
    let presented = folder.find(&token).ok_or(unrecognized)?;
    let digest = digest_of(&presented).ok_or(unrecognized)?;
    let identifier = Identifier::of_server_name(&server_name).ok_or(unrecognized)?;
    let answer = Answer { server_name, digest };
    let configuration = certificates.of(answer, &identifier).map_err(|error| {
        tracing::error!(%error, "the TLS-ALPN-01 listener cannot answer for {identifier}");
        AlertDescription::InternalError
    })?;
    Ok((token, configuration))
}

/// Sends an alert, after which the client ends the connection.
async fn refuse(stream: &mut TcpStream, alert: AlertDescription) -> io::Result<()> {
    let [major, minor] = u16::from(ProtocolVersion::TLSv1_2).to_be_bytes();
    let record = [ContentType::Alert.into(), major, minor, 0, 2, FATAL, alert.into()];
    stream.write_all(&record).await?;
    stream.shutdown().await
}

/// The digest of an answer; `None` for one of HTTP-01.
fn digest_of(presented: &PresentedToken) -> Option<[u8; 32]> {
    let text = presented.key_authorization.as_bytes();
    let digits = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = text.chunks(2).map(digits).collect();
    let bytes = bytes.filter(|bytes| hex(bytes) == presented.key_authorization);
    bytes?.try_into().ok()
}

impl Certificates {
    /// The one for this answer, made once. When there are too many, those of answers before are
    /// forgotten.
    fn of(
        &self,
        answer: Answer,
        identifier: &Identifier,
    ) -> Result<Arc<ServerConfig>, Unanswerable> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(configuration) = made.get(&answer) {
            return Ok(Arc::clone(configuration));
        }
        let configuration = Arc::new(configuration(identifier, &answer.digest)?);
        if made.len() >= MOST_CERTIFICATES {
            made.clear();
        }
        made.insert(answer, Arc::clone(&configuration));
        Ok(configuration)
    }
}

fn configuration(identifier: &Identifier, digest: &[u8; 32]) -> Result<ServerConfig, Unanswerable> {
    let made = challenge_certificate(identifier, digest)?;
    let chain = vec![CertificateDer::from(made.certificate)];
    let key = PrivatePkcs8KeyDer::from(made.private_key.to_vec());
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let key = provider.key_provider.load_private_key(key.into())?;
    // Not `with_single_cert`, which refuses a certificate with a critical extension.
    let certificate = SingleCertAndKey::from(CertifiedKey::new(chain, key));
    let mut configuration = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(certificate));
    configuration.alpn_protocols = vec![ACME_TLS.to_vec()];
    // A client that resumes a session would not see the certificate.
    configuration.session_storage = Arc::new(NoServerSessionStorage {});
    configuration.send_tls13_tickets = 0;
    Ok(configuration)
}

/// The level of an alert that ends the connection (RFC 8446 section 6).
const FATAL: u8 = 2;
/// More than an order has names; each takes a few kilobytes.
const MOST_CERTIFICATES: usize = 1024;

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use jiff::Timestamp;
    use rustls::pki_types::ServerName;
    use tokio::io::AsyncReadExt as _;
    use tokio_rustls::TlsConnector;
    use tokio_rustls::client::TlsStream;

    use super::*;
    use crate::pki;
    use crate::solver::listener::{Answers, Hit, Listener};

    struct Stage {
        root: tempfile::TempDir,
        listener: Listener,
        folder: TokenFolder,
        hits: Hits,
    }

    fn stage() -> Stage {
        let root = tempfile::tempdir().unwrap();
        let folder = TokenFolder::open(&root.path().join("http01")).unwrap();
        let hits = Hits::new(|| Timestamp::UNIX_EPOCH);
        let any = ["[::]:0".parse().unwrap()];
        let answers = Answers::tls(&folder, &hits);
        let listener = Listener::bind(&any, vec![], answers).unwrap();
        Stage { root, listener, folder, hits }
    }

    impl Stage {
        async fn connect(&self) -> TcpStream {
            let port = self.listener.addresses()[0].port();
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap()
        }

        async fn visit(&self, name: &str, protocols: &[&[u8]]) -> Result<Vec<u8>, String> {
            visit(self.connect().await, name, protocols).await
        }
    }

    fn present(folder: &TokenFolder, identifier: &Identifier, key_authorization: &str) -> Token {
        let token = Token::of_server_name(&identifier.server_name());
        let digest = hex(&pki::digest_of(key_authorization));
        folder.put(&token, &digest).unwrap();
        token
    }

    fn dns(name: &str) -> Identifier {
        Identifier::Dns(name.parse().unwrap())
    }

    async fn handshake(
        stream: TcpStream,
        name: &str,
        protocols: &[&[u8]],
    ) -> io::Result<TlsStream<TcpStream>> {
        let mut client = pki::unverified_client().unwrap();
        client.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        client.enable_sni = !name.is_empty();
        let name = if name.is_empty() { "any.example" } else { name };
        let name = ServerName::try_from(name.to_owned()).unwrap();
        TlsConnector::from(Arc::new(client)).connect(name, stream).await
    }

    /// The certificate, after which nothing comes; or why there is none.
    async fn visit(stream: TcpStream, name: &str, protocols: &[&[u8]]) -> Result<Vec<u8>, String> {
        let mut stream =
            handshake(stream, name, protocols).await.map_err(|error| error.to_string())?;
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, [0; 0]);
        let (_, session) = stream.get_ref();
        assert_eq!(session.alpn_protocol(), Some(ACME_TLS));
        Ok(session.peer_certificates().unwrap()[0].to_vec())
    }

    fn is_right(certificate: &[u8], identifier: &Identifier, key_authorization: &str) -> bool {
        let digest = pki::digest_of(key_authorization);
        pki::check_challenge_certificate(certificate, identifier, &digest).is_ok()
    }

    #[tokio::test]
    async fn a_name_that_any_process_of_this_state_presents_gets_its_certificate() {
        let stage = stage();
        let other = TokenFolder::open(&stage.root.path().join("http01")).unwrap();
        for identifier in [
            dns("www.example.com"),
            Identifier::Ip("192.0.2.1".parse().unwrap()),
            Identifier::Ip("2001:db8::1".parse().unwrap()),
        ] {
            let name = identifier.server_name();
            assert!(stage.visit(&name, &[ACME_TLS]).await.is_err());
            let token = present(&other, &identifier, "token.thumbprint");
            assert_eq!(stage.hits.of(&token), None);
            let first = stage.visit(&name, &[ACME_TLS]).await.unwrap();
            assert!(is_right(&first, &identifier, "token.thumbprint"), "{name}");
            // A name is written in any case; others may be offered beside the protocol.
            let again = stage.visit(&name.to_uppercase(), &[b"h2", ACME_TLS]).await.unwrap();
            assert_eq!(again, first);
            let hit = Hit { count: 2, last: Timestamp::UNIX_EPOCH };
            assert_eq!(stage.hits.of(&token), Some(hit));
            // Another order of the name.
            present(&other, &identifier, "other.thumbprint");
            let second = stage.visit(&name, &[ACME_TLS]).await.unwrap();
            assert!(is_right(&second, &identifier, "other.thumbprint"), "{name}");
            other.remove(&token).unwrap();
            let gone = stage.visit(&name, &[ACME_TLS]).await.unwrap_err();
            assert_eq!(gone, "received fatal alert: UnrecognisedName");
        }
    }

    /// Server name, protocols, and what the client hears.
    type Case<'a> = (&'a str, &'a [&'a [u8]], Result<(), AlertDescription>);

    #[tokio::test]
    async fn another_name_or_protocol_gets_an_alert_and_is_not_counted() {
        let stage = stage();
        present(&stage.folder, &dns("www.example.com"), "token.thumbprint");
        // An answer of HTTP-01 is none here, whatever its token.
        let odd = Token::of_server_name("odd.example.com");
        stage.folder.put(&odd, &format!("{odd}.thumbprint")).unwrap();
        let name = Err(AlertDescription::UnrecognisedName);
        let protocol = Err(AlertDescription::NoApplicationProtocol);
        let acme: &[&[u8]] = &[ACME_TLS];
        let cases: [Case<'_>; 7] = [
            ("www.example.com", acme, Ok(())),
            ("example.com", acme, name),
            ("odd.example.com", acme, name),
            ("", acme, name),
            ("www.example.com", &[], protocol),
            ("www.example.com", &[b"h2", b"http/1.1"], protocol),
            ("example.com", &[b"acme-tls/2"], protocol),
        ];
        for (server_name, protocols, expected) in cases {
            let found = handshake(stage.connect().await, server_name, protocols).await;
            let found = found.map(drop).map_err(|error| {
                let error = error.into_inner().unwrap().downcast::<rustls::Error>().unwrap();
                let rustls::Error::AlertReceived(alert) = *error else { panic!("{error}") };
                alert
            });
            assert_eq!(found, expected, "{server_name} {protocols:?}");
        }
        assert_eq!(stage.hits.total(), 1);
    }

    /// A session would let a client go without a look at the next certificate.
    #[tokio::test]
    async fn a_client_that_comes_again_sees_the_certificate_again() {
        let stage = stage();
        present(&stage.folder, &dns("www.example.com"), "token.thumbprint");
        let mut client = pki::unverified_client().unwrap();
        client.alpn_protocols = vec![ACME_TLS.to_vec()];
        let client = TlsConnector::from(Arc::new(client));
        for _ in 0..3 {
            let name = ServerName::try_from("www.example.com").unwrap();
            let mut stream = client.connect(name, stage.connect().await).await.unwrap();
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).await.unwrap();
            let kind = stream.get_ref().1.handshake_kind();
            assert_eq!(kind, Some(rustls::HandshakeKind::Full));
        }
    }

    #[tokio::test]
    async fn what_is_no_tls_gets_no_answer() {
        let stage = stage();
        let mut stream = stage.connect().await;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: www.example.com\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        // The server may have reset the connection.
        drop(stream.read_to_end(&mut answer).await);
        assert!(answer.len() <= 7, "{answer:?}");
        assert_eq!(stage.hits.total(), 0);
    }

    #[tokio::test]
    async fn an_inherited_socket_is_served_and_closed_in_the_end() {
        let stage = stage();
        let identifier = dns("www.example.com");
        present(&stage.folder, &identifier, "token.thumbprint");
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let answers = Answers::tls(&stage.folder, &stage.hits);
        let listener = Listener::bind(&[], vec![socket], answers).unwrap();
        assert_eq!(listener.addresses(), [address]);
        let stream = TcpStream::connect(address).await.unwrap();
        let found = visit(stream, "www.example.com", &[ACME_TLS]).await.unwrap();
        assert!(is_right(&found, &identifier, "token.thumbprint"));
        listener.close(&stage.folder, Duration::ZERO, drop).await;
        TcpStream::connect(address).await.unwrap_err();
    }

    #[tokio::test]
    async fn those_who_have_connected_are_answered_before_the_port_closes() {
        for _ in 0..10 {
            let Stage { listener, folder, root, hits } = stage();
            let token = present(&folder, &dns("www.example.com"), "token.thumbprint");
            let port = listener.addresses()[0].port();
            // Without a pause in between: some are not accepted yet when it is closed.
            let waiting: Vec<_> = (0..20)
                .map(|_| {
                    let stream = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
                    stream.set_nonblocking(true).unwrap();
                    let stream = TcpStream::from_std(stream).unwrap();
                    tokio::spawn(visit(stream, "www.example.com", &[ACME_TLS]))
                })
                .collect();
            listener.close(&folder, Duration::ZERO, drop).await;
            for visitor in waiting {
                visitor.await.unwrap().unwrap();
            }
            assert_eq!(hits.of(&token).unwrap().count, 20);
            drop(root);
        }
    }

    #[tokio::test]
    async fn slow_visitors_do_not_keep_others_out() {
        let stage = stage();
        present(&stage.folder, &dns("www.example.com"), "token.thumbprint");
        let mut crowd = Vec::new();
        for _ in 0..=128 {
            let mut slow = stage.connect().await;
            // The head of a record that never comes.
            slow.write_all(&[22, 3, 1, 1, 0]).await.unwrap();
            crowd.push(slow);
        }
        stage.visit("www.example.com", &[ACME_TLS]).await.unwrap();
        let mut answer = Vec::new();
        drop(crowd[0].read_to_end(&mut answer).await);
        assert_eq!(answer, [0; 0]);
    }

    #[tokio::test]
    async fn a_handshake_that_never_ends_is_given_up() {
        let root = tempfile::tempdir().unwrap();
        let folder = TokenFolder::open(&root.path().join("http01")).unwrap();
        let hits = Hits::new(|| Timestamp::UNIX_EPOCH);
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut slow = TcpStream::connect(socket.local_addr().unwrap()).await.unwrap();
        slow.write_all(&[22, 3, 1, 1, 0]).await.unwrap();
        let (stream, _) = socket.accept().await.unwrap();
        let limit = Duration::from_millis(20);
        serve(stream, &folder, &hits, &Certificates::default(), limit).await;
        let mut answer = Vec::new();
        drop(slow.read_to_end(&mut answer).await);
        assert_eq!(answer, [0; 0]);
    }

    #[test]
    fn certificates_are_made_once_and_are_never_too_many() {
        let certificates = Certificates::default();
        let identifier = dns("www.example.com");
        let answer = |number: usize| {
            let mut digest = [0; 32];
            digest[..8].copy_from_slice(&number.to_be_bytes());
            Answer { server_name: identifier.server_name(), digest }
        };
        let of = |number| certificates.of(answer(number), &identifier).unwrap();
        let first = of(0);
        assert!(Arc::ptr_eq(&of(0), &first));
        for number in 1..=MOST_CERTIFICATES {
            of(number);
        }
        assert_eq!(certificates.0.lock().unwrap().len(), 1);
        assert!(!Arc::ptr_eq(&of(0), &first));
    }
}
