//! What must be true of a fleet whose hosts have ended.

use certctl::engine::pair::Pair;
use certctl::engine::ports::LiveFiles as _;
use certctl::pki;
use certctl::rehearsal::{CreatedOrder, LogEntry, RequestKind};
use certctl::resource::{Identifier, NamespacedName, PublicKeyDigest};
use certctl::store::{CertificateDocument, Collection, Key, OpenMode, Records, StateDirectory};

use super::Fleet;
use super::host::{domain, name};
use crate::pebble_support::block_on;

/// What the CA had before the revision that is judged.
#[derive(Default)]
pub(super) struct Past {
    orders: usize,
    requests: usize,
}

/// What is stored of a certificate.
struct Stored {
    fingerprint: String,
    public_key: PublicKeyDigest,
    /// The orders that its document names.
    urls: Vec<String>,
}

impl Fleet {
    /// Each certificate is of this revision: once at the CA, in the database, and on each host.
    pub(super) fn judge(&mut self, revision: u32, past: &Past) -> Past {
        let (orders, log) = (self.ca.orders(), self.ca.log());
        let (new, requests) = (&orders[past.orders..], &log[past.requests..]);
        for number in 0..self.certificates {
            let name = name(number);
            let stored = self.stored(&name, revision);
            self.judge_orders(&name, &stored, new, requests);
            for host in 0..self.places.len() {
                self.judge_files(host, &name, revision, &stored);
            }
        }
        self.superfluous = new.len() - self.certificates;
        assert_eq!(self.ca.issued(), self.certificates * usize::try_from(revision).unwrap());
        let accounts = self.ca.created(RequestKind::NewAccount);
        assert!(accounts <= 1 + self.kills, "{accounts} accounts");
        Past { orders: orders.len(), requests: log.len() }
    }

    /// The record names the pair of the revision, of which there is one, with its key.
    fn stored(&self, name: &NamespacedName, revision: u32) -> Stored {
        let store = &self.store;
        let record = block_on(Records::new(store).certificate(name)).unwrap().unwrap();
        assert_eq!(record.status.revision, Some(revision), "{name}");
        let fingerprint = record.issued_fingerprint.unwrap();
        let pairs = block_on(Records::new(store).keys(&Collection::Pairs(name.clone()))).unwrap();
        let of_it = |key: &&Key| matches!(key, Key::Pair(_, found, _) if *found >= revision);
        let newest: Vec<_> = pairs.iter().filter(of_it).collect();
        assert_eq!(newest, [&Key::Pair(name.clone(), revision, fingerprint.clone())], "{pairs:?}");
        let pem = block_on(Records::new(store).pair(name, revision, &fingerprint)).unwrap();
        let pair = Pair::from_pem(&pem.unwrap(), &fingerprint).expect("a key and its certificate");
        let public_key = pair.key.facts().public_key.clone();
        let orders = block_on(async {
            let mut document = CertificateDocument::read(store, name).await.unwrap();
            document.orders().await.unwrap()
        });
        let urls =
            orders.into_iter().filter_map(|(_, order)| Some(order.unwrap().url()?.to_owned()));
        Stored { fingerprint, public_key, urls: urls.collect() }
    }

    /// One order has the certificate, and is the one that is stored; no other one was finalized, nor
    /// this one with another key. Each more is excused by a disturbance.
    fn judge_orders(
        &self,
        name: &NamespacedName,
        stored: &Stored,
        orders: &[CreatedOrder],
        requests: &[LogEntry],
    ) {
        let identifier = Identifier::Dns(domain(name).parse().unwrap());
        let orders: Vec<_> =
            orders.iter().filter(|order| order.identifiers == [identifier.clone()]).collect();
        let excuses = self.excuses.get(name).copied().unwrap_or_default();
        assert!(orders.len() <= 1 + excuses, "{name}: {excuses} may be superfluous: {orders:#?}");
        let issued: Vec<_> = orders.iter().filter(|order| order.fingerprint.is_some()).collect();
        assert_eq!(issued.len(), 1, "{name}: {orders:#?}");
        assert_eq!(issued[0].fingerprint.as_ref(), Some(&stored.fingerprint), "{name}");
        assert!(stored.urls.contains(&issued[0].url), "{name}: {:?} {orders:#?}", stored.urls);
        for order in &orders {
            let is_of_it = |entry: &&LogEntry| entry.path == order.finalize_path;
            for finalize in requests.iter().filter(is_of_it) {
                assert_eq!(order.url, issued[0].url, "{name}: another order was finalized");
                assert_eq!(finalize.csr_key.as_ref(), Some(&stored.public_key), "{name}");
            }
        }
    }

    /// A host serves the pair.
    fn judge_files(&self, host: usize, name: &NamespacedName, revision: u32, stored: &Stored) {
        let files = StateDirectory::open(&self.places[host].state, OpenMode::ReadOnly).unwrap();
        let sets = block_on(files.sets(name)).unwrap();
        let live: Vec<_> = sets.iter().filter(|set| set.is_live).map(|set| set.revision).collect();
        assert_eq!(live, [revision], "{name} on host {host}");
        let published = block_on(files.published(name)).unwrap().unwrap();
        let text = |file: &str| String::from_utf8(published.0[file].to_vec()).unwrap();
        let leaf = pki::leaf_facts(&text("tls.crt")).unwrap();
        assert_eq!(leaf.fingerprint, stored.fingerprint, "{name} on host {host}");
        let key = pki::key_facts(&text("tls.key")).unwrap();
        assert_eq!(key.public_key, leaf.public_key, "{name} on host {host}");
        assert_eq!(leaf.public_key, stored.public_key, "{name} on host {host}");
    }
}
