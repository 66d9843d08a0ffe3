//! A certificate with its intermediates, as a CA issues them (RFC 8555 section 9.1).

use x509_parser::certificate::X509Certificate;

use super::certificate::{self, CertificateError, MAX_CHAIN_BYTES};
use super::chain_error::ChainError;
use super::details::CertificateDetails;
use super::names;
use super::pem;
use super::signing::{self, Verdict};
use crate::resource::{LeafFacts, PublicKeyDigest};

/// One or more certificates that decode, the leaf first. [`super::verify_issued`] verifies that
/// they belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    certificates: Vec<Vec<u8>>,
    leaf: LeafFacts,
    topmost_issuer: String,
}

impl Chain {
    /// Reads a PEM text of at most [`MAX_CHAIN_BYTES`] with at most [`MAX_CERTIFICATES`], none of
    /// them longer than [`super::MAX_CERTIFICATE_BYTES`]. Blocks that are not certificates are
    /// refused; text between the blocks is skipped.
    pub fn from_pem(pem: &str) -> Result<Self, ChainError> {
        Self::decode(pem).map_err(ChainError::Undecodable)
    }

    /// The facts of the first certificate.
    pub fn leaf(&self) -> &LeafFacts {
        &self.leaf
    }

    /// The chain of the certificate for this key: from it upwards, each signed by the next. What is
    /// repeated, or no part of it, is left out. Without a certificate for the key, all stays.
    #[must_use]
    pub fn of_key(self, public_key: &PublicKeyDigest) -> Self {
        self.sorted(public_key).unwrap_or(self)
    }

    fn sorted(&self, public_key: &PublicKeyDigest) -> Option<Self> {
        let parsed: Vec<_> =
            self.certificates.iter().filter_map(|der| certificate::parse(der).ok()).collect();
        let mut left: Vec<_> = parsed.iter().zip(&self.certificates).collect();
        let leaf = left.iter().position(|(one, der)| {
            !one.is_ca()
                && certificate::facts(one, der).is_ok_and(|facts| facts.public_key == *public_key)
        })?;
        let mut chain = vec![left.remove(leaf)];
        while let Some((last, _)) = chain.last() {
            // A certificate that signs itself is the end.
            let next = left.iter().position(|(one, _)| is_issuer(one, last));
            let Some(next) = next.filter(|_| !is_issuer(last, last)) else { break };
            chain.push(left.remove(next));
        }
        let topmost_issuer = names::common_name(chain.last()?.0.issuer());
        let leaf = chain.first().and_then(|(leaf, der)| certificate::facts(leaf, der).ok())?;
        let certificates = chain.into_iter().map(|(_, der)| der.clone()).collect();
        Some(Self { certificates, leaf, topmost_issuer })
    }

    /// All certificates in PEM, leaf first, with nothing around them.
    pub fn to_pem(&self) -> String {
        self.certificates
            .iter()
            .map(|der| pem::encode(certificate::LABEL, der).to_string())
            .collect()
    }

    /// The issuer CN of the last certificate, which `preferredChain` is compared with; empty when
    /// it has none.
    pub fn topmost_issuer_common_name(&self) -> &str {
        &self.topmost_issuer
    }

    /// The DER of each certificate, leaf first; never empty.
    pub fn certificates(&self) -> &[Vec<u8>] {
        &self.certificates
    }

    /// The first CRL that the leaf names, by http or https.
    pub fn crl_url(&self) -> Option<String> {
        let is_web = |url: &String| {
            let scheme = url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
            scheme.is_some_and(|scheme| scheme == "http" || scheme == "https")
        };
        let leaf = CertificateDetails::read(self.certificates.first()?).ok()?;
        leaf.crl_urls.into_iter().find(is_web)
    }

    fn decode(pem: &str) -> Result<Self, CertificateError> {
        if pem.len() > MAX_CHAIN_BYTES {
            return Err(CertificateError::TooLong { bytes: pem.len(), max: MAX_CHAIN_BYTES });
        }
        let mut certificates = Vec::new();
        let mut leaf = None;
        let mut topmost_issuer = String::new();
        for block in pem::blocks(pem) {
            let block = block?;
            if block.label != certificate::LABEL {
                return Err(CertificateError::Label { label: block.label.to_owned() });
            }
            if certificates.len() == MAX_CERTIFICATES {
                return Err(CertificateError::TooMany { max: MAX_CERTIFICATES });
            }
            let parsed = certificate::parse(&block.der)?;
            if leaf.is_none() {
                leaf = Some(certificate::facts(&parsed, &block.der)?);
            }
            topmost_issuer = names::common_name(parsed.issuer());
            certificates.push(block.der.to_vec());
        }
        let leaf = leaf.ok_or(CertificateError::NotFound)?;
        Ok(Self { certificates, leaf, topmost_issuer })
    }
}

/// Whether `upper` has issued `lower`, as far as the signature's algorithm is known.
fn is_issuer(upper: &X509Certificate<'_>, lower: &X509Certificate<'_>) -> bool {
    let verdict = || {
        signing::verify(
            upper.public_key(),
            &lower.signature_algorithm,
            &lower.signature_value.data,
            lower.tbs_certificate.as_ref(),
        )
    };
    lower.issuer().as_raw() == upper.subject().as_raw() && verdict() != Verdict::Bad
}

/// The limit of certificates in a chain. Public chains have two to four; each link costs one
/// verification.
pub const MAX_CERTIFICATES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::test_ca::{self, Ca};
    use crate::pki::{MAX_CERTIFICATE_BYTES, PemError, PrivateKey, leaf_facts};
    use crate::resource::KeyAlgorithm;

    fn error(pem: &str) -> CertificateError {
        match Chain::from_pem(pem) {
            Err(ChainError::Undecodable(error)) => error,
            other => panic!("{other:?}"),
        }
    }

    fn issued() -> (PrivateKey, String, Ca) {
        let root = Ca::root("The Root", KeyAlgorithm::Ecdsa, 256);
        let middle = root.intermediate("Middle", KeyAlgorithm::Ecdsa, 384);
        let key = PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap();
        let params = test_ca::leaf("A.example", &["A.example", "192.0.2.1", "2001:db8::1"]);
        (key.clone(), middle.sign(&params, &key), middle)
    }

    #[test]
    fn a_chain_is_read_leaf_first_and_written_without_what_stood_around_it() {
        let (key, leaf, middle) = issued();
        let clean = format!("{leaf}{}", middle.above).replace('\r', "");
        let noisy = format!("subject=x\r\n{}\r\nend", clean.replace('\n', "\r\n"));
        let chain = Chain::from_pem(&noisy).unwrap();
        assert_eq!(chain.to_pem(), clean);
        assert_eq!(chain.certificates().len(), 2);
        assert_eq!(chain.topmost_issuer_common_name(), "The Root");
        let first = pem::blocks(&clean).next().unwrap().unwrap();
        let expected = LeafFacts {
            public_key: key.facts().public_key.clone(),
            fingerprint: crate::resource::hex(
                aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &first.der).as_ref(),
            ),
            serial: "8a01".to_owned(),
            certificate_id: None,
            common_name: "A.example".to_owned(),
            dns_names: vec!["A.example".to_owned()],
            ip_addresses: vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()],
            uris: vec![],
            email_addresses: vec![],
            not_before: "2030-01-01T00:00:00Z".parse().unwrap(),
            not_after: "2032-01-01T00:00:00Z".parse().unwrap(),
            issuer_common_name: "Middle".to_owned(),
            key_description: "ECDSA P-256".to_owned(),
        };
        assert_eq!(*chain.leaf(), expected);
        let combined = format!("{}\n{clean}", *key.to_pkcs8_pem());
        assert_eq!(leaf_facts(&combined), Ok(expected));
    }

    #[test]
    fn a_chain_is_put_in_order_from_the_certificate_of_the_key_upwards() {
        let (key, leaf, middle) = issued();
        let foreign = Ca::root("The Root", KeyAlgorithm::Ecdsa, 256).above;
        let impostor = Ca::root("Middle", KeyAlgorithm::Ecdsa, 256).above;
        let middle = middle.above;
        let right = format!("{leaf}{middle}");
        for (what, sent, expected) in [
            ("as it should be", right.clone(), &right),
            ("the leaf twice", format!("{leaf}{right}"), &right),
            ("the issuer twice", format!("{right}{middle}"), &right),
            ("the leaf last", format!("{middle}{leaf}"), &right),
            ("another between", format!("{leaf}{foreign}{middle}"), &right),
            ("another at the end", format!("{right}{impostor}"), &right),
            ("another of the issuer's name", format!("{leaf}{impostor}"), &leaf),
        ] {
            let chain = Chain::from_pem(&sent).unwrap().of_key(&key.facts().public_key);
            assert_eq!(chain, Chain::from_pem(expected).unwrap(), "{what}");
        }
        let other = PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap();
        let chain = Chain::from_pem(&right).unwrap();
        assert_eq!(chain.clone().of_key(&other.facts().public_key), chain, "of another key");
    }

    #[test]
    fn keys_are_described_for_people() {
        let ca = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
        let cases = [
            (KeyAlgorithm::Rsa, 2048, "RSA 2048"),
            (KeyAlgorithm::Ecdsa, 384, "ECDSA P-384"),
            (KeyAlgorithm::Ecdsa, 521, "ECDSA P-521"),
            (KeyAlgorithm::Ed25519, 256, "Ed25519"),
        ];
        for (algorithm, bits, expected) in cases {
            let key = PrivateKey::generate(algorithm, bits).unwrap();
            let pem = ca.sign(&test_ca::leaf("", &["a.example"]), &key);
            assert_eq!(leaf_facts(&pem).unwrap().key_description, expected);
        }
    }

    #[test]
    fn what_is_no_chain_is_refused_with_its_reason() {
        let (key, leaf, middle) = issued();
        let label = |text: &str| CertificateError::Label { label: text.to_owned() };
        let large = pem::encode(certificate::LABEL, &vec![0; MAX_CERTIFICATE_BYTES + 1]);
        let cases: &[(String, CertificateError)] = &[
            (String::new(), CertificateError::NotFound),
            ("x".to_owned(), CertificateError::NotFound),
            (format!("{leaf}{}", *key.to_pkcs8_pem()), label("PRIVATE KEY")),
            (leaf.repeat(21), CertificateError::TooMany { max: 20 }),
            (large.to_string(), CertificateError::TooLarge { bytes: 36_501, max: 36_500 }),
            (
                " ".repeat(MAX_CHAIN_BYTES + 1),
                CertificateError::TooLong { bytes: 262_145, max: 262_144 },
            ),
            (
                format!("{leaf}{}", &middle.above[..99]),
                PemError::Unterminated { label: "CERTIFICATE".to_owned() }.into(),
            ),
        ];
        for (pem, expected) in cases {
            assert_eq!(error(pem), *expected, "{pem}");
        }
        assert_eq!(Chain::from_pem(&leaf.repeat(20)).map(|c| c.certificates().len()), Ok(20));
    }

    #[test]
    fn damaged_certificates_are_refused_wherever_they_end() {
        let (_, leaf, _) = issued();
        let der = pem::blocks(&leaf).next().unwrap().unwrap().der;
        for length in 0..der.len() {
            let found = error(&pem::encode(certificate::LABEL, &der[..length]));
            assert!(matches!(found, CertificateError::Damaged { .. }), "{length}: {found:?}");
        }
        let longer = [&der[..], &[0]].concat();
        let expected = CertificateError::Damaged { reason: "1 bytes after its end".to_owned() };
        assert_eq!(error(&pem::encode(certificate::LABEL, &longer)), expected);
    }
}
