//! Presented tokens that no order owes a clean-up for.
//!
//! That a token was taken back is recorded, and its removal is not synced: after a power loss it may
//! be there again. Contract: a clean-up is owed from before a token is presented. So one that is
//! there before the orders are read, and that none of them owes, is of no run.

use std::collections::BTreeSet;

use rustix::fs::FileType;

use super::directory::StateDirectory;
use super::layout;
use crate::resource::{Challenge, Order, Token, envelope};
use crate::store::error::StoreError;
use crate::store::key::Part;

impl StateDirectory {
    /// Removes those tokens. None where an order cannot be read.
    pub(super) fn sweep_tokens(&self) -> Result<(), StoreError> {
        let Some(folder) = self.find(&[layout::HTTP01.to_owned()])? else { return Ok(()) };
        let names = folder.entries()?;
        if names.is_empty() {
            return Ok(());
        }
        let Some(owed) = self.owed_tokens()? else { return Ok(()) };
        for name in names {
            // A longer token has another name, and its removal is synced.
            let is_token = name.parse::<Token>().is_ok();
            if is_token
                && !owed.contains(&name)
                && folder.kind(&name)? == Some(FileType::RegularFile)
            {
                folder.remove(&name)?;
            }
        }
        Ok(())
    }

    fn owed_tokens(&self) -> Result<Option<BTreeSet<String>>, StoreError> {
        let mut owed = BTreeSet::new();
        for name in self.names(layout::CERTIFICATES)? {
            let parts = self.parts(&name)?.into_iter();
            for part in parts.filter(|part| matches!(part, Part::Order(..))) {
                let Some(stored) = self.part(&name, part)? else { continue };
                let Ok(order) = envelope::open::<Order>(&stored.bytes) else {
                    return Ok(None);
                };
                let challenges = order.challenges.into_iter().filter(Challenge::owes_clean_up);
                owed.extend(
                    challenges.filter_map(|challenge| {
                        Some(challenge.spec.answer_name().ok()?.to_string())
                    }),
                );
            }
        }
        Ok(Some(owed))
    }
}

#[cfg(test)]
mod tests {
    use crate::resource::NamespacedName;
    use crate::store::certificate::CertificateDocument;
    use crate::store::{OpenMode, StateDirectory, atomic, samples};

    #[tokio::test(flavor = "current_thread")]
    async fn a_token_goes_unless_an_order_owes_it_whatever_else_is_stored() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("s");
        let open = || StateDirectory::open(&path, OpenMode::ReadWrite).unwrap();
        let mut order = samples::order();
        let token = order.challenges[0].spec.answer_name().unwrap().to_string();
        let file = path.join("http01").join(&token);
        for is_owed in [true, false] {
            order.challenges[0].presented.is_owed = is_owed;
            let state = open();
            let web = NamespacedName::new("default", "web");
            let mut stored = CertificateDocument::read(&state, &web).await.unwrap();
            stored.put_record(&samples::record()).await.unwrap();
            stored.put_request(&samples::request()).await.unwrap();
            let before = stored.orders().await.unwrap().pop().map(|(_, order)| order.unwrap());
            stored.put_order((7, 1), &order, before.as_ref()).await.unwrap();
            stored.settle(&[]).await.unwrap();
            atomic::write(&file, b"answer", 0o600).unwrap();
            drop(open());
            assert_eq!(file.exists(), is_owed, "owed: {is_owed}");
        }
    }
}
