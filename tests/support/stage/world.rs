//! Does the effects of one run on a CA and an outside that outlive it, and checks that each effect was
//! written down before it is done.

#![expect(clippy::wildcard_enum_match_arm, reason = "no other matters here")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use base64::Engine as _;
use certctl::acme::Limits;
use certctl::controller::{
    Effect, EffectError, Intervals, Outcome, Secret, SecretContents, account,
};
use certctl::engine::inputs::{account_id, digest_of, names_of};
use certctl::engine::pair::{self, Pair};
use certctl::engine::ports::{Clock as _, Documents, Guard, LiveFiles as _, Store, StoreError};
use certctl::engine::{Alert, Performer, Task, look};
use certctl::pki::{self, Chain, ChainError, PrivateKey};
use certctl::resource::{
    Account, AccountIdentity, AccountStep, CaFailure, CaFault, Cause, ChallengeSpec, ChallengeType,
    CheckReport, Dns01Target, Http01Report, Issuance, Issuer, KeyAlgorithm, LeafFacts,
    NamespacedName, Order, Outlook, Phase, PublicKeyDigest, RevocationAnswer, Verdict,
    annotations_of,
};
use certctl::store::{CertificateDocument, Records};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Notify, Semaphore, watch};
use zeroize::Zeroizing;

use super::ca::{Ca, DEAD, Stop};
use super::disk::Disk;
use crate::fuse::Fuse;
use crate::history::{Request, What, Witness};
use crate::timeline::Timeline;

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
    /// What is to be expected of that.
    pub(crate) outlook: Outlook,
    /// The listener is unreachable under names with this prefix.
    pub(crate) unreachable_names: Option<&'static str>,
    /// A secret that the manifests name cannot be read.
    pub(crate) secret_is_missing: bool,
    /// Effects that take so many seconds: of which certificate, and how they begin.
    pub(crate) slow: &'static [(&'static str, &'static str, i64)],
    /// Another run that shared the listener's port is seen to end all the time.
    pub(crate) others_end: bool,
    /// A signal comes while an effect that begins so is under way, for two seconds.
    pub(crate) signal_during: Option<&'static str>,
    /// The effect of this number, counted from 0, never comes back, and a signal comes instead.
    pub(crate) stuck: Option<usize>,
}

pub(crate) struct World<S: Store = Disk> {
    pub(crate) clock: Timeline,
    pub(crate) store: S,
    /// Notes what the CA and the DNS providers receive, where other hosts write. Without it, each
    /// effect is compared with what is stored.
    pub(crate) witness: Option<Witness>,
    /// Whether it breaks its contract, and publishes what no record names.
    pub(crate) publishes_first: bool,
    pub(crate) fuse: Rc<Fuse>,
    pub(crate) ca: Rc<RefCell<Ca>>,
    pub(crate) outside: Rc<RefCell<Outside>>,
    /// What this run has presented, by the URL of the challenge.
    pub(crate) presented: RefCell<BTreeMap<String, Arc<ChallengeSpec>>>,
    /// What is presented after the end of the run.
    pub(crate) late: RefCell<Outside>,
    pub(crate) error: Error,
    pub(crate) signal: watch::Sender<Option<i32>>,
    pub(crate) requests: Cell<usize>,
    /// As many requests as are in flight at once.
    pub(crate) lines: Semaphore,
    /// A listener of this run answers.
    pub(crate) listens: Cell<bool>,
    pub(crate) hits: RefCell<BTreeMap<String, Timestamp>>,
    pub(crate) hit: Notify,
    /// What the operator's hook for failures was told; `None` when there is no such hook.
    pub(crate) alerts: Option<Alerts>,
}

impl<S: Store> World<S> {
    /// The world of one run, and where its signals come.
    pub(crate) fn new(
        clock: &Timeline,
        store: S,
        fuse: &Rc<Fuse>,
        (ca, outside): (&Rc<RefCell<Ca>>, &Rc<RefCell<Outside>>),
        error: Error,
    ) -> (Self, watch::Receiver<Option<i32>>) {
        let (signal, shutdown) = watch::channel(None);
        let world = Self {
            clock: clock.clone(),
            store,
            witness: None,
            publishes_first: false,
            fuse: Rc::clone(fuse),
            ca: Rc::clone(ca),
            outside: Rc::clone(outside),
            presented: RefCell::default(),
            late: RefCell::default(),
            error,
            signal,
            requests: Cell::new(0),
            lines: Semaphore::new(Limits::default().requests_at_once),
            listens: Cell::new(false),
            hits: RefCell::default(),
            hit: Notify::new(),
            alerts: None,
        };
        (world, shutdown)
    }

    /// What a look from outside sees.
    fn checked(&self, challenge: &ChallengeSpec) -> Outcome {
        let failed = || Verdict::Failed { reason: "looked".to_owned() };
        Outcome::Checked(Box::new(CheckReport::Http01(Http01Report {
            identifier: challenge.identifier.clone(),
            url: String::new(),
            addresses: Vec::new(),
            dns: None,
            outlook: self.error.outlook,
            verdict: if self.is_answered(challenge) { Verdict::Passed } else { failed() },
        })))
    }

    fn note(&self, what: Option<What>) {
        if let (Some(witness), Some(what)) = (&self.witness, what) {
            witness.note(what);
        }
    }

    fn prepare(&self, solving: bool) -> Result<Outcome, EffectError> {
        if self.error.secret_is_missing {
            let message = "Secret default/eab is missing".to_owned();
            return Err(EffectError::new(Cause::precondition(message)));
        }
        self.listens.set(solving || self.listens.get());
        Ok(Outcome::Prepared)
    }

    async fn do_it(
        &self,
        task: &Task,
        issuer: &Issuer,
        effect: &Effect,
    ) -> Result<Outcome, EffectError> {
        let (name, secret) = (task.certificate.metadata.key(), task.certificate.secret_key());
        match effect {
            Effect::Prepare { solving, .. } => self.prepare(*solving),
            Effect::GenerateKey { algorithm, size } => {
                Ok(key(&PrivateKey::generate(*algorithm, *size).unwrap()))
            }
            Effect::ReuseKey => {
                let files = self.store.live_files().published(&secret).await.unwrap().unwrap();
                let text = String::from_utf8(files.0["tls.key"].to_vec()).unwrap();
                Ok(key(&PrivateKey::from_pem(&text).unwrap()))
            }
            Effect::BuildRequest => {
                let key = self.next_key(&name).await?;
                let csr = pki::build_csr(&task.certificate.spec, &key).unwrap();
                Ok(Outcome::Request(csr.pem, key.facts().public_key.clone()))
            }
            Effect::ObtainAccountKey => {
                Ok(self.account_key(&account_id(&AccountIdentity::of(issuer))).await)
            }
            Effect::Locate { challenge } => Ok(Outcome::Located(place(challenge))),
            Effect::Present { challenge, .. } => {
                self.note(Request::of(effect).map(What::Sent));
                let (token, key) = (challenge.token.clone(), challenge.key.clone());
                self.outside.borrow_mut().insert(token, key);
                let (url, spec) = (challenge.url.clone(), Arc::clone(challenge));
                self.presented.borrow_mut().insert(url, spec);
                Ok(Outcome::Presented)
            }
            Effect::SelfCheck { challenge, .. } => {
                self.ca.borrow_mut().asked.push(self.clock.now());
                Ok(self.checked(challenge))
            }
            Effect::CleanUp { challenge, .. } => {
                self.note(Request::of(effect).map(What::Sent));
                self.outside.borrow_mut().remove(&challenge.token);
                Ok(Outcome::CleanedUp)
            }
            Effect::Publish { certificate, revision, contents, account, renewal, exempt } => {
                let leaf = self.publish_issued(task, certificate, *revision, contents).await?;
                let line = self.line_of(task, &leaf, (*revision, account), (*renewal, *exempt));
                self.records().log_issuance(line).await.map_err(|error| of_the_store(&error))?;
                Ok(Outcome::Published(Box::new(leaf)))
            }
            Effect::PublishTemporary { revision, contents } => {
                let (key, now) = (self.next_key(&name).await?, self.clock.now());
                let pem = pki::temporary_certificate(&task.certificate.spec, &key, now).unwrap();
                let pair = Pair { key, chain: Chain::from_pem(&pem).unwrap() };
                self.publish(task, &pair, *revision, contents).await?;
                Ok(Outcome::PublishedTemporary(Box::new(pair.chain.leaf().clone())))
            }
            Effect::Follow { revision, fingerprint, contents } => {
                self.follow(task, (*revision, fingerprint), contents).await
            }
            Effect::Deploy { .. } => Ok(self.deployed(task).await),
            Effect::SwitchBack { set, .. } => {
                self.store.live_files().switch_back(&secret, set).await.unwrap();
                Ok(Outcome::Done)
            }
            Effect::Rewrite { .. } | Effect::RestoreLinks { .. } | Effect::RestoreFiles { .. } => {
                unreachable!("nothing asks for it")
            }
            Effect::AskForRenewalInformation { certificate_id } => {
                self.requests.set(self.requests.get() + 1);
                self.ca.borrow_mut().renewal_information(certificate_id, self.clock.now())
            }
            Effect::FindAccount
            | Effect::RegisterAccount { .. }
            | Effect::UpdateContacts { .. }
            | Effect::CreateOrder { .. }
            | Effect::ReadOrder { .. }
            | Effect::ReadAuthorization { .. }
            | Effect::Accept { .. }
            | Effect::Finalize { .. }
            | Effect::Download { .. }
            | Effect::Revoke { .. }
            | Effect::DeactivateAccount { .. } => self.at_the_ca(task, issuer, effect).await,
        }
    }

    async fn at_the_ca(
        &self,
        task: &Task,
        issuer: &Issuer,
        effect: &Effect,
    ) -> Result<Outcome, EffectError> {
        let number = self.requests.replace(self.requests.get() + 1);
        self.wait_for_the_ca().await;
        let account = self.account(issuer).await;
        let is_compared = self.witness.is_none() || matches!(effect, Effect::Accept { .. });
        let order = if is_compared { self.newest_order(task).await } else { None };
        self.note(Request::of(effect).map(What::Sent));
        let answer = self.ask_the_ca(issuer, account, order, effect);
        if let (Effect::CreateOrder { .. }, Ok(Outcome::Order(seen))) = (effect, &answer) {
            self.note(Some(What::Ordered(seen.url.clone())));
        }
        if self.error.lost == Some(number) { Err(lost()) } else { answer }
    }

    async fn deployed(&self, task: &Task) -> Outcome {
        self.ca.borrow_mut().deployments += 1;
        let intervals = Intervals { self_check: SignedDuration::ZERO };
        let seen = look(&self.store, task, intervals, self.clock.now()).await.unwrap();
        Outcome::Deployed { files: seen.snapshot.files_digest.unwrap() }
    }

    /// Takes as long as an answer of the CA, behind the requests before it.
    async fn wait_for_the_ca(&self) {
        let latency = self.ca.borrow().latency;
        if !latency.is_zero() {
            let _line = self.lines.acquire().await.unwrap();
            self.clock.sleep(latency).await;
        }
    }

    /// The account's key, unless its account was deactivated; else a new one.
    async fn account_key(&self, id: &str) -> Outcome {
        let kept = self.records().account_key(id).await.unwrap();
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

    async fn account(&self, issuer: &Issuer) -> Option<Account> {
        let id = account_id(&AccountIdentity::of(issuer));
        self.records().account(&id).await.unwrap().map(|account| account.value)
    }

    async fn newest_order(&self, task: &Task) -> Option<Order> {
        let name = task.certificate.metadata.key();
        let read = CertificateDocument::read(self.store.documents(), &name).await;
        let orders = read.unwrap().orders().await.unwrap().into_iter();
        orders.max_by_key(|(number, _)| *number).map(|(_, order)| order.unwrap())
    }

    /// Publishes the next key with this chain, or stores it.
    async fn publish_issued(
        &self,
        task: &Task,
        certificate: &str,
        revision: u32,
        contents: &SecretContents,
    ) -> Result<LeafFacts, EffectError> {
        let name = task.certificate.metadata.key();
        let key = self.next_key(&name).await?;
        let pair = Pair { key, chain: Chain::from_pem(certificate).unwrap() };
        if S::Documents::SHARED {
            let stored = pair.store(self.store.documents(), &name, revision).await;
            stored.map_err(|error| of_the_store(&error))?;
        }
        if !S::Documents::SHARED || self.publishes_first {
            self.publish(task, &pair, revision, contents).await?;
        }
        Ok(pair.chain.leaf().clone())
    }

    async fn follow(
        &self,
        task: &Task,
        pair: (u32, &str),
        contents: &SecretContents,
    ) -> Result<Outcome, EffectError> {
        let (name, secret) = (task.certificate.metadata.key(), task.certificate.secret_key());
        let found = pair::to_publish(&self.store, &name, &secret, pair).await;
        if let Some(found) = found.map_err(|error| of_the_store(&error))? {
            self.publish(task, &found, pair.0, contents).await?;
        }
        Ok(Outcome::Done)
    }

    async fn publish(
        &self,
        task: &Task,
        Pair { key, chain }: &Pair,
        revision: u32,
        contents: &SecretContents,
    ) -> Result<(), EffectError> {
        let mut files = pki::secret_files(&task.certificate.spec, key, chain);
        let mut annotations = contents.annotations.clone();
        annotations.extend(annotations_of(chain.leaf()));
        let files_of = files.0.iter().map(|(name, bytes)| (name, digest_of(bytes)));
        let digests: BTreeMap<_, _> = files_of.collect();
        let metadata = serde_json::json!({ "version": 1, "kind": "SecretMetadata", "document": {
            "annotations": annotations, "labels": contents.labels, "files": digests
        } });
        let metadata = metadata.to_string();
        files.0.insert("metadata.json".to_owned(), Zeroizing::new(metadata.into_bytes()));
        let (files_of, secret) = (self.store.live_files(), task.certificate.secret_key());
        let done = files_of.publish(&secret, revision, &files, None).await;
        done.map_err(|error| of_the_store(&error))
    }

    /// A line of `issuance.log`.
    fn line_of(
        &self,
        task: &Task,
        leaf: &LeafFacts,
        (revision, account): (u32, &str),
        (renewal, exempt): (bool, bool),
    ) -> String {
        let issuance = Issuance {
            time: self.clock.now(),
            certificate: task.certificate.metadata.key().to_string(),
            revision,
            serial: leaf.serial.clone(),
            sha256: leaf.fingerprint.clone(),
            renewal,
            exempt,
            names: names_of(&task.certificate).iter().map(ToString::to_string).collect(),
            account: account.to_owned(),
            uid: 0,
            verb: "issue".to_owned(),
        };
        serde_json::to_string(&issuance).unwrap()
    }

    fn ask_the_ca(
        &self,
        issuer: &Issuer,
        account: Option<Account>,
        order: Option<Order>,
        effect: &Effect,
    ) -> Result<Outcome, EffectError> {
        let mut ca = self.ca.borrow_mut();
        if let Some(fault) = ca.down {
            return Err(failed(fault, "the CA is down"));
        }
        ca.asked.push(self.clock.now());
        ca.pass_time(self.clock.now());
        if let Some(url) = effect.url() {
            if url.starts_with(DEAD) {
                return Err(failed_at(CaFault::Unreachable, url));
            }
            if ca.broken.contains(url) {
                return Err(failed_at(CaFault::ServerError, url));
            }
        }
        let found = |url: String| Outcome::Account {
            url,
            contacts: account::contacts(issuer),
            terms_of_service: None,
        };
        let PublicKeyDigest(digest) = account.as_ref().unwrap().public_key.clone();
        match effect {
            Effect::FindAccount => {
                Ok(ca.accounts.get(&digest).cloned().map_or(Outcome::NoAccount, found))
            }
            Effect::RegisterAccount { .. } | Effect::UpdateContacts { .. } => {
                Ok(found(ca.register(&digest)))
            }
            Effect::DeactivateAccount { .. } => ca.deactivate(&digest),
            Effect::Revoke { fingerprint, .. } => {
                ca.revoked.insert(fingerprint.clone());
                Ok(Outcome::Revoked(RevocationAnswer::Revoked))
            }
            Effect::CreateOrder { account: url, identifiers, replaces, .. } => {
                if self.witness.is_none() {
                    assert_eq!(Some(url), account.unwrap().url.as_ref());
                    assert_eq!(order.unwrap().replaces, *replaces);
                }
                ca.check_replaces(replaces.as_ref())?;
                ca.new_order(identifiers, self.clock.now())
            }
            Effect::ReadOrder { url, .. } => ca.read_order(url),
            Effect::ReadAuthorization { url, .. } => Ok(ca.read_authorization(url)),
            Effect::Accept { url, .. } => {
                let answered = self.is_answered_at(url, order);
                ca.told.push(self.clock.now());
                ca.accept(url, answered)
            }
            Effect::Finalize { urls, request, .. } => {
                let body: String =
                    request.lines().filter(|line| !line.starts_with("---")).collect();
                let der = base64::prelude::BASE64_STANDARD.decode(body).unwrap();
                ca.finalize(&urls.url, &der)
            }
            Effect::Download { url, public_key, identifiers, .. } => {
                if ca.stop == Some(Stop::NoCertificate) {
                    return Err(failed_at(CaFault::Gone, url));
                }
                let order = url.strip_suffix("/certificate").unwrap();
                let pem = ca.certificate(order, self.clock.now());
                let chain = Chain::from_pem(&pem).unwrap();
                let now = self.clock.now();
                let fault = |error: ChainError| failed(CaFault::Unusable, &error.to_string());
                match pki::verify_issued(&chain, public_key, identifiers, now) {
                    Err(error @ ChainError::PublicKey { .. }) => {
                        Ok(Outcome::OtherKey(fault(error)))
                    }
                    Err(error) => Err(fault(error)),
                    Ok(()) => {
                        Ok(Outcome::Certificate { pem, leaf: Box::new(chain.leaf().clone()) })
                    }
                }
            }
            other => panic!("{other:?} is not a effect at the CA"),
        }
    }

    /// Whether what the CA looks for is there when the challenge of this URL is accepted.
    fn is_answered_at(&self, url: &str, order: Option<Order>) -> bool {
        let challenges = order.into_iter().flat_map(|order| order.challenges);
        let stored = challenges.map(|found| found.spec).find(|spec| spec.url == *url);
        // Another host may have replaced the order.
        let challenge = stored.or_else(|| self.presented.borrow().get(url).cloned());
        let Some(challenge) = challenge.filter(|found| self.is_answered(found)) else {
            return false;
        };
        self.hits.borrow_mut().insert(challenge.token.clone(), self.clock.now());
        self.hit.notify_waiters();
        true
    }

    fn is_answered(&self, challenge: &ChallengeSpec) -> bool {
        let out = self.outside.borrow().get(&challenge.token) == Some(&challenge.key);
        let is_record = challenge.kind == ChallengeType::Dns01;
        let name = challenge.identifier.to_string();
        let is_hidden = self.error.unreachable_names.is_some_and(|start| name.starts_with(start));
        let is_reached = (is_record || self.listens.get()) && !self.error.unreachable;
        out && is_reached && !is_hidden
    }

    fn records(&self) -> Records<'_, S::Documents> {
        Records::new(self.store.documents())
    }

    /// Another host may have removed it.
    async fn next_key(&self, name: &NamespacedName) -> Result<PrivateKey, EffectError> {
        let found = self.records().next_key(name).await.map_err(|error| of_the_store(&error))?;
        let gone = || EffectError::new(Cause::local("the next private key is gone".to_owned()));
        let bytes = found.ok_or_else(gone)?;
        Ok(PrivateKey::from_pem(std::str::from_utf8(&bytes).unwrap()).unwrap())
    }

    /// What is done by hand is on disk before it is begun.
    async fn check_request(&self, task: &Task, issuer: &Issuer, effect: &Effect) {
        let record = self.records().certificate(&task.certificate.metadata.key()).await.unwrap();
        let next_step = self.account(issuer).await.map(|account| account.next_step);
        match effect {
            Effect::Revoke { fingerprint, .. } => {
                let owed = record.unwrap().revocations;
                assert!(owed.iter().any(|owed| owed.is_owed() && owed.fingerprint == *fingerprint));
            }
            Effect::SwitchBack { set, .. } => {
                let owed = record.unwrap().rollback.unwrap();
                assert!(owed.is_owed() && owed.set == *set);
            }
            Effect::RegisterAccount { .. } => assert_eq!(next_step, Some(AccountStep::Register)),
            Effect::UpdateContacts { .. } => {
                assert_eq!(next_step, Some(AccountStep::UpdateContacts));
            }
            Effect::DeactivateAccount { .. } => {
                assert_eq!(next_step, Some(AccountStep::Deactivate));
            }
            _ => {}
        }
    }

    /// Whatever might exist outside after this effect must be on disk before.
    async fn check_intent(&self, task: &Task, issuer: &Issuer, effect: &Effect) {
        self.check_request(task, issuer, effect).await;
        let expected = match effect {
            Effect::CreateOrder { .. } => "creating",
            Effect::Finalize { .. } => "finalizing",
            Effect::Present { .. } | Effect::Accept { .. } => "solving",
            _ => return,
        };
        let name = task.certificate.metadata.key();
        let written = self.newest_order(task).await.unwrap();
        assert_eq!(written.phase.word(), expected, "{effect:?}");
        let phase = |url: &str| {
            let found = written.challenges.iter().find(|c| c.spec.url == url).unwrap();
            (found.phase(), found.owes_clean_up())
        };
        match effect {
            Effect::Present { challenge, target } => {
                let url = &challenge.url;
                assert_eq!(phase(url), (Some(Phase::Presenting), true));
                let found = written.challenges.iter().find(|c| c.spec.url == *url).unwrap();
                let is_record = challenge.kind == ChallengeType::Dns01;
                assert_eq!(
                    found.presented.target,
                    is_record.then(|| place(challenge)),
                    "the place is kept"
                );
                assert_eq!(found.presented.target, *target);
            }
            Effect::Accept { url, .. } => {
                assert_eq!(phase(url), (Some(Phase::Accepting), true));
            }
            _ => {}
        }
        let key = self.next_key(&name).await.unwrap();
        let csr = pki::read_csr(&written.spec.request).unwrap();
        assert_eq!(key.facts().public_key, csr.public_key, "the key of the CSR is kept");
    }
}

/// What is presented although nobody waits for it any more, when the run has ended.
struct Late<'w, S: Store> {
    world: &'w World<S>,
    answer: Option<(String, String)>,
}

impl<S: Store> Drop for Late<'_, S> {
    fn drop(&mut self) {
        self.world.late.borrow_mut().extend(self.answer.take());
    }
}

impl<S: Store> Drop for World<S> {
    fn drop(&mut self) {
        self.outside.borrow_mut().extend(self.late.take());
    }
}

impl<S: Store> Performer for World<S> {
    async fn perform(
        &self,
        task: &Task,
        issuer: Arc<Issuer>,
        effect: Effect,
        guard: &dyn Guard,
    ) -> Outcome {
        while !guard.outlasts() {
            self.clock.sleep(SignedDuration::from_secs(1)).await;
        }
        if self.witness.is_none() {
            self.check_intent(task, &issuer, &effect).await;
        }
        let sends = Request::of(&effect);
        let number = self.fuse.count();
        self.note(sends.clone().map(What::Begun));
        let effects = self.fuse.passed(EFFECT);
        self.fuse.pass(format!("{EFFECT}{effect:?}")).await;
        let loses_reply = self.fuse.loses_reply(number);
        for (of, start, seconds) in self.error.slow {
            if task.certificate.metadata.name == *of && format!("{effect:?}").starts_with(start) {
                self.clock.sleep(SignedDuration::from_secs(*seconds)).await;
            }
        }
        let mut done = None;
        if self.error.signal_during.is_some_and(|start| format!("{effect:?}").starts_with(start)) {
            self.signal.send_replace(Some(15));
            // The CA has the request, and a provider will do it, whoever waits for the answer.
            if let Effect::CreateOrder { .. } = effect {
                done = Some(Box::pin(self.do_it(task, &issuer, &effect)).await);
            }
            let mut late = Late { world: self, answer: None };
            if let Effect::Present { challenge, .. } = &effect {
                late.answer = Some((challenge.token.clone(), challenge.key.clone()));
            }
            self.clock.sleep(SignedDuration::from_secs(2)).await;
            late.answer = None;
        }
        if self.error.stuck == Some(effects) {
            self.signal.send_replace(Some(15));
            std::future::pending::<()>().await;
        }
        let mut outcome = match done {
            Some(outcome) => outcome,
            None => Box::pin(self.do_it(task, &issuer, &effect)).await,
        };
        if loses_reply && sends.is_some() {
            self.note(Some(What::Disturbed));
            outcome = Err(lost());
        }
        self.fuse.pass(format!("after {effect:?}")).await;
        outcome.unwrap_or_else(Outcome::Failed)
    }

    fn listener_gone(&self) -> Option<Timestamp> {
        self.error.others_end.then(|| self.clock.now())
    }

    fn last_hit(&self, challenge: &ChallengeSpec) -> Option<Timestamp> {
        self.hits.borrow().get(&challenge.token).copied()
    }

    fn hits(&self) -> u64 {
        self.hits.borrow().len().try_into().unwrap()
    }

    fn hears_of_failures(&self) -> bool {
        self.alerts.is_some()
    }

    async fn reload(&self, _: &str, certificates: &[NamespacedName]) -> Result<(), EffectError> {
        let names = certificates.iter().map(|certificate| certificate.name.clone()).collect();
        self.ca.borrow_mut().reloads.push((self.clock.now(), names));
        Ok(())
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

/// Where a record goes.
fn place(challenge: &ChallengeSpec) -> Dns01Target {
    Dns01Target {
        provider: "rfc2136".to_owned(),
        solver_digest: "1".to_owned(),
        zone: challenge.identifier.to_string(),
        name: format!("_acme-challenge.{}", challenge.identifier),
        value: challenge.key.clone(),
    }
}

fn lost() -> EffectError {
    failed(CaFault::Unreachable, "the reply is lost")
}

fn failed_at(fault: CaFault, url: &str) -> EffectError {
    let (url, message) = (url.to_owned(), "no".to_owned());
    let failed = CaFailure { fault, url, problem: None, message, clock_ahead: None };
    EffectError::new(Cause::Ca(failed))
}

fn of_the_store(error: &StoreError) -> EffectError {
    EffectError::new(Cause::local(error.to_string()))
}

fn failed(fault: CaFault, message: &str) -> EffectError {
    EffectError::new(Cause::ca(fault, message))
}
