//! A credential that expires, cached for the requests until a minute before its expiry.

use std::cell::RefCell;
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};

/// A cached credential.
pub(super) struct Cached<T>(RefCell<Option<(Rc<T>, Timestamp)>>);

impl<T> Cached<T> {
    /// An empty cache.
    pub(super) fn nothing() -> Self {
        Self(RefCell::new(None))
    }

    /// The cached credential, if it is valid for at least another minute.
    pub(super) fn at(&self, now: Timestamp) -> Option<Rc<T>> {
        let cached = self.0.borrow();
        let (value, until) = cached.as_ref()?;
        (until.duration_since(now) > MARGIN).then(|| Rc::clone(value))
    }

    /// Replaces the cached credential.
    pub(super) fn keep(&self, value: T, until: Timestamp) -> Rc<T> {
        let value = Rc::new(value);
        *self.0.borrow_mut() = Some((Rc::clone(&value), until));
        value
    }
}

const MARGIN: SignedDuration = SignedDuration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_kept_until_a_minute_before_its_end() {
        let cached = Cached::nothing();
        let start = Timestamp::UNIX_EPOCH;
        let later = |seconds| start + SignedDuration::from_secs(seconds);
        assert_eq!(cached.at(start), None);
        assert_eq!(*cached.keep("token", later(3600)), "token");
        assert_eq!(cached.at(later(3539)).as_deref(), Some(&"token"));
        assert_eq!(cached.at(later(3540)), None);
    }
}
