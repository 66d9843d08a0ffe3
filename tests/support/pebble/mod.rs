//! Pebble and its DNS server for tests and for the bench: started, checked, queried, stopped.
//!
//! Every server has free loopback ports of its own and is only taken for started when it proves
//! to be the process that was started: Pebble by a TLS certificate made for it, the DNS server by
//! an address that only it was told. Dropping a server kills it by its process id.

pub(crate) mod ca;
mod dns;
#[path = "../clock/faketime.rs"]
pub(crate) mod faketime;
mod port;
mod server;
mod tool;
mod work;

pub(crate) use ca::{Ca, Options};
pub(crate) use dns::Dns;
pub(crate) use port::free_port;
pub(crate) use server::Server;
pub(crate) use tool::{find, installed, needed, not_tested};
pub(crate) use work::{Issuer, Run, Work};

use std::time::Duration;

/// A client that trusts `root` (PEM) alone; for plain HTTP there is nothing to trust.
pub(crate) fn client(root: Option<&str>) -> reqwest::Client {
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let roots = root.map(|root| reqwest::Certificate::from_pem(root.as_bytes()).unwrap());
    let builder = reqwest::Client::builder().no_proxy().user_agent("certctl-tests");
    builder.tls_certs_only(roots).build().unwrap()
}

/// Runs a future that must come to an end within half a minute.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(30), future).await })
        .unwrap_or_else(|_| panic!("nothing happened for 30 s"))
}
