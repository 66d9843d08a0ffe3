//! Answers HTTP-01 from memory and signals when all tokens were requested.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A listener; it stops when dropped.
pub(crate) struct Responder {
    world: Rc<World>,
    task: JoinHandle<()>,
}

struct World {
    thumbprint: RefCell<String>,
    waited_for: RefCell<HashSet<String>>,
    left: watch::Sender<usize>,
}

/// The tokens that were not requested yet.
pub(crate) struct Hits(watch::Receiver<usize>);

impl Hits {
    /// Waits until each token was requested.
    pub(crate) async fn all(&mut self) {
        self.0.wait_for(|left| *left == 0).await.unwrap();
    }
}

impl Responder {
    /// Listens; must be called within a `LocalSet`.
    pub(crate) async fn listen(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let world = Rc::new(World {
            thumbprint: RefCell::default(),
            waited_for: RefCell::default(),
            left: watch::channel(0).0,
        });
        let shared = Rc::clone(&world);
        let task = tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::task::spawn_local(serve(stream, Rc::clone(&shared)));
            }
        });
        Self { world, task }
    }

    /// From now on answers for these tokens.
    pub(crate) fn answer<'a>(
        &self,
        tokens: impl Iterator<Item = &'a String>,
        thumbprint: &str,
    ) -> Hits {
        thumbprint.clone_into(&mut self.world.thumbprint.borrow_mut());
        *self.world.waited_for.borrow_mut() = tokens.cloned().collect();
        self.world.left.send_replace(self.world.waited_for.borrow().len());
        Hits(self.world.left.subscribe())
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, world: Rc<World>) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default();
    let token = path.rsplit('/').next().unwrap_or_default();
    let body = format!("{token}.{}", world.thumbprint.borrow());
    let length = body.len();
    let answer =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    drop(stream.write_all(answer.as_bytes()).await);
    drop(stream.shutdown().await);
    world.waited_for.borrow_mut().remove(token);
    world.left.send_replace(world.waited_for.borrow().len());
}
