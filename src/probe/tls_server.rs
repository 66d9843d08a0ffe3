//! A TLS server for tests, on a loopback port, with or without valid TLS.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::pki::{self, ACME_TLS};
use crate::resource::Identifier;

/// The running server; stops when it is dropped.
pub(crate) struct TlsServer {
    pub(crate) address: SocketAddr,
    reaction: Arc<Mutex<Reaction>>,
    _task: JoinSet<()>,
}

/// What it does with a connection.
#[derive(Clone)]
pub(crate) enum Reaction {
    Tls(Arc<ServerConfig>),
    /// These bytes, and no more.
    Says(&'static [u8]),
    Silent,
}

impl TlsServer {
    pub(crate) async fn start(bind: &str, reaction: Reaction) -> Self {
        let socket = TcpListener::bind(bind).await.unwrap();
        let address = socket.local_addr().unwrap();
        let reaction = Arc::new(Mutex::new(reaction));
        let shared = Arc::clone(&reaction);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut visits = JoinSet::new();
            loop {
                let (stream, _) = socket.accept().await.unwrap();
                let reaction = shared.lock().unwrap().clone();
                visits.spawn(reaction.visit(stream));
            }
        });
        Self { address, reaction, _task: task }
    }

    /// Does this with the next connections.
    pub(crate) fn set(&self, reaction: Reaction) {
        *self.reaction.lock().unwrap() = reaction;
    }
}

impl Reaction {
    async fn visit(self, mut stream: TcpStream) {
        match self {
            // What the client thinks of it is what is tested.
            Self::Tls(config) => drop(TlsAcceptor::from(config).accept(stream).await),
            Self::Says(bytes) => {
                stream.write_all(bytes).await.unwrap();
                // Unread bytes would make the end a reset.
                drop(stream.read(&mut [0; 4096]).await);
                drop(stream.shutdown().await);
                std::future::pending::<()>().await;
            }
            Self::Silent => std::future::pending().await,
        }
    }
}

/// The answer to the challenge of the identifier with this key authorization.
pub(crate) fn answering(identifier: &Identifier, key_authorization: &str) -> Reaction {
    let digest = pki::digest_of(key_authorization);
    let made = pki::challenge_certificate(identifier, &digest).unwrap();
    let made = (made.certificate, made.private_key.to_vec());
    with(made, &[ACME_TLS], &identifier.server_name())
}

/// A web server of four other names, with these protocols.
pub(crate) fn usual(server_name: &str, protocols: &[&[u8]]) -> Reaction {
    let names = ["a.example", "b.example", "c.example", "d.example"];
    let made = rcgen::generate_simple_self_signed(names.map(str::to_owned)).unwrap();
    let made = (made.cert.der().to_vec(), made.signing_key.serialize_der());
    with(made, protocols, server_name)
}

/// The same without TLS 1.3.
pub(crate) fn old(reaction: Reaction) -> Reaction {
    let Reaction::Tls(config) = reaction else { return reaction };
    let mut old = ServerConfig::builder_with_provider(Arc::clone(config.crypto_provider()))
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::clone(&config.cert_resolver));
    old.alpn_protocols.clone_from(&config.alpn_protocols);
    Reaction::Tls(Arc::new(old))
}

/// A certificate and its key, for clients that send this server name.
fn with(made: (Vec<u8>, Vec<u8>), protocols: &[&[u8]], server_name: &str) -> Reaction {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let key = PrivateKeyDer::try_from(made.1).unwrap();
    let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&key).unwrap();
    let key = CertifiedKey::new(vec![CertificateDer::from(made.0)], key);
    let only = Only { server_name: server_name.to_owned(), key: Arc::new(key) };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(only));
    config.alpn_protocols = protocols.iter().map(|one| one.to_vec()).collect();
    Reaction::Tls(Arc::new(config))
}

#[derive(Debug)]
struct Only {
    server_name: String,
    key: Arc<CertifiedKey>,
}

impl ResolvesServerCert for Only {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        (hello.server_name() == Some(&self.server_name)).then(|| Arc::clone(&self.key))
    }
}
