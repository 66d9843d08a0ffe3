//! Deeds at the CA that belong to no order: revocation, and the end of an account.

use super::{World, trouble};
use crate::controller::{EffectError, Snapshot};
use crate::engine::ports::{Clock, Store};
use crate::pki::PrivateKey;
use crate::resource::RevocationReason;

impl<C: Clock, S: Store> World<'_, C, S> {
    /// Revokes a certificate, in DER, for the account of the snapshot's issuer. One that is revoked
    /// already is no error.
    pub async fn revoke(
        &self,
        snapshot: &Snapshot,
        der: &[u8],
        reason: RevocationReason,
    ) -> Result<(), EffectError> {
        let key = self.account_key(snapshot).await?;
        let url = registered(snapshot)?;
        let client = self.client(snapshot)?;
        client.revoke(&key, url, der, reason.code()).await.map_err(|e| trouble::ca(&e))
    }

    /// Revokes a certificate, in DER, at the CA of the snapshot's issuer, signed with the key of
    /// the certificate itself.
    pub async fn revoke_by_key(
        &self,
        snapshot: &Snapshot,
        key: &PrivateKey,
        der: &[u8],
        reason: RevocationReason,
    ) -> Result<(), EffectError> {
        let client = self.client(snapshot)?;
        client.revoke_by_key(key, der, reason.code()).await.map_err(|e| trouble::ca(&e))
    }

    /// Gives the account of the snapshot's issuer up for good. Idempotent: a CA that refuses
    /// because it is deactivated already is looked at by the caller.
    pub async fn deactivate_account(&self, snapshot: &Snapshot) -> Result<(), EffectError> {
        let key = self.account_key(snapshot).await?;
        let url = registered(snapshot)?;
        let client = self.client(snapshot)?;
        client.deactivate(&key, url).await.map(drop).map_err(|e| trouble::ca(&e))
    }
}

fn registered(snapshot: &Snapshot) -> Result<&str, EffectError> {
    let url = snapshot.account.as_ref().and_then(|account| account.url.as_deref());
    url.ok_or_else(|| {
        trouble::precondition(format!("no account is known at {}", snapshot.issuer.acme.server))
    })
}
