//! Waits of an order in progress, and its remaining clean-up.

use crate::resource::dns01::record_name;
use crate::resource::{
    Challenge, ChallengeSpec, CnameStrategy, Dns01, Dns01Provider, Order, OrderPhase, Phase,
    Presence, challenge_url, escape,
};
use crate::solver::dns01::txt_value;
use crate::workspace::view::CertificateView;

/// Lists the waits of the order in progress; where the last checks of its challenges are shown
/// beside it, without `reasons`.
pub(in crate::cli) fn waits_for(view: &CertificateView, reasons: bool) -> Vec<String> {
    let is_working = view.worker.is_some();
    if !is_working && view.orders_other_names() {
        let next = if reasons { REPLACES_ORDER } else { NEXT_RUN };
        return vec![next.to_owned()];
    }
    view.order().map(|order| order_waits_for(order, is_working, reasons)).unwrap_or_default()
}

/// Lists the waits of an order; without a process that `is_working` on it, never for a slot. Where
/// the last checks of its challenges are shown beside it, without `reasons`.
pub(in crate::cli) fn order_waits_for(
    order: &Order,
    is_working: bool,
    reasons: bool,
) -> Vec<String> {
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

/// The challenges for which an order waits, first what is known not to work yet. What the CA says of
/// those that it was told of is read with the order, once it was told of all.
fn open(order: &Order) -> Vec<&Challenge> {
    let is_accepted = |one: &&Challenge| one.phase() == Some(Phase::Accepted);
    let open = order.challenges.iter().filter(|one| one.phase().is_some());
    let (accepted, mut open): (Vec<&Challenge>, Vec<&Challenge>) = open.partition(is_accepted);
    open.sort_by_key(|one| !is_obstructed(one));
    if open.is_empty() { accepted } else { open }
}

/// Returns whether its last self-check failed.
fn is_obstructed(challenge: &Challenge) -> bool {
    challenge.check().is_some_and(|check| !check.has_passed())
}

fn challenge_waits_for(challenge: &Challenge, is_working: bool, reasons: bool) -> Option<String> {
    let phase = challenge.phase()?;
    let action = match phase {
        // The next run continues it, as it does with every order.
        Phase::Queued | Phase::Requeued if !is_working => "",
        Phase::Queued if challenge.is_presented() => "a free slot (presented)",
        Phase::Queued => "a free slot",
        Phase::Requeued => "a free slot (presented)",
        Phase::Presenting => "presenting",
        Phase::SelfChecking => "the self-check",
        Phase::Accepting => "accepting",
        Phase::Accepted => "the CA's answer",
    };
    let shown_reason = challenge.shown_reason();
    let reason = match (phase, shown_reason.as_str()) {
        // `action` says it already.
        (_, "") | (Phase::Accepted, _) => String::new(),
        (_, _) if !reasons => String::new(),
        (_, reason) => format!(": {}", escape(reason)),
    };
    let action = if action.is_empty() { String::new() } else { format!(": {action}") };
    let (kind, name) = (type_word(challenge), identifier(challenge));
    Some(format!("{kind} validation of {name}{action}{reason}"))
}

/// The type in cert-manager's spelling: `HTTP-01`, `DNS-01`.
pub(in crate::cli) fn type_word(challenge: &Challenge) -> String {
    escape(challenge.spec.kind.as_str()).to_uppercase()
}

/// The identifier with its `*.`.
pub(in crate::cli) fn identifier(challenge: &Challenge) -> String {
    let prefix = if challenge.spec.wildcard { "*." } else { "" };
    format!("{prefix}{}", challenge.spec.identifier)
}

/// Every challenge response that may still be published, named so that a person can remove it.
pub(in crate::cli) fn owed(view: &CertificateView) -> Vec<String> {
    let owing = |order: &Order| -> Vec<String> {
        let challenges = order.challenges.iter().filter(|challenge| challenge.owes_clean_up());
        challenges.map(|challenge| format!("{} (order {})", trace(challenge), order.name)).collect()
    };
    view.orders.iter().flat_map(owing).collect()
}

/// Where the CA connects to.
pub(super) fn served_at(spec: &ChallengeSpec) -> String {
    if spec.kind.is_over_http() {
        return challenge_url(&spec.identifier, &escape(&spec.token));
    }
    let port = spec.kind.method().and_then(|method| method.port).unwrap_or_default();
    format!("{}, port {port}, {}", spec.identifier, escape(spec.kind.as_str()))
}

/// Where the answer of a challenge is seen (RFC 8555 sections 8.3 and 8.4).
fn trace(challenge: &Challenge) -> String {
    let spec = &challenge.spec;
    match spec.kind.method().map(|method| method.presence) {
        Some(Presence::Served) => served_at(spec),
        Some(Presence::Record) => {
            let value = txt_value(&spec.key);
            let place = spec.solver.dns01().map(written_at).unwrap_or_default();
            format!("TXT {} \"{value}\"{place}", record_name(&spec.identifier))
        }
        None => format!("{} for {}", escape(spec.kind.as_str()), spec.identifier),
    }
}

/// Names the provider of the record, and its name if that is another one.
fn written_at(dns01: &Dns01) -> String {
    let provider = if let Dns01Provider::Webhook(webhook) = &dns01.provider {
        &webhook.solver_name
    } else {
        dns01.provider.name()
    };
    match dns01.cname_strategy {
        Some(CnameStrategy::Follow) => {
            format!(" at {}, or at the CNAME's target", escape(provider))
        }
        Some(CnameStrategy::None) | None => format!(" at {}", escape(provider)),
    }
}

/// Name of the run that continues an order that no process works on.
pub(in crate::cli) const NEXT_RUN: &str = "the next run of certctl issue";
/// The same for an order of names that the manifest does not have any more.
pub(in crate::cli) const REPLACES_ORDER: &str = "the next run of certctl issue, which starts a new order because the names in the manifest \
     changed";
/// The same for an order that the CA does not have.
const CREATES_ORDER: &str = "the next run of certctl issue, which creates the order";
const READY_AT_CA: &str = "the CA: reading the order";
