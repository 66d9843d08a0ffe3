//! Arguments of `check`.

use clap::{Args, Subcommand};

/// `certctl check`.
#[derive(Debug, Subcommand)]
pub enum CheckVerb {
    /// Show what the CA of an issuer says of itself, and whether the Issuer fits.
    ///
    /// Directory, trust, clock, terms, external account binding, profile, CAA identities and the
    /// account. No account is made. Without a name: all issuers.
    Acme(CheckAcmeArgs),
    /// Show where the TXT record of a DNS-01 challenge belongs, what is there, and the CAA records.
    ///
    /// With a Certificate for the name: whether its CA may issue, and whether the credentials of
    /// its DNS provider can read the zone.
    Dns(CheckDnsArgs),
    /// Show where a name leads, whether the HTTP-01 listener could listen, and what answers.
    ///
    /// When the port can be had, a token of no meaning is served for the moment.
    Http(CheckHttpArgs),
}

/// `certctl check acme`.
#[derive(Debug, Args)]
pub struct CheckAcmeArgs {
    /// An Issuer or ClusterIssuer, as NAME or NAMESPACE/NAME.
    #[arg(value_name = "ISSUER")]
    pub issuer: Option<String>,
}

/// `certctl check http`.
#[derive(Debug, Args)]
pub struct CheckHttpArgs {
    /// The domain.
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// `certctl check dns`.
#[derive(Debug, Args)]
pub struct CheckDnsArgs {
    /// The domain; a leading `*.` does not matter.
    #[arg(value_name = "NAME")]
    pub name: String,
}
