//! Hooks, outputs and secrets that the manifests name: what `validate`, `plan` and `issue` find to
//! be lacking, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::alike::{Alike, behind};
use super::usage::Use;
use crate::cli::{names, short};
use crate::engine::check_alert_hook;
use crate::engine::precondition::Need;
use crate::resource::{DeployTarget, Finding};
use crate::workspace::{Lack, Settings};

/// A finding for each thing that is lacking, and one for each kind of which all is there.
pub(super) fn needs(lacks: &[Lack], uses: &[Use<'_>], settings: &Settings) -> Vec<Finding> {
    let mut wrong = Alike::default();
    for Lack { object, unmet, .. } in lacks {
        let subject = match &unmet.need {
            Need::Hook(name) => format!("{HOOK} {name}"),
            Need::Output(_) => OUTPUT.to_owned(),
            // A finding of its own, of HTTP-01.
            Need::Webroot(_) => continue,
            Need::Secret(name) => format!("{SECRET} {name}"),
            Need::Field => "settings".to_owned(),
        };
        let name = format!("{} {}", object.kind, short(&object.key));
        wrong.add(name, Finding::wrong(&subject, unmet.obstacle.clone()));
    }
    let mut found = wrong.findings(behind);
    for (kind, named) in named(uses) {
        if !found.iter().any(|one| one.subject.starts_with(kind)) {
            let fact = match kind {
                HOOK => "run",
                OUTPUT => "written to",
                _ => "read, with a safe mode",
            };
            let named = names(&Vec::from_iter(named));
            found.push(Finding::well(&format!("{kind}s"), format_args!("{named} can be {fact}")));
        }
    }
    found.extend(alert_hook(settings));
    // All of a kind beside each other.
    found.sort_by(|one, other| one.subject.cmp(&other.subject));
    found
}

/// The `on-failure` program, where there is one.
pub(super) fn alert_hook(settings: &Settings) -> Option<Finding> {
    let refused = check_alert_hook(&settings.hooks()).err()?;
    Some(Finding::wrong("hook on-failure", refused))
}

/// Names in the Certificates, by kind.
fn named(uses: &[Use<'_>]) -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut named: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for Use { settings, issuer, .. } in uses {
        let targets = settings.deploy_targets().into_iter().map(|target| match target {
            DeployTarget::Hook { name } | DeployTarget::Reload { name } => (HOOK, name),
            DeployTarget::Output { folder, .. } => (OUTPUT, folder),
        });
        let secrets = issuer.secrets().into_iter().map(|secret| (SECRET, secret.name));
        for (kind, name) in targets.chain(secrets) {
            named.entry(kind).or_default().insert(name);
        }
    }
    named
}

const HOOK: &str = "hook";
const OUTPUT: &str = "output";
const SECRET: &str = "secret";
