//! The directory (RFC 8555 section 7.1.1), newNonce and the terms of service.

use http::header::CACHE_CONTROL;
use serde_json::json;

use super::Shared;
use super::problem::with_some;
use super::reply::{Content, Reply};
use super::route::Route;

pub(super) fn directory(shared: &Shared) -> Reply {
    let url = |route| shared.url(route);
    let options = &shared.options;
    let is_bound = !options.external_account_keys.is_empty();
    let identities = (!options.caa_identities.is_empty()).then(|| json!(options.caa_identities));
    let meta = with_some(
        json!({ "termsOfService": url(Route::Terms), "website": url(Route::Terms) }),
        [
            ("externalAccountRequired", is_bound.then_some(true.into())),
            ("caaIdentities", identities),
            ("profiles", (!options.profiles.is_empty()).then(|| json!(options.profiles))),
        ],
    );
    let document = json!({
        "newNonce": url(Route::NewNonce),
        "newAccount": url(Route::NewAccount),
        "newOrder": url(Route::NewOrder),
        "revokeCert": url(Route::Revoke),
        "meta": meta,
    });
    let renewal_info = options.renewal_info.then(|| url(Route::RenewalInfo).into());
    Reply::json(200, with_some(document, [("renewalInfo", renewal_info)]))
}

/// RFC 8555 section 7.2: 200 for HEAD, 204 for GET; the nonce itself is added to every answer.
pub(super) fn new_nonce(is_head: bool) -> Reply {
    let status = if is_head { 200 } else { 204 };
    Reply::new(status, Content::Empty).header(CACHE_CONTROL, "no-store".into())
}

pub(super) fn terms() -> Reply {
    Reply::new(200, Content::Text("This CA is a rehearsal: no client trusts its certificates.\n"))
}
