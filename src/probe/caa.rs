//! CAA: which CAs a domain allows (RFC 8659).

use hickory_proto::rr::{RData, RecordType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::recursive::{Recursive, normal};
use super::{LookupError, Resolver};

/// The CAA records that count for a domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Caa {
    /// The name that has them, the domain or one above; `None` when there are none at all, which
    /// allows every CA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<CaaRecord>,
}

/// One CAA record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaaRecord {
    /// Whether a CA that does not know the tag must refuse.
    pub is_critical: bool,
    /// Such as `issue`; in lower case.
    pub tag: String,
    /// Such as `letsencrypt.org; validationmethods=dns-01`.
    pub value: String,
}

impl Caa {
    /// Whether a CA with one of these identities (`caaIdentities` of its directory) may issue, by
    /// its name alone: parameters such as `accounturi` are ignored.
    pub fn allows(&self, identities: &[String], is_wildcard: bool) -> bool {
        let is_unknown = |record: &&CaaRecord| !KNOWN_TAGS.contains(&record.tag.as_str());
        if self.records.iter().filter(is_unknown).any(|record| record.is_critical) {
            return false;
        }
        let has = |tag: &str| self.records.iter().any(|record| record.tag == tag);
        let tag = if is_wildcard && has("issuewild") { "issuewild" } else { "issue" };
        let mut counting = self.records.iter().filter(|record| record.tag == tag).peekable();
        counting.peek().is_none()
            || counting.any(|record| {
                let issuer = record.value.split(';').next().unwrap_or_default().trim();
                identities.iter().any(|identity| identity.eq_ignore_ascii_case(issuer))
            })
    }
}

/// Looks up the CAA records that count for `domain` (without `*.`): its own, else those of the
/// closest name above that has any (RFC 8659 section 3).
pub async fn caa(resolver: &Resolver, domain: &str) -> Result<Caa, LookupError> {
    let recursive = Recursive::new(resolver);
    let domain = normal(domain);
    let mut at = domain.as_str();
    loop {
        let answer = recursive.lookup(at, RecordType::CAA).await?;
        let records: Vec<CaaRecord> =
            answer.answers.iter().filter_map(|record| read(&record.data)).collect();
        if !records.is_empty() {
            return Ok(Caa { name: Some(at.to_owned()), records });
        }
        match at.split_once('.') {
            Some((_, parent)) => at = parent,
            None => return Ok(Caa::default()),
        }
    }
}

fn read(data: &RData) -> Option<CaaRecord> {
    let RData::CAA(record) = data else { return None };
    Some(CaaRecord {
        is_critical: record.issuer_critical,
        tag: record.tag.to_ascii_lowercase(),
        value: String::from_utf8_lossy(&record.value).into_owned(),
    })
}

/// `contactemail` and `contactphone` are of the CA/Browser Forum, the mail ones of RFC 9495.
const KNOWN_TAGS: [&str; 7] =
    ["issue", "issuewild", "iodef", "issuemail", "issuevmc", "contactemail", "contactphone"];
