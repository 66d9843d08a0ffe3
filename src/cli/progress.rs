//! Progress on a terminal: one line per certificate that shows what is being done. Elsewhere
//! nothing but log lines.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::{When, escape};
use crate::engine::Observer;
use crate::resource::{Event, EventType, NamespacedName, Reason};

/// The lines of a run.
pub(crate) struct Progress {
    lines: Option<MultiProgress>,
    bars: RefCell<BTreeMap<NamespacedName, ProgressBar>>,
}

impl Progress {
    /// Lines on stderr when they are wanted and somebody watches.
    pub(crate) fn new(when: When, is_terminal: bool) -> Self {
        let shown = match when {
            When::Always => true,
            When::Never => false,
            When::Auto => is_terminal,
        };
        let lines =
            shown.then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10)));
        Self { lines, bars: RefCell::default() }
    }

    /// Takes the lines away.
    pub(crate) fn finish(&self) {
        for bar in self.bars.borrow().values() {
            bar.finish_and_clear();
        }
    }

    fn bar(&self, certificate: &NamespacedName) -> Option<ProgressBar> {
        let lines = self.lines.as_ref()?;
        let mut bars = self.bars.borrow_mut();
        let bar = bars.entry(certificate.clone()).or_insert_with(|| {
            let bar = lines.add(ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("{prefix}  {spinner} {msg}  {elapsed}")
            {
                bar.set_style(style);
            }
            bar.set_prefix(certificate.name.clone());
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Some(bar.clone())
    }
}

impl Observer for Progress {
    fn event(&self, certificate: &NamespacedName, event: &Event) {
        let (message, reason) = (escape(&event.message), event.reason.as_str());
        let log = || match event.kind {
            // What somebody agrees to is said without being asked.
            EventType::Normal
                if matches!(
                    event.reason,
                    Reason::ACMEAccountRegistered | Reason::Deployed | Reason::RolledBack
                ) =>
            {
                tracing::info!(%certificate, reason, "{message}");
            }
            EventType::Normal => tracing::debug!(%certificate, reason, "{message}"),
            // The run may succeed and end without another word, and this would stay there unseen;
            // or wait for long without one.
            EventType::Warning
                if matches!(
                    event.reason,
                    Reason::CleanUpError | Reason::PresentError | Reason::RollbackFailed
                ) =>
            {
                tracing::warn!(%certificate, reason, "{message}");
            }
            EventType::Warning => tracing::debug!(%certificate, reason, "warning: {message}"),
        };
        match &self.lines {
            Some(lines) => lines.suspend(log),
            None => log(),
        }
    }

    fn stage(&self, certificate: &NamespacedName, stage: &str) {
        if let Some(bar) = self.bar(certificate) {
            bar.set_message(escape(stage).into_owned());
        }
    }
}
