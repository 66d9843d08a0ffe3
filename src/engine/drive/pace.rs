//! A certificate's place among those that ask its account's CA for orders.

use jiff::Timestamp;

use super::state::Drive;
use crate::controller::{Awaited, Change, Deferral, Hold, Record, limit};
use crate::engine::pace::Pace;
use crate::engine::ports::{Clock, Documents, Lock, Ports, Store, StoreError};
use crate::resource::{
    AccountIdentity, AccountLimits, CertificateRecord, Failure, PublishedLimits, Reason, Refusal,
    rfc3339,
};
use crate::store::Records;

impl<P: Ports> Drive<'_, P> {
    /// Tells the controllers whether an order may be asked for now, and stores what the CA refused.
    pub(super) async fn keep_pace(&mut self, has_account: bool) -> Result<(), StoreError> {
        if let Some((refusal, failure)) = self.session.snapshot.run.order.refusal.take() {
            self.add_refusal(refusal, failure, has_account).await?;
        }
        let (name, now) = (self.session.name.clone(), self.engine.ports.clock().now());
        let run = &self.session.snapshot.run;
        if run.order.waits_for_others() || !limit::asks(&self.session.snapshot, now) {
            self.shared.paces.release(&name);
            self.session.snapshot.run.order.hold = None;
            return Ok(());
        }
        // The answer may be an order.
        if self.is_asking() {
            return Ok(());
        }
        let id = self.session.account_id();
        if !self.shared.paces.0.borrow().contains_key(&id) {
            let pace = self.pace_of(&id, now).await?;
            self.shared.paces.0.borrow_mut().entry(id.clone()).or_insert(pace);
        }
        let mut paces = self.shared.paces.0.borrow_mut();
        let pace = paces.entry(id).or_default();
        let snapshot = &self.session.snapshot;
        let hold = pace.hold(&name, snapshot, now);
        let is_long = |until| now.duration_until(until) > self.engine.options.timeout;
        let hold = match hold {
            // The record says until when, to `status` and to the next run.
            Some(Hold::Defer { until, why: Deferral::RetryAfter }) if is_long(until) => {
                let retry_after = Some(until);
                let record = CertificateRecord { retry_after, ..snapshot.record.clone() };
                self.session.apply(Record::of(Change::Certificate(Box::new(record))));
                None
            }
            Some(Hold::Defer { until, .. }) if !is_long(until) => {
                let what = Awaited::NewOrder { not_before: until };
                Some(Hold::Wait { until: Some(until), what })
            }
            hold => hold,
        };
        self.session.snapshot.run.order.hold = hold;
        Ok(())
    }

    /// The pace of an account, as the state and the log know it.
    async fn pace_of(&self, id: &str, now: Timestamp) -> Result<Pace, StoreError> {
        let options = &self.engine.options;
        if options.ignore_limits {
            return Ok(Pace::default());
        }
        let account = AccountIdentity::of(self.session.snapshot.issuer());
        let records = Records::new(self.engine.ports.store().documents());
        let (known, ledger) = records.ledger(id, &account, options.limits, now).await?;
        Ok(Pace::new(known, ledger))
    }

    /// Stores a refusal, and reports it unless it continues one of the last day.
    async fn add_refusal(
        &mut self,
        refusal: Refusal,
        failure: Failure,
        has_account: bool,
    ) -> Result<(), StoreError> {
        let id = self.session.account_id();
        let (at, until, now) = (refusal.at, refusal.until, self.engine.ports.clock().now());
        let add = |known: &mut AccountLimits| known.add(refusal, now);
        let (known, continues) = self.change_limits(&id, has_account, add).await?;
        let mut paces = self.shared.paces.0.borrow_mut();
        let pace = paces.entry(id).or_default();
        pace.known = known;
        pace.release(&self.session.name);
        pace.waiting.iter().for_each(|(_, woken)| woken.notify_one());
        drop(paces);
        if !continues {
            let message = format!("{failure}; no new order before {}", rfc3339(until));
            if at.duration_until(until) <= self.engine.options.timeout {
                tracing::warn!(certificate = %self.session.name, "{message}");
            }
            let mut record = self.session.snapshot.record.clone();
            record.last_failure = Some(Failure { at: Some(at), ..failure });
            let record = Record::of(Change::Certificate(Box::new(record)));
            self.session.apply(record.warning(at, Reason::Failed, message));
        }
        Ok(())
    }

    /// Stores which names the CA could not validate, when it limits how often.
    pub(super) async fn add_failed_validations(&self, now: Timestamp) -> Result<(), StoreError> {
        let account = AccountIdentity::of(self.session.snapshot.issuer());
        let names = limit::failed(&self.session.snapshot);
        let limits = self.engine.options.limits;
        if names.is_empty() || PublishedLimits::of(limits, &account.directory_url).is_none() {
            return Ok(());
        }
        let id = self.session.account_id();
        self.change_limits(&id, false, |known| known.add_failed(names, now)).await.map(drop)
    }

    /// Changes what is known of an account's limits, under its lock. Returns that, and what the
    /// change returned.
    async fn change_limits<T>(
        &self,
        id: &str,
        has_account: bool,
        change: impl FnOnce(&mut AccountLimits) -> T,
    ) -> Result<(AccountLimits, T), StoreError> {
        let _held = if has_account {
            None
        } else {
            let gate = self.shared.accounts.gate(id).lock_owned().await;
            let lock = Lock::Account(id.to_owned());
            Some((
                gate,
                self.engine
                    .ports
                    .store()
                    .documents()
                    .lease(&lock, self.engine.options.lock_timeout)
                    .await?,
            ))
        };
        let records = Records::new(self.engine.ports.store().documents());
        let stored = records.account_limits(id).await?;
        let (mut known, version) =
            stored.map_or_else(Default::default, |stored| (stored.value, Some(stored.revision)));
        let changed = change(&mut known);
        records.put_account_limits(id, &known, version.as_ref()).await?;
        Ok((known, changed))
    }
}
