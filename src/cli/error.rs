//! An error on its way out: what went wrong, what to do about it, and the exit code.

use std::fmt;
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::environment::EnvironmentError;
use crate::cli::render::log::LogError;
use crate::cli::{ExitCode, Hint, Level, Message, Paint, Text, escape, short};
use crate::engine::ports::StoreError;
use crate::host::rights;
use crate::resource::NamespacedName;
use crate::trust::quoted;
use crate::workspace::check::ServedCheckError;
use crate::workspace::target::TargetError;
use crate::workspace::{OwnersError, RequestError, RunError};

/// The error of a verb. Lower modules give errors without advice; the hint is added here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CliError {
    pub code: ExitCode,
    /// A lower-case fragment; foreign text is already escaped.
    pub message: String,
    /// Next step, if known.
    pub hint: Option<Hint>,
    /// True if something was not found where this user reads.
    pub is_absence: bool,
}

impl CliError {
    /// An error with this exit code.
    pub fn new(code: ExitCode, message: impl fmt::Display) -> Self {
        Self { code, message: message.to_string(), hint: None, is_absence: false }
    }

    /// A wrong command line.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(ExitCode::Usage, message)
    }

    /// A wrong manifest, or a precondition that is not met.
    pub fn manifest(message: impl fmt::Display) -> Self {
        Self::new(ExitCode::Manifest, message)
    }

    /// A question that was not answered with yes.
    pub fn unconfirmed() -> Self {
        Self::new(ExitCode::Failed, "not confirmed; nothing was changed")
    }

    /// The same with advice: a sentence, or commands that are printed as they stand.
    #[must_use]
    pub fn hinted(self, hint: impl fmt::Display) -> Self {
        Self { hint: Some(Hint::Text(hint.to_string())), ..self }
    }

    /// The same with a command of certctl to try.
    #[must_use]
    pub fn trying(self, command: impl fmt::Display) -> Self {
        Self { hint: Some(Hint::Command(command.to_string())), ..self }
    }

    /// The same with several commands of certctl to try, each with what it is for, or nothing.
    #[must_use]
    pub fn trying_any(self, commands: &[(&str, &str)]) -> Self {
        let owned = |(line, note): &(&str, &str)| ((*line).to_owned(), (*note).to_owned());
        Self { hint: Some(Hint::Commands(commands.iter().map(owned).collect())), ..self }
    }

    /// The same, of something that was not found.
    #[must_use]
    pub fn of_absence(self) -> Self {
        Self { is_absence: true, ..self }
    }

    /// The message on stderr.
    pub fn to_message(&self) -> Message {
        let hint = self.hint.as_ref();
        let text = Text::led_by("error", Paint::Bad, self.message.as_str()).trying(hint);
        Message::new(Level::Error, text, &self.message)
            .with("class", self.code.word())
            .with("exit_code", self.code.number())
            .with_some("hint", hint.map(Hint::lines))
    }
}

/// Reason for the end of a verb without its own data.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorDocument<'a> {
    /// The class of errors, in one word.
    class: &'a str,
    exit_code: u8,
    message: &'a str,
    /// Next steps: commands, or one sentence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hint: Vec<String>,
}

impl<'a> ErrorDocument<'a> {
    pub(crate) fn of(error: &'a CliError) -> Self {
        let CliError { code, message, hint, .. } = error;
        let hint = hint.as_ref().map(Hint::lines).unwrap_or_default();
        Self { class: code.word(), exit_code: code.number(), message, hint }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_message().text.fmt(f)
    }
}

impl std::error::Error for CliError {}

impl From<EnvironmentError> for CliError {
    fn from(error: EnvironmentError) -> Self {
        let EnvironmentError::NoHome { what, flag, .. } = error;
        Self::new(ExitCode::Usage, error)
            .hinted(format_args!("{flag} FOLDER, the {what} directory"))
    }
}

impl From<serde_json::Error> for CliError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(ExitCode::Failed, error)
    }
}

impl From<LogError> for CliError {
    fn from(error: LogError) -> Self {
        Self::new(ExitCode::Usage, error).hinted("CERTCTL_LOG=certctl=debug,certctl::acme=trace")
    }
}

impl From<TargetError> for CliError {
    fn from(error: TargetError) -> Self {
        let is_absence = matches!(error, TargetError::Unknown { .. });
        let (code, hint) = match &error {
            TargetError::NotAName { .. } => (ExitCode::Usage, None),
            TargetError::Ambiguous { word, objects } => {
                let path = quoted(&Path::new(".").join(word));
                let objects = objects.iter().map(|NamespacedName { namespace, name }| {
                    // With its namespace it is the path.
                    let is_path = word.contains('/');
                    if is_path {
                        format!("{name} -n {namespace}")
                    } else {
                        format!("{namespace}/{name}")
                    }
                });
                let by: Vec<String> = std::iter::once(path).chain(objects).collect();
                (ExitCode::Usage, Some(Hint::instead(word, &by)))
            }
            TargetError::Several { name, found } => {
                let by: Vec<String> = found.iter().map(ToString::to_string).collect();
                (ExitCode::Manifest, Some(Hint::instead(name, &by)))
            }
            // The message has it.
            TargetError::Unknown { similar: Some(_), .. } => (ExitCode::Manifest, None),
            TargetError::Unknown { similar: None, .. } => {
                (ExitCode::Manifest, Some(Hint::Command("certctl status".to_owned())))
            }
            TargetError::DnsName { name, certificates } => {
                let by: Vec<String> = certificates.iter().map(short).collect();
                (ExitCode::Manifest, Some(Hint::instead(name, &by)))
            }
            TargetError::WithoutManifest { name, .. } => {
                let forget =
                    (format!("certctl forget {}", short(name)), "or restore it".to_owned());
                (ExitCode::Manifest, Some(Hint::Commands(vec![forget])))
            }
            TargetError::Unread { place, .. } => {
                (ExitCode::Manifest, rights::reading(place).as_ref().map(Hint::from))
            }
            TargetError::Invalid { manifest, .. } => {
                let hint = format!("certctl validate {}", quoted(manifest));
                (ExitCode::Manifest, Some(Hint::Command(hint)))
            }
        };
        Self { hint, is_absence, ..Self::new(code, escape(&error.to_string())) }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let is_newer = matches!(error, StoreError::Version { .. });
        let newer = || is_newer.then(|| Hint::Text("a newer certctl".to_owned()));
        let hint = error.fix().map(Hint::from).or_else(newer);
        let is_locked = matches!(error, StoreError::Locked { .. });
        let code = if is_locked { ExitCode::Deferred } else { ExitCode::State };
        Self { hint, ..Self::new(code, error) }
    }
}

impl From<RequestError> for CliError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Target(error) => error.into(),
            error @ RequestError::Stdin(_) => Self::new(ExitCode::Manifest, error),
        }
    }
}

impl From<ServedCheckError> for CliError {
    fn from(error: ServedCheckError) -> Self {
        let code = match error {
            ServedCheckError::Run(error) => return error.into(),
            ServedCheckError::Scratch(_) => ExitCode::State,
            ServedCheckError::Tokens(_)
            | ServedCheckError::Answered
            | ServedCheckError::Token(_)
            | ServedCheckError::Webroot(_) => ExitCode::Failed,
        };
        Self::new(code, error)
    }
}

impl From<RunError> for CliError {
    fn from(error: RunError) -> Self {
        let code = match error {
            RunError::Store(error) => return error.into(),
            RunError::Listen(_) => ExitCode::Manifest,
            RunError::Tokens(_) => ExitCode::State,
        };
        Self::new(code, error)
    }
}

impl From<OwnersError> for CliError {
    fn from(error: OwnersError) -> Self {
        match error {
            OwnersError::Target(error) => error.into(),
            OwnersError::Store(error) => error.into(),
            OwnersError::Ambiguous { ref of_certificate, ref own, .. } => {
                let hint = [of_certificate, own]
                    .map(|one| format!("certctl inspect secret {}", short(one)));
                let [one, other] = &hint;
                Self::new(ExitCode::Usage, error).trying_any(&[(one, ""), (other, "")])
            }
        }
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        Self::new(ExitCode::Failed, format_args!("cannot write to standard output: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::environment::Environment;

    #[test]
    fn a_directory_that_is_not_known_leads_to_its_flag() {
        let homeless = Environment::default();
        for (found, hint) in [
            (homeless.config_dir(None), "--config-dir FOLDER, the config directory"),
            (homeless.state_dir(None), "--state-dir FOLDER, the state directory"),
        ] {
            let expected = Some(Hint::Text(hint.to_owned()));
            assert_eq!(CliError::from(found.unwrap_err()).hint, expected);
        }
    }
}
