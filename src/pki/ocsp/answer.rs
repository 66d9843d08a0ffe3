//! OCSP answers for tests, made by hand.

use der::Encode;
use der::asn1::{Any, BitString, GeneralizedTime, OctetString};
use der::{Tag, TagNumber};
use jiff::Timestamp;
use x509_cert::spki::AlgorithmIdentifierOwned;

use super::{
    BASIC, BasicResponse, CertId, OcspResponse, ResponseBytes, ResponseData, ResponseStatus,
    RevokedInfo, SingleResponse,
};
use crate::pki::PrivateKey;
use crate::resource::SignatureAlgorithm;

/// The status in the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CertStatus {
    Good,
    /// For keyCompromise.
    Revoked(Timestamp),
    Unknown,
}

/// An answer about `leaf`, as its DER; those of `sent` go with it.
pub(crate) fn answer(
    (leaf, issuer): (&[u8], &[u8]),
    cert_status: CertStatus,
    this_update: Timestamp,
    next_update: Option<Timestamp>,
    (signer, sent): (&PrivateKey, &[&[u8]]),
) -> Vec<u8> {
    let single = SingleResponse {
        cert_id: CertId::new(leaf, issuer).unwrap(),
        cert_status: status(cert_status),
        this_update: time(this_update),
        next_update: next_update.map(time),
        single_extensions: None,
    };
    let key_hash = OctetString::new(*b"twenty bytes of hash").unwrap().to_der().unwrap();
    let data = ResponseData {
        version: None,
        responder_id: Any::new(context(2, true), key_hash).unwrap(),
        produced_at: time(this_update),
        responses: vec![single],
        response_extensions: None,
    };
    let tbs_response_data: Any = der::Decode::from_der(&data.to_der().unwrap()).unwrap();
    let message = tbs_response_data.to_der().unwrap();
    let signature = signer.sign(SignatureAlgorithm::EcdsaWithSha256, &message).unwrap();
    let sent: Vec<Any> = sent.iter().map(|der| der::Decode::from_der(der).unwrap()).collect();
    let basic = BasicResponse {
        tbs_response_data,
        signature_algorithm: AlgorithmIdentifierOwned {
            oid: der::asn1::ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2"),
            parameters: None,
        },
        signature: BitString::from_bytes(&signature).unwrap(),
        certs: (!sent.is_empty()).then_some(sent),
    };
    let response = OctetString::new(basic.to_der().unwrap()).unwrap();
    let bytes = ResponseBytes { response_type: BASIC, response };
    let whole =
        OcspResponse { response_status: ResponseStatus::Successful, response_bytes: Some(bytes) };
    whole.to_der().unwrap()
}

fn status(cert_status: CertStatus) -> Any {
    match cert_status {
        CertStatus::Good => Any::new(context(0, false), []).unwrap(),
        CertStatus::Unknown => Any::new(context(2, false), []).unwrap(),
        CertStatus::Revoked(at) => {
            let reason = Some(Any::new(Tag::Enumerated, [1]).unwrap());
            let info = RevokedInfo { revocation_time: time(at), reason }.to_der().unwrap();
            let inner: Any = der::Decode::from_der(&info).unwrap();
            Any::new(context(1, true), inner.value()).unwrap()
        }
    }
}

fn context(number: u32, constructed: bool) -> Tag {
    Tag::ContextSpecific { constructed, number: TagNumber(number) }
}

fn time(at: Timestamp) -> GeneralizedTime {
    let seconds = u64::try_from(at.as_second()).unwrap();
    GeneralizedTime::from_unix_duration(std::time::Duration::from_secs(seconds)).unwrap()
}
