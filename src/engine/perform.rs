//! Effect → acme / solver / probe / pki / store call → Outcome.
//!
//! The implementation of [`Performer`] for real servers. Every error becomes an outcome; the
//! controllers decide what it means. Requests of one order are sequential, orders run concurrently.

mod alert;
mod ca;
mod challenge;
mod crl;
mod deploy;
mod directory;
mod dns01;
mod error;
mod issuer;
mod local;
mod password;
mod publish;
mod world;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::ports::{Alert, Clock, Guard, Performer, Store};
use super::task::Task;
use crate::acme::NewOrder;
use crate::controller::{Effect, EffectError, Outcome};
use crate::resource::{ChallengeSpec, Issuer, NamespacedName, PublishedPair, RevokedCertificate};

pub use alert::{alert_of, check_alert_hook, has_alert_hook, try_alert_hook};
pub(super) use deploy::check_target;
pub(super) use error::cause_of_state;
pub use issuer::{IssuerAccess, ProviderAccess};
pub(super) use password::{changed_passwords, password};
pub use world::{
    Dns01Options, Environment, RefusedProfiles, StandIn, World, WorldOptions, dns_api,
};

/// When to look at a lock again that does not outlast a request.
const AGAIN: SignedDuration = SignedDuration::from_secs(1);

impl<C: Clock, S: Store> Performer for World<'_, C, S> {
    async fn perform(
        &self,
        task: &Task,
        issuer: Arc<Issuer>,
        effect: Effect,
        guard: &dyn Guard,
    ) -> Outcome {
        let issuer = &*issuer;
        let turn = self.turn(&task.certificate.metadata.key());
        let _turn = if effect.goes_to_the_ca() { Some(turn.lock().await) } else { None };
        while !guard.outlasts() {
            self.clock.sleep(AGAIN).await;
        }
        let done = match effect {
            Effect::Prepare { solving, contents, targets } => {
                self.prepare(task, issuer, solving, &contents, &targets).await
            }
            Effect::GenerateKey { algorithm, size } => local::generate_key(algorithm, size).await,
            Effect::ReuseKey => self.reuse_key(task).await,
            Effect::BuildRequest => self.build_request(task).await,
            Effect::Locate { challenge } => self.locate(issuer, &challenge).await,
            Effect::Present { challenge, target } => {
                self.present(task, issuer, &challenge, target.as_ref()).await
            }
            Effect::SelfCheck { challenge, target } => {
                self.self_check(task, &challenge, target.as_ref()).await
            }
            Effect::CleanUp { challenge, target, .. } => {
                self.clean_up(task, issuer, &challenge, target.as_ref()).await
            }
            Effect::Publish { certificate, revision, contents, account, renewal, exempt } => {
                let entry = publish::Issued { revision, account: &account, renewal, exempt };
                self.publish(task, issuer, &certificate, &contents, entry).await
            }
            Effect::PublishTemporary { revision, contents } => {
                self.publish_temporary(task, issuer, revision, &contents).await
            }
            Effect::Rewrite { revision, contents } => {
                self.rewrite(task, issuer, revision, &contents).await
            }
            Effect::Deploy { target, revision, replaces } => {
                self.deploy(task, &target, revision, &replaces).await
            }
            Effect::SwitchBack { set, .. } => self.switch_back(task, &set).await,
            Effect::RestoreLinks { set, revision } => {
                self.restore_links(task, set.as_deref(), revision).await
            }
            Effect::RestoreFiles { revision } => self.restore_files(task, revision).await,
            Effect::Follow { revision, fingerprint, contents } => {
                self.follow(task, issuer, (revision, &fingerprint), &contents).await
            }
            Effect::ObtainAccountKey => self.obtain_account_key(issuer).await,
            Effect::FindAccount => self.find_account(issuer).await,
            Effect::RegisterAccount { contacts } => self.register(issuer, contacts).await,
            Effect::UpdateContacts { account, contacts } => {
                self.update_contacts(issuer, &account, contacts).await
            }
            Effect::AskForRenewalInformation { certificate_id } => {
                self.ask_for_renewal_information(issuer, &certificate_id).await
            }
            Effect::CreateOrder { account, identifiers, profile, not_after, replaces } => {
                let profile = Some(profile).filter(|profile| !profile.is_empty());
                let order = NewOrder { identifiers, profile, not_after, replaces };
                self.create_order(issuer, &account, order).await
            }
            Effect::ReadOrder { account, url } => self.read_order(issuer, &account, &url).await,
            Effect::ReadAuthorization { account, url } => {
                self.read_authorization(issuer, &account, &url).await
            }
            Effect::Accept { account, url } => self.accept(issuer, &account, &url).await,
            Effect::Finalize { account, urls, request } => {
                self.finalize(issuer, &account, &urls, &request).await
            }
            Effect::Download { account, url, preferred_chain, public_key, identifiers } => {
                let chain = self
                    .download(task, issuer, &account, &url, &preferred_chain, &public_key)
                    .await;
                chain.and_then(|chain| self.verified(&chain, &public_key, &identifiers))
            }
            Effect::Revoke { certificate, reason, signer, .. } => {
                self.revoke(task, issuer, &certificate, reason, &signer).await
            }
            Effect::DeactivateAccount { account } => self.deactivate(issuer, &account).await,
        };
        done.unwrap_or_else(|failed| Outcome::Failed(self.with_clock(issuer, failed)))
    }

    fn bars_hooks(&self, task: &Task) -> Option<EffectError> {
        deploy::barred(task)
    }

    async fn reload(
        &self,
        program: &str,
        certificates: &[NamespacedName],
    ) -> Result<(), EffectError> {
        self.reload_program(program, certificates).await
    }

    async fn revoked(&self, task: &Task) -> Option<RevokedCertificate> {
        self.look_for_revocation(task).await
    }

    fn hears_of_failures(&self) -> bool {
        self.has_alert_hook()
    }

    async fn alert(&self, alert: &Alert) -> Result<(), EffectError> {
        self.alert_operator(alert).await
    }

    fn last_hit(&self, challenge: &ChallengeSpec) -> Option<Timestamp> {
        let name = challenge.answer_name().ok()?;
        self.served.hits().of(&name).map(|hit| hit.last)
    }

    fn listener_gone(&self) -> Option<Timestamp> {
        if self.served.tokens().has_one_gone() {
            self.listener_gone.set(Some(self.clock.now()));
        }
        self.listener_gone.get()
    }

    fn lacks_renewal_information(&self, issuer: &Issuer) -> bool {
        self.without_renewal_info.borrow().contains(&issuer.acme.server)
    }

    fn hits(&self) -> u64 {
        self.served.hits().total()
    }

    async fn hit_after(&self, seen: u64) {
        self.served.hits().beyond(seen).await;
    }

    fn changed_passwords(&self, task: &Task, live: &PublishedPair) -> BTreeSet<String> {
        changed_passwords(&self.secrets, &task.certificate, live)
    }
}

impl<C: Clock, S: Store> World<'_, C, S> {
    /// A failure, with the time of a CA that was asked.
    fn with_clock(&self, issuer: &Issuer, failed: EffectError) -> EffectError {
        let client = failed.cause.at_the_ca().and_then(|_| self.client(issuer).ok());
        match client.and_then(|client| client.server_time()) {
            Some(theirs) => error::with_clock(failed, theirs, self.clock.now()),
            None => failed,
        }
    }
}
