//! Text that is longer than its terminal, a screen at a time.

use super::error::CliError;
use super::shell::Shell;
use super::status::Width;

/// A terminal, and how many of its lines are filled; elsewhere a text is printed whole.
pub(super) struct Screens {
    rows: Option<usize>,
    filled: usize,
}

impl Screens {
    /// That of stdout, where there is a terminal for an answer, too.
    pub(super) fn of(shell: &Shell) -> Self {
        Self { rows: Width::rows_of_stdout().filter(|_| shell.output.can_ask()), filled: 0 }
    }

    /// Whether stdout is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.rows.is_some()
    }

    /// Counts lines that are printed otherwise.
    pub(super) fn fill(&mut self, lines: usize) {
        self.filled += lines;
    }

    /// Prints a text to stdout, and waits where the screen is full; `false` where a person ends it.
    pub(super) fn print(&mut self, text: &str, shell: &mut Shell) -> Result<bool, CliError> {
        let Some(rows) = self.rows else {
            shell.output.data(text)?;
            return Ok(true);
        };
        for line in text.split_inclusive('\n') {
            if self.filled + 1 >= rows {
                let answer = shell.output.answer("Enter goes on, q ends> ");
                if answer.is_none_or(|answer| answer.trim() == "q") {
                    return Ok(false);
                }
                self.filled = 0;
            }
            shell.output.data(line)?;
            self.filled += 1;
        }
        Ok(true)
    }
}
