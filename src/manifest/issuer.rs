//! Decodes an Issuer or `ClusterIssuer` of type acme.
//!
//! Contract: as in [`super::certificate`]. Issuers of other types are recognised, not decoded.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::pki::certificates_of_roots;
use crate::resource::lets_encrypt::{PRODUCTION, STAGING};
use crate::resource::{Acme, ExternalAccountBinding, RenewalInformationSource};

use super::diagnostic::{Draft, short};
use super::field::{Field, Fields, REQUIRED};
use super::name::secret_ref;
use super::sink::Sink;
use super::solver::solvers;
use super::url::https_fault;

/// The type of an Issuer.
pub(crate) enum Spec {
    /// An ACME issuer.
    /// With the line of `server`.
    Acme(Box<Acme>, usize),
    /// One of cert-manager's other types, by its field.
    Other(&'static str),
}

/// Reads `spec`.
pub(crate) fn spec(object: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<Spec> {
    let field = object.require(sink, "spec", REQUIRED)?;
    let mut fields = field.mapping(sink, "Issuer.spec")?;
    let acme = fields.take("acme");
    let others: Vec<(&str, Field<'_>)> =
        OTHER_TYPES.iter().filter_map(|name| Some((*name, fields.take(name)?))).collect();
    let count = usize::from(acme.is_some()) + others.len();
    if count > 1 {
        let last = others.last().map_or(field.key_span, |(_, field)| field.key_span);
        sink.error("E0108", last, fields.path(), "may not specify more than one issuer type");
    }
    if count == 0 {
        let message = "at least one issuer must be configured";
        sink.error("E0101", fields.span(), fields.path(), message);
    }
    fields.finish(sink);
    match (acme, others.first()) {
        (Some(acme), None) => {
            let (acme, server_line) = read_acme(&acme, sink)?;
            Some(Spec::Acme(Box::new(acme), server_line))
        }
        (None, Some((name, _))) if count == 1 => {
            OTHER_TYPES.iter().find(|known| *known == name).map(|name| Spec::Other(name))
        }
        (Some(_) | None, Some(_)) | (None, None) => None,
    }
}

fn read_acme(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<(Acme, usize)> {
    let mut fields = field.mapping(sink, "Issuer.spec.acme")?;
    let server = fields.require(sink, "server", "acme server URL is a required field");
    let server_line = server.as_ref().map(|field| field.span().line);
    let server = server.and_then(|field| server_url(&field, sink));
    let email = fields.take("email").and_then(|field| email(&field, sink));
    let key = fields.require(sink, "privateKeySecretRef", KEY_REQUIRED);
    let private_key_secret_ref = key.and_then(|field| account_key(&field, sink));
    let mut flag = |name| fields.take(name).and_then(|f| f.boolean(sink)).unwrap_or_default();
    let disable_account_key_generation = flag("disableAccountKeyGeneration");
    let enable_duration_feature = flag("enableDurationFeature");
    let skip_field = fields.take("skipTLSVerify");
    let skip_tls_verify = skip_field.as_ref().is_some_and(|f| f.boolean(sink) == Some(true));
    let bundle_field = fields.take("caBundle");
    if let Some(skip) = skip_field.filter(|_| skip_tls_verify) {
        unverified(&skip, bundle_field.as_ref(), sink);
    }
    let ca_bundle = bundle_field.and_then(|field| ca_bundle(&field, sink));
    let preferred_chain = fields.take("preferredChain").and_then(|field| {
        let text = field.text(sink)?;
        if text.chars().count() > 64 {
            field.refuse(sink, "at most 64 characters are allowed");
        }
        Some(text)
    });
    let binding = fields.take("externalAccountBinding");
    let external_account_binding = binding.and_then(|field| account_binding(&field, sink));
    let profile = fields.take("profile").and_then(|field| field.text(sink));
    let source = fields.take("renewalInformationSource");
    let renewal_information_source = source.and_then(|field| field.word(sink, SOURCES));
    let solvers = fields.take("solvers").map(|field| solvers(&field, sink)).unwrap_or_default();
    fields.finish(sink);
    let acme = Acme {
        server: server?,
        email: email.unwrap_or_default(),
        private_key_secret_ref: private_key_secret_ref?,
        disable_account_key_generation,
        ca_bundle,
        skip_tls_verify,
        preferred_chain: preferred_chain.unwrap_or_default(),
        external_account_binding,
        enable_duration_feature,
        profile: profile.unwrap_or_default(),
        renewal_information_source,
        solvers,
    };
    Some((acme, server_line?))
}

/// `skipTLSVerify` that is set, alone or beside a `caBundle`.
fn unverified(skip: &Field<'_>, bundle: Option<&Field<'_>>, sink: &mut Sink<'_>) {
    let Some(bundle) = bundle else {
        let message =
            "the CA's TLS certificate is not verified: an attacker can impersonate this CA";
        let draft = Draft::warning("W0310", skip.key_span, &skip.path, message);
        sink.add(draft.help("caBundle, with the certificate that signed the CA's"));
        return;
    };
    let message = "caBundle and skipTLSVerify are mutually exclusive and cannot both be set";
    sink.error("E0108", bundle.key_span, &bundle.path, message);
    sink.error("E0108", skip.key_span, &skip.path, message);
}

fn server_url(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<String> {
    let text = field.text(sink)?;
    if text.is_empty() {
        sink.error("E0101", field.span(), &field.path, "acme server URL is a required field");
        return None;
    }
    let stem = text.strip_suffix('/').unwrap_or(&text);
    if let Some((_, v2)) = V1_ENDPOINTS.iter().find(|(v1, _)| *v1 == stem) {
        let message = format!(
            "Your ACME server URL is set to a v1 endpoint ({text}). You should update the \
             spec.acme.server field to \"{v2}\""
        );
        let draft = Draft::error("E0105", field.span(), &field.path, message);
        sink.add(draft.suggest(Some((*v2).to_owned())));
        return None;
    }
    if let Some((_, directory)) = HOMES.iter().find(|(home, _)| *home == stem) {
        let message = "this is not the URL of the CA's directory";
        let draft = Draft::warning("W0305", field.span(), &field.path, message);
        sink.add(draft.suggest(Some((*directory).to_owned())));
    }
    match https_fault(&text) {
        None => Some(text),
        Some(fault) => {
            field.refuse(sink, format!("invalid ACME server URL `{}`: {fault}", short(&text)));
            None
        }
    }
}

fn email(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<String> {
    let text = field.text(sink)?;
    let fault = super::subject::email_fault(&text).filter(|_| !text.is_empty());
    if let Some(fault) = fault {
        field.refuse(sink, format!("invalid email address: {fault}"));
    }
    Some(text)
}

fn account_key(
    field: &Field<'_>,
    sink: &mut Sink<'_>,
) -> Option<crate::resource::SecretKeySelector> {
    let name = field.node.get("name").and_then(super::tree::Node::as_text).unwrap_or_default();
    if name.is_empty() && matches!(field.node.value, super::tree::Value::Mapping(_)) {
        let path = format!("{}.name", field.path);
        sink.error("E0101", field.key_span, &path, KEY_REQUIRED);
        return None;
    }
    secret_ref(field, sink, false)
}

fn account_binding(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<ExternalAccountBinding> {
    let mut fields = field.mapping(sink, "Issuer.spec.acme.externalAccountBinding")?;
    let key_id = fields.require(sink, "keyID", "the keyID field is required");
    let key_id = key_id.and_then(|field| field.filled_text(sink));
    let reference = fields.require(sink, "keySecretRef", "secret name is required");
    let reference = reference.and_then(|field| secret_ref(&field, sink, true));
    if let Some(field) = fields.take("keyAlgorithm") {
        field.word(sink, &[("HS256", ()), ("HS384", ()), ("HS512", ())]);
        let message = "keyAlgorithm is deprecated and ignored: HS256 is used";
        sink.add(Draft::warning("W0304", field.key_span, &field.path, message));
    }
    fields.finish(sink);
    Some(ExternalAccountBinding { key_id: key_id?, key_secret_ref: reference? })
}

/// Base64 of PEM becomes the PEM of its certificates alone: what stands around them is no
/// certificate, and `ca.crt` is a copy.
fn ca_bundle(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<String> {
    let text = field.free_text(sink)?;
    match decode_bundle(&text) {
        Ok(pem) => Some(pem),
        Err(fault) => {
            let draft = Draft::error("E0105", field.span(), &field.path, fault);
            sink.add(if text.contains("-----BEGIN") {
                draft.help("caBundle is the base64 of the PEM text: base64 -w0 ca.pem")
            } else {
                draft
            });
            None
        }
    }
}

fn decode_bundle(text: &str) -> Result<String, &'static str> {
    let compact: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let bytes = STANDARD.decode(compact).map_err(|_| "not base64")?;
    let pem = String::from_utf8(bytes).map_err(|_| NO_CERTIFICATE)?;
    certificates_of_roots(&pem).map_err(|_| NO_CERTIFICATE)
}

const NO_CERTIFICATE: &str = "cert bundle didn't contain any valid certificates";
const KEY_REQUIRED: &str = "private key secret name is a required field";

/// The issuer types that certctl does not serve.
const OTHER_TYPES: &[&str] = &["ca", "selfSigned", "vault", "venafi"];

/// Let's Encrypt's endpoints from before RFC 8555.
const V1_ENDPOINTS: &[(&str, &str)] = &[
    ("https://acme-v01.api.letsencrypt.org/directory", PRODUCTION),
    ("https://acme-staging.api.letsencrypt.org/directory", STAGING),
];

/// Addresses that are often used by mistake instead of the directory's.
const HOMES: &[(&str, &str)] = &[
    ("https://acme-v02.api.letsencrypt.org", PRODUCTION),
    ("https://letsencrypt.org", PRODUCTION),
    ("https://acme-staging-v02.api.letsencrypt.org", STAGING),
];

const SOURCES: &[(&str, RenewalInformationSource)] =
    &[("ARI", RenewalInformationSource::Ari), ("None", RenewalInformationSource::None)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_is_base64_of_pem_with_a_certificate() {
        let key = rcgen::KeyPair::generate().unwrap();
        let pem = rcgen::CertificateParams::new(vec!["ca.example".to_owned()])
            .unwrap()
            .self_signed(&key)
            .unwrap()
            .pem();
        let commented = format!("#!/bin/sh\nid\n{pem}\n# the end\n");
        for good in [&pem, &commented] {
            let certificates = decode_bundle(&STANDARD.encode(good)).unwrap();
            assert_eq!(certificates, pem.replace('\r', ""), "{good}");
        }
        for (text, fault) in [
            (pem.clone(), "not base64"),
            (STANDARD.encode("hello"), NO_CERTIFICATE),
            (STANDARD.encode(key.serialize_pem()), NO_CERTIFICATE),
            (STANDARD.encode([0xff, 0xfe]), NO_CERTIFICATE),
            (String::new(), NO_CERTIFICATE),
        ] {
            assert_eq!(decode_bundle(&text), Err(fault));
        }
    }
}
