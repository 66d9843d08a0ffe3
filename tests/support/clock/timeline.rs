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
    /// What the wall clock showed when nothing had passed yet.
    origin: Timestamp,
    passed: SignedDuration,
    /// When so much has passed, the wall clock is put forward by so much.
    jump: Option<(SignedDuration, SignedDuration)>,
    /// By what has passed when they are to be woken.
    sleepers: BTreeMap<u64, (SignedDuration, Waker)>,
    next: u64,
}

impl Inner {
    fn now(&self) -> Timestamp {
        let jumped = self.jump.filter(|(at, _)| self.passed >= *at).map(|(_, by)| by);
        self.origin + self.passed + jumped.unwrap_or_default()
    }
}

impl Timeline {
    pub(crate) fn new(origin: Timestamp) -> Self {
        Self(Rc::new(RefCell::new(Inner {
            origin,
            passed: SignedDuration::ZERO,
            jump: None,
            sleepers: BTreeMap::new(),
            next: 0,
        })))
    }

    /// How much has really passed.
    pub(crate) fn passed(&self) -> SignedDuration {
        self.0.borrow().passed
    }

    /// Lets time pass between two runs, until the clock shows this.
    pub(crate) fn set(&self, now: Timestamp) {
        let mut inner = self.0.borrow_mut();
        let wait = inner.now().duration_until(now);
        inner.passed += wait;
    }

    /// Whether it jumps: what is waited for then has another time on it.
    pub(crate) fn jumps(&self) -> bool {
        self.0.borrow().jump.is_some()
    }

    /// The wall clock is set forward by `by`, or back, after a while.
    pub(crate) fn jump(&self, after: SignedDuration, by: SignedDuration) {
        let mut inner = self.0.borrow_mut();
        inner.jump = Some((inner.passed + after, by));
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

    /// Moves to the next time that a task waits for.
    fn pass(&self) -> bool {
        let mut inner = self.0.borrow_mut();
        let Some(next) = inner.sleepers.values().map(|(at, _)| *at).min() else { return false };
        inner.passed = inner.passed.max(next);
        // Who stands still does not take note: the others go on.
        inner.sleepers.retain(|_, (at, waker)| {
            let goes_on = *at > next;
            if !goes_on {
                waker.wake_by_ref();
            }
            goes_on
        });
        true
    }
}

impl Clock for Timeline {
    fn now(&self) -> Timestamp {
        self.0.borrow().now()
    }

    fn sleep(&self, duration: SignedDuration) -> impl Future<Output = ()> {
        let mut inner = self.0.borrow_mut();
        inner.next += 1;
        let at = inner.passed.saturating_add(duration);
        Sleep { timeline: self.clone(), at, id: inner.next }
    }
}

struct Sleep {
    timeline: Timeline,
    at: SignedDuration,
    id: u64,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.timeline.0.borrow_mut();
        if inner.passed >= self.at {
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
