//! Arguments of `account`.

use clap::{Args, Subcommand};

/// `certctl account`.
#[derive(Debug, Subcommand)]
pub enum AccountVerb {
    /// Show the accounts that the state knows.
    Show(AccountIssuerArgs),
    /// Register an account, as the first issuance would; does nothing if there is one.
    Register(AccountIssuerArgs),
    /// Send the Issuer's e-mail address to the CA.
    Update(AccountIssuerArgs),
    /// Deactivate an account for good; the next issuance registers another.
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
    /// The Issuer or ClusterIssuer, as NAME or NAMESPACE/NAME.
    #[command(flatten)]
    pub issuer: AccountIssuerArgs,
    /// Confirm: a CA never reactivates an account. Without it, a question is asked on a terminal.
    #[arg(long)]
    pub yes: bool,
}
