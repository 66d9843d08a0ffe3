//! The TXT record of a DNS-01 challenge (RFC 8555 section 8.4), its current values on each name
//! server, and the CAs that the domain's CAA records allow.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use futures_util::future::{join_all, join3};

use super::issuer::IssuerCheck;
use super::known::Known;
use super::names::{Wanting, wanting};
use crate::probe::{Caa, Dns01Request, LookupError, Resolver, caa, check_dns01};
use crate::resource::{Dns01Report, DnsName, FailureClass};
use crate::workspace::run::RunError;

/// What was found out of a name.
pub struct DnsCheck {
    /// That of the first solver, or as if there were one.
    pub first: (SelfCheck, Dns01Report),
    /// Those of solvers that have name servers of their own.
    pub further: Vec<(SelfCheck, Dns01Report)>,
    pub caa: Result<Caa, LookupError>,
    pub issuers: Vec<IssuerCheck>,
}

/// The self-check of some solvers, before anything is presented.
#[derive(Clone, Debug)]
pub struct SelfCheck {
    /// The issuers with these solvers.
    pub issuers: BTreeSet<String>,
    /// Those of the solver; empty for those of the zone.
    pub nameservers: Vec<String>,
    pub is_recursive_only: bool,
    /// Whether `issue` checks: not with `waitInsteadOfSelfCheck`, nor a name that is validated over
    /// HTTP alone.
    pub is_needed: bool,
}

/// One for each list of name servers that the solvers have, and at least one: the first, and the
/// others.
fn self_checks(solvers: &[Wanting<'_>], is_recursive_only: bool) -> (SelfCheck, Vec<SelfCheck>) {
    let mut checks: Vec<SelfCheck> = Vec::new();
    for wanting in solvers {
        let Some(solver) = wanting.solver() else { continue };
        let Some(dns01) = solver.dns01() else { continue };
        let is_needed = solver.wait_instead_of_self_check.is_none();
        let known = checks.iter_mut().find(|check| check.nameservers == dns01.nameservers);
        if let Some(check) = known {
            check.issuers.insert(wanting.issuer_name());
            check.is_needed |= is_needed;
        } else {
            checks.push(SelfCheck {
                issuers: BTreeSet::from([wanting.issuer_name()]),
                nameservers: dns01.nameservers.clone(),
                is_recursive_only,
                is_needed,
            });
        }
    }
    let mut checks = checks.into_iter();
    let of_no_solver = SelfCheck {
        issuers: BTreeSet::new(),
        nameservers: Vec::new(),
        is_recursive_only,
        is_needed: !is_over_http(solvers),
    };
    (checks.next().unwrap_or(of_no_solver), checks.collect())
}

/// Whether the manifests have the name, and validate it over HTTP alone.
fn is_over_http(solvers: &[Wanting<'_>]) -> bool {
    let is_http = |wanting: &Wanting<'_>| {
        wanting.chosen.as_ref().is_some_and(|chosen| chosen.kind.is_over_http())
    };
    !solvers.is_empty() && solvers.iter().all(is_http)
}

impl SelfCheck {
    /// Whether it is one of a name that the manifests validate over HTTP alone: no solver has it, and
    /// it is not needed.
    pub fn is_over_http(&self) -> bool {
        self.issuers.is_empty() && !self.is_needed
    }

    async fn report(self, resolver: &Resolver, domain: &str) -> (Self, Dns01Report) {
        // No value is expected: the report lists the existing values.
        let mut request = Dns01Request::new(domain, "");
        request.nameservers.clone_from(&self.nameservers);
        request.is_recursive_only = self.is_recursive_only;
        request.is_presented = false;
        let report = check_dns01(resolver, &request).await;
        (self, report)
    }
}

impl DnsCheck {
    /// Asks for the record of `name`, the CAA records, the CAs and the DNS providers.
    pub async fn of(known: &Known, name: &DnsName) -> Result<Self, RunError> {
        let settings = known.workspace.settings();
        let resolver = Rc::new(settings.resolver(BTreeMap::new()).await);
        let solvers = wanting(&known.targets.loaded, name);
        let checks = self_checks(&solvers, settings.dns01_recursive_nameservers_only);
        let found = Self::of_records(&resolver, name, checks).await;
        let issuers = IssuerCheck::each(known, &resolver, name, found.caa.as_ref()).await;
        Ok(Self { issuers, ..found })
    }

    async fn of_records(
        resolver: &Resolver,
        name: &DnsName,
        (first, further): (SelfCheck, Vec<SelfCheck>),
    ) -> Self {
        let report = |check: SelfCheck| check.report(resolver, name.base());
        let further = join_all(further.into_iter().map(report));
        let caa = caa(resolver, name.base());
        let (first, further, caa) = join3(report(first), further, caa).await;
        Self { first, further, caa, issuers: Vec::new() }
    }

    /// What would make DNS-01 validation fail: no zone for the record, a name server that does not
    /// serve it, a CAA record that excludes the CA, or a provider that does not work. A setting or
    /// credential that cannot be used ends an issuance before any of these.
    pub fn failures(&self) -> Vec<FailureClass> {
        let mut failures: Vec<_> = self.issuers.iter().filter_map(IssuerCheck::failure).collect();
        if failures.contains(&FailureClass::Precondition) {
            return vec![FailureClass::Precondition];
        }
        let fails = |(check, report): &(SelfCheck, Dns01Report)| {
            check.is_needed && report.obstacle().is_some()
        };
        if std::iter::once(&self.first).chain(&self.further).any(fails) {
            failures.push(FailureClass::Validation);
        }
        failures
    }
}

/// A name in a world of name servers.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::probe::ResolverOptions;
    use crate::probe::lab::{Lab, Manner};

    const COMMON: [&str; 9] = [
        "com SOA",
        "net SOA",
        "example.com SOA",
        "example.com CAA issue letsencrypt.org",
        "example.com CAA issuewild! ;",
        "example.com NS ns1.example.net",
        "example.com NS ns2.example.net",
        "ns1.example.net A 127.0.0.11",
        "ns2.example.net A 127.0.0.12",
    ];

    /// The check of `name` with `more` records, and the port of the name servers. The second server
    /// of example.com is lame.
    pub(crate) async fn check(name: &str, records: &[&str]) -> (DnsCheck, u16) {
        let lines: Vec<String> =
            COMMON.iter().chain(records).map(|&line| line.to_owned()).collect();
        let lab = Lab::start(vec![
            ("127.0.0.1", Manner::Recursive, lines.clone()),
            ("127.0.0.11", Manner::Honest, lines),
            ("127.0.0.12", Manner::Lame, vec![]),
        ])
        .await;
        let resolver = Resolver::new(ResolverOptions {
            servers: vec![lab.at("127.0.0.1")],
            authoritative_port: lab.port,
            ..ResolverOptions::default()
        });
        let checks = self_checks(&[], false);
        let name = name.parse().unwrap();
        (DnsCheck::of_records(&resolver, &name, checks).await, lab.port)
    }
}
