//! Adoption of an existing pair, without an order.

use jiff::Timestamp;

use super::state::Drive;
use crate::controller::{Record, Snapshot, revocation, trigger};
use crate::engine::gather;
use crate::engine::ports::{Clock, LiveFiles, Ports, Store, StoreError};
use crate::engine::task::Task;
use crate::resource::{PublishedPair, Reason, RevocationReason, RevokedCertificate, SecretFiles};
use crate::store::Records;

impl<P: Ports> Drive<'_, P> {
    /// Adopts the plain files in the secret's folder, else the Secret of the manifests, when there
    /// is no record of this certificate yet, or none but of a first issuance that the manifest no
    /// longer makes necessary. The trigger decides whether they are valid; that they are replaced is
    /// a warning.
    ///
    /// Nothing is recorded before: a run that is killed in between leaves a live pair and no
    /// record, and the next run adopts it again.
    pub(super) async fn adopt(&mut self) -> Result<(), StoreError> {
        let now = self.engine.ports.clock().now();
        let (task, session) = (self.task, &mut self.session);
        let of_the_manifests = pair_of_the_manifests(&session.snapshot, task, now);
        let pair = of_the_manifests.as_ref().map(|(pair, _)| pair);
        if session.is_known() {
            let store = self.engine.ports.store();
            if pair.is_some() && refused(store, &session.snapshot, pair, now).await?.is_some() {
                return Ok(());
            }
            let fits = may_adopt_now(&session.snapshot, pair, now);
            let Some(record) = fits.filter(|_| task.force.is_none()) else { return Ok(()) };
            session.apply(record);
        }
        let mut from = "found in the secret's folder";
        if let Some(record) =
            refused(self.engine.ports.store(), &session.snapshot, pair, now).await?
        {
            session.apply(record);
            return Ok(());
        }
        if let Some((pair, files)) = of_the_manifests {
            let secret = task.certificate.secret_key();
            self.engine
                .ports
                .store()
                .live_files()
                .publish(&secret, BEFORE_THE_FIRST, files, None)
                .await?;
            session.snapshot.secret = Some(pair);
            from = "of the Secret in the manifests";
        }
        // Said before the order, which may take long.
        let why_replaced =
            trigger::why_replaced(&session.snapshot, now).filter(|_| task.force.is_none());
        if let Some(why) = why_replaced {
            session.apply(Record::default().warning(now, Reason::SecretMismatch, why));
        } else if let Some(pair) = &session.snapshot.secret
            && trigger::is_adoptable(pair, now)
        {
            let message = match session.snapshot.record.status.revision {
                Some(revision) => format!(
                    "The key and certificate {from} were adopted again as revision {revision}: \
                     there was no record of them"
                ),
                None => format!("The key and certificate {from} were adopted"),
            };
            let issuer = pair.leaf().map_or("", |leaf| leaf.issuer_common_name.as_str());
            session.snapshot.run.adopted = Some(format!("{message}; issued by \"{issuer}\""));
            session.apply(Record::default().normal(now, Reason::Adopted, message));
        }
        Ok(())
    }
}

/// The end of a first issuance, so that a pair can be adopted after all: one that fits the manifest
/// now, or one of the manifests that could not be read before.
pub(in crate::engine) fn may_adopt_now(
    snapshot: &Snapshot,
    of_the_manifests: Option<&PublishedPair>,
    now: Timestamp,
) -> Option<Record> {
    let Some(pair) = of_the_manifests else { return trigger::fits_now(snapshot, false, now) };
    let found = Snapshot { secret: Some(pair.clone()), ..snapshot.clone() };
    trigger::fits_now(&found, true, now)
}

/// What is recorded when the pair that would be adopted, that of the manifests before the files in
/// the secret's folder, is known to be revoked.
pub(in crate::engine) async fn refused<S: Store>(
    store: &S,
    snapshot: &Snapshot,
    of_the_manifests: Option<&PublishedPair>,
    now: Timestamp,
) -> Result<Option<Record>, StoreError> {
    let pair = of_the_manifests.or(snapshot.secret.as_ref());
    let Some(leaf) = pair.and_then(PublishedPair::leaf) else { return Ok(None) };
    let revoked = match Records::new(store.documents()).revoked(&leaf.fingerprint).await {
        Ok(None) => return Ok(None),
        Ok(Some(revoked)) => revoked,
        // Its name says that the certificate is revoked.
        Err(StoreError::Corrupt { .. }) => {
            RevokedCertificate::new(leaf, RevocationReason::Unspecified, now)
        }
        Err(error) => return Err(error),
    };
    Ok(Some(revocation::not_adopted(&snapshot.record, revoked, now)))
}

/// The pair in the Secret of the manifests, when it is usable and there are no files yet.
pub(in crate::engine) fn pair_of_the_manifests<'t>(
    snapshot: &Snapshot,
    task: &'t Task,
    now: Timestamp,
) -> Option<(PublishedPair, &'t SecretFiles)> {
    let files = task.secret.as_ref().filter(|_| snapshot.secret.is_none())?;
    let pair = gather::published_pair(files);
    trigger::is_adoptable(&pair, now).then_some((pair, files))
}

/// The revision of a pair that certctl did not issue.
const BEFORE_THE_FIRST: u32 = 0;
