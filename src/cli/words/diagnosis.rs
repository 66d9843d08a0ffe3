//! The root cause of a failure or of a wait: what all failures have in common, reported once.
//!
//! Contract: pure. Challenges that were refused, or that wait, for the same reason make one group;
//! the largest is printed in full with a few of its names, the others in a line each.

use std::mem::{Discriminant, discriminant};

use jiff::Timestamp;

use super::advice::{self, Advice, Subject};
use crate::engine::Evidence;
use crate::resource::dns01::record_name;
use crate::resource::{
    AddressAnswer, CaFailure, Cause, Challenge, ChallengeType, CheckReport, Doing, Failure,
    FailureClass, Fix, NamespacedName, Order, Phase, Problem, ServerAnswer, SolverKind,
    challenge_url, escape,
};

/// A root cause, and what follows from it. Line ends in foreign text are escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Diagnosis {
    /// In one line.
    pub(crate) title: String,
    /// The class of a failure, and which attempt it was.
    pub(crate) tags: Vec<String>,
    /// The query, the response, and the cause.
    pub(crate) rows: Vec<Row>,
    /// What removes the cause, or shows more.
    pub(crate) fixes: Vec<Fix>,
    /// The next step, and what is done instead, with what that is for.
    pub(crate) next: String,
    pub(crate) or: Option<(&'static str, Fix)>,
}

/// A label, and one line or several behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// One word.
    pub(crate) label: &'static str,
    /// The value; further lines are indented below the first.
    pub(crate) text: String,
}

impl Row {
    /// A row; `None` for an empty value.
    pub(crate) fn new(label: &'static str, text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (!text.trim().is_empty()).then_some(Self { label, text })
    }
}

/// A time, as its reader sees it.
type Time<'a> = &'a dyn Fn(Timestamp) -> String;

/// Why an attempt failed: by the challenges that were refused, the CA's problem document, or what
/// the failure itself says.
pub(crate) fn of_failure(
    failure: &Failure,
    evidence: &Evidence,
    certificate: Option<&NamespacedName>,
    time: Time<'_>,
) -> Diagnosis {
    let at_the_ca = failure.cause.at_the_ca();
    if let Some(clocks) = at_the_ca.and_then(advice::of_clocks) {
        let mut found = Diagnosis { title: failure.to_string(), ..Diagnosis::default() };
        found.advise(Some(clocks));
        return found;
    }
    let challenges = evidence.order.iter().flat_map(|order| &order.challenges);
    let groups = groups(challenges.filter(|c| c.is_failed()), by_problem);
    if let [group, others @ ..] = groups.as_slice() {
        return of_challenges(group, others, failure, evidence, certificate, time);
    }
    let of_order = || evidence.order.as_deref().and_then(problem_of);
    if let Some(problem) = failure.cause.problem().or_else(of_order) {
        return of_problem(failure, problem, evidence, certificate, time);
    }
    let subject = Subject { certificate, issuer: &evidence.issuer, ..Subject::default() };
    let mut found = Diagnosis { title: failure.to_string(), ..Diagnosis::default() };
    let is_of_order = evidence.of_order && failure.since.is_some() && !failure.is_server_error();
    let of_order = is_of_order.then(|| advice::of_unreachable_order(&subject));
    let of_request = at_the_ca.and_then(|failed| advice::of_request(failed, &subject));
    let of_damage = evidence.damage.and_then(|course| advice::of_damage(course, &subject));
    let advice = of_request.or(of_order).or(of_damage);
    found.advise(advice.or_else(|| advice::of_class(failure.class, &subject)));
    let is_of_issuer =
        failure.doing == Doing::RegisterAccount && failure.class == FailureClass::Precondition;
    if found.fixes.is_empty() && (at_the_ca.is_some() || is_of_issuer) {
        found.fixes.extend(advice::check_of_ca(&evidence.issuer));
    }
    found
}

/// The refusal of an order by the CA.
fn problem_of(order: &Order) -> Option<&Problem> {
    let mut refused = order.challenges.iter().filter(|challenge| challenge.is_failed());
    let of_challenge = refused.find_map(|challenge| challenge.problem());
    of_challenge.or(order.problem())
}

/// What an order that is under way waits for.
pub(crate) fn of_wait(why: &str, evidence: &Evidence, certificate: &NamespacedName) -> Diagnosis {
    let challenges = evidence.order.iter().flat_map(|order| &order.challenges);
    let waits = |c: &&Challenge| match c.phase() {
        Some(Phase::Presenting | Phase::SelfChecking | Phase::Accepting) => true,
        Some(Phase::Queued | Phase::Requeued) => !c.reason.is_empty(),
        Some(Phase::Accepted) | None => false,
    };
    let groups = groups(challenges.filter(waits), by_wait);
    let [group, others @ ..] = groups.as_slice() else {
        let mut found = Diagnosis { title: why.to_owned(), ..Diagnosis::default() };
        if evidence.order.as_deref().is_some_and(|order| order.stuck().is_some()) {
            found.advise(Some(advice::of_stuck_order(certificate)));
        }
        return found;
    };
    let Some(first) = group.first() else { return Diagnosis::default() };
    let omitted = match group.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let (name, reason) = (name_of(first), first.shown_reason());
    let title = format!("{name}{omitted}: {reason}");
    let mut found = Diagnosis { title, ..Diagnosis::default() };
    if group.len() > 1 {
        found.rows.extend(Row::new("names", few(group)));
    }
    let is_in_title = match first.phase() {
        Some(Phase::SelfChecking | Phase::Queued | Phase::Requeued) => true,
        Some(Phase::Presenting | Phase::Accepting | Phase::Accepted) | None => false,
    };
    found.seen(first, is_in_title);
    for other in others.iter().take(MOST_OTHERS) {
        if let Some(challenge) = other.first() {
            let text = format!("{}: {}", few(other), challenge.shown_reason());
            found.rows.extend(Row::new("also", text));
        }
    }
    found.fixes.extend(advice::check_of(&first.spec.kind, &bare_name_of(first)));
    found
}

/// Why challenges were refused.
fn of_challenges(
    group: &[&Challenge],
    others: &[Vec<&Challenge>],
    failure: &Failure,
    evidence: &Evidence,
    certificate: Option<&NamespacedName>,
    time: Time<'_>,
) -> Diagnosis {
    let Some(first) = group.first() else { return Diagnosis::default() };
    let refused: usize = group.len() + others.iter().map(Vec::len).sum::<usize>();
    let word = first.spec.kind.as_str();
    let title = match first.problem() {
        None if refused == 1 => failure.to_string(),
        None => format!("{refused} names were not validated by {word}: {}", first.reason),
        Some(problem) => {
            let subject = if refused == 1 {
                format!("{} was", name_of(first))
            } else {
                format!("{refused} names were")
            };
            let how = if others.is_empty() { format!(" by {word}") } else { String::new() };
            format!("{subject} not validated{how}: {}", problem.short_kind())
        }
    };
    let mut found = Diagnosis { title, ..Diagnosis::default() };
    if refused > 1 {
        found.rows.extend(Row::new("names", few(group)));
    }
    found.seen(first, false);
    let subject = Subject {
        certificate,
        issuer: &evidence.issuer,
        name: &bare_name_of(first),
        proof: Some(&first.spec.kind),
        is_registration: false,
    };
    if let Some(problem) = first.problem() {
        found.problem(problem, &details(group), time);
        found.advise(advice::of_problem(problem.short_kind(), &subject));
    }
    for other in others.iter().take(MOST_OTHERS) {
        if let Some(challenge) = other.first() {
            let kind = challenge.spec.kind.as_str();
            let why = challenge.problem().map_or_else(
                || challenge.reason.clone(),
                |problem| format!("{}: {}", problem.short_kind(), problem.detail),
            );
            found.rows.extend(Row::new("also", format!("{} by {kind}: {why}", few(other))));
        }
    }
    let check = advice::check_of(&first.spec.kind, subject.name);
    found.fixes.extend(check.filter(|check| !found.fixes.contains(check)));
    found
}

/// Why the CA refused an account or an order.
fn of_problem(
    failure: &Failure,
    problem: &Problem,
    evidence: &Evidence,
    certificate: Option<&NamespacedName>,
    time: Time<'_>,
) -> Diagnosis {
    let (doing, url) = request_of(failure);
    let kind = problem.short_kind();
    let title = match (doing.as_str(), kind) {
        ("", kind) => format!("the CA refused: {kind}"),
        (doing, "") => doing.to_owned(),
        (doing, kind) => format!("{doing}: {kind}"),
    };
    // The challenge itself is no longer known.
    let title = if let Cause::Challenge(refused) = &failure.cause {
        let star = if refused.wildcard { "*." } else { "" };
        format!("{star}{} was not validated: {kind}", refused.identifier)
    } else {
        title
    };
    let mut found = Diagnosis { title, ..Diagnosis::default() };
    found.rows.extend(Row::new("url", url));
    found.problem(problem, &[], time);
    let named = problem.subproblems.iter().find(|sub| !sub.identifier.is_empty());
    let identifier = evidence.order.iter().flat_map(|order| &order.spec.identifiers).next();
    let name = named.map(|sub| sub.identifier.clone());
    let name = name.or_else(|| identifier.map(ToString::to_string)).unwrap_or_default();
    let name = name.trim_start_matches("*.");
    let subject = Subject {
        certificate,
        issuer: &evidence.issuer,
        name,
        proof: None,
        is_registration: failure.doing == Doing::RegisterAccount,
    };
    let kind = if problem.is_paused() { "paused" } else { kind };
    found.advise(advice::of_problem(kind, &subject));
    if found.fixes.is_empty() {
        found.fixes.extend(advice::check_of_ca(&evidence.issuer));
    }
    found
}

impl Diagnosis {
    /// The problem document in full. `details` are those of all it stands for, when they differ.
    fn problem(&mut self, problem: &Problem, details: &[String], time: Time<'_>) {
        let Problem { status, kind, detail, instance, algorithms, subproblems } = problem;
        self.rows.extend(Row::new("type", kind.as_str()));
        let status = status.map_or_else(String::new, |status| status.to_string());
        self.rows.extend(Row::new("status", status));
        let detail = if details.len() > 1 { details.join("\n") } else { one_line(detail) };
        self.rows.extend(Row::new(DETAIL, detail));
        self.rows.extend(Row::new("instance", one_line(instance)));
        self.rows.extend(Row::new("accepts", one_line(&algorithms.join(", "))));
        let each = subproblems.iter().take(MOST_SUBPROBLEMS).map(|sub| {
            let kind = sub.kind.rsplit(':').next().unwrap_or_default();
            one_line(&format!("{}: {kind}: {}", sub.identifier, sub.detail))
        });
        let omitted = subproblems.len().saturating_sub(MOST_SUBPROBLEMS);
        let omitted = (omitted > 0).then(|| format!("and {omitted} more"));
        let each: Vec<String> = each.chain(omitted).collect();
        self.rows.extend(Row::new("of these", each.join("\n")));
        if let Some(until) = advice::retry_time(&problem.detail) {
            self.rows.extend(Row::new("until", time(until)));
        }
    }

    fn advise(&mut self, advice: Option<Advice>) {
        let Some(Advice { cause, remedy, fix }) = advice else { return };
        self.rows.extend(Row::new("cause", cause));
        self.rows.extend(Row::new("remedy", remedy));
        self.fixes.extend(fix);
    }

    /// The query of the self-check and its result, without the verdict if the title has it.
    fn seen(&mut self, challenge: &Challenge, is_in_title: bool) {
        let Some(report) = challenge.check() else {
            self.rows.extend(Row::new("queried", place_of(challenge)));
            return;
        };
        self.rows.extend(Row::new("queried", report.query()));
        let verdict = report.cause().unwrap_or("passed").to_owned();
        let verdict = (!is_in_title).then_some(verdict);
        let adds = verdict.is_some() || report.adds_to_its_verdict();
        let details = if adds { report.details() } else { Vec::new() };
        let lines = verdict.into_iter().chain(details).take(MOST_LINES);
        self.rows.extend(Row::new("check", lines.collect::<Vec<_>>().join("\n")));
        if let CheckReport::Http01(report) = report
            && !report.has_passed()
            && report.is_at_another_port()
        {
            let why = "as --http01-check-port or certctl/http01-check-port says; public CAs \
                       connect to port 80";
            self.rows.extend(Row::new("port", why));
        }
    }
}

/// Where the response to a challenge is queried.
fn place_of(challenge: &Challenge) -> String {
    let spec = &challenge.spec;
    match &spec.kind {
        ChallengeType::Http01 => challenge_url(&spec.identifier, &spec.token),
        ChallengeType::Dns01 => match (&challenge.presented.target, &spec.solver.kind) {
            (Some(target), SolverKind::Dns01(_) | SolverKind::Http01(_)) => target.to_string(),
            (None, _) => format!("TXT {}", record_name(&spec.identifier)),
        },
        ChallengeType::Other(_) => String::new(),
    }
}

/// Challenges that share a key, the largest group first.
fn groups<'a, K: PartialEq>(
    challenges: impl Iterator<Item = &'a Challenge>,
    key: fn(&'a Challenge) -> K,
) -> Vec<Vec<&'a Challenge>> {
    let mut groups: Vec<(K, Vec<&Challenge>)> = Vec::new();
    for challenge in challenges {
        let key = key(challenge);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(challenge),
            None => groups.push((key, vec![challenge])),
        }
    }
    let mut groups: Vec<_> = groups.into_iter().map(|(_, group)| group).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups
}

fn by_problem(challenge: &Challenge) -> (&ChallengeType, &str) {
    (&challenge.spec.kind, challenge.problem().map_or("", Problem::short_kind))
}

/// Challenges wait alike when they are equally far and their last self-checks met the same kinds of
/// answers.
fn by_wait(challenge: &Challenge) -> impl PartialEq + use<'_> {
    (challenge.phase(), by_problem(challenge), challenge.check().map(kinds))
}

/// The kinds of the answers to a self-check: of each address with its HTTP status, of each name
/// server, and the rest of the verdict.
type Kinds = (Vec<(Discriminant<AddressAnswer>, u16)>, Vec<Discriminant<ServerAnswer>>, bool);

fn kinds(report: &CheckReport) -> Kinds {
    match report {
        CheckReport::Http01(report) => {
            let outcomes = report.addresses.iter().map(|address| &address.outcome);
            let status = |outcome: &AddressAnswer| {
                if let AddressAnswer::Wrong { status, .. } = outcome { *status } else { 0 }
            };
            let all = outcomes.map(|outcome| (discriminant(outcome), status(outcome)));
            (all.collect(), Vec::new(), report.dns.is_some())
        }
        CheckReport::Dns01(report) => {
            let all = report.servers.iter().flat_map(|server| &server.answers);
            let all = all.map(|answer| discriminant(&answer.response));
            (Vec::new(), all.collect(), report.has_passed())
        }
    }
}

/// The details of a group, each kind of them once, with the name it is of.
fn details(group: &[&Challenge]) -> Vec<String> {
    let mut seen = Vec::new();
    let mut all = Vec::new();
    for challenge in group {
        let detail = challenge.problem().map_or("", |problem| problem.detail.as_str());
        let key = without_its_own(challenge, detail);
        if !seen.contains(&key) {
            seen.push(key);
            all.push(one_line(&format!("{}: {detail}", name_of(challenge))));
        }
    }
    let omitted = all.len().saturating_sub(FEW);
    all.truncate(FEW);
    if omitted > 0 {
        all.push(format!("and {omitted} other answers"));
    }
    all
}

/// The CA's detail without this challenge's own values, so that a hundred names with one detail are
/// reported once. The CA's text is compared, never parsed.
fn without_its_own(challenge: &Challenge, detail: &str) -> String {
    let spec = &challenge.spec;
    let own = [spec.key.clone(), spec.token.clone(), spec.identifier.to_string()];
    own.iter()
        .filter(|own| !own.is_empty())
        .fold(detail.to_owned(), |text, own| text.replace(own.as_str(), "\u{0}"))
}

/// The first names of a group, and how many more there are.
fn few(group: &[&Challenge]) -> String {
    let names: Vec<String> = group.iter().take(FEW).map(|c| name_of(c)).collect();
    match group.len().saturating_sub(FEW) {
        0 => names.join(", "),
        omitted => format!("{} and {omitted} more", names.join(", ")),
    }
}

/// The request that the CA refused, and its URL.
fn request_of(failure: &Failure) -> (String, &str) {
    let doing = failure.doing.to_string();
    let join = |what: &str| match (doing.as_str(), what) {
        (doing, "") => doing.to_owned(),
        ("", what) => what.to_owned(),
        (doing, what) => format!("{doing}: {what}"),
    };
    if let Cause::Ca(CaFailure { url, message, .. }) = &failure.cause {
        (join(message), url)
    } else if let Cause::LostAccount { url, .. } = &failure.cause {
        let lost = "the CA does not know the account, which was registered again in this run";
        (join(lost), url)
    } else if let Cause::Order(order) = &failure.cause
        && let Some(failure) = &order.failure
    {
        request_of(failure)
    } else {
        (doing, "")
    }
}

fn name_of(challenge: &Challenge) -> String {
    let star = if challenge.spec.wildcard { "*." } else { "" };
    format!("{star}{}", challenge.spec.identifier)
}

fn bare_name_of(challenge: &Challenge) -> String {
    challenge.spec.identifier.to_string()
}

/// Foreign text, on one line.
fn one_line(text: &str) -> String {
    escape(text.trim()).into_owned()
}

/// The label of what the CA said.
pub(crate) const DETAIL: &str = "detail";
/// How many names, or different answers, are printed.
const FEW: usize = 3;
const MOST_OTHERS: usize = 5;
const MOST_SUBPROBLEMS: usize = 20;
const MOST_LINES: usize = 30;
