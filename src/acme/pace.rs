//! How many requests a CA takes within a time, as its refusals show it.
//!
//! Contract: a refusal is 429 with Retry-After (RFC 8555 section 6.6, RFC 6585 section 4). One alone
//! delays its own request. When the next answer is one too, nothing is sent until their time is over,
//! and from then on no more within such a time than the CA took in the last one: a little more after
//! each half a minute without a refusal. A Retry-After that no run waits for is a quota, of which the
//! other requests may be no part: it holds nothing back.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::resource::Pause;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When requests were sent: those of the last while that were taken, and those in flight.
    sent: VecDeque<Instant>,
    in_flight: usize,
    /// Whether the last answer was a refusal.
    was_refused: bool,
    paused_until: Option<Instant>,
    rate: Option<Rate>,
}

/// So many requests within so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rate {
    most: usize,
    within: Duration,
    /// When it was changed.
    since: Instant,
}

/// Until when a request has to wait.
pub(super) type Turn = Result<(), Instant>;

impl Pace {
    /// Notes that a request is sent now, unless it has to wait.
    pub(super) fn turn(&mut self, now: Instant) -> Turn {
        if let Some(until) = self.paused_until.filter(|until| *until > now) {
            return Err(until);
        }
        if let Some(rate) = &mut self.rate {
            if now.duration_since(rate.since) > PROBED {
                *rate = Rate { most: rate.most + rate.most / 4 + 1, since: now, ..*rate };
            }
            let first = self.sent.len().checked_sub(rate.most).and_then(|at| self.sent.get(at));
            if let Some(free) = first.map(|first| *first + rate.within).filter(|free| *free > now) {
                return Err(free);
            }
        }
        self.sent.retain(|at| now.duration_since(*at) < LONGEST);
        self.sent.push_back(now);
        self.in_flight += 1;
        Ok(())
    }

    /// Notes the answer to the request that was sent then: the Retry-After of a refusal.
    pub(super) fn settled(&mut self, sent: Instant, refusal: Option<Duration>, now: Instant) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let Some(wish) = refusal.filter(|wish| *wish <= Pause::LONGEST_WISH.unsigned_abs()) else {
            self.was_refused = false;
            return;
        };
        if let Some(place) = self.sent.iter().position(|at| *at == sent) {
            self.sent.remove(place);
        }
        if !std::mem::replace(&mut self.was_refused, true) {
            return;
        }
        self.paused_until = self.paused_until.max(now.checked_add(wish));
        let since = |at: &&Instant| now.duration_since(**at) < wish;
        let taken = self.sent.iter().filter(since).count().saturating_sub(self.in_flight);
        if wish <= LONGEST && taken >= LEAST {
            self.rate = Some(Rate { most: taken, within: wish + wish / SLACK, since: now });
        }
    }
}

/// The longest Retry-After that tells a rate, and not the end of a quota.
const LONGEST: Duration = Duration::from_secs(10);
/// The fewest requests that tell one: no more than these are in flight when a run begins.
const LEAST: usize = 4;
/// How long a rate holds before a little more is tried.
const PROBED: Duration = Duration::from_secs(30);
/// The part of the time that is added, since requests do not all take as long to arrive.
const SLACK: u32 = 40;

#[cfg(test)]
mod tests {
    use super::*;

    /// A CA of so many requests a second, over which requests go, each in this many milliseconds.
    struct Ca {
        most: usize,
        taken: VecDeque<Instant>,
    }

    impl Ca {
        fn refusal(&mut self, now: Instant) -> Option<Duration> {
            self.taken.retain(|at| now.duration_since(*at) < SECOND);
            if self.taken.len() >= self.most {
                return Some(SECOND);
            }
            self.taken.push_back(now);
            None
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    /// What was taken and refused in so many seconds, eight requests at once, each refused one
    /// repeated.
    fn over(seconds: u64, mut refusal: impl FnMut(Instant) -> Option<Duration>) -> (usize, usize) {
        let begun = Instant::now();
        let (mut pace, mut now, end) =
            (Pace::default(), begun, begun + Duration::from_secs(seconds));
        let (mut taken, mut refused) = (0, 0);
        // When each of the senders is free.
        let mut free = [begun; 8];
        while now < end {
            for sender in &mut free {
                if *sender > now {
                    continue;
                }
                if let Err(until) = pace.turn(now) {
                    *sender = until;
                    continue;
                }
                let found = refusal(now);
                let at = now + Duration::from_millis(10);
                pace.settled(now, found, at);
                *sender = found.map_or(at, |wish| at + wish);
                if found.is_some() { refused += 1 } else { taken += 1 }
            }
            now += Duration::from_millis(1);
        }
        (taken, refused)
    }

    #[test]
    fn a_ca_of_few_requests_a_second_gets_nearly_so_many() {
        for most in [4, 20, 100] {
            let mut ca = Ca { most, taken: VecDeque::new() };
            let (taken, refused) = over(60, |now| ca.refusal(now));
            assert!(taken * 10 >= most * 60 * 9, "{most}: {taken}");
            assert!(refused * 20 <= taken, "{most}: {refused} refused");
        }
    }

    #[test]
    fn a_refusal_alone_delays_no_other_request() {
        let mut requests = 0;
        let (all, _) = over(10, |_| None);
        let (taken, refused) = over(10, |_| {
            requests += 1;
            [50, 200, 400].contains(&requests).then_some(SECOND)
        });
        assert_eq!(refused, 3);
        assert!(taken * 20 >= all * 19, "{taken} of {all}");
    }

    #[test]
    fn two_refusals_hold_everything_back_for_their_time() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        let long = Duration::from_mins(1);
        for _ in 0..2 {
            assert_eq!(pace.turn(now), Ok(()));
        }
        pace.settled(now, Some(long), now);
        assert_eq!(pace.turn(now), Ok(()));
        pace.settled(now, Some(long), now);
        assert_eq!(pace.turn(now), Err(now + long));
        assert_eq!(pace.turn(now + long), Ok(()));
        assert_eq!(pace.rate, None);
    }

    #[test]
    fn a_quota_holds_nothing_back() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        for _ in 0..3 {
            assert_eq!(pace.turn(now), Ok(()));
            pace.settled(now, Some(Duration::from_hours(2)), now);
        }
        assert_eq!(pace.turn(now), Ok(()));
    }
}
