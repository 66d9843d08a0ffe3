//! Questions on the terminal, each asked until its answer can be used, and the way back through them.
//!
//! Contract: `back` leads to the question before. The answers before that one are given again, in the
//! same order, as if they had been typed; what was said of them is not repeated.

use std::cell::RefCell;
use std::path::PathBuf;
use std::vec;

use super::print::scalar;
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::render::Width;
use crate::cli::render::message::Level;
use crate::cli::render::output::escape;
use crate::cli::render::text::{Text, USUAL, wrap};
use crate::cli::shell::Shell;
use crate::trust::home_of_typist;

/// The answer that goes back to the question before.
pub(super) const BACK: &str = "back";
/// The answer that leads to the choice of another way to validate.
pub(super) const OTHER: &str = "other";
/// The answer that leaves something out.
pub(super) const NONE: &str = "none";

/// Why the questions end before the last one.
pub(super) enum Stop {
    /// The question before is to be asked again.
    Back,
    Failed(CliError),
}

impl From<CliError> for Stop {
    fn from(error: CliError) -> Self {
        Self::Failed(error)
    }
}

/// The answers of a person, in their order, and those that were gone back over.
#[derive(Default)]
pub(super) struct Answers {
    given: Vec<Given>,
    left: Vec<Given>,
}

/// A question, and what was answered.
#[derive(Clone)]
struct Given {
    question: String,
    answer: String,
}

/// A person at a terminal, and the answers so far.
pub(super) struct Dialogue<'a> {
    pub(super) shell: &'a mut Shell,
    /// Those that were accepted.
    given: Vec<Given>,
    /// Those of earlier, which are given again.
    earlier: vec::IntoIter<Given>,
    /// Those behind them, which the person went back over: each is the default of its question.
    left: Vec<Given>,
    /// Whether the newest answer was given before: a person has insisted on it, and it is not doubted.
    pub(super) is_sure: bool,
}

impl<'a> Dialogue<'a> {
    /// With a person who goes back to the last of these answers, if there are any.
    pub(super) fn again(shell: &'a mut Shell, Answers { mut given, mut left }: Answers) -> Self {
        if let Some(last) = given.pop() {
            left.retain(|one| one.question != last.question);
            left.push(last);
        }
        Self { shell, given: Vec::new(), earlier: given.into_iter(), left, is_sure: false }
    }

    /// What the person has answered.
    pub(super) fn answers(self) -> Answers {
        Answers { given: self.given, left: self.left }
    }

    /// Takes back the newest answers, so many, after which a question comes again.
    pub(super) fn retract(&mut self, answers: usize) {
        self.given.truncate(self.given.len().saturating_sub(answers));
    }

    /// Whether an answer is there for the next question.
    pub(super) fn is_answered(&self) -> bool {
        self.earlier.len() > 0
    }

    /// Says what the person was not told before.
    pub(super) fn say(&mut self, text: &str) {
        if !self.is_answered() {
            say(self.shell, text);
        }
    }

    /// The same for a line that is not wrapped.
    pub(super) fn show(&mut self, line: &str) {
        if !self.is_answered() {
            let mut text = Text::default();
            text.whole(line);
            self.shell.output.talk(Level::Info, text);
        }
    }
}

/// Whether a text answers another question than one for a name.
pub(super) fn is_answer(text: &str) -> bool {
    ["y", "yes", "n", "no", "show", BACK].contains(&text)
}

/// A question whose answer may be nothing, which is the default.
pub(super) fn optional<T>(
    dialogue: &mut Dialogue<'_>,
    question: &str,
    about: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Stop> {
    optional_or(NONE, dialogue, question, about, read)
}

/// The same with this default.
pub(super) fn optional_or<T>(
    default: &str,
    dialogue: &mut Dialogue<'_>,
    question: &str,
    about: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Stop> {
    answered(dialogue, &format!("{question}, or none"), about, Some(default), |text| {
        if text == NONE { Ok(None) } else { read(text).map(Some) }
    })
}

/// Asks until the answer can be used; `?` is answered by what the question is about.
pub(super) fn answered<T>(
    dialogue: &mut Dialogue<'_>,
    question: &str,
    about: &str,
    default: Option<&str>,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, Stop> {
    Question { default, ..Question::new(question, about) }.answered(dialogue, read)
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

impl<'a> Question<'a> {
    /// A question without a default.
    pub(super) fn new(text: &'a str, about: &'a str) -> Self {
        Self { text, about, default: None, refusal: "" }
    }
}

impl Question<'_> {
    /// The first answer that can be read.
    pub(super) fn answered<T>(
        &self,
        dialogue: &mut Dialogue<'_>,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Stop> {
        if let Some(one) = dialogue.earlier.next() {
            // One that was doubted was given twice.
            if let Ok(found) = read(&one.answer).or_else(|_| read(&one.answer)) {
                dialogue.given.push(one);
                dialogue.is_sure = true;
                return Ok(found);
            }
            dialogue.earlier = Vec::new().into_iter();
        }
        let left = dialogue.left.iter().find(|one| one.question == self.text);
        // One that led elsewhere is no answer to what is asked.
        let mut left = left.map(|one| one.answer.clone()).filter(|answer| answer != OTHER);
        let wrapped = |text: &str| wrap(text, "", columns());
        let mut refusal = match self.refusal {
            "" => String::new(),
            refusal => wrapped(refusal),
        };
        loop {
            let default = left.as_deref().or(self.default);
            let shown = default.map(|default| format!(" [{default}]")).unwrap_or_default();
            let question = wrap(&format!("{}{shown}", self.text), "", columns());
            let prompt = format!("{refusal}\n{question}> ");
            let Some(answer) = dialogue.shell.output.answer(&prompt) else {
                let error = CliError::new(ExitCode::Failed, "no answer; nothing was written");
                return Err(error.into());
            };
            let answer = answer.trim();
            let answer = if answer.is_empty() { default.unwrap_or_default() } else { answer };
            if answer == "?" {
                refusal = wrapped(self.about);
                continue;
            }
            if answer == BACK {
                if !dialogue.given.is_empty() {
                    return Err(Stop::Back);
                }
                refusal = wrapped(IS_FIRST);
                continue;
            }
            match read(answer) {
                Ok(found) => {
                    let question = self.text.to_owned();
                    dialogue.left.retain(|one| one.question != question);
                    dialogue.given.push(Given { question, answer: answer.to_owned() });
                    dialogue.is_sure = false;
                    return Ok(found);
                }
                Err(why) => {
                    let typed = format!("{}: ", escape(&scalar(answer)));
                    let is_shown = answer.is_empty() || why.starts_with(&typed);
                    let typed = if is_shown { "" } else { &typed };
                    refusal = wrapped(&format!("{typed}{why}"));
                    // The person went back to replace it.
                    left = None;
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
    shell.output.talk(Level::Info, wrap(text, "", columns()));
}

const IS_FIRST: &str = "this is the first question; Ctrl-C quits";

/// The width of the terminal that is asked.
fn columns() -> usize {
    Width::of_stderr().unwrap_or(USUAL)
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
