//! Connections: limits the number of clients, so that a flood cannot stop an issuance.
//!
//! When the table is full, the oldest connection of the peer with the most connections is closed;
//! on a tie, the oldest of all. Many connections from one address cannot displace the CA.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use rustix::process::{Resource, getrlimit};
use tokio::task::AbortHandle;

/// The open connections, oldest first. Dropping the table closes them all.
#[derive(Debug, Default)]
pub(super) struct Connections {
    open: Vec<(IpAddr, AbortHandle)>,
}

impl Connections {
    /// Adds a connection, and closes another when there are more than the limit.
    pub(super) fn admit(&mut self, peer: IpAddr, task: AbortHandle) {
        self.open.retain(|(_, task)| !task.is_finished());
        self.open.push((network(peer), task));
        if self.open.len() > limit(getrlimit(Resource::Nofile).current) {
            self.drop_one();
        }
    }

    /// Whether a client is being served.
    pub(super) fn are_open(&mut self) -> bool {
        self.open.retain(|(_, task)| !task.is_finished());
        !self.open.is_empty()
    }

    /// Closes one connection, because the process has exhausted a resource.
    pub(super) fn drop_one(&mut self) {
        self.open.retain(|(_, task)| !task.is_finished());
        let peers: Vec<IpAddr> = self.open.iter().map(|(peer, _)| *peer).collect();
        if let Some(victim) = victim(&peers) {
            let (_, task) = self.open.remove(victim);
            task.abort();
        }
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        for (_, task) in &self.open {
            task.abort();
        }
    }
}

/// How many connections there may be: visitors must not take the files that a run needs.
fn limit(files: Option<u64>) -> usize {
    let share = files.and_then(|files| usize::try_from(files / 8).ok());
    share.unwrap_or(MAX_CONNECTIONS).clamp(4, MAX_CONNECTIONS)
}

/// The index of the oldest connection of the peer with the most connections; on a tie, of the peer
/// whose oldest connection is older.
fn victim(peers: &[IpAddr]) -> Option<usize> {
    let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for peer in peers {
        let count = counts.entry(*peer).or_default();
        *count = count.saturating_add(1);
    }
    let most = counts.values().max().copied()?;
    peers.iter().position(|peer| counts.get(peer) == Some(&most))
}

/// One client controls a whole IPv6 /64.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

/// How many clients one listener serves at once.
pub(super) const MAX_CONNECTIONS: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_of_open_files_leaves_fewer_to_visitors() {
        let limits = [None, Some(1 << 20), Some(1024), Some(256), Some(48), Some(3)];
        assert_eq!(limits.map(limit), [128, 128, 128, 32, 6, 4]);
    }

    #[test]
    fn the_oldest_of_the_busiest_peer_goes_first() {
        let cases: &[(&[&str], Option<usize>)] = &[
            (&[], None),
            (&["192.0.2.1"], Some(0)),
            (&["192.0.2.1", "192.0.2.2", "192.0.2.3"], Some(0)),
            (&["192.0.2.1", "192.0.2.2", "192.0.2.2"], Some(1)),
            (&["192.0.2.1", "192.0.2.2", "192.0.2.2", "192.0.2.1"], Some(0)),
            (&["192.0.2.9", "::ffff:192.0.2.1", "192.0.2.1"], Some(1)),
            (&["2001:db8::1", "2001:db8:1::1", "2001:db8:1::2"], Some(1)),
        ];
        for (peers, expected) in cases {
            let peers: Vec<IpAddr> = peers.iter().map(|p| network(p.parse().unwrap())).collect();
            assert_eq!(victim(&peers), *expected, "{peers:?}");
        }
    }

    #[tokio::test]
    async fn the_table_never_holds_more_than_its_limit() {
        let mut table = Connections::default();
        let ca: IpAddr = "198.51.100.1".parse().unwrap();
        let flood: IpAddr = "192.0.2.1".parse().unwrap();
        let wait = || tokio::spawn(std::future::pending::<()>());
        let task = wait();
        table.admit(ca, task.abort_handle());
        let first = wait();
        table.admit(flood, first.abort_handle());
        for _ in 0..MAX_CONNECTIONS {
            table.admit(flood, wait().abort_handle());
        }
        assert!(first.await.unwrap_err().is_cancelled());
        assert!(!task.is_finished());
        drop(table);
        assert!(task.await.unwrap_err().is_cancelled());
    }
}
