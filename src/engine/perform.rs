//! Effect → acme / solver / probe / pki / store call → Outcome.
//!
//! The implementation of [`Performer`] for real servers. Every error becomes an outcome; the
//! controllers decide what it means. Requests of one order are sequential, orders run concurrently.

mod ca;
mod deploy;
mod dns01;
mod error;
mod issuer;
mod local;
mod password;
mod publish;
mod world;

use std::collections::BTreeSet;
use std::rc::Rc;

use jiff::Timestamp;

use super::ports::{Alert, Clock, Performer, Store};
use crate::controller::{Effect, EffectError, Outcome, Snapshot};
use crate::resource::{NamespacedName, Token};

pub use issuer::{IssuerAccess, ProviderAccess};
pub(super) use password::changed_passwords;
pub use world::{Dns01Options, Environment, StandIn, World, WorldOptions, dns_api};

impl<C: Clock, S: Store> Performer for World<'_, C, S> {
    async fn perform(&self, snapshot: Rc<Snapshot>, effect: Effect) -> Outcome {
        let turn = self.turn(&snapshot.certificate.metadata.key());
        let _turn = if effect.goes_to_the_ca() { Some(turn.lock().await) } else { None };
        let done = match effect {
            Effect::Prepare { solving } => self.prepare(&snapshot, solving).await,
            Effect::GenerateKey { algorithm, size } => local::generate_key(algorithm, size).await,
            Effect::ReuseKey => self.reuse_key(&snapshot).await,
            Effect::BuildRequest => self.build_request(&snapshot).await,
            Effect::Locate { url } => match local::challenge_of(&snapshot, &url) {
                Ok(challenge) => self.locate(&snapshot, challenge).await,
                Err(error) => Err(error),
            },
            Effect::Present { url } => self.present(&snapshot, &url).await,
            Effect::SelfCheck { url } => self.self_check(&snapshot, &url).await,
            Effect::CleanUp { order, url } => self.clean_up(&snapshot, &order, &url).await,
            Effect::Publish => self.publish(&snapshot).await,
            Effect::PublishTemporary => self.publish_temporary(&snapshot).await,
            Effect::Rewrite => self.rewrite(&snapshot).await,
            Effect::Deploy { step } => self.deploy(&snapshot, step).await,
            Effect::SwitchBack { set, .. } => {
                let done = self.store.switch_back(&snapshot.certificate.secret_key(), &set).await;
                done.map(|()| Outcome::Done).map_err(|error| error::state(&error))
            }
            Effect::RestoreLinks { set, revision } => {
                let secret = snapshot.certificate.secret_key();
                let done = self.store.restore_links(&secret, set.as_deref(), revision).await;
                done.map(|()| Outcome::Done).map_err(|error| error::state(&error))
            }
            Effect::ObtainAccountKey => self.obtain_account_key(&snapshot).await,
            Effect::FindAccount | Effect::RegisterAccount | Effect::UpdateContacts => {
                self.account(&snapshot, &effect).await
            }
            Effect::CreateOrder => self.create_order(&snapshot).await,
            Effect::ReadOrder => self.read_order(&snapshot).await,
            Effect::ReadAuthorization { url } => self.read_authorization(&snapshot, &url).await,
            Effect::Accept { url } => self.accept(&snapshot, &url).await,
            Effect::Finalize => self.finalize(&snapshot).await,
            Effect::Download => self.download(&snapshot).await,
            Effect::Revoke { certificate, reason, key, .. } => {
                self.revoke(&snapshot, &certificate, reason, key).await
            }
            Effect::DeactivateAccount => self.deactivate_account(&snapshot).await,
        };
        done.unwrap_or_else(Outcome::Failed)
    }

    async fn reload(
        &self,
        program: &str,
        certificates: &[NamespacedName],
    ) -> Result<(), EffectError> {
        self.reload_program(program, certificates).await
    }

    fn hears_of_failures(&self) -> bool {
        self.has_alert_hook()
    }

    async fn alert(&self, alert: &Alert) -> Result<(), EffectError> {
        self.alert_program(alert).await
    }

    fn last_hit(&self, token: &str) -> Option<Timestamp> {
        let token: Token = token.parse().ok()?;
        self.hits.of(&token).map(|hit| hit.last)
    }

    fn hits(&self) -> u64 {
        self.hits.total()
    }

    async fn hit_after(&self, seen: u64) {
        self.hits.after(seen).await;
    }

    fn changed_passwords(&self, snapshot: &Snapshot) -> BTreeSet<String> {
        changed_passwords(&self.secrets, snapshot)
    }
}
