//! Which documents of a certificate are obsolete.
//!
//! Kept are: requests of the newest revisions up to the live one, as many as revisionHistoryLimit
//! says, and all newer ones; orders of kept requests; the last three failed orders whatever their
//! revision, because a cron user needs the evidence. Never removed: an order that owes a clean-up,
//! that is current, or that is not final yet.

use crate::resource::{CertificateRecord, Order};
use crate::store::key::{Key, Part};

/// How many failed orders are kept.
const FAILED_ORDERS: usize = 3;

/// The documents to remove. `requests` are revisions and `orders` are by revision and number, both
/// ascending; documents that cannot be read are not among them, and so stay.
pub(super) fn superfluous(
    record: &CertificateRecord,
    history_limit: usize,
    requests: &[u32],
    orders: &[((u32, u32), Order)],
) -> Vec<Part> {
    let live = record.status.revision.unwrap_or_default();
    let past = past_revisions(live, history_limit, requests);
    let failed = orders.iter().rev().filter(|(_, order)| has_failed(order));
    let evidence: Vec<_> = failed.take(FAILED_ORDERS).map(|(id, _)| *id).collect();

    let is_superfluous = |id: &(u32, u32), order: &Order| {
        let is_current = record.status.order_ref.as_ref() == Some(&order.name);
        let is_past = has_failed(order) || past.contains(&id.0) || !requests.contains(&id.0);
        let is_final = !order.phase.is_open() || order.state.is_failure();
        is_past && is_final && !is_current && !order.owes_clean_up() && !evidence.contains(id)
    };
    let old_orders = orders
        .iter()
        .filter(|(id, order)| is_superfluous(id, order))
        .map(|(id, _)| Part::Order(id.0, id.1));
    let old_requests = past.iter().map(|revision| Part::Request(*revision));
    old_orders.chain(old_requests).collect()
}

/// The revisions of obsolete requests: all but the newest `history_limit` of
/// those up to the live one. `requests` is ascending.
pub fn past_revisions(live: u32, history_limit: usize, requests: &[u32]) -> Vec<u32> {
    let mut past: Vec<u32> = requests.iter().copied().filter(|r| *r <= live).collect();
    past.truncate(past.len().saturating_sub(history_limit.max(1)));
    past
}

/// The pairs to remove of these, which are by revision: those before the last revision that is older
/// than the live one, and those of the live one that the record does not name. A newer one is about to
/// be named.
pub(super) fn past_pairs(record: &CertificateRecord, pairs: &[Key]) -> Vec<Key> {
    let live = record.status.revision.unwrap_or_default();
    let named = |key: &Key| match key {
        Key::Pair(_, revision, fingerprint) => Some((*revision, fingerprint.clone())),
        Key::Certificate(_)
        | Key::Part(..)
        | Key::Account(_)
        | Key::AccountKey(_)
        | Key::AccountLimits(_)
        | Key::BannedKeys
        | Key::Revoked(_)
        | Key::Scheduler => None,
    };
    let revisions = pairs.iter().filter_map(named).map(|(revision, _)| revision);
    let before = revisions.filter(|revision| *revision < live).max().unwrap_or_default();
    let is_past = |key: &&Key| {
        named(key).is_some_and(|(revision, fingerprint)| match &record.issued_fingerprint {
            Some(issued) if revision == live => *issued != fingerprint,
            Some(_) | None => revision < before,
        })
    };
    pairs.iter().filter(is_past).cloned().collect()
}

fn has_failed(order: &Order) -> bool {
    order.state.is_failure()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{NamespacedName, OrderPhase, OrderState};
    use crate::store::samples;

    fn order(id: (u32, u32), state: OrderState) -> ((u32, u32), Order) {
        let mut order = samples::order();
        if state != OrderState::Pending {
            order.phase = OrderPhase::Failed(order.phase.failed());
        }
        (id, Order { name: format!("web-{}-{}", id.0, id.1), state, ..order })
    }

    fn removed(limit: usize, requests: &[u32], orders: &[((u32, u32), Order)]) -> Vec<Part> {
        let mut record = samples::record();
        record.status.order_ref = Some("web-8-6".to_owned());
        superfluous(&record, limit, requests, orders)
    }

    #[test]
    fn requests_are_kept_up_to_the_limit_and_never_the_live_or_a_newer_one() {
        let key = Part::Request;
        let all = [4, 5, 6, 7, 8];
        assert_eq!(removed(0, &all, &[]), [key(4), key(5), key(6)]);
        assert_eq!(removed(1, &all, &[]), [key(4), key(5), key(6)]);
        assert_eq!(removed(2, &all, &[]), [key(4), key(5)]);
        assert_eq!(removed(9, &all, &[]), []);
    }

    #[test]
    fn an_order_goes_when_nobody_can_want_it_any_more() {
        use OrderState::{Errored, Expired, Invalid, Pending, Valid};
        let mut owing = order((8, 2), Invalid);
        owing.1.challenges[0].presented.is_owed = true;
        let orders = [
            order((5, 1), Valid),   // its request is gone
            order((6, 1), Valid),   // its request goes
            order((6, 2), Pending), // not final
            order((7, 1), Valid),   // of the live revision
            order((8, 1), Invalid), // older than three failed ones
            owing,                  // likewise, but owes a clean-up
            order((8, 3), Expired),
            order((8, 4), Errored),
            order((8, 5), Invalid),
            order((8, 6), Pending), // current
        ];
        let expected = [Part::Order(5, 1), Part::Order(6, 1), Part::Order(8, 1), Part::Request(6)];
        assert_eq!(removed(1, &[6, 7, 8], &orders), expected);
    }

    #[test]
    fn the_pairs_of_the_live_revision_and_the_one_before_stay_and_those_that_come() {
        let pair = |revision, of: &str| {
            Key::Pair(NamespacedName::new("default", "web"), revision, of.to_owned())
        };
        let mut record = samples::record();
        (record.status.revision, record.issued_fingerprint) = (Some(8), Some("b".to_owned()));
        let all = [(3, "a"), (5, "a"), (6, "a"), (6, "b"), (8, "a"), (8, "b"), (9, "a")];
        let all = all.map(|(revision, of)| pair(revision, of));
        let expected = [pair(3, "a"), pair(5, "a"), pair(8, "a")];
        assert_eq!(past_pairs(&record, &all), expected);
        assert_eq!(past_pairs(&record, &all[6..]), []);
        (record.status.revision, record.issued_fingerprint) = (None, None);
        assert_eq!(past_pairs(&record, &all), []);
    }

    #[test]
    fn the_current_order_stays_even_if_it_is_an_old_failure() {
        let mut orders: Vec<_> =
            (1..=9).map(|number| order((8, number), OrderState::Invalid)).collect();
        orders.insert(0, order((7, 1), OrderState::Valid));
        let expected: Vec<_> = (1..=5).map(|number| Part::Order(8, number)).collect();
        assert_eq!(removed(1, &[7, 8], &orders), expected);
    }
}
