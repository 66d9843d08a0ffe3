//! Lists the stored documents.
//!
//! Contract: other files are skipped; a document that cannot be read is listed, and reading it
//! returns the error.

use super::directory::StateDirectory;
use super::layout;
use crate::resource::NamespacedName;
use crate::store::error::StoreError;
use crate::store::key::{Collection, Key, Part};

impl StateDirectory {
    /// The keys of a collection, in order.
    pub(super) fn keys(&self, of: &Collection) -> Result<Vec<Key>, StoreError> {
        match of {
            Collection::Certificates => self.certificates(),
            Collection::Pairs(_) => Ok(Vec::new()),
            Collection::Accounts => self.accounts(),
        }
    }

    /// The parts of what is stored of a certificate that have a file of their own.
    pub(super) fn parts_on_disk(&self, of: &NamespacedName) -> Result<Vec<Part>, StoreError> {
        let requests = self.entries(&layout::requests(of)?)?;
        let orders = self.entries(&layout::orders(of)?)?;
        let requests = requests.iter().filter_map(|file| layout::parse_request(file));
        let orders = orders.iter().filter_map(|file| layout::parse_order(file));
        let parts = [Part::Record, Part::NextKey].into_iter().chain(requests.map(Part::Request));
        Ok(parts.chain(orders.map(|(revision, number)| Part::Order(revision, number))).collect())
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
            Ok(Some(folder)) => folder.kind(&place.file).map_or(true, |kind| kind.is_some()),
            Ok(None) => false,
            Err(_) => true,
        }
    }
}
