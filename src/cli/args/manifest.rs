//! Arguments of the verbs that read manifests alone.

use std::ffi::OsString;

use clap::Args;

use super::values::Resolve;

/// `certctl validate`.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// Certificates by name, manifests, folders of them, or `-` for standard input [default: the
    /// config directory]
    #[arg(value_name = "NAME|FILE|DIR|-")]
    pub targets: Vec<OsString>,
    /// Exit with 3 for warnings, too.
    #[arg(long)]
    pub strict: bool,
    /// Check this host as well, as `doctor --offline` does; end in 3 if something is wrong.
    #[arg(long)]
    pub host: bool,
}

/// `certctl rehearse`.
#[derive(Debug, Args)]
pub struct RehearseArgs {
    /// Certificates by name, manifests, folders of them, or `-` for standard input [default: the
    /// config directory]
    #[arg(value_name = "NAME|FILE|DIR|-")]
    pub targets: Vec<OsString>,
    /// Address of a name during the rehearsal (repeat).
    #[arg(long, value_name = "NAME=ADDR")]
    pub resolve: Vec<Resolve>,
}
