//! The documents of a state in PostgreSQL: what the contract promises of them, on a server that is
//! stopped, killed and started again, and to hosts that are.

mod contract;
mod fleet;
mod races;
mod restarts;
mod server;
mod stopped;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use certctl::resource::NamespacedName;
use certctl::store::{Collection, Documents as _, Key, Lease as _, Lock, Log};
use jiff::SignedDuration;

use crate::pebble_support::block_on;
use crate::pebble_support::ca::write_certificate;
use crate::postgres_support::Postgres;
use server::Server;

fn named(namespace: &str, name: &str) -> NamespacedName {
    NamespacedName::new(namespace, name)
}

fn web() -> NamespacedName {
    named("default", "web")
}

/// Longer than a lease is waited for here, and not so long as it lasts.
const WAIT: SignedDuration = SignedDuration::from_secs(10);

#[test]
fn a_server_with_a_certificate_of_another_root_is_refused() {
    let server = Server::shared();
    let scratch = tempfile::tempdir().unwrap();
    let mut settings = server.settings("public");
    settings.tls = server::trusting(&write_certificate(scratch.path(), "127.0.0.1"));
    let error = block_on(Postgres::open(settings).prepare()).unwrap_err();
    assert!(error.to_string().contains("invalid peer certificate"), "{error}");
}

#[test]
fn a_server_without_tls_gets_neither_name_nor_password() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::shared();
    let mut settings = server.settings("public");
    settings.port = listener.local_addr().unwrap().port();
    let client = thread::spawn(|| block_on(Postgres::open(settings).prepare()));
    let (mut stream, _) = listener.accept().unwrap();
    let mut request = [0; 8];
    stream.read_exact(&mut request).unwrap();
    stream.write_all(b"N").unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"");
    let error = client.join().unwrap().unwrap_err();
    assert!(error.to_string().contains("does not offer TLS"), "{error}");
}

#[test]
fn pages_follow_each_other_in_the_order_of_keys() {
    let server = Server::shared();
    let store = Postgres::open(server.state("pages"));
    let names =
        [("a-b", "a"), ("a", "web"), ("a", "web-2"), ("a", "web.x"), ("a.b", "a"), ("a", "w")];
    let mut certificates = names.map(|(namespace, name)| Key::Certificate(named(namespace, name)));
    let accounts = [Key::Account("ab".into()), Key::AccountKey("ab".into())];
    block_on(async {
        for key in certificates.iter().chain(&accounts) {
            store.create(key, b"{}").await.unwrap();
        }
    });
    let listed = |of: &Collection| {
        block_on(async {
            let (mut all, mut pages) = (Vec::new(), 0);
            loop {
                let page = store.list(of, all.last()).await.unwrap();
                all.extend(page.keys);
                pages += 1;
                if !page.has_more {
                    return (all, pages);
                }
            }
        })
    };
    certificates.sort();
    assert_eq!(listed(&Collection::Certificates), (certificates.to_vec(), 2));
    assert_eq!(listed(&Collection::Accounts), (vec![accounts[0].clone()], 1));
}

#[test]
fn a_log_has_its_lines_in_order_and_of_events_the_newest() {
    let server = Server::shared();
    let store = Postgres::open(server.state("logs"));
    let lines = |of: std::ops::Range<u32>| of.map(|n| n.to_string()).collect::<Vec<_>>();
    let (events, issuances) = (Log::Events(web()), Log::Issuances);
    block_on(async {
        for log in [&events, &issuances] {
            for batch in [0..1, 1..1, 1..4, 4..6, 6..7] {
                store.append(log, &lines(batch)).await.unwrap();
            }
        }
        assert_eq!(store.read_log(&events).await.unwrap(), lines(3..7));
        assert_eq!(store.read_log(&issuances).await.unwrap(), lines(0..7));
        store.append(&events, &lines(10..20)).await.unwrap();
        assert_eq!(store.read_log(&events).await.unwrap(), lines(10..20));
    });
}

#[test]
fn a_lease_is_given_back_when_it_is_dropped_even_by_a_process_that_ends() {
    let server = Server::shared();
    let settings = server.state("given_back");
    let lock = Lock::Certificate(web());
    let take = |store: &Postgres, wait| block_on(store.lease(&lock, wait));
    let (one, two) = (Postgres::open(settings.clone()), Postgres::open(settings));
    let mut lease = take(&one, SignedDuration::ZERO).unwrap();
    assert_eq!(lease.epoch(), 1);
    let left = lease.left();
    assert!(left > SignedDuration::from_secs(10) && left <= SignedDuration::from_secs(20));
    block_on(lease.renew()).unwrap();
    assert!(lease.left() > left - SignedDuration::from_secs(10));
    let found = take(&two, SignedDuration::ZERO).unwrap_err().to_string();
    let system = rustix::system::uname();
    let host = system.nodename().to_str().unwrap();
    let process = format!("process {} of {host}", std::process::id());
    assert_eq!(found, format!("certificate web is locked by {process}"));
    drop(lease);
    // Its own later requests follow on the same connection.
    let lease = take(&one, SignedDuration::ZERO).unwrap();
    drop(lease);
    // No runtime is left that could wait for an answer.
    drop(one);
    assert_eq!(take(&two, SignedDuration::ZERO).unwrap().epoch(), 3);
}
