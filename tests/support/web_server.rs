//! A web server that serves a folder, as those do that have port 80 already.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use socket2::{Domain, Socket, Type};

use super::Port;

/// What takes connections on the port, and answers none.
pub(crate) fn silent_server(port: &Port) -> TcpListener {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.bind(&port.address().into()).unwrap();
    socket.listen(16).unwrap();
    socket.into()
}

/// Stops when it is dropped.
pub(crate) struct WebServer {
    address: SocketAddr,
    served: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl WebServer {
    /// Serves the files below `folder` on the port.
    pub(crate) fn start(port: &Port, folder: &Path) -> Self {
        let listener = silent_server(port);
        let served = Arc::new(AtomicUsize::new(0));
        let over = Arc::new(AtomicBool::new(false));
        let (folder, count, end) = (folder.to_owned(), Arc::clone(&served), Arc::clone(&over));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if end.load(Ordering::Relaxed) {
                    return;
                }
                if stream.and_then(|stream| answer(stream, &folder)).is_ok_and(|found| found) {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Self { address: port.address(), served, over, thread: Some(thread) }
    }

    /// How many files were handed out.
    pub(crate) fn served(&self) -> usize {
        self.served.load(Ordering::Relaxed)
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address));
        self.thread.take().map(JoinHandle::join);
    }
}

/// Answers one request; whether there was such a file.
fn answer(mut stream: TcpStream, folder: &Path) -> std::io::Result<bool> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = first.split(' ').nth(1).unwrap_or("/").trim_start_matches('/');
    let file: PathBuf = folder.join(path);
    let body = std::fs::read(file);
    let (status, body) = match &body {
        Ok(body) => ("200 OK", body.as_slice()),
        Err(_) => ("404 Not Found", b"nothing here\n".as_slice()),
    };
    let length = body.len();
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")?;
    stream.write_all(body)?;
    stream.shutdown(Shutdown::Write)?;
    Ok(status.starts_with("200"))
}
