//! The issuers of the Certificates for a name: whether the CAA records allow their CAs, and whether
//! their DNS providers' credentials can read the zone.

use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;

use schemars::JsonSchema;
use serde::Serialize;

use super::known::{Known, USER_AGENT};
use super::names::{Wanting, wanting};
use crate::acme::Limits;
use crate::cli::shell::Shell;
use crate::engine::{ProviderAccess, dns_api};
use crate::probe::{Caa, Resolver, locate};
use crate::resource::{CnameStrategy, Dns01, DnsName, FailureClass, SolverKind};
use crate::solver::dns01::ProviderError;

/// Whether an issuer can issue for the name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Judged {
    /// Kind and name.
    issuer: String,
    /// Whether the Certificate requests the wildcard.
    wildcard: bool,
    /// Whether the CAA records let the CA issue; `None` when unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<bool>,
    /// `allowed` as text.
    caa: String,
    /// `dns-01` solvers: the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<Provider>,
}

/// A DNS provider, and the result of reading the zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Provider {
    name: String,
    readable: bool,
    result: String,
    /// The failure of an issuance when it is not readable.
    #[serde(skip)]
    class: FailureClass,
}

impl Judged {
    /// The failure of an issuance now.
    pub(super) fn failure(&self) -> Option<FailureClass> {
        let unreadable = self.provider.as_ref().filter(|provider| !provider.readable);
        let is_forbidden = self.allowed == Some(false);
        unreadable
            .map(|provider| provider.class)
            .or(is_forbidden.then_some(FailureClass::Validation))
    }
}

impl Judged {
    /// What leads on from its failure.
    pub(super) fn way_out(&self) -> Option<String> {
        let failure = self.failure()?;
        let unreadable = self.provider.as_ref().filter(|provider| !provider.readable);
        Some(match (unreadable, failure) {
            (Some(_), FailureClass::Precondition) => "certctl doctor".to_owned(),
            (Some(_), _) => {
                "correct the credentials: certctl explain issuer.spec.acme.solvers.dns01".to_owned()
            }
            (None, _) => {
                "add the CA to the CAA records of the domain: certctl check acme".to_owned()
            }
        })
    }

    /// What the solver's provider answers, in one line.
    pub(super) fn provider_line(&self) -> Option<String> {
        let Provider { name, readable, result, .. } = self.provider.as_ref()?;
        let what = if *readable { "answers" } else { "does not work" };
        Some(format!("provider {name} {what}: {result}"))
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wildcard = if self.wildcard { " (wildcard)" } else { "" };
        write!(f, "{}{wildcard}: {}", self.issuer, self.caa)
    }
}

/// Judges each issuer of a Certificate that is for `name`, once.
pub(super) async fn judge(
    shell: &Shell,
    known: &Known,
    resolver: &Rc<Resolver>,
    name: &DnsName,
    caa: Option<&Caa>,
) -> Vec<Judged> {
    let mut seen = BTreeSet::new();
    let mut judged = Vec::new();
    for wanting in wanting(&known.targets.loaded, name) {
        let issuer = wanting.issuer;
        let key = (issuer.kind, issuer.metadata.key(), wanting.is_wildcard);
        if !seen.insert(key) {
            continue;
        }
        let (allowed, words) = judge_caa(known, &wanting, caa).await;
        let dns01 = wanting.solver.and_then(|solver| match &solver.kind {
            SolverKind::Dns01(dns01) => Some(dns01),
            SolverKind::Http01(_) => None,
        });
        let provider = match dns01 {
            Some(dns01) => Some(ask_provider(shell, known, &wanting, dns01, resolver, name).await),
            None => None,
        };
        judged.push(Judged {
            issuer: wanting.issuer_name(),
            wildcard: wanting.is_wildcard,
            allowed,
            caa: words,
            provider,
        });
    }
    judged
}

async fn judge_caa(
    known: &Known,
    wanting: &Wanting<'_>,
    caa: Option<&Caa>,
) -> (Option<bool>, String) {
    let Some(caa) = caa else {
        return (None, "CAA lookup failed".to_owned());
    };
    let timeout = known.workspace.settings().options.timeout;
    let limits = Limits { retry_waits: Vec::new(), ..Limits::within(timeout) };
    let client = known.access(wanting.issuer).client(USER_AGENT, limits);
    let directory = match client {
        Ok(client) => client.directory().await,
        Err(error) => Err(error),
    };
    let identities = match directory {
        Ok(directory) => directory.caa_identities.clone(),
        Err(error) => return (None, format!("cannot read the CA's CAA identities: {error}")),
    };
    if identities.is_empty() && !caa.records.is_empty() {
        return (None, "the CA publishes no CAA identities to compare with".to_owned());
    }
    let names = identities.join(", ");
    let allows = caa.allows(&identities, wanting.is_wildcard);
    let words = match (allows, names.as_str()) {
        (true, "") => "CAA allows its CA".to_owned(),
        (true, names) => format!("CAA allows its CA ({names})"),
        (false, names) => format!("CAA does not allow its CA ({names})"),
    };
    (Some(allows), words)
}

async fn ask_provider(
    shell: &Shell,
    known: &Known,
    wanting: &Wanting<'_>,
    dns01: &Dns01,
    resolver: &Rc<Resolver>,
    name: &DnsName,
) -> Provider {
    let provider_name = dns01.provider.name().to_owned();
    let asked = async {
        let reached = ProviderAccess {
            environment: &|name| {
                shell.environment.value(name).map(|value| value.to_string_lossy().into_owned())
            },
            solvers_dir: &known.solvers_dir(),
            api: dns_api(USER_AGENT),
            resolver: Rc::clone(resolver),
        };
        let opened = known.access(wanting.issuer).provider(&dns01.provider, &reached);
        let unusable = |error: ProviderError| (FailureClass::Precondition, error.to_string());
        let provider = opened.map_err(unusable)?;
        let strategy = dns01.cname_strategy.unwrap_or_default();
        let is_recursive_only = known.workspace.settings().dns01_recursive_nameservers_only;
        let (record, zone) = match locate(resolver, name.base(), strategy, is_recursive_only).await
        {
            Ok(found) => (found.name, found.zone),
            Err(error) if provider.needs_zone() || strategy == CnameStrategy::Follow => {
                return Err((FailureClass::Validation, error.to_string()));
            }
            Err(_) => (format!("_acme-challenge.{}", name.base()), String::new()),
        };
        let failed = |error: ProviderError| (FailureClass::Validation, error.to_string());
        provider.check(&record, &zone).await.map_err(failed)
    };
    let (readable, class, result) = match asked.await {
        Ok(result) => (true, FailureClass::Validation, result),
        Err((class, result)) => (false, class, result),
    };
    Provider { name: provider_name, readable, result, class }
}
