//! `--ping URL`: tells a monitor in healthchecks.io's style when a run begins and how it ended.
//!
//! Contract: GET URL/start, then URL, or URL/fail. A ping that fails takes at most a few seconds and
//! changes no exit code; that of the end is a warning. A run that is deferred is a failure when it
//! waits because one of its certificates has failed or is overdue.

use std::time::Duration;

use reqwest::Url;

use crate::cli::{ExitCode, Level, Shell, escape};
use crate::workspace::{MonitorError, call_monitor};

/// Time that a ping takes at most.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The moments of which a monitor learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Start,
    Success,
    Failure,
}

impl Moment {
    /// Ping at the end of a run, by its exit code and whether a certificate of it is stuck.
    pub(crate) fn of(code: ExitCode, is_stuck: bool) -> Self {
        match code {
            ExitCode::Done | ExitCode::Changed => Self::Success,
            ExitCode::Deferred if !is_stuck => Self::Success,
            ExitCode::Deferred
            | ExitCode::Failed
            | ExitCode::Usage
            | ExitCode::Manifest
            | ExitCode::Validation
            | ExitCode::Ca
            | ExitCode::Output
            | ExitCode::State
            | ExitCode::Attention
            | ExitCode::Signal(_) => Self::Failure,
        }
    }

    /// The URL of the moment; a query stays behind the path.
    fn url(self, base: &Url) -> Url {
        let mut url = base.clone();
        let word = match self {
            Self::Start => "start",
            Self::Success => return url,
            Self::Failure => "fail",
        };
        // An http URL always has a path.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push(word);
        }
        url
    }
}

/// Sends the ping of a moment, when the user wants pings.
pub(crate) async fn ping(shell: &mut Shell, moment: Moment) {
    let Some(Err(why)) = try_ping(shell, moment).await else { return };
    let text = format!("ping: {}", escape(&why.to_string()));
    match moment {
        // The end of the run has the same reason, and is what counts.
        Moment::Start => tracing::debug!("{text}"),
        Moment::Success | Moment::Failure => shell.output.talk(Level::Warn, &text),
    }
}

/// The same, with the host that took it, or why it failed; `None` when the user wants no pings.
pub(crate) async fn try_ping(
    shell: &Shell,
    moment: Moment,
) -> Option<Result<String, MonitorError>> {
    let base = shell.global.ping.as_ref()?;
    let host = base.host_str().unwrap_or_default().to_owned();
    Some(call_monitor(moment.url(base), TIMEOUT).await.map(|()| host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_moment_has_its_path_below_the_url() {
        for (base, start, failure) in [
            (
                "https://hc.example/uuid",
                "https://hc.example/uuid/start",
                "https://hc.example/uuid/fail",
            ),
            (
                "https://hc.example/uuid/",
                "https://hc.example/uuid/start",
                "https://hc.example/uuid/fail",
            ),
            ("http://hc.example", "http://hc.example/start", "http://hc.example/fail"),
            (
                "http://hc.example/a?rid=1",
                "http://hc.example/a/start?rid=1",
                "http://hc.example/a/fail?rid=1",
            ),
        ] {
            let url: Url = base.parse().unwrap();
            let found = [Moment::Start, Moment::Failure].map(|moment| moment.url(&url).to_string());
            assert_eq!(found, [start, failure]);
            assert_eq!(Moment::Success.url(&url), url);
        }
    }

    #[test]
    fn a_run_that_is_deferred_is_no_failure() {
        for code in [ExitCode::Done, ExitCode::Changed, ExitCode::Deferred] {
            assert_eq!(Moment::of(code, false), Moment::Success, "{code:?}");
        }
        for code in [ExitCode::Manifest, ExitCode::Ca, ExitCode::State, ExitCode::Signal(15)] {
            assert_eq!(Moment::of(code, false), Moment::Failure, "{code:?}");
        }
        assert_eq!(Moment::of(ExitCode::Deferred, true), Moment::Failure);
    }
}
