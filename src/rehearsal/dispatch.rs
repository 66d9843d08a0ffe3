//! Handles one request: parses and executes it.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Response};

use super::faults::{Answer, Seen};
use super::jws;
use super::problem::Problem;
use super::reply::Reply;
use super::route::Route;
use super::{Shared, account, authorization, certificate, challenge, directory, finalize};
use super::{lock, order};

/// A request with its whole body.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Answers; `None` closes the connection.
pub(super) async fn answer(shared: &Arc<Shared>, received: Received) -> Option<Response<Answer>> {
    let route = Route::parse(&received.path);
    let (seen, instead) = shared.options.faults.before(shared, &received).await?;
    let mut reply = match instead {
        Some(reply) => reply,
        None => handle(shared, &received, route).unwrap_or_else(Reply::from),
    };
    if received.method == Method::POST || route == Route::NewNonce {
        let nonce = lock(&shared.world).nonces.issue();
        reply = reply.header(HeaderName::from_static("replay-nonce"), nonce);
    }
    if route != Route::Directory {
        reply = reply.link(&shared.url(Route::Directory), "index");
    }
    shared.options.faults.on_reply(shared, seen, reply)
}

/// Executes the request.
fn handle(shared: &Arc<Shared>, received: &Received, route: Route) -> Result<Reply, Problem> {
    let is_public = matches!(
        route,
        Route::Directory | Route::NewNonce | Route::RenewalInfo | Route::Crl | Route::Terms
    );
    let allowed: &[Method] = if is_public { &[Method::GET, Method::HEAD] } else { &[Method::POST] };
    if route == Route::Unknown {
        Err(Problem::not_found("resource"))
    } else if !allowed.contains(&received.method) {
        let detail = format!("{} is not allowed here", received.method);
        Err(Problem::malformed(detail).with_status(405))
    } else if is_public {
        public(shared, received, route)
    } else {
        signed(shared, received, route)
    }
}

/// A request that needs no signature.
fn public(shared: &Shared, received: &Received, route: Route) -> Result<Reply, Problem> {
    Ok(if route == Route::NewNonce {
        directory::new_nonce(received.method == Method::HEAD)
    } else if route == Route::Terms {
        directory::terms()
    } else if route == Route::RenewalInfo {
        certificate::renewal_info(shared, &received.path)?
    } else if route == Route::Crl {
        certificate::crl(shared)
    } else {
        directory::directory(shared)
    })
}

/// A request that needs a signature.
fn signed(shared: &Arc<Shared>, received: &Received, route: Route) -> Result<Reply, Problem> {
    let content_type =
        received.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let mut world = lock(&shared.world);
    let world = &mut *world;
    let accepted = &shared.options.signature_algorithms;
    let opened = jws::open(world, accepted, &shared.base_url, route, content_type, &received.body)?;
    match route {
        Route::NewAccount => account::new_account(shared, world, &opened),
        Route::Account(id) => account::account(world, id, &opened),
        Route::NewOrder => order::new_order(shared, world, &opened),
        Route::Order(id) => order::order(shared, world, id, &opened),
        Route::Authorization(id) => authorization::authorization(shared, world, id, &opened),
        Route::Challenge(id, kind) => challenge::challenge(shared, world, id, kind, &opened),
        Route::Finalize(id) => finalize::finalize(shared, world, id, &opened),
        Route::Certificate(id, chain) => {
            certificate::certificate(shared, world, id, chain, &opened)
        }
        Route::Revoke => certificate::revoke(world, &opened),
        Route::Directory
        | Route::NewNonce
        | Route::RenewalInfo
        | Route::Crl
        | Route::Terms
        | Route::Unknown => Err(Problem::not_found("resource")),
    }
}

/// The answer to a request whose body is too long.
pub(super) fn too_large(shared: &Shared, received: &Received) -> Option<Response<Answer>> {
    let reply = Reply::from(Problem::malformed("the body is over 256 KiB").with_status(413));
    shared.options.faults.on_reply(shared, Seen::new(shared, received), reply)
}
