//! The immutable fields of stored documents.
//!
//! Contract: each check returns the JSON name of the first field that would change.

use crate::resource::{Authorization, CertificateRequest, Order};

/// A request: its spec and revision; its certificate once it has one.
pub(super) fn changed_in_request(
    old: &CertificateRequest,
    new: &CertificateRequest,
) -> Option<String> {
    let fields = [
        ("spec", old.spec != new.spec),
        ("certificateSpec", old.certificate_spec != new.certificate_spec),
        ("revision", old.revision != new.revision),
        ("certificate", is_lost(old.certificate.as_ref(), new.certificate.as_ref())),
    ];
    first(fields)
}

/// An order: its spec, its challenges' specs, what was read of its authorizations, its URL and the
/// certificate once set. The CA may say other URLs anew.
pub(super) fn changed_in_order(old: &Order, new: &Order) -> Option<String> {
    let fields = [
        ("spec", old.spec != new.spec),
        ("url", is_lost(old.url(), new.url())),
        ("certificate", new.failed().is_none() && is_lost(old.certificate(), new.certificate())),
        ("challenges", new.challenges.len() < old.challenges.len()),
    ];
    first(fields).or_else(|| changed_in_authorizations(old, new)).or_else(|| {
        let pairs = old.challenges.iter().zip(&new.challenges);
        let index = pairs.into_iter().position(|(old, new)| old.spec != new.spec)?;
        Some(format!("challenges[{index}].spec"))
    })
}

fn changed_in_authorizations(old: &Order, new: &Order) -> Option<String> {
    let read = old.authorizations.iter().enumerate().filter(|(_, old)| old.identifier.is_some());
    read.into_iter().find_map(|(index, old)| {
        let Some(new) = new.authorizations.iter().find(|new| new.url == old.url) else {
            return Some(format!("authorizations[{index}].url"));
        };
        let field = changed_in_authorization(old, new)?;
        Some(format!("authorizations[{index}].{field}"))
    })
}

fn changed_in_authorization(old: &Authorization, new: &Authorization) -> Option<String> {
    first([
        ("identifier", is_lost(old.identifier.as_ref(), new.identifier.as_ref())),
        ("wildcard", old.wildcard != new.wildcard),
        ("initialState", is_lost(old.initial_state.as_ref(), new.initial_state.as_ref())),
        ("challenges", !old.challenges.is_empty() && old.challenges != new.challenges),
    ])
}

/// Whether a value that was set is gone or another one.
fn is_lost<T: PartialEq + ?Sized>(old: Option<&T>, new: Option<&T>) -> bool {
    old.is_some() && old != new
}

fn first<const N: usize>(fields: [(&str, bool); N]) -> Option<String> {
    fields.iter().find(|(_, changed)| *changed).map(|(field, _)| (*field).to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::resource::{AuthorizationState, ChallengeState, OrderPhase, OrderState, OrderUrls};
    use crate::store::samples;

    type Change<T> = (&'static str, fn(&mut T), Option<&'static str>);

    fn urls() -> OrderUrls {
        OrderUrls { url: "u".into(), finalize_url: "f".into() }
    }

    fn issued(urls: OrderUrls, certificate_url: &str, certificate: &str) -> OrderPhase {
        let certificate_url = certificate_url.into();
        OrderPhase::Issued { urls, certificate_url, certificate: certificate.into() }
    }

    fn first(order: &mut Order) -> &mut Authorization {
        Arc::make_mut(&mut order.authorizations[0])
    }

    fn full() -> Order {
        Order { phase: issued(urls(), "c", "pem"), ..samples::order() }
    }

    #[test]
    fn what_is_set_in_an_order_stays() {
        let cases: &[Change<Order>] = &[
            ("nothing", |_| (), None),
            ("spec", |o| Arc::make_mut(&mut o.spec).profile = "short".into(), Some("spec")),
            (
                "url",
                |o| o.phase = issued(OrderUrls { url: "x".into(), ..urls() }, "c", "pem"),
                Some("url"),
            ),
            ("no url", |o| o.phase = OrderPhase::Creating, Some("url")),
            (
                "finalize",
                |o| o.phase = issued(OrderUrls { finalize_url: "x".into(), ..urls() }, "c", "pem"),
                None,
            ),
            ("where", |o| o.phase = issued(urls(), "x", "pem"), None),
            ("chain", |o| o.phase = issued(urls(), "c", "x"), Some("certificate")),
            ("given up", |o| o.phase = OrderPhase::Failed(o.phase.failed()), None),
            ("no chain", |o| o.phase = OrderPhase::Awaiting(urls()), Some("certificate")),
            ("no authorizations", |o| o.authorizations.clear(), Some("authorizations[0].url")),
            ("no challenges", |o| o.challenges.clear(), Some("challenges")),
            (
                "solver",
                |o| Arc::make_mut(&mut o.challenges[0].spec).key = "x".into(),
                Some("challenges[0].spec"),
            ),
            ("authz", |o| first(o).url = "x".into(), Some("authorizations[0].url")),
            ("identifier", |o| first(o).identifier = None, Some("authorizations[0].identifier")),
            ("wildcard", |o| first(o).wildcard = true, Some("authorizations[0].wildcard")),
            (
                "initial state",
                |o| first(o).initial_state = Some(AuthorizationState::Valid),
                Some("authorizations[0].initialState"),
            ),
            (
                "offered",
                |o| first(o).challenges = Arc::default(),
                Some("authorizations[0].challenges"),
            ),
            (
                "progress",
                |o| {
                    o.state = OrderState::Ready;
                    o.challenges[0].state = ChallengeState::Valid;
                    o.challenges[0].presented.is_owed = true;
                    o.reason = "because".into();
                    o.challenges.push(o.challenges[0].clone());
                },
                None,
            ),
        ];
        for (case, change, expected) in cases {
            let mut new = full();
            change(&mut new);
            assert_eq!(changed_in_order(&full(), &new).as_deref(), *expected, "{case}");
        }
    }

    #[test]
    fn what_is_not_set_in_an_order_can_be_set_once() {
        let mut old = full();
        old.phase = OrderPhase::Creating;
        let authorization = first(&mut old);
        authorization.identifier = None;
        authorization.initial_state = None;
        authorization.challenges = Arc::default();
        old.challenges.clear();
        let mut new = full();
        first(&mut new).wildcard = true;
        assert_eq!(changed_in_order(&old, &new), None);
        old.authorizations.clear();
        assert_eq!(changed_in_order(&old, &new), None);
    }

    #[test]
    fn what_is_set_in_a_request_stays() {
        let full = || CertificateRequest { certificate: Some("pem".into()), ..samples::request() };
        let cases: &[Change<CertificateRequest>] = &[
            ("spec", |r| r.spec.request = "x".into(), Some("spec")),
            ("requested", |r| r.certificate_spec.is_ca = true, Some("certificateSpec")),
            ("revision", |r| r.revision = 8, Some("revision")),
            ("chain", |r| r.certificate = Some("x".into()), Some("certificate")),
            ("no chain", |r| r.certificate = None, Some("certificate")),
            ("failure", |r| r.failure_time = Some(r.creation_timestamp), None),
        ];
        for (case, change, expected) in cases {
            let mut new = full();
            change(&mut new);
            assert_eq!(changed_in_request(&full(), &new).as_deref(), *expected, "{case}");
        }
        assert_eq!(changed_in_request(&samples::request(), &full()), None);
    }
}
