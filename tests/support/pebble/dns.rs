//! pebble-challtestsrv as DNS server: 127.0.0.1 for every name, unless configured otherwise.

use std::net::Ipv4Addr;
use std::process::Command;
use std::time::Duration;

use tokio::net::UdpSocket;

use super::server::Server;
use super::{block_on, client, free_port, tool};

/// A running DNS server.
pub(crate) struct Dns {
    port: u16,
    management: u16,
    _folder: tempfile::TempDir,
    _server: Server,
}

impl Dns {
    /// Starts it and waits until it answers; other ports are tried when it does not get its own.
    pub(crate) fn start() -> Self {
        (0..3).find_map(|_| Self::try_start()).unwrap_or_else(|| panic!("no DNS server"))
    }

    fn try_start() -> Option<Self> {
        let program = tool::find("pebble-challtestsrv").unwrap();
        let help = Command::new(&program).arg("-help").output().unwrap();
        // The flags of Debian's 2.4.0 differ.
        let recent = String::from_utf8_lossy(&help.stderr).contains("-dnsserver");
        let (port, management) = (free_port(), free_port());
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(program);
        command.args([if recent { "-dnsserver" } else { "-dns01" }, &format!("127.0.0.1:{port}")]);
        command.args(["-http01", "", "-https01", "", "-tlsalpn01", "", "-defaultIPv6", ""]);
        command.args(["-defaultIPv4", "127.0.0.1"]);
        command.args(["-management", &format!("127.0.0.1:{management}")]);
        if recent {
            command.args(["-doh", ""]);
        }
        let mut server = Server::start(&mut command, &folder.path().join("log"));
        let ours = block_on(prove(&mut server, port, management));
        ours.then_some(Self { port, management, _folder: folder, _server: server })
    }

    /// Where it listens, for `--resolver`.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// From now on the name has this address.
    pub(crate) fn set_address(&self, name: &str, address: Ipv4Addr) {
        self.set_addresses(name, &[address]);
    }

    /// The same with several.
    pub(crate) fn set_addresses(&self, name: &str, addresses: &[Ipv4Addr]) {
        assert!(block_on(add_a(self.management, name, addresses)), "{name} is not set");
    }

    /// From now on every name has the address ::1 alone.
    pub(crate) fn set_ipv6_alone(&self) {
        for (path, address) in [("set-default-ipv4", ""), ("set-default-ipv6", "::1")] {
            let body = serde_json::json!({ "ip": address }).to_string();
            assert!(block_on(post(self.management, path, body)), "{path}");
        }
    }

    /// Makes it forget that, so that the name points to 127.0.0.1 again.
    pub(crate) fn clear_address(&self, name: &str) {
        let body = serde_json::json!({ "host": format!("{name}.") }).to_string();
        assert!(block_on(post(self.management, "clear-a", body)), "{name} is not cleared");
    }
}

/// Sets an address that only this server knows, and queries it.
async fn prove(server: &mut Server, port: u16, management: u16) -> bool {
    let [high, low] = port.to_be_bytes();
    let address = Ipv4Addr::new(127, high, low, 77);
    for _ in 0..500 {
        if !server.runs() {
            return false;
        }
        if add_a(management, "who-is-it.test", &[address]).await {
            return knows(port, "who-is-it.test", address).await;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

async fn add_a(management: u16, name: &str, addresses: &[Ipv4Addr]) -> bool {
    let body = serde_json::json!({ "host": format!("{name}."), "addresses": addresses });
    post(management, "add-a", body.to_string()).await
}

async fn post(management: u16, path: &str, body: String) -> bool {
    let url = format!("http://127.0.0.1:{management}/{path}");
    let answer = client(None).post(url).body(body).send().await;
    answer.is_ok_and(|answer| answer.status().is_success())
}

/// Whether the answer to one question (RFC 1035 section 4) holds this address.
async fn knows(port: u16, name: &str, address: Ipv4Addr) -> bool {
    let mut question = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        question.push(u8::try_from(label.len()).unwrap());
        question.extend(label.bytes());
    }
    question.extend([0, 0, 1, 0, 1]);
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(("127.0.0.1", port)).await.unwrap();
    let mut answer = [0; 512];
    for _ in 0..50 {
        drop(socket.send(&question).await);
        let wait = Duration::from_millis(100);
        if let Ok(Ok(length)) = tokio::time::timeout(wait, socket.recv(&mut answer)).await {
            return answer[..length].windows(4).any(|bytes| bytes == address.octets());
        }
    }
    false
}
