//! Replaces `faults` in a build without the feature `testing`: there are no faults.

use bytes::Bytes;
use http::Response;
use jiff::Timestamp;
use rcgen::PublicKeyData;

use super::Shared;
use super::dispatch::Received;
use super::issue::{Hierarchy, Issuance, Leaf};
use super::problem::Problem;
use super::reply::Reply;
use crate::resource::AuthorizationState;

/// The body of an answer.
pub(super) type Answer = http_body_util::Full<Bytes>;

/// A request, of which nothing is noted.
pub(super) struct Seen;

impl Seen {
    pub(super) fn new(_: &Shared, _: &Received) -> Self {
        Self
    }
}

/// An empty set of fault rules.
#[derive(Clone, Debug, Default)]
pub struct Faults {}

#[expect(clippy::unused_self, reason = "the signatures of `faults`")]
impl Faults {
    pub(super) fn before(
        &self,
        _: &Shared,
        _: &Received,
    ) -> impl Future<Output = Option<(Seen, Option<Reply>)>> + use<> {
        std::future::ready(Some((Seen, None)))
    }

    #[expect(clippy::unnecessary_wraps, reason = "a fault can drop the reply")]
    pub(super) fn on_reply(&self, _: &Shared, _: Seen, reply: Reply) -> Option<Response<Answer>> {
        Some(reply.into_response().map(Answer::from))
    }

    pub(super) fn rejection(&self, _name: &str) -> Option<Problem> {
        None
    }

    pub(super) fn initial_status(&self, _name: &str) -> Option<AuthorizationState> {
        None
    }

    pub(super) fn token(&self, _name: &str) -> Option<String> {
        None
    }

    pub(super) fn refusal(&self, _name: &str) -> Option<Problem> {
        None
    }

    pub(super) fn issue(
        &self,
        _: &Hierarchy,
        _names: &[String],
        _: &impl PublicKeyData,
        _: &Leaf,
        _: Timestamp,
    ) -> Option<Result<Issuance, rcgen::Error>> {
        None
    }

    pub(super) fn slow_finalize(&self, _names: &[String]) -> Option<(u32, Option<String>)> {
        None
    }
}
