//! The folders that a reader opened last, and the documents that all certificates share.
//!
//! A reader of many certificates opens several folders of each, and their parents again and again.
//! Contract: for a state that is opened for reading only: such a reader sees the folders as they
//! were when it first opened them, and the steps in flight of a certificate as they were when it
//! read the certificate's record.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::folder::Folder;
use super::in_flight::Steps;
use super::layout::Place;
use crate::resource::NamespacedName;
use crate::store::documents::Stored;
use crate::store::error::StoreError;

/// See the module.
#[derive(Default)]
pub(super) struct Opened {
    /// By the first name: the folders on the last path.
    paths: Mutex<HashMap<String, Vec<(String, Folder)>>>,
    documents: Mutex<HashMap<String, Option<Stored>>>,
    /// The steps of the certificate that was read last.
    steps: Mutex<Option<(NamespacedName, Option<Arc<Steps>>)>>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").finish_non_exhaustive()
    }
}

impl Opened {
    /// The folder with this path; `None` when there is none.
    pub(super) fn find(
        &self,
        root: &Folder,
        names: &[String],
    ) -> Result<Option<Folder>, StoreError> {
        let Some(top) = names.first() else { return Ok(Some(root.clone())) };
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        let path = paths.entry(top.clone()).or_default();
        let known = path.iter().zip(names).take_while(|((known, _), name)| known == *name).count();
        if known < names.len() {
            path.truncate(known);
        }
        for name in names.iter().skip(known) {
            let parent = path.last().map_or(root, |(_, folder)| folder);
            let Some(child) = parent.child(name)? else { return Ok(None) };
            path.push((name.clone(), child));
        }
        let found = names.len().checked_sub(1).and_then(|last| path.get(last));
        Ok(found.map(|(_, folder)| folder.clone()))
    }

    /// A document that all certificates share, read once.
    pub(super) fn shared(
        &self,
        place: &Place,
        read: impl FnOnce() -> Result<Option<Stored>, StoreError>,
    ) -> Result<Option<Stored>, StoreError> {
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        let path = place.relative_path().to_string_lossy().into_owned();
        if let Some(known) = documents.get(&path) {
            return Ok(known.clone());
        }
        let found = read()?;
        documents.insert(path, found.clone());
        Ok(found)
    }

    /// The steps in flight of a certificate, looked at when its record is read, and for its other
    /// documents unless it was read last.
    pub(super) fn steps(
        &self,
        of: &NamespacedName,
        is_record: bool,
        look: impl FnOnce() -> Result<Option<Arc<Steps>>, StoreError>,
    ) -> Result<Option<Arc<Steps>>, StoreError> {
        let mut last = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, steps)) = last.as_ref().filter(|_| !is_record)
            && known == of
        {
            return Ok(steps.clone());
        }
        *last = None;
        let found = look()?;
        *last = Some((of.clone(), found.clone()));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_of_a_path_is_opened_once_until_another_is_needed() {
        let scratch = tempfile::tempdir().unwrap();
        let path = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for folder in ["a/b/c", "a/b/d", "e"] {
            std::fs::create_dir_all(scratch.path().join(folder)).unwrap();
        }
        let root = Folder::open(scratch.path()).unwrap().unwrap();
        let opened = Opened::default();
        let find = |names: &[&str]| {
            let found = opened.find(&root, &path(names)).unwrap();
            found.map(|folder| folder.path().strip_prefix(scratch.path()).unwrap().to_owned())
        };
        let places: [(&[&str], Option<&str>); 8] = [
            (&[], Some("")),
            (&["a", "b", "c"], Some("a/b/c")),
            (&["a", "b"], Some("a/b")),
            (&["e"], Some("e")),
            (&["a", "b", "x"], None),
            (&["a", "b", "d"], Some("a/b/d")),
            (&["x"], None),
            (&["a"], Some("a")),
        ];
        for (names, expected) in places {
            assert_eq!(find(names), expected.map(Into::into), "{names:?}");
        }
        // What was opened is not looked up again; what was not found is.
        std::fs::rename(scratch.path().join("a"), scratch.path().join("moved")).unwrap();
        std::fs::create_dir(scratch.path().join("x")).unwrap();
        assert_eq!(find(&["a", "b", "d"]), Some("a/b/d".into()));
        assert_eq!(find(&["x"]), Some("x".into()));
    }
}
