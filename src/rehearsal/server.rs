//! The HTTPS server: TLS, HTTP/1.1, body cap, limits.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::dispatch::{self, Received};
use super::faults::Answer;
use super::issue::Hierarchy;
use super::{RehearsalError, Shared};

pub(super) fn tls_config(
    hierarchy: &Hierarchy,
    address: IpAddr,
) -> Result<Arc<ServerConfig>, RehearsalError> {
    let (chain, key) = hierarchy.server(address)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(Arc::new(config))
}

/// Serves until the task is aborted, which also closes the connections.
pub(super) async fn serve(listener: TcpListener, tls: Arc<ServerConfig>, shared: Arc<Shared>) {
    let acceptor = TlsAcceptor::from(tls);
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "the rehearsal CA cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        let acceptor = acceptor.clone();
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            converse(stream, acceptor, shared).await;
            drop(permit);
        });
    }
}

async fn converse(stream: TcpStream, acceptor: TlsAcceptor, shared: Arc<Shared>) {
    let handshake = tokio::time::timeout(PATIENCE, acceptor.accept(stream));
    let Ok(Ok(stream)) = handshake.await else { return };
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { exchange(&shared, request).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::trace!(%error, "a connection of the rehearsal CA ended");
    }
}

async fn exchange(
    shared: &Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<Answer>, Cut> {
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let mut received =
        Received { method: head.method, path, headers: head.headers, body: Bytes::new() };
    let read = tokio::time::timeout(PATIENCE, Limited::new(body, MAX_BODY).collect());
    match read.await {
        Ok(Ok(body)) => {
            received.body = body.to_bytes();
            dispatch::answer(shared, received).await.ok_or(Cut)
        }
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            dispatch::too_large(shared, &received).ok_or(Cut)
        }
        Ok(Err(_)) | Err(_) => Err(Cut),
    }
}

/// The connection is closed without an answer.
#[derive(Debug, Error)]
#[error("closed without an answer")]
struct Cut;

const MAX_BODY: usize = 256 * 1024;
const MAX_CONNECTIONS: usize = 256;
const PATIENCE: Duration = Duration::from_secs(30);
