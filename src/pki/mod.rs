//! Keys, signing requests and certificate chains as values.
//!
//! What is read is checked while it is read, and what is written is read by OpenSSL 3.0. Nothing
//! here touches a file, a socket or a clock; making keys and signatures draws random numbers.

mod any_certificate;
mod certificate;
mod chain;
mod csr;
mod key_der;
mod key_error;
mod names;
mod pem;
mod private_key;
mod secret;
mod signing;
mod subject;
#[cfg(test)]
mod test_ca;
mod usages;
mod verify;

pub use any_certificate::unverified_client;
pub use certificate::{CertificateError, MAX_CERTIFICATE_BYTES, leaf_facts};
pub use chain::{Chain, MAX_CERTIFICATES, MAX_CHAIN_BYTES};
pub use csr::{Csr, CsrError, CsrFacts, build_csr, read_csr};
pub use key_error::KeyError;
pub use pem::PemError;
pub use private_key::{MAX_KEY_BYTES, PrivateKey, key_facts};
pub use secret::secret_files;
pub use signing::SigningError;
pub use subject::{SubjectError, literal_subject_common_name};
pub use verify::{ChainError, MAX_SKEW, verify_issued};
