//! What may be lost, in the state directory: the ACME directories of CAs (`directories/`), the CRLs
//! that the issued certificates name and when they were last looked at (`crls/`), the messages that
//! runs have printed and that no certificate's record can note (`reported`), and the index.
//!
//! Contract: its readers verify what they read. What is lost is fetched, or printed, again, so nothing
//! is synced; of two runs that write the same file one wins.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufWriter};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::OFlags;
use rustix::io::retry_on_intr;

use super::StateDirectory;
use crate::resource::NamespacedName;
use crate::store::cache::{Cache, Looks};
use crate::store::error::StoreError;
use crate::store::folder::{Guard, TEMP_PREFIX, io_error};
use crate::store::index::{
    Facts, Index, Sum, Witness, Writer, file_name, remove_oldest, set_files,
};
use crate::store::key::{Key, Part};
use crate::store::{atomic, in_flight, layout, secret};

impl Cache for StateDirectory {
    fn cached_directory(&self, ca: &str) -> Option<Vec<u8>> {
        let cached = self.read(&layout::directory(ca).ok()?).ok()??;
        Some(cached.bytes.to_vec())
    }

    fn cache_directory(&self, ca: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let place = layout::directory(ca)?;
        // Only a new folder is made: making one syncs.
        let folder = match self.find(&place.folders)? {
            Some(folder) => folder,
            None => self.make(&place.folders)?,
        };
        atomic::replace_fleeting(&folder, &place.file, bytes)
    }

    fn cached_crl(&self, digest: &str) -> Result<Option<(Vec<u8>, Timestamp)>, StoreError> {
        let place = layout::crl(digest)?;
        let Some(folder) = self.find(&place.folders)? else { return Ok(None) };
        let Some(bytes) = folder.read(&place.file, Guard::Document)? else { return Ok(None) };
        let written = folder.stat(&place.file)?;
        let written = written.and_then(|stat| Timestamp::from_second(stat.st_mtime).ok());
        Ok(written.map(|at| (bytes.to_vec(), at)))
    }

    fn cache_crl(&self, digest: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let place = layout::crl(digest)?;
        atomic::replace_fleeting(&self.make(&place.folders)?, &place.file, bytes)
    }

    fn looks(&self) -> Result<Option<Looks>, StoreError> {
        let Some(stored) = self.read(&layout::crl_looks())? else { return Ok(None) };
        let text = std::str::from_utf8(&stored.bytes).unwrap_or_default();
        let times = text.split_once(' ');
        Ok(times.and_then(|(done, next)| {
            Some(Looks { done: done.parse().ok()?, next: next.trim_end().parse().ok()? })
        }))
    }

    fn note_looks(&self, looks: Looks, outdated: Timestamp) -> Result<(), StoreError> {
        let place = layout::crl_looks();
        let folder = self.make(&place.folders)?;
        let text = format!("{} {}\n", looks.done, looks.next);
        atomic::replace_fleeting(&folder, &place.file, text.as_bytes())?;
        for name in folder.entries()? {
            let written = folder.stat(&name)?.map(|stat| stat.st_mtime);
            if name != place.file && written.is_some_and(|at| at < outdated.as_second()) {
                folder.remove(&name)?;
            }
        }
        Ok(())
    }

    fn reported(&self) -> Result<BTreeMap<String, Timestamp>, StoreError> {
        let Some(stored) = self.read(&layout::reported())? else { return Ok(BTreeMap::new()) };
        let lines = std::str::from_utf8(&stored.bytes).unwrap_or_default().lines();
        let reported = lines.filter_map(|line| {
            let (digest, at) = line.split_once(' ')?;
            Some((digest.to_owned(), at.parse().ok()?))
        });
        Ok(reported.collect())
    }

    fn note_reported(&self, reported: &BTreeMap<String, Timestamp>) -> Result<(), StoreError> {
        let place = layout::reported();
        let mut text = String::new();
        for (digest, at) in reported {
            // Writing into a string cannot fail.
            _ = writeln!(text, "{digest} {at}");
        }
        let folder = self.make(&place.folders)?;
        atomic::replace_fleeting(&folder, &place.file, text.as_bytes())
    }

    fn index(&self, of: Option<&str>) -> Option<Index> {
        let root = self.find(&[]).ok()??;
        let file = root.open_file(&file_name(of), OFlags::RDONLY).ok()??;
        let found = file.metadata().ok()?;
        let is_ours = found.uid() == rustix::process::geteuid().as_raw();
        let is_open = found.mode() & 0o077 != 0 || found.nlink() != 1;
        (is_ours && !is_open).then_some(Index { file })
    }

    fn index_written(&self) -> Option<Timestamp> {
        let written = self.index(None)?.file.metadata().ok()?.modified().ok()?;
        Timestamp::try_from(written).ok()
    }

    fn write_index(
        &self,
        of: Option<&str>,
        add_all: impl FnOnce(&mut Writer<'_>) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let root = self.make(&[])?;
        let file_name = file_name(of);
        let name = format!("{TEMP_PREFIX}{}-{file_name}", std::process::id());
        let failed = |error: io::Error| io_error(&root.join(&file_name), "write", error);
        root.remove(&name)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let Some(file) = root.open_file(&name, flags)? else { return Ok(()) };
        let written = atomic::give_mode(&file, 0o600).and_then(|()| {
            let mut writer = Writer { file: BufWriter::new(&file), sum: Sum::default() };
            add_all(&mut writer)?;
            writer.end()?;
            Ok(retry_on_intr(|| rustix::fs::renameat(&root, &name, &root, &file_name))?)
        });
        if written.is_err() {
            root.remove(&name)?;
        }
        written.map_err(failed)?;
        if of.is_some() { remove_oldest(&root) } else { Ok(()) }
    }

    fn witness(&self, path: &Path) -> Option<Witness> {
        let text = path.to_str()?.to_owned();
        let found = if path.is_absolute() {
            fs::metadata(path)
        } else {
            fs::symlink_metadata(self.path().join(path))
        };
        match found {
            Ok(found) => Some(Witness(text, Some(Facts::of(&found)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Witness(text, None)),
            Err(_) => None,
        }
    }

    fn shared_witnesses(&self) -> Option<Vec<Witness>> {
        let top = layout::CERTIFICATES.to_owned();
        let mut places = vec![layout::document(&Key::BannedKeys).ok()?.relative_path()];
        places.push(PathBuf::from(&top));
        let mut seen: Vec<Witness> =
            places.iter().map(|place| self.witness(place)).collect::<Option<_>>()?;
        // After the folder that holds their names.
        for namespace in self.folders(std::slice::from_ref(&top)).ok()? {
            seen.push(self.witness(&Path::new(&top).join(namespace))?);
        }
        // Without its account's key, no certificate can be renewed.
        for digest in self.folders(&[layout::ACCOUNTS.to_owned()]).ok()? {
            let Ok(place) = layout::document(&Key::AccountKey(digest)) else { continue };
            seen.push(self.witness(&place.relative_path())?);
        }
        Some(seen)
    }

    fn record_witnesses(&self, certificate: &NamespacedName) -> Option<Vec<Witness>> {
        let record = layout::document(&Key::Certificate(certificate.clone())).ok()?;
        let folder: PathBuf = layout::certificate(certificate).ok()?.iter().collect();
        let places = [record.relative_path(), folder.join(in_flight::FILE)];
        places.iter().map(|place| self.witness(place)).collect()
    }

    fn witnesses(
        &self,
        certificate: &NamespacedName,
        revision: Option<u32>,
        of: &NamespacedName,
    ) -> Option<Vec<Witness>> {
        let mut seen = self.record_witnesses(certificate)?;
        if let Some(revision) = revision {
            let request = Part::Request(revision).of(certificate);
            seen.push(self.witness(&layout::document(&request).ok()?.relative_path())?);
        }
        let names = layout::secret(of).ok()?;
        let place: PathBuf = names.iter().collect();
        seen.push(self.witness(&place)?);
        let folder = self.find(&names).ok()??;
        let set = secret::live_name(&folder).ok()??;
        let place = place.join(&set);
        seen.push(self.witness(&place)?);
        for name in set_files(&folder, &set)? {
            seen.push(self.witness(&place.join(name))?);
        }
        Some(seen)
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::store::OpenMode;

    #[test]
    fn a_crl_is_kept_until_it_is_outdated_and_damaged_times_are_none() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state");
        let state = StateDirectory::open(&path, OpenMode::ReadWrite).unwrap();
        assert_eq!((state.looks().unwrap(), state.cached_crl("1f").unwrap()), (None, None));
        state.cache_crl("1f", b"old").unwrap();
        state.cache_crl("1f", b"new").unwrap();
        let (bytes, written) = state.cached_crl("1f").unwrap().unwrap();
        assert_eq!(bytes, b"new");
        let second = SignedDuration::from_secs(1);
        let looks = Looks { done: written, next: written + second };
        state.note_looks(looks, written).unwrap();
        assert_eq!(state.looks().unwrap(), Some(looks));
        assert_eq!(state.cached_crl("1f").unwrap(), Some((bytes, written)));
        state.note_looks(looks, written + second).unwrap();
        assert_eq!((state.looks().unwrap(), state.cached_crl("1f").unwrap()), (Some(looks), None));
        for damaged in ["", "2026-01-01T00:00:00Z", "never ever\n"] {
            let folder = state.find(&layout::crl_looks().folders).unwrap().unwrap();
            atomic::replace_fleeting(&folder, "looks", damaged.as_bytes()).unwrap();
            assert_eq!(state.looks().unwrap(), None, "{damaged:?}");
        }
    }

    #[test]
    fn a_directory_is_kept_for_its_ca_until_a_newer_one_is() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state");
        let state = StateDirectory::open(&path, OpenMode::ReadWrite).unwrap();
        assert_eq!(state.cached_directory("1f"), None);
        for text in [b"old", b"new"] {
            state.cache_directory("1f", text).unwrap();
            assert_eq!(state.cached_directory("1f"), Some(text.to_vec()));
        }
        assert_eq!(state.cached_directory("2f"), None);
    }

    #[test]
    fn what_was_reported_is_read_back_and_a_damaged_line_is_none() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state");
        let state = StateDirectory::open(&path, OpenMode::ReadWrite).unwrap();
        assert_eq!(state.reported().unwrap(), BTreeMap::new());
        let reported = BTreeMap::from([("ab".to_owned(), Timestamp::UNIX_EPOCH)]);
        state.note_reported(&reported).unwrap();
        assert_eq!(state.reported().unwrap(), reported);
        let folder = state.find(&layout::reported().folders).unwrap().unwrap();
        let damaged = b"\ncd\nef never\nab 1970-01-01T00:00:00Z\n";
        atomic::replace_fleeting(&folder, "reported", damaged).unwrap();
        assert_eq!(state.reported().unwrap(), reported);
    }
}
