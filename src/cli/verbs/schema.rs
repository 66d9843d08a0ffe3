//! `certctl schema`: JSON Schema (draft 7) of the manifests and `config.toml`, for editors, and of
//! what certctl prints with -o json, for programs.

pub mod manifest;
pub mod output;
#[cfg(test)]
mod tests;

use clap::Args;

use crate::cli::config;
use crate::cli::error::CliError;
use crate::cli::exit::{Ending, ExitCode};
use crate::cli::shell::Shell;
use crate::cli::verb::VerbArgs;
use crate::cli::words::field::Kind;

/// Print the JSON Schema of manifests, config.toml or output.
///
/// To use it, begin a file with `# yaml-language-server: $schema=certctl.schema.json`
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// certificate, issuer, clusterissuer, secret, config or output [default: all manifests]
    #[arg(value_name = "KIND")]
    pub kind: Option<String>,
}

impl VerbArgs for SchemaArgs {
    const NEEDS_SETTINGS: bool = false;

    fn acts_as_owner(&self, _has_files: bool) -> bool {
        false
    }

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        schema(self, shell)
    }
}

/// `certctl schema`.
fn schema(args: &SchemaArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let refused = |word: &String| {
        let kinds = Kind::ALL.map(Kind::name).join(", ");
        let message = format!("`{word}` is not a kind of manifest");
        let hint = format_args!("kinds: {kinds}; `config` for config.toml; `output` for -o json");
        CliError::new(ExitCode::Usage, message).hinted(hint)
    };
    let schema = match &args.kind {
        None => manifest::any(),
        Some(word) if word == "output" => output::any(shell.documents),
        Some(word) if word == "config" => manifest::named(config::schema(), "config"),
        Some(word) => manifest::of(Kind::parse(word).ok_or_else(|| refused(word))?),
    };
    shell.output.data(&format!("{schema:#}\n"))?;
    Ok(Vec::new())
}
