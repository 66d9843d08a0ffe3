//! Arguments of `account`.

use clap::{Args, Subcommand};

/// `certctl account`.
#[derive(Debug, Subcommand)]
pub enum AccountVerb {
    /// Show the accounts in the state directory.
    Show(AccountIssuerArgs),
    /// Register an account before the first issuance; does nothing if there is one.
    Register(AccountIssuerArgs),
    /// Send the Issuer's e-mail address to the CA.
    Update(AccountIssuerArgs),
    /// Deactivate an account permanently; the next issuance registers another.
    Deactivate(AccountDeactivateArgs),
}

/// `certctl account show|register|update`.
#[derive(Debug, Args)]
pub struct AccountIssuerArgs {
    /// An Issuer or ClusterIssuer, as NAME or NAMESPACE/NAME [default: all]
    #[arg(value_name = "ISSUER")]
    pub issuer: Option<String>,
}

/// `certctl account deactivate`.
#[derive(Debug, Args)]
pub struct AccountDeactivateArgs {
    /// The Issuer or ClusterIssuer, as NAME or NAMESPACE/NAME.
    #[command(flatten)]
    pub issuer: AccountIssuerArgs,
    /// Confirm: a CA never reactivates an account. Required off a terminal; on one, certctl asks.
    #[arg(long)]
    pub yes: bool,
}
