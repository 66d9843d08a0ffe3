//! An issuer's CA: its directory, and whether the Issuer fits it (RFC 8555 section 7.1.1).

use jiff::{SignedDuration, Timestamp};

use super::account::{AccountState, has_unused_key};
use super::known::Known;
use crate::acme::{AcmeError, Directory, Distrust, Limits};
use crate::controller::EffectError;
use crate::engine::IssuerAccess;
use crate::engine::ports::{Clock as _, SystemClock};
use crate::manifest::SecretSource;
use crate::resource::{FailureClass, Issuer};
use crate::workspace::run::USER_AGENT;

/// What was found out.
pub struct CaCheck {
    pub issuer: Issuer,
    pub directory: Result<Directory, NoDirectory>,
    /// The CA's time and this host's.
    pub clock: Option<(Timestamp, Timestamp)>,
    /// The length of the key of `externalAccountBinding`, in bytes; `None` where there is none.
    pub binding: Option<Result<usize, EffectError>>,
    /// `None` where the CA could not be asked.
    pub account: Option<AccountState>,
    /// Whether the key of `privateKeySecretRef` is of no effect, because the state has another one.
    pub has_unused_key: bool,
}

/// Why the directory could not be read.
#[derive(Debug)]
pub struct NoDirectory {
    pub error: AcmeError,
    /// Whether something answers there that is no ACME server.
    pub is_no_acme: bool,
    pub tls: ServerTls,
    /// The failure of an issuance.
    pub class: FailureClass,
}

/// The TLS certificate of the CA's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerTls {
    Trusted,
    Distrusted,
    /// At this host's time.
    Untimely,
    Unusable,
    NotTested,
}

impl NoDirectory {
    fn of(error: AcmeError, issuer: &Issuer) -> Self {
        let tls = match &error {
            AcmeError::Untrusted { why, .. } => match why {
                Distrust::UnknownIssuer | Distrust::OtherKey => ServerTls::Distrusted,
                Distrust::NotValidYet { .. } | Distrust::Expired { .. } => ServerTls::Untimely,
                Distrust::CaCertificate
                | Distrust::Version
                | Distrust::Signature
                | Distrust::Other(_) => ServerTls::Unusable,
            },
            AcmeError::Problem { .. }
            | AcmeError::Http { .. }
            | AcmeError::TooLarge { .. }
            | AcmeError::Malformed { .. } => ServerTls::Trusted,
            AcmeError::Transport { .. }
            | AcmeError::Timeout { .. }
            | AcmeError::InsecureUrl { .. }
            | AcmeError::BadToken { .. }
            | AcmeError::Unsupported { .. }
            | AcmeError::SignatureAlgorithm { .. }
            | AcmeError::UnsupportedAccountKey { .. }
            | AcmeError::AccountKey { .. }
            | AcmeError::Tls { .. } => ServerTls::NotTested,
        };
        let is_no_acme = error.is_no_directory(&issuer.acme.server);
        let class = match &error {
            _ if is_no_acme => FailureClass::Precondition,
            AcmeError::InsecureUrl { .. } | AcmeError::Tls { .. } => FailureClass::Precondition,
            error if error.is_transient() => FailureClass::Unreachable,
            AcmeError::Problem { .. }
            | AcmeError::Http { .. }
            | AcmeError::Transport { .. }
            | AcmeError::Untrusted { .. }
            | AcmeError::Timeout { .. }
            | AcmeError::TooLarge { .. }
            | AcmeError::Malformed { .. }
            | AcmeError::BadToken { .. }
            | AcmeError::Unsupported { .. }
            | AcmeError::SignatureAlgorithm { .. }
            | AcmeError::UnsupportedAccountKey { .. }
            | AcmeError::AccountKey { .. } => FailureClass::Ca,
        };
        Self { error, is_no_acme, tls, class }
    }
}

/// The directory of a CA of which nothing else is known yet; the user waits for the answer.
pub async fn directory_of_ca(
    issuer: &Issuer,
    patience: SignedDuration,
) -> Result<Directory, NoDirectory> {
    let secrets = SecretSource::default();
    let access = IssuerAccess { issuer, secrets: &secrets, cluster_resource_namespace: "" };
    let limits = Limits { retry_waits: Vec::new(), ..Limits::within(patience) };
    let directory = match access.client(USER_AGENT, limits) {
        Ok(client) => client.directory().await.map(|found| (*found).clone()),
        Err(error) => Err(error),
    };
    directory.map_err(|error| NoDirectory::of(error, issuer))
}

impl CaCheck {
    /// Asks the CA of `issuer`.
    pub async fn of(known: &Known, issuer: &Issuer) -> Self {
        let access = known.access(issuer);
        let binding = access.external_account_binding();
        let binding = binding.map(|found| found.map(|found| found.hmac_key.len())).transpose();
        let has_unused_key = match known.state() {
            Some(state) => has_unused_key(state, access).await,
            None => false,
        };
        let (directory, clock, account) = match known.client(issuer) {
            Err(error) => (Err(error), None, None),
            Ok(client) => {
                let directory = client.directory().await;
                let clock = client.server_time().map(|theirs| (theirs, SystemClock.now()));
                let account = match &directory {
                    Ok(_) => Some(AccountState::of(known, issuer, &client).await),
                    Err(_) => None,
                };
                (directory.map(|directory| (*directory).clone()), clock, account)
            }
        };
        Self {
            issuer: issuer.clone(),
            directory: directory.map_err(|error| NoDirectory::of(error, issuer)),
            clock,
            binding,
            account,
            has_unused_key,
        }
    }

    /// Whether the CA's directory demands an external account binding, and the Issuer has none.
    pub fn lacks_binding(&self) -> bool {
        let directory = self.directory.as_ref().ok();
        directory.is_some_and(|directory| directory.external_account_required)
            && self.binding.is_none()
    }

    /// Whether the Issuer asks for a profile that the CA's directory does not offer.
    pub fn lacks_profile(&self) -> bool {
        let wanted = &self.issuer.acme.profile;
        let is_offered = |directory: &Directory| {
            let profiles = directory.profiles.as_ref();
            profiles.is_some_and(|profiles| profiles.contains_key(wanted))
        };
        !wanted.is_empty() && self.directory.as_ref().is_ok_and(|directory| !is_offered(directory))
    }

    /// How far the CA's clock is ahead of this host's, in seconds; its header counts whole ones.
    pub fn clock_skew(&self) -> Option<i64> {
        let (theirs, ours) = self.clock?;
        Some(theirs.as_second().saturating_sub(ours.as_second()))
    }

    /// The failures that an issuance from this CA would have.
    pub fn failures(&self) -> Vec<FailureClass> {
        let mut failures = Vec::new();
        if let Err(error) = &self.directory {
            failures.push(error.class);
        }
        if self.lacks_binding() || self.lacks_profile() {
            failures.push(FailureClass::Ca);
        }
        if matches!(self.binding, Some(Err(_))) {
            failures.push(FailureClass::Precondition);
        }
        if self.account.as_ref().is_some_and(AccountState::lacks_key) {
            failures.push(FailureClass::Precondition);
        }
        failures
    }
}
