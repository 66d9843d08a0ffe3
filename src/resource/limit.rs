//! Rate limits of CAs: which orders a CA refuses for now.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Pause, Problem, base_of};

/// How long a refusal is remembered after its end: one of the same scope within that time continues
/// it, and is not reported again.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(24);

/// Which new orders a CA refuses for now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// All of the account.
    Account,
    /// Those with a name of this domain, except renewals.
    Domain(String),
    /// Those with this name.
    Name(String),
    /// Those of exactly these names.
    Names(Vec<String>),
}

impl Scope {
    /// Which orders are refused, by the CA's words about one of `names`. No type of problem tells
    /// the limits of a CA apart; the words are those of Boulder, Let's Encrypt's server
    /// (`ratelimits/limiter.go`). Words that name nothing are about the account.
    pub fn of(problem: &Problem, names: &[String]) -> Self {
        let detail = problem.detail.to_lowercase();
        let quoted = detail.split('"').nth(1).filter(|name| !name.is_empty()).map(str::to_owned);
        let these = || Self::Names(names.to_vec());
        if detail.contains("exact set of") {
            these()
        } else if detail.contains("failed authorizations") {
            quoted.map_or_else(these, Self::Name)
        } else if detail.contains("already issued for") {
            quoted.map_or_else(these, Self::Domain)
        } else if problem.subproblems.iter().any(|part| !part.identifier.is_empty()) {
            these()
        } else {
            Self::Account
        }
    }

    /// Whether an order of these names is refused.
    pub fn covers(&self, names: &[String], is_renewal: bool) -> bool {
        let is_in = |name: &str, domain: &str| {
            name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        match self {
            Self::Account => true,
            Self::Domain(domain) => !is_renewal && names.iter().any(|name| is_in(name, domain)),
            Self::Name(refused) => {
                // A name and its wildcard have one authorization's identifier.
                names.iter().any(|name| base_of(name) == base_of(refused))
            }
            Self::Names(refused) => names == refused,
        }
    }
}

/// A CA's refusal to take some new orders for now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Refusal {
    pub scope: Scope,
    #[schemars(with = "crate::resource::DateTime")]
    pub at: Timestamp,
    /// The end of the CA's Retry-After.
    #[schemars(with = "crate::resource::DateTime")]
    pub until: Timestamp,
}

impl Refusal {
    /// Whether it ends at most a minute after another one.
    fn ends_with(&self, other: &Self) -> bool {
        other.until.duration_until(self.until) <= SignedDuration::from_mins(1)
    }
}

/// What certctl knows of an account's limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccountLimits {
    /// The last refusal of each scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<Refusal>,
    /// Those of the last day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_validations: Vec<FailedValidation>,
}

/// A validation of a name that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FailedValidation {
    /// Without its `*.`.
    pub name: String,
    #[schemars(with = "crate::resource::DateTime")]
    pub at: Timestamp,
}

impl AccountLimits {
    /// Adds a refusal; returns whether it continues an earlier one. Requests that were in flight
    /// together have one end. One after `now` is of a clock that was ahead.
    pub fn add(&mut self, refusal: Refusal, now: Timestamp) -> bool {
        self.refusals.retain(|old| old.at <= now);
        let same = self.refusals.iter_mut().find(|old| old.scope == refusal.scope);
        if let Some(old) = same.filter(|old| old.until > refusal.at && refusal.ends_with(old)) {
            // It is believed anew, for a part of what is left.
            old.at = refusal.at;
            return true;
        }
        let is_remembered = |old: &Refusal| {
            old.until.checked_add(REMEMBERED).is_ok_and(|forgotten| refusal.at < forgotten)
        };
        self.refusals.retain(is_remembered);
        let before = self.refusals.len();
        self.refusals.retain(|old| old.scope != refusal.scope);
        let continues = self.refusals.len() < before;
        self.refusals.push(refusal);
        continues
    }

    /// Adds validations that failed.
    pub fn add_failed(&mut self, names: impl IntoIterator<Item = String>, now: Timestamp) {
        self.failed_validations
            .retain(|old| old.at <= now && old.at.duration_until(now) < REMEMBERED);
        let new = names.into_iter().map(|name| FailedValidation { name, at: now });
        self.failed_validations.extend(new);
    }

    /// The refusal of an order of these names that ends last.
    pub fn refusal(&self, names: &[String], is_renewal: bool, now: Timestamp) -> Option<&Refusal> {
        let is_current = |refusal: &&Refusal| refusal.at <= now && refusal.until > now;
        let mut current = self.refusals.iter().filter(is_current);
        let first = current.find(|refusal| refusal.scope.covers(names, is_renewal))?;
        let others = current.filter(|refusal| refusal.scope.covers(names, is_renewal));
        Some(others.fold(first, |last, other| if other.until > last.until { other } else { last }))
    }

    /// Whether the CA refused orders of the whole account within the last day, for longer than a run
    /// waits: less is its rate of requests, which all requests keep.
    pub fn is_slow(&self, now: Timestamp) -> bool {
        let is_recent =
            |refusal: &Refusal| refusal.at <= now && refusal.until.duration_until(now) < REMEMBERED;
        let is_long =
            |refusal: &Refusal| refusal.at.duration_until(refusal.until) > Pause::LONGEST_WISH;
        let of_account = self.refusals.iter().filter(|refusal| refusal.scope == Scope::Account);
        of_account.filter(|refusal| is_recent(refusal)).any(is_long)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(detail: &str) -> Problem {
        Problem { detail: detail.to_owned(), ..Problem::default() }
    }

    #[test]
    fn the_words_of_a_ca_tell_which_orders_it_refuses() {
        let names = || vec!["example.com".to_owned(), "www.example.com".to_owned()];
        let in_the_last = "in the last 168h0m0s, retry after 2026-11-22 08:04:05 UTC: see \
                           https://letsencrypt.org/docs/rate-limits/";
        let domain = || Scope::Domain("example.com".to_owned());
        let name = || Scope::Name("www.example.com".to_owned());
        let cases = [
            ("too many certificates (50) already issued for \"Example.com\"", domain()),
            ("too many failed authorizations (5) for \"www.example.com\"", name()),
            ("too many failed authorizations recently", Scope::Names(names())),
            (
                "too many certificates (5) already issued for this exact set of identifiers",
                Scope::Names(names()),
            ),
            (
                "Error creating new order :: too many certificates already issued for exact set of \
                 domains: example.com",
                Scope::Names(names()),
            ),
            ("too many certificates already issued for: example.com", Scope::Names(names())),
            ("too many new orders (300) from this account", Scope::Account),
            ("too many new registrations (10) from this IP address", Scope::Account),
            ("Service busy; retry later.", Scope::Account),
            ("", Scope::Account),
        ];
        for (retry_text, expected) in cases {
            let found = Scope::of(&problem(&format!("{retry_text} {in_the_last}")), &names());
            assert_eq!(found, expected, "{retry_text}");
        }
    }

    #[test]
    fn a_refusal_is_for_the_orders_it_names() {
        let wide = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let domain = Scope::Domain("example.com".to_owned());
        let name = Scope::Name("example.com".to_owned());
        let set = Scope::Names(wide(&["a.example.com", "example.com"]));
        let cases = [
            (&["example.com"][..], [true, true, false]),
            (&["*.example.com"], [true, true, false]),
            (&["a.example.com", "example.com"], [true, true, true]),
            (&["a.example.com"], [true, false, false]),
            (&["notexample.com"], [false, false, false]),
        ];
        for (names, expected) in cases {
            let names = wide(names);
            let found = [&domain, &name, &set].map(|scope| scope.covers(&names, false));
            assert_eq!(found, expected, "{names:?}");
            assert!(!domain.covers(&names, true) && Scope::Account.covers(&names, true));
        }
    }

    #[test]
    fn the_refusal_that_ends_last_counts_and_is_remembered_for_a_day() {
        let at = |hours| Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours);
        let refusal = |scope: &Scope, from, until| Refusal {
            scope: scope.clone(),
            at: at(from),
            until: at(until),
        };
        let domain = Scope::Domain("example.com".to_owned());
        let mut known = AccountLimits::default();
        assert!(!known.add(refusal(&domain, 0, 2), at(0)));
        assert!(!known.is_slow(at(0)));
        let short =
            Refusal { until: at(0) + Pause::LONGEST_WISH, ..refusal(&Scope::Account, 0, 0) };
        assert!(!AccountLimits { refusals: vec![short], ..known.clone() }.is_slow(at(0)));
        assert!(!known.add(refusal(&Scope::Account, 0, 1), at(0)));
        let names = ["example.com".to_owned()];
        let until = |known: &AccountLimits, renewal, now| {
            known.refusal(&names, renewal, at(now)).map(|refusal| refusal.until)
        };
        assert_eq!(until(&known, false, 0), Some(at(2)));
        assert_eq!(until(&known, true, 0), Some(at(1)));
        assert_eq!(until(&known, false, 2), None);
        assert!(known.add(refusal(&Scope::Account, 24, 30), at(24)), "it continues the first");
        assert!(known.is_slow(at(53)) && !known.is_slow(at(54)));
        assert!(!known.add(refusal(&domain, 26, 28), at(26)), "the first is forgotten");
        let moment = SignedDuration::from_secs(1);
        let together = Refusal { until: at(30) + moment, ..refusal(&Scope::Account, 24, 30) };
        assert!(known.add(together, at(26)), "it was in flight already");
        let expected = [refusal(&Scope::Account, 24, 30), refusal(&domain, 26, 28)];
        assert_eq!(known.refusals, expected);
    }

    #[test]
    fn what_a_clock_ahead_left_behind_is_not_believed() {
        let at = |hours| Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours);
        let refusal = |from| Refusal { scope: Scope::Account, at: at(from), until: at(from + 2) };
        let names = ["example.com".to_owned()];
        let mut known = AccountLimits::default();
        known.add(refusal(100), at(100));
        known.add_failed(names.clone(), at(100));
        assert_eq!(known.refusal(&names, false, at(99)), None);
        assert!(!known.is_slow(at(99)) && known.is_slow(at(100)));
        known.add_failed(names.clone(), at(99));
        let failed = known.failed_validations.iter().map(|failed| failed.at);
        assert_eq!(failed.collect::<Vec<_>>(), [at(99)]);
        assert!(!known.add(refusal(99), at(99)), "it continues none");
        assert_eq!(known.refusal(&names, false, at(99)), Some(&refusal(99)));
        assert_eq!(known.refusals, [refusal(99)]);
    }
}
