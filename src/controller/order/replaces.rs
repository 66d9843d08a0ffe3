//! Which certificate an order replaces, and what the CA's refusal to hear that means.

use jiff::Timestamp;

use crate::controller::{Change, EffectError, Record, Snapshot};
use crate::resource::{CaFault, Cause, Identifier, Order, Problem, Reason};

/// The identifier of the live certificate, if the CA, the account and a name of the order are its
/// own (RFC 9773 section 5).
pub(super) fn replaced_by(snapshot: &Snapshot, identifiers: &[Identifier]) -> Option<String> {
    let issuer = &snapshot.issuer().acme;
    let account = snapshot.account.as_ref().and_then(|account| account.url.as_ref());
    let leaf = snapshot.live_leaf().filter(|leaf| !leaf.is_temporary())?;
    let has = |identifier: &Identifier| match identifier {
        Identifier::Dns(name) => {
            leaf.dns_names.iter().any(|own| own.eq_ignore_ascii_case(name.as_str()))
        }
        Identifier::Ip(address) => leaf.ip_addresses.contains(address),
    };
    let has_renewal_info = issuer.asks_when_to_renew();
    let is_theirs = snapshot.record.issued_by() == Some(&issuer.server)
        && account.is_some()
        && account == snapshot.issued_account.as_ref();
    let shares_a_name = identifiers.iter().any(has);
    leaf.certificate_id.clone().filter(|_| has_renewal_info && is_theirs && shares_a_name)
}

/// Whether newOrder may have been refused because it names the certificate that it replaces.
pub(super) fn is_refused(order: &Order, error: &EffectError) -> bool {
    let Cause::Ca(ca) = &error.cause else { return false };
    let is_answer = matches!(ca.fault, CaFault::ServerError | CaFault::Refused | CaFault::Gone);
    let kind = ca.problem.as_deref().map(Problem::short_kind);
    let is_of_account = matches!(kind, Some("rateLimited" | "userActionRequired"));
    order.replaces.is_some() && is_answer && !ca.url.is_empty() && !is_of_account
}

/// The order is asked for once more, without that. Its record says so before it is sent.
pub(super) fn without(order: Order, error: &EffectError, now: Timestamp) -> Record {
    let order = Order { replaces: None, ..order };
    let message =
        format!("The CA refused the `replaces` of the order; ordering without it: {error}");
    Record::of(Change::Order(Box::new(order))).warning(now, Reason::Failed, message)
}
