//! The goals, each a literal list of controllers.

use crate::controller::{
    CONTROLLERS, Decide, RevocationRequest, account, deploy, keymanager, links, readiness,
    revocation, rollback,
};

/// What a task must reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The certificate matches its manifest and is deployed.
    Issue,
    /// The challenges of earlier runs are cleaned up.
    CleanUp,
    /// The live files are deployed, ignoring the wait after earlier failures.
    Deploy {
        /// Also where they are deployed already.
        again: bool,
    },
    /// This revocation is recorded; without one, the revocations that are owed and due are done.
    Revoke(Option<RevocationRequest>),
    /// This revision is live again; the previous one when none is given.
    RollBack(Option<u32>),
    /// The account of the task's issuer is in this state; the task's certificate only stands for
    /// the issuer.
    Account(AccountRequest),
}

/// The wanted state of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountRequest {
    /// Registered, with the Issuer's contacts.
    Registered,
    /// Registered, and the Issuer's contacts are sent to the CA even if they did not change.
    Updated,
    /// Deactivated for good (RFC 8555 section 7.3.6).
    Deactivated,
}

/// The controllers of a goal, in order: the first unsettled one decides the next step.
pub(super) type Controllers = &'static [(&'static str, Decide)];

/// The first controllers of every goal: an interrupted run may have left the certificate half done.
pub(super) const BEGIN: Controllers = &[
    ("rollback", rollback::decide),
    ("links", links::decide),
    ("readiness, of a revision that is live again", readiness::decide_after_rollback),
];

/// The controllers after a failed issuance: they remove the unused key and update Ready.
pub(super) const AFTER_A_FAILURE: Controllers =
    &[("keymanager", keymanager::decide), ("readiness", readiness::decide)];

impl Goal {
    /// Its controllers. Clean-ups are owed independently of them: see `controller::next_step`.
    pub(super) fn controllers(&self) -> Controllers {
        match self {
            Self::Issue => CONTROLLERS,
            Self::CleanUp => &[],
            Self::Deploy { .. } => &[("deploy", deploy::decide)],
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

/// One pass of the loop, by its controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// [`BEGIN`].
    Begin,
    /// The goal's controllers.
    Goal,
    /// [`AFTER_A_FAILURE`].
    AfterAFailure,
    /// No controllers: only clean-ups, with a time limit.
    CleanUp,
}
