//! Effects at the CA.

use std::rc::Rc;
use std::sync::Arc;

use jiff::SignedDuration;
use zeroize::Zeroizing;

use super::error;
use super::issuer::IssuerAccess;
use super::world::World;
use crate::acme::preferred_chain::{Choice, choose};
use crate::acme::{
    AccountAnswer, AccountKey, AccountStatus, AcmeError, AuthorizationView, ChallengeView, Client,
    NewOrder, OrderView, Session,
};
use crate::controller::{
    AuthorizationSeen, ChallengeSeen, EffectError, OrderSeen, Outcome, RenewalInformationSeen,
    RevocationSigner, Secret,
};
use crate::engine::inputs::{account_id, digest_of};
use crate::engine::ports::{Clock, LiveFiles, Store};
use crate::engine::task::Task;
use crate::manifest::SecretError;
use crate::pki::{self, ChainError};
use crate::resource::{
    AccountIdentity, AccountStep, Cause, CauseKind, Identifier, Issuer, OfferedChallenge,
    OrderUrls, PublicKeyDigest, RevocationReason, SecretKeySelector,
};
use crate::store::Records;

impl<C: Clock, S: Store> World<'_, C, S> {
    pub(super) async fn read_order(
        &self,
        issuer: &Issuer,
        account: &str,
        url: &str,
    ) -> Result<Outcome, EffectError> {
        let (session, _) = self.session(issuer, account).await?;
        order_seen(session.order(url).await)
    }

    pub(super) async fn read_authorization(
        &self,
        issuer: &Issuer,
        account: &str,
        url: &str,
    ) -> Result<Outcome, EffectError> {
        let (session, key) = self.session(issuer, account).await?;
        let seen = session.authorization(url).await.map_err(|e| error::ca(&e))?;
        Ok(Outcome::Authorization(Box::new(authorization_seen(seen, &key))))
    }

    pub(super) async fn accept(
        &self,
        issuer: &Issuer,
        account: &str,
        url: &str,
    ) -> Result<Outcome, EffectError> {
        let (session, _) = self.session(issuer, account).await?;
        let seen = session.accept(url).await.map_err(|e| error::ca(&e))?;
        Ok(Outcome::Accepted(challenge_seen(seen)))
    }

    pub(super) async fn finalize(
        &self,
        issuer: &Issuer,
        account: &str,
        urls: &OrderUrls,
        request: &str,
    ) -> Result<Outcome, EffectError> {
        let (session, _) = self.session(issuer, account).await?;
        let csr = csr_der(request)?;
        order_seen(session.finalize(&urls.url, &urls.finalize_url, &csr).await)
    }

    /// Revokes a certificate. Without the account that
    /// may do it, its own key signs: RFC 8555 section 7.6 lets it.
    pub(super) async fn revoke(
        &self,
        task: &Task,
        issuer: &Issuer,
        certificate: &str,
        reason: RevocationReason,
        signer: &RevocationSigner,
    ) -> Result<Outcome, EffectError> {
        let chain = pki::Chain::from_pem(certificate).map_err(|error| {
            let why = format!("its stored certificate is damaged: {error}");
            EffectError::new(Cause::state(why))
        })?;
        let der = chain.certificates().first().map_or(&[][..], Vec::as_slice);
        let client = self.client(issuer)?;
        let by_key = async |key: &pki::PrivateKey| {
            client.revoke_by_key(key, der, reason.code()).await.map_err(|e| error::ca(&e))
        };
        let by_account = async |url: &str| {
            let key = self.account_key(issuer).await?;
            let done = client.revoke(&key, url, der, reason.code()).await;
            done.map_err(|error| error::ca(&error))
        };
        let done = match signer {
            RevocationSigner::Certificate(key) => {
                let key = pki::PrivateKey::from_pem(&key.0).map_err(error::precondition)?;
                by_key(&key).await
            }
            RevocationSigner::Account(url) => by_account(url).await,
            RevocationSigner::OwnKey => Err(error::precondition(format!(
                "no account is known at {}, and the certificate's own key is gone",
                issuer.acme.server
            ))),
        };
        let done = match done {
            Err(error) if is_for_want_of_an_account(&error) => {
                match self.own_key(task, &chain.leaf().public_key).await? {
                    Some(key) => by_key(&key).await,
                    None => Err(error),
                }
            }
            done => done,
        };
        done.map(Outcome::Revoked)
    }

    /// The private key of this public key, when the Secret or one of its kept sets has it.
    async fn own_key(
        &self,
        task: &Task,
        public_key: &PublicKeyDigest,
    ) -> Result<Option<pki::PrivateKey>, EffectError> {
        let secret = task.certificate.secret_key();
        let live =
            self.store.live_files().published(&secret).await.map_err(|e| error::state(&e))?;
        let stored = self.store.live_files().sets(&secret).await.map_err(|e| error::state(&e))?;
        let stored = stored.into_iter().filter_map(|set| set.files.ok());
        let keys = live.into_iter().chain(stored).filter_map(|files| {
            let pem = files.0.get("tls.key")?;
            pki::PrivateKey::from_pem(std::str::from_utf8(pem).ok()?).ok()
        });
        let mut keys = keys.filter(|key| key.facts().public_key == *public_key);
        Ok(keys.next())
    }

    /// Deactivates the account of an issuer.
    pub(super) async fn deactivate(
        &self,
        issuer: &Issuer,
        account: &str,
    ) -> Result<Outcome, EffectError> {
        let key = self.account_key(issuer).await?;
        let done = self.client(issuer)?.deactivate(&key, account).await;
        done.map(|_| Outcome::Done).map_err(|error| error::ca(&error))
    }

    pub(super) fn client(&self, issuer: &Issuer) -> Result<Arc<Client>, EffectError> {
        let acme = &issuer.acme;
        let key = (acme.server.clone(), acme.ca_bundle.clone(), acme.skip_tls_verify);
        if let Some(client) = self.clients.borrow().get(&key) {
            return Ok(Arc::clone(client));
        }
        let client = self
            .access(issuer)
            .client(&self.options.user_agent, self.options.limits.clone())
            .map_err(|e| error::ca(&e))?;
        self.reuse_directory(&key, &client);
        self.clients.borrow_mut().insert(key, Arc::clone(&client));
        Ok(client)
    }

    async fn session(
        &self,
        issuer: &Issuer,
        account_url: &str,
    ) -> Result<(Session, Rc<AccountKey>), EffectError> {
        let key = self.account_key(issuer).await?;
        let session = Session::new(self.client(issuer)?, (*key).clone(), account_url);
        Ok((session, key))
    }

    /// Whether the key of the issuer's account can be used; without an account, there is none to be
    /// used.
    pub async fn check_account_key(&self, issuer: &Issuer) -> Result<(), EffectError> {
        self.account_key(issuer).await.map(drop)
    }

    pub(super) async fn account_key(&self, issuer: &Issuer) -> Result<Rc<AccountKey>, EffectError> {
        let id = account_id(&AccountIdentity::of(issuer));
        if let Some(key) = self.account_keys.borrow().get(&id) {
            return Ok(Rc::clone(key));
        }
        let pem = Records::new(self.store.documents()).account_key(&id).await;
        let server = &issuer.acme.server;
        let unusable = |what: String| {
            let issuer = &issuer.metadata.name;
            error::precondition(format!(
                "the account key of {server} {what}: restore accounts/{id}/key.pem in the state \
                 from a backup; without a backup, name another secret in privateKeySecretRef of \
                 issuer {issuer}, and the next run registers a new account; existing certificates \
                 stay valid"
            ))
        };
        let pem = pem.map_err(|e| error::state(&e))?;
        let pem = pem.ok_or_else(|| unusable("is gone from the state".to_owned()))?;
        let cannot = |why: &dyn std::fmt::Display| unusable(format!("cannot be used: {why}"));
        let text = std::str::from_utf8(&pem).map_err(|error| cannot(&error))?;
        let key = Rc::new(AccountKey::from_pem(text).map_err(|error| cannot(&error))?);
        self.account_keys.borrow_mut().insert(id, Rc::clone(&key));
        Ok(key)
    }

    /// The key of the referenced secret if there is one, else the one that an interrupted run made,
    /// else a new one.
    pub(super) async fn obtain_account_key(&self, issuer: &Issuer) -> Result<Outcome, EffectError> {
        let acme = &issuer.acme;
        let reference = with_default_key(&acme.private_key_secret_ref, "tls.key");
        let id = account_id(&AccountIdentity::of(issuer));
        let records = Records::new(self.store.documents());
        let stored = records.account_key(&id).await.map_err(|e| error::state(&e))?;
        let known = records.account(&id).await.map_err(|e| error::state(&e))?;
        let gone =
            known.map(|known| known.value).filter(|a| a.next_step == AccountStep::Deactivated);
        // A run that was killed right after a deactivation left the key.
        let stored = stored.filter(|bytes| {
            let key =
                std::str::from_utf8(bytes).ok().and_then(|pem| AccountKey::from_pem(pem).ok());
            !gone.is_some_and(|gone| key.is_some_and(|key| digest_of_key(&key) == gone.public_key))
        });
        let found = match self.access(issuer).secret_and_file(&reference) {
            Ok((bytes, path)) => Some((bytes, path.display().to_string())),
            Err(SecretError::Missing { .. }) => {
                stored.map(|bytes| (bytes, "the key in the state".to_owned()))
            }
            Err(error) => return Err(error::precondition(error)),
        };
        let fresh = found.is_none();
        // Whatever its source, the key must be usable before it is stored.
        let (key, pem) = match found {
            Some((bytes, place)) => {
                let unusable = |error| error::precondition(format!("{error} ({place})"));
                let text = std::str::from_utf8(&bytes).map_err(|e| unusable(e.to_string()))?;
                let key = AccountKey::from_pem(text).map_err(|e| unusable(e.to_string()))?;
                (key, Zeroizing::new(text.to_owned()))
            }
            None if acme.disable_account_key_generation => {
                return Err(error::precondition(format!(
                    "the account key secret \"{}\" does not exist, and \
                     disableAccountKeyGeneration forbids generating one",
                    reference.name
                )));
            }
            None => {
                let key = AccountKey::generate().map_err(|e| error::ca(&e))?;
                let pem = key.to_pem();
                (key, pem)
            }
        };
        let public_key = digest_of_key(&key);
        Ok(Outcome::AccountKey { pem: Secret(pem), public_key, fresh })
    }

    pub(super) async fn find_account(&self, issuer: &Issuer) -> Result<Outcome, EffectError> {
        let client = self.client(issuer)?;
        let key = self.account_key(issuer).await?;
        match client.find_account(&key).await.map_err(|e| no_account(issuer, &e))? {
            Some(answer) => account_seen(&client, answer, None).await,
            None => Ok(Outcome::NoAccount),
        }
    }

    pub(super) async fn register(
        &self,
        issuer: &Issuer,
        contacts: Vec<String>,
    ) -> Result<Outcome, EffectError> {
        let client = self.client(issuer)?;
        let key = self.account_key(issuer).await?;
        let eab = self.access(issuer).external_account_binding()?;
        let answer = client.register(&key, &contacts, eab.as_ref()).await;
        let answer = answer.map_err(|e| no_account(issuer, &e))?;
        let sent = answer.created.then_some(contacts);
        account_seen(&client, answer, sent).await
    }

    pub(super) async fn update_contacts(
        &self,
        issuer: &Issuer,
        account: &str,
        contacts: Vec<String>,
    ) -> Result<Outcome, EffectError> {
        let client = self.client(issuer)?;
        let key = self.account_key(issuer).await?;
        let answer = client.update_contacts(&key, account, &contacts).await;
        account_seen(&client, answer.map_err(|e| error::ca(&e))?, Some(contacts)).await
    }

    /// The issuer's secrets, CA and providers.
    pub(super) fn access<'a>(&'a self, issuer: &'a Issuer) -> IssuerAccess<'a> {
        IssuerAccess {
            issuer,
            secrets: &self.secrets,
            cluster_resource_namespace: &self.options.cluster_resource_namespace,
        }
    }

    pub(super) async fn create_order(
        &self,
        issuer: &Issuer,
        account: &str,
        mut new: NewOrder,
    ) -> Result<Outcome, EffectError> {
        if new.profile.is_some() || new.replaces.is_some() {
            let client = self.client(issuer)?;
            let mut directory = client.directory().await.map_err(|e| error::ca(&e))?;
            if let Some(profile) = &new.profile {
                // The CA may offer it since an earlier run fetched the directory.
                if offers_profile(directory.profiles.as_ref(), profile).is_err() {
                    directory = client.fresh_directory().await.map_err(|e| error::ca(&e))?;
                }
                offers_profile(directory.profiles.as_ref(), profile).map_err(|message| {
                    let refused = (issuer.acme.server.clone(), profile.clone());
                    self.refused_profiles.borrow_mut().insert(refused, message.clone());
                    error::precondition(message)
                })?;
            }
            new.replaces.take_if(|_| directory.renewal_info.is_none());
        }
        let (session, _) = self.session(issuer, account).await?;
        order_seen(session.new_order(&new).await)
    }

    /// Asks when to renew a certificate.
    pub(super) async fn ask_for_renewal_information(
        &self,
        issuer: &Issuer,
        certificate_id: &str,
    ) -> Result<Outcome, EffectError> {
        let seen = match self.client(issuer)?.renewal_info(certificate_id).await {
            Err(AcmeError::Unsupported { .. }) => return Ok(Outcome::NoRenewalInformation),
            seen => seen.map_err(|e| error::ca(&e))?,
        };
        Ok(Outcome::RenewalInformation(Box::new(RenewalInformationSeen {
            start: seen.start,
            end: seen.end,
            explanation_url: seen.explanation_url,
            retry_after: seen.retry_after.and_then(|wait| SignedDuration::try_from(wait).ok()),
        })))
    }

    /// Fetches the chain, and takes the preferred one among the alternates.
    pub(super) async fn download(
        &self,
        task: &Task,
        issuer: &Issuer,
        account: &str,
        url: &str,
        preferred: &str,
        public_key: &PublicKeyDigest,
    ) -> Result<pki::Chain, EffectError> {
        let (session, _) = self.session(issuer, account).await?;
        let downloaded = session.certificate(url).await.map_err(|e| error::ca(&e))?;
        // A request for the directory alone could fail, and the certificate with it.
        let directory = self.client(issuer)?.known_directory();
        if directory.is_some_and(|directory| directory.renewal_info.is_none()) {
            self.without_renewal_info.borrow_mut().insert(issuer.acme.server.clone());
        }
        let invalid = |error: &dyn std::fmt::Display| {
            error::unusable(format!("Invalid certificate retrieved from ACME server: {error}"))
        };
        let decode = |pem: &str| {
            let sent = pki::Chain::from_pem(pem).map_err(|e| invalid(&e))?;
            let chain = sent.clone().of_key(public_key);
            if chain != sent {
                let (sent, used) = (sent.certificates().len(), chain.certificates().len());
                tracing::warn!(
                    certificate = %task.certificate.metadata.key(),
                    "the CA's chain is out of order: {used} of its {sent} certificates are used"
                );
            }
            Ok(chain)
        };
        let mut chains = vec![decode(&downloaded.pem)?];
        let alternates = &downloaded.alternates;
        let chosen = loop {
            let seen: Vec<_> = chains.iter().map(pki::Chain::topmost_issuer_common_name).collect();
            let next = match choose(preferred, &seen, alternates.len()) {
                Choice::Take(index) => break index,
                Choice::Fetch(index) => alternates.get(index).map_or("", String::as_str),
            };
            let pem = session.alternate(next).await.map_err(|e| error::ca(&e))?;
            chains.push(decode(&pem)?);
        };
        let chain = chains.swap_remove(chosen);
        if !preferred.is_empty() && chain.topmost_issuer_common_name() != preferred {
            tracing::warn!(
                preferred,
                topmost = chain.topmost_issuer_common_name(),
                "the CA offers no chain with the preferred topmost issuer; using its default"
            );
        }
        Ok(chain)
    }

    /// The chain, if it is for this key and these names.
    pub(super) fn verified(
        &self,
        chain: &pki::Chain,
        public_key: &PublicKeyDigest,
        identifiers: &[Identifier],
    ) -> Result<Outcome, EffectError> {
        match pki::verify_issued(chain, public_key, identifiers, self.clock.now()) {
            Ok(()) => {}
            Err(error @ ChainError::PublicKey { .. }) => {
                return Ok(Outcome::OtherKey(error::unusable(&error)));
            }
            Err(error) => return Err(error::unusable(&error)),
        }
        Ok(Outcome::Certificate { pem: chain.to_pem(), leaf: Box::new(chain.leaf().clone()) })
    }
}

/// Whether another signer may revoke: the account is gone, here or at the CA, or it is not the one
/// that ordered the certificate.
fn is_for_want_of_an_account(error: &EffectError) -> bool {
    let unauthorized = error.problem().is_some_and(|one| one.short_kind() == "unauthorized");
    error.kind() == CauseKind::Precondition || error.cause.is_unknown_account() || unauthorized
}

/// The account as the CA returned it; with the contacts, if they were sent.
async fn account_seen(
    client: &Client,
    answer: AccountAnswer,
    sent: Option<Vec<String>>,
) -> Result<Outcome, EffectError> {
    usable(&answer)?;
    let directory = client.directory().await.map_err(|e| error::ca(&e))?;
    Ok(Outcome::Account {
        url: answer.url,
        contacts: sent.unwrap_or(answer.contacts),
        terms_of_service: directory.terms_of_service.clone(),
    })
}

fn digest_of_key(key: &AccountKey) -> PublicKeyDigest {
    PublicKeyDigest(digest_of(key.thumbprint().as_bytes()))
}

/// The reference, with the field's own default for its key.
fn with_default_key(reference: &SecretKeySelector, default: &str) -> SecretKeySelector {
    let key = if reference.key.is_empty() { default } else { &reference.key };
    SecretKeySelector { name: reference.name.clone(), key: key.to_owned() }
}

fn usable(answer: &AccountAnswer) -> Result<(), EffectError> {
    match &answer.status {
        AccountStatus::Valid | AccountStatus::Other(_) => Ok(()),
        AccountStatus::Deactivated => {
            Err(error::refused(format!("the account {} was deactivated", answer.url)))
        }
        AccountStatus::Revoked => {
            Err(error::refused(format!("the account {} was revoked by the CA", answer.url)))
        }
    }
}

fn offers_profile(
    profiles: Option<&std::collections::BTreeMap<String, String>>,
    wanted: &str,
) -> Result<(), String> {
    match profiles {
        None => Err(format!("the CA has no profiles, and the issuer requests \"{wanted}\"")),
        Some(profiles) if !profiles.contains_key(wanted) => {
            let known: Vec<&str> = profiles.keys().map(String::as_str).collect();
            let known = known.join(", ");
            Err(format!("the CA has no profile \"{wanted}\"; it has: {known}"))
        }
        Some(_) => Ok(()),
    }
}

fn order_seen(answer: Result<OrderView, AcmeError>) -> Result<Outcome, EffectError> {
    let view = answer.map_err(|error| error::ca(&error))?;
    Ok(Outcome::Order(Box::new(OrderSeen {
        url: view.url,
        state: view.state,
        authorizations: view.authorizations,
        finalize_url: view.finalize_url.unwrap_or_default(),
        certificate_url: view.certificate_url,
        expires: view.expires,
        problem: view.problem,
        retry_after: view.retry_after,
    })))
}

fn authorization_seen(view: AuthorizationView, key: &AccountKey) -> AuthorizationSeen {
    let mut challenges = Vec::new();
    let mut seen = Vec::new();
    for challenge in view.challenges {
        let offered = OfferedChallenge {
            kind: challenge.kind.clone(),
            url: challenge.url.clone(),
            token: challenge.token.clone(),
        };
        let authorization = key.key_authorization(&challenge.token);
        challenges.push((offered, authorization));
        seen.push((challenge.url.clone(), challenge_seen(challenge)));
    }
    AuthorizationSeen {
        identifier: view.identifier,
        wildcard: view.wildcard,
        state: view.state,
        challenges,
        seen,
    }
}

fn challenge_seen(view: ChallengeView) -> ChallengeSeen {
    ChallengeSeen { state: view.state, problem: view.problem }
}

/// The error of an account operation: at the directory's URL, of a CA that never answered, a
/// mistake in the manifest.
fn no_account(issuer: &Issuer, failure: &AcmeError) -> EffectError {
    if !failure.is_no_directory(&issuer.acme.server) {
        return error::ca(failure);
    }
    error::precondition(format!("{failure}: {}", issuer.no_directory()))
}

/// The DER inside a CSR's PEM.
fn csr_der(pem: &str) -> Result<Vec<u8>, EffectError> {
    let why = match pki::csr_der(pem) {
        Ok(Some(der)) => return Ok(der),
        Ok(None) => "no PEM block CERTIFICATE REQUEST".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(error::local(format!("RequestParsingError: Failed to decode CSR in spec.request: {why}")))
}
