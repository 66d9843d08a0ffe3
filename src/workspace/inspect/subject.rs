//! A certificate that is to be looked at, and where it is: a Secret in the state, a file, standard
//! input, or a server.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

use crate::engine::ports::StoreError;
use crate::manifest::{self, SecretManifest};
use crate::pki::{self, Bundle, CertificateError, RootsError};
use crate::probe::{Network, NetworkError};
use crate::resource::{
    CertificateSpec, LeafFacts, NamespacedName, RenewalInformation, Revocation, SecretFiles,
};
use crate::workspace::target::NameTarget;
use crate::workspace::{Owners, OwnersError, covers};

/// Where the certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A Secret or Certificate of the state; with `is_secret` certainly a Secret.
    Name { name: NameTarget, is_secret: bool },
    /// A file: PEM, DER, or the manifest of a Secret.
    File(PathBuf),
    /// The same on standard input.
    Stdin,
    /// A TLS server.
    Server { host: String, port: u16 },
}

/// What was found there.
#[derive(Clone, Debug)]
pub struct Subject {
    /// For people and `-o name`.
    pub label: String,
    /// Certificates and key.
    pub bundle: Bundle,
    /// Certificates that may have signed the leaf, beside those of the bundle.
    pub above: Vec<Vec<u8>>,
    /// The Certificate it belongs to.
    pub certificate: Option<NamespacedName>,
    /// The spec of that Certificate.
    pub spec: Option<CertificateSpec>,
    /// The caBundle of its Issuer.
    pub ca_bundle: Option<String>,
    /// The name that a server was asked for, and whether the leaf has it.
    pub host: Option<HostMatch>,
    /// How it compares with the state, when the source is a server.
    pub served: Option<Served>,
    /// Its revocation, as the state knows it.
    pub revocation: Option<Revocation>,
    /// What the CA said about when to renew it.
    pub renewal_information: Option<RenewalInformation>,
}

/// A comparison with the name that a server was asked for (RFC 9525).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostMatch {
    pub name: String,
    pub matches: bool,
    /// The Certificate that has the name, where this certificate does not.
    pub expected_certificate: Option<String>,
}

/// A comparison of a server with the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Served {
    pub same: bool,
    /// Lower-case hexadecimal, as `serialNumberHex` is.
    pub state_serial: String,
    /// Where it is not the current certificate, but one that the state still has: the revision of that;
    /// 0 is one from before certctl.
    pub other_revision: Option<u32>,
}

/// Why there is no certificate to look at.
#[derive(Debug, Error)]
pub enum InspectError {
    #[error(transparent)]
    Owners(#[from] OwnersError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The Secret has no files yet.
    #[error("Secret `{}` has not been issued yet", .0.short())]
    NotIssued(NamespacedName),
    /// What is at `place` (a path, `-`, HOST:PORT, secret/NAME) cannot be used.
    #[error("cannot read `{place}`: {why}")]
    Unreadable { place: String, why: Unreadable },
}

/// Why a place has no usable certificate.
#[derive(Debug, Error)]
pub enum Unreadable {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error("it contains a private key but no certificate")]
    KeyAlone,
    #[error("neither PEM nor the manifest of a Secret with `tls.crt`")]
    NoPair,
    #[error("there is no `tls.crt`")]
    NoFile,
    #[error("{0} Secrets with `tls.crt`, expected one")]
    Several(usize),
    #[error(transparent)]
    Roots(#[from] RootsError),
    /// A server, without a network.
    #[error("--offline")]
    Offline,
    #[error(transparent)]
    Server(#[from] NetworkError),
}

impl InspectError {
    /// Whether a server could not be connected to, which may be there in a moment.
    pub fn is_unreachable(&self) -> bool {
        matches!(
            self,
            Self::Unreadable { why: Unreadable::Server(NetworkError::Unreachable { .. }), .. }
        )
    }
}

impl Source {
    /// Whether the state must be readable.
    pub fn is_in_state(&self) -> bool {
        match self {
            Self::Name { .. } => true,
            Self::File(_) | Self::Stdin | Self::Server { .. } => false,
        }
    }

    /// What messages call it.
    fn place(&self) -> String {
        match self {
            Self::Name { name, .. } => name.name.clone(),
            Self::File(path) => path.to_string_lossy().into_owned(),
            Self::Stdin => "-".to_owned(),
            Self::Server { host, port } => format!("{host}:{port}"),
        }
    }

    /// Fetches what is there; a name without a namespace is looked for in `namespace`.
    pub async fn open(
        &self,
        owners: &Owners,
        network: Option<&Network>,
        namespace: Option<&str>,
    ) -> Result<Subject, InspectError> {
        let subject = Box::pin(self.found(owners, network, namespace)).await?;
        let known = subject.facts().ok().and_then(|leaf| owners.revocation(&leaf).cloned());
        Ok(Subject { revocation: known, ..subject })
    }

    async fn found(
        &self,
        owners: &Owners,
        network: Option<&Network>,
        namespace: Option<&str>,
    ) -> Result<Subject, InspectError> {
        let unreadable = |why| InspectError::Unreadable { place: self.place(), why };
        match self {
            Self::Name { name, is_secret } => {
                let secret = owners.secret(name, *is_secret, namespace).await?;
                let Some(files) = owners.files(&secret).await? else {
                    return Err(InspectError::NotIssued(secret));
                };
                let label = NameTarget::printed("secret", &secret.namespace, &secret.name);
                let pair = pair_of(&files)
                    .map_err(|why| InspectError::Unreadable { place: label.clone(), why })?;
                let owner = owners.owner_of(&secret).map(|owner| &owner.certificate);
                Ok(Subject::new(label, pair).owned(owners, owner))
            }
            Self::File(path) => {
                let bytes = std::fs::File::open(path).and_then(read);
                let bytes = bytes.map_err(|error| unreadable(error.into()))?;
                let pair = pair_in(&bytes, is_manifest(path)).map_err(unreadable)?;
                Ok(Subject::new(self.place(), pair).compared(owners).await)
            }
            Self::Stdin => {
                let bytes = read(io::stdin()).map_err(|error| unreadable(error.into()))?;
                let pair = pair_in(&bytes, false).map_err(unreadable)?;
                Ok(Subject::new(self.place(), pair).compared(owners).await)
            }
            Self::Server { host, port } => {
                let network = network.ok_or_else(|| unreadable(Unreadable::Offline))?;
                let shown = network.certificates(host, *port).await;
                let shown = shown.map_err(|error| unreadable(error.into()))?;
                let bundle = Bundle::from_der(shown).map_err(|error| unreadable(error.into()))?;
                let pair = Pair { bundle, above: Vec::new() };
                Ok(Subject::new(self.place(), pair).served(owners, host).await)
            }
        }
    }
}

/// Certificates and key, as they were found.
struct Pair {
    bundle: Bundle,
    /// See [`Subject::above`].
    above: Vec<Vec<u8>>,
}

impl Subject {
    fn new(label: String, Pair { bundle, above }: Pair) -> Self {
        Self {
            label,
            bundle,
            above,
            certificate: None,
            spec: None,
            ca_bundle: None,
            host: None,
            served: None,
            revocation: None,
            renewal_information: None,
        }
    }

    /// The same as that of a Certificate.
    fn owned(mut self, owners: &Owners, certificate: Option<&NamespacedName>) -> Self {
        let manifest = certificate.and_then(|name| owners.certificate(name));
        self.ca_bundle = manifest
            .and_then(|manifest| owners.issuer(manifest))
            .and_then(|issuer| issuer.acme.ca_bundle.clone());
        self.spec = manifest.map(|manifest| manifest.spec.clone());
        let known = certificate.zip(self.facts().ok());
        let known = known.and_then(|(name, leaf)| owners.renewal_information(name, &leaf).cloned());
        self.renewal_information = known.filter(RenewalInformation::is_worth_showing);
        self.certificate = certificate.cloned();
        self
    }

    /// The same, as that of the Certificate which has this very leaf.
    async fn compared(self, owners: &Owners) -> Self {
        let Ok(facts) = self.facts() else { return self };
        match owners.same(&facts.fingerprint).await {
            Some((owner, _)) => self.owned(owners, Some(&owner.certificate)),
            None => self,
        }
    }

    /// The same, beside what the state has for this host.
    async fn served(self, owners: &Owners, host: &str) -> Self {
        let Ok(facts) = self.facts() else { return self };
        let matches = covers(&facts, host);
        let expected = if matches { None } else { owners.covering(host).await };
        let expected_certificate =
            expected.as_ref().map(|(owner, _)| owner.certificate.to_string());
        // By its address, a server is reached that clients reach by its name.
        let is_address = host.parse::<IpAddr>().is_ok() || host == "localhost";
        let host_match = HostMatch { name: host.to_owned(), matches, expected_certificate };
        let host_match = Some(host_match).filter(|_| matches || !is_address || expected.is_some());
        let subject = Self { host: host_match, ..self };
        let found = match owners.same(&facts.fingerprint).await {
            Some(found) => Some(found),
            None if matches => owners.covering(host).await,
            None => expected,
        };
        let Some((owner, leaf)) = found else { return subject };
        let subject = subject.owned(owners, Some(&owner.certificate));
        let same = leaf.serial == facts.serial;
        let other_revision = if same {
            None
        } else {
            owners.other_revision(&owner.secret, &facts.fingerprint).await
        };
        let served = Served { same, state_serial: leaf.serial, other_revision };
        Self { served: Some(served), ..subject }
    }

    /// Whether a server presents another certificate than the one that the state has for its name.
    pub fn is_outdated(&self) -> bool {
        let is_of_another = |host: &HostMatch| host.expected_certificate.is_some();
        self.host.as_ref().is_some_and(is_of_another)
            || self.served.as_ref().is_some_and(|served| !served.same)
    }

    /// The facts that decisions are made from.
    pub fn facts(&self) -> Result<LeafFacts, CertificateError> {
        pki::facts_of_der(self.bundle.leaf())
    }
}

/// The roots in a PEM file; at least one.
pub fn roots_of(path: &Path) -> Result<RootCertStore, Unreadable> {
    let bytes = std::fs::File::open(path).and_then(read)?;
    Ok(pki::roots(&String::from_utf8_lossy(&bytes))?)
}

fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| ["yaml", "yml", "json"].contains(&extension))
}

/// As much as a manifest may have, and one byte more, so that its limit is noticed.
fn read(source: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(2 << 20).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads PEM, DER, or the manifest of a Secret. In a manifest PEM is indented or in base64, so
/// a line that begins a PEM block distinguishes them.
fn pair_in(bytes: &[u8], is_manifest: bool) -> Result<Pair, Unreadable> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Ok(Pair { bundle: Bundle::from_der(vec![bytes.to_vec()])?, above: Vec::new() });
    };
    let is_pem = text.lines().any(|line| line.starts_with("-----BEGIN "));
    if is_pem && !is_manifest {
        return match Bundle::from_pem(text) {
            Ok(bundle) => Ok(Pair { bundle, above: Vec::new() }),
            Err(CertificateError::NotFound) if text.contains("PRIVATE KEY-----") => {
                Err(Unreadable::KeyAlone)
            }
            Err(error) => Err(error.into()),
        };
    }
    let sources = [manifest::Source::Stdin(bytes.to_vec())];
    let loaded = manifest::load(&sources, &manifest::Options::default());
    let has_pair = |secret: &&SecretManifest| secret.data.contains_key("tls.crt");
    let secrets: Vec<&SecretManifest> = loaded.secrets.iter().filter(has_pair).collect();
    match secrets.as_slice() {
        [one] => pair_of(&SecretFiles(one.data.clone())),
        [] => Err(Unreadable::NoPair),
        several => Err(Unreadable::Several(several.len())),
    }
}

/// The pair in the files of a Secret.
fn pair_of(files: &SecretFiles) -> Result<Pair, Unreadable> {
    let file = |name: &str| {
        let bytes = files.0.get(name).filter(|bytes| !bytes.is_empty());
        bytes.map(|bytes| String::from_utf8_lossy(bytes))
    };
    let bundle = Bundle::from_pem(&file("tls.crt").ok_or(Unreadable::NoFile)?)?;
    let bundle = match file("tls.key") {
        Some(key) => bundle.with_key(&zeroize::Zeroizing::new(key.into_owned()))?,
        None => bundle,
    };
    let above = file("ca.crt").and_then(|pem| Bundle::from_pem(&pem).ok());
    let above = above.map(|above| above.certificates().to_vec()).unwrap_or_default();
    Ok(Pair { bundle, above })
}

#[cfg(test)]
impl Subject {
    /// What is in a PEM text.
    pub(crate) fn of_pem(pem: &str) -> Self {
        let bundle = Bundle::from_pem(pem).unwrap();
        Self::new("test".to_owned(), Pair { bundle, above: Vec::new() })
    }
}
