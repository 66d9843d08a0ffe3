//! What can be reached, each by a literal list of controllers.

use crate::controller::{
    CONTROLLERS, Decide, RevocationRequest, account, deploy, keymanager, links, readiness,
    revocation, rollback,
};

/// What a task is to reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The certificate is as its manifest says, and is where it is used.
    Issue,
    /// What earlier runs left in the world is taken back.
    CleanUp,
    /// The live files are where they are used, whatever failed before.
    Deploy,
    /// This is written down; without it, what is owed and due is revoked.
    Revoke(Option<RevocationRequest>),
    /// This revision is live again; the one before the live one when none is named.
    RollBack(Option<u32>),
    /// The account of the task's issuer is so; the task's certificate only stands for the issuer.
    Account(AccountRequest),
}

/// How an account is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountRequest {
    /// There is one, with the Issuer's contacts.
    Registered,
    /// The CA is told the Issuer's contacts, whatever it was told before.
    Updated,
    /// It is given up for good (RFC 8555 section 7.3.6).
    Deactivated,
}

/// The controllers of a goal, in order: the first that is not settled says what happens next.
pub(super) type Controllers = &'static [(&'static str, Decide)];

/// What all work on a certificate begins with: an earlier run may have left it half done.
pub(super) const BEGIN: Controllers = &[
    ("rollback", rollback::decide),
    ("links", links::decide),
    ("readiness, of a revision that is live again", readiness::decide_after_rollback),
];

/// What is left to write down when an issuance has failed: the key that was made in vain goes, and
/// Ready says how things stand.
pub(super) const AFTER_A_FAILURE: Controllers =
    &[("keymanager", keymanager::decide), ("readiness", readiness::decide)];

impl Goal {
    /// Its controllers. Clean-ups are owed whatever controllers want: see `controller::next_step`.
    pub(super) fn controllers(&self) -> Controllers {
        match self {
            Self::Issue => CONTROLLERS,
            Self::CleanUp => &[],
            Self::Deploy => &[("deploy", deploy::decide)],
            Self::Revoke(Some(_)) => &[("revocation", revocation::decide_request)],
            Self::Revoke(None) => &[("revocation", revocation::decide)],
            Self::RollBack(_) => {
                &[("rollback", rollback::decide), ("readiness", readiness::decide_after_rollback)]
            }
            Self::Account(AccountRequest::Registered) => &[("account", account::decide_registered)],
            Self::Account(AccountRequest::Updated) => &[("account", account::decide_updated)],
            Self::Account(AccountRequest::Deactivated) => {
                &[("account", account::decide_deactivated)]
            }
        }
    }
}

/// One pass of the loop: whose controllers say what happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// [`BEGIN`].
    Begin,
    /// Those of the goal.
    Goal,
    /// [`AFTER_A_FAILURE`].
    AfterAFailure,
    /// None: what is owed is taken back, for a while.
    CleanUp,
}
