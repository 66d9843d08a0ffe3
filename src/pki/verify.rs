//! Compares an issued chain with the request before it is published.
//!
//! A chain is checked for linkage, not for trust: private CAs are supported, and clients decide
//! which roots they trust. Names of other types than DNS and IP are no part of an ACME order and
//! are not compared.

use std::collections::BTreeSet;
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use x509_parser::certificate::X509Certificate;

use super::certificate;
use super::chain::Chain;
use super::chain_error::ChainError;
use super::signing::{self, Verdict};
use crate::resource::{Identifier, LeafFacts, PublicKeyDigest};

/// Checks that the chain certifies this key for exactly these names, is valid at `now`, and is
/// linked correctly. The CA may add or drop a CN as long as it is one of the names.
pub fn verify_issued(
    chain: &Chain,
    expected_public_key: &PublicKeyDigest,
    identifiers: &[Identifier],
    now: Timestamp,
) -> Result<(), ChainError> {
    let leaf = chain.leaf();
    if leaf.public_key != *expected_public_key {
        let (expected, found) = (expected_public_key.clone(), leaf.public_key.clone());
        return Err(ChainError::PublicKey { expected, found });
    }
    if leaf.not_after <= now {
        return Err(ChainError::Expired { not_after: leaf.not_after });
    }
    if leaf.not_before.duration_since(now) > MAX_SKEW {
        return Err(ChainError::NotYetValid { not_before: leaf.not_before, now });
    }
    verify_names(leaf, identifiers)?;
    let certificates = chain
        .certificates()
        .iter()
        .map(|der| certificate::parse(der))
        .collect::<Result<Vec<_>, _>>()
        .map_err(ChainError::Undecodable)?;
    if certificates.first().is_some_and(|leaf| leaf.is_ca()) {
        return Err(ChainError::CertificateAuthority { common_name: leaf.common_name.clone() });
    }
    for (position, (lower, upper)) in
        (1..).zip(certificates.iter().zip(certificates.iter().skip(1)))
    {
        verify_link(position, lower, upper)?;
    }
    Ok(())
}

fn verify_names(leaf: &LeafFacts, identifiers: &[Identifier]) -> Result<(), ChainError> {
    let requested: BTreeSet<String> = identifiers
        .iter()
        .map(|identifier| match identifier {
            Identifier::Dns(name) => normal(name.as_str()),
            Identifier::Ip(address) => address.to_canonical().to_string(),
        })
        .collect();
    let dns = leaf.dns_names.iter().map(|name| name.to_ascii_lowercase());
    let ip = leaf.ip_addresses.iter().map(|address| address.to_canonical().to_string());
    let found: BTreeSet<String> = dns.chain(ip).collect();
    if found != requested {
        let missing = requested.difference(&found).cloned().collect();
        let unexpected = found.difference(&requested).cloned().collect();
        return Err(ChainError::Names { missing, unexpected });
    }
    if leaf.common_name.is_empty() || requested.contains(&normal(&leaf.common_name)) {
        Ok(())
    } else {
        Err(ChainError::CommonName { common_name: leaf.common_name.clone() })
    }
}

/// One spelling for each name: an address in canonical form, or a host name in lower case.
fn normal(name: &str) -> String {
    match name.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().to_string(),
        Err(_) => name.to_ascii_lowercase(),
    }
}

fn verify_link(
    position: usize,
    lower: &X509Certificate<'_>,
    upper: &X509Certificate<'_>,
) -> Result<(), ChainError> {
    if lower.issuer().as_raw() != upper.subject().as_raw() {
        let (issuer, next) = (lower.issuer().to_string(), upper.subject().to_string());
        return Err(ChainError::NotLinked { position, issuer, next });
    }
    let verdict = signing::verify(
        upper.public_key(),
        &lower.signature_algorithm,
        &lower.signature_value.data,
        lower.tbs_certificate.as_ref(),
    );
    match verdict {
        Verdict::Good => Ok(()),
        Verdict::Bad => Err(ChainError::Signature { position }),
        Verdict::Unknown => {
            let oid = lower.signature_algorithm.algorithm.to_id_string();
            Err(ChainError::SignatureAlgorithm { position, oid })
        }
    }
}

/// How far in the future a certificate's validity may start: CAs backdate, so more than this means
/// that a clock is wrong.
pub const MAX_SKEW: SignedDuration = SignedDuration::from_hours(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::test_ca::{Ca, leaf};
    use crate::pki::{CertificateError, PrivateKey};
    use crate::resource::KeyAlgorithm;
    use rcgen::{BasicConstraints, IsCa};

    /// CN and names of the leaf, requested names, and the expected result.
    type Case<'a> = (&'a str, &'a [&'a str], &'a [&'a str], Result<(), ChainError>);

    const NOW: &str = "2031-01-01T00:00:00Z";

    fn ec() -> PrivateKey {
        PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap()
    }

    fn identifiers(names: &[&str]) -> Vec<Identifier> {
        let identifier = |name: &&str| match name.parse::<IpAddr>() {
            Ok(address) => Identifier::Ip(address),
            Err(_) => Identifier::Dns(name.parse().unwrap()),
        };
        names.iter().map(identifier).collect()
    }

    fn verify(pem: &str, key: &PrivateKey, names: &[&str], now: &str) -> Result<(), ChainError> {
        let chain = Chain::from_pem(pem)?;
        verify_issued(&chain, &key.facts().public_key, &identifiers(names), now.parse().unwrap())
    }

    #[test]
    fn names_must_be_those_requested() {
        let (ca, key) = (Ca::root("Root", KeyAlgorithm::Ecdsa, 256), ec());
        let names = |missing: &[&str], unexpected: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
            Err(ChainError::Names { missing: owned(missing), unexpected: owned(unexpected) })
        };
        let foreign = Err(ChainError::CommonName { common_name: "c.example".to_owned() });

        let cases: &[Case<'_>] = &[
            ("", &["a.example"], &["a.example"], Ok(())),
            ("a.example", &["a.example"], &["a.example"], Ok(())),
            ("A.Example", &["A.example", "*.B.example"], &["*.b.example", "a.example"], Ok(())),
            ("192.0.2.1", &["192.0.2.1", "2001:db8::1"], &["2001:db8::1", "192.0.2.1"], Ok(())),
            ("", &["a.example"], &["a.example", "b.example"], names(&["b.example"], &[])),
            ("", &["a.example", "b.example"], &["a.example"], names(&[], &["b.example"])),
            ("", &["b.c.example"], &["*.c.example"], names(&["*.c.example"], &["b.c.example"])),
            ("", &["192.0.2.1"], &["192.0.2.2"], names(&["192.0.2.2"], &["192.0.2.1"])),
            ("a.example", &[], &["a.example"], names(&["a.example"], &[])),
            ("c.example", &["a.example"], &["a.example"], foreign),
        ];
        for (common_name, found, requested, expected) in cases {
            let pem = ca.sign(&leaf(common_name, found), &key);
            assert_eq!(verify(&pem, &key, requested, NOW), *expected, "{found:?} {requested:?}");
        }
    }

    #[test]
    fn the_leaf_must_be_for_this_key_at_this_time_and_no_ca() {
        let (ca, key, other) = (Ca::root("Root", KeyAlgorithm::Ecdsa, 256), ec(), ec());
        let pem = ca.sign(&leaf("", &["a.example"]), &key);
        let at = |now: &str| verify(&pem, &key, &["a.example"], now);
        let not_before = "2030-01-01T00:00:00Z".parse().unwrap();
        let too_early =
            |now: &str| Err(ChainError::NotYetValid { not_before, now: now.parse().unwrap() });
        let expired =
            Err(ChainError::Expired { not_after: "2032-01-01T00:00:00Z".parse().unwrap() });
        assert_eq!(at("2029-12-31T22:59:59Z"), too_early("2029-12-31T22:59:59Z"));
        assert_eq!(at("2029-12-31T23:00:00Z"), Ok(()));
        assert_eq!(at("2031-12-31T23:59:59Z"), Ok(()));
        assert_eq!(at("2032-01-01T00:00:00Z"), expired);

        let foreign = verify(&pem, &other, &["a.example"], NOW);
        let (expected, found) = (other.facts().public_key.clone(), key.facts().public_key.clone());
        assert_eq!(foreign, Err(ChainError::PublicKey { expected, found }));

        let mut params = leaf("a.example", &["a.example"]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let found = verify(&ca.sign(&params, &key), &key, &["a.example"], NOW);
        let common_name = "a.example".to_owned();
        assert_eq!(found, Err(ChainError::CertificateAuthority { common_name }));
    }

    #[test]
    fn each_certificate_must_be_signed_by_the_next() {
        let key = ec();
        let root = Ca::root("Root", KeyAlgorithm::Rsa, 2048);
        let impostor = Ca::root("Root", KeyAlgorithm::Rsa, 2048);
        let middle = root.intermediate("Middle", KeyAlgorithm::Ecdsa, 384);
        let lower = middle.intermediate("Lower", KeyAlgorithm::Ecdsa, 521);
        let lowest = lower.intermediate("Lowest", KeyAlgorithm::Ed25519, 256);
        let params = leaf("", &["a.example"]);
        let leaf = lowest.sign(&params, &key);
        let chain = [&leaf, &lowest.above, &lower.above, &middle.above, &root.above];
        let skip = |left_out: usize| -> String {
            let remaining = chain.iter().enumerate().filter(|(place, _)| *place != left_out);
            remaining.map(|(_, pem)| pem.as_str()).collect()
        };
        let linked = |position, issuer: &str, next: &str| {
            let (issuer, next) = (format!("CN={issuer}"), format!("CN={next}"));
            Err(ChainError::NotLinked { position, issuer, next })
        };
        let cases = [
            (chain.map(String::as_str).concat(), Ok(())),
            (leaf.clone(), Ok(())),
            (skip(4), Ok(())),
            (skip(1), linked(1, "Lowest", "Lower")),
            (skip(2), linked(2, "Lower", "Middle")),
            (skip(3), linked(3, "Middle", "Root")),
            (skip(4) + &impostor.above, Err(ChainError::Signature { position: 4 })),
            (skip(9) + &root.above, Ok(())),
        ];
        for (place, (pem, expected)) in cases.into_iter().enumerate() {
            assert_eq!(verify(&pem, &key, &["a.example"], NOW), expected, "case {place}");
        }
    }

    #[test]
    fn messages_are_those_of_cert_manager() {
        let not_after = "2032-01-01T00:00:00Z".parse().unwrap();
        let digest = PublicKeyDigest(String::new());
        let cases = [
            (
                ChainError::Expired { not_after },
                "Issuer returned an already expired certificate (notAfter: 2032-01-01T00:00:00Z). \
                 This usually indicates an expired CA certificate in the issuer.",
            ),
            (
                ChainError::PublicKey { expected: digest.clone(), found: digest },
                "Issuer returned a certificate with a public key that does not match the CSR. \
                 This usually indicates a misconfigured issuer.",
            ),
            (
                ChainError::Undecodable(CertificateError::NotFound),
                "Issuer returned an invalid certificate: failed to decode: error \
                 decoding certificate PEM block: no valid certificates found",
            ),
            (
                ChainError::Names {
                    missing: vec!["a".to_owned(), "b".to_owned()],
                    unexpected: vec!["c".to_owned()],
                },
                "Issuer returned a certificate for other names than requested: missing a, b; \
                 unexpected c",
            ),
        ];
        for (error, expected) in cases {
            assert_eq!(error.to_string(), expected);
        }
    }
}
