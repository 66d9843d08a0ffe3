//! Finds where the TXT record of a DNS-01 challenge belongs: the name, after its CNAMEs when they
//! are followed, and its zone (RFC 8555 section 8.4).

use hickory_proto::rr::RecordType;
use serde::{Deserialize, Serialize};

use super::query::Answer;
use super::recursive::{Recursive, alias, normal, text};
use super::{LookupError, Resolver};
use crate::resource::{Aliases, CnameStrategy};

/// Where a TXT record belongs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Located {
    /// The name to write to.
    pub name: String,
    /// The zone that this name is in.
    pub zone: String,
    /// The CNAMEs that were seen.
    pub aliases: Aliases,
}

/// Finds where the TXT record for `domain` (without `*.`) belongs.
///
/// With [`CnameStrategy::None`] no CNAME is queried, and none is in the result.
pub async fn locate(
    resolver: &Resolver,
    domain: &str,
    strategy: CnameStrategy,
) -> Result<Located, LookupError> {
    let recursive = Recursive::new(resolver);
    let domain = normal(domain);
    let (name, aliases) = match strategy {
        CnameStrategy::None => (challenge_name(&domain), Aliases::default()),
        CnameStrategy::Follow => follow(&recursive, &domain).await?,
    };
    let zone = recursive.zone(&name).await?;
    Ok(Located { name, zone, aliases })
}

/// The zone that `name` is in.
pub async fn zone_of(resolver: &Resolver, name: &str) -> Result<String, LookupError> {
    Recursive::new(resolver).zone(&normal(name)).await
}

/// Follows the CNAMEs of the challenge's name to where they end.
pub(super) async fn follow(
    recursive: &Recursive<'_>,
    domain: &str,
) -> Result<(String, Aliases), LookupError> {
    let first = challenge_name(domain);
    let mut at = first.clone();
    let mut chain: Vec<String> = Vec::new();
    while let Some(target) = target(&recursive.lookup(&at, RecordType::CNAME).await?, &at) {
        if target == first || chain.contains(&target) {
            return Err(LookupError::CnameLoop { target, name: at });
        }
        if chain.len() >= MAX_HOPS {
            return Err(LookupError::TooManyHops { name: first, limit: MAX_HOPS });
        }
        let is_first = chain.is_empty();
        chain.push(target.clone());
        if is_first && is_wildcard(recursive, domain, &target).await? {
            return Ok((first, Aliases { chain, is_wildcard: true }));
        }
        at = target;
    }
    Ok((at, Aliases { chain, is_wildcard: false }))
}

/// Whether a name that does not exist has this CNAME as well, that is, whether a wildcard has it.
async fn is_wildcard(
    recursive: &Recursive<'_>,
    domain: &str,
    expected: &str,
) -> Result<bool, LookupError> {
    let name = format!("{UNUSED_LABEL}.{domain}");
    let answer = recursive.lookup(&name, RecordType::CNAME).await?;
    Ok(target(&answer, &name).is_some_and(|target| target == expected))
}

/// The target of the CNAME that `name` itself has.
fn target(answer: &Answer, name: &str) -> Option<String> {
    let own = answer.answers.iter().filter(|record| text(&record.name) == name);
    own.into_iter().find_map(|record| alias(&record.data))
}

/// `_acme-challenge.<domain>`.
pub(super) fn challenge_name(domain: &str) -> String {
    format!("{CHALLENGE_LABEL}.{domain}")
}

const CHALLENGE_LABEL: &str = "_acme-challenge";
/// A fixed random label.
const UNUSED_LABEL: &str = "_certctl-unused-k7x2q9w4m1";
const MAX_HOPS: usize = 10;

#[cfg(test)]
mod tests;
