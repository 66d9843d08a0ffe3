//! Which of an issuer's solvers is used for a name (cert-manager's solver selection).

use std::collections::BTreeMap;

use super::{Certificate, ChallengeType, DnsName, Identifier, Issuer, Selector, Solver};

/// The solver for a name, and the challenge type that it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen<'a> {
    pub solver: &'a Solver,
    pub kind: ChallengeType,
}

impl Issuer {
    /// The solver for a name of a Certificate (without `*.`), among those whose type is offered.
    pub fn solver_for(
        &self,
        certificate: &Certificate,
        identifier: &Identifier,
        wildcard: bool,
        offered: &[ChallengeType],
    ) -> Option<Chosen<'_>> {
        let word = certificate.settings.solver.as_ref().or(self.settings.solver.as_ref());
        let served = word.and_then(|word| ChallengeType::served(word));
        let labels = &certificate.metadata.labels;
        pick_solver(&self.acme.solvers, identifier, wildcard, labels, served.as_ref(), offered)
    }
}

/// Picks the solver for `identifier` among those whose type the server offers. `served` is the type
/// of `http01` solvers (`certctl/solver`).
///
/// A solver without a selector is taken only when nothing is chosen yet. With a selector, all its
/// non-empty parts must match, and the score (exact names, labels in the longest matching zone,
/// number of labels) must be strictly greater than the one chosen so far: ties keep the earlier.
pub fn pick_solver<'a>(
    solvers: &'a [Solver],
    identifier: &Identifier,
    wildcard: bool,
    labels: &BTreeMap<String, String>,
    served: Option<&ChallengeType>,
    offered: &[ChallengeType],
) -> Option<Chosen<'a>> {
    let mut chosen: Option<(&Solver, Option<Score>)> = None;
    let is_offered = |solver: &&Solver| offered.contains(&solver.challenge_type(served));
    for solver in solvers.iter().filter(is_offered) {
        match &solver.selector {
            None => {
                if chosen.is_none() {
                    chosen = Some((solver, None));
                }
            }
            Some(selector) => {
                let Some(score) = score(selector, identifier, wildcard, labels) else { continue };
                let best = chosen.and_then(|(_, best)| best).unwrap_or_default();
                if chosen.is_none() || score > best {
                    chosen = Some((solver, Some(score)));
                }
            }
        }
    }
    chosen.map(|(solver, _)| Chosen { solver, kind: solver.challenge_type(served) })
}

/// Exact name, labels in the longest matching zone, matching labels: compared in this order.
type Score = (usize, usize, usize);

fn score(
    selector: &Selector,
    identifier: &Identifier,
    wildcard: bool,
    labels: &BTreeMap<String, String>,
) -> Option<Score> {
    if !selector.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value)) {
        return None;
    }
    let full = if wildcard { format!("*.{identifier}") } else { identifier.to_string() };
    let exact = selector.dns_names.iter().any(|name| name.as_str() == full);
    if !selector.dns_names.is_empty() && !exact {
        return None;
    }
    let zone = selector.dns_zones.iter().filter_map(|zone| labels_of_zone(zone, &full)).max();
    if !selector.dns_zones.is_empty() && zone.is_none() {
        return None;
    }
    Some((usize::from(exact), zone.unwrap_or(0), selector.match_labels.len()))
}

fn labels_of_zone(zone: &DnsName, name: &str) -> Option<usize> {
    let zone = zone.as_str();
    let inside = name == zone || name.strip_suffix(zone).is_some_and(|rest| rest.ends_with('.'));
    inside.then(|| zone.split('.').count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Http01;
    use crate::resource::SolverKind;

    fn solver(names: &[&str], zones: &[&str], labels: &[(&str, &str)]) -> Solver {
        let parse = |list: &[&str]| list.iter().map(|n| n.parse().unwrap()).collect();
        Solver {
            selector: Some(Selector {
                match_labels: labels.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(),
                dns_names: parse(names),
                dns_zones: parse(zones),
            }),
            ..catch_all()
        }
    }

    fn catch_all() -> Solver {
        Solver {
            selector: None,
            wait_instead_of_self_check: None,
            kind: SolverKind::Http01(Http01::default()),
        }
    }

    #[test]
    fn the_most_specific_solver_wins_and_ties_keep_the_earlier() {
        let labels = BTreeMap::from([("env".to_owned(), "prod".to_owned())]);
        let solvers = [
            catch_all(),
            solver(&[], &["example.com"], &[]),
            solver(&[], &["a.example.com"], &[]),
            solver(&["www.example.com"], &[], &[]),
            solver(&["www.example.com"], &[], &[("env", "prod")]),
            solver(&[], &["example.com"], &[]),
            solver(&[], &["example.net"], &[("env", "test")]),
        ];
        let picked = |name: &str| {
            let identifier = Identifier::Dns(name.parse().unwrap());
            let found =
                pick_solver(&solvers, &identifier, false, &labels, None, &[ChallengeType::Http01]);
            found.and_then(|found| solvers.iter().position(|s| std::ptr::eq(s, found.solver)))
        };
        assert_eq!(picked("other.org"), Some(0));
        assert_eq!(picked("example.com"), Some(1));
        assert_eq!(picked("notexample.com"), Some(0));
        assert_eq!(picked("x.a.example.com"), Some(2));
        assert_eq!(picked("www.example.com"), Some(4));
        assert_eq!(picked("example.net"), Some(0));
    }

    #[test]
    fn a_type_that_is_not_offered_is_never_picked() {
        let identifier = Identifier::Dns("example.com".parse().unwrap());
        let solvers = [catch_all()];
        let offered = [ChallengeType::Dns01];
        let labels = BTreeMap::new();
        assert_eq!(pick_solver(&solvers, &identifier, true, &labels, None, &offered), None);
    }

    #[test]
    fn an_annotation_chooses_the_type_of_http01_solvers_and_their_own_comes_first() {
        use ChallengeType::{Http01, TlsAlpn01};
        let identifier = Identifier::Dns("example.com".parse().unwrap());
        let own = |word: &str| {
            let text = format!(
                "{{\"ingress\": {{\"ingressTemplate\": {{\"metadata\": {{\"annotations\": \
                 {{\"certctl/solver\": \"{word}\"}}}}}}}}}}"
            );
            let kind = SolverKind::Http01(serde_json::from_str(&text).unwrap());
            Solver { kind, ..catch_all() }
        };
        for (solver, served, kind) in [
            (catch_all(), None, Http01),
            (catch_all(), Some(TlsAlpn01), TlsAlpn01),
            (own("tls-alpn-01"), None, TlsAlpn01),
            (own("http-01"), Some(TlsAlpn01), Http01),
        ] {
            let solvers = [solver];
            let labels = BTreeMap::new();
            let pick = |offered: &[ChallengeType]| {
                let served = served.as_ref();
                pick_solver(&solvers, &identifier, false, &labels, served, offered)
                    .map(|chosen| chosen.kind)
            };
            assert_eq!(pick(&[Http01, TlsAlpn01]), Some(kind.clone()), "{solvers:?}");
            assert_eq!(pick(std::slice::from_ref(&kind)), Some(kind));
            assert_eq!(pick(&[ChallengeType::Dns01]), None);
        }
    }
}
