//! Keys, signing requests and certificate chains as values.
//!
//! Input is validated when it is read, and OpenSSL 3.0 reads the output. This module uses no files,
//! sockets or clocks; generating keys and signatures uses random numbers.

mod bundle;
mod certificate;
mod chain;
mod chain_error;
mod chain_view;
mod challenge_certificate;
mod crl;
mod csr;
mod csr_error;
#[cfg(feature = "testing")]
mod csr_reader;
mod details;
mod key_der;
mod key_error;
mod keystore;
mod names;
mod ocsp;
mod pem;
mod private_key;
mod revocation;
mod secret;
mod signing;
mod subject;
mod subject_attributes;
mod temporary;
#[cfg(test)]
pub(crate) mod test_ca;
mod tls;
mod trust;
mod usages;
mod verify;

pub use bundle::{Bundle, KeyMatch};
pub use certificate::{
    CertificateError, MAX_CERTIFICATE_BYTES, MAX_CHAIN_BYTES, facts_of_der, leaf_and_key_facts,
    leaf_facts,
};
pub use chain::{Chain, MAX_CERTIFICATES};
pub use chain_error::ChainError;
pub use chain_view::{ChainEntry, ChainProblem, chain_entries, issuer_of};
pub use challenge_certificate::{
    ACME_TLS, ChallengeCertificate, ChallengeCertificateError, ChallengeEncodingError,
    challenge_certificate, check_challenge_certificate, digest_of,
};
pub use crl::{RevocationList, check_crl};
pub use csr::{Csr, build_csr, csr_der};
pub use csr_error::CsrError;
#[cfg(feature = "testing")]
pub use csr_reader::{CsrFacts, ReadError, read_csr};
pub use details::{CertificateDetails, Party};
pub use key_error::KeyError;
pub use keystore::{KeystoreContents, KeystoreError};
#[cfg(test)]
pub(crate) use ocsp::answer as ocsp_answer;
pub use ocsp::{check_ocsp, ocsp_request};
pub use pem::PemError;
pub use private_key::{MAX_KEY_BYTES, PrivateKey, key_encoding, key_facts};
pub use revocation::{Revocation, RevocationDoubt};
pub use secret::secret_files;
pub use signing::{SigningError, Verdict, verify as verify_signature};
pub use subject::{SubjectError, literal_subject_common_name};
pub use subject_attributes::subject_attributes;
pub use temporary::{TemporaryError, temporary_certificate};
pub use tls::{
    RootsError, acme_tls_client, certificates_of_roots, roots, unverified_client, verified_client,
};
pub use trust::{TrustError, verify_trust};
pub use verify::{MAX_SKEW, verify_issued};
