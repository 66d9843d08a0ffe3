//! Arguments of the verbs that describe certctl itself.

use std::path::PathBuf;

use clap::Args;

/// `certctl explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// KIND.PATH, as in `kubectl explain`, or an annotation of certctl; all kinds and annotations when
    /// left out.
    #[arg(value_name = "FIELD")]
    pub field: Option<String>,
    /// Also list all fields below it.
    #[arg(long)]
    pub recursive: bool,
}

/// `certctl schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// certificate, issuer, clusterissuer or secret [default: all], or output.
    #[arg(value_name = "KIND")]
    pub kind: Option<String>,
}

/// `certctl version`.
#[derive(Debug, Args)]
pub struct VersionArgs {
    /// Print only the version number.
    #[arg(long)]
    pub short: bool,
}

/// `certctl completion`.
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// The shell.
    pub shell: clap_complete::Shell,
}

/// `certctl help`.
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// A verb, such as `check dns`, or a topic.
    #[arg(value_name = "VERB|TOPIC")]
    pub words: Vec<String>,
}

/// `certctl man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Folder for the pages; created if missing.
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}
