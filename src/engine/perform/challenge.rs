//! Effects of challenges: present, check, clean up, by the solver of the type.

use super::world::World;
use crate::controller::{EffectError, Outcome};
use crate::engine::ports::{Clock, Store};
use crate::engine::task::Task;
use crate::resource::{ChallengeSpec, ChallengeType, Dns01Target, Issuer, Settings};
use crate::solver::{Ground, ServedSolver};

impl<C: Clock, S: Store> World<'_, C, S> {
    /// The solver of a type that answers a connection of the CA; `None` for a record.
    pub(super) fn served_solver<'a>(
        &'a self,
        settings: &'a Settings,
        kind: &ChallengeType,
    ) -> Option<ServedSolver<'a>> {
        let ground = Ground {
            served: &self.served,
            http01: &self.options.http01,
            tls_alpn01: &self.options.tls_alpn01,
            bounds: &self.options.bounds,
            settings,
        };
        ServedSolver::of(kind, &ground)
    }

    pub(super) async fn present(
        &self,
        task: &Task,
        issuer: &Issuer,
        challenge: &ChallengeSpec,
        target: Option<&Dns01Target>,
    ) -> Result<Outcome, EffectError> {
        let settings = task.settings();
        match self.served_solver(&settings, &challenge.kind) {
            Some(solver) => solver.present(challenge).map_err(EffectError::new)?,
            None => self.present_record(issuer, challenge, target).await?,
        }
        Ok(Outcome::Presented)
    }

    pub(super) async fn self_check(
        &self,
        task: &Task,
        challenge: &ChallengeSpec,
        target: Option<&Dns01Target>,
    ) -> Result<Outcome, EffectError> {
        let settings = task.settings();
        let Some(solver) = self.served_solver(&settings, &challenge.kind) else {
            return self.query_record(challenge, target).await;
        };
        let report = solver.check(challenge, &self.resolver, self.clock.now()).await;
        Ok(Outcome::Checked(Box::new(report.map_err(EffectError::new)?)))
    }

    pub(super) async fn clean_up(
        &self,
        task: &Task,
        issuer: &Issuer,
        challenge: &ChallengeSpec,
        target: Option<&Dns01Target>,
    ) -> Result<Outcome, EffectError> {
        let settings = task.settings();
        match self.served_solver(&settings, &challenge.kind) {
            Some(solver) => solver.clean_up(challenge).await.map_err(EffectError::new)?,
            None => self.take_record_back(issuer, challenge, target).await?,
        }
        Ok(Outcome::CleanedUp)
    }
}
