//! Time, zone, format and terminal of a status.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::time;
use crate::cli::Format;

/// Time, zone, format and terminal.
#[derive(Clone, Debug)]
pub struct Scene {
    pub now: Timestamp,
    /// The zone of dates for people.
    pub zone: TimeZone,
    /// True if words are coloured.
    pub color: bool,
    pub format: Format,
    /// The columns of the terminal, if stdout is one.
    pub width: Option<usize>,
}

impl Scene {
    /// Number of columns a line has; no limit with `-o wide`, whatever the terminal.
    pub(in crate::cli) fn columns(&self) -> usize {
        self.width.filter(|_| self.format != Format::Wide).unwrap_or(usize::MAX)
    }

    /// A time for people, without the relative one.
    pub(in crate::cli) fn local(&self, at: Timestamp) -> String {
        time::local(at, &self.zone)
    }

    /// A time for people: in their zone, with the relative one beside it.
    pub(in crate::cli) fn time(&self, at: Timestamp) -> String {
        time::dated(at, self.now, Some(&self.zone))
    }
}
