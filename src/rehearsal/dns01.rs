//! DNS-01 (RFC 8555 section 8.4), as public CAs do it: CNAMEs followed, the strings of a record
//! joined, any one right value among those at the name suffices.

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::Shared;
use super::problem::{Problem, ProblemType};
use super::resolver::TxtAnswer;
use super::validate::{Attempt, Verdict};
use super::zones::MAX_ALIASES;

/// Searches the TXT records of the name for the digest of the key authorization.
pub(super) async fn check(shared: &Shared, attempt: &Attempt) -> Verdict {
    let digest = digest::digest(&digest::SHA256, attempt.key_authorization.as_bytes());
    let expected = URL_SAFE_NO_PAD.encode(digest);
    match values(shared, &record_name(attempt)).await {
        Err(problem) => problem.into(),
        Ok((_, values)) if values.contains(&expected) => {
            Verdict { records: vec![json!({ "hostname": attempt.host })], result: Ok(()) }
        }
        Ok((place, values)) => incorrect(&place, &values, &expected).into(),
    }
}

/// The lookup timed out.
pub(super) fn timeout(attempt: &Attempt) -> Problem {
    dns(format!("looking up TXT for {}: timeout", record_name(attempt)))
}

fn record_name(attempt: &Attempt) -> String {
    format!("_acme-challenge.{}", attempt.host)
}

/// The values, and their location: the name, and the target of its CNAMEs.
async fn values(shared: &Shared, name: &str) -> Result<(String, Vec<String>), Problem> {
    let mut target = name.to_owned();
    for _ in 0..=MAX_ALIASES {
        let place = if target == name {
            name.to_owned()
        } else {
            format!("{name} (a CNAME points to {target})")
        };
        match shared.options.resolver.txt(&target).await {
            Err(why) => return Err(dns(format!("looking up TXT for {place}: {why}"))),
            Ok(TxtAnswer::Alias(next)) => target = next,
            Ok(TxtAnswer::Values(none)) if none.is_empty() => {
                return Err(dns(format!("no TXT record at {place}")));
            }
            Ok(TxtAnswer::Values(values)) => return Ok((place, values)),
        }
    }
    Err(dns(format!("looking up TXT for {name}: more than {MAX_ALIASES} CNAMEs")))
}

fn dns(detail: String) -> Problem {
    Problem::new(ProblemType::Dns, detail)
}

fn incorrect(place: &str, values: &[String], expected: &str) -> Problem {
    let shown = |value: &String| format!("{:?}", value.chars().take(256).collect::<String>());
    let found: Vec<String> = values.iter().take(SHOWN).map(shown).collect();
    let omitted = match values.len().saturating_sub(SHOWN) {
        0 => String::new(),
        omitted => format!(" and {omitted} more"),
    };
    let found = found.join(", ");
    Problem::unauthorized(format!(
        "incorrect TXT record at {place}: expected {expected:?}, got {found}{omitted}"
    ))
}

/// How many wrong values are shown.
const SHOWN: usize = 4;
