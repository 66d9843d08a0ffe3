//! What never changes once it is written.
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
        ("revision", old.revision != new.revision),
        ("certificate", is_lost(old.certificate.as_ref(), new.certificate.as_ref())),
    ];
    first(fields)
}

/// An order: its spec, its challenges' specs, what was read of its authorizations, and each URL
/// and the certificate once set. Nothing is taken out of a list.
pub(super) fn changed_in_order(old: &Order, new: &Order) -> Option<String> {
    let fields = [
        ("spec", old.spec != new.spec),
        ("url", is_lost(old.url.as_ref(), new.url.as_ref())),
        ("finalizeURL", is_lost(old.finalize_url.as_ref(), new.finalize_url.as_ref())),
        ("certificateURL", is_lost(old.certificate_url.as_ref(), new.certificate_url.as_ref())),
        ("certificate", is_lost(old.certificate.as_ref(), new.certificate.as_ref())),
        ("authorizations", new.authorizations.len() < old.authorizations.len()),
        ("challenges", new.challenges.len() < old.challenges.len()),
    ];
    first(fields).or_else(|| changed_in_authorizations(old, new)).or_else(|| {
        let pairs = old.challenges.iter().zip(&new.challenges);
        let index = pairs.into_iter().position(|(old, new)| old.spec != new.spec)?;
        Some(format!("challenges[{index}].spec"))
    })
}

fn changed_in_authorizations(old: &Order, new: &Order) -> Option<String> {
    let pairs = old.authorizations.iter().zip(&new.authorizations);
    pairs.enumerate().find_map(|(index, (old, new))| {
        let field = changed_in_authorization(old, new)?;
        Some(format!("authorizations[{index}].{field}"))
    })
}

fn changed_in_authorization(old: &Authorization, new: &Authorization) -> Option<String> {
    let has_been_read = old.identifier.is_some();
    first([
        ("url", old.url != new.url),
        ("identifier", is_lost(old.identifier.as_ref(), new.identifier.as_ref())),
        ("wildcard", has_been_read && old.wildcard != new.wildcard),
        ("initialState", is_lost(old.initial_state.as_ref(), new.initial_state.as_ref())),
        ("challenges", !old.challenges.is_empty() && old.challenges != new.challenges),
    ])
}

/// Whether a value that was set is gone or another one.
fn is_lost<T: PartialEq>(old: Option<&T>, new: Option<&T>) -> bool {
    old.is_some() && old != new
}

fn first<const N: usize>(fields: [(&str, bool); N]) -> Option<String> {
    fields.iter().find(|(_, changed)| *changed).map(|(field, _)| (*field).to_owned())
}
