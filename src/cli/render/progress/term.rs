//! A terminal emulation: `--progress always` into a pipe or a file.

use std::io::{self, Write as _};

use indicatif::TermLike;

use crate::cli::render::output::Talk;

/// Writes the control sequences of ECMA-48 to stderr, whatever that is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blind;

impl Blind {
    fn put(text: &str) -> io::Result<()> {
        Talk.write_all(text.as_bytes())
    }

    fn step(count: usize, way: char) -> io::Result<()> {
        if count == 0 { Ok(()) } else { Self::put(&format!("\u{1b}[{count}{way}")) }
    }
}

impl TermLike for Blind {
    fn width(&self) -> u16 {
        80
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        Self::step(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        Self::step(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        Self::step(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        Self::step(n, 'D')
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        Self::put(&format!("{s}\n"))
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        Self::put(s)
    }

    fn clear_line(&self) -> io::Result<()> {
        Self::put("\r\u{1b}[2K")
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}
