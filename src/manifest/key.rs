//! Private key, signature and usages of a Certificate.

use crate::resource::{
    KeyAlgorithm, KeyEncoding, PrivateKeySpec, RSA_SIZES, RotationPolicy, SignatureAlgorithm, Usage,
};

use super::field::{Field, Fields};
use super::sink::Sink;
use super::tree::Span;

/// Reads `privateKey`; the second part is the algorithm that holds, `None` when it is wrong.
pub(crate) fn private_key(
    fields: &mut Fields<'_>,
    sink: &mut Sink<'_>,
) -> (Option<PrivateKeySpec>, Option<KeyAlgorithm>) {
    let default = Some(KeyAlgorithm::default());
    let Some(field) = fields.take("privateKey") else { return (None, default) };
    let Some(mut inner) = field.mapping(sink, "Certificate.spec.privateKey") else {
        return (None, None);
    };
    let written = inner.take("algorithm");
    let algorithm = written.as_ref().and_then(|field| key_algorithm(field, sink));
    let holds = if written.is_some() { algorithm } else { default };
    let size = inner.take("size").and_then(|field| size(&field, holds, sink));
    let encoding = inner.take("encoding").and_then(|field| field.word(sink, ENCODINGS));
    let policy = inner.take("rotationPolicy").and_then(|field| field.word(sink, POLICIES));
    inner.finish(sink);
    (Some(PrivateKeySpec { algorithm, size, encoding, rotation_policy: policy }), holds)
}

fn key_algorithm(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<KeyAlgorithm> {
    field.word(sink, &ALGORITHMS)
}

fn size(field: &Field<'_>, algorithm: Option<KeyAlgorithm>, sink: &mut Sink<'_>) -> Option<u32> {
    let size = field.integer(sink)?;
    let fault = match algorithm {
        // cert-manager takes 0 for "not set".
        _ if size == 0 => return None,
        Some(KeyAlgorithm::Rsa) if !(2048..=8192).contains(&size) => {
            Some("must be between 2048 and 8192 for rsa keyAlgorithm")
        }
        // cert-manager makes these, too.
        Some(KeyAlgorithm::Rsa) if !RSA_SIZES.map(i64::from).contains(&size) => {
            Some("must be 2048, 3072, 4096 or 8192 for rsa keyAlgorithm")
        }
        Some(KeyAlgorithm::Ecdsa) if !matches!(size, 256 | 384 | 521) => {
            Some("must be 256, 384 or 521 for ecdsa keyAlgorithm")
        }
        Some(KeyAlgorithm::Rsa | KeyAlgorithm::Ecdsa | KeyAlgorithm::Ed25519) | None => None,
    };
    if let Some(fault) = fault {
        field.refuse(sink, fault);
        return None;
    }
    let narrow = u32::try_from(size).ok();
    if narrow.is_none() {
        field.refuse(sink, format!("{size} is not a key size"));
    }
    narrow
}

/// Reads `signatureAlgorithm`, which must belong to the key's algorithm and, as certctl cannot sign
/// with every pair of curve and hash, to its size.
pub(crate) fn signature_algorithm(
    fields: &mut Fields<'_>,
    key: Option<(KeyAlgorithm, u32)>,
    sink: &mut Sink<'_>,
) -> Option<SignatureAlgorithm> {
    let field = fields.take("signatureAlgorithm")?;
    let signature = field.word(sink, SIGNATURES)?;
    let Some((key, bits)) = key.filter(|(key, bits)| !signature.fits(*key, *bits)) else {
        return Some(signature);
    };
    let is_of_key = signature.key_algorithm() == key;
    let fits = |(_, one): &&(&str, SignatureAlgorithm)| {
        one.key_algorithm() == key && (!is_of_key || one.fits(key, bits))
    };
    let allowed: Vec<&str> = SIGNATURES.iter().filter(fits).map(|(word, _)| *word).collect();
    let (allowed, of_size) = (allowed.join(" "), format!(" with {bits} bits"));
    let of_size = if is_of_key { of_size.as_str() } else { "" };
    let message = format!(
        "for key algorithm {key}{of_size} the allowed signature algorithms are [{allowed}]"
    );
    field.refuse(sink, message);
    Some(signature)
}

/// Reads `usages`.
pub(crate) fn usages(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Vec<(Usage, Span)> {
    let Some(field) = fields.take("usages") else { return Vec::new() };
    let mut found = Vec::new();
    for item in field.list(sink) {
        let Some(text) = item.text(sink) else { continue };
        if let Some((_, usage)) = Usage::ALL.iter().find(|(word, _)| *word == text) {
            found.push((*usage, item.span()));
        } else {
            let words: Vec<&str> = Usage::ALL.iter().map(|(word, _)| *word).collect();
            item.refuse_word(sink, "unknown keyusage".to_owned(), &words);
        }
    }
    found
}

const ALGORITHMS: [(&str, KeyAlgorithm); 3] = [
    ("RSA", KeyAlgorithm::Rsa),
    ("ECDSA", KeyAlgorithm::Ecdsa),
    ("Ed25519", KeyAlgorithm::Ed25519),
];

const ENCODINGS: &[(&str, KeyEncoding)] =
    &[("PKCS1", KeyEncoding::Pkcs1), ("PKCS8", KeyEncoding::Pkcs8)];

const POLICIES: &[(&str, RotationPolicy)] =
    &[("Never", RotationPolicy::Never), ("Always", RotationPolicy::Always)];

const SIGNATURES: &[(&str, SignatureAlgorithm)] = &[
    ("SHA256WithRSA", SignatureAlgorithm::Sha256WithRsa),
    ("SHA384WithRSA", SignatureAlgorithm::Sha384WithRsa),
    ("SHA512WithRSA", SignatureAlgorithm::Sha512WithRsa),
    ("ECDSAWithSHA256", SignatureAlgorithm::EcdsaWithSha256),
    ("ECDSAWithSHA384", SignatureAlgorithm::EcdsaWithSha384),
    ("ECDSAWithSHA512", SignatureAlgorithm::EcdsaWithSha512),
    ("PureEd25519", SignatureAlgorithm::PureEd25519),
];
