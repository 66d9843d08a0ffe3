//! Handles one request: parses, executes and logs it.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Response};

use super::faults::Answer;
use super::jws::{self, Signer};
use super::log::{LogEntry, RequestKind};
use super::problem::{Problem, ProblemType};
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
    let names = names(shared, route, &received.body);
    let is_post = received.method == Method::POST;
    let mut signer = None;
    let Before { mut played, is_cut, reply } =
        shared.options.faults.before(shared, route.kind(), is_post, &names).await;
    if is_cut {
        record(shared, &received, route, &names, &played, signer, None);
        return None;
    }
    let mut reply = match reply {
        Some(reply) => reply,
        None => handle(shared, &received, route, &mut signer).unwrap_or_else(Reply::from),
    };
    if is_post || route == Route::NewNonce {
        let nonce = lock(&shared.world).nonces.issue();
        reply = reply.header(HeaderName::from_static("replay-nonce"), nonce);
    }
    if route != Route::Directory {
        reply = reply.link(&shared.url(Route::Directory), "index");
    }
    let (status, problem) = (reply.status, reply.problem);
    let (spoiled, response) = shared.options.faults.on_reply(shared, route.kind(), &names, reply);
    played.extend(spoiled);
    let done = Done { status, problem, delivered: response.is_some() };
    record(shared, &received, route, &names, &played, signer, Some(&done));
    response
}

/// The faults that apply before a request is handled.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// The names of the faults, for the log.
    pub(super) played: Vec<&'static str>,
    /// Whether the connection is closed before the request is handled.
    pub(super) is_cut: bool,
    /// The answer instead of the CA's own.
    pub(super) reply: Option<Reply>,
}

/// Executes the request.
fn handle(
    shared: &Arc<Shared>,
    received: &Received,
    route: Route,
    signer: &mut Option<u64>,
) -> Result<Reply, Problem> {
    let allowed: &[Method] = match route {
        Route::Directory | Route::NewNonce | Route::Terms => &[Method::GET, Method::HEAD],
        Route::NewAccount
        | Route::Account(_)
        | Route::NewOrder
        | Route::Order(_)
        | Route::Authorization(_)
        | Route::Challenge(..)
        | Route::Finalize(_)
        | Route::Certificate(..)
        | Route::Revoke => &[Method::POST],
        Route::Unknown => return Err(Problem::not_found("resource")),
    };
    if !allowed.contains(&received.method) {
        let detail = format!("{} is not allowed here", received.method);
        return Err(Problem::malformed(detail).with_status(405));
    }
    match route {
        Route::Directory => Ok(directory::directory(shared)),
        Route::NewNonce => Ok(directory::new_nonce(received.method == Method::HEAD)),
        Route::Terms => Ok(directory::terms()),
        Route::Unknown => Err(Problem::not_found("resource")),
        Route::NewAccount
        | Route::Account(_)
        | Route::NewOrder
        | Route::Order(_)
        | Route::Authorization(_)
        | Route::Challenge(..)
        | Route::Finalize(_)
        | Route::Certificate(..)
        | Route::Revoke => signed(shared, received, route, signer),
    }
}

/// A request that needs a signature.
fn signed(
    shared: &Arc<Shared>,
    received: &Received,
    route: Route,
    signer: &mut Option<u64>,
) -> Result<Reply, Problem> {
    let content_type =
        received.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let mut world = lock(&shared.world);
    let world = &mut *world;
    let accepted = &shared.options.signature_algorithms;
    let opened = jws::open(world, accepted, &shared.base_url, route, content_type, &received.body)?;
    if let Signer::Account(id) = opened.signer {
        *signer = Some(id);
    }
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
        Route::Directory | Route::NewNonce | Route::Terms | Route::Unknown => {
            Err(Problem::not_found("resource"))
        }
    }
}

/// The names that a request concerns: those of its resource, or the identifiers of newOrder.
fn names(shared: &Shared, route: Route, body: &[u8]) -> Vec<String> {
    if route.kind() != RequestKind::NewOrder {
        return lock(&shared.world).names_of(route);
    }
    let payload = jws::unchecked_payload(body).unwrap_or_default();
    let identifiers = payload.get("identifiers").and_then(|list| list.as_array());
    identifiers
        .into_iter()
        .flatten()
        .filter_map(|identifier| identifier.get("value")?.as_str().map(short))
        .take(MAX_NAMES)
        .collect()
}

/// The result of a request that was handled.
struct Done {
    status: u16,
    problem: Option<ProblemType>,
    delivered: bool,
}

fn record(
    shared: &Shared,
    received: &Received,
    route: Route,
    names: &[String],
    played: &[&'static str],
    signer: Option<u64>,
    done: Option<&Done>,
) {
    let user_agent = received.headers.get(http::header::USER_AGENT);
    let problem = done.and_then(|done| done.problem);
    lock(&shared.log).push(LogEntry {
        time: shared.now(),
        method: received.method.to_string(),
        path: short(&received.path),
        kind: route.kind(),
        status: done.map(|done| done.status),
        delivered: done.is_some_and(|done| done.delivered),
        account: signer.map(|id| shared.url(Route::Account(id))),
        problem: problem.map(|kind| kind.as_str().to_owned()),
        faults: played.to_vec(),
        names: names.to_vec(),
        user_agent: user_agent.and_then(|value| value.to_str().ok()).map(short),
    });
}

/// The answer to a request whose body is too long.
pub(super) fn too_large(shared: &Shared, received: &Received) -> Response<Answer> {
    let route = Route::parse(&received.path);
    let reply = Reply::from(Problem::malformed("the body is over 256 KiB").with_status(413));
    let done = Done { status: reply.status, problem: reply.problem, delivered: true };
    record(shared, received, route, &[], &[], None, Some(&done));
    reply.into_response().map(Answer::from)
}

/// A client's text, cut for the log.
fn short(text: &str) -> String {
    text.chars().take(MAX_LOGGED).collect()
}

const MAX_LOGGED: usize = 256;
const MAX_NAMES: usize = 100;
