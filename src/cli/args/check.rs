//! Arguments of `check` and `doctor`.

use clap::{Args, Subcommand};

/// `certctl check`.
#[derive(Debug, Subcommand)]
pub enum CheckVerb {
    /// Check the CA of an issuer, and whether the Issuer matches it.
    ///
    /// Directory, trust, clock, terms, external account binding, profile, CAA identities and the
    /// account. Creates no account. Without a name: all issuers.
    Acme(CheckAcmeArgs),
    /// Check the zone, the TXT record of a DNS-01 challenge and the CAA records.
    ///
    /// If a Certificate has the name: also whether its CA may issue, and whether the credentials of
    /// its DNS provider can read the zone.
    Dns(CheckDnsArgs),
    /// Check that a CA could reach this host for NAME over HTTP.
    ///
    /// Shows the addresses of NAME, what listens on the port, and the responses. If the port is
    /// free, certctl serves a test token during the check; with a webroot, it puts a test file there
    /// and removes it again.
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
    /// The domain; a leading `*.` is ignored.
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// `certctl doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Leave out the checks that need the network.
    #[arg(long)]
    pub offline: bool,
}
