//! Which Certificate owns a Secret, to compare it with what a server or file presents.

use std::net::IpAddr;

use thiserror::Error;

use super::open::{Scope, Workspace};
use super::selection::{Targets, issuer_of};
use super::settings::Settings;
use super::target::{NameTarget, TargetError};
use crate::engine::ports::{LiveFiles, Store, StoreError};
use crate::engine::{live_files, published_pair};
use crate::resource::{
    Certificate, DataLink, Issuer, LeafFacts, NamespacedName, RenewalInformation, Revocation,
    SecretFiles,
};
use crate::store::Records;

/// The Secrets of all Certificates that the manifests or the state contain.
#[derive(Debug, Default)]
pub struct Owners {
    /// `None` when there is none.
    known: Option<(Workspace, Targets)>,
    owners: Vec<Owner>,
}

/// A Certificate and the Secret it owns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    pub certificate: NamespacedName,
    pub secret: NamespacedName,
}

/// Why a name identifies no Secret.
#[derive(Debug, Error)]
pub enum OwnersError {
    /// The name of a Certificate, and of the Secret of another Certificate.
    #[error(
        "`{name}` is a Certificate with the Secret `{}`, and also the Secret `{}`",
        .of_certificate.short(), .own.short()
    )]
    Ambiguous { name: String, of_certificate: NamespacedName, own: NamespacedName },
    /// No Certificate or Secret has the name, or several do.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The state cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Workspace {
    /// Opens the state for the Secret that a name identifies (see [`Owners::secret`]): for its
    /// Certificate alone, if no other can be meant; else for all.
    pub async fn open_for_secret(
        settings: Settings,
        name: &NameTarget,
        is_secret: bool,
    ) -> Result<Self, StoreError> {
        let mut workspace = Self::unread(settings)?;
        let state = &workspace.state;
        let namespace = name.namespace.as_deref().or(workspace.settings.namespace.as_deref());
        let secrets = state.live_files().secrets_named(&name.name, namespace)?;
        let mut certificates = Vec::new();
        if !is_secret {
            certificates =
                Records::new(state.documents()).certificates_named(&name.name, namespace).await?;
        }
        let owner = |secret: &NamespacedName| {
            let name = state.live_files().published_for(secret)?;
            Some(NamespacedName::new(&secret.namespace, name))
        };
        let certificate = match (certificates.as_slice(), secrets.as_slice()) {
            ([one], []) => Some(one.clone()),
            ([], [secret]) => owner(secret),
            ([one], [secret]) => owner(secret).filter(|owner| owner == one),
            (_, _) => None,
        };
        let names: Vec<NameTarget> = certificate.into_iter().map(NameTarget::from).collect();
        workspace.read_named(&names, Scope::Only).await?;
        Ok(workspace)
    }
}

impl Owners {
    /// The owners in a workspace, from these manifests and the records.
    pub fn of(workspace: Workspace, targets: Targets) -> Self {
        let written = targets.loaded.certificates.iter();
        let written = written.map(|c| Owner::new(c.metadata.key(), &c.spec.secret_name));
        let recorded = workspace.records().iter();
        let recorded = recorded.map(|(name, record)| Owner::new(name.clone(), &record.secret_name));
        let mut owners: Vec<Owner> = written.chain(recorded).collect();
        owners.sort();
        owners.dedup();
        Self { known: Some((workspace, targets)), owners }
    }

    /// The workspace that they are of.
    pub fn workspace(&self) -> Option<&Workspace> {
        self.known.as_ref().map(|(workspace, _)| workspace)
    }

    /// The manifest of a Certificate.
    pub fn certificate(&self, name: &NamespacedName) -> Option<&Certificate> {
        let (_, targets) = self.known.as_ref()?;
        let mut certificates = targets.loaded.certificates.iter();
        certificates.find(|one| one.metadata.key() == *name).map(AsRef::as_ref)
    }

    /// What the CA said about when to renew this leaf of a Certificate.
    pub fn renewal_information(
        &self,
        name: &NamespacedName,
        leaf: &LeafFacts,
    ) -> Option<&RenewalInformation> {
        let (workspace, _) = self.known.as_ref()?;
        workspace.record(name)?.renewal_information(leaf)
    }

    /// The revocation of a leaf, live or not, that one of the Certificates knows of.
    pub fn revocation(&self, leaf: &LeafFacts) -> Option<&Revocation> {
        let (workspace, _) = self.known.as_ref()?;
        workspace.records().iter().find_map(|(_, record)| {
            let known = record.revocation_of(&leaf.fingerprint);
            known.filter(|revocation| revocation.revoked_at.is_some())
        })
    }

    /// The issuer of a Certificate.
    pub fn issuer(&self, certificate: &Certificate) -> Option<&Issuer> {
        issuer_of(certificate, &self.known.as_ref()?.1.loaded)
    }

    /// The Certificate that owns a Secret.
    pub fn owner_of(&self, secret: &NamespacedName) -> Option<&Owner> {
        self.owners.iter().find(|owner| owner.secret == *secret)
    }

    /// The files of a Secret, if it was published: those that servers open, also where copies would
    /// be better; without links to any, those that a run makes live again.
    pub async fn files(&self, secret: &NamespacedName) -> Result<Option<SecretFiles>, StoreError> {
        match &self.known {
            Some((workspace, _)) => {
                let links = workspace.state().live_files().links(secret).await?;
                if let DataLink::Set(_) = links.data {
                    return workspace.state().live_files().published(secret).await;
                }
                let mut records = workspace.records().iter();
                let record = records.find(|(name, record)| {
                    name.namespace == secret.namespace && record.secret_name == secret.name
                });
                let record = record.map(|(_, record)| record);
                Ok(live_files(workspace.state(), secret, record, None).await?.files)
            }
            None => Ok(None),
        }
    }

    /// The Secret that a name identifies: that of a Certificate, or its own; `is_secret` says
    /// that it is its own.
    pub async fn secret(
        &self,
        name: &NameTarget,
        is_secret: bool,
        namespace: Option<&str>,
    ) -> Result<NamespacedName, OwnersError> {
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
            (Ok(of_certificate), Ok(own)) if of_certificate != own => {
                Err(OwnersError::Ambiguous { name: name.name.clone(), of_certificate, own })
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
    ) -> Result<NamespacedName, OwnersError> {
        // No Secret has the name of a wildcard.
        let may_be = matches!(found, Err(TargetError::Unknown { .. })) && !name.name.contains('*');
        if may_be {
            let namespace = name.namespace.as_deref().or(namespace).unwrap_or("default");
            let secret = NamespacedName::new(namespace, &name.name);
            if self.files(&secret).await?.is_some() {
                return Ok(secret);
            }
        }
        let certificates = self.known.as_ref().map(|(_, targets)| &targets.loaded.certificates);
        Ok(found.map_err(|error| error.among(certificates.map_or(&[], Vec::as_slice)))?)
    }

    /// The Certificate whose published leaf is this one.
    pub async fn same(&self, fingerprint: &str) -> Option<(&Owner, LeafFacts)> {
        self.first(|leaf| leaf.fingerprint == fingerprint).await
    }

    /// The Certificate whose published leaf covers a host.
    pub async fn covering(&self, host: &str) -> Option<(&Owner, LeafFacts)> {
        self.first(|leaf| covers(leaf, host)).await
    }

    /// The revision of a Secret whose leaf this is, among those that are kept and not live; 0 is an
    /// adopted pair.
    pub async fn other_revision(&self, secret: &NamespacedName, fingerprint: &str) -> Option<u32> {
        let (workspace, _) = self.known.as_ref()?;
        let sets = workspace.state().live_files().sets(secret).await.ok()?.into_iter();
        sets.filter(|set| !set.is_live).find_map(|set| {
            let leaf = published_pair(&set.files.ok()?).certificate?.ok()?;
            (leaf.fingerprint == fingerprint).then_some(set.revision)
        })
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

/// Whether a leaf covers this host (RFC 9525 section 6.3: a wildcard is one whole label).
pub fn covers(leaf: &LeafFacts, host: &str) -> bool {
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
