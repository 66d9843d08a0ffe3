//! The files of an issued Secret.

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use super::chain::Chain;
use super::private_key::PrivateKey;
use crate::resource::{CertificateSpec, OutputFormat, SecretFiles};

/// tls.key in the encoding of the spec, tls.crt with leaf and intermediates, and the additional
/// formats. There is no ca.crt, because an ACME CA sends no root.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::test_ca::{self, Ca};
    use crate::resource::{KeyAlgorithm, KeyEncoding, PrivateKeySpec};

    fn files_for(
        encoding: Option<KeyEncoding>,
        formats: &[OutputFormat],
    ) -> (SecretFiles, PrivateKey, String) {
        let ca = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
        let key = PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap();
        let pem = ca.sign(&test_ca::leaf("", &["a.example"]), &key) + &ca.above;
        let chain = Chain::from_pem(&pem).unwrap();
        let spec = CertificateSpec {
            private_key: encoding
                .map(|encoding| PrivateKeySpec { encoding: Some(encoding), ..Default::default() }),
            additional_output_formats: formats.to_vec(),
            ..CertificateSpec::default()
        };
        (secret_files(&spec, &key, &chain), key, chain.to_pem())
    }

    #[test]
    fn a_secret_holds_the_pair_and_the_formats_asked_for() {
        for (encoding, expected) in [
            (None, KeyEncoding::Pkcs1),
            (Some(KeyEncoding::Pkcs1), KeyEncoding::Pkcs1),
            (Some(KeyEncoding::Pkcs8), KeyEncoding::Pkcs8),
        ] {
            let file = |name: &str, bytes: &[u8]| (name.to_owned(), Zeroizing::new(bytes.to_vec()));
            let (found, key, chain) = files_for(encoding, &[]);
            let key_pem = key.to_pem(expected);
            let pair = [file("tls.key", key_pem.as_bytes()), file("tls.crt", chain.as_bytes())];
            assert_eq!(found, SecretFiles(BTreeMap::from(pair)));

            let (found, key, chain) =
                files_for(encoding, &[OutputFormat::Der, OutputFormat::CombinedPem]);
            let key_pem = key.to_pem(expected);
            let all = [
                file("tls.key", key_pem.as_bytes()),
                file("tls.crt", chain.as_bytes()),
                file("key.der", &key.der(expected)),
                file("tls-combined.pem", format!("{}\n{chain}", *key_pem).as_bytes()),
            ];
            assert_eq!(found, SecretFiles(BTreeMap::from(all)));
        }
    }
}
