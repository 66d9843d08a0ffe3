//! The only code that prints: data to stdout, talk to stderr, and neither can panic.
//!
//! Contract: what is written steers no terminal: control characters, and those that hide or reverse
//! text, are escaped here, but for line feeds, tabs and the colours of [`Paint`]. After EPIPE on
//! stdout, output is dropped; this is not an error. Any other failure on stdout (a full disk) is an
//! error of the run; a failure on stderr is ignored, because it cannot be reported. With
//! `--log-format json` every line on stderr is one JSON object, as in the log.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, IsTerminal, Write};

use indicatif::MultiProgress;
use jiff::Timestamp;

use crate::cli::render::message;
pub use crate::cli::render::text::Paint;
use crate::cli::{Environment, Level, LogFormat, Message, Text, When, columns_of_stderr, journal};
use crate::engine::ports::{Clock as _, SystemClock};
use crate::manifest::Diagnostic;
pub use crate::resource::escape;
use crate::resource::{defuse_commands, escape_for_stream};

/// stdout and stderr.
pub struct Output {
    stdout: Stream,
    stderr: Stream,
    format: LogFormat,
    /// stderr goes to systemd's journal, which wants a priority before each line.
    has_priorities: bool,
    /// A person reads stderr and types on stdin.
    can_ask: bool,
    now: fn() -> Timestamp,
    /// True if a command to paste was printed.
    has_named_commands: Cell<bool>,
}

/// Set by `run` for its runs: a terminal on stderr is not that of a person who waits for them.
pub(crate) const UNATTENDED: &str = "CERTCTL_UNATTENDED";

impl Output {
    /// The streams of this process.
    pub fn of_process(color: When, format: LogFormat, environment: &Environment) -> Self {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let is_watched = stderr.is_terminal() && environment.value(UNATTENDED).is_none();
        let can_ask = io::stdin().is_terminal() && is_watched;
        let talk_color = if format == LogFormat::Json { When::Never } else { color };
        Self {
            stdout: Stream::new(stdout.is_terminal(), color, environment, Box::new(stdout)),
            stderr: Stream::new(is_watched, talk_color, environment, Box::new(stderr)),
            format,
            has_priorities: format == LogFormat::Auto && journal::reads_stderr(environment),
            can_ask,
            now: || SystemClock.now(),
            has_named_commands: Cell::default(),
        }
    }

    /// Any two writers, neither of them a terminal, without colours.
    #[cfg(test)]
    pub(crate) fn to_writers(stdout: Box<dyn Write>, stderr: Box<dyn Write>) -> Self {
        let stream = |sink| Stream {
            sink,
            is_terminal: false,
            has_color: false,
            is_closed: false,
            texts: 0,
        };
        let now = || SystemClock.now();
        Self {
            stdout: stream(stdout),
            stderr: stream(stderr),
            format: LogFormat::Auto,
            has_priorities: false,
            can_ask: false,
            now,
            has_named_commands: Cell::default(),
        }
    }

    /// Writes data to stdout, as it is, but for what GitHub's runner would obey.
    pub fn data(&mut self, text: &str) -> io::Result<()> {
        match self.format {
            // The runner reads both streams.
            LogFormat::Github => self.stdout.write(&defuse_commands(text)),
            LogFormat::Auto | LogFormat::Text | LogFormat::Json => self.stdout.write(text),
        }
    }

    /// Returns whether data was written.
    pub fn has_data(&self) -> bool {
        self.stdout.texts > 0
    }

    /// Notes the commands of a text that is printed.
    pub(crate) fn note_commands(&self, text: &Text) {
        if text.has_command() {
            self.name_commands();
        }
    }

    /// Notes that what is printed has commands to paste.
    pub(crate) fn name_commands(&self) {
        self.has_named_commands.set(true);
    }

    /// Returns whether a person has read commands to paste.
    pub(crate) fn has_named_commands(&self) -> bool {
        self.has_named_commands.get() && !self.talks_json()
    }

    /// Returns whether a message was written to stderr.
    pub fn has_talked(&self) -> bool {
        self.stderr.texts > 0
    }

    /// Writes a line, or several, to stderr; a line feed is put behind it when there is none. As
    /// JSON it is one object with the text as its message.
    pub fn talk(&mut self, level: Level, message: impl Into<Text>) {
        self.print(&Message::plain(level, message));
    }

    /// Prints a message: its text, or its fields as JSON.
    pub fn print(&mut self, message: &Message) {
        self.note_commands(&message.text);
        match self.format {
            LogFormat::Auto if self.has_priorities => {
                let text = message.text.to_string();
                self.say(&journal::with_priority(&text, message.level.priority()));
            }
            LogFormat::Auto | LogFormat::Text => {
                let columns = columns_of_stderr().filter(|_| self.stderr.is_terminal);
                let columns = columns.unwrap_or(usize::MAX);
                self.say(&message.text.lines(self.stderr.has_color, columns));
            }
            LogFormat::Github => self.say(&defuse_commands(&message.text.to_string())),
            LogFormat::Json => self.say(&message.json((self.now)())),
        }
    }

    /// Prints a diagnostic.
    pub fn finding(&mut self, diagnostic: &Diagnostic) {
        match self.format {
            LogFormat::Auto | LogFormat::Text | LogFormat::Json => {
                self.print(&Message::of_diagnostic(diagnostic));
            }
            LogFormat::Github => self.say(&message::annotation(diagnostic)),
        }
    }

    /// Returns whether lines on stderr have priorities, for systemd's journal.
    pub fn has_priorities(&self) -> bool {
        self.has_priorities
    }

    /// Returns whether stderr is read by a program, an object to a line.
    pub fn talks_json(&self) -> bool {
        self.format == LogFormat::Json
    }

    /// Returns whether stderr is read by a program that wants each place of a mistake.
    pub fn reports_each(&self) -> bool {
        matches!(self.format, LogFormat::Json | LogFormat::Github)
    }

    /// Returns whether stdin and stderr are terminals, so that a question gets an answer.
    pub fn can_ask(&self) -> bool {
        self.can_ask
    }

    /// Asks on the terminal; the default and the end of stdin are a no.
    pub fn ask(&mut self, question: &str) -> bool {
        let answer = self.answer(&format!("{question} [y/N] "));
        answer.is_some_and(|answer| matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Asks on the terminal; the default is a yes, and the end of stdin a no. Any other answer gets the
    /// explanation, and the question again.
    pub fn confirms_by_default(&mut self, question: &str, about: &str) -> bool {
        loop {
            match self.confirmation(&format!("{question} [Y/n] ")) {
                Confirmation::Yes => return true,
                Confirmation::No => return false,
                Confirmation::Other(_) => self.talk(Level::Info, about),
            }
        }
    }

    /// Asks once on the terminal; the default is a yes, and the end of stdin a no.
    pub fn confirmation(&mut self, question: &str) -> Confirmation {
        let Some(answer) = self.answer(question) else { return Confirmation::No };
        match answer.trim().to_lowercase().as_str() {
            "" | "y" | "yes" => Confirmation::Yes,
            "n" | "no" => Confirmation::No,
            other => Confirmation::Other(other.to_owned()),
        }
    }

    /// Asks on the terminal for a line; `None` at the end of stdin.
    pub fn answer(&mut self, question: &str) -> Option<String> {
        self.prompt(question);
        let mut answer = String::new();
        let is_read = io::stdin().read_line(&mut answer).is_ok();
        if is_read && !answer.ends_with('\n') {
            drop(self.stderr.write("\n"));
        }
        Some(answer).filter(|answer| is_read && !answer.is_empty())
    }

    /// Writes a question, behind which an answer is typed.
    pub fn prompt(&mut self, question: &str) {
        if self.talks_json() {
            self.talk(Level::Info, question);
        } else {
            // There is no other place to report that stderr cannot be written.
            drop(self.stderr.write(question));
        }
    }

    fn say(&mut self, text: &str) {
        let mut text = Cow::Borrowed(text);
        if !text.ends_with('\n') {
            text.to_mut().push('\n');
        }
        // There is no other place to report that stderr cannot be written.
        drop(self.stderr.write(&text));
    }

    /// Returns whether a person reads stderr as it is written: progress, `unchanged` lines.
    pub fn talks_to_terminal(&self) -> bool {
        self.stderr.is_terminal
    }

    /// Returns whether data on stdout may be coloured.
    pub fn data_has_color(&self) -> bool {
        self.stdout.has_color
    }

    /// Returns whether talk on stderr may be coloured.
    pub fn talk_has_color(&self) -> bool {
        self.stderr.has_color
    }
}

/// An answer to a question whose default is a yes.
pub enum Confirmation {
    Yes,
    No,
    /// Any other, in lower case.
    Other(String),
}

/// Either of the two streams.
struct Stream {
    sink: Box<dyn Write>,
    is_terminal: bool,
    has_color: bool,
    is_closed: bool,
    /// Number of texts that were written.
    texts: usize,
}

impl Stream {
    fn new(
        is_terminal: bool,
        color: When,
        environment: &Environment,
        sink: Box<dyn Write>,
    ) -> Self {
        let has_color = wants_color(color, is_terminal, environment);
        Self { sink, is_terminal, has_color, is_closed: false, texts: 0 }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        let ours = if self.has_color { &Paint::SEQUENCES[..] } else { &[] };
        self.put(&escape_for_stream(text, ours))
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        self.texts = self.texts.saturating_add(1);
        if self.is_closed {
            return Ok(());
        }
        match self.sink.write_all(text.as_bytes()).and_then(|()| self.sink.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            result => result,
        }
    }
}

/// A writer on stderr that never fails, for the log and for the panic message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Talk;

impl Write for Talk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        drop(io::stderr().write_all(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

thread_local! {
    /// The progress lines at the end of stderr.
    static LINES: RefCell<Option<MultiProgress>> = const { RefCell::new(None) };
}

/// Sets the progress lines above which the log is written.
pub fn write_above(lines: Option<MultiProgress>) {
    LINES.with(|known| *known.borrow_mut() = lines);
}

/// The same writer for the log, above the progress lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct AboveLines;

impl Write for AboveLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let lines = LINES.with(|lines| lines.borrow().clone());
        match lines {
            Some(lines) => lines.suspend(|| Talk.write(bytes)),
            None => Talk.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns whether a stream gets colours. `--color` overrides the environment; then `NO_COLOR`
/// (<https://no-color.org>), `CLICOLOR_FORCE`, and last whether it is a terminal that can.
pub fn wants_color(choice: When, is_terminal: bool, environment: &Environment) -> bool {
    match choice {
        When::Always => true,
        When::Never => false,
        When::Auto if environment.value("NO_COLOR").is_some() => false,
        When::Auto if environment.value("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
        When::Auto => is_terminal && environment.has_controls(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken(ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn only_a_full_stdout_is_an_error() {
        for (kind, is_error) in [(ErrorKind::BrokenPipe, false), (ErrorKind::StorageFull, true)] {
            let mut output =
                Output::to_writers(Box::new(Broken(kind)), Box::new(Broken(ErrorKind::Other)));
            assert_eq!(output.data("x\n").is_err(), is_error, "{kind:?}");
            output.talk(Level::Info, "closed pipe");
        }
    }

    /// Written text, for a look at it.
    #[derive(Clone, Default)]
    struct Seen(std::rc::Rc<RefCell<Vec<u8>>>);

    impl Write for Seen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn no_stream_says_what_a_runner_or_a_terminal_would_obey() {
        let data = "a\n::error::b\n";
        for (format, talk, wanted) in [
            (LogFormat::Github, data, ["a\n\\u{3a}:error::b\n"; 2]),
            (
                LogFormat::Json,
                "a\u{202e}",
                [
                    data,
                    "{\"level\":\"INFO\",\"message\":\"a\\u202e\",\
                     \"timestamp\":\"1970-01-01T00:00:00Z\"}\n",
                ],
            ),
        ] {
            let (stdout, stderr) = (Seen::default(), Seen::default());
            let streams = (Box::new(stdout.clone()), Box::new(stderr.clone()));
            let output = Output::to_writers(streams.0, streams.1);
            let mut output = Output { format, now: || Timestamp::UNIX_EPOCH, ..output };
            output.data(data).unwrap();
            output.talk(Level::Info, talk);
            let text = |seen: Seen| String::from_utf8(seen.0.take()).unwrap();
            assert_eq!([text(stdout), text(stderr)], wanted);
        }
    }

    #[test]
    fn no_stream_steers_a_terminal_whatever_was_forgotten() {
        let (stdout, stderr) = (Seen::default(), Seen::default());
        let streams = (Box::new(stdout.clone()), Box::new(stderr.clone()));
        let mut output = Output::to_writers(streams.0, streams.1);
        let foreign = "web\u{1b}[2J\u{7}\u{202e}\r\n\u{1b}[31mred";
        output.data(foreign).unwrap();
        output.talk(Level::Info, foreign);
        let written = "web\\u{1b}[2J\\u{7}\\u{202e}\\r\n\\u{1b}[31mred";
        let text = |seen: Seen| String::from_utf8(seen.0.take()).unwrap();
        assert_eq!((text(stdout), text(stderr)), (written.to_owned(), format!("{written}\n")));
    }

    #[test]
    fn colours_follow_flag_then_environment_then_terminal() {
        use When::{Always, Auto, Never};
        let xterm = ("TERM", "xterm");
        for (choice, is_terminal, variables, wanted) in [
            (Auto, true, vec![xterm], true),
            (Auto, false, vec![xterm], false),
            (Auto, true, vec![("TERM", "dumb")], false),
            (Auto, true, vec![], false),
            (Auto, true, vec![xterm, ("NO_COLOR", "1")], false),
            (Auto, true, vec![xterm, ("NO_COLOR", "")], true),
            (Auto, false, vec![("CLICOLOR_FORCE", "1")], true),
            (Auto, false, vec![("CLICOLOR_FORCE", "0")], false),
            (Auto, true, vec![xterm, ("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], false),
            (Always, false, vec![("NO_COLOR", "1")], true),
            (Never, true, vec![xterm, ("CLICOLOR_FORCE", "1")], false),
        ] {
            let environment = Environment::from_pairs(&variables);
            let found = wants_color(choice, is_terminal, &environment);
            assert_eq!(found, wanted, "{choice:?} {is_terminal} {variables:?}");
        }
    }
}
