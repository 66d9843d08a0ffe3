//! A webhook's own authorities: `caBundle`, base64 of PEM, as in an Issuer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::ClientConfig;

use crate::pki;

/// A TLS configuration that trusts only these certificates.
pub(super) fn trusting(bundle: &str) -> Result<ClientConfig, String> {
    let compact: String = bundle.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let pem = STANDARD.decode(compact).map_err(|_| {
        let help = if bundle.contains("-----BEGIN") { " of the PEM text" } else { "" };
        format!("this is not base64{help}")
    })?;
    let pem = String::from_utf8(pem).map_err(|error| error.to_string())?;
    let roots = pki::roots(&pem).map_err(|error| error.to_string())?;
    pki::verified_client(roots).map_err(|error| error.to_string())
}
