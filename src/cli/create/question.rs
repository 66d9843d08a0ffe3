//! A question on the terminal, asked until its answer can be used.

use std::cell::RefCell;
use std::path::PathBuf;

use super::print::scalar;
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::message::Level;
use crate::cli::output::escape;
use crate::cli::shell::Shell;
use crate::cli::wrap::{USUAL, wrap};
use crate::trust::home_of_typist;

/// The answer that goes back to the question before.
pub(super) const BACK: &str = "back";
/// The answer that leaves something out.
pub(super) const NONE: &str = "none";

/// Whether a text answers another question than one for a name.
pub(super) fn is_answer(text: &str) -> bool {
    ["y", "yes", "n", "no", "show", BACK].contains(&text)
}

/// A question whose answer may be nothing, which is the default.
pub(super) fn optional<T>(
    shell: &mut Shell,
    question: &str,
    about: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, CliError> {
    optional_or(NONE, shell, question, about, read)
}

/// The same with this default.
pub(super) fn optional_or<T>(
    default: &str,
    shell: &mut Shell,
    question: &str,
    about: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, CliError> {
    answered(shell, &format!("{question}, or none"), about, Some(default), |text| {
        if text == NONE { Ok(None) } else { read(text).map(Some) }
    })
}

/// Asks until the answer can be used; `?` is answered by what the question is about.
pub(super) fn answered<T>(
    shell: &mut Shell,
    question: &str,
    about: &str,
    default: Option<&str>,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, CliError> {
    Question { text: question, about, default, refusal: "" }.answered(shell, read)
}

/// A question on the terminal.
pub(super) struct Question<'a> {
    pub(super) text: &'a str,
    pub(super) about: &'a str,
    /// The answer of a blank line.
    pub(super) default: Option<&'a str>,
    /// Why an answer before leads to this question again.
    pub(super) refusal: &'a str,
}

impl Question<'_> {
    pub(super) fn answered<T>(
        &self,
        shell: &mut Shell,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, CliError> {
        let shown = self.default.map(|default| format!(" [{default}]")).unwrap_or_default();
        let question = wrap(&format!("{}{shown}", self.text), "", columns());
        let wrapped = |text: &str| wrap(text, "", columns());
        let mut refusal = match self.refusal {
            "" => String::new(),
            refusal => wrapped(refusal),
        };
        loop {
            let Some(answer) = shell.output.answer(&format!("{refusal}\n{question}> ")) else {
                return Err(CliError::new(ExitCode::Failed, "no answer; nothing was written"));
            };
            let answer = answer.trim();
            let answer = if answer.is_empty() { self.default.unwrap_or_default() } else { answer };
            if answer == "?" {
                refusal = wrapped(self.about);
                continue;
            }
            match read(answer) {
                Ok(read) => return Ok(read),
                Err(why) => {
                    let typed = format!("{}: ", escape(&scalar(answer)));
                    let is_shown = answer.is_empty() || why.starts_with(&typed);
                    let typed = if is_shown { "" } else { &typed };
                    refusal = wrapped(&format!("{typed}{why}"));
                }
            }
        }
    }
}

/// An answer that is not likely to be meant, and is taken when it is given again.
#[derive(Default)]
pub(super) struct Doubted(RefCell<String>);

impl Doubted {
    /// Whether the answer before was another one.
    pub(super) fn is_new(&self, answer: &str) -> bool {
        self.0.replace(answer.to_owned()) != answer
    }
}

/// A path as a shell would take it: `~` is the home of who types, also with sudo.
pub(super) fn path_of(text: &str) -> PathBuf {
    let below = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    below
        .and_then(|rest| Some(home_of_typist()?.join(rest.trim_start_matches('/'))))
        .unwrap_or_else(|| text.into())
}

pub(super) fn say(shell: &mut Shell, text: &str) {
    shell.output.talk(Level::Info, &wrap(text, "", columns()));
}

/// The width of the terminal that is asked.
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0).unwrap_or(USUAL)
}

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
