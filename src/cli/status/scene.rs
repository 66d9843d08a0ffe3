//! When, where and how a status is looked at.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::table::Width;
use crate::cli::args::Format;
use crate::cli::time;

/// When, where and how it is looked at.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The time.
    pub now: Timestamp,
    /// The zone of dates for people.
    pub zone: TimeZone,
    /// Whether words are coloured.
    pub color: bool,
    /// The format.
    pub format: Format,
    /// The controller on the terminal, when it is one.
    pub width: Option<Width>,
}

impl Scene {
    /// A time for people.
    pub(super) fn local(&self, at: Timestamp) -> String {
        time::local(at, &self.zone)
    }

    /// A time for people: in their zone, with the relative one beside it.
    pub(super) fn time(&self, at: Timestamp) -> String {
        time::told(at, self.now, Some(&self.zone))
    }
}
