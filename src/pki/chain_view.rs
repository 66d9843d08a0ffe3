//! A chain for display: each certificate, its issuer, and its errors.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;
use x509_parser::certificate::X509Certificate;

use super::certificate::{self, CertificateError};
use super::signing::{self, Verdict};

/// One row of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChainEntry {
    /// Its subject in one line.
    pub subject: String,
    /// Its issuer in one line.
    pub issuer: String,
    /// End of its validity.
    #[schemars(with = "crate::resource::DateTime")]
    pub not_after: Timestamp,
    /// What is wrong with it or its place; empty when nothing is.
    #[serde(serialize_with = "as_texts")]
    #[schemars(with = "Vec<String>")]
    pub problems: Vec<ChainProblem>,
}

/// What can be wrong with a certificate in a chain. Places count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChainProblem {
    #[error("expired at {at}")]
    Expired { at: Timestamp },
    #[error("not valid before {at}")]
    NotYetValid { at: Timestamp },
    #[error("not issued by the next one, whose name is `{next}`{}", elsewhere(.issuer_place))]
    NotIssuedByNext { next: String, issuer_place: Option<usize> },
    #[error("not signed by the next one, which has the name of its issuer")]
    NotSignedByNext,
    #[error("the same as number {place}")]
    Repeated { place: usize },
    #[error("signed with algorithm {oid}, which is not known")]
    Algorithm { oid: String },
}

#[expect(clippy::ref_option, reason = "the format macro passes a reference")]
fn elsewhere(place: &Option<usize>) -> String {
    place.map(|place| format!("; its issuer is number {place}")).unwrap_or_default()
}

/// The rows of a chain in the given order, at `now`.
pub fn chain_entries(
    certificates: &[Vec<u8>],
    now: Timestamp,
) -> Result<Vec<ChainEntry>, CertificateError> {
    let parsed = certificates
        .iter()
        .map(|der| certificate::parse(der))
        .collect::<Result<Vec<_>, CertificateError>>()?;
    let mut entries = Vec::new();
    for (index, (certificate, der)) in parsed.iter().zip(certificates).enumerate() {
        let facts = certificate::facts(certificate, der)?;
        let mut problems = Vec::new();
        if facts.not_after <= now {
            problems.push(ChainProblem::Expired { at: facts.not_after });
        }
        if facts.not_before > now {
            problems.push(ChainProblem::NotYetValid { at: facts.not_before });
        }
        let earlier = certificates.iter().take(index).position(|other| other == der);
        if let Some(earlier) = earlier {
            problems.push(ChainProblem::Repeated { place: earlier.saturating_add(1) });
        }
        if let Some(next) = parsed.get(index.saturating_add(1)) {
            problems.extend(link_problem(certificate, next, &parsed));
        }
        let (subject, issuer) =
            (certificate.subject().to_string(), certificate.issuer().to_string());
        entries.push(ChainEntry { subject, issuer, not_after: facts.not_after, problems });
    }
    Ok(entries)
}

/// The DER among `candidates` that signed `leaf`, by name and signature.
pub fn issuer_of<'a>(
    leaf: &[u8],
    candidates: impl IntoIterator<Item = &'a [u8]>,
) -> Option<&'a [u8]> {
    let leaf = certificate::parse(leaf).ok()?;
    candidates.into_iter().find(|der| {
        let candidate = certificate::parse(der);
        candidate.is_ok_and(|upper| is_named(&leaf, &upper) && is_signed(&leaf, &upper))
    })
}

fn link_problem(
    lower: &X509Certificate<'_>,
    next: &X509Certificate<'_>,
    all: &[X509Certificate<'_>],
) -> Option<ChainProblem> {
    if !is_named(lower, next) {
        let place = all.iter().position(|other| is_named(lower, other) && is_signed(lower, other));
        let issuer_place = place.map(|place| place.saturating_add(1));
        return Some(ChainProblem::NotIssuedByNext {
            next: next.subject().to_string(),
            issuer_place,
        });
    }
    match verdict(lower, next) {
        Verdict::Good => None,
        Verdict::Bad => Some(ChainProblem::NotSignedByNext),
        Verdict::Unknown => {
            let oid = lower.signature_algorithm.algorithm.to_id_string();
            Some(ChainProblem::Algorithm { oid })
        }
    }
}

fn is_named(lower: &X509Certificate<'_>, upper: &X509Certificate<'_>) -> bool {
    lower.issuer().as_raw() == upper.subject().as_raw()
}

fn is_signed(lower: &X509Certificate<'_>, upper: &X509Certificate<'_>) -> bool {
    verdict(lower, upper) == Verdict::Good
}

fn verdict(lower: &X509Certificate<'_>, upper: &X509Certificate<'_>) -> Verdict {
    signing::verify(
        upper.public_key(),
        &lower.signature_algorithm,
        &lower.signature_value.data,
        lower.tbs_certificate.as_ref(),
    )
}

fn as_texts<S: serde::Serializer>(
    problems: &[ChainProblem],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(problems.iter().map(ToString::to_string))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::test_ca::{Ca, leaf};
    use crate::pki::{Bundle, PrivateKey};
    use crate::resource::KeyAlgorithm;

    #[test]
    fn a_chain_out_of_order_is_reported_place_by_place() {
        let key = PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap();
        let root = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
        let impostor = Ca::root("Middle", KeyAlgorithm::Ecdsa, 256);
        let middle = root.intermediate("Middle", KeyAlgorithm::Ecdsa, 384);
        let leaf = middle.sign(&leaf("", &["a.example"]), &key);
        let not_by = |next: &str, issuer_place| {
            vec![ChainProblem::NotIssuedByNext { next: format!("CN={next}"), issuer_place }]
        };
        for (parts, now, expected) in [
            (vec![&leaf, &middle.above, &root.above], "2031-01-01T00:00:00Z", vec![vec![]; 3]),
            (vec![&leaf], "2031-01-01T00:00:00Z", vec![vec![]]),
            (
                vec![&leaf, &root.above, &middle.above],
                "2031-01-01T00:00:00Z",
                vec![not_by("Root", Some(3)), not_by("Middle", Some(2)), vec![]],
            ),
            (
                vec![&leaf, &impostor.above],
                "2031-01-01T00:00:00Z",
                vec![vec![ChainProblem::NotSignedByNext], vec![]],
            ),
            (
                vec![&leaf],
                "2032-01-01T00:00:00Z",
                vec![vec![ChainProblem::Expired { at: "2032-01-01T00:00:00Z".parse().unwrap() }]],
            ),
            (
                vec![&leaf],
                "2029-01-01T00:00:00Z",
                vec![vec![ChainProblem::NotYetValid {
                    at: "2030-01-01T00:00:00Z".parse().unwrap(),
                }]],
            ),
            (
                vec![&root.above, &root.above],
                "2031-01-01T00:00:00Z",
                vec![vec![], vec![ChainProblem::Repeated { place: 1 }]],
            ),
        ] {
            let pem: String = parts.into_iter().map(String::as_str).collect();
            let bundle = Bundle::from_pem(&pem).unwrap();
            let entries = chain_entries(bundle.certificates(), now.parse().unwrap()).unwrap();
            let found: Vec<Vec<ChainProblem>> =
                entries.into_iter().map(|entry| entry.problems).collect();
            assert_eq!(found, expected);
        }
    }
}
