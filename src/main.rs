//! The binary: builds the shell, runs it, and ends with its exit code.

use std::process::ExitCode;

use certctl::cli;
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    cli::panic::install_hook();
    cli::run(std::env::args_os(), cli::environment::Environment::of_process()).into()
}
