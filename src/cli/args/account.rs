//! Arguments of `account`.

use clap::{Args, Subcommand};

/// `certctl account`.
#[derive(Debug, Subcommand)]
pub enum AccountVerb {
    /// Show the accounts that the state knows.
    Show(AccountIssuerArgs),
    /// Register as the first issuance would; with an account already, nothing happens.
    Register(AccountIssuerArgs),
    /// Tell the CA the contacts of the Issuer.
    Update(AccountIssuerArgs),
    /// Give an account up for good; the next issuance registers another.
    Deactivate(AccountDeactivateArgs),
}

/// `certctl account show|register|update`.
#[derive(Debug, Args)]
pub struct AccountIssuerArgs {
    /// An Issuer or ClusterIssuer, as NAME or NAMESPACE/NAME; all of them when there is none.
    #[arg(value_name = "ISSUER")]
    pub issuer: Option<String>,
}

/// `certctl account deactivate`.
#[derive(Debug, Args)]
pub struct AccountDeactivateArgs {
    /// Which one.
    #[command(flatten)]
    pub issuer: AccountIssuerArgs,
    /// Yes, for good: a CA never activates an account again.
    #[arg(long)]
    pub yes: bool,
}
