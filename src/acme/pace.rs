//! How many requests a CA takes that limits their rate.
//!
//! After a refusal (429 with a Retry-After) nothing is sent for as long as the CA asks. From then on no
//! more is sent within such a time than it took before it refused: a CA of 20 requests a second gets 20
//! in each, and refuses few. What was learned is forgotten in a while: the CA may have more room then.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When the last requests were sent that were not refused.
    sent: VecDeque<Instant>,
    /// When the last one was sent that was.
    refused: Option<Instant>,
    /// Until when the CA wants no request.
    paused_until: Option<Instant>,
    learned: Option<Learned>,
}

/// So many requests within so long.
#[derive(Clone, Copy, Debug)]
struct Learned {
    most: usize,
    within: Duration,
    /// When it is forgotten.
    until: Instant,
}

impl Pace {
    /// Until when the next request has to wait; `None` when it may be sent.
    pub(super) fn wait(&self, now: Instant) -> Option<Instant> {
        let full = self.learned.filter(|learned| now < learned.until).and_then(|learned| {
            let first = self.sent.len().checked_sub(learned.most)?;
            self.sent.get(first)?.checked_add(learned.within)
        });
        self.paused_until.max(full).filter(|until| *until > now)
    }

    /// A request is sent.
    pub(super) fn send(&mut self, now: Instant) {
        if self.sent.len() >= MOST {
            self.sent.pop_front();
        }
        self.sent.push_back(now);
    }

    /// The request that was sent then was refused: the CA does not count it.
    pub(super) fn refuse(&mut self, sent: Instant) {
        if let Some(place) = self.sent.iter().position(|at| *at == sent) {
            self.sent.remove(place);
        }
        self.refused = Some(sent);
    }

    /// The CA, which has just refused a request, wants none for this long.
    pub(super) fn pause(&mut self, wish: Duration, now: Instant) {
        self.paused_until = self.paused_until.max(now.checked_add(wish));
        // What is sent later than another one may arrive sooner after it.
        let within = wish.saturating_add(wish / 20);
        let refused = self.refused.unwrap_or(now);
        let counts = |at: &&Instant| refused.saturating_duration_since(**at) < within;
        let taken = self.sent.iter().rev().take_while(counts).count();
        let before = self.learned.filter(|before| now < before.until && before.within == within);
        let most = before.map_or(taken, |before| before.most.min(taken));
        let until = now.checked_add(REMEMBERED).filter(|_| most >= LEAST);
        self.learned = until.map(|until| Learned { most, within, until });
    }
}

/// How many requests are remembered. A CA that takes more has no rate that a run could reach.
const MOST: usize = 1024;
/// Of fewer nothing is learned: the CA counts otherwise.
const LEAST: usize = 5;
/// How long what was learned is believed.
const REMEMBERED: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// A CA that takes 20 requests a second, and eight that send one after the other, in a time of their
    /// own. Each answer takes so long. Returns how long so many requests took, and how many were
    /// refused.
    fn run(requests: usize, latency: Duration) -> (Duration, usize) {
        let begun = Instant::now();
        let (mut pace, mut taken, mut refusals) = (Pace::default(), Vec::new(), 0);
        // Of each sender, when its request was sent, when the answer comes, and whether that is 429.
        let mut senders: [Option<(Instant, Instant, bool)>; 8] = [None; 8];
        let (mut now, mut answers) = (begun, 0);
        while answers < requests {
            for sender in &mut senders {
                if sender.is_none() && pace.wait(now).is_none() {
                    taken.retain(|at| now.duration_since(*at) < SECOND);
                    let is_refused = taken.len() >= 20;
                    if !is_refused {
                        taken.push(now);
                    }
                    pace.send(now);
                    *sender = Some((now, now + latency, is_refused));
                }
            }
            let answer = senders.iter().flatten().map(|(_, at, _)| *at).min();
            now = answer.into_iter().chain(pace.wait(now)).min().unwrap();
            for sender in &mut senders {
                let Some((sent, _, is_refused)) = sender.take_if(|(_, at, _)| *at <= now) else {
                    continue;
                };
                if is_refused {
                    refusals += 1;
                    pace.refuse(sent);
                    pace.pause(SECOND, now);
                } else {
                    answers += 1;
                }
            }
        }
        (now - begun, refusals)
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_ca_of_20_requests_a_second_gets_nearly_20_in_each() {
        for millis in [2, 20, 80, 300] {
            let (took, refusals) = run(400, Duration::from_millis(millis));
            let ideal = Duration::from_secs(20);
            assert!(ideal >= took.mul_f64(0.9), "{millis} ms: {took:?}, {refusals} refused");
            assert!(refusals <= 8, "{millis} ms: {refusals} refused");
        }
    }

    #[test]
    fn what_a_ca_takes_is_learned_from_each_refusal_and_forgotten() {
        let (now, mut pace) = (Instant::now(), Pace::default());
        let send = |pace: &mut Pace, times, at| (0..times).for_each(|_| pace.send(at));
        send(&mut pace, 6, now);
        assert_eq!(pace.wait(now), None);
        pace.refuse(now);
        pace.pause(SECOND, now);
        assert_eq!(pace.wait(now), Some(now + SECOND + SECOND / 20));
        let then = now + SECOND * 2;
        send(&mut pace, 4, then);
        assert_eq!(pace.wait(then), None);
        send(&mut pace, 1, then);
        assert_eq!(pace.wait(then), Some(then + SECOND + SECOND / 20));
        assert_eq!(pace.wait(now + REMEMBERED), None);
        // Of a CA that took nothing lately, nothing is learned.
        let later = then + SECOND * 3;
        send(&mut pace, 1, later);
        pace.refuse(later);
        pace.pause(SECOND, later);
        assert_eq!(pace.wait(later + SECOND), None);
    }
}
