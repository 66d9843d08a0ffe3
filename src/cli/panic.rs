//! Reports a panic by a short message and exit code 1, whatever the profile does with panics.

use std::io::Write as _;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cli::render::output::Talk;
use crate::cli::{ExitCode, Level, Message, escape};
use crate::engine::ports::{Clock as _, SystemClock};

/// From now on a panic on any thread ends the process with exit code 1 instead of 101 or 134.
pub fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        let record = Message::plain(Level::Error, message(info));
        let text = if TALKS_JSON.load(Ordering::Relaxed) {
            record.json(SystemClock.now()) + "\n"
        } else {
            record.text.to_string()
        };
        drop(Talk.write_all(text.as_bytes()));
        std::process::exit(i32::from(ExitCode::Failed.number()));
    }));
}

/// Returns whether its message is a JSON object, as all lines of this run are.
pub(super) fn talk_json(is_json: bool) {
    TALKS_JSON.store(is_json, Ordering::Relaxed);
}

static TALKS_JSON: AtomicBool = AtomicBool::new(false);

fn message(info: &PanicHookInfo<'_>) -> String {
    let what = info.payload_as_str().unwrap_or("no message");
    let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line()));
    format!(
        "certctl has a bug: {}{}\n  the state is on disk; the next run continues\n",
        escape(what),
        place.unwrap_or_default()
    )
}
