//! The CRL (RFC 5280 section 5): one list of all revoked certificates, signed when it is fetched.

use std::time::Duration;

use rcgen::{
    CertificateRevocationListParams, KeyIdMethod, RevocationReason, RevokedCertParams,
    SerialNumber, date_time_ymd,
};

use super::issue::since_epoch;
use super::problem::Problem;
use super::reply::{Content, Reply};
use super::world::World;
use super::{Shared, lock};

/// The list, when this CA has one.
pub(super) fn crl(shared: &Shared) -> Reply {
    let Some(lifetime) = shared.options.crl_lifetime else {
        return Problem::not_found("CRL").into();
    };
    match list(shared, &lock(&shared.world), lifetime) {
        Ok(der) => Reply::new(200, Content::Crl(der)),
        Err(error) => Problem::internal(error).into(),
    }
}

/// The list in DER, which holds for `lifetime` from now.
pub(super) fn list(
    shared: &Shared,
    world: &World,
    lifetime: Duration,
) -> Result<Vec<u8>, rcgen::Error> {
    let (now, epoch) = (shared.now(), date_time_ymd(1970, 1, 1));
    let revoked = world.certificates.values().filter_map(|issued| {
        let serial = crate::pki::facts_of_der(&issued.der).ok()?.serial;
        Some((serial_number(&serial), issued.revoked?))
    });
    let revoked_certs = revoked.map(|(serial_number, code)| RevokedCertParams {
        serial_number,
        revocation_time: epoch + since_epoch(now),
        reason_code: reason(code),
        invalidity_date: None,
    });
    let params = CertificateRevocationListParams {
        this_update: epoch + since_epoch(now),
        next_update: epoch + since_epoch(super::after(now, lifetime)),
        crl_number: u64::try_from(now.as_second()).unwrap_or_default().into(),
        issuing_distribution_point: None,
        revoked_certs: revoked_certs.collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    shared.hierarchy.sign_crl(&params)
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
