//! What manifests and state know of certificates, to compare with.

use std::net::IpAddr;

use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::run::open_state;
use crate::cli::shell::Shell;
use crate::cli::target::{NameTarget, TargetError};
use crate::cli::work::{Wanted, Work, gather, issuer_of, known};
use crate::engine::{live_files, published_pair};
use crate::resource::{
    Certificate, CertificateRecord, Issuer, LeafFacts, NamespacedName, SecretFiles,
};
use crate::store::{OpenMode, StateDirectory};

/// Everything known.
pub(super) struct Known {
    state: Option<StateDirectory>,
    work: Option<Work>,
    owners: Vec<Owner>,
    records: Vec<(NamespacedName, CertificateRecord)>,
}

/// A Certificate and the Secret it owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) certificate: NamespacedName,
    pub(super) secret: NamespacedName,
}

impl Known {
    /// Reads state and manifests. Unless the state is what is asked for, one that cannot be read
    /// is one that knows nothing.
    pub(super) async fn gather(shell: &mut Shell, is_needed: bool) -> Result<Self, CliError> {
        match Self::read(shell).await {
            Ok(known) => Ok(known),
            Err(error) if is_needed => Err(error),
            Err(error) => {
                tracing::debug!(error = %error.message, "nothing to compare with");
                Ok(Self { state: None, work: None, owners: Vec::new(), records: Vec::new() })
            }
        }
    }

    async fn read(shell: &mut Shell) -> Result<Self, CliError> {
        let path = shell.environment.state_dir(shell.global.state_dir.as_deref())?.path;
        let state = open_state(&path, OpenMode::ReadOnly)?;
        let records = known(&state).await?;
        let work = gather(shell, &Wanted::default(), &records)?;
        let mut owners: Vec<Owner> = work
            .loaded
            .certificates
            .iter()
            .map(|certificate| {
                Owner::new(certificate.metadata.key(), &certificate.spec.secret_name)
            })
            .collect();
        owners.extend(
            records.iter().map(|(name, record)| Owner::new(name.clone(), &record.secret_name)),
        );
        owners.sort_by_key(|owner| (owner.certificate.clone(), owner.secret.clone()));
        owners.dedup();
        Ok(Self { state: Some(state), work: Some(work), owners, records })
    }

    /// The manifest of a Certificate.
    pub(super) fn certificate(&self, name: &NamespacedName) -> Option<&Certificate> {
        let all = &self.work.as_ref()?.loaded.certificates;
        all.iter().find(|certificate| certificate.metadata.key() == *name)
    }

    /// The issuer of a Certificate.
    pub(super) fn issuer(&self, certificate: &Certificate) -> Option<&Issuer> {
        issuer_of(certificate, &self.work.as_ref()?.loaded)
    }

    /// The Certificate that owns a Secret.
    pub(super) fn owner_of(&self, secret: &NamespacedName) -> Option<&Owner> {
        self.owners.iter().find(|owner| owner.secret == *secret)
    }

    /// The files of a Secret, when it was published.
    pub(super) async fn files(
        &self,
        secret: &NamespacedName,
    ) -> Result<Option<SecretFiles>, CliError> {
        match &self.state {
            Some(state) => {
                let mut records = self.records.iter();
                let record = records.find(|(name, record)| {
                    name.namespace == secret.namespace && record.secret_name == secret.name
                });
                Ok(live_files(state, secret, record.map(|(_, record)| record)).await?.files)
            }
            None => Ok(None),
        }
    }

    /// The Secret that is meant by a name: that of a Certificate, or its own; `is_secret` says
    /// that it is its own.
    pub(super) async fn secret(
        &self,
        name: &NameTarget,
        is_secret: bool,
        namespace: Option<&str>,
    ) -> Result<NamespacedName, CliError> {
        let certificates: Vec<NamespacedName> =
            self.owners.iter().map(|owner| owner.certificate.clone()).collect();
        let secrets: Vec<NamespacedName> =
            self.owners.iter().map(|owner| owner.secret.clone()).collect();
        let own = name.find(&secrets, namespace);
        if is_secret {
            return self.or_unowned(name, namespace, own).await;
        }
        let of_certificate = name.find(&certificates, namespace).map(|found| {
            let owner = self.owners.iter().find(|owner| owner.certificate == found);
            owner.map_or(found.clone(), |owner| owner.secret.clone())
        });
        match (of_certificate, own) {
            (Ok(one), Ok(other)) if one != other => {
                let message = format!(
                    "`{}` is a Certificate with the Secret `{one}`, and the Secret `{other}`",
                    name.name
                );
                let hint =
                    format!("certctl inspect secret {one}, or certctl inspect secret {other}");
                Err(CliError::new(ExitCode::Usage, message).hinted(hint))
            }
            (Ok(found), _) | (Err(TargetError::Unknown { .. }), Ok(found)) => Ok(found),
            (Err(error @ TargetError::Unknown { .. }), Err(_)) => {
                self.or_unowned(name, namespace, Err(error)).await
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    /// A Secret of that name that belongs to no known Certificate, if there is one.
    async fn or_unowned(
        &self,
        name: &NameTarget,
        namespace: Option<&str>,
        found: Result<NamespacedName, TargetError>,
    ) -> Result<NamespacedName, CliError> {
        if let Err(TargetError::Unknown { .. }) = &found {
            let namespace = name.namespace.as_deref().or(namespace).unwrap_or("default");
            let secret = NamespacedName::new(namespace, &name.name);
            if self.files(&secret).await?.is_some() {
                return Ok(secret);
            }
        }
        Ok(found?)
    }

    /// The Certificate whose published leaf is this one.
    pub(super) async fn same(&self, fingerprint: &str) -> Option<(&Owner, LeafFacts)> {
        self.first(|leaf| leaf.fingerprint == fingerprint).await
    }

    /// The Certificate whose published leaf covers a host.
    pub(super) async fn covering(&self, host: &str) -> Option<(&Owner, LeafFacts)> {
        self.first(|leaf| covers(leaf, host)).await
    }

    async fn first(&self, is_meant: impl Fn(&LeafFacts) -> bool) -> Option<(&Owner, LeafFacts)> {
        for owner in &self.owners {
            let files = self.files(&owner.secret).await.ok().flatten();
            let leaf = files.and_then(|files| published_pair(&files).certificate?.ok());
            if let Some(leaf) = leaf.filter(&is_meant) {
                return Some((owner, leaf));
            }
        }
        None
    }
}

impl Owner {
    fn new(certificate: NamespacedName, secret_name: &str) -> Self {
        let secret = NamespacedName::new(&certificate.namespace, secret_name);
        Self { certificate, secret }
    }
}

/// Whether a leaf is for this host (RFC 9525 section 6.3: a wildcard is one whole label).
pub(super) fn covers(leaf: &LeafFacts, host: &str) -> bool {
    if let Ok(address) = host.parse::<IpAddr>() {
        return leaf.ip_addresses.contains(&address);
    }
    leaf.dns_names.iter().any(|name| match name.strip_prefix("*.") {
        Some(base) => {
            let parent = host.split_once('.').map(|(_, parent)| parent);
            parent.is_some_and(|parent| parent.eq_ignore_ascii_case(base))
        }
        None => name.eq_ignore_ascii_case(host),
    })
}
