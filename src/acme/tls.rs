//! TLS to one CA: its caBundle, or the system's roots, or no verification at all.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

use super::error::AcmeError;
use crate::pki;

/// The trusted certificates.
#[derive(Clone, Debug)]
pub(super) enum Trust {
    /// The system's roots, read when the first request is made.
    System,
    /// Only these certificates.
    Only(Arc<RootCertStore>),
    /// Any certificate (`skipTLSVerify`).
    Unverified,
}

impl Trust {
    /// The issuer's setting; `skipTLSVerify` overrides a caBundle.
    pub(super) fn new(ca_bundle: Option<&str>, skip_verify: bool) -> Result<Self, AcmeError> {
        match ca_bundle {
            _ if skip_verify => Ok(Self::Unverified),
            None => Ok(Self::System),
            Some(pem) => bundle(pem).map(|roots| Self::Only(Arc::new(roots))),
        }
    }

    /// The rustls configuration. With [`Trust::System`] this reads files.
    pub(super) fn config(&self) -> Result<ClientConfig, AcmeError> {
        let mut config = match self {
            Self::System => verified(system()?)?,
            Self::Only(roots) => verified(Arc::clone(roots))?,
            Self::Unverified => {
                pki::unverified_client().map_err(|error| failed(error.to_string()))?
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// TLS 1.2 or 1.3 to a server with a certificate of the system's roots. This reads files.
pub fn system_tls() -> Result<ClientConfig, AcmeError> {
    let mut config = verified(system()?)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn verified(roots: impl Into<Arc<RootCertStore>>) -> Result<ClientConfig, AcmeError> {
    pki::verified_client(roots).map_err(|error| failed(error.to_string()))
}

fn bundle(pem: &str) -> Result<RootCertStore, AcmeError> {
    pki::roots(pem).map_err(|error| failed(format!("caBundle: {error}")))
}

fn system() -> Result<RootCertStore, AcmeError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // System trust stores may contain invalid certificates; one must not block the others.
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
        assert!(matches!(Trust::new(Some(""), true), Ok(Trust::Unverified)));
    }
}
