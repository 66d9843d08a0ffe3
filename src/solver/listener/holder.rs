//! The process that holds a port: best effort, from `/proc` of Linux; elsewhere, or without
//! permission, none is found.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::OnceLock;

use crate::program::ProcessState;
use crate::resource::escape;

/// A process that listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its name, as `ps` shows it.
    name: String,
    pid: u32,
    /// Whether it has the name of this process, and is another.
    pub is_certctl: bool,
}

impl Holder {
    #[cfg(test)]
    pub(crate) fn new(name: &str, pid: u32) -> Self {
        Self { name: name.to_owned(), pid, is_certctl: false }
    }

    /// Its name, as `ps` shows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is systemd, which listens for a unit. The first process of a container is another
    /// program, a web server perhaps.
    pub fn is_init(&self) -> bool {
        self.pid == 1 && self.name == "systemd"
    }

    /// Whether it is stopped, as by Ctrl-Z: the system takes connections for it, and nothing answers.
    pub fn is_stopped(&self) -> bool {
        let pid = i32::try_from(self.pid).ok();
        pid.and_then(ProcessState::of).is_some_and(|found| found.is_stopped)
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it is the process that asks.
    pub fn is_this_process(&self) -> bool {
        self.pid == std::process::id()
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {})", escape(&self.name), self.pid)
    }
}

/// A process that listens on `address`: another certctl, if there is one. systemd holds the socket
/// of a unit beside the certctl to which it passed it.
pub(super) fn holder_of(address: SocketAddr) -> Option<Holder> {
    // Of other users' processes, the ones with the name of certctl are a guess.
    if let Some(seen) = seen_before(address) {
        return Some(seen);
    }
    let holders = found::holders(address);
    let ours = holders.iter().find(|holder| holder.is_certctl);
    ours.or(holders.first()).cloned()
}

/// Remembers who listens on these: for a process of root that gives up its rights, and then does not see
/// the sockets of other users.
pub fn remember_holders(addresses: Vec<SocketAddr>) {
    let held = addresses.into_iter().filter_map(|address| Some((address, holder_of(address)?)));
    // The rights go once.
    drop(SEEN.set(held.collect()));
}

static SEEN: OnceLock<Vec<(SocketAddr, Holder)>> = OnceLock::new();

/// The remembered one, while it is there.
fn seen_before(address: SocketAddr) -> Option<Holder> {
    let (_, holder) = SEEN.get()?.iter().find(|(held, _)| *held == address)?;
    let is_there = Path::new("/proc").join(holder.pid.to_string()).exists();
    is_there.then(|| holder.clone())
}

/// Whether any process listens on `address`, also one that this user may not look into.
pub(super) fn is_held(address: SocketAddr) -> bool {
    found::is_held(address)
}

/// The other certctl processes that listen on `address`, besides this one.
pub(super) fn others_of_us(address: SocketAddr) -> Vec<Holder> {
    found::other_holders(address).into_iter().filter(|holder| holder.is_certctl).collect()
}

/// A process that listens on `address` and is no certctl.
pub(super) fn stranger_on(address: SocketAddr) -> Option<Holder> {
    let is_stranger = |holder: &Holder| !holder.is_certctl && holder.pid != std::process::id();
    found::holders(address).into_iter().find(is_stranger)
}

/// Whether a listener on `open` answers for `wanted`. Its sockets are dual-stack: `[::]` answers for
/// all addresses, and `0.0.0.0` for those of IPv4.
pub fn answers_for(open: SocketAddr, wanted: SocketAddr) -> bool {
    let (all, ip) = (open.ip().to_canonical(), wanted.ip().to_canonical());
    let covers = all.is_unspecified() && (all.is_ipv6() || ip.is_ipv4());
    open.port() == wanted.port() && (all == ip || covers)
}

#[cfg(target_os = "linux")]
mod found {
    use std::collections::BTreeSet;
    use std::fs::{self, File};
    use std::io::{BufRead, BufReader};
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
    use std::os::unix::fs::MetadataExt as _;
    use std::path::{Path, PathBuf};

    use super::{Holder, answers_for};

    pub(super) fn holders(address: SocketAddr) -> Vec<Holder> {
        holders_of(sockets(address))
    }

    /// The holders of sockets that this process has not open. Mostly there is none, which spares a
    /// look at every process of the host.
    pub(super) fn other_holders(address: SocketAddr) -> Vec<Holder> {
        let own = socket_inodes(Path::new("/proc/self")).unwrap_or_default();
        holders_of(sockets(address).into_iter().filter(|(inode, _)| !own.contains(inode)).collect())
    }

    pub(super) fn is_held(address: SocketAddr) -> bool {
        !sockets(address).is_empty()
    }

    fn sockets(address: SocketAddr) -> Vec<(String, String)> {
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"].into_iter();
        tables
            .filter_map(|table| File::open(table).ok())
            .flat_map(|table| listening_sockets(BufReader::new(table), address))
            .collect()
    }

    fn holders_of(sockets: Vec<(String, String)>) -> Vec<Holder> {
        let (inodes, users): (BTreeSet<String>, BTreeSet<String>) = sockets.into_iter().unzip();
        if inodes.is_empty() {
            return Vec::new();
        }
        let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
        let own_name = name_of(Path::new("/proc/self"));
        let mut holders = Vec::new();
        for process in processes.flatten() {
            let pid = process.file_name().to_str().and_then(|name| name.parse().ok());
            let Some(pid) = pid else { continue };
            let has_socket = socket_inodes(&process.path()).map(|held| !held.is_disjoint(&inodes));
            if has_socket == Some(false) {
                continue;
            }
            let Some(name) = name_of(&process.path()) else { continue };
            let is_certctl = pid != std::process::id() && own_name.as_ref() == Some(&name);
            // The files of another user's process are hidden, its name, its user and its network
            // namespace are not.
            let is_holder = has_socket.unwrap_or_else(|| {
                is_certctl
                    && user_of(&process.path()).is_some_and(|user| users.contains(&user))
                    && is_in_our_network(&process.path())
            });
            if is_holder {
                holders.push(Holder { name, pid, is_certctl });
            }
        }
        holders.sort_by_key(|holder| holder.pid);
        holders
    }

    fn name_of(process: &Path) -> Option<String> {
        let name = fs::read_to_string(process.join("comm")).ok()?;
        Some(name.trim_end().to_owned())
    }

    /// The effective user. The folder belongs to root when the process leaves no core dumps, as
    /// certctl's do.
    fn user_of(process: &Path) -> Option<String> {
        let status = fs::read_to_string(process.join("status")).ok()?;
        let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
        users.split_whitespace().nth(1).map(str::to_owned)
    }

    /// Whether a process is in the network namespace of this one. `ns/net` cannot be read of another
    /// user's process; `net/tcp` can, and each namespace has one of its own.
    pub(super) fn is_in_our_network(process: &Path) -> bool {
        let table = |process: &Path| Some(fs::metadata(process.join("net/tcp")).ok()?.ino());
        table(process).is_some_and(|found| table(Path::new("/proc/self")) == Some(found))
    }

    /// The sockets that a process has open; None when that cannot be seen.
    fn socket_inodes(process: &Path) -> Option<BTreeSet<String>> {
        let files = fs::read_dir(process.join("fd")).ok()?;
        let targets = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
        let inode = |target: PathBuf| {
            Some(target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        };
        Some(targets.filter_map(inode).collect())
    }

    /// The inodes, and the users, of the sockets of `table` whose listening address conflicts with `address`.
    ///
    /// Linux lists listening sockets, and those with a handshake in progress, before all others.
    /// The others are many on a busy host, so reading stops at the first.
    pub(super) fn listening_sockets(
        table: impl BufRead,
        address: SocketAddr,
    ) -> Vec<(String, String)> {
        let mut sockets = Vec::new();
        for line in table.lines().skip(1).map_while(Result::ok) {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let [_, local, _, state, _, _, _, user, _, inode, ..] = fields.as_slice() else {
                continue;
            };
            match *state {
                LISTEN => {
                    if parse_address(local).is_some_and(|held| do_meet(held, address)) {
                        sockets.push(((*inode).to_owned(), (*user).to_owned()));
                    }
                }
                SYN_RECEIVED => {}
                _ => break,
            }
        }
        sockets
    }

    const SYN_RECEIVED: &str = "03";
    const LISTEN: &str = "0A";

    /// Whether the two addresses conflict: one of them answers for the other.
    fn do_meet(held: SocketAddr, wanted: SocketAddr) -> bool {
        answers_for(held, wanted) || answers_for(wanted, held)
    }

    /// `0100007F:0050`: the address in words of four bytes, each in the host's byte order.
    fn parse_address(text: &str) -> Option<SocketAddr> {
        let (ip, port) = text.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let mut octets = Vec::new();
        let mut rest = ip;
        while !rest.is_empty() {
            let (word, tail) = rest.split_at_checked(8)?;
            octets.extend(u32::from_str_radix(word, 16).ok()?.to_ne_bytes());
            rest = tail;
        }
        if let Ok(v4) = <[u8; 4]>::try_from(octets.as_slice()) {
            return Some(SocketAddr::from((Ipv4Addr::from(v4), port)));
        }
        let v6 = <[u8; 16]>::try_from(octets.as_slice()).ok()?;
        Some(SocketAddr::from((Ipv6Addr::from(v6), port)))
    }
}

#[cfg(not(target_os = "linux"))]
mod found {
    use std::net::SocketAddr;

    use super::Holder;

    pub(super) fn holders(_address: SocketAddr) -> Vec<Holder> {
        Vec::new()
    }

    pub(super) fn other_holders(_address: SocketAddr) -> Vec<Holder> {
        Vec::new()
    }

    pub(super) fn is_held(_address: SocketAddr) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn the_table_of_sockets_is_read_by_family_port_and_state() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
        let row = |local: &str, state: &str, inode: &str| {
            format!(
                "   0: {local} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  1000        0 {inode} 1 0 100"
            )
        };
        let table = [
            head.to_owned(),
            row("0100007F:0050", "0A", "11"),
            row("00000000:0050", "0A", "12"),
            row("0200007F:0050", "0A", "13"),
            row("0100007F:0050", "03", "14"),
            row("0100007F:0051", "0A", "15"),
            "broken".to_owned(),
            row("00000000000000000000000000000000:0050", "0A", "16"),
            row("00000000000000000000000001000000:0050", "0A", "17"),
            row("0100007F:0050", "06", "18"),
            row("0100007F:0050", "0A", "19"),
        ]
        .join("\n");
        let cases: &[(&str, &[&str])] = &[
            ("127.0.0.1:80", &["11", "12", "16"]),
            ("0.0.0.0:80", &["11", "12", "13", "16"]),
            ("[::]:80", &["11", "12", "13", "16", "17"]),
            ("[::1]:80", &["16", "17"]),
            ("127.0.0.1:81", &["15"]),
            ("127.0.0.1:82", &[]),
        ];
        for (address, expected) in cases {
            let found = found::listening_sockets(table.as_bytes(), address.parse().unwrap());
            let expected: Vec<(String, String)> =
                expected.iter().map(|inode| ((*inode).to_owned(), "1000".to_owned())).collect();
            assert_eq!(found, expected, "{address}");
        }
    }

    fn us() -> Holder {
        let name = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
        Holder::new(name.trim_end(), std::process::id())
    }

    /// Where the system lets this user make a network namespace.
    #[test]
    fn a_process_in_another_network_namespace_is_not_in_ours() {
        let pid = |pid: u32| std::path::PathBuf::from(format!("/proc/{pid}"));
        assert!(found::is_in_our_network(&pid(std::process::id())));
        assert!(!found::is_in_our_network(&pid(u32::MAX)), "there is none");
        let mut other = std::process::Command::new("unshare");
        let Ok(mut other) = other.args(["-n", "cat"]).stdin(std::process::Stdio::piped()).spawn()
        else {
            assert!(!rustix::process::geteuid().is_root(), "unshare is not there");
            return;
        };
        let own_name = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/comm"));
        while other.try_wait().unwrap().is_none() {
            if own_name(other.id()).is_ok_and(|name| name == "cat\n") {
                assert!(!found::is_in_our_network(&pid(other.id())));
                break;
            }
            std::thread::yield_now();
        }
        drop(other.stdin.take());
        other.wait().unwrap();
    }

    #[test]
    fn we_are_no_stranger_to_ourselves() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        assert_eq!(holder_of(address), Some(us()));
        assert_eq!((stranger_on(address), others_of_us(address)), (None, vec![]));
    }

    #[test]
    fn the_holder_is_found_among_hundreds_of_listening_sockets() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            // One read of the kernel's table has some 27 of them.
            let sockets: Vec<_> =
                (0..200).map_while(|_| std::net::TcpListener::bind(host).ok()).collect();
            for socket in sockets.iter().step_by(20) {
                let address = socket.local_addr().unwrap();
                assert_eq!(holder_of(address), Some(us()), "{address}");
            }
        }
    }

    #[test]
    fn a_listener_answers_for_all_addresses_of_its_family_when_it_is_on_all() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let cases = [
            ("0.0.0.0:80", "192.0.2.1:80", true),
            ("0.0.0.0:80", "[::]:80", false),
            ("[::]:80", "0.0.0.0:80", true),
            ("[::]:80", "[2001:db8::1]:80", true),
            ("192.0.2.1:80", "0.0.0.0:80", false),
            ("192.0.2.1:80", "[::ffff:192.0.2.1]:80", true),
            ("[::]:80", "[::]:81", false),
        ];
        for (open, wanted, answers) in cases {
            assert_eq!(answers_for(address(open), address(wanted)), answers, "{open} {wanted}");
        }
    }

    #[test]
    fn a_name_is_escaped() {
        assert_eq!(Holder::new("ca\u{1b}ddy", 1).to_string(), "ca\\u{1b}ddy (pid 1)");
    }
}
