//! The binary: builds the shell, runs it, and ends with its exit code.

use std::process::ExitCode;

use certctl::cli;

fn main() -> ExitCode {
    cli::panic::install_hook();
    cli::run(std::env::args_os(), cli::environment::Environment::of_process()).into()
}
