//! Answers: what a listener gives to those who connect, from the folder of tokens.

use std::fmt;
use std::time::Duration;

use tokio::net::TcpStream;

use super::folder::TokenFolder;
use super::hits::Hits;
use crate::solver::http01;
use crate::solver::tlsalpn01::{self, Certificates};

/// The protocol of a listener, and the tokens for which it answers. Clones share them.
#[derive(Clone, Debug)]
pub struct Answers {
    protocol: Protocol,
    folder: TokenFolder,
    hits: Hits,
}

#[derive(Clone, Debug)]
enum Protocol {
    Http,
    Tls(Certificates),
}

impl Answers {
    /// Those of HTTP-01. `hits` counts the requests that are answered.
    pub fn http(folder: &TokenFolder, hits: &Hits) -> Self {
        Self { protocol: Protocol::Http, folder: folder.clone(), hits: hits.clone() }
    }

    /// Those of TLS-ALPN-01. `hits` counts the handshakes that succeed.
    pub fn tls(folder: &TokenFolder, hits: &Hits) -> Self {
        let protocol = Protocol::Tls(Certificates::default());
        Self { protocol, folder: folder.clone(), hits: hits.clone() }
    }

    pub(super) fn folder(&self) -> &TokenFolder {
        &self.folder
    }

    /// Answers a connection.
    pub(super) async fn serve(self, stream: TcpStream) {
        let Self { protocol, folder, hits } = self;
        match protocol {
            Protocol::Http => http01::serve(stream, &folder, &hits, LIMIT).await,
            Protocol::Tls(certificates) => {
                tlsalpn01::serve(stream, &folder, &hits, &certificates, LIMIT).await;
            }
        }
    }
}

impl fmt::Display for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.protocol {
            Protocol::Http => "HTTP-01",
            Protocol::Tls(_) => "TLS-ALPN-01",
        })
    }
}

/// How long a client has for the header of its request, or for its handshake.
const LIMIT: Duration = Duration::from_secs(10);
