//! Questions to a person at a terminal.
//!
//! Contract: a question shows its default and is repeated until its answer can be used. A secret is not
//! shown while it is typed. The end of stdin and Ctrl-C end the questions. Knows no verb.

mod hidden;

use std::path::PathBuf;
use std::time::Duration;

use indicatif::ProgressBar;
use zeroize::Zeroizing;

use super::error::CliError;
use super::exit::ExitCode;
use super::render::message::Level;
use super::render::output::escape;
use super::render::text::{USUAL, wrap};
use super::shell::Shell;
use super::terminal::columns_of_stderr;
use crate::host::rights::home_of_typist;

/// A person at a terminal.
pub(super) struct Asker<'s> {
    pub(super) shell: &'s mut Shell,
}

impl Asker<'_> {
    /// Prints a paragraph.
    pub(super) fn say(&mut self, text: &str) {
        self.shell.output.talk(Level::Info, wrap(text, "", columns()));
    }

    /// Asks until the answer can be read; `default` is what an empty line stands for.
    pub(super) fn ask<T>(
        &mut self,
        question: &str,
        default: Option<&str>,
        mut read: impl FnMut(&mut Self, &str) -> Result<T, String>,
    ) -> Result<T, CliError> {
        let shown = default.map(|default| format!(" [{default}]")).unwrap_or_default();
        let prompt = prompt(&format!("{question}{shown}"));
        loop {
            let answer = self.shell.output.answer(&prompt).ok_or_else(no_answer)?;
            let answer = Some(answer.trim()).filter(|answer| !answer.is_empty()).or(default);
            let read = answer.map(|answer| read(self, answer));
            match read.unwrap_or_else(|| Err("enter an answer".to_owned())) {
                Ok(found) => return Ok(found),
                Err(why) => self.say(&format!("  {}", escape(&why))),
            }
        }
    }

    /// Asks for a secret, which is not shown while it is typed.
    pub(super) fn secret(&mut self, question: &str) -> Result<Zeroizing<String>, CliError> {
        let prompt = prompt(&format!("{question} (not shown)"));
        loop {
            let secret = hidden::line(|| self.shell.output.prompt(&prompt));
            self.shell.output.prompt("\n");
            let secret = secret.map_err(|error| CliError::new(ExitCode::Failed, error))?;
            let secret = secret.ok_or_else(no_answer)?;
            if !secret.is_empty() {
                return Ok(secret);
            }
        }
    }

    /// Does something that may take a while, with a sign of life on the terminal.
    pub(super) fn during<T>(&self, what: &str, task: impl FnOnce() -> T) -> T {
        let is_drawn = !self.shell.output.talks_json();
        let sign = if is_drawn { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        sign.set_message(what.to_owned());
        sign.enable_steady_tick(TICK);
        let done = task();
        sign.finish_and_clear();
        done
    }
}

/// A question with the place for its answer below it.
fn prompt(question: &str) -> String {
    format!("\n{}> ", wrap(question, "", columns()))
}

fn no_answer() -> CliError {
    CliError::new(ExitCode::Failed, "no answer; nothing was written")
}

/// A path as a shell would take it: `~` is the home of the person who types, also with sudo.
pub(super) fn path_of(text: &str) -> PathBuf {
    let below = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    below
        .and_then(|rest| Some(home_of_typist()?.join(rest.trim_start_matches('/'))))
        .unwrap_or_else(|| text.into())
}

/// The width of the terminal.
fn columns() -> usize {
    columns_of_stderr().unwrap_or(USUAL)
}

/// Time between two moves of the sign of life.
const TICK: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_is_the_home_as_in_a_shell() {
        let home = home_of_typist().unwrap();
        for (text, path) in [
            ("~", home.clone()),
            ("~/root.pem", home.join("root.pem")),
            ("/srv/~x", "/srv/~x".into()),
            ("~other/x", "~other/x".into()),
            ("root.pem", "root.pem".into()),
        ] {
            assert_eq!(path_of(text), path, "{text}");
        }
    }
}
