//! Arguments of `create`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `certctl create`.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// What to create; without it, a terminal is asked.
    #[command(subcommand)]
    pub verb: Option<CreateVerb>,
}

/// The objects that can be created.
#[derive(Debug, Subcommand)]
pub enum CreateVerb {
    /// Print the manifest of an Issuer, with comments.
    ///
    /// Let's Encrypt: `certctl create issuer letsencrypt --email you@example.com`. The names are proven
    /// over HTTP on port 80, or with --dns01 by records that certctl makes in the zone. With --into it
    /// is written to issuer-NAME.yaml in that folder; certctl never overwrites a file.
    Issuer(CreateIssuerArgs),
    /// Print the manifest of a Certificate, with comments.
    ///
    /// `certctl create certificate www.example.com example.com` is one certificate for two names. With
    /// --into it is written to certificate-NAME.yaml in that folder; certctl never overwrites a file.
    #[command(visible_alias = "cert")]
    Certificate(CreateCertificateArgs),
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

/// `certctl create issuer`.
#[derive(Debug, Args)]
pub struct CreateIssuerArgs {
    /// Name of the Issuer; `letsencrypt` and `letsencrypt-staging` are known.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Where the CA writes to.
    #[arg(long, value_name = "ADDRESS")]
    pub email: Option<String>,
    /// The URL of another CA's ACME directory.
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// The roots that the CA's own server is trusted by, as PEM, for a CA of your own.
    #[arg(long, value_name = "FILE")]
    pub ca_bundle: Option<PathBuf>,
    /// Let's Encrypt's staging environment.
    #[arg(long, conflicts_with = "server")]
    pub staging: bool,
    /// A profile of the CA.
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// The key ID for a CA that asks for an external account.
    #[arg(long, value_name = "ID")]
    pub eab_kid: Option<String>,
    /// Prove names by records that this provider of DNS publishes.
    #[arg(long, value_name = "PROVIDER")]
    pub dns01: Option<Dns01>,
    /// Write it into this folder of manifests.
    #[arg(long, value_name = "FOLDER")]
    pub into: Option<PathBuf>,
}

/// The providers of DNS for which there is an entry of `solvers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Dns01 {
    AcmeDns,
    Akamai,
    AzureDns,
    CloudDns,
    Cloudflare,
    Digitalocean,
    /// A program of your own.
    Exec,
    Rfc2136,
    Route53,
}

/// `certctl create certificate`.
#[derive(Debug, Args)]
pub struct CreateCertificateArgs {
    /// The DNS names and IP addresses of the certificate.
    #[arg(value_name = "DNSNAME", required = true)]
    pub names: Vec<String>,
    /// Name of the Certificate [default: the first DNSNAME]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The Issuer that issues it.
    #[arg(long, value_name = "NAME", default_value = "letsencrypt")]
    pub issuer: String,
    /// Your web server serves the challenges from this folder.
    #[arg(long, value_name = "FOLDER")]
    pub webroot: Option<PathBuf>,
    /// The program in hooks.d that makes your server reload, such as nginx.
    #[arg(long, value_name = "PROGRAM")]
    pub reload: Option<String>,
    /// Put tls.crt and tls.key into this folder too, which your server reads.
    #[arg(long, value_name = "FOLDER")]
    pub output_dir: Option<PathBuf>,
    /// Write it into this folder of manifests.
    #[arg(long, value_name = "FOLDER")]
    pub into: Option<PathBuf>,
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
