//! The files of an issued Secret.

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use super::chain::Chain;
use super::private_key::PrivateKey;
use crate::resource::{CertificateSpec, OutputFormat, SecretFiles};

/// tls.key in the encoding the spec asks for, tls.crt with leaf and intermediates, and the
/// additional formats. There is no ca.crt, because an ACME CA hands out no root.
pub fn secret_files(spec: &CertificateSpec, key: &PrivateKey, chain: &Chain) -> SecretFiles {
    let encoding = spec.private_key.as_ref().and_then(|key| key.encoding).unwrap_or_default();
    let key_pem = key.to_pem(encoding);
    let chain_pem = chain.to_pem();
    let mut files = BTreeMap::new();
    for format in &spec.additional_output_formats {
        match format {
            OutputFormat::Der => {
                files.insert("key.der".to_owned(), key.der(encoding));
            }
            OutputFormat::CombinedPem => {
                let parts = [key_pem.as_bytes(), b"\n", chain_pem.as_bytes()];
                files.insert("tls-combined.pem".to_owned(), Zeroizing::new(parts.concat()));
            }
        }
    }
    files.insert("tls.key".to_owned(), Zeroizing::new(key_pem.as_bytes().to_vec()));
    files.insert("tls.crt".to_owned(), Zeroizing::new(chain_pem.into_bytes()));
    SecretFiles(files)
}
