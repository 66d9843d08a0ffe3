//! The root cause of a failure or of a wait: what all failures have in common, reported once.
//!
//! Contract: pure. Challenges that were refused, or that wait, for the same reason make one group;
//! the largest is printed in full with a few of its names, the others in a line each.

use std::collections::BTreeSet;
use std::mem::discriminant;

use jiff::SignedDuration;

use super::count::names;
use super::order::served_at;
use super::problem::{Subject, check_of, check_of_ca};
use super::time::length;
use crate::engine::Evidence;
use crate::engine::ports::DamageCourse;
use crate::resource::dns01::record_name;
use crate::resource::{
    CaFailure, CaFault, Cause, Challenge, ChallengeType, CheckReport, Doing, Failure, FailureClass,
    Fix, NamespacedName, Order, Phase, Presence, Problem, escape,
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
    /// Fixes, which remove the cause or show more.
    pub(crate) fixes: Vec<Fix>,
    /// The next step, and what is done instead, with what that is for.
    pub(crate) next: String,
    pub(crate) or: Option<(&'static str, Fix)>,
}

/// A label, and one line or several behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Label of one word.
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

/// Explains a failure by the challenges that were refused, the CA's problem document, or the
/// failure itself.
pub(crate) fn of_failure(
    failure: &Failure,
    evidence: &Evidence,
    certificate: Option<&NamespacedName>,
) -> Diagnosis {
    let at_the_ca = failure.cause.at_the_ca();
    let ahead = at_the_ca.and_then(|failed| failed.clock_ahead);
    let clock = ahead.map(|ahead| {
        let word = if ahead > 0 { "behind" } else { "ahead of" };
        format!("{} {word}", length(SignedDuration::from_secs(ahead)))
    });
    let subject = Subject {
        certificate,
        issuer: &evidence.issuer,
        clock: clock.unwrap_or_default(),
        ..Subject::default()
    };
    if ahead.is_none() {
        let challenges = evidence.order.iter().flat_map(|order| &order.challenges);
        let groups = groups(challenges.filter(|one| one.is_failed()), by_problem);
        if let Some(found) = of_challenges(&groups, failure, subject.clone()) {
            return found;
        }
        let of_order = || evidence.order.as_deref().and_then(Order::problem);
        if let Some(problem) = failure.cause.problem().or_else(of_order) {
            return of_problem(failure, problem, evidence, subject);
        }
    }
    let mut found = Diagnosis::titled(failure.to_string());
    found.advise(kind_of(failure, evidence), &subject);
    let is_of_account = failure.doing == Doing::RegisterAccount;
    if found.fixes.is_empty() && (at_the_ca.is_some() || is_of_account) {
        found.fixes.extend(check_of_ca(&evidence.issuer));
    }
    found
}

/// The row of a failure without a problem document.
fn kind_of(failure: &Failure, evidence: &Evidence) -> &'static str {
    let at_the_ca = failure.cause.at_the_ca();
    let is_of_order = evidence.of_order && failure.since.is_some() && !failure.is_server_error();
    let kind = match at_the_ca.map(|failed| (failed.clock_ahead, failed.fault)) {
        Some((Some(_), _)) => return "clock",
        Some((None, CaFault::UnknownIssuer)) => return "unknown-issuer",
        Some((None, CaFault::Untimely)) => return "untimely",
        Some((None, CaFault::Untrusted)) => return "untrusted",
        Some(_) | None if is_of_order => return "silent-order",
        Some(_) | None => evidence.damage,
    };
    match kind {
        Some(DamageCourse::SetAside) => "damaged",
        Some(DamageCourse::LeftToNewer) => "newer",
        Some(DamageCourse::Unusable) | None => match failure.class {
            FailureClass::Unreachable => "unreachable",
            FailureClass::State => "state",
            FailureClass::Other
            | FailureClass::Precondition
            | FailureClass::Validation
            | FailureClass::Ca
            | FailureClass::Output => "",
        },
    }
}

/// Explains the wait of an order.
pub(crate) fn of_wait(why: &str, evidence: &Evidence) -> Diagnosis {
    let challenges = evidence.order.iter().flat_map(|order| &order.challenges);
    let waits = |c: &&Challenge| match c.phase() {
        Some(Phase::Presenting | Phase::SelfChecking | Phase::Accepting) => true,
        Some(Phase::Queued | Phase::Requeued) => !c.reason.is_empty(),
        Some(Phase::Accepted) | None => false,
    };
    let groups = groups(challenges.filter(waits), by_wait);
    let largest = groups.split_first();
    let largest = largest.and_then(|(group, others)| Some((group, group.first()?, others)));
    let Some((group, first, others)) = largest else {
        let mut found = Diagnosis::titled(why);
        if evidence.order.as_deref().is_some_and(|order| order.stuck().is_some()) {
            found.advise("stuck-order", &Subject::default());
        }
        return found;
    };
    let rest = match group.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let mut found =
        Diagnosis::titled(format!("{}{rest}: {}", name_of(first), first.shown_reason()));
    found.names(group, group.len());
    let is_in_title = !matches!(first.phase(), Some(Phase::Presenting | Phase::Accepting));
    found.seen(first, is_in_title);
    let also = |one: &Challenge, of| format!("{of}: {}", one.shown_reason());
    found.also(others, also);
    found.fixes.extend(check_of(&first.spec.kind, &first.spec.identifier.to_string()));
    found
}

/// Explains the refusal of challenges.
fn of_challenges(
    groups: &[Vec<&Challenge>],
    failure: &Failure,
    subject: Subject<'_>,
) -> Option<Diagnosis> {
    let (group, others) = groups.split_first()?;
    let first = group.first()?;
    let refused: usize = groups.iter().map(Vec::len).sum();
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
    let mut found = Diagnosis::titled(title);
    let name = first.spec.identifier.to_string();
    let subject = Subject { name: &name, proof: Some(&first.spec.kind), ..subject };
    if let Some(problem) = first.problem() {
        found.advise(problem.short_kind(), &subject);
        found.problem(problem, &details(group));
    }
    found.names(group, refused);
    found.seen(first, false);
    found.also(others, |one, of| {
        let kind = one.spec.kind.as_str();
        let why = one.problem().map_or_else(
            || one.reason.clone(),
            |problem| format!("{}: {}", problem.short_kind(), problem.detail),
        );
        format!("{of} by {kind}: {why}")
    });
    let check = check_of(&first.spec.kind, &name);
    found.fixes.extend(check.filter(|check| !found.fixes.contains(check)));
    Some(found)
}

/// Explains the CA's refusal of an account or an order.
fn of_problem(
    failure: &Failure,
    problem: &Problem,
    evidence: &Evidence,
    subject: Subject<'_>,
) -> Diagnosis {
    let (doing, url) = request_of(failure);
    let kind = problem.short_kind();
    let title = match (&failure.cause, doing.as_str(), kind) {
        // The challenge itself is no longer known.
        (Cause::Challenge(refused), ..) => {
            let star = if refused.wildcard { "*." } else { "" };
            format!("{star}{} was not validated: {kind}", refused.identifier)
        }
        (_, "", kind) => format!("the CA refused: {kind}"),
        (_, doing, "") => doing.to_owned(),
        (_, doing, kind) => format!("{doing}: {kind}"),
    };
    let mut found = Diagnosis::titled(title);
    let named = problem.subproblems.iter().find(|sub| !sub.identifier.is_empty());
    let identifier = evidence.order.iter().flat_map(|order| &order.spec.identifiers).next();
    let name = named.map(|sub| sub.identifier.clone());
    let name = name.or_else(|| identifier.map(ToString::to_string)).unwrap_or_default();
    let is_registration = failure.doing == Doing::RegisterAccount;
    let subject = Subject { name: name.trim_start_matches("*."), is_registration, ..subject };
    found.advise(if problem.is_paused() { "paused" } else { kind }, &subject);
    found.problem(problem, &[]);
    found.rows.extend(Row::new("url", url));
    if found.fixes.is_empty() {
        found.fixes.extend(check_of_ca(&evidence.issuer));
    }
    found
}

impl Diagnosis {
    fn titled(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Adds the CA's text. `details` are those of all it stands for, when they are several.
    fn problem(&mut self, problem: &Problem, details: &[String]) {
        let Problem { detail, instance, algorithms, subproblems, .. } = problem;
        let detail = if details.len() > 1 { details.join("\n") } else { one_line(detail) };
        let each = subproblems.iter().map(|sub| {
            let kind = sub.kind.rsplit(':').next().unwrap_or_default();
            one_line(&format!("{}: {kind}: {}", sub.identifier, sub.detail))
        });
        self.rows.extend(Row::new(DETAIL, detail));
        self.rows.extend(Row::new("of these", shortened(each, MOST_SUBPROBLEMS).join("\n")));
        self.rows.extend(Row::new("accepts", one_line(&algorithms.join(", "))));
        self.rows.extend(Row::new("instance", one_line(instance)));
    }

    /// Cause and remedy come before all else.
    fn advise(&mut self, kind: &str, subject: &Subject<'_>) {
        let Some((cause, remedy, fix)) = subject.advice(kind) else { return };
        self.rows.extend(Row::new("cause", cause));
        self.rows.extend(Row::new("remedy", remedy));
        self.fixes.extend(fix);
    }

    /// The names of a group, where the title has not the only one.
    fn names(&mut self, group: &[&Challenge], of: usize) {
        self.rows.extend(Row::new("names", few(group)).filter(|_| of > 1));
    }

    /// The other groups, each by its first challenge.
    fn also(&mut self, others: &[Vec<&Challenge>], text: impl Fn(&Challenge, String) -> String) {
        let firsts = others.iter().filter_map(|other| Some(text(other.first()?, few(other))));
        self.rows.extend(firsts.take(MOST_OTHERS).filter_map(|text| Row::new("also", text)));
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
    }
}

/// Where the response to a challenge is queried.
fn place_of(challenge: &Challenge) -> String {
    let spec = &challenge.spec;
    match (spec.kind.method().map(|method| method.presence), &challenge.presented.target) {
        (Some(Presence::Served), _) => served_at(spec),
        (Some(Presence::Record), Some(target)) => target.to_string(),
        (Some(Presence::Record), None) => format!("TXT {}", record_name(&spec.identifier)),
        (None, _) => String::new(),
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
    let answers = match challenge.check() {
        Some(CheckReport::Http01(report)) => {
            let kinds = report.addresses.iter().map(|one| discriminant(&one.outcome));
            (kinds.collect(), Vec::new(), Vec::new(), report.dns.is_some())
        }
        Some(CheckReport::TlsAlpn01(report)) => {
            let kinds = report.addresses.iter().map(|one| discriminant(&one.outcome));
            (Vec::new(), kinds.collect(), Vec::new(), report.dns.is_some())
        }
        Some(CheckReport::Dns01(report)) => {
            let answers = report.servers.iter().flat_map(|server| &server.answers);
            let kinds = answers.map(|answer| discriminant(&answer.response));
            (Vec::new(), Vec::new(), kinds.collect(), report.has_passed())
        }
        None => (Vec::new(), Vec::new(), Vec::new(), false),
    };
    (challenge.phase(), by_problem(challenge), answers)
}

/// The details of a group, with the name that each is of; once where only name and token differ.
fn details(group: &[&Challenge]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let detail = |one: &&Challenge| {
        let detail = &one.problem()?.detail;
        let bare =
            detail.replace(&one.spec.identifier.to_string(), "").replace(&one.spec.token, "");
        let line = one_line(&format!("{}: {detail}", name_of(one)));
        seen.insert(bare).then_some(line)
    };
    shortened(group.iter().filter_map(detail), FEW)
}

/// The first of these, and how many more there are.
fn shortened(all: impl Iterator<Item = String>, most: usize) -> Vec<String> {
    let mut all: Vec<String> = all.collect();
    let omitted = all.len().saturating_sub(most);
    all.truncate(most);
    all.extend((omitted > 0).then(|| format!("and {omitted} more")));
    all
}

/// The first names of a group, and how many more there are.
fn few(group: &[&Challenge]) -> String {
    names(&group.iter().map(|one| name_of(one)).collect::<Vec<_>>())
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
        let lost = "the CA does not know the account; this run registered it again";
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

/// Foreign text, on one line.
fn one_line(text: &str) -> String {
    escape(text.trim()).into_owned()
}

/// The label of what the CA said.
pub(crate) const DETAIL: &str = "detail";
/// Number of names, or different answers, that are printed.
const FEW: usize = 3;
const MOST_OTHERS: usize = 5;
const MOST_SUBPROBLEMS: usize = 20;
const MOST_LINES: usize = 30;
