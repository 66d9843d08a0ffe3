//! SIGHUP, SIGINT and SIGTERM: what they do during a run, a check, and after them.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::SIGXFSZ;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::engine::kill_stopped_programs;

const HANGUP: i32 = 1;
const INTERRUPT: i32 = 2;
const TERMINATE: i32 = 15;

/// True if a signal has its usual effect, which is to end the process. The handlers of tokio stay
/// once they are set, and a signal would have no effect after the run.
static IS_USUAL: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let is_usual = Arc::new(AtomicBool::new(false));
    for number in [HANGUP, INTERRUPT, TERMINATE] {
        let registered =
            signal_hook::flag::register_conditional_default(number, Arc::clone(&is_usual));
        if let Err(error) = registered {
            tracing::debug!(number, %error, "a signal has no effect after the run");
        }
    }
    is_usual
});

/// Has a write beyond the limit of a file's size (`ulimit -f`) fail, as on a full disk, instead of
/// ending this process. Programs that it starts are ended, as usual: handlers do not outlive an exec.
pub(super) fn survive_size_limit() {
    let registered = signal_hook::flag::register(SIGXFSZ, Arc::default());
    if let Err(error) = registered {
        tracing::debug!(%error, "a write beyond the limit of a file's size ends the process");
    }
}

/// Takes the signals until this is dropped: the first is for who waits for it, the second ends the
/// process.
pub(super) struct Signals {
    /// The number of the first.
    pub(super) first: watch::Receiver<Option<i32>>,
    watching: Option<JoinHandle<()>>,
}

impl Signals {
    /// Takes the signals from here on; within a runtime.
    pub(super) fn take() -> Self {
        let (sender, first) = watch::channel(None);
        let kinds = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()];
        let [Ok(hangup), Ok(interrupt), Ok(terminate)] = kinds.map(signal) else {
            return Self { first, watching: None };
        };
        IS_USUAL.store(false, Ordering::SeqCst);
        let watching = tokio::spawn(watch(sender, hangup, interrupt, terminate));
        Self { first, watching: Some(watching) }
    }

    /// Waits for the first.
    async fn first(&mut self) -> i32 {
        let number = self.first.wait_for(Option::is_some).await.ok().and_then(|number| *number);
        match number {
            Some(number) => number,
            // Nothing watches.
            None => std::future::pending().await,
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        if let Some(watching) = &self.watching {
            watching.abort();
            IS_USUAL.store(true, Ordering::SeqCst);
        }
    }
}

/// Tells the first signal; the second ends the process.
async fn watch(
    sender: watch::Sender<Option<i32>>,
    mut hangup: Signal,
    mut interrupt: Signal,
    mut terminate: Signal,
) {
    loop {
        let number = tokio::select! {
            _ = hangup.recv() => HANGUP,
            _ = interrupt.recv() => INTERRUPT,
            _ = terminate.recv() => TERMINATE,
        };
        if sender.borrow().is_some() {
            kill_stopped_programs();
            std::process::exit(128 + number);
        }
        sender.send_replace(Some(number));
    }
}

/// Awaits what can end at any time without loss; `None` when a signal ended it.
pub(super) async fn unless_signalled<T>(task: impl Future<Output = T>) -> Option<T> {
    let mut signals = Signals::take();
    tokio::select! {
        done = task => Some(done),
        _ = signals.first() => None,
    }
}

/// Awaits what takes back, where it is dropped, all that it has put in place: a signal ends the process
/// after that.
pub(super) async fn cleaned_up_at_signal<T>(task: impl Future<Output = T>) -> T {
    let mut signals = Signals::take();
    let number = {
        let mut task = pin!(task);
        tokio::select! {
            done = &mut task => return done,
            number = signals.first() => number,
        }
    };
    if let Err(error) = signal_hook::low_level::emulate_default_handler(number) {
        tracing::debug!(number, %error, "a signal does not end the process");
    }
    std::process::exit(128 + number);
}
