//! Sixteen hosts at once.

use certctl::store::{Documents as _, Key, Lock, StoreError, Version};
use futures_util::future::join_all;
use jiff::SignedDuration;

use super::server::Server;
use super::web;
use crate::pebble_support::block_on;
use crate::postgres_support::Postgres;

const HOSTS: usize = 16;
const ROUNDS: usize = 20;

/// Each with its connection.
fn hosts(server: &Server, schema: &str) -> Vec<Postgres> {
    let settings = server.state(schema);
    let hosts: Vec<_> = (0..HOSTS).map(|_| Postgres::open(settings.clone())).collect();
    let ready = block_on(join_all(hosts.iter().map(Postgres::process)));
    assert!(ready.iter().all(Result::is_ok), "{ready:?}");
    hosts
}

/// Which one of all was the only one to write.
#[track_caller]
fn winner(ends: Vec<Result<Version, StoreError>>) -> (usize, Version) {
    let is_conflict = |end: &Result<_, _>| matches!(end, Err(StoreError::Conflict { .. }));
    assert_eq!(ends.iter().filter(|end| is_conflict(end)).count(), HOSTS - 1, "{ends:?}");
    let mut won = ends.into_iter().enumerate().filter_map(|(host, end)| Some((host, end.ok()?)));
    won.next().unwrap()
}

#[test]
fn of_sixteen_hosts_that_write_over_one_version_one_does() {
    let server = Server::shared();
    let hosts = hosts(&server, "races");
    let key = Key::Certificate(web());
    let bytes: Vec<_> = (0..HOSTS).map(|host| format!("of {host}").into_bytes()).collect();
    block_on(async {
        let created =
            join_all(hosts.iter().zip(&bytes).map(|(host, bytes)| host.create(&key, bytes))).await;
        let (mut host, mut version) = winner(created);
        for _ in 0..ROUNDS {
            let stored = hosts[0].get(&key).await.unwrap().unwrap();
            assert_eq!((&*stored.bytes, &stored.revision), (&bytes[host], &version));
            let put = hosts.iter().zip(&bytes).map(|(it, bytes)| it.put_if(&key, bytes, &version));
            (host, version) = winner(join_all(put).await);
        }
    });
}

#[test]
fn of_sixteen_hosts_that_try_a_lock_one_gets_it() {
    let server = Server::shared();
    let hosts = hosts(&server, "locks");
    let lock = Lock::Scheduler;
    block_on(async {
        let tried = hosts.iter().map(|host| host.lease(&lock, SignedDuration::ZERO));
        let (leases, errors): (Vec<_>, Vec<_>) =
            join_all(tried).await.into_iter().partition(Result::is_ok);
        let is_locked = |end: &Result<_, _>| matches!(end, Err(StoreError::Locked { .. }));
        assert!(leases.len() == 1 && errors.iter().all(is_locked), "{leases:?} {errors:?}");
    });
}
