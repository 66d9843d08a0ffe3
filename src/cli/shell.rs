//! What every verb is given: the streams, the environment, the flags and what becomes of the run.

use std::net::TcpListener;

use clap::ArgMatches;

use super::args::GlobalArgs;
use super::config::Config;
use super::environment::Environment;
use super::output::Output;
use super::result::Results;

/// What every verb is given.
pub struct Shell {
    /// stdout and stderr.
    pub output: Output,
    /// Variables and directories.
    pub environment: Environment,
    /// The global flags.
    pub global: GlobalArgs,
    /// `config.toml`, which these flags have in them already.
    pub config: Config,
    /// What clap made of the command line, of variables and of `config.toml`.
    pub matches: ArgMatches,
    /// Sockets that were handed over, for HTTP-01.
    pub inherited: Vec<TcpListener>,
    /// What was done, for programs.
    pub results: Results,
}
