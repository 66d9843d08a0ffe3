//! Time that passes when nothing else can happen, and a loop that notices when nothing ever will.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use certctl::engine::ports::Clock;
use jiff::{SignedDuration, Timestamp};

/// More turns than any run of these tests takes.
const TURNS: usize = 20_000;

/// A clock that is moved on by [`Timeline::run`] alone.
#[derive(Clone)]
pub(crate) struct Timeline(Rc<RefCell<Inner>>);

struct Inner {
    now: Timestamp,
    sleepers: BTreeMap<u64, (Timestamp, Waker)>,
    next: u64,
}

impl Timeline {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self(Rc::new(RefCell::new(Inner { now, sleepers: BTreeMap::new(), next: 0 })))
    }

    pub(crate) fn set(&self, now: Timestamp) {
        self.0.borrow_mut().now = now;
    }

    /// Runs a future to its end, or until `dead` says that its process is killed. Time passes
    /// only when the future waits and nothing but time can wake it.
    pub(crate) fn run<T>(
        &self,
        dead: impl Fn() -> bool,
        future: impl Future<Output = T>,
    ) -> Option<T> {
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&woken));
        let mut future = pin!(future);
        for _ in 0..TURNS {
            while woken.0.swap(false, Ordering::Relaxed) {
                let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
                if dead() {
                    return None;
                }
                if let Poll::Ready(value) = polled {
                    return Some(value);
                }
            }
            assert!(self.pass(), "it waits for something that never happens");
        }
        panic!("it goes on for ever");
    }

    /// Moves to the next moment that somebody waits for.
    fn pass(&self) -> bool {
        let mut inner = self.0.borrow_mut();
        let Some(next) = inner.sleepers.values().map(|(at, _)| *at).min() else { return false };
        inner.now = inner.now.max(next);
        for (at, waker) in inner.sleepers.values() {
            if *at <= next {
                waker.wake_by_ref();
            }
        }
        true
    }
}

impl Clock for Timeline {
    fn now(&self) -> Timestamp {
        self.0.borrow().now
    }

    fn sleep(&self, duration: SignedDuration) -> impl Future<Output = ()> {
        let mut inner = self.0.borrow_mut();
        inner.next += 1;
        let at = inner.now.checked_add(duration).unwrap_or(Timestamp::MAX);
        Sleep { timeline: self.clone(), at, id: inner.next }
    }
}

struct Sleep {
    timeline: Timeline,
    at: Timestamp,
    id: u64,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.timeline.0.borrow_mut();
        if inner.now >= self.at {
            return Poll::Ready(());
        }
        inner.sleepers.insert(self.id, (self.at, context.waker().clone()));
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.timeline.0.borrow_mut().sleepers.remove(&self.id);
    }
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}
