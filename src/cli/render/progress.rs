//! Progress on a terminal: one line per certificate that shows what is being done and, when its
//! work is over, how it ended; of many certificates a few, and a line that counts them all.
//! Elsewhere nothing but log lines.
//!
//! Contract: the lines are removed before the results are printed. Without a locale of UTF-8 they
//! are ASCII.

mod term;

use std::cell::RefCell;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::SignedDuration;
use tokio::time::Instant;

use crate::cli::render::output::write_above;
use crate::cli::render::report;
use crate::cli::words::problem::check_of;
use crate::cli::words::time::rfc3339;
use crate::cli::{Environment, GlobalArgs, Hint, Output, Text, When, columns_of_stderr, escape};
use crate::controller::Awaited;
use crate::engine::{self, Ended, Observer, Wait, WaitLimit};
use crate::report::{Ending, Report};
use crate::resource::{Event, EventType, GoDuration, Identifier, NamespacedName, Reason};

/// The lines of a run.
pub(crate) struct Progress {
    lines: Option<MultiProgress>,
    style: Style,
    /// stderr is a terminal: results are printed for a person.
    is_watched: bool,
    /// After this time the reason of a wait is printed in full.
    patience: Duration,
    seen: RefCell<Seen>,
}

/// The style of the lines.
#[derive(Clone, Copy)]
struct Style {
    utf8: bool,
    /// True if they are animated and show the elapsed time.
    is_alive: bool,
}

/// The events so far.
struct Seen {
    /// Number of certificates of the run.
    all: usize,
    /// Results of the certificates that are over.
    over: Vec<&'static str>,
    /// Certificates that are issued, which is not logged.
    issued: Vec<NamespacedName>,
    /// Number of certificates that were issued before.
    printed: usize,
    /// The certificates that have a line, oldest first, and whether their work is over.
    shown: Vec<(NamespacedName, ProgressBar, bool)>,
    waits: Vec<Waiting>,
    /// Certificates whose check failed once where it rarely does.
    failed_at: Vec<NamespacedName>,
    /// True if a wait for another run was told.
    has_queued: bool,
    /// The line that counts, below all others, when there are several certificates.
    total: Option<ProgressBar>,
}

/// Reason for the wait of a certificate.
struct Waiting {
    certificate: NamespacedName,
    why: String,
    since: Instant,
    /// In full, above the lines.
    is_printed: bool,
}

impl Progress {
    /// Lines on stderr for a run over so many certificates, when they are enabled and
    /// stderr is a terminal, and unless `-q` asks for less.
    pub(crate) fn new(
        output: &Output,
        global: &GlobalArgs,
        environment: &Environment,
        certificates: usize,
    ) -> Self {
        // Progress bars are not JSON, and programs do not read them.
        let talks_json = output.talks_json();
        let is_watched = output.talks_to_terminal() && !talks_json;
        let is_quiet = global.quiet > 0;
        let target = is_drawn(global.progress, is_quiet, is_watched, talks_json).then(|| {
            if is_watched {
                return ProgressDrawTarget::stderr_with_hz(HZ);
            }
            ProgressDrawTarget::term_like_with_hz(Box::new(term::Blind), HZ)
        });
        let style = Style { utf8: environment.is_utf8(), is_alive: true };
        let interval = global.self_check_interval.0.unsigned_abs();
        let patience = if is_watched && target.is_some() { interval * CHECKS } else { SILENCE };
        Self::on(target, style, is_watched, certificates, patience)
    }

    fn on(
        target: Option<ProgressDrawTarget>,
        style: Style,
        is_watched: bool,
        certificates: usize,
        patience: Duration,
    ) -> Self {
        let lines = target.map(MultiProgress::with_draw_target);
        write_above(lines.clone());
        let total = lines.as_ref().filter(|_| certificates > 1).map(|lines| {
            let total = lines.add(ProgressBar::new_spinner());
            style.dress(&total, "{spinner} {wide_msg}", true);
            total
        });
        let seen = Seen {
            all: certificates,
            over: Vec::new(),
            issued: Vec::new(),
            printed: 0,
            shown: Vec::new(),
            waits: Vec::new(),
            failed_at: Vec::new(),
            has_queued: false,
            total,
        };
        Self { lines, style, is_watched, patience, seen: RefCell::new(seen) }
    }

    /// Without a terminal, a long wait is logged once for a certificate, and for a few of many.
    fn log_wait(&self, certificate: &NamespacedName, wait: &Wait) {
        let patience = self.patience_for(wait);
        if self.seen.borrow_mut().is_time_to_log(certificate, patience) {
            let until = wait.limit.map(|limit| format!("; this run {}", longest(limit)));
            let remedy = remedy(wait).map(|line| format!("; try: {line}"));
            let (until, remedy) = (until.unwrap_or_default(), remedy.unwrap_or_default());
            tracing::info!(%certificate, "{}{until}{remedy}", escape(&awaited(&wait.what, "")));
            self.log_issued();
        }
    }

    /// Without a terminal, the results come at the end of the run. While others wait for long, what
    /// is issued is logged, the first of it.
    fn log_issued(&self) {
        let mut seen = self.seen.borrow_mut();
        let unfinished = seen.all.saturating_sub(seen.over.len());
        if unfinished > 0 && seen.waits.iter().any(|wait| wait.is_printed) {
            for certificate in std::mem::take(&mut seen.issued) {
                if seen.printed < MOST {
                    tracing::info!(%certificate, "issued; {unfinished} still in progress");
                }
                seen.printed += 1;
            }
        }
    }

    /// Returns the time for which a wait is not logged.
    fn patience_for(&self, wait: &Wait) -> Duration {
        match &wait.obstructed {
            Some(_) => self.patience.min(SOON),
            None => self.patience,
        }
    }

    /// Removes the lines.
    pub(crate) fn finish(&self) {
        write_above(None);
        let seen = self.seen.borrow();
        for (_, line, _) in &seen.shown {
            line.finish_and_clear();
        }
        if let Some(total) = &seen.total {
            total.finish_and_clear();
        }
    }
}

/// The command that shows why a challenge's self-check fails.
fn remedy(wait: &Wait) -> Option<Hint> {
    let (kind, name) = wait.obstructed.as_ref()?;
    check_of(kind, &escape(name)).map(Hint::from)
}

/// Names the subject of a wait; without an identifier that `name`, in front of it, is already.
fn awaited(what: &Awaited, name: &str) -> String {
    let of = |identifier: &Identifier, why: String| {
        let identifier = identifier.to_string();
        if identifier == name { why } else { format!("{identifier}: {why}") }
    };
    match what {
        Awaited::Slot(identifier) => format!("{identifier} is waiting for a free slot"),
        Awaited::Challenge(challenge) => of(&challenge.spec.identifier, challenge.shown_reason()),
        Awaited::InsteadOfSelfCheck { challenge, left } => {
            of(&challenge.identifier, challenge.waiting_instead(*left))
        }
        Awaited::Ca => "waiting for the CA".to_owned(),
        Awaited::OthersOrder => "waiting for another certificate with the same order".to_owned(),
        Awaited::Turn => "waiting for its turn to order".to_owned(),
        Awaited::NewOrder { not_before } => {
            format!("the CA accepts no new order before {}", rfc3339(*not_before))
        }
    }
}

/// Returns whether there are lines. Programs do not read them, and `-q` asks for less.
fn is_drawn(progress: When, is_quiet: bool, is_watched: bool, talks_json: bool) -> bool {
    match progress {
        When::Never => false,
        When::Auto => is_watched && !is_quiet,
        When::Always => is_watched || !talks_json,
    }
}

impl Style {
    fn dress(self, line: &ProgressBar, template: &str, is_moving: bool) {
        let template = if self.is_alive && is_moving {
            // Before the text, which may be cut off.
            template.replace("{wide_msg}", "{elapsed} {wide_msg}")
        } else {
            template.to_owned()
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            let spinner = if self.utf8 { "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ " } else { "-\\|/ " };
            line.set_style(style.tick_chars(spinner));
        }
        if self.is_alive && is_moving {
            line.enable_steady_tick(TICK);
        }
    }

    /// Describes the ending in one line.
    fn verdict(self, report: &Report) -> String {
        let (mark, word) = match report.ending {
            Ending::Issued => ("✓", "issued"),
            Ending::Unchanged if report.deploy_error.is_some() => ("✗", "not deployed"),
            Ending::Unchanged | Ending::Rewritten => ("✓", "unchanged"),
            Ending::Deferred | Ending::Locked => ("-", "deferred"),
            Ending::Pending => ("-", "pending"),
            Ending::Failed => ("✗", "failed"),
            Ending::Interrupted => ("-", "interrupted"),
        };
        let is_clear = report.ending.is_well() || report.ending == Ending::Interrupted;
        let title = if is_clear { String::new() } else { format!(": {}", escape(report.why())) };
        if self.utf8 { format!("{mark} {word}{title}") } else { format!("{word}{title}") }
    }
}

impl Seen {
    /// The line of a certificate that is under way, if there is space for one. It replaces
    /// the line of a finished one.
    fn line(
        &mut self,
        lines: &MultiProgress,
        style: Style,
        certificate: &NamespacedName,
    ) -> Option<ProgressBar> {
        if let Some((_, line, _)) = self.shown.iter().find(|(name, _, _)| name == certificate) {
            return Some(line.clone());
        }
        if self.shown.len() >= MOST {
            let oldest = self.shown.iter().position(|(_, _, is_over)| *is_over)?;
            let (_, line, _) = self.shown.remove(oldest);
            line.finish_and_clear();
            lines.remove(&line);
        }
        let line = match &self.total {
            Some(total) => lines.insert_before(total, ProgressBar::new_spinner()),
            None => lines.add(ProgressBar::new_spinner()),
        };
        line.set_prefix(report::short(certificate));
        style.dress(&line, "{prefix}   {spinner} {wide_msg}", true);
        self.shown.push((certificate.clone(), line.clone(), false));
        Some(line)
    }

    /// Returns whether it is time to print why the certificate waits: once for each reason, when it
    /// is seen again after this time.
    fn is_time_to_explain(
        &mut self,
        certificate: &NamespacedName,
        why: &str,
        patience: Duration,
    ) -> bool {
        let known = self.waits.iter_mut().find(|wait| wait.certificate == *certificate);
        if let Some(wait) = known.filter(|wait| wait.why == why) {
            let is_time = !wait.is_printed && wait.since.elapsed() >= patience;
            wait.is_printed |= is_time;
            return is_time;
        }
        self.begin_wait(certificate, why, false);
        false
    }

    fn begin_wait(&mut self, certificate: &NamespacedName, why: &str, is_printed: bool) {
        self.waits.retain(|wait| wait.certificate != *certificate);
        let (certificate, why) = (certificate.clone(), why.to_owned());
        self.waits.push(Waiting { certificate, why, since: Instant::now(), is_printed });
    }

    /// Returns whether nothing failed before that the certificate waits for: that is printed at
    /// once.
    fn is_first_time(&mut self, certificate: &NamespacedName, why: &str) -> bool {
        if self.failed_at.contains(certificate) {
            return false;
        }
        self.failed_at.push(certificate.clone());
        self.begin_wait(certificate, why, true);
        true
    }

    /// Returns whether the certificate waits for so long, and that was not logged, nor of many
    /// others.
    fn is_time_to_log(&mut self, certificate: &NamespacedName, patience: Duration) -> bool {
        let logged = self.waits.iter().filter(|wait| wait.is_printed).count();
        let patience = if logged < MOST { patience } else { Duration::MAX };
        self.is_time_to_explain(certificate, "", patience)
    }

    fn count(&self) {
        let Some(total) = &self.total else { return };
        let left = self.all.saturating_sub(self.over.len());
        let left = [format!("{left} of {} to go", self.all)];
        let counts: Vec<String> = report::counts(&self.over).into_iter().chain(left).collect();
        total.set_message(counts.join(", "));
    }
}

impl Observer for Progress {
    fn event(&self, certificate: &NamespacedName, event: &Event) {
        let (message, reason) = (escape(&event.message), event.reason.as_str());
        match event.kind {
            // A person reads it below the certificate's own result.
            EventType::Normal if event.reason == Reason::Deployed && self.is_watched => {
                tracing::debug!(%certificate, reason, "{message}");
            }
            // An agreement to terms of service is always logged.
            EventType::Normal
                if matches!(
                    event.reason,
                    Reason::ACMEAccountRegistered | Reason::Deployed | Reason::RolledBack
                ) =>
            {
                tracing::info!(%certificate, reason, "{message}");
            }
            EventType::Normal => tracing::debug!(%certificate, reason, "{message}"),
            // Logged now: the run may succeed without another message, or wait for a long time.
            EventType::Warning
                if matches!(
                    event.reason,
                    Reason::CleanUpError
                        | Reason::PresentError
                        | Reason::RollbackFailed
                        | Reason::LinksRestored
                        | Reason::FilesRestored
                        | Reason::SecretMismatch
                ) =>
            {
                tracing::warn!(%certificate, reason, "{message}");
            }
            EventType::Warning => tracing::debug!(%certificate, reason, "warning: {message}"),
        }
    }

    fn stage(&self, certificate: &NamespacedName, stage: &str) {
        let Some(lines) = &self.lines else { return };
        let mut seen = self.seen.borrow_mut();
        if let Some(line) = seen.line(lines, self.style, certificate) {
            line.set_message(escape(stage).into_owned());
        }
        seen.count();
    }

    /// The line cuts a long reason: it is printed once in full, at once where waiting is not the
    /// rule, else after two checks.
    fn waits(&self, certificate: &NamespacedName, wait: &Wait) {
        let Wait { what, limit, obstructed } = wait;
        let name = report::short(certificate);
        let why = &awaited(what, &name);
        self.stage(certificate, why);
        let lines = self.lines.as_ref().filter(|_| self.is_watched);
        let Some(lines) = lines else { return self.log_wait(certificate, wait) };
        let is_first =
            obstructed.is_some() && self.seen.borrow_mut().is_first_time(certificate, why);
        let is_time = || self.seen.borrow_mut().is_time_to_explain(certificate, why, self.patience);
        if !is_first && !is_time() {
            return;
        }
        let until = limit.map(|limit| {
            format!("; this run {} (or Ctrl-C), the next one continues", longest(limit))
        });
        let until = until.unwrap_or_default();
        let text = Text::from(format!("{name}: {}{until}", escape(why)));
        let text = text.trying(remedy(wait).as_ref());
        let columns = columns_of_stderr().map_or(usize::MAX, |columns| columns - 1);
        // Without the terminal there is nothing to report to.
        drop(lines.println(text.lines(false, columns)));
    }

    /// Once a run: all its certificates may wait for the same other run.
    fn queues(&self, certificate: &NamespacedName, holder: &str, at_most: SignedDuration) {
        self.stage(certificate, "waiting for another certctl run");
        if std::mem::replace(&mut self.seen.borrow_mut().has_queued, true) {
            return;
        }
        let at_most = GoDuration(at_most);
        tracing::info!(
            %certificate,
            "locked by {}; waiting for up to {at_most} (--lock-timeout)",
            escape(holder)
        );
    }

    fn renewed_meanwhile(&self, certificate: &NamespacedName) {
        tracing::info!(
            %certificate,
            "already issued by the other run"
        );
    }

    fn lingers(&self, at_most: Duration) {
        let seconds = at_most.as_secs_f64().round();
        tracing::info!(
            "done; answering the CA for another certctl run on the same port, for up to {seconds}s"
        );
    }

    fn ended(&self, end: &Ended) {
        let mut seen = self.seen.borrow_mut();
        let report = Report::of(end.clone());
        seen.over.push(report::word_of(&report));
        if self.lines.is_none() {
            if let engine::Ending::Issued(_) = end.ending {
                seen.issued.push(end.certificate.clone());
            }
            drop(seen);
            return self.log_issued();
        }
        let shown = seen.shown.iter_mut().find(|(name, _, _)| *name == end.certificate);
        if let Some((_, line, is_over)) = shown {
            self.style.dress(line, "{prefix}   {wide_msg}", false);
            line.finish_with_message(self.style.verdict(&report));
            *is_over = true;
        }
        seen.count();
    }
}

/// Time that a certificate waits in silence without a terminal.
const SILENCE: Duration = Duration::from_mins(1);
/// The same where a self-check fails by what time alone rarely ends.
const SOON: Duration = Duration::from_secs(10);
/// The self-check intervals after which the reason of a wait is printed in full.
const CHECKS: u32 = 2;
/// Number of certificates that have a line each.
const MOST: usize = 8;
/// Number of times that the lines are drawn in a second, at most.
const HZ: u8 = 10;
const TICK: Duration = Duration::from_millis(120);

/// Words the time that a run waits.
fn longest(limit: WaitLimit) -> String {
    match limit {
        WaitLimit::Until(at) => format!("waits until {}", rfc3339(at)),
        WaitLimit::Checks(number) => format!("checks {number} times"),
    }
}

#[cfg(test)]
mod tests;
