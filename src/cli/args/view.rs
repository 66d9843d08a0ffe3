//! Arguments of the verbs that show what there is.

use std::ffi::OsString;

use clap::Args;

/// `certctl status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// certificate (may be left out), issuer, order, challenge or request; then names.
    #[arg(value_name = "KIND|NAME")]
    pub words: Vec<OsString>,
}

/// `certctl describe`.
#[derive(Debug, Args)]
pub struct DescribeArgs {
    /// certificate (may be left out), issuer, order, challenge or request; then names.
    #[arg(value_name = "KIND|NAME", required = true)]
    pub words: Vec<OsString>,
}

/// `certctl inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// A certificate or secret by name (`secret NAME` for a secret), a file with PEM or the manifest
    /// of a Secret, `-` for standard input, or a TLS server.
    #[arg(value_name = "NAME|FILE|-|HOST:PORT", required = true, num_args = 1..=2)]
    pub words: Vec<OsString>,
    /// Do not query the CA for revocation.
    #[arg(long)]
    pub offline: bool,
}
