//! Arguments of the verbs that describe certctl itself.

use std::path::PathBuf;

use clap::Args;

/// `certctl explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A kind and a path below it with dots, as in `kubectl explain`, or an annotation of certctl;
    /// without one, the kinds and the annotations are listed.
    #[arg(value_name = "FIELD")]
    pub field: Option<String>,
    /// All fields below it, a line each.
    #[arg(long)]
    pub recursive: bool,
}

/// `certctl schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// certificate, issuer, clusterissuer or secret, all of them when left out; or output.
    #[arg(value_name = "KIND")]
    pub kind: Option<String>,
}

/// `certctl version`.
#[derive(Debug, Args)]
pub struct VersionArgs {
    /// Print the number alone.
    #[arg(long)]
    pub short: bool,
}

/// `certctl completion`.
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// The shell.
    pub shell: clap_complete::Shell,
}

/// `certctl man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Folder for the pages; created if missing.
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}
