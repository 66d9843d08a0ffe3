//! Arguments of `create`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `certctl create`.
#[derive(Debug, Subcommand)]
pub enum CreateVerb {
    /// Make a key and a request as a Certificate asks, once; nothing is managed by it.
    ///
    /// Writes the key to NAME.key and prints the CertificateRequest as YAML (-o json: as JSON), for
    /// a cluster, or for a CA elsewhere: its spec.request is the CSR in PEM, in base64.
    ///
    /// With --fetch-certificate the Issuer is asked at once, in its account: key and chain are
    /// written to NAME.key and NAME.crt when both are there, and nothing is printed. A run that
    /// was cut off is gone on with by the same command. No file is ever overwritten.
    #[command(name = "certificaterequest", visible_alias = "cr")]
    CertificateRequest(CreateRequestArgs),
}

/// `certctl create certificaterequest`.
#[derive(Debug, Args)]
pub struct CreateRequestArgs {
    /// Name of the request, and of its files.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// A manifest with the one Certificate that is asked for.
    #[arg(long, value_name = "FILE")]
    pub from_certificate_file: PathBuf,
    /// Ask the Issuer for it now.
    #[arg(long)]
    pub fetch_certificate: bool,
    /// Where the private key goes [default: NAME.key]
    #[arg(long, value_name = "FILE")]
    pub output_key_file: Option<PathBuf>,
    /// Where the chain goes [default: NAME.crt]
    #[arg(long, value_name = "FILE", requires = "fetch_certificate")]
    pub output_certificate_file: Option<PathBuf>,
}
