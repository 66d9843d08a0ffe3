//! Injected faults: rules with a fault, the requests that it applies to and how often.
//!
//! A rule is evaluated for every request of its kind and names; the first rule that matches and is
//! due applies. Turns are counted, not random, so that tests are reproducible.

mod log;
mod spoil;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use der::pem::{LineEnding, encode_string};
use http::{Method, Response};
use jiff::Timestamp;
use rcgen::PublicKeyData;
use serde_json::Value;
use tokio::time::Instant;

use super::certificate;
use super::dispatch::Received;
use super::issue::{Hierarchy, Issuance, Leaf};
use super::jws::FlatJws;
use super::problem::{Problem, ProblemType};
use super::reply::Reply;
use super::route::Route;
use super::testing::Moment;
use super::world::World;
use super::{Shared, lock};
use crate::pki;
use crate::resource::{AuthorizationState, Identifier, PublicKeyDigest};

use log::Log;
pub use log::{LogEntry, RequestKind};
pub(super) use spoil::Answer;

/// A fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Every nonce is refused; the answer carries a fresh one.
    BadNonce,
    /// The CA loses all accounts and their orders, then handles the request.
    ForgetAccounts,
    /// A problem document; the request is not executed.
    Problem {
        status: u16,
        kind: ProblemType,
        /// The `detail` text.
        detail: String,
        /// Retry-After, verbatim: seconds, a date, or an invalid value.
        retry_after: Option<String>,
    },
    /// An HTML page; the request is not executed.
    Html { status: u16 },
    /// 429 with a Retry-After of a second for what is more than so many requests within so long.
    Pace { most: usize, within: Duration },
    /// The answer is delayed; the request is executed after the delay.
    Delay(Duration),
    /// The connection is closed before the request is executed.
    CloseUnhandled,
    /// The request is executed, then the connection is closed without an answer.
    LoseReply,
    /// The body ends half-way although Content-Length says more.
    TruncateBody,
    /// The body is padded with blanks to this many bytes, sent chunked.
    HugeBody(u64),
    /// The body is replaced by this text; the headers stay.
    ReplaceBody(String),
    /// This header is left out, e.g. `location` or `replay-nonce`.
    DropHeader(&'static str),
    /// This header is set to this value, e.g. `retry-after`.
    SetHeader(&'static str, String),
    /// The top-level `status` of a JSON answer reads so.
    StatusWord(String),
    /// Every URL of this CA in the answer begins with `http://`.
    PlainHttpUrls,
    /// Every URL of this CA in the answer begins with this text instead.
    ForeignUrls(String),
    /// An order lists this DNS name too; an authorization is about it instead.
    ForeignIdentifier(String),
    /// newOrder refuses the identifier (`rejectedIdentifier`, with subproblems when several).
    RejectIdentifier {
        /// The `detail` text.
        detail: String,
    },
    /// New challenges have this token. Chosen per name, at newOrder.
    Token(String),
    /// A new authorization has this initial state. Chosen per name, at newOrder.
    BornAs(AuthorizationState),
    /// Validation fails without a request to the name. Chosen per name, at the challenge.
    Refuse {
        /// Problem type of the challenge.
        kind: ProblemType,
        /// The `detail` text.
        detail: String,
    },
    /// A finalized order stays `processing` for so many reads.
    SlowFinalize {
        /// Reads of the order that still say `processing`.
        polls: u32,
        /// Retry-After of those answers, as given.
        retry_after: Option<String>,
    },
    /// The certificate does not match the order. Chosen at finalize.
    Certificate(WrongCertificate),
}

/// How a certificate is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrongCertificate {
    /// For another, unknown key.
    OtherKey,
    /// For these DNS names instead of those ordered.
    OtherNames(Vec<String>),
    /// For one address more than ordered.
    ExtraAddress(IpAddr),
    /// Its validity ended an hour ago.
    Expired,
    /// Its validity begins in ten days.
    NotYetValid,
    /// The intermediate beside it did not sign it.
    BrokenChain,
    /// The intermediate comes first.
    LeafLast,
    /// Text that is not PEM.
    Garbage,
    /// No certificate at all: an empty body.
    Empty,
}

impl Fault {
    /// 429 with this Retry-After.
    pub fn rate_limited(retry_after: Option<&str>) -> Self {
        Self::Problem {
            status: 429,
            kind: ProblemType::RateLimited,
            detail: "too many requests of this kind lately".into(),
            retry_after: retry_after.map(str::to_owned),
        }
    }

    /// 503 with this Retry-After.
    pub fn unavailable(retry_after: Option<&str>) -> Self {
        Self::Problem {
            status: 503,
            kind: ProblemType::ServerInternal,
            detail: "the service is down for maintenance".into(),
            retry_after: retry_after.map(str::to_owned),
        }
    }

    /// The name of the fault, for the log.
    pub fn name(&self) -> &'static str {
        match self {
            Self::BadNonce => "bad nonce",
            Self::ForgetAccounts => "forget accounts",
            Self::Problem { .. } => "problem",
            Self::Html { .. } => "html",
            Self::Pace { .. } => "pace",
            Self::Delay(_) => "delay",
            Self::CloseUnhandled => "close unhandled",
            Self::LoseReply => "lose reply",
            Self::TruncateBody => "truncate body",
            Self::HugeBody(_) => "huge body",
            Self::ReplaceBody(_) => "replace body",
            Self::DropHeader(_) => "drop header",
            Self::SetHeader(..) => "set header",
            Self::StatusWord(_) => "status word",
            Self::PlainHttpUrls => "plain http urls",
            Self::ForeignUrls(_) => "foreign urls",
            Self::ForeignIdentifier(_) => "foreign identifier",
            Self::RejectIdentifier { .. } => "reject identifier",
            Self::Token(_) => "token",
            Self::BornAs(_) => "born as",
            Self::Refuse { .. } => "refuse",
            Self::SlowFinalize { .. } => "slow finalize",
            Self::Certificate(_) => "certificate",
        }
    }

    /// The stage of a request at which the fault is chosen.
    fn stage(&self) -> Stage {
        match self {
            Self::BadNonce
            | Self::ForgetAccounts
            | Self::Problem { .. }
            | Self::Html { .. }
            | Self::Pace { .. }
            | Self::Delay(_)
            | Self::CloseUnhandled => Stage::Before,
            Self::RejectIdentifier { .. }
            | Self::Token(_)
            | Self::BornAs(_)
            | Self::Refuse { .. }
            | Self::SlowFinalize { .. }
            | Self::Certificate(_) => Stage::Execution,
            Self::LoseReply
            | Self::TruncateBody
            | Self::HugeBody(_)
            | Self::ReplaceBody(_)
            | Self::DropHeader(_)
            | Self::SetHeader(..)
            | Self::StatusWord(_)
            | Self::PlainHttpUrls
            | Self::ForeignUrls(_)
            | Self::ForeignIdentifier(_) => Stage::Reply,
        }
    }
}

/// The stage at which a fault is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Before the request is handled.
    Before,
    /// While the request is executed.
    Execution,
    /// On the complete answer.
    Reply,
}

/// A fault, the requests that it applies to, and how often: by default always.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    fault: Fault,
    kind: Option<RequestKind>,
    name: Option<String>,
    skip: u32,
    times: Option<u32>,
    rate: Option<(u32, u32)>,
    seen: u32,
}

impl Rule {
    /// The fault on every request that it can apply to.
    pub fn always(fault: Fault) -> Self {
        Self { fault, kind: None, name: None, skip: 0, times: None, rate: None, seen: 0 }
    }

    /// The fault on the next `times` requests.
    pub fn next(times: u32, fault: Fault) -> Self {
        Self { times: Some(times), ..Self::always(fault) }
    }

    /// The fault on `hits` of every `of` requests, evenly spread and not the first.
    pub fn rate(hits: u32, of: u32, fault: Fault) -> Self {
        Self { rate: Some((hits, of.max(1))), ..Self::always(fault) }
    }

    /// Only requests of this kind.
    #[must_use]
    pub fn on(mut self, kind: RequestKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Only requests about such a name; `*` matches any text.
    #[must_use]
    pub fn for_name(mut self, pattern: impl Into<String>) -> Self {
        self.name = Some(pattern.into());
        self
    }

    /// Skips this many matching requests first.
    #[must_use]
    pub fn skipping(mut self, skip: u32) -> Self {
        self.skip = skip;
        self
    }

    fn matches(&self, kind: RequestKind, names: &[String]) -> bool {
        self.kind.is_none_or(|wanted| wanted == kind)
            && self
                .name
                .as_deref()
                .is_none_or(|pattern| names.iter().any(|name| fits(pattern, name)))
    }

    /// Counts one matching request; returns whether the fault applies to it.
    fn turn(&mut self) -> bool {
        let seen = self.seen;
        self.seen = seen.saturating_add(1);
        let Some(turn) = seen.checked_sub(self.skip) else { return false };
        let in_rate = self.rate.is_none_or(|(hits, of)| {
            let (turn, hits, of) = (u64::from(turn), u64::from(hits), u64::from(of));
            (turn * hits) / of != ((turn + 1) * hits) / of
        });
        in_rate && self.times.is_none_or(|times| turn < times)
    }
}

impl RequestKind {
    fn of(route: Route) -> Self {
        match route {
            Route::Directory => Self::Directory,
            Route::NewNonce => Self::NewNonce,
            Route::NewAccount => Self::NewAccount,
            Route::Account(_) => Self::Account,
            Route::NewOrder => Self::NewOrder,
            Route::Order(_) => Self::Order,
            Route::Authorization(_) => Self::Authorization,
            Route::Challenge(..) => Self::Challenge,
            Route::Finalize(_) => Self::Finalize,
            Route::Certificate(..) => Self::Certificate,
            Route::Revoke => Self::Revoke,
            Route::RenewalInfo => Self::RenewalInfo,
            Route::Crl => Self::Crl,
            Route::Terms | Route::Unknown => Self::Other,
        }
    }
}

/// A request, as rules match it.
#[derive(Debug)]
pub(super) struct Seen {
    path: String,
    kind: RequestKind,
    is_post: bool,
    /// The names that it concerns, as far as they are known.
    names: Vec<String>,
    /// The names of the faults in it.
    played: Vec<&'static str>,
    csr_key: Option<PublicKeyDigest>,
}

impl Seen {
    fn entry(self, status: Option<u16>, delivered: bool) -> LogEntry {
        let Self { path, kind, played: faults, csr_key, .. } = self;
        LogEntry { path, kind, status, delivered, faults, csr_key }
    }

    pub(super) fn new(shared: &Shared, received: &Received) -> Self {
        let route = Route::parse(&received.path);
        let names = if route == Route::NewOrder {
            ordered_names(&received.body)
        } else {
            names_of(&lock(&shared.world), route, &received.path)
        };
        let names = names.unwrap_or_default();
        Self {
            path: received.path.clone(),
            kind: RequestKind::of(route),
            is_post: received.method == Method::POST,
            names,
            played: Vec::new(),
            csr_key: matches!(route, Route::Finalize(_)).then(|| csr_key(&received.body)).flatten(),
        }
    }
}

/// The key of the CSR in a finalization, the signatures of both unverified.
fn csr_key(body: &[u8]) -> Option<PublicKeyDigest> {
    let payload = FlatJws::parse(body).ok()?.payload().ok()?;
    let payload: Value = serde_json::from_slice(&payload).ok()?;
    let der = URL_SAFE_NO_PAD.decode(payload.get("csr")?.as_str()?).ok()?;
    let pem = encode_string("CERTIFICATE REQUEST", LineEnding::LF, &der).ok()?;
    Some(pki::read_csr(&pem).ok()?.public_key)
}

/// The identifiers of newOrder, its signature unverified.
fn ordered_names(body: &[u8]) -> Option<Vec<String>> {
    let payload = FlatJws::parse(body).ok()?.payload().ok()?;
    let payload: Value = serde_json::from_slice(&payload).ok()?;
    let identifiers = payload.get("identifiers")?.as_array()?.iter();
    let name = |identifier: &Value| identifier.get("value")?.as_str().map(str::to_owned);
    Some(identifiers.filter_map(name).collect())
}

/// The names of an existing resource.
fn names_of(world: &World, route: Route, path: &str) -> Option<Vec<String>> {
    let identifiers = if let Route::Order(id) | Route::Finalize(id) = route {
        &world.orders.get(&id)?.identifiers
    } else if let Route::Certificate(id, _) = route {
        &world.certificates.get(&id)?.identifiers
    } else if route == Route::RenewalInfo {
        &world.certificate(certificate::id_in(path))?.identifiers
    } else if let Route::Authorization(id) | Route::Challenge(id, _) = route {
        return Some(vec![world.authorizations.get(&id)?.identifier.to_string()]);
    } else {
        return None;
    };
    Some(identifiers.iter().map(Identifier::to_string).collect())
}

/// The rules of one CA; clones share them, so they can be changed while it runs.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    rules: Arc<Mutex<Vec<Rule>>>,
    /// When the last requests came that were not too many.
    taken: Arc<Mutex<VecDeque<Instant>>>,
    log: Arc<Mutex<Log>>,
    /// `None` while nothing is noted.
    pub(super) moments: Arc<Mutex<Option<Vec<Moment>>>>,
}

impl Faults {
    /// Appends a rule.
    pub fn add(&self, rule: Rule) {
        lock(&self.rules).push(rule);
    }

    /// Removes all rules.
    pub fn clear(&self) {
        lock(&self.rules).clear();
    }

    /// The faults on a request before the CA handles it, and the answer instead of the CA's own;
    /// `None` closes the connection.
    pub(super) async fn before(
        &self,
        shared: &Shared,
        received: &Received,
    ) -> Option<(Seen, Option<Reply>)> {
        let (mut seen, mut reply) = (Seen::new(shared, received), None);
        // Only a POST carries a nonce.
        let wanted = |fault: &Fault| {
            fault.stage() == Stage::Before && (seen.is_post || *fault != Fault::BadNonce)
        };
        for fault in self.draw(seen.kind, &seen.names, wanted) {
            if let Fault::Pace { most, within } = fault
                && self.keeps_pace(most, within)
            {
                continue;
            }
            seen.played.push(fault.name());
            if fault == Fault::CloseUnhandled {
                lock(&self.log).push(seen.entry(None, false));
                return None;
            }
            if fault == Fault::ForgetAccounts {
                forget_accounts(&mut lock(&shared.world));
            }
            if let Fault::Delay(delay) = &fault {
                tokio::time::sleep(*delay).await;
            }
            reply = reply.or_else(|| spoil::instead(&fault));
        }
        Some((seen, reply))
    }

    /// Whether one more request is not too many; then it is noted.
    fn keeps_pace(&self, most: usize, within: Duration) -> bool {
        let (mut taken, now) = (lock(&self.taken), Instant::now());
        taken.retain(|at| now.duration_since(*at) < within);
        let keeps = taken.len() < most;
        if keeps {
            taken.push_back(now);
        }
        keeps
    }

    /// The complete answer with its faults; `None` closes the connection.
    pub(super) fn on_reply(
        &self,
        shared: &Shared,
        mut seen: Seen,
        reply: Reply,
    ) -> Option<Response<Answer>> {
        let faults = self.draw(seen.kind, &seen.names, |fault| fault.stage() == Stage::Reply);
        seen.played.extend(faults.iter().map(Fault::name));
        let status = reply.status;
        if let Some(moments) = &mut *lock(&self.moments) {
            moments.push(Moment::now(shared, Some(seen.kind)));
        }
        let response = spoil::reply(shared, reply, faults);
        lock(&self.log).push(seen.entry(Some(status), response.is_some()));
        response
    }

    pub(super) fn log(&self) -> Vec<LogEntry> {
        lock(&self.log).entries()
    }

    pub(super) fn requests(&self) -> usize {
        lock(&self.log).requests()
    }

    pub(super) fn created(&self, kind: RequestKind) -> usize {
        lock(&self.log).created(kind)
    }

    /// Why newOrder refuses a name.
    pub(super) fn rejection(&self, name: &str) -> Option<Problem> {
        self.draw_first(RequestKind::NewOrder, &[name.to_owned()], |fault| {
            let Fault::RejectIdentifier { detail } = fault else { return None };
            Some(Problem::new(ProblemType::RejectedIdentifier, detail.clone()))
        })
    }

    /// The initial state of a new authorization.
    pub(super) fn initial_status(&self, name: &str) -> Option<AuthorizationState> {
        self.draw_first(RequestKind::NewOrder, &[name.to_owned()], |fault| {
            if let Fault::BornAs(status) = fault { Some(status.clone()) } else { None }
        })
    }

    /// The token of new challenges.
    pub(super) fn token(&self, name: &str) -> Option<String> {
        self.draw_first(RequestKind::NewOrder, &[name.to_owned()], |fault| {
            if let Fault::Token(token) = fault { Some(token.clone()) } else { None }
        })
    }

    /// The injected validation failure.
    pub(super) fn refusal(&self, name: &str) -> Option<Problem> {
        self.draw_first(RequestKind::Challenge, &[name.to_owned()], |fault| {
            let Fault::Refuse { kind, detail } = fault else { return None };
            Some(Problem::new(*kind, detail.clone()))
        })
    }

    /// A certificate, in DER, and its chains, in PEM, that do not match the order.
    pub(super) fn issue(
        &self,
        hierarchy: &Hierarchy,
        names: &[String],
        key: &impl PublicKeyData,
        leaf: &Leaf,
        now: Timestamp,
    ) -> Option<Result<Issuance, rcgen::Error>> {
        let wrong = self.draw_first(RequestKind::Finalize, names, |fault| {
            if let Fault::Certificate(wrong) = fault { Some(wrong.clone()) } else { None }
        })?;
        Some(spoil::certificate(&wrong, hierarchy, key, leaf, now))
    }

    /// How many reads of a finalized order still say `processing`, and their Retry-After.
    pub(super) fn slow_finalize(&self, names: &[String]) -> Option<(u32, Option<String>)> {
        self.draw_first(RequestKind::Finalize, names, |fault| {
            let Fault::SlowFinalize { polls, retry_after } = fault else { return None };
            Some((*polls, retry_after.clone()))
        })
    }

    /// All faults that `pick` selects and that apply now, in the order of their rules. Only these
    /// count a turn.
    fn draw(
        &self,
        kind: RequestKind,
        names: &[String],
        wanted: impl Fn(&Fault) -> bool,
    ) -> Vec<Fault> {
        lock(&self.rules)
            .iter_mut()
            .filter(|rule| wanted(&rule.fault) && rule.matches(kind, names))
            .filter_map(|rule| rule.turn().then(|| rule.fault.clone()))
            .collect()
    }

    /// The first fault that `pick` selects and that applies now.
    fn draw_first<T>(
        &self,
        kind: RequestKind,
        names: &[String],
        pick: impl Fn(&Fault) -> Option<T>,
    ) -> Option<T> {
        let played = self.draw(kind, names, |fault| pick(fault).is_some());
        played.first().and_then(pick)
    }
}

/// Deletes all accounts with their orders and authorizations; certificates stay.
fn forget_accounts(world: &mut World) {
    world.accounts.clear();
    world.account_of_key.clear();
    world.orders.clear();
    world.authorizations.clear();
}

/// Whether `name` matches `pattern`; `*` matches any text, also the empty one.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name.strip_prefix(head).is_some_and(|tail| {
            tail.char_indices()
                .map(|(at, _)| at)
                .chain([tail.len()])
                .any(|at| tail.get(at..).is_some_and(|remainder| fits(rest, remainder)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_follow_from_the_count_alone() {
        let cases: &[(Rule, &str)] = &[
            (Rule::always(Fault::BadNonce), "xxxxxxxx"),
            (Rule::next(2, Fault::BadNonce), "xx......"),
            (Rule::next(2, Fault::BadNonce).skipping(3), "...xx..."),
            (Rule::rate(1, 2, Fault::BadNonce), ".x.x.x.x"),
            (Rule::rate(3, 4, Fault::BadNonce), ".xxx.xxx"),
            (Rule::rate(0, 4, Fault::BadNonce), "........"),
        ];
        for (rule, expected) in cases {
            let mut rule = rule.clone();
            let found: String = (0..8).map(|_| if rule.turn() { 'x' } else { '.' }).collect();
            assert_eq!(found, *expected, "{rule:?}");
        }
    }

    #[test]
    fn rules_play_only_on_their_kind_and_names() {
        let faults = Faults::default();
        let on_order = Rule::always(Fault::LoseReply).on(RequestKind::NewOrder);
        faults.add(on_order.for_name("*.example"));
        let names = |name: &str| vec!["first.test".to_owned(), name.to_owned()];
        let of = |stage| move |fault: &Fault| fault.stage() == stage;
        let draw = |kind, name| faults.draw(kind, &names(name), of(Stage::Reply));
        assert_eq!(draw(RequestKind::NewOrder, "a.example"), [Fault::LoseReply]);
        assert_eq!(draw(RequestKind::NewOrder, "a.test"), []);
        assert_eq!(draw(RequestKind::Order, "a.example"), []);
        let wrong_stage = of(Stage::Before);
        assert_eq!(faults.draw(RequestKind::NewOrder, &names("a.example"), wrong_stage), []);
        faults.clear();
        assert_eq!(draw(RequestKind::NewOrder, "a.example"), []);
    }

    #[test]
    fn a_star_in_a_pattern_stands_for_any_text() {
        let cases = [
            ("a.test", "a.test", true),
            ("a.test", "b.a.test", false),
            ("*", "", true),
            ("*.test", "a.test", true),
            ("*.test", "*.test", true),
            ("a*c*", "abcd", true),
            ("a*c", "abcd", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
