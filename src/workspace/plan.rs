//! What `issue` would do with each certificate, and why.
//!
//! Contract: no decisions here: every field is read from the result of [`dry_run`].

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::ledgers::Ledgers;
use super::open::Workspace;
use super::outlook::{self, Action, Outlook, When, Why};
use super::selection::Targets;
use crate::controller::policy::{key_mismatches, leaf_mismatches, request_differences};
use crate::controller::{Deferral, Snapshot, renewal, revocation};
use crate::engine::inputs::{names_of, solver_for};
use crate::engine::ports::StoreError;
use crate::engine::{DryRun, dry_run};
use crate::resource::{
    CertificateSpec, IssuerKind, LeafFacts, NamespacedName, Reason, Spent, SuggestedWindow, only_in,
};

/// What `issue` would do with one certificate. Serialized as an item of `kind: Plan`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// The certificate's namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What comes next.
    #[serde(skip)]
    pub outlook: Outlook,
    #[serde(flatten)]
    pub course: Course,
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
    pub order: Option<String>,
    /// Challenges of earlier runs that would be cleaned up.
    #[serde(skip_serializing_if = "is_zero")]
    pub clean_ups: usize,
    /// When the live certificate ends.
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub not_after: Option<Timestamp>,
    /// When renewal is due.
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub renewal_time: Option<Timestamp>,
    /// The window in which the CA suggests to renew (ARI).
    pub suggested_window: Option<SuggestedWindow>,
    /// Whether `renewal_time` is of that window.
    #[serde(skip)]
    pub is_suggested: bool,
}

/// The action of `issue`, and why.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Course {
    /// The first action.
    pub action: Action,
    /// The actions beside it or after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Action>,
    /// cert-manager's reason.
    pub reason: Option<Reason>,
    /// cert-manager's message, or a description of the action.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Why the action is delayed.
    pub wait: Option<Wait>,
}

impl Course {
    /// That of an outlook, of a certificate of this issuer.
    pub fn of(outlook: &Outlook, issuer: &str) -> Self {
        let until = match outlook.when {
            When::Waits(until) => until,
            When::NextRun | When::Blocked | When::At(_) | When::UnderWay | When::Never => None,
        };
        let wait = outlook.why.as_ref().map(|why| Wait { until, why: reason_of(why, issuer) });
        Self {
            action: Action::of(outlook),
            also: outlook.also.clone(),
            reason: outlook.reason,
            message: outlook.message.clone(),
            wait,
        }
    }
}

impl Action {
    /// That of an outlook.
    fn of(outlook: &Outlook) -> Self {
        match outlook.when {
            When::Waits(_) => Self::Wait,
            When::Blocked => Self::Blocked,
            When::At(_) | When::Never => Self::Nothing,
            When::NextRun | When::UnderWay => outlook.next.unwrap_or(Self::Nothing),
        }
    }

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
}

/// Why a due action is delayed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// Until when.
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
                Ok((_, dry_run)) => dry_run,
                Err(error) => {
                    damaged.push((task.certificate.metadata.key(), error));
                    continue;
                }
            };
            let mut outlook = Outlook::of(&dry_run, now);
            let limits = self.limit(&mut outlook, &dry_run, &mut ledgers, now).await?;
            items.push(Item::of(&dry_run, outlook, limits, now));
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

impl Item {
    fn of(dry_run: &DryRun, outlook: Outlook, limits: Vec<Spent>, now: Timestamp) -> Self {
        let snapshot = &dry_run.snapshot;
        let spec = &snapshot.certificate.spec;
        let leaf = snapshot.live_leaf();
        let renewal = leaf.and_then(|leaf| renewal::due(snapshot, leaf, now));
        let renewal = renewal.filter(|_| !revocation::ends_here(snapshot));
        let known = leaf
            .and_then(|leaf| snapshot.record.renewal_information(leaf))
            .filter(|_| snapshot.issuer().acme.asks_when_to_renew());
        let (added, removed) = names_changed(spec, leaf);
        let order = outlook::continued(dry_run).filter(|_| outlook.orders());
        let issuer = snapshot.issuer();
        Self {
            namespace: snapshot.certificate.metadata.namespace.clone(),
            name: snapshot.certificate.metadata.name.clone(),
            course: Course::of(&outlook, &issuer.metadata.name),
            differs: differs(snapshot),
            names: names(snapshot),
            added,
            removed,
            issuer: Issuer {
                kind: issuer.kind,
                name: issuer.metadata.name.clone(),
                server: issuer.acme.server.clone(),
                profile: issuer.acme.profile.clone(),
            },
            orders: u32::from(outlook.orders() && order.is_none()),
            limits,
            order: order.map(|order| order.name.clone()),
            clean_ups: dry_run.clean_ups,
            not_after: leaf.map(|leaf| leaf.not_after),
            renewal_time: renewal.as_ref().map(|due| due.time),
            suggested_window: known.and_then(|known| known.suggested_window.clone()),
            is_suggested: renewal.is_some_and(|due| due.is_suggested),
            outlook,
        }
    }

    /// Something on this host keeps a run from what is due, which it says.
    pub fn block(&mut self, why: &str) {
        self.outlook.block(why);
        self.course = Course::of(&self.outlook, &self.issuer.name);
        self.orders = 0;
        self.limits.clear();
    }

    /// Which certificate.
    pub fn key(&self) -> NamespacedName {
        NamespacedName::new(&self.namespace, &self.name)
    }
}

fn reason_of(why: &Why, issuer: &str) -> String {
    match why {
        Why::Deferral(Deferral::Backoff { attempts: 1 }) => {
            "backing off after 1 failure".to_owned()
        }
        Why::Deferral(Deferral::Backoff { attempts }) => {
            format!("backing off after {attempts} failures")
        }
        Why::Deferral(Deferral::RetryAfter) => {
            format!("the CA of {issuer} requested a delay (Retry-After)")
        }
        Why::Deferral(Deferral::Limit(spent)) => spent.to_string(),
        Why::Deferral(Deferral::Outage(failure)) | Why::Failure(failure) => failure.to_string(),
        Why::Deployment(cause) => cause.to_string(),
        Why::Host(fact) => fact.clone(),
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
        let chosen = solver_for(snapshot.issuer(), certificate, &name);
        let method = chosen.as_ref().and_then(|chosen| chosen.kind.method());
        let dns01 = chosen.as_ref().and_then(|chosen| chosen.solver.dns01());
        Name {
            name: name.to_string(),
            solver: method.map_or("none", |method| method.word),
            provider: dns01.map(|dns01| dns01.provider.name().to_owned()),
        }
    };
    names_of(certificate).into_iter().map(name).collect()
}
