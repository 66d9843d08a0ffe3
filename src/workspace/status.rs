//! Everything known of each certificate and issuer now.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::ledgers::Ledgers;
use super::open::Workspace;
use super::selection::Targets;
use super::view::{CertificateView, IssuerView, Mistake};
use crate::controller::{
    Intervals, Snapshot, alert, backoff, limit, readiness, renewal, revocation,
};
use crate::engine::inputs::account_id;
use crate::engine::ports::{Lock, StoreError};
use crate::engine::{Task, live_files, look, published_pair};
use crate::manifest::{Blocks, Diagnostic, ObjectId};
use crate::resource::{
    Account, AccountIdentity, CertificateRecord, CertificateRequest, DeployStep, Issuer,
    NamespacedName, Spent,
};
use crate::store::Records;

/// The number of events in a view.
const EVENTS: usize = 50;

impl Workspace {
    /// One view per certificate in the manifests or the state, by namespace and name. A mistake in
    /// a manifest without an identity has a view without a name; what is wrong with one certificate
    /// is in its view.
    pub async fn certificate_views(
        &self,
        targets: &Targets,
        now: Timestamp,
    ) -> Result<Vec<CertificateView>, StoreError> {
        let keys = targets.tasks.iter().map(|task| task.certificate.metadata.key());
        let (mut views, with_manifest) = (BTreeMap::new(), keys.collect::<BTreeSet<_>>());
        let selected = self.selected(targets);
        let is_selected =
            |key: &NamespacedName| selected.as_ref().is_none_or(|selected| selected.contains(key));
        for (key, record) in &self.records {
            if self.is_here(key) && !with_manifest.contains(key) && is_selected(key) {
                let mistake = mistake(targets, key, record);
                let view = self.without_manifest(key.clone(), record.clone(), mistake, now).await;
                views.insert(key.clone(), view.unwrap_or_else(|error| damaged(key, &error)));
            }
        }
        let mut ledgers = Ledgers::new();
        for task in &targets.tasks {
            let key = task.certificate.metadata.key();
            let view = Box::pin(self.with_manifest(task, &mut ledgers, now)).await;
            let view = view.unwrap_or_else(|error| CertificateView {
                certificate: Some(task.certificate.clone()),
                issuer: Some(task.issuer.clone()),
                ..damaged(&key, &error)
            });
            views.insert(key, view);
        }
        for (key, why) in &self.damaged {
            if self.is_here(key) && is_selected(key) {
                let view = views.entry(key.clone());
                let view = view.or_insert_with(|| CertificateView::unknown(key.clone()));
                view.damage = Some(why.clone());
            }
        }
        let mut views: Vec<CertificateView> = views.into_values().collect();
        let mut invalid = self.invalid(targets, &views);
        invalid.retain(|view| is_selected(&view.key));
        views.extend(invalid);
        Ok(views)
    }

    /// The Certificates with labels that the selector matches, those with mistakes too; `None`
    /// without a selector. The state knows no labels.
    fn selected(&self, targets: &Targets) -> Option<BTreeSet<NamespacedName>> {
        let selector = self.settings.selector.as_ref()?;
        let certificates = targets.loaded.certificates();
        let matching = certificates.filter(|one| selector.matches(&one.metadata.labels));
        Some(matching.map(|one| one.metadata.key()).collect())
    }

    /// Whether it is in the namespace of `-n`.
    fn is_here(&self, key: &NamespacedName) -> bool {
        self.settings.namespace.as_ref().is_none_or(|namespace| key.namespace == *namespace)
    }

    /// The mistakes that no view has: of Certificates that were never issued, and of documents
    /// that are none.
    fn invalid(&self, targets: &Targets, views: &[CertificateView]) -> Vec<CertificateView> {
        let loaded = &targets.loaded;
        let is_shown = |found: &Diagnostic| {
            let shown = views.iter().filter_map(|view| view.mistake.as_ref());
            shown
                .into_iter()
                .any(|mistake| mistake.path == found.path && mistake.line == found.line)
        };
        let is_known = |key: &NamespacedName| views.iter().any(|view| view.key == *key);
        let mut invalid: BTreeMap<NamespacedName, CertificateView> = BTreeMap::new();
        let mut nameless = Vec::new();
        for found in loaded.diagnostics.iter().filter(|found| found.is_error() && !is_shown(found))
        {
            let with = |key| {
                let mistake = Some(Mistake::of(found));
                CertificateView { mistake, ..CertificateView::unknown(key) }
            };
            match &found.blocks {
                Blocks::Object(id) if id.kind != "Certificate" => {}
                Blocks::Object(id) if is_known(&id.key) || !self.is_here(&id.key) => {}
                Blocks::Object(id) => {
                    invalid.entry(id.key.clone()).or_insert_with(|| with(id.key.clone()));
                }
                Blocks::File | Blocks::Document if self.settings.namespace.is_none() => {
                    nameless.push(with(NamespacedName::new("", "")));
                }
                Blocks::File | Blocks::Document | Blocks::Nothing => {}
            }
        }
        // Certificates without a mistake of their own, that refer to what has one.
        for certificate in &loaded.certificates {
            let key = certificate.metadata.key();
            let id = ObjectId { kind: "Certificate".to_owned(), key: key.clone() };
            if loaded.blocked.contains(&id) && self.is_here(&key) && !is_known(&key) {
                let wanted = &certificate.spec.issuer_ref;
                let is_of_issuer = |found: &&Diagnostic| {
                    matches!(&found.blocks, Blocks::Object(id)
                        if id.kind == wanted.kind.to_string() && id.key.name == wanted.name)
                };
                let errors = || loaded.diagnostics.iter().filter(|found| found.is_error());
                let reason = errors().find(is_of_issuer).or_else(|| errors().next());
                let mistake = reason.map(Mistake::of);
                let view = CertificateView { mistake, ..CertificateView::unknown(key.clone()) };
                invalid.entry(key).or_insert(view);
            }
        }
        nameless.extend(invalid.into_values());
        nameless
    }

    async fn without_manifest(
        &self,
        key: NamespacedName,
        record: CertificateRecord,
        mistake: Option<Mistake>,
        now: Timestamp,
    ) -> Result<CertificateView, StoreError> {
        let secret = NamespacedName::new(&key.namespace, &record.secret_name);
        let requests = self.requests(&key).await?;
        let current = requests.iter().find(|one| Some(one.revision) == record.status.revision);
        let live = live_files(&self.state, &secret, Some(&record), current).await?;
        let leaf = live.files.and_then(|files| published_pair(&files).certificate);
        let not_after =
            leaf.as_ref().and_then(|leaf| leaf.as_ref().ok()).map(|leaf| leaf.not_after);
        // Without a manifest nothing is due; with a broken one, it still is.
        let due = record.status.renewal_time.filter(|_| mistake.is_some());
        Ok(CertificateView {
            leaf,
            links: live.repair,
            lost_output: None,
            requests,
            orders: self.orders(&key).await?,
            events: self.state.events(&key, EVENTS)?,
            strays: self.state.strays(&key)?,
            secret_path: self.state.secret_path(&secret)?,
            overdue: alert::overdue(due, not_after, now),
            mistake,
            record: Some(record),
            ..CertificateView::unknown(key)
        })
    }

    /// Conditions and dates are computed from the published files and the current time.
    async fn with_manifest(
        &self,
        task: &Task,
        ledgers: &mut Ledgers,
        now: Timestamp,
    ) -> Result<CertificateView, StoreError> {
        let intervals = Intervals { self_check: SignedDuration::ZERO };
        let key = task.certificate.metadata.key();
        let is_known = self.record(&key).is_some();
        let snapshot = look(&self.state, task, intervals, now).await?;
        let mut record = readiness::refreshed(&snapshot, now);
        // What the manifest no longer asks for cannot be pending.
        let wanted = snapshot.settings.deploy_targets();
        record.deployments.retain(|known| wanted.contains(&known.target));
        let secret = task.certificate.secret_key();
        let output = wanted.iter().find(|target| target.step() == DeployStep::Output);
        let lost = output.zip(snapshot.lost_output.as_ref());
        let leaf = snapshot.secret.as_ref().and_then(|pair| pair.certificate.clone());
        let (held_until, limit) = self.held(&snapshot, ledgers, now).await?;
        let next_attempt = backoff::next_try(&snapshot, &record, now).filter(|time| *time > now);
        let due = record.status.renewal_time.filter(|_| !revocation::ends_here(&snapshot));
        let renewal = snapshot.live_leaf().and_then(|leaf| renewal::due(&snapshot, leaf, now));
        Ok(CertificateView {
            next_attempt: next_attempt.max(held_until),
            renewal_time: record.status.renewal_time,
            is_suggested: renewal.is_some_and(|due| due.is_suggested),
            limit,
            overdue: alert::overdue(due, record.status.not_after, now),
            worker: self.state.holder(&Lock::Certificate(key.clone()))?,
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
            ..CertificateView::unknown(key)
        })
    }

    /// Until when the CA would refuse the order that an issuance in progress asks for, and which of
    /// its published limits that is.
    async fn held(
        &self,
        snapshot: &Snapshot,
        ledgers: &mut Ledgers,
        now: Timestamp,
    ) -> Result<(Option<Timestamp>, Option<Box<Spent>>), StoreError> {
        if !limit::asks(snapshot, now) {
            return Ok((None, None));
        }
        let (known, ledger) = self.ledger(ledgers, &snapshot.issuer, now).await?;
        let names = limit::names(snapshot);
        let spending = limit::spending(snapshot, &names, now);
        if let Some(refusal) = known.refusal(&names, spending.renews, now) {
            return Ok((Some(refusal.until), None));
        }
        let reserved = ledger.as_mut().map(|ledger| ledger.reserve(spending, now));
        Ok(match reserved {
            Some((at, Some(spent))) if at > now => (Some(at), Some(Box::new(spent))),
            Some(_) | None => (None, None),
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
    Some(Mistake::of(found))
}

/// A certificate whose state cannot be read.
fn damaged(key: &NamespacedName, error: &StoreError) -> CertificateView {
    let damage = Some(error.to_string());
    CertificateView { damage, ..CertificateView::unknown(key.clone()) }
}
