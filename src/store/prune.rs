//! Which documents of a certificate have outlived their use.
//!
//! Kept are: requests of the newest revisions up to the live one, as many as revisionHistoryLimit
//! says, and all newer ones; orders of kept requests; the last three failed orders whatever their
//! revision, for a user of cron needs the evidence. Never removed: an order that owes a clean-up,
//! that is current, or that is not final yet.

use crate::engine::ports::Key;
use crate::resource::{CertificateRecord, Deed, NamespacedName, Order};

/// How many failed orders are kept.
const FAILED_ORDERS: usize = 3;

/// The documents to remove. `requests` are revisions and `orders` are by revision and number, both
/// ascending; documents that cannot be read are not among them, and so stay.
pub(super) fn superfluous(
    certificate: &NamespacedName,
    record: &CertificateRecord,
    history_limit: usize,
    requests: &[u32],
    orders: &[((u32, u32), Order)],
) -> Vec<Key> {
    let live = record.status.revision.unwrap_or_default();
    let mut past: Vec<u32> = requests.iter().copied().filter(|r| *r <= live).collect();
    past.truncate(past.len().saturating_sub(history_limit.max(1)));
    let failed = orders.iter().rev().filter(|(_, order)| has_failed(order));
    let evidence: Vec<_> = failed.take(FAILED_ORDERS).map(|(id, _)| *id).collect();

    let is_superfluous = |id: &(u32, u32), order: &Order| {
        let is_current = record.status.order_ref.as_ref() == Some(&order.name);
        let is_past = has_failed(order) || past.contains(&id.0) || !requests.contains(&id.0);
        let is_final = order.deed == Deed::Nothing || order.state.is_failure();
        is_past && is_final && !is_current && !order.owes_clean_up() && !evidence.contains(id)
    };
    let old_orders = orders
        .iter()
        .filter(|(id, order)| is_superfluous(id, order))
        .map(|(id, _)| Key::Order(certificate.clone(), id.0, id.1));
    let old_requests = past.iter().map(|revision| Key::Request(certificate.clone(), *revision));
    old_orders.chain(old_requests).collect()
}

fn has_failed(order: &Order) -> bool {
    order.state.is_failure()
}
