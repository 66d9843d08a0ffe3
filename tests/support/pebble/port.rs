//! Free loopback ports.

use std::net::{TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

/// A port of 127.0.0.1 that is free for TCP and UDP and that no other call of this process gets.
///
/// It lies below the range from which the system takes the ports of outgoing connections, so that
/// the system gives it to no other process before its server binds it.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(7919);
    for _ in 0..SPAN {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let offset = start.wrapping_add(step) % SPAN;
        let port = u16::try_from(FIRST + offset).unwrap();
        let tcp = TcpListener::bind(("127.0.0.1", port));
        let udp = UdpSocket::bind(("127.0.0.1", port));
        if tcp.is_ok() && udp.is_ok() {
            return port;
        }
    }
    panic!("no loopback port is free");
}

const FIRST: u32 = 10_000;
const SPAN: u32 = 22_000;
