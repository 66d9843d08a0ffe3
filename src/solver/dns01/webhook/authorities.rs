//! A webhook's own authorities: `caBundle`, base64 of PEM, as in an Issuer.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

/// A TLS configuration that trusts only these certificates.
pub(super) fn trusting(bundle: &str) -> Result<ClientConfig, String> {
    let compact: String = bundle.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let pem = STANDARD.decode(compact).map_err(|_| {
        let help = if bundle.contains("-----BEGIN") { " of the PEM text" } else { "" };
        format!("this is not base64{help}")
    })?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() {
        return Err("there is no PEM certificate in it".to_owned());
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
