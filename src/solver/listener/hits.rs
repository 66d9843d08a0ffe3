//! Hits: how often, and when last, an external client fetched a presented token.
//!
//! A hit suggests that the CA has validated, so that the engine polls the authorization at once; it
//! never decides anything. Requests with [`SELF_CHECK_HEADER`](crate::resource::SELF_CHECK_HEADER)
//! are not hits.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::sync::watch;

use crate::resource::Token;

/// The fetches of one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// How many there were.
    pub count: u64,
    /// When the last one was answered.
    pub last: Timestamp,
}

/// The counts of all listeners of this process. Clones share them.
#[derive(Clone)]
pub struct Hits(Arc<Inner>);

struct Inner {
    now: Box<dyn Fn() -> Timestamp + Send + Sync>,
    by_token: Mutex<BTreeMap<String, Hit>>,
    total: watch::Sender<u64>,
}

impl Hits {
    /// No hits yet; `now` is read once per hit.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner {
            now: Box::new(now),
            by_token: Mutex::new(BTreeMap::new()),
            total: watch::Sender::new(0),
        }))
    }

    /// The fetches of `token`; `None` when there was none.
    pub fn of(&self, token: &Token) -> Option<Hit> {
        self.by_token().get(token.as_str()).copied()
    }

    /// Fetches of all tokens since the start: the argument for [`Self::beyond`].
    pub fn total(&self) -> u64 {
        *self.0.total.borrow()
    }

    /// Waits until the number of fetches exceeds `seen`, and returns it. A fetch between the
    /// reading of `seen` and this call is not missed.
    pub async fn beyond(&self, seen: u64) -> u64 {
        let mut total = self.0.total.subscribe();
        // The sender lives in `self`, so waiting cannot end in an error.
        total.wait_for(|total| *total > seen).await.map_or(seen, |total| *total)
    }

    /// Forgets `token`, whose challenge is over.
    pub fn forget(&self, token: &Token) {
        self.by_token().remove(token.as_str());
    }

    pub(in crate::solver) fn record(&self, token: &Token) {
        let last = (self.0.now)();
        self.by_token()
            .entry(token.to_string())
            .and_modify(|hit| *hit = Hit { count: hit.count.saturating_add(1), last })
            .or_insert(Hit { count: 1, last });
        self.0.total.send_modify(|total| *total = total.saturating_add(1));
    }

    fn by_token(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Hit>> {
        self.0.by_token.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Hits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hits").field(&*self.by_token()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    #[tokio::test]
    async fn hits_are_counted_with_the_injected_time_and_wake_who_waits() {
        let seconds = Arc::new(AtomicI64::new(100));
        let clock = Arc::clone(&seconds);
        let hits = Hits::new(move || {
            Timestamp::from_second(clock.fetch_add(1, Ordering::Relaxed)).unwrap()
        });
        let token: Token = "tok".parse().unwrap();
        assert_eq!(hits.of(&token), None);
        let waiting = tokio::spawn({
            let hits = hits.clone();
            async move { hits.beyond(0).await }
        });
        hits.record(&token);
        assert_eq!(waiting.await.unwrap(), 1);
        hits.record(&token);
        assert_eq!(hits.beyond(1).await, 2);
        let last = Timestamp::from_second(101).unwrap();
        assert_eq!(hits.of(&token), Some(Hit { count: 2, last }));
        hits.forget(&token);
        assert_eq!(hits.of(&token), None);
        assert_eq!(hits.total(), 2);
    }
}
