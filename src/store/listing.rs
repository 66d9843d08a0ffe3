//! Lists the stored documents.
//!
//! Contract: other files are skipped; a document that cannot be read is listed, and reading it
//! returns the error.

use std::collections::BTreeSet;

use super::directory::StateDirectory;
use super::layout;
use crate::resource::NamespacedName;
use crate::store::error::StoreError;
use crate::store::key::{Collection, Key};

impl StateDirectory {
    /// The keys of a collection, in order.
    pub(super) fn keys(&self, of: &Collection) -> Result<Vec<Key>, StoreError> {
        match of {
            Collection::Certificates => self.certificates(),
            Collection::Accounts => self.accounts(),
            Collection::Requests(name) => {
                let files = self.entries(&layout::requests(name)?)?;
                let revisions = files.iter().filter_map(|file| layout::parse_request(file));
                let found = revisions.map(|revision| Key::Request(name.clone(), revision));
                self.as_in_flight(name, found.collect(), |key| matches!(key, Key::Request(..)))
            }
            Collection::Orders(name) => {
                let files = self.entries(&layout::orders(name)?)?;
                let ids = files.iter().filter_map(|file| layout::parse_order(file));
                let found = ids.map(|(r, n)| Key::Order(name.clone(), r, n));
                self.as_in_flight(name, found.collect(), |key| matches!(key, Key::Order(..)))
            }
        }
    }

    /// These documents, with those that the work on the certificate has made, and without those it
    /// has removed.
    fn as_in_flight(
        &self,
        name: &NamespacedName,
        mut found: BTreeSet<Key>,
        is_meant: fn(&Key) -> bool,
    ) -> Result<Vec<Key>, StoreError> {
        for (key, is_there) in self.keys_in_flight(name)? {
            if is_there && is_meant(&key) {
                found.insert(key);
            } else if !is_there {
                found.remove(&key);
            }
        }
        Ok(found.into_iter().collect())
    }

    /// The name in each namespace that has a folder in this one.
    pub(super) fn named(
        &self,
        top: &str,
        name: &str,
        namespace: Option<&str>,
    ) -> Result<Vec<NamespacedName>, StoreError> {
        let namespaces = match namespace {
            Some(namespace) => vec![namespace.to_owned()],
            None => self.folders(&[top.to_owned()])?,
        };
        Ok(namespaces.into_iter().map(|namespace| NamespacedName::new(namespace, name)).collect())
    }

    /// The folders in the folders in this one.
    pub(super) fn names(&self, top: &str) -> Result<Vec<NamespacedName>, StoreError> {
        let mut found = Vec::new();
        let mut names = vec![top.to_owned()];
        for namespace in self.folders(&names)? {
            names.push(namespace.clone());
            let here = self.folders(&names)?.into_iter();
            found.extend(here.map(|name| NamespacedName::new(namespace.clone(), name)));
            names.pop();
        }
        Ok(found)
    }

    /// The names of the entries of a folder; none when there is no such folder.
    pub(super) fn entries(&self, names: &[String]) -> Result<Vec<String>, StoreError> {
        self.find(names)?.map_or_else(|| Ok(Vec::new()), |folder| folder.entries())
    }

    /// The names of the folders in a folder; other entries are skipped.
    pub(super) fn folders(&self, names: &[String]) -> Result<Vec<String>, StoreError> {
        self.find(names)?.map_or_else(|| Ok(Vec::new()), |folder| folder.folders())
    }

    fn certificates(&self) -> Result<Vec<Key>, StoreError> {
        let names = self.names(layout::CERTIFICATES)?.into_iter();
        let names = names.filter(|name| layout::certificate(name).is_ok());
        Ok(names.map(Key::Certificate).collect())
    }

    fn accounts(&self) -> Result<Vec<Key>, StoreError> {
        let digests = self.folders(&[layout::ACCOUNTS.to_owned()])?;
        let mut keys: Vec<_> = digests.into_iter().map(Key::Account).collect();
        keys.retain(|key| self.is_stored(key));
        Ok(keys)
    }

    /// Whether a document exists. One that cannot be checked is listed: reading it returns the
    /// error.
    fn is_stored(&self, key: &Key) -> bool {
        let Ok(place) = layout::document(key) else { return false };
        match self.find(&place.folders) {
            Ok(Some(folder)) => {
                folder.kind(&place.file).map_or(true, |kind| kind.is_some())
                    || self
                        .in_flight(key)
                        .map_or(true, |made| made.is_some_and(|made| made.stored().is_some()))
            }
            Ok(None) => false,
            Err(_) => true,
        }
    }
}
