//! What an order in progress waits for.

use crate::cli::output::escape;
use crate::resource::{Challenge, Order, OrderPhase, Phase};
use crate::workspace::view::CertificateView;

/// What the order in progress waits for; where the last checks of its challenges are shown beside it,
/// without `reasons`.
pub(super) fn waits_for(view: &CertificateView, reasons: bool) -> Vec<String> {
    let is_working = view.worker.is_some();
    if !is_working && view.orders_other_names() {
        let next = if reasons { REPLACES_ORDER } else { NEXT_RUN };
        return vec![next.to_owned()];
    }
    view.order().map(|order| order_waits_for(order, is_working, reasons)).unwrap_or_default()
}

/// What an order waits for; without a process that `is_working` on it, never for a slot. Where the
/// last checks of its challenges are shown beside it, without `reasons`.
pub(super) fn order_waits_for(order: &Order, is_working: bool, reasons: bool) -> Vec<String> {
    let at_ca = match order.phase {
        OrderPhase::Solving(_) | OrderPhase::Refused { .. } => {
            let open = open(order).into_iter();
            let open: Vec<String> =
                open.filter_map(|one| challenge_waits_for(one, is_working, reasons)).collect();
            return if open.is_empty() { vec![READY_AT_CA.to_owned()] } else { open };
        }
        OrderPhase::Creating if is_working => "the CA: creating the order",
        OrderPhase::Creating => CREATES_ORDER,
        OrderPhase::Authorizing(_) => "the CA: reading the authorizations",
        OrderPhase::Finalizing(_) => "the CA: sending the CSR",
        OrderPhase::Awaiting(_) => "the CA: issuing",
        OrderPhase::Downloading { .. } => "the CA: downloading the certificate",
        OrderPhase::Issued { .. } | OrderPhase::Replaced { .. } | OrderPhase::Failed(_) => NEXT_RUN,
    };
    vec![at_ca.to_owned()]
}

/// The same in a few words.
pub(super) fn order_waits_briefly(order: &Order) -> String {
    match open(order).split_first() {
        Some((first, others)) => {
            let others = others.len();
            let others = if others > 0 { format!(" +{others}") } else { String::new() };
            format!("waits for {} of {}{others}", type_word(first), identifier(first))
        }
        None => "waits for the CA".to_owned(),
    }
}

/// The challenges for which an order waits, first what is known not to work yet. What the CA says of
/// those that it was told of is read with the order, once it was told of all.
fn open(order: &Order) -> Vec<&Challenge> {
    let is_accepted = |one: &&Challenge| one.phase() == Some(Phase::Accepted);
    let open = order.challenges.iter().filter(|one| one.phase().is_some());
    let (accepted, mut open): (Vec<&Challenge>, Vec<&Challenge>) = open.partition(is_accepted);
    open.sort_by_key(|one| !is_obstructed(one));
    if open.is_empty() { accepted } else { open }
}

/// Whether its last self-check failed.
fn is_obstructed(challenge: &Challenge) -> bool {
    challenge.check().is_some_and(|check| !check.has_passed())
}

fn challenge_waits_for(challenge: &Challenge, is_working: bool, reasons: bool) -> Option<String> {
    let phase = challenge.phase()?;
    let action = match phase {
        Phase::Queued | Phase::Requeued if !is_working => NEXT_RUN,
        Phase::Queued if challenge.is_presented() => "a free slot (presented)",
        Phase::Queued => "a free slot",
        Phase::Requeued => "a free slot (presented)",
        Phase::Presenting => "presenting",
        Phase::SelfChecking => "the self-check",
        Phase::Accepting => "accepting",
        Phase::Accepted => "validation by the CA",
    };
    let shown_reason = challenge.shown_reason();
    let reason = match (phase, shown_reason.as_str()) {
        // `action` says it already.
        (_, "") | (Phase::Accepted, _) => String::new(),
        (_, _) if !reasons => String::new(),
        (Phase::Queued | Phase::Requeued, reason) => {
            format!("; its last check found: {}", escape(reason))
        }
        (_, reason) => format!(": {}", escape(reason)),
    };
    Some(format!("{} for {}: {action}{reason}", type_word(challenge), identifier(challenge)))
}

/// The type in cert-manager's spelling: `HTTP-01`, `DNS-01`.
pub(super) fn type_word(challenge: &Challenge) -> String {
    escape(challenge.spec.kind.as_str()).to_uppercase()
}

/// The identifier with its `*.`.
pub(super) fn identifier(challenge: &Challenge) -> String {
    let prefix = if challenge.spec.wildcard { "*." } else { "" };
    format!("{prefix}{}", challenge.spec.identifier)
}

/// What continues what no process works on.
pub(super) const NEXT_RUN: &str = "the next run of certctl issue";
/// The same for an order of names that the manifest does not have any more.
pub(super) const REPLACES_ORDER: &str =
    "the next run of certctl issue, which makes another order: the manifest has other names";
/// The same for an order that the CA does not have.
const CREATES_ORDER: &str = "the next run of certctl issue, which creates the order";
const READY_AT_CA: &str = "the CA: reading the order";
