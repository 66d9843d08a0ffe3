//! The CRL (RFC 5280 section 5): one list of all revoked certificates, signed when it is fetched.

use jiff::Timestamp;
use rcgen::{
    CertificateRevocationListParams, KeyIdMethod, RevocationReason, RevokedCertParams,
    SerialNumber, date_time_ymd,
};

use super::issue::{Hierarchy, since_epoch};

/// The list in DER, of the revoked certificates' serial numbers in hexadecimal and reason codes.
pub(super) fn list(
    hierarchy: &Hierarchy,
    revoked: impl Iterator<Item = (String, u8)>,
    now: Timestamp,
    next_update: Timestamp,
) -> Result<Vec<u8>, rcgen::Error> {
    let epoch = date_time_ymd(1970, 1, 1);
    let revoked_certs = revoked.map(|(serial, code)| RevokedCertParams {
        serial_number: serial_number(&serial),
        revocation_time: epoch + since_epoch(now),
        reason_code: reason(code),
        invalidity_date: None,
    });
    hierarchy.sign_crl(&CertificateRevocationListParams {
        this_update: epoch + since_epoch(now),
        next_update: epoch + since_epoch(next_update),
        crl_number: u64::try_from(now.as_second()).unwrap_or_default().into(),
        issuing_distribution_point: None,
        revoked_certs: revoked_certs.collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    })
}

/// From hexadecimal digits.
fn serial_number(digits: &str) -> SerialNumber {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    SerialNumber::from(pairs.filter_map(byte).collect::<Vec<u8>>())
}

/// The reason of a code; none for "unspecified", as RFC 5280 recommends.
fn reason(code: u8) -> Option<RevocationReason> {
    let known = [
        (1, RevocationReason::KeyCompromise),
        (2, RevocationReason::CaCompromise),
        (3, RevocationReason::AffiliationChanged),
        (4, RevocationReason::Superseded),
        (5, RevocationReason::CessationOfOperation),
        (6, RevocationReason::CertificateHold),
        (9, RevocationReason::PrivilegeWithdrawn),
        (10, RevocationReason::AaCompromise),
    ];
    known.into_iter().find(|(known, _)| *known == code).map(|(_, reason)| reason)
}
