//! True if the name servers of this host answer, asked for one name of each certificate, and for
//! the others that are proven over HTTP, as far as they are few.

use std::collections::BTreeMap;

use futures_util::future::join_all;

use super::usage::Use;
use crate::cli::count;
use crate::engine::inputs::names_of;
use crate::resource::{Check, DnsName, Finding, Fix, Identifier, Obstacle, Setting};
use crate::workspace::Settings;
use crate::workspace::check::DnsError;

/// The names to ask for, and whether each must have an address: all that are proven over HTTP, as far as
/// they are few, and the first of each certificate without one.
fn queried(uses: &[Use<'_>]) -> BTreeMap<DnsName, bool> {
    let dns = |identifier: Identifier| match identifier {
        Identifier::Dns(name) => Some(name),
        Identifier::Ip(_) => None,
    };
    let mut queried = BTreeMap::new();
    for one in uses {
        let mut names: Vec<DnsName> = one.over_http().into_iter().filter_map(dns).collect();
        let is_http = !names.is_empty();
        if !is_http {
            names.extend(names_of(one.certificate).into_iter().find_map(dns));
        }
        for name in names {
            if queried.len() < MOST_QUERIED || queried.contains_key(&name) {
                *queried.entry(name).or_default() |= is_http;
            }
        }
    }
    queried
}

/// Returns a single finding when all is well, else a finding for each name that is not.
pub(super) async fn dns(settings: &Settings, uses: &[Use<'_>]) -> Vec<Finding> {
    let names = queried(uses);
    if names.is_empty() {
        return Vec::new();
    }
    let resolver = settings.resolver(BTreeMap::new()).await;
    let lookups = names.iter().map(async |(name, is_http)| {
        let answer = resolver.addresses(name.base()).await;
        refusal(name, *is_http, &answer.err()?)
    });
    findings(names.len(), join_all(lookups).await.into_iter().flatten().collect())
}

fn refusal(name: &DnsName, is_http: bool, error: &DnsError) -> Option<Finding> {
    let fix = match error {
        // What is proven by a TXT record needs no address.
        DnsError::NxDomain { .. } | DnsError::NoAddress { .. } if !is_http => return None,
        DnsError::NxDomain { .. } | DnsError::NoAddress { .. } | DnsError::BadName { .. } => {
            Fix::Check(Check::Http(name.to_string()))
        }
        DnsError::Failed { .. } => OF_SERVERS,
    };
    Some(Finding::wrong("DNS", Obstacle::new(error).with(fix)))
}

fn findings(queried: usize, wrong: Vec<Finding>) -> Vec<Finding> {
    if wrong.is_empty() {
        let names = count(queried, "name");
        return vec![Finding::well("DNS", format_args!("answers for {names}"))];
    }
    // No server answered: the others fail for the same reason.
    let is_of_servers = |one: &Finding| one.fix == Some(OF_SERVERS);
    let (of_servers, of_names): (Vec<_>, Vec<_>) = wrong.into_iter().partition(is_of_servers);
    of_servers.into_iter().take(1).chain(of_names).collect()
}

/// Fix of servers that do not answer.
const OF_SERVERS: Fix = Fix::Set(Setting::Resolver);
/// Number of names that are queried.
const MOST_QUERIED: usize = 20;

#[cfg(test)]
mod tests {
    use super::super::usage::tests::loaded;
    use super::*;

    #[test]
    fn every_name_over_http_is_asked_for_as_far_as_they_are_few() {
        let of = |certificates: &[(&str, &str)]| {
            let loaded = loaded(certificates);
            queried(&Use::of_manifests(&loaded))
        };
        let name = |label: &str| -> DnsName { format!("{label}.example.com").parse().unwrap() };
        let two = of(&[("a.example.com', 'b", ""), ("*", ""), ("*.example.com', 'a", "")]);
        let expected = [("a", true), ("b", true), ("*", false)];
        assert_eq!(two, expected.map(|(label, is_http)| (name(label), is_http)).into());
        let many: Vec<String> = (0..=MOST_QUERIED).map(|at| format!("n{at}")).collect();
        assert_eq!(of(&[(&many.join(".example.com', '"), "")]).len(), MOST_QUERIED);
    }

    #[test]
    fn only_what_is_proven_over_http_needs_an_address() {
        let (name, server) = ("www.example.com", "192.0.2.53:53".parse().unwrap());
        let dns: DnsName = name.parse().unwrap();
        let absent = DnsError::NxDomain { name: name.to_owned(), server };
        let failed = DnsError::Failed { name: name.to_owned(), faults: Vec::new() };
        for (error, is_http, of_servers) in [
            (&absent, true, Some(false)),
            (&absent, false, None),
            (&failed, true, Some(true)),
            (&failed, false, Some(true)),
        ] {
            let found = refusal(&dns, is_http, error);
            let is_of_servers = |found: Finding| found.fix == Some(OF_SERVERS);
            assert_eq!(found.map(is_of_servers), of_servers, "{error}");
        }
    }

    #[test]
    fn servers_that_do_not_answer_are_told_once() {
        let refusal = |is_of_servers: bool, fact| {
            Finding::wrong("DNS", Obstacle::new(fact).with(is_of_servers.then_some(OF_SERVERS)))
        };
        let found = findings(3, vec![refusal(true, "a"), refusal(false, "b"), refusal(true, "c")]);
        let facts: Vec<&str> = found.iter().map(|found| found.fact.as_str()).collect();
        assert_eq!(facts, ["a", "b"]);
        assert_eq!(findings(3, Vec::new()), [Finding::well("DNS", "answers for 3 names")]);
    }
}
