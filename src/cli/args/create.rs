//! Arguments of `create`.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args, Subcommand, ValueEnum};

use crate::solver::dns01::{WebhookProvider, webhook_providers};

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
    /// Let's Encrypt: `certctl create issuer letsencrypt --email you@example.com`. The CA validates
    /// the names by HTTP-01 on port 80, or with --dns01 by TXT records that certctl creates. --into
    /// writes the manifest to issuer-NAME.yaml in that folder; certctl never overwrites a file.
    Issuer(CreateIssuerArgs),
    /// Print the manifest of a Certificate, with comments.
    ///
    /// `certctl create certificate www.example.com example.com` is one certificate for two names.
    /// --into writes the manifest to certificate-NAME.yaml in that folder; certctl never overwrites
    /// a file.
    #[command(visible_alias = "cert")]
    Certificate(CreateCertificateArgs),
    /// Create a one-off key and CSR for a Certificate (not managed afterwards).
    ///
    /// Writes the key to NAME.key and prints the CertificateRequest as YAML (-o json: as JSON), for
    /// a cluster or for another CA: spec.request is the CSR, as PEM in base64.
    ///
    /// With --fetch-certificate, the Issuer issues the certificate: certctl writes the key to
    /// NAME.key and the chain to NAME.crt once it has both, and prints nothing. If a run is killed,
    /// the same command continues it. certctl never overwrites a file.
    #[command(name = "certificaterequest", visible_alias = "cr")]
    CertificateRequest(CreateRequestArgs),
}

/// `certctl create issuer`.
#[derive(Debug, Args)]
pub struct CreateIssuerArgs {
    /// Name of the Issuer; certctl knows the URLs of `letsencrypt` and `letsencrypt-staging`.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// E-mail address for the CA's messages.
    #[arg(long, value_name = "ADDRESS")]
    pub email: Option<String>,
    /// ACME directory URL of another CA.
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// PEM file with the roots to trust for the server of a private CA.
    #[arg(long, value_name = "FILE")]
    pub ca_bundle: Option<PathBuf>,
    /// Use Let's Encrypt's staging environment.
    #[arg(long, conflicts_with = "server")]
    pub staging: bool,
    /// Certificate profile of the CA.
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// Key ID for the external account binding.
    #[arg(long, value_name = "ID")]
    pub eab_kid: Option<String>,
    /// Validate names by DNS-01 with this DNS provider, such as cloudflare, hetzner or rfc2136;
    /// exec: a program of your own. All: certctl version -v.
    #[arg(long, value_name = "PROVIDER", hide_possible_values = true)]
    pub dns01: Option<Dns01>,
    /// Write the manifest to this folder.
    #[arg(long, value_name = "FOLDER")]
    pub into: Option<PathBuf>,
}

/// The providers of DNS for which there is an entry of `solvers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dns01 {
    /// One of cert-manager's own, or a program of your own.
    Own(&'static OwnProvider),
    /// One that cert-manager lacks.
    Listed(&'static WebhookProvider),
}

/// A provider whose entry is written by hand.
#[derive(Debug, PartialEq, Eq)]
pub struct OwnProvider {
    /// As it is typed.
    pub name: &'static str,
    /// As manifests have it, if they have it otherwise.
    field: Option<&'static str>,
    /// Its entry of `solvers`, with values that must be changed.
    pub entry: &'static str,
}

impl Dns01 {
    /// Without those that cert-manager lacks.
    pub const OWN: &[OwnProvider] = &[
        own("acme-dns", Some("acmeDNS"), include_str!("../create/dns01/acme-dns.yaml")),
        own("akamai", None, include_str!("../create/dns01/akamai.yaml")),
        own("azure-dns", Some("azureDNS"), include_str!("../create/dns01/azure-dns.yaml")),
        own("cloud-dns", Some("cloudDNS"), include_str!("../create/dns01/cloud-dns.yaml")),
        own("cloudflare", None, include_str!("../create/dns01/cloudflare.yaml")),
        own("digitalocean", None, include_str!("../create/dns01/digitalocean.yaml")),
        own("exec", None, include_str!("../create/dns01/exec.yaml")),
        own("rfc2136", None, include_str!("../create/dns01/rfc2136.yaml")),
        own("route53", None, include_str!("../create/dns01/route53.yaml")),
    ];

    /// As it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own(provider) => provider.name,
            Self::Listed(provider) => provider.name,
        }
    }
}

const fn own(name: &'static str, field: Option<&'static str>, entry: &'static str) -> OwnProvider {
    OwnProvider { name, field, entry }
}

impl ValueEnum for Dns01 {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Dns01>> = LazyLock::new(|| {
            let listed = webhook_providers().into_iter().map(Dns01::Listed);
            Dns01::OWN.iter().map(Dns01::Own).chain(listed).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let value = PossibleValue::new(self.name());
        Some(match self {
            Self::Own(OwnProvider { field: Some(field), .. }) => value.alias(*field),
            Self::Own(_) | Self::Listed(_) => value,
        })
    }
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
    /// Name of the Issuer [default: the only one of the manifests, else letsencrypt]
    #[arg(long, value_name = "NAME")]
    pub issuer: Option<String>,
    /// Folder from which your web server serves the HTTP-01 challenges.
    #[arg(long, value_name = "FOLDER")]
    pub webroot: Option<PathBuf>,
    /// Program in hooks.d that reloads your server, such as nginx.
    #[arg(long, value_name = "PROGRAM")]
    pub reload: Option<String>,
    /// Also write tls.crt and tls.key to this folder, for your server.
    #[arg(long, value_name = "FOLDER")]
    pub output_dir: Option<PathBuf>,
    /// Write the manifest to this folder.
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
    /// Issue the certificate now.
    #[arg(long)]
    pub fetch_certificate: bool,
    /// File for the private key [default: NAME.key]
    #[arg(long, value_name = "FILE")]
    pub output_key_file: Option<PathBuf>,
    /// File for the chain [default: NAME.crt]
    #[arg(long, value_name = "FILE", requires = "fetch_certificate")]
    pub output_certificate_file: Option<PathBuf>,
}
