//! The terminal of a reader: its columns and its colours.

use std::os::fd::AsFd;

/// The columns of the terminal on stdout; `None` when it is none.
pub(crate) fn columns_of_stdout() -> Option<usize> {
    columns_of(std::io::stdout())
}

/// The same of stderr.
pub(crate) fn columns_of_stderr() -> Option<usize> {
    columns_of(std::io::stderr())
}

/// The columns of a terminal, as far as it knows them; `None` when it is none.
fn columns_of(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
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
