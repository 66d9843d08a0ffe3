//! Certificate revocation lists (RFC 5280 section 5), verified before use.

use std::collections::HashMap;

use jiff::Timestamp;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{DistributionPointName, IssuingDistributionPoint, ParsedExtension};
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;
use x509_parser::time::ASN1Time;

use super::names::Names;
use super::pem;
use super::revocation::{Revocation, RevocationDoubt, check_dates, reason_word};
use super::signing::{self, Verdict};
use super::{certificate, verify::MAX_SKEW};

/// A CRL that was verified.
#[derive(Debug)]
pub struct RevocationList {
    /// By the serial number, big-endian and without leading zeros.
    revoked: HashMap<Vec<u8>, (Timestamp, Option<&'static str>)>,
    /// When it was made.
    pub this_update: Timestamp,
    /// Until when it holds.
    pub next_update: Option<Timestamp>,
    /// At which time it was read.
    now: Timestamp,
}

impl RevocationList {
    /// The CRL in `answer`, DER or PEM, fetched from `url`, at `now`. It must be signed by `issuer`,
    /// be valid at `now`, and cover this distribution point, for certificates of CAs or for others
    /// (RFC 5280 section 6.3.3).
    pub fn read(
        answer: &[u8],
        url: &str,
        is_ca: bool,
        issuer: &[u8],
        now: Timestamp,
    ) -> Result<Self, RevocationDoubt> {
        let unwrapped = unwrap(answer)?;
        let (rest, list) =
            CertificateRevocationList::from_der(&unwrapped).map_err(RevocationDoubt::damaged)?;
        if !rest.is_empty() {
            let reason = format!("{} bytes after its end", rest.len());
            return Err(RevocationDoubt::Damaged { reason });
        }
        let issuer = certificate::parse(issuer).map_err(RevocationDoubt::damaged)?;
        check_signature(&list, &issuer)?;
        let this_update = timestamp(list.last_update())?;
        let next_update = list.next_update().map(timestamp).transpose()?;
        check_dates(this_update, next_update, now)?;
        check_scope(&list, url, is_ca)?;
        let mut revoked = HashMap::new();
        for entry in list.iter_revoked_certificates() {
            let reason = entry.reason_code().and_then(|(_, code)| reason_word(code.0));
            let at = timestamp(entry.revocation_date)?;
            revoked.entry(entry.serial().to_bytes_be()).or_insert((at, reason));
        }
        Ok(Self { revoked, this_update, next_update, now })
    }

    /// The status of a certificate of that issuer.
    pub fn status(&self, leaf: &[u8]) -> Result<Revocation, RevocationDoubt> {
        let leaf = certificate::parse(leaf).map_err(RevocationDoubt::damaged)?;
        let Self { this_update, next_update, .. } = *self;
        match self.revoked.get(&leaf.tbs_certificate.serial.to_bytes_be()) {
            None => Ok(Revocation::Good { this_update, next_update }),
            Some((at, _)) if at.duration_since(self.now) > MAX_SKEW => {
                Err(RevocationDoubt::NotYetValid { this_update: *at })
            }
            Some((at, reason)) => Ok(Revocation::Revoked { at: *at, reason: *reason }),
        }
    }
}

/// The status of `leaf` in a CRL: see [`RevocationList::read`].
pub fn check_crl(
    answer: &[u8],
    url: &str,
    leaf: &[u8],
    issuer: &[u8],
    now: Timestamp,
) -> Result<Revocation, RevocationDoubt> {
    let is_ca = certificate::parse(leaf).map_err(RevocationDoubt::damaged)?.is_ca();
    RevocationList::read(answer, url, is_ca, issuer, now)?.status(leaf)
}

/// RFC 5280 section 4.2.1.13 requires DER; some servers send PEM.
fn unwrap(answer: &[u8]) -> Result<Vec<u8>, RevocationDoubt> {
    let text = std::str::from_utf8(answer).ok().filter(|text| text.contains("-----BEGIN X509 CRL"));
    match text.and_then(|text| pem::blocks(text).next()) {
        None => Ok(answer.to_vec()),
        Some(block) => Ok(block.map_err(RevocationDoubt::damaged)?.der.to_vec()),
    }
}

fn check_signature(
    list: &CertificateRevocationList<'_>,
    issuer: &X509Certificate<'_>,
) -> Result<(), RevocationDoubt> {
    if list.issuer().as_raw() != issuer.subject().as_raw() {
        return Err(RevocationDoubt::OtherIssuer { found: list.issuer().to_string() });
    }
    let may_sign = issuer.key_usage().ok().flatten().is_none_or(|usage| usage.value.crl_sign());
    if !may_sign {
        return Err(RevocationDoubt::WrongSigner);
    }
    let verdict = signing::verify(
        issuer.public_key(),
        &list.signature_algorithm,
        &list.signature_value.data,
        list.tbs_cert_list.as_ref(),
    );
    match verdict {
        Verdict::Good => Ok(()),
        Verdict::Bad => Err(RevocationDoubt::WrongSigner),
        Verdict::Unknown => {
            let oid = list.signature_algorithm.algorithm.to_id_string();
            Err(RevocationDoubt::SignatureAlgorithm { oid })
        }
    }
}

/// A CA may split its CRL into parts, each with its own URL: another part, or one with an unknown
/// extension, says nothing about this certificate.
fn check_scope(
    list: &CertificateRevocationList<'_>,
    url: &str,
    is_ca: bool,
) -> Result<(), RevocationDoubt> {
    for extension in list.extensions() {
        if let ParsedExtension::IssuingDistributionPoint(point) = extension.parsed_extension() {
            if let Some(why) = beyond(point, url, is_ca) {
                return Err(RevocationDoubt::Scope { why });
            }
        } else if extension.critical {
            return Err(RevocationDoubt::Scope { why: "it has an extension that is not known" });
        }
    }
    Ok(())
}

fn beyond(point: &IssuingDistributionPoint<'_>, url: &str, is_ca: bool) -> Option<&'static str> {
    let is_other = match &point.distribution_point {
        None => false,
        Some(DistributionPointName::FullName(names)) => {
            !Names::read(names).uris.iter().any(|name| name == url)
        }
        Some(DistributionPointName::NameRelativeToCRLIssuer(_)) => true,
    };
    if is_other {
        Some("it is of another distribution point")
    } else if point.only_contains_attribute_certs || (point.only_contains_ca_certs && !is_ca) {
        Some("it is for other kinds of certificates")
    } else if point.only_contains_user_certs && is_ca {
        Some("it is not for CA certificates")
    } else if point.only_some_reasons.is_some() {
        Some("it is for some reasons only")
    } else if point.indirect_crl {
        Some("it is an indirect one")
    } else {
        None
    }
}

fn timestamp(time: ASN1Time) -> Result<Timestamp, RevocationDoubt> {
    Timestamp::from_second(time.timestamp()).map_err(RevocationDoubt::damaged)
}

#[cfg(test)]
mod tests {
    use rcgen::{
        CertificateRevocationListParams, CrlDistributionPoint, CrlIssuingDistributionPoint,
        CrlScope, KeyIdMethod, RevocationReason, RevokedCertParams, date_time_ymd,
    };

    use super::*;
    use crate::pki::test_ca::{Ca, leaf};
    use crate::pki::{Bundle, PrivateKey};
    use crate::resource::KeyAlgorithm;

    const URL: &str = "http://crl.example/1.crl";

    fn params(revoked: &[u8]) -> CertificateRevocationListParams {
        CertificateRevocationListParams {
            this_update: date_time_ymd(2031, 1, 1),
            next_update: date_time_ymd(2031, 1, 8),
            crl_number: 7_u64.into(),
            issuing_distribution_point: None,
            revoked_certs: vec![RevokedCertParams {
                serial_number: revoked.to_vec().into(),
                revocation_time: date_time_ymd(2030, 12, 1),
                reason_code: Some(RevocationReason::KeyCompromise),
                invalidity_date: None,
            }],
            key_identifier_method: KeyIdMethod::Sha256,
        }
    }

    fn point(url: &str, scope: Option<CrlScope>) -> CrlIssuingDistributionPoint {
        let distribution_point = CrlDistributionPoint { uris: vec![url.to_owned()] };
        CrlIssuingDistributionPoint { distribution_point, scope }
    }

    fn der(pem: &str) -> Vec<u8> {
        Bundle::from_pem(pem).unwrap().leaf().to_vec()
    }

    #[test]
    fn only_a_fresh_list_of_the_issuer_for_this_certificate_is_believed() {
        let ca = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
        let impostor = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
        let other = Ca::root("Other", KeyAlgorithm::Ecdsa, 256);
        let key = PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap();
        let leaf = der(&ca.sign(&leaf("", &["a.example"]), &key));
        let mine: &[u8] = &[0x8a, 0x01];
        let (this_update, next_update) = (at("2031-01-01"), Some(at("2031-01-08")));
        let good = Ok(Revocation::Good { this_update, next_update });
        let revoked =
            Ok(Revocation::Revoked { at: at("2030-12-01"), reason: Some("keyCompromise") });
        let scope = |why| Err(RevocationDoubt::Scope { why });
        let with = |point| CertificateRevocationListParams {
            issuing_distribution_point: Some(point),
            ..params(&[1])
        };
        for (what, signer, list, now, expected) in [
            ("good", &ca, params(&[1]), "2031-01-02", good.clone()),
            ("revoked", &ca, params(mine), "2031-01-02", revoked),
            (
                "expired",
                &ca,
                params(&[1]),
                "2031-01-08",
                Err(RevocationDoubt::Expired { next_update: at("2031-01-08") }),
            ),
            (
                "future",
                &ca,
                params(&[1]),
                "2030-12-31",
                Err(RevocationDoubt::NotYetValid { this_update }),
            ),
            ("impostor", &impostor, params(&[1]), "2031-01-02", Err(RevocationDoubt::WrongSigner)),
            (
                "other",
                &other,
                params(&[1]),
                "2031-01-02",
                Err(RevocationDoubt::OtherIssuer { found: "CN=Other".into() }),
            ),
            ("its own part", &ca, with(point(URL, None)), "2031-01-02", good.clone()),
            (
                "another part",
                &ca,
                with(point("http://crl.example/2.crl", None)),
                "2031-01-02",
                scope("it is of another distribution point"),
            ),
            (
                "of users",
                &ca,
                with(point(URL, Some(CrlScope::UserCertsOnly))),
                "2031-01-02",
                good.clone(),
            ),
            (
                "of CAs",
                &ca,
                with(point(URL, Some(CrlScope::CaCertsOnly))),
                "2031-01-02",
                scope("it is for other kinds of certificates"),
            ),
        ] {
            let list = signer.revoke(&list);
            let found = check_crl(&list, URL, &leaf, &der(&ca.above), at(now));
            assert_eq!(found, expected, "{what}");
        }
        let list = ca.revoke(&params(&[1]));
        let pem = pem::encode("X509 CRL", &list);
        let now = at("2031-01-02");
        assert_eq!(check_crl(pem.as_bytes(), URL, &leaf, &der(&ca.above), now), good);
        for broken in [&b""[..], b"<html>", &list[..list.len() - 1], &[&list[..], b"x"].concat()] {
            let found = check_crl(broken, URL, &leaf, &der(&ca.above), now);
            assert!(matches!(found, Err(RevocationDoubt::Damaged { .. })), "{found:?}");
        }
    }

    fn at(day: &str) -> Timestamp {
        format!("{day}T00:00:00Z").parse().unwrap()
    }
}
