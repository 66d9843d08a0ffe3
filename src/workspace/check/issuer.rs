//! The issuers of the Certificates for a name: whether the CAA records allow their CAs (RFC 8659),
//! and whether their DNS providers' credentials can read the zone.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::known::Known;
use super::names::{Wanting, wanting};
use crate::acme::AcmeError;
use crate::engine::{ProviderAccess, dns_api};
use crate::probe::{Caa, LookupError, Resolver, locate};
use crate::resource::dns01::record_name;
use crate::resource::{CnameStrategy, Dns01, DnsName, FailureClass, Obstacle, Solver};
use crate::solver::dns01::ProviderError;
use crate::workspace::run::USER_AGENT;

/// Whether an issuer can issue for the name.
#[derive(Debug)]
pub struct IssuerCheck {
    /// Kind and name.
    pub issuer: String,
    /// Whether the Certificate requests the wildcard.
    pub is_wildcard: bool,
    pub caa: CaaVerdict,
    /// That of a `dns-01` solver.
    pub provider: Option<CheckedProvider>,
}

/// Whether the CAA records let a CA issue.
#[derive(Debug)]
pub enum CaaVerdict {
    /// They do; the CA's identities.
    Allowed(Vec<String>),
    Forbidden(Vec<String>),
    /// The records are not known.
    NoRecords,
    /// The CA's identities are not known.
    NoDirectory(AcmeError),
    /// There are records, and the CA publishes no identities.
    NoIdentities,
}

/// A DNS provider, and the result of reading the zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedProvider {
    pub name: String,
    /// What it answers; else the failure of an issuance, with the reason.
    pub answer: Result<String, (FailureClass, Obstacle)>,
}

impl IssuerCheck {
    /// The failure of an issuance now.
    pub fn failure(&self) -> Option<FailureClass> {
        let unreadable = self.provider.as_ref().and_then(|provider| provider.answer.as_ref().err());
        match (unreadable, &self.caa) {
            (Some((class, _)), _) => Some(*class),
            (None, CaaVerdict::Forbidden(_)) => Some(FailureClass::Validation),
            (
                None,
                CaaVerdict::Allowed(_)
                | CaaVerdict::NoRecords
                | CaaVerdict::NoDirectory(_)
                | CaaVerdict::NoIdentities,
            ) => None,
        }
    }

    /// Each issuer of a Certificate that is for `name`, once.
    pub(super) async fn each(
        known: &Known,
        resolver: &Rc<Resolver>,
        name: &DnsName,
        caa: Result<&Caa, &LookupError>,
    ) -> Vec<Self> {
        let mut seen = BTreeSet::new();
        let mut checked = Vec::new();
        for wanting in wanting(&known.targets.loaded, name) {
            let issuer = wanting.issuer;
            if !seen.insert((issuer.kind, issuer.metadata.key(), wanting.is_wildcard)) {
                continue;
            }
            let dns01 = wanting.solver().and_then(Solver::dns01);
            checked.push(Self {
                issuer: wanting.issuer_name(),
                is_wildcard: wanting.is_wildcard,
                caa: match caa {
                    Ok(caa) => CaaVerdict::of(known, &wanting, caa).await,
                    Err(_) => CaaVerdict::NoRecords,
                },
                provider: match dns01 {
                    Some(dns01) => Some(CheckedProvider {
                        name: dns01.provider.name().to_owned(),
                        answer: CheckedProvider::answer(known, &wanting, dns01, resolver, name)
                            .await,
                    }),
                    None => None,
                },
            });
        }
        checked
    }
}

impl CaaVerdict {
    async fn of(known: &Known, wanting: &Wanting<'_>, caa: &Caa) -> Self {
        let directory = match known.client(wanting.issuer) {
            Ok(client) => client.directory().await,
            Err(error) => Err(error),
        };
        let identities = match directory {
            Ok(directory) => directory.caa_identities.clone(),
            Err(error) => return Self::NoDirectory(error),
        };
        if identities.is_empty() && !caa.records.is_empty() {
            Self::NoIdentities
        } else if caa.allows(&identities, wanting.is_wildcard) {
            Self::Allowed(identities)
        } else {
            Self::Forbidden(identities)
        }
    }

    /// `None` when unknown.
    pub fn allows(&self) -> Option<bool> {
        match self {
            Self::Allowed(_) => Some(true),
            Self::Forbidden(_) => Some(false),
            Self::NoRecords | Self::NoDirectory(_) | Self::NoIdentities => None,
        }
    }
}

impl CheckedProvider {
    async fn answer(
        known: &Known,
        wanting: &Wanting<'_>,
        dns01: &Dns01,
        resolver: &Rc<Resolver>,
        name: &DnsName,
    ) -> Result<String, (FailureClass, Obstacle)> {
        let settings = known.workspace.settings();
        let reached = ProviderAccess {
            environment: &*settings.environment,
            solvers_dir: &known.solvers_dir(),
            api: dns_api(USER_AGENT),
            resolver: Rc::clone(resolver),
        };
        let access = known.access(wanting.issuer);
        let opened = access.provider(&dns01.provider, &reached);
        let fix = || {
            let secrets = dns01.provider.credentials();
            secrets.iter().find_map(|secret| access.secret(secret).err()?.obstacle().fix)
        };
        let unusable = |error: ProviderError| {
            let found = Obstacle::new(&error).with(error.fix().or_else(fix));
            (FailureClass::Precondition, found)
        };
        let provider = opened.map_err(unusable)?;
        let strategy = dns01.cname_strategy.unwrap_or_default();
        let is_recursive_only = settings.dns01_recursive_nameservers_only;
        let (record, zone) = match locate(resolver, name.base(), strategy, is_recursive_only).await
        {
            Ok(found) => (found.name, found.zone),
            Err(error) if provider.needs_zone() || strategy == CnameStrategy::Follow => {
                return Err((FailureClass::Validation, Obstacle::new(error)));
            }
            Err(_) => (record_name(name.base()), String::new()),
        };
        let failed = |error: ProviderError| (FailureClass::Validation, Obstacle::new(error));
        provider.check(&record, &zone).await.map_err(failed)
    }
}
