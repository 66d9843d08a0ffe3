//! TLS towards one CA: its caBundle, or the system's roots, or no verification at all.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};

use super::AcmeError;

/// Whom to trust.
#[derive(Clone, Debug)]
pub(super) enum Trust {
    /// The system's roots, read when the first request is made.
    System,
    /// These and no others.
    Only(Arc<RootCertStore>),
    /// Anybody (`skipTLSVerify`).
    Anybody,
}

impl Trust {
    /// What an issuer asks for; `skipTLSVerify` wins over a caBundle.
    pub(super) fn new(ca_bundle: Option<&str>, skip_verify: bool) -> Result<Self, AcmeError> {
        match ca_bundle {
            _ if skip_verify => Ok(Self::Anybody),
            None => Ok(Self::System),
            Some(pem) => bundle(pem).map(|roots| Self::Only(Arc::new(roots))),
        }
    }

    /// The rustls configuration. With [`Trust::System`] this reads files.
    pub(super) fn config(&self) -> Result<ClientConfig, AcmeError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(error.to_string()))?;
        let builder = match self {
            Self::System => builder.with_root_certificates(system()?),
            Self::Only(roots) => builder.with_root_certificates(Arc::clone(roots)),
            Self::Anybody => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(Unverified(provider)))
            }
        };
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn bundle(pem: &str) -> Result<RootCertStore, AcmeError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|error| failed(format!("caBundle: {error}")))?;
        roots.add(certificate).map_err(|error| failed(format!("caBundle: {error}")))?;
    }
    if roots.is_empty() {
        return Err(failed("caBundle: there is no PEM certificate"));
    }
    Ok(roots)
}

fn system() -> Result<RootCertStore, AcmeError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Systems carry odd certificates; one that cannot be read must not stop the others.
    let (usable, _unusable) = roots.add_parsable_certificates(found.certs);
    if usable == 0 {
        let causes: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        let causes =
            if causes.is_empty() { String::new() } else { ": ".to_owned() + &causes.join("; ") };
        return Err(failed(format!("the system has no root certificates{causes}")));
    }
    Ok(roots)
}

fn failed(why: impl Into<String>) -> AcmeError {
    AcmeError::Tls { why: why.into() }
}

/// `skipTLSVerify`: any certificate will do, as the issuer asked for in so many words.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
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
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ca_bundle_without_a_certificate_is_refused_at_once() {
        let cases = [
            ("", "caBundle: there is no PEM certificate"),
            ("hello", "caBundle: there is no PEM certificate"),
        ];
        for (pem, why) in cases {
            assert_eq!(Trust::new(Some(pem), false).unwrap_err(), failed(why));
        }
        let odd = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(Trust::new(Some(odd), false), Err(AcmeError::Tls { .. })));
        assert!(matches!(Trust::new(Some(""), true), Ok(Trust::Anybody)));
    }
}
