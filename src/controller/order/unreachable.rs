//! Orders at which nothing helps: a URL gives no answer, or the CA says nothing to work on.

use jiff::Timestamp;

use super::end::{fail, given_up};
use crate::controller::{Change, Record, Snapshot, backoff};
use crate::resource::{CaFault, Cause, Doing, Failure, FailureClass, Order, OrderPhase, rfc3339};

/// The record of an outcome; when the error of a URL of the order ends the run, another order takes
/// the place of this one if it has expired, or, once, if the error has come back for a day. The
/// CA's server errors count instead.
pub(in crate::controller) fn replaced_if_unreachable(
    snapshot: &mut Snapshot,
    record: Record,
    now: Timestamp,
) -> Record {
    let Some((doing, error)) = &snapshot.run.error else { return record };
    let failure = error.failure(*doing);
    let changed = record
        .changes
        .iter()
        .find_map(|change| if let Change::Order(order) = change { Some(&**order) } else { None });
    let Some(order) = changed.or_else(|| snapshot.current_order()) else { return record };
    let Some(since) = backoff::since(snapshot, &failure, now) else { return record };
    if snapshot.run.order.was_requested || !order.phase.is_open() {
        return record;
    }
    let expired = order.expires.filter(|expires| *expires <= now && !has_csr(order));
    let is_old = since.duration_until(now) >= backoff::LASTING;
    let why = match expired {
        Some(expired) => format!("it expired at {}: {failure}", rfc3339(expired)),
        None if is_old && !failure.is_server_error() && !order.is_replacement => {
            format!("no answer since {}: {failure}", rfc3339(since))
        }
        None => return record,
    };
    let order = given_up(order, &why, now);
    snapshot.run.error = None;
    snapshot.run.order.note_replaced();
    Record { changes: vec![Change::Order(Box::new(order))], events: record.events }
}

/// Whether a CSR may have been sent: from then on only the certificate's URL matters.
fn has_csr(order: &Order) -> bool {
    matches!(order.phase, OrderPhase::Awaiting(_) | OrderPhase::Downloading { .. })
}

/// An order that has been stuck for a day: replaced, or failed when it is a replacement itself.
pub(super) fn end_of_stuck(
    snapshot: &mut Snapshot,
    order: &Order,
    now: Timestamp,
) -> Option<Order> {
    let why = order.stuck()?;
    if snapshot.run.order.was_requested
        || order.creation_timestamp.duration_until(now) < backoff::LASTING
    {
        return None;
    }
    if order.is_replacement {
        let mut order = order.clone();
        let cause = Cause::ca(CaFault::Unusable, why);
        fail(&mut order, Failure::new(FailureClass::Ca, Doing::ReadOrder, cause));
        return Some(order);
    }
    snapshot.run.order.note_replaced();
    Some(given_up(order, why, now))
}
