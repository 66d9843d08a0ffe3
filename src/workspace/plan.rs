//! What `issue` would do with each certificate, and why.
//!
//! Contract: no decisions here: every field is read from the result of [`dry_run`].

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::ledgers::Ledgers;
use super::open::Workspace;
use super::selection::Targets;
use crate::controller::policy::{
    first_trigger, key_mismatches, leaf_mismatches, request_differences,
};
use crate::controller::{
    Deferral, Effect, Snapshot, Step, deploy, formats, limit, renewal, revocation,
};
use crate::engine::inputs::{names_of, solver_for};
use crate::engine::ports::StoreError;
use crate::engine::{DryRun, dry_run};
use crate::resource::{
    AccountLimits, CertificateRecord, CertificateSpec, ConditionType, FailureClass, IssuerKind,
    LeafFacts, Ledger, NamespacedName, Order, Reason, Remedy, SolverKind, Spent, SuggestedWindow,
    only_in,
};

/// What `issue` would do with one certificate. Serialized as an item of `kind: Plan`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// The certificate's namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The first action.
    pub action: Action,
    /// The actions beside it or after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Action>,
    /// cert-manager's reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// cert-manager's message, or a description of the action.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Why the action is delayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// The fields that differ from the spec.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<&'static str>,
    /// The requested names, and how each would be validated.
    pub names: Vec<Name>,
    /// Names that the live certificate lacks; all of them when there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    /// Names of the live certificate that are no longer requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// The issuer.
    pub issuer: Issuer,
    /// The number of new orders.
    pub orders: u32,
    /// How far the limits that the CA publishes are used then, by this order and those of earlier
    /// runs and items.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Spent>,
    /// The pending order that would be continued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// Challenges of earlier runs that would be cleaned up.
    #[serde(skip_serializing_if = "is_zero")]
    pub clean_ups: usize,
    /// When the live certificate ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub not_after: Option<Timestamp>,
    /// When renewal is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub renewal_time: Option<Timestamp>,
    /// The window in which the CA suggests to renew (ARI).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggested_window: Option<SuggestedWindow>,
    /// Whether `renewal_time` is of that window.
    #[serde(skip)]
    pub is_suggested: bool,
}

/// The action of `issue`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Issue a certificate, because there is none or it does not match the spec.
    Issue,
    /// Renew it.
    Renew,
    /// Adopt a pair that existed before certctl.
    Adopt,
    /// Roll back to the revision that the user requested.
    Rollback,
    /// Repair the links to the live files.
    Relink,
    /// Publish missing or damaged files again.
    Restore,
    /// Rewrite the same pair in the formats of the spec.
    Rewrite,
    /// Write outputs and run hooks.
    Deploy,
    /// Wait.
    Wait,
    /// Due, and something on this host keeps a run from it.
    Blocked,
    /// Nothing is due.
    Nothing,
}

impl Action {
    /// The printed form.
    pub fn word(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::Renew => "renew",
            Self::Adopt => "adopt",
            Self::Rollback => "rollback",
            Self::Relink => "relink",
            Self::Restore => "restore",
            Self::Rewrite => "rewrite",
            Self::Deploy => "deploy",
            Self::Wait => "wait",
            Self::Blocked => "blocked",
            Self::Nothing => "nothing",
        }
    }

    /// Whether it changes anything.
    pub fn changes(self) -> bool {
        !matches!(self, Self::Wait | Self::Blocked | Self::Nothing)
    }
}

/// Why a due action is delayed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// Until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub until: Option<Timestamp>,
    /// The holder of the lock, or the event.
    pub why: String,
}

/// A name and how it would be validated.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Name {
    /// The name, with its `*.`.
    pub name: String,
    /// `http-01`, `dns-01`, or `none`.
    pub solver: &'static str,
    /// The DNS provider, for dns-01.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

/// The issuer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Issuer {
    /// Issuer or ClusterIssuer.
    pub kind: IssuerKind,
    /// Its name.
    pub name: String,
    /// The directory URL.
    pub server: String,
    /// The ACME profile that it requests.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub profile: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Workspace {
    /// What a run at `now` would do with each of the targets, by namespace and name; and those whose
    /// state cannot be read.
    pub async fn plan(&self, targets: &Targets, now: Timestamp) -> Result<Plan, StoreError> {
        let mut items = Vec::with_capacity(targets.tasks.len());
        let (mut ledgers, mut damaged) = (Ledgers::new(), Vec::new());
        for task in &targets.tasks {
            let dry_run = Box::pin(dry_run(&self.state, task, &targets.secrets, now)).await;
            let dry_run = match dry_run {
                Ok(dry_run) => dry_run,
                Err(error) => {
                    damaged.push((task.certificate.metadata.key(), error));
                    continue;
                }
            };
            let mut item = Item::of(&dry_run, now);
            if item.orders > 0 {
                let (known, ledger) = self.ledger(&mut ledgers, &dry_run.then.issuer, now).await?;
                item.limit(&dry_run.then, known, ledger.as_mut(), now);
            }
            items.push(item);
        }
        items.sort_by_key(Item::key);
        Ok(Plan { items, damaged })
    }
}

/// The plan of a run.
#[derive(Debug)]
pub struct Plan {
    pub items: Vec<Item>,
    /// The certificates whose state cannot be read, and why.
    pub damaged: Vec<(NamespacedName, StoreError)>,
}

/// The action, and why.
struct Course {
    action: Action,
    reason: Option<Reason>,
    message: String,
    wait: Option<Wait>,
}

impl Course {
    fn new(action: Action, reason: Option<Reason>, message: impl Into<String>) -> Self {
        Self { action, reason, message: message.into(), wait: None }
    }

    fn of(dry_run: &DryRun, now: Timestamp) -> Self {
        let DryRun { snapshot, then, step, .. } = dry_run;
        if let Some(back) = &dry_run.goes_back {
            let message = format!("revision {} goes live again, as requested", back.to);
            return Self::new(Action::Rollback, None, message);
        }
        if let Step::Defer { until, why } = step {
            let (reason, message) = match first_trigger(then, now) {
                _ if then.is_issuing() => issuing_condition(&then.record),
                due => due.map(|due| (due.reason, due.message)).unzip(),
            };
            let wait = Some(Wait { until: Some(*until), why: deferral_reason(then, why) });
            let message = message.unwrap_or_default();
            return Self { wait, ..Self::new(Action::Wait, reason, message) };
        }
        // What `issue` refuses before it asks the CA for anything is not promised.
        if let Step::Fail(failure) = step
            && (!then.is_issuing() || failure.class == FailureClass::Precondition)
        {
            let (reason, message) = match first_trigger(then, now) {
                _ if then.is_issuing() => issuing_condition(&then.record),
                due => due.map(|due| (due.reason, due.message)).unzip(),
            };
            let wait = Some(Wait { until: None, why: failure.to_string() });
            let is_blocked = failure.class == FailureClass::Precondition;
            let action = if is_blocked { Action::Blocked } else { Action::Wait };
            return Self { wait, ..Self::new(action, reason, message.unwrap_or_default()) };
        }
        if then.is_issuing() {
            let (reason, message) = issuing_condition(&then.record);
            let is_renewal = reason == Some(Reason::Renewing);
            let action = if is_renewal { Action::Renew } else { Action::Issue };
            return Self::new(action, reason, message.unwrap_or_default());
        }
        if dry_run.adopts {
            let message = "the existing key and certificate are adopted without an order";
            return Self::new(Action::Adopt, Some(Reason::Adopted), message);
        }
        if dry_run.rewrites {
            let why = formats::mismatch(snapshot);
            let (reason, message) = why.map(|why| (why.reason, why.message)).unzip();
            return Self::new(Action::Rewrite, reason, message.unwrap_or_default());
        }
        Self::deployment(dry_run)
    }

    fn deployment(dry_run: &DryRun) -> Self {
        let snapshot = &dry_run.snapshot;
        let Some(target) = deploy::owed(snapshot) else {
            let live = snapshot.live_leaf();
            let why = live.and_then(|live| revocation::unreplaced(&snapshot.record, live));
            let reason = why.as_ref().map(|_| Reason::Revoked);
            return Self::new(Action::Nothing, reason, why.unwrap_or_default());
        };
        let mut known = snapshot.record.deployments.iter();
        let failed = known.find(|known| known.target == target && known.failed_attempts > 0);
        let reason = failed.map(|_| Reason::DeployFailed);
        let lost = snapshot.lost_output.as_ref().map(|what| format!(": {what}"));
        let message = format!("{target}{}", lost.unwrap_or_default());
        if !dry_run.deploys.is_empty() {
            return Self::new(Action::Deploy, reason, message);
        }
        let why = failed.and_then(|failed| failed.cause.as_ref());
        let why = why.map(ToString::to_string).unwrap_or_default();
        let wait = Some(Wait { until: failed.and_then(deploy::next_try), why });
        Self { wait, ..Self::new(Action::Wait, reason, message) }
    }

    /// The actions beside it or after it.
    fn also(&self, dry_run: &DryRun) -> Vec<Action> {
        let is_deployed = match self.action {
            // The new pair is deployed afterwards.
            Action::Issue | Action::Renew | Action::Rollback => {
                !dry_run.snapshot.settings.deploy_targets().is_empty()
            }
            Action::Wait | Action::Adopt | Action::Rewrite => !dry_run.deploys.is_empty(),
            Action::Relink
            | Action::Restore
            | Action::Deploy
            | Action::Blocked
            | Action::Nothing => false,
        };
        let rewrites = dry_run.rewrites && self.action == Action::Wait;
        let rewrite = rewrites.then_some(Action::Rewrite);
        rewrite.into_iter().chain(is_deployed.then_some(Action::Deploy)).collect()
    }
}

impl Course {
    /// Links and files are repaired first; that is the main action only when nothing bigger is due.
    fn with_repair(self, mut also: Vec<Action>, dry_run: &DryRun) -> (Self, Vec<Action>) {
        let Some(repair) = &dry_run.snapshot.repair else { return (self, also) };
        let (action, reason) = match repair.remedy {
            Remedy::Link { .. } => (Action::Relink, Reason::MissingLinks),
            Remedy::Publish { .. } => (Action::Restore, Reason::DamagedFiles),
        };
        if matches!(self.action, Action::Nothing | Action::Rewrite | Action::Deploy) {
            also.splice(..0, [self.action].into_iter().filter(|one| one.changes()));
            return (Self::new(action, Some(reason), repair.what.clone()), also);
        }
        also.push(action);
        (self, also)
    }
}

impl Item {
    fn of(dry_run: &DryRun, now: Timestamp) -> Self {
        let snapshot = &dry_run.snapshot;
        let spec = &snapshot.certificate.spec;
        let leaf = snapshot.live_leaf();
        let renewal = leaf.and_then(|leaf| renewal::due(snapshot, leaf, now));
        let renewal = renewal.filter(|_| !revocation::ends_here(snapshot));
        let known = leaf
            .and_then(|leaf| snapshot.record.renewal_information(leaf))
            .filter(|_| snapshot.issuer.acme.asks_when_to_renew());
        let (added, removed) = names_changed(spec, leaf);
        let course = Course::of(dry_run, now);
        let also = course.also(dry_run);
        let (course, also) = course.with_repair(also, dry_run);
        let issues = matches!(course.action, Action::Issue | Action::Renew);
        let is_due = issues || course.action == Action::Wait;
        let why_replaced = dry_run.why_replaced.clone().filter(|_| is_due);
        let order = continued(dry_run).filter(|_| issues);
        Self {
            namespace: snapshot.certificate.metadata.namespace.clone(),
            name: snapshot.certificate.metadata.name.clone(),
            action: course.action,
            also,
            reason: course.reason,
            message: why_replaced.unwrap_or(course.message),
            wait: course.wait,
            differs: differs(snapshot),
            names: names(snapshot),
            added,
            removed,
            issuer: Issuer {
                kind: snapshot.issuer.kind,
                name: snapshot.issuer.metadata.name.clone(),
                server: snapshot.issuer.acme.server.clone(),
                profile: snapshot.issuer.acme.profile.clone(),
            },
            orders: u32::from(issues && order.is_none()),
            limits: Vec::new(),
            order: order.map(|order| order.name.clone()),
            clean_ups: dry_run.clean_ups,
            not_after: leaf.map(|leaf| leaf.not_after),
            renewal_time: renewal.as_ref().map(|due| due.time),
            suggested_window: known.and_then(|known| known.suggested_window.clone()),
            is_suggested: renewal.is_some_and(|due| due.is_suggested),
        }
    }

    /// Adds what the order spends; it waits when the CA would refuse it now.
    fn limit(
        &mut self,
        snapshot: &Snapshot,
        known: &AccountLimits,
        ledger: Option<&mut Ledger>,
        now: Timestamp,
    ) {
        let names = limit::names(snapshot);
        let spending = limit::spending(snapshot, &names, now);
        if let Some(refusal) = known.refusal(&names, spending.renews, now) {
            let why = deferral_reason(snapshot, &Deferral::RetryAfter);
            self.wait = Some(Wait { until: Some(refusal.until), why });
        } else if let Some(ledger) = ledger {
            self.limits = ledger.spent(spending, now);
            if let (at, Some(spent)) = ledger.reserve(spending, now) {
                self.wait = Some(Wait { until: Some(at), why: spent.to_string() });
            }
        }
        if self.wait.is_some() {
            (self.action, self.orders) = (Action::Wait, 0);
        }
    }

    /// Something on this host keeps a run from what is due, which it says.
    pub fn block(&mut self, why: &str) {
        self.also.retain(|one| *one != Action::Deploy);
        self.wait = Some(Wait { until: None, why: why.to_owned() });
        (self.action, self.orders) = (Action::Blocked, 0);
        self.limits.clear();
    }

    /// Which certificate.
    pub fn key(&self) -> NamespacedName {
        NamespacedName::new(&self.namespace, &self.name)
    }

    /// Whether the live certificate is revoked, and not replaced until the user requests it.
    pub fn is_revoked_for_good(&self) -> bool {
        self.action == Action::Nothing && self.reason == Some(Reason::Revoked)
    }

    /// Whether `issue` would change anything.
    pub fn changes(&self) -> bool {
        self.action.changes() || self.also.iter().any(|action| action.changes())
    }
}

/// The order that would be continued: the CA has it, and its key and request still match.
fn continued(dry_run: &DryRun) -> Option<&Order> {
    let begins_anew = |effect: &Effect| {
        matches!(effect, Effect::GenerateKey { .. } | Effect::ReuseKey | Effect::BuildRequest)
    };
    let (anew, publishes) = match &dry_run.step {
        Step::Act(effects) => (
            effects.iter().any(begins_anew),
            effects.iter().any(|effect| matches!(effect, Effect::Publish { .. })),
        ),
        Step::Fail(_) => (true, false),
        Step::Settled | Step::Record(_) | Step::Wait { .. } | Step::Defer { .. } => (false, false),
    };
    let order = dry_run.then.current_order().filter(|_| !anew);
    order.filter(|order| publishes || (order.phase.is_open() && order.url().is_some()))
}

/// Reason and message of the Issuing condition.
fn issuing_condition(record: &CertificateRecord) -> (Option<Reason>, Option<String>) {
    let condition = record.status.condition(ConditionType::Issuing);
    condition.map(|condition| (condition.reason, condition.message.clone())).unzip()
}

fn deferral_reason(snapshot: &Snapshot, why: &Deferral) -> String {
    match why {
        Deferral::Backoff { attempts: 1 } => "backing off after 1 failure".to_owned(),
        Deferral::Backoff { attempts } => format!("backing off after {attempts} failures"),
        Deferral::RetryAfter => {
            format!("the CA of {} requested a delay (Retry-After)", snapshot.issuer.metadata.name)
        }
        Deferral::Limit(spent) => spent.to_string(),
        Deferral::Outage(failure) => failure.to_string(),
    }
}

/// The fields that differ: of the key, and of the request or, without one, of the leaf.
fn differs(snapshot: &Snapshot) -> Vec<&'static str> {
    let spec = &snapshot.certificate.spec;
    let mut fields = Vec::new();
    let key = snapshot.secret.as_ref().and_then(|pair| pair.key.as_ref());
    if let Some(Ok(key)) = key {
        fields.extend(key_mismatches(spec, key));
    }
    match (&snapshot.current_request, snapshot.live_leaf()) {
        (Some(request), Some(_)) => {
            fields.extend(request_differences(snapshot, request));
        }
        (None, Some(leaf)) => fields.extend(leaf_mismatches(spec, leaf)),
        (Some(_) | None, None) => {}
    }
    fields
}

/// The names added and removed.
fn names_changed(spec: &CertificateSpec, leaf: Option<&LeafFacts>) -> (Vec<String>, Vec<String>) {
    let mut wanted: BTreeSet<String> = spec.dns_names.iter().map(ToString::to_string).collect();
    wanted.extend(spec.ip_addresses.iter().map(ToString::to_string));
    wanted.extend(spec.uris.iter().chain(&spec.email_addresses).cloned());
    let mut live = BTreeSet::new();
    if let Some(leaf) = leaf {
        live.extend(leaf.dns_names.iter().chain(&leaf.uris).cloned());
        live.extend(leaf.email_addresses.iter().cloned());
        live.extend(leaf.ip_addresses.iter().map(ToString::to_string));
    }
    // A CA may put the common name among the names.
    live.retain(|name| wanted.contains(name) || *name != spec.common_name);
    let [wanted, live] = [wanted, live].map(Vec::from_iter);
    (only_in(&wanted, &live), only_in(&live, &wanted))
}

fn names(snapshot: &Snapshot) -> Vec<Name> {
    let certificate = &snapshot.certificate;
    let name = |name| {
        let solver = solver_for(&snapshot.issuer, certificate, &name).map(|solver| &solver.kind);
        let (solver, provider) = match solver {
            Some(SolverKind::Http01(_)) => ("http-01", None),
            Some(SolverKind::Dns01(dns01)) => ("dns-01", Some(dns01.provider.name().to_owned())),
            None => ("none", None),
        };
        Name { name: name.to_string(), solver, provider }
    };
    names_of(certificate).into_iter().map(name).collect()
}
