//! Arguments of `timer`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::values;

/// `certctl timer`.
#[derive(Debug, Subcommand)]
pub enum TimerVerb {
    /// Print the files of a scheduler; installs nothing.
    ///
    /// --systemd: a hardened service with its timer, a socket for port 80, and a service that
    /// runs hooks and reloads as root. All run hourly, at a host-specific minute.
    Print(TimerPrintArgs),
}

/// `certctl timer print`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("scheduler").required(true)))]
pub struct TimerPrintArgs {
    /// systemd units.
    #[arg(long, group = "scheduler")]
    pub systemd: bool,
    /// A file for /etc/cron.d; with --user and this user's name, lines for crontab -e.
    #[arg(long, group = "scheduler")]
    pub cron: bool,
    /// A property list for launchd.
    #[arg(long, group = "scheduler")]
    pub launchd: bool,
    /// User that runs it [default: certctl for systemd, root for the others]
    #[arg(long, value_name = "NAME", value_parser = values::user)]
    pub user: Option<String>,
    /// Write the files into this folder instead.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}
