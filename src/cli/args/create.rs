//! Arguments of `create`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `certctl create`.
#[derive(Debug, Subcommand)]
pub enum CreateVerb {
    /// Create a one-off key and CSR for a Certificate (not managed afterwards).
    ///
    /// Writes the key to NAME.key and prints the CertificateRequest as YAML (-o json: as JSON), for
    /// a cluster, or for a CA elsewhere: its spec.request is the CSR in PEM, in base64.
    ///
    /// With --fetch-certificate the Issuer issues it at once: certctl writes key and chain to
    /// NAME.key and NAME.crt when both are there, and prints nothing. If a run is killed, the same
    /// command continues it. certctl never overwrites a file.
    #[command(name = "certificaterequest", visible_alias = "cr")]
    CertificateRequest(CreateRequestArgs),
}

/// `certctl create certificaterequest`.
#[derive(Debug, Args)]
pub struct CreateRequestArgs {
    /// Name of the request, and of its files.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// A manifest with exactly one Certificate.
    #[arg(long, value_name = "FILE")]
    pub from_certificate_file: PathBuf,
    /// Let the Issuer issue it now.
    #[arg(long)]
    pub fetch_certificate: bool,
    /// Where the private key goes [default: NAME.key]
    #[arg(long, value_name = "FILE")]
    pub output_key_file: Option<PathBuf>,
    /// Where the chain goes [default: NAME.crt]
    #[arg(long, value_name = "FILE", requires = "fetch_certificate")]
    pub output_certificate_file: Option<PathBuf>,
}
