//! The runs that a scheduler starts, of whatever kind it is: that none came for a day.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::cli::{Shell, time};
use crate::engine::ports::{Clock as _, SystemClock};
use crate::store::{HostRecord, OpenMode, Store};
use crate::workspace::{AutomaticRun, open_state};

/// Notes the end of a run that no person watches. Where it is not noted, the next one does it.
pub(in crate::cli) fn note(shell: &Shell) {
    if shell.output.talks_to_terminal() {
        return;
    }
    let Ok(state) = shell.environment.state_dir(shell.global.state_dir.as_deref()) else { return };
    let noted = open_state(&state.path, OpenMode::ReadOnly)
        .and_then(|state| state.host_record().note_run(SystemClock.now()));
    if let Err(error) = noted {
        tracing::debug!(%error, "cannot record the end of this run");
    }
}

/// Warning that no run came for a day, in one line.
pub(in crate::cli) fn missed(run: AutomaticRun, now: Timestamp, zone: &TimeZone) -> Option<String> {
    let dated = |at| time::dated(at, now, Some(zone));
    run.is_missed(now).then(|| match run {
        AutomaticRun::At(at) => format!("no automatic run since {}", dated(at)),
        AutomaticRun::Never { .. } | AutomaticRun::Unknown => "no automatic run yet".to_owned(),
    })
}

/// The command that finds out why.
pub(in crate::cli) const LOOK: &str = "certctl doctor";
