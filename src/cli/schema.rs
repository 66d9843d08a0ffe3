//! `certctl schema`: JSON Schema (draft 7) of the manifests, for editors, and of what certctl
//! prints with -o json, for programs.

pub mod manifest;
pub mod output;
#[cfg(test)]
mod tests;

use super::args::SchemaArgs;
use super::error::CliError;
use super::exit::ExitCode;
use super::explain::field::Kind;
use super::shell::Shell;

/// `certctl schema`.
pub(crate) fn schema(
    args: &SchemaArgs,
    documents: &output::Documents,
    shell: &mut Shell,
) -> Result<ExitCode, CliError> {
    let refused = |word: &String| {
        let kinds = Kind::ALL.map(Kind::name).join(", ");
        let message = format!("`{word}` is not a kind of manifest");
        let hint = format_args!("kinds: {kinds}; and `output` for certctl's own output");
        CliError::new(ExitCode::Usage, message).hinted(hint)
    };
    let schema = match &args.kind {
        None => manifest::any(),
        Some(word) if word == OUTPUT => output::any(documents),
        Some(word) => manifest::of(Kind::parse(word).ok_or_else(|| refused(word))?),
    };
    shell.output.data(&format!("{schema:#}\n"))?;
    Ok(ExitCode::Done)
}

/// The argument for the schema of the outputs.
const OUTPUT: &str = "output";
