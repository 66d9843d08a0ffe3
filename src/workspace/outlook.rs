//! What there is of a certificate and what happens to it next: the one value that `status`,
//! `describe`, the start page, `plan`, `doctor` and the metrics render.
//!
//! Contract: no decisions here. What comes next is read from the [`DryRun`], which decides as a run
//! would, on the snapshot that the view is made of; the state is the first row of the table in
//! [`State`] that holds. A step or an effect that the controllers gain and this file does not know does not
//! compile.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::controller::policy::first_trigger;
use crate::controller::{Deferral, Effect, Snapshot, Step, deploy, formats, renewal, revocation};
use crate::engine::DryRun;
use crate::resource::{
    AccountLimits, Cause, CertificateRecord, ConditionType, Failure, FailureClass, Ledger, Order,
    Reason, Remedy, Spent,
};

/// The outlook of one certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    pub state: State,
    /// What happens next; `None` where nothing will.
    pub next: Option<Action>,
    pub when: When,
    /// The actions beside it or after it.
    pub also: Vec<Action>,
    /// cert-manager's reason.
    pub reason: Option<Reason>,
    /// cert-manager's message, or a description of the action.
    pub message: String,
    /// Why what is due waits, or is blocked.
    pub why: Option<Why>,
}

/// The state of a certificate. The first row that applies wins:
///
/// | state | when |
/// | --- | --- |
/// | damaged | a document of its state cannot be read |
/// | invalid | its manifest is there and has a mistake |
/// | revoked | the CA has revoked the certificate in place, which is not past its end |
/// | no manifest | the state knows it, no manifest does |
/// | expired | the certificate in place is past its end |
/// | links missing | the files are in place, and the links by which servers reach them are not |
/// | files damaged | files that servers read are missing or not as they were published, and there are copies |
/// | overdue | more than a tenth of the time from its renewal to its end has gone, whatever the reason |
/// | issuing, renewing | a process issues it, without or with a certificate that works |
/// | deferred | an issuance has begun, and waits as the CA's Retry-After or a limit of the CA says |
/// | failed | the last attempt failed |
/// | waiting | its order waits for validation or the CA, and no process works on it |
/// | files damaged | its key or certificate is missing or unusable, and there is no copy |
/// | pending deploy | it is issued, and an output or a hook failed or has not run yet, or the output is gone |
/// | ready | the Ready condition holds |
/// | pending | something must be issued, and nothing has been tried |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
// From the worst on: what clients see, what will be seen, what needs a decision; then what is well.
pub enum State {
    Expired,
    Revoked,
    FilesDamaged,
    LinksMissing,
    Damaged,
    Overdue,
    Failed,
    PendingDeploy,
    Invalid,
    Waiting,
    Deferred,
    NoManifest,
    Pending,
    Issuing,
    Renewing,
    Ready,
}

/// What a run does with a certificate.
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

/// When it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The next run does it.
    NextRun,
    /// It is due, and waits: until this time, or for the next run that finds its cause gone.
    Waits(Option<Timestamp>),
    /// It is due, and something on this host keeps a run from it.
    Blocked,
    /// It is due at this time.
    At(Timestamp),
    /// A process is at it.
    UnderWay,
    /// Nothing happens until the operator acts.
    Never,
}

/// Why what is due waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    Deferral(Deferral),
    Failure(Box<Failure>),
    /// The deployment failed by this.
    Deployment(Box<Cause>),
    /// Something on this host, in one line.
    Host(String),
}

impl Outlook {
    /// What comes next to a certificate, by this dry run at `now`; its state is judged by its view.
    pub fn of(dry_run: &DryRun, now: Timestamp) -> Self {
        let outlook = Self::of_step(dry_run, now);
        let also = outlook.also(dry_run);
        let outlook = Self { also, ..outlook }.with_repair(dry_run);
        let is_due = matches!(outlook.next, Some(Action::Issue | Action::Renew));
        match dry_run.why_replaced.clone().filter(|_| is_due) {
            Some(message) => Self { message, ..outlook },
            None => outlook,
        }
    }

    /// Nothing happens until the operator acts.
    pub(super) fn never(state: State) -> Self {
        Self::new(None, When::Never, None, "").in_state(state)
    }

    fn new(
        next: Option<Action>,
        when: When,
        reason: Option<Reason>,
        message: impl Into<String>,
    ) -> Self {
        let (state, also, message, why) = (State::Pending, Vec::new(), message.into(), None);
        Self { state, next, when, also, reason, message, why }
    }

    #[must_use]
    pub(super) fn in_state(self, state: State) -> Self {
        Self { state, ..self }
    }

    fn of_step(dry_run: &DryRun, now: Timestamp) -> Self {
        let DryRun { snapshot, then, step, .. } = dry_run;
        if let Some(back) = &dry_run.goes_back {
            let message = format!("restoring revision {}, as requested", back.to);
            return Self::new(Some(Action::Rollback), When::NextRun, None, message);
        }
        let due = |when, why| {
            let (reason, message) = why_due(then, now);
            let next = Some(issuance(reason));
            Self { why, ..Self::new(next, when, reason, message.unwrap_or_default()) }
        };
        match step {
            Step::Defer { until, why } => {
                return due(When::Waits(Some(*until)), Some(Why::Deferral(why.clone())));
            }
            // What `issue` refuses before it asks the CA for anything is not promised.
            Step::Fail(failure) => {
                let is_blocked = failure.class == FailureClass::Precondition;
                if is_blocked || !then.is_issuing() {
                    let when = if is_blocked { When::Blocked } else { When::Waits(None) };
                    return due(when, Some(Why::Failure(Box::new(failure.clone()))));
                }
            }
            Step::Act(effects) if effects.iter().any(is_of_issuance) => {
                return due(When::NextRun, None);
            }
            Step::Act(_) | Step::Settled | Step::Record(_) | Step::Wait { .. } => {}
        }
        if then.is_issuing() {
            return due(When::NextRun, None);
        }
        if dry_run.adopts {
            let message = "the existing key and certificate are adopted without an order";
            let (next, reason) = (Some(Action::Adopt), Some(Reason::Adopted));
            return Self::new(next, When::NextRun, reason, message);
        }
        if dry_run.rewrites {
            let why = formats::mismatch(snapshot);
            let (reason, message) = why.map(|why| (why.reason, why.message)).unzip();
            let message = message.unwrap_or_default();
            return Self::new(Some(Action::Rewrite), When::NextRun, reason, message);
        }
        Self::of_deployment(dry_run, now)
    }

    fn of_deployment(dry_run: &DryRun, now: Timestamp) -> Self {
        let snapshot = &dry_run.snapshot;
        let Some(target) = deploy::owed(snapshot) else { return Self::of_live(snapshot, now) };
        let mut known = snapshot.record.deployments.iter();
        let failed = known.find(|known| known.target == target && known.failed_attempts > 0);
        let reason = failed.map(|_| Reason::DeployFailed);
        let lost = snapshot.lost_output.as_ref().map(|what| format!(": {what}"));
        let message = format!("{target}{}", lost.unwrap_or_default());
        let next = Some(Action::Deploy);
        if !dry_run.deploys.is_empty() {
            return Self::new(next, When::NextRun, reason, message);
        }
        let why = failed.and_then(|failed| failed.cause.clone()).map(Box::new);
        let when = When::Waits(failed.and_then(deploy::next_try));
        Self { why: why.map(Why::Deployment), ..Self::new(next, when, reason, message) }
    }

    /// Nothing is due.
    fn of_live(snapshot: &Snapshot, now: Timestamp) -> Self {
        let live = snapshot.live_leaf();
        let why = live.and_then(|live| revocation::unreplaced(&snapshot.record, live));
        if let Some(message) = why {
            return Self::new(None, When::Never, Some(Reason::Revoked), message);
        }
        match live.and_then(|leaf| renewal::due(snapshot, leaf, now)) {
            Some(due) => Self::new(Some(Action::Renew), When::At(due.time), None, ""),
            None => Self::new(None, When::Never, None, ""),
        }
    }

    /// The actions beside it or after it.
    fn also(&self, dry_run: &DryRun) -> Vec<Action> {
        let is_deployed = match (self.when, self.next) {
            // The new pair is deployed afterwards.
            (When::NextRun, Some(Action::Issue | Action::Renew | Action::Rollback)) => {
                !dry_run.snapshot.settings.deploy_targets().is_empty()
            }
            (When::Waits(_), _) | (_, Some(Action::Adopt | Action::Rewrite)) => {
                !dry_run.deploys.is_empty()
            }
            _ => false,
        };
        let rewrites = dry_run.rewrites && matches!(self.when, When::Waits(_));
        let rewrite = rewrites.then_some(Action::Rewrite);
        rewrite.into_iter().chain(is_deployed.then_some(Action::Deploy)).collect()
    }

    /// Links and files are repaired first; that is the main action only when nothing bigger is due.
    fn with_repair(mut self, dry_run: &DryRun) -> Self {
        let Some(repair) = &dry_run.snapshot.repair else { return self };
        let (action, reason) = match repair.remedy {
            Remedy::Link { .. } => (Action::Relink, Reason::MissingLinks),
            Remedy::Publish { .. } | Remedy::Follow { .. } => {
                (Action::Restore, Reason::DamagedFiles)
            }
        };
        let is_small = match self.when {
            When::NextRun => matches!(self.next, Some(Action::Rewrite | Action::Deploy)),
            When::At(_) | When::Never => true,
            When::Waits(_) | When::Blocked | When::UnderWay => false,
        };
        if !is_small {
            self.also.push(action);
            return self;
        }
        let beside = self.next.filter(|_| self.when == When::NextRun);
        let also = beside.into_iter().chain(self.also).collect();
        let repair = Self::new(Some(action), When::NextRun, Some(reason), repair.what.clone());
        Self { also, ..repair }
    }

    /// What the order spends of the limits that the CA publishes; it waits when the CA would refuse
    /// it now.
    pub(super) fn limit(
        &mut self,
        snapshot: &Snapshot,
        known: &AccountLimits,
        ledger: Option<&mut Ledger>,
        now: Timestamp,
    ) -> Vec<Spent> {
        use crate::controller::limit;

        let names = limit::names(snapshot);
        let spending = limit::spending(snapshot, &names, now);
        let mut limits = Vec::new();
        let wait = if let Some(refusal) = known.refusal(&names, spending.renews, now) {
            Some((refusal.until, Deferral::RetryAfter))
        } else if let Some(ledger) = ledger {
            limits = ledger.spent(spending, now);
            let (at, spent) = ledger.reserve(spending, now);
            spent.map(|spent| (at, Deferral::Limit(Box::new(spent))))
        } else {
            None
        };
        if let Some((until, why)) = wait {
            (self.when, self.why) = (When::Waits(Some(until)), Some(Why::Deferral(why)));
        }
        limits
    }

    /// Until when the CA would refuse the order, and by which of its published limits.
    pub(super) fn held(&self) -> (Option<Timestamp>, Option<Box<Spent>>) {
        match (self.when, &self.why) {
            (When::Waits(until), Some(Why::Deferral(Deferral::Limit(spent)))) => {
                (until, Some(spent.clone()))
            }
            (When::Waits(until), Some(Why::Deferral(Deferral::RetryAfter))) => (until, None),
            _ => (None, None),
        }
    }

    /// Something on this host keeps a run from what is due.
    pub fn block(&mut self, why: &str) {
        self.also.retain(|one| *one != Action::Deploy);
        (self.when, self.why) = (When::Blocked, Some(Why::Host(why.to_owned())));
    }

    /// What the next run does first; `None` where it does nothing.
    pub fn now(&self) -> Option<Action> {
        self.next.filter(|_| matches!(self.when, When::NextRun | When::UnderWay))
    }

    /// Whether the next run orders a certificate, or goes on with an order.
    pub fn orders(&self) -> bool {
        matches!(self.now(), Some(Action::Issue | Action::Renew))
    }

    /// Whether the next run changes anything.
    pub fn changes(&self) -> bool {
        self.now().is_some() || !self.also.is_empty()
    }

    /// Whether the live certificate is revoked, and not replaced until the user requests it.
    pub fn is_revoked_for_good(&self) -> bool {
        self.next.is_none() && self.reason == Some(Reason::Revoked)
    }
}

impl State {
    /// Each, once.
    pub const ALL: [Self; 16] = [
        Self::Expired,
        Self::Revoked,
        Self::FilesDamaged,
        Self::LinksMissing,
        Self::Damaged,
        Self::Overdue,
        Self::Failed,
        Self::PendingDeploy,
        Self::Invalid,
        Self::Waiting,
        Self::Deferred,
        Self::NoManifest,
        Self::Pending,
        Self::Issuing,
        Self::Renewing,
        Self::Ready,
    ];

    /// Whether all is well.
    pub fn is_well(self) -> bool {
        matches!(self, Self::Ready | Self::Renewing)
    }
}

/// The order that would be continued: the CA has it, and its key and request still match.
pub(super) fn continued(dry_run: &DryRun) -> Option<&Order> {
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

/// Whether an effect belongs to an issuance.
fn is_of_issuance(effect: &Effect) -> bool {
    match effect {
        Effect::Prepare { .. }
        | Effect::GenerateKey { .. }
        | Effect::ReuseKey
        | Effect::BuildRequest
        | Effect::CreateOrder { .. }
        | Effect::ReadOrder { .. }
        | Effect::ReadAuthorization { .. }
        | Effect::Locate { .. }
        | Effect::Present { .. }
        | Effect::SelfCheck { .. }
        | Effect::Accept { .. }
        | Effect::Finalize { .. }
        | Effect::Download { .. }
        | Effect::Publish { .. }
        | Effect::PublishTemporary { .. } => true,
        // Of an account, of a clean-up, of what is live, or of a question about it.
        Effect::ObtainAccountKey
        | Effect::FindAccount
        | Effect::RegisterAccount { .. }
        | Effect::UpdateContacts { .. }
        | Effect::AskForRenewalInformation { .. }
        | Effect::CleanUp { .. }
        | Effect::Rewrite { .. }
        | Effect::Deploy { .. }
        | Effect::Revoke { .. }
        | Effect::SwitchBack { .. }
        | Effect::RestoreLinks { .. }
        | Effect::RestoreFiles { .. }
        | Effect::Follow { .. }
        | Effect::DeactivateAccount { .. } => false,
    }
}

/// Why an issuance is due: by the Issuing condition, else by the first trigger.
fn why_due(then: &Snapshot, now: Timestamp) -> (Option<Reason>, Option<String>) {
    if then.is_issuing() {
        return issuing_condition(&then.record);
    }
    first_trigger(then, now).map(|due| (due.reason, due.message)).unzip()
}

fn issuance(reason: Option<Reason>) -> Action {
    if reason == Some(Reason::Renewing) { Action::Renew } else { Action::Issue }
}

/// Reason and message of the Issuing condition.
fn issuing_condition(record: &CertificateRecord) -> (Option<Reason>, Option<String>) {
    let condition = record.status.condition(ConditionType::Issuing);
    condition.map(|condition| (condition.reason, condition.message.clone())).unzip()
}
