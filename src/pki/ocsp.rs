//! The online certificate status protocol (RFC 6960), for one certificate per request.
//!
//! Contract: the request identifies the real issuer by SHA-1, which every responder supports (the
//! digest only identifies and protects nothing). The answer counts only when it is about this
//! certificate, current, and signed by the issuer or by a responder that the issuer has certified
//! for that.

#[cfg(test)]
pub(crate) mod answer;
#[cfg(test)]
mod tests;

use aws_lc_rs::digest;
use der::asn1::{Any, BitString, GeneralizedTime, ObjectIdentifier, OctetString};
use der::{Decode, Encode, Enumerated, Sequence, Tag, Tagged};
use jiff::Timestamp;
use x509_cert::spki::AlgorithmIdentifierOwned;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;
use x509_parser::x509::AlgorithmIdentifier;

use super::certificate;
use super::revocation::{Revocation, RevocationDoubt, check_dates, reason_word};
use super::signing::{self, Verdict};

/// The DER of a request about `leaf`, to be posted as `application/ocsp-request`.
pub fn ocsp_request(leaf: &[u8], issuer: &[u8]) -> Result<Vec<u8>, RevocationDoubt> {
    let request = Request { cert_id: CertId::new(leaf, issuer)? };
    let request = OcspRequest { tbs_request: TbsRequest { request_list: vec![request] } };
    request.to_der().map_err(RevocationDoubt::damaged)
}

/// The status of `leaf`, issued by `issuer`, in the responder's `answer`, at `now`.
pub fn check_ocsp(
    answer: &[u8],
    leaf: &[u8],
    issuer: &[u8],
    now: Timestamp,
) -> Result<Revocation, RevocationDoubt> {
    let response = OcspResponse::from_der(answer).map_err(RevocationDoubt::damaged)?;
    if let Some(status) = response.response_status.refusal() {
        return Err(RevocationDoubt::Refused { status });
    }
    let no_bytes = || RevocationDoubt::damaged("it has no content");
    let bytes = response.response_bytes.ok_or_else(no_bytes)?;
    if bytes.response_type != BASIC {
        return Err(RevocationDoubt::damaged(format!("type {}", bytes.response_type)));
    }
    let basic =
        BasicResponse::from_der(bytes.response.as_bytes()).map_err(RevocationDoubt::damaged)?;
    let signed = basic.tbs_response_data.to_der().map_err(RevocationDoubt::damaged)?;
    check_signer(&basic, &signed, issuer, now)?;
    let data = ResponseData::from_der(&signed).map_err(RevocationDoubt::damaged)?;
    let wanted = CertId::new(leaf, issuer)?;
    let is_meant = |single: &&SingleResponse| single.cert_id.is_same(&wanted);
    let Some(single) = data.responses.iter().find(is_meant) else {
        return Err(RevocationDoubt::Scope { why: "it is about another one" });
    };
    let this_update = timestamp(single.this_update)?;
    let next_update = single.next_update.map(timestamp).transpose()?;
    check_dates(this_update, next_update, now)?;
    let word = single.cert_status.tag().number().value();
    match (single.cert_status.tag().is_context_specific(), word) {
        (true, 0) => Ok(Revocation::Good { this_update, next_update }),
        (true, 1) => {
            let info = Any::new(Tag::Sequence, single.cert_status.value())
                .and_then(|any| any.decode_as::<RevokedInfo>())
                .map_err(RevocationDoubt::damaged)?;
            let at = timestamp(info.revocation_time)?;
            let code = info.reason.as_ref().and_then(|reason| reason.value().first().copied());
            Ok(Revocation::Revoked { at, reason: code.and_then(reason_word) })
        }
        (true, 2) => Err(RevocationDoubt::NotKnown),
        _ => Err(RevocationDoubt::damaged("its status is not known")),
    }
}

/// RFC 6960 section 4.2.2.2: the issuer itself, or a certificate in the answer that the issuer
/// signed for this purpose.
fn check_signer(
    basic: &BasicResponse,
    signed: &[u8],
    issuer: &[u8],
    now: Timestamp,
) -> Result<(), RevocationDoubt> {
    let issuer = certificate::parse(issuer).map_err(RevocationDoubt::damaged)?;
    let algorithm = basic.signature_algorithm.to_der().map_err(RevocationDoubt::damaged)?;
    let (_, algorithm) =
        AlgorithmIdentifier::from_der(&algorithm).map_err(RevocationDoubt::damaged)?;
    let signature = basic.signature.raw_bytes();
    let is_by = |signer: &X509Certificate<'_>| {
        signing::verify(signer.public_key(), &algorithm, signature, signed)
    };
    match is_by(&issuer) {
        Verdict::Good => return Ok(()),
        Verdict::Bad | Verdict::Unknown => {}
    }
    for sent in basic.certs.iter().flatten().take(MAX_CERTIFICATES) {
        let der = sent.to_der().map_err(RevocationDoubt::damaged)?;
        let Ok(delegate) = certificate::parse(&der) else { continue };
        if is_delegate(&delegate, &issuer, now) && is_by(&delegate) == Verdict::Good {
            return Ok(());
        }
    }
    Err(RevocationDoubt::WrongSigner)
}

fn is_delegate(
    delegate: &X509Certificate<'_>,
    issuer: &X509Certificate<'_>,
    now: Timestamp,
) -> bool {
    let purposes = delegate.extended_key_usage().ok().flatten();
    let validity = delegate.validity();
    let is_valid = validity.not_before.timestamp() <= now.as_second()
        && now.as_second() < validity.not_after.timestamp();
    let is_issued = delegate.issuer().as_raw() == issuer.subject().as_raw()
        && signing::verify(
            issuer.public_key(),
            &delegate.signature_algorithm,
            &delegate.signature_value.data,
            delegate.tbs_certificate.as_ref(),
        ) == Verdict::Good;
    purposes.is_some_and(|purposes| purposes.value.ocsp_signing) && is_valid && is_issued
}

fn timestamp(time: GeneralizedTime) -> Result<Timestamp, RevocationDoubt> {
    let seconds = i64::try_from(time.to_unix_duration().as_secs());
    let seconds = seconds.map_err(RevocationDoubt::damaged)?;
    Timestamp::from_second(seconds).map_err(RevocationDoubt::damaged)
}

#[derive(Sequence)]
struct OcspRequest {
    tbs_request: TbsRequest,
}

#[derive(Sequence)]
struct TbsRequest {
    request_list: Vec<Request>,
}

#[derive(Sequence)]
struct Request {
    cert_id: CertId,
}

#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
struct CertId {
    hash_algorithm: AlgorithmIdentifierOwned,
    issuer_name_hash: OctetString,
    issuer_key_hash: OctetString,
    serial_number: Any,
}

impl CertId {
    fn new(leaf: &[u8], issuer: &[u8]) -> Result<Self, RevocationDoubt> {
        let leaf = certificate::parse(leaf).map_err(RevocationDoubt::damaged)?;
        let issuer = certificate::parse(issuer).map_err(RevocationDoubt::damaged)?;
        let hash = |bytes: &[u8]| {
            let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, bytes);
            OctetString::new(hash.as_ref()).map_err(RevocationDoubt::damaged)
        };
        Ok(Self {
            hash_algorithm: AlgorithmIdentifierOwned { oid: SHA1, parameters: Some(Any::null()) },
            issuer_name_hash: hash(issuer.subject().as_raw())?,
            issuer_key_hash: hash(&issuer.public_key().subject_public_key.data)?,
            serial_number: Any::new(Tag::Integer, leaf.raw_serial())
                .map_err(RevocationDoubt::damaged)?,
        })
    }

    /// Whether it is the same certificate; the parameters of the digest may be NULL or absent.
    fn is_same(&self, other: &Self) -> bool {
        self.hash_algorithm.oid == other.hash_algorithm.oid
            && self.issuer_name_hash == other.issuer_name_hash
            && self.issuer_key_hash == other.issuer_key_hash
            && self.serial_number == other.serial_number
    }
}

#[derive(Sequence)]
struct OcspResponse {
    response_status: ResponseStatus,
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT", optional = "true")]
    response_bytes: Option<ResponseBytes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumerated)]
#[repr(u32)]
enum ResponseStatus {
    Successful = 0,
    MalformedRequest = 1,
    InternalError = 2,
    TryLater = 3,
    SigRequired = 5,
    Unauthorized = 6,
}

impl ResponseStatus {
    fn refusal(self) -> Option<&'static str> {
        match self {
            Self::Successful => None,
            Self::MalformedRequest => Some("malformedRequest"),
            Self::InternalError => Some("internalError"),
            Self::TryLater => Some("tryLater"),
            Self::SigRequired => Some("sigRequired"),
            Self::Unauthorized => Some("unauthorized"),
        }
    }
}

#[derive(Sequence)]
struct ResponseBytes {
    response_type: ObjectIdentifier,
    response: OctetString,
}

#[derive(Sequence)]
struct BasicResponse {
    /// Verbatim, because these bytes are signed.
    tbs_response_data: Any,
    signature_algorithm: AlgorithmIdentifierOwned,
    signature: BitString,
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT", optional = "true")]
    certs: Option<Vec<Any>>,
}

#[derive(Sequence)]
struct ResponseData {
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT", optional = "true")]
    version: Option<u8>,
    responder_id: Any,
    produced_at: GeneralizedTime,
    responses: Vec<SingleResponse>,
    #[asn1(context_specific = "1", tag_mode = "EXPLICIT", optional = "true")]
    response_extensions: Option<Any>,
}

#[derive(Sequence)]
struct SingleResponse {
    cert_id: CertId,
    /// `[0]` good, `[1]` revoked, `[2]` unknown, all IMPLICIT.
    cert_status: Any,
    this_update: GeneralizedTime,
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT", optional = "true")]
    next_update: Option<GeneralizedTime>,
    #[asn1(context_specific = "1", tag_mode = "EXPLICIT", optional = "true")]
    single_extensions: Option<Any>,
}

#[derive(Sequence)]
struct RevokedInfo {
    revocation_time: GeneralizedTime,
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT", optional = "true")]
    reason: Option<Any>,
}

/// The limit of certificates in an answer that are tried.
const MAX_CERTIFICATES: usize = 5;
const SHA1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.14.3.2.26");
/// id-pkix-ocsp-basic.
const BASIC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.48.1.1");
