//! Everything known of each certificate and issuer now.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::Timestamp;

use super::ledgers::Ledgers;
use super::open::Workspace;
use super::outline::Outline;
use super::outlook::Outlook;
use super::selection::{Targets, is_about};
use super::view::{CertificateView, Damage, IssuerView, Mistake};
use crate::controller::{alert, backoff, deploy, readiness, renewal, revocation};
use crate::engine::inputs::account_id;
use crate::engine::ports::{HostRecord, LiveFiles, Lock, Store, StoreError};
use crate::engine::{Seen, Task, dry_run, live_files, published_pair};
use crate::manifest::{Blocks, Diagnostic, ObjectId, SecretSource, is_gone};
use crate::resource::{
    Account, AccountIdentity, Certificate, CertificateRequest, DeployStep, Event, Issuer,
    NamespacedName,
};
use crate::store::{CertificateDocument, Records};

/// The number of events in a view.
const EVENTS: usize = 50;

/// How much of a certificate is read for its view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// What a line of a table, an object or a metric has: neither its journal nor its unknown
    /// files.
    Line,
    /// Everything.
    Page,
}

/// What there is of a certificate.
enum Known<'a> {
    /// A usable manifest.
    Manifest(&'a Task),
    /// A record without one, and the mistake in its manifest.
    Record(Option<Mistake>),
    /// A damaged record.
    Nothing,
}

impl Workspace {
    /// One view per certificate in the manifests or the state, by namespace and name. A mistake in
    /// a manifest without an identity has a view without a name; what is wrong with one certificate
    /// is in its view.
    pub async fn certificate_views(
        &self,
        targets: &Targets,
        now: Timestamp,
    ) -> Result<Vec<CertificateView>, StoreError> {
        let mut views = Vec::new();
        let show = |view| {
            views.push(view);
            Ok::<_, StoreError>(())
        };
        Box::pin(self.each_view(targets, None, Depth::Page, now, show)).await?;
        Ok(views)
    }

    /// The certificates that have such a view, with an identity.
    pub fn keys(&self, targets: &Targets) -> Vec<NamespacedName> {
        let known = self.known(targets);
        let invalid = self.invalid(targets, &known).into_iter().map(|view| view.key);
        known.keys().cloned().chain(invalid).collect()
    }

    /// Makes the same views, or `only` that of one certificate, one after the other: no more than
    /// one is in memory.
    pub async fn each_view<E: From<StoreError>>(
        &self,
        targets: &Targets,
        only: Option<&NamespacedName>,
        depth: Depth,
        now: Timestamp,
        mut show: impl FnMut(CertificateView) -> Result<(), E>,
    ) -> Result<(), E> {
        let known = self.known(targets);
        let mut ledgers = Ledgers::new();
        let is_meant = |key: &NamespacedName| only.is_none_or(|only| only == key);
        for (name, known) in known.iter().filter(|(name, _)| is_meant(name)) {
            let view = match known {
                Known::Manifest(task) => {
                    let view = self.with_manifest(task, &targets.secrets, depth, &mut ledgers, now);
                    match Box::pin(view).await {
                        Ok(view) => view,
                        Err(error) => Box::pin(self.without_record(task, &error)).await,
                    }
                }
                Known::Record(mistake) => {
                    let view = self.without_manifest(name.clone(), mistake.clone(), depth, now);
                    Box::pin(view).await.unwrap_or_else(|error| damaged(name, &error))
                }
                Known::Nothing => CertificateView::unknown(name.clone()),
            };
            let damage = self.damaged.iter().find(|(damaged, _)| damaged == name);
            let damage = damage.map(|(_, why)| why.clone()).or(view.damage);
            show(CertificateView { damage, ..view }.judged(now))?;
        }
        let invalid = self.invalid(targets, &known).into_iter();
        let invalid = invalid.filter(|view| is_meant(&view.key));
        invalid.map(|view| view.judged(now)).try_for_each(show)
    }

    /// The certificates with an identity that have a usable manifest, a record, or a damaged one.
    fn known<'a>(&'a self, targets: &'a Targets) -> BTreeMap<NamespacedName, Known<'a>> {
        let selected = self.selected(targets);
        let is_shown = |key: &NamespacedName| {
            self.is_here(key) && selected.as_ref().is_none_or(|selected| selected.contains(key))
        };
        let tasks = targets.tasks.iter();
        let mut known: BTreeMap<_, _> =
            tasks.map(|task| (task.certificate.metadata.key(), Known::Manifest(task))).collect();
        for (key, record) in self.outlines().filter(|(key, _)| is_shown(key)) {
            let of_record = || Known::Record(mistake(targets, key, record));
            known.entry(key.clone()).or_insert_with(of_record);
        }
        for (key, _) in self.damaged.iter().filter(|(key, _)| is_shown(key)) {
            known.entry(key.clone()).or_insert(Known::Nothing);
        }
        known
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
    fn invalid(
        &self,
        targets: &Targets,
        known: &BTreeMap<NamespacedName, Known<'_>>,
    ) -> Vec<CertificateView> {
        let (loaded, selected) = (&targets.loaded, self.selected(targets));
        let is_selected = |view: &CertificateView| {
            selected.as_ref().is_none_or(|selected| selected.contains(&view.key))
        };
        let mistakes = known.values().filter_map(|known| match known {
            Known::Record(mistake) => mistake.as_ref(),
            Known::Manifest(_) | Known::Nothing => None,
        });
        let shown: BTreeSet<(&Path, usize)> =
            mistakes.map(|mistake| (mistake.path.as_path(), mistake.line)).collect();
        let is_shown = |found: &Diagnostic| shown.contains(&(found.path.as_path(), found.line));
        let is_known = |key: &NamespacedName| known.contains_key(key);
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
        nameless.retain(is_selected);
        nameless
    }

    async fn without_manifest(
        &self,
        key: NamespacedName,
        mistake: Option<Mistake>,
        depth: Depth,
        now: Timestamp,
    ) -> Result<CertificateView, StoreError> {
        let known = match self.record(&key) {
            Some(record) => Some(record.clone()),
            None => Records::new(self.state.documents()).certificate_as_it_is(&key).await?,
        };
        let Some(record) = known else { return Ok(CertificateView::unknown(key)) };
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
            events: self.events(&key, depth).await?,
            strays: self.strays(&key, depth)?,
            secret_path: self.state.live_files().secret_path(&secret)?,
            overdue: alert::overdue(due, not_after, now),
            mistake,
            record: Some(record),
            ..CertificateView::unknown(key)
        })
    }

    /// What the published files say where the record cannot be read.
    async fn without_record(&self, task: &Task, error: &StoreError) -> CertificateView {
        let secret = task.certificate.secret_key();
        let live = live_files(&self.state, &secret, None, None).await.ok();
        let files = live.and_then(|live| live.files);
        CertificateView {
            leaf: files.and_then(|files| published_pair(&files).certificate),
            secret_path: self.state.live_files().secret_path(&secret).unwrap_or_default(),
            certificate: Some(Certificate::clone(&task.certificate)),
            issuer: Some(Issuer::clone(&task.issuers.first)),
            ..damaged(&task.certificate.metadata.key(), error)
        }
    }

    /// Conditions and dates are computed from the published files and the current time.
    async fn with_manifest(
        &self,
        task: &Task,
        secrets: &SecretSource,
        depth: Depth,
        ledgers: &mut Ledgers,
        now: Timestamp,
    ) -> Result<CertificateView, StoreError> {
        let key = task.certificate.metadata.key();
        let is_known = self.outline(&key).is_some();
        let (Seen { snapshot, requests, orders }, dry_run) =
            dry_run(&self.state, task, secrets, now).await?;
        let mut outlook = Outlook::of(&dry_run, now);
        self.limit(&mut outlook, &dry_run, ledgers, now).await?;
        let mut record = readiness::refreshed(&snapshot, now);
        // What the manifest no longer asks for cannot be pending.
        let wanted = snapshot.settings.deploy_targets();
        record.deployments.retain(|known| wanted.contains(&known.target));
        let secret = task.certificate.secret_key();
        let output = wanted.iter().find(|target| target.step() == DeployStep::Output);
        let lost = output.zip(snapshot.lost_output.as_ref());
        let lost = lost.map(|(target, what)| format!("{target}: {what}"));
        let (held_until, limit) = outlook.held();
        let next_attempt = backoff::next_try(&snapshot, &record, now).filter(|time| *time > now);
        let due = record.status.renewal_time.filter(|_| !revocation::ends_here(&snapshot));
        let renewal = snapshot.live_leaf().and_then(|leaf| renewal::due(&snapshot, leaf, now));
        let owed = deploy::owed(&snapshot);
        let is_withdrawn = backoff::is_past(&snapshot, now);
        let issuer = Issuer::clone(snapshot.issuer());
        let snapshot = *snapshot;
        let leaf = snapshot.secret.and_then(|pair| pair.certificate);
        Ok(CertificateView {
            is_withdrawn,
            next_attempt: next_attempt.max(held_until),
            renewal_time: record.status.renewal_time,
            is_suggested: renewal.is_some_and(|due| due.is_suggested),
            limit,
            overdue: alert::overdue(due, record.status.not_after, now),
            worker: self.state.host_record().holder(&Lock::Certificate(key.clone()))?,
            record: (is_known || leaf.is_some()).then_some(record),
            leaf,
            links: snapshot.repair,
            owed,
            lost_output: lost,
            requests,
            orders,
            events: self.events(&key, depth).await?,
            strays: self.strays(&key, depth)?,
            secret_path: self.state.live_files().secret_path(&secret)?,
            account: snapshot.account,
            certificate: Some(snapshot.certificate),
            issuer: Some(issuer),
            outlook,
            ..CertificateView::unknown(key)
        })
    }

    async fn events(&self, key: &NamespacedName, depth: Depth) -> Result<Vec<Event>, StoreError> {
        match depth {
            Depth::Line => Ok(Vec::new()),
            Depth::Page => Records::new(self.state.documents()).events(key, EVENTS).await,
        }
    }

    fn strays(&self, key: &NamespacedName, depth: Depth) -> Result<Vec<String>, StoreError> {
        match depth {
            Depth::Line => Ok(Vec::new()),
            Depth::Page => self.state.host_record().strays(key),
        }
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
        let mut stored = CertificateDocument::read(self.state.documents(), key).await?;
        Ok(stored.requests().await?.into_iter().filter_map(|(_, request)| request.ok()).collect())
    }

    async fn account_of(&self, issuer: &Issuer) -> Result<Option<Account>, StoreError> {
        let identity = AccountIdentity {
            directory_url: issuer.acme.server.clone(),
            kind: issuer.kind,
            namespace: issuer.metadata.namespace.clone(),
            secret_name: issuer.acme.private_key_secret_ref.name.clone(),
        };
        let account = Records::new(self.state.documents()).account(&account_id(&identity)).await?;
        Ok(account.map(|stored| stored.value))
    }
}

/// The error that makes a certificate's manifest unusable: its own, else the first one of the file,
/// else the first of an object it refers to.
fn mistake(targets: &Targets, key: &NamespacedName, record: Outline<'_>) -> Option<Mistake> {
    let manifest = record.manifest.filter(|path| !is_gone(path))?;
    let id = ObjectId { kind: "Certificate".to_owned(), key: key.clone() };
    let is_own = |found: &&Diagnostic| found.blocks == Blocks::Object(id.clone());
    let is_in_it = |found: &&Diagnostic| is_about(found, manifest);
    let errors = || targets.loaded.diagnostics.iter().filter(|found| found.is_error());
    let is_blocked = targets.loaded.blocked.contains(&id);
    let found = errors().find(is_own).or_else(|| errors().find(is_in_it));
    let found = found.or_else(|| errors().next().filter(|_| is_blocked))?;
    Some(Mistake::of(found))
}

/// A certificate whose state cannot be read.
fn damaged(key: &NamespacedName, error: &StoreError) -> CertificateView {
    let damage = Some(Damage::of(error));
    CertificateView { damage, ..CertificateView::unknown(key.clone()) }
}
