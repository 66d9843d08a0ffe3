//! TLS clients: one that trusts given roots, and one that accepts any certificate, for three places
//! only: `skipTLSVerify`, which the issuer sets explicitly; and the self-check and the rehearsal's
//! validation, after a redirect of HTTP-01 (RFC 8555 section 8.3) and in tls-alpn-01 (RFC 8737 section
//! 3), where a CA validates the content and not the server's identity.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, NamedGroup,
    RootCertStore, SignatureScheme,
};
use thiserror::Error;
use webpki::RawPublicKeyEntity;

use super::certificate::LABEL;
use super::challenge_certificate::ACME_TLS;

/// The certificates of a PEM text, as roots; at least one.
pub fn roots(pem: &str) -> Result<RootCertStore, RootsError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate?)?;
    }
    if roots.is_empty() { Err(RootsError::NotFound) } else { Ok(roots) }
}

/// The PEM of these certificates alone, each as a CA's is written, without what stands around them.
pub fn certificates_of_roots(pem: &str) -> Result<String, RootsError> {
    roots(pem)?;
    let certificates = CertificateDer::pem_slice_iter(pem.as_bytes());
    let encoded = certificates.map(|one| Ok(super::pem::encode(LABEL, &one?).to_string()));
    encoded.collect()
}

/// Why a text cannot be read as roots.
#[derive(Debug, Error)]
pub enum RootsError {
    #[error(transparent)]
    Pem(#[from] rustls::pki_types::pem::Error),
    #[error(transparent)]
    Unusable(#[from] TlsError),
    #[error("there is no PEM certificate")]
    NotFound,
}

/// A client configuration that trusts only these roots.
pub fn verified_client(roots: impl Into<Arc<RootCertStore>>) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// A client configuration that accepts every server. Handshake signatures are still verified.
pub fn unverified_client() -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(provider());
    let verifier = Arc::new(AnyCertificate { provider: Arc::clone(&provider) });
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

/// The same for the handshake of tls-alpn-01, as a CA makes it: with this protocol alone.
pub fn acme_tls_client() -> Result<ClientConfig, TlsError> {
    let mut config = unverified_client()?;
    config.alpn_protocols = vec![ACME_TLS.to_vec()];
    Ok(config)
}

/// Begins with the post-quantum key exchange, with X25519 beside it: a server that prefers it, as
/// those built with Go do, would ask for another hello, one more round trip.
fn provider() -> CryptoProvider {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider.kx_groups.sort_by_key(|group| group.name() != NamedGroup::X25519MLKEM768);
    provider
}

/// The key of a certificate, whatever else that says. rustls itself reads none with a critical extension
/// that it does not know, which the certificate of a tls-alpn-01 challenge has.
fn public_key(
    certificate: &CertificateDer<'_>,
) -> Result<SubjectPublicKeyInfoDer<'static>, TlsError> {
    let parsed = super::certificate::parse(certificate);
    let parsed = parsed.map_err(|_| TlsError::InvalidCertificate(CertificateError::BadEncoding))?;
    Ok(SubjectPublicKeyInfoDer::from(parsed.public_key().raw.to_vec()))
}

#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let key = public_key(cert)?;
        let refused = |_| TlsError::InvalidCertificate(CertificateError::BadSignature);
        let key = RawPublicKeyEntity::try_from(&key).map_err(refused)?;
        // In TLS 1.2, a scheme of ECDSA says nothing of the curve (RFC 8446 section 4.2.3).
        let mapping = self.provider.signature_verification_algorithms.mapping;
        let of_scheme = mapping.iter().filter(|(scheme, _)| *scheme == dss.scheme);
        let mut algorithms = of_scheme.flat_map(|(_, algorithms)| algorithms.iter());
        let is_good =
            algorithms.any(|one| key.verify_signature(*one, message, dss.signature()).is_ok());
        if is_good {
            Ok(HandshakeSignatureValid::assertion())
        } else {
            Err(TlsError::InvalidCertificate(CertificateError::BadSignature))
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &public_key(cert)?, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
