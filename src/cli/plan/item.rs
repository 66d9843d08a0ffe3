//! What would happen to one certificate.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;

use super::deeds::Deeds;
use crate::controller::policy::{key_mismatches, leaf_mismatches, request_mismatches};
use crate::controller::{Snapshot, Step, challenge, keymanager, readiness, requestmanager};
use crate::engine::Foreseen;
use crate::engine::inputs::{names_of, solver_for};
use crate::resource::{
    CertificateSpec, Deed, IssuerKind, LeafFacts, NamespacedName, Reason, SolverKind,
};

/// See the module. Serialized as an item of `kind: Plan`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Item {
    /// The certificate's namespace.
    pub(super) namespace: String,
    /// Its name.
    pub(super) name: String,
    /// The first thing that would be done.
    pub(super) action: Action,
    /// What would be done beside it or after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) also: Vec<Action>,
    /// cert-manager's reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<Reason>,
    /// cert-manager's message, or what is to be done.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
    /// What is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wait: Option<Wait>,
    /// The fields in which what is there differs from the spec.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) differs: Vec<&'static str>,
    /// The names that are wanted, and how each would be proven.
    pub(super) names: Vec<Name>,
    /// Names that the live certificate has not; all of them when there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) added: Vec<String>,
    /// Names of the live certificate that are not wanted any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) removed: Vec<String>,
    /// Who issues.
    pub(super) issuer: Issuer,
    /// How many new orders this would cost.
    pub(super) orders: u32,
    /// The order that would be gone on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) order: Option<String>,
    /// Answers to challenges of earlier runs that would be taken back.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) clean_ups: usize,
    /// When the live certificate ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) not_after: Option<Timestamp>,
    /// When its renewal is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) renewal_time: Option<Timestamp>,
}

/// What would be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Action {
    /// A certificate, because there is none or it is not as the spec asks.
    Issue,
    /// Another one in time.
    Renew,
    /// A pair that was there before certctl is taken over.
    Adopt,
    /// A revision that somebody asked for goes live again.
    Rollback,
    /// The links to the live files are put right.
    Relink,
    /// The same pair in the forms that the spec asks for now.
    Rewrite,
    /// Outputs and hooks.
    Deploy,
    /// Nothing yet.
    Wait,
    /// Nothing.
    Nothing,
}

impl Action {
    /// As it is printed.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::Renew => "renew",
            Self::Adopt => "adopt",
            Self::Rollback => "rollback",
            Self::Relink => "relink",
            Self::Rewrite => "rewrite",
            Self::Deploy => "deploy",
            Self::Wait => "wait",
            Self::Nothing => "nothing",
        }
    }

    /// Whether it changes anything.
    pub(super) fn changes(self) -> bool {
        match self {
            Self::Issue
            | Self::Renew
            | Self::Adopt
            | Self::Rollback
            | Self::Relink
            | Self::Rewrite
            | Self::Deploy => true,
            Self::Wait | Self::Nothing => false,
        }
    }
}

/// Why something that is due is not done yet.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wait {
    /// Until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<Timestamp>,
    /// For whom or after what.
    pub(super) why: String,
}

/// A name and how it would be proven.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the field is called so in the plan")]
pub(super) struct Name {
    /// The name, with its `*.`.
    pub(super) name: String,
    /// `http-01`, `dns-01`, or `none`.
    pub(super) solver: &'static str,
    /// The provider of dns-01.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) provider: Option<String>,
}

/// Who issues.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Issuer {
    /// Issuer or ClusterIssuer.
    pub(super) kind: IssuerKind,
    /// Its name.
    pub(super) name: String,
    /// The directory URL.
    pub(super) server: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Item {
    /// What a run at `now` would do.
    pub(super) fn of(foreseen: &Foreseen, now: Timestamp) -> Self {
        let snapshot = &foreseen.snapshot;
        let spec = &snapshot.certificate.spec;
        let leaf = live_leaf(snapshot);
        let (added, removed) = names_changed(spec, leaf);
        let deeds = Deeds::of(foreseen, now);
        let issues = matches!(deeds.action, Action::Issue | Action::Renew);
        let order = snapshot.current_order().filter(|_| issues && is_gone_on_with(snapshot, now));
        Self {
            namespace: snapshot.certificate.metadata.namespace.clone(),
            name: snapshot.certificate.metadata.name.clone(),
            action: deeds.action,
            also: deeds.also,
            reason: deeds.reason,
            message: deeds.message,
            wait: deeds.wait,
            differs: differs(snapshot),
            names: names(snapshot),
            added,
            removed,
            issuer: Issuer {
                kind: snapshot.issuer.kind,
                name: snapshot.issuer.metadata.name.clone(),
                server: snapshot.issuer.acme.server.clone(),
            },
            orders: u32::from(issues && order.is_none()),
            order: order.map(|order| order.name.clone()),
            clean_ups: challenge::clean_ups(snapshot).len(),
            not_after: leaf.map(|leaf| leaf.not_after),
            renewal_time: leaf.and_then(|leaf| readiness::due(snapshot, leaf)).map(|due| due.time),
        }
    }

    /// Which certificate.
    pub(super) fn key(&self) -> NamespacedName {
        NamespacedName::new(&self.namespace, &self.name)
    }

    /// Whether `issue` would change anything.
    pub(super) fn changes(&self) -> bool {
        self.action.changes() || self.also.iter().any(|action| action.changes())
    }
}

/// Whether the order that is there would be gone on with: its key and request are still wanted.
fn is_gone_on_with(snapshot: &Snapshot, now: Timestamp) -> bool {
    let settled = |step| matches!(step, Step::Settled);
    snapshot.is_issuing()
        && settled(keymanager::decide(snapshot, now))
        && settled(requestmanager::decide(snapshot, now))
        && snapshot.current_order().is_some_and(|order| order.deed != Deed::Nothing)
}

fn live_leaf(snapshot: &Snapshot) -> Option<&LeafFacts> {
    snapshot.secret.as_ref()?.certificate.as_ref()?.as_ref().ok()
}

/// The fields that differ: of the key, and of the request or, without one, of the leaf.
fn differs(snapshot: &Snapshot) -> Vec<&'static str> {
    let spec = &snapshot.certificate.spec;
    let mut fields = Vec::new();
    let key = snapshot.secret.as_ref().and_then(|pair| pair.key.as_ref());
    if let Some(Ok(key)) = key {
        fields.extend(key_mismatches(spec, key));
    }
    match (&snapshot.current_request, live_leaf(snapshot)) {
        (Some(request), Some(_)) => {
            fields.extend(request_mismatches(spec, &request.certificate_spec));
        }
        (None, Some(leaf)) => fields.extend(leaf_mismatches(spec, leaf)),
        (Some(_) | None, None) => {}
    }
    fields
}

/// The names that come and those that go.
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
    let without =
        |one: &BTreeSet<String>, other: &BTreeSet<String>| one.difference(other).cloned().collect();
    (without(&wanted, &live), without(&live, &wanted))
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
