//! `certctl validate`: manifests only, offline.

use super::Shell;
use super::args::{Format, ValidateArgs};
use super::error::CliError;
use super::exit::ExitCode;
use super::work::{Wanted, is_root, refused, show};
use crate::manifest::{self, Source};

/// Reads the manifests and says everything that is wrong with them.
pub(crate) fn validate(args: &ValidateArgs, shell: &mut Shell) -> Result<ExitCode, CliError> {
    let mut sources = Wanted::paths(&args.paths)?.sources;
    sources.extend(Wanted::paths(&shell.global.filename)?.sources);
    if sources.is_empty() {
        let config = shell.environment.config_dir(shell.global.config_dir.as_deref())?;
        sources.push(Source::Directory(config.path));
    }
    let options = manifest::Options { check_trust: is_root(), ..manifest::Options::default() };
    let mut loaded = manifest::load(&sources, &options);
    manifest::check_references(&mut loaded);
    match shell.global.format() {
        Format::Json | Format::Yaml => {
            let json = serde_json::to_string_pretty(&loaded.diagnostics)
                .map_err(|error| CliError::new(ExitCode::Failed, error))?;
            shell.output.data(&format!("{json}\n"))?;
        }
        Format::Text | Format::Wide | Format::Name | Format::Prometheus => show(shell, &loaded),
    }
    if loaded.has_errors() {
        return Err(refused(&loaded));
    }
    let (_, warnings) = manifest::count(&loaded.diagnostics);
    shell.output.talk(&format!(
        "{} Certificates, {} Issuers in {} files: valid, {warnings} warnings",
        loaded.certificates.len(),
        loaded.issuers.len(),
        loaded.files.len()
    ));
    Ok(ExitCode::Done)
}
