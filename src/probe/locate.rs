//! Finds where the TXT record of a DNS-01 challenge belongs: the name, after its CNAMEs when they
//! are followed, and its zone (RFC 8555 section 8.4). Only the servers of zones are asked for the
//! name ([`super::authority`]).

use hickory_proto::rr::RecordType;
use serde::{Deserialize, Serialize};

use super::authority::Authority;
use super::query::Answer;
use super::recursive::{Recursive, alias, normal, text};
use super::{LookupError, Resolver};
use crate::resource::dns01::record_name;
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
/// With [`CnameStrategy::None`] no CNAME is queried, and none is in the result. When only recursive
/// servers can be reached (`is_recursive_only`), the record belongs to the zone of `domain`, or where
/// the CNAMEs end that a recursive server knows.
pub async fn locate(
    resolver: &Resolver,
    domain: &str,
    strategy: CnameStrategy,
    is_recursive_only: bool,
) -> Result<Located, LookupError> {
    let recursive = Recursive::new(resolver);
    let authority = Authority::new(&recursive);
    let domain = normal(domain);
    let located = async {
        let (name, aliases) = match strategy {
            CnameStrategy::None => (record_name(&domain), Aliases::default()),
            CnameStrategy::Follow => follow(&authority, &domain).await?,
        };
        let zone = authority.zone(&name).await?.name;
        Ok(Located { name, zone, aliases })
    };
    match (located.await, strategy) {
        (Err(LookupError::Failed { .. }), CnameStrategy::None) if is_recursive_only => {
            let name = record_name(&domain);
            let zone = recursive.zone(&domain).await?;
            Ok(Located { name, zone, aliases: Aliases::default() })
        }
        (Err(LookupError::Failed { .. }), CnameStrategy::Follow) if is_recursive_only => {
            let (name, aliases) = follow_recursively(&recursive, &domain).await?;
            let zone = recursive.zone(&name).await?;
            Ok(Located { name, zone, aliases })
        }
        (located, _) => located,
    }
}

/// The zone that `name` is in.
pub async fn zone_of(resolver: &Resolver, name: &str) -> Result<String, LookupError> {
    Recursive::new(resolver).zone(&normal(name)).await
}

/// Follows the CNAMEs of the challenge's name to where they end, from zone to zone.
pub(super) async fn follow(
    authority: &Authority<'_>,
    domain: &str,
) -> Result<(String, Aliases), LookupError> {
    let lookup = async |name: &str| {
        authority.lookup(name, RecordType::CNAME).await.map(|(answer, _)| answer)
    };
    follow_by(lookup, domain).await
}

/// The same through recursive servers.
pub(super) async fn follow_recursively(
    recursive: &Recursive<'_>,
    domain: &str,
) -> Result<(String, Aliases), LookupError> {
    follow_by(async |name: &str| recursive.lookup(name, RecordType::CNAME).await, domain).await
}

async fn follow_by(
    lookup: impl AsyncFn(&str) -> Result<Answer, LookupError>,
    domain: &str,
) -> Result<(String, Aliases), LookupError> {
    let first = record_name(domain);
    let mut at = first.clone();
    let mut chain: Vec<String> = Vec::new();
    while let Some(target) = target(&lookup(&at).await?, &at) {
        if target == first || chain.contains(&target) {
            return Err(LookupError::CnameLoop { target, name: at });
        }
        if chain.len() >= MAX_HOPS {
            return Err(LookupError::TooManyHops { name: first, limit: MAX_HOPS });
        }
        let is_first = chain.is_empty();
        chain.push(target.clone());
        let unused = format!("{UNUSED_LABEL}.{domain}");
        // A name that does not exist has this CNAME as well: a wildcard has it.
        if is_first && self::target(&lookup(&unused).await?, &unused).as_ref() == chain.last() {
            return Ok((first, Aliases { chain, is_wildcard: true }));
        }
        at = target;
    }
    Ok((at, Aliases { chain, is_wildcard: false }))
}

/// The target of the CNAME that `name` itself has.
fn target(answer: &Answer, name: &str) -> Option<String> {
    let own = answer.answers.iter().filter(|record| text(&record.name) == name);
    own.into_iter().find_map(|record| alias(&record.data))
}

/// A fixed random label.
const UNUSED_LABEL: &str = "_certctl-unused-k7x2q9w4m1";
const MAX_HOPS: usize = 10;

#[cfg(test)]
mod tests;
