//! Arguments of the verbs that change certificates.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::values;
use crate::resource::{GoDuration, RevocationReason};

/// `certctl issue`.
#[derive(Debug, Args)]
pub struct IssueArgs {
    /// Manifests, folders of them, `-` for standard input, or names of known certificates.
    #[arg(value_name = "FILE|DIR|-|NAME")]
    pub targets: Vec<OsString>,
    /// Send orders even if the CA's rate limits would refuse them.
    ///
    /// By default, certctl stays within the rate limits that Let's Encrypt publishes, counted from
    /// issuance.log, and obeys the Retry-After of every CA. It does not send an order that would be
    /// refused: the run exits with 75 and shows when the order is possible. `certctl plan` shows
    /// what is left of the limits.
    #[arg(long)]
    pub ignore_limits: bool,
    /// Replace a trusted certificate by one of a staging CA, which no client trusts.
    #[arg(long)]
    pub allow_untrusted: bool,
    /// Start after a fixed, host-specific delay of up to DURATION.
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub splay: Option<GoDuration>,
}

/// `certctl renew`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct RenewArgs {
    /// Certificates, as NAME or NAMESPACE/NAME.
    #[arg(value_name = "NAME")]
    pub names: Vec<OsString>,
    /// All certificates, due or not; from cron use `certctl issue`.
    #[arg(long)]
    pub all: bool,
    /// Generate a new private key, even with rotationPolicy: Never.
    #[arg(long)]
    pub new_key: bool,
    /// Drop a pending order and create a new one.
    #[arg(long)]
    pub new_order: bool,
    /// Send orders even if the CA's rate limits would refuse them.
    ///
    /// For example, Let's Encrypt refuses a sixth identical certificate within a week. By default,
    /// certctl does not request it, exits with 75 and shows when it is possible.
    #[arg(long)]
    pub ignore_limits: bool,
    /// Replace a trusted certificate by one of a staging CA, which no client trusts.
    #[arg(long)]
    pub allow_untrusted: bool,
    /// Do not ask for confirmation of --all, and do not warn.
    #[arg(long)]
    pub yes: bool,
}

/// `certctl plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Manifests, folders of them, `-` for standard input, or names of known certificates.
    #[arg(value_name = "FILE|DIR|-|NAME")]
    pub targets: Vec<OsString>,
}

/// `certctl deploy`.
#[derive(Debug, Args)]
pub struct DeployArgs {
    /// Certificates, as NAME or NAMESPACE/NAME.
    #[arg(value_name = "NAME")]
    pub names: Vec<OsString>,
    /// Write all outputs and run all hooks and reloads again, not only those that are pending.
    #[arg(long)]
    pub again: bool,
}

/// `certctl revoke`.
#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// A certificate, as NAME or NAMESPACE/NAME, or a file with one in PEM.
    #[arg(value_name = "NAME|FILE")]
    pub target: OsString,
    /// Why: unspecified, keyCompromise, affiliationChanged, superseded, cessationOfOperation, or
    /// another of RFC 5280 that the CA accepts.
    #[arg(long, value_name = "REASON", default_value = "unspecified")]
    pub reason: RevocationReason,
    /// Revoke before the new certificate is issued; until then servers present a revoked one.
    #[arg(long)]
    pub now: bool,
    /// Issue no replacement until `certctl renew NAME`; implies --now.
    #[arg(long)]
    pub no_issue: bool,
    /// Cancel the pending revocations of NAME; a key banned by keyCompromise stays banned.
    #[arg(long, conflicts_with_all = ["reason", "now", "no_issue", "key"])]
    pub cancel: bool,
    /// Private key of the certificate in FILE, to sign with instead of an account key.
    #[arg(long, value_name = "KEYFILE")]
    pub key: Option<PathBuf>,
    /// Do not ask for confirmation; certctl asks on a terminal only.
    #[arg(long)]
    pub yes: bool,
}

/// `certctl rollback`.
#[derive(Debug, Args)]
pub struct RollbackArgs {
    /// A certificate, as NAME or NAMESPACE/NAME.
    #[arg(value_name = "NAME")]
    pub name: OsString,
    /// The revision to go back to [default: the previous one]; 0 = the certificate that was
    /// adopted.
    #[arg(long, value_name = "REVISION")]
    pub to: Option<u32>,
}

/// `certctl forget`.
#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// Certificates, as NAME or NAMESPACE/NAME.
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<OsString>,
    /// Also delete the issued key and certificate; copies in output folders stay.
    #[arg(long)]
    pub secret: bool,
    /// Forget it even if its manifest still exists; the next `certctl issue` issues it again.
    #[arg(long)]
    pub anyway: bool,
    /// Do not ask for confirmation of --secret; certctl asks on a terminal only.
    #[arg(long)]
    pub yes: bool,
}
