//! The issuers of the Certificates for a name, in words.

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::words::fix;
use crate::resource::FailureClass;
use crate::workspace::check::{CaaVerdict, CheckedProvider, IssuerCheck};

/// True if an issuer can issue for the name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Judged {
    /// Kind and name.
    issuer: String,
    /// True if the Certificate requests the wildcard.
    wildcard: bool,
    /// True if the CAA records let the CA issue; missing when unknown.
    allowed: Option<bool>,
    /// `dns-01` solvers: the provider.
    provider: Option<Provider>,
}

/// A DNS provider, and the result of reading the zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Provider {
    name: String,
    readable: bool,
    result: String,
}

impl Judged {
    pub(super) fn of(check: &IssuerCheck) -> Self {
        Self {
            issuer: check.issuer.clone(),
            wildcard: check.is_wildcard,
            allowed: check.caa.allows(),
            provider: check.provider.as_ref().map(|CheckedProvider { name, answer }| Provider {
                name: name.clone(),
                readable: answer.is_ok(),
                result: match answer {
                    Ok(answer) => answer.clone(),
                    Err((_, why)) => why.fact.clone(),
                },
            }),
        }
    }
}

fn caa_line(verdict: &CaaVerdict) -> String {
    match verdict {
        CaaVerdict::Allowed(names) if names.is_empty() => "CAA allows its CA".to_owned(),
        CaaVerdict::Allowed(names) => format!("CAA allows its CA ({})", names.join(", ")),
        CaaVerdict::Forbidden(names) => {
            format!("CAA does not allow its CA ({})", names.join(", "))
        }
        CaaVerdict::NoRecords => "CAA lookup failed".to_owned(),
        CaaVerdict::NoDirectory(why) => format!("cannot read the CA's CAA identities: {why}"),
        CaaVerdict::NoIdentities => "the CA publishes no CAA identities to compare with".to_owned(),
    }
}

/// The lines of the page: whether its CA may issue, and what the solver's provider answers.
pub(super) fn issuer_lines(check: &IssuerCheck) -> Vec<(&'static str, String)> {
    let wildcard = if check.is_wildcard { " (wildcard)" } else { "" };
    let first = format!("{}{wildcard}: {}", check.issuer, caa_line(&check.caa));
    let provider = check.provider.as_ref().map(|CheckedProvider { name, answer }| match answer {
        Ok(answer) => format!("provider {name} answers: {answer}"),
        Err((_, why)) => format!("provider {name} does not work: {why}"),
    });
    let provider = provider.map(|line| ("", line));
    std::iter::once(("issuer", first)).chain(provider).collect()
}

/// Fix of its failure.
pub(super) fn way_out(check: &IssuerCheck) -> Option<String> {
    let failure = check.failure()?;
    let is_unreadable = check.provider.as_ref().is_some_and(|provider| provider.answer.is_err());
    Some(match (is_unreadable, failure) {
        (true, FailureClass::Precondition) => {
            let answer = check.provider.as_ref().and_then(|one| one.answer.as_ref().err());
            let fix = answer.and_then(|(_, found)| found.fix.as_ref());
            fix.map_or_else(|| "certctl doctor".to_owned(), fix::worded)
        }
        (true, _) => {
            "correct the credentials: certctl explain issuer.spec.acme.solvers.dns01".to_owned()
        }
        (false, _) => "add the CA to the CAA records of the domain: certctl check acme".to_owned(),
    })
}
