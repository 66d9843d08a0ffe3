//! Does the effects of one run on a CA and an outside that outlive it, and checks that each effect was
//! written down before it is done.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use base64::Engine as _;
use certctl::controller::{
    Effect, EffectError, Outcome, Secret, Snapshot, account, formats, limit,
};
use certctl::engine::inputs::account_id;
use certctl::engine::ports::{Clock as _, Store as _};
use certctl::engine::{Alert, Performer};
use certctl::pki::{self, Chain, PrivateKey};
use certctl::resource::{
    AccountStep, CaFault, Cause, Challenge, ChallengeType, CheckReport, CleanUp, Dns01Target,
    Http01Report, Issuance, KeyAlgorithm, LeafFacts, NamespacedName, Order, Phase, PublicKeyDigest,
    Verdict,
};
use certctl::store::Records;
use jiff::Timestamp;
use tokio::sync::{Notify, watch};
use zeroize::Zeroizing;

use super::ca::Ca;
use super::disk::Disk;
use super::fuse::Fuse;
use super::time::Timeline;

/// How the moment before a effect is called.
pub(crate) const EFFECT: &str = "before effect ";

/// What a hook was told, over all runs.
pub(crate) type Alerts = Rc<RefCell<Vec<Alert>>>;

/// The tokens that are out, with their answers.
pub(crate) type Outside = BTreeMap<String, String>;

/// What goes wrong in a run.
#[derive(Default)]
pub(crate) struct Error {
    /// The reply to this request at the CA, counted from 0, is lost.
    pub(crate) lost: Option<usize>,
    /// The listener is unreachable.
    pub(crate) unreachable: bool,
    /// The listener is unreachable under names with this prefix.
    pub(crate) unreachable_names: Option<&'static str>,
    /// The effect of this number, counted from 0, never comes back, and a signal comes instead.
    pub(crate) stuck: Option<usize>,
}

pub(crate) struct World {
    pub(crate) clock: Timeline,
    pub(crate) disk: Disk,
    pub(crate) fuse: Rc<Fuse>,
    pub(crate) ca: Rc<RefCell<Ca>>,
    pub(crate) outside: Rc<RefCell<Outside>>,
    pub(crate) error: Error,
    pub(crate) signal: watch::Sender<Option<i32>>,
    pub(crate) requests: Cell<usize>,
    /// A listener of this run answers.
    pub(crate) listens: Cell<bool>,
    pub(crate) hits: RefCell<BTreeMap<String, Timestamp>>,
    pub(crate) hit: Notify,
    /// What the operator's hook for failures was told; `None` when there is no such hook.
    pub(crate) alerts: Option<Alerts>,
}

impl World {
    /// What a look from outside sees.
    fn checked(&self, challenge: &Challenge) -> Outcome {
        let failed = || Verdict::Failed { reason: "looked".to_owned() };
        Outcome::Checked(Box::new(CheckReport::Http01(Http01Report {
            identifier: challenge.spec.identifier.clone(),
            url: String::new(),
            addresses: Vec::new(),
            dns: None,
            verdict: if self.is_answered(challenge) { Verdict::Passed } else { failed() },
        })))
    }

    async fn do_it(&self, snapshot: &Snapshot, effect: &Effect) -> Result<Outcome, EffectError> {
        let name = snapshot.certificate.metadata.key();
        match effect {
            Effect::Prepare { solving } => {
                self.listens.set(*solving || self.listens.get());
                Ok(Outcome::Prepared)
            }
            Effect::GenerateKey { algorithm, size } => {
                Ok(key(&PrivateKey::generate(*algorithm, *size).unwrap()))
            }
            Effect::ReuseKey => {
                let files = self.disk.published(&secret(snapshot)).await.unwrap().unwrap();
                let text = String::from_utf8(files.0["tls.key"].to_vec()).unwrap();
                Ok(key(&PrivateKey::from_pem(&text).unwrap()))
            }
            Effect::BuildRequest => {
                let key = self.next_key(&name).await;
                let csr = pki::build_csr(&snapshot.certificate.spec, &key).unwrap();
                Ok(Outcome::Request(csr.pem, key.facts().public_key.clone()))
            }
            Effect::ObtainAccountKey => {
                Ok(self.account_key(&account_id(&account::identity(snapshot))).await)
            }
            Effect::Locate { url } => Ok(Outcome::Located(place(&challenge(snapshot, url)))),
            Effect::Present { url } => {
                self.put_out(&challenge(snapshot, url));
                Ok(Outcome::Presented)
            }
            Effect::SelfCheck { url } => Ok(self.checked(&challenge(snapshot, url))),
            Effect::CleanUp { order, url } => {
                let mut orders = snapshot.retired.iter().chain(&snapshot.order);
                let order = orders.rfind(|o| o.name == *order).unwrap();
                let found = order.challenges.iter().find(|c| c.spec.url == *url).unwrap();
                self.outside.borrow_mut().remove(&found.spec.token);
                Ok(Outcome::CleanedUp)
            }
            Effect::Publish => {
                let pem = snapshot.current_order().unwrap().certificate().unwrap().to_owned();
                let leaf = self.publish(snapshot, &pem, snapshot.next_revision()).await;
                let line = self.line_of(snapshot, &leaf);
                self.disk.log_issuance(&line).await.unwrap();
                Ok(Outcome::Published(Box::new(leaf)))
            }
            Effect::PublishTemporary => {
                let (key, now) = (self.next_key(&name).await, self.clock.now());
                let spec = &snapshot.certificate.spec;
                let pem = pki::temporary_certificate(spec, &key, now).unwrap();
                let revision = snapshot.record.status.revision.unwrap_or(0);
                let leaf = self.publish(snapshot, &pem, revision).await;
                Ok(Outcome::PublishedTemporary(Box::new(leaf)))
            }
            Effect::Deploy { .. } => {
                self.ca.borrow_mut().deployments += 1;
                Ok(Outcome::Deployed { files: snapshot.files_digest.clone().unwrap_or_default() })
            }
            Effect::SwitchBack { set, .. } => {
                self.disk.switch_back(&secret(snapshot), set).await.unwrap();
                Ok(Outcome::Done)
            }
            Effect::Rewrite | Effect::RestoreLinks { .. } => unreachable!("nothing asks for it"),
            Effect::FindAccount
            | Effect::RegisterAccount
            | Effect::UpdateContacts
            | Effect::CreateOrder
            | Effect::ReadOrder
            | Effect::ReadAuthorization { .. }
            | Effect::Accept { .. }
            | Effect::Finalize
            | Effect::Download
            | Effect::Revoke { .. }
            | Effect::DeactivateAccount => {
                let number = self.requests.replace(self.requests.get() + 1);
                let answer = self.ask_the_ca(snapshot, effect);
                if self.error.lost == Some(number) { Err(lost()) } else { answer }
            }
        }
    }

    /// The account's key, unless its account was deactivated; else a new one.
    async fn account_key(&self, id: &str) -> Outcome {
        let kept = Records::new(&self.disk).account_key(id).await.unwrap();
        let gone = |bytes: &Zeroizing<Vec<u8>>| {
            let key = pki::key_facts(std::str::from_utf8(bytes).unwrap()).unwrap();
            self.ca.borrow().deactivated.contains(&key.public_key.0)
        };
        let kept = kept.filter(|bytes| !gone(bytes));
        let fresh = kept.is_none();
        let pem = match kept {
            Some(bytes) => Zeroizing::new(String::from_utf8(bytes.to_vec()).unwrap()),
            None => PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap().to_pkcs8_pem(),
        };
        let public_key = pki::key_facts(&pem).unwrap().public_key;
        Outcome::AccountKey { pem: Secret(pem), public_key, fresh }
    }

    async fn publish(&self, snapshot: &Snapshot, pem: &str, revision: u32) -> LeafFacts {
        let chain = Chain::from_pem(pem).unwrap();
        let key = self.next_key(&snapshot.certificate.metadata.key()).await;
        let mut files = pki::secret_files(&snapshot.certificate.spec, &key, &chain);
        let annotations = formats::annotations(snapshot, chain.leaf());
        let labels = formats::labels(snapshot);
        let metadata = serde_json::json!({"annotations": annotations, "labels": labels});
        let metadata = metadata.to_string();
        files.0.insert("metadata.json".to_owned(), Zeroizing::new(metadata.into_bytes()));
        self.disk.publish(&secret(snapshot), revision, &files, None).await.unwrap();
        chain.leaf().clone()
    }

    /// A line of `issuance.log`.
    fn line_of(&self, snapshot: &Snapshot, leaf: &LeafFacts) -> String {
        let names = limit::names(snapshot);
        let issuance = Issuance {
            time: self.clock.now(),
            certificate: snapshot.certificate.metadata.key().to_string(),
            revision: snapshot.next_revision(),
            serial: leaf.serial.clone(),
            sha256: leaf.fingerprint.clone(),
            renewal: limit::renews(snapshot, &names),
            names,
            account: snapshot.current_order().unwrap().spec.account_url.clone(),
            uid: 0,
            verb: "issue".to_owned(),
        };
        serde_json::to_string(&issuance).unwrap()
    }

    fn ask_the_ca(&self, snapshot: &Snapshot, effect: &Effect) -> Result<Outcome, EffectError> {
        let mut ca = self.ca.borrow_mut();
        if let Some(fault) = ca.down {
            return Err(failed(fault, "the CA is down"));
        }
        ca.pass_time(self.clock.now());
        let account = || snapshot.account.clone().unwrap();
        let found = |url: String| Outcome::Account {
            url,
            contacts: account::contacts(snapshot),
            terms_of_service: None,
        };
        let PublicKeyDigest(digest) = match effect {
            Effect::FindAccount
            | Effect::RegisterAccount
            | Effect::UpdateContacts
            | Effect::DeactivateAccount => account().public_key,
            _ => PublicKeyDigest(String::new()),
        };
        let order = || snapshot.current_order().unwrap();
        let url = || order().url().unwrap().to_owned();
        match effect {
            Effect::FindAccount => {
                Ok(ca.accounts.get(&digest).cloned().map_or(Outcome::NoAccount, found))
            }
            Effect::RegisterAccount | Effect::UpdateContacts => Ok(found(ca.register(&digest))),
            Effect::DeactivateAccount => ca.deactivate(&digest),
            Effect::Revoke { fingerprint, .. } => {
                ca.revoked.insert(fingerprint.clone());
                Ok(Outcome::Done)
            }
            Effect::CreateOrder => {
                assert_eq!(Some(&order().spec.account_url), account().url.as_ref());
                ca.new_order(&order().spec.identifiers, self.clock.now())
            }
            Effect::ReadOrder => ca.read_order(&url()),
            Effect::ReadAuthorization { url } => Ok(ca.read_authorization(url)),
            Effect::Accept { url } => {
                let challenge = challenge(snapshot, url);
                let answered = self.is_answered(&challenge);
                if answered {
                    let token = challenge.spec.token.clone();
                    self.hits.borrow_mut().insert(token, self.clock.now());
                    self.hit.notify_waiters();
                }
                ca.told.push(self.clock.now());
                ca.accept(url, answered)
            }
            Effect::Finalize => {
                let pem = &order().spec.request;
                let body: String = pem.lines().filter(|line| !line.starts_with("---")).collect();
                let der = base64::prelude::BASE64_STANDARD.decode(body).unwrap();
                ca.finalize(&url(), &der)
            }
            Effect::Download => {
                let pem = ca.certificate(&url(), self.clock.now());
                let request = snapshot.next_request.as_ref().unwrap();
                let chain = Chain::from_pem(&pem).unwrap();
                let (key, names) = (&request.spec.public_key, &order().spec.identifiers);
                pki::verify_issued(&chain, key, names, self.clock.now())
                    .map_err(|error| failed(CaFault::Unusable, &error.to_string()))?;
                Ok(Outcome::Certificate { pem, leaf: Box::new(chain.leaf().clone()) })
            }
            other => panic!("{other:?} is not a effect at the CA"),
        }
    }

    fn put_out(&self, challenge: &Challenge) {
        let spec = &challenge.spec;
        self.outside.borrow_mut().insert(spec.token.clone(), spec.key.clone());
    }

    fn is_answered(&self, challenge: &Challenge) -> bool {
        let out = self.outside.borrow().get(&challenge.spec.token) == Some(&challenge.spec.key);
        let is_record = challenge.spec.kind == ChallengeType::Dns01;
        let name = challenge.spec.identifier.to_string();
        let is_hidden = self.error.unreachable_names.is_some_and(|start| name.starts_with(start));
        let is_reached = (is_record || self.listens.get()) && !self.error.unreachable;
        out && is_reached && !is_hidden
    }

    async fn next_key(&self, name: &NamespacedName) -> PrivateKey {
        let bytes = Records::new(&self.disk).next_key(name).await.unwrap().unwrap();
        PrivateKey::from_pem(std::str::from_utf8(&bytes).unwrap()).unwrap()
    }

    /// What is done by hand is on disk before it is begun.
    async fn check_request(&self, snapshot: &Snapshot, effect: &Effect) {
        let records = Records::new(&self.disk);
        let record = records.certificate(&snapshot.certificate.metadata.key()).await.unwrap();
        let account = records.account(&account_id(&account::identity(snapshot))).await.unwrap();
        let next_step = account.map(|account| account.value.next_step);
        match effect {
            Effect::Revoke { fingerprint, .. } => {
                let owed = record.unwrap().value.revocations;
                assert!(owed.iter().any(|owed| owed.is_owed() && owed.fingerprint == *fingerprint));
            }
            Effect::SwitchBack { set, .. } => {
                let owed = record.unwrap().value.rollback.unwrap();
                assert!(owed.is_owed() && owed.set == *set);
            }
            Effect::RegisterAccount => assert_eq!(next_step, Some(AccountStep::Register)),
            Effect::UpdateContacts => assert_eq!(next_step, Some(AccountStep::UpdateContacts)),
            Effect::DeactivateAccount => assert_eq!(next_step, Some(AccountStep::Deactivate)),
            _ => {}
        }
    }

    /// Whatever might exist outside after this effect must be on disk before.
    async fn check_intent(&self, snapshot: &Snapshot, effect: &Effect) {
        self.check_request(snapshot, effect).await;
        let expected = match effect {
            Effect::CreateOrder => "creating",
            Effect::Finalize => "finalizing",
            Effect::Present { .. } | Effect::Accept { .. } => "solving",
            _ => return,
        };
        let name = snapshot.certificate.metadata.key();
        let orders = Records::new(&self.disk).all_orders(&name).await.unwrap();
        let wanted = &snapshot.current_order().unwrap().name;
        let orders = orders.into_iter().map(|(_, order)| order.unwrap().value);
        let written: Order = orders.into_iter().find(|order| order.name == *wanted).unwrap();
        assert_eq!(written.phase.word(), expected, "{effect:?}");
        let phase = |url: &str| {
            let found = written.challenges.iter().find(|c| c.spec.url == url).unwrap();
            (found.phase, found.clean_up)
        };
        match effect {
            Effect::Present { url } => {
                assert_eq!(phase(url), (Phase::Presenting, CleanUp::Owed));
                let found = written.challenges.iter().find(|c| c.spec.url == *url).unwrap();
                let is_record = found.spec.kind == ChallengeType::Dns01;
                assert_eq!(found.target, is_record.then(|| place(found)), "the place is kept");
            }
            Effect::Accept { url } => assert_eq!(phase(url), (Phase::Accepting, CleanUp::Owed)),
            _ => {}
        }
        let key = self.next_key(&name).await;
        let csr = pki::read_csr(&written.spec.request).unwrap();
        assert_eq!(key.facts().public_key, csr.public_key, "the key of the CSR is kept");
    }
}

impl Performer for World {
    async fn perform(&self, snapshot: Rc<Snapshot>, effect: Effect) -> Outcome {
        self.check_intent(&snapshot, &effect).await;
        let effects = self.fuse.labels().iter().filter(|label| label.starts_with(EFFECT)).count();
        self.fuse.pass(format!("{EFFECT}{effect:?}")).await;
        if self.error.stuck == Some(effects) {
            self.signal.send_replace(Some(15));
            std::future::pending::<()>().await;
        }
        let outcome = self.do_it(&snapshot, &effect).await;
        self.fuse.pass(format!("after {effect:?}")).await;
        outcome.unwrap_or_else(Outcome::Failed)
    }

    fn last_hit(&self, token: &str) -> Option<Timestamp> {
        self.hits.borrow().get(token).copied()
    }

    fn hits(&self) -> u64 {
        self.hits.borrow().len().try_into().unwrap()
    }

    fn hears_of_failures(&self) -> bool {
        self.alerts.is_some()
    }

    async fn alert(&self, alert: &Alert) -> Result<(), EffectError> {
        let told = self.alerts.iter();
        told.for_each(|alerts| alerts.borrow_mut().push(alert.clone()));
        Ok(())
    }

    async fn hit_after(&self, seen: u64) {
        while self.hits() <= seen {
            self.hit.notified().await;
        }
    }
}

fn key(key: &PrivateKey) -> Outcome {
    Outcome::Key(Secret(key.to_pkcs8_pem()), key.facts().clone())
}

fn challenge(snapshot: &Snapshot, url: &str) -> Challenge {
    let challenges = &snapshot.current_order().unwrap().challenges;
    challenges.iter().find(|c| c.spec.url == url).unwrap().clone()
}

/// Where a record goes.
fn place(challenge: &Challenge) -> Dns01Target {
    Dns01Target {
        provider: "rfc2136".to_owned(),
        solver_digest: "1".to_owned(),
        zone: challenge.spec.identifier.to_string(),
        name: format!("_acme-challenge.{}", challenge.spec.identifier),
        value: challenge.spec.key.clone(),
    }
}

fn secret(snapshot: &Snapshot) -> NamespacedName {
    let namespace = &snapshot.certificate.metadata.namespace;
    NamespacedName::new(namespace, &snapshot.certificate.spec.secret_name)
}

fn lost() -> EffectError {
    failed(CaFault::Unreachable, "the reply is lost")
}

fn failed(fault: CaFault, message: &str) -> EffectError {
    EffectError::new(Cause::ca(fault, message))
}
