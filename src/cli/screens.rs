//! Text that is longer than its terminal, a screen at a time.

use rustix::termios::{QueueSelector, tcflush};

use super::error::CliError;
use super::shell::Shell;
use super::status::Width;
use super::wrap::shown_width;

/// A terminal, and how many of its lines are filled; elsewhere a text is printed whole.
pub(super) struct Screens {
    rows: Option<usize>,
    filled: usize,
    /// What takes a row off the terminal once its question is answered: nothing where it knows no control
    /// sequences.
    erase: &'static str,
}

impl Screens {
    /// That of stdout, where there is a terminal for an answer, too.
    pub(super) fn of(shell: &Shell) -> Self {
        let rows = Width::rows_of_stdout().filter(|_| shell.output.can_ask());
        let erase = if shell.environment.has_controls() { ERASE_LINE_ABOVE } else { "" };
        Self { rows, filled: 0, erase }
    }

    /// Whether stdout is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.rows.is_some()
    }

    /// Counts lines that are printed otherwise.
    pub(super) fn fill(&mut self, lines: usize) {
        self.filled += lines;
    }

    /// Waits for Enter, and begins a screen.
    pub(super) fn pause(&mut self, question: &str, shell: &mut Shell) -> Result<(), CliError> {
        self.chosen(question, &[""], shell).map(drop)
    }

    /// Asks on the terminal until the answer is one of these, and begins a screen; `None` where no more is
    /// to come. What is typed for a shell is not taken for an Enter.
    fn chosen(
        &mut self,
        question: &str,
        answers: &[&str],
        shell: &mut Shell,
    ) -> Result<Option<String>, CliError> {
        let mut refusal = "";
        let chosen = loop {
            // What is typed before a question is no answer to it, and moves its line.
            discard_input();
            let question = format!("{refusal}{question}");
            let answer = shell.output.answer(&question);
            let line = question + answer.as_deref().unwrap_or_default();
            shell.output.steer(&self.erase.repeat(rows_of(&line, shell.columns())))?;
            let answer = answer.map(|answer| answer.trim().to_owned());
            match answer {
                Some(other) if !answers.contains(&&*other) => refusal = IS_NO_SHELL,
                chosen => break chosen,
            }
        };
        self.filled = 0;
        Ok(chosen)
    }

    /// Whether a person wants more, on a new screen.
    fn goes_on(&mut self, question: &str, shell: &mut Shell) -> Result<bool, CliError> {
        let answer = self.chosen(question, &["", "q"], shell)?;
        Ok(answer.is_some_and(|answer| answer.is_empty()))
    }

    /// Prints a text to stdout, and waits where the screen is full; `false` where a person ends it.
    pub(super) fn print(&mut self, text: &str, shell: &mut Shell) -> Result<bool, CliError> {
        let Some(rows) = self.rows else {
            shell.output.data(text)?;
            return Ok(true);
        };
        let columns = shell.columns();
        for line in text.split_inclusive('\n') {
            let lines = rows_of(line, columns);
            // One that is longer than a screen is shown from its beginning.
            if self.filled > 0 && self.filled + lines >= rows && !self.goes_on(GOES_ON, shell)? {
                return Ok(false);
            }
            shell.output.data(line)?;
            self.filled += lines;
        }
        Ok(true)
    }
}

/// Discards what was typed on the terminal and not read yet.
pub(super) fn discard_input() {
    tcflush(std::io::stdin(), QueueSelector::IFlush).ok();
}

const GOES_ON: &str = "Enter goes on, q ends the text> ";
/// Why a question comes again.
const IS_NO_SHELL: &str = "commands are not read here: ";
/// Cursor up, erase in line: sequences of ECMA-48.
const ERASE_LINE_ABOVE: &str = "\u{1b}[A\u{1b}[2K";

/// How many rows of a terminal a line takes.
fn rows_of(line: &str, columns: usize) -> usize {
    shown_width(line.trim_end_matches('\n')).div_ceil(columns.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_takes_as_many_rows_as_its_terminal_breaks_it_into() {
        for (line, rows) in [
            ("", 1),
            ("four\n", 1),
            ("five5\n", 2),
            ("two \n", 1),
            ("four \n", 2),
            ("\u{1b}[1mfour\u{1b}[0m\n", 1),
            ("eight888x", 3),
        ] {
            assert_eq!(rows_of(line, 4), rows, "{line}");
        }
    }
}
