//! A webhook that writes into the world's name server, or refuses to.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use certctl::rehearsal::ZoneWriter;
use certctl::solver::dns01::{DnsProvider as _, TxtRecord};
use futures_util::FutureExt as _;
use serde_json::Value;

/// Stops when it is dropped.
pub(crate) struct Webhook {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    status: u16,
    /// The requests received: the actions, and the whole requests.
    actions: Vec<String>,
    requests: Vec<String>,
    is_over: bool,
}

impl Webhook {
    /// Does what it is asked.
    pub(crate) fn start(writer: ZoneWriter) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared =
            Shared { status: 200, actions: Vec::new(), requests: Vec::new(), is_over: false };
        let shared = Arc::new(Mutex::new(shared));
        let own = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if own.lock().unwrap().is_over {
                    return;
                }
                // A client that was killed hears nothing.
                drop(stream.and_then(|stream| answer(stream, &own, &writer)));
            }
        });
        Self { address, shared, thread: Some(thread) }
    }

    /// Answers with this status from now on; with 200 it executes the request, else nothing.
    pub(crate) fn answers(&self, status: u16) {
        self.shared.lock().unwrap().status = status;
    }

    /// A line of `solvers` that asks it; further lines of its `config`.
    pub(crate) fn solver(&self, config: &str) -> String {
        let address = self.address;
        format!(
            "    - dns01:\n        webhook:\n          groupName: certctl\n          solverName: \
             http\n          config:\n            url: http://{address}/\n{config}"
        )
    }

    /// The actions so far: `Present`, `CleanUp`.
    pub(crate) fn actions(&self) -> Vec<String> {
        self.shared.lock().unwrap().actions.clone()
    }

    /// The heads and bodies of what it was asked.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.shared.lock().unwrap().requests.clone()
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.shared.lock().unwrap().is_over = true;
        drop(TcpStream::connect(self.address));
        self.thread.take().map(JoinHandle::join);
    }
}

fn answer(
    mut stream: TcpStream,
    shared: &Mutex<Shared>,
    writer: &ZoneWriter,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
        head += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    // A run that was out of time hangs up in the middle.
    let Ok(document) = serde_json::from_slice::<Value>(&body) else { return Ok(()) };
    let status = {
        let mut shared = shared.lock().unwrap();
        shared.actions.push(document["request"]["action"].as_str().unwrap().to_owned());
        shared.requests.push(head + &String::from_utf8(body).unwrap());
        shared.status
    };
    if status == 200 {
        obey(writer, &document["request"]);
    }
    write!(stream, "HTTP/1.1 {status} So\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
    stream.shutdown(Shutdown::Write)
}

fn obey(writer: &ZoneWriter, request: &Value) {
    let text = |field: &str| request[field].as_str().unwrap();
    let bare = |field: &str| text(field).trim_end_matches('.').to_owned();
    let record = TxtRecord {
        domain: String::new(),
        name: bare("resolvedFQDN"),
        zone: bare("resolvedZone"),
        value: text("key").to_owned(),
    };
    let effect = match text("action") {
        "Present" => writer.present(&record),
        _ => writer.clean_up(&record),
    };
    effect.now_or_never().unwrap().unwrap();
}
