//! The reader of a run's messages, and the current time.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::cli::global::HookTime;
use crate::cli::hint::Hint;
use crate::cli::shell::Shell;
use crate::cli::status::Width;
use crate::cli::time;
use crate::cli::timer::{leaves_hooks_to_unit, retry_by_unit};

/// The reader, and the current time.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    /// The current time.
    pub(crate) now: Timestamp,
    /// The reader's zone; `None` for a log.
    pub(crate) zone: Option<TimeZone>,
    /// Whether more than ASCII can be shown.
    pub(crate) utf8: bool,
    /// The width of the names of certificates, in columns, where several lines begin with one.
    pub(crate) names: usize,
    /// The width of the reader's terminal, in columns; `None` where nothing is wrapped.
    pub(crate) columns: Option<usize>,
    /// Starts the unit that runs the hooks which this run leaves, where there is one.
    pub(crate) unit_of_hooks: Option<Hint>,
}

impl Style {
    /// For the reader of this process's stderr.
    pub(crate) fn of(shell: &Shell, now: Timestamp) -> Self {
        let is_watched = shell.output.talks_to_terminal() && !shell.output.talks_json();
        let zone = is_watched.then(time::system_zone);
        let utf8 = shell.environment.is_utf8();
        let columns = is_watched.then(Width::of_stderr).flatten();
        let is_left = is_watched && shell.global.hooks == HookTime::Later;
        let has_unit = is_left && leaves_hooks_to_unit(shell);
        let unit_of_hooks = has_unit.then(retry_by_unit);
        Self { now, zone, utf8, names: 0, columns, unit_of_hooks }
    }

    /// A time with the relative one beside it.
    pub(crate) fn time(&self, at: Timestamp) -> String {
        time::dated(at, self.now, self.zone.as_ref())
    }
}
