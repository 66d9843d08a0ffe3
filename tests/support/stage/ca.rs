//! A CA in a few lines: what it was told, and what it makes of it. It outlives all runs.

#![expect(clippy::wildcard_enum_match_arm, reason = "no other matters here")]

use std::collections::{BTreeMap, BTreeSet};

use certctl::controller::{AuthorizationSeen, ChallengeSeen, EffectError, OrderSeen, Outcome};
use certctl::resource::{
    AuthorizationState, CaFailure, CaFault, Cause, ChallengeType, Identifier, OfferedChallenge,
    OrderState, Problem,
};
use jiff::{SignedDuration, Timestamp};
use rcgen::{Issuer, KeyPair};

use super::issuance::{self, Wrong};

#[expect(clippy::struct_excessive_bools, reason = "each is a manner of its own")]
pub(crate) struct Ca {
    issuer: Issuer<'static, KeyPair>,
    /// By the digest of the account's key.
    pub(crate) accounts: BTreeMap<String, String>,
    pub(crate) orders: Vec<CaOrder>,
    pub(crate) authorizations: Vec<CaAuthorization>,
    /// Keys of accounts that were given up.
    pub(crate) deactivated: BTreeSet<String>,
    /// How often something was deployed.
    pub(crate) deployments: usize,
    /// When programs ran to reload, and for which certificates.
    pub(crate) reloads: Vec<(Timestamp, Vec<String>)>,
    /// Fingerprints of the certificates that are revoked.
    pub(crate) revoked: BTreeSet<String>,
    /// Names that are proven already.
    pub(crate) proven: BTreeSet<Identifier>,
    /// It never gets any further than processing.
    pub(crate) is_slow: bool,
    /// Its orders are pending for ever, and say nothing of authorizations.
    pub(crate) names_no_authorizations: bool,
    /// It calls an order processing that no CSR was sent for.
    pub(crate) processes_early: bool,
    /// The first order is processing for ever, although no CSR was sent for it.
    pub(crate) stays_processing: bool,
    /// Where each order comes to a stop.
    pub(crate) stop: Option<Stop>,
    /// When it was asked for something.
    pub(crate) asked: Vec<Timestamp>,
    /// The validation of an accepted challenge has no end.
    pub(crate) never_validates: bool,
    /// At how many more accepts its connection is reset.
    pub(crate) resets: usize,
    /// URLs at which it answers only that it failed.
    pub(crate) broken: BTreeSet<String>,
    /// What URL of an order it says wrong, and how often still.
    pub(crate) misnamed: Option<(Misnamed, usize)>,
    /// It gives an order of the same names again until that is finalized, and an authorization of
    /// the same name until that is invalid.
    pub(crate) reuses: bool,
    /// How many newOrders more get the last finalized order of their names.
    pub(crate) forgets_late: usize,
    /// The orders that it gave, and those for which it got a CSR.
    pub(crate) given: Vec<String>,
    pub(crate) finalized: Vec<String>,
    /// It validates a moment after a challenge was accepted.
    pub(crate) looks_late: bool,
    /// At how many more accepts it looks in vain and leaves the challenge pending, with an error.
    pub(crate) looks_in_vain: usize,
    /// When challenges were accepted.
    pub(crate) told: Vec<Timestamp>,
    /// Names that it never believes.
    pub(crate) refused: BTreeSet<Identifier>,
    /// How long an order that is not finalized lives; `None`: for ever.
    pub(crate) lifetime: Option<SignedDuration>,
    /// What becomes of an order that ran out of time.
    pub(crate) too_old: TooOld,
    /// How long its certificates are valid.
    pub(crate) certificate_life: SignedDuration,
    /// What it hands out in place of the certificate that was ordered.
    pub(crate) wrong: Option<Wrong>,
    /// How many orders it takes within how long.
    pub(crate) limit: Option<(usize, SignedDuration)>,
    /// It answers nothing, or only with this.
    pub(crate) down: Option<CaFault>,
    /// How long each of its answers takes.
    pub(crate) latency: SignedDuration,
    /// When it refused an order for that.
    pub(crate) limited: Vec<Timestamp>,
    /// When it took the orders of the current window.
    window: Vec<Timestamp>,
    /// Its words when it refuses an order of these names.
    pub(crate) words: BTreeMap<Identifier, &'static str>,
    /// What it says of when to renew, by the number of the question; without it, its certificates
    /// have no identifier to ask by.
    pub(crate) suggests: Option<Suggests>,
    /// About which certificates it was asked, and when.
    pub(crate) questions: Vec<(String, Timestamp)>,
    /// It refuses orders that name the certificate that they replace.
    pub(crate) refuses_replaces: bool,
    /// What each newOrder named as replaced.
    pub(crate) replaced: Vec<Option<String>>,
}

/// Where an order comes to a stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stop {
    /// It is valid, and has no certificate.
    ValidWithoutCertificate,
    /// It is ready again after each CSR.
    Ready,
    /// Each CSR comes too early.
    NotReady,
    /// Its certificate is not found.
    NoCertificate,
}

pub(crate) type Suggests = Box<dyn Fn(usize, Timestamp) -> Answer>;

/// A URL of an order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Misnamed {
    Order,
    Authorization,
    Finalize,
    Certificate,
}

/// Where no server answers.
pub(crate) const DEAD: &str = "https://dead.test/";

/// How an order is shown that ran out of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TooOld {
    /// Not at all.
    Gone,
    /// As invalid, its authorizations as expired.
    Invalid,
    /// As before.
    Shown,
}

pub(crate) struct CaOrder {
    pub(crate) url: String,
    identifiers: Vec<Identifier>,
    authorizations: Vec<usize>,
    csr: Option<Vec<u8>>,
    /// Once it was fetched; one that is wrong is made anew each time.
    certificate: Option<String>,
    /// Looked at since it was finalized.
    looked_at: bool,
    expires: Option<Timestamp>,
    pub(crate) forgotten: bool,
}

pub(crate) struct CaAuthorization {
    identifier: Identifier,
    state: AuthorizationState,
    problem: Option<Problem>,
    /// What the answer that was found when it was accepted makes of it at the next look.
    verdict: Option<bool>,
    /// That is for a connection that was reset.
    was_reset: bool,
}

pub(crate) type Answer = Result<Outcome, EffectError>;

impl Ca {
    pub(crate) fn new() -> Self {
        Self {
            issuer: issuance::authority("fake CA").0,
            accounts: BTreeMap::new(),
            orders: Vec::new(),
            authorizations: Vec::new(),
            deactivated: BTreeSet::new(),
            deployments: 0,
            reloads: Vec::new(),
            revoked: BTreeSet::new(),
            proven: BTreeSet::new(),
            is_slow: false,
            names_no_authorizations: false,
            processes_early: false,
            stays_processing: false,
            stop: None,
            asked: Vec::new(),
            never_validates: false,
            resets: 0,
            broken: BTreeSet::new(),
            misnamed: None,
            reuses: false,
            forgets_late: 0,
            given: Vec::new(),
            finalized: Vec::new(),
            looks_late: false,
            looks_in_vain: 0,
            told: Vec::new(),
            refused: BTreeSet::new(),
            lifetime: None,
            too_old: TooOld::Gone,
            certificate_life: SignedDuration::from_hours(90 * 24),
            wrong: None,
            limit: None,
            down: None,
            latency: SignedDuration::ZERO,
            limited: Vec::new(),
            window: Vec::new(),
            words: BTreeMap::new(),
            suggests: None,
            questions: Vec::new(),
            refuses_replaces: false,
            replaced: Vec::new(),
        }
    }

    pub(crate) fn renewal_information(&mut self, certificate_id: &str, now: Timestamp) -> Answer {
        self.questions.push((certificate_id.to_owned(), now));
        match &self.suggests {
            Some(suggests) => suggests(self.questions.len() - 1, now),
            None => Ok(Outcome::NoRenewalInformation),
        }
    }

    pub(crate) fn check_replaces(&mut self, replaces: Option<&String>) -> Result<(), EffectError> {
        self.replaced.push(replaces.cloned());
        if self.refuses_replaces && replaces.is_some() {
            let mut refused = refusal("alreadyReplaced", 409);
            if let Cause::Ca(ca) = &mut refused.cause {
                "https://ca.test/new-order".clone_into(&mut ca.url);
            }
            return Err(refused);
        }
        Ok(())
    }

    pub(crate) fn register(&mut self, key: &str) -> String {
        let url = format!("https://ca.test/account/{}", self.accounts.len());
        self.accounts.entry(key.to_owned()).or_insert(url).clone()
    }

    /// An account that is gone already is told so (RFC 8555 section 7.3.6).
    pub(crate) fn deactivate(&mut self, key: &str) -> Result<Outcome, EffectError> {
        if self.accounts.remove(key).is_some() {
            self.deactivated.insert(key.to_owned());
            return Ok(Outcome::Done);
        }
        Err(refusal("unauthorized", 403))
    }

    /// What a request at this time finds: orders that ran out of time are over.
    pub(crate) fn pass_time(&mut self, now: Timestamp) {
        let is_over = |order: &&mut CaOrder| {
            order.csr.is_none() && order.expires.is_some_and(|expires| expires <= now)
        };
        let is_shown = self.too_old == TooOld::Shown;
        for order in self.orders.iter_mut().filter(is_over).filter(|_| !is_shown) {
            order.forgotten = self.too_old == TooOld::Gone;
            for index in &order.authorizations {
                self.authorizations[*index].state = AuthorizationState::Expired;
            }
        }
    }

    pub(crate) fn new_order(&mut self, identifiers: &[Identifier], now: Timestamp) -> Answer {
        self.check_limits(identifiers, now)?;
        if let Some(url) = self.again(identifiers) {
            self.given.push(url.clone());
            return self.order(&url);
        }
        let mut authorizations = Vec::new();
        for identifier in identifiers {
            let known = self.authorizations.iter().position(|known| {
                self.reuses && known.identifier == *identifier && !known.state.is_failure()
            });
            if let Some(known) = known {
                authorizations.push(known);
                continue;
            }
            let proven = self.proven.contains(identifier);
            authorizations.push(self.authorizations.len());
            self.authorizations.push(CaAuthorization {
                identifier: identifier.clone(),
                state: if proven { AuthorizationState::Valid } else { AuthorizationState::Pending },
                problem: None,
                verdict: None,
                was_reset: false,
            });
        }
        let url = format!("https://ca.test/order/{}", self.orders.len());
        self.given.push(url.clone());
        self.orders.push(CaOrder {
            url: url.clone(),
            identifiers: identifiers.to_vec(),
            authorizations,
            csr: None,
            certificate: None,
            looked_at: false,
            expires: self.lifetime.map(|lifetime| now + lifetime),
            forgotten: false,
        });
        let mut answer = self.order(&url);
        if let Ok(Outcome::Order(seen)) = &mut answer
            && self.misnames(&[Misnamed::Order, Misnamed::Authorization, Misnamed::Finalize])
        {
            match self.misnamed.unwrap().0 {
                Misnamed::Order => seen.url = format!("{DEAD}order/{}", self.orders.len()),
                Misnamed::Authorization => seen.authorizations[0] = format!("{DEAD}authorization"),
                Misnamed::Finalize => seen.finalize_url = format!("{DEAD}finalize"),
                Misnamed::Certificate => {}
            }
        }
        answer
    }

    fn misnames(&mut self, these: &[Misnamed]) -> bool {
        let Some((what, left)) = &mut self.misnamed else { return false };
        let does = *left > 0 && these.contains(what);
        *left -= usize::from(does);
        does
    }

    /// The order of these names that it gives again.
    fn again(&mut self, identifiers: &[Identifier]) -> Option<String> {
        let same = |index: &usize| {
            let order = &self.orders[*index];
            self.reuses && order.identifiers == identifiers && !order.forgotten
        };
        let mut known = (0..self.orders.len()).filter(same);
        let is_open =
            |index: &usize| matches!(self.state(*index), OrderState::Pending | OrderState::Ready);
        let found = known.clone().find(is_open);
        let late = known.next_back().filter(|_| found.is_none() && self.forgets_late > 0);
        self.forgets_late -= usize::from(late.is_some());
        found.or(late).map(|index| self.orders[index].url.clone())
    }

    /// A window begins with the first order after the last one is over.
    fn check_limits(
        &mut self,
        identifiers: &[Identifier],
        now: Timestamp,
    ) -> Result<(), EffectError> {
        if let Some(words) = identifiers.iter().find_map(|name| self.words.get(name)) {
            self.limited.push(now);
            return Err(limited(words, SignedDuration::from_hours(5)));
        }
        let Some((most, length)) = self.limit else { return Ok(()) };
        if self.window.first().is_some_and(|begun| now >= *begun + length) {
            self.window.clear();
        }
        if self.window.len() == most {
            self.limited.push(now);
            let words = "too many new orders (10) from this account in the last 36s";
            return Err(limited(words, now.duration_until(self.window[0] + length)));
        }
        self.window.push(now);
        Ok(())
    }

    /// What a look at an order shows; what was being worked on is done at the next look.
    pub(crate) fn read_order(&mut self, url: &str) -> Answer {
        let mut answer = self.order(url);
        if let Ok(Outcome::Order(seen)) = &mut answer
            && let Some(url) = &mut seen.certificate_url
            && self.misnames(&[Misnamed::Certificate])
        {
            *url = format!("{DEAD}certificate");
        }
        let settled = self.find(url)?;
        for index in self.orders[settled].authorizations.clone() {
            self.settle(index);
        }
        if self.orders[settled].csr.is_some() {
            self.orders[settled].looked_at = !self.is_slow;
        }
        answer
    }

    pub(crate) fn read_authorization(&mut self, url: &str) -> Outcome {
        let index: usize = last(url);
        let answer = self.authorization(index);
        self.settle(index);
        answer
    }

    /// Accepts a challenge; `answered` is whether the right answer can be fetched now.
    pub(crate) fn accept(&mut self, url: &str, answered: bool) -> Answer {
        let authorization = &mut self.authorizations[last(url)];
        if authorization.state != AuthorizationState::Pending {
            return Err(refusal("malformed", 400));
        }
        if let Some(left) = self.looks_in_vain.checked_sub(1) {
            self.looks_in_vain = left;
            authorization.problem = Some(problem("connection", 400));
            return Ok(Outcome::Accepted(ChallengeSeen {
                state: AuthorizationState::Pending,
                problem: authorization.problem.clone(),
            }));
        }
        authorization.problem = None;
        authorization.state = AuthorizationState::Processing;
        if let Some(left) = self.resets.checked_sub(1) {
            self.resets = left;
            authorization.was_reset = true;
        }
        let answered = answered && !authorization.was_reset;
        authorization.verdict = Some(answered && !self.refused.contains(&authorization.identifier));
        Ok(Outcome::Accepted(ChallengeSeen {
            state: AuthorizationState::Processing,
            problem: None,
        }))
    }

    /// The listener is gone: the validation of accepted challenges fails.
    pub(crate) fn look_in_vain(&mut self) {
        if self.looks_late {
            for authorization in &mut self.authorizations {
                authorization.verdict = authorization.verdict.map(|_| false);
            }
            for index in 0..self.authorizations.len() {
                self.settle(index);
            }
        }
    }

    /// Another order proved this name.
    pub(crate) fn prove(&mut self, name: &str) {
        for authorization in &mut self.authorizations {
            if authorization.identifier.to_string() == name {
                authorization.state = AuthorizationState::Valid;
            }
        }
    }

    pub(crate) fn has_refused(&self) -> bool {
        self.authorizations.iter().any(|a| a.state == AuthorizationState::Invalid)
    }

    pub(crate) fn finalize(&mut self, url: &str, csr: &[u8]) -> Answer {
        self.finalized.push(url.to_owned());
        let index = self.find(url)?;
        if self.state(index) != OrderState::Ready || self.stop == Some(Stop::NotReady) {
            return Err(refusal("orderNotReady", 403));
        }
        if self.stop == Some(Stop::Ready) {
            return self.order(url);
        }
        self.orders[index].csr = Some(csr.to_vec());
        self.order(url)
    }

    pub(crate) fn certificate(&mut self, url: &str, now: Timestamp) -> String {
        let index = self.find(url).unwrap();
        let order = &mut self.orders[index];
        let csr = order.csr.as_ref().unwrap();
        let life = (self.certificate_life, self.suggests.is_some());
        let names = &order.identifiers;
        let issue = |wrong| issuance::issue(&self.issuer, csr, names, now, life, wrong);
        if self.wrong.is_some() {
            return issue(self.wrong);
        }
        order.certificate.get_or_insert_with(|| issue(None)).clone()
    }

    fn find(&self, url: &str) -> Result<usize, EffectError> {
        let found = self.orders.iter().position(|order| order.url == url && !order.forgotten);
        let gone = || Cause::ca(CaFault::Gone, format!("{url}: not found"));
        found.ok_or_else(|| EffectError::new(gone()))
    }

    fn settle(&mut self, index: usize) {
        let authorization = &mut self.authorizations[index];
        if self.never_validates {
            return;
        }
        match authorization.verdict.take() {
            Some(true) => {
                authorization.state = AuthorizationState::Valid;
                self.proven.insert(authorization.identifier.clone());
            }
            Some(false) => {
                authorization.state = AuthorizationState::Invalid;
                let kind = if authorization.was_reset { "connection" } else { "unauthorized" };
                authorization.problem = Some(problem(kind, 403));
            }
            None => {}
        }
    }

    fn state(&self, index: usize) -> OrderState {
        let order = &self.orders[index];
        let states = || order.authorizations.iter().map(|a| &self.authorizations[*a].state);
        if states().any(AuthorizationState::is_failure) {
            OrderState::Invalid
        } else if self.names_no_authorizations {
            OrderState::Pending
        } else if order.csr.is_some() && order.looked_at {
            OrderState::Valid
        } else if order.csr.is_some() {
            OrderState::Processing
        } else if states().all(|state| *state == AuthorizationState::Valid) {
            let is_stuck = self.stays_processing && index == 0;
            if self.processes_early || is_stuck {
                OrderState::Processing
            } else {
                OrderState::Ready
            }
        } else {
            OrderState::Pending
        }
    }

    fn order(&self, url: &str) -> Answer {
        let index = self.find(url)?;
        let order = &self.orders[index];
        let state = self.state(index);
        let has_certificate =
            state == OrderState::Valid && self.stop != Some(Stop::ValidWithoutCertificate);
        let certificate = has_certificate.then(|| format!("{url}/certificate"));
        let of = |a: &usize| format!("https://ca.test/authorization/{a}");
        Ok(Outcome::Order(Box::new(OrderSeen {
            url: url.to_owned(),
            problem: (state == OrderState::Invalid).then(|| problem("unauthorized", 403)),
            state,
            authorizations: if self.names_no_authorizations {
                Vec::new()
            } else {
                order.authorizations.iter().map(of).collect()
            },
            finalize_url: format!("{url}/finalize"),
            certificate_url: certificate,
            expires: order.expires,
            retry_after: None,
        })))
    }

    fn authorization(&self, index: usize) -> Outcome {
        let authorization = &self.authorizations[index];
        let url = format!("https://ca.test/challenge/{index}");
        let token = format!("token-{index}");
        let key = format!("{token}.thumbprint");
        let seen = ChallengeSeen {
            state: authorization.state.clone(),
            problem: authorization.problem.clone(),
        };
        // An authorization stays pending while its challenge is processing (RFC 8555 7.1.6).
        let state = match &authorization.state {
            AuthorizationState::Processing => AuthorizationState::Pending,
            state => state.clone(),
        };
        // One URL for both: the client takes the type its solver is of.
        let offered = [ChallengeType::Http01, ChallengeType::Dns01].map(|kind| {
            let offered = OfferedChallenge { kind, url: url.clone(), token: token.clone() };
            (offered, key.clone())
        });
        Outcome::Authorization(Box::new(AuthorizationSeen {
            identifier: authorization.identifier.clone(),
            wildcard: false,
            state,
            challenges: offered.to_vec(),
            seen: vec![(url, seen)],
        }))
    }
}

fn problem(kind: &str, status: u16) -> Problem {
    let kind = format!("urn:ietf:params:acme:error:{kind}");
    Problem { status: Some(status), kind, detail: "no".to_owned(), ..Problem::default() }
}

fn refusal(kind: &str, status: u16) -> EffectError {
    let problem = Some(Box::new(problem(kind, status)));
    let (url, message) = (String::new(), String::new());
    EffectError::new(Cause::Ca(CaFailure {
        fault: CaFault::Refused,
        url,
        problem,
        message,
        clock_ahead: None,
    }))
}

fn limited(words: &str, wait: SignedDuration) -> EffectError {
    let detail = words.to_owned();
    let problem = Some(Box::new(Problem { detail, ..problem("rateLimited", 429) }));
    let (url, message) = ("https://ca.test/new-order".to_owned(), String::new());
    let cause =
        Cause::Ca(CaFailure { fault: CaFault::Refused, url, problem, message, clock_ahead: None });
    EffectError { cause, retry_after: Some(wait) }
}

/// The number at the end of a URL.
fn last(url: &str) -> usize {
    url.rsplit('/').next().unwrap().parse().unwrap()
}
