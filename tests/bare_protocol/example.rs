//! The bare protocol, which `tests/bench.py` measures certctl beside.
//!
//! Its arguments are a directory URL, the file of the CA's root, and the port that the CA connects
//! to. Each line of its input, `CERTIFICATES NAMES`, is one measurement: so many certificates, one
//! after the other, each for so many names; it answers with the milliseconds.
//!
//! It is a client in one process that keeps its connection and has keys, CSR, nonce, directory and
//! account at hand; it sends the same POSTs as certctl, answers the same challenges, and looks at the
//! order a millisecond after the last visit and after finalize. It has no state, no self-check, no fsync, no process to start, and
//! checks nothing that it gets.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a tool of the tests"
)]

mod client;
mod responder;

use std::time::{Duration, Instant};

use client::{Client, Prepared};
use responder::Responder;
use tokio::task::LocalSet;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let root = reqwest::Certificate::from_pem(&std::fs::read(&words[2]).unwrap()).unwrap();
    let port = words[3].parse().unwrap();
    // The runtime lives as long as the kept connection.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let http = reqwest::Client::builder().no_proxy().user_agent("certctl-tests");
    let http = http.tls_certs_only([root]).build().unwrap();
    let mut bare = runtime.block_on(Client::register(http, &words[1]));
    for (turn, line) in std::io::stdin().lines().enumerate() {
        let line = line.unwrap();
        let (certificates, names) = line.split_once(' ').unwrap();
        let names: usize = names.parse().unwrap();
        let all: Vec<Prepared> = (0..certificates.parse().unwrap())
            .map(|one: usize| {
                (0..names).map(|n| format!("n{n}.c{one}.t{turn}.bare.test")).collect()
            })
            .map(Prepared::new)
            .collect();
        let took = LocalSet::new().block_on(&runtime, measure(&mut bare, &all, port));
        println!("{}", took.as_secs_f64() * 1000.0);
    }
}

/// The listener is there before the clock starts.
#[expect(clippy::disallowed_methods, reason = "it measures")]
async fn measure(client: &mut Client, all: &[Prepared], port: u16) -> Duration {
    let responder = Responder::listen(port).await;
    let start = Instant::now();
    for prepared in all {
        let chain = client.issue(prepared, &responder).await;
        assert!(chain.starts_with("-----BEGIN CERTIFICATE-----"), "{chain}");
    }
    start.elapsed()
}
