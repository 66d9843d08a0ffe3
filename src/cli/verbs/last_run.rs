//! The runs that a scheduler starts, of whatever kind it is: that none came for a day.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::cli::{Shell, time};
use crate::engine::ports::{Clock as _, SystemClock};
use crate::store::{HostRecord, Store};
use crate::workspace::{AutomaticRun, Workspace};

/// Notes the end of a run that no person watches. Where it is not noted, the next one does it.
pub(in crate::cli) fn note(shell: &Shell, workspace: &Workspace) {
    if shell.output.talks_to_terminal() {
        return;
    }
    if let Err(error) = workspace.state().host_record().note_run(SystemClock.now()) {
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
