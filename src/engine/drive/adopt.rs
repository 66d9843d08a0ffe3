//! A pair that was there before certctl: taken over as it is, without an order.

use super::Drive;
use crate::controller::{Record, trigger};
use crate::engine::gather;
use crate::engine::ports::{Clock, Store, StoreError};
use crate::engine::session::Task;
use crate::engine::{Observer, Performer};
use crate::resource::Reason;

impl<C: Clock, S: Store, P: Performer, O: Observer> Drive<'_, C, S, P, O> {
    /// Takes over the plain files in the secret's folder, else the Secret of the manifests, when
    /// nothing is known of this certificate yet. What the trigger makes of them is its business.
    ///
    /// Nothing is recorded before: a run that is killed in between leaves a live pair and no
    /// record, and the next one comes by here again.
    pub(super) async fn adopt(&mut self, task: &Task) -> Result<(), StoreError> {
        if self.session.is_known() {
            return Ok(());
        }
        let now = self.engine.clock.now();
        let session = &mut self.session;
        let mut from = "found in the secret's folder";
        if session.snapshot.secret.is_none()
            && let Some(files) = &task.secret
        {
            let pair = gather::published_pair(files);
            if trigger::is_adoptable(&pair, now) {
                let secret = task.certificate.secret_key();
                self.engine.store.publish(&secret, BEFORE_THE_FIRST, files).await?;
                session.snapshot.secret = Some(pair);
                from = "of the Secret in the manifests";
            }
        }
        if let Some(pair) = &session.snapshot.secret
            && trigger::is_adoptable(pair, now)
        {
            let message = format!("The key and certificate {from} were taken over");
            session.apply(Record::default().normal(now, Reason::Adopted, message));
        }
        Ok(())
    }
}

/// The revision of a pair that certctl did not issue.
const BEFORE_THE_FIRST: u32 = 0;
