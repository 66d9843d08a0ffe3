//! Shared by the checks: formats, the text page and the exit code.

use crate::cli::document::{self, Document};
use crate::cli::error::CliError;
use crate::cli::exit::{self, ExitCode};
use crate::cli::global::Format;
use crate::cli::output::escape;
use crate::cli::shell::Shell;
use crate::cli::wrap::aligned;
use crate::resource::FailureClass;

/// The output format, if `verb` supports it.
pub(in crate::cli) fn format_of(shell: &Shell, verb: &str) -> Result<Format, CliError> {
    match shell.global.format() {
        Format::Name | Format::Prometheus => {
            let message = format!("{verb} has no such format");
            Err(CliError::new(ExitCode::Usage, message).hinted("-o json"))
        }
        format @ (Format::Text | Format::Wide | Format::Json | Format::Yaml) => Ok(format),
    }
}

/// The output: the text page, or a document.
pub(in crate::cli) fn written<T: Document>(
    format: Format,
    page: String,
    document: &T,
) -> Result<String, CliError> {
    match format {
        Format::Json | Format::Yaml => document::text(document, format),
        Format::Text | Format::Wide | Format::Name | Format::Prometheus => Ok(page),
    }
}

/// The exit code for the failures found.
pub(super) fn code_of(failures: Vec<FailureClass>) -> ExitCode {
    exit::of_run(failures.into_iter().map(exit::Ending::Failed), false)
}

/// One line per value, below each other where there is no label; of at most so many columns. A line
/// feed in a value is foreign.
pub(super) fn lines(lines: &[(&str, String)], columns: usize) -> String {
    let mut text = String::new();
    for (label, value) in lines {
        let label = if label.is_empty() { String::new() } else { format!("{label}:") };
        text = format!("{text}{label:<12}{}\n", escape(value));
    }
    aligned(&text, columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a CA says on a line of its own could be a command of a workflow.
    #[test]
    fn a_line_feed_in_a_value_begins_no_line() {
        let page = lines(
            &[
                ("terms", "https://ca.test/\n::error::forged\r\u{1b}[2J".to_owned()),
                ("", "of ours".to_owned()),
            ],
            usize::MAX,
        );
        assert_eq!(
            page,
            "terms:      https://ca.test/\\n::error::forged\\r\\u{1b}[2J\n            of ours\n"
        );
    }
}
