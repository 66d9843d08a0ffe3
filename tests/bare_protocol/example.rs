//! Wall time of certctl beside the bare protocol, on the same Pebble, in turns. `tests/bench`
//! starts it: the path of the binary is its argument.
//!
//! The peer is a client in this process that keeps its connection and has keys, CSR, nonce,
//! directory and account at hand; it sends the same POSTs, answers the same challenges, and looks
//! at the order after the same waits. It has no state, no self-check, no fsync, no process to
//! start, and checks nothing that it gets.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a tool of the tests"
)]

mod client;
#[path = "../pebble_support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the tests use the rest")]
mod pebble_support;
mod responder;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use client::{Client, Prepared};
use pebble_support::{Ca, Issuer, Options, Work, installed};
use responder::Responder;
use tokio::task::LocalSet;

const RUNS: usize = 20;

fn main() -> ExitCode {
    let program = std::fs::canonicalize(std::env::args_os().nth(1).unwrap()).unwrap();
    installed();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, program);
    // The runtime lives as long as the kept connection.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let http = pebble_support::client(Some(ca.bundle()));
    let mut bare = runtime.block_on(Client::register(http, &ca.directory_url()));
    certctl(&work, "account", vec!["account.test".to_owned()]);

    println!("wall time in ms, median of {RUNS} (least … most), in turns on one Pebble");
    let mut met = true;
    for (count, most) in [(1, 8.0), (100, 2.0)] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for turn in 0..RUNS {
            let names = |who: &'static str| {
                (0..count).map(move |n| format!("n{n:03}.{who}-{turn}-{count}.test"))
            };
            ours.push(certctl(&work, &format!("t{turn}-{count}"), names("a").collect()));
            let prepared = Prepared::new(names("b").collect());
            let one = bare_protocol(&mut bare, &prepared, ca.http_port);
            theirs.push(LocalSet::new().block_on(&runtime, one));
        }
        let (ours, theirs) = (Spread::of(ours), Spread::of(theirs));
        let ratio = ours.median / theirs.median;
        let verdict = if ratio <= most { "met" } else { "MISSED" };
        met &= ratio <= most;
        println!("{count:>4} name(s): certctl {ours}   bare protocol {theirs}");
        println!("              {ratio:.2} times the bare protocol; at most {most}: {verdict}");
    }
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One run of the binary, from its start to its exit.
#[expect(clippy::disallowed_methods, reason = "it measures")]
fn certctl(work: &Work<'_>, name: &str, names: Vec<String>) -> Duration {
    work.manifest("web.yaml", &Issuer::default(), &[(name.to_owned(), names)]);
    let start = Instant::now();
    let run = work.issue("web.yaml");
    let took = start.elapsed();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    took
}

/// One issuance of the peer; its listener is there before the clock starts.
#[expect(clippy::disallowed_methods, reason = "it measures")]
async fn bare_protocol(client: &mut Client, prepared: &Prepared, port: u16) -> Duration {
    let responder = Responder::listen(port).await;
    let start = Instant::now();
    let chain = client.issue(prepared, &responder).await;
    let took = start.elapsed();
    assert!(chain.starts_with("-----BEGIN CERTIFICATE-----"), "{chain}");
    took
}

/// Median, least and most, in milliseconds.
struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        let ms = |index: usize| times.get(index).unwrap().as_secs_f64() * 1000.0;
        let middle = times.len() / 2;
        let median = f64::midpoint(ms(middle), ms(times.len() - 1 - middle));
        Self { median, least: ms(0), most: ms(times.len() - 1) }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} ({:.1} … {:.1})", self.median, self.least, self.most)
    }
}
