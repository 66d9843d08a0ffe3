//! Solvers: prepare, present, check and clean up the answer to a challenge.
//!
//! One folder per challenge type. [`Issuer::solver_for`](crate::resource::Issuer::solver_for)
//! chooses the type and the solver for a name; nothing here chooses. Presenting and cleaning up are
//! idempotent. Those that answer a connection of the CA share what [`Served`] has. The credentials of
//! a DNS provider, and the turns of programs, belong to a run: `engine::perform::dns01` has them.

pub mod dns01;
pub mod http01;
pub mod listener;
mod served;
mod tlsalpn01;

use jiff::Timestamp;

use crate::probe::Resolver;
use crate::resource::{Cause, ChallengeSpec, ChallengeType, CheckReport, Settings};
use crate::trust::Bounds;
pub use served::{PortOptions, Served};

use http01::Http01Solver;
use tlsalpn01::TlsAlpn01Solver;

/// What the solvers that answer a connection need.
pub struct Ground<'a> {
    pub served: &'a Served,
    pub http01: &'a PortOptions,
    pub tls_alpn01: &'a PortOptions,
    /// Where webroots may be.
    pub bounds: &'a Bounds,
    /// The Certificate's, with the Issuer's as defaults.
    pub settings: &'a Settings,
}

/// A solver that answers a connection of the CA.
pub enum ServedSolver<'a> {
    Http01(Http01Solver<'a>),
    TlsAlpn01(TlsAlpn01Solver<'a>),
}

impl<'a> ServedSolver<'a> {
    /// The solver of a type; `None` if its answer is a record.
    pub fn of(kind: &ChallengeType, ground: &Ground<'a>) -> Option<Self> {
        let Ground { served, http01, tls_alpn01, bounds, settings } = *ground;
        match kind {
            ChallengeType::Http01 => {
                Some(Self::Http01(Http01Solver { served, port: http01, settings, bounds }))
            }
            ChallengeType::TlsAlpn01 => {
                Some(Self::TlsAlpn01(TlsAlpn01Solver { served, port: tls_alpn01 }))
            }
            ChallengeType::Dns01 | ChallengeType::Other(_) => None,
        }
    }

    /// Finds out, before an order, whether it will be able to answer, and opens its port.
    pub async fn prepare(&self) -> Result<(), Cause> {
        match self {
            Self::Http01(solver) => solver.prepare().await,
            Self::TlsAlpn01(solver) => solver.prepare().await,
        }
    }

    /// Makes the answer available.
    pub fn present(&self, challenge: &ChallengeSpec) -> Result<(), Cause> {
        match self {
            Self::Http01(solver) => solver.present(challenge),
            Self::TlsAlpn01(solver) => solver.present(challenge),
        }
    }

    /// Looks at the answer as the CA will. `now` is the time of this run.
    pub async fn check(
        &self,
        challenge: &ChallengeSpec,
        resolver: &Resolver,
        now: Timestamp,
    ) -> Result<CheckReport, Cause> {
        Ok(match self {
            Self::Http01(solver) => {
                CheckReport::Http01(solver.check(challenge, resolver, now).await?)
            }
            Self::TlsAlpn01(solver) => {
                CheckReport::TlsAlpn01(solver.check(challenge, resolver, now).await?)
            }
        })
    }

    /// Takes the answer back.
    pub async fn clean_up(&self, challenge: &ChallengeSpec) -> Result<(), Cause> {
        match self {
            Self::Http01(solver) => solver.clean_up(challenge).await,
            Self::TlsAlpn01(solver) => solver.clean_up(challenge).await,
        }
    }
}
