//! Shared by the checks: formats, the text page and the exit code.

use crate::cli::error::CliError;
use crate::cli::exit::{Ending, ExitCode};
use crate::cli::global::Format;
use crate::cli::render::document::{self, Document};
use crate::cli::render::output::escape;
use crate::cli::render::text::Text;
use crate::cli::shell::Shell;
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

/// Prints the text page, or a document.
pub(in crate::cli) fn print<T: Document>(
    shell: &mut Shell,
    format: Format,
    page: Text,
    document: &T,
) -> Result<(), CliError> {
    match format {
        Format::Json | Format::Yaml => shell.output.data(&document::text(document, format)?)?,
        Format::Text | Format::Wide | Format::Name | Format::Prometheus => shell.page(page)?,
    }
    Ok(())
}

/// The endings for the failures found.
pub(super) fn endings_of(failures: impl IntoIterator<Item = FailureClass>) -> Vec<Ending> {
    failures.into_iter().map(Ending::Failed).collect()
}

/// Formats a line per value, below each other where there is no label. A line feed in a value is
/// foreign.
pub(super) fn lines(lines: &[(&str, String)]) -> Text {
    let mut page = Text::default();
    for (label, value) in lines {
        let label = if label.is_empty() { String::new() } else { format!("{label}:") };
        page.push(&format!("{label:<12}"));
        page.hang();
        // What is to be pasted.
        if label == "try:" {
            page.whole(&escape(value));
        } else {
            page.push(&escape(value));
        }
        page.push("\n");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of a CA's text could be a command of a workflow.
    #[test]
    fn a_line_feed_in_a_value_begins_no_line() {
        let page = lines(&[
            ("terms", "https://ca.test/\n::error::forged\r\u{1b}[2J".to_owned()),
            ("", "of ours".to_owned()),
        ]);
        assert_eq!(
            page.to_string(),
            "terms:      https://ca.test/\\n::error::forged\\r\\u{1b}[2J\n            of ours\n"
        );
    }
}
