//! What happened to one challenge in this run. Dropped when the run ends.

use jiff::{SignedDuration, Timestamp};

use crate::resource::Outlook;

/// One challenge in this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Attempt {
    pub slot: Slot,
    /// Another certificate waits for the same name and type.
    pub is_wanted: bool,
    pub answer: Answer,
    /// Set by an accepted "accept", until the CA reports a failed validation.
    pub acceptance: Option<Acceptance>,
    /// When its authorization was last read.
    pub looked: Option<Timestamp>,
    /// How often, since "accept".
    pub looks: u32,
    /// How many self-checks failed in a row.
    pub failed_checks: u32,
    /// When it may be presented or checked again.
    pub not_before: Option<Timestamp>,
    /// How many presents, or self-checks, failed in a row for a reason that no wait ends.
    pub denials: u32,
    /// Since when self-checks find that the name does not exist.
    pub without_name_since: Option<Timestamp>,
    /// How many "accept" requests got no response.
    pub accept_tries: u32,
    /// Whether the CA received "accept" is unknown.
    pub is_unsure: bool,
    /// An earlier run presented it, and the CA may have validated it while no listener ran.
    pub is_cut_off: bool,
    pub clean_up_failed: bool,
}

/// A slot: one of the places for challenges in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slot {
    /// It waits in the queue, or needs none.
    #[default]
    None,
    /// An earlier run had presented it, and this run has no slot for it yet.
    Missing,
    Held {
        /// Of this run; none for a challenge that an earlier run accepted.
        grant: Option<Grant>,
        /// Others wait for the slot, and this challenge's turn is over.
        is_over: bool,
    },
}

/// The grant of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub at: Timestamp,
    /// When the challenge entered the queue that all runs share.
    pub queued_since: Timestamp,
    /// Another order's challenge of the same name and type had a slot meanwhile.
    pub was_behind: bool,
}

/// Whether the challenge is presented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    #[default]
    NotOut,
    /// An earlier run presented it, or a response was lost.
    MayBeOut,
    /// This run presented it.
    Out,
}

/// "accept" was sent for a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// When "accept" was sent: the CA may validate before its response arrives.
    pub begun: Timestamp,
    /// When the CA responded.
    pub accepted: Option<Timestamp>,
    /// When the responder last received a request for the token since then.
    pub hit: Option<Timestamp>,
}

/// How often one run presents a challenge that is refused permanently: two intervals of the
/// self-check lie between two attempts. Refused credentials end the run at once. As often is a
/// response checked that this host's own web server does not serve.
pub const DENIALS: u32 = 3;

/// How long a name that does not exist is waited for in one run: its record may be on its way to the name
/// servers. The next run continues the order.
pub const WITHOUT_NAME: SignedDuration = SignedDuration::from_secs(60);

impl Attempt {
    /// Whether the CA received "accept".
    pub fn begin_accept(&mut self, now: Timestamp) -> &mut Acceptance {
        self.acceptance.get_or_insert(Acceptance { begun: now, accepted: None, hit: None })
    }

    pub fn has_slot(&self) -> bool {
        matches!(self.slot, Slot::Held { .. })
    }

    /// Notes what is to be expected of a self-check.
    pub(super) fn note_outlook(&mut self, outlook: Outlook, now: Timestamp) {
        let since = match outlook {
            Outlook::NoName => Some(*self.without_name_since.get_or_insert(now)),
            Outlook::Open | Outlook::Unserved => None,
        };
        self.without_name_since = since;
        self.denials = match outlook {
            Outlook::Unserved => self.denials.saturating_add(1),
            Outlook::NoName if since.is_some_and(|at| at.duration_until(now) >= WITHOUT_NAME) => {
                DENIALS
            }
            Outlook::NoName | Outlook::Open => 0,
        };
    }

    /// Whether this run has given up.
    pub fn gives_up(&self) -> bool {
        self.denials >= DENIALS
    }

    /// When the responder last received a request for the token since "accept".
    pub fn hit(&self) -> Option<Timestamp> {
        self.acceptance?.hit
    }

    /// When the CA responded to "accept".
    pub fn accepted(&self) -> Option<Timestamp> {
        self.acceptance?.accepted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Outlook::{NoName, Open, Unserved};

    #[test]
    fn a_name_that_does_not_exist_is_given_up_after_a_minute_without_interruption() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let given_up = |checks: &[(Outlook, i64)]| {
            let mut attempt = Attempt::default();
            for (outlook, seconds) in checks {
                attempt.note_outlook(*outlook, at(*seconds));
            }
            attempt.gives_up()
        };
        assert!(!given_up(&[(NoName, 0), (NoName, 59)]));
        assert!(given_up(&[(NoName, 0), (NoName, 60)]));
        for between in [Open, Unserved] {
            assert!(!given_up(&[(NoName, 0), (between, 30), (NoName, 60)]), "{between:?}");
        }
        assert!(given_up(&[(Unserved, 0), (Unserved, 10), (Unserved, 20)]));
        assert!(!given_up(&[(Unserved, 0), (NoName, 10), (Unserved, 20)]));
    }
}
