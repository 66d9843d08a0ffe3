//! Host-specific values, so that not all hosts run at the same time.

use std::fs;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use jiff::SignedDuration;

use crate::engine::ports::Clock;
use crate::resource::GoDuration;

/// A number of this host's own, the same for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Host(u64);

impl Host {
    /// Reads the identity of this machine: its machine-id, or else its name.
    pub(crate) fn here() -> Self {
        let id = ["/etc/machine-id", "/var/lib/dbus/machine-id"];
        let id = id.iter().find_map(|path| fs::read(path).ok().filter(|id| !id.is_empty()));
        Self::of(&id.unwrap_or_else(|| rustix::system::uname().nodename().to_bytes().to_vec()))
    }

    fn of(id: &[u8]) -> Self {
        // A machine-id is not for others to see, and what is derived from it must not reveal it.
        let digest = digest(&SHA256, &[b"certctl timer\0", id].concat());
        let first = digest.as_ref().iter().take(8);
        Self(first.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Its minute of the hour, never the full hour.
    pub(super) fn minute(self) -> u64 {
        self.0 % 59 + 1
    }

    /// Its part of a time.
    fn part_of(self, whole: Duration) -> Duration {
        let millis = u64::try_from(whole.as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(self.0.checked_rem(millis).unwrap_or_default())
    }

    /// Waits for its part of `--splay`.
    pub(crate) async fn wait(self, clock: &impl Clock, splay: GoDuration) {
        let part = self.part_of(splay.0.unsigned_abs());
        clock.sleep(SignedDuration::try_from(part).unwrap_or_default()).await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use jiff::Timestamp;

    use super::*;

    /// A clock that does not wait.
    #[derive(Default)]
    struct Noted(RefCell<Vec<SignedDuration>>);

    impl Clock for Noted {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }

        async fn sleep(&self, duration: SignedDuration) {
            self.0.borrow_mut().push(duration);
        }
    }

    fn hosts() -> impl Iterator<Item = Host> {
        (0..2000_u32).map(|number| Host::of(&number.to_be_bytes()))
    }

    #[test]
    fn minutes_are_spread_over_the_hour_and_never_the_full_one() {
        let minutes: BTreeSet<u64> = hosts().map(Host::minute).collect();
        assert_eq!(minutes, (1..60).collect());
        assert_eq!(Host::here(), Host::here());
        assert_eq!(Host::of(b"0123456789abcdef").minute(), Host::of(b"0123456789abcdef").minute());
    }

    #[tokio::test]
    async fn each_host_waits_for_its_own_part_of_the_splay() {
        let (clock, half_an_hour) = (Noted::default(), "30m".parse::<GoDuration>().unwrap());
        for host in hosts() {
            host.wait(&clock, half_an_hour).await;
        }
        let waits = clock.0.into_inner();
        assert!(waits.iter().all(|wait| !wait.is_negative() && *wait < half_an_hour.0));
        let late = waits.iter().filter(|wait| **wait >= SignedDuration::from_mins(15)).count();
        assert!((900..1100).contains(&late), "{late} of 2000 wait for the second half");
        let clock = Noted::default();
        Host::of(b"a").wait(&clock, GoDuration::default()).await;
        assert_eq!(clock.0.into_inner(), [SignedDuration::ZERO]);
    }
}
