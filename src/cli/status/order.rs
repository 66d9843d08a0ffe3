//! What an order waits for, and its challenges: their pending clean-up among that.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::cli::output::escape;
use crate::resource::{
    Challenge, ChallengeType, CnameStrategy, Dns01, Dns01Provider, Order, OrderPhase, Phase,
    SolverKind,
};
use crate::workspace::view::CertificateView;

/// What an order waits for.
pub(super) fn order_waits_for(order: &Order) -> Vec<String> {
    let at_ca = match order.phase {
        OrderPhase::Solving(_) | OrderPhase::Refused { .. } => {
            let open: Vec<String> =
                order.challenges.iter().filter_map(challenge_waits_for).collect();
            return if open.is_empty() { vec![READY_AT_CA.to_owned()] } else { open };
        }
        OrderPhase::Creating => "the CA: creating the order",
        OrderPhase::Authorizing(_) => "the CA: reading the authorizations",
        OrderPhase::Finalizing(_) => "the CA: sending the CSR",
        OrderPhase::Awaiting(_) => "the CA: issuing",
        OrderPhase::Downloading { .. } => "the CA: downloading the certificate",
        OrderPhase::Issued { .. } | OrderPhase::Replaced { .. } | OrderPhase::Failed(_) => NEXT_RUN,
    };
    vec![at_ca.to_owned()]
}

fn challenge_waits_for(challenge: &Challenge) -> Option<String> {
    let phase = challenge.phase()?;
    let action = match phase {
        Phase::Queued if challenge.is_presented() => "a free slot (presented)",
        Phase::Queued => "a free slot",
        Phase::Requeued => "a free slot (presented)",
        Phase::Presenting => "presenting",
        Phase::SelfChecking => "the self-check",
        Phase::Accepting => "accepting",
        Phase::Accepted => "validation by the CA",
    };
    let reason = match (phase, challenge.reason.as_str()) {
        // `action` says it already.
        (_, "") | (Phase::Accepted, _) => String::new(),
        (_, reason) => format!(": {}", escape(reason)),
    };
    Some(format!("{} for {}: {action}{reason}", type_word(challenge), identifier(challenge)))
}

/// Every challenge response that may still be published, named so that a person can remove it.
pub(super) fn owed(view: &CertificateView) -> Vec<String> {
    let owing = |order: &Order| -> Vec<String> {
        let challenges = order.challenges.iter().filter(|challenge| challenge.owes_clean_up());
        challenges.map(|challenge| format!("{} (order {})", trace(challenge), order.name)).collect()
    };
    view.orders.iter().flat_map(owing).collect()
}

/// Where the answer of a challenge is seen (RFC 8555 sections 8.3 and 8.4).
fn trace(challenge: &Challenge) -> String {
    let spec = &challenge.spec;
    match &spec.kind {
        ChallengeType::Http01 => {
            format!("http://{}/.well-known/acme-challenge/{}", spec.identifier, escape(&spec.token))
        }
        ChallengeType::Dns01 => {
            let value = URL_SAFE_NO_PAD.encode(digest(&SHA256, spec.key.as_bytes()));
            let place = match &spec.solver.kind {
                SolverKind::Dns01(dns01) => written_at(dns01),
                SolverKind::Http01(_) => String::new(),
            };
            format!("TXT _acme-challenge.{} \"{value}\"{place}", spec.identifier)
        }
        ChallengeType::Other(word) => format!("{} for {}", escape(word), spec.identifier),
    }
}

/// Which provider the record is at, and whether under another name.
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

/// The type in cert-manager's spelling: `HTTP-01`, `DNS-01`.
pub(super) fn type_word(challenge: &Challenge) -> String {
    escape(challenge.spec.kind.as_str()).to_uppercase()
}

/// The identifier with its `*.`.
pub(super) fn identifier(challenge: &Challenge) -> String {
    let prefix = if challenge.spec.wildcard { "*." } else { "" };
    format!("{prefix}{}", challenge.spec.identifier)
}

pub(super) const NEXT_RUN: &str = "the next run of certctl issue";
const READY_AT_CA: &str = "the CA: reading the order";
