//! The manifests and the state, for checks that also work without them.

use std::sync::Arc;

use crate::cli::environment::SYSTEM_CONFIG;
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::folders;
use crate::cli::render::message::Level;
use crate::cli::shell::Shell;
use crate::cli::targets::show;
use crate::resource::{Certificate, DnsName};
use crate::workspace::check::Known;

/// The manifests, and the state where it can be read; prints the errors of the manifests only when
/// `reports`.
pub(in crate::cli) async fn known(shell: &mut Shell, reports: bool) -> Result<Known, CliError> {
    let path = shell.environment.state_dir(shell.global.state_dir.as_deref());
    let path = path.map(|found| found.path).unwrap_or_default();
    let known = Known::read(shell.settings_at(path)?).await?;
    note_unread(shell);
    if reports {
        show(shell, &known.targets.loaded);
    }
    Ok(known)
}

/// Says that a user without the rights of root sees other folders than the runs.
pub(super) fn note_unread(shell: &mut Shell) {
    if folders::unread(shell).is_some() {
        let text = format!("without sudo, the manifests in {SYSTEM_CONFIG} are not read");
        shell.output.talk(Level::Info, &text);
    }
}

/// Refuses what is only the name of a Certificate, with the command for its domain.
pub(super) fn is_domain(name: &DnsName, verb: &str, known: &Known) -> Result<(), CliError> {
    let certificates = &known.targets.loaded.certificates;
    let is_it = |text: &str| text == name.to_string();
    let is_named = |one: &Arc<Certificate>| one.spec.dns_names.iter().any(|it| is_it(it.base()));
    // One with a dot can be looked up in any case.
    if name.to_string().contains('.') || certificates.iter().any(is_named) {
        return Ok(());
    }
    let found = certificates.iter().find(|one| is_it(&one.metadata.name));
    let Some(domain) = found.and_then(|one| one.spec.dns_names.first()) else { return Ok(()) };
    let message = format!("{name} is a Certificate: name one of its domains");
    let command = format!("certctl check {verb} {}", domain.base());
    Err(CliError::new(ExitCode::Usage, message).trying(command))
}
