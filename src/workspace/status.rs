//! Everything known of each certificate and issuer now.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::open::Workspace;
use super::selection::Targets;
use super::view::{CertificateView, IssuerView, Mistake};
use crate::controller::{Intervals, backoff, deploy, readiness};
use crate::engine::inputs::account_id;
use crate::engine::ports::StoreError;
use crate::engine::{Task, live_files, look, published_pair};
use crate::manifest::{Blocks, Diagnostic, ObjectId};
use crate::resource::{
    Account, AccountIdentity, CertificateRecord, CertificateRequest, DeployStep, Issuer,
    NamespacedName,
};
use crate::store::Records;

/// The number of events in a view.
const EVENTS: usize = 50;

impl Workspace {
    /// One view per certificate in the manifests or the state, by namespace and name.
    pub async fn certificate_views(
        &self,
        targets: &Targets,
        now: Timestamp,
    ) -> Result<Vec<CertificateView>, StoreError> {
        let keys = targets.tasks.iter().map(|task| task.certificate.metadata.key());
        let (mut views, with_manifest) = (BTreeMap::new(), keys.collect::<BTreeSet<_>>());
        for (key, record) in &self.records {
            let wanted = self.settings.namespace.as_ref();
            let is_here = wanted.is_none_or(|namespace| key.namespace == *namespace);
            if is_here && !with_manifest.contains(key) && self.settings.selector.is_none() {
                let mistake = mistake(targets, key, record);
                let view = self.without_manifest(key.clone(), record.clone(), mistake);
                views.insert(key.clone(), view.await?);
            }
        }
        for task in &targets.tasks {
            let view = Box::pin(self.with_manifest(task, now)).await?;
            views.insert(view.key.clone(), view);
        }
        Ok(views.into_values().collect())
    }

    async fn without_manifest(
        &self,
        key: NamespacedName,
        record: CertificateRecord,
        mistake: Option<Mistake>,
    ) -> Result<CertificateView, StoreError> {
        let secret = NamespacedName::new(&key.namespace, &record.secret_name);
        let requests = self.requests(&key).await?;
        let current = requests.iter().find(|one| Some(one.revision) == record.status.revision);
        let live = live_files(&self.state, &secret, Some(&record), current).await?;
        Ok(CertificateView {
            certificate: None,
            issuer: None,
            account: None,
            leaf: live.files.and_then(|files| published_pair(&files).certificate),
            links: live.repair,
            lost_output: None,
            requests,
            orders: self.orders(&key).await?,
            events: self.state.events(&key, EVENTS)?,
            strays: self.state.strays(&key)?,
            secret_path: self.state.secret_path(&secret)?,
            next_attempt: None,
            renewal_time: None,
            mistake,
            record: Some(record),
            key,
        })
    }

    /// Conditions and dates are computed from the published files and the current time.
    async fn with_manifest(
        &self,
        task: &Task,
        now: Timestamp,
    ) -> Result<CertificateView, StoreError> {
        let intervals = Intervals { self_check: SignedDuration::ZERO };
        let key = task.certificate.metadata.key();
        let is_known = self.records.iter().any(|(known, _)| *known == key);
        let snapshot = look(&self.state, task, intervals, now).await?;
        let record = readiness::refreshed(&snapshot, now);
        let secret = task.certificate.secret_key();
        let output = deploy::target(&snapshot.settings, DeployStep::Output);
        let lost = output.zip(snapshot.lost_output.as_ref());
        let leaf = snapshot.secret.as_ref().and_then(|pair| pair.certificate.clone());
        Ok(CertificateView {
            next_attempt: backoff::next_attempt(&record).filter(|time| *time > now),
            renewal_time: record.status.renewal_time,
            record: (is_known || leaf.is_some()).then_some(record),
            leaf,
            links: snapshot.repair,
            lost_output: lost.map(|(target, what)| format!("{target}: {what}")),
            requests: self.requests(&key).await?,
            orders: self.orders(&key).await?,
            events: self.state.events(&key, EVENTS)?,
            strays: self.state.strays(&key)?,
            secret_path: self.state.secret_path(&secret)?,
            account: snapshot.account,
            certificate: Some(task.certificate.clone()),
            issuer: Some(task.issuer.clone()),
            mistake: None,
            key,
        })
    }

    /// One view per Issuer, by namespace and name.
    pub async fn issuer_views(&self, targets: &Targets) -> Result<Vec<IssuerView>, StoreError> {
        let mut views = Vec::new();
        for issuer in &targets.loaded.issuers {
            let account = self.account_of(issuer).await?;
            views.push(IssuerView { issuer: issuer.clone(), account });
        }
        views.sort_by_key(|view| view.issuer.metadata.key());
        Ok(views)
    }

    async fn requests(&self, key: &NamespacedName) -> Result<Vec<CertificateRequest>, StoreError> {
        let all = Records::new(&self.state).requests(key).await?;
        Ok(all.into_iter().filter_map(|(_, kept)| Some(kept.ok()?.value)).collect())
    }

    async fn account_of(&self, issuer: &Issuer) -> Result<Option<Account>, StoreError> {
        let identity = AccountIdentity {
            directory_url: issuer.acme.server.clone(),
            kind: issuer.kind,
            namespace: issuer.metadata.namespace.clone(),
            secret_name: issuer.acme.private_key_secret_ref.name.clone(),
        };
        let kept = Records::new(&self.state).account(&account_id(&identity)).await?;
        Ok(kept.map(|kept| kept.value))
    }
}

/// The error that makes a certificate's manifest unusable: its own, else the first one of the file,
/// else the first of an object it refers to.
fn mistake(targets: &Targets, key: &NamespacedName, record: &CertificateRecord) -> Option<Mistake> {
    let manifest = record.manifest.as_ref().filter(|path| path.exists())?;
    let id = ObjectId { kind: "Certificate".to_owned(), key: key.clone() };
    let is_own = |found: &&Diagnostic| found.blocks == Blocks::Object(id.clone());
    let is_in_it = |found: &&Diagnostic| {
        std::fs::canonicalize(&found.path).is_ok_and(|path| path == *manifest)
    };
    let errors = || targets.loaded.diagnostics.iter().filter(|found| found.is_error());
    let is_blocked = targets.loaded.blocked.contains(&id);
    let found = errors().find(is_own).or_else(|| errors().find(is_in_it));
    let found = found.or_else(|| errors().next().filter(|_| is_blocked))?;
    Some(Mistake { message: found.headline(), path: found.path.clone(), line: found.line })
}
