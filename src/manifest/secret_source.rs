//! Resolves secret references to bytes.
//!
//! Contract: `kind: Secret` manifests first, then `<secrets>/<namespace>/<name>/<key>`, then
//! `<secrets>/<name>/<key>`, then `<credentials>/<name>.<key>`; the first that exists is used,
//! even when it is then rejected. One trailing newline of a file is removed. Environment variables
//! are not read.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::host::rights;
use crate::resource::{
    Fix, Letters, NamespacedName, Obstacle, Permit, Right, is_dns_label, is_dns_subdomain,
};

use super::file::{ReadError, read_regular};
use super::name::is_secret_key;
use super::secret::SecretManifest;
use crate::trust::{TrustError, Walk, check_secret};

/// The largest secret, in bytes: the limit of a cluster.
const MAX_BYTES: usize = 1 << 20;

/// Resolves references to Secrets.
#[derive(Clone, Debug, Default)]
pub struct SecretSource {
    manifests: BTreeMap<NamespacedName, SecretManifest>,
    secrets: Option<PathBuf>,
    credentials: Option<PathBuf>,
}

/// Why a secret cannot be resolved.
#[derive(Debug, Error)]
pub enum SecretError {
    /// A part of the reference is not a single path component.
    #[error("`{text}` is not the name of a Secret or of an entry in one")]
    Name { text: String },
    /// None of the places has it.
    #[error("secret {} has no `{key}`; tried {}", .secret.short(), .tried.join(", "))]
    Missing {
        secret: NamespacedName,
        key: String,
        /// Each place, in the order tried.
        tried: Vec<String>,
    },
    /// The file exists and cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: ReadError },
    /// The file exists and others can read or change it.
    #[error(transparent)]
    Loose(#[from] TrustError),
}

impl SecretError {
    /// What is in the way, and what to do about it apart from that.
    pub fn obstacle(&self) -> Obstacle {
        match self {
            Self::Missing { secret, key, tried } => {
                let found = Obstacle::new(format_args!("secret {} has no `{key}`", secret.short()));
                // The first is a manifest, the next one a file.
                found.with(tried.get(1).map(|path| install(Path::new(path))))
            }
            Self::Loose(loose) => Obstacle::new(loose).with(rights::trusted(loose)),
            Self::Read { path, source: ReadError::Io(error) }
                if error.kind() == ErrorKind::PermissionDenied && !geteuid().is_root() =>
            {
                let group = rights::own_group();
                let right = Right::Group { group, letters: Letters::Read, is_secret: true };
                Obstacle::new(self).with(Fix::Permit(Permit::new(path, right)))
            }
            Self::Name { .. } | Self::Read { .. } => Obstacle::new(self),
        }
    }
}

/// What stores a secret so that this user can read it: its own file, or one of root's where the folder
/// is root's.
fn install(path: &Path) -> Fix {
    let above = path.ancestors().skip(1).find_map(|above| above.metadata().ok());
    let is_of_root = above.is_some_and(|above| above.uid() == 0) && !geteuid().is_root();
    let group = is_of_root.then(rights::own_group);
    Permit::new(path, Right::Secret { group }).into()
}

impl SecretSource {
    /// A source over manifests, the folder of secrets and systemd's credentials.
    pub fn new(
        manifests: Vec<SecretManifest>,
        secrets: Option<PathBuf>,
        credentials: Option<PathBuf>,
    ) -> Self {
        let manifests = manifests.into_iter().map(|secret| (secret.key(), secret)).collect();
        Self { manifests, secrets, credentials }
    }

    /// The bytes of one entry of a Secret.
    pub fn resolve(
        &self,
        secret: &NamespacedName,
        key: &str,
    ) -> Result<Zeroizing<Vec<u8>>, SecretError> {
        self.find(secret, key).map(|(bytes, _)| bytes)
    }

    /// The bytes of one entry of a Secret, and the file that they were found in.
    pub fn find(
        &self,
        secret: &NamespacedName,
        key: &str,
    ) -> Result<(Zeroizing<Vec<u8>>, PathBuf), SecretError> {
        let NamespacedName { namespace, name } = secret;
        let named = |good: bool, text: &str| {
            if good { Ok(()) } else { Err(SecretError::Name { text: text.to_owned() }) }
        };
        named(is_dns_label(namespace), namespace)?;
        named(is_dns_subdomain(name), name)?;
        named(is_secret_key(key), key)?;
        let mut tried = vec![format!("a Secret manifest {}", secret.short())];
        if let Some(manifest) = self.manifests.get(secret) {
            if let Some(bytes) = manifest.data.get(key) {
                return Ok((bytes.clone(), manifest.origin.path.clone()));
            }
            let origin = &manifest.origin;
            tried = vec![format!("{}:{} (no such key)", origin.path.display(), origin.line)];
        }
        for path in self.places(secret, key) {
            match read_regular(&Walk::trusting_us(), &path, MAX_BYTES) {
                Ok((bytes, metadata)) => {
                    check_secret(&path, metadata.mode())?;
                    return Ok((without_newline(bytes), path));
                }
                Err(ReadError::Io(error)) if is_absent(&error) => {
                    tried.push(path.display().to_string());
                }
                Err(ReadError::Untrusted(error)) => return Err(error.into()),
                Err(source) => return Err(SecretError::Read { path, source }),
            }
        }
        Err(SecretError::Missing { secret: secret.clone(), key: key.to_owned(), tried })
    }

    /// The files that an entry of a Secret can be in, in the order tried.
    pub fn places(&self, secret: &NamespacedName, key: &str) -> Vec<PathBuf> {
        let NamespacedName { namespace, name } = secret;
        let folder = self.secrets.iter();
        let places = folder.flat_map(|folder| {
            [folder.join(namespace).join(name).join(key), folder.join(name).join(key)]
        });
        let credentials = self.credentials.iter().map(|c| c.join(format!("{name}.{key}")));
        places.chain(credentials).collect()
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    error.kind() == NotFound || error.kind() == NotADirectory
}

/// Editors end a file with a newline that is not part of the secret.
fn without_newline(mut bytes: Zeroizing<Vec<u8>>) -> Zeroizing<Vec<u8>> {
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    bytes
}
