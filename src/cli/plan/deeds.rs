//! What the rooms want for one certificate, in their order.

use jiff::Timestamp;

use super::item::{Action, Wait};
use crate::controller::policy::first_trigger;
use crate::controller::{
    Change, Deferral, Record, Snapshot, Step, account, deploy, formats, trigger,
};
use crate::engine::Foreseen;
use crate::resource::{CertificateRecord, ConditionType, DeployStep, Reason};

/// See the module.
pub(super) struct Deeds {
    pub(super) action: Action,
    pub(super) also: Vec<Action>,
    pub(super) reason: Option<Reason>,
    pub(super) message: String,
    pub(super) wait: Option<Wait>,
}

/// What trigger and backoff say.
enum Issuance {
    NotDue,
    Due(Reason, String),
    Waits(Option<Reason>, String, Wait),
}

impl Deeds {
    /// What a run at `now` would do. Links come first; where nothing bigger is due, they are what
    /// the plan is about.
    pub(super) fn of(foreseen: &Foreseen, now: Timestamp) -> Self {
        let mut deeds = Self::beside_links(foreseen, now);
        let Some(repair) = &foreseen.snapshot.repair else { return deeds };
        if matches!(deeds.action, Action::Nothing | Action::Rewrite | Action::Deploy) {
            deeds.also.splice(..0, [deeds.action].into_iter().filter(|one| one.changes()));
            let links = Self::new(Some(Reason::MissingLinks), repair.what.clone());
            return Self { action: Action::Relink, also: deeds.also, ..links };
        }
        deeds.also.push(Action::Relink);
        deeds
    }

    fn beside_links(foreseen: &Foreseen, now: Timestamp) -> Self {
        let snapshot = &foreseen.snapshot;
        let rewrites = matches!(formats::decide(snapshot, now), Step::Act(_));
        let owed = deploy::owed(snapshot);
        let deploys = matches!(deploy::decide(snapshot, now), Step::Act(_))
            || deploy::reload(snapshot, now).is_some();
        let has_outputs = !deploy::wanted(&snapshot.settings).is_empty();
        let then = |action, yes: bool| yes.then_some(action);
        if let Some(back) = snapshot.record.rollback.as_ref().filter(|back| back.is_owed()) {
            let message = format!("revision {} goes live again, as was asked for", back.to);
            return Self {
                action: Action::Rollback,
                also: then(Action::Deploy, has_outputs).into_iter().collect(),
                ..Self::new(None, message)
            };
        }
        match issuance(snapshot, now) {
            Issuance::Due(reason, message) => {
                let is_renewal = reason == Reason::Renewing;
                Self {
                    action: if is_renewal { Action::Renew } else { Action::Issue },
                    also: then(Action::Deploy, has_outputs).into_iter().collect(),
                    ..Self::new(Some(reason), message)
                }
            }
            Issuance::Waits(reason, message, wait) => {
                let meanwhile = [
                    then(Action::Rewrite, rewrites),
                    then(Action::Deploy, rewrites && has_outputs || deploys),
                ];
                Self {
                    action: Action::Wait,
                    also: meanwhile.into_iter().flatten().collect(),
                    wait: Some(wait),
                    ..Self::new(reason, message)
                }
            }
            Issuance::NotDue if foreseen.adopts => Self {
                action: Action::Adopt,
                also: then(Action::Deploy, deploys).into_iter().collect(),
                ..Self::new(
                    Some(Reason::Adopted),
                    "the key and certificate that are there are taken over without an order"
                        .to_owned(),
                )
            },
            Issuance::NotDue if rewrites => {
                let why = formats::mismatch(snapshot);
                let (reason, message) = why.map(|why| (why.reason, why.message)).unzip();
                Self {
                    action: Action::Rewrite,
                    also: then(Action::Deploy, has_outputs).into_iter().collect(),
                    ..Self::new(reason, message.unwrap_or_default())
                }
            }
            Issuance::NotDue => Self::deployment(snapshot, owed, deploys),
        }
    }

    fn new(reason: Option<Reason>, message: String) -> Self {
        Self { action: Action::Nothing, also: Vec::new(), reason, message, wait: None }
    }

    fn deployment(snapshot: &Snapshot, owed: Option<(DeployStep, String)>, deploys: bool) -> Self {
        let Some((step, target)) = owed else { return Self::new(None, String::new()) };
        let mut known = snapshot.record.deployments.iter();
        let failed = known.find(|known| {
            known.step == step && known.target == target && known.failed_attempts > 0
        });
        let reason = failed.map(|_| Reason::DeployFailed);
        let message = deploy::what(step, &target);
        if deploys {
            return Self { action: Action::Deploy, ..Self::new(reason, message) };
        }
        let why = failed.map_or_else(String::new, |failed| failed.message.clone());
        let wait = Wait { until: failed.and_then(deploy::next_try), why };
        Self { action: Action::Wait, wait: Some(wait), ..Self::new(reason, message) }
    }
}

fn issuance(snapshot: &Snapshot, now: Timestamp) -> Issuance {
    if snapshot.is_issuing() {
        let (reason, message) = asked_for(&snapshot.record);
        return match account::decide(snapshot, now) {
            Step::Wait { until, why, .. } => {
                Issuance::Waits(Some(reason), message, waits(snapshot, until, &why))
            }
            Step::Settled | Step::Record(_) | Step::Act(_) | Step::Fail(_) => {
                Issuance::Due(reason, message)
            }
        };
    }
    match trigger::decide(snapshot, now) {
        Step::Record(Record { changes, .. }) => {
            let asked = changes.iter().find_map(|change| match change {
                Change::Certificate(record) => Some(asked_for(record)),
                Change::Request(_)
                | Change::DropRequest(_)
                | Change::Order(_)
                | Change::NextKey(..)
                | Change::DropNextKey
                | Change::AccountKey(..)
                | Change::Account(_) => None,
            });
            asked.map_or(Issuance::NotDue, |(reason, message)| Issuance::Due(reason, message))
        }
        Step::Wait { until, why, .. } => {
            let due = first_trigger(snapshot, now);
            let (reason, message) = due.map(|due| (due.reason, due.message)).unzip();
            Issuance::Waits(reason, message.unwrap_or_default(), waits(snapshot, until, &why))
        }
        Step::Settled | Step::Act(_) | Step::Fail(_) => Issuance::NotDue,
    }
}

/// Reason and message of the Issuing condition.
fn asked_for(record: &CertificateRecord) -> (Reason, String) {
    let condition = record.status.condition(ConditionType::Issuing);
    condition.map_or((Reason::Issuing, String::new()), |condition| {
        (condition.reason, condition.message.clone())
    })
}

fn waits(snapshot: &Snapshot, until: Option<Timestamp>, why: &Deferral) -> Wait {
    let why = match why {
        Deferral::Backoff { attempts: 1 } => "backing off after 1 failure".to_owned(),
        Deferral::Backoff { attempts } => format!("backing off after {attempts} failures"),
        Deferral::RetryAfter => {
            format!("the CA of {} asked to be left alone", snapshot.issuer.metadata.name)
        }
        Deferral::Progress(what) => what.clone(),
    };
    Wait { until, why }
}
