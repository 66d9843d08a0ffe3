//! Key usage and extended key usage (RFC 5280 sections 4.2.1.3 and 4.2.1.12), written from a
//! spec.

use der::asn1::ObjectIdentifier;
use x509_cert::ext::pkix::{ExtendedKeyUsage, KeyUsage, KeyUsages};

use crate::resource::{CertificateSpec, Usage};

/// The encoding of one [`Usage`].
enum Meaning {
    Key(KeyUsages),
    Extended(&'static str),
}

/// The two extensions of a spec; an empty one is omitted.
pub(super) fn requested(spec: &CertificateSpec) -> (Option<KeyUsage>, Option<ExtendedKeyUsage>) {
    if spec.encode_usages_in_request == Some(false) {
        return (None, None);
    }
    let mut bits = spec.is_ca.then(|| KeyUsages::KeyCertSign.into());
    let mut purposes = Vec::new();
    for usage in spec.effective_usages() {
        match meaning(*usage) {
            Meaning::Key(bit) => bits = Some(bits.map_or(bit.into(), |bits| bits | bit)),
            Meaning::Extended(oid) => {
                let oid = ObjectIdentifier::new_unwrap(oid);
                if !purposes.contains(&oid) {
                    purposes.push(oid);
                }
            }
        }
    }
    (bits.map(KeyUsage), (!purposes.is_empty()).then_some(ExtendedKeyUsage(purposes)))
}

fn meaning(usage: Usage) -> Meaning {
    match usage {
        Usage::Signing | Usage::DigitalSignature => Meaning::Key(KeyUsages::DigitalSignature),
        Usage::ContentCommitment => Meaning::Key(KeyUsages::NonRepudiation),
        Usage::KeyEncipherment => Meaning::Key(KeyUsages::KeyEncipherment),
        Usage::KeyAgreement => Meaning::Key(KeyUsages::KeyAgreement),
        Usage::DataEncipherment => Meaning::Key(KeyUsages::DataEncipherment),
        Usage::CertSign => Meaning::Key(KeyUsages::KeyCertSign),
        Usage::CrlSign => Meaning::Key(KeyUsages::CRLSign),
        Usage::EncipherOnly => Meaning::Key(KeyUsages::EncipherOnly),
        Usage::DecipherOnly => Meaning::Key(KeyUsages::DecipherOnly),
        Usage::Any => Meaning::Extended("2.5.29.37.0"),
        Usage::ServerAuth => Meaning::Extended("1.3.6.1.5.5.7.3.1"),
        Usage::ClientAuth => Meaning::Extended("1.3.6.1.5.5.7.3.2"),
        Usage::CodeSigning => Meaning::Extended("1.3.6.1.5.5.7.3.3"),
        Usage::EmailProtection | Usage::SMime => Meaning::Extended("1.3.6.1.5.5.7.3.4"),
        Usage::IpsecEndSystem => Meaning::Extended("1.3.6.1.5.5.7.3.5"),
        Usage::IpsecTunnel => Meaning::Extended("1.3.6.1.5.5.7.3.6"),
        Usage::IpsecUser => Meaning::Extended("1.3.6.1.5.5.7.3.7"),
        Usage::Timestamping => Meaning::Extended("1.3.6.1.5.5.7.3.8"),
        Usage::OcspSigning => Meaning::Extended("1.3.6.1.5.5.7.3.9"),
        Usage::MicrosoftSgc => Meaning::Extended("1.3.6.1.4.1.311.10.3.3"),
        Usage::NetscapeSgc => Meaning::Extended("2.16.840.1.113730.4.1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use der::Encode;

    fn extensions(
        usages: &[Usage],
        is_ca: bool,
        encode: Option<bool>,
    ) -> (Option<Vec<u8>>, Vec<String>) {
        let spec = CertificateSpec {
            usages: usages.to_vec(),
            is_ca,
            encode_usages_in_request: encode,
            ..CertificateSpec::default()
        };
        let (key, extended) = requested(&spec);
        let purposes = extended.map(|e| e.0.iter().map(ToString::to_string).collect());
        (key.map(|key| key.to_der().unwrap()), purposes.unwrap_or_default())
    }

    #[test]
    fn usages_become_bits_and_purposes() {
        type Expected<'a> = (Option<&'a [u8]>, &'a [&'a str]);
        let server = "1.3.6.1.5.5.7.3.1";
        let email = "1.3.6.1.5.5.7.3.4";
        let cases: &[(&[Usage], bool, Option<bool>, Expected<'_>)] = &[
            (&[], false, None, (Some(&[3, 2, 5, 0xa0]), &[])),
            (&[], true, Some(true), (Some(&[3, 2, 2, 0xa4]), &[])),
            (&[], true, Some(false), (None, &[])),
            (&[Usage::ServerAuth], false, None, (None, &[server])),
            (&[Usage::ServerAuth], true, None, (Some(&[3, 2, 2, 0x04]), &[server])),
            (
                &[Usage::Signing, Usage::DigitalSignature],
                false,
                None,
                (Some(&[3, 2, 7, 0x80]), &[]),
            ),
            (&[Usage::DecipherOnly], false, None, (Some(&[3, 3, 7, 0, 0x80]), &[])),
            (&[Usage::SMime, Usage::EmailProtection], false, None, (None, &[email])),
        ];
        for (usages, is_ca, encode, (bits, purposes)) in cases {
            let found = extensions(usages, *is_ca, *encode);
            let expected = (
                bits.map(<[u8]>::to_vec),
                purposes.iter().map(|purpose| (*purpose).to_owned()).collect(),
            );
            assert_eq!(found, expected, "{usages:?} {is_ca} {encode:?}");
        }
    }
}
