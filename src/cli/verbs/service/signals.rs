//! The signals of `run`.

use std::io;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

/// Request of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requested {
    /// To end, and to pass this on.
    Stop(Signal),
    /// A run now.
    Run,
}

impl Requested {
    pub(super) fn signal(self) -> Signal {
        match self {
            Self::Stop(signal) => signal,
            Self::Run => Signal::HUP,
        }
    }
}

/// The handlers, which stay until the process ends.
#[derive(Debug)]
pub(super) struct Signals {
    terminate: unix::Signal,
    interrupt: unix::Signal,
    hangup: unix::Signal,
    /// True if a run was asked for during one.
    pub(super) is_pending: bool,
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: unix::signal(SignalKind::terminate())?,
            interrupt: unix::signal(SignalKind::interrupt())?,
            hangup: unix::signal(SignalKind::hangup())?,
            is_pending: false,
        })
    }

    /// Waits for the next signal.
    pub(super) async fn next(&mut self) -> Requested {
        tokio::select! {
            _ = self.terminate.recv() => Requested::Stop(Signal::TERM),
            _ = self.interrupt.recv() => Requested::Stop(Signal::INT),
            _ = self.hangup.recv() => Requested::Run,
        }
    }
}
