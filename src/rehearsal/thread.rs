//! A CA on a separate thread, for callers that block, such as tests that run the binary.

use std::io;
use std::ops::Deref;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use super::{Ca, CaHandle, CaOptions, RehearsalError};

/// A running CA with its own thread and runtime. Dropping it stops the CA and joins the thread.
pub struct CaThread {
    handle: CaHandle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl CaThread {
    /// Starts the thread and returns once the CA listens.
    pub fn start(options: CaOptions) -> Result<Self, RehearsalError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(RehearsalError::Thread)?;
        let (stop, stopped) = oneshot::channel();
        let (started, start) = mpsc::channel();
        let run = move || {
            runtime.block_on(async move {
                let ca = match Ca::start(options).await {
                    Ok(ca) => ca,
                    Err(error) => {
                        drop(started.send(Err(error)));
                        return;
                    }
                };
                // The receiver is gone if `start` has failed; then the thread ends.
                if started.send(Ok(ca.handle())).is_ok() {
                    drop(stopped.await);
                }
                ca.shutdown().await;
            });
        };
        let thread = thread::Builder::new()
            .name("rehearsal-ca".into())
            .spawn(run)
            .map_err(RehearsalError::Thread)?;
        let died = |_| RehearsalError::Thread(io::Error::other("the thread ended at once"));
        let handle = start.recv().map_err(died)??;
        Ok(Self { handle, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for CaThread {
    fn drop(&mut self) {
        // Dropping the sender is the signal.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Deref for CaThread {
    type Target = CaHandle;

    fn deref(&self) -> &CaHandle {
        &self.handle
    }
}
