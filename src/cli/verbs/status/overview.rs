//! `certctl status`: one line per certificate.

use jiff::Timestamp;

use crate::cli::render::table::{Cell, listed};
use crate::cli::words::Scene;
use crate::cli::words::next::{self, date_and_distance, distance};
use crate::cli::words::order::order_waits_briefly;
use crate::cli::words::state::problem_kind;
use crate::cli::words::time;
use crate::resource::{
    CertificateRecord, ConditionStatus, Deployment, Failure, FailureClass, Reason,
};
use crate::workspace::outlook::{State, When};
use crate::workspace::view::{CertificateView, Mistake};

/// The table of all certificates: of each, no more than its cells is kept.
#[derive(Debug, Default)]
pub(super) struct Overview {
    /// With the namespace in front.
    rows: Vec<Vec<Cell>>,
    /// The namespace of the first row.
    namespace: Option<String>,
    has_namespaces: bool,
}

impl Overview {
    /// `wide` adds columns.
    pub(super) fn add(&mut self, view: &CertificateView, wide: bool, scene: &Scene) {
        let here = &view.key.namespace;
        let first = self.namespace.get_or_insert_with(|| here.clone());
        self.has_namespaces |= first != here;
        let mut row = row(view, scene);
        row.insert(0, Cell::from(here));
        if wide {
            row.extend(wide_cells(view));
        }
        self.rows.push(row);
    }

    /// The text.
    pub(super) fn end(mut self, wide: bool, scene: &Scene) -> String {
        let mut heading = vec!["NAME", "READY", "NAMES", "EXPIRES", "RENEWS", "ISSUER", "LAST"];
        if self.has_namespaces {
            heading.insert(0, "NAMESPACE");
        } else {
            for row in &mut self.rows {
                row.remove(0);
            }
        }
        if wide {
            heading.extend(["REVISION", "KEY", "SERIAL", "ORDER", "SECRET", "MANIFEST"]);
        }
        listed(&heading, &self.rows, scene.color, scene.table_width())
    }
}

fn row(view: &CertificateView, scene: &Scene) -> Vec<Cell> {
    let state = view.outlook.state;
    vec![
        Cell::from(&view.key.name),
        Cell::painted(state.word(), state.paint()),
        Cell::from(first_and_count(&view.names())),
        expires(view, scene),
        renews(view, scene),
        Cell::from(view.issuer_ref().map_or("", |issuer| issuer.name.as_str())),
        last_and_pending(view, scene.now),
    ]
}

fn first_and_count(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first, others @ ..] => format!("{first} +{}", others.len()),
    }
}

fn expires(view: &CertificateView, scene: &Scene) -> Cell {
    match &view.leaf {
        None => Cell::from(""),
        Some(Err(_)) => Cell::from("unreadable"),
        Some(Ok(_)) if view.is_temporary() => Cell::from("temporary"),
        Some(Ok(leaf)) => {
            let at = leaf.not_after;
            Cell::from(date_and_distance(at, scene)).or_shorter(distance(at, scene))
        }
    }
}

fn renews(view: &CertificateView, scene: &Scene) -> Cell {
    let cell = Cell::from(next::cell(view, scene));
    match view.outlook.when {
        When::At(at) => cell.or_shorter(distance(at, scene)),
        When::NextRun | When::Waits(_) | When::Blocked | When::UnderWay | When::Never => cell,
    }
}

/// The newest of what happened: `issued 2m ago`, or what failed and how often, or what it waits for.
fn last(view: &CertificateView, now: Timestamp) -> Cell {
    if view.damage.is_some() {
        return Cell::from("its state cannot be read");
    }
    if let Some(Mistake { path, line, .. }) = &view.mistake {
        let path = path.to_string_lossy();
        return Cell::from(if *line == 0 { path.into_owned() } else { format!("{path}:{line}") });
    }
    if view.outlook.state == State::Deferred && view.failure().is_none() {
        return Cell::from(if view.limit.is_some() {
            "waits for a rate limit of the CA"
        } else {
            "waits as long as the CA asked"
        });
    }
    let order = view.order().filter(|_| view.order_moved_at().is_some() && !view.has_failed());
    if let Some(order) = order {
        return Cell::from(if view.worker.is_some() {
            "under way".to_owned()
        } else if view.orders_other_names() {
            "waits for the next run".to_owned()
        } else {
            order_waits_briefly(order)
        });
    }
    let record = view.record.as_ref();
    let back = view.went_back().map(|back| back.done_at.unwrap_or(back.requested_at));
    let undeployed = record.and_then(newest_undeployed);
    let failed_at = record.and_then(|record| record.status.last_failure_time);
    let is_newest = |failure: &&Failure| {
        let at = failure.at.or(failed_at);
        undeployed.is_none_or(|step| step.last_failure_time <= at) && back <= at
    };
    if let Some(failure) = view.failure().filter(is_newest) {
        let times = if failure.counts() { times(view.failures()) } else { String::new() };
        return Cell::from(in_words(failure.class, problem_kind(view)) + &times);
    }
    if let Some(step) = undeployed {
        let what = in_words(step.failure().class, None);
        return Cell::from(what + &times(step.failed_attempts));
    }
    if let Some(at) = view.revoked().and_then(|revoked| revoked.revoked_at) {
        return Cell::from(format!("revoked {}", time::relative(at, now)));
    }
    if let Some(at) = back {
        return Cell::from(format!("rolled back {}", time::relative(at, now)));
    }
    let issued = view
        .requests
        .iter()
        .rev()
        .flat_map(|request| &request.conditions)
        .find(|found| found.reason == Reason::Issued && found.status == ConditionStatus::True);
    let issued = issued
        .map(|found| format!("issued {}", time::relative(found.last_transition_time, now)))
        .unwrap_or_default();
    Cell::from(issued).minor()
}

/// A failure, and the CA's word for it.
fn in_words(class: FailureClass, problem: Option<&str>) -> String {
    let what = match class {
        FailureClass::Validation => "validation failed",
        FailureClass::Ca => "refused by the CA",
        FailureClass::Unreachable if problem.is_some() => "error of the CA",
        FailureClass::Unreachable => "CA not reachable",
        FailureClass::Precondition => "setup incomplete",
        FailureClass::Output => "deployment failed",
        FailureClass::State => "state not usable",
        FailureClass::Other => "failed",
    };
    problem.map_or_else(|| what.to_owned(), |problem| format!("{what}: {problem}"))
}

/// The same, and a revocation that is still to come.
fn last_and_pending(view: &CertificateView, now: Timestamp) -> Cell {
    let last = last(view, now);
    if view.owed_revocation().is_some() { last.and("revocation pending") } else { last }
}

/// How often in a row.
fn times(failures: u32) -> String {
    match failures {
        0 => String::new(),
        1 => ", 1 failure".to_owned(),
        failures => format!(", {failures} failures"),
    }
}

/// The step of deployment that failed last.
fn newest_undeployed(record: &CertificateRecord) -> Option<&Deployment> {
    let failed = record.deployments.iter().filter(|step| step.failed_attempts > 0);
    failed.max_by_key(|step| step.last_failure_time)
}

fn wide_cells(view: &CertificateView) -> [Cell; 6] {
    let leaf = view.readable_leaf();
    let revision = view.record.as_ref().and_then(|record| record.status.revision);
    let manifest = view.certificate.as_ref().map(|certificate| certificate.origin.path.as_path());
    let recorded = view.record.as_ref().and_then(|record| record.manifest.as_deref());
    [
        Cell::from(revision.map(|number| number.to_string()).unwrap_or_default()),
        Cell::from(leaf.map_or("", |leaf| &leaf.key_description)),
        Cell::from(leaf.map_or("", |leaf| &leaf.serial)),
        Cell::from(view.order().map_or("", |order| &order.name)),
        Cell::from(view.secret_path.to_string_lossy()),
        Cell::from(manifest.or(recorded).map(|path| path.to_string_lossy()).unwrap_or_default()),
    ]
}
