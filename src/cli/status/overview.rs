//! `certctl status`: one line per certificate.

use jiff::Timestamp;

use super::scene::Scene;
use super::table::{Cell, render};
use super::verdict::{Verdict, problem_kind};
use crate::cli::exit::ExitCode;
use crate::cli::time;
use crate::resource::{CertificateRecord, ConditionStatus, Deployment, Failure, Reason};
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
        render(&heading, &self.rows, scene.color, scene.width)
    }
}

fn row(view: &CertificateView, scene: &Scene) -> Vec<Cell> {
    let verdict = Verdict::of(view, scene.now);
    vec![
        Cell::from(&view.key.name),
        Cell::painted(verdict.word(), verdict.paint()),
        Cell::from(first_and_count(&view.names())),
        Cell::from(expires(view, scene)),
        Cell::from(renews(view, verdict, scene)),
        Cell::from(view.issuer_ref().map_or("", |issuer| issuer.name.as_str())),
        Cell::from(last_and_pending(view, scene.now)),
    ]
}

fn first_and_count(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first, others @ ..] => format!("{first} +{}", others.len()),
    }
}

fn expires(view: &CertificateView, scene: &Scene) -> String {
    match &view.leaf {
        None => String::new(),
        Some(Err(_)) => "unreadable".to_owned(),
        Some(Ok(_)) if view.is_temporary() => "temporary".to_owned(),
        Some(Ok(leaf)) => date_and_distance(leaf.not_after, scene),
    }
}

fn renews(view: &CertificateView, verdict: Verdict, scene: &Scene) -> String {
    let is_lost =
        view.certificate.is_none() || matches!(verdict, Verdict::Invalid | Verdict::Damaged);
    if is_lost || (view.ends_here() && !view.is_issuing()) {
        return "never".to_owned();
    }
    match (view.next_attempt, view.renewal_time) {
        (Some(at), _) if at > scene.now => format!("retry {}", time::relative(at, scene.now)),
        (_, _) if verdict == Verdict::Failed => "retry due".to_owned(),
        (_, Some(at)) if verdict == Verdict::Overdue => {
            format!("due {}", time::relative(at, scene.now))
        }
        (_, _) if verdict == Verdict::Revoked => "due".to_owned(),
        (_, _) if view.never_renews() => "never".to_owned(),
        (_, Some(at)) if at > scene.now && view.is_suggested => {
            format!("{} ARI", date_and_distance(at, scene))
        }
        (_, Some(at)) if at > scene.now => date_and_distance(at, scene),
        (_, Some(_)) => "due".to_owned(),
        (_, None) => String::new(),
    }
}

/// `2027-02-18 90d`, `2026-11-01 20d ago`.
fn date_and_distance(at: Timestamp, scene: &Scene) -> String {
    let distance = time::relative(at, scene.now);
    let distance = distance.strip_prefix("in ").unwrap_or(&distance);
    format!("{} {distance}", time::local_date(at, &scene.zone))
}

/// The newest of what happened: `issued 2m ago`, or the exit code of a failure, its word and how
/// often.
fn last(view: &CertificateView, now: Timestamp) -> String {
    if view.damage.is_some() {
        return format!("{}: state", ExitCode::State.number());
    }
    if let Some(Mistake { path, line, .. }) = &view.mistake {
        let path = path.to_string_lossy();
        return if *line == 0 { path.into_owned() } else { format!("{path}:{line}") };
    }
    let record = view.record.as_ref();
    let failure = view.failure();
    let undeployed = record.and_then(newest_undeployed);
    let failed_at = record.and_then(|record| record.status.last_failure_time);
    let is_newest = |failure: &&Failure| {
        undeployed.is_none_or(|step| step.last_failure_time <= failure.at.or(failed_at))
    };
    if let Some(failure) = failure.filter(is_newest) {
        let code = ExitCode::from(failure.class).number();
        let word = problem_kind(view).unwrap_or(failure.class.word());
        return format!("{code}: {word}{}", times(view.failures()));
    }
    if let Some(step) = undeployed {
        let class = step.failure().class;
        let (code, word) = (ExitCode::from(class).number(), class.word());
        return format!("{code}: {word}{}", times(step.failed_attempts));
    }
    if let Some(at) = view.revoked().and_then(|revoked| revoked.revoked_at) {
        return format!("revoked {}", time::relative(at, now));
    }
    let issued = view
        .requests
        .iter()
        .rev()
        .flat_map(|request| &request.conditions)
        .find(|found| found.reason == Reason::Issued && found.status == ConditionStatus::True);
    issued
        .map(|found| format!("issued {}", time::relative(found.last_transition_time, now)))
        .unwrap_or_default()
}

/// The same, and a revocation that is still to come.
fn last_and_pending(view: &CertificateView, now: Timestamp) -> String {
    let pending = view.owed_revocation().map(|_| "revocation pending".to_owned());
    let parts = [Some(last(view, now)), pending].into_iter().flatten();
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("; ")
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
