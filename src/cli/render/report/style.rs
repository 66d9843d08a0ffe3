//! The reader of a run's messages, and the current time.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::cli::{Environment, Output, columns_of_stderr, time};

/// The reader, and the current time.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    /// The current time.
    pub(crate) now: Timestamp,
    /// The reader's zone; `None` for a log.
    pub(crate) zone: Option<TimeZone>,
    /// True if more than ASCII can be shown.
    pub(crate) utf8: bool,
    /// The width of the names of certificates, in columns, where several lines begin with one.
    pub(crate) names: usize,
    /// The width of the reader's terminal, in columns.
    pub(crate) columns: Option<usize>,
}

impl Style {
    /// For the reader of this process's stderr.
    pub(crate) fn of(output: &Output, environment: &Environment, now: Timestamp) -> Self {
        let is_watched = output.talks_to_terminal() && !output.talks_json();
        let zone = is_watched.then(|| environment.zone());
        let utf8 = environment.is_utf8();
        let columns = is_watched.then(columns_of_stderr).flatten();
        Self { now, zone, utf8, names: 0, columns }
    }

    /// A time with the relative one beside it.
    pub(crate) fn time(&self, at: Timestamp) -> String {
        time::dated(at, self.now, self.zone.as_ref())
    }
}
