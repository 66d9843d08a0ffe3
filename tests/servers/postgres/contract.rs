//! The contract of `Documents`.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use certctl::store::Key;
use jiff::SignedDuration;

use super::server::Server;
use crate::contract::{Hosts, clauses};
use crate::pebble_support::block_on;
use crate::postgres_support::{Postgres, Settings};

/// A database, with hosts whose clock the test moves.
struct Database {
    settings: Settings,
    /// Another host, for what the contract does not offer.
    own: Postgres,
    /// How far their clock is ahead of that of the machine, in milliseconds.
    ahead: Arc<AtomicI64>,
}

impl Database {
    fn new(mut settings: Settings) -> Self {
        settings.events = 1000;
        let ahead = Arc::new(AtomicI64::new(0));
        let (more, clock) = (Arc::clone(&ahead), Arc::clone(&settings.clock));
        let more = move || SignedDuration::from_millis(more.load(Ordering::Relaxed));
        settings.clock = Arc::new(move || clock() + more());
        Self { own: Postgres::open(settings.clone()), settings, ahead }
    }

    async fn run(&self, sql: &str) {
        self.own.run(sql).await.unwrap();
    }
}

impl Hosts for Database {
    type Host = Postgres;

    async fn host(&self) -> Postgres {
        Postgres::open(self.settings.clone())
    }

    /// The server's clock cannot be moved; what is due by it can.
    async fn pass(&self, by: SignedDuration) {
        let by = i64::try_from(by.as_millis()).unwrap() + 1;
        self.run(&format!("UPDATE leases SET until = until - {by} * interval '1 ms'")).await;
        self.ahead.fetch_add(by, Ordering::Relaxed);
    }

    async fn aside(&self, key: &Key) -> Vec<Vec<u8>> {
        self.own.aside(key).await.unwrap()
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "which clause is broken")]
fn each_clause_of_the_contract_holds() {
    let server = Server::shared();
    let database = Database::new(server.state("contract"));
    for clause in clauses::<Database>() {
        eprintln!("{}", clause.name);
        block_on(async {
            database.run("DELETE FROM documents; DELETE FROM logs; DELETE FROM leases").await;
            (clause.holds)(&database).await;
        });
    }
}
