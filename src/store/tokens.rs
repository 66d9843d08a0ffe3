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
            for part in self.parts(&name)? {
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
