//! A pseudo-terminal, and what somebody in front of it would see.
//!
//! Contract: what is compared is the screen, not the bytes: how many frames a spinner drew on the
//! way is a matter of load, what is left in the end is not.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use vt100::{Cell, Color, Parser};

/// A program on a terminal of its own.
pub(crate) struct Terminal {
    parser: Arc<Mutex<Parser>>,
    reader: Option<JoinHandle<()>>,
    keyboard: File,
    child: Child,
}

impl Terminal {
    /// Starts a program whose three streams are a terminal of this many columns, but for those that
    /// it redirects.
    pub(crate) fn start(command: Command, columns: NonZeroU16) -> Self {
        Self::of_rows(command, columns, ROWS)
    }

    /// The same, of this many rows: what scrolls out of it is lost.
    pub(crate) fn of_rows(mut command: Command, columns: NonZeroU16, rows: NonZeroU16) -> Self {
        let side = openpt(FLAGS).unwrap();
        grantpt(&side).unwrap();
        unlockpt(&side).unwrap();
        let name = ptsname(&side, Vec::new()).unwrap();
        let name = std::ffi::OsStr::from_bytes(name.as_bytes());
        let other = OpenOptions::new().read(true).write(true).open(name).unwrap();
        let window =
            Winsize { ws_row: rows.get(), ws_col: columns.get(), ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&other, window).unwrap();
        let stream = || Stdio::from(other.try_clone().unwrap());
        let child = command.stdin(stream()).stdout(stream()).stderr(stream()).spawn().unwrap();
        // The end is seen when nobody has the other side any more.
        drop((command, other));
        let parser = Arc::new(Mutex::new(Parser::new(rows, columns, 0)));
        let screen = Arc::clone(&parser);
        let keyboard = File::from(side.try_clone().unwrap());
        let reader = thread::spawn(move || {
            let (mut bytes, mut side) = ([0; 4096], File::from(side));
            // Linux ends with EIO, others with an end of file.
            while let Ok(count @ 1..) = side.read(&mut bytes) {
                screen.lock().unwrap_or_else(PoisonError::into_inner).process(&bytes[..count]);
            }
        });
        Self { parser, reader: Some(reader), keyboard, child }
    }

    /// The program.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Types on it.
    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// What is on the screen.
    pub(crate) fn screen(&self) -> String {
        shown(&self.parser.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits, so long at most, until something is on the screen; what was found there.
    #[track_caller]
    pub(crate) fn wait_for<T>(
        &self,
        patience: Duration,
        expected: &str,
        mut find: impl FnMut(&str) -> Option<T>,
    ) -> T {
        let mut left = patience;
        loop {
            let screen = self.screen();
            if let Some(found) = find(&screen) {
                return found;
            }
            assert!(!left.is_zero(), "never on the screen: {expected:?}; but:\n{screen}");
            thread::park_timeout(STEP);
            left = left.saturating_sub(STEP);
        }
    }

    /// Waits for the end; the exit code, and what is left on the screen.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        let parser = self.parser.lock().unwrap_or_else(PoisonError::into_inner);
        let mut screen = shown(&parser);
        if parser.screen().cursor_position().0 + 1 == parser.screen().size().0.get() {
            screen.push_str("(the screen is full: what scrolled out of it is lost)\n");
        }
        if parser.screen().hide_cursor() {
            screen.push_str("(the cursor is hidden)\n");
        }
        if parser.screen().cursor_position().1 != 0 {
            screen.push_str("(the cursor is not at the start of a line)\n");
        }
        (status.code(), screen)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.reader.is_some() {
            // Nobody waits for its end any more.
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

/// The lines down to the last that is not blank, with `{red:words}` for what has a colour. Lines
/// that the terminal has broken are whole again.
fn shown(parser: &Parser) -> String {
    let screen = parser.screen();
    let mut text = String::new();
    let mut line = Vec::new();
    let (rows, columns) = screen.size();
    for row in 0..rows.get() {
        let cells = (0..columns.get()).filter_map(|column| screen.cell(row, column));
        line.extend(cells.filter(|cell| !cell.is_wide_continuation()));
        // Above progress lines the last row of a text is filled with blanks.
        let is_filled =
            line.iter().rev().take(2).all(|cell| !cell.has_contents() || cell.contents() == " ");
        if !screen.row_wrapped(row) || is_filled {
            text += &marked(&line);
            text.push('\n');
            line.clear();
        }
    }
    let end = text.trim_end_matches('\n').len();
    text.truncate(end);
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn marked(cells: &[&Cell]) -> String {
    let mut line = String::new();
    for run in cells.chunk_by(|one, other| look(one) == look(other)) {
        let words: String = run
            .iter()
            .map(|cell| if cell.has_contents() { cell.contents() } else { " " })
            .collect();
        match look(run[0]) {
            look if look.is_empty() => line += &words,
            look => line += &["{", &look, ":", &words, "}"].concat(),
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// The colour and the weight of a cell in words.
fn look(cell: &Cell) -> String {
    let color = |color, usual: &str| match color {
        Color::Default => String::new(),
        Color::Idx(number) => NAMES
            .get(usize::from(number))
            .map_or_else(|| format!("{usual}{number}"), |name| (*name).to_owned()),
        Color::Rgb(red, green, blue) => format!("{usual}#{red:02x}{green:02x}{blue:02x}"),
    };
    let weights = [
        (cell.bold(), "bold"),
        (cell.dim(), "dim"),
        (cell.italic(), "italic"),
        (cell.underline(), "underlined"),
        (cell.inverse(), "inverse"),
    ];
    let mut words: Vec<String> =
        weights.iter().filter(|(is_so, _)| *is_so).map(|(_, word)| (*word).to_owned()).collect();
    words.push(color(cell.fgcolor(), "color"));
    let background = color(cell.bgcolor(), "color");
    if !background.is_empty() {
        words.push(format!("on {background}"));
    }
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

const NAMES: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "white",
    "grey",
    "light red",
    "light green",
    "light yellow",
    "light blue",
    "light magenta",
    "light cyan",
    "light white",
];

/// Between two looks at a screen.
const STEP: Duration = Duration::from_millis(100);

/// Elsewhere a program that is started beside this one may inherit the side that is read, which
/// keeps nothing open that is waited for.
#[cfg(target_os = "linux")]
const FLAGS: OpenptFlags = OpenptFlags::RDWR.union(OpenptFlags::NOCTTY).union(OpenptFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FLAGS: OpenptFlags = OpenptFlags::RDWR.union(OpenptFlags::NOCTTY);

/// High enough that nothing scrolls away.
const ROWS: NonZeroU16 = NonZeroU16::new(240).unwrap();
/// The usual width.
pub(crate) const COLUMNS: NonZeroU16 = NonZeroU16::new(100).unwrap();

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(script: &str) -> (Option<i32>, String) {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        Terminal::start(command, COLUMNS).end()
    }

    #[test]
    fn the_screen_is_what_is_left_in_the_end() {
        for (script, screen) in [
            ("echo one; echo two >&2", "one\ntwo\n"),
            ("printf 'frame 1\\rframe 2\\r\\033[Kdone\\n'", "done\n"),
            ("printf '\\033[1;31merror\\033[0m: no\\n'", "{bold red:error}: no\n"),
            ("printf 'a\\n\\033[2mb \\033[0m\\n'", "a\n{dim:b }\n"),
            ("printf '%0120d\\n' 0", &("0".repeat(120) + "\n")),
            ("printf '\\033[?25lgone\\n'", "gone\n(the cursor is hidden)\n"),
            ("printf open", "open\n(the cursor is not at the start of a line)\n"),
            ("test -t 0 && test -t 1 && test -t 2 && stty size", &format!("{ROWS} {COLUMNS}\n")),
        ] {
            assert_eq!(seen(script), (Some(0), screen.to_owned()), "{script}");
        }
    }
}
