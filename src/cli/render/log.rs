//! The log on stderr, from `tracing` events.
//!
//! Contract: a text line is `2026-11-21T03:12:09Z INFO web issued not_after=…`: the event's field
//! `certificate` stands before the message, all others behind it as `name=value`. On a terminal
//! the time is left out, and of what is information the level and the reason of an event, which are
//! for programs: `web: issued not_after=…`. For systemd's journal the level is left out, and the
//! line starts with a priority. Values are escaped, and a line that cannot be written is dropped.
//! `CERTCTL_LOG` holds a filter such as `certctl=info,certctl::acme=trace`; -v and -q override it.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use jiff::Timestamp;
use thiserror::Error;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{Writer, format};
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

use crate::cli::render::output::AboveLines;
use crate::cli::render::text::fitted;
use crate::cli::words::time::rfc3339;
use crate::cli::{Environment, GlobalArgs, LogFormat, Output, Paint, columns_of_stderr, escape};
use crate::engine::ports::{Clock, SystemClock};
use crate::resource::{defuse_commands, escape_json, short_form};

/// Starts the log of this process. Called once, before the verb runs. In a routine run, by a
/// scheduler, only what its end says is of interest: not that a request is repeated.
pub fn start(
    global: &GlobalArgs,
    environment: &Environment,
    output: &Output,
    is_routine: bool,
) -> Result<(), LogError> {
    let filter = filter(global.verbose, global.quiet, environment, is_routine)?;
    let (color, is_terminal) = (output.talk_has_color(), output.talks_to_terminal());
    let has_priorities = output.has_priorities();
    let style = Style { format: global.log_format, color, is_terminal, has_priorities };
    let subscriber = subscriber(filter, style, || SystemClock.now(), || AboveLines);
    // A second start (in a test that runs two verbs) keeps the first log.
    drop(tracing::subscriber::set_global_default(subscriber));
    Ok(())
}

/// Format of the lines.
#[derive(Clone, Copy, Debug)]
struct Style {
    format: LogFormat,
    color: bool,
    is_terminal: bool,
    /// systemd's journal reads them: a priority instead of time and level.
    has_priorities: bool,
}

fn subscriber<W>(
    filter: EnvFilter,
    style: Style,
    now: fn() -> Timestamp,
    writer: W,
) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // Without log_internal_errors(false) a line that cannot be written would be complained about
    // through eprintln!, which panics.
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .log_internal_errors(false)
        .with_writer(writer);
    match style.format {
        LogFormat::Json => {
            let builder = builder.json();
            let format = format().json().flatten_event(true).with_timer(Timer(now));
            Box::new(
                builder
                    .event_format(Escaped(format.with_current_span(false), escape_json))
                    .finish(),
            )
        }
        LogFormat::Auto | LogFormat::Text | LogFormat::Github => {
            let has_priorities = style.has_priorities;
            let is_timed = !style.is_terminal && !has_priorities;
            let has_time = style.format == LogFormat::Text || is_timed;
            let now = has_time.then_some(now);
            let is_terminal = style.is_terminal;
            let lines = Lines { now, color: style.color, has_priorities, is_terminal };
            if style.format == LogFormat::Github {
                let defuse = |line: &str| defuse_commands(line).into();
                return Box::new(builder.event_format(Escaped(lines, defuse)).finish());
            }
            Box::new(builder.event_format(lines).finish())
        }
    }
}

/// The filter. Libraries log warnings only, and only with -v.
fn filter(
    verbose: u8,
    quiet: u8,
    environment: &Environment,
    is_routine: bool,
) -> Result<EnvFilter, LogError> {
    let directives = match (verbose, quiet) {
        (0, 0) => match environment.value("CERTCTL_LOG") {
            Some(text) => text.to_str().ok_or(LogError::NotUnicode)?,
            None if is_routine => "certctl=info,certctl::acme::retry=warn",
            None => "certctl=info",
        },
        (0, 1) => "certctl=warn",
        (0, _) => "certctl=error",
        (1, _) => "warn,certctl=debug",
        (2, _) => "warn,certctl=trace,certctl::acme=debug",
        (_, _) => "warn,certctl=trace",
    };
    EnvFilter::builder()
        .with_regex(false)
        .parse(directives)
        .map_err(|error| LogError::Filter { text: directives.to_owned(), why: error.to_string() })
}

/// Reason why the log cannot start.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LogError {
    /// Not a list of directives.
    #[error("CERTCTL_LOG: `{text}`: {why}")]
    Filter {
        /// The filter.
        text: String,
        /// Fault of the filter.
        why: String,
    },
    /// Not Unicode.
    #[error("CERTCTL_LOG is not UTF-8")]
    NotUnicode,
}

struct Timer(fn() -> Timestamp);

impl FormatTime for Timer {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        writer.write_str(&rfc3339((self.0)()))
    }
}

/// Lines of another form, with what the reader of that form would obey made harmless.
struct Escaped<F>(F, for<'a> fn(&'a str) -> Cow<'a, str>);

impl<S, N, F> FormatEvent<S, N> for Escaped<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        writer.write_str(&(self.1)(&line))
    }
}

/// The text form.
struct Lines {
    now: Option<fn() -> Timestamp>,
    color: bool,
    has_priorities: bool,
    is_terminal: bool,
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.write(&mut line, event)?;
        match columns_of_stderr().filter(|_| self.is_terminal) {
            Some(columns) => writer.write_str(&fitted(&line, columns)),
            None => writer.write_str(&line),
        }
    }
}

impl Lines {
    fn write(&self, writer: &mut String, event: &Event<'_>) -> fmt::Result {
        let level = *event.metadata().level();
        let is_for_people = self.is_terminal && self.now.is_none() && level == Level::INFO;
        let mut fields = Fields { is_for_people, ..Fields::default() };
        event.record(&mut fields);
        if let Some(now) = self.now {
            write!(writer, "{} ", rfc3339(now()))?;
        }
        match level {
            _ if is_for_people => {}
            Level::ERROR if self.has_priorities => writer.write_str("<3>")?,
            Level::WARN if self.has_priorities => writer.write_str("<4>")?,
            Level::INFO if self.has_priorities => writer.write_str("<6>")?,
            _ if self.has_priorities => writer.write_str("<7>")?,
            Level::ERROR => writer.write_str(&Paint::Bad.on("ERROR", self.color))?,
            Level::WARN => writer.write_str(&Paint::Warn.on("WARN", self.color))?,
            _ => write!(writer, "{level}")?,
        }
        let mut gap = if self.has_priorities || is_for_people { "" } else { " " };
        if !fields.certificate.is_empty() {
            let name = short_form(&fields.certificate);
            write!(writer, "{gap}{}", Paint::Bold.on(name, self.color))?;
            gap = if is_for_people { ": " } else { " " };
        }
        if !fields.message.is_empty() {
            write!(writer, "{gap}{}", fields.message)?;
        }
        writeln!(writer, "{}", fields.rest)
    }
}

#[derive(Default)]
struct Fields {
    is_for_people: bool,
    certificate: String,
    message: String,
    rest: String,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        let value = escape(value);
        match field.name() {
            "certificate" => self.certificate = value.into_owned(),
            "message" => self.message = value.into_owned(),
            "reason" if self.is_for_people => {}
            name => {
                let is_bare = !value.is_empty() && !value.contains([' ', '"', '=']);
                self.rest = if is_bare {
                    format!("{} {name}={value}", self.rest)
                } else {
                    format!("{} {name}=\"{}\"", self.rest, value.replace('"', "\\\""))
                };
            }
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A writer of log lines that keeps them.
    #[derive(Clone, Default)]
    pub(in crate::cli) struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Sink {
        pub(in crate::cli) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged_by(events: impl FnOnce(), filter: EnvFilter, style: Style) -> String {
        let sink = Sink::default();
        let writer = sink.clone();
        let now = || "2026-11-21T03:12:09.5Z".parse().unwrap();
        let subscriber = subscriber(filter, style, now, move || writer.clone());
        tracing::subscriber::with_default(subscriber, events);
        sink.text()
    }

    fn logged(filter: EnvFilter, style: Style) -> String {
        let events = || {
            let why = "two\nmore words";
            tracing::info!(
                target: "certctl::engine", certificate = %"default/web", reason = "Issued", why, "issued"
            );
            tracing::warn!(target: "certctl::engine", "plain");
            tracing::debug!(target: "certctl::engine", "detail");
            tracing::trace!(target: "certctl::acme", "exchange");
            tracing::info!(target: "hyper", "noise");
        };
        logged_by(events, filter, style)
    }

    fn default_filter() -> EnvFilter {
        filter(0, 0, &Environment::default(), false).unwrap()
    }

    #[test]
    fn lines_have_a_time_unless_a_person_watches() {
        let style = Style {
            format: LogFormat::Auto,
            color: false,
            is_terminal: false,
            has_priorities: false,
        };
        let timed = "2026-11-21T03:12:09Z INFO web issued reason=Issued why=\"two\\nmore words\"\n\
                     2026-11-21T03:12:09Z WARN plain\n";
        assert_eq!(logged(default_filter(), style), timed);
        let at_terminal = Style { is_terminal: true, ..style };
        let untimed = "web: issued why=\"two\\nmore words\"\nWARN plain\n";
        assert_eq!(logged(default_filter(), at_terminal), untimed);
        let text = Style { format: LogFormat::Text, ..at_terminal };
        assert_eq!(logged(default_filter(), text), timed);
        let journal = Style { has_priorities: true, ..style };
        let numbered = "<6>web issued reason=Issued why=\"two\\nmore words\"\n<4>plain\n";
        assert_eq!(logged(default_filter(), journal), numbered);
        let colored = Style { color: true, ..at_terminal };
        assert!(logged(default_filter(), colored).contains("\u{1b}[33mWARN\u{1b}[0m plain"));
    }

    #[test]
    fn what_a_reader_would_obey_is_harmless() {
        let event = || {
            let why = "\u{1b}\u{7}\u{9b}\u{202e} ##[error]x";
            tracing::warn!(target: "certctl::engine", why, "m");
        };
        for (format, wanted) in [
            (LogFormat::Json, r#""why":"\u001b\u0007\u009b\u202e ##[error]x""#),
            (LogFormat::Github, r#"why="\u{1b}\u{7}\u{9b}\u{202e} #\u{23}[error]x""#),
        ] {
            let style = Style { format, color: false, is_terminal: true, has_priorities: false };
            let text = logged_by(event, default_filter(), style);
            assert!(text.contains(wanted), "{text}");
        }
    }

    #[test]
    fn json_lines_are_objects() {
        let style = Style {
            format: LogFormat::Json,
            color: false,
            is_terminal: true,
            has_priorities: false,
        };
        let text = logged(default_filter(), style);
        let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(
            first,
            serde_json::json!({
                "timestamp": "2026-11-21T03:12:09Z", "level": "INFO", "message": "issued",
                "certificate": "default/web", "reason": "Issued", "why": "two\nmore words",
                "target": "certctl::engine",
            })
        );
    }

    #[test]
    fn flags_override_the_variable_and_the_variable_the_default() {
        let style = Style {
            format: LogFormat::Auto,
            color: false,
            is_terminal: true,
            has_priorities: false,
        };
        let environment = Environment::from_pairs(&[("CERTCTL_LOG", "hyper=info")]);
        for (verbose, quiet, wanted) in [
            (0, 0, vec!["noise"]),
            (0, 1, vec!["plain"]),
            (0, 2, vec![]),
            (1, 0, vec!["issued", "plain", "detail"]),
            (2, 0, vec!["issued", "plain", "detail"]),
            (3, 0, vec!["issued", "plain", "detail", "exchange"]),
        ] {
            let text = logged(filter(verbose, quiet, &environment, false).unwrap(), style);
            let names = ["issued", "plain", "detail", "exchange", "noise"];
            let found: Vec<&str> = names.into_iter().filter(|word| text.contains(word)).collect();
            assert_eq!(found, wanted, "{verbose} {quiet}");
        }
        let none = Environment::default();
        for (is_routine, is_logged) in [(true, false), (false, true)] {
            let retry = || tracing::info!(target: "certctl::acme::retry", "again");
            let filter = filter(0, 0, &none, is_routine).unwrap();
            assert_eq!(logged_by(retry, filter, style).contains("again"), is_logged);
        }
        let broken = Environment::from_pairs(&[("CERTCTL_LOG", "certctl=loud")]);
        let error = filter(0, 0, &broken, false).unwrap_err().to_string();
        assert!(error.starts_with("CERTCTL_LOG: `certctl=loud`: "), "{error}");
    }
}
