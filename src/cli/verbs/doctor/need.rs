//! Hooks, outputs and secrets that the manifests name: what `validate`, `plan` and `issue` find to
//! be lacking, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::usage::Use;
use crate::cli::render::report::short;
use crate::cli::words::count::names;
use crate::engine::check_alert_hook;
use crate::engine::precondition::Need;
use crate::resource::{DeployTarget, Finding, Obstacle};
use crate::workspace::{Lack, Settings};

/// Names in the Certificates, by kind.
#[derive(Default)]
struct Named {
    hooks: BTreeSet<String>,
    outputs: BTreeSet<String>,
    secrets: BTreeSet<String>,
}

/// A finding for each thing that is lacking, and one for each kind of which all is there.
pub(super) fn needs(lacks: &[Lack], uses: &[Use<'_>], settings: &Settings) -> Vec<Finding> {
    // The same thing may be named by many.
    let mut wrong: BTreeMap<(&Need, &Obstacle), Vec<String>> = BTreeMap::new();
    for Lack { object, unmet, .. } in lacks {
        let objects = wrong.entry((&unmet.need, &unmet.obstacle)).or_default();
        let name = format!("{} {}", object.kind, short(&object.key));
        if !objects.contains(&name) {
            objects.push(name);
        }
    }
    let named = Named::of(uses);
    let (mut hooks, mut outputs, mut secrets, mut fields) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for ((need, obstacle), objects) in wrong {
        let (of_kind, subject) = match need {
            Need::Hook(name) => (&mut hooks, format!("hook {name}")),
            Need::Output(_) => (&mut outputs, "output".to_owned()),
            // A finding of its own, of HTTP-01.
            Need::Webroot(_) => continue,
            Need::Secret(name) => (&mut secrets, format!("secret {name}")),
            Need::Field => (&mut fields, "settings".to_owned()),
        };
        let Obstacle { fact, fix } = obstacle.clone();
        let fact = format!("{fact} ({})", names(&objects));
        of_kind.push(Finding::wrong(&subject, Obstacle { fact, fix }));
    }
    let well = |found: &mut Vec<Finding>, named: BTreeSet<String>, subject, fact: &str| {
        if found.is_empty() && !named.is_empty() {
            let named = names(&Vec::from_iter(named));
            found.push(Finding::well(subject, format_args!("{named} can be {fact}")));
        }
    };
    well(&mut hooks, named.hooks, "hooks", "run");
    hooks.extend(alert_hook(settings));
    well(&mut outputs, named.outputs, "outputs", "written to");
    well(&mut secrets, named.secrets, "secrets", "read, with a safe mode");
    [hooks, outputs, secrets, fields].concat()
}

/// The `on-failure` program, where there is one.
pub(super) fn alert_hook(settings: &Settings) -> Option<Finding> {
    let refused = check_alert_hook(&settings.hooks()).err()?;
    Some(Finding::wrong("hook on-failure", refused))
}

impl Named {
    fn of(uses: &[Use<'_>]) -> Self {
        let mut named = Self::default();
        for Use { settings, issuer, .. } in uses {
            for target in settings.deploy_targets() {
                match target {
                    DeployTarget::Hook { name } | DeployTarget::Reload { name } => {
                        named.hooks.insert(name);
                    }
                    DeployTarget::Output { folder, .. } => {
                        named.outputs.insert(folder);
                    }
                }
            }
            named.secrets.extend(issuer.secrets().into_iter().map(|secret| secret.name));
        }
        named
    }
}
