//! A scripted web server for tests, on a loopback port, with or without valid HTTP.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// The running server; stops when it is dropped.
pub(crate) struct WebServer {
    pub(crate) address: SocketAddr,
    _task: JoinSet<()>,
}

/// Makes the bytes of the answer from the request's head; `None` is no answer.
type Responder = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

impl WebServer {
    /// Listens on `address`, or returns the error.
    pub(crate) async fn on(
        address: SocketAddr,
        responder: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Option<Self> {
        let socket = TcpListener::bind(address).await.ok()?;
        Some(Self::serve(socket, None, Arc::new(responder)))
    }

    /// Listens on a free port of 127.0.0.1.
    pub(crate) async fn start(
        responder: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self::on("127.0.0.1:0".parse().unwrap(), responder).await.unwrap()
    }

    /// The same, over TLS with an untrusted certificate.
    pub(crate) async fn start_tls(
        responder: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["wrong.example.org".into()]).unwrap();
        let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let configuration = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.unwrap())
            .unwrap();
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::serve(socket, Some(TlsAcceptor::from(Arc::new(configuration))), Arc::new(responder))
    }

    fn serve(socket: TcpListener, tls: Option<TlsAcceptor>, responder: Responder) -> Self {
        let address = socket.local_addr().unwrap();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut visits = JoinSet::new();
            loop {
                let (stream, _) = socket.accept().await.unwrap();
                let (tls, responder) = (tls.clone(), Arc::clone(&responder));
                visits.spawn(async move {
                    match tls {
                        Some(tls) => visit(tls.accept(stream).await.unwrap(), &responder).await,
                        None => visit(stream, &responder).await,
                    }
                });
            }
        });
        Self { address, _task: task }
    }
}

async fn visit(mut stream: impl AsyncRead + AsyncWrite + Unpin, responder: &Responder) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    match responder(&String::from_utf8(head).unwrap()) {
        // The client may disconnect before everything is sent.
        Some(answer) => {
            drop(stream.write_all(answer.as_bytes()).await);
            drop(stream.shutdown().await);
        }
        None => std::future::pending().await,
    }
}
