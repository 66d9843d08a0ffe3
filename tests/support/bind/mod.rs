//! BIND 9 for tests: started with zones that accept updates, queried, stopped.
//!
//! It has free loopback ports and a folder of its own, and is only taken for started when it
//! shows a record that only this process was given. Dropping it ends it by its process id.

mod asking;
mod config;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::RecordType;

use crate::pebble_support::{Server, block_on, free_port, needed};

pub(crate) use config::{ALGORITHMS, Role, SECRET, key_of};

/// A running name server.
pub(crate) struct Bind {
    /// Where it listens, for UDP and TCP.
    pub(crate) address: SocketAddr,
    _folder: tempfile::TempDir,
    server: Server,
}

impl Bind {
    /// Starts it and waits until it answers; another port is tried when it does not get its own.
    pub(crate) fn start() -> Self {
        Self::start_as(Role::Primary)
    }

    /// The same in another role.
    pub(crate) fn start_as(role: Role) -> Self {
        (0..3).find_map(|_| Self::try_start(role)).unwrap_or_else(|| panic!("no BIND"))
    }

    fn try_start(role: Role) -> Option<Self> {
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().file_name().unwrap().to_string_lossy().into_owned();
        config::write(folder.path(), address.port(), &mark, role);
        let mut command = Command::new(program());
        command.args(["-g", "-n", "1", "-c"]).arg(folder.path().join("named.conf"));
        let server = Server::start(&mut command, &folder.path().join("log"));
        let mut bind = Self { address, _folder: folder, server };
        block_on(bind.prove(&mark)).then_some(bind)
    }

    async fn prove(&mut self, mark: &str) -> bool {
        for _ in 0..1000 {
            assert!(self.server.runs(), "named ended: {}", self.log());
            let wait = Duration::from_millis(20);
            for tcp in [true, false] {
                let asked = asking::ask(self.address, "mark.who-is-it", RecordType::TXT, tcp);
                let Ok(Ok(answer)) = tokio::time::timeout(wait, asked).await else { break };
                if !tcp && answer.response_code == ResponseCode::NoError {
                    return answer.answers.iter().any(|it| it.data.to_string().contains(mark));
                }
            }
            tokio::time::sleep(wait).await;
        }
        panic!("named does not answer: {}", self.log());
    }

    /// What it has said.
    pub(crate) fn log(&self) -> String {
        self.server.log()
    }

    /// All records of a zone, a line each, sorted; the serial of its SOA is 0.
    pub(crate) fn zone(&self, zone: &str) -> Vec<String> {
        block_on(asking::transfer(self.address, zone))
    }

    /// The TXT records at a name: TTL and value.
    pub(crate) fn values(&self, name: &str) -> Vec<(u32, String)> {
        block_on(self.values_now(name))
    }

    /// The same, in a future.
    pub(crate) async fn values_now(&self, name: &str) -> Vec<(u32, String)> {
        let asked = asking::ask(self.address, name, RecordType::TXT, true);
        let answer = asked.await.unwrap();
        let texts = answer.answers.iter().filter(|it| it.record_type() == RecordType::TXT);
        let mut texts: Vec<_> = texts.map(|it| (it.ttl, it.data.to_string())).collect();
        texts.sort();
        texts
    }
}

/// Debian has it where only root looks.
fn program() -> PathBuf {
    let path = PathBuf::from("/usr/sbin/named");
    if path.is_file() { path } else { needed("named") }
}
