//! The pauses between requests that wait for the same thing: the one place that makes them.

use jiff::SignedDuration;

/// A pause that doubles with each request, up to a longest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    first: SignedDuration,
    longest: SignedDuration,
}

impl Pause {
    /// Between two looks at what a server works on.
    pub const POLL: Self =
        Self { first: SignedDuration::from_millis(5), longest: SignedDuration::from_secs(5) };
    /// Between two reads of the authorization of a challenge whose slot, or name, others wait for.
    pub const VERDICT: Self =
        Self { first: SignedDuration::from_secs(1), longest: SignedDuration::from_secs(5) };
    /// Between two "accept" requests of a challenge that the CA left pending.
    pub const ACCEPT: Self =
        Self { first: SignedDuration::from_secs(5), longest: SignedDuration::from_secs(60) };
    /// Between two requests to a DNS service that wait for the same thing.
    pub const SERVICE: Self =
        Self { first: SignedDuration::from_secs(1), longest: SignedDuration::from_secs(5) };
    /// None at all, so that a test is quick.
    #[cfg(test)]
    pub const NONE: Self = Self { first: SignedDuration::ZERO, longest: SignedDuration::ZERO };
    /// Between two tries to deploy: no longer than an hour, so that each hourly run tries.
    pub const DEPLOY: Self =
        Self { first: SignedDuration::from_mins(5), longest: SignedDuration::from_mins(59) };
    /// The longest Retry-After that is waited for within a run.
    pub const LONGEST_WISH: SignedDuration = SignedDuration::from_secs(60);

    /// The pause after `earlier` others of the same kind.
    pub fn length(self, earlier: u32) -> SignedDuration {
        let factor = 1_i32.checked_shl(earlier.min(30)).unwrap_or(i32::MAX);
        self.first.checked_mul(factor).unwrap_or(self.longest).min(self.longest)
    }

    /// The same, and no shorter than the server's Retry-After, of which a run waits for a minute.
    pub fn or_wish(self, earlier: u32, retry_after: Option<SignedDuration>) -> SignedDuration {
        let wish = retry_after.unwrap_or(SignedDuration::ZERO).min(Self::LONGEST_WISH);
        self.length(earlier).max(wish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_up_to_its_longest_and_respects_retry_after_for_a_minute() {
        let millis = |earlier| Pause::POLL.length(earlier).as_millis();
        let found: Vec<i128> = (0..12).map(millis).collect();
        assert_eq!(found, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5000, 5000]);
        assert_eq!(millis(u32::MAX), 5000);
        let polls = (0..26).map(|earlier| Pause::SERVICE.length(earlier).as_secs());
        assert_eq!(polls.sum::<i64>(), 122);
        let wish = |seconds| Pause::POLL.or_wish(0, Some(SignedDuration::from_secs(seconds)));
        assert_eq!([1, 60, 86400].map(wish).map(|wait| wait.as_secs()), [1, 60, 60]);
    }
}
