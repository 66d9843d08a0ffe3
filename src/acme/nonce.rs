//! The nonces of one CA (RFC 8555 section 6.5), shared by all requests.
//!
//! Each signed request spends a nonce and its answer brings the next, so the nonces circulate. A
//! request that finds the pool empty brings a new one into circulation with newNonce, unless
//! `most` of them (`Limits::nonces`) circulate already: then it waits, first come first served,
//! for the answer of another request. A nonce that gets lost leaves circulation when its [`Held`]
//! is dropped, and the first waiter is sent to newNonce in its place; so somebody who waits never
//! waits for nobody. Nonces are never stored.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::AcmeError;

/// The pool. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct NoncePool {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    /// Nonces nobody holds; the freshest is taken first.
    ready: Vec<String>,
    /// Nonces held, or being fetched.
    out: usize,
    most: usize,
    waiters: VecDeque<oneshot::Sender<Result<Held, AcmeError>>>,
}

/// A place in circulation: a nonce to be spent, or the duty to fetch one.
#[derive(Debug)]
pub(super) struct Held {
    pool: NoncePool,
    nonce: Option<String>,
}

impl NoncePool {
    /// An empty pool in which `most` nonces circulate, at least one.
    pub(super) fn new(most: usize) -> Self {
        let inner =
            Inner { ready: Vec::new(), out: 0, most: most.max(1), waiters: VecDeque::new() };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// A nonce, or the duty to fetch one when [`Held::nonce`] is `None`.
    ///
    /// # Errors
    /// The error of the newNonce request that everybody waited for.
    pub(super) async fn take(&self) -> Result<Held, AcmeError> {
        loop {
            let waiting = {
                let mut inner = self.lock();
                let nonce = inner.ready.pop();
                if nonce.is_some() || inner.out < inner.most {
                    inner.out += 1;
                    return Ok(Held { pool: self.clone(), nonce });
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
        let waiter = {
            let mut inner = self.lock();
            let Some(waiter) = inner.waiters.pop_front() else {
                if inner.ready.len() < MOST_KEPT {
                    inner.ready.push(nonce);
                }
                return;
            };
            inner.out += 1;
            waiter
        };
        if let Err(Ok(mut held)) = waiter.send(Ok(Held { pool: self.clone(), nonce: Some(nonce) }))
        {
            // The waiter has gone away: the nonce is still good.
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

impl Held {
    /// The nonce, unless it must be fetched first.
    pub(super) fn nonce(&self) -> Option<&str> {
        self.nonce.as_deref()
    }

    /// The nonce that was fetched.
    pub(super) fn fill(&mut self, nonce: String) {
        self.nonce = Some(nonce);
    }

    /// The nonce was spent, and this came back.
    pub(super) fn spent(mut self, next: Option<String>) {
        self.nonce = None;
        if let Some(next) = next {
            self.pool.put(next);
        }
    }

    /// The nonce could not be fetched. When no other circulates, all who wait learn why, instead
    /// of asking the same dead CA one after the other.
    pub(super) fn failed(self, error: &AcmeError) {
        let waiters = {
            let mut inner = self.pool.lock();
            if inner.out > 1 { VecDeque::new() } else { std::mem::take(&mut inner.waiters) }
        };
        for waiter in waiters {
            drop(waiter.send(Err(error.clone())));
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let waiter = {
            let mut inner = self.pool.lock();
            inner.out = inner.out.saturating_sub(1);
            if inner.out >= inner.most {
                return;
            }
            let Some(waiter) = inner.waiters.pop_front() else { return };
            inner.out += 1;
            waiter
        };
        // When this waiter has gone away, dropping what comes back serves the next one.
        drop(waiter.send(Ok(Held { pool: self.pool.clone(), nonce: None })));
    }
}

const MOST_KEPT: usize = 64;

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
    fn a_lost_nonce_passes_over_waiters_that_went_away() {
        let pool = NoncePool::new(1);
        let only = now(&pool).unwrap();
        let mut gone = Box::pin(pool.take());
        let mut stays = Box::pin(pool.take());
        assert!(gone.as_mut().now_or_never().is_none());
        assert!(stays.as_mut().now_or_never().is_none());
        drop(gone);
        drop(only);
        assert_eq!(stays.now_or_never().unwrap().unwrap().nonce(), None);
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
    fn a_failed_fetch_is_taken_over_while_another_nonce_circulates() {
        let pool = NoncePool::new(2);
        let (first, _second) = (now(&pool).unwrap(), now(&pool).unwrap());
        let mut waiting = Box::pin(pool.take());
        assert!(waiting.as_mut().now_or_never().is_none());
        first.failed(&error());
        assert_eq!(waiting.now_or_never().unwrap().unwrap().nonce(), None);
    }

    #[test]
    fn when_the_last_fetch_fails_all_who_wait_learn_it() {
        let pool = NoncePool::new(1);
        let only = now(&pool).unwrap();
        let mut waiting = [Box::pin(pool.take()), Box::pin(pool.take())];
        for one in &mut waiting {
            assert!(one.as_mut().now_or_never().is_none());
        }
        only.failed(&error());
        for one in waiting {
            assert_eq!(one.now_or_never().unwrap().unwrap_err(), error());
        }
        assert_eq!(now(&pool).unwrap().nonce(), None, "the next one tries again");
    }

    fn error() -> AcmeError {
        AcmeError::Timeout { url: "https://ca.test/nonce".into() }
    }
}
