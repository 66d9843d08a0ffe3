//! The part of a certificate's record that is about this host, where hosts share the documents.

use super::ports::{Documents, HostRecord, Store, StoreError};
use crate::resource::{CertificateRecord, HostSection, NamespacedName, envelope};

/// Puts it into the record that was read of the shared documents.
pub(super) fn fill<S: Store>(
    store: &S,
    name: &NamespacedName,
    record: &mut CertificateRecord,
) -> Result<(), StoreError> {
    if <S::Documents as Documents>::SHARED {
        record.set_host_section(read(store, name)?);
    }
    Ok(())
}

/// Writes it where it differs from what was written last.
pub(super) fn write<S: Store>(
    store: &S,
    name: &NamespacedName,
    before: Option<&CertificateRecord>,
    record: &CertificateRecord,
) -> Result<(), StoreError> {
    let of = |record: &CertificateRecord| record.clone().take_host_section();
    let section = of(record);
    if !<S::Documents as Documents>::SHARED || before.map(of).as_ref() == Some(&section) {
        return Ok(());
    }
    let bytes = envelope::seal(&section).map_err(|error| StoreError::Io {
        path: format!("the part of {name} of this host"),
        action: "write",
        source: error.into(),
    })?;
    store.host_record().put_section(name, &bytes)
}

/// A damaged one is as good as none: what it said was done is done again.
fn read<S: Store>(store: &S, name: &NamespacedName) -> Result<HostSection, StoreError> {
    let Some(bytes) = store.host_record().section(name)? else {
        return Ok(HostSection::default());
    };
    let place = || format!("the part of {name} of this host");
    let opened = envelope::open(&bytes);
    match opened.map_err(|error| StoreError::unreadable::<HostSection>(error, place())) {
        Err(error @ StoreError::Corrupt { .. }) => {
            tracing::warn!(certificate = %name, %error, "a damaged part of the record is taken for an empty one");
            Ok(HostSection::default())
        }
        opened => opened,
    }
}
