//! The terminal of a reader: its size and its colours.

use std::os::fd::AsFd;

/// The width that a table has on a terminal, in columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    /// Number of columns.
    pub columns: usize,
    /// True if more than ASCII can be shown.
    pub utf8: bool,
}

impl Width {
    /// Size of the terminal on stdout; `None` when it is none.
    pub(crate) fn of_stdout(utf8: bool) -> Option<Self> {
        let (columns, _) = size_of(std::io::stdout())?;
        columns.map(|columns| Self { columns, utf8 })
    }

    /// The columns of the terminal on stderr; `None` when it is none.
    pub(crate) fn of_stderr() -> Option<usize> {
        size_of(std::io::stderr())?.0
    }
}

/// The columns and rows of a terminal, as far as it knows them; `None` when it is none.
fn size_of(terminal: impl AsFd) -> Option<(Option<usize>, Option<usize>)> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    let known = |number: u16| Some(usize::from(number)).filter(|number| *number > 0);
    Some((known(size.ws_col), known(size.ws_row)))
}

/// The colours in use. Words come first everywhere: a colour never carries a meaning alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Good.
    Good,
    /// In progress, or needs attention.
    Warn,
    /// Wrong.
    Bad,
    /// Headings.
    Bold,
}

impl Paint {
    /// All that [`Paint::on`] puts around a text, and clap's underline of a heading.
    pub(crate) const SEQUENCES: [&'static str; 6] =
        ["\u{1b}[32m", "\u{1b}[33m", "\u{1b}[31m", "\u{1b}[1m", "\u{1b}[4m", "\u{1b}[0m"];

    /// `text`, coloured when `color`.
    pub fn on(self, text: &str, color: bool) -> String {
        let code = match self {
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "31",
            Self::Bold => "1",
        };
        if color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
