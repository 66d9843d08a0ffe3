//! Time, zone, format and terminal of a status.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::time;
use crate::cli::global::Format;
use crate::cli::terminal::Width;

/// Time, zone, format and terminal.
#[derive(Clone, Debug)]
pub struct Scene {
    pub now: Timestamp,
    /// The zone of dates for people.
    pub zone: TimeZone,
    /// Whether words are coloured.
    pub color: bool,
    pub format: Format,
    /// The size of the terminal, if stdout is one.
    pub width: Option<Width>,
}

impl Scene {
    /// How many columns a line has.
    pub(in crate::cli) fn columns(&self) -> usize {
        self.table_width().map_or(usize::MAX, |width| width.columns)
    }

    /// The width that a table has to fit in: none with `-o wide`, whatever the terminal.
    pub(in crate::cli) fn table_width(&self) -> Option<Width> {
        self.width.filter(|_| self.format != Format::Wide)
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
