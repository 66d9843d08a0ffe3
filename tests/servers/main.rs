//! Real servers and programs, which `tests/run` installs; a missing one is a failure, but for those
//! that Go builds. Each file keeps one promise.

#![cfg(test)]

mod backoff;
mod bind;
#[path = "../support/bind/mod.rs"]
mod bind_support;
mod compromise;
#[path = "../support/contract.rs"]
mod contract;
mod crash;
mod inspect_openssl;
#[path = "../support/journal.rs"]
mod journal;
mod keystores;
mod man;
mod nginx;
#[path = "../support/nginx.rs"]
mod nginx_support;
mod openssl;
#[path = "../support/openssl_fields.rs"]
mod openssl_fields;
#[path = "../support/own_process.rs"]
mod own_process;
mod pebble;
#[path = "../support/pebble/mod.rs"]
mod pebble_support;
mod postgres;
#[path = "../support/postgres.rs"]
mod postgres_support;
mod power_loss;
mod proxies;
#[path = "../support/random.rs"]
mod random;
mod stateless;
mod step_ca;
#[expect(dead_code, unused_imports, reason = "other executables use the rest")]
#[path = "../support/mod.rs"]
mod support;
#[expect(dead_code, reason = "the golden sessions use the rest")]
#[path = "../support/golden/terminal.rs"]
mod terminal;
mod timer;
mod tls_alpn01;
