//! Whether the CA has revoked a certificate that it suddenly wants to be renewed.

use std::rc::Rc;

use super::world::World;
use crate::engine::ports::{Clock, LiveFiles, Store};
use crate::engine::task::Task;
use crate::pki::{Chain, Revocation, RevocationList};
use crate::probe::Network;
use crate::resource::RevokedCertificate;

impl<C: Clock, S: Store> World<'_, C, S> {
    /// What the CRL says that the live certificate names. One that cannot be had or believed says
    /// nothing. Each is fetched once in a run.
    pub(super) async fn look_for_revocation(&self, task: &Task) -> Option<RevokedCertificate> {
        let files =
            self.store.live_files().published(&task.certificate.secret_key()).await.ok()??;
        let chain = Chain::from_pem(std::str::from_utf8(files.0.get("tls.crt")?).ok()?).ok()?;
        let [leaf, issuer, ..] = chain.certificates() else { return None };
        let url = chain.crl_url()?;
        let key = (url.clone(), issuer.clone());
        let fetched = Rc::clone(self.crls.borrow_mut().entry(key).or_default());
        let list = fetched.get_or_init(|| self.fetch_crl(task, &url, issuer)).await.as_ref()?;
        match list.status(leaf) {
            Ok(Revocation::Revoked { at, reason }) => {
                Some(RevokedCertificate::listed(chain.leaf(), reason, at))
            }
            Ok(Revocation::Good { .. }) => None,
            Err(error) => {
                tracing::debug!(url, %error, "there is no verified CRL");
                None
            }
        }
    }

    async fn fetch_crl(&self, task: &Task, url: &str, issuer: &[u8]) -> Option<RevocationList> {
        let network = Network::new(Rc::clone(&self.resolver), self.options.http01.check)
            .with_servers(task.issuers.iter().map(|issuer| issuer.acme.server.as_str()));
        let doubt = match network.fetch(url, None).await {
            Ok(list) => match RevocationList::read(&list, url, false, issuer, self.clock.now()) {
                Ok(list) => return Some(list),
                Err(doubt) => doubt.to_string(),
            },
            Err(error) => error.to_string(),
        };
        tracing::debug!(url, error = doubt, "there is no verified CRL");
        None
    }
}
