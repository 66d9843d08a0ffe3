//! The commands that help a certificate which is not as it should be.

use std::path::Path;

use super::advice;
use super::hint::{Hint, short};
use super::state::is_only_owed;
use crate::engine::ports::WrongEntry;
use crate::host::rights;
use crate::resource::{Challenge, NamespacedName, Phase, ReasonSource, escape};
use crate::trust::quoted;
use crate::workspace::outlook::{State, When};
use crate::workspace::view::{CertificateView, DamageCourse};

/// A command, and what it is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cli) struct Remedy {
    pub(in crate::cli) command: String,
    pub(in crate::cli) what: &'static str,
}

impl Remedy {
    /// What helps, the first first; as it is typed here.
    pub(in crate::cli) fn of(view: &CertificateView) -> Vec<Self> {
        let name = short(&view.key);
        let all = match view.outlook.state {
            State::Damaged => damaged(view, &name),
            State::Invalid => validate(view),
            State::NoManifest => without_manifest(view, &name),
            State::Revoked if view.certificate.is_none() => {
                vec![(certctl(&format!("forget {name}")), "stop managing it")]
            }
            State::Revoked if !view.is_issuing() => {
                vec![(certctl(&format!("renew {name}")), "replace it")]
            }
            State::LinksMissing | State::FilesDamaged => {
                let what = match view.links {
                    Some(_) => "restore its files, without an order",
                    None => "order another key and certificate",
                };
                vec![(certctl(&format!("issue {name}")), what)]
            }
            State::PendingDeploy => deploy(view, &name),
            State::Waiting if view.orders_other_names() => {
                vec![(certctl(&format!("issue {name}")), "order for the names of the manifest now")]
            }
            State::Waiting => {
                let anew = certctl(&format!("renew {name} --new-order"));
                check_of(view)
                    .into_iter()
                    .chain([(anew, "give this order up for another")])
                    .collect()
            }
            State::Revoked | State::Expired | State::Overdue | State::Deferred | State::Failed => {
                retry(view, &name)
            }
            State::Pending if view.went_back().is_some() => {
                vec![(certctl(&format!("renew {name}")), "issue what the manifest says")]
            }
            State::Ready | State::Pending | State::Issuing | State::Renewing => Vec::new(),
        };
        let typed = |(hint, what): (Hint, _)| Self { command: hint.to_string(), what };
        all.into_iter().map(typed).collect()
    }
}

type Known = (Hint, &'static str);

fn certctl(verb: &str) -> Hint {
    Hint::Command(format!("certctl {verb}"))
}

fn damaged(view: &CertificateView, name: &str) -> Vec<Known> {
    let entry = view.damage.as_ref().and_then(|damage| damage.entry.as_deref());
    if let Some(permit) = entry.and_then(WrongEntry::permit).filter(|one| !one.needs_look()) {
        return vec![(Hint::from(&permit), "let certctl use this file")];
    }
    match view.damage.as_ref().map(|damage| damage.course) {
        Some(DamageCourse::SetAside) if view.certificate.is_some() => {
            vec![(certctl(&format!("issue {name}")), "set the damaged file aside now")]
        }
        Some(DamageCourse::Unusable) => {
            vec![(certctl("doctor"), "check the state and this host")]
        }
        Some(DamageCourse::SetAside | DamageCourse::LeftToNewer) | None => Vec::new(),
    }
}

/// A manifest like the one that is gone, or the end of its management.
fn without_manifest(view: &CertificateView, name: &str) -> Vec<Known> {
    let names = view.readable_leaf().map(|leaf| leaf.dns_names.iter().map(|name| escape(name)));
    let names: Vec<_> = names.into_iter().flatten().collect();
    let is_short = (1..=FEW).contains(&names.len());
    let create = is_short.then(|| {
        let names: Vec<String> = names.iter().map(|name| quoted(Path::new(&**name))).collect();
        let NamespacedName { namespace, name } = &view.key;
        let of_namespace =
            if namespace == "default" { String::new() } else { format!(" -n {namespace}") };
        let of_name =
            if names.first() == Some(name) { String::new() } else { format!(" --name {name}") };
        let line = format!("create certificate {}{of_name}{of_namespace}", names.join(" "));
        (certctl(&line), "write a manifest for it, if the old one is lost")
    });
    let forget = (certctl(&format!("forget {name}")), "stop managing it");
    [forget].into_iter().chain(create).collect()
}

fn validate(view: &CertificateView) -> Vec<Known> {
    let unread = view.mistake.as_ref().filter(|mistake| mistake.is_unread());
    if let Some(mistake) = unread {
        let permit = rights::reading(&mistake.path);
        return permit.iter().map(|permit| (permit.into(), "let certctl read it")).collect();
    }
    let path = view.mistake.as_ref().map(|mistake| quoted(&mistake.path)).unwrap_or_default();
    vec![(certctl(&format!("validate {}", escape(&path))), "show the mistake in its line")]
}

fn deploy(view: &CertificateView, name: &str) -> Vec<Known> {
    let what = if is_only_owed(view) {
        "run its outputs and hooks now"
    } else {
        "once the cause is fixed: run its outputs and hooks"
    };
    vec![(certctl(&format!("deploy {name}")), what)]
}

/// What tries again at once what failed or waits.
fn retry(view: &CertificateView, name: &str) -> Vec<Known> {
    match view.outlook.when {
        When::Waits(Some(_)) if view.waits_for_a_limit() => {
            vec![(certctl(&format!("renew {name} --ignore-limits")), "order anyway")]
        }
        // Until then the CA refuses.
        When::Waits(Some(_)) if view.failure().is_none() => Vec::new(),
        When::Waits(Some(_)) => {
            vec![(certctl(&format!("renew {name}")), "when fixed: try again at once")]
        }
        When::Waits(None) | When::NextRun => {
            vec![(certctl(&format!("issue {name}")), "try again now")]
        }
        When::Blocked | When::At(_) | When::UnderWay | When::Never => Vec::new(),
    }
}

/// What diagnoses the first challenge whose self-check found something wrong.
fn check_of(view: &CertificateView) -> Option<Known> {
    // A run that ends queues it again, with what the self-check found.
    let is_wrong = |challenge: &&Challenge| match challenge.phase() {
        Some(Phase::SelfChecking) => !challenge.shown_reason().is_empty(),
        Some(Phase::Queued | Phase::Requeued | Phase::Presenting) => {
            challenge.reason_source == ReasonSource::SelfCheck
        }
        Some(Phase::Accepting | Phase::Accepted) | None => false,
    };
    let spec = &view.order()?.challenges.iter().find(is_wrong)?.spec;
    let check = advice::check_of(&spec.kind, &escape(&spec.identifier.to_string()))?;
    Some((check.into(), "look at what the CA would see"))
}

/// How many names a line shows.
const FEW: usize = 4;
