//! The last run that no person watched, as far as the state shows it.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use super::Workspace;
use super::open::{State, open_state};
use crate::store::{HostRecord, OpenMode, Store};

/// When a scheduler, of whatever kind, started a run last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutomaticRun {
    At(Timestamp),
    /// None is known; when the state was made.
    Never {
        since: Timestamp,
    },
    /// There is no state, or its age is not known.
    Unknown,
}

impl AutomaticRun {
    /// The last one of the state at this path.
    pub fn at(state_dir: &Path) -> Self {
        let state = open_state(state_dir, OpenMode::ReadOnly);
        state.map_or(Self::Unknown, |state| Self::of(&state))
    }

    fn of(state: &State) -> Self {
        if let Some(at) = state.host_record().last_run() {
            return Self::At(at);
        }
        state.host_record().made().map_or(Self::Unknown, |since| Self::Never { since })
    }

    /// Whether none came for a day. A state is given a day to have its first one.
    pub fn is_missed(self, now: Timestamp) -> bool {
        match self {
            Self::At(at) | Self::Never { since: at } => now.duration_since(at) > DAY,
            Self::Unknown => false,
        }
    }
}

impl Workspace {
    /// The last one of this state.
    pub fn automatic_run(&self) -> AutomaticRun {
        AutomaticRun::of(&self.state)
    }
}

const DAY: SignedDuration = SignedDuration::from_hours(24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_missed_after_a_day_and_never_in_a_new_state() {
        let now: Timestamp = "2026-11-21T03:12:09Z".parse().unwrap();
        for (hours, is_missed) in [(-1, false), (24, false), (25, true)] {
            let at = now - SignedDuration::from_hours(hours);
            assert_eq!(AutomaticRun::At(at).is_missed(now), is_missed, "{hours}");
            let never = AutomaticRun::Never { since: at };
            assert_eq!(never.is_missed(now), is_missed, "{hours}");
        }
        assert!(!AutomaticRun::Unknown.is_missed(now));
    }
}
