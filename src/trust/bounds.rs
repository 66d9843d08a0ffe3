//! Where the files may be written that manifests name a folder for: outputs, and tokens in webroots.
//!
//! Contract: a folder is compared by device and inode, and so is each folder above it, however it is
//! named and reached. What certctl reads and keeps is never written through a manifest: it would be
//! read as the operator's, and a program there would be run.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, openat};

use super::rule::{Relation, TrustError};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// certctl's own folders.
    pub reserved: Vec<PathBuf>,
    /// The folders below which outputs and webroots must lie; anywhere when there are none.
    pub roots: Vec<PathBuf>,
}

/// Device and inode.
type Id = (u64, u64);

/// A folder of which the last names may be missing.
struct Place {
    /// The last folder that is there, and those above it up to the root.
    ids: Vec<Id>,
    /// The name behind that folder, if any is missing.
    missing: Option<OsString>,
}

impl Bounds {
    /// Checks the open folder at `path`, or the one named `missing` that is to be made in it.
    pub fn check(
        &self,
        folder: impl AsFd,
        path: &Path,
        missing: Option<&OsStr>,
    ) -> Result<(), TrustError> {
        if self.reserved.is_empty() && self.roots.is_empty() {
            return Ok(());
        }
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            |source| TrustError::Io { path, source }
        };
        let ids = way_up(folder).map_err(failed(path))?;
        let folder = Place { ids, missing: missing.map(OsStr::to_owned) };
        let path = missing.map_or_else(|| path.to_path_buf(), |name| path.join(name));
        for own in &self.reserved {
            let place = Place::of(own).map_err(failed(own))?;
            if let Some(relation) = folder.relation(&place) {
                return Err(TrustError::Reserved { path, relation, own: own.clone() });
            }
        }
        let is_inside = |root: &PathBuf| {
            let root = Place::of(root).ok();
            root.is_some_and(|root| {
                matches!(folder.relation(&root), Some(Relation::Same | Relation::Below))
            })
        };
        if self.roots.is_empty() || self.roots.iter().any(is_inside) {
            return Ok(());
        }
        Err(TrustError::Outside { path, roots: self.roots.clone() })
    }
}

impl Place {
    fn of(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let mut missing = None;
        for above in path.ancestors() {
            match fs::canonicalize(above) {
                Ok(real) => {
                    let id = |folder| fs::metadata(folder).map(|it| (it.dev(), it.ino()));
                    let ids = real.ancestors().map(id).collect::<Result<_, _>>()?;
                    return Ok(Self { ids, missing });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    missing = above.file_name().map(OsStr::to_owned);
                }
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }

    fn relation(&self, own: &Self) -> Option<Relation> {
        let (ours, theirs) = (self.ids.first()?, own.ids.first()?);
        match (&self.missing, &own.missing) {
            (None, None) if ours == theirs => Some(Relation::Same),
            (_, None) if self.ids.contains(theirs) => Some(Relation::Below),
            (None, _) if own.ids.contains(ours) => Some(Relation::Above),
            // It would be made with that name; what is to be made below it is not known.
            (Some(name), Some(other)) if ours == theirs && name == other => Some(Relation::Same),
            (_, _) => None,
        }
    }
}

/// The identities of an open folder and of those above it, up to the root, which is above itself.
fn way_up(folder: impl AsFd) -> io::Result<Vec<Id>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
    let flags = flags | OFlags::PATH;
    let mut ids = Vec::new();
    let mut at = File::from(openat(folder, ".", flags, Mode::empty())?);
    loop {
        let found = at.metadata()?;
        let id = (found.dev(), found.ino());
        if ids.last() == Some(&id) {
            return Ok(ids);
        }
        ids.push(id);
        at = File::from(openat(&at, "..", flags, Mode::empty())?);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_is_compared_with_those_of_certctl_by_what_it_is() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |below: &str| scratch.path().join(below);
        for folder in ["etc/config/sub", "etc/other", "real", "srv/www"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        // The hooks are elsewhere, and the config directory has another name.
        symlink(at("real"), at("etc/config/hooks.d")).unwrap();
        symlink(at("etc/config"), at("alias")).unwrap();
        let reserved =
            ["etc/config", "etc/config/hooks.d", "etc/config/solvers.d", "new/state"].map(at);
        let bounds = Bounds { reserved: reserved.to_vec(), roots: Vec::new() };
        let relation = |bounds: &Bounds, folder: &str, missing: Option<&str>| {
            let open = File::open(at(folder)).unwrap();
            match bounds.check(&open, &at(folder), missing.map(OsStr::new)) {
                Ok(()) => None,
                Err(TrustError::Reserved { relation, .. }) => Some(relation),
                Err(other) => panic!("{other}"),
            }
        };
        for (folder, missing, expected) in [
            ("etc/config", None, Some(Relation::Same)),
            ("alias", None, Some(Relation::Same)),
            ("alias/sub", None, Some(Relation::Below)),
            ("etc/config", Some("solvers.d"), Some(Relation::Below)),
            ("alias", Some("tls"), Some(Relation::Below)),
            ("real", None, Some(Relation::Same)),
            ("real", Some("tls"), Some(Relation::Below)),
            ("etc", None, Some(Relation::Above)),
            ("", None, Some(Relation::Above)),
            ("", Some("new"), Some(Relation::Same)),
            ("etc", Some("tls"), None),
            ("etc/other", None, None),
            ("srv/www", None, None),
        ] {
            assert_eq!(relation(&bounds, folder, missing), expected, "{folder} {missing:?}");
        }
        let bounds = Bounds { roots: vec![at("srv"), at("missing")], ..Bounds::default() };
        let open = |folder: &str| File::open(at(folder)).unwrap();
        bounds.check(open("srv"), &at("srv"), None).unwrap();
        bounds.check(open("srv/www"), &at("srv/www"), None).unwrap();
        bounds.check(open("srv"), &at("srv"), Some(OsStr::new("tls"))).unwrap();
        for folder in ["", "etc", "real"] {
            let refused = bounds.check(open(folder), &at(folder), None).unwrap_err();
            assert!(matches!(refused, TrustError::Outside { .. }), "{folder}: {refused}");
        }
    }
}
