//! The nonces of one CA (RFC 8555 section 6.5), shared by all requests.
//!
//! Each signed request spends a nonce and its answer brings the next, so the nonces circulate. A
//! request that finds the pool empty adds a new one with newNonce, unless `most` of them
//! (`Limits::nonces`) circulate already: then it waits, first come first served, for the answer to
//! another request. A nonce that gets lost leaves circulation when its [`Held`] is dropped, and the
//! first waiter calls newNonce in its place. When newNonce fails and no nonce circulates, all
//! waiters fail with it. So no request waits forever, and the waiters do not query a dead CA one
//! after the other. Nonces are never stored.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::error::AcmeError;

/// The pool. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct NoncePool {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Free nonces; the freshest is taken first.
    ready: Vec<String>,
    /// Nonces held, or being fetched.
    out: usize,
    /// The number of them that are being fetched.
    fetching: usize,
    most: usize,
    waiters: VecDeque<oneshot::Sender<Result<Held, AcmeError>>>,
}

/// A place in circulation: a nonce to spend, or the obligation to fetch one.
#[derive(Debug)]
pub(super) struct Held {
    pool: NoncePool,
    nonce: Option<String>,
    place: Place,
}

/// The counter that a [`Held`] belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Nonce,
    Fetch,
    Nothing,
}

impl NoncePool {
    /// An empty pool in which `most` nonces circulate, at least one.
    pub(super) fn new(most: usize) -> Self {
        let inner = Inner { most: most.max(1), ..Inner::default() };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// A nonce; when [`Held::nonce`] is `None`, the caller must fetch one.
    ///
    /// # Errors
    /// The error of the newNonce request that all waiters share.
    pub(super) async fn take(&self) -> Result<Held, AcmeError> {
        loop {
            let waiting = {
                let mut inner = self.lock();
                let nonce = inner.ready.pop();
                if nonce.is_some() || inner.out < inner.most {
                    return Ok(inner.hold(self, nonce));
                }
                let (sender, receiver) = oneshot::channel();
                inner.waiters.push_back(sender);
                receiver
            };
            if let Ok(held) = waiting.await {
                return held;
            }
        }
    }

    /// Puts a nonce into circulation, for the first waiter or for later.
    pub(super) fn put(&self, nonce: String) {
        let (waiter, held) = {
            let mut inner = self.lock();
            let Some(waiter) = inner.waiters.pop_front() else {
                if inner.ready.len() < MOST_READY {
                    inner.ready.push(nonce);
                }
                return;
            };
            (waiter, inner.hold(self, Some(nonce)))
        };
        if let Err(Ok(mut held)) = waiter.send(Ok(held)) {
            // The waiter was dropped: the nonce is still valid.
            if let Some(nonce) = held.nonce.take() {
                self.put(nonce);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // No step between lock and unlock can panic half way through a change.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn hold(&mut self, pool: &NoncePool, nonce: Option<String>) -> Held {
        self.out += 1;
        let place = if nonce.is_some() { Place::Nonce } else { Place::Fetch };
        if place == Place::Fetch {
            self.fetching += 1;
        }
        Held { pool: pool.clone(), nonce, place }
    }

    fn release(&mut self, place: Place) {
        match place {
            Place::Nonce => self.out = self.out.saturating_sub(1),
            Place::Fetch => {
                self.out = self.out.saturating_sub(1);
                self.fetching = self.fetching.saturating_sub(1);
            }
            Place::Nothing => {}
        }
    }
}

impl Held {
    /// The nonce, unless it must be fetched first.
    pub(super) fn nonce(&self) -> Option<&str> {
        self.nonce.as_deref()
    }

    /// The nonce that was fetched.
    pub(super) fn fill(&mut self, nonce: String) {
        self.nonce = Some(nonce);
        if self.place == Place::Fetch {
            self.place = Place::Nonce;
            let mut inner = self.pool.lock();
            inner.fetching = inner.fetching.saturating_sub(1);
        }
    }

    /// The request spent the nonce, and its answer brought this one.
    pub(super) fn spent(mut self, next: Option<String>) {
        self.nonce = None;
        if let Some(next) = next {
            self.pool.put(next);
        }
    }

    /// The nonce could not be fetched. When no other circulates, all waiters receive the error;
    /// else they continue to wait for that one.
    pub(super) fn failed(mut self, error: &AcmeError) {
        let waiters = {
            let mut inner = self.pool.lock();
            inner.release(self.place);
            let circulating = inner.out > inner.fetching;
            if circulating { VecDeque::new() } else { std::mem::take(&mut inner.waiters) }
        };
        self.place = Place::Nothing;
        for waiter in waiters {
            drop(waiter.send(Err(error.clone())));
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.place == Place::Nothing {
            return;
        }
        let (waiter, held) = {
            let mut inner = self.pool.lock();
            inner.release(self.place);
            if inner.out >= inner.most {
                return;
            }
            let Some(waiter) = inner.waiters.pop_front() else { return };
            (waiter, inner.hold(&self.pool, None))
        };
        // If this waiter was dropped, dropping the result serves the next one.
        drop(waiter.send(Ok(held)));
    }
}

const MOST_READY: usize = 64;

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn now(pool: &NoncePool) -> Option<Held> {
        pool.take().now_or_never().map(Result::unwrap)
    }

    #[test]
    fn two_are_fetched_and_the_third_waits_for_an_answer() {
        let pool = NoncePool::new(2);
        let mut first = now(&pool).unwrap();
        let second = now(&pool).unwrap();
        assert_eq!((first.nonce(), second.nonce()), (None, None));
        let mut third = Box::pin(pool.take());
        let mut fourth = Box::pin(pool.take());
        assert!(third.as_mut().now_or_never().is_none());
        assert!(fourth.as_mut().now_or_never().is_none());
        first.fill("a".into());
        first.spent(Some("b".into()));
        let third = third.now_or_never().unwrap().unwrap();
        assert_eq!(third.nonce(), Some("b"));
        assert!(fourth.as_mut().now_or_never().is_none());
        drop(second);
        assert_eq!(fourth.now_or_never().unwrap().unwrap().nonce(), None);
    }

    #[test]
    fn a_nonce_is_spent_once_also_when_its_answer_brings_none() {
        let pool = NoncePool::new(1);
        let mut only = now(&pool).unwrap();
        only.fill("a".into());
        let mut waiting = Box::pin(pool.take());
        assert!(waiting.as_mut().now_or_never().is_none());
        only.spent(None);
        let mut next = waiting.now_or_never().unwrap().unwrap();
        assert_eq!(next.nonce(), None, "another one is fetched");
        next.fill("b".into());
        next.spent(None);
        assert_eq!(now(&pool).unwrap().nonce(), None);
    }

    #[test]
    fn a_lost_nonce_passes_over_waiters_that_went_away() {
        let pool = NoncePool::new(1);
        let only = now(&pool).unwrap();
        let mut gone = Box::pin(pool.take());
        let mut stays = Box::pin(pool.take());
        assert!(gone.as_mut().now_or_never().is_none());
        assert!(stays.as_mut().now_or_never().is_none());
        drop(gone);
        drop(only);
        let taken_over = stays.now_or_never().unwrap().unwrap();
        assert_eq!(taken_over.nonce(), None);
        assert!(now(&pool).is_none(), "the place in circulation is taken");
        drop(taken_over);
        assert_eq!(now(&pool).unwrap().nonce(), None);
    }

    #[test]
    fn a_nonce_for_a_waiter_that_went_away_is_kept() {
        let pool = NoncePool::new(1);
        let only = now(&pool).unwrap();
        let mut gone = Box::pin(pool.take());
        assert!(gone.as_mut().now_or_never().is_none());
        drop(gone);
        only.spent(Some("a".into()));
        assert_eq!(now(&pool).unwrap().nonce(), Some("a"));
    }

    #[test]
    fn who_waits_goes_on_waiting_while_a_nonce_circulates() {
        let pool = NoncePool::new(2);
        let (mut first, second) = (now(&pool).unwrap(), now(&pool).unwrap());
        first.fill("a".into());
        let mut waiting = Box::pin(pool.take());
        assert!(waiting.as_mut().now_or_never().is_none());
        second.failed(&error());
        assert!(waiting.as_mut().now_or_never().is_none());
        first.spent(Some("b".into()));
        assert_eq!(waiting.now_or_never().unwrap().unwrap().nonce(), Some("b"));
    }

    #[test]
    fn without_a_nonce_all_who_wait_learn_of_the_first_failure() {
        let pool = NoncePool::new(2);
        let (one, _other) = (now(&pool).unwrap(), now(&pool).unwrap());
        let mut waiting = [Box::pin(pool.take()), Box::pin(pool.take())];
        for each in &mut waiting {
            assert!(each.as_mut().now_or_never().is_none());
        }
        one.failed(&error());
        for each in waiting {
            assert_eq!(each.now_or_never().unwrap().unwrap_err(), error());
        }
        assert_eq!(now(&pool).unwrap().nonce(), None, "the next one tries again");
    }

    fn error() -> AcmeError {
        let limit = std::time::Duration::from_secs(1);
        AcmeError::Timeout { url: "https://ca.test/nonce".into(), limit }
    }
}
