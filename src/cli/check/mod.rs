//! `certctl check`: diagnosis of what issuing needs from the network.
//!
//! Contract: nothing is changed and nothing decided; what is off is shown, and the exit code is 0
//! as long as there is something to show.

mod dns;

use super::Shell;
use super::args::CheckVerb;
use super::error::CliError;
use super::exit::ExitCode;

/// `certctl check`.
pub(crate) fn check(verb: &CheckVerb, shell: &mut Shell) -> Result<ExitCode, CliError> {
    match verb {
        CheckVerb::Dns(args) => dns::check(args, shell),
    }
}
